/* kernel.h - the table of task-batched operations.
 *
 * Everything above this folder is written once against `struct kernels`.  Every
 * operation works on T tasks at once.  Vectors of parameters are shared by the
 * tasks or one per task; activations are always one set per task.
 *
 * The memory layout belongs to the kernel set: nothing above kernel/ indexes
 * an activation or a parameter.  ref/ is the specification, in plain loops; a set is
 * correct when it agrees with ref/ within the tolerances of tests/kernel/.
 *
 * Operations return void: shapes are checked when a net is built, and a device
 * that fails says so at sync().  An operation may be asynchronous; operations of
 * one device happen in the order of the calls.
 *
 * Where a paper's formula has one: x input, z convolution, xh normalised z,
 * y = gamma xh + beta, a output; dX the gradient with respect to X; RX the
 * tangent of X in the direction v (Pearlmutter's R-operator).
 */
#ifndef KERNEL_H
#define KERNEL_H

#include "kernel/selection.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LAYERS_MAX = 8 };

/* The named tensors of a layer, in the order of a state_dict. */
enum tensor {
    TENSOR_WEIGHT, /* conv (out_c, in_c, 3, 3); dense (out_c, in_c * in_h * in_w), c,h,w order */
    TENSOR_BIAS,   /* (out_c) */
    TENSOR_GAMMA,  /* (out_c), where the layer normalises */
    TENSOR_BETA,   /* (out_c) */
    TENSOR_MEAN,   /* (out_c), running statistics: not trained by gradients */
    TENSOR_VAR,    /* (out_c) */
    TENSORS
};

/* A layer is a block, the unit of fusing:
 *   conv:  3x3 convolution (padding 1, stride 1 or 2) + bias, batch norm, ReLU,
 *          then 2x2 max-pooling (stride 2, ceil) if `pool`
 *   dense: x W^T + bias, then ReLU if `relu`
 */
struct layer {
    enum { LAYER_CONV, LAYER_DENSE } kind;
    int in_h, in_w, in_c;    /* dense: the shape of the features it reads */
    int conv_h, conv_w;      /* conv: the size before pooling */
    int out_h, out_w, out_c; /* dense: 1 x 1 x out_c */
    int stride;
    bool pool, relu;        /* conv: relu is always on */
    bool odds;              /* dense: shared prototypes, with a BETA (struct classes) */
    double eps;             /* of the batch norm */
    size_t offset[TENSORS]; /* into a parameter vector, in elements; set by layout() */
    bool exact;             /* a GPU computes it in plain fp32 always; set by layout() */
    bool fp16;              /* and may keep its output in 16 bits; set by layout() */
};

/* The images of T tasks.  Task t has count[t] of them, at most n. */
struct batch {
    int tasks, n;
    const int32_t *count; /* (tasks) device memory; NULL: n each */
};

/* Which images make the batch-norm statistics of a pass: the first `stat` of each
 * task (at most its count).  n: the pass's own ("batch").  The support's number:
 * query images are normalised by the support's statistics, and gradients flow
 * through them ("support").  0: TENSOR_MEAN and TENSOR_VAR ("running"). */
struct norm {
    int stat;
    bool no_tangents; /* no tangents of this pass will follow: a set may keep less */
};

/* One vector per task; stride 0: one for all.  In elements. */
struct vec {
    void *at;
    uint32_t stride;
    uint32_t shared; /* 0, or set by vec_of_runs(): such vectors are only read */
};

/* One vector for each `tasks` consecutive tasks, for sets that compute tasks together: task t uses
 * vector t / tasks, which is the upper half of t * shared. */
static inline struct vec vec_of_runs(void *at, uint32_t stride, int tasks)
{
    struct vec v = {at, stride, tasks > 1 ? (uint32_t)((1ull << 32) / (uint32_t)tasks + 1) : 0};
    return v;
}
static inline size_t vec_number(struct vec v, int task)
{
    return v.shared ? (uint64_t)task * v.shared >> 32 : (size_t)task;
}

/* A step of gradient descent on the trained tensors, one vector per task:
 * to = from - rate g; or, where `moved` is set, moved += rate g and to = from - moved. */
struct descent {
    struct vec to, from, moved;
    double rate;
};

/* Images or feature rows to gather from, items x (h, w, c). */
struct images {
    const void *data; /* as opened: device memory */
    enum { IMAGES_U8, IMAGES_F32 } type;
    bool planar; /* (c, h, w) instead of (h, w, c) */
    int h, w, c;
    int64_t items;
    float scale, shift; /* x = value * scale + shift */
};

/* The features a prototype loss reads: images first..first+count-1 of `tasks` tasks of a
 * pass, from number `task` on. */
struct features {
    void *out, *dout; /* output slots of the pass's last layer before the head */
    struct batch batch;
    int task, tasks;
    int first, count;
    const int32_t *labels; /* (tasks, batch.n) device memory; -1: ignored */
};

/* What a class without support is to a prototype loss: a prototype at the origin; or left out of
 * the softmax (logit -infinity, probability 0), unless no class has support.  A query of a class
 * that is left out must not be labelled. */
enum absent { ABSENT_ORIGIN, ABSENT_LEFT_OUT, ABSENT_PRIOR, ABSENT_PRIOR_MEAN };

/* The classes that a prototype loss tells apart.  With a prior (a dense layer after the features,
 * for sets that are kernels.host) class c has the prototype (n m + k G) / (n + k), m the mean of
 * its n support images, G row c of the layer's weight and k = exp(bias c) a pseudo-count; its logit
 * is beta c, the log odds of a class that is asked for often, minus the distance; and `grad` gets
 * the layer's gradients, where grad.at is not NULL.  With ABSENT_PRIOR_MEAN that of G is G - m for
 * the classes with support and 0 for the others: G follows the means, and no gradient.
 */
struct classes {
    int ways;
    enum absent absent;
    const struct layer *prior; /* NULL: none */
    struct vec theta, grad;
};

struct adam {
    double lr, beta1, beta2, eps;
};

/* What changes from step to step: corrections of the bias, folded into rate and eps (Kingma & Ba
 * 2015, section 2). */
struct adam_rates {
    double rate, eps;
};
static inline struct adam_rates adam_rates(const struct adam *a, int64_t step) /* 1: the first */
{
    double root = sqrt(1 - pow(a->beta2, (double)step));
    struct adam_rates r = {a->lr * root / (1 - pow(a->beta1, (double)step)), a->eps * root};
    return r;
}

struct device;
struct device_options {
    int index;      /* which GPU */
    bool full_fp32; /* GPU: plain fp32 instead of TF32 */
    int tasks;      /* GPU: divide work as for this many tasks; 0: as for those there are */
    int processors; /* GPU: divide work as for this many processors; 0: as for its own */
};

struct kernels {
    const char *name, *summary;
    size_t elem;  /* bytes of an element of a vector: 4, or 8 where doubles are kept */
    bool host;    /* computes every setting of every method (method_ops.host_only), a prior too */
    bool batched; /* wants all tasks of a shard in one call (a GPU), not one task per thread */

    /* -- the device; these may fail -- */
    bool (*usable)(char *why, size_t size); /* false and a reason: not on this machine */
    int (*open)(struct device **out, const struct device_options *options);
    void (*close)(struct device *d); /* NULL is fine */
    int (*alloc)(struct device *d, size_t bytes,
                 void **out); /* 64-byte aligned, large pages, zeroed */
    void (*release)(struct device *d, void *p, size_t bytes); /* NULL is fine */
    void (*upload)(struct device *d, void *to, const void *from, size_t bytes);
    void (*download)(struct device *d, void *to, const void *from, size_t bytes); /* waits */
    int (*sync)(struct device *d);
    int (*images_open)(struct device *d,
                       struct images *images); /* host data becomes device data, or NULL */
    void (*images_close)(struct device *d, struct images *images);

    /* -- recordings; optional, NULL where launching costs nothing -- */
    /* A fixed sequence of operations, sent to the device at once:
     *   if (!k->replay || !k->replay(d, key)) {
     *       ...the operations...
     *       if (k->replay)
     *           k->recorded(d);
     *   }
     * replay() runs what was recorded under `key` and returns true; if nothing was, it
     * begins to record and returns false, and recorded() runs what was called since.
     * A recording keeps pointers, shapes and scalars; what they point at is read again.
     * Keep outside: operations that wait, upload, alloc and release.  forget() drops all
     * recordings: call it before memory they use is released. */
    bool (*replay)(struct device *d, uint64_t key);
    void (*recorded)(struct device *d);
    void (*forget)(struct device *d);

    /* -- layout -- */
    /* Sets the offsets of the layers and returns the length of a parameter vector,
     * trained tensors first: *trained is how many elements gradients move. */
    size_t (*layout)(struct layer *layers, int n, size_t *trained);
    /* Between a PyTorch-ordered host tensor and its place in a (shared) vector. */
    void (*pack)(struct device *d, const struct layer *l, enum tensor which, const float *host,
                 void *vector);
    void (*unpack)(struct device *d, const struct layer *l, enum tensor which, const void *vector,
                   float *host);
    size_t (*input_bytes)(const struct layer *first, const struct batch *b);
    /* What a pass keeps of a layer, and what its tangent keeps. */
    size_t (*cache_bytes)(const struct layer *l, const struct batch *b);
    size_t (*tangent_bytes)(const struct layer *l, const struct batch *b);
    size_t (*scratch_bytes)(const struct layer *layers, int n, const struct batch *b);
    /* Where a layer's output and the gradient of its output lie in a cache, or
     * their tangents in a tangent cache. */
    void *(*out)(const struct layer *l, const struct batch *b, void *cache);
    void *(*dout)(const struct layer *l, const struct batch *b, void *cache);

    /* -- input and output -- */
    /* x (tasks, n) <- images[index[t*n+i]]; index in device memory, -1: zeros. */
    void (*gather)(struct device *d, const struct layer *first, const struct batch *b,
                   const struct images *from, const int32_t *index, void *x);
    /* Rows (tasks, n, c*h*w) in c,h,w order on the host, from an output slot.  Waits. */
    void (*rows)(struct device *d, const struct layer *l, const struct batch *b, const void *out,
                 float *host);
    /* The same rows, of images first..first+n-1 of every task, to device memory: those of task
     * t to `to` + t * stride floats.  Rows of images that a task does not have are undefined. */
    void (*collect)(struct device *d, const struct layer *l, const struct batch *b, const void *out,
                    int first, int n, float *to, size_t stride);

    /* -- layers.  x is the previous layer's output, `scratch` of scratch_bytes -- */
    void (*forward)(struct device *d, const struct layer *l, const struct batch *b,
                    struct norm norm, const void *x, struct vec theta, void *cache, void *scratch);
    /* From dout(cache) to dx (NULL: not wanted, as always for the first layer of a net)
     * and this layer's tensors of grad, all of which are written.  Keeps in the cache
     * what tangents need.
     * With norm.stat 0, grad's MEAN and VAR are (running - this batch's). */
    void (*backward)(struct device *d, const struct layer *l, const struct batch *b,
                     struct norm norm, const void *x, struct vec theta, void *cache, void *dx,
                     struct vec grad, void *scratch);
    /* Optional, NULL where it would gain nothing: backward with a step on this layer's
     * trained tensors in the place of their gradients; of grad MEAN and VAR are written.
     * `to` is not theta, which others still read. */
    void (*backward_step)(struct device *d, const struct layer *l, const struct batch *b,
                          struct norm norm, const void *x, struct vec theta, void *cache, void *dx,
                          struct vec grad, const struct descent *step, void *scratch);
    /* The tangent of forward: Rx NULL means zero.  Writes out(tangent). */
    void (*forward_tangent)(struct device *d, const struct layer *l, const struct batch *b,
                            struct norm norm, const void *x, const void *rx, struct vec theta,
                            struct vec v, const void *cache, void *tangent, void *scratch);
    /* The tangent of backward: from dout(tangent) to rdx and rgrad = this layer's
     * part of H v.  MEAN and VAR are written as zeros. */
    void (*backward_tangent)(struct device *d, const struct layer *l, const struct batch *b,
                             struct norm norm, const void *x, const void *rx, struct vec theta,
                             struct vec v, const void *cache, void *tangent, void *rdx,
                             struct vec rgrad, void *scratch);

    /* -- losses -- */
    /* Softmax cross-entropy of the last layer `l`, times scale/(labelled images of
     * the task) if `mean`, else times scale.  Writes dout(cache), probs (tasks, n,
     * out_c) and loss (tasks).  Ignored images get no gradient. */
    void (*xent)(struct device *d, const struct layer *l, const struct batch *b,
                 const int32_t *labels, bool mean, void *cache, float *probs, float *loss);
    /* From out(tangent) to dout(tangent), with the probabilities xent left. */
    void (*xent_tangent)(struct device *d, const struct layer *l, const struct batch *b,
                         const int32_t *labels, bool mean, const float *probs, void *tangent);
    /* Prototypical loss (Snell et al. 2017): class means of the support, minus squared
     * distances as logits, mean cross-entropy over the query.  Writes the dout ranges of both,
     * logits and probs (tasks, query.batch.n, ways; rows first..) and loss (tasks).  With query
     * labels -1 it only predicts.  `logits` may be NULL; `scratch` holds proto_bytes. */
    void (*proto)(struct device *d, const struct layer *l, const struct features *support,
                  const struct features *query, const struct classes *classes, float *logits,
                  float *probs, float *loss, void *scratch);
    size_t (*proto_bytes)(const struct layer *l, int tasks, int ways);

    /* -- choosing labels; these wait -- */
    /* k-means of `tasks` pools of points with f features each: k-means++ seeding, then
     * Lloyd's rounds until nothing changes.  A centre without points stays where it is. */
    void (*kmeans)(struct device *d, int tasks, int f, struct clustering *c);
    /* Entropies (rows) in nats, on the host, of probs (rows, ways) on the device; NaN where a
     * probability is. */
    void (*entropy)(struct device *d, size_t rows, int ways, const float *probs, float *host);

    /* -- vectors of `len` elements, one per task or shared -- */
    void (*zero)(struct device *d, void *to, size_t bytes);
    void (*axpy)(struct device *d, int tasks, size_t len, struct vec to, struct vec y, double a,
                 struct vec x); /* to = y + a x; to may be y or x */
    /* to (shared) = sum over tasks of x, in a fixed order; added to `to` if `add`. */
    void (*reduce)(struct device *d, int tasks, size_t len, void *to, struct vec x, bool add);
    double (*dot)(struct device *d, size_t len, const void *x, const void *y); /* waits */
    /* Optimiser steps on elements from..from+len-1: theta -= lr g (sgd), or Adam
     * (Kingma & Ba 2015, eps outside the root; `now` in device memory).  g is scaled by
     * `scale` first. */
    void (*sgd)(struct device *d, size_t from, size_t len, void *theta, const void *g, double scale,
                double lr);
    void (*adam)(struct device *d, size_t from, size_t len, void *theta, void *m, void *v,
                 const void *g, double scale, const struct adam *a, const struct adam_rates *now);
};

extern const struct kernels kernels_ref;   /* float storage, double sums */
extern const struct kernels kernels_ref64; /* all in double: what tests compare with */
#ifdef METE_CUDA
extern const struct kernels kernels_cuda; /* NVIDIA GPUs */
#endif
/* "avx512", "avx2" or "portable"; NULL: not in this build. */
const struct kernels *kernels_cpu(const char *isa);
/* The most FLOP/s one thread reaches with a CPU set's instructions, measured in about
 * `seconds`: multiply-adds on registers alone.  0 for other sets. */
double kernels_cpu_roof(const struct kernels *k, double seconds);

/* The set for a device name: "cpu" (the best the machine has, or METE_CPU), a CPU
 * instruction set, "ref", "ref64", "cuda".  A sentence when there is none. */
int kernels_find(const struct kernels **out, const char *name);
/* All sets of this build, usable here or not; NULL past the last. */
const struct kernels *kernels_at(int i);

#endif
