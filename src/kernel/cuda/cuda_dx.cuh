/* cuda_dx.cuh - dX = dz * w transposed, and the tangent RdX = Rdz * w + dz * v.
 *
 * One cell per conv pixel.  With stride 2 a cell is 2 x 2 input pixels, each reached
 * by its own taps from the cell's own dz and its right and lower neighbours; with
 * stride 1 it is one pixel, reached from all nine around it.
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

/* Where input channel c of the unit lies in a row of staged weights, for the first tap; the
 * next is plan.width on. */
static __device__ __forceinline__ int dx_column(const struct conv_args &a, int c)
{
    int shift = log2_of(a.plan.width);
    return (c >> shift << shift) * 9 + (c & (a.plan.width - 1));
}

/* Weights (chunk of output channels, 16 input channels as they lie in memory).  Parts are
 * chunks of the first source, then of the second. */
template <bool TANGENT>
static __device__ __forceinline__ void
stage_item_weights(const struct conv_args &a, const struct dx_unit &u, const struct cursor &item,
                   int chunks, float *stages)
{
    const struct product &p = a.plan.dx;
    bool second = TANGENT && item.part >= chunks;
    int o = (item.part - (second ? chunks : 0)) * p.chunk, apart = 9 * a.in_c;
    const float *w = tensor_at(a.theta, u.task, a.l, TENSOR_WEIGHT);
    if (second) /* a choice between vectors would be made in local memory */
        w = task_at(a.v, u.task, a.l.offset[TENSOR_WEIGHT]);
    stage_rows<WARPS>(
        p.chunk, 9 * min((int)SLICE, a.in_c - u.c0), 9 * SLICE / 4, w + o * apart + u.c0 * 9,
        [apart](int row) { return row * apart; },
        stages + item.slot * p.stage_floats + p.picture_floats, DX_PITCH);
}

template <int STRIDE, bool TANGENT>
static __device__ __forceinline__ void
stage_item_dz(const struct conv_args &a, const struct dx_unit &u, const struct cursor &item,
              int chunks, float *stages)
{
    const struct product &p = a.plan.dx;
    bool second = TANGENT && item.part >= chunks;
    int end = min(item.m + p.block, u.last) - 1, x;
    int top = dz_row(a, item.m, &x), rows = dz_row(a, end, &x) + window_of_cell<STRIDE>() - top;
    const float *dz = TANGENT && !second ? a.tangent.dz : a.cache.dz;
    dz += (size_t)u.task * a.n * a.l.conv_h * a.l.conv_w * a.out_c;
    stage_picture<WARPS>(a.plan.dz, dz, u.n, top, rows,
                         (item.part - (second ? chunks : 0)) * p.chunk, p.chunk, 0, p.pitch,
                         stages + item.slot * p.stage_floats);
}

/* c += 32 cells x 8 output channels (at) x 16 input channels (w), in fp32. */
static __device__ __forceinline__ void multiply_cells(float (&c)[2][2][4], const float *at,
                                                      const int (&corner)[4], const float *w,
                                                      const int (&column_at)[2])
{
    for (int i = 0; i < 8; i += 2)
        for (int j = 0; j < 2; j++) {
            const float *column = w + i * DX_PITCH + column_at[j];
            float2 b = pair_at(column), more = pair_at(column + DX_PITCH);
            for (int m = 0; m < 2; m++)
                fma_pairs(c[m][j], pair_at(at + corner[2 * m] + i),
                          pair_at(at + corner[2 * m + 1] + i), make_float2(b.x, more.x),
                          make_float2(b.y, more.y));
        }
}

/* The same on tensor cores, from rows already loaded and weights not yet rounded. */
static __device__ __forceinline__ void multiply_cells(float (&c)[2][2][4],
                                                      const float (&rows)[2][4], const float *w,
                                                      const int (&column)[2])
{
    const float *at = w + threadIdx.x % 4 * DX_PITCH;
#pragma unroll
    for (int j = 0; j < 2; j++) {
        float b0 = nudge(at[column[j]]), b1 = nudge(at[column[j] + 4 * DX_PITCH]);
#pragma unroll
        for (int m = 0; m < 2; m++)
            mma(c[m][j], rows[m], b0, b1);
    }
}

/* One neighbour's part of 8 output channels, for all taps that read it. */
template <bool FULL, int STRIDE, int NEIGHBOUR>
static __device__ __forceinline__ void
multiply_neighbour(const struct conv_args &a, const float *picture, const float *weights,
                   const int (&corner)[4], const int (&column)[2], int k,
                   float (&acc)[STRIDE * STRIDE][2][2][4])
{
    const struct product &p = a.plan.dx;
    const int window = window_of_cell<STRIDE>(), cols = a.plan.dz.cols;
    const float *at = picture + (NEIGHBOUR / window * cols + NEIGHBOUR % window) * p.pitch + k * 8;
    float rows[2][4];
    for (int m = 0; !FULL && m < 2; m++)
        load_matrices(rows[m], shared_address(at + corner[m]));
#pragma unroll
    for (int tap = 0; tap < 9; tap++) {
        int from = neighbour_of_tap<STRIDE>(tap / 3) * window + neighbour_of_tap<STRIDE>(tap % 3);
        int to = pixel_of_tap<STRIDE>(tap / 3) * STRIDE + pixel_of_tap<STRIDE>(tap % 3);
        const float *w = weights + k * 8 * DX_PITCH + tap * a.plan.width;
        if (from == NEIGHBOUR && FULL)
            multiply_cells(acc[to], at, corner, w, column);
        else if (from == NEIGHBOUR)
            multiply_cells(acc[to], rows, w, column);
    }
}

template <bool FULL, int STRIDE>
static __device__ __forceinline__ void multiply_dx(const struct conv_args &a, const float *picture,
                                                   const float *weights, const int (&corner)[4],
                                                   float (&acc)[STRIDE * STRIDE][2][2][4])
{
    const struct product &p = a.plan.dx;
    int first = FULL ? threadIdx.x % 4 * 2 : threadIdx.x % 32 / 4;
    const int column[2] = {dx_column(a, first), dx_column(a, 8 + first)};
    for (int k = threadIdx.x / 32 >> log2_of(p.mgroups); k < p.chunk / 8; k += p.kgroups) {
#define NEIGHBOUR(i)                                                                               \
    multiply_neighbour<FULL, STRIDE, i>(a, picture, weights, corner, column, k, acc)
        NEIGHBOUR(0), NEIGHBOUR(1), NEIGHBOUR(2), NEIGHBOUR(3);
        if (STRIDE == 1)
            NEIGHBOUR(4), NEIGHBOUR(5), NEIGHBOUR(6), NEIGHBOUR(7), NEIGHBOUR(8);
#undef NEIGHBOUR
    }
}

/* The warp's 32 cells to memory. */
template <int STRIDE>
static __device__ __forceinline__ void keep_dx(const struct conv_args &a, const struct dx_unit &u,
                                               int first,
                                               const float (&acc)[STRIDE * STRIDE][2][2][4])
{
    int g = threadIdx.x % 32 / 4, c = u.c0 + threadIdx.x % 4 * 2;
    float *dx = a.dx + (size_t)u.task * a.n * a.l.in_h * a.l.in_w * a.in_c + c;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        int cell = first + i * 8 + g, row = divide(cell, a.plan.by_w);
        int image = divide(row, a.plan.by_h), y0 = (row - image * a.l.conv_h) * STRIDE;
        int x0 = (cell - row * a.l.conv_w) * STRIDE;
        if (cell >= u.last)
            continue;
#pragma unroll
        for (int p = 0; p < STRIDE * STRIDE; p++) {
            int y = y0 + p / STRIDE, x = x0 + p % STRIDE, m = i / 2, h = i % 2 * 2;
            float *to = dx + ((size_t)(image * a.l.in_h + y) * a.l.in_w + x) * a.in_c;
#pragma unroll
            for (int j = 0; j < 2; j++)
                if (y < a.l.in_h && x < a.l.in_w && c + 8 * j < a.in_c)
                    __stcg((float2 *)(to + 8 * j),
                           make_float2(acc[p][m][j][h], acc[p][m][j][h + 1]));
        }
    }
}

/* Where the cells of a block lie in the staged dz: in fp32 the thread's four, else the two
 * whose rows the lane reads for the warp, and its half of 8 channels. */
template <bool FULL>
static __device__ __forceinline__ void find_corners(const struct conv_args &a,
                                                    const struct dx_unit &u, int cell0, int group,
                                                    int (&corner)[4])
{
    int x, top = dz_row(a, cell0, &x), lane = threadIdx.x % 32;
    int mine = FULL ? lane / 4 : lane % 16, each = FULL ? 8 : 16, half = FULL ? 0 : lane / 16 * 4;
#pragma unroll
    for (int i = 0; i < 32 / each; i++) {
        int row = dz_row(a, min(cell0 + group * 32 + i * each + mine, u.last - 1), &x) - top;
        corner[i] = (row * a.plan.dz.cols + x) * a.plan.dx.pitch + half;
    }
}

template <bool FULL, int STRIDE, bool TANGENT>
static __device__ __forceinline__ void compute_dx(const struct conv_args &a,
                                                  const struct dx_unit &u, float *stages)
{
    const struct product &p = a.plan.dx;
    int chunks = (a.out_c + p.chunk - 1) >> log2_of(p.chunk), each = chunks * (TANGENT ? 2 : 1);
    int warp = threadIdx.x / 32, group = warp & (p.mgroups - 1), corner[4] = {}, cell0 = u.first;
    float acc[STRIDE * STRIDE][2][2][4];
    struct cursor now = {u.first, 0, 0}, next = now;
#pragma unroll 1
    for (int i = 0; i < p.stages - 1; i++) {
        if (next.m < u.last)
            stage_item_weights<TANGENT>(a, u, next, chunks, stages);
        advance(next, p, each);
    }
    wait_for_previous();
    next = now;
    int ahead = 1 - p.stages; /* items: now, less those of the first stages */
#pragma unroll 1
    while (now.m < u.last) {
        if (next.m < u.last) {
            if (ahead >= 0)
                stage_item_weights<TANGENT>(a, u, next, chunks, stages);
            stage_item_dz<STRIDE, TANGENT>(a, u, next, chunks, stages);
        }
        copies_end();
        advance(next, p, each);
        if (ahead++ < 0)
            continue;
        if (now.part == 0) {
            cell0 = now.m;
            find_corners<FULL>(a, u, cell0, group, corner);
            memset(acc, 0, sizeof acc);
        }
        float *stage = stages + now.slot * p.stage_floats;
        wait_stage(p.stages);
        __syncthreads();
        multiply_dx<FULL, STRIDE>(a, stage, stage + p.picture_floats, corner, acc);
        advance(now, p, each);
        if (now.part == 0) {
            if (p.kgroups > 1)
                join_groups<STRIDE * STRIDE * 16>(&acc[0][0][0][0], warp >> log2_of(p.mgroups),
                                                  p.kgroups, group, p.mgroups, stages + p.join);
            if (warp < p.mgroups)
                keep_dx<STRIDE>(a, u, cell0 + group * 32, acc);
        }
        if (now.m < u.last)
            __syncthreads();
    }
}

#endif
