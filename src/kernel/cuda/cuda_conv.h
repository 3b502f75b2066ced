/* cuda_conv.h - how a conv layer is cut into work for thread blocks.
 *
 * All products are implicit GEMMs: pictures are staged in shared memory with
 * their border of zeros, a chunk of channels at a time, and tiles read them there
 * with an offset per tap.  A block works on one task:
 *   forward:  a slice of 16 or 32 output channels, a part of the pixels
 *   norm:     a slice of 16 channels, a part of the pixels
 *   dX:       16 input channels, a part of the pixels
 *   dW:       `width` input channels x `columns` output channels, all pixels
 * Blocks that share a slice form a cluster and add up their channel sums through
 * its shared memory.
 *
 * Distances in shared memory (`pitch`) are such that the threads of a warp meet all 32
 * banks.  What ldmatrix reads, rows of 16 bytes, lies 4, 12, 20 or 28 floats apart mod 32;
 * what single threads read, one row per t, 8 or 24.  Where a convolution steps by two, its
 * next row of pixels begins two rows further down: a gap there makes the distance what the
 * row is long, mod 8, so that eight pixels in a row never meet in a bank.
 *
 * In TF32 mode whatever a product reads again (inputs, outputs, dz) is rounded when
 * it is written, and weights when they are multiplied.
 */
#ifndef CUDA_CONV_H
#define CUDA_CONV_H

#include "cuda_set.h"

enum {
    THREADS = 256, /* of a block, but in the forward pass */
    WARPS = THREADS / 32,
    FORWARD_WARPS = 16,
    SLICE_MAX = 32,
    CLUSTER_MAX = 8,    /* blocks */
    FIRST_PIXELS = 128, /* of a first layer, whose tangents a block works on at once */
    DX_PITCH = 152,     /* floats between rows of weights: 9 SLICE of them, one row per t */
    DW_PITCH = 52 /* between rows of a warp's sums of dW: 48, and two rows are 8 apart mod 32 */
};

/* n / by as a multiplication; exact while n * by < 2^32.  one: ~0 where by is 1. */
struct divisor {
    uint32_t factor;
    int one;
};

/* The pictures (n, h, w, c) of a task seen with a border of zeros, as one tall
 * picture of n * rows rows. */
struct picture {
    int h, w, c;
    int before;     /* rows and columns of zeros before the picture */
    int rows, cols; /* with the border */
    int gap;        /* in a stage that sorts columns: pixels left free after two rows */
    struct divisor by_rows;
};

/* One GEMM.  A block of pixels at a time, a chunk of channels at a time; warps are
 * mgroups x kgroups, the latter with a share of the sum each. */
struct product {
    int splits;         /* parts of the pixels, one per thread block */
    int block, chunk;   /* powers of two */
    int pitch, weights; /* floats between pixels, and between rows of weights or of dz */
    int mgroups, kgroups;
    int picture_floats, stage_floats, stages;
    int join;     /* floats to where kgroups add up */
    size_t bytes; /* of dynamic shared memory */
};

struct conv_plan {
    struct picture in, dz;     /* x as convolutions see it; dz as dX sees it */
    struct divisor by_w, by_h; /* of the conv pixels */
    struct product forward, dx, dw;
    int slice;                     /* channels of a slice in the forward pass */
    int norm_splits;               /* parts of the pixels */
    int first_splits, back_splits; /* of a first layer's, forward and backward */
    int first_rows;                /* of the picture under FIRST_PIXELS */
    int width, columns, ngroups;   /* dW: the unit, and its groups of taps */
};

/* What a conv kernel is given. */
struct conv_args {
    struct layer l;
    int tasks, n, stat;
    bool early;       /* forward: the kernel before has not written what weights are read from */
    bool no_tangents; /* backward: dX that is used in its launch need not be kept */
    const int32_t *count;
    int in_c, out_c, out_rows; /* channels as stored; rows of the weight tensor */
    struct vec theta, v;
    struct sink sink;
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
