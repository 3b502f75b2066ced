/* curve.c - weighted least squares with a prior, on a grid of exponents.
 *
 * For given exponents the curve is linear, with coefficients that may not be negative.  There are
 * few of them, so each subset that may be positive is solved, and the best feasible one is the
 * exact solution; no iteration has to converge.
 */
#include "plan/curve.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TERMS = 3 + CURVE_LEVELS - 1, STEPS = 12 };

struct normal { /* equations A x = y of all terms, and what is left without any */
    double a[TERMS][TERMS], y[TERMS], squares;
};

static void terms_of(const struct curve_point *p, double c, double f, double out[TERMS])
{
    memset(out, 0, TERMS * sizeof *out);
    out[0] = 1;
    out[1] = pow(p->n, c);
    out[2] = pow(p->m, f);
    if (p->level > 0)
        out[2 + p->level] = 1;
}

/* The coefficients' prior: zero, with these deviations.  Of held-out methods m is expected to
 * matter little.  It keeps terms that the points cannot tell apart finite. */
static void add_prior(struct normal *e, bool heldout)
{
    const double deviation[TERMS] = {1, 3, heldout ? 0.5 : 3, 0.5, 0.5, 0.5};
    for (int i = 0; i < TERMS; i++)
        e->a[i][i] += 1 / (deviation[i] * deviation[i]);
}

static void add_points(struct normal *e, const struct curve_point *p, int n, double c, double f)
{
    *e = (struct normal){0};
    for (int k = 0; k < n; k++) {
        double x[TERMS];
        terms_of(&p[k], c, f, x);
        for (int i = 0; i < TERMS; i++) {
            for (int j = 0; j < TERMS; j++)
                e->a[i][j] += p[k].weight * x[i] * x[j];
            e->y[i] += p[k].weight * x[i] * p[k].error;
        }
        e->squares += p[k].weight * p[k].error * p[k].error;
    }
}

/* Solves the equations of the terms in `subset` by Cholesky; false where they are singular. */
static bool solve(const struct normal *e, unsigned subset, double x[TERMS])
{
    double l[TERMS][TERMS] = {{0}}, z[TERMS];
    int at[TERMS], n = 0;
    for (int i = 0; i < TERMS; i++)
        if (subset >> i & 1)
            at[n++] = i;
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double s = e->a[at[i]][at[j]];
            for (int k = 0; k < j; k++)
                s -= l[i][k] * l[j][k];
            if (i == j && !(s > 1e-12 * e->a[at[i]][at[i]]))
                return false;
            l[i][j] = i == j ? sqrt(s) : s / l[j][j];
        }
    for (int i = 0; i < n; i++) {
        z[i] = e->y[at[i]];
        for (int k = 0; k < i; k++)
            z[i] -= l[i][k] * z[k];
        z[i] /= l[i][i];
    }
    memset(x, 0, TERMS * sizeof *x);
    for (int i = n - 1; i >= 0; i--) {
        double s = z[i];
        for (int k = i + 1; k < n; k++)
            s -= l[k][i] * x[at[k]];
        x[at[i]] = s / l[i][i];
    }
    return true;
}

/* What the solution leaves: squares - x y, for a solution of its own equations. */
static double best_subset(const struct normal *e, double best[TERMS])
{
    double least = INFINITY, x[TERMS] = {0};
    for (unsigned subset = 1; subset < 1u << TERMS; subset++) {
        bool feasible = solve(e, subset, x);
        double left = e->squares;
        for (int i = 0; i < TERMS && feasible; i++) {
            feasible = x[i] >= 0;
            left -= x[i] * e->y[i];
        }
        if (feasible && left < least) {
            least = left;
            memcpy(best, x, TERMS * sizeof *x);
        }
    }
    return least;
}

static double squared(double x)
{
    return x * x;
}

/* Exponents from -2 to -0.05, evenly in their logarithm. */
static double exponent(int i)
{
    return -2 * pow(0.05 / 2, (double)i / (STEPS - 1));
}

static double exponent_prior(double value, double expected)
{
    return squared(log(value / expected) / 0.7);
}

/* Levels that no point has are left out of the subsets by their zero column: the prior alone makes
 * them 0. */
void curve_fit(struct curve *out, const struct curve_point *p, int n, bool heldout)
{
    double least = INFINITY, x[TERMS] = {0};
    *out = (struct curve){.c = -0.5, .f = -1};
    for (int i = 0; i < STEPS; i++)
        for (int j = 0; j < STEPS; j++) {
            double c = exponent(i), f = exponent(j);
            struct normal e;
            add_points(&e, p, n, c, f);
            add_prior(&e, heldout);
            double left = best_subset(&e, x) + exponent_prior(c, -0.5) + exponent_prior(f, -1);
            if (!(left < least))
                continue;
            least = left;
            *out = (struct curve){.a = x[0], .b = x[1], .c = c, .d = x[2], .f = f};
            for (int k = 1; k < CURVE_LEVELS; k++)
                out->level[k] = x[2 + k];
        }
    for (int k = 0; k < n; k++)
        out->chi2 +=
            p[k].weight *
            squared(p[k].error - out->level[p[k].level] -
                    (out->a + out->b * pow(p[k].n, out->c) + out->d * pow(p[k].m, out->f)));
}

double curve_at(const struct curve *c, double n, double m)
{
    double e = c->a + c->b * pow(n, c->c) + c->d * pow(m, c->f);
    return e > 1 ? 1 : e;
}

/* More of both, of the same level, and clearly worse. */
static bool rises(const struct curve_point *less, const struct curve_point *more)
{
    double noise = sqrt(1 / less->weight + 1 / more->weight);
    return less->level == more->level && more->n >= less->n && more->m >= 0.95 * less->m &&
           more->n * more->m > 1.2 * less->n * less->m &&
           more->error - less->error > 0.02 + 2.5 * noise;
}

bool curve_odd(const struct curve *c, const struct curve_point *p, int n, char *why, size_t size)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (rises(&p[i], &p[j])) {
                snprintf(
                    why, size,
                    "%.0f labels gave %.1f %% and %.0f labels only %.1f %%, %.0f and %.0f each",
                    p[i].n * p[i].m, 100 * (1 - p[i].error), p[j].n * p[j].m,
                    100 * (1 - p[j].error), p[i].m, p[j].m);
                return true;
            }
    int left = n - 3 > 1 ? n - 3 : 1;
    if (c->chi2 / left > 9) {
        snprintf(why, size, "its %d points are %.1f times as far from any curve as their noise", n,
                 sqrt(c->chi2 / left));
        return true;
    }
    return false;
}
