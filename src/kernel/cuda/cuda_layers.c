/* cuda_layers.c - the layer operations of the table, as calls of conv and dense. */
#include "cuda_fp16.h"

static void run(struct device *d, const struct layer_call *c, bool forward)
{
    if (forward && !c->v.at)
        cuda_fp16_forget(d, c->cache.out, 1);
    if (is_conv(c->l))
        (forward ? cuda_conv_forward : cuda_conv_backward)(d, c);
    else
        (forward ? cuda_dense_forward : cuda_dense_backward)(d, c);
}

void cuda_forward(struct device *d, const struct layer *l, const struct batch *b, struct norm norm,
                  const void *x, struct vec theta, void *cache, void *scratch)
{
    (void)scratch;
    struct layer_call c = {l,
                           b,
                           norm.stat,
                           norm.no_tangents,
                           .x = x,
                           .theta = theta,
                           .cache = cuda_cache(l, b, cache)};
    run(d, &c, true);
}

void cuda_backward_step(struct device *d, const struct layer *l, const struct batch *b,
                        struct norm norm, const void *x, struct vec theta, void *cache, void *dx,
                        struct vec grad, const struct descent *step, void *scratch)
{
    (void)scratch;
    struct layer_call c = {l,
                           b,
                           norm.stat,
                           norm.no_tangents,
                           .x = x,
                           .theta = theta,
                           .sink = {.grad = grad},
                           .dx = dx,
                           .cache = cuda_cache(l, b, cache)};
    if (step)
        c.sink.step = *step;
    run(d, &c, false);
}

void cuda_backward(struct device *d, const struct layer *l, const struct batch *b, struct norm norm,
                   const void *x, struct vec theta, void *cache, void *dx, struct vec grad,
                   void *scratch)
{
    cuda_backward_step(d, l, b, norm, x, theta, cache, dx, grad, NULL, scratch);
}

void cuda_forward_tangent(struct device *d, const struct layer *l, const struct batch *b,
                          struct norm norm, const void *x, const void *rx, struct vec theta,
                          struct vec v, const void *cache, void *tangent, void *scratch)
{
    (void)scratch;
    struct layer_call c = {l,
                           b,
                           norm.stat,
                           .x = x,
                           .rx = rx,
                           .theta = theta,
                           .v = v,
                           .cache = cuda_cache(l, b, cache),
                           .tangent = cuda_cache(l, b, tangent)};
    run(d, &c, true);
}

void cuda_backward_tangent(struct device *d, const struct layer *l, const struct batch *b,
                           struct norm norm, const void *x, const void *rx, struct vec theta,
                           struct vec v, const void *cache, void *tangent, void *rdx,
                           struct vec rgrad, void *scratch)
{
    (void)scratch;
    struct layer_call c = {l,
                           b,
                           norm.stat,
                           .x = x,
                           .rx = rx,
                           .theta = theta,
                           .v = v,
                           .sink = {.grad = rgrad},
                           .dx = rdx,
                           .cache = cuda_cache(l, b, cache),
                           .tangent = cuda_cache(l, b, tangent)};
    run(d, &c, false);
}
