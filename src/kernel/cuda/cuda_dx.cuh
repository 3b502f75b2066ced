/* cuda_dx.cuh - dX = dz * w transposed, and the tangent RdX = Rdz * w + dz * v.
 *
 * One cell per conv pixel.  With stride 2 a cell is 2 x 2 input pixels, each reached
 * by its own taps from the cell's own dz and its right and lower neighbours; with
 * stride 1 it is one pixel, reached from all nine around it.  Column 8 j + c of a
 * warp's tile is input channel 2 c + j: a thread holds 4 neighbouring channels.
 */
#ifndef CUDA_DX_CUH
#define CUDA_DX_CUH

#include "cuda_tile.cuh"

/* Along one axis: which input pixel of the cell tap k reaches, and from which
 * neighbour. */
template <int STRIDE> static __device__ constexpr int pixel_of_tap(int k)
{
    return STRIDE == 1 ? 0 : k != 1;
}
template <int STRIDE> static __device__ constexpr int neighbour_of_tap(int k)
{
    return STRIDE == 1 ? 2 - k : k == 0;
}
template <int STRIDE> static __device__ constexpr int window_of_cell(void)
{
    return STRIDE == 1 ? 3 : 2;
}

/* A block's unit: input channels c0.. of a task, cells first..last-1. */
struct dx_unit {
    int task, n, c0, first, last;
};

/* The tall picture's row of a cell's dz, and its column. */
static __device__ __forceinline__ int dz_row(const struct conv_args &a, int cell, int *x)
{
    int row = divide(cell, a.plan.by_w), image = divide(row, a.plan.by_h);
    *x = cell - row * a.l.conv_w;
    return image * a.plan.dz.rows + row - image * a.l.conv_h;
}

/* Weights (tap, chunk of output channels, 16 input channels); then, when they have
 * arrived, every thread rounds what it has copied. */
template <bool ROUND>
static __device__ __forceinline__ void stage_dx_weights(const struct conv_args &a, const float *w,
                                                        int c0, int o0, float *to)
{
    int chunk = a.plan.dx.chunk, shift = log2_of(chunk), quad = threadIdx.x % 4 * 4;
#pragma unroll 2
    for (int row = threadIdx.x / 4; row < 9 * chunk; row += THREADS / 4) {
        int tap = row >> shift, o = o0 + (row & (chunk - 1));
        bool inside = o < a.out_rows && c0 + quad < a.in_c;
        if (ROUND)
            round16(to + row * DX_PITCH + quad);
        else
            copy16(to + row * DX_PITCH + quad, inside ? w + (o * 9 + tap) * a.in_c + c0 + quad : w,
                   inside);
    }
}

/* Item = (block of cells, source, chunk), in that order. */
template <int STRIDE, bool TANGENT>
static __device__ void stage_dx(const struct conv_args &a, const struct dx_unit &u, int item,
                                int chunks, float *stages)
{
    const struct product &p = a.plan.dx;
    int sources = TANGENT ? 2 : 1, block = item / (chunks * sources),
        source = item / chunks % sources;
    int cell = u.first + block * p.block, end = min(cell + p.block, u.last) - 1, x;
    int top = dz_row(a, cell, &x), rows = dz_row(a, end, &x) + window_of_cell<STRIDE>() - top;
    int o0 = item % chunks * p.chunk;
    const float *dz = TANGENT && !source ? a.tangent.dz : a.cache.dz;
    const struct vec &w = source ? a.v : a.theta;
    float *to = stages + item % p.stages * p.stage_floats;
    dz += (size_t)u.task * a.n * a.l.conv_h * a.l.conv_w * a.out_c;
    stage_picture<WARPS>(a.plan.dz, dz, u.n, top, rows, o0, p.chunk, p.pitch, to);
    stage_dx_weights<false>(a, tensor_at(w, u.task, a.l, TENSOR_WEIGHT), u.c0, o0,
                            to + p.picture_floats);
}

/* c += 32 cells x 8 output channels (at) x 16 input channels (w), in fp32. */
static __device__ __forceinline__ void multiply_cells(float (&c)[2][2][4], const float *at,
                                                      const int (&corner)[2][2], const float *w)
{
    int t = threadIdx.x % 4;
    for (int i = 0; i < 8; i += 2) {
        float4 b = *(const float4 *)(w + i * DX_PITCH + 4 * t);
        float4 more = *(const float4 *)(w + (i + 1) * DX_PITCH + 4 * t);
        for (int m = 0; m < 2; m++) {
            float2 low = pair_at(at + corner[m][0] + i), high = pair_at(at + corner[m][1] + i);
            fma_pairs(c[m][0], low, high, make_float2(b.x, more.x), make_float2(b.z, more.z));
            fma_pairs(c[m][1], low, high, make_float2(b.y, more.y), make_float2(b.w, more.w));
        }
    }
}

/* The same on tensor cores, from rows already loaded. */
static __device__ __forceinline__ void multiply_cells(float (&c)[2][2][4],
                                                      const float (&rows)[2][4], const float *w)
{
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    float2 b0 = pair_at(w + 2 * t * DX_PITCH + 2 * g),
           b1 = pair_at(w + (2 * t + 1) * DX_PITCH + 2 * g);
    for (int m = 0; m < 2; m++) {
        mma(c[m][0], rows[m], b0.x, b1.x);
        mma(c[m][1], rows[m], b0.y, b1.y);
    }
}

/* One neighbour's part of 8 output channels, for all taps that read it. */
template <bool FULL, int STRIDE, int NEIGHBOUR>
static __device__ __forceinline__ void
multiply_neighbour(const struct product &p, int cols, const float *picture, const float *weights,
                   const int (&corner)[2][2], int k, float (&acc)[STRIDE * STRIDE][2][2][4])
{
    const int window = window_of_cell<STRIDE>();
    int t = threadIdx.x % 4;
    const float *at = picture + (NEIGHBOUR / window * cols + NEIGHBOUR % window) * p.pitch + k * 8;
    float rows[2][4];
    for (int m = 0; !FULL && m < 2; m++)
        load_rows(rows[m], at + corner[m][0] + 2 * t, at + corner[m][1] + 2 * t);
#pragma unroll
    for (int tap = 0; tap < 9; tap++) {
        int from = neighbour_of_tap<STRIDE>(tap / 3) * window + neighbour_of_tap<STRIDE>(tap % 3);
        int to = pixel_of_tap<STRIDE>(tap / 3) * STRIDE + pixel_of_tap<STRIDE>(tap % 3);
        const float *w = weights + (tap * p.chunk + k * 8) * DX_PITCH;
        if (from == NEIGHBOUR && FULL)
            multiply_cells(acc[to], at, corner, w);
        else if (from == NEIGHBOUR)
            multiply_cells(acc[to], rows, w);
    }
}

template <bool FULL, int STRIDE>
static __device__ __forceinline__ void multiply_dx(const struct conv_args &a, const float *picture,
                                                   const float *weights, const int (&corner)[2][2],
                                                   float (&acc)[STRIDE * STRIDE][2][2][4])
{
    const struct product &p = a.plan.dx;
    int cols = a.plan.dz.cols;
    for (int k = threadIdx.x / 32 / p.mgroups; k < p.chunk / 8; k += p.kgroups) {
#define NEIGHBOUR(i) multiply_neighbour<FULL, STRIDE, i>(p, cols, picture, weights, corner, k, acc)
        NEIGHBOUR(0), NEIGHBOUR(1), NEIGHBOUR(2), NEIGHBOUR(3);
        if (STRIDE == 1)
            NEIGHBOUR(4), NEIGHBOUR(5), NEIGHBOUR(6), NEIGHBOUR(7), NEIGHBOUR(8);
#undef NEIGHBOUR
    }
}

/* The warp's 32 cells to memory. */
template <int STRIDE>
static __device__ void keep_dx(const struct conv_args &a, const struct dx_unit &u, int first,
                               const float (&acc)[STRIDE * STRIDE][2][2][4])
{
    int g = threadIdx.x % 32 / 4, c = u.c0 + threadIdx.x % 4 * 4;
    float *dx = a.dx + (size_t)u.task * a.n * a.l.in_h * a.l.in_w * a.in_c + c;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        int cell = first + i * 8 + g, row = divide(cell, a.plan.by_w);
        int image = divide(row, a.plan.by_h), y0 = (row - image * a.l.conv_h) * STRIDE;
        int x0 = (cell - row * a.l.conv_w) * STRIDE;
        if (cell >= u.last || c >= a.in_c)
            continue;
#pragma unroll
        for (int p = 0; p < STRIDE * STRIDE; p++) {
            int y = y0 + p / STRIDE, x = x0 + p % STRIDE, m = i / 2, h = i % 2 * 2;
            float v[4] = {acc[p][m][0][h], acc[p][m][1][h], acc[p][m][0][h + 1],
                          acc[p][m][1][h + 1]};
            if (y < a.l.in_h && x < a.l.in_w)
                store4(dx + ((size_t)(image * a.l.in_h + y) * a.l.in_w + x) * a.in_c, v);
        }
    }
}

template <bool FULL, int STRIDE, bool TANGENT>
static __device__ void compute_dx(const struct conv_args &a, const struct dx_unit &u, float *stages)
{
    const struct product &p = a.plan.dx;
    int chunks = (a.out_c + p.chunk - 1) / p.chunk, each = chunks * (TANGENT ? 2 : 1);
    int items = (u.last - u.first + p.block - 1) / p.block * each, x;
    int warp = threadIdx.x / 32, group = warp % p.mgroups, g = threadIdx.x % 32 / 4, corner[2][2];
    float acc[STRIDE * STRIDE][2][2][4];
    if (items > 0)
        stage_dx<STRIDE, TANGENT>(a, u, 0, chunks, stages);
    copies_end();
    for (int item = 0; item < items; item++) {
        int cell0 = u.first + item / each * p.block;
        if (item + 1 < items)
            stage_dx<STRIDE, TANGENT>(a, u, item + 1, chunks, stages);
        copies_end();
        if (item % each == 0) {
            int top = dz_row(a, cell0, &x);
            for (int i = 0; i < 4; i++) {
                int row = dz_row(a, min(cell0 + group * 32 + i * 8 + g, u.last - 1), &x) - top;
                corner[i / 2][i % 2] = (row * a.plan.dz.cols + x) * p.pitch;
            }
            memset(acc, 0, sizeof acc);
        }
        float *stage = stages + item % p.stages * p.stage_floats;
        copies_wait<1>();
        if (!FULL)
            stage_dx_weights<true>(a, NULL, u.c0, 0, stage + p.picture_floats);
        __syncthreads();
        multiply_dx<FULL, STRIDE>(a, stage, stage + p.picture_floats, corner, acc);
        if (item % each == each - 1) {
            if (p.kgroups > 1)
                join_groups<STRIDE * STRIDE * 16>(&acc[0][0][0][0], warp / p.mgroups, p.kgroups,
                                                  group, p.mgroups,
                                                  stages + p.stages * p.stage_floats);
            if (warp < p.mgroups)
                keep_dx<STRIDE>(a, u, cell0 + group * 32, acc);
        }
        __syncthreads();
    }
}

#endif
