/* cuda_set.h - what the files of the CUDA set share: the device, the layout of
 * its memory, and how a kernel is launched.
 *
 * Activations are (task, image, y, x, channel), the channels padded with zeros to
 * `channels(c)`.  A conv weight is (out, in / 16, tap, in % 16), or with 8 or 4 for 16
 * (`together`), its rows padded to slices of 16: what a product wants of a row at a time
 * lies in one piece.  A dense weight is (out, y, x, in).  Padding is zero and stays zero: every
 * operation that writes a tensor writes its padding too.
 *
 * Every kernel takes one struct by value.  It is launched while the one before it still
 * runs (programmatic dependent launch): until wait_for_previous() it writes nothing, and
 * reads only what that one cannot have written.
 */
#ifndef CUDA_SET_H
#define CUDA_SET_H

#include <cuda_runtime_api.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "kernel/kernel.h"
#include "base/error.h"

enum { SLICE = 16 };           /* channels a thread block works on at a time */
#define CUDA_FORWARD "forward" /* the names that these are launched by */
#define CUDA_GATHER  "gather"

struct recording {
    uint64_t key;
    cudaGraphExec_t exec;
};

struct head;       /* cuda_head.h */
struct proto_args; /* cuda_proto.h */
struct conv_args;  /* cuda_conv.h */
struct together;   /* cuda_together.h */
struct last;       /* cuda_last.h */
struct noted_fp16; /* cuda_fp16.h */

struct device {
    int index, blocks; /* blocks: of 1/2 multiprocessor each, that run at once */
    bool full_fp32;
    int tasks;      /* that work is cut for; 0: those there are */
    int shared_max; /* bytes of shared memory a block may have */
    cudaStream_t stream;
    cudaError_t error; /* the first failure since the last sync, and what failed */
    const char *failed;
    void *staging; /* device memory for operations that wait */
    size_t staging_bytes;
    const char *latest; /* what was launched last */
    struct last *last;  /* what is noted and not yet launched */
    struct head *head;
    struct proto_args *proto;
    struct conv_args *products;
    struct together *together;
    struct noted_fp16 *fp16; /* outputs that are no floats yet */
    bool proto_noted, products_noted;
    void *encode; /* what makes tensor maps, once it was asked for: cuda_map.c */
    struct recording *recordings;
    int n_recordings;
    uint64_t recording_key;
};

struct grid {
    unsigned x, y, z, threads, cluster;
    size_t shared;
};

/* Launches `kernel` with one argument, a struct. */
void cuda_launch(struct device *d, const void *kernel, struct grid g, void *args, const char *name);
/* Launches what is noted.  Whatever reads or writes device memory calls it first;
 * cuda_launch does. */
void cuda_flush(struct device *d);
void cuda_last_flush(struct device *d);
void cuda_head_flush(struct device *d);
void cuda_proto_flush(struct device *d);
void cuda_products_flush(struct device *d);
void cuda_together_flush(struct device *d);
/* Remembers a failure for sync() to report. */
void cuda_check(struct device *d, cudaError_t e, const char *what);
/* Waits; reports the first failure since the last time. */
int cuda_sync(struct device *d);
int cuda_alloc(struct device *d, size_t bytes, void **out);
void cuda_release(struct device *d, void *p, size_t bytes);
void cuda_upload(struct device *d, void *to, const void *from, size_t bytes);
/* At least `bytes` of device memory until the next call, or NULL and a failure kept. */
void *cuda_staging(struct device *d, size_t bytes);

/* Whether the kernel before is a forward pass, which writes activations alone: weights may be
 * read before it has ended. */
static inline bool after_forward(const struct device *d)
{
    return d->latest && strcmp(d->latest, CUDA_FORWARD) == 0;
}

/* ---- layout ---- */

static inline int channels(int c)
{
    return c <= 4 ? 4 : (c + 7) / 8 * 8;
}

/* Input channels that lie side by side in a conv weight. */
static inline int together(int c)
{
    return channels(c) % 16 == 0 ? 16 : channels(c) % 8 == 0 ? 8 : 4;
}

static inline int slices(int c)
{
    return (c + SLICE - 1) / SLICE;
}

static inline bool is_conv(const struct layer *l)
{
    return l->kind == 0; /* LAYER_CONV, whose name C++ does not see */
}

static inline bool in_fp32(const struct device *d, const struct layer *l)
{
    return d->full_fp32 || l->exact;
}

/* The side of the second moments that pictures have behind them (cuda_gather.cu), or 0: those of
 * Omniglot, of one channel, and mini-ImageNet, of three. */
static inline int picture_side(int h, int w, int c)
{
    return h == 28 && w == 28 && c == 1 ? 16 : h == 84 && w == 84 && c == 3 ? 32 : 0;
}

/* The same for a first layer that works by them (cuda_first.cuh): shapes 0 and 4 of
 * cuda_shape.cuh.  Gather leaves them behind the pictures, image by image. */
static inline int moments_side(const struct layer *l)
{
    int side = picture_side(l->in_h, l->in_w, l->in_c);
    bool made_for = is_conv(l) && l->stride == 2 && !l->pool && l->out_c == (side == 16 ? 64 : 32);
    return made_for ? side : 0;
}

static inline bool by_moments(const struct device *d, const struct layer *l)
{
    return moments_side(l) > 0 && !in_fp32(d, l);
}

static inline size_t in_floats(const struct layer *l) /* of an image */
{
    return (size_t)l->in_h * (size_t)l->in_w * (size_t)channels(l->in_c);
}

static inline size_t out_floats(const struct layer *l)
{
    return (size_t)l->out_h * (size_t)l->out_w * (size_t)channels(l->out_c);
}

/* What a pass keeps of a layer; the same for its tangent.  z and dz only of conv
 * layers.  stats: mu, s, c1, c2 (tasks, out) each; of a tangent m1, m2. */
struct cache {
    float *out, *dout, *z, *dz, *stats;
};
enum stat { STAT_MU, STAT_S, STAT_C1, STAT_C2, STATS, STAT_M1 = 0, STAT_M2 };

struct cache cuda_cache(const struct layer *l, const struct batch *b, const void *at);

/* Where gradients go: to grad, or, where step.to is set, into a step. */
struct sink {
    struct vec grad;
    struct descent step;
};

/* ---- the table's operations, by file ---- */

size_t cuda_layout(struct layer *layers, int n, size_t *trained);
void cuda_pack(struct device *d, const struct layer *l, enum tensor which, const float *host,
               void *vector);
void cuda_unpack(struct device *d, const struct layer *l, enum tensor which, const void *vector,
                 float *host);
size_t cuda_input_bytes(const struct layer *first, const struct batch *b);
size_t cuda_cache_bytes(const struct layer *l, const struct batch *b);
size_t cuda_scratch_bytes(const struct layer *layers, int n, const struct batch *b);
void *cuda_out(const struct layer *l, const struct batch *b, void *cache);
void *cuda_dout(const struct layer *l, const struct batch *b, void *cache);

/* Bytes of all pictures, and from where on their moments may follow. */
static inline size_t cuda_image_bytes(const struct images *m)
{
    size_t size = m->type == 0 ? 1 : sizeof(float); /* IMAGES_U8, whose name C++ does not see */
    return (size_t)m->items * (size_t)(m->h * m->w * m->c) * size;
}
static inline size_t cuda_behind_images(const struct images *m)
{
    return (cuda_image_bytes(m) + 15) / 16 * 16; /* they are read by fours */
}
void cuda_moments(struct device *d, const struct images *of); /* makes them */
int cuda_images_open(struct device *d, struct images *images);
void cuda_images_close(struct device *d, struct images *images);
void cuda_gather(struct device *d, const struct layer *first, const struct batch *b,
                 const struct images *from, const int32_t *index, void *x);
void cuda_rows(struct device *d, const struct layer *l, const struct batch *b, const void *out,
               float *host);
void cuda_collect(struct device *d, const struct layer *l, const struct batch *b, const void *out,
                  int first, int n, float *to, size_t stride);

void cuda_forward(struct device *d, const struct layer *l, const struct batch *b, struct norm norm,
                  const void *x, struct vec theta, void *cache, void *scratch);
void cuda_backward(struct device *d, const struct layer *l, const struct batch *b, struct norm norm,
                   const void *x, struct vec theta, void *cache, void *dx, struct vec grad,
                   void *scratch);
void cuda_backward_step(struct device *d, const struct layer *l, const struct batch *b,
                        struct norm norm, const void *x, struct vec theta, void *cache, void *dx,
                        struct vec grad, const struct descent *step, void *scratch);
void cuda_forward_tangent(struct device *d, const struct layer *l, const struct batch *b,
                          struct norm norm, const void *x, const void *rx, struct vec theta,
                          struct vec v, const void *cache, void *tangent, void *scratch);
void cuda_backward_tangent(struct device *d, const struct layer *l, const struct batch *b,
                           struct norm norm, const void *x, const void *rx, struct vec theta,
                           struct vec v, const void *cache, void *tangent, void *rdx,
                           struct vec rgrad, void *scratch);

void cuda_xent(struct device *d, const struct layer *l, const struct batch *b,
               const int32_t *labels, bool mean, void *cache, float *probs, float *loss);
void cuda_xent_tangent(struct device *d, const struct layer *l, const struct batch *b,
                       const int32_t *labels, bool mean, const float *probs, void *tangent);
void cuda_proto(struct device *d, const struct layer *l, const struct features *support,
                const struct features *query, const struct classes *classes, float *logits,
                float *probs, float *loss, void *scratch);
size_t cuda_proto_bytes(const struct layer *l, int tasks, int ways);

void cuda_kmeans(struct device *d, int tasks, int f, struct clustering *c);
void cuda_entropy(struct device *d, size_t rows, int ways, const float *probs, float *host);

void cuda_axpy(struct device *d, int tasks, size_t len, struct vec to, struct vec y, double a,
               struct vec x);
void cuda_reduce(struct device *d, int tasks, size_t len, void *to, struct vec x, bool add);
double cuda_dot(struct device *d, size_t len, const void *x, const void *y);
void cuda_sgd(struct device *d, size_t from, size_t len, void *theta, const void *g, double scale,
              double lr);
void cuda_adam(struct device *d, size_t from, size_t len, void *theta, void *m, void *v,
               const void *g, double scale, const struct adam *a, const struct adam_rates *now);

/* ---- layers: a conv or a dense layer, forward or backward, or the tangents of
 * those (where v.at is set) ---- */

struct layer_call {
    const struct layer *l;
    const struct batch *b;
    int stat;
    bool no_tangents;
    const float *x, *rx; /* rx NULL: zero */
    struct vec theta, v;
    struct sink sink;
    struct cache cache, tangent;
    float *dx; /* or its tangent; NULL: not wanted */
};

void cuda_conv_forward(struct device *d, const struct layer_call *c);
void cuda_conv_backward(struct device *d, const struct layer_call *c);
void cuda_dense_forward(struct device *d, const struct layer_call *c);
void cuda_dense_backward(struct device *d, const struct layer_call *c);

#ifdef __cplusplus
}
#endif
#endif
