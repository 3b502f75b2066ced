/* drift_study.c - mete_drift(): appendix A as an experiment on a benchmark's tasks. */
#include "theory/drift.h"
#include "theory/field.h"
#include "theory/spectrum.h"

#include "base/error.h"
#include "base/log.h"
#include "base/number.h"
#include "base/statistics.h"

#include <math.h>
#include <stdlib.h>

enum { LANCZOS_STEPS = 30, STEPS_MAX = 1000 };

struct drift_study {
    struct field field;
    struct probe *probe;
    int tasks;
    double *curvature;  /* (tasks) the largest eigenvalue at the start */
    struct drift *seen; /* (tasks) */
};

/* The weights of Reptile trained on the field's tasks, for the probe. */
static int take_trained(struct drift_study *d)
{
    struct engine *e = NULL;
    struct net_tensor tensor[NET_TENSORS_MAX];
    int err = field_train(&d->field, -1, NULL, NULL, &e);
    if (err)
        return err;
    int n = net_tensors(engine_net(e), tensor);
    for (int i = 0; i < n; i++) {
        float *host = mem_array(tensor[i].len, sizeof *host);
        engine_get(e, ENGINE_THETA, &tensor[i], host);
        probe_put_tensor(d->probe, &tensor[i], host);
        free(host);
    }
    engine_close(e);
    return 0;
}

static struct items task_items(const struct drift_study *d, int i)
{
    const struct episode *e = &d->field.train[i];
    return (struct items){e->support, e->support_label, e->n_support};
}

static int find_curvature(struct drift_study *d)
{
    int err = 0;
    for (int i = 0; i < d->tasks && !err; i++) {
        struct items task = task_items(d, i);
        struct spectrum s;
        struct spectrum_options o = {probe_trained(d->probe), LANCZOS_STEPS, 1e-4, 1};
        err = probe_gradient(d->probe, &task, -1, NULL, NULL);
        if (!err)
            err = spectrum_of(&s, &o, probe_product, d->probe);
        if (!err)
            d->curvature[i] = s.largest;
    }
    return err;
}

static int study_open(struct drift_study *d, const struct mete_study *o, bool trained)
{
    struct mete_study reptile = *o;
    reptile.method = "reptile";
    *d = (struct drift_study){0};
    int err = field_open(&d->field, &reptile);
    if (err)
        return err;
    const struct engine_spec *e = &d->field.spec;
    struct probe_spec spec = {.kernels = e->kernels,
                              .net = e->net,
                              .net_settings = e->net_settings,
                              .images = e->images,
                              .ways = e->ways,
                              .items = e->largest.support,
                              .seed = e->seed};
    d->tasks = o->probed < d->field.n ? o->probed : d->field.n;
    d->curvature = mem_array((size_t)d->tasks, sizeof *d->curvature);
    d->seen = mem_array((size_t)d->tasks, sizeof *d->seen);
    err = probe_open(&d->probe, &spec);
    if (!err && trained)
        err = take_trained(d);
    return err ? err : find_curvature(d);
}

static void study_close(struct drift_study *d)
{
    probe_close(d->probe);
    free(d->curvature);
    free(d->seen);
    field_close(&d->field);
}

/* The summary over tasks of the field of struct drift at `offset`. */
static struct summary over_tasks(const struct drift_study *d, size_t offset)
{
    double *x = mem_array((size_t)d->tasks, sizeof *x);
    for (int i = 0; i < d->tasks; i++)
        x[i] = *(const double *)((const char *)&d->seen[i] + offset);
    struct summary s = summary_of(x, (size_t)d->tasks);
    free(x);
    return s;
}

static int measure_row(struct drift_study *d, double lr, int steps, struct mete_drift *row)
{
    int err = 0;
    for (int i = 0; i < d->tasks && !err; i++) {
        struct items task = task_items(d, i);
        err = drift_measure(&d->seen[i], d->probe, &task, lr, steps, d->curvature[i]);
    }
    if (err)
        return err;
#define OVER(field) over_tasks(d, offsetof(struct drift, field))
    struct summary cosine = OVER(cosine), deviation = OVER(deviation);
    *row = (struct mete_drift){.lr = lr,
                               .steps = steps,
                               .tasks = d->tasks,
                               .cosine = cosine.mean,
                               .cosine_half = cosine.half,
                               .deviation = deviation.mean,
                               .deviation_half = deviation.half,
                               .raw = OVER(raw).mean,
                               .summed = OVER(summed).mean,
                               .bound = OVER(bound).mean,
                               .left_printed = OVER(left_printed).mean,
                               .left_second = OVER(left_second).mean};
#undef OVER
    return 0;
}

static int check_grid(const struct mete_study *o, const double *lrs, int n_lrs, const int *steps,
                      int n_steps)
{
    if (o->probed < 1)
        return fail(METE_EINVAL, "drift needs one task or more to look at, got %d", o->probed);
    for (int i = 0; i < n_lrs; i++)
        if (!(isfinite(lrs[i]) && lrs[i] > 0))
            return fail(METE_EINVAL, "an inner step size must be a number above 0, got %g", lrs[i]);
    for (int i = 0; i < n_steps; i++)
        if (steps[i] < 1 || steps[i] > STEPS_MAX)
            return fail(METE_EINVAL, "the number of inner steps must be 1..%d, got %d", STEPS_MAX,
                        steps[i]);
    return 0;
}

int mete_drift(const struct mete_study *o, bool trained, const double *lrs, int n_lrs,
               const int *steps, int n_steps, struct mete_drift *rows)
{
    NUMBER_LOCALE;
    struct drift_study d;
    int err = check_grid(o, lrs, n_lrs, steps, n_steps);
    if (err)
        return err;
    err = study_open(&d, o, trained);
    for (int i = 0; i < n_lrs * n_steps && !err; i++) {
        err = progress("comparing updates", i, n_lrs * n_steps);
        if (!err)
            err = measure_row(&d, lrs[i / n_steps], steps[i % n_steps], &rows[i]);
    }
    study_close(&d);
    return err;
}
