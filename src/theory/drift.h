/* drift.h - Reptile's update beside the gradient it approximates (the paper's appendix A).
 *
 * Reptile moves by u = theta(0) - theta(T), the way T gradient steps of size lr on a
 * task S go.  The appendix argues that u approximates G, the gradient of the
 * empirical risk after those steps with respect to theta(0).  Both are computed here,
 * G exactly: G = (I - lr H(0)) ... (I - lr H(T-1)) g(T), with g(t) and H(t) the
 * gradient and the Hessian of the task's mean loss at theta(t).
 *
 * The appendix compares u itself with G, but its expression for the difference has
 * the size of u / lr; see docs/theory.md.
 */
#ifndef THEORY_DRIFT_H
#define THEORY_DRIFT_H

#include "theory/probe.h"

struct drift {
    double cosine;    /* of the angle between u and G */
    double deviation; /* |u / (lr T) - G| / |G|: u as a mean gradient */
    double raw;       /* |u - G| / |G|: as the appendix writes it */
    double summed;    /* |u / lr - G| / |G|: u as a sum of gradients */
    double bound;     /* (1 - lr lambda_max) max_t |g(t)| (T - 1) / |G|, the appendix's for that */
    /* What two expressions for u / lr - G leave over, relative to |G|: the printed
     * one, (I - lr H) (g(0) + ... + g(T-2)), and that sum plus lr (T + 1) H g(0). */
    double left_printed, left_second;
    double gradient; /* |G| */
};

/* For one task at the probe's weights, which stay.  `curvature` is the largest
 * eigenvalue of H(0).  An inner loop that diverges gives NaNs. */
int drift_measure(struct drift *out, struct probe *p, const struct items *task, double lr,
                  int steps, double curvature);

/* u and G themselves, each of probe_trained numbers. */
int drift_vectors(struct probe *p, const struct items *task, double lr, int steps, double *update,
                  double *gradient);

#endif
