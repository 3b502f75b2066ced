/* probe.h - gradients and Hessian products of one task's loss at any weights.
 *
 * A probe is a net on one device with room for one task.  Weights and directions
 * come and go as host doubles in the kernel set's own order, which nobody needs to
 * know: they are only added, scaled and multiplied.
 */
#ifndef THEORY_PROBE_H
#define THEORY_PROBE_H

#include "method/learner.h"
#include "net/net.h"

struct probe;

struct probe_spec {
    const struct kernels *kernels;
    const struct net_ops *net;
    const void *net_settings;
    struct images images; /* host data; must outlive the probe */
    int ways;
    int items; /* of the largest task */
    uint64_t seed;
};

int probe_open(struct probe **out, const struct probe_spec *spec); /* with initial weights */
void probe_close(struct probe *p);                                 /* NULL is fine */
const struct net *probe_net(const struct probe *p);
size_t probe_len(const struct probe *p); /* of a weight vector; gradients fill its trained part */
size_t probe_trained(const struct probe *p);

void probe_get(struct probe *p, double *theta);
void probe_put(struct probe *p, const double *theta);
/* From and to an engine's tensors, in PyTorch's order. */
void probe_put_tensor(struct probe *p, const struct net_tensor *t, const float *host);

/* The mean cross-entropy of `items` at the current weights, and its gradient
 * (probe_trained; may be NULL).  only >= 0: the loss of that item alone, normalised
 * with all of them. */
int probe_gradient(struct probe *p, const struct items *items, int only, double *loss,
                   double *gradient);
/* out = H v, of the loss of the last probe_gradient.  A spectrum_fn of the probe. */
int probe_product(void *probe, const double *v, double *out);

/* Vectors of n numbers. */
double vector_dot(size_t n, const double *x, const double *y);
double vector_norm(size_t n, const double *x);
void vector_add(size_t n, double *y, double a, const double *x); /* y += a x */

#endif
