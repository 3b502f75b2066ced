/* cuda_backward_norm.cuh - from the gradient of a block's output to dz, through
 * pooling, ReLU and batch norm; and the tangent of that.
 *
 * dy, the gradient after pooling and ReLU were undone, is not kept: it is dout at
 * the pixel the output came from, and 0 elsewhere.
 */
#ifndef CUDA_BACKWARD_NORM_CUH
#define CUDA_BACKWARD_NORM_CUH

#include "cuda_norm.cuh"

/* One block's part of a slice: output pixels first..last-1 of a task. */
struct part {
    int task, n, stat, slice, first, last;
};

/* The sums a channel needs.  Gradient: dy, dy xh, and of z for running averages.
 * Tangent: Rdy, Rdy xh + dy Rxh, and dy. */
enum { SUM_DY, SUM_DY_XH, SUM_Z, SUM_ZZ, SUM_DY_AGAIN = SUM_Z };

static __device__ __forceinline__ float rxhat(const struct slice *ch, int c, float xh, float rz)
{
    return ch->s[c] * (rz - ch->m1[c] - xh * ch->m2[c]);
}

/* Pointers to channel c0 of pixel 0 of the task. */
struct planes {
    const float *z, *rz, *dout, *rdout;
    float *dz;
};

template <bool TANGENT>
static __device__ struct planes planes_of(const struct conv_args &a, int task, int c0)
{
    size_t conv = (size_t)task * a.n * a.l.conv_h * a.l.conv_w * a.out_c + c0;
    size_t out = (size_t)task * a.n * a.l.out_h * a.l.out_w * a.out_c + c0;
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
    load4(r.dout, k.dout + (size_t)p * a.out_c);
    if (TANGENT) {
        load_window<W>(r.rz, k.rz, a.out_c, r.at);
        load4(r.rdout, k.rdout + (size_t)p * a.out_c);
    }
}

/* Adds a pixel to this thread's sums. */
template <int W, bool TANGENT>
static __device__ __forceinline__ void
count_pixel(const struct slice *ch, int quad, const struct reading<W> &r, bool running,
            float (&sum)[SUMS_MAX][4], float (&pivot)[4], int &made)
{
#pragma unroll
    for (int j = 0; j < 4; j++) {
        struct seen<W> v = see<W>(ch, quad + j, r.at, r.z, j);
        float xh = 0, rz = 0, dy = v.on ? r.dout[j] : 0, rdy = TANGENT && v.on ? r.rdout[j] : 0;
#pragma unroll
        for (int k = 0; k < W; k++)
            if (k == v.source) {
                xh = v.xh[k];
                rz = TANGENT ? r.rz[k][j] : 0;
            }
        if (TANGENT) {
            sum[SUM_DY][j] += rdy;
            sum[SUM_DY_XH][j] += rdy * xh + dy * rxhat(ch, quad + j, xh, rz);
            sum[SUM_DY_AGAIN][j] += dy;
            continue;
        }
        sum[SUM_DY][j] += dy;
        sum[SUM_DY_XH][j] += dy * xh;
        for (int k = 0; running && k < W; k++)
            if (r.at[k] >= 0) {
                if (made == 0 && k == 0)
                    pivot[j] = r.z[k][j];
                sum[SUM_Z][j] += r.z[k][j] - pivot[j];
                sum[SUM_ZZ][j] += (r.z[k][j] - pivot[j]) * (r.z[k][j] - pivot[j]);
            }
    }
    for (int k = 0; k < W; k++)
        made += r.at[k] >= 0;
}

/* This thread's sums over the part, as doubles about zero. */
template <int W, bool TANGENT>
static __device__ void sum_part(const struct conv_args &a, const struct slice *ch,
                                const struct part &s, double (&total)[SUMS_MAX][4])
{
    enum { BATCH = W > 1 ? 1 : TANGENT ? 2 : 4, STEP = THREADS / 4 };
    int quad = threadIdx.x % 4 * 4, c0 = s.slice * SLICE + quad, made = 0;
    float sum[SUMS_MAX][4] = {}, pivot[4] = {};
    const struct planes k = planes_of<TANGENT>(a, s.task, c0);
    for (int p = s.first + threadIdx.x / 4; p < s.last && c0 < a.out_c; p += BATCH * STEP) {
        struct reading<W> r[BATCH];
#pragma unroll
        for (int u = 0; u < BATCH; u++)
            if (p + u * STEP < s.last)
                read_pixel<W, TANGENT>(a, k, p + u * STEP, r[u]);
#pragma unroll
        for (int u = 0; u < BATCH; u++)
            if (p + u * STEP < s.last)
                count_pixel<W, TANGENT>(ch, quad, r[u], s.stat == 0, sum, pivot, made);
    }
    for (int j = 0; j < 4; j++) {
        double at = pivot[j], z = sum[SUM_Z][j];
        total[SUM_DY][j] = sum[SUM_DY][j];
        total[SUM_DY_XH][j] = sum[SUM_DY_XH][j];
        total[SUM_Z][j] = TANGENT ? z : z + made * at;
        total[SUM_ZZ][j] = sum[SUM_ZZ][j] + at * (2 * z + made * at);
    }
}

/* dz of every pixel under an output pixel, or the tangent of it. */
template <int W, bool TANGENT>
static __device__ __forceinline__ void put_pixel(const struct conv_args &a, const struct slice *ch,
                                                 int quad, const struct reading<W> &r, bool in,
                                                 float *dz)
{
    float to[W][4];
#pragma unroll
    for (int j = 0; j < 4; j++) {
        int c = quad + j;
        struct seen<W> v = see<W>(ch, c, r.at, r.z, j);
        float scale = ch->gamma[c] * ch->s[c];
        float rscale = ch->rgamma[c] * ch->s[c] - scale * ch->s[c] * ch->m2[c];
#pragma unroll
        for (int k = 0; k < W; k++) {
            bool here = v.on && k == v.source;
            float xh = v.xh[k];
            float u = (here ? r.dout[j] : 0) - (in ? ch->c1[c] + xh * ch->c2[c] : 0);
            if (TANGENT) {
                float rxh = rxhat(ch, c, xh, r.rz[k][j]);
                float ru = (here ? r.rdout[j] : 0) -
                           (in ? ch->rc1[c] + rxh * ch->c2[c] + xh * ch->rc2[c] : 0);
                to[k][j] = rscale * u + scale * ru;
            } else {
                to[k][j] = scale * u;
            }
        }
    }
#pragma unroll
    for (int k = 0; k < W; k++)
        if (r.at[k] >= 0)
            store4(dz + (size_t)r.at[k] * a.out_c, to[k]);
}

template <int W, bool TANGENT>
static __device__ void put_part(const struct conv_args &a, const struct slice *ch,
                                const struct part &s)
{
    enum { BATCH = W > 1 ? 1 : TANGENT ? 2 : 4, STEP = THREADS / 4 };
    int quad = threadIdx.x % 4 * 4, c0 = s.slice * SLICE + quad;
    int counted = s.stat * a.l.out_h * a.l.out_w;
    const struct planes k = planes_of<TANGENT>(a, s.task, c0);
    for (int p = s.first + threadIdx.x / 4; p < s.last && c0 < a.out_c; p += BATCH * STEP) {
        struct reading<W> r[BATCH];
#pragma unroll
        for (int u = 0; u < BATCH; u++)
            if (p + u * STEP < s.last)
                read_pixel<W, TANGENT>(a, k, p + u * STEP, r[u]);
#pragma unroll
        for (int u = 0; u < BATCH; u++)
            if (p + u * STEP < s.last)
                put_pixel<W, TANGENT>(a, ch, quad, r[u], p + u * STEP < counted, k.dz);
    }
}

/* ---- channels ---- */

static __device__ void load_slice(const struct conv_args &a, const struct part &s, bool tangent,
                                  struct slice *ch)
{
    int i = threadIdx.x, c = s.slice * SLICE + i;
    if (i >= SLICE)
        return;
    ch->mu[i] = stat_at(a, a.cache, s.task, STAT_MU)[c];
    ch->s[i] = stat_at(a, a.cache, s.task, STAT_S)[c];
    ch->gamma[i] = tensor_at(a.theta, s.task, a.l, TENSOR_GAMMA)[c];
    ch->beta[i] = tensor_at(a.theta, s.task, a.l, TENSOR_BETA)[c];
    ch->m1[i] = ch->m2[i] = ch->rgamma[i] = 0;
    if (!tangent)
        return;
    ch->c1[i] = stat_at(a, a.cache, s.task, STAT_C1)[c];
    ch->c2[i] = stat_at(a, a.cache, s.task, STAT_C2)[c];
    ch->m1[i] = stat_at(a, a.tangent, s.task, STAT_M1)[c];
    ch->m2[i] = stat_at(a, a.tangent, s.task, STAT_M2)[c];
    ch->rgamma[i] = tensor_at(a.v, s.task, a.l, TENSOR_GAMMA)[c];
}

/* (running - this batch's) statistics of z + bias. */
static __device__ void put_running(const struct conv_args &a, const struct part &s,
                                   const struct sums *sums, int i, float *mean, float *var)
{
    double m = (double)s.n * a.l.conv_h * a.l.conv_w, mu = sums->total[SUM_Z][i] / m;
    int c = s.slice * SLICE + i;
    *mean = *var = 0;
    if (s.stat > 0 || s.n == 0 || c >= a.l.out_c)
        return;
    *mean = (float)(tensor_at(a.theta, s.task, a.l, TENSOR_MEAN)[c] -
                    (mu + tensor_at(a.theta, s.task, a.l, TENSOR_BIAS)[c]));
    *var = (float)(tensor_at(a.theta, s.task, a.l, TENSOR_VAR)[c] -
                   fmax(sums->total[SUM_ZZ][i] / m - mu * mu, 0.0));
}

/* c1, c2 (or Rc1, Rc2) and this layer's gradients of a channel; `keep` in one block
 * of those that share the slice. */
template <bool TANGENT>
static __device__ void set_slice(const struct conv_args &a, const struct part &s,
                                 const struct sums *sums, struct slice *ch, bool keep)
{
    int i = threadIdx.x, c = s.slice * SLICE + i;
    if (i >= SLICE)
        return;
    double m = (double)s.stat * a.l.conv_h * a.l.conv_w;
    double dy = sums->total[SUM_DY][i], product = sums->total[SUM_DY_XH][i];
    float mean1 = s.stat > 0 ? (float)(dy / m) : 0, mean2 = s.stat > 0 ? (float)(product / m) : 0;
    double bias = ch->gamma[i] * ch->s[i] * dy; /* the sum of dz */
    if (TANGENT)
        bias += ch->rgamma[i] * ch->s[i] * sums->total[SUM_DY_AGAIN][i];
    (TANGENT ? ch->rc1 : ch->c1)[i] = mean1;
    (TANGENT ? ch->rc2 : ch->c2)[i] = mean2;
    if (!keep)
        return;
    float *grad = (float *)a.grad.at + (size_t)s.task * a.grad.stride + c;
    grad[a.l.offset[TENSOR_BETA]] = (float)dy;
    grad[a.l.offset[TENSOR_GAMMA]] = (float)product;
    grad[a.l.offset[TENSOR_BIAS]] = s.stat > 0 ? 0 : (float)bias;
    grad[a.l.offset[TENSOR_MEAN]] = grad[a.l.offset[TENSOR_VAR]] = 0;
    if (TANGENT)
        return;
    put_running(a, s, sums, i, grad + a.l.offset[TENSOR_MEAN], grad + a.l.offset[TENSOR_VAR]);
    stat_at(a, a.cache, s.task, STAT_C1)[c] = mean1;
    stat_at(a, a.cache, s.task, STAT_C2)[c] = mean2;
}

/* The whole of it for one slice; every block of the cluster takes part. */
template <int W, bool TANGENT>
static __device__ void normalise_backward(const struct conv_args &a, struct part s, int rank,
                                          struct sums *sums, struct slice *ch)
{
    bool active = s.slice < a.out_rows / SLICE;
    double total[SUMS_MAX][4] = {};
    if (active)
        load_slice(a, s, TANGENT, ch);
    __syncthreads();
    if (active)
        sum_part<W, TANGENT>(a, ch, s, total);
    add_up<SUMS_MAX>(total, sums, rank, a.plan.splits);
    if (active)
        set_slice<TANGENT>(a, s, sums, ch, rank % a.plan.splits == 0);
    __syncthreads();
    if (active)
        put_part<W, TANGENT>(a, ch, s);
}

#endif
