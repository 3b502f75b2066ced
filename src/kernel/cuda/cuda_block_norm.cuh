/* cuda_block_norm.cuh - batch norm backward of a layer that does not pool, by some threads of
 * one block, which has just made its dout: with what a loss ends in, in one launch.
 *
 * The formulas are those of cuda_norm_back.cuh.  All that is read lies in shared memory: here
 * it is latency that counts.
 */
#ifndef CUDA_BLOCK_NORM_CUH
#define CUDA_BLOCK_NORM_CUH

#include "cuda_norm_back.cuh"

enum { SHARERS = 4 }; /* threads that add up a channel: of 64 channels all have one sum to make */

/* A batch and its threads.  In shared memory: dout and z (pixels, channels); of a channel batch
 * norm's parameters and their gradients, and its sums by lane (2, lanes, channels).  All by
 * fours of channels, so everything begins at 16 bytes. */
struct block_norm {
    int task, n;       /* n: images */
    int rank, threads; /* this one among those that work on it */
    float *dout, *z;
    float *mu, *s, *scale, *beta, *c1, *c2, *dbeta, *dgamma, *sums;
};

static __host__ __device__ __forceinline__ int block_norm_lanes(int channels, int threads)
{
    return threads / (channels / 4); /* pixels at once */
}

static __host__ __device__ __forceinline__ size_t block_norm_floats(const struct conv_args &a,
                                                                    int threads)
{
    return 8 * (size_t)a.out_rows + 2 * (size_t)block_norm_lanes(a.out_c, threads) * a.out_c;
}

/* Lays out those floats: what follows dout and z. */
static __host__ __device__ __forceinline__ void block_norm_layout(const struct conv_args &a,
                                                                  struct block_norm *t, float *at)
{
    t->mu = at;
    t->s = t->mu + a.out_rows;
    t->scale = t->s + a.out_rows;
    t->beta = t->scale + a.out_rows;
    t->c1 = t->beta + a.out_rows;
    t->c2 = t->c1 + a.out_rows;
    t->dbeta = t->c2 + a.out_rows;
    t->dgamma = t->dbeta + a.out_rows;
    t->sums = t->dgamma + a.out_rows;
}

/* Whether the threads and the layer are made for it. */
static inline bool block_norm_fits(const struct conv_args *a, int threads)
{
    return a->out_c / 4 <= threads && a->stat > 0 && !a->l.pool && !a->v.at;
}

static __device__ __forceinline__ void load_block_norm(const struct conv_args &a,
                                                       const struct block_norm &t)
{
#pragma unroll 1
    for (int c = t.rank; c < a.out_c; c += t.threads) {
        float mu = stat_at(a, a.cache, t.task, STAT_MU)[c]; /* all under way together */
        float s = stat_at(a, a.cache, t.task, STAT_S)[c];
        float gamma = tensor_at(a.theta, t.task, a.l, TENSOR_GAMMA)[c];
        float beta = tensor_at(a.theta, t.task, a.l, TENSOR_BETA)[c];
        t.mu[c] = mu;
        t.s[c] = s;
        t.scale[c] = gamma * s;
        t.beta[c] = beta;
    }
}

static __device__ __forceinline__ void take_few(struct few<4> &f, const struct block_norm &t, int c)
{
    take4(f.mu, t.mu + c);
    take4(f.s, t.s + c);
    take4(f.scale, t.scale + c);
    take4(f.beta, t.beta + c);
    take4(f.c1, t.c1 + c);
    take4(f.c2, t.c2 + c);
}

static __device__ __forceinline__ void take_pixel(struct reading<1> &r, const struct block_norm &t,
                                                  int at)
{
    r.at[0] = 0;
    take4(r.z[0], t.z + at);
    take4(r.dout, t.dout + at);
}

/* A thread's sums over its pixels of dy and dy xh, 4 channels. */
static __device__ __forceinline__ void sum_pixels(const struct conv_args &a,
                                                  const struct block_norm &t, int pixels)
{
    int quads = a.out_c / 4, c = t.rank % quads * 4, lane = t.rank / quads;
    int lanes = block_norm_lanes(a.out_c, t.threads);
    float sum[3][4] = {};
    struct few<4> f;
    if (lane >= lanes)
        return;
    take_few(f, t, c);
#pragma unroll 1
    for (int p = lane; p < pixels; p += lanes) {
        struct reading<1> r;
        take_pixel(r, t, p * a.out_c + c);
        count_pixel<1, false>(f, r, sum);
    }
    for (int i = SUM_DY; i <= SUM_DY_XH; i++)
        *(float4 *)(t.sums + (i * lanes + lane) * a.out_c + c) =
            make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
}

/* A channel's sums, by SHARERS threads, and what follows from them; of padding, zeros. */
static __device__ __forceinline__ void set_channels(const struct conv_args &a,
                                                    const struct block_norm &t, int stat)
{
    int lanes = block_norm_lanes(a.out_c, t.threads), share = t.rank % SHARERS;
    double over = stat > 0 ? 1 / ((double)stat * a.l.conv_h * a.l.conv_w) : 0;
#pragma unroll 1
    for (int c0 = 0; c0 < a.out_rows; c0 += t.threads / SHARERS) {
        int c = c0 + t.rank / SHARERS;
        double dy = 0, product = 0;
        for (int i = share; c < a.out_c && i < lanes; i += SHARERS) {
            dy += t.sums[i * a.out_c + c];
            product += t.sums[(lanes + i) * a.out_c + c];
        }
        for (int step = 1; step < SHARERS; step *= 2) {
            dy += __shfl_xor_sync(~0u, dy, step);
            product += __shfl_xor_sync(~0u, product, step);
        }
        if (c >= a.out_rows || share > 0)
            continue;
        t.c1[c] = stat_at(a, a.cache, t.task, STAT_C1)[c] = (float)(dy * over);
        t.c2[c] = stat_at(a, a.cache, t.task, STAT_C2)[c] = (float)(product * over);
        t.dbeta[c] = (float)dy;
        t.dgamma[c] = (float)product;
    }
}

/* The parameters' gradients, from channel c on, for which `old` has been read. */
static __device__ __forceinline__ void
sink_channels(const struct conv_args &a, const struct block_norm &t, int c, channel_olds &old)
{
#pragma unroll 1
    for (; c < a.out_rows; c += t.threads) {
        if (c >= t.threads)
            channel_begin(a, t.task, c, true, old);
        channel_end(a, t.task, c, t.dbeta[c], t.dgamma[c], 0, old);
    }
}

template <bool FULL>
static __device__ __forceinline__ void put_dz(const struct conv_args &a, const struct block_norm &t,
                                              int pixels, int counted)
{
    int quads = a.out_c / 4, c = t.rank % quads * 4, lane = t.rank / quads;
    int lanes = block_norm_lanes(a.out_c, t.threads);
    float *dz = a.cache.dz + (size_t)t.task * a.n * a.l.conv_h * a.l.conv_w * a.out_c + c;
    struct few<4> f;
    if (lane >= lanes)
        return;
    take_few(f, t, c);
#pragma unroll 1
    for (int p = lane; p < pixels; p += lanes) {
        struct reading<1> r;
        float to[1][4];
        take_pixel(r, t, p * a.out_c + c);
        dz_of<FULL, 1, false>(f, r, p < counted, to);
        store4(dz + p * a.out_c, to[0]);
    }
}

/* The whole block calls it, some threads for one batch and some perhaps for another, when all
 * of dout is there. */
template <bool FULL>
static __device__ __forceinline__ void block_norm_back(const struct conv_args &a,
                                                       const struct block_norm &t)
{
    int plane = a.l.conv_h * a.l.conv_w, stat = min(a.stat, t.n);
    int c = t.threads - 1 - t.rank; /* the last threads have fewest pixels */
    channel_olds old;
    channel_begin(a, t.task, c, c < a.out_rows, old);
    __syncthreads();
    sum_pixels(a, t, t.n * plane);
    __syncthreads();
    set_channels(a, t, stat);
    __syncthreads();
    sink_channels(a, t, c, old);
    put_dz<FULL>(a, t, t.n * plane, stat * plane);
}

#endif
