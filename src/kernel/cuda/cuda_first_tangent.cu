/* cuda_first_tangent.cu - the tangent of a net's first layer backward, where its shape is
 * known: batch norm and dW in one launch.
 *
 * Nobody else wants the first layer's Rdz, so it never leaves the block: a batch of pixels at
 * a time goes to shared memory beside the picture under them, and is multiplied.  Rows of the
 * product are the slice's 16 output channels (row g, g + 8: channel 2 g, 2 g + 1), columns
 * (tap, 4 input channels), the terms of its sums pixels.
 */
#include "cuda_first.cuh"

enum {
    FIRST_TILES = 5, /* of 8 columns: 9 taps of FEW channels, padded */
    FIRST_COLUMNS = 8 * FIRST_TILES,
    FIRST_FOURS = FIRST_COLUMNS / 4,
    FIRST_DZ = 24, /* floats between pixels of dz: SLICE of them, one pixel per t */
};

/* A block's shared memory. */
struct first {
    float *x, *dz;
    int *corner; /* where each pixel's window begins in x */
};

static __host__ __device__ __forceinline__ size_t first_floats(const struct conv_args &a)
{
    return (size_t)a.plan.first_rows * a.plan.in.cols * FEW + FIRST_PIXELS * (FIRST_DZ + 1);
}

/* Begins to copy the picture under pixels first..end-1. */
static __device__ __forceinline__ void stage_first(const struct conv_args &a, const struct part &s,
                                                   int first, int end, const struct first &m)
{
    int x, top = window_row(a, first, &x);
    stage_windows<WARPS>(a, s.task, s.n, first, end, m.x);
    copies_end();
    for (int i = threadIdx.x; i < FIRST_PIXELS; i += THREADS)
        m.corner[i] = corner_of(a, top, min(first + i, end - 1));
}

/* Rdz of a batch to shared memory; where the part has no pixel, zeros. */
static __device__ __forceinline__ void put_batch(const struct few<4> &f,
                                                 const struct reading<1> (&r)[batch_of<1, true>()],
                                                 int p, int last, int counted,
                                                 const struct first &m)
{
    float *to = m.dz + threadIdx.x / 4 * FIRST_DZ + threadIdx.x % 4 * 4;
#pragma unroll
    for (int u = 0; u < batch_of<1, true>(); u++) {
        float v[1][4] = {};
        if (p + u * STEP < last)
            dz_of<false, 1, true>(f, r[u], p + u * STEP < counted, v);
        *(float4 *)(to + u * STEP * FIRST_DZ) = make_float4(v[0][0], v[0][1], v[0][2], v[0][3]);
    }
}

/* Adds a batch of pixels to the warp's sums: a warp takes every eighth step of 8 pixels. */
static __device__ __forceinline__ void multiply_batch(const struct first &m, int pixels,
                                                      const int (&column)[FIRST_TILES],
                                                      float (&acc)[FIRST_TILES][4])
{
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll 2
    for (int k = threadIdx.x / 32 * 8; k < pixels; k += WARPS * 8) {
        const float *near = m.x + m.corner[k + t], *far = m.x + m.corner[k + t + 4];
        float2 low = pair_at(m.dz + (k + t) * FIRST_DZ + 2 * g);
        float2 high = pair_at(m.dz + (k + t + 4) * FIRST_DZ + 2 * g);
        float rows[4] = {low.x, low.y, high.x, high.y};
#pragma unroll
        for (int n = 0; n < FIRST_TILES; n++)
            mma(acc[n], rows, near[column[n]], far[column[n]]);
    }
}

/* The warps' sums, then the cluster's, in order; each block of it keeps its share of rows.
 * shared: (WARPS, SLICE, FIRST_COLUMNS), and again once for all warps. */
static __device__ __forceinline__ void keep_first(const struct conv_args &a, const struct part &s,
                                                  int part, int splits,
                                                  const float (&acc)[FIRST_TILES][4], float *shared)
{
    enum { TILE = SLICE * FIRST_COLUMNS };
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, four = threadIdx.x;
    int row = four / FIRST_FOURS, tap = four % FIRST_FOURS;
    float *mine = shared + threadIdx.x / 32 * TILE + 2 * g * FIRST_COLUMNS + 2 * t;
    float *total = shared + WARPS * TILE + four * 4, sum[1][4] = {};
    const size_t at[1] = {a.l.offset[TENSOR_WEIGHT] + (size_t)((s.c0 + row) * 9 + tap) * FEW};
    const bool real[1] = {four < TILE / 4 && tap < 9 && (row & (splits - 1)) == part};
    struct olds<1, 4> old;
    sink_begin<1, 4>(a.sink, s.task, at, real, old);
#pragma unroll
    for (int i = 0; i < 2 * FIRST_TILES; i++)
        *(float2 *)(mine + i % 2 * FIRST_COLUMNS + i / 2 * 8) =
            make_float2(acc[i / 2][i % 2 * 2], acc[i / 2][i % 2 * 2 + 1]);
    __syncthreads();
    for (int w = 0; four < TILE / 4 && w < WARPS; w++)
        for (int j = 0; j < 4; j++)
            sum[0][j] += shared[w * TILE + four * 4 + j];
    if (splits > 1) {
        cooperative_groups::cluster_group cluster = cooperative_groups::this_cluster();
        if (four < TILE / 4)
            *(float4 *)total = make_float4(sum[0][0], sum[0][1], sum[0][2], sum[0][3]);
        cluster.sync();
        bool share = four < TILE / 4 && (row & (splits - 1)) == part;
        for (int j = 0; j < 4; j++)
            sum[0][j] = 0;
        for (int b = 0; share && b < splits; b++)
            for (int j = 0; j < 4; j++)
                sum[0][j] += cluster.map_shared_rank(total, b)[j];
    }
    sink_end<1, 4>(a.sink, s.task, at, real, sum, old);
    cluster_ends(splits);
}

/* Where a thread's columns lie from a pixel's corner in x. */
static __device__ __forceinline__ void find_columns(const struct conv_args &a,
                                                    int (&column)[FIRST_TILES])
{
#pragma unroll
    for (int n = 0; n < FIRST_TILES; n++) {
        int tap = 2 * n + threadIdx.x % 32 / 16, c = threadIdx.x % 16 / 4;
        column[n] = tap < 9 ? (tap / 3 * a.plan.in.cols + tap % 3) * FEW + c : 0;
    }
}

/* blockIdx = ((slice, part), task); the parts of a slice are a cluster.  The images are
 * staged before the kernel before, which does not write them, has ended. */
template <class FIX>
static __global__ void __launch_bounds__(THREADS, 2)
    first_tangent_kernel(const __grid_constant__ struct conv_args given)
{
    enum { PIXELS = FIRST_PIXELS };
    extern __shared__ __align__(128) float dynamic[];
    __shared__ norm_sums sums;
    __shared__ struct slice ch;
    struct conv_args a = given;
    FIX::in(a);
    int splits = a.plan.norm_splits, part = blockIdx.x & (splits - 1), task = blockIdx.y;
    int c0 = (int)(blockIdx.x >> log2_of(splits)) * SLICE;
    const struct part s = part_of(a, task, c0, part, splits);
    const struct planes k = planes_of<true>(a, task, c0 + threadIdx.x % 4 * 4);
    const struct first m = {dynamic + FIRST_PIXELS * FIRST_DZ, dynamic,
                            (int *)(dynamic + first_floats(a) - FIRST_PIXELS)};
    int base = s.last > s.first ? s.first + (s.last - 1 - s.first) / PIXELS * PIXELS : -1;
    int column[FIRST_TILES], counted = s.stat * a.l.out_h * a.l.out_w;
    if (base >= 0)
        stage_first(a, s, base, s.last, m);
    wait_for_previous();
    struct reading<1> r[batch_of<1, true>()];
    struct few<4> f;
    float acc[FIRST_TILES][4] = {};
    int kept = sum_slice<1, true, false>(a, s, k, splits, part == 0, f, r, &sums, &ch);
    find_columns(a, column);
#pragma unroll 1
    for (int first = base; first >= s.first; first -= PIXELS) {
        int p = first + threadIdx.x / 4;
        if (first != base) {
            stage_first(a, s, first, first + PIXELS, m);
            load_few<4, true>(f, &ch, threadIdx.x % 4 * 4);
        }
        put_batch(f, r, p, s.last, counted, m);
        if (first > s.first && p - PIXELS != kept) /* while this one is multiplied */
            read_batch<1, true>(a, k, p - PIXELS, s.last, r);
        copies_wait<0>();
        __syncthreads();
        multiply_batch(m, min((int)PIXELS, s.last - first), column, acc);
        __syncthreads();
    }
    keep_first(a, s, part, splits, acc, dynamic);
}

/* Launches it where a kernel is made for the shape. */
extern "C" bool cuda_first_tangent(struct device *d, struct conv_args *a)
{
    const void *kernel = fixed<fix_norm<0>>(a)   ? (const void *)first_tangent_kernel<fix_norm<0>>
                         : fixed<fix_norm<4>>(a) ? (const void *)first_tangent_kernel<fix_norm<4>>
                                                 : NULL;
    if (!kernel || in_fp32(d, &a->l) || a->dx || a->rx || a->stat == 0)
        return false;
    int splits = a->plan.norm_splits;
    size_t sums = (WARPS + 1) * SLICE * FIRST_COLUMNS, floats = first_floats(*a);
    struct grid g = {.x = (unsigned)(a->out_rows / SLICE * splits),
                     .y = (unsigned)a->tasks,
                     .threads = THREADS,
                     .cluster = (unsigned)splits,
                     .shared = (floats > sums ? floats : sums) * sizeof(float)};
    cuda_launch(d, kernel, g, a, "first backward");
    return true;
}
