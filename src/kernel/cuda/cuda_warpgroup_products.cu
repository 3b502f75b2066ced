/* cuda_warpgroup_products.cu - dX and dW of a conv block by warpgroups in one launch, in blocks of
 * their own, for the layers of Conv4 after the first. */
#include "cuda_warpgroup_dx.cuh"
#include "cuda_warpgroup_dw.cuh"

struct products_args {
    CUtensorMap x, dz;
    struct conv_args layer;
};

/* blockIdx = (block, task): two blocks for dW, two for dX.  The kernel before has written dz alone
 * of what is read here. */
template <int SHAPE, bool STEP, bool AHEAD>
static __global__ void __launch_bounds__(PRODUCT_THREADS, 1)
    group_product_kernel(const __grid_constant__ struct products_args given)
{
#ifdef HAVE_GROUPS
    using R = dw_room<SHAPE, STEP>;
    extern __shared__ __align__(128) float dynamic[];
    __shared__ struct dx_barriers<dx_room<SHAPE, AHEAD>> dx_bars;
    __shared__ struct dw_barriers<R> dw_bars;
    struct conv_args a = given.layer;
    fix_layer<SHAPE>(a);
    bool dx = blockIdx.x >= 2;
    char *aligned = aligned_to_eight_rows(dynamic);
    dx_barriers_init(&dx_bars);
    dw_barriers_init(&dw_bars);
    if (!dx) /* 0 times what was there need not be 0 */
        zero_ends<typename R::C>(aligned, R::slots, R::stage, PRODUCT_THREADS);
    __syncthreads();
    if (dx)
        compute_dx<SHAPE, AHEAD>(a, &given.dz, aligned, &dx_bars);
    else
        compute_dw<SHAPE, STEP>(a, &given.x, aligned, &dw_bars);
#endif
}

template <int SHAPE, bool STEP, bool AHEAD>
static bool launch(struct device *d, const struct conv_args *a, int blocks)
{
    using W = dw_room<SHAPE, STEP>;
    struct products_args g;
    const void *kernel = (const void *)group_product_kernel<SHAPE, STEP, AHEAD>;
    if (!takes<SHAPE>(kernel, a, &g))
        return false;
    const struct box x = planes_of<typename W::C>(a), dz = cells_of_dz<SHAPE>(a);
    cuda_map(d, &x, &g.x);
    cuda_map(d, &dz, &g.dz);
    size_t dx_bytes = dx_room<SHAPE, AHEAD>::bytes, dw_bytes = W::bytes;
    struct grid grid = {.x = 4,
                        .y = (unsigned)blocks,
                        .threads = PRODUCT_THREADS,
                        .cluster = (unsigned)parts_of<SHAPE>,
                        .shared = dx_bytes > dw_bytes ? dx_bytes : dw_bytes};
    cuda_launch(d, kernel, grid, &g, "backward");
    return true;
}

/* Four blocks for a task, one to a multiprocessor; those of a cluster do not go on to another task.
 * A step of 32 channels is taken where two blocks' sums are added up. */
template <int SHAPE> static bool launch(struct device *d, const struct conv_args *a)
{
    if constexpr (parts_of<SHAPE> == 1) {
        int most = d->blocks / 2 / 4;
        bool step = a->sink.step.to.at;
        if (a->tasks <= most)
            return (step ? launch<SHAPE, true, false> : launch<SHAPE, false, false>)(d, a,
                                                                                     a->tasks);
        return (step ? launch<SHAPE, true, true> : launch<SHAPE, false, true>)(d, a, most);
    } else {
        return launch<SHAPE, false, false>(d, a, a->tasks);
    }
}

/* Launches the products where the layer is of those shapes, tasks fill three quarters of the chip
 * or more, and each has so much to do that batch norm of the layer before is worth a launch of its
 * own. */
extern "C" bool cuda_group_products(struct device *d, const struct conv_args *a)
{
    enum { PIXELS_MIN = 128 }; /* with 32 tasks and with 256 on an H200 */
    int tasks = d->tasks ? d->tasks : a->tasks, pixels = a->n * a->l.conv_h * a->l.conv_w;
    if (in_fp32(d, &a->l) || a->v.at || !a->dx || pixels < PIXELS_MIN ||
        4 * tasks < d->blocks / 2 * 3 / 4)
        return false;
    return launch<1>(d, a) || launch<2>(d, a) || launch<3>(d, a) || launch<5>(d, a) ||
           launch<6>(d, a);
}
