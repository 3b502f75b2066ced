/* chisquared.h - does a sample look as if it came from the stated distribution? */
#ifndef CHISQUARED_H
#define CHISQUARED_H

#include <math.h>

/* Pearson's statistic of counts seen[n] against chances p[n] that add up to 1, as a
 * number of standard deviations above its mean (Wilson & Hilferty's cube root): past 4
 * the chance is below 1 in 30,000. */
static double chi_deviations(const double *seen, const double *p, int n)
{
    double total = 0, sum = 0, k = -1;
    for (int i = 0; i < n; i++)
        total += seen[i];
    for (int i = 0; i < n; i++) {
        if (p[i] <= 0) {
            if (seen[i] > 0)
                return INFINITY; /* happened though it cannot */
            continue;
        }
        sum += (seen[i] - total * p[i]) * (seen[i] - total * p[i]) / (total * p[i]);
        k++;
    }
    return (cbrt(sum / k) - (1 - 2 / (9 * k))) / sqrt(2 / (9 * k));
}

#endif
