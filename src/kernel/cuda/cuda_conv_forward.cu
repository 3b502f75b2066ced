/* cuda_conv_forward.cu - a conv block forward, and the tangent of that: convolution,
 * statistics, normalisation, ReLU and pooling in one launch.
 *
 * The tangent's convolution Rz = x * v + rx * w is one sum over twice the channels.
 */
#include "cuda_norm.cuh"

/* One thread's view of the pipeline: a task, a slice, a range of conv pixels. */
struct share {
    int task, n, slice, first, last;
    float *stages, *tile;
    const int *offsets; /* where the pairs of a sum lie, from a pixel's corner */
};

/* A thread's part of the sums that make the statistics: of (z - pivot) and its
 * square, or of Rz and xh Rz. */
struct moments {
    float pivot[4], sum[4], product[4];
    int made;
};

/* The tall picture's row where the window of conv pixel m begins. */
static __device__ __forceinline__ int row_of(const struct conv_args &a, int m)
{
    int y = m / a.l.conv_w;
    return y / a.l.conv_h * a.plan.in.rows + y % a.l.conv_h * a.l.stride;
}

/* Where its corner lies in a stage that begins with row `top`. */
static __device__ __forceinline__ int corner_of(const struct conv_args &a, int m, int top)
{
    int x = m % a.l.conv_w * a.l.stride;
    return ((row_of(a, m) - top) * a.plan.in.cols + x) * a.plan.forward.pitch;
}

/* Pair k/2 of the sum over taps and channels of a chunk. */
static __device__ void fill_offsets(const struct conv_args &a, int *offsets)
{
    const struct product &p = a.plan.forward;
    for (int pair = threadIdx.x; pair < (9 * p.chunk + 7) / 8 * 4; pair += THREADS) {
        int tap = 2 * pair / p.chunk, c = 2 * pair % p.chunk;
        offsets[pair] = tap < 9 ? (tap / 3 * a.plan.in.cols + tap % 3) * p.pitch + c : 0;
    }
}

/* Rows of the slice's weights (16, 9 chunk): channels c0.. of each tap. */
static __device__ void stage_weights(const struct conv_args &a, const float *w, int slice, int c0,
                                     float *to)
{
    const struct product &p = a.plan.forward;
    int quads = (9 * p.chunk + 7) / 8 * 2;
    for (int i = threadIdx.x; i < SLICE * quads; i += THREADS) {
        int row = i / quads, k = i % quads * 4, tap = k / p.chunk, c = c0 + k % p.chunk;
        bool inside = tap < 9;
        size_t at = ((size_t)(slice * SLICE + row) * 9 + tap) * a.in_c + c;
        copy16(to + row * p.weights + k, inside ? w + at : w, inside);
    }
}

/* Item = (block of pixels, source, chunk), in that order. */
template <bool TANGENT>
static __device__ void stage_item(const struct conv_args &a, const struct share &s, int item,
                                  int chunks, int sources)
{
    const struct product &p = a.plan.forward;
    int block = item / (chunks * sources), source = item / chunks % sources,
        c0 = item % chunks * p.chunk;
    int m = s.first + block * p.block, end = min(m + p.block, s.last) - 1;
    int top = row_of(a, m), rows = row_of(a, end) + 3 - top;
    const float *x =
        (TANGENT && source ? a.rx : a.x) + (size_t)s.task * a.n * a.l.in_h * a.l.in_w * a.in_c;
    const struct vec &w = TANGENT && !source ? a.v : a.theta;
    float *to = s.stages + item % p.stages * p.stage_floats;
    stage_picture(a.plan.in, x, s.n, top, rows, c0, p.chunk, p.pitch, to);
    stage_weights(a, tensor_at(w, s.task, a.l, TENSOR_WEIGHT), s.slice, c0, to + p.picture_floats);
}

template <bool FULL>
static __device__ __forceinline__ void multiply(const struct product &p, const float *picture,
                                                const float *weights, const int *offsets,
                                                const int (&corner)[2][2], float (&acc)[2][2][4])
{
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    int steps = (9 * p.chunk + 7) / 8;
    for (int k = threadIdx.x / 32 / p.mgroups; k < steps; k += p.kgroups) {
        if (FULL) {
            for (int pair = 0; pair < 4; pair++) {
                const float *at = picture + offsets[k * 4 + pair];
                const float *b = weights + 2 * t * p.weights + k * 8 + pair * 2;
                for (int m = 0; m < 2; m++)
                    for (int n = 0; n < 2; n++)
                        fma_pairs(acc[m][n], *(const float2 *)(at + corner[m][0]),
                                  *(const float2 *)(at + corner[m][1]),
                                  *(const float2 *)(b + n * 8 * p.weights),
                                  *(const float2 *)(b + (n * 8 + 1) * p.weights));
            }
            continue;
        }
        const float *at = picture + offsets[k * 4 + t];
        uint32_t rows[2][4];
        for (int m = 0; m < 2; m++)
            rows_tf32(rows[m], at + corner[m][0], at + corner[m][1]);
        for (int n = 0; n < 2; n++) {
            float2 b = *(const float2 *)(weights + (n * 8 + g) * p.weights + k * 8 + 2 * t);
            for (int m = 0; m < 2; m++)
                mma(acc[m][n], rows[m], tf32(b.x), tf32(b.y));
        }
    }
}

/* z of a block of pixels from the tile to memory, and into the moments. */
template <bool TANGENT>
static __device__ void keep_block(const struct conv_args &a, const struct share &s,
                                  const struct slice *ch, int m0, struct moments &mo)
{
    int quad = threadIdx.x % 4 * 4, c0 = s.slice * SLICE + quad;
    int pixels = a.l.conv_h * a.l.conv_w, counted = a.stat * pixels;
    size_t base = (size_t)s.task * a.n * pixels * a.out_c + c0;
    for (int m = m0 + threadIdx.x / 4; m < min(m0 + a.plan.forward.block, s.last);
         m += THREADS / 4) {
        float4 sum = tile_get(s.tile, a.plan.forward, m - m0, quad);
        float v[4] = {sum.x, sum.y, sum.z, sum.w}, z[4];
        if (c0 >= a.out_c)
            continue;
        store4((TANGENT ? a.tangent.z : a.cache.z) + base + (size_t)m * a.out_c, v);
        if (m >= counted)
            continue;
        if (TANGENT)
            load4(z, a.cache.z + base + (size_t)m * a.out_c);
        for (int j = 0; j < 4; j++) {
            if (mo.made == 0)
                mo.pivot[j] = TANGENT ? 0 : v[j];
            float d = v[j] - mo.pivot[j];
            mo.sum[j] += d;
            mo.product[j] += TANGENT ? d * ((z[j] - ch->mu[quad + j]) * ch->s[quad + j]) : d * d;
        }
        mo.made++;
    }
}

/* The convolution of the share: z, and this thread's moments of it. */
template <bool FULL, bool TANGENT>
static __device__ void convolve(const struct conv_args &a, const struct share &s,
                                const struct slice *ch, struct moments &mo)
{
    const struct product &p = a.plan.forward;
    int chunks = (a.in_c + p.chunk - 1) / p.chunk, sources = TANGENT && a.rx ? 2 : 1;
    int each = chunks * sources, items = (s.last - s.first + p.block - 1) / p.block * each;
    int group = threadIdx.x / 32 % p.mgroups, g = threadIdx.x % 32 / 4, corner[2][2];
    float acc[2][2][4];
    if (items > 0)
        stage_item<TANGENT>(a, s, 0, chunks, sources);
    copies_end();
    for (int item = 0; item < items; item++) {
        int m0 = s.first + item / each * p.block;
        if (item + 1 < items)
            stage_item<TANGENT>(a, s, item + 1, chunks, sources);
        copies_end();
        if (item % each == 0) {
            int top = row_of(a, m0);
            for (int i = 0; i < 4; i++) {
                int m = m0 + group * 32 + i * 8 + g;
                corner[i / 2][i % 2] = m < s.last ? corner_of(a, m, top) : 0;
            }
            memset(acc, 0, sizeof acc);
        }
        copies_wait<1>();
        __syncthreads();
        const float *stage = s.stages + item % p.stages * p.stage_floats;
        multiply<FULL>(p, stage, stage + p.picture_floats, s.offsets, corner, acc);
        if (item % each == each - 1) {
            tile_put(s.tile, p, acc);
            __syncthreads();
            keep_block<TANGENT>(a, s, ch, m0, mo);
        }
        __syncthreads();
    }
}

/* ---- statistics ---- */

/* mu and s, from the sums of this pass or from the running averages. */
static __device__ void set_statistics(const struct conv_args &a, const struct share &s, int stat,
                                      const struct sums *sums, struct slice *ch, bool keep)
{
    int i = threadIdx.x, c = s.slice * SLICE + i;
    if (i >= SLICE)
        return;
    double m = (double)stat * a.l.conv_h * a.l.conv_w, mu = 0, var = 0;
    if (stat > 0) {
        mu = sums->total[0][i] / m;
        var = fmax(sums->total[1][i] / m - mu * mu, 0.0);
    } else {
        mu = tensor_at(a.theta, s.task, a.l, TENSOR_MEAN)[c] -
             tensor_at(a.theta, s.task, a.l, TENSOR_BIAS)[c];
        var = tensor_at(a.theta, s.task, a.l, TENSOR_VAR)[c];
    }
    ch->mu[i] = (float)mu;
    ch->s[i] = c < a.l.out_c ? (float)(1 / sqrt(var + a.l.eps)) : 0;
    if (keep) {
        stat_at(a, a.cache, s.task, STAT_MU)[c] = ch->mu[i];
        stat_at(a, a.cache, s.task, STAT_S)[c] = ch->s[i];
    }
}

static __device__ void load_channels(const struct conv_args &a, const struct share &s, bool tangent,
                                     struct slice *ch)
{
    int i = threadIdx.x, c = s.slice * SLICE + i;
    if (i >= SLICE)
        return;
    ch->gamma[i] = tensor_at(a.theta, s.task, a.l, TENSOR_GAMMA)[c];
    ch->beta[i] = tensor_at(a.theta, s.task, a.l, TENSOR_BETA)[c];
    if (!tangent)
        return;
    ch->mu[i] = stat_at(a, a.cache, s.task, STAT_MU)[c];
    ch->s[i] = stat_at(a, a.cache, s.task, STAT_S)[c];
    ch->rgamma[i] = tensor_at(a.v, s.task, a.l, TENSOR_GAMMA)[c];
    ch->rbeta[i] = tensor_at(a.v, s.task, a.l, TENSOR_BETA)[c];
}

/* m1 and m2: the tangents of the statistics. */
static __device__ void set_tangents(const struct conv_args &a, const struct share &s, int stat,
                                    const struct sums *sums, struct slice *ch, bool keep)
{
    int i = threadIdx.x, c = s.slice * SLICE + i;
    if (i >= SLICE)
        return;
    double m = (double)stat * a.l.conv_h * a.l.conv_w;
    ch->m1[i] =
        stat > 0 ? (float)(sums->total[0][i] / m) : -tensor_at(a.v, s.task, a.l, TENSOR_BIAS)[c];
    ch->m2[i] = stat > 0 ? (float)(sums->total[1][i] / m) : 0;
    if (keep) {
        stat_at(a, a.tangent, s.task, STAT_M1)[c] = ch->m1[i];
        stat_at(a, a.tangent, s.task, STAT_M2)[c] = ch->m2[i];
    }
}

/* Sums about zero in double, from those about a pivot in float. */
template <bool TANGENT>
static __device__ void add_moments(const struct moments &mo, struct sums *sums, int rank,
                                   int splits)
{
    double v[2][4];
    for (int j = 0; j < 4; j++) {
        double pivot = mo.made ? mo.pivot[j] : 0;
        v[0][j] = mo.sum[j] + mo.made * pivot;
        v[1][j] = TANGENT ? mo.product[j]
                          : mo.product[j] + pivot * (2 * (double)mo.sum[j] + mo.made * pivot);
    }
    add_up<2>(v, sums, rank, splits);
}

/* ---- the output ---- */

/* One channel of an output pixel: max(0, y), or the tangent of it. */
template <int W, bool TANGENT>
static __device__ __forceinline__ float output_of(const struct slice *ch, int c, const int (&at)[W],
                                                  const float (&z)[W][4], const float (&rz)[W][4],
                                                  int j)
{
    struct seen<W> v = see<W>(ch, c, at, z, j);
    if (!TANGENT)
        return v.on ? v.best : 0;
    float xh = 0, r = 0;
    for (int k = 0; k < W; k++)
        if (k == v.source) {
            xh = v.xh[k];
            r = rz[k][j];
        }
    float rxh = ch->s[c] * (r - ch->m1[c] - xh * ch->m2[c]);
    return v.on ? ch->rgamma[c] * xh + ch->gamma[c] * rxh + ch->rbeta[c] : 0;
}

/* BATCH pixels at a time, so that their loads are under way together. */
template <int W, bool TANGENT>
static __device__ void put_output(const struct conv_args &a, const struct share &s,
                                  const struct slice *ch, int first, int last)
{
    enum { BATCH = W > 1 ? 1 : 4, STEP = THREADS / 4 };
    int quad = threadIdx.x % 4 * 4, c0 = s.slice * SLICE + quad, pixels = a.l.conv_h * a.l.conv_w;
    const float *z = a.cache.z + (size_t)s.task * a.n * pixels * a.out_c + c0;
    const float *rz = a.tangent.z + (size_t)s.task * a.n * pixels * a.out_c + c0;
    float *out = (TANGENT ? a.tangent.out : a.cache.out) +
                 (size_t)s.task * a.n * a.l.out_h * a.l.out_w * a.out_c + c0;
    if (c0 >= a.out_c)
        return;
    for (int p = first + threadIdx.x / 4; p < last; p += BATCH * STEP) {
        int at[BATCH][W];
        float zs[BATCH][W][4], rzs[BATCH][W][4], y[4];
#pragma unroll
        for (int u = 0; u < BATCH; u++)
            if (p + u * STEP < last) {
                window_of<W>(a.l, p + u * STEP, at[u]);
                load_window<W>(zs[u], z, a.out_c, at[u]);
                if (TANGENT)
                    load_window<W>(rzs[u], rz, a.out_c, at[u]);
            }
#pragma unroll
        for (int u = 0; u < BATCH; u++)
            if (p + u * STEP < last) {
                for (int j = 0; j < 4; j++)
                    y[j] = output_of<W, TANGENT>(ch, quad + j, at[u], zs[u], rzs[u], j);
                store4(out + (size_t)(p + u * STEP) * a.out_c, y);
            }
    }
}

/* ---- the kernel ---- */

template <int W, bool TANGENT>
static __device__ void finish_slice(const struct conv_args &a, const struct share &s, int part,
                                    int stat, const struct sums *sums, struct slice *ch)
{
    int splits = a.plan.splits, outputs = s.n * a.l.out_h * a.l.out_w;
    int each = (outputs + splits - 1) / splits, first = part * each;
    if (TANGENT)
        set_tangents(a, s, stat, sums, ch, part == 0);
    else
        set_statistics(a, s, stat, sums, ch, part == 0);
    __syncthreads();
    put_output<W, TANGENT>(a, s, ch, first, min(first + each, outputs));
}

template <bool FULL, int W, bool TANGENT>
static __global__ void __launch_bounds__(THREADS, 2)
    forward_kernel(const __grid_constant__ struct conv_args a)
{
    extern __shared__ __align__(128) float dynamic[];
    __shared__ struct sums sums;
    __shared__ struct slice ch;
    __shared__ int offsets[9 * 64 / 2];
    const struct conv_plan &plan = a.plan;
    int task = blockIdx.x / plan.ranks, rank = blockIdx.x % plan.ranks, part = rank % plan.splits;
    wait_for_previous();
    int n = a.count ? a.count[task] : a.n, stat = min(a.stat, n);
    int pixels = n * a.l.conv_h * a.l.conv_w, each = (pixels + plan.splits - 1) / plan.splits;
    struct share s = {.task = task, .n = n, .stages = dynamic, .offsets = offsets};
    s.tile = dynamic + plan.forward.stages * plan.forward.stage_floats;
    s.first = min(part * each, pixels);
    s.last = min(s.first + each, pixels);
    fill_offsets(a, offsets);
    for (int round = 0; round < plan.rounds; round++) {
        s.slice = rank / plan.splits + round * (plan.ranks / plan.splits);
        bool active = s.slice < a.out_rows / SLICE;
        struct moments mo = {};
        if (active)
            load_channels(a, s, TANGENT, &ch);
        __syncthreads();
        if (active)
            convolve<FULL, TANGENT>(a, s, &ch, mo);
        add_moments<TANGENT>(mo, &sums, rank, plan.splits);
        if (active)
            finish_slice<W, TANGENT>(a, s, part, stat, &sums, &ch);
        blocks_meet(plan.splits > 1 ? plan.ranks : 1);
    }
}

extern "C" void cuda_conv_forward(struct device *d, const struct layer_call *c)
{
#define PAIR(full, window)                                                                         \
    {(const void *)forward_kernel<full, window, false>,                                            \
     (const void *)forward_kernel<full, window, true>}
    static const void *const kernels[2][2][2] = {{PAIR(false, 1), PAIR(false, 4)},
                                                 {PAIR(true, 1), PAIR(true, 4)}};
#undef PAIR
    struct conv_args a = {};
    cuda_conv_args(d, c, &a);
    struct grid g = {.x = (unsigned)(a.tasks * a.plan.ranks),
                     .threads = THREADS,
                     .cluster = (unsigned)a.plan.ranks,
                     .shared = a.plan.forward.bytes};
    cuda_launch(d, kernels[d->full_fp32][a.l.pool][c->v.at != NULL], g, &a, "forward");
}
