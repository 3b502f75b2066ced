/* spectrum.h - the extreme eigenvalues of a symmetric matrix known only by its products.
 *
 * For a Hessian, max(|largest|, |smallest|) is the curvature that the theory calls
 * gamma (smoothness) at that point.
 */
#ifndef THEORY_SPECTRUM_H
#define THEORY_SPECTRUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* y = H x, both of `dim` numbers.  0, or a METE_E* that ends the search. */
typedef int spectrum_fn(void *user, const double *x, double *y);

struct spectrum_options {
    size_t dim;
    int steps;        /* the most products; also how many vectors are kept */
    double tolerance; /* stop when both ends are known to this times the larger of them */
    uint64_t seed;    /* of the random start */
};

/* What the constants of a study are measured with: 12 products at most, to 1 % of the larger
 * end.  That is a bound; an end is known to about its square. */
struct spectrum_options spectrum_quick(size_t dim);

struct spectrum {
    double largest, smallest;
    double error;   /* each end lies within this of an eigenvalue */
    int steps;      /* products taken */
    bool converged; /* error is within the tolerance */
};

/* Lanczos with full reorthogonalisation. */
int spectrum_of(struct spectrum *out, const struct spectrum_options *o, spectrum_fn *apply,
                void *user);

/* The largest |eigenvalue|. */
double spectrum_norm(const struct spectrum *s);

/* All eigenvalues of the symmetric tridiagonal matrix with diagonal d (n) and
 * off-diagonal e (n - 1 and one spare), into d in no order; e is used up.  last (n)
 * becomes the last entry of each normalised eigenvector.  False: no convergence,
 * which only numbers that are not finite bring about. */
bool tridiagonal_eigen(int n, double *d, double *e, double *last);

#endif
