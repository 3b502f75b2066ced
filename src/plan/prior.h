/* prior.h - a plan where too few labels are known to simulate with: what did best elsewhere. */
#ifndef PLAN_PRIOR_H
#define PLAN_PRIOR_H

#include "plan/plan.h"

struct precedent {
    int recipe, each;
    int64_t people, labels;
    double accuracy, lo, hi; /* NaN: how many classes there are is not known */
    int situations;          /* that it rests on */
    int64_t pilot;
    int pilot_each;
};
int prior_make(struct precedent *p, const struct situation *s);
/* free() them. */
char *prior_text(const struct precedent *p, const struct situation *s);
char *prior_json(const struct precedent *p, const struct situation *s);

#endif
