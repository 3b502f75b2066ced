/* field_train.c - training with a task left out, and what the result is worth. */
#include "theory/field.h"

#include "base/error.h"
#include "base/log.h"

#include <math.h>
#include <stdlib.h>

/* The tasks of a step: `batch` drawn from n, less `without`.  Where that leaves none,
 * one is drawn from the others. */
static int draw_batch(const struct field *f, int step, int without, struct labelled_task *labelled)
{
    uint32_t n = (uint32_t)f->n, batch = (uint32_t)f->spec.meta_batch;
    int32_t *picks = mem_array(batch, sizeof *picks);
    struct rng r = rng_make(f->spec.seed, RNG_THEORY, (uint64_t)step, 1);
    batch = batch < n ? batch : n;
    rng_choose(&r, n, batch, picks);
    int count = 0;
    for (uint32_t i = 0; i < batch; i++)
        if (picks[i] != without)
            labelled[count++] = field_labelled_task(f, &f->train[picks[i]]);
    if (count == 0) {
        int other = (int)rng_below(&r, n - 1);
        labelled[count++] = field_labelled_task(f, &f->train[other < without ? other : other + 1]);
    }
    free(picks);
    return count;
}

int field_train(const struct field *f, int without, field_fn *watch, void *user,
                struct engine **out)
{
    struct engine *e = NULL;
    struct labelled_task *labelled = mem_array((size_t)f->spec.meta_batch, sizeof *labelled);
    int err = engine_open(&e, &f->spec);
    if (!err && watch)
        err = watch(user, e, 0);
    for (int step = 1; step <= f->setup.train.steps && !err; step++) {
        int n = draw_batch(f, step, without, labelled);
        err = progress_again();
        if (!err)
            err = engine_step(e, labelled, n);
        if (!err && watch)
            err = watch(user, e, step);
    }
    if (!err && !engine_finite(e))
        err = fail(METE_EDIVERGE, "training diverged; lower the learning rates (outer.lr%s)",
                   f->inner_steps ? ", inner.lr" : "");
    free(labelled);
    if (err) {
        engine_close(e);
        return err;
    }
    *out = e;
    return 0;
}

int field_losses(const struct field *f, struct engine *e, const struct items *support,
                 const struct items *points, int tasks, double *const *loss)
{
    size_t ways = (size_t)f->spec.ways, total = 0;
    for (int t = 0; t < tasks; t++)
        total += (size_t)points[t].n;
    float *all = mem_array(total * ways, sizeof *all), *at = all;
    float **probs = mem_array((size_t)tasks, sizeof *probs);
    for (int t = 0; t < tasks; at += (size_t)points[t++].n * ways)
        probs[t] = at;
    struct learner *l = engine_learner(e);
    int err = progress_again();
    if (!err)
        err = learner_adapt(l, tasks, support);
    if (!err)
        err = learner_predict(l, tasks, points, &(struct predicted){.probs = probs});
    for (int t = 0; t < tasks && !err; t++)
        for (int i = 0; i < points[t].n; i++) {
            double p = probs[t][(size_t)i * ways + (size_t)points[t].label[i]];
            loss[t][i] = p > 0 ? fmin(-log(p), f->max_loss) : isnan(p) ? NAN : f->max_loss;
        }
    free(probs);
    free(all);
    return err;
}

/* The mean losses of a few tasks side by side. */
static int judge(const struct field *f, struct engine *e, const struct episode *tasks, int n,
                 enum field_part part, double *risk)
{
    struct items support[FIELD_TASKS], points[FIELD_TASKS];
    double *loss[FIELD_TASKS];
    for (int t = 0; t < n; t++) {
        const struct episode *x = &tasks[t];
        support[t] = (struct items){x->support, x->support_label, x->n_support};
        points[t] =
            part == FIELD_QUERY ? (struct items){x->query, x->query_label, x->n_query} : support[t];
        loss[t] = mem_array((size_t)points[t].n, sizeof **loss);
    }
    int err = field_losses(f, e, support, points, n, loss);
    for (int t = 0; t < n; t++) {
        double sum = 0;
        for (int i = 0; i < points[t].n; i++)
            sum += loss[t][i];
        risk[t] = sum / points[t].n;
        free(loss[t]);
    }
    return err;
}

int field_risks(const struct field *f, struct engine *e, const struct episode *tasks, int n,
                enum field_part part, double *risk)
{
    int err = 0;
    for (int i = 0; i < n && !err; i += FIELD_TASKS)
        err = judge(f, e, tasks + i, n - i < FIELD_TASKS ? n - i : FIELD_TASKS, part, risk + i);
    return err;
}

enum field_part field_objective(const struct field *f)
{
    return f->estimator == METE_ESTIMATOR_HELDOUT ? FIELD_QUERY : FIELD_SUPPORT;
}
