/* cuda_conv.h - how a conv layer is cut into work for thread blocks.
 *
 * A cluster of `ranks` blocks works on one task, each block on slices of 16
 * channels.  In the forward pass and in batch norm, `splits` blocks share a
 * slice, each with its part of the pixels, and add up their channel sums through
 * the cluster's shared memory.  In the backward pass half the blocks then
 * compute dX, the other half dW.
 *
 * All three products are implicit GEMMs: pictures are staged in shared memory
 * with their border of zeros, a chunk of channels at a time, and the tiles read
 * them there with an offset per tap.
 *
 * The distance between neighbours in shared memory (`pitch`) is 8 or 24 mod 32
 * floats between the pixels that lie side by side in a tile, so that the 32
 * threads of a warp meet 32 banks.
 */
#ifndef CUDA_CONV_H
#define CUDA_CONV_H

#include "cuda_set.h"

enum { THREADS = 256, WARPS = 8, TILE_PITCH = 20 };

/* n / by as a multiplication; exact while n * by < 2^32. */
struct divisor {
    uint32_t by, factor;
};

/* The pictures (n, h, w, c) of a task seen with a border of zeros, as one tall
 * picture of n * rows rows. */
struct picture {
    int h, w, c;
    int before;     /* rows and columns of zeros before the picture */
    int rows, cols; /* with the border */
    struct divisor by_rows, by_cols;
};

/* One GEMM.  A block of `block` pixels at a time, `chunk` channels at a time;
 * warps are mgroups (32 pixels each) x kgroups (a share of the sum). */
struct product {
    int block, chunk, pitch;
    int mgroups, kgroups;
    int weights; /* floats between rows (forward), or (dW) between pixels of dz */
    int picture_floats, stage_floats, stages;
    size_t bytes; /* of dynamic shared memory */
};

struct conv_plan {
    int ranks, splits, rounds; /* rounds: slices a block takes one after the other */
    struct picture in, dz;     /* x as convolutions see it; dz as dX sees it */
    struct product forward, dx, dw;
    int dx_splits;               /* parts of the pixels in dX */
    int width, columns, ngroups; /* dW: input channels x output channels of a unit */
};

/* What a conv kernel is given. */
struct conv_args {
    struct layer l;
    int tasks, n, stat;
    const int32_t *count;
    int in_c, out_c, out_rows; /* channels as stored; rows of the weight tensor */
    struct vec theta, v, grad;
    const float *x, *rx;
    float *dx;
    struct cache cache, tangent;
    struct conv_plan plan;
};

#ifdef __cplusplus
extern "C"
#endif
    void
    cuda_conv_args(const struct device *d, const struct layer_call *c, struct conv_args *a);

#endif
