/* cuda_team_forward.cuh - a conv block forward by a team: convolution, statistics,
 * normalisation and ReLU.
 *
 * z and the output go to memory.  Statistics are sums about a pivot, z of the block's first
 * pixel; blocks that share channels tell each other means and sums of squared differences,
 * where dz will be later.
 */
#ifndef CUDA_TEAM_FORWARD_CUH
#define CUDA_TEAM_FORWARD_CUH

#include "cuda_team.cuh"

/* How the work is cut: PARTS parts of the pixels (else of the channels); warps are MG x NG x
 * KG, of which a warp has MT tiles of 16 pixels; TAPS taps of the weights are staged at a
 * time. */
template <int SHAPE, int PARTS, int MG, int NG, int KG, int MT, int TAPS>
struct forward_of : layer_of<SHAPE> {
    using L = layer_of<SHAPE>;
    static constexpr int parts = PARTS, mg = MG, ng = NG, kg = KG, mt = MT, taps = TAPS;
    static constexpr int channels = L::f * PARTS / TEAM, nt = channels / 8 / NG;
    static constexpr int quads = channels / 4, step = TASK_THREADS / quads;
    static constexpr int block = MG * MT * 16;
    static constexpr int pitch = known_pitch(L::c, 2);
    static constexpr int depth = L::c < 8 ? 40 : TAPS * L::c; /* of a staged row of weights */
    static constexpr int wpitch = known_pitch(depth, 1), weights = channels * wpitch;
    static constexpr int stages = TAPS == 9 ? 1 : 2;
    static constexpr int tpitch = known_pitch(channels, 1), plane = block * tpitch;
    static constexpr int picture = rows_under(block, L::h, L::w, 2, 3, 1) * L::cols * pitch;
    static constexpr int floats =
        stages * weights + (picture > KG * plane ? picture : KG * plane);
    static_assert(MG * NG * KG == TASK_WARPS, "a warp each");
};

/* A block's share of a layer: channels c0.., pixels of `rows`. */
struct forward_share {
    int n, c0, part;
    struct span rows;
    const float *x, *w;
    float *z, *out; /* channel c0 of the task's first pixel */
};

/* Taps tap0.. of the weights of the share's channels. */
template <class A>
static __device__ __forceinline__ void stage_forward_weights(const struct forward_share &s,
                                                             int tap0, float *to)
{
    constexpr int quads = A::depth / 4, of_tap = A::c / 4;
    int lane = threadIdx.x % 32;
#pragma unroll 1
    for (int o = threadIdx.x / 32; o < A::channels; o += TASK_WARPS) {
        const float *from = s.w + ((s.c0 + o) * 9 + tap0) * A::c;
#pragma unroll 2
        for (int q = lane; q < quads; q += 32)
            copy16(to + o * A::wpitch + q * 4, from + q * 4, tap0 + q / of_tap < 9);
    }
}

template <class A>
static __device__ __forceinline__ void stage_forward_picture(const struct forward_share &s, int m0,
                                                             float *to)
{
    int x, top = A::x_row(m0, &x), last = min(m0 + A::block, s.rows.last) - 1;
    stage_tall<A::c, A::pitch>(A::input(), s.x, s.n, top, A::x_row(last, &x) + 3 - top, 0, to);
}

/* 8 terms of the sum: of this thread's rows at `at`, and of the weights. */
template <class A>
static __device__ __forceinline__ void multiply_terms(const float *const (&row)[A::mt][2], int at,
                                                      const float *w, float (&acc)[A::mt][A::nt][4])
{
    float a[A::mt][4];
    float2 b[A::nt];
#pragma unroll
    for (int m = 0; m < A::mt; m++)
        load_rows(a[m], row[m][0] + at, row[m][1] + at);
#pragma unroll
    for (int n = 0; n < A::nt; n++)
        b[n] = pair_at(w + n * 8 * A::wpitch);
#pragma unroll
    for (int n = 0; n < A::nt; n++)
#pragma unroll
        for (int m = 0; m < A::mt; m++)
            mma(acc[m][n], a[m], nudge(b[n].x), nudge(b[n].y));
}

template <class A> static __device__ __forceinline__ constexpr int tap_offset(int tap)
{
    return tap < 9 ? (tap / 3 * A::cols + tap % 3) * A::pitch : 0;
}

/* Taps tap0.., which `weights` holds.  kgroups share the channels, then the taps. */
template <class A>
static __device__ __forceinline__ void
multiply_forward(const float *const (&row)[A::mt][2], const float *weights, int tap0,
                 float (&acc)[A::mt][A::nt][4])
{
    int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    int kgroup = warp / (A::mg * A::ng), ngroup = warp / A::mg % A::ng;
    const float *w = weights + (ngroup * A::nt * 8 + g) * A::wpitch + 2 * t;
    if constexpr (A::c < 8) { /* of 4 channels: two taps at a time, threads 2 and 3 the second */
#pragma unroll
        for (int k = 0; k < 5; k++)
            multiply_terms<A>(row, t & 2 ? tap_offset<A>(2 * k + 1) - 4 : tap_offset<A>(2 * k),
                              w + 8 * k, acc);
    } else {
        constexpr int eights = A::c / 8, across = A::kg < eights ? A::kg : eights;
        constexpr int shares = A::kg / across;
        int c0 = kgroup % across * 8;
#pragma unroll
        for (int tap = 0; tap < A::taps; tap++)
            if (shares == 1 || tap * shares / 9 == kgroup / across)
#pragma unroll
                for (int c = 0; c < A::c; c += 8 * across)
                    multiply_terms<A>(row, tap_offset<A>(tap0 + tap) + c0 + c,
                                      w + tap * A::c + c0 + c, acc);
    }
}

/* The warp's tiles to its plane. */
template <class A>
static __device__ __forceinline__ void put_forward_tile(const float (&acc)[A::mt][A::nt][4],
                                                        float *tile)
{
    int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    int mgroup = warp % A::mg, ngroup = warp / A::mg % A::ng, kgroup = warp / (A::mg * A::ng);
    float *to = tile + kgroup * A::plane + (mgroup * A::mt * 16 + g) * A::tpitch +
                ngroup * A::nt * 8 + 2 * t;
#pragma unroll
    for (int m = 0; m < A::mt; m++)
#pragma unroll
        for (int n = 0; n < A::nt; n++) {
            float *at = to + m * 16 * A::tpitch + n * 8;
            *(float2 *)at = make_float2(acc[m][n][0], acc[m][n][1]);
            *(float2 *)(at + 8 * A::tpitch) = make_float2(acc[m][n][2], acc[m][n][3]);
        }
}

/* The convolution of a block of pixels, into the tile's planes. */
template <class A>
static __device__ __forceinline__ void convolve_block(const struct forward_share &s, int m0,
                                                      float *weights, float *picture)
{
    int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, x;
    const float *row[A::mt][2];
    float acc[A::mt][A::nt][4];
    if (A::stages > 1 || m0 == s.rows.first)
        stage_forward_weights<A>(s, 0, weights);
    stage_forward_picture<A>(s, m0, picture);
    copies_end();
    int top = A::x_row(m0, &x);
    for (int i = 0; i < 2 * A::mt; i++) {
        int m = m0 + (warp % A::mg * A::mt + i / 2) * 16 + i % 2 * 8 + g;
        int y = A::x_row(min(m, s.rows.last - 1), &x) - top;
        row[i / 2][i % 2] = picture + (y * A::cols + x) * A::pitch + 2 * t;
    }
    memset(acc, 0, sizeof acc);
#pragma unroll 1
    for (int tap = 0; tap < 9; tap += A::taps) {
        float *stage = weights + tap / A::taps % A::stages * A::weights;
        if (tap + A::taps < 9)
            stage_forward_weights<A>(s, tap + A::taps,
                                     weights + (tap / A::taps + 1) % A::stages * A::weights);
        copies_end();
        copies_wait<1>();
        __syncthreads();
        multiply_forward<A>(row, stage, tap, acc);
        __syncthreads();
    }
    put_forward_tile<A>(acc, picture);
    __syncthreads();
}

/* z to memory, to the first plane and into the sums about the pivot. */
template <class A>
static __device__ __forceinline__ void keep_z(const struct forward_share &s, int m0, int counted,
                                              float *tile, float4 &pivot, float4 &sum,
                                              float4 &square)
{
    int quad = threadIdx.x % A::quads * 4, rows = min((int)A::block, s.rows.last - m0);
    if (m0 == s.rows.first) {
        pivot = planes4<A::kg>(tile, A::plane, quad);
        __syncthreads();
    }
#pragma unroll 1
    for (int r = threadIdx.x / A::quads; r < rows; r += A::step) {
        float4 v = planes4<A::kg>(tile, A::plane, r * A::tpitch + quad), d = minus(v, pivot);
        write4(s.z + (m0 + r) * A::f + quad, v);
        put4(tile + r * A::tpitch + quad, v);
        if (m0 + r < counted) {
            sum = plus(sum, d);
            square = fma4(d, d, square);
        }
    }
}

/* A channel's mean and sum of squared differences from it, over `count` pixels. */
struct moment {
    double mean, squares;
    int count;
};

static __device__ __forceinline__ struct moment join(struct moment a, struct moment b)
{
    int count = a.count + b.count;
    if (count == 0)
        return a;
    double apart = b.mean - a.mean, share = (double)b.count / count;
    return {a.mean + apart * share, a.squares + b.squares + apart * apart * share * a.count, count};
}

/* Thread c's channel over the whole pass: the parts of the team, in order. */
template <class A>
static __device__ __forceinline__ struct moment join_team(const struct team &m, struct moment own,
                                                          int pixels, int counted, double2 *parts)
{
    int c = threadIdx.x;
    if (A::parts == 1)
        return own;
    if (c < A::f)
        __stcg(parts + m.rank * A::f + c, make_double2(own.mean, own.squares));
    team_sync(m);
    struct moment all = {};
#pragma unroll 1
    for (int part = 0; c < A::f && part < A::parts; part++) {
        struct span rows = span_of<A::parts>(pixels, part);
        double2 v = __ldcg(parts + part * A::f + c);
        all = join(all, {v.x, v.y, max(0, min(rows.last, counted) - rows.first)});
    }
    return all;
}

/* The channels' statistics, for all to use and for the way back. */
template <class A>
static __device__ __forceinline__ void set_forward_channels(const struct conv_step &s,
                                                            const struct forward_share &mine,
                                                            const struct team &m, int tasks,
                                                            struct moment all,
                                                            struct norm_channels *ch)
{
    int i = threadIdx.x, c = mine.c0 + i;
    if (i >= A::channels)
        return;
    float var = all.count ? (float)(all.squares / all.count) : 0, over = 1 / sqrtf(var + s.eps);
    ch->mu[i] = (float)all.mean;
    ch->scale[i] = over * __ldcg(theta_at(s, m.task, TENSOR_GAMMA) + c);
    ch->beta[i] = __ldcg(theta_at(s, m.task, TENSOR_BETA) + c);
    if (mine.part > 0)
        return;
    stats_of(s, tasks, m.task, STAT_MU, A::f)[c] = ch->mu[i];
    stats_of(s, tasks, m.task, STAT_S, A::f)[c] = over;
}

/* The output; the last block of pixels, from m0 on, is still in the tile. */
template <class A>
static __device__ __forceinline__ void put_forward_output(const struct forward_share &s, int m0,
                                                          const float *tile,
                                                          const struct norm_channels *ch)
{
    int quad = threadIdx.x % A::quads * 4;
    float4 mu = get4(ch->mu + quad), scale = get4(ch->scale + quad), beta = get4(ch->beta + quad);
#pragma unroll 2
    for (int p = s.rows.first + threadIdx.x / A::quads; p < s.rows.last; p += A::step) {
        float4 z = p < m0 ? read4(s.z + p * A::f + quad)
                          : get4(tile + (p - m0) * A::tpitch + quad);
        float4 y = fma4(minus(z, mu), scale, beta);
        write4(s.out + p * A::f + quad, round4(where_on(y, y)));
    }
}

template <class A>
static __device__ __noinline__ void team_forward(const struct conv_step &s,
                                                    const struct team &m, int tasks,
                                                    struct team_shared *shared, float *dynamic)
{
    int n = s.count ? s.count[m.task] : s.n, pixels = n * A::pixels;
    int counted = min(s.stat, n) * A::pixels, part = A::parts > 1 ? m.rank : 0;
    size_t image = (size_t)m.task * s.n, plane = image * (A::pixels * A::f);
    struct forward_share mine = {n, A::parts > 1 ? 0 : m.rank * A::channels, part,
                                 span_of<A::parts>(pixels, part)};
    mine.x = s.x + image * (A::in_h * A::in_w * A::c);
    mine.w = theta_at(s, m.task, TENSOR_WEIGHT);
    mine.z = s.cache.z + plane + mine.c0;
    mine.out = s.cache.out + plane + mine.c0;
    float *tile = dynamic + A::stages * A::weights;
    float4 pivot = {}, sum = {}, square = {};
    int kept = mine.rows.first;
#pragma unroll 1
    for (int m0 = kept; m0 < mine.rows.last; m0 += A::block) {
        if (m0 > mine.rows.first)
            __syncthreads();
        convolve_block<A>(mine, m0, dynamic, tile);
        keep_z<A>(mine, m0, counted, tile, pivot, sum, square);
        kept = m0;
    }
    if (threadIdx.x < A::quads)
        put4(shared->ch.mu + threadIdx.x * 4, pivot);
    double2 sums = sum_channels<A::quads>(sum, square, &shared->sums);
    int own = max(0, min(mine.rows.last, counted) - mine.rows.first);
    struct moment moment = {};
    if (threadIdx.x < A::channels && own > 0)
        moment = {shared->ch.mu[threadIdx.x] + sums.x / own, sums.y - sums.x * sums.x / own, own};
    moment = join_team<A>(m, moment, pixels, counted, (double2 *)(s.cache.dz + plane));
    set_forward_channels<A>(s, mine, m, tasks, moment, &shared->ch);
    __syncthreads();
    put_forward_output<A>(mine, kept, tile, &shared->ch);
}

#endif
