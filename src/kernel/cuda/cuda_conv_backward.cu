/* cuda_conv_backward.cu - a conv block backward, and the tangent of that: batch norm
 * (cuda_backward_norm.cuh), then dX and dW in different blocks of the cluster.
 *
 * Tangents are sums over two pairs: RdX = Rdz * w + dz * v, RdW = x * Rdz + rx * dz.
 */
#include "cuda_backward_norm.cuh"

/* ---- dX: one cell per conv pixel; with stride 2 a cell is 2 x 2 input pixels,
 * each reached by its own taps from the cell's own dz and its right and lower
 * neighbours ---- */

template <int STRIDE> struct taps {
    enum { CELL = STRIDE * STRIDE, WINDOW = STRIDE == 1 ? 3 : 2 };
};

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

/* A unit of dX: a slice of input channels, a range of cells of a task. */
struct dx_unit {
    int task, n, slice, first, last;
};

static __device__ __forceinline__ int dz_row(const struct conv_args &a, int cell)
{
    int y = cell / a.l.conv_w;
    return y / a.l.conv_h * a.plan.dz.rows + y % a.l.conv_h;
}

/* Weights (tap, chunk of output channels, 16 input channels). */
static __device__ void stage_dx_weights(const struct conv_args &a, const float *w, int slice,
                                        int o0, float *to)
{
    int chunk = a.plan.dx.chunk;
    for (int i = threadIdx.x; i < 9 * chunk * 4; i += THREADS) {
        int row = i / 4, quad = i % 4 * 4, tap = row / chunk, o = o0 + row % chunk;
        int c = slice * SLICE + quad;
        bool inside = o < a.out_rows && c < a.in_c;
        copy16(to + row * TILE_PITCH + quad, inside ? w + ((size_t)o * 9 + tap) * a.in_c + c : w,
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
    int cell = u.first + block * p.block, end = min(cell + p.block, u.last) - 1;
    int top = dz_row(a, cell), rows = dz_row(a, end) + taps<STRIDE>::WINDOW - top;
    int o0 = item % chunks * p.chunk;
    const float *dz = TANGENT && !source ? a.tangent.dz : a.cache.dz;
    const struct vec &w = source ? a.v : a.theta;
    float *to = stages + item % p.stages * p.stage_floats;
    stage_picture(a.plan.dz, dz + (size_t)u.task * a.n * a.l.conv_h * a.l.conv_w * a.out_c, u.n,
                  top, rows, o0, p.chunk, p.pitch, to);
    stage_dx_weights(a, tensor_at(w, u.task, a.l, TENSOR_WEIGHT), u.slice, o0,
                     to + p.picture_floats);
}

/* c += 32 cells x 8 output channels (at) x 16 input channels (w), in fp32. */
static __device__ __forceinline__ void multiply_cells(float (&c)[2][2][4], const float *at,
                                                      const int (&corner)[2][2], const float *w)
{
    int t = threadIdx.x % 4;
    for (int i = 0; i < 8; i += 2)
        for (int n = 0; n < 2; n++) {
            float2 b = *(const float2 *)(w + i * TILE_PITCH + n * 8 + 2 * t);
            float2 more = *(const float2 *)(w + (i + 1) * TILE_PITCH + n * 8 + 2 * t);
            for (int m = 0; m < 2; m++)
                fma_pairs(c[m][n], *(const float2 *)(at + corner[m][0] + i),
                          *(const float2 *)(at + corner[m][1] + i), make_float2(b.x, more.x),
                          make_float2(b.y, more.y));
        }
}

/* The same on tensor cores, from rows already loaded. */
static __device__ __forceinline__ void multiply_cells(float (&c)[2][2][4],
                                                      const uint32_t (&rows)[2][4], const float *w)
{
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    for (int n = 0; n < 2; n++) {
        const float *b = w + 2 * t * TILE_PITCH + n * 8 + g;
        for (int m = 0; m < 2; m++)
            mma(c[m][n], rows[m], tf32(b[0]), tf32(b[TILE_PITCH]));
    }
}

/* One neighbour's part of 8 output channels, for all taps that read it. */
template <bool FULL, int STRIDE, int NEIGHBOUR>
static __device__ __forceinline__ void
multiply_neighbour(const struct product &p, int cols, const float *picture, const float *weights,
                   const int (&corner)[2][2], int k, float (&acc)[STRIDE * STRIDE][2][2][4])
{
    int t = threadIdx.x % 4;
    const int window = taps<STRIDE>::WINDOW;
    const float *at = picture + (NEIGHBOUR / window * cols + NEIGHBOUR % window) * p.pitch + k * 8;
    uint32_t rows[2][4];
    for (int m = 0; !FULL && m < 2; m++)
        rows_tf32(rows[m], at + corner[m][0] + 2 * t, at + corner[m][1] + 2 * t);
#pragma unroll
    for (int tap = 0; tap < 9; tap++) {
        int from = neighbour_of_tap<STRIDE>(tap / 3) * window + neighbour_of_tap<STRIDE>(tap % 3);
        int to = pixel_of_tap<STRIDE>(tap / 3) * STRIDE + pixel_of_tap<STRIDE>(tap % 3);
        const float *w = weights + (tap * p.chunk + k * 8) * TILE_PITCH;
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

/* The block's input pixels from the tile to memory, one pixel of each cell at a time. */
template <int STRIDE>
static __device__ void keep_dx(const struct conv_args &a, const struct dx_unit &u, int cell0,
                               float *tile, float (&acc)[STRIDE * STRIDE][2][2][4])
{
    const struct product &p = a.plan.dx;
    int quad = threadIdx.x % 4 * 4, c0 = u.slice * SLICE + quad;
    float *dx = a.dx + (size_t)u.task * a.n * a.l.in_h * a.l.in_w * a.in_c + c0;
#pragma unroll
    for (int i = 0; i < STRIDE * STRIDE; i++) {
        tile_put(tile, p, acc[i]);
        __syncthreads();
        for (int m = cell0 + threadIdx.x / 4; m < min(cell0 + p.block, u.last); m += THREADS / 4) {
            float4 sum = tile_get(tile, p, m - cell0, quad);
            int row = m / a.l.conv_w, image = row / a.l.conv_h;
            int y = row % a.l.conv_h * STRIDE + i / STRIDE,
                x = m % a.l.conv_w * STRIDE + i % STRIDE;
            if (y < a.l.in_h && x < a.l.in_w && c0 < a.in_c)
                *(float4 *)(dx + (((size_t)image * a.l.in_h + y) * a.l.in_w + x) * a.in_c) = sum;
        }
        __syncthreads();
    }
}

template <bool FULL, int STRIDE, bool TANGENT>
static __device__ void compute_dx(const struct conv_args &a, const struct dx_unit &u, float *stages)
{
    const struct product &p = a.plan.dx;
    int chunks = (a.out_c + p.chunk - 1) / p.chunk, each = chunks * (TANGENT ? 2 : 1);
    int items = (u.last - u.first + p.block - 1) / p.block * each;
    int group = threadIdx.x / 32 % p.mgroups, g = threadIdx.x % 32 / 4, corner[2][2];
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
            for (int i = 0; i < 4; i++) {
                int m = cell0 + group * 32 + i * 8 + g;
                int row = dz_row(a, min(m, u.last - 1)) - dz_row(a, cell0);
                corner[i / 2][i % 2] =
                    m < u.last ? (row * a.plan.dz.cols + m % a.l.conv_w) * p.pitch : 0;
            }
            memset(acc, 0, sizeof acc);
        }
        copies_wait<1>();
        __syncthreads();
        const float *stage = stages + item % p.stages * p.stage_floats;
        multiply_dx<FULL, STRIDE>(a, stage, stage + p.picture_floats, corner, acc);
        if (item % each == each - 1)
            keep_dx<STRIDE>(a, u, cell0, stages + p.stages * p.stage_floats, acc);
        __syncthreads();
    }
}

/* ---- dW: rows are (tap, input channel), columns output channels, the sum runs
 * over pixels ---- */

enum { TILES = 5 }; /* of 16 rows, in a warp */

/* A unit of dW: `width` input channels and `columns` output channels of a task. */
struct dw_unit {
    int task, n, c0, o0;
};

/* Item = (source, block of pixels), in that order. */
template <bool TANGENT>
static __device__ void stage_dw(const struct conv_args &a, const struct dw_unit &u, int item,
                                int blocks, float *stages)
{
    const struct product &p = a.plan.dw;
    int pixels = u.n * a.l.conv_h * a.l.conv_w, source = item / blocks;
    int m0 = item % blocks * p.block, end = min(m0 + p.block, pixels);
    const struct picture &in = a.plan.in;
    size_t x = (size_t)u.task * a.n * a.l.in_h * a.l.in_w * a.in_c;
    size_t z = (size_t)u.task * a.n * a.l.conv_h * a.l.conv_w * a.out_c;
    const float *dz = (TANGENT && !source ? a.tangent.dz : a.cache.dz) + z;
    float *to = stages + item % p.stages * p.stage_floats;
    int y0 = m0 / a.l.conv_w, y1 = (end - 1) / a.l.conv_w;
    int top = y0 / a.l.conv_h * in.rows + y0 % a.l.conv_h * a.l.stride;
    int bottom = y1 / a.l.conv_h * in.rows + y1 % a.l.conv_h * a.l.stride + 3;
    stage_picture(in, (source ? a.rx : a.x) + x, u.n, top, bottom - top, u.c0, p.chunk, p.pitch,
                  to);
    to += p.picture_floats;
    int quads = a.plan.columns / 4;
    for (int i = threadIdx.x; i < p.block * quads; i += THREADS) {
        int m = m0 + i / quads, o = u.o0 + i % quads * 4;
        bool inside = m < end && o < a.out_c;
        copy16(to + i / quads * p.weights + i % quads * 4,
               inside ? dz + (size_t)m * a.out_c + o : dz, inside);
    }
    int *corner = (int *)(to + p.block * p.weights);
    for (int i = threadIdx.x; i < p.block; i += THREADS) {
        int y = (m0 + i) / a.l.conv_w, x0 = (m0 + i) % a.l.conv_w * a.l.stride;
        int row = y / a.l.conv_h * in.rows + y % a.l.conv_h * a.l.stride - top;
        corner[i] = m0 + i < end ? (row * in.cols + x0) * p.pitch : 0;
    }
}

/* Where row r = (tap, channel) of the unit reads, from a pixel's corner. */
static __device__ __forceinline__ int dw_row(const struct conv_args &a, int r)
{
    int tap = r / a.plan.width;
    return tap < 9 ? (tap / 3 * a.plan.in.cols + tap % 3) * a.plan.dw.pitch + r % a.plan.width : 0;
}

template <bool FULL>
static __device__ __forceinline__ void
multiply_dw(const struct conv_args &a, const float *stage, int steps, int kgroup, int column,
            const int (&row)[TILES][2], float (&acc)[TILES][2][4])
{
    const struct product &p = a.plan.dw;
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    const float *dz = stage + p.picture_floats + column;
    const int *corner = (const int *)(stage + p.picture_floats + p.block * p.weights);
    for (int k = kgroup; k < steps; k += p.kgroups) {
        if (FULL) {
            for (int i = 0; i < 8; i++) {
                const float *at = stage + corner[k * 8 + i];
                for (int n = 0; n < 2; n++) {
                    float2 b = *(const float2 *)(dz + (k * 8 + i) * p.weights + n * 8 + 2 * t);
                    for (int m = 0; m < TILES; m++) {
                        float low = at[row[m][0]], high = at[row[m][1]];
                        acc[m][n][0] = fmaf(low, b.x, acc[m][n][0]);
                        acc[m][n][1] = fmaf(low, b.y, acc[m][n][1]);
                        acc[m][n][2] = fmaf(high, b.x, acc[m][n][2]);
                        acc[m][n][3] = fmaf(high, b.y, acc[m][n][3]);
                    }
                }
            }
            continue;
        }
        const float *near = stage + corner[k * 8 + t], *far = stage + corner[k * 8 + t + 4];
        uint32_t b[2][2];
        for (int n = 0; n < 2; n++)
            for (int h = 0; h < 2; h++)
                b[n][h] = tf32(dz[(k * 8 + t + 4 * h) * p.weights + n * 8 + g]);
#pragma unroll
        for (int m = 0; m < TILES; m++) {
            uint32_t rows[4] = {tf32(near[row[m][0]]), tf32(near[row[m][1]]), tf32(far[row[m][0]]),
                                tf32(far[row[m][1]])};
            for (int n = 0; n < 2; n++)
                mma(acc[m][n], rows, b[n][0], b[n][1]);
        }
    }
}

/* Adds the kgroups' sums to the first's, in order, through shared memory. */
static __device__ void join_groups(const struct conv_args &a, int kgroup, int place, float *shared,
                                   float (&acc)[TILES][2][4])
{
    int places = a.plan.dw.mgroups * a.plan.ngroups, lane = threadIdx.x % 32;
    float *mine = shared + ((kgroup - 1) * places + place) * (TILES * 8 * 32) + lane;
    if (kgroup > 0)
#pragma unroll
        for (int i = 0; i < TILES * 8; i++)
            mine[i * 32] = acc[i / 8][i / 4 % 2][i % 4];
    __syncthreads();
    for (int other = 1; kgroup == 0 && other < a.plan.dw.kgroups; other++) {
        const float *more = shared + ((other - 1) * places + place) * (TILES * 8 * 32) + lane;
#pragma unroll
        for (int i = 0; i < TILES * 8; i++)
            acc[i / 8][i / 4 % 2][i % 4] += more[i * 32];
    }
    __syncthreads();
}

static __device__ void keep_dw(const struct conv_args &a, const struct dw_unit &u, int tile,
                               int column, const float (&acc)[TILES][2][4])
{
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, width = a.plan.width;
    float *dw = (float *)a.grad.at + (size_t)u.task * a.grad.stride + a.l.offset[TENSOR_WEIGHT];
#pragma unroll
    for (int i = 0; i < TILES * 8; i++) {
        int r = (tile + i / 8) * 16 + (i % 4 / 2) * 8 + g, tap = r / width, c = u.c0 + r % width;
        int local = column + i / 4 % 2 * 8 + 2 * t + i % 2, o = u.o0 + local;
        if (tap < 9 && local < a.plan.columns && o < a.out_rows)
            dw[((size_t)o * 9 + tap) * a.in_c + c] = acc[i / 8][i / 4 % 2][i % 4];
    }
}

template <bool FULL, bool TANGENT>
static __device__ void compute_dw(const struct conv_args &a, const struct dw_unit &u, float *stages)
{
    const struct product &p = a.plan.dw;
    int pixels = u.n * a.l.conv_h * a.l.conv_w, blocks = (pixels + p.block - 1) / p.block;
    int items = blocks * (TANGENT && a.rx ? 2 : 1);
    int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, places = p.mgroups * a.plan.ngroups;
    int place = warp % places, kgroup = warp / places;
    int tile = place % p.mgroups * TILES, column = place / p.mgroups * 16, row[TILES][2];
    float acc[TILES][2][4] = {};
    for (int m = 0; m < TILES; m++)
        for (int h = 0; h < 2; h++)
            row[m][h] = dw_row(a, (tile + m) * 16 + h * 8 + g);
    if (items > 0)
        stage_dw<TANGENT>(a, u, 0, blocks, stages);
    copies_end();
    for (int item = 0; item < items; item++) {
        if (item + 1 < items)
            stage_dw<TANGENT>(a, u, item + 1, blocks, stages);
        copies_end();
        copies_wait<1>();
        __syncthreads();
        int left = min(p.block, pixels - item % blocks * p.block);
        multiply_dw<FULL>(a, stages + item % p.stages * p.stage_floats, (left + 7) / 8, kgroup,
                          column, row, acc);
        __syncthreads();
    }
    if (p.kgroups > 1)
        join_groups(a, kgroup, place, stages, acc);
    if (kgroup == 0)
        keep_dw(a, u, tile, column, acc);
}

/* ---- the kernel ---- */

/* Unit i of dX or dW for this task, and where it lies. */
template <bool FULL, int STRIDE, bool TANGENT>
static __device__ void dx_unit_at(const struct conv_args &a, int task, int n, int i, float *stages)
{
    int cells = n * a.l.conv_h * a.l.conv_w, splits = a.plan.dx_splits;
    int each = (cells + splits - 1) / splits, first = min(i % splits * each, cells);
    struct dx_unit u = {task, n, i / splits, first, min(first + each, cells)};
    compute_dx<FULL, STRIDE, TANGENT>(a, u, stages);
}

template <bool FULL, bool TANGENT>
static __device__ void dw_unit_at(const struct conv_args &a, int task, int n, int i, float *stages)
{
    int columns = a.plan.columns, across = (a.out_rows + columns - 1) / columns;
    struct dw_unit u = {task, n, i / across * a.plan.width, i % across * columns};
    compute_dw<FULL, TANGENT>(a, u, stages);
}

template <bool FULL, int STRIDE, int W, bool TANGENT>
static __global__ void __launch_bounds__(THREADS, 2)
    backward_kernel(const __grid_constant__ struct conv_args a)
{
    extern __shared__ __align__(128) float dynamic[];
    __shared__ struct sums sums;
    __shared__ struct slice ch;
    const struct conv_plan &plan = a.plan;
    int task = blockIdx.x / plan.ranks, rank = blockIdx.x % plan.ranks;
    wait_for_previous();
    int n = a.count ? a.count[task] : a.n, outputs = n * a.l.out_h * a.l.out_w;
    int each = (outputs + plan.splits - 1) / plan.splits, first = rank % plan.splits * each;
    struct part s = {task, n, min(a.stat, n), 0, first, min(first + each, outputs)};
    for (int round = 0; round < plan.rounds; round++) {
        s.slice = rank / plan.splits + round * (plan.ranks / plan.splits);
        normalise_backward<W, TANGENT>(a, s, rank, &sums, &ch);
        blocks_meet(plan.ranks);
    }
    int half = a.dx && plan.ranks > 1 ? plan.ranks / 2 : 0; /* ranks of dX, if not all */
    int dx_units = a.dx ? (a.in_c + SLICE - 1) / SLICE * plan.dx_splits : 0;
    int dw_units = a.in_c / plan.width * ((a.out_rows + plan.columns - 1) / plan.columns);
    if (!half || rank < half)
        for (int i = rank; i < dx_units; i += half ? half : plan.ranks)
            dx_unit_at<FULL, STRIDE, TANGENT>(a, task, n, i, dynamic);
    if (!half || rank >= half)
        for (int i = rank - half; i < dw_units; i += plan.ranks - half)
            dw_unit_at<FULL, TANGENT>(a, task, n, i, dynamic);
}

extern "C" void cuda_conv_backward(struct device *d, const struct layer_call *c)
{
#define PAIR(full, stride, window)                                                                 \
    {(const void *)backward_kernel<full, stride, window, false>,                                   \
     (const void *)backward_kernel<full, stride, window, true>}
#define ROW(full, stride) {PAIR(full, stride, 1), PAIR(full, stride, 4)}
    static const void *const kernels[2][2][2][2] = {{ROW(false, 1), ROW(false, 2)},
                                                    {ROW(true, 1), ROW(true, 2)}};
#undef ROW
#undef PAIR
    struct conv_args a = {};
    cuda_conv_args(d, c, &a);
    size_t dx = c->dx ? a.plan.dx.bytes : 0, dw = a.plan.dw.bytes;
    struct grid g = {.x = (unsigned)(a.tasks * a.plan.ranks),
                     .threads = THREADS,
                     .cluster = (unsigned)a.plan.ranks,
                     .shared = dx > dw ? dx : dw};
    cuda_launch(d, kernels[d->full_fp32][a.l.stride - 1][a.l.pool][c->v.at != NULL], g, &a, "backward");
}
