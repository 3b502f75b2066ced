/* cuda_forward.cuh - a conv block forward, and the tangent of that: convolution,
 * statistics, normalisation, ReLU and pooling in one launch.
 *
 * The tangent's convolution Rz = x * v + rx * w is one sum over twice the channels.
 * A warp computes 32 pixels x 8 NT channels; its columns stand for channels such that
 * a thread holds 4 neighbours of every 16 (channel_of_column).
 */
#ifndef CUDA_FORWARD_CUH
#define CUDA_FORWARD_CUH

#include "cuda_norm.cuh"
#include "cuda_shape.cuh"

enum { FORWARD_THREADS = FORWARD_WARPS * 32 };

/* A block's share: channels c0.. of a task, conv pixels first..last-1. */
struct share {
    int n, c0, first, last;
    const float *x, *w, *rx, *rw; /* the task's: the product is x * w (+ rx * rw) */
    float *stages, *join;
    const int *offsets; /* where the fours of a sum lie, from a pixel's corner */
};

/* A warp's part of the sums that make the statistics: of (z - pivot) and its square,
 * or of Rz and xh Rz. */
template <int CH> struct moments {
    float pivot[CH], sum[CH], product[CH];
    int made; /* pixels */
};

/* Columns of a staged picture are sorted where the convolution steps by two. */
static __device__ __forceinline__ int evens_of(const struct conv_args &a)
{
    return a.l.stride == 2 ? (a.plan.in.cols + 1) / 2 : 0;
}

/* Where a tap reads, from a pixel's corner. */
static __device__ __forceinline__ int tap_offset(int tap, int cols, int evens, int gap, int pitch)
{
    int x = tap % 3, column = !evens ? x : x == 1 ? evens : x / 2;
    return tap < 9 ? (tap / 3 * cols + tap / 6 * gap + column) * pitch : 0;
}

/* Four by four of the sum over taps and channels of a chunk, as they lie in the weights. */
static __device__ __forceinline__ void fill_offsets(const struct conv_args &a, int *offsets)
{
    const struct product &p = a.plan.forward;
    int width = a.plan.width;
    for (int four = threadIdx.x; four < (9 * p.chunk + 7) / 8 * 2; four += FORWARD_THREADS) {
        int piece = 4 * four / (9 * width), rest = 4 * four % (9 * width);
        int at = tap_offset(rest / width, a.plan.in.cols, evens_of(a), a.plan.in.gap, p.pitch);
        offsets[four] = 4 * four < 9 * p.chunk ? at + piece * width + rest % width : 0;
    }
}

/* Rows of the slice's weights, (8 NT, 9 chunk) as they lie in memory; a sum of 9 taps of 4
 * channels is filled up with zeros.  Parts are chunks of the first source, then of the
 * second. */
template <int NT, bool TANGENT>
static __device__ __forceinline__ void
stage_item_weights(const struct conv_args &a, const struct share &s, const struct cursor &item)
{
    const struct product &p = a.plan.forward;
    int chunks = a.in_c >> log2_of(p.chunk), rows = a.out_rows - s.c0, apart = 9 * a.in_c;
    bool second = TANGENT && item.part >= chunks;
    const float *w = (second ? s.rw : s.w) + s.c0 * apart;
    auto row_at = [rows, apart](int row) {
        int channel = channel_of_column(row);
        return channel < rows ? channel * apart : -1;
    };
    stage_rows<FORWARD_WARPS>(8 * NT, 9 * p.chunk, (9 * p.chunk + 7) / 8 * 2,
                              w + (item.part - (second ? chunks : 0)) * p.chunk * 9, row_at,
                              s.stages + item.slot * p.stage_floats + p.picture_floats, p.weights);
}

template <bool TANGENT>
static __device__ __forceinline__ void
stage_item_picture(const struct conv_args &a, const struct share &s, const struct cursor &item)
{
    const struct product &p = a.plan.forward;
    int chunks = a.in_c >> log2_of(p.chunk), x, top = window_row(a, item.m, &x);
    int rows = window_row(a, min(item.m + p.block, s.last) - 1, &x) + 3 - top;
    bool second = TANGENT && item.part >= chunks;
    stage_picture<FORWARD_WARPS>(a.plan.in, second ? s.rx : s.x, s.n, top, rows,
                                 (item.part - (second ? chunks : 0)) * p.chunk, p.chunk,
                                 evens_of(a), p.pitch, s.stages + item.slot * p.stage_floats);
}

/* Where a lane reads rows of the weights, two tiles of them at a time. */
static __device__ __forceinline__ uint32_t weights_of_lane(const float *weights, int pitch)
{
    int lane = threadIdx.x % 32;
    return shared_address(weights + (lane / 16 * 8 + lane % 8) * pitch + lane / 8 % 2 * 4);
}

/* A step of 8 terms on tensor cores: pixels at `row`, and weights, which are not yet
 * rounded. */
template <int NT>
static __device__ __forceinline__ void
multiply_step(const uint32_t (&row)[2], int at, uint32_t weights, int pitch, float (&acc)[2][NT][4])
{
    float rows[2][4], b[NT / 2][4];
#pragma unroll
    for (int m = 0; m < 2; m++)
        load_matrices(rows[m], row[m] + 4 * at);
#pragma unroll
    for (int n = 0; n < NT / 2; n++)
        load_matrices(b[n], weights + 4 * n * 16 * pitch);
#pragma unroll
    for (int n = 0; n < NT; n++) {
        float b0 = nudge(b[n / 2][n % 2 * 2]), b1 = nudge(b[n / 2][n % 2 * 2 + 1]);
#pragma unroll
        for (int m = 0; m < 2; m++)
            mma(acc[m][n], rows[m], b0, b1);
    }
}

/* A step of 8 terms in fp32: corners of the thread's four pixels. */
template <int NT>
static __device__ __forceinline__ void multiply_full(const float *picture, const int (&corner)[4],
                                                     const int *offsets, const float *weights,
                                                     int pitch, float (&acc)[2][NT][4])
{
    const float *b = weights + 2 * (threadIdx.x % 4) * pitch;
    for (int k = 0; k < 8; k += 2) {
        const float *at = picture + offsets[k / 4] + k % 4;
        for (int m = 0; m < 2; m++)
            for (int n = 0; n < NT; n++)
                fma_pairs(acc[m][n], pair_at(at + corner[2 * m]), pair_at(at + corner[2 * m + 1]),
                          pair_at(b + n * 8 * pitch + k), pair_at(b + (n * 8 + 1) * pitch + k));
    }
}

template <bool FULL, int NT>
static __device__ __forceinline__ void multiply(const struct product &p, const float *picture,
                                                const float *weights, const int *offsets,
                                                const int (&corner)[4], float (&acc)[2][NT][4])
{
    int steps = (9 * p.chunk + 7) / 8, kgroup = (int)threadIdx.x / 32 >> log2_of(p.mgroups);
    const uint32_t row[2] = {shared_address(picture + corner[0]),
                             shared_address(picture + corner[1])};
    uint32_t from = weights_of_lane(weights, p.weights);
#pragma unroll 2
    for (int k = kgroup; k < steps; k += p.kgroups)
        if (FULL)
            multiply_full<NT>(picture, corner, offsets + 2 * k, weights + 8 * k, p.weights, acc);
        else
            multiply_step<NT>(row, offsets[2 * k + threadIdx.x % 32 / 16], from + 4 * 8 * k,
                              p.weights, acc);
}

template <class FIX> static __device__ __forceinline__ constexpr int tap_at(int tap)
{
    return tap_offset(tap, FIX::cols, (FIX::cols + 1) / 2, FIX::gap, FIX::pitch);
}

/* multiply() where the shape is known and a chunk has 16 channels or more: steps FIRST..LAST-1
 * of 8 channels, tap by tap, every ACROSS-th of them.  Constants all of them: of loops in
 * loops the compiler unrolls the inner one first, before it knows the outer's counter. */
template <class FIX, int NT, int FIRST, int LAST, int ACROSS>
static __device__ __forceinline__ void multiply_steps(const uint32_t (&row)[2], uint32_t weights,
                                                      float (&acc)[2][NT][4])
{
#pragma unroll
    for (int i = FIRST; i < LAST; i += ACROSS) {
        int tap = i / (FIX::chunk / 8), c = i % (FIX::chunk / 8) * 8;
        multiply_step<NT>(row, tap_at<FIX>(tap) + c,
                          weights + 4 * (c / 16 * 16 * 9 + tap * 16 + c % 16), FIX::weights, acc);
    }
}

/* A kgroup's share of it: kgroups share the channels of a tap, then the taps. */
template <class FIX, int NT, int KGROUPS, int SHARE = 0>
static __device__ __forceinline__ void multiply_share(const uint32_t (&row)[2], uint32_t weights,
                                                      int kgroup, float (&acc)[2][NT][4])
{
    constexpr int steps = FIX::chunk / 8, across = KGROUPS < steps ? KGROUPS : steps;
    constexpr int shares = KGROUPS / across;
    constexpr int first = 9 * SHARE / shares * steps, last = 9 * (SHARE + 1) / shares * steps;
    if (shares == 1 || kgroup / across == SHARE) {
        int c0 = kgroup % across * 8;
        const uint32_t from[2] = {row[0] + 4 * c0, row[1] + 4 * c0};
        multiply_steps<FIX, NT, first, last, across>(
            from, weights + 4 * (c0 / 16 * 16 * 9 + c0 % 16), acc);
    } else if constexpr (SHARE + 1 < shares) {
        multiply_share<FIX, NT, KGROUPS, SHARE + 1>(row, weights, kgroup, acc);
    }
}

/* The same of 4 channels: a step is two taps, the upper half of the lanes reads the second. */
template <class FIX, int NT>
static __device__ __forceinline__ void multiply_few(const uint32_t (&row)[2], uint32_t weights,
                                                    float (&acc)[2][NT][4])
{
#pragma unroll
    for (int k = 0; k < 5; k++) {
        int at = threadIdx.x & 16 ? tap_at<FIX>(2 * k + 1) : tap_at<FIX>(2 * k);
        multiply_step<NT>(row, at, weights + 4 * 8 * k, FIX::weights, acc);
    }
}

template <class FIX, int NT>
static __device__ __forceinline__ void multiply_known(const struct product &p, const float *picture,
                                                      const float *weights, const int (&corner)[4],
                                                      float (&acc)[2][NT][4])
{
    int half = FIX::chunk > 4 ? threadIdx.x % 32 / 16 * 4 : 0; /* the lane's part of 8 channels */
    int kgroup = (int)threadIdx.x / 32 >> log2_of(p.mgroups);
    const uint32_t row[2] = {shared_address(picture + corner[0] + half),
                             shared_address(picture + corner[1] + half)};
    uint32_t from = weights_of_lane(weights, FIX::weights);
    if constexpr (FIX::chunk == 4)
        multiply_few<FIX, NT>(row, from, acc);
    else if (p.kgroups == 1)
        multiply_share<FIX, NT, 1>(row, from, 0, acc);
    else if (p.kgroups == 2)
        multiply_share<FIX, NT, 2>(row, from, kgroup, acc);
    else if (p.kgroups == 4)
        multiply_share<FIX, NT, 4>(row, from, kgroup, acc);
    else if (p.kgroups == 8)
        multiply_share<FIX, NT, 8>(row, from, kgroup, acc);
    else
        multiply_share<FIX, NT, 16>(row, from, kgroup, acc);
}

/* A thread's channels of one of its four pixels (i). */
template <int NT>
static __device__ __forceinline__ void pixel_values(const float (&acc)[2][NT][4], int i,
                                                    float (&v)[2 * NT])
{
#pragma unroll
    for (int j = 0; j < 2 * NT; j++)
        v[j] = acc[i / 2][j / 4 * 2 + j % 4 / 2][i % 2 * 2 + j % 2];
}

/* z of a block of pixels to memory, and into the moments.  z, made: of the task. */
template <int NT, bool TANGENT>
static __device__ __forceinline__ void
keep_block(const struct conv_args &a, const struct share &s, const struct few<2 * NT> &f, int first,
           const float *cached, float *made, const float (&acc)[2][NT][4],
           struct moments<2 * NT> &mo)
{
    enum { CH = 2 * NT };
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    int counted = min(a.stat * a.l.conv_h * a.l.conv_w, s.last);
#pragma unroll
    for (int i = 0; i < 4; i++) {
        int m = first + i * 8 + g;
        float v[CH], z[4];
        pixel_values<NT>(acc, i, v);
        if (i == 0 && mo.made == 0 && !TANGENT)
            for (int j = 0; j < CH; j++)
                mo.pivot[j] = __shfl_sync(~0u, v[j], t);
#pragma unroll
        for (int j = 0; j < CH; j += 4) {
            int at = m * a.out_c + j * 4;
            bool real = m < s.last && s.c0 + t * 4 + j * 4 < a.out_c;
            if (real)
                store4(made + at, v + j);
            if (!real || m >= counted)
                continue;
            if (TANGENT)
                load4(z, cached + at);
#pragma unroll
            for (int k = j; k < j + 4; k++) {
                float d = TANGENT ? v[k] : v[k] - mo.pivot[k];
                mo.sum[k] += d;
                mo.product[k] += d * (TANGENT ? (z[k - j] - f.mu[k]) * f.s[k] : d);
            }
        }
    }
    mo.made += max(0, min(counted - first, 32));
}

/* Where the pixels of a block begin in the staged picture: in fp32 the thread's four, else
 * the two whose rows the lane reads for the warp. */
template <bool FULL>
static __device__ __forceinline__ void find_corners(const struct conv_args &a,
                                                    const struct share &s, int m0, int (&corner)[4])
{
    const struct product &p = a.plan.forward;
    int x, top = window_row(a, m0, &x), group = threadIdx.x / 32 & (p.mgroups - 1);
    int lane = threadIdx.x % 32, mine = FULL ? lane / 4 : lane % 16, each = FULL ? 8 : 16;
#pragma unroll
    for (int i = 0; i < 32 / each; i++) {
        int row = window_row(a, min(m0 + group * 32 + i * each + mine, s.last - 1), &x) - top;
        corner[i] =
            (row * a.plan.in.cols + (row >> 1) * a.plan.in.gap + (a.l.stride == 2 ? x / 2 : x)) *
            p.pitch;
    }
}

/* Begins to stage the weights of the share's first items.  Where the kernel before cannot
 * have written them, they come before the wait for it. */
template <int NT, bool TANGENT>
static __device__ __forceinline__ void begin_staging(const struct conv_args &a,
                                                     const struct share &s, int each)
{
    const struct product &p = a.plan.forward;
    struct cursor next = {s.first, 0, 0};
#pragma unroll 1
    for (int i = 0; i < p.stages - 1; i++) {
        if (next.m < s.last)
            stage_item_weights<NT, TANGENT>(a, s, next);
        advance(next, p, each);
    }
    if (a.early)
        wait_for_previous();
}

/* The convolution of the share: z, the moments of it, and in the warps of the first
 * kgroup the last block's z, which begins at the returned pixel.  each: items of a
 * block of pixels.  The first stages are filled before anything is multiplied. */
template <bool FULL, int NT, bool TANGENT, class FIX>
static __device__ __forceinline__ int
convolve(const struct conv_args &a, const struct share &s, const struct few<2 * NT> &f, int each,
         const float *cached, float *made, struct moments<2 * NT> &mo, float (&acc)[2][NT][4])
{
    const struct product &p = a.plan.forward;
    int warp = threadIdx.x / 32, group = warp & (p.mgroups - 1), corner[4] = {}, m0 = s.first;
    struct cursor now = {s.first, 0, 0}, next = now;
    int ahead = 1 - p.stages; /* items: now, less those of the first stages */
#pragma unroll 1
    while (now.m < s.last) {
        if (next.m < s.last) {
            if (ahead >= 0)
                stage_item_weights<NT, TANGENT>(a, s, next);
            stage_item_picture<TANGENT>(a, s, next);
        }
        copies_end();
        advance(next, p, each);
        if (ahead++ < 0)
            continue;
        if (now.part == 0) { /* a new block of pixels */
            m0 = now.m;
            find_corners<FULL>(a, s, m0, corner);
            memset(acc, 0, sizeof acc);
        }
        float *stage = s.stages + now.slot * p.stage_floats;
        wait_stage(p.stages);
        __syncthreads();
        if constexpr (FIX::known)
            multiply_known<FIX, NT>(p, stage, stage + p.picture_floats, corner, acc);
        else
            multiply<FULL, NT>(p, stage, stage + p.picture_floats, s.offsets, corner, acc);
        advance(now, p, each);
        if (now.part == 0) {
            if (p.kgroups > 1)
                join_groups<8 * NT>(&acc[0][0][0], warp >> log2_of(p.mgroups), p.kgroups, group,
                                    p.mgroups, s.join);
            if (warp < p.mgroups)
                keep_block<NT, TANGENT>(a, s, f, m0 + group * 32, cached, made, acc, mo);
        }
        if (now.m < s.last)
            __syncthreads();
    }
    return m0;
}

/* ---- statistics ---- */

/* The warp's sums about zero in double, from those about a pivot in float. */
template <int CH> using forward_sums = struct sums<FORWARD_WARPS, 2, 4 * CH>;

/* PAIRS: a thread has 2 channels of every 8, else 4 of every 16. */
template <int CH, bool TANGENT, bool PAIRS = false, class SUMS>
static __device__ __forceinline__ void add_moments(const struct moments<CH> &mo, SUMS *sums,
                                                   int warps, int splits)
{
    int warp = threadIdx.x / 32, c = channel_of_lane<CH>();
    double sum = spread_sum<CH>(mo.sum), product = spread_sum<CH>(mo.product), pivot = 0;
    if (!TANGENT && mo.made)
#pragma unroll
        for (int j = 0; j < CH; j++)
            pivot = j == c ? mo.pivot[j] : pivot;
    if (CH == 8 || !(threadIdx.x & 4)) {
        int t = threadIdx.x % 4;
        int at = PAIRS ? c / 2 * 8 + t * 2 + c % 2 : c / 4 * 16 + t * 4 + c % 4;
        sums->warp[warp][0][at] = sum + mo.made * pivot;
        sums->warp[warp][1][at] = product + pivot * (2 * sum + mo.made * pivot);
    }
    add_up(sums, 2, warps, splits);
}

/* A channel's parameters, by thread.  In registers until the statistics are known: a thread
 * that put them into shared memory would wait for them before anything is staged. */
struct affine {
    float gamma, beta;
};

static __device__ __forceinline__ struct affine load_affine(const struct conv_args &a, int task,
                                                            int c0)
{
    int c = c0 + threadIdx.x;
    struct affine f = {0, 0};
    if (threadIdx.x < a.plan.slice && c < a.out_rows) {
        f.gamma = tensor_at(a.theta, task, a.l, TENSOR_GAMMA)[c];
        f.beta = tensor_at(a.theta, task, a.l, TENSOR_BETA)[c];
    }
    return f;
}

/* What a tangent needs of its channels. */
static __device__ __forceinline__ void load_channels(const struct conv_args &a, int task, int c0,
                                                     const struct affine &f, struct slice *ch)
{
    int i = threadIdx.x, c = c0 + i;
    bool real = c < a.out_rows;
    if (i >= a.plan.slice)
        return;
    ch->gamma[i] = f.gamma;
    ch->beta[i] = f.beta;
    ch->mu[i] = real ? stat_at(a, a.cache, task, STAT_MU)[c] : 0;
    ch->s[i] = real ? stat_at(a, a.cache, task, STAT_S)[c] : 0;
    ch->scale[i] = ch->gamma[i] * ch->s[i];
    ch->rgamma[i] = real ? tensor_at(a.v, task, a.l, TENSOR_GAMMA)[c] : 0;
    ch->rbeta[i] = real ? tensor_at(a.v, task, a.l, TENSOR_BETA)[c] : 0;
}

/* mu and s, from the sums of this pass (over = 1 / their number) or, where that is 0,
 * from the running averages. */
template <class SUMS>
static __device__ __forceinline__ void
set_statistics(const struct conv_args &a, int task, int c0, double over, const SUMS *sums,
               const struct affine &f, struct slice *ch, bool keep)
{
    int i = threadIdx.x, c = c0 + i;
    if (i >= a.plan.slice || c >= a.out_rows)
        return;
    double mu = sums->total[0][i] * over;
    float var = (float)fmax(sums->total[1][i] * over - mu * mu, 0.0);
    if (over == 0) {
        mu = tensor_at(a.theta, task, a.l, TENSOR_MEAN)[c] -
             tensor_at(a.theta, task, a.l, TENSOR_BIAS)[c];
        var = tensor_at(a.theta, task, a.l, TENSOR_VAR)[c];
    }
    ch->mu[i] = (float)mu;
    ch->s[i] = c < a.l.out_c ? 1 / sqrtf(var + (float)a.l.eps) : 0;
    ch->scale[i] = f.gamma * ch->s[i];
    ch->beta[i] = f.beta;
    if (keep) {
        stat_at(a, a.cache, task, STAT_MU)[c] = ch->mu[i];
        stat_at(a, a.cache, task, STAT_S)[c] = ch->s[i];
    }
}

/* m1 and m2: the tangents of the statistics. */
template <int CH>
static __device__ __forceinline__ void set_tangents(const struct conv_args &a, int task, int c0,
                                                    double over, const forward_sums<CH> *sums,
                                                    struct slice *ch, bool keep)
{
    int i = threadIdx.x, c = c0 + i;
    if (i >= a.plan.slice || c >= a.out_rows)
        return;
    ch->m1[i] =
        over > 0 ? (float)(sums->total[0][i] * over) : -tensor_at(a.v, task, a.l, TENSOR_BIAS)[c];
    ch->m2[i] = (float)(sums->total[1][i] * over);
    if (keep) {
        stat_at(a, a.tangent, task, STAT_M1)[c] = ch->m1[i];
        stat_at(a, a.tangent, task, STAT_M2)[c] = ch->m2[i];
    }
}

/* ---- the output ---- */

/* Output pixels first..last-1 from z in memory, BATCH at a time, so that their loads
 * are under way together. */
template <bool FULL, int W, bool TANGENT, int NTHREADS = FORWARD_THREADS>
static __device__ __forceinline__ void put_output(const struct conv_args &a, int task, int c0,
                                                  const struct slice *ch, int first, int last)
{
    enum { BATCH = W > 1 ? 1 : TANGENT ? 2 : 4 };
    int quads = a.plan.slice / 4, quad = threadIdx.x % quads * 4, step = NTHREADS / quads;
    size_t conv = (size_t)task * a.n * a.l.conv_h * a.l.conv_w * a.out_c + c0 + quad;
    size_t place = (size_t)task * a.n * a.l.out_h * a.l.out_w * a.out_c + c0 + quad;
    const float *z = a.cache.z + conv, *rz = a.tangent.z + conv;
    float *out = (TANGENT ? a.tangent.out : a.cache.out) + place;
    struct few<4> f;
    load_few<4, TANGENT>(f, ch, quad);
    for (int p = first + threadIdx.x / quads; p < last && c0 + quad < a.out_c; p += BATCH * step) {
        int at[BATCH][W];
        float zs[BATCH][W][4], rzs[BATCH][W][4], y[4];
#pragma unroll
        for (int u = 0; u < BATCH; u++)
            if (p + u * step < last) {
                window_of<W>(a.l, p + u * step, at[u]);
                load_window<W>(zs[u], z, a.out_c, at[u]);
                if (TANGENT)
                    load_window<W>(rzs[u], rz, a.out_c, at[u]);
            }
#pragma unroll
        for (int u = 0; u < BATCH; u++)
            if (p + u * step < last) {
                for (int j = 0; j < 4; j++)
                    y[j] = output_of<FULL, W, TANGENT, 4>(f, j, at[u], zs[u], rzs[u]);
                store4(out + (p + u * step) * a.out_c, y);
            }
    }
}

/* The last block's outputs, from the accumulators; the layer does not pool. */
template <bool FULL, int NT, bool TANGENT>
static __device__ __forceinline__ void
put_block(const struct conv_args &a, const struct share &s, const struct few<2 * NT> &f, int first,
          const float *cached, float *out, const float (&acc)[2][NT][4])
{
    enum { CH = 2 * NT };
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        int m = first + i * 8 + g;
        float v[CH], z[1][4], rz[1][4], y[4];
        pixel_values<NT>(acc, i, v);
#pragma unroll
        for (int j = 0; j < CH; j += 4) {
            int at = m * a.out_c + j * 4, one[1] = {0};
            if (m >= s.last || s.c0 + t * 4 + j * 4 >= a.out_c)
                continue;
            if (TANGENT)
                load4(z[0], cached + at);
#pragma unroll
            for (int k = 0; k < 4; k++)
                (TANGENT ? rz : z)[0][k] = v[j + k];
#pragma unroll
            for (int k = 0; k < 4; k++)
                y[k] = output_of<FULL, 1, TANGENT, CH>(f, j + k, one, z, rz);
            store4(out + at, y);
        }
    }
}

/* ---- the kernel ---- */

/* What a block works on; *over: 1 / the values that make statistics, or 0. */
template <int NT, bool TANGENT>
static __device__ __forceinline__ struct share
share_of(const struct conv_args &a, int task, float *stages, const int *offsets, double *over)
{
    const struct product &p = a.plan.forward;
    int split = log2_of(p.splits), part = blockIdx.x & (p.splits - 1);
    int n = a.count ? a.count[task] : a.n, stat = min(a.stat, n), plane = a.l.conv_h * a.l.conv_w;
    int pixels = n * plane, size = (pixels + p.splits - 1) >> split;
    size_t image = (size_t)task * a.n * a.l.in_h * a.l.in_w * a.in_c;
    struct share s = {n, (int)(blockIdx.x >> split) * 8 * NT, min(part * size, pixels),
                      min(part * size + size, pixels)};
    s.x = a.x + image;
    s.rx = a.rx + image;
    s.w = tensor_at(TANGENT ? a.v : a.theta, task, a.l, TENSOR_WEIGHT);
    s.rw = tensor_at(a.theta, task, a.l, TENSOR_WEIGHT);
    s.stages = stages;
    s.join = stages + p.join;
    s.offsets = offsets;
    *over = stat > 0 ? 1.0 / ((double)stat * plane) : 0;
    return s;
}

/* blockIdx = ((slice, part), task); the parts of a slice are a cluster. */
template <bool FULL, int NT, int W, bool TANGENT, class FIX>
static __global__ void __launch_bounds__(FORWARD_THREADS, 1)
    forward_kernel(const __grid_constant__ struct conv_args given)
{
    extern __shared__ __align__(128) float dynamic[];
    __shared__ forward_sums<2 * NT> sums;
    __shared__ struct slice ch;
    __shared__ int offsets[FIX::known ? 1 : 9 * 32 / 4];
    struct conv_args a = given;
    FIX::in(a);
    const struct product &p = a.plan.forward;
    int part = blockIdx.x & (p.splits - 1), task = blockIdx.y, t = threadIdx.x % 4;
    int each = (a.in_c >> log2_of(p.chunk)) * (TANGENT && a.rx ? 2 : 1);
    double over;
    if (!FIX::known)
        fill_offsets(a, offsets);
    if (!a.early)
        wait_for_previous();
    const struct share s = share_of<NT, TANGENT>(a, task, dynamic, offsets, &over);
    size_t mine = (size_t)task * a.n * a.l.conv_h * a.l.conv_w * a.out_c + s.c0 + t * 4;
    const float *cached = a.cache.z + mine;
    float *made = (TANGENT ? a.tangent.z : a.cache.z) + mine;
    float *out = (TANGENT ? a.tangent.out : a.cache.out) + mine;
    struct moments<2 *NT> mo = {
    };
    struct few<2 * NT> f;
    float acc[2][NT][4];
    sums_begin(&sums, 2, p.splits);
    begin_staging<NT, TANGENT>(a, s, each);
    const struct affine affine = load_affine(a, task, s.c0);
    if (TANGENT) {
        load_channels(a, task, s.c0, affine, &ch);
        __syncthreads();
        load_few<2 * NT, TANGENT>(f, &ch, t * 4);
    }
    int kept = convolve<FULL, NT, TANGENT, FIX>(a, s, f, each, cached, made, mo, acc);
    add_moments<2 * NT, TANGENT>(mo, &sums, p.mgroups, p.splits);
    if (TANGENT)
        set_tangents<2 * NT>(a, task, s.c0, over, &sums, &ch, part == 0);
    else
        set_statistics(a, task, s.c0, over, &sums, affine, &ch, part == 0);
    __syncthreads();
    if (W == 1) {
        put_output<FULL, 1, TANGENT>(a, task, s.c0, &ch, s.first, kept);
        load_few<2 * NT, TANGENT>(f, &ch, t * 4);
        if (threadIdx.x / 32 < p.mgroups)
            put_block<FULL, NT, TANGENT>(a, s, f, kept + threadIdx.x / 32 * 32, cached, out, acc);
    } else {
        int outputs = s.n * a.l.out_h * a.l.out_w, split = log2_of(p.splits);
        if (p.splits > 1) /* windows reach over parts */
            cooperative_groups::this_cluster().sync();
        int size = (outputs + p.splits - 1) >> split;
        put_output<FULL, W, TANGENT>(a, task, s.c0, &ch, part * size,
                                     min(part * size + size, outputs));
    }
}

/* Returns the kernel made for a shape and its plan, where `a` is of those. */
#define FORWARD_KNOWN(shape, chunk, nt)                                                            \
    if (fixed<fix_forward<shape, chunk, nt>>(a))                                                   \
        return tangent ? (const void *)                                                            \
                             forward_kernel<false, nt, 1, true, fix_forward<shape, chunk, nt>>     \
                       : (const void *)                                                            \
                             forward_kernel<false, nt, 1, false, fix_forward<shape, chunk, nt>>;

#endif
