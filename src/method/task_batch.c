/* task_batch.c - indices and labels of a shard, laid out once on the host and uploaded
 * in one piece.
 *
 * The block: rates of the optimiser (tasks); counts of support, query and both (tasks each);
 * indices of support and query, labels of support and query; then index and label arrays in the
 * order of struct task_batch.
 */
#include "method/task_batch.h"

#include <stdlib.h>
#include <string.h>

struct batch_shape batch_shape_of(const struct labelled_task *labelled, int n)
{
    struct batch_shape s = {.tasks = n};
    for (int i = 0; i < n; i++) {
        s.support = labelled[i].support.n > s.support ? labelled[i].support.n : s.support;
        s.query = labelled[i].query.n > s.query ? labelled[i].query.n : s.query;
    }
    return s;
}

/* Where each array starts, in int32s. */
struct plan {
    size_t rates, count[3], support[2], query[2], both[3], inner[2], total;
};

/* Images of a task's inner step. */
static int inner_size(const struct batch_shape *s, struct shuffle shuffled)
{
    return shuffled.size ? shuffled.size : shuffled.both ? s->support + s->query : s->support;
}

static struct plan plan_of(const struct batch_shape *s, struct shuffle shuffled)
{
    size_t t = (size_t)s->tasks, ns = t * (size_t)s->support, nq = t * (size_t)s->query;
    size_t ni = (size_t)shuffled.steps * t * (size_t)inner_size(s, shuffled);
    size_t at = t * (sizeof(struct adam_rates) / sizeof(int32_t));
    struct plan p = {.rates = 0};
    for (int i = 0; i < 3; i++, at += t)
        p.count[i] = at;
    for (int i = 0; i < 2; i++, at += ns + nq) { /* the query's after the support's */
        p.support[i] = at;
        p.query[i] = at + ns;
    }
    for (int i = 0; i < 3; i++, at += ns + nq)
        p.both[i] = at;
    for (int i = 0; i < 2; i++, at += ni)
        p.inner[i] = at;
    p.total = at;
    return p;
}

void task_batch_take(struct task_batch *f, struct worker *worker, const struct batch_shape *s,
                     struct shuffle shuffled, const struct images *images)
{
    struct plan p = plan_of(s, shuffled);
    const int32_t *at = arena_take(&worker->mem, p.total * sizeof *at);
    *f = (struct task_batch){.images = images};
    f->support = (struct batch){s->tasks, s->support, NULL};
    f->query = (struct batch){s->tasks, s->query, NULL};
    f->both = (struct batch){s->tasks, s->support + s->query, NULL};
    if (!at)
        return; /* measuring */
    f->rates = (const struct adam_rates *)(at + p.rates);
    f->support_index = at + p.support[0];
    f->support_label = at + p.support[1];
    f->query_index = at + p.query[0];
    f->query_label = at + p.query[1];
    f->both_index = at + p.both[0];
    f->both_label = at + p.both[1];
    f->both_query_label = at + p.both[2];
    f->inner_index = shuffled.steps ? at + p.inner[0] : NULL;
    f->inner_label = shuffled.steps ? at + p.inner[1] : NULL;
}

/* Items into (index, label) at `to`, padded with -1 up to n. */
static void put(int32_t *index, int32_t *label, const struct items *items, int n)
{
    for (int i = 0; i < n; i++) {
        index[i] = i < items->n ? items->at[i] : -1;
        label[i] = i < items->n && items->label ? items->label[i] : -1;
    }
}

/* Takes the labels of classes that the support does not have. */
static void leave_out(int32_t *label, int n, const struct items *support)
{
    int32_t most = -1;
    for (int i = 0; i < n; i++)
        most = label[i] > most ? label[i] : most;
    bool *has = mem_array((size_t)most + 1, sizeof *has);
    for (int i = 0; i < support->n; i++)
        if (support->label[i] >= 0 && support->label[i] <= most)
            has[support->label[i]] = true;
    for (int i = 0; i < n; i++)
        label[i] = label[i] >= 0 && has[label[i]] ? label[i] : -1;
    free(has);
}

static void put_query(int32_t *index, int32_t *label, const struct labelled_task *e, int n,
                      enum leave_out leaves_out)
{
    put(index, label, &e->query, n);
    if (leaves_out != LEAVE_NONE)
        leave_out(label, n, &e->support);
}

static void put_both(int32_t *index, int32_t *label, int32_t *query_label,
                     const struct labelled_task *e, int n, enum leave_out leaves_out)
{
    int ns = e->support.n;
    put(index, label, &e->support, ns);
    put_query(index + ns, label + ns, e, n - ns, leaves_out);
    for (int i = 0; i < n; i++)
        query_label[i] = i < ns ? -1 : label[i];
    if (leaves_out == LEAVE_QUERY)
        put(index + ns, label + ns, &e->query, n - ns);
}

/* The released code's inner batches: the indices 0..size*steps-1 mod n, shuffled over
 * all steps and cut into steps (meta-blocks, adaptation/maml.py). */
static void put_shuffled(int32_t *index, int32_t *label, const int32_t *from_index,
                         const int32_t *from_label, int n, struct shuffle shuffled, int tasks,
                         int t, uint64_t seed, uint64_t id)
{
    int steps = shuffled.steps, size = shuffled.size;
    int32_t *order = mem_array((size_t)(size * steps), sizeof *order);
    struct rng r = rng_make(seed, RNG_INNER, id, 0);
    for (int i = 0; i < size * steps; i++)
        order[i] = n > 0 ? i % n : -1;
    rng_shuffle(&r, order, (uint32_t)(size * steps));
    for (int s = 0; s < steps; s++)
        for (int i = 0; i < size; i++) {
            size_t to = ((size_t)s * (size_t)tasks + (size_t)t) * (size_t)size + (size_t)i;
            int from = order[s * size + i];
            index[to] = from < 0 ? -1 : from_index[from];
            label[to] = from < 0 ? -1 : from_label[from];
        }
    free(order);
}

void task_batch_fill(struct task_batch *f, struct worker *worker, const struct batch_shape *s,
                     struct shuffle shuffled, const struct labelled_task *labelled,
                     const struct run_step *runs, int each)
{
    struct plan p = plan_of(s, shuffled);
    int32_t *h = mem_array(p.total, sizeof *h);
    int nb = s->support + s->query, ni = shuffled.both ? nb : s->support;
    bool both = shuffled.both;
    shuffled.size = inner_size(s, shuffled);
    bool equal = true;
    for (int t = 0; t < s->tasks; t++) {
        const struct labelled_task *e = &labelled[t];
        const struct run_step *run = &runs[t / each];
        int32_t *b = h + t * nb;
        memcpy((struct adam_rates *)(h + p.rates) + t, &run->rates, sizeof run->rates);
        h[p.count[0] + (size_t)t] = e->support.n;
        h[p.count[1] + (size_t)t] = e->query.n;
        h[p.count[2] + (size_t)t] = e->support.n + e->query.n;
        equal = equal && e->support.n == s->support && e->query.n == s->query;
        put(h + p.support[0] + t * s->support, h + p.support[1] + t * s->support, &e->support,
            s->support);
        put_query(h + p.query[0] + t * s->query, h + p.query[1] + t * s->query, e, s->query,
                  run->leaves_out);
        put_both(b + p.both[0], b + p.both[1], b + p.both[2], e, nb, run->leaves_out);
        if (shuffled.steps) {
            size_t from =
                both ? p.both[0] + (size_t)(t * nb) : p.support[0] + (size_t)(t * s->support);
            size_t label =
                both ? p.both[1] + (size_t)(t * nb) : p.support[1] + (size_t)(t * s->support);
            put_shuffled(h + p.inner[0], h + p.inner[1], h + from, h + label, ni, shuffled,
                         s->tasks, t, run->seed, e->id);
        }
    }
    const int32_t *device = (const int32_t *)f->rates - p.rates;
    worker->net->k->upload(worker->dev, (void *)device, h, p.total * sizeof *h);
    f->support.count = equal ? NULL : device + p.count[0];
    f->query.count = equal ? NULL : device + p.count[1];
    f->both.count = equal ? NULL : device + p.count[2];
    free(h);
}
