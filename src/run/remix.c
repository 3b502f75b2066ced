/* remix.c - tasks made anew of bought points. */
#include "run/remix.h"
#include "base/memory.h"
#include "base/rng.h"

#include <stdlib.h>
#include <string.h>

int bought_classes(const struct collection *bought, const struct tasks *tasks, int32_t *of)
{
    struct task task = {0};
    int err = 0;
    memset(of, -1, (size_t)tasks_dataset(tasks)->items * sizeof *of);
    for (int i = 0; i < bought->n && !err; i++) {
        const struct episode *e = &bought->at[i];
        err = task_draw(tasks, SPLIT_TRAIN, e->task, &task);
        for (int k = 0; k < e->n_support && !err; k++)
            of[e->support[k]] = task.classes[e->support_label[k]];
        for (int k = 0; k < e->n_query && !err; k++)
            of[e->query[k]] = task.classes[e->query_label[k]];
    }
    task_release(&task);
    return err;
}

/* Sorts bought points by class; `least` of them make a class that tasks can have. */
static int sort_points(struct remix *x, const struct collection *bought, const struct tasks *tasks,
                       int least)
{
    const struct dataset *d = tasks_dataset(tasks);
    size_t classes = (size_t)d->classes, items = (size_t)d->items;
    int32_t *of = mem_array(items, sizeof *of);
    int err = bought_classes(bought, tasks, of);
    if (err) {
        free(of);
        return err;
    }
    x->from = mem_grow(x->from, classes + 1, sizeof *x->from);
    x->open = mem_grow(x->open, classes, sizeof *x->open);
    x->item = mem_grow(x->item, items, sizeof *x->item);
    memset(x->from, 0, (classes + 1) * sizeof *x->from);
    for (size_t i = 0; i < items; i++)
        if (of[i] >= 0)
            x->from[of[i] + 1]++;
    x->n_open = 0;
    for (size_t c = 0; c < classes; c++) {
        if (x->from[c + 1] >= least)
            x->open[x->n_open++] = (int32_t)c;
        x->from[c + 1] += x->from[c];
    }
    int32_t *next = mem_array(classes, sizeof *next);
    memcpy(next, x->from, classes * sizeof *next);
    for (size_t i = 0; i < items; i++)
        if (of[i] >= 0)
            x->item[next[of[i]]++] = (int32_t)i;
    free(next);
    free(of);
    x->n = bought->n;
    return 0;
}

/* Shots and query points of a class, as the training tasks have them. */
struct measures {
    int ways, shots, query;
};

static struct labelled_task make(const struct remix *x, struct measures m, struct rng *r,
                                 int32_t *item, int32_t *label)
{
    int per_class = m.shots + m.query, n_support = m.ways * m.shots;
    int32_t *classes = mem_array((size_t)m.ways, sizeof *classes);
    int32_t *chosen = mem_array((size_t)per_class, sizeof *chosen);
    rng_choose(r, (uint32_t)x->n_open, (uint32_t)m.ways, classes);
    for (int w = 0; w < m.ways; w++) {
        int32_t begin = x->from[x->open[classes[w]]], end = x->from[x->open[classes[w]] + 1];
        rng_choose(r, (uint32_t)(end - begin), (uint32_t)per_class, chosen);
        for (int k = 0; k < per_class; k++) {
            int at = k < m.shots ? w * m.shots + k : n_support + w * m.query + (k - m.shots);
            item[at] = x->item[begin + chosen[k]];
            label[at] = w;
        }
    }
    free(chosen);
    free(classes);
    return (struct labelled_task){.support = {item, label, n_support},
                                  .query = {item + n_support, label + n_support, m.ways * m.query}};
}

int remix_draw(struct remix *x, const struct collection *bought, const struct tasks *tasks,
               uint64_t seed, int64_t step, int n, struct labelled_task *labelled, int *made)
{
    int ways = tasks_ways(tasks);
    struct measures m = {ways, tasks_shots(tasks), bought->n ? bought->at[0].n_query / ways : 0};
    size_t points = (size_t)ways * (size_t)(m.shots + m.query);
    int err = x->n == bought->n ? 0 : sort_points(x, bought, tasks, m.shots + m.query);
    *made = 0;
    if (err || x->n_open < ways)
        return err;
    x->space = mem_grow(x->space, 2 * points * (size_t)n, sizeof *x->space);
    for (int i = 0; i < n; i++) {
        struct rng r = rng_make(seed, RNG_REMIX, (uint64_t)step, (uint32_t)i);
        int32_t *item = x->space + 2 * points * (size_t)i;
        labelled[i] = make(x, m, &r, item, item + points);
        labelled[i].id = (uint64_t)(uint32_t)i | (uint64_t)step << 32;
    }
    *made = n;
    return 0;
}

void remix_release(struct remix *x)
{
    free(x->item);
    free(x->from);
    free(x->open);
    free(x->space);
    *x = (struct remix){0};
}
