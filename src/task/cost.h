/* cost.h - what a label costs. */
#ifndef TASK_COST_H
#define TASK_COST_H

#include "base/param.h"
#include "data/content.h"
#include "base/money.h"

struct cost {
    millionths constant;
    millionths *of_class; /* (classes), or NULL */
    millionths *of_item;  /* (items), or NULL */
};

/* Reads "1", "class:FILE" (lines of name,cost or number,cost, one for each class)
 * or "item:FILE" (a line for each item, in order).  A label that is somebody's answer costs what
 * was paid for it. */
int cost_open(struct cost *out, const struct dataset *d, const char *text);
void cost_release(struct cost *c);
/* A word for the prices of a file (data/content.h); false where they are of none. */
bool cost_content(const struct cost *c, const struct dataset *d, char out[CONTENT_SIZE]);
/* For the settings table: a number as money_text() prints it. */
int cost_canonical(char text[PARAM_TEXT_SIZE]);

static inline millionths cost_of(const struct cost *c, const struct dataset *d, int32_t item)
{
    return c->of_item ? c->of_item[item] : c->of_class ? c->of_class[d->y[item]] : c->constant;
}

#endif
