/* measure.c - mete_stability(): everything the theory speaks of, measured on one benchmark.
 *
 * One model is trained on all tasks, watched at its start, middle and end, and judged
 * on training and fresh tasks; then one more for each task left out.
 */
#include "theory/bound.h"
#include "theory/curvature.h"
#include "theory/outer.h"
#include "theory/stability.h"

#include "base/error.h"
#include "base/number.h"

#include <math.h>
#include <stdlib.h>

static struct mete_measured measured_of(const double *x, int n)
{
    struct summary s = summary_of(x, (size_t)n);
    struct mete_measured out = {.largest = -INFINITY, .mean = s.mean, .half = s.half};
    for (int i = 0; i < n; i++)
        out.largest = fmax(out.largest, x[i]);
    return out;
}

/* ---- L and gamma, along the training ---- */

struct watching {
    struct curvature_meter *meter;
    struct curvature seen;
    int steps;
};

static int watch(void *user, struct engine *e, int step)
{
    struct watching *w = user;
    if (step != 0 && step != w->steps / 2 && step != w->steps)
        return 0;
    return curvature_look(w->meter, e, &w->seen);
}

static int train_and_watch(struct field *f, int probed, struct engine **e, struct curvature *seen)
{
    struct watching w = {.steps = f->setup.train.steps};
    int err = curvature_open(&w.meter, f, probed);
    if (!err)
        err = field_train(f, -1, watch, &w, e);
    curvature_close(w.meter);
    *seen = w.seen;
    return err;
}

/* ---- the gap ---- */

/* risk - objective, and its two parts: between training and fresh tasks, and on a
 * fresh task between the points of the objective and new ones. */
static int measure_gap(const struct field *f, struct engine *e, struct mete_stability *out)
{
    enum field_part part = field_objective(f);
    double *trained = mem_array((size_t)(f->n + 2 * f->n_fresh), sizeof *trained);
    double *same = trained + f->n, *risk = same + f->n_fresh;
    int err = field_risks(f, e, f->train, f->n, part, trained);
    if (!err)
        err = field_risks(f, e, f->fresh, f->n_fresh, part, same);
    if (!err)
        err = field_risks(f, e, f->fresh, f->n_fresh, FIELD_QUERY, risk);
    if (!err) {
        out->objective = measured_of(trained, f->n);
        out->risk = measured_of(risk, f->n_fresh);
        out->gap = out->risk.mean - out->objective.mean;
        out->gap_half = hypot(out->risk.half, out->objective.half);
        out->gap_outer = measured_of(same, f->n_fresh).mean - out->objective.mean;
        out->gap_inner = out->gap - out->gap_outer;
    }
    free(trained);
    return err;
}

/* ---- beta, a point of a task left out ---- */

struct inner_case {
    const struct field *f;
    struct engine *engine;
    const struct episode *task;
};

static int inner_losses(void *user, int without, double *loss)
{
    const struct inner_case *c = user;
    const struct episode *t = c->task;
    int32_t *at = mem_array(2 * (size_t)t->n_support, sizeof *at), *label = at + t->n_support;
    int n = 0;
    for (int i = 0; i < t->n_support; i++)
        if (i != without) {
            at[n] = t->support[i];
            label[n++] = t->support_label[i];
        }
    struct items support = {at, label, n}, query = {t->query, t->query_label, t->n_query};
    int err = field_losses(c->f, c->engine, &support, &query, 1, &loss);
    free(at);
    return err;
}

static int measure_inner(const struct field *f, struct engine *e, const struct mete_study *o,
                         struct mete_stability *out)
{
    double *mean = mem_array((size_t)f->n_fresh, sizeof *mean), largest = 0;
    int err = 0, n = 0;
    for (int i = 0; i < f->n_fresh && !err; i++) {
        struct inner_case c = {f, e, &f->fresh[i]};
        struct stability s;
        struct stability_problem p = {.user = &c,
                                      .items = c.task->n_support,
                                      .probes = c.task->n_query,
                                      .max_loss = f->max_loss,
                                      .risks = inner_losses};
        if (p.items < 2 || p.probes < 1)
            continue; /* a user with one labelled point has none to spare */
        err = stability_measure(&s, &p, o->removals, o->seed + (uint64_t)i);
        if (!err) {
            largest = fmax(largest, s.largest);
            mean[n++] = s.mean.mean;
        }
    }
    out->inner_beta = measured_of(mean, n);
    out->inner_beta.largest = largest;
    free(mean);
    return err;
}

/* ---- what the bounds say of it ---- */

static struct mete_bound_setting setting_of(const struct field *f, const struct mete_study *o,
                                            const struct mete_stability *r)
{
    struct mete_bound_setting s = mete_bound_defaults();
    s.estimator = f->estimator;
    s.n = r->n;
    s.m = r->m;
    s.delta = o->delta;
    s.max_loss = f->max_loss;
    s.rescale = s.tight = true;
    return s;
}

static int predict(const struct field *f, const struct mete_study *o, const struct curvature *c,
                   struct mete_stability *r)
{
    struct mete_bound_setting s = setting_of(f, o, r);
    struct engine_spec spec = f->spec;
    double lr = spec.outer.lr > 0 ? spec.outer.lr : spec.method->ops->outer_lr;
    s.outer.lipschitz = c->outer_l;
    s.outer.smooth = c->outer_gamma;
    s.outer.steps = r->outer_steps;
    s.outer.lr = lr;
    s.outer.c = 0;
    s.inner.lipschitz = c->inner_l;
    s.inner.smooth = c->inner_gamma;
    s.inner.steps = r->inner_steps;
    s.inner.lr = f->inner_lr;
    s.inner.c = 0;
    int err = mete_bound(&s, &r->by_lemma);
    s.outer.beta = r->outer_beta.largest;
    s.inner.beta = r->inner_beta.largest;
    return err ? err : mete_bound(&s, &r->by_beta);
}

static int check_study(const struct mete_study *o)
{
    if (!(isfinite(o->max_loss) && o->max_loss > 0))
        return fail(METE_EINVAL, "M must be a number above 0, got %g", o->max_loss);
    if (!(o->delta > 0 && o->delta <= 1))
        return fail(METE_EINVAL, "delta must lie in (0, 1], got %g", o->delta);
    if (o->removals < 1 || o->probed < 1)
        return fail(METE_EINVAL, "expected one removal and one probed task or more, got %d and %d",
                    o->removals, o->probed);
    return 0;
}

static int measure(struct field *f, const struct mete_study *o, struct ranks *ranks,
                   struct mete_stability *r)
{
    struct engine *e = NULL;
    struct curvature c;
    *r = (struct mete_stability){.estimator = f->estimator,
                                 .n = f->n,
                                 .m = tasks_max_labels(f->tasks),
                                 .outer_steps = f->setup.train.steps,
                                 .inner_steps = f->inner_steps,
                                 .fresh = f->n_fresh,
                                 .max_loss = f->max_loss,
                                 .delta = o->delta};
    int err = outer_call(f, o, ranks);
    if (!err)
        err = train_and_watch(f, o->probed, &e, &c);
    if (!err)
        err = measure_gap(f, e, r);
    if (!err)
        err = measure_inner(f, e, o, r);
    engine_close(e);
    if (!err)
        err = outer_measure(f, o, ranks, r);
    if (err)
        return err;
    r->outer_l = c.outer_l;
    r->outer_gamma = c.outer_gamma;
    r->inner_l = f->inner_steps ? c.inner_l : NAN;
    r->inner_gamma = f->inner_steps ? c.inner_gamma : NAN;
    return predict(f, o, &c, r);
}

int stability_study(const struct mete_study *o, struct ranks *ranks, struct mete_stability *out)
{
    NUMBER_LOCALE;
    struct field f;
    struct mete_stability r;
    int err = check_study(o);
    if (err)
        return err;
    err = field_open(&f, o);
    if (err)
        return err;
    err = measure(&f, o, ranks, &r);
    if (err && ranks_shared(ranks))
        ranks_abandon(); /* the others are at it still */
    field_close(&f);
    if (!err)
        *out = r;
    return err;
}

int mete_stability(const struct mete_study *o, struct mete_stability *out)
{
    struct ranks *ranks = ranks_world();
    struct mete_study own = *o;
    if (ranks && !own.threads)
        own.threads = ranks_threads();
    return stability_study(&own, ranks, out);
}
