/* cuda_products.cuh - dX and dW of a conv block in one launch, in blocks of their own; dX's
 * go on to batch norm of the block before. */
#ifndef CUDA_PRODUCTS_CUH
#define CUDA_PRODUCTS_CUH

#include "cuda_dx.cuh"
#include "cuda_dw.cuh"
#include "cuda_norm_back.cuh"
#include "cuda_shape.cuh"

/* Blocks of a task: those of dW come first, the parts of a unit's pixels together. */
struct units {
    int across, dw, dx;
};

static __host__ __device__ __forceinline__ struct units units_of(const struct conv_args &a)
{
    struct units u;
    u.across = (a.out_rows + a.plan.columns - 1) / a.plan.columns;
    u.dw = a.in_c / a.plan.width * u.across * a.plan.dw.splits;
    u.dx = a.dx ? (a.in_c + SLICE - 1) / SLICE * a.plan.dx.splits : 0;
    return u;
}

/* dX and dW of a layer; and, where `norm` is set, of the layer before it what follows from
 * dX, its dout: batch norm backward, to dz. */
struct product_args {
    struct conv_args layer, before;
    bool norm;
};

/* The slice whose dX the blocks of a cluster have just written. */
template <bool TANGENT, class FIX>
static __device__ __forceinline__ void norm_before(const struct conv_args &given, int task, int c0,
                                                   int part, int splits, float *shared)
{
    struct conv_args a = given;
    norm_sums *sums = (norm_sums *)shared;
    FIX::before(a);
    if (splits > 1)
        cooperative_groups::this_cluster().sync();
    else
        __syncthreads();
    norm_slice<false, 1, TANGENT, false>(a, task, c0, part, splits, sums,
                                         (struct slice *)(sums + 1));
}

/* blockIdx = (block, task).  The kernel before has written dz alone of what is read here:
 * weights and inputs are staged before it has ended. */
template <bool FULL, int STRIDE, bool TANGENT, class FIX>
static __global__ void __launch_bounds__(THREADS, 2)
    product_kernel(const __grid_constant__ struct product_args given)
{
    extern __shared__ __align__(128) float dynamic[];
    struct conv_args a = given.layer;
    FIX::in(a);
    struct units units = units_of(a);
    int task = blockIdx.y, i = blockIdx.x;
    bool dw = i < units.dw;
    i -= dw ? 0 : units.dw;
    int n = a.count ? a.count[task] : a.n, pixels = n * a.l.conv_h * a.l.conv_w;
    int splits = dw ? a.plan.dw.splits : a.plan.dx.splits, split = log2_of(splits);
    int part = i & (splits - 1), unit = i >> split;
    int each = (pixels + splits - 1) >> split, first = min(part * each, pixels);
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
    } else if (a.dx) {
        struct dx_unit u = {task, n, unit * SLICE, first, last};
        compute_dx<FULL, STRIDE, TANGENT>(a, u, dynamic);
        if constexpr (FIX::known)
            if (given.norm)
                norm_before<TANGENT, FIX>(given.before, task, u.c0, part, splits, dynamic);
    }
}

/* The kernel made for a shape and its plan, where `a` is of those, and where it has a layer
 * before it, that of the shape before. */
#define PRODUCTS_KNOWN(shape, dx)                                                                  \
    if (fixed<fix_products<shape, dx>>(a) &&                                                       \
        (!before || fix_products<shape, dx>::follows(before)))                                     \
        return tangent ? (const void *)product_kernel<false, 2, true, fix_products<shape, dx>>     \
                       : (const void *)product_kernel<false, 2, false, fix_products<shape, dx>>;

#endif
