/* cuda_map.h - arrays as the copy engine sees them (tensor maps). */
#ifndef CUDA_MAP_H
#define CUDA_MAP_H

#include "cuda_set.h"

#include <cuda.h>

/* A box of an array of floats, or of fp16: innermost first.  Every `step`-th element along an
 * axis is copied; sizes are of what is there, boxes of what is copied.  32 floats or 64 fp16 are
 * innermost, and each row's units of 16 bytes are sorted (CU_TENSOR_MAP_SWIZZLE_128B) as products
 * by warpgroups want them.  What lies outside the array is copied as zeros. */
struct box {
    const void *at;
    int axes;
    size_t size[4], apart[4]; /* apart: elements between neighbours; of axis 0 always 1 */
    int copied[4], step[4];
    bool fp16;
};

#ifdef __cplusplus
extern "C"
#endif
    void
    cuda_map(struct device *d, const struct box *b, CUtensorMap *to);

#endif
