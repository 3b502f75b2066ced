/* cuda_tail.cu - a head's forward pass, its loss, its backward pass, and batch norm backward
 * of the conv layer before it, in one launch.
 *
 * A block per task; everything but the gradients stays in shared memory.  Each step is too
 * small to fill even that block: what counts is how few times it waits.
 */
#include "cuda_conv.h"
#include "cuda_dense.cuh"
#include "cuda_xent.cuh"

enum {
    TAIL_WARPS = 16,
    TAIL_THREADS = TAIL_WARPS * 32,
    SHARERS = 4,       /* threads that add up a channel: of 64 channels all have one sum to make */
    TAIL_STATIC = 4096 /* bytes left for what the kernel declares itself */
};

struct tail_args {
    struct head_args head;
    struct conv_args conv;
    bool early; /* the kernel before has not written the head's weights */
};

/* In shared memory: the head's input and weights, the gradient of its input, z, each (rows,
 * in); of a channel batch norm's parameters, and its sums by thread and then whole. */
struct tail {
    float *x, *w, *dx, *z, *logits;
    float *mu, *s, *scale, *beta, *c1, *c2, *sums;
};

static __host__ __device__ __forceinline__ int lanes_of(int channels) /* pixels at once */
{
    return TAIL_THREADS / (channels / 4);
}

/* Lays it out from `at`; returns the floats it takes. */
static __host__ __device__ __forceinline__ size_t tail_layout(const struct tail_args &a,
                                                              struct tail *t, float *at)
{
    const struct dense_args &k = a.head.dense;
    int rows = k.n * k.in, channels = a.conv.out_c;
    float *from = at;
    t->x = at, at += rows;
    t->dx = at, at += rows;
    t->z = at, at += rows;
    t->w = at, at += k.out * k.in;
    t->mu = at, at += channels;
    t->s = at, at += channels;
    t->scale = at, at += channels;
    t->beta = at, at += channels;
    t->c1 = at, at += channels;
    t->c2 = at, at += channels;
    t->sums = at, at += 2 * lanes_of(channels) * channels;
    t->logits = at, at += k.n * k.out_c;
    return (size_t)(at - from);
}

static __device__ __forceinline__ void stage(float *to, const float *from, int floats)
{
    for (int i = threadIdx.x * 4; i < floats; i += TAIL_THREADS * 4)
        copy16(to + i, from + i, true);
}

/* A warp per image and class. */
static __device__ __forceinline__ void tail_logits(const struct dense_args &k, const struct tail &t,
                                                   int task, int n)
{
    const float *theta = task_at(k.theta, task, k.bias);
    int lane = threadIdx.x % 32;
    for (int pair = threadIdx.x / 32; pair < n * k.out_c; pair += TAIL_WARPS) {
        int i = pair / k.out_c, o = pair % k.out_c;
        float sum = 0;
        for (int j = lane * 4; o < k.out && j < k.in; j += 128)
            sum = dot4(*(const float4 *)(t.x + i * k.in + j), *(const float4 *)(t.w + o * k.in + j),
                       sum);
        for (int step = 16; step > 0; step /= 2)
            sum += __shfl_xor_sync(~0u, sum, step);
        float y = o < k.out ? sum + theta[o] : 0;
        if (lane == 0)
            t.logits[pair] = k.cache.out[(size_t)task * k.n * k.out_c + pair] = y;
    }
}

/* Four columns of a row of dw, or of dx. */
static __device__ __forceinline__ void tail_quad(const struct dense_args &k, const struct tail &t,
                                                 int task, int n, int at)
{
    int quads = k.in / 4, row = at / quads, j = at % quads * 4, image = row - k.out;
    float4 sum = {};
    if (image >= 0) {
        for (int o = 0; o < k.out; o++)
            add4(sum, t.logits[image * k.out_c + o], *(const float4 *)(t.w + o * k.in + j));
        *(float4 *)(t.dx + image * k.in + j) = sum;
        *(float4 *)(k.dx + ((size_t)task * k.n + image) * k.in + j) = sum;
        return;
    }
    float bias = 0;
    for (int i = 0; i < n; i++) {
        float dy = t.logits[i * k.out_c + row];
        add4(sum, dy, *(const float4 *)(t.x + i * k.in + j));
        bias += dy;
    }
    const size_t place[1] = {k.weight + (size_t)row * k.in + j};
    const bool real[1] = {true};
    const float v[1][4] = {{sum.x, sum.y, sum.z, sum.w}};
    sink_quads<1>(k.sink, task, place, real, v);
    if (j == 0)
        sink_value(k.sink, task, k.bias + row, bias);
}

/* ---- batch norm ---- */

static __device__ __forceinline__ void load_norm(const struct conv_args &a, const struct tail &t,
                                                 int task)
{
    for (int c = threadIdx.x; c < a.out_c; c += TAIL_THREADS) {
        t.mu[c] = stat_at(a, a.cache, task, STAT_MU)[c];
        t.s[c] = stat_at(a, a.cache, task, STAT_S)[c];
        t.scale[c] = tensor_at(a.theta, task, a.l, TENSOR_GAMMA)[c] * t.s[c];
        t.beta[c] = tensor_at(a.theta, task, a.l, TENSOR_BETA)[c];
    }
}

/* A thread's sums over its pixels of dy and dy xh, 4 channels, to (2, lane, channels). */
static __device__ __forceinline__ void sum_pixels(const struct conv_args &a, const struct tail &t,
                                                  int pixels)
{
    int quads = a.out_c / 4, c = threadIdx.x % quads * 4, lane = threadIdx.x / quads;
    float dy[4] = {}, product[4] = {};
    if (lane >= lanes_of(a.out_c))
        return;
    for (int p = lane; p < pixels; p += lanes_of(a.out_c))
        for (int j = 0; j < 4; j++) {
            float centred = t.z[p * a.out_c + c + j] - t.mu[c + j];
            float y = fmaf(centred, t.scale[c + j], t.beta[c + j]);
            float d = y > 0 ? t.dx[p * a.out_c + c + j] : 0;
            dy[j] += d;
            product[j] += d * (centred * t.s[c + j]);
        }
    for (int j = 0; j < 4; j++) {
        t.sums[lane * a.out_c + c + j] = dy[j];
        t.sums[(lanes_of(a.out_c) + lane) * a.out_c + c + j] = product[j];
    }
}

/* A channel's sums, by SHARERS threads, and what follows from them. */
static __device__ __forceinline__ void set_channels(const struct conv_args &a, const struct tail &t,
                                                    int task, int stat)
{
    int lanes = lanes_of(a.out_c), share = threadIdx.x % SHARERS;
    double over = stat > 0 ? 1 / ((double)stat * a.l.conv_h * a.l.conv_w) : 0;
    for (int c0 = 0; c0 < a.out_c; c0 += TAIL_THREADS / SHARERS) {
        int c = c0 + threadIdx.x / SHARERS;
        double dy = 0, product = 0;
        for (int i = share; c < a.out_c && i < lanes; i += SHARERS) {
            dy += t.sums[i * a.out_c + c];
            product += t.sums[(lanes + i) * a.out_c + c];
        }
        for (int step = 1; step < SHARERS; step *= 2) {
            dy += __shfl_xor_sync(~0u, dy, step);
            product += __shfl_xor_sync(~0u, product, step);
        }
        if (c >= a.out_c || share > 0)
            continue;
        float *grad = task_at(a.sink.grad, task, c);
        t.c1[c] = stat_at(a, a.cache, task, STAT_C1)[c] = (float)(dy * over);
        t.c2[c] = stat_at(a, a.cache, task, STAT_C2)[c] = (float)(product * over);
        sink_value(a.sink, task, a.l.offset[TENSOR_BETA] + c, (float)dy);
        sink_value(a.sink, task, a.l.offset[TENSOR_GAMMA] + c, (float)product);
        sink_value(a.sink, task, a.l.offset[TENSOR_BIAS] + c, 0);
        grad[a.l.offset[TENSOR_MEAN]] = grad[a.l.offset[TENSOR_VAR]] = 0;
    }
}

template <bool FULL>
static __device__ __forceinline__ void put_dz(const struct conv_args &a, const struct tail &t,
                                              int task, int pixels, int counted)
{
    int quads = a.out_c / 4, c = threadIdx.x % quads * 4;
    float *dz = a.cache.dz + (size_t)task * a.n * a.l.conv_h * a.l.conv_w * a.out_c + c;
    for (int p = threadIdx.x / quads; threadIdx.x / quads < lanes_of(a.out_c) && p < pixels;
         p += lanes_of(a.out_c)) {
        float v[4];
        for (int j = 0; j < 4; j++) {
            float centred = t.z[p * a.out_c + c + j] - t.mu[c + j];
            float y = fmaf(centred, t.scale[c + j], t.beta[c + j]), xh = centred * t.s[c + j];
            float u = (y > 0 ? t.dx[p * a.out_c + c + j] : 0) -
                      (p < counted ? t.c1[c + j] + xh * t.c2[c + j] : 0);
            v[j] = FULL ? t.scale[c + j] * u : round_tf32(t.scale[c + j] * u);
        }
        store4(dz + p * a.out_c, v);
    }
}

template <bool FULL>
static __global__ void __launch_bounds__(TAIL_THREADS)
    tail_kernel(const __grid_constant__ struct tail_args a)
{
    extern __shared__ __align__(128) float dynamic[];
    const struct dense_args &k = a.head.dense;
    const struct conv_args &conv = a.conv;
    struct tail t;
    int task = blockIdx.x, plane = conv.l.conv_h * conv.l.conv_w;
    tail_layout(a, &t, dynamic);
    if (!a.early)
        wait_for_previous();
    stage(t.w, task_at(k.theta, task, k.weight), k.out * k.in);
    if (a.early)
        wait_for_previous();
    int n = k.count ? k.count[task] : k.n;
    stage(t.x, k.x + (size_t)task * k.n * k.in, n * k.in);
    stage(t.z, conv.cache.z + (size_t)task * k.n * k.in, n * k.in);
    copies_end();
    load_norm(conv, t, task);
    copies_wait<0>();
    __syncthreads();
    tail_logits(k, t, task, n);
    __syncthreads();
    xent_task<TAIL_WARPS>(a.head.xent, task, t.logits);
    __syncthreads();
    for (int at = threadIdx.x; at < (k.out + n) * (k.in / 4); at += TAIL_THREADS)
        tail_quad(k, t, task, n, at);
    __syncthreads();
    sum_pixels(conv, t, n * plane);
    __syncthreads();
    set_channels(conv, t, task, min(conv.stat, n));
    __syncthreads();
    put_dz<FULL>(conv, t, task, n * plane, min(conv.stat, n) * plane);
}

/* What fits a block, and has channels that share its threads out evenly enough. */
extern "C" bool cuda_tail(struct device *d, const struct head_args *head, int tasks,
                          const struct conv_args *conv)
{
    struct tail_args a = {*head, *conv, after_forward(d)};
    struct tail t;
    const struct dense_args &k = head->dense;
    size_t bytes = tail_layout(a, &t, NULL) * sizeof(float);
    bool fits = conv->out_c / 4 <= TAIL_THREADS && bytes <= (size_t)d->shared_max - TAIL_STATIC;
    if (!fits || conv->stat == 0 || conv->l.pool || conv->v.at || conv->tasks != tasks ||
        conv->n != k.n || conv->count != k.count || conv->cache.dout != k.dx)
        return false;
    struct grid g = {.x = (unsigned)tasks, .threads = TAIL_THREADS, .shared = bytes};
    cuda_launch(d,
                in_fp32(d, &conv->l) ? (const void *)tail_kernel<true>
                                     : (const void *)tail_kernel<false>,
                g, &a, "tail");
    return true;
}
