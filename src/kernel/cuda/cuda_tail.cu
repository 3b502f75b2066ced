/* cuda_tail.cu - a head's forward pass, its loss, its backward pass, and batch norm backward
 * of the conv layer before it, in one launch.
 *
 * A block per task; everything but the gradients stays in shared memory.  Each step is too
 * small to fill even that block: what counts is how few times it waits.
 */
#include "cuda_dense.cuh"
#include "cuda_tail_norm.cuh"
#include "cuda_xent.cuh"

enum {
    TAIL_WARPS = 16,
    TAIL_THREADS = TAIL_WARPS * 32,
    TAIL_STATIC = 4096 /* bytes left for what the kernel declares itself */
};

struct tail_args {
    struct head_args head;
    struct conv_args conv;
    bool early; /* the kernel before has not written the head's weights */
};

/* In shared memory: the head's input (rows, in) and weights; the gradient of its input is
 * batch norm's dout. */
struct tail {
    float *x, *w, *logits;
    struct tail_norm norm;
};

/* Lays it out from `at`; returns the floats it takes. */
static __host__ __device__ __forceinline__ size_t tail_layout(const struct tail_args &a,
                                                              struct tail *t, float *at)
{
    const struct dense_args &k = a.head.dense;
    int rows = k.n * k.in;
    float *from = at;
    t->norm.threads = TAIL_THREADS;
    t->x = at, at += rows;
    t->norm.dout = at, at += rows;
    t->norm.z = at, at += rows;
    t->w = at, at += k.out * k.in;
    tail_norm_layout(a.conv, &t->norm, at);
    at += tail_norm_floats(a.conv, TAIL_THREADS);
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
        *(float4 *)(t.norm.dout + image * k.in + j) = sum;
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

template <bool FULL>
static __global__ void __launch_bounds__(TAIL_THREADS)
    tail_kernel(const __grid_constant__ struct tail_args a)
{
    extern __shared__ __align__(128) float dynamic[];
    const struct dense_args &k = a.head.dense;
    const struct conv_args &conv = a.conv;
    struct tail t;
    int task = blockIdx.x;
    tail_layout(a, &t, dynamic);
    if (!a.early)
        wait_for_previous();
    stage(t.w, task_at(k.theta, task, k.weight), k.out * k.in);
    if (a.early)
        wait_for_previous();
    int n = k.count ? k.count[task] : k.n;
    stage(t.x, k.x + (size_t)task * k.n * k.in, n * k.in);
    t.norm.task = task;
    t.norm.n = n;
    t.norm.rank = threadIdx.x;
    stage(t.norm.z, conv.cache.z + (size_t)task * k.n * k.in, n * k.in);
    copies_end();
    load_tail_norm(conv, t.norm);
    copies_wait<0>();
    __syncthreads();
    tail_logits(k, t, task, n);
    __syncthreads();
    xent_task<TAIL_WARPS>(a.head.xent, task, t.logits);
    __syncthreads();
    for (int at = threadIdx.x; at < (k.out + n) * (k.in / 4); at += TAIL_THREADS)
        tail_quad(k, t, task, n, at);
    tail_norm_back<FULL>(conv, t.norm);
}

/* What fits a block. */
extern "C" bool cuda_tail(struct device *d, const struct head_args *head, int tasks,
                          const struct conv_args *conv)
{
    struct tail_args a = {*head, *conv, after_forward(d)};
    struct tail t;
    const struct dense_args &k = head->dense;
    size_t bytes = tail_layout(a, &t, NULL) * sizeof(float);
    if (!tail_norm_fits(conv, TAIL_THREADS) || bytes > (size_t)d->shared_max - TAIL_STATIC ||
        conv->tasks != tasks || conv->n != k.n || conv->count != k.count ||
        conv->cache.dout != k.dx)
        return false;
    struct grid g = {.x = (unsigned)tasks, .threads = TAIL_THREADS, .shared = bytes};
    cuda_launch(d,
                in_fp32(d, &conv->l) ? (const void *)tail_kernel<true>
                                     : (const void *)tail_kernel<false>,
                g, &a, "tail");
    return true;
}
