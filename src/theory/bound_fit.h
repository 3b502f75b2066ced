/* bound_fit.h - the bound's shape, fitted to the studies of a database that is open. */
#ifndef THEORY_BOUND_FIT_H
#define THEORY_BOUND_FIT_H

#include "mete_theory.h"

struct store;

/* As mete_shape() has it, of one suite (NULL: of all); *n is 0 where nothing can be fitted.
 * free() *out. */
int shape_fit(struct store *s, const char *suite, struct mete_shape **out, int *n);

#endif
