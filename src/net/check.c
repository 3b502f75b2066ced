/* check.c - a gradient against central differences along random directions. */
#include "net/net.h"

#include <math.h>
#include <stdlib.h>

static double slope(check_fn *f, void *user, const double *x, const double *along, size_t n,
                    double step, double *moved)
{
    double values[2];
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < n; i++)
            moved[i] = x[i] + (side ? -step : step) * along[i];
        values[side] = f(user, moved);
    }
    return (values[0] - values[1]) / (2 * step);
}

double gradient_check(check_fn *f, void *user, const double *x, const double *grad, size_t n,
                      double step, int probes, uint64_t seed)
{
    double worst = 0, norm = 0;
    double *along = mem_array(n, sizeof *along), *moved = mem_array(n, sizeof *moved);
    for (size_t i = 0; i < n; i++)
        norm += grad[i] * grad[i];
    for (int probe = 0; probe < probes; probe++) {
        struct rng r = rng_make(seed, RNG_PROBE, (uint64_t)probe, 0);
        double length = 0, expected = 0;
        for (size_t i = 0; i < n; i++) {
            along[i] = rng_normal(&r);
            length += along[i] * along[i];
        }
        for (size_t i = 0; i < n; i++) {
            along[i] /= sqrt(length);
            expected += along[i] * grad[i];
        }
        /* a random direction sees about |grad| / sqrt(n) of the gradient */
        double scale = fmax(fabs(expected), sqrt(norm / (double)n)) + 1e-300;
        worst = fmax(worst, fabs(slope(f, user, x, along, n, step, moved) - expected) / scale);
    }
    free(along);
    free(moved);
    return worst;
}
