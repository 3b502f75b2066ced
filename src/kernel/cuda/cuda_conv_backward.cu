/* cuda_conv_backward.cu - a conv block backward, and the tangent of that: batch norm
 * in one launch, then dX and dW in another. */
#include "cuda_products.cuh"

extern "C" void cuda_conv_norm(struct device *d, struct conv_args *a);
const void *cuda_products_omniglot(const struct conv_args *a, bool tangent);
const void *cuda_products_mini(const struct conv_args *a, bool tangent);

/* A kernel made for the shape, or NULL. */
static const void *known_kernel(const struct conv_args *a, bool tangent)
{
    const void *kernel = cuda_products_omniglot(a, tangent);
    return kernel ? kernel : cuda_products_mini(a, tangent);
}

extern "C" void cuda_conv_backward(struct device *d, const struct layer_call *c)
{
#define PAIR(full, stride)                                                                         \
    {                                                                                              \
        (const void *)product_kernel<full, stride, false, any_shape>,                              \
            (const void *)product_kernel<full, stride, true, any_shape>                            \
    }
    static const void *const kernels[2][2][2] = {{PAIR(false, 1), PAIR(false, 2)},
                                                 {PAIR(true, 1), PAIR(true, 2)}};
#undef PAIR
    struct conv_args a = {};
    cuda_conv_args(d, c, &a);
    a.early = true;
    cuda_conv_norm(d, &a);
    struct units units = units_of(a);
    size_t dx = c->dx ? a.plan.dx.bytes : 0, dw = a.plan.dw.bytes;
    struct grid g = {.x = (unsigned)(units.dw + units.dx),
                     .y = (unsigned)a.tasks,
                     .threads = THREADS,
                     .cluster = (unsigned)a.plan.dw.splits,
                     .shared = dx > dw ? dx : dw};
    bool tangent = c->v.at != NULL;
    bool full = in_fp32(d, &a.l);
    const void *kernel = full ? NULL : known_kernel(&a, tangent);
    if (!kernel)
        kernel = kernels[full][a.l.stride - 1][tangent];
    cuda_launch(d, kernel, g, &a, "backward");
}
