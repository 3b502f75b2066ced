/* cuda_fused_head.cu - a head's forward pass, its loss, its backward pass, and batch norm backward
 * of the conv layer before it, in one launch.
 *
 * A block per task; everything but the gradients stays in shared memory.  Each step is too
 * small to fill even that block: what counts is how few times it waits.
 */
#include "cuda_dense.cuh"
#include "cuda_block_norm.cuh"
#include "cuda_xent.cuh"

enum {
    FUSED_HEAD_WARPS = 16,
    FUSED_HEAD_THREADS = FUSED_HEAD_WARPS * 32,
    FUSED_HEAD_STATIC = 4096 /* bytes left for what the kernel declares itself */
};

struct fused_head_args {
    struct head_args head;
    struct conv_args conv;
    bool early; /* the kernel before has not written the head's weights */
};

/* In shared memory: the head's input (rows, in), weights and biases; the gradient of its input
 * is batch norm's dout. */
struct fused_head {
    float *x, *w, *bias, *logits;
    int32_t *labels;
    struct block_norm norm;
};

/* Lays it out from `at`; returns the floats it takes. */
static __host__ __device__ __forceinline__ size_t fused_head_layout(const struct fused_head_args &a,
                                                                    struct fused_head *t, float *at)
{
    const struct dense_args &k = a.head.dense;
    int rows = k.n * k.in;
    float *from = at;
    t->norm.threads = FUSED_HEAD_THREADS;
    t->x = at, at += rows;
    t->norm.dout = at, at += rows;
    t->norm.z = at, at += rows;
    t->w = at, at += k.out * k.in;
    block_norm_layout(a.conv, &t->norm, at);
    at += block_norm_floats(a.conv, FUSED_HEAD_THREADS);
    t->logits = at, at += k.n * k.out_c;
    t->bias = at, at += k.out;
    t->labels = (int32_t *)at, at += k.n;
    return (size_t)(at - from);
}

static __device__ __forceinline__ void stage(float *to, const float *from, int floats)
{
#pragma unroll 1
    for (int i = threadIdx.x * 4; i < floats; i += FUSED_HEAD_THREADS * 4)
        copy16(to + i, from + i, true);
}

/* What single threads read, in warps that have not waited for anything yet: it comes with the
 * rest. */
static __device__ __forceinline__ void load_few_values(const struct fused_head_args &a,
                                                       const struct fused_head &t, int task, int n)
{
    const struct dense_args &k = a.head.dense;
    const int32_t *labels = a.head.xent.labels + (size_t)task * k.n;
#pragma unroll 1
    for (int i = threadIdx.x ^ FUSED_HEAD_THREADS / 2; i < n; i += FUSED_HEAD_THREADS)
        t.labels[i] = labels[i];
#pragma unroll 1
    for (int o = FUSED_HEAD_THREADS - 1 - threadIdx.x; o < k.out; o += FUSED_HEAD_THREADS)
        t.bias[o] = *weights_at(k.theta, task, k.bias + o);
}

/* Four sums over the warp at once: lane 8 r is left with the r-th, and so are those after it. */
static __device__ __forceinline__ float sum_fours(const float (&v)[4])
{
    bool upper = threadIdx.x & 16, odd = threadIdx.x & 8;
    float two[2], one;
#pragma unroll
    for (int r = 0; r < 2; r++)
        two[r] = (upper ? v[2 + r] : v[r]) + __shfl_xor_sync(~0u, upper ? v[r] : v[2 + r], 16);
    one = (odd ? two[1] : two[0]) + __shfl_xor_sync(~0u, odd ? two[0] : two[1], 8);
    for (int step = 4; step > 0; step /= 2)
        one += __shfl_xor_sync(~0u, one, step);
    return one;
}

/* A warp per image and four classes; padding is zeros. */
static __device__ __forceinline__ void
fused_head_logits(const struct dense_args &k, const struct fused_head &t, int task, int n)
{
    float *out = k.cache.out + (size_t)task * k.n * k.out_c;
    int lane = threadIdx.x % 32, groups = (k.out + 3) / 4;
#pragma unroll 1
    for (int at = threadIdx.x / 32; at < n * groups; at += FUSED_HEAD_WARPS) {
        int i = at / groups, o = at % groups * 4, mine = o + lane / 8;
        float sum[4] = {};
#pragma unroll 1
        for (int j = lane * 4; j < k.in; j += 128) {
            float4 x = *(const float4 *)(t.x + i * k.in + j);
#pragma unroll
            for (int r = 0; r < 4; r++)
                sum[r] = dot4(x, *(const float4 *)(t.w + min(o + r, k.out - 1) * k.in + j), sum[r]);
        }
        float y = sum_fours(sum);
        if (lane % 8 == 0 && mine < k.out)
            t.logits[i * k.out_c + mine] = out[i * k.out_c + mine] = y + t.bias[mine];
    }
#pragma unroll 1
    for (int at = threadIdx.x; at < n * k.out_c; at += FUSED_HEAD_THREADS)
        if (at % k.out_c >= k.out)
            t.logits[at] = out[at] = 0;
}

/* Four columns of an image's dx. */
static __device__ __forceinline__ void fused_head_dx(const struct dense_args &k,
                                                     const struct fused_head &t, int task, int at)
{
    int quads = k.in / 4, image = at / quads, j = at % quads * 4;
    float4 sum = {};
    for (int o = 0; o < k.out; o++)
        add4(sum, t.logits[image * k.out_c + o], *(const float4 *)(t.w + o * k.in + j));
    *(float4 *)(t.norm.dout + image * k.in + j) = sum;
    *(float4 *)(k.dx + ((size_t)task * k.n + image) * k.in + j) = sum;
}

/* dw by fours, and the biases': what a step of a thread's first ones reads is asked for early. */
struct fused_head_olds {
    struct olds<1, 4> quad;
    struct olds<1, 1> bias;
};

static __device__ __forceinline__ void begin_dw(const struct dense_args &k, int task, int at,
                                                struct olds<1, 4> &old)
{
    sink_begin<1, 4>(k.sink, task, {k.weight + 4 * at}, {at < k.out * (k.in / 4)}, old);
}

static __device__ __forceinline__ void fused_head_begin(const struct dense_args &k, int task,
                                                        struct fused_head_olds &old)
{
    int o = FUSED_HEAD_THREADS - 1 - threadIdx.x;
    begin_dw(k, task, threadIdx.x, old.quad);
    sink_begin<1, 1>(k.sink, task, {k.bias + o}, {o < k.out}, old.bias);
}

static __device__ __forceinline__ void fused_head_dw(const struct dense_args &k,
                                                     const struct fused_head &t, int task, int n,
                                                     struct fused_head_olds &old)
{
    int quads = k.in / 4;
#pragma unroll 1
    for (int at = threadIdx.x; at < k.out * quads; at += FUSED_HEAD_THREADS) {
        int row = at / quads, j = at % quads * 4;
        float4 sum = {};
        if (at >= FUSED_HEAD_THREADS)
            begin_dw(k, task, at, old.quad);
        for (int i = 0; i < n; i++)
            add4(sum, t.logits[i * k.out_c + row], *(const float4 *)(t.x + i * k.in + j));
        sink_end<1, 4>(k.sink, task, {k.weight + 4 * at}, {true}, {{sum.x, sum.y, sum.z, sum.w}},
                       old.quad);
    }
#pragma unroll 1
    for (int o = FUSED_HEAD_THREADS - 1 - threadIdx.x; o < k.out; o += FUSED_HEAD_THREADS) {
        float sum = 0;
        if (o >= FUSED_HEAD_THREADS)
            sink_begin<1, 1>(k.sink, task, {k.bias + o}, {true}, old.bias);
        for (int i = 0; i < n; i++)
            sum += t.logits[i * k.out_c + o];
        sink_end<1, 1>(k.sink, task, {k.bias + o}, {true}, {{sum}}, old.bias);
    }
}

template <bool FULL>
static __global__ void __launch_bounds__(FUSED_HEAD_THREADS, 1)
    fused_head_kernel(const __grid_constant__ struct fused_head_args a)
{
    extern __shared__ __align__(128) float dynamic[];
    __shared__ double losses[FUSED_HEAD_WARPS];
    const struct dense_args &k = a.head.dense;
    const struct conv_args &conv = a.conv;
    struct fused_head t;
    int task = blockIdx.x;
    fused_head_layout(a, &t, dynamic);
    if (!a.early)
        wait_for_previous();
    stage(t.w, weights_at(k.theta, task, k.weight), k.out * k.in);
    if (a.early)
        wait_for_previous();
    int n = k.count ? k.count[task] : k.n;
    stage(t.x, k.x + (size_t)task * k.n * k.in, n * k.in);
    t.norm.task = task;
    t.norm.n = n;
    t.norm.rank = threadIdx.x;
    stage(t.norm.z, conv.cache.z + (size_t)task * k.n * k.in, n * k.in);
    copies_end();
    load_block_norm(conv, t.norm);
    load_few_values(a, t, task, n);
    copies_wait<0>();
    __syncthreads();
    fused_head_logits(k, t, task, n);
    __syncthreads();
    xent_rows<FUSED_HEAD_WARPS>(a.head.xent, task, t.labels, t.logits, losses);
    __syncthreads();
#pragma unroll 1
    for (int at = threadIdx.x; at < n * (k.in / 4); at += FUSED_HEAD_THREADS)
        fused_head_dx(k, t, task, at);
    struct fused_head_olds old;
    fused_head_begin(k, task, old);
    block_norm_back<FULL>(conv, t.norm);
    fused_head_dw(k, t, task, n, old);
    if (threadIdx.x == FUSED_HEAD_THREADS - 1)
        put_loss<FUSED_HEAD_WARPS>(losses, a.head.xent.loss + task);
}

/* What fits a block. */
extern "C" bool cuda_fused_head(struct device *d, const struct head_args *head, int tasks,
                                const struct conv_args *conv)
{
    struct fused_head_args a = {*head, *conv, after_forward(d)};
    struct fused_head t;
    const struct dense_args &k = head->dense;
    size_t bytes = fused_head_layout(a, &t, NULL) * sizeof(float);
    if (!block_norm_fits(conv, FUSED_HEAD_THREADS) ||
        bytes > (size_t)d->shared_max - FUSED_HEAD_STATIC || conv->tasks != tasks ||
        conv->n != k.n || conv->count != k.count || conv->cache.dout != k.dx)
        return false;
    struct grid g = {.x = (unsigned)tasks, .threads = FUSED_HEAD_THREADS, .shared = bytes};
    cuda_launch(d,
                in_fp32(d, &conv->l) ? (const void *)fused_head_kernel<true>
                                     : (const void *)fused_head_kernel<false>,
                g, &a, "fused head");
    return true;
}
