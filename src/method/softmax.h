/* softmax.h - softmax regression: the weights that fit labelled rows, near to given ones. */
#ifndef METHOD_SOFTMAX_H
#define METHOD_SOFTMAX_H

#include <stdint.h>

/* Minimises the sum of the cross-entropies of n rows x (n, d) with labels y (0..ways-1), plus
 * l2 / 2 times the squared distance of the weights from `anchor` (NULL: from 0), bias included.
 * w (ways, d + 1), the bias last, is where it starts and the result.  l2 > 0, so there is one
 * minimum.  L-BFGS; returns how many steps it took. */
int softmax_fit(const float *x, const int32_t *y, int64_t n, int d, int ways, double l2,
                const double *anchor, double *w);

/* The probabilities of one row into probs (ways). */
void softmax_probs(const float *x, int d, int ways, const double *w, double *probs);

/* The value that softmax_fit minimises; its gradient into g (ways, d + 1). */
double softmax_loss(const float *x, const int32_t *y, int64_t n, int d, int ways, double l2,
                    const double *anchor, const double *w, double *g);

#endif
