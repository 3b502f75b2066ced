/* cpu_table.c - the kernel set of one instruction set. */
#include "cpu.h"
#include "base/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cpu_memory.h"
#include "cpu_loss.h"
#include "cpu_vector.h"

/* ---- layers: task by task ---- */

static struct cpu_task task_of(const struct layer *l, const struct batch *b, struct norm norm,
                               int t, const void *x, struct vec theta, const void *cache,
                               void *scratch)
{
    int n = count_of(b, t);
    return (struct cpu_task){.l = l,
                             .n = n,
                             .stat = norm.stat < n ? norm.stat : n,
                             .task = t,
                             .x = input_of(l, b, x, t),
                             .theta = theta,
                             .k = cache_of(l, b, cache, t, false),
                             .scratch = scratch};
}

static void cpu_forward(struct device *d, const struct layer *l, const struct batch *b,
                        struct norm norm, const void *x, struct vec theta, void *cache,
                        void *scratch)
{
    (void)d;
    for (int t = 0; t < b->tasks; t++) {
        struct cpu_task k = task_of(l, b, norm, t, x, theta, cache, scratch);
        if (k.n > 0)
            (l->kind == LAYER_CONV ? cpu_block_forward : cpu_dense_forward)(&k);
    }
}

/* The gradient of a task without images. */
static void no_gradient(const struct layer *l, struct vec grad, int t)
{
    for (int w = 0; w < TENSORS; w++)
        memset(tensor_of(l, grad, t, (enum tensor)w), 0,
               tensor_len(l, (enum tensor)w) * sizeof(float));
}

static void cpu_backward(struct device *d, const struct layer *l, const struct batch *b,
                         struct norm norm, const void *x, struct vec theta, void *cache, void *dx,
                         struct vec grad, void *scratch)
{
    (void)d;
    for (int t = 0; t < b->tasks; t++) {
        struct cpu_task k = task_of(l, b, norm, t, x, theta, cache, scratch);
        if (k.n > 0)
            (l->kind == LAYER_CONV ? cpu_block_backward
                                   : cpu_dense_backward)(&k, input_of(l, b, dx, t), grad);
        else
            no_gradient(l, grad, t);
    }
}

static void cpu_forward_tangent(struct device *d, const struct layer *l, const struct batch *b,
                                struct norm norm, const void *x, const void *rx, struct vec theta,
                                struct vec v, const void *cache, void *tangent, void *scratch)
{
    (void)d;
    for (int t = 0; t < b->tasks; t++) {
        struct cpu_task k = task_of(l, b, norm, t, x, theta, cache, scratch);
        k.rx = input_of(l, b, rx, t);
        k.v = v;
        k.r = cache_of(l, b, tangent, t, true);
        if (k.n > 0)
            (l->kind == LAYER_CONV ? cpu_block_forward_tangent : cpu_dense_forward_tangent)(&k);
    }
}

static void cpu_backward_tangent(struct device *d, const struct layer *l, const struct batch *b,
                                 struct norm norm, const void *x, const void *rx, struct vec theta,
                                 struct vec v, const void *cache, void *tangent, void *rdx,
                                 struct vec rgrad, void *scratch)
{
    (void)d;
    for (int t = 0; t < b->tasks; t++) {
        struct cpu_task k = task_of(l, b, norm, t, x, theta, cache, scratch);
        k.rx = input_of(l, b, rx, t);
        k.v = v;
        k.r = cache_of(l, b, tangent, t, true);
        if (k.n > 0)
            (l->kind == LAYER_CONV ? cpu_block_backward_tangent
                                   : cpu_dense_backward_tangent)(&k, input_of(l, b, rdx, t), rgrad);
        else
            no_gradient(l, rgrad, t);
    }
}

#define TEXT2(name) #name
#define TEXT(name)  TEXT2(name)

bool cpu_usable(char *why, size_t size); /* cpu_choose.c, which runs on any machine */
extern const struct kernels cpu_table;

const struct kernels cpu_table = {
    .name = TEXT(CPU_ISA),
    .summary = "tuned for one core, vectors of " TEXT(CPU_LANES) " floats",
    .elem = sizeof(float),
    .usable = cpu_usable,
    .open = cpu_open,
    .close = cpu_close,
    .alloc = cpu_alloc,
    .release = cpu_release,
    .upload = cpu_copy,
    .download = cpu_copy,
    .sync = cpu_sync,
    .images_open = cpu_images_open,
    .images_close = cpu_images_close,
    .layout = cpu_layout,
    .pack = cpu_pack,
    .unpack = cpu_unpack,
    .input_bytes = cpu_input_bytes,
    .cache_bytes = cpu_cache_bytes,
    .tangent_bytes = cpu_tangent_bytes,
    .scratch_bytes = cpu_scratch_bytes,
    .out = cpu_out,
    .dout = cpu_dout,
    .gather = cpu_gather,
    .rows = cpu_rows,
    .collect = cpu_collect,
    .forward = cpu_forward,
    .backward = cpu_backward,
    .forward_tangent = cpu_forward_tangent,
    .backward_tangent = cpu_backward_tangent,
    .xent = cpu_xent,
    .xent_tangent = cpu_xent_tangent,
    .host = true,
    .proto = cpu_proto,
    .proto_bytes = cpu_proto_bytes,
    .kmeans = host_kmeans,
    .entropy = host_entropy,
    .zero = cpu_zero,
    .axpy = cpu_axpy,
    .reduce = cpu_reduce,
    .dot = cpu_dot,
    .sgd = cpu_sgd,
    .adam = cpu_adam,
};
