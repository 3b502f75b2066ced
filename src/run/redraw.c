/* redraw.c - other images of the classes of bought tasks. */
#include "run/redraw.h"
#include "run/remix.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"

#include <stdlib.h>
#include <string.h>

static int64_t items_of(const struct tasks *tasks)
{
    return tasks_dataset(tasks)->items;
}

static void make_room(struct redraw *x, const struct tasks *tasks)
{
    if (!x->shown)
        x->shown = mem_array((size_t)items_of(tasks), 1);
}

/* The places of label w among the points of a task, support first. */
static int places_of(const struct labelled_task *l, int w, int32_t *place)
{
    int n = 0;
    for (int i = 0; i < l->support.n + l->query.n; i++) {
        bool support = i < l->support.n;
        if ((support ? l->support.label[i] : l->query.label[i - l->support.n]) == w)
            place[n++] = i;
    }
    return n;
}

static void show(struct redraw *x, int32_t item)
{
    x->n_shown += !x->shown[item];
    x->shown[item] = 1;
}

/* `at` has the items of a task; those of label w become others of their class. */
static void redraw_label(struct redraw *x, const struct tasks *tasks, struct rng *r, int32_t *at,
                         const int32_t *place, int n, int32_t *chosen)
{
    int size;
    const int32_t *item = tasks_class_items(tasks, x->klass[at[place[0]]], &size);
    rng_choose(r, (uint32_t)size, (uint32_t)n, chosen);
    for (int i = 0; i < n; i++) {
        at[place[i]] = item[chosen[i]];
        show(x, item[chosen[i]]);
    }
}

static int learn_classes(struct redraw *x, const struct collection *bought,
                         const struct tasks *tasks)
{
    make_room(x, tasks);
    if (x->n == bought->n)
        return 0;
    x->klass = mem_grow(x->klass, (size_t)items_of(tasks), sizeof *x->klass);
    x->n = bought->n;
    return bought_classes(bought, tasks, x->klass);
}

int redraw_items(struct redraw *x, const struct collection *bought, const struct tasks *tasks,
                 uint64_t seed, struct labelled_task *labelled, int n)
{
    int most = 0;
    int err = learn_classes(x, bought, tasks);
    for (int i = 0; i < n; i++) {
        int points = labelled[i].support.n + labelled[i].query.n;
        most = points > most ? points : most;
    }
    if (err)
        return err;
    x->space = mem_grow(x->space, (size_t)n * (size_t)most + 1, sizeof *x->space);
    int32_t *place = mem_array(2 * (size_t)most + 1, sizeof *place);
    for (int i = 0; i < n; i++) {
        struct labelled_task *l = &labelled[i];
        struct rng r = rng_make(seed, RNG_REDRAW, l->id, 0);
        int32_t *at = x->space + (size_t)i * (size_t)most;
        memcpy(at, l->support.at, (size_t)l->support.n * sizeof *at);
        memcpy(at + l->support.n, l->query.at, (size_t)l->query.n * sizeof *at);
        for (int w = 0; w < tasks_ways(tasks); w++) {
            int k = places_of(l, w, place);
            if (k > 0)
                redraw_label(x, tasks, &r, at, place, k, place + most);
        }
        l->support.at = at;
        l->query.at = at + l->support.n;
    }
    free(place);
    return 0;
}

int redraw_restore(struct redraw *x, const struct tasks *tasks, const uint8_t *shown)
{
    make_room(x, tasks);
    x->n_shown = 0;
    for (int64_t i = 0; i < items_of(tasks); i++) {
        if (shown[i] > 1)
            return fail(METE_EFORMAT, "item %lld was shown %d times", (long long)i, shown[i]);
        x->shown[i] = shown[i];
        x->n_shown += shown[i];
    }
    return 0;
}

void redraw_release(struct redraw *x)
{
    free(x->klass);
    free(x->shown);
    free(x->space);
    *x = (struct redraw){0};
}
