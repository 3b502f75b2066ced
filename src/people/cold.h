/* cold.h - which items of a pool to ask about while there is no model. */
#ifndef PEOPLE_COLD_H
#define PEOPLE_COLD_H

#include "people/questions.h"
#include "label/label.h"

/* METE_EINVAL for a strategy that looks at a model's predictions. */
int cold_check(const struct label_ops *ops);
/* x (pool->n, f): the items as points.  At most `want` into out (want), the first the most wanted;
 * *n is how many. */
int cold_pick(const struct labeller *l, const struct pool *pool, const float *x, int f, int want,
              uint64_t seed, struct picked *out, int *n);
/* Mean squared distance of what may be asked about to the nearest known item, or to the mean. */
double cold_doubt(const struct pool *pool, const float *x, int f);

#endif
