/* cuda_conv_forward.cu - launches of the forward pass, for shapes of any kind. */
#include "cuda_forward.cuh"
#include "cuda_fp16.h"
#include "cuda_last.h"

const void *cuda_forward_omniglot(const struct conv_args *a, bool tangent);
const void *cuda_forward_mini(const struct conv_args *a, bool tangent);
extern "C" bool cuda_first_forward(struct device *d, struct conv_args *a, bool keep_z);
extern "C" bool cuda_group_forward(struct device *d, struct conv_args *a);

/* A kernel made for the shape, or NULL. */
static const void *cuda_forward_known(const struct conv_args *a, bool tangent)
{
    const void *kernel = cuda_forward_omniglot(a, tangent);
    return kernel ? kernel : cuda_forward_mini(a, tangent);
}

extern "C" void cuda_forward_launch(struct device *d, struct conv_args *a)
{
#define PAIR(full, nt, window)                                                                     \
    {                                                                                              \
        (const void *)forward_kernel<full, nt, window, false, any_shape>,                          \
            (const void *)forward_kernel<full, nt, window, true, any_shape>                        \
    }
#define FOUR(full, nt)                                                                             \
    {                                                                                              \
        PAIR(full, nt, 1), PAIR(full, nt, 4)                                                       \
    }
    static const void *const kernels[2][2][2][2] = {{FOUR(false, 2), FOUR(false, 4)},
                                                    {FOUR(true, 2), FOUR(true, 4)}};
#undef FOUR
#undef PAIR
    bool tangent = a->v.at != NULL, full = in_fp32(d, &a->l);
    if (!tangent && cuda_first_forward(d, a, !a->no_tangents))
        return;
    a->early = after_forward(d);
    if (!tangent && cuda_second_forward(d, a))
        return;
    cuda_plain(d, a->x);
    if (!tangent && cuda_group_forward(d, a))
        return;
    const struct product *p = &a->plan.forward;
    int slices = (a->out_rows + a->plan.slice - 1) / a->plan.slice;
    struct grid g = {.x = (unsigned)(slices * p->splits),
                     .y = (unsigned)a->tasks,
                     .threads = FORWARD_THREADS,
                     .cluster = (unsigned)p->splits,
                     .shared = p->bytes};
    const void *kernel = full ? NULL : cuda_forward_known(a, tangent);
    if (!kernel)
        kernel = kernels[full][a->plan.slice == 32][a->l.pool][tangent];
    cuda_launch(d, kernel, g, a, CUDA_FORWARD);
}

extern "C" void cuda_conv_forward(struct device *d, const struct layer_call *c)
{
    struct conv_args a = {};
    cuda_flush(d);
    cuda_conv_args(d, c, &a);
    if (!cuda_last_forward(d, &a))
        cuda_forward_launch(d, &a);
}
