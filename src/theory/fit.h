/* fit.h - ordinary least squares with few regressors. */
#ifndef THEORY_FIT_H
#define THEORY_FIT_H

enum { FIT_TERMS_MAX = 4 };

struct fit {
    int terms, rows;
    double coefficient[FIT_TERMS_MAX];
    double
        half[FIT_TERMS_MAX]; /* of the 95 % interval by Student's t; NaN: as many terms as rows */
    double r2;               /* share of the variance around the mean that is explained */
};

/* y (rows) by x (rows, terms).  METE_EINVAL when the columns of x do not tell the
 * coefficients apart. */
int fit_linear(struct fit *out, const double *x, const double *y, int rows, int terms);

#endif
