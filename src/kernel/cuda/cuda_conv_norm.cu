/* cuda_conv_norm.cu - batch norm backward in a launch of its own. */
#include "cuda_norm_back.cuh"
#include "cuda_shape.cuh"

/* blockIdx = ((slice, part), task). */
template <bool FULL, int W, bool TANGENT, class FIX>
static __global__ void __launch_bounds__(THREADS, 2)
    norm_kernel(const __grid_constant__ struct conv_args given)
{
    __shared__ norm_sums sums;
    __shared__ struct slice ch;
    struct conv_args a = given;
    FIX::in(a);
    int splits = a.plan.norm_splits, part = blockIdx.x & (splits - 1);
    int c0 = (int)(blockIdx.x >> log2_of(splits)) * SLICE;
    wait_for_previous();
    norm_slice<FULL, W, TANGENT, !FIX::known>(a, blockIdx.y, c0, part, splits, &sums, &ch);
}

/* A kernel made for the shape, or NULL; first layers have files of their own. */
static const void *known_kernel(const struct conv_args *a, bool tangent)
{
#define KNOWN(shape)                                                                               \
    if (a->stat > 0 && fixed<fix_norm<shape>>(a))                                                  \
        return tangent ? (const void *)norm_kernel<false, 1, true, fix_norm<shape>>                \
                       : (const void *)norm_kernel<false, 1, false, fix_norm<shape>>;
    KNOWN(1)
    KNOWN(2)
    KNOWN(3)
    KNOWN(5)
    KNOWN(6)
    KNOWN(7)
#undef KNOWN
    return NULL;
}

extern "C" void cuda_conv_norm(struct device *d, struct conv_args *a)
{
#define PAIR(full, window)                                                                         \
    {                                                                                              \
        (const void *)norm_kernel<full, window, false, any_shape>,                                 \
            (const void *)norm_kernel<full, window, true, any_shape>                               \
    }
    static const void *const kernels[2][2][2] = {{PAIR(false, 1), PAIR(false, 4)},
                                                 {PAIR(true, 1), PAIR(true, 4)}};
#undef PAIR
    int splits = a->plan.norm_splits;
    struct grid g = {.x = (unsigned)(a->out_rows / SLICE * splits),
                     .y = (unsigned)a->tasks,
                     .threads = THREADS,
                     .cluster = (unsigned)splits};
    bool tangent = a->v.at != NULL;
    bool full = in_fp32(d, &a->l);
    const void *kernel = full ? NULL : known_kernel(a, tangent);
    if (!kernel)
        kernel = kernels[full][a->l.pool][tangent];
    cuda_launch(d, kernel, g, a, "norm backward");
}
