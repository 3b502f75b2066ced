/* cuda_warpgroup_half.cuh - how dX and dW by warpgroups are shared by blocks: two for each, of a
 * task.
 *
 * Of 64 input channels each has half, of 32 each has half of the images.  In a block some
 * warpgroups multiply, others stage or have the copy engine stage.  Where there are more tasks
 * than blocks, a block goes on to another task: what is staged runs ahead of what is multiplied
 * and written.
 */
#ifndef CUDA_WARPGROUP_HALF_CUH
#define CUDA_WARPGROUP_HALF_CUH

#include "cuda_cells.cuh"

enum { PRODUCT_THREADS = 4 * GROUP };

template <int SHAPE> static constexpr int parts_of = 2 * WIDE / known<SHAPE>::c;

/* What a block has of a task: input channels from c0, stages first..last-1 of its n images; and
 * how many tasks, and stages, it has had before. */
struct visit {
    int task, n, c0, first, last;
    int turn, before;
};

template <int SHAPE, class C>
static __device__ __forceinline__ struct visit visit_of(const struct conv_args &a, int task,
                                                        int turn, int before)
{
    struct visit v = {task, 0, 0, 0, 0, turn, before};
    int which = blockIdx.x % 2;
    if (task >= a.tasks)
        return v;
    v.n = a.count ? a.count[task] : a.n;
    v.last = C::stages(v.n);
    if (parts_of<SHAPE> == 1) {
        v.c0 = which * WIDE;
        return v;
    }
    int middle = (v.last + 1) / 2;
    v.first = which ? middle : 0;
    v.last = which ? v.last : middle;
    return v;
}

/* blockIdx = (block, task), and then every gridDim.y-th task. */
template <int SHAPE, class C>
static __device__ __forceinline__ struct visit first_visit(const struct conv_args &a)
{
    return visit_of<SHAPE, C>(a, blockIdx.y, 0, 0);
}

template <int SHAPE, class C>
static __device__ __forceinline__ void next_visit(const struct conv_args &a, struct visit &v)
{
    v = visit_of<SHAPE, C>(a, v.task + (int)gridDim.y, v.turn + 1, v.before + v.last - v.first);
}

#endif
