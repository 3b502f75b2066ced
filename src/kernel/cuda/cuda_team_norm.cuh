/* cuda_team_norm.cuh - from the gradient of a conv block's output to dz, through ReLU and
 * batch norm, by a team; and the first layer's dW, whose dz never leaves the chip. */
#ifndef CUDA_TEAM_NORM_CUH
#define CUDA_TEAM_NORM_CUH

#include "cuda_team.cuh"

/* Four channels of what a pixel's dz is made from. */
struct norm_quad {
    float4 mu, s, scale, beta, c1, c2;
};

static __device__ __forceinline__ struct norm_quad quad_of(const struct norm_channels *ch, int c)
{
    return {get4(ch->mu + c),   get4(ch->s + c),  get4(ch->scale + c),
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

/* Thread i's channel, c of the layer. */
template <int F>
static __device__ __forceinline__ void load_norm(const struct conv_step &s, const struct team &m,
                                                 int i, int c, struct norm_channels *ch)
{
    ch->mu[i] = __ldcg(stats_of(s, m, STAT_MU, F) + c);
    ch->s[i] = __ldcg(stats_of(s, m, STAT_S, F) + c);
    ch->scale[i] = ch->s[i] * __ldcg(theta_at(s, m.task, TENSOR_GAMMA) + c);
    ch->beta[i] = __ldcg(theta_at(s, m.task, TENSOR_BETA) + c);
}

/* From its sums over `counted` pixels to c1 and c2, and the gradients. */
template <int F>
static __device__ __forceinline__ void set_norm(const struct step &step, const struct team &m,
                                                int i, int c, double2 sum, int counted,
                                                struct norm_channels *ch)
{
    const struct conv_step &s = step.conv;
    double over = counted > 0 ? 1.0f / counted : 0;
    ch->c1[i] = (float)(sum.x * over);
    ch->c2[i] = (float)(sum.y * over);
    put_gradient(step, m.task, s.offset[TENSOR_BETA] + c, (float)sum.x);
    put_gradient(step, m.task, s.offset[TENSOR_GAMMA] + c, (float)sum.y);
    put_gradient(step, m.task, s.offset[TENSOR_BIAS] + c, 0.0f); /* taken out by the statistics */
    grad_at(s, m.task, TENSOR_MEAN)[c] = grad_at(s, m.task, TENSOR_VAR)[c] = 0;
    stats_of(s, m, STAT_C1, F)[c] = ch->c1[i];
    stats_of(s, m, STAT_C2, F)[c] = ch->c2[i];
}

/* Leaves the channels' numbers in shared memory, and dz in memory but of the first layer,
 * where the next step computes it again.  A thread keeps its first EACH pixels. */
template <int F>
static __device__ __noinline__ void team_norm(int shape, const struct step &step,
                                              const struct team &m, struct team_shared *shared)
{
    enum { OWN = F / TEAM, QUADS = OWN / 4, STEP = TASK_THREADS / QUADS, EACH = 2 };
    const struct dims &l = layer_dims[shape];
    const struct conv_step &s = step.conv;
    int n = images_of(s, m), counted = min(s.stat, n) * l.pixels, pixels = n * l.pixels;
    int quad = threadIdx.x % QUADS * 4, first = threadIdx.x / QUADS, i = threadIdx.x;
    size_t plane = (size_t)m.task * s.n * (l.pixels * F) + m.rank * OWN + quad;
    const float *z = s.cache.z + plane, *dout = s.cache.dout + plane;
    float *dz = s.cache.dz + plane;
    float4 dy = {}, product = {}, zs[EACH], douts[EACH];
#pragma unroll
    for (int u = 0; u < EACH; u++)
        if (first + u * STEP < pixels) {
            zs[u] = read4(z + (first + u * STEP) * F);
            douts[u] = read4(dout + (first + u * STEP) * F);
        }
    if (i < OWN)
        load_norm<F>(s, m, i, m.rank * OWN + i, &shared->ch);
    __syncthreads();
    struct norm_quad q = quad_of(&shared->ch, quad);
#pragma unroll
    for (int u = 0; u < EACH; u++)
        if (first + u * STEP < pixels)
            count_quad(q, zs[u], douts[u], dy, product);
#pragma unroll 4
    for (int p = first + EACH * STEP; p < pixels; p += STEP)
        count_quad(q, read4(z + p * F), read4(dout + p * F), dy, product);
    double2 sum = sum_channels<QUADS>(dy, product, &shared->sums);
    if (i < OWN)
        set_norm<F>(step, m, i, m.rank * OWN + i, sum, counted, &shared->ch);
    __syncthreads();
    if (step.layer == 0)
        return;
    q = quad_of(&shared->ch, quad);
#pragma unroll
    for (int u = 0; u < EACH; u++)
        if (first + u * STEP < pixels)
            write4(dz + (first + u * STEP) * F,
                   dz_quad(q, zs[u], douts[u], first + u * STEP < counted));
#pragma unroll 2
    for (int p = first + EACH * STEP; p < pixels; p += STEP)
        write4(dz + p * F, dz_quad(q, read4(z + p * F), read4(dout + p * F), p < counted));
}

/* ---- the first layer ---- */

/* BLOCK pixels at a time, of which every warp takes eights in turn. */
template <int SHAPE, int BLOCK> struct first_of : layer_of<SHAPE> {
    using L = layer_of<SHAPE>;
    static constexpr int shape = SHAPE, block = BLOCK, own = L::f / TEAM, quads = own / 4;
    static constexpr int step = TASK_THREADS / quads, zpitch = known_pitch(own, 1);
    static constexpr int picture = rows_under(BLOCK, L::h, L::w, 2, 3, 1) * L::cols * 4;
    static constexpr int tpitch = 44, plane = own * tpitch; /* columns: (tap, channel) */
    static constexpr int staged = picture + BLOCK * (zpitch + 1);
    static constexpr int floats = staged > TASK_WARPS *plane ? staged : TASK_WARPS *plane;
};

struct first_share {
    int n, pixels, counted;
    const float *x, *z, *dout;
};

/* Stages x and computes dz of the pixels from m0 on; rows of zeros after the last. */
template <class A>
static __device__ __forceinline__ void stage_first(const struct first_share &s, int m0,
                                                   const struct norm_quad &q, float *picture)
{
    const struct dims &l = layer_dims[A::shape];
    int end = min(m0 + A::block, s.pixels), x, top = x_row(l, m0, &x);
    int quad = threadIdx.x % A::quads * 4, rows = (end - m0 + 7) / 8 * 8;
    float *dz = picture + A::picture;
    int *corner = (int *)(dz + A::block * A::zpitch);
    stage_tall<4, 4>(l.input, s.x, s.n, top, x_row(l, end - 1, &x) + 3 - top, 0, picture);
    copies_end();
#pragma unroll 2
    for (int r = threadIdx.x / A::quads; r < rows; r += A::step) {
        float4 v = {};
        int at = (m0 + r) * A::f + quad;
        if (m0 + r < end)
            v = dz_quad(q, read4(s.z + at), read4(s.dout + at), m0 + r < s.counted);
        put4(dz + r * A::zpitch + quad, v);
    }
#pragma unroll 1
    for (int i = threadIdx.x; i < rows; i += TASK_THREADS) {
        int row = x_row(l, min(m0 + i, end - 1), &x) - top;
        corner[i] = (row * A::cols + x) * 4;
    }
    copies_wait<0>();
}

/* Tile j holds taps 2 j and 2 j + 1, 4 channels of each. */
template <class A>
static __device__ __forceinline__ void multiply_first(const float *picture, int pixels,
                                                      float (&acc)[5][4])
{
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    const float *dz = picture + A::picture + t * A::zpitch + A::own / 8 * g;
    const int *corner = (const int *)(picture + A::picture + A::block * A::zpitch) + t;
#pragma unroll 1
    for (int k = threadIdx.x / 32 * 8; k < pixels; k += TASK_WARPS * 8) {
        const float *low = dz + k * A::zpitch, *high = low + 4 * A::zpitch;
        const float *near = picture + corner[k] + g % 4, *far = picture + corner[k + 4] + g % 4;
        float a[4] = {low[0], 0, high[0], 0};
        if constexpr (A::own == 16) {
            a[1] = low[1];
            a[3] = high[1];
        }
#pragma unroll
        for (int j = 0; j < 5; j++) {
            int one = (2 * j / 3 * A::cols + 2 * j % 3) * 4;
            int two = j < 4 ? ((2 * j + 1) / 3 * A::cols + (2 * j + 1) % 3) * 4 : one;
            int at = g < 4 ? one : two;
            mma(acc[j], a, near[at], far[at]);
        }
    }
}

/* After team_norm() of the layer: its dW. */
template <class A>
static __device__ __noinline__ void team_first(const struct step &step, const struct team &m,
                                               const struct norm_channels *ch, float *dynamic)
{
    const struct conv_step &s = step.conv;
    int n = images_of(s, m), g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    size_t image = (size_t)m.task * s.n, plane = image * (A::pixels * A::f) + m.rank * A::own;
    struct first_share mine = {n,
                               n * A::pixels,
                               min(s.stat, n) * A::pixels,
                               s.x + image * (A::in_h * A::in_w * 4),
                               s.cache.z + plane,
                               s.cache.dout + plane};
    struct norm_quad q = quad_of(ch, threadIdx.x % A::quads * 4);
    float acc[5][4] = {};
#pragma unroll 1
    for (int m0 = 0; m0 < mine.pixels; m0 += A::block) {
        stage_first<A>(mine, m0, q, dynamic);
        __syncthreads();
        multiply_first<A>(dynamic, min((int)A::block, mine.pixels - m0), acc);
        __syncthreads();
    }
    float *to = dynamic + threadIdx.x / 32 * A::plane + A::own / 8 * g * A::tpitch + 2 * t;
#pragma unroll
    for (int j = 0; j < 5; j++) {
        *(float2 *)(to + j * 8) = make_float2(acc[j][0], acc[j][1]);
        if (A::own == 16)
            *(float2 *)(to + j * 8 + A::tpitch) = make_float2(acc[j][2], acc[j][3]);
    }
    __syncthreads();
    if (threadIdx.x < A::own * 9) {
        int o = threadIdx.x / 9, tap = threadIdx.x % 9;
        put_gradient(step, m.task,
                     s.offset[TENSOR_WEIGHT] + (m.rank * A::own * 9 + threadIdx.x) * 4,
                     planes4(dynamic + o * A::tpitch + tap * 4, TASK_WARPS, A::plane));
    }
}

#endif
