/* curve.h - how the error falls with people and with labels each:
 *
 *   e(n, m) = a + b n^c + d m^f + g(level),   a, b, d, g >= 0,  c, f < 0
 *
 * n people (tasks) give m labels each.  So the error never rises with labels.  Runs of fewer
 * training steps lie above by an amount of their level; level 0 is the whole training.
 *
 * The exponents have the theory's shape as their prior: the bound of a method that is judged on
 * held-out queries falls with n alone, as n^-1/2; that of one that minimises an empirical risk also
 * with m, as 1/m (theory/bound.h).  A learning curve of neural nets has exponents of -0.07 to -0.5
 * in practice (Hestness et al. 2017), so the prior is wide.
 */
#ifndef PLAN_CURVE_H
#define PLAN_CURVE_H

#include <stdbool.h>
#include <stddef.h>

enum { CURVE_LEVELS = 4 };

struct curve_point {
    double n, m;
    int level;
    double error;  /* 0..1 */
    double weight; /* 1 / variance */
};

struct curve {
    double a, b, c, d, f;
    double level[CURVE_LEVELS]; /* g; level[0] is 0 */
    double chi2;                /* sum of weighted squared residuals */
};

/* `heldout`: the theory's bound does not depend on m. */
void curve_fit(struct curve *out, const struct curve_point *p, int n, bool heldout);
double curve_at(const struct curve *c, double n, double m); /* error of the whole training, 0..1 */

/* Whether the points are no learning curve: more labels of the same kind gave clearly worse
 * results, or the fit misses them by much more than their noise.  `why` says which. */
bool curve_odd(const struct curve *c, const struct curve_point *p, int n, char *why, size_t size);

#endif
