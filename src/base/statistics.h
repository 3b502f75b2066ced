/* statistics.h - means with their intervals.
 *
 * Every interval is two-sided 95 % by Student's t: half = t(n - 1) * sd / sqrt(n),
 * sd with n - 1 in the denominator.  Of one value there is no interval: its half
 * width is NaN, never 0.
 */
#ifndef BASE_STATISTICS_H
#define BASE_STATISTICS_H

#include <stddef.h>

/* The p-quantile of Student's t with df degrees of freedom; 0 < p < 1, df > 0. */
double student_quantile(double p, double df);
/* P(T <= t) with df degrees of freedom. */
double student_cdf(double t, double df);

struct summary {
    size_t n;
    double mean, sd; /* sd NaN for n < 2 */
    double half;     /* half width of the 95 % interval; NaN for n < 2 */
};

struct summary summary_of(const double *x, size_t n); /* n 0: mean NaN too */
double weighted_mean(const double *x, const double *weight, size_t n);

/* Differences a[i] - b[i] on the same n tasks. */
struct paired {
    struct summary difference;
    double p; /* two-sided paired t test: the chance of so large a mean if there is no difference */
    size_t better, worse; /* how often a > b, a < b */
};

struct paired paired_of(const double *a, const double *b, size_t n);

/* The q-quantile (0..1) of sorted x, linear between neighbours (R's type 7). */
double sorted_quantile(const double *x, size_t n, double q);

#endif
