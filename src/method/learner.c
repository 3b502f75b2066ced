/* learner.c - a learner's table called: checks, and on the host what a learner leaves out. */
#include "method/learner.h"
#include "base/error.h"
#include "base/memory.h"
#include "kernel/selection.h"

#include <stdlib.h>
#include <string.h>

int learner_step(struct learner *l, const struct labelled_task *tasks, int n)
{
    return l->ops->step(l->state, tasks, n);
}

int learner_loss(struct learner *l, bool restart, double *mean)
{
    return l->ops->loss(l->state, restart, mean);
}

int learner_adapt(struct learner *l, int tasks, const struct items *support)
{
    int err = l->ops->adapt(l->state, tasks, support);
    l->adapted = err ? 0 : tasks;
    l->predicted = 0;
    return err;
}

/* ---- predicting ---- */

static void free_reps(struct learner *l)
{
    for (int t = 0; t < l->reps_tasks; t++)
        free(l->reps[t]);
    free(l->reps);
    l->reps = NULL;
    l->reps_tasks = 0;
}

/* An array of `width` floats a row for each task; where the caller has one, that. */
static float **rows_of(int tasks, const struct items *query, size_t width, float *const *given)
{
    float **rows = mem_array((size_t)tasks, sizeof *rows);
    for (int t = 0; t < tasks; t++)
        rows[t] =
            given && given[t] ? given[t] : mem_array((size_t)query[t].n * width + 1, sizeof **rows);
    return rows;
}

static void free_rows(float **rows, int tasks, float *const *given)
{
    for (int t = 0; rows && t < tasks; t++)
        if (!given || rows[t] != given[t])
            free(rows[t]);
    free(rows);
}

/* What the learner does not give: entropies of its probabilities, and its representations kept
 * for learner_cluster. */
static int predict_more(struct learner *l, int tasks, const struct items *query,
                        const struct predicted *out)
{
    bool entropy = out->entropy && !(l->is.gives & LEARNER_ENTROPY);
    bool clusters = out->clusters && !(l->is.gives & LEARNER_CLUSTERS);
    size_t ways = (size_t)l->is.ways, features = (size_t)l->is.features;
    float **probs = entropy ? rows_of(tasks, query, ways, out->probs) : NULL;
    struct predicted more = *out;
    if (entropy)
        more.probs = probs, more.entropy = NULL;
    if (clusters) {
        l->reps = rows_of(tasks, query, features, NULL);
        l->reps_tasks = tasks;
        more.reps = l->reps;
        more.clusters = false;
    }
    int err = l->ops->predict(l->state, tasks, query, &more);
    for (int t = 0; t < tasks && !err && entropy; t++)
        if (out->entropy[t])
            host_entropy(NULL, (size_t)query[t].n, l->is.ways, probs[t], out->entropy[t]);
    for (int t = 0; t < tasks && !err && clusters && out->reps; t++)
        if (out->reps[t])
            memcpy(out->reps[t], l->reps[t], (size_t)query[t].n * features * sizeof **l->reps);
    free_rows(probs, tasks, out->probs);
    return err;
}

int learner_predict(struct learner *l, int tasks, const struct items *query,
                    const struct predicted *out)
{
    free_reps(l);
    l->predicted = 0;
    if (tasks != l->adapted)
        return fail(METE_EINVAL, "predicting for %d tasks after adapting to %d", tasks, l->adapted);
    if ((out->reps || out->clusters) && l->is.features == 0)
        return fail(METE_EINVAL, "the learner '%s' has no representations to choose labels by",
                    l->ops->name);
    int err = predict_more(l, tasks, query, out);
    if (!err && out->clusters)
        l->predicted = tasks;
    return err;
}

/* ---- clusters ---- */

/* Whether there are clusters, and each point is in one of them. */
static bool is_clustered(const struct clustering *c)
{
    if (c->n == 0 || c->k == 0)
        return true;
    bool good = c->found > 0 && c->found <= c->k;
    for (int i = 0; good && i < c->n; i++)
        good = c->cluster[i] >= 0 && c->cluster[i] < c->found;
    return good;
}

int learner_cluster(struct learner *l, int tasks, struct clustering *c)
{
    int err = 0;
    if (tasks != l->predicted)
        return fail(METE_EINVAL, "clusters of %d tasks after predicting for %d", tasks,
                    l->predicted);
    if (l->is.gives & LEARNER_CLUSTERS) {
        err = l->ops->cluster(l->state, tasks, c);
    } else {
        for (int t = 0; t < tasks; t++)
            c[t].x = l->reps[t];
        host_kmeans(NULL, tasks, l->is.features, c);
    }
    for (int t = 0; t < tasks && !err; t++)
        if (!is_clustered(&c[t]))
            err = fail(METE_EDEVICE, "%s did not cluster the %d points of a pool", l->is.device,
                       c[t].n);
    return err;
}

/* ---- the rest ---- */

int learner_save(struct learner *l, enum learner_part part, struct tensors *out)
{
    *out = (struct tensors){0};
    int err = l->ops->save(l->state, part, out);
    if (err)
        tensors_release(out);
    return err;
}

int learner_load(struct learner *l, enum learner_part part, const struct tensors *in)
{
    int err = l->ops->load(l->state, part, in);
    if (!err && part == LEARNER_ADAPTED)
        l->adapted = 1;
    return err;
}

int learner_show(struct learner *l, const struct dataset *data)
{
    return l->ops->show ? l->ops->show(l->state, data) : 0;
}

int learner_freeze(struct learner *l, const int32_t *items, int n)
{
    return l->ops->freeze && n > 0 ? l->ops->freeze(l->state, items, n) : 0;
}

bool learner_finite(struct learner *l)
{
    return !l->ops->finite || l->ops->finite(l->state);
}

int learner_wait(struct learner *l)
{
    return l->ops->wait ? l->ops->wait(l->state) : 0;
}

void learner_leave(struct learner *l)
{
    if (l->ops->leave)
        l->ops->leave(l->state);
}

double learner_flops(const struct learner *l, int support, int query)
{
    return l->ops->flops ? l->ops->flops(l->state, support, query) : 0;
}

void learner_forget(struct learner *l)
{
    free_reps(l);
    l->adapted = l->predicted = 0;
}

void learner_close(struct learner *l)
{
    if (!l)
        return;
    learner_forget(l);
    l->ops->close(l->state);
}
