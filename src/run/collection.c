/* collection.c - bought tasks: keeping them, and making meta-batches of them. */
#include "run/collection.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

void collection_add(struct collection *c, const struct episode *episodes, int n)
{
    if (c->n + n > c->room) {
        c->room = 2 * c->room + n;
        c->at = mem_grow(c->at, (size_t)c->room, sizeof *c->at);
    }
    memcpy(c->at + c->n, episodes, (size_t)n * sizeof *episodes);
    c->n += n;
}

void collection_release(struct collection *c)
{
    for (int i = 0; i < c->n; i++)
        episode_release(&c->at[i]);
    free(c->at);
    free(c->order);
    *c = (struct collection){0};
}

struct labelled_task labelled_task_of(const struct episode *e, int64_t step)
{
    return (struct labelled_task){.support = {e->support, e->support_label, e->n_support},
                                  .query = {e->query, e->query_label, e->n_query},
                                  .id = (uint64_t)e->task ^ (uint64_t)step << 32};
}

/* The order of an epoch; a function of its number and the size of the collection. */
static void shuffle_epoch(struct collection *c, uint64_t seed, int64_t epoch)
{
    if (c->order_n == c->n && c->epoch == epoch)
        return;
    struct rng r = rng_make(seed, RNG_BATCH, (uint64_t)epoch, 0);
    c->order = mem_grow(c->order, (size_t)c->n, sizeof *c->order);
    for (int i = 0; i < c->n; i++)
        c->order[i] = i;
    rng_shuffle(&r, c->order, (uint32_t)c->n);
    c->order_n = c->n;
    c->epoch = epoch;
}

static int draw_epoch(struct collection *c, uint64_t seed, int64_t step, int batch,
                      struct labelled_task *labelled)
{
    int per_epoch = c->n / batch;
    int64_t within = step % per_epoch;
    shuffle_epoch(c, seed, step / per_epoch);
    for (int i = 0; i < batch; i++)
        labelled[i] = labelled_task_of(&c->at[c->order[within * batch + i]], step);
    return batch;
}

int collection_draw(struct collection *c, enum reuse reuse, uint64_t seed, int64_t step, int batch,
                    struct labelled_task *labelled)
{
    if (c->n <= batch) {
        for (int i = 0; i < c->n; i++)
            labelled[i] = labelled_task_of(&c->at[i], step);
        return c->n;
    }
    if (reuse == REUSE_EPOCHS)
        return draw_epoch(c, seed, step, batch, labelled);
    struct rng r = rng_make(seed, RNG_BATCH, (uint64_t)step, 1);
    for (int i = 0; i < batch; i++)
        labelled[i] = labelled_task_of(&c->at[rng_below(&r, (uint32_t)c->n)], step);
    return batch;
}

static size_t points_of(const struct labelled_task *labelled, int n)
{
    size_t points = 0;
    for (int i = 0; i < n; i++)
        points += (size_t)(labelled[i].support.n + labelled[i].query.n);
    return points;
}

/* The class labels of `items`, permuted, into `labels`. */
static void renumber(struct items *items, const int32_t *number, int32_t *labels)
{
    for (int i = 0; i < items->n; i++)
        labels[i] = number[items->label[i]];
    items->label = labels;
}

void tasks_relabel(struct labelled_task *labelled, int n, int ways, uint64_t seed, int32_t **labels)
{
    int32_t *number = mem_array((size_t)ways, sizeof *number);
    int32_t *at = *labels = mem_grow(*labels, points_of(labelled, n) + 1, sizeof **labels);
    for (int i = 0; i < n; i++) {
        struct rng r = rng_make(seed, RNG_RELABEL, labelled[i].id, 0);
        for (int w = 0; w < ways; w++)
            number[w] = w;
        rng_shuffle(&r, number, (uint32_t)ways);
        renumber(&labelled[i].support, number, at);
        renumber(&labelled[i].query, number, at + labelled[i].support.n);
        at += labelled[i].support.n + labelled[i].query.n;
    }
    free(number);
}

/* The places of class w among the items of a labelled task, support first. */
static uint32_t places_of(const struct labelled_task *l, int w, int32_t *place)
{
    uint32_t n = 0;
    for (int i = 0; i < l->support.n; i++)
        if (l->support.label[i] == w)
            place[n++] = i;
    for (int i = 0; i < l->query.n; i++)
        if (l->query.label[i] == w)
            place[n++] = l->support.n + i;
    return n;
}

/* `items`: the labelled task's, support first; those of a class change places. */
static void trade_places(const struct labelled_task *l, int ways, struct rng *r, int32_t *items,
                         int32_t *place)
{
    for (int w = 0; w < ways; w++)
        for (uint32_t n = places_of(l, w, place); n > 1; n--) {
            int32_t *a = &items[place[n - 1]], *b = &items[place[rng_below(r, n)]], kept = *a;
            *a = *b;
            *b = kept;
        }
}

void tasks_resplit(struct labelled_task *labelled, int n, int ways, uint64_t seed, int32_t **items)
{
    size_t points = points_of(labelled, n);
    int32_t *at = *items = mem_grow(*items, points + 1, sizeof **items);
    int32_t *place = mem_array(points + 1, sizeof *place);
    for (int i = 0; i < n; i++) {
        struct labelled_task *l = &labelled[i];
        struct rng r = rng_make(seed, RNG_RESPLIT, l->id, 0);
        memcpy(at, l->support.at, (size_t)l->support.n * sizeof *at);
        memcpy(at + l->support.n, l->query.at, (size_t)l->query.n * sizeof *at);
        trade_places(l, ways, &r, at, place);
        l->support.at = at;
        l->query.at = at + l->support.n;
        at += l->support.n + l->query.n;
    }
    free(place);
}

/* The points of a task, support first: items, and their labels after all of them. */
static void lay_out(const struct labelled_task *l, int32_t *items, int32_t *labels)
{
    size_t ns = (size_t)l->support.n, nq = (size_t)l->query.n;
    memcpy(items, l->support.at, ns * sizeof *items);
    memcpy(items + ns, l->query.at, nq * sizeof *items);
    memcpy(labels, l->support.label, ns * sizeof *labels);
    memcpy(labels + ns, l->query.label, nq * sizeof *labels);
}

void tasks_split_anyhow(struct labelled_task *labelled, int n, uint64_t seed, int32_t **points)
{
    int32_t *at = *points = mem_grow(*points, 2 * points_of(labelled, n) + 1, sizeof **points);
    for (int i = 0; i < n; i++) {
        struct labelled_task *l = &labelled[i];
        struct rng r = rng_make(seed, RNG_RESPLIT, l->id, 0);
        int all = l->support.n + l->query.n;
        int32_t *items = at, *labels = at + all;
        lay_out(l, items, labels);
        for (int k = all; k > 1; k--) {
            uint32_t j = rng_below(&r, (uint32_t)k);
            int32_t item = items[k - 1], label = labels[k - 1];
            items[k - 1] = items[j];
            labels[k - 1] = labels[j];
            items[j] = item;
            labels[j] = label;
        }
        int ns = all > 1 ? 1 + (int)rng_below(&r, (uint32_t)all - 1) : l->support.n;
        l->support = (struct items){items, labels, ns};
        l->query = (struct items){items + ns, labels + ns, all - ns};
        at += 2 * all;
    }
}

/* A task is task (2 words), user, ways, n_support, n_query, then its items. */
enum { HEAD = 6 };

size_t collection_flatten(const struct collection *c, int32_t **out)
{
    size_t len = 0, at = 0;
    for (int i = 0; i < c->n; i++)
        len += HEAD + 2 * (size_t)(c->at[i].n_support + c->at[i].n_query);
    int32_t *flat = mem_array(len, sizeof *flat);
    for (int i = 0; i < c->n; i++) {
        const struct episode *e = &c->at[i];
        const int32_t head[HEAD] = {(int32_t)(e->task & 0xffffffff),
                                    (int32_t)(e->task >> 32),
                                    e->user,
                                    e->ways,
                                    e->n_support,
                                    e->n_query};
        const struct {
            const int32_t *from;
            int n;
        } rows[] = {{head, HEAD},
                    {e->support, e->n_support},
                    {e->support_label, e->n_support},
                    {e->query, e->n_query},
                    {e->query_label, e->n_query}};
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
            memcpy(flat + at, rows[k].from, (size_t)rows[k].n * sizeof *flat);
            at += (size_t)rows[k].n;
        }
    }
    *out = flat;
    return len;
}

static int restore_one(struct episode *e, const int32_t *flat, size_t left, size_t *used)
{
    if (left < HEAD || flat[4] < 0 || flat[5] < 0 ||
        left - HEAD < 2 * ((size_t)flat[4] + (size_t)flat[5]))
        return fail(METE_EFORMAT, "the bought tasks of the checkpoint are cut short");
    const struct task shape = {.number =
                                   (int64_t)((uint64_t)(uint32_t)flat[1] << 32 | (uint32_t)flat[0]),
                               .user = flat[2],
                               .ways = flat[3],
                               .n_query = flat[5],
                               .query = (int32_t *)flat + HEAD + 2 * flat[4]};
    episode_init(e, &shape, flat[4]);
    size_t ns = (size_t)flat[4], nq = (size_t)flat[5];
    memcpy(e->support, flat + HEAD, ns * sizeof *flat);
    memcpy(e->support_label, flat + HEAD + ns, ns * sizeof *flat);
    memcpy(e->query, flat + HEAD + 2 * ns, nq * sizeof *flat);
    memcpy(e->query_label, flat + HEAD + 2 * ns + nq, nq * sizeof *flat);
    *used = HEAD + 2 * (ns + nq);
    return 0;
}

int collection_restore(struct collection *c, const struct tasks *tasks, int part,
                       const int32_t *flat, size_t len, int64_t n)
{
    struct episode_scratch scratch = {0};
    size_t at = 0, used = 0;
    int err = 0;
    for (int64_t i = 0; i < n && !err; i++, at += used) {
        struct episode e = {0};
        err = restore_one(&e, flat + at, len - at, &used);
        if (!err)
            err = episode_check(tasks, part, &e, &scratch);
        if (!err)
            collection_add(c, &e, 1);
        else
            episode_release(&e);
    }
    episode_scratch_release(&scratch);
    return err;
}
