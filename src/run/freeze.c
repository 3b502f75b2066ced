/* freeze.c - which items a model's statistics are of. */
#include "run/freeze.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Enough: a channel of the last layer has 4 values of an item, and a few thousand of them say its
 * mean and deviation to a hundredth. */
enum { ITEMS = 1024 };

/* Of the supports that were bought, evenly over all there are. */
static int of_bought(const struct collection *c, int32_t *items)
{
    int64_t all = 0, at = 0;
    int n = 0;
    for (int i = 0; i < c->n; i++)
        all += c->at[i].n_support;
    int64_t want = all < ITEMS ? all : ITEMS;
    for (int i = 0; i < c->n; i++)
        for (int k = 0; k < c->at[i].n_support; k++, at++)
            if ((at + 1) * want / all > at * want / all)
                items[n++] = c->at[i].support[k];
    return n;
}

/* The classical regime keeps no tasks: of the first it drew, as many of the pool as a support has,
 * which needs no label. */
static int of_drawn(const struct tasks *tasks, int32_t *items, int *n)
{
    struct task task = {0};
    int err = 0;
    for (int64_t i = 0; !err && *n < ITEMS && i < ITEMS && i < tasks_count(tasks, SPLIT_TRAIN);
         i++) {
        err = task_draw(tasks, SPLIT_TRAIN, i, &task);
        for (int k = 0; !err && k < task.labels && k < task.n_pool && *n < ITEMS; k++)
            items[(*n)++] = task.pool[k];
    }
    task_release(&task);
    return err;
}

static int freeze(struct learner *l, const int32_t *items, int n, struct tensors *model)
{
    int err = learner_load(l, LEARNER_MODEL, model);
    if (!err)
        err = learner_freeze(l, items, n);
    if (!err) {
        tensors_release(model);
        err = learner_save(l, LEARNER_MODEL, model);
    }
    return err;
}

int freeze_models(struct experiment *x, struct trainer *t, struct tensors *last,
                  char text[FREEZE_TEXT])
{
    int n = 0, err = 0;
    const char *norm = x->learner->is.norm;
    text[0] = '\0';
    if (!x->learner->ops->freeze || strcmp(norm, "none") == 0 || strcmp(norm, "running") == 0)
        return 0;
    int32_t *items = mem_array(ITEMS, sizeof *items);
    if (t->bought.n > 0)
        n = of_bought(&t->bought, items);
    else
        err = of_drawn(t->tasks, items, &n);
    if (!err)
        err = freeze(x->learner, items, n, &t->best);
    if (!err)
        err = freeze(x->learner, items, n, last);
    if (!err)
        snprintf(text, FREEZE_TEXT, "%d items of training supports", n);
    free(items);
    return err;
}
