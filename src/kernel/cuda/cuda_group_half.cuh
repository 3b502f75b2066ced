/* cuda_group_half.cuh - how dX and dW by warpgroups are shared by blocks: two for each, of a task.
 *
 * Of 64 input channels each has half, of 32 each has half of the images.  In a block, three
 * warpgroups multiply and one stages, or has the copy engine stage.
 */
#ifndef CUDA_GROUP_HALF_CUH
#define CUDA_GROUP_HALF_CUH

#include "cuda_cells.cuh"

enum { MULTIPLIERS = 3 /* warpgroups */, PRODUCT_THREADS = (MULTIPLIERS + 1) * GROUP };

/* What one of two blocks has: input channels from c0, stages first..last-1. */
struct portion {
    int c0, first, last;
};
template <int SHAPE> static constexpr int parts_of = 2 * WIDE / known<SHAPE>::c;

template <int SHAPE>
static __device__ __forceinline__ struct portion portion_of(int which, int stages)
{
    if (parts_of<SHAPE> == 1)
        return {which * WIDE, 0, stages};
    int middle = (stages + 1) / 2;
    return {0, which ? middle : 0, which ? stages : middle};
}

[[maybe_unused]] static __device__ __forceinline__ void multipliers_meet(void)
{
    asm volatile("bar.sync 1, %0;" ::"n"(MULTIPLIERS * GROUP) : "memory");
}

#endif
