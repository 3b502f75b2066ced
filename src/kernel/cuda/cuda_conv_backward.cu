/* cuda_conv_backward.cu - a conv block backward, and the tangent of that: batch norm
 * in one launch, then dX and dW in another, in blocks of their own. */
#include "cuda_dx.cuh"
#include "cuda_dw.cuh"

extern "C" void cuda_conv_norm(struct device *d, struct conv_args *a);

/* Blocks of a task: those of dW come first, the parts of a unit's pixels together. */
struct units {
    int across, dw, dx;
};

static __host__ __device__ struct units units_of(const struct conv_args &a)
{
    struct units u;
    u.across = (a.out_rows + a.plan.columns - 1) / a.plan.columns;
    u.dw = a.in_c / a.plan.width * u.across * a.plan.dw.splits;
    u.dx = a.dx ? (a.in_c + SLICE - 1) / SLICE * a.plan.dx.splits : 0;
    return u;
}

/* blockIdx.x = (task, block). */
template <bool FULL, int STRIDE, bool TANGENT>
static __global__ void __launch_bounds__(THREADS, 2)
    product_kernel(const __grid_constant__ struct conv_args a)
{
    extern __shared__ __align__(128) float dynamic[];
    struct units units = units_of(a);
    int task = blockIdx.x / (units.dw + units.dx), i = blockIdx.x % (units.dw + units.dx);
    bool dw = i < units.dw;
    i -= dw ? 0 : units.dw;
    wait_for_previous();
    int n = a.count ? a.count[task] : a.n, pixels = n * a.l.conv_h * a.l.conv_w;
    int splits = dw ? a.plan.dw.splits : a.plan.dx.splits, part = i % splits, unit = i / splits;
    int each = (pixels + splits - 1) / splits, first = min(part * each, pixels);
    int last = min(first + each, pixels);
    if (dw) {
        struct dw_unit u = {task,
                            n,
                            unit / units.across * a.plan.width,
                            unit % units.across * a.plan.columns,
                            part,
                            first,
                            last};
        compute_dw<FULL, TANGENT>(a, u, dynamic);
    } else {
        struct dx_unit u = {task, n, unit * SLICE, first, last};
        compute_dx<FULL, STRIDE, TANGENT>(a, u, dynamic);
    }
}

extern "C" void cuda_conv_backward(struct device *d, const struct layer_call *c)
{
#define PAIR(full, stride)                                                                         \
    {                                                                                              \
        (const void *)product_kernel<full, stride, false>,                                         \
            (const void *)product_kernel<full, stride, true>                                       \
    }
    static const void *const kernels[2][2][2] = {{PAIR(false, 1), PAIR(false, 2)},
                                                 {PAIR(true, 1), PAIR(true, 2)}};
#undef PAIR
    struct conv_args a = {};
    cuda_conv_args(d, c, &a);
    cuda_conv_norm(d, &a);
    struct units units = units_of(a);
    size_t dx = c->dx ? a.plan.dx.bytes : 0, dw = a.plan.dw.bytes;
    struct grid g = {.x = (unsigned)(a.tasks * (units.dw + units.dx)),
                     .threads = THREADS,
                     .cluster = (unsigned)a.plan.dw.splits,
                     .shared = dx > dw ? dx : dw};
    cuda_launch(d, kernels[d->full_fp32][a.l.stride - 1][c->v.at != NULL], g, &a, "backward");
}
