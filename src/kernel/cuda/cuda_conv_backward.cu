/* cuda_conv_backward.cu - a conv block backward, and the tangent of that: batch norm, then dX
 * and dW in another launch.
 *
 * dX is what batch norm of the block before begins with.  So products are only noted (in
 * the device) until it is known what comes next: that, and one launch does both, or
 * something else, which launches them first.
 */
#include "cuda_fp16.h"
#include "cuda_head.h"
#include "cuda_last.h"
#include "cuda_products.cuh"
#include "cuda_proto.h"

extern "C" void cuda_conv_norm(struct device *d, struct conv_args *a);
extern "C" bool cuda_first_backward(struct device *d, struct conv_args *a);
extern "C" bool cuda_first_tangent(struct device *d, struct conv_args *a);
extern "C" bool cuda_group_products(struct device *d, const struct conv_args *a);
extern "C" bool cuda_small_products(struct device *d, const struct conv_args *a,
                                    const struct conv_args *before);
const void *cuda_products_omniglot(const struct conv_args *a, const struct conv_args *before,
                                   bool tangent);
const void *cuda_products_mini(const struct conv_args *a, const struct conv_args *before,
                               bool tangent);

/* A kernel made for the shape, or NULL. */
static const void *known_kernel(const struct conv_args *a, const struct conv_args *before)
{
    bool tangent = a->v.at != NULL;
    const void *kernel = cuda_products_omniglot(a, before, tangent);
    return kernel ? kernel : cuda_products_mini(a, before, tangent);
}

/* Launches the products of a layer, with batch norm of the layer before where it is given;
 * `kernel` NULL: that for any shape. */
static void launch(struct device *d, const void *kernel, const struct conv_args *a,
                   const struct conv_args *before)
{
#define PAIR(full, stride)                                                                         \
    {                                                                                              \
        (const void *)product_kernel<full, stride, false, any_shape>,                              \
            (const void *)product_kernel<full, stride, true, any_shape>                            \
    }
    static const void *const kernels[2][2][2] = {{PAIR(false, 1), PAIR(false, 2)},
                                                 {PAIR(true, 1), PAIR(true, 2)}};
#undef PAIR
    struct product_args args = {*a, before ? *before : *a, before != NULL};
    struct units units = units_of(*a);
    size_t dx = a->dx ? a->plan.dx.bytes : 0, dw = a->plan.dw.bytes;
    size_t norm = before ? sizeof(norm_sums) + sizeof(struct slice) : 0;
    struct grid g = {.x = (unsigned)(units.dw + units.dx),
                     .y = (unsigned)a->tasks,
                     .threads = THREADS,
                     .cluster = (unsigned)a->plan.dw.splits,
                     .shared = dx > dw ? dx : dw};
    g.shared = norm > g.shared ? norm : g.shared;
    if (!kernel)
        kernel = kernels[in_fp32(d, &a->l)][a->l.stride - 1][a->v.at != NULL];
    cuda_launch(d, kernel, g, &args, "backward");
}

static const void *kernel_for(struct device *d, const struct conv_args *a,
                              const struct conv_args *before)
{
    return in_fp32(d, &a->l) ? NULL : known_kernel(a, before);
}

extern "C" void cuda_products_flush(struct device *d)
{
    if (!d->products_noted)
        return;
    d->products_noted = false;
    launch(d, kernel_for(d, d->products, NULL), d->products, NULL);
}

/* Batch norm of `a` together with the products that are noted, if it follows from them. */
static bool norm_with_products(struct device *d, const struct conv_args *a)
{
    const struct conv_args *p = d->products;
    bool tangent = a->v.at != NULL;
    if (!d->products_noted || tangent != (p->v.at != NULL) || p->tasks != a->tasks ||
        p->n != a->n || p->count != a->count || a->stat == 0 ||
        p->dx != (tangent ? a->tangent.dout : a->cache.dout))
        return false;
    d->products_noted = false; /* or a launch would launch them first */
    if (cuda_small_products(d, p, a))
        return true;
    bool cluster = p->plan.dx.splits == 1 || p->plan.dx.splits == p->plan.dw.splits;
    const void *kernel = cluster ? kernel_for(d, p, a) : NULL; /* the parts of dX must be one */
    if (kernel)
        launch(d, kernel, p, a);
    else
        d->products_noted = true;
    return kernel != NULL;
}

extern "C" void cuda_backward_launch(struct device *d, struct conv_args *a)
{
    bool tangent = a->v.at != NULL;
    if (!a->dx && (tangent ? cuda_first_tangent : cuda_first_backward)(d, a))
        return;
    if (!cuda_last_norm(d, a) && !norm_with_products(d, a) && !cuda_head_norm(d, a) &&
        !cuda_proto_norm(d, a))
        cuda_conv_norm(d, a);
    if (cuda_second_products(d, a))
        return;
    cuda_plain(d, a->x);
    if (a->dx && cuda_group_products(d, a))
        return;
    if (a->dx) {
        *d->products = *a;
        d->products_noted = true;
    } else {
        launch(d, kernel_for(d, a, NULL), a, NULL);
    }
}

extern "C" void cuda_conv_backward(struct device *d, const struct layer_call *c)
{
    struct conv_args a = {};
    cuda_conv_args(d, c, &a);
    if (!cuda_last_backward(d, &a))
        cuda_backward_launch(d, &a);
}
