/* tasks_own.h - what tasks.c prepares and task.c draws from. */
#ifndef TASK_TASKS_OWN_H
#define TASK_TASKS_OWN_H

#include "task/task.h"

/* The second number of the streams of RNG_TASK: the part, plus what is drawn. */
enum { TASK_DRAW = 0, TASK_POOL = 4, TASK_ORDER = 8, TASK_QUERY = 12 };

struct item_index { /* items listed by class or user */
    int64_t *start; /* (keys + 1) */
    int32_t *item;
};

static inline int64_t index_size(const struct item_index *x, int key)
{
    return x->start[key + 1] - x->start[key];
}

static inline int32_t *index_items_of(const struct item_index *x, int key)
{
    return x->item + x->start[key];
}

struct tasks {
    const struct dataset *d;
    uint64_t seed;
    struct split split;
    int ways, shots, query, pool_cap, cap;
    bool query_fixed;           /* of a class the same query items in all training tasks */
    int labels;                 /* of a support in all; 0: by shots */
    int each;                   /* of support and query in all; 0: by shots and query */
    struct item_index of;       /* by class, or by user: the pool's items first */
    int *n_query;               /* (users) items at the end that are query */
    int32_t *open[SPLIT_PARTS]; /* classes or users with items enough */
    int n_open[SPLIT_PARTS];
    int max_pool, max_query;
    int room; /* numbers that a task's classes, query and pool take at most */
};

/* The most query items of a user. */
static inline int64_t tasks_query_most(const struct tasks *t)
{
    int64_t of_classes = t->query ? (int64_t)t->ways * t->query : INT32_MAX;
    return t->each ? t->each / 2 : of_classes;
}

#endif
