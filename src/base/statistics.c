/* statistics.c - Student's t through the incomplete beta function, and the sums. */
#include "base/statistics.h"

#include <assert.h>
#include <math.h>

/* The continued fraction of the incomplete beta function, by Lentz's method
 * (Numerical Recipes, 6.4); converges fast for x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double h = d;
    for (int m = 1; m <= 500; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        double terms[] = {even, odd}, step = 1;
        for (int i = 0; i < 2; i++) {
            d = 1 + terms[i] * d;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = 1 + terms[i] / c;
            c = fabs(c) < tiny ? tiny : c;
            step = d * c;
            h *= step;
        }
        if (fabs(step - 1) < 1e-15)
            break;
    }
    return h;
}

/* lgamma() of x > 0, without the global it leaves the sign in, which threads would share. */
static double log_gamma(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

/* I_x(a, b), the regularised incomplete beta function. */
static double beta_regular(double a, double b, double x)
{
    if (x <= 0 || x >= 1)
        return x >= 1;
    double front = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double student_cdf(double t, double df)
{
    double tail = 0.5 * beta_regular(df / 2, 0.5, df / (df + t * t));
    return t > 0 ? 1 - tail : tail;
}

double student_quantile(double p, double df)
{
    assert(p > 0 && p < 1 && df > 0);
    if (p == 0.5)
        return 0;
    if (p < 0.5)
        return -student_quantile(1 - p, df);
    double low = 0, high = 1;
    while (student_cdf(high, df) < p)
        low = high, high *= 2;
    for (int i = 0; i < 200 && low < high; i++) { /* bisection: exact, and called rarely */
        double middle = 0.5 * (low + high);
        if (middle <= low || middle >= high)
            break;
        if (student_cdf(middle, df) < p)
            low = middle;
        else
            high = middle;
    }
    return 0.5 * (low + high);
}

struct summary summary_of(const double *x, size_t n)
{
    struct summary s = {n, NAN, NAN, NAN};
    if (n == 0)
        return s;
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    s.mean = sum / (double)n;
    if (n < 2)
        return s;
    for (size_t i = 0; i < n; i++)
        squares += (x[i] - s.mean) * (x[i] - s.mean);
    s.sd = sqrt(squares / (double)(n - 1));
    s.half = student_quantile(0.975, (double)(n - 1)) * s.sd / sqrt((double)n);
    return s;
}

double weighted_mean(const double *x, const double *weight, size_t n)
{
    double sum = 0, weights = 0;
    for (size_t i = 0; i < n; i++) {
        sum += weight[i] * x[i];
        weights += weight[i];
    }
    return weights > 0 ? sum / weights : NAN;
}

struct paired paired_of(const double *a, const double *b, size_t n)
{
    struct paired r = {.difference = {n, NAN, NAN, NAN}, .p = NAN};
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        sum += a[i] - b[i];
        r.better += a[i] > b[i];
        r.worse += a[i] < b[i];
    }
    if (n == 0)
        return r;
    double mean = r.difference.mean = sum / (double)n;
    if (n < 2)
        return r;
    for (size_t i = 0; i < n; i++)
        squares += (a[i] - b[i] - mean) * (a[i] - b[i] - mean);
    double df = (double)(n - 1), error = sqrt(squares / df / (double)n);
    r.difference.sd = sqrt(squares / df);
    r.difference.half = student_quantile(0.975, df) * error;
    if (error > 0)
        r.p = 2 * student_cdf(-fabs(mean) / error, df);
    else
        r.p = mean == 0; /* all differences equal */
    return r;
}

double sorted_quantile(const double *x, size_t n, double q)
{
    if (n == 0)
        return NAN;
    double at = q * (double)(n - 1);
    size_t below = (size_t)at;
    if (below + 1 >= n)
        return x[n - 1];
    return x[below] + (at - (double)below) * (x[below + 1] - x[below]);
}
