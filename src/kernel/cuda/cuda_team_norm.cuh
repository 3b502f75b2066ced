/* cuda_team_norm.cuh - from the gradient of a conv block's output to dz, through ReLU and
 * batch norm, by a team; and all of the first layer's way back, whose dz never leaves the
 * chip. */
#ifndef CUDA_TEAM_NORM_CUH
#define CUDA_TEAM_NORM_CUH

#include "cuda_team.cuh"

/* Four channels of what a pixel's dz is made from. */
struct norm_quad {
    float4 mu, s, scale, beta, c1, c2;
};

static __device__ __forceinline__ struct norm_quad quad_of(const struct norm_channels *ch, int c)
{
    return {get4(ch->mu + c), get4(ch->s + c),  get4(ch->scale + c),
            get4(ch->beta + c), get4(ch->c1 + c), get4(ch->c2 + c)};
}

/* Adds dy and dy xh. */
static __device__ __forceinline__ void count_quad(const struct norm_quad &q, float4 z, float4 dout,
                                                  float4 &dy, float4 &product)
{
    float4 centred = minus(z, q.mu), d = where_on(fma4(centred, q.scale, q.beta), dout);
    dy = plus(dy, d);
    product = fma4(d, times(centred, q.s), product);
}

/* dz = scale (dy - c1 - xh c2); c1 and c2 only where the pixel is of the statistics. */
static __device__ __forceinline__ float4 dz_quad(const struct norm_quad &q, float4 z, float4 dout,
                                                 bool in)
{
    float4 centred = minus(z, q.mu), d = where_on(fma4(centred, q.scale, q.beta), dout);
    if (in)
        d = minus(minus(d, q.c1), times(times(centred, q.s), q.c2));
    return round4(times(q.scale, d));
}

/* Channels c0.. of the slice. */
template <int CHANNELS, int FILTERS>
static __device__ __forceinline__ void load_norm(const struct conv_step &s, const struct team &m,
                                                 int tasks, int c0, struct norm_channels *ch)
{
    int i = threadIdx.x, c = c0 + i;
    if (i >= CHANNELS)
        return;
    ch->mu[i] = __ldcg(stats_of(s, tasks, m.task, STAT_MU, FILTERS) + c);
    ch->s[i] = __ldcg(stats_of(s, tasks, m.task, STAT_S, FILTERS) + c);
    ch->scale[i] = ch->s[i] * __ldcg(theta_at(s, m.task, TENSOR_GAMMA) + c);
    ch->beta[i] = __ldcg(theta_at(s, m.task, TENSOR_BETA) + c);
}

/* From a channel's sums to c1 and c2 and, in one block, the gradients. */
template <int FILTERS>
static __device__ __forceinline__ void set_norm(const struct conv_step &s, const struct team &m,
                                                int tasks, int i, int c, double2 sum, int values,
                                                struct norm_channels *ch, bool keep)
{
    double over = values > 0 ? 1.0 / values : 0;
    ch->c1[i] = (float)(sum.x * over);
    ch->c2[i] = (float)(sum.y * over);
    if (!keep)
        return;
    grad_at(s, m.task, TENSOR_BETA)[c] = (float)sum.x;
    grad_at(s, m.task, TENSOR_GAMMA)[c] = (float)sum.y;
    grad_at(s, m.task, TENSOR_BIAS)[c] = 0; /* the statistics take it out again */
    grad_at(s, m.task, TENSOR_MEAN)[c] = grad_at(s, m.task, TENSOR_VAR)[c] = 0;
    stats_of(s, tasks, m.task, STAT_C1, FILTERS)[c] = ch->c1[i];
    stats_of(s, tasks, m.task, STAT_C2, FILTERS)[c] = ch->c2[i];
}

/* Sums of dy and dy xh over pixels first.., STEP apart. */
template <int FILTERS, int STEP>
static __device__ __forceinline__ void sum_norm(const struct norm_quad &q, const float *z,
                                                const float *dout, int first, int last, float4 &dy,
                                                float4 &product)
{
#pragma unroll 4
    for (int p = first; p < last; p += STEP)
        count_quad(q, read4(z + p * FILTERS), read4(dout + p * FILTERS), dy, product);
}

/* A block has a quarter of the channels. */
template <int F>
static __device__ __noinline__ void team_norm(int shape, const struct conv_step &s,
                                              const struct team &m, int tasks,
                                              struct team_shared *shared)
{
    constexpr int channels = F / TEAM, quads = channels / 4, step = TASK_THREADS / quads;
    const struct dims &l = layer_dims[shape];
    int n = images_of(s, m), counted = min(s.stat, n) * l.pixels, pixels = n * l.pixels;
    int c0 = m.rank * channels, quad = threadIdx.x % quads * 4, first = threadIdx.x / quads;
    size_t plane = (size_t)m.task * s.n * (l.pixels * F) + c0 + quad;
    float4 dy = {}, product = {};
    const float *z = s.cache.z + plane, *dout = s.cache.dout + plane;
    float *dz = s.cache.dz + plane;
    load_norm<channels, F>(s, m, tasks, c0, &shared->ch);
    __syncthreads();
    struct norm_quad q = quad_of(&shared->ch, quad);
    sum_norm<F, step>(q, z, dout, first, pixels, dy, product);
    double2 sum = sum_channels<quads>(dy, product, &shared->sums);
    if (threadIdx.x < channels)
        set_norm<F>(s, m, tasks, threadIdx.x, c0 + threadIdx.x, sum, counted, &shared->ch, true);
    __syncthreads();
    q = quad_of(&shared->ch, quad);
#pragma unroll 2
    for (int p = first; p < pixels; p += step)
        write4(dz + p * F, dz_quad(q, read4(z + p * F), read4(dout + p * F), p < counted));
}

/* ---- the first layer ---- */

/* BLOCK pixels at a time; warps are KG for each 32 output channels. */
template <int SHAPE, int BLOCK, int KG> struct first_of : layer_of<SHAPE> {
    using L = layer_of<SHAPE>;
    static constexpr int block = BLOCK, mg = L::f / 32, kg = KG, quads = L::f / 4;
    static constexpr int step = TASK_THREADS / quads, pitch = 4, zpitch = known_pitch(L::f, 1);
    static constexpr int picture = rows_under(BLOCK, L::h, L::w, 2, 3, 1) * L::cols * pitch;
    static constexpr int tpitch = 44, plane = L::f * tpitch; /* columns: (tap, channel) */
    static constexpr int staged = picture + BLOCK * (zpitch + 1);
    static constexpr int floats = staged > KG * plane ? staged : KG * plane;
    static_assert(mg * KG == TASK_WARPS, "a warp each");
};

/* A block's pixels, and what the team exchanges: sums (team, f), then dW (team, f, 40). */
struct first_share {
    int n, counted;
    struct span rows;
    const float *x, *z, *dout;
    double2 *sums;
    float *dw;
};

/* Stages x and computes dz of a block of pixels. */
template <class A>
static __device__ __forceinline__ void stage_first(const struct first_share &s, int m0,
                                                   const struct norm_quad &q, float *picture)
{
    int end = min(m0 + A::block, s.rows.last), x, top = A::x_row(m0, &x);
    int quad = threadIdx.x % A::quads * 4;
    float *dz = picture + A::picture;
    int *corner = (int *)(dz + A::block * A::zpitch);
    stage_tall<4, A::pitch>(A::input(), s.x, s.n, top, A::x_row(end - 1, &x) + 3 - top, 0, picture);
    copies_end();
#pragma unroll 2
    for (int r = threadIdx.x / A::quads; r < A::block; r += A::step) {
        float4 v = {};
        int at = (m0 + r) * A::f + quad;
        if (m0 + r < end)
            v = dz_quad(q, read4(s.z + at), read4(s.dout + at), m0 + r < s.counted);
        put4(dz + r * A::zpitch + quad, v);
    }
    if (threadIdx.x < A::block) {
        int i = threadIdx.x;
        int row = A::x_row(min(m0 + i, end - 1), &x) - top;
        corner[i] = (row * A::cols + x) * A::pitch;
    }
    copies_wait<0>();
}

/* Tile j holds taps 2 j and 2 j + 1, 4 channels of each. */
template <class A>
static __device__ __forceinline__ void multiply_first(const float *picture, int pixels,
                                                      float (&acc)[2][5][4])
{
    int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    int mgroup = warp % A::mg, kgroup = warp / A::mg;
    const float *dz = picture + A::picture + t * A::zpitch + mgroup * 32 + 4 * g;
    const int *corner = (const int *)(picture + A::picture + A::block * A::zpitch) + t;
#pragma unroll 1
    for (int k = kgroup * 8; k < pixels; k += A::kg * 8) {
        float4 a0 = get4(dz + k * A::zpitch), a1 = get4(dz + (k + 4) * A::zpitch);
        float rows[2][4] = {{a0.x, a0.y, a1.x, a1.y}, {a0.z, a0.w, a1.z, a1.w}};
        const float *near = picture + corner[k] + g % 4, *far = picture + corner[k + 4] + g % 4;
#pragma unroll
        for (int j = 0; j < 5; j++) {
            int one = (2 * j / 3 * A::cols + 2 * j % 3) * 4;
            int two = j < 4 ? ((2 * j + 1) / 3 * A::cols + (2 * j + 1) % 3) * 4 : one;
            int at = g < 4 ? one : two;
            mma(acc[0][j], rows[0], near[at], far[at]);
            mma(acc[1][j], rows[1], near[at], far[at]);
        }
    }
}

/* The block's dW to memory, then each block its part of the team's. */
template <class A>
static __device__ __forceinline__ void join_first(const struct conv_step &step,
                                                  const struct first_share &s,
                                                  const struct team &m,
                                                  const float (&acc)[2][5][4], float *tile)
{
    int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    int mgroup = warp % A::mg, kgroup = warp / A::mg;
    float *to = tile + kgroup * A::plane + (mgroup * 32 + 4 * g) * A::tpitch + 2 * t;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 10; i++) {
        float *at = to + i / 5 * 2 * A::tpitch + i % 5 * 8;
        *(float2 *)at = make_float2(acc[i / 5][i % 5][0], acc[i / 5][i % 5][1]);
        *(float2 *)(at + A::tpitch) = make_float2(acc[i / 5][i % 5][2], acc[i / 5][i % 5][3]);
    }
    __syncthreads();
#pragma unroll 1
    for (int i = threadIdx.x; i < A::f * 9; i += TASK_THREADS)
        write4(s.dw + (m.rank * A::f + i / 9) * 40 + i % 9 * 4,
               planes4<A::kg>(tile, A::plane, i / 9 * A::tpitch + i % 9 * 4));
    team_sync(m);
    float *dw = grad_at(step, m.task, TENSOR_WEIGHT);
#pragma unroll 1
    for (int i = threadIdx.x * TEAM + m.rank; i < A::f * 9; i += TASK_THREADS * TEAM) {
        float4 sum = {};
        for (int part = 0; part < TEAM; part++)
            sum = plus(sum, read4(s.dw + (part * A::f + i / 9) * 40 + i % 9 * 4));
        write4(dw + i * 4, sum);
    }
}

/* A block has a quarter of the pixels. */
template <class A>
static __device__ __noinline__ void team_first(const struct conv_step &s, const struct team &m,
                                                  int tasks, struct team_shared *shared,
                                                  float *dynamic)
{
    int n = s.count ? s.count[m.task] : s.n, quad = threadIdx.x % A::quads * 4;
    size_t image = (size_t)m.task * s.n, plane = image * (A::pixels * A::f);
    struct first_share mine = {n, min(s.stat, n) * A::pixels,
                               span_of<TEAM>(n * A::pixels, m.rank),
                               s.x + image * (A::in_h * A::in_w * 4),
                               s.cache.z + plane,
                               s.cache.dout + plane,
                               (double2 *)(s.cache.dz + plane),
                               s.cache.dz + plane + 4 * TEAM * A::f};
    float4 dy = {}, product = {};
    float acc[2][5][4] = {};
    load_norm<A::f, A::f>(s, m, tasks, 0, &shared->ch);
    __syncthreads();
    struct norm_quad q = quad_of(&shared->ch, quad);
    sum_norm<A::f, A::step>(q, mine.z + quad, mine.dout + quad,
                            mine.rows.first + threadIdx.x / A::quads, mine.rows.last, dy, product);
    double2 sum = sum_channels<A::quads>(dy, product, &shared->sums);
    if (threadIdx.x < A::f)
        __stcg(mine.sums + m.rank * A::f + threadIdx.x, sum);
    team_sync(m);
    if (threadIdx.x < A::f) {
        sum = {};
#pragma unroll 1
        for (int part = 0; part < TEAM; part++) {
            double2 v = __ldcg(mine.sums + part * A::f + threadIdx.x);
            sum = {sum.x + v.x, sum.y + v.y};
        }
        set_norm<A::f>(s, m, tasks, threadIdx.x, threadIdx.x, sum, mine.counted, &shared->ch,
                       m.rank == 0);
    }
    __syncthreads();
    q = quad_of(&shared->ch, quad);
#pragma unroll 1
    for (int m0 = mine.rows.first; m0 < mine.rows.last; m0 += A::block) {
        stage_first<A>(mine, m0, q, dynamic);
        __syncthreads();
        multiply_first<A>(dynamic, min((int)A::block, mine.rows.last - m0), acc);
        __syncthreads();
    }
    join_first<A>(s, mine, m, acc, dynamic);
}

#endif
