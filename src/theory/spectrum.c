/* spectrum.c - Lanczos's method (Golub & Van Loan, Matrix Computations, section 10.1).
 *
 * Basis vectors are kept and every new one is made orthogonal to all of them,
 * twice: without it, copies of converged eigenvalues appear.  A Ritz value's
 * error is at most the residual |b_k s_k|, with b_k the next off-diagonal entry
 * and s_k the last entry of its eigenvector in the small problem.
 */
#include "theory/spectrum.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SWEEPS_MAX = 60 };

/* One implicit QL sweep over d[from..to], shifted by the eigenvalue of the leading
 * 2x2 block that is nearer to d[from] (EISPACK's tql2, with one row of vectors). */
static void ql_sweep(int from, int to, double *d, double *e, double *last)
{
    double g = (d[from + 1] - d[from]) / (2 * e[from]);
    double r = hypot(g, 1);
    g = d[to] - d[from] + e[from] / (g + copysign(r, g));
    double s = 1, c = 1, p = 0;
    for (int i = to - 1; i >= from; i--) {
        double f = s * e[i], b = c * e[i];
        r = hypot(f, g);
        e[i + 1] = r;
        if (r == 0) { /* the matrix falls apart here */
            d[i + 1] -= p;
            e[to] = 0;
            return;
        }
        s = f / r;
        c = g / r;
        g = d[i + 1] - p;
        r = (d[i] - g) * s + 2 * c * b;
        p = s * r;
        d[i + 1] = g + p;
        g = c * r - b;
        f = last[i + 1];
        last[i + 1] = s * last[i] + c * f;
        last[i] = c * last[i] - s * f;
    }
    d[from] -= p;
    e[from] = g;
    e[to] = 0;
}

bool tridiagonal_eigen(int n, double *d, double *e, double *last)
{
    memset(last, 0, (size_t)n * sizeof *last);
    last[n - 1] = 1;
    e[n - 1] = 0;
    for (int from = 0; from < n; from++)
        for (int sweep = 0;; sweep++) {
            int to = from;
            while (to < n - 1 && fabs(e[to]) > DBL_EPSILON * (fabs(d[to]) + fabs(d[to + 1])))
                to++;
            if (to == from)
                break;
            if (sweep == SWEEPS_MAX)
                return false;
            ql_sweep(from, to, d, e, last);
        }
    return true;
}

static double dot(size_t n, const double *x, const double *y)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

static void subtract(size_t n, double *y, double a, const double *x)
{
    for (size_t i = 0; i < n; i++)
        y[i] -= a * x[i];
}

/* y loses what lies along the k vectors of `basis`. */
static void orthogonalise(size_t n, double *y, const double *basis, int k)
{
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < k; i++)
            subtract(n, y, dot(n, y, basis + (size_t)i * n), basis + (size_t)i * n);
}

static void random_start(const struct spectrum_options *o, double *x)
{
    struct rng r = rng_make(o->seed, RNG_PROBE, 0, 0);
    for (size_t i = 0; i < o->dim; i++)
        x[i] = rng_normal(&r);
    double norm = sqrt(dot(o->dim, x, x));
    for (size_t i = 0; i < o->dim; i++)
        x[i] /= norm;
}

/* The ends of the small problem after k steps, `next` being its next off-diagonal entry. */
static int read_ends(struct spectrum *s, int k, const double *diagonal, const double *off,
                     double next, double tolerance)
{
    double *work = mem_array((size_t)k * 3, sizeof *work);
    double *d = work, *e = work + k, *last = work + 2 * k;
    memcpy(d, diagonal, (size_t)k * sizeof *d);
    memcpy(e, off, (size_t)(k - 1) * sizeof *e);
    bool good = isfinite(next) && isfinite(diagonal[k - 1]) && tridiagonal_eigen(k, d, e, last);
    int high = 0, low = 0;
    for (int i = 1; good && i < k; i++) {
        high = d[i] > d[high] ? i : high;
        low = d[i] < d[low] ? i : low;
    }
    if (good) {
        double error = next * fmax(fabs(last[high]), fabs(last[low]));
        double norm = fmax(fabs(d[high]), fabs(d[low]));
        *s = (struct spectrum){d[high], d[low], error, k, error <= tolerance * norm};
    }
    free(work);
    if (!good)
        return fail(METE_EDIVERGE, "spectrum: product %d with the matrix is not finite", k);
    return 0;
}

int spectrum_of(struct spectrum *out, const struct spectrum_options *o, spectrum_fn *apply,
                void *user)
{
    assert(o->dim > 0 && o->steps > 0);
    int steps = o->dim < (size_t)o->steps ? (int)o->dim : o->steps, err = 0;
    size_t n = o->dim;
    double *basis = mem_array((size_t)(steps + 1) * n, sizeof *basis); /* (steps + 1, dim) */
    double *diagonal = mem_array((size_t)steps * 2, sizeof *diagonal), *off = diagonal + steps;
    struct spectrum s = {0};
    random_start(o, basis);
    for (int k = 0; k < steps && !err && !s.converged; k++) {
        double *x = basis + (size_t)k * n, *y = x + n;
        err = apply(user, x, y);
        if (err)
            break;
        double size = sqrt(dot(n, y, y));
        diagonal[k] = dot(n, x, y);
        orthogonalise(n, y, basis, k + 1);
        double next = sqrt(dot(n, y, y));
        if (next <= 4 * DBL_EPSILON * size || k + 1 == (int)n) /* the subspace is invariant */
            next = 0;
        err = read_ends(&s, k + 1, diagonal, off, next, o->tolerance);
        off[k] = next;
        for (size_t i = 0; next > 0 && i < n; i++)
            y[i] /= next;
    }
    free(diagonal);
    free(basis);
    if (!err)
        *out = s;
    return err;
}

struct spectrum_options spectrum_quick(size_t dim)
{
    return (struct spectrum_options){.dim = dim, .steps = 12, .tolerance = 1e-2, .seed = 1};
}

double spectrum_norm(const struct spectrum *s)
{
    return fmax(fabs(s->largest), fabs(s->smallest));
}
