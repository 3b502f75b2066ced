/* fit.c - least squares by the normal equations, on columns scaled to length 1. */
#include "theory/fit.h"

#include "base/error.h"
#include "base/statistics.h"

#include <math.h>
#include <string.h>

enum { K = FIT_TERMS_MAX };

/* The inverse of the symmetric a (n, n) by Gauss and Jordan; false: singular.  The
 * diagonal of a is 1, so that a pivot near 0 means columns that are nearly alike. */
static bool invert(double a[K][K], double inverse[K][K], int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            inverse[i][j] = i == j;
    for (int p = 0; p < n; p++) {
        double pivot = a[p][p];
        if (!(fabs(pivot) > 1e-10))
            return false;
        for (int j = 0; j < n; j++) {
            a[p][j] /= pivot;
            inverse[p][j] /= pivot;
        }
        for (int i = 0; i < n; i++) {
            double f = i == p ? 0 : a[i][p];
            for (int j = 0; j < n; j++) {
                a[i][j] -= f * a[p][j];
                inverse[i][j] -= f * inverse[p][j];
            }
        }
    }
    return true;
}

static double squares_around_mean(const double *y, int rows)
{
    struct summary s = summary_of(y, (size_t)rows);
    double sum = 0;
    for (int i = 0; i < rows; i++)
        sum += (y[i] - s.mean) * (y[i] - s.mean);
    return sum;
}

int fit_linear(struct fit *out, const double *x, const double *y, int rows, int terms)
{
    double a[K][K] = {{0}}, inverse[K][K], b[K] = {0}, length[K] = {0};
    struct fit f = {.terms = terms, .rows = rows};
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < terms; i++)
            length[i] += x[r * terms + i] * x[r * terms + i];
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < terms; i++) {
            b[i] += x[r * terms + i] * y[r] / sqrt(length[i]);
            for (int j = 0; j < terms; j++)
                a[i][j] += x[r * terms + i] * x[r * terms + j] / sqrt(length[i] * length[j]);
        }
    if (rows < terms || !invert(a, inverse, terms))
        return fail(METE_EINVAL, "%d points do not determine %d coefficients", rows, terms);
    for (int i = 0; i < terms; i++)
        for (int j = 0; j < terms; j++)
            f.coefficient[i] += inverse[i][j] * b[j] / sqrt(length[i]);
    double left = 0;
    for (int r = 0; r < rows; r++) {
        double off = y[r];
        for (int i = 0; i < terms; i++)
            off -= f.coefficient[i] * x[r * terms + i];
        left += off * off;
    }
    int df = rows - terms;
    for (int i = 0; i < terms; i++)
        f.half[i] = df > 0
                        ? student_quantile(0.975, df) * sqrt(left / df * inverse[i][i] / length[i])
                        : NAN;
    f.r2 = 1 - left / squares_around_mean(y, rows);
    *out = f;
    return 0;
}
