/* cuda_norm_back.cuh - from the gradient of a conv block's output to dz, through
 * pooling, ReLU and batch norm; and the tangent of that.
 *
 * dy, the gradient after pooling and ReLU were undone, is not kept: it is dout at
 * the pixel the output came from, and 0 elsewhere.  A thread works on 4 channels of
 * an output pixel.
 */
#ifndef CUDA_NORM_BACK_CUH
#define CUDA_NORM_BACK_CUH

#include "cuda_norm.cuh"

enum { STEP = THREADS / 4 }; /* pixels a block reads at once */

/* One block's part of a slice: output pixels first..last-1 of a task. */
struct part {
    int task, n, stat, c0, first, last;
};

/* The sums a channel needs.  Gradient: dy, dy xh, and of z for running averages.
 * Tangent: Rdy, Rdy xh + dy Rxh, and dy. */
enum { SUM_DY, SUM_DY_XH, SUM_Z, SUM_ZZ, SUM_DY_AGAIN = SUM_Z };

/* Pointers to channel c of pixel 0 of the task. */
struct planes {
    const float *z, *rz, *dout, *rdout;
    float *dz;
};

template <bool TANGENT>
static __device__ __forceinline__ struct planes planes_of(const struct conv_args &a, int task,
                                                          int c)
{
    size_t conv = (size_t)task * a.n * a.l.conv_h * a.l.conv_w * a.out_c + c;
    size_t out = (size_t)task * a.n * a.l.out_h * a.l.out_w * a.out_c + c;
    struct planes p = {a.cache.z + conv, a.tangent.z + conv, a.cache.dout + out,
                       a.tangent.dout + out, (TANGENT ? a.tangent.dz : a.cache.dz) + conv};
    return p;
}

/* What is read of an output pixel, four channels of it. */
template <int W> struct reading {
    int at[W];
    float z[W][4], rz[W][4], dout[4], rdout[4];
};

template <int W, bool TANGENT>
static __device__ __forceinline__ void read_pixel(const struct conv_args &a, const struct planes &k,
                                                  int p, struct reading<W> &r)
{
    window_of<W>(a.l, p, r.at);
    load_window<W>(r.z, k.z, a.out_c, r.at);
    load4(r.dout, k.dout + p * a.out_c);
    if (TANGENT) {
        load_window<W>(r.rz, k.rz, a.out_c, r.at);
        load4(r.rdout, k.rdout + p * a.out_c);
    }
}

using norm_sums = struct sums<WARPS, 4, SLICE>;

/* Adds a pixel to this thread's sums. */
template <int W, bool TANGENT>
static __device__ __forceinline__ void count_pixel(const struct few<4> &f,
                                                   const struct reading<W> &r, float (&sum)[3][4])
{
#pragma unroll
    for (int j = 0; j < 4; j++) {
        struct seen<W> v = see<W, 4>(f, j, r.at, r.z);
        float xh = 0, rz = 0, dy = v.on ? r.dout[j] : 0, rdy = TANGENT && v.on ? r.rdout[j] : 0;
#pragma unroll
        for (int k = 0; k < W; k++)
            if (W == 1 || k == v.source) {
                xh = v.xh[k];
                rz = TANGENT ? r.rz[k][j] : 0;
            }
        if (TANGENT) {
            sum[SUM_DY][j] += rdy;
            sum[SUM_DY_XH][j] += rdy * xh + dy * rxhat(f, j, xh, rz);
            sum[SUM_DY_AGAIN][j] += dy;
        } else {
            sum[SUM_DY][j] += dy;
            sum[SUM_DY_XH][j] += dy * xh;
        }
    }
}

/* How many output pixels a thread reads together: they stay in registers between the
 * sums and dz where a part has no more.  With twice as many registers ran out. */
template <int W, bool TANGENT> static __device__ __host__ constexpr int batch_of(void)
{
    return W > 1 ? 1 : TANGENT ? 2 : 4;
}

/* Pixels p, p + STEP, ... */
template <int W, bool TANGENT>
static __device__ __forceinline__ void read_batch(const struct conv_args &a, const struct planes &k,
                                                  int p, int last,
                                                  struct reading<W> (&r)[batch_of<W, TANGENT>()])
{
#pragma unroll
    for (int u = 0; u < batch_of<W, TANGENT>(); u++)
        if (p + u * STEP < last)
            read_pixel<W, TANGENT>(a, k, p + u * STEP, r[u]);
}

/* The warp's sums of z and its square over the part, for running averages. */
template <int W>
static __device__ __forceinline__ void sum_running(const struct conv_args &a, const struct part &s,
                                                   const struct planes &k, norm_sums *sums)
{
    int quad = threadIdx.x % 4 * 4;
    double sum[2][4] = {};
    for (int p = s.first + threadIdx.x / 4; p < s.last && s.c0 + quad < a.out_c; p += STEP) {
        int at[W];
        float z[W][4];
        window_of<W>(a.l, p, at);
        load_window<W>(z, k.z, a.out_c, at); /* zeros where there is no pixel */
        for (int i = 0; i < W * 4; i++) {
            sum[0][i % 4] += z[i / 4][i % 4];
            sum[1][i % 4] += (double)z[i / 4][i % 4] * z[i / 4][i % 4];
        }
    }
    for (int i = 0; i < 8; i++) {
        double v = sum[i / 4][i % 4];
        for (int step = 4; step < 32; step *= 2)
            v += __shfl_xor_sync(~0u, v, step);
        sums->warp[threadIdx.x / 32][SUM_Z + i / 4][quad + i % 4] = v;
    }
}

/* dz of every pixel under an output pixel, or the tangent of it; in: the pixel is of those
 * that made statistics. */
template <bool FULL, int W, bool TANGENT>
static __device__ __forceinline__ void dz_of(const struct few<4> &f, const struct reading<W> &r,
                                             bool in, float (&to)[W][4])
{
#pragma unroll
    for (int j = 0; j < 4; j++) {
        struct seen<W> v = see<W, 4>(f, j, r.at, r.z);
        float rscale = TANGENT ? (f.rgamma[j] - f.scale[j] * f.m2[j]) * f.s[j] : 0;
#pragma unroll
        for (int k = 0; k < W; k++) {
            bool here = v.on && (W == 1 || k == v.source);
            float xh = v.xh[k], value;
            float u = (here ? r.dout[j] : 0) - (in ? f.c1[j] + xh * f.c2[j] : 0);
            if (TANGENT) {
                float rxh = rxhat(f, j, xh, r.rz[k][j]);
                float ru =
                    (here ? r.rdout[j] : 0) - (in ? f.rc1[j] + rxh * f.c2[j] + xh * f.rc2[j] : 0);
                value = rscale * u + f.scale[j] * ru;
            } else {
                value = f.scale[j] * u;
            }
            to[k][j] = FULL ? value : round_tf32(value);
        }
    }
}

template <bool FULL, int W, bool TANGENT>
static __device__ __forceinline__ void put_pixel(const struct conv_args &a, const struct few<4> &f,
                                                 const struct reading<W> &r, bool in, float *dz)
{
    float to[W][4];
    dz_of<FULL, W, TANGENT>(f, r, in, to);
#pragma unroll
    for (int k = 0; k < W; k++)
        if (W == 1 || r.at[k] >= 0)
            store4(dz + r.at[k] * a.out_c, to[k]);
}

/* ---- channels ---- */

static __device__ __forceinline__ void load_slice(const struct conv_args &a, const struct part &s,
                                                  bool tangent, struct slice *ch)
{
    int i = threadIdx.x, c = s.c0 + i;
    if (i >= SLICE)
        return;
    float mu = stat_at(a, a.cache, s.task, STAT_MU)[c]; /* all under way together */
    float s1 = stat_at(a, a.cache, s.task, STAT_S)[c];
    float gamma = tensor_at(a.theta, s.task, a.l, TENSOR_GAMMA)[c];
    float beta = tensor_at(a.theta, s.task, a.l, TENSOR_BETA)[c];
    ch->mu[i] = mu;
    ch->s[i] = s1;
    ch->gamma[i] = gamma;
    ch->beta[i] = beta;
    ch->scale[i] = gamma * s1;
    if (!tangent)
        return;
    ch->c1[i] = stat_at(a, a.cache, s.task, STAT_C1)[c];
    ch->c2[i] = stat_at(a, a.cache, s.task, STAT_C2)[c];
    ch->m1[i] = stat_at(a, a.tangent, s.task, STAT_M1)[c];
    ch->m2[i] = stat_at(a, a.tangent, s.task, STAT_M2)[c];
    ch->rgamma[i] = tensor_at(a.v, s.task, a.l, TENSOR_GAMMA)[c];
}

/* (running - this batch's) statistics of z + bias. */
static __device__ __forceinline__ void put_running(const struct conv_args &a, const struct part &s,
                                                   const norm_sums *sums, int i, float *mean,
                                                   float *var)
{
    int c = s.c0 + i;
    if (s.stat > 0 || s.n == 0 || c >= a.l.out_c)
        return;
    double m = (double)s.n * a.l.conv_h * a.l.conv_w, mu = sums->total[SUM_Z][i] / m;
    *mean = (float)(tensor_at(a.theta, s.task, a.l, TENSOR_MEAN)[c] -
                    (mu + tensor_at(a.theta, s.task, a.l, TENSOR_BIAS)[c]));
    *var = (float)(tensor_at(a.theta, s.task, a.l, TENSOR_VAR)[c] -
                   fmax(sums->total[SUM_ZZ][i] / m - mu * mu, 0.0));
}

/* c1, c2 (or Rc1, Rc2) of a channel.  over: 1 / the values that make statistics, or 0. */
template <bool TANGENT>
static __device__ __forceinline__ void set_slice(double over, const norm_sums *sums,
                                                 struct slice *ch)
{
    int i = threadIdx.x;
    if (i >= SLICE)
        return;
    (TANGENT ? ch->rc1 : ch->c1)[i] = (float)(sums->total[SUM_DY][i] * over);
    (TANGENT ? ch->rc2 : ch->c2)[i] = (float)(sums->total[SUM_DY_XH][i] * over);
}

/* beta, gamma and bias of a channel. */
using channel_olds = struct olds<3, 1>;

static __device__ __forceinline__ void channel_places(const struct conv_args &a, int c,
                                                      size_t (&at)[3])
{
    at[0] = a.l.offset[TENSOR_BETA] + c;
    at[1] = a.l.offset[TENSOR_GAMMA] + c;
    at[2] = a.l.offset[TENSOR_BIAS] + c;
}

/* Begins to read what a step of them needs, long before it is taken. */
static __device__ __forceinline__ void channel_begin(const struct conv_args &a, int task, int c,
                                                     bool real, channel_olds &old)
{
    size_t at[3];
    channel_places(a, c, at);
    sink_begin<3, 1>(a.sink, task, at, {real, real, real}, old);
}

/* Their gradients; those of the running averages are zeros. */
static __device__ __forceinline__ void channel_end(const struct conv_args &a, int task, int c,
                                                   float dbeta, float dgamma, float dbias,
                                                   channel_olds &old)
{
    float *grad = task_at(a.sink.grad, task, c);
    size_t at[3];
    channel_places(a, c, at);
    sink_end<3, 1>(a.sink, task, at, {true, true, true}, {{dbeta}, {dgamma}, {dbias}}, old);
    grad[a.l.offset[TENSOR_MEAN]] = grad[a.l.offset[TENSOR_VAR]] = 0;
}

/* This layer's gradients of a channel, and what tangents need. */
template <bool TANGENT>
static __device__ __forceinline__ void keep_slice(const struct conv_args &a, const struct part &s,
                                                  const norm_sums *sums, const struct slice *ch,
                                                  channel_olds &old)
{
    int i = threadIdx.x, c = s.c0 + i;
    if (i >= SLICE)
        return;
    double dy = sums->total[SUM_DY][i], bias = ch->scale[i] * dy; /* the sum of dz */
    if (TANGENT)
        bias += ch->rgamma[i] * ch->s[i] * sums->total[SUM_DY_AGAIN][i];
    channel_end(a, s.task, c, (float)dy, (float)sums->total[SUM_DY_XH][i],
                s.stat > 0 ? 0 : (float)bias, old);
    if (TANGENT)
        return;
    float *grad = task_at(a.sink.grad, s.task, c);
    put_running(a, s, sums, i, grad + a.l.offset[TENSOR_MEAN], grad + a.l.offset[TENSOR_VAR]);
    stat_at(a, a.cache, s.task, STAT_C1)[c] = ch->c1[i];
    stat_at(a, a.cache, s.task, STAT_C2)[c] = ch->c2[i];
}

/* ---- a slice ---- */

/* A thread's sums, added up over its warp. */
template <bool TANGENT, class SUMS>
static __device__ __forceinline__ void put_sums(const float (&sum)[3][4], SUMS *sums)
{
#pragma unroll
    for (int i = 0; i < (TANGENT ? 3 : 2); i++) {
        float total = spread_sum<4>(sum[i]);
        if (!(threadIdx.x & 4))
            sums->warp[threadIdx.x / 32][i][threadIdx.x % 4 * 4 + channel_of_lane<4>()] = total;
    }
}

/* The warp's sums over the part, whose first batch is in r; leaves its last one there. */
template <int W, bool TANGENT>
static __device__ __forceinline__ int
sum_part(const struct conv_args &a, const struct part &s, const struct planes &k,
         const struct few<4> &f, struct reading<W> (&r)[batch_of<W, TANGENT>()], norm_sums *sums)
{
    int quad = threadIdx.x % 4 * 4, p = s.first + threadIdx.x / 4, kept = p;
    float sum[3][4] = {};
    for (; p < s.last && s.c0 + quad < a.out_c; p += batch_of<W, TANGENT>() * STEP) {
        if (p >= s.first + STEP)
            read_batch<W, TANGENT>(a, k, p, s.last, r);
#pragma unroll
        for (int u = 0; u < batch_of<W, TANGENT>(); u++)
            if (p + u * STEP < s.last)
                count_pixel<W, TANGENT>(f, r[u], sum);
        kept = p;
    }
    put_sums<TANGENT>(sum, sums);
    return kept;
}

/* dz of the part, from its last batch, which is in r, to its first. */
template <bool FULL, int W, bool TANGENT>
static __device__ __forceinline__ void
put_part(const struct conv_args &a, const struct part &s, const struct planes &k,
         const struct few<4> &f, struct reading<W> (&r)[batch_of<W, TANGENT>()], int kept)
{
    int counted = s.stat * a.l.out_h * a.l.out_w;
    for (int p = kept; p >= s.first && s.c0 + threadIdx.x % 4 * 4 < a.out_c;
         p -= batch_of<W, TANGENT>() * STEP) {
        if (p != kept)
            read_batch<W, TANGENT>(a, k, p, s.last, r);
#pragma unroll
        for (int u = 0; u < batch_of<W, TANGENT>(); u++)
            if (p + u * STEP < s.last)
                put_pixel<FULL, W, TANGENT>(a, f, r[u], p + u * STEP < counted, k.dz);
    }
}

static __device__ __forceinline__ struct part part_of(const struct conv_args &a, int task, int c0,
                                                      int part, int splits)
{
    int n = a.count ? a.count[task] : a.n, outputs = n * a.l.out_h * a.l.out_w;
    int each = (outputs + splits - 1) >> log2_of(splits), first = min(part * each, outputs);
    return {task, n, min(a.stat, n), c0, first, min(first + each, outputs)};
}

/* All sums of a part and of the parts it shares the slice with, which are a cluster, and
 * what follows from them for the channels: in ch and f.  Leaves the last batch in r.
 * RUNNING: statistics may be running averages. */
template <int W, bool TANGENT, bool RUNNING>
static __device__ __forceinline__ int
sum_slice(const struct conv_args &a, const struct part &s, const struct planes &k, int splits,
          bool keep, struct few<4> &f, struct reading<W> (&r)[batch_of<W, TANGENT>()],
          norm_sums *sums, struct slice *ch)
{
    int quad = threadIdx.x % 4 * 4;
    double over = s.stat > 0 ? 1 / ((double)s.stat * a.l.conv_h * a.l.conv_w) : 0;
    bool running = RUNNING && !TANGENT && s.stat == 0;
    sums_begin(sums, running ? 4 : TANGENT ? 3 : 2, splits);
    if (s.c0 + quad < a.out_c) /* under way while channels are loaded */
        read_batch<W, TANGENT>(a, k, s.first + threadIdx.x / 4, s.last, r);
    channel_olds old;
    channel_begin(a, s.task, s.c0 + threadIdx.x, keep && threadIdx.x < SLICE, old);
    load_slice(a, s, TANGENT, ch);
    __syncthreads();
    load_few<4, TANGENT>(f, ch, quad);
    int kept = sum_part<W, TANGENT>(a, s, k, f, r, sums);
    if (running)
        sum_running<W>(a, s, k, sums);
    add_up(sums, running ? 4 : TANGENT ? 3 : 2, WARPS, splits);
    set_slice<TANGENT>(over, sums, ch);
    __syncthreads();
    load_few<4, TANGENT>(f, ch, quad);
    if (keep)
        keep_slice<TANGENT>(a, s, sums, ch, old);
    return kept;
}

/* A block's part of a slice of a task, channels c0... */
template <bool FULL, int W, bool TANGENT, bool RUNNING>
static __device__ __forceinline__ void norm_slice(const struct conv_args &a, int task, int c0,
                                                  int part, int splits, norm_sums *sums,
                                                  struct slice *ch)
{
    const struct part s = part_of(a, task, c0, part, splits);
    const struct planes k = planes_of<TANGENT>(a, task, c0 + threadIdx.x % 4 * 4);
    struct reading<W> r[batch_of<W, TANGENT>()];
    struct few<4> f;
    int kept = sum_slice<W, TANGENT, RUNNING>(a, s, k, splits, part == 0, f, r, sums, ch);
    put_part<FULL, W, TANGENT>(a, s, k, f, r, kept);
}

#endif
