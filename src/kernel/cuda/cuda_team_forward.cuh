/* cuda_team_forward.cuh - a conv block forward by a team: convolution, statistics,
 * normalisation and ReLU of the block's channels.
 *
 * z and the output go to memory.  Statistics are sums about a pivot, z of the first pixel.
 */
#ifndef CUDA_TEAM_FORWARD_CUH
#define CUDA_TEAM_FORWARD_CUH

#include "cuda_team.cuh"

/* How the work is cut: warps are MG x KG, of which a warp has MT tiles of 16 pixels and a
 * share of the sum. */
template <int SHAPE, int MG, int KG, int MT> struct forward_of : layer_of<SHAPE> {
    using L = layer_of<SHAPE>;
    static constexpr int shape = SHAPE, mg = MG, kg = KG, mt = MT;
    static constexpr int own = L::f / TEAM, nt = own / 8, block = MG * MT * 16;
    static constexpr int pitch = known_pitch(L::c, 2);
    static constexpr int depth = L::c < 8 ? 40 : 9 * L::c; /* of a row of weights */
    static constexpr int wpitch = known_pitch(depth, 1), weights = own * wpitch;
    static constexpr int tpitch = known_pitch(own, 1), plane = block * tpitch;
    static constexpr int picture = rows_under(block, L::h, L::w, 2, 3, 1) * L::cols * pitch;
    static constexpr int floats = weights + (picture > KG * plane ? picture : KG * plane);
    static_assert(MG * KG == TASK_WARPS, "a warp each");
};

/* A block's share: its channels of a task's pixels. */
struct forward_share {
    int n, pixels, counted; /* counted: those that make statistics */
    const float *x, *w;
    float *z, *out;
};

template <class A> static __device__ __forceinline__ void stage_weights(const float *w, float *to)
{
    constexpr int quads = A::depth / 4, real = 9 * A::c / 4;
#pragma unroll 1
    for (int o = threadIdx.x / 32; o < A::own; o += TASK_WARPS)
#pragma unroll 1
        for (int q = threadIdx.x % 32; q < quads; q += 32)
            copy16(to + o * A::wpitch + q * 4, w + o * 9 * A::c + q * 4, q < real);
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

/* All taps; kgroups share the channels, then the taps. */
template <class A>
static __device__ __forceinline__ void multiply_forward(const float *const (&row)[A::mt][2],
                                                        const float *weights,
                                                        float (&acc)[A::mt][A::nt][4])
{
    int kgroup = threadIdx.x / 32 / A::mg, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    const float *w = weights + g * A::wpitch + 2 * t;
    if constexpr (A::c < 8) { /* of 4 channels: two taps at a time, threads 2 and 3 the second */
#pragma unroll
        for (int k = 0; k < 5; k++)
            multiply_terms<A>(row, t & 2 ? tap_offset<A>(2 * k + 1) - 4 : tap_offset<A>(2 * k),
                              w + 8 * k, acc);
    } else {
        constexpr int eights = A::c / 8, across = A::kg < eights ? A::kg : eights;
        constexpr int shares = A::kg / across;
        int share = kgroup / across;
#pragma unroll 1
        for (int c = kgroup % across * 8; c < A::c; c += 8 * across)
#pragma unroll
            for (int tap = 0; tap < 9; tap++)
                if (shares == 1 || tap * shares / 9 == share)
                    multiply_terms<A>(row, tap_offset<A>(tap) + c, w + tap * A::c + c, acc);
    }
}

/* The convolution of the pixels from m0 on, into the tile's planes. */
template <class A>
static __device__ __noinline__ void convolve_block(const struct forward_share &s, int m0,
                                                   float *weights, float *picture)
{
    const struct dims &l = layer_dims[A::shape];
    int mgroup = threadIdx.x / 32 % A::mg, kgroup = threadIdx.x / 32 / A::mg;
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, last = min(m0 + A::block, s.pixels) - 1, x;
    int top = x_row(l, m0, &x);
    const float *row[A::mt][2];
    float acc[A::mt][A::nt][4] = {};
    if (m0 == 0)
        stage_weights<A>(s.w, weights);
    stage_tall<A::c, A::pitch>(l.input, s.x, s.n, top, x_row(l, last, &x) + 3 - top, 0, picture);
    copies_end();
#pragma unroll
    for (int i = 0; i < 2 * A::mt; i++) {
        int m = m0 + (mgroup * A::mt + i / 2) * 16 + i % 2 * 8 + g;
        int y = x_row(l, min(m, last), &x) - top;
        row[i / 2][i % 2] = picture + (y * A::cols + x) * A::pitch + 2 * t;
    }
    copies_wait<0>();
    __syncthreads();
    multiply_forward<A>(row, weights, acc);
    __syncthreads();
    float *to = picture + kgroup * A::plane + (mgroup * A::mt * 16 + g) * A::tpitch + 2 * t;
#pragma unroll
    for (int m = 0; m < A::mt; m++)
#pragma unroll
        for (int n = 0; n < A::nt; n++) {
            float *at = to + m * 16 * A::tpitch + n * 8;
            *(float2 *)at = make_float2(acc[m][n][0], acc[m][n][1]);
            *(float2 *)(at + 8 * A::tpitch) = make_float2(acc[m][n][2], acc[m][n][3]);
        }
    __syncthreads();
}

/* What the layers of a net share of the rest. */
template <int F> struct rest_of {
    static constexpr int f = F, own = F / TEAM, quads = own / 4, step = TASK_THREADS / quads;
    static constexpr int tpitch = known_pitch(own, 1);
};

/* z from the tile to memory, to its first plane and into the sums about the pivot. */
template <class A>
static __device__ __forceinline__ void keep_z(const struct forward_share &s, int m0, int rows,
                                              float *tile, int planes, int plane, float4 &pivot,
                                              float4 &sum, float4 &square)
{
    int quad = threadIdx.x % A::quads * 4;
    if (m0 == 0) {
        pivot = planes4(tile + quad, planes, plane);
        __syncthreads();
    }
#pragma unroll 1
    for (int r = threadIdx.x / A::quads; r < rows; r += A::step) {
        float *at = tile + r * A::tpitch + quad;
        float4 v = planes4(at, planes, plane), d = minus(v, pivot);
        write4(s.z + (m0 + r) * A::f + quad, v);
        put4(at, v);
        if (m0 + r < s.counted) {
            sum = plus(sum, d);
            square = fma4(d, d, square);
        }
    }
}

/* Thread c's channel: what normalises it, for all to use and for the way back.  `about`:
 * sums of z and its square about the pivot, which lies in mu. */
template <class A>
static __device__ __forceinline__ void
set_statistics(const struct conv_step &s, const struct team &m, int counted, double2 about,
               float gamma, float beta, struct norm_channels *ch)
{
    int i = threadIdx.x, c = m.rank * A::own + i;
    if (i >= A::own)
        return;
    double over = counted > 0 ? 1.0f / counted : 0, mean = about.x * over;
    float var = (float)fmax(about.y * over - mean * mean, 0.0), scale = 1 / sqrtf(var + s.eps);
    ch->mu[i] = (float)(ch->mu[i] + mean);
    ch->scale[i] = scale * gamma;
    ch->beta[i] = beta;
    stats_of(s, m, STAT_MU, A::f)[c] = ch->mu[i];
    stats_of(s, m, STAT_S, A::f)[c] = scale;
}

/* The output; the last block of pixels, from m0 on, is still in the tile. */
template <class A>
static __device__ __forceinline__ void put_output(const struct forward_share &s, int m0,
                                                  const float *tile, const struct norm_channels *ch)
{
    int quad = threadIdx.x % A::quads * 4;
    float4 mu = get4(ch->mu + quad), scale = get4(ch->scale + quad), beta = get4(ch->beta + quad);
#pragma unroll 4
    for (int p = threadIdx.x / A::quads; p < s.pixels; p += A::step) {
        float4 z = p < m0 ? read4(s.z + p * A::f + quad) : get4(tile + (p - m0) * A::tpitch + quad);
        float4 y = fma4(minus(z, mu), scale, beta);
        write4(s.out + p * A::f + quad, round4(where_on(y, y)));
    }
}

/* BLOCK, planes and where the tile lies: of the layer's forward_of; NET::convolve calls it. */
template <class NET>
static __device__ __noinline__ void team_forward(int layer, const struct conv_step &s,
                                                 const struct team &m, struct team_shared *shared,
                                                 float *dynamic)
{
    using A = rest_of<NET::f>;
    const struct dims &l = layer_dims[NET::base + layer];
    const struct cut cut = NET::cut(layer);
    int n = images_of(s, m);
    size_t image = (size_t)m.task * s.n, plane = image * (l.pixels * A::f) + m.rank * A::own;
    struct forward_share mine = {n,
                                 n * l.pixels,
                                 min(s.stat, n) * l.pixels,
                                 s.x + image * l.in_floats,
                                 theta_at(s, m.task, TENSOR_WEIGHT) +
                                     m.rank * A::own * 9 * l.input.c,
                                 s.cache.z + plane,
                                 s.cache.out + plane};
    float *tile = dynamic + cut.tile, gamma = 0, beta = 0;
    if (threadIdx.x < A::own) {
        gamma = __ldcg(theta_at(s, m.task, TENSOR_GAMMA) + m.rank * A::own + threadIdx.x);
        beta = __ldcg(theta_at(s, m.task, TENSOR_BETA) + m.rank * A::own + threadIdx.x);
    }
    float4 pivot = {}, sum = {}, square = {};
    int kept = 0;
#pragma unroll 1
    for (int m0 = 0; m0 < mine.pixels; m0 += cut.block) {
        if (m0 > 0)
            __syncthreads();
        NET::convolve(layer, mine, m0, dynamic, tile);
        keep_z<A>(mine, m0, min(cut.block, mine.pixels - m0), tile, cut.planes, cut.plane, pivot,
                  sum, square);
        kept = m0;
    }
    if (threadIdx.x < A::quads)
        put4(shared->ch.mu + threadIdx.x * 4, pivot);
    double2 about = sum_channels<A::quads>(sum, square, &shared->sums);
    set_statistics<A>(s, m, mine.counted, about, gamma, beta, &shared->ch);
    __syncthreads();
    put_output<A>(mine, kept, tile, &shared->ch);
}

#endif
