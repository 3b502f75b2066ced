/* stub.h - a learner whose answers are known: the oracle of the driver's tests.
 *
 * Its model is one number, the meta-updates it has taken.  What it predicts for an item is a
 * function of that number, of the item and of the support it was adapted to (stub_probs), so
 * that a test can compute every number of a run a second time.  It cheats: it knows the
 * classes of all items, and is right as often as its skill says, which rises until update 16
 * and falls after it.  It keeps a record of all it was shown.
 */
#ifndef STUB_H
#define STUB_H

#include "base/error.h"
#include "base/memory.h"
#include "data/dataset.h"
#include "method/learner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STUB_PEAK = 16, STUB_FEATURES = 3 };

/* A task as the learner met it. */
struct shown {
    int theta;   /* updates before */
    int call;    /* number of the call: tasks of one call share it */
    bool pool;   /* a pool to choose from: entropies or representations were asked for, too */
    uint64_t id; /* of a training task */
    struct items support, query; /* copies; labels of a query in training only */
};

struct record {
    struct shown *at;
    int n;
};

struct stub {
    struct learner learner;
    const struct dataset *data;
    bool users;
    int ways, meta_batch;
    int theta, steps;      /* the model; updates ever taken */
    int loss_from;         /* of the mean loss */
    struct items *support; /* of the last adapt */
    int tasks, calls;
    struct record taught, asked; /* steps; predictions */
    /* how it behaves */
    int most;    /* tasks it has memory for in a call; 0: any number */
    int nan_at;  /* update whose loss is NaN; 0: none */
    int bad_at;  /* update after which the weights are not finite; 0: none */
    int lost_at; /* update after which it says NaN when it is adapted; 0: none */
};

static double stub_hash(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t x = a * 0x9e3779b97f4a7c15u ^ (b + 0x632be59bd9b4e019u) * 0xd6e8feb86659fd93u ^
                 (c + 1) * 0xa0761d6478bd642fu;
    for (int i = 0; i < 3; i++)
        x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
    return (double)(x >> 11) * 0x1p-53;
}

static double stub_skill(int theta)
{
    return 0.15 + 0.05 * (theta < STUB_PEAK ? theta : 2 * STUB_PEAK - theta);
}

/* The label that an item has in a task with this support; -1 where the support does not say. */
static int stub_label(const struct dataset *d, bool users, const struct items *support,
                      int32_t item)
{
    if (users)
        return d->y[item];
    for (int i = 0; i < support->n; i++)
        if (d->y[support->at[i]] == d->y[item])
            return support->label[i];
    return -1;
}

/* The probabilities (ways) of an item after `theta` updates and adapting to `support`. */
static void stub_probs(const struct dataset *d, bool users, int theta, int ways,
                       const struct items *support, int32_t item, float *p)
{
    uint64_t n = (uint64_t)support->n, at = (uint64_t)item, t = (uint64_t)theta;
    int label = support->n > 0 ? stub_label(d, users, support, item) : -1;
    int chosen = (int)(stub_hash(at, t, 1000 + n) * ways);
    if (label >= 0 && stub_hash(at, t, 2000 + n) < stub_skill(theta))
        chosen = label;
    float sure = (float)((1 + (ways - 1) * stub_hash(at, t, 3000 + n)) / ways);
    for (int c = 0; c < ways; c++)
        p[c] = c == chosen ? sure : (1 - sure) / (float)(ways - 1);
}

/* The loss of an update. */
static double stub_loss(int step)
{
    return 3.0 / (1 + step) + stub_hash((uint64_t)step, 7, 7);
}

static struct items copy_items(const struct items *from)
{
    struct items to = {.n = from->n};
    int32_t *block = mem_array(2 * (size_t)from->n + 1, sizeof *block);
    if (from->n > 0)
        memcpy(block, from->at, (size_t)from->n * sizeof *block);
    to.at = block;
    if (from->label && from->n > 0) {
        memcpy(block + from->n, from->label, (size_t)from->n * sizeof *block);
        to.label = block + from->n;
    }
    return to;
}

static void record_add(struct record *r, struct shown s)
{
    r->at = mem_grow(r->at, (size_t)r->n + 1, sizeof *r->at);
    s.support = copy_items(&s.support);
    s.query = copy_items(&s.query);
    r->at[r->n++] = s;
}

static void record_release(struct record *r)
{
    for (int i = 0; i < r->n; i++) {
        free((void *)r->at[i].support.at);
        free((void *)r->at[i].query.at);
    }
    free(r->at);
    *r = (struct record){0};
}

static void forget_support(struct stub *s)
{
    for (int t = 0; t < s->tasks; t++)
        free((void *)s->support[t].at);
    free(s->support);
    s->support = NULL;
    s->tasks = 0;
}

static int stub_step(void *state, const struct labelled_task *tasks, int n)
{
    struct stub *s = state;
    if (n < 1 || n > s->meta_batch)
        return fail(METE_EINVAL, "stub: a step of %d tasks, opened for %d", n, s->meta_batch);
    for (int i = 0; i < n; i++)
        record_add(&s->taught, (struct shown){.theta = s->theta,
                                              .call = s->calls,
                                              .id = tasks[i].id,
                                              .support = tasks[i].support,
                                              .query = tasks[i].query});
    s->calls++;
    s->theta++;
    s->steps++;
    return 0;
}

static int stub_mean_loss(void *state, bool restart, double *mean)
{
    struct stub *s = state;
    double sum = 0;
    for (int i = s->loss_from; i < s->steps; i++)
        sum += i + 1 == s->nan_at ? NAN : stub_loss(i);
    *mean = sum / (s->steps - s->loss_from);
    if (restart)
        s->loss_from = s->steps;
    return 0;
}

static bool stub_finite(void *state)
{
    const struct stub *s = state;
    return !s->bad_at || s->steps < s->bad_at;
}

static int stub_adapt(void *state, int tasks, const struct items *support)
{
    struct stub *s = state;
    forget_support(s);
    if (s->most && tasks > s->most)
        return fail(METE_ENOMEM, "stub: no memory for %d tasks", tasks);
    s->support = mem_array((size_t)tasks, sizeof *s->support);
    for (int t = 0; t < tasks; t++)
        s->support[t] = copy_items(&support[t]);
    s->tasks = tasks;
    return 0;
}

static int stub_predict(void *state, int tasks, const struct items *query,
                        const struct predicted *out)
{
    struct stub *s = state;
    float *p = mem_array((size_t)s->ways, sizeof *p);
    for (int t = 0; t < tasks; t++) {
        record_add(&s->asked, (struct shown){.theta = s->theta,
                                             .call = s->calls,
                                             .pool = out->reps != NULL,
                                             .support = s->support[t],
                                             .query = query[t]});
        for (int i = 0; i < query[t].n; i++) {
            int32_t item = query[t].at[i];
            stub_probs(s->data, s->users, s->theta, s->ways, &s->support[t], item, p);
            if (s->lost_at && s->theta >= s->lost_at && s->support[t].n > 0)
                p[s->ways - 1] = NAN;
            if (out->probs && out->probs[t])
                memcpy(out->probs[t] + i * s->ways, p, (size_t)s->ways * sizeof *p);
            for (int f = 0; out->reps && out->reps[t] && f < STUB_FEATURES; f++)
                out->reps[t][i * STUB_FEATURES + f] =
                    (float)stub_hash((uint64_t)s->data->y[item], (uint64_t)f, 5);
        }
    }
    s->calls++;
    free(p);
    return 0;
}

/* The model has an array of bytes, too, whose length changes as it learns. */
static int stub_save(void *state, enum learner_part part, struct tensors *out)
{
    struct stub *s = state;
    int64_t one = 1, length = 1 + s->theta % 7;
    if (part == LEARNER_TRAINING) {
        int64_t *steps = tensors_add(out, "steps", DTYPE_I64, 0, NULL);
        *steps = s->steps;
        return 0;
    }
    float *theta = tensors_add(out, "theta", DTYPE_F32, 1, &one);
    uint8_t *blob = tensors_add(out, "blob", DTYPE_U8, 1, &length);
    *theta = (float)s->theta;
    memset(blob, s->theta, (size_t)length);
    return 0;
}

static int stub_load(void *state, enum learner_part part, const struct tensors *in)
{
    struct stub *s = state;
    const struct ndarray *steps = tensors_find(in, "steps"), *theta = tensors_find(in, "theta"),
                         *blob = tensors_find(in, "blob");
    if (part == LEARNER_TRAINING) {
        s->steps = s->loss_from = (int)*(const int64_t *)steps->data;
        return 0;
    }
    s->theta = (int)*(const float *)theta->data;
    const uint8_t *bytes = blob->data;
    if ((int64_t)blob->bytes != 1 + s->theta % 7 || blob->shape[0] != (int64_t)blob->bytes ||
        bytes[0] != s->theta || bytes[blob->bytes - 1] != s->theta)
        return fail(METE_EFORMAT, "stub: bytes of another model");
    return 0;
}

static void stub_close(void *state)
{
    forget_support(state); /* the record stays: the test reads it */
}

static const struct learner_ops stub_ops = {
    .name = "stub",
    .step = stub_step,
    .loss = stub_mean_loss,
    .adapt = stub_adapt,
    .predict = stub_predict,
    .save = stub_save,
    .load = stub_load,
    .close = stub_close,
    .finite = stub_finite,
};

/* A learner_source whose user is the stub: opens it anew, and keeps its record and its ways. */
static int stub_open(const void *user, const struct learner_spec *spec, struct learner **out)
{
    struct stub *s = (struct stub *)user;
    bool batched = s->learner.is.batched;
    s->data = spec->data;
    s->ways = spec->ways;
    s->meta_batch = spec->meta_batch;
    s->theta = s->steps = s->loss_from = 0;
    s->learner = (struct learner){.ops = &stub_ops,
                                  .state = s,
                                  .is = {.ways = spec->ways,
                                         .features = STUB_FEATURES,
                                         .batched = batched,
                                         .device = "none",
                                         .norm = "none",
                                         .workers = 1}};
    *out = &s->learner;
    return 0;
}

static void stub_release(struct stub *s)
{
    forget_support(s);
    record_release(&s->taught);
    record_release(&s->asked);
}

#endif
