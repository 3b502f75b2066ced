/* cost.h - what a label costs, in millionths: sums of whole numbers are exact, so
 * that the last label is bought or refused for the right reason.
 */
#ifndef TASK_COST_H
#define TASK_COST_H

#include "data/dataset.h"

#define MILLIONTHS 1e6

struct cost {
    int64_t constant;
    int64_t *of_class; /* (classes), or NULL */
    int64_t *of_item;  /* (items), or NULL */
};

/* Reads "1", "class:FILE" (lines of name,cost or number,cost, one for each class)
 * or "item:FILE" (a line for each item, in order). */
int cost_open(struct cost *out, const struct dataset *d, const char *text);
void cost_release(struct cost *c);

static inline int64_t cost_of(const struct cost *c, const struct dataset *d, int32_t item)
{
    return c->of_item ? c->of_item[item] : c->of_class ? c->of_class[d->y[item]] : c->constant;
}

#endif
