/* task.c - drawing one task.
 *
 * The classes and the query come from one stream and the order of the pool from
 * another, so that a task read from a file gets the same pool as the task drawn.
 */
#include "task/task.h"
#include "task/hidden.h"
#include "task/tasks_own.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Room for the largest task there is, so that it is taken once. */
static void make_room(const struct tasks *t, struct task *task)
{
    if (task->room >= t->room)
        return;
    task->room = t->room;
    free(task->classes);
    task->classes = mem_array((size_t)task->room, sizeof *task->classes);
}

void task_release(struct task *task)
{
    free(task->classes); /* one block: classes, pool and query */
    *task = (struct task){0};
}

/* Splits the items of one class into query and pool. */
static void draw_class(const struct tasks *t, struct task *task, int klass, struct rng *r)
{
    int n = (int)index_size(&t->of, klass), kept = 0;
    const int32_t *item = index_items_of(&t->of, klass);
    int32_t *query = task->query + task->n_query, *pool = task->pool + task->n_pool;
    struct rng of_class = rng_make(t->seed, RNG_TASK, (uint64_t)klass, TASK_QUERY);
    bool fixed = t->query_fixed && task->part == SPLIT_TRAIN;
    rng_choose(fixed ? &of_class : r, (uint32_t)n, (uint32_t)t->query, query);
    memcpy(pool, item, (size_t)n * sizeof *pool);
    for (int i = 0; i < t->query; i++) {
        pool[query[i]] = -1;
        query[i] = item[query[i]];
    }
    for (int i = 0; i < n; i++)
        if (pool[i] >= 0)
            pool[kept++] = pool[i];
    task->n_query += t->query;
    task->n_pool += kept;
}

/* Keeps the first `cap` of each class of a pool in random order. */
static void cap_pool(struct task *task, int cap)
{
    int *seen = mem_array((size_t)task->ways, sizeof *seen), kept = 0;
    for (int i = 0; i < task->n_pool; i++)
        if (seen[hidden_label(task, task->pool[i])]++ < cap)
            task->pool[kept++] = task->pool[i];
    task->n_pool = kept;
    free(seen);
}

static void draw_classes(const struct tasks *t, struct task *task, struct rng *r)
{
    rng_choose(r, (uint32_t)t->n_open[task->part], (uint32_t)t->ways, task->classes);
    task->query = task->classes + t->ways;
    task->pool = task->query + t->ways * t->query;
    for (int c = 0; c < t->ways; c++) {
        task->classes[c] = t->open[task->part][task->classes[c]];
        draw_class(t, task, task->classes[c], r);
    }
    rng_shuffle(r, task->query, (uint32_t)task->n_query);
}

/* Leaves some of a user's query, drawn at random, where task.query or task.labels asks for no more.
 */
static void draw_query(const struct tasks *t, struct task *task, struct rng *r)
{
    int64_t most = tasks_query_most(t);
    if (most >= task->n_query)
        return;
    for (int i = 0; i < (int)most; i++) {
        int other = i + (int)rng_below(r, (uint32_t)(task->n_query - i));
        int32_t swap = task->query[i];
        task->query[i] = task->query[other];
        task->query[other] = swap;
    }
    task->n_query = (int)most;
}

static void take_user(const struct tasks *t, struct task *task, struct rng *r)
{
    int user = t->open[task->part][task->number % t->n_open[task->part]];
    const int32_t *item = index_items_of(&t->of, user);
    task->user = user;
    task->n_query = t->n_query[user];
    task->n_pool = (int)index_size(&t->of, user) - task->n_query;
    task->query = task->classes + t->ways;
    task->pool = task->query + task->n_query;
    for (int c = 0; c < t->ways; c++)
        task->classes[c] = c;
    memcpy(task->pool, item, (size_t)task->n_pool * sizeof *item);
    memcpy(task->query, item + task->n_pool, (size_t)task->n_query * sizeof *item);
    draw_query(t, task, r);
}

/* How many labels the support asks for. */
static int count_labels(const struct tasks *t, const struct task *task)
{
    int64_t asked = t->labels ? t->labels : (int64_t)t->ways * t->shots;
    if (t->each)
        asked = t->each - task->n_query;
    else if (!t->labels && t->cap == CAP_PRESENT && t->split.users) {
        int *seen = mem_array((size_t)t->ways, sizeof *seen);
        asked = 0;
        for (int i = 0; i < task->n_pool; i++)
            asked += seen[hidden_label(task, task->pool[i])]++ < t->shots;
        free(seen);
    }
    return asked < task->n_pool ? (int)asked : task->n_pool;
}

int task_draw(const struct tasks *t, int part, int64_t number, struct task *task)
{
    assert(part >= 0 && part < SPLIT_PARTS && number >= 0);
    int enough = t->split.users ? 1 : t->ways;
    if (t->n_open[part] < enough)
        return tasks_check(t, part);
    struct rng r = rng_make(t->seed, RNG_TASK, (uint64_t)number, TASK_DRAW + (uint32_t)part);
    struct rng order = rng_make(t->seed, RNG_TASK, (uint64_t)number, TASK_POOL + (uint32_t)part);
    task->from = t;
    task->part = part;
    task->number = number;
    task->user = -1;
    task->ways = t->ways;
    task->n_pool = task->n_query = 0;
    make_room(t, task);
    if (t->split.users)
        take_user(t, task, &r);
    else
        draw_classes(t, task, &r);
    rng_shuffle(&order, task->pool, (uint32_t)task->n_pool);
    if (t->pool_cap && !t->split.users)
        cap_pool(task, t->pool_cap);
    task->labels = count_labels(t, task);
    return 0;
}

int32_t hidden_label(const struct task *task, int32_t item)
{
    int32_t klass = task->from->d->y[item];
    if (task->from->split.users)
        return klass;
    for (int c = 0; c < task->ways; c++)
        if (task->classes[c] == klass)
            return c;
    assert(!"an item of a task is of one of its classes");
    return -1;
}

void episode_init(struct episode *e, const struct task *task, int n_support)
{
    size_t s = (size_t)n_support, q = (size_t)task->n_query;
    int32_t *block = mem_array(2 * (s + q) + 1, sizeof *block);
    *e = (struct episode){
        .task = task->number,
        .user = task->user,
        .ways = task->ways,
        .n_support = n_support,
        .n_query = task->n_query,
        .support = block,
        .support_label = block + s,
        .query = block + 2 * s,
        .query_label = block + 2 * s + q,
    };
    memcpy(e->query, task->query, q * sizeof *block);
}

void episode_release(struct episode *e)
{
    free(e->support);
    *e = (struct episode){0};
}

void episode_scratch_release(struct episode_scratch *s)
{
    task_release(&s->task);
    free(s->where);
    *s = (struct episode_scratch){0};
}

enum { NOWHERE, IN_POOL, IN_QUERY };

/* Whether item i of n is where it should be, not met before, and has its label. */
static bool items_fit(const struct episode_scratch *s, const int32_t *item, const int32_t *label,
                      int n, uint8_t where, int64_t items)
{
    bool fit = true;
    for (int i = 0; i < n && fit; i++) {
        fit = item[i] >= 0 && item[i] < items && s->where[item[i]] == where &&
              label[i] == hidden_label(&s->task, item[i]);
        if (fit)
            s->where[item[i]] = NOWHERE;
    }
    return fit;
}

static void mark(struct episode_scratch *s, uint8_t pool, uint8_t query)
{
    for (int i = 0; i < s->task.n_pool; i++)
        s->where[s->task.pool[i]] = pool;
    for (int i = 0; i < s->task.n_query; i++)
        s->where[s->task.query[i]] = query;
}

int episode_check(const struct tasks *t, int part, const struct episode *e,
                  struct episode_scratch *s)
{
    int64_t items = t->d->items;
    if (!s->where)
        s->where = mem_array((size_t)items, 1);
    int err = e->task >= 0
                  ? task_draw(t, part, e->task, &s->task)
                  : fail(METE_EFORMAT, "task %lld: no task has that number", (long long)e->task);
    if (err)
        return err;
    mark(s, IN_POOL, IN_QUERY);
    bool fits = e->user == s->task.user && e->ways == s->task.ways &&
                e->n_query == s->task.n_query && e->n_support <= s->task.labels &&
                items_fit(s, e->support, e->support_label, e->n_support, IN_POOL, items) &&
                items_fit(s, e->query, e->query_label, e->n_query, IN_QUERY, items);
    mark(s, NOWHERE, NOWHERE);
    return fits ? 0
                : fail(METE_EFORMAT, "task %lld: its points or labels are not those of that task",
                       (long long)e->task);
}
