/* bound.h - the closed forms behind mete_bound(), one function per statement.
 *
 * The numbers are those of the paper's section 4 and appendix B.  The closed
 * forms do not check their arguments: bound_check() does.
 */
#ifndef THEORY_BOUND_H
#define THEORY_BOUND_H

#include "mete_theory.h"

/* The c of "step sizes at most c/t": the one given, or lr * steps. */
double bound_step_constant(const struct mete_sgm *a);

/* Lemma (Hardt et al. 2015, Theorem 3.12) without its 1/(n-1):
 *   C = (1 + 1/(gamma c)) (2 c L^2)^(1/(gamma c + 1)) T^(1 - 1/(gamma c + 1)).
 * `range` is the loss's: 1 as stated; M restates it for a loss in [0, M].
 * `tight` takes the least value over all gammas at or above the one given. */
double bound_lemma(const struct mete_sgm *a, double range, bool tight);

/* Theorems 1 and 2, the part that depends on the outer loop:
 *   2 beta' + (4 n beta' + M) sqrt(ln(1/delta) / (2n)). */
double bound_outer(double n, double beta, double max_loss, double delta);

/* The lemma's C' and C for a setting, and Theorem 3 with them. */
struct bound_pair {
    double outer, inner;
};
struct bound_pair bound_constants(const struct mete_bound_setting *s);
struct mete_bound bound_at(const struct mete_bound_setting *s, struct bound_pair c);

/* A sentence for a setting that is out of its domain; all but n and m. */
int bound_check(const struct mete_bound_setting *s);
int bound_check_real(const char *loop, const char *name, double value); /* at least 0 */
int bound_check_count(const char *name, double value, double least);

#endif
