/* cuda_vector.cu - vectors and optimiser steps.  Sums are over tasks in their order. */
#include "cuda_tile.cuh"
#include "cuda_together.h"

enum { VECTOR_BLOCKS = 512, DOT_BLOCKS = 256 };

static unsigned blocks_for(size_t items, unsigned most)
{
    size_t blocks = (items + THREADS - 1) / THREADS;
    return blocks < most ? (unsigned)blocks : most;
}

/* ---- axpy, sums over tasks and optimiser steps, which share launches ---- */

static bool quads(const struct vec &v)
{
    return (uintptr_t)v.at % 16 == 0 && v.stride % 4 == 0;
}

static __device__ void axpy(const struct operation &o, int task, int block)
{
    float *to = task_at(o.to, task, 0);
    const float *y = weights_at(o.y, task, 0), *x = weights_at(o.x, task, 0);
    for (size_t i = block * THREADS + threadIdx.x; i < o.len; i += o.blocks * THREADS)
        to[i] = fmaf(o.a, x[i], y[i]);
}

enum { AXPY_EACH = 4 }; /* fours of a thread, under way together */

static __device__ void axpy4(const struct operation &o, int task, int block)
{
    float4 *to = (float4 *)task_at(o.to, task, 0);
    const float4 *y = (const float4 *)weights_at(o.y, task, 0),
                 *x = (const float4 *)weights_at(o.x, task, 0);
    size_t first = (size_t)block * (THREADS * AXPY_EACH) + threadIdx.x, len = o.len / 4;
    float4 u[AXPY_EACH], v[AXPY_EACH];
#pragma unroll
    for (int k = 0; k < AXPY_EACH; k++)
        if (first + k * THREADS < len) {
            u[k] = __ldcg(y + first + k * THREADS);
            v[k] = __ldcg(x + first + k * THREADS);
        }
#pragma unroll
    for (int k = 0; k < AXPY_EACH; k++)
        if (first + k * THREADS < len)
            to[first + k * THREADS] =
                make_float4(fmaf(o.a, v[k].x, u[k].x), fmaf(o.a, v[k].y, u[k].y),
                            fmaf(o.a, v[k].z, u[k].z), fmaf(o.a, v[k].w, u[k].w));
}

/* What an update starts from, asked for before the sum is made. */
struct before {
    float theta, m, v;
};

static __device__ __forceinline__ struct before before_update(const struct update &u, size_t i)
{
    struct before b = {};
    if (u.theta)
        b.theta = u.theta[i];
    if (u.theta && u.m) {
        b.m = u.m[i];
        b.v = u.v[i];
    }
    return b;
}

static __device__ __forceinline__ void take_update(const struct update &u, size_t i,
                                                   struct before b, float gradient)
{
    if (!u.m) {
        u.theta[i] = b.theta - (float)(u.lr * u.scale * gradient);
        return;
    }
    double g = u.scale * gradient;
    double m = u.beta1 * b.m + (1 - u.beta1) * g, v = u.beta2 * b.v + (1 - u.beta2) * g * g;
    u.m[i] = (float)m;
    u.v[i] = (float)v;
    u.theta[i] = b.theta - (float)(u.now->rate * m / (sqrt(v) + u.now->eps));
}

/* Tasks in their order, a meta-batch of 32 under way together. */
static __device__ void sum_tasks(const struct operation &o, int block)
{
    enum { BATCH = 32 };
    float *to = (float *)o.to.at;
    for (size_t i = block * THREADS + threadIdx.x; i < o.len; i += o.blocks * THREADS) {
        const float *x = (const float *)o.x.at + i;
        struct before b = before_update(o.then, i);
        float sum = o.add ? to[i] : 0, v[BATCH];
        for (int t = 0; t < o.tasks; t += BATCH) {
#pragma unroll
            for (int j = 0; j < BATCH; j++)
                v[j] = t + j < o.tasks ? __ldcg(x + (t + j) * o.x.stride) : 0;
#pragma unroll
            for (int j = 0; j < BATCH; j++)
                sum = t + j < o.tasks ? sum + v[j] : sum;
        }
        if (to)
            to[i] = sum;
        if (o.then.theta)
            take_update(o.then, i, b, sum);
    }
}

struct vectors_args {
    struct operation of[TOGETHER];
};

static __host__ __device__ __forceinline__ int blocks_of(const struct operation &o)
{
    return (int)o.blocks * (o.kind == o.VECTOR_SUM ? 1 : o.tasks);
}

/* Blocks: one operation's after the other's. */
static __global__ void __launch_bounds__(THREADS)
    vectors_kernel(const __grid_constant__ struct vectors_args a)
{
    int i = 0, block = (int)blockIdx.x;
#pragma unroll 1
    for (; block >= blocks_of(a.of[i]); i++)
        block -= blocks_of(a.of[i]);
    const struct operation &o = a.of[i];
    wait_for_previous();
    if (o.kind == o.VECTOR_SUM)
        sum_tasks(o, block);
    else if (o.kind == o.VECTOR_AXPY4)
        axpy4(o, block / o.blocks, block % o.blocks);
    else
        axpy(o, block / o.blocks, block % o.blocks);
}

extern "C" void cuda_vectors(struct device *d, const struct operation *of, int n)
{
    struct vectors_args args;
    static_assert(sizeof args <= 4096, "what every kernel can be given");
    memset(&args, 0, sizeof args);
    memcpy(args.of, of, (size_t)n * sizeof *of);
    struct grid g = {.threads = THREADS};
    for (int i = 0; i < n; i++)
        g.x += (unsigned)blocks_of(of[i]);
    cuda_launch(d, (const void *)vectors_kernel, g, &args, "vectors");
}

extern "C" void cuda_axpy(struct device *d, int tasks, size_t len, struct vec to, struct vec y,
                          double a, struct vec x)
{
    bool by4 = len % 4 == 0 && quads(to) && quads(y) && quads(x);
    struct operation o = {.tasks = tasks, .len = len, .to = to, .y = y, .x = x, .a = (float)a};
    o.kind = by4 ? o.VECTOR_AXPY4 : o.VECTOR_AXPY;
    o.blocks = by4 ? blocks_for((len / 4 + AXPY_EACH - 1) / AXPY_EACH, ~0u)
                   : blocks_for(len, VECTOR_BLOCKS);
    cuda_together(d, &o);
}

static void note_sum(struct device *d, struct operation o)
{
    o.kind = o.VECTOR_SUM;
    o.blocks = blocks_for(o.len, 4096);
    cuda_together(d, &o);
}

extern "C" void cuda_reduce(struct device *d, int tasks, size_t len, void *to, struct vec x,
                            bool add)
{
    note_sum(d, {.tasks = tasks, .len = len, .to = {to, 0}, .x = x, .add = add});
}

/* Of elements from..from + len. */
static void note_update(struct device *d, size_t from, size_t len, const void *g,
                        const struct update &u)
{
    struct update moved = u;
    moved.theta += from;
    if (u.m) {
        moved.m += from;
        moved.v += from;
    }
    note_sum(d, {.tasks = 1, .len = len, .x = {(float *)g + from, 0}, .then = moved});
}

extern "C" void cuda_sgd(struct device *d, size_t from, size_t len, void *theta, const void *g,
                         double scale, double lr)
{
    note_update(d, from, len, g, {.theta = (float *)theta, .scale = scale, .lr = lr});
}

extern "C" void cuda_adam(struct device *d, size_t from, size_t len, void *theta, void *m, void *v,
                          const void *g, double scale, const struct adam *a,
                          const struct adam_rates *now)
{
    note_update(d, from, len, g,
                {.theta = (float *)theta,
                 .m = (float *)m,
                 .v = (float *)v,
                 .scale = scale,
                 .beta1 = a->beta1,
                 .beta2 = a->beta2,
                 .now = now});
}

/* ---- inner products, which are waited for ---- */

struct dot_args {
    size_t len;
    const float *x, *y;
    double *partial; /* (DOT_BLOCKS), then the total */
};

/* The sum of v over the block, in thread 0. */
static __device__ double block_sum(double v)
{
    __shared__ double warps[WARPS];
    for (int step = 16; step > 0; step /= 2)
        v += __shfl_xor_sync(~0u, v, step);
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = v;
    __syncthreads();
    for (int w = 1; threadIdx.x == 0 && w < WARPS; w++)
        v += warps[w];
    return v;
}

static __global__ void dot_kernel(const __grid_constant__ struct dot_args a)
{
    double sum = 0;
    wait_for_previous();
    for (size_t i = blockIdx.x * THREADS + threadIdx.x; i < a.len; i += DOT_BLOCKS * THREADS)
        sum += (double)a.x[i] * a.y[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        a.partial[blockIdx.x] = sum;
}

static __global__ void dot_total_kernel(const __grid_constant__ struct dot_args a)
{
    wait_for_previous();
    double sum = block_sum(a.partial[threadIdx.x]);
    if (threadIdx.x == 0)
        a.partial[DOT_BLOCKS] = sum;
}

extern "C" double cuda_dot(struct device *d, size_t len, const void *x, const void *y)
{
    double total = 0;
    struct dot_args args = {len, (const float *)x, (const float *)y, NULL};
    args.partial = (double *)cuda_staging(d, (DOT_BLOCKS + 1) * sizeof(double));
    if (!args.partial)
        return 0;
    static_assert((int)DOT_BLOCKS == (int)THREADS, "one thread per partial sum");
    cuda_launch(d, (const void *)dot_kernel, (struct grid){.x = DOT_BLOCKS, .threads = THREADS},
                &args, "dot");
    cuda_launch(d, (const void *)dot_total_kernel, (struct grid){.x = 1, .threads = THREADS}, &args,
                "dot");
    cuda_check(d,
               cudaMemcpyAsync(&total, args.partial + DOT_BLOCKS, sizeof total,
                               cudaMemcpyDeviceToHost, d->stream),
               "dot");
    cuda_check(d, cudaStreamSynchronize(d->stream), "dot");
    return total;
}
