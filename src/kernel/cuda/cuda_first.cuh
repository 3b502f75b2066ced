/* cuda_first.cuh - a net's first layer without its z.
 *
 * z = W u, where u is a pixel's window: 9 taps of C channels.  Pictures stay while weights
 * change, so what batch norm asks of z follows from M, the sum of u u' over the pixels that
 * make statistics, with a one at the end of u (its column: ONE), which gather brings:
 *   sum of z = W M[ONE], sum of z z = W M W'
 * Backward, with D the sum of dy u' over all pixels and N pixels that make statistics:
 *   sum of dy = D[ONE], sum of dy xh = s (W D' - mu D[ONE])
 *   dW = gamma s (D - c1 M[ONE] - c2 s (W M - mu M[ONE])), c1 and c2 those sums over N
 * so that z is neither written nor read, and nobody waits for statistics.  Of the output
 * backward needs to know which units were on: a bit each.
 *
 * Columns of u are (tap, channel), ONE after the last, then zeros up to SIDE.  Weights are
 * taken as products round them, that statistics be those of the z they make.
 */
#ifndef CUDA_FIRST_CUH
#define CUDA_FIRST_CUH

#include "cuda_norm_back.cuh"
#include "cuda_shape.cuh"

enum { FEW = 4, FIRST_SLICE = 32 }; /* channels as stored, in and out of a block */

template <int SHAPE> struct window {
    using K = known<SHAPE>;
    static constexpr int channels = SHAPE == 0 ? 1 : 3; /* of the pictures */
    static constexpr int one = 9 * channels, side = (one + 1 + 15) / 16 * 16;
    static constexpr int pitch = side + 1; /* of M in shared memory */
    /* A tap's place in weights as they are stored. */
    static __device__ __forceinline__ int slot(int column)
    {
        return column / channels * FEW + column % channels;
    }
    /* From a pixel's corner in a picture of `cols` pixels of `floats`. */
    static __device__ __forceinline__ int at(int column, int cols, int floats)
    {
        int tap = column / channels;
        return column < one ? (tap / 3 * cols + tap % 3) * floats + column % channels : 0;
    }
};

/* What forward leaves for backward, where other layers have dz. */
struct first_cache {
    uint32_t *on;   /* (pixel, slice): byte t, bit j: channel j / 4 * 16 + t * 4 + j % 4 is on */
    float *centred; /* (channel, side): W M - mu M[ONE] */
    float *sums;    /* (side): M[ONE] */
};

/* That of a task. */
template <class W>
static __device__ __forceinline__ struct first_cache first_cache_of(const struct conv_args &a,
                                                                    int task)
{
    enum { SLICES = W::K::filters / FIRST_SLICE, ROWS = W::K::filters * W::side };
    size_t words = (size_t)a.n * (W::K::conv_h * W::K::conv_w) * SLICES;
    float *after = a.cache.dz + a.tasks * words;
    return {(uint32_t *)a.cache.dz + task * words, after + (size_t)task * ROWS,
            after + (size_t)a.tasks * ROWS + task * W::side};
}

/* The picture under pixels first..end-1, with its border. */
template <int WARPS>
static __device__ __forceinline__ void stage_windows(const struct conv_args &a, int task, int n,
                                                     int first, int end, float *to)
{
    int x, top = window_row(a, first, &x), rows = window_row(a, end - 1, &x) + 3 - top;
    const float *from = a.x + (size_t)task * a.n * a.l.in_h * a.l.in_w * FEW;
    stage_picture<WARPS>(a.plan.in, from, n, top, rows, 0, FEW, 0, FEW, to);
}

/* Where the window of a pixel begins in the picture staged from row `top` on. */
static __device__ __forceinline__ int corner_of(const struct conv_args &a, int top, int pixel)
{
    int x, row = window_row(a, pixel, &x) - top;
    return (row * a.plan.in.cols + x) * FEW;
}

/* Whether a block for each task is enough for the chip. */
static inline bool first_many(const struct device *d, int tasks)
{
    return tasks >= d->blocks / 2 * 3 / 4;
}

/* ---- pictures of one channel as plain floats ----
 * With a row and a column of zeros before it, those of 28 x 28 are (29, PLAIN_ROW): what the
 * threads of a warp read of a window's rows lies 16 banks apart. */
enum { PLAIN_ROW = 48, PLAIN_FLOATS = 29 * PLAIN_ROW };

/* Begins to copy one, but its border, by `threads` threads of which this is number `i`. */
static __device__ __forceinline__ void stage_plain(const float *from, int i, int threads, float *to)
{
    using K = known<0>;
    uint32_t out = shared_address(to + PLAIN_ROW + 1);
#pragma unroll 5
    for (; i < K::h * K::w; i += threads) {
        unsigned at = i + (unsigned)i / K::w * (PLAIN_ROW - K::w);
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(out + 4 * at),
                     "l"(from + i * FEW)
                     : "memory");
    }
}

/* Where the window of conv pixel p begins; of several images in a row, IMAGE_GAP further on for
 * each that is before it. */
enum { IMAGE_GAP = PLAIN_FLOATS - 28 * PLAIN_ROW };
static __device__ __forceinline__ unsigned plain_corner(unsigned p)
{
    constexpr unsigned across = known<0>::conv_w;
    return 2 * p + p / across * 2 * (PLAIN_ROW - across);
}

/* Rows of the staged picture under `pixels` of them, at worst. */
template <class W> static __host__ __device__ constexpr int rows_staged(int pixels)
{
    int grid = (pixels - 2) / W::K::conv_w + 2; /* rows_under() of cuda_plan.c */
    int crossings = (grid + W::K::conv_h - 2) / W::K::conv_h;
    return (grid - 1) * 2 + 3 + crossings * (W::K::rows - W::K::conv_h * 2);
}

#endif
