/* cuda_dw.cuh - dW = x * dz summed over pixels, and the tangent RdW = x * Rdz + rx * dz.
 *
 * Rows are output channels, columns (tap, input channel).  A warp computes 32 rows x
 * 48 columns, as 2 x 6 tiles.  Row g (and g + 8) of tile i is channel 16 i + 2 g (+ 1): a
 * thread reads 2 neighbouring channels of dz at once.
 */
#ifndef CUDA_DW_CUH
#define CUDA_DW_CUH

#include "cuda_tile.cuh"

enum {
    TILES = 6,
    DW_FLOATS = 2 * TILES * 4, /* accumulators of a thread */
    DW_FOURS = 2 * TILES       /* of columns in a row, and of a warp's sums to a lane */
};

/* A block's unit: input channels c0.. (width), output channels o0.. (columns), and of
 * the pixels first..last-1; the parts of the pixels are a cluster. */
struct dw_unit {
    int task, n, c0, o0, part, first, last;
};

/* Block by block of pixels, source by source (part). */
static __device__ __forceinline__ void advance_dw(struct cursor &c, const struct product &p,
                                                  const struct dw_unit &u)
{
    c.m += p.block;
    if (c.m >= u.last) {
        c.m = u.first;
        c.part++;
    }
    if (++c.slot == p.stages)
        c.slot = 0;
}

/* A stage holds x, then dz (block, columns), then where each pixel's corner lies in x. */
template <bool TANGENT>
static __device__ __forceinline__ void stage_item_x(const struct conv_args &a,
                                                    const struct dw_unit &u,
                                                    const struct cursor &item, float *stages)
{
    const struct product &p = a.plan.dw;
    int m0 = item.m, end = min(m0 + p.block, u.last), x;
    int top = window_row(a, m0, &x), rows = window_row(a, end - 1, &x) + 3 - top;
    const float *from = TANGENT && item.part ? a.rx : a.x;
    float *to = stages + item.slot * p.stage_floats;
    from += (size_t)u.task * a.n * a.l.in_h * a.l.in_w * a.in_c;
    stage_picture<WARPS>(a.plan.in, from, u.n, top, rows, u.c0, p.chunk, 0, p.pitch, to);
    int *corner = (int *)(to + p.picture_floats + p.block * p.weights);
    for (int i = threadIdx.x; i < p.block; i += THREADS) {
        int row = window_row(a, min(m0 + i, end - 1), &x) - top;
        corner[i] = (row * a.plan.in.cols + x) * p.pitch;
    }
}

template <bool TANGENT>
static __device__ __forceinline__ void stage_item_dz(const struct conv_args &a,
                                                     const struct dw_unit &u,
                                                     const struct cursor &item, float *stages)
{
    const struct product &p = a.plan.dw;
    int m0 = item.m, end = min(m0 + p.block, u.last), shift = log2_of(a.plan.columns) - 2;
    int quad = (threadIdx.x & ((1 << shift) - 1)) * 4, each = THREADS >> shift;
    int i0 = threadIdx.x >> shift;
    bool column = u.o0 + quad < a.out_c;
    const float *dz = TANGENT && !item.part ? a.tangent.dz : a.cache.dz;
    float *to = stages + item.slot * p.stage_floats + p.picture_floats;
    dz += (size_t)u.task * a.n * a.l.conv_h * a.l.conv_w * a.out_c;
    dz += (m0 + i0) * a.out_c + u.o0 + quad;
#pragma unroll 8
    for (int i = 0; i < p.block; i += each)
        if (i0 + i < p.block)
            copy16(to + (i0 + i) * p.weights + quad, dz + i * a.out_c, column && m0 + i0 + i < end);
}

/* Where column n = (tap, channel) of the unit reads, from a pixel's corner. */
static __device__ __forceinline__ int column_at(const struct conv_args &a, int n)
{
    int shift = log2_of(a.plan.width), tap = n >> shift;
    return tap < 9
               ? (tap / 3 * a.plan.in.cols + tap % 3) * a.plan.dw.pitch + (n & (a.plan.width - 1))
               : 0;
}

/* One step of 8 pixels on tensor cores; what mma() takes is loaded side by side. */
static __device__ __forceinline__ void multiply_pixels(const float *near, const float *far,
                                                       const float *dz, int pitch,
                                                       const int (&column)[TILES],
                                                       float (&acc)[2][TILES][4])
{
    float rows[2][4];
#pragma unroll
    for (int m = 0; m < 2; m++) {
        float2 low = pair_at(dz + 16 * m), high = pair_at(dz + 16 * m + 4 * pitch);
        rows[m][0] = low.x;
        rows[m][1] = low.y;
        rows[m][2] = high.x;
        rows[m][3] = high.y;
    }
#pragma unroll
    for (int n = 0; n < TILES; n++) {
        float b0 = near[column[n]], b1 = far[column[n]];
        for (int m = 0; m < 2; m++)
            mma(acc[m][n], rows[m], b0, b1);
    }
}

/* One pixel in fp32: 4 channels of dz, 2 columns of each tile. */
static __device__ __forceinline__ void multiply_pixel(const float *at, const float *dz,
                                                      const int (&column)[TILES],
                                                      float (&acc)[2][TILES][4])
{
#pragma unroll
    for (int n = 0; n < TILES; n++) {
        float2 x = pair_at(at + column[n]);
#pragma unroll
        for (int m = 0; m < 2; m++) {
            float2 d = pair_at(dz + 16 * m);
            acc[m][n][0] = fmaf(d.x, x.x, acc[m][n][0]);
            acc[m][n][1] = fmaf(d.x, x.y, acc[m][n][1]);
            acc[m][n][2] = fmaf(d.y, x.x, acc[m][n][2]);
            acc[m][n][3] = fmaf(d.y, x.y, acc[m][n][3]);
        }
    }
}

template <bool FULL>
static __device__ __forceinline__ void
multiply_dw(const struct conv_args &a, const float *stage, int pixels, int kgroup, int row,
            const int (&column)[TILES], float (&acc)[2][TILES][4])
{
    const struct product &p = a.plan.dw;
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    const float *dz = stage + p.picture_floats + row + 2 * g;
    const int *corner = (const int *)(stage + p.picture_floats + p.block * p.weights);
#pragma unroll 2
    for (int k = kgroup * 8; k < pixels; k += p.kgroups * 8) {
        if (FULL)
            for (int i = k; i < k + 8; i++)
                multiply_pixel(stage + corner[i], dz + i * p.weights, column, acc);
        else
            multiply_pixels(stage + corner[k + t], stage + corner[k + t + 4],
                            dz + (k + t) * p.weights, p.weights, column, acc);
    }
}

/* A warp's sums, (32, DW_PITCH) in shared memory, go to memory in 3 turns of 16 columns: of
 * each a lane has four fours, 8 rows apart. */
struct dw_turn {
    size_t at[4];
    bool real[4];
};

static __device__ __forceinline__ struct dw_turn
turn_of(const struct conv_args &a, const struct dw_unit &u, int column, int row, int right)
{
    int lane = threadIdx.x % 32, o = u.o0 + row + lane / 4, n = column + right + lane % 4 * 4;
    struct dw_turn t;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        t.at[i] = a.l.offset[TENSOR_WEIGHT] + (size_t)((o + 8 * i) * a.in_c + u.c0) * 9 + n;
        t.real[i] = o + 8 * i < a.out_rows && n < 9 * a.plan.width;
    }
    return t;
}

/* What a step of the first turn reads. */
static __device__ __forceinline__ void begin_alone(const struct conv_args &a,
                                                   const struct dw_unit &u, int column, int row,
                                                   struct olds<4, 4> &old)
{
    const struct dw_turn t = turn_of(a, u, column, row, 0);
    sink_begin<4, 4>(a.sink, u.task, t.at, t.real, old);
}

/* A loop, since it runs once: a kernel of microseconds waits longer for new instructions than
 * for those it repeats.  Each turn begins to read for the next. */
static __device__ __forceinline__ void keep_alone(const struct conv_args &a,
                                                  const struct dw_unit &u, int column, int row,
                                                  const float *shared, struct olds<4, 4> &old)
{
    const float *from = shared + threadIdx.x % 32 / 4 * DW_PITCH + threadIdx.x % 4 * 4;
#pragma unroll 1
    for (int right = 0; right < 8 * TILES; right += 16) {
        const struct dw_turn t = turn_of(a, u, column, row, right);
        struct olds<4, 4> mine = old;
        float v[4][4];
        if (right + 16 < 8 * TILES) {
            const struct dw_turn next = turn_of(a, u, column, row, right + 16);
            sink_begin<4, 4>(a.sink, u.task, next.at, next.real, old);
        }
#pragma unroll
        for (int i = 0; i < 4; i++)
            *(float4 *)v[i] = *(const float4 *)(from + right + 8 * i * DW_PITCH);
        sink_end<4, 4>(a.sink, u.task, t.at, t.real, v, mine);
    }
}

/* The same where blocks share the pixels: each has a share of the rounds, for which it adds
 * up the cluster's sums, in order. */
static __device__ __forceinline__ void keep_share(const struct conv_args &a,
                                                  const struct dw_unit &u, int column, int row,
                                                  const float *shared)
{
    cooperative_groups::cluster_group cluster = cooperative_groups::this_cluster();
    int lane = threadIdx.x % 32, splits = a.plan.dw.splits;
#pragma unroll 1
    for (int round = u.part; round < DW_FOURS; round += splits) {
        int down = round / 3 * 8 + lane / 4, right = round % 3 * 16 + lane % 4 * 4;
        int o = u.o0 + row + down, n = column + right;
        const size_t at[1] = {a.l.offset[TENSOR_WEIGHT] + (size_t)(o * a.in_c + u.c0) * 9 + n};
        const bool real[1] = {o < a.out_rows && n < 9 * a.plan.width};
        float v[1][4] = {};
#pragma unroll 2
        for (int s = 0; s < splits; s++) {
            float4 more =
                *(const float4 *)cluster.map_shared_rank(shared + down * DW_PITCH + right, s);
            v[0][0] += more.x;
            v[0][1] += more.y;
            v[0][2] += more.z;
            v[0][3] += more.w;
        }
        sink_all<1, 4>(a.sink, u.task, at, real, v);
    }
}

/* A warp's sums to memory, by way of shared memory. */
static __device__ __forceinline__ void keep_dw(const struct conv_args &a, const struct dw_unit &u,
                                               int column, int row, bool mine,
                                               const float (&acc)[2][TILES][4], float *shared,
                                               struct olds<4, 4> &old)
{
    int lane = threadIdx.x % 32;
    float *at = shared + lane / 4 * 2 * DW_PITCH + lane % 4 * 2;
#pragma unroll
    for (int i = 0; mine && i < 4 * TILES; i++) {
        int n = i / 4, m = i / 2 % 2, h = i % 2;
        *(float2 *)(at + (16 * m + h) * DW_PITCH + 8 * n) =
            make_float2(acc[m][n][2 * h], acc[m][n][2 * h + 1]);
    }
    if (a.plan.dw.splits == 1) {
        __syncwarp();
        if (mine)
            keep_alone(a, u, column, row, shared, old);
        return;
    }
    cooperative_groups::this_cluster().sync();
    if (mine)
        keep_share(a, u, column, row, shared);
    cooperative_groups::this_cluster().sync();
}

template <bool FULL, bool TANGENT>
static __device__ __forceinline__ void compute_dw(const struct conv_args &a,
                                                  const struct dw_unit &u, float *stages)
{
    const struct product &p = a.plan.dw;
    int sources = u.first < u.last ? (TANGENT && a.rx ? 2 : 1) : 0, warp = threadIdx.x / 32;
    int places = p.mgroups * a.plan.ngroups, place = warp % places, kgroup = warp / places;
    int first = place / p.mgroups * 8 * TILES, row = place % p.mgroups * 32, column[TILES];
    int each = FULL ? threadIdx.x % 4 * 2 : threadIdx.x % 32 / 4;
    float acc[2][TILES][4] = {};
#pragma unroll
    for (int n = 0; n < TILES; n++) /* of 16 channels two tiles are a tap, and six a row of them */
        column[n] = n > 0 && a.plan.width == 16 ? column[0] + n / 2 * p.pitch + n % 2 * 8
                                                : column_at(a, first + 8 * n + each);
    struct cursor now = {u.first, 0, 0}, next = now;
#pragma unroll 1
    for (int i = 0; i < p.stages - 1; i++) {
        if (next.part < sources)
            stage_item_x<TANGENT>(a, u, next, stages);
        advance_dw(next, p, u);
    }
    wait_for_previous();
    next = now;
    int ahead = 1 - p.stages; /* items: now, less those of the first stages */
#pragma unroll 1
    while (now.part < sources) {
        if (next.part < sources) {
            if (ahead >= 0)
                stage_item_x<TANGENT>(a, u, next, stages);
            stage_item_dz<TANGENT>(a, u, next, stages);
        }
        copies_end();
        advance_dw(next, p, u);
        if (ahead++ < 0)
            continue;
        wait_stage(p.stages);
        __syncthreads();
        if (kgroup < p.kgroups)
            multiply_dw<FULL>(a, stages + now.slot * p.stage_floats, min(p.block, u.last - now.m),
                              kgroup, row, column, acc);
        advance_dw(now, p, u);
        __syncthreads();
    }
    struct olds<4, 4> old;
    if (kgroup == 0 && p.splits == 1)
        begin_alone(a, u, first, row, old);
    if (p.kgroups > 1) {
        join_groups<DW_FLOATS>(&acc[0][0][0], kgroup, p.kgroups, place, places, stages);
        __syncthreads();
    }
    keep_dw(a, u, first, row, kgroup == 0, acc, stages + place * 32 * DW_PITCH, old);
}

#endif
