/* pass.h - passes over a batch: forward, backward, Hessian-vector products. */
#ifndef NET_PASS_H
#define NET_PASS_H

#include "net/net.h"

/* One thread's (or one GPU's) place to work: a device and its working memory.
 * While mem.base is NULL nothing is computed: memory is only measured. */
struct worker {
    const struct net *net;
    struct device *dev;
    struct arena mem; /* device memory, from the kernel set */
    void *scratch;
    size_t scratch_bytes, arena_bytes; /* the most that any work on it was measured to take */
};

/* The activations of one forward pass, and what backward keeps of it. */
struct pass {
    struct batch batch;
    struct norm norm;
    void *x;
    void *cache[LAYERS_MAX];
    const int32_t *labels; /* (tasks, n) device memory, -1: ignored */
    bool mean;             /* the loss is a mean over the labelled images, else a sum */
    float *probs;          /* (tasks, n, ways) device memory */
    float *loss;           /* (tasks) */
};

/* What the tangent of a pass keeps. */
struct tangent {
    void *cache[LAYERS_MAX];
};

/* Take memory from the worker's arena.  A pass shares `x` with another pass over the
 * same images when it is not NULL. */
void pass_take(struct pass *p, struct worker *worker, struct batch batch, void *x);
void tangent_take(struct tangent *t, struct worker *worker, const struct batch *batch);
struct vec vector_take(struct worker *worker, int tasks); /* a parameter vector per task */

void pass_gather(struct pass *p, struct worker *worker, const struct images *from,
                 const int32_t *index);
void pass_forward(struct pass *p, struct worker *worker, struct vec theta);
void pass_xent(struct pass *p, struct worker *worker);
/* From the last layer's dout to grad. */
void pass_backward(struct pass *p, struct worker *worker, struct vec theta, struct vec grad);
/* The same, then a step on the weights; what grad holds of trained tensors is lost. */
void pass_step(struct pass *p, struct worker *worker, struct vec theta, struct vec grad,
               const struct descent *step);
/* out = H v at theta, of the loss whose forward, xent and backward the pass holds. */
void pass_hvp(struct pass *p, struct worker *worker, struct tangent *t, struct vec theta,
              struct vec v, struct vec out);

#endif
