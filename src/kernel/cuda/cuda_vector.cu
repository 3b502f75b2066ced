/* cuda_vector.cu - vectors and optimiser steps.  Sums are over tasks in their order. */
#include "cuda_tile.cuh"
#include "cuda_together.h"

enum { VECTOR_BLOCKS = 512, DOT_BLOCKS = 256 };

static unsigned blocks_for(size_t items, unsigned most)
{
    size_t blocks = (items + THREADS - 1) / THREADS;
    return blocks < most ? (unsigned)blocks : most;
}

/* The arguments of operations that share a launch. */
template <class ARGS> struct several {
    ARGS each[TOGETHER];
    static_assert(sizeof(ARGS) <= TOGETHER_BYTES, "see struct together");
};

static struct span span_of(const struct vec &v, int tasks, size_t len)
{
    return {v.at, ((size_t)(tasks - 1) * v.stride + len) * sizeof(float)};
}

static bool quads(const void *at, size_t stride)
{
    return (uintptr_t)at % 16 == 0 && stride % 4 == 0;
}

struct axpy_args {
    size_t len;
    struct vec to, y, x;
    float a;
};

static __global__ void axpy_kernel(const __grid_constant__ struct several<axpy_args> given)
{
    const struct axpy_args a = given.each[blockIdx.z];
    float *to = (float *)a.to.at + blockIdx.y * a.to.stride;
    const float *y = (const float *)a.y.at + blockIdx.y * a.y.stride;
    const float *x = (const float *)a.x.at + blockIdx.y * a.x.stride;
    wait_for_previous();
    for (size_t i = blockIdx.x * THREADS + threadIdx.x; i < a.len; i += gridDim.x * THREADS)
        to[i] = fmaf(a.a, x[i], y[i]);
}

enum { AXPY_EACH = 4 }; /* fours of a thread, under way together */

/* The same by fours; len counts fours. */
static __global__ void __launch_bounds__(THREADS)
    axpy4_kernel(const __grid_constant__ struct several<axpy_args> given)
{
    const struct axpy_args a = given.each[blockIdx.z];
    float4 *to = (float4 *)((float *)a.to.at + blockIdx.y * a.to.stride);
    const float4 *y = (const float4 *)((const float *)a.y.at + blockIdx.y * a.y.stride);
    const float4 *x = (const float4 *)((const float *)a.x.at + blockIdx.y * a.x.stride);
    size_t first = (size_t)blockIdx.x * (THREADS * AXPY_EACH) + threadIdx.x;
    float4 u[AXPY_EACH], v[AXPY_EACH];
    wait_for_previous();
#pragma unroll
    for (int k = 0; k < AXPY_EACH; k++)
        if (first + k * THREADS < a.len) {
            u[k] = __ldcg(y + first + k * THREADS);
            v[k] = __ldcg(x + first + k * THREADS);
        }
#pragma unroll
    for (int k = 0; k < AXPY_EACH; k++)
        if (first + k * THREADS < a.len)
            to[first + k * THREADS] =
                make_float4(fmaf(a.a, v[k].x, u[k].x), fmaf(a.a, v[k].y, u[k].y),
                            fmaf(a.a, v[k].z, u[k].z), fmaf(a.a, v[k].w, u[k].w));
}

extern "C" void cuda_axpy(struct device *d, int tasks, size_t len, struct vec to, struct vec y,
                          double a, struct vec x)
{
    bool by4 =
        len % 4 == 0 && quads(to.at, to.stride) && quads(y.at, y.stride) && quads(x.at, x.stride);
    struct axpy_args args = {by4 ? len / 4 : len, to, y, x, (float)a};
    struct grid g = {.x = by4 ? blocks_for((args.len + AXPY_EACH - 1) / AXPY_EACH, ~0u)
                              : blocks_for(args.len, VECTOR_BLOCKS),
                     .y = (unsigned)tasks,
                     .threads = THREADS};
    struct operation o = {.kernel = by4 ? (const void *)axpy4_kernel : (const void *)axpy_kernel,
                          .grid = g,
                          .args = &args,
                          .size = sizeof args,
                          .writes = {span_of(to, tasks, len)},
                          .reads = {span_of(y, tasks, len), span_of(x, tasks, len)},
                          .name = "axpy"};
    cuda_together(d, &o);
}

struct reduce_args {
    int tasks;
    size_t len;
    float *to;
    struct vec x;
    bool add;
};

/* Tasks in their order, half a meta-batch of 32 under way together. */
static __global__ void __launch_bounds__(THREADS)
    reduce_kernel(const __grid_constant__ struct several<reduce_args> given)
{
    enum { BATCH = 16 };
    const struct reduce_args a = given.each[blockIdx.z];
    wait_for_previous();
    for (size_t i = blockIdx.x * THREADS + threadIdx.x; i < a.len; i += gridDim.x * THREADS) {
        const float *x = (const float *)a.x.at + i;
        float sum = a.add ? a.to[i] : 0, v[BATCH];
        for (int t = 0; t < a.tasks; t += BATCH) {
#pragma unroll
            for (int j = 0; j < BATCH; j++)
                v[j] = t + j < a.tasks ? __ldcg(x + (t + j) * a.x.stride) : 0;
#pragma unroll
            for (int j = 0; j < BATCH; j++)
                sum = t + j < a.tasks ? sum + v[j] : sum;
        }
        a.to[i] = sum;
    }
}

extern "C" void cuda_reduce(struct device *d, int tasks, size_t len, void *to, struct vec x,
                            bool add)
{
    struct reduce_args args = {tasks, len, (float *)to, x, add};
    struct grid g = {.x = blocks_for(len, 4096), .threads = THREADS};
    struct operation o = {.kernel = (const void *)reduce_kernel,
                          .grid = g,
                          .args = &args,
                          .size = sizeof args,
                          .writes = {{to, len * sizeof(float)}},
                          .reads = {span_of(x, tasks, len)},
                          .name = "reduce"};
    cuda_together(d, &o);
}

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

struct step_args {
    size_t from, end;
    float *theta, *m, *v;
    const float *g;
    double scale, lr, beta1, beta2;
    const struct adam_rates *now;
};

static __global__ void sgd_kernel(const __grid_constant__ struct several<step_args> given)
{
    const struct step_args a = given.each[blockIdx.z];
    size_t i = a.from + blockIdx.x * THREADS + threadIdx.x;
    wait_for_previous();
    if (i < a.end)
        a.theta[i] -= (float)(a.lr * a.scale * a.g[i]);
}

static __global__ void adam_kernel(const __grid_constant__ struct several<step_args> given)
{
    const struct step_args a = given.each[blockIdx.z];
    size_t i = a.from + blockIdx.x * THREADS + threadIdx.x;
    wait_for_previous();
    if (i >= a.end)
        return;
    const struct adam_rates now = *a.now;
    double g = a.scale * a.g[i];
    double m = a.beta1 * a.m[i] + (1 - a.beta1) * g, v = a.beta2 * a.v[i] + (1 - a.beta2) * g * g;
    a.m[i] = (float)m;
    a.v[i] = (float)v;
    a.theta[i] -= (float)(now.rate * m / (sqrt(v) + now.eps));
}

static void take_step(struct device *d, const void *kernel, const struct step_args *a,
                      const char *name)
{
    size_t bytes = (a->end - a->from) * sizeof(float);
    struct operation o = {.kernel = kernel,
                          .grid = {.x = blocks_for(a->end - a->from, ~0u), .threads = THREADS},
                          .args = a,
                          .size = sizeof *a,
                          .writes = {{a->theta + a->from, bytes}},
                          .reads = {{a->g + a->from, bytes}},
                          .name = name};
    if (a->m) {
        o.reads[1] = {a->now, sizeof *a->now};
        o.writes[1] = {a->m + a->from, bytes};
        o.writes[2] = {a->v + a->from, bytes};
    }
    cuda_together(d, &o);
}

extern "C" void cuda_sgd(struct device *d, size_t from, size_t len, void *theta, const void *g,
                         double scale, double lr)
{
    struct step_args args = {.from = from,
                             .end = from + len,
                             .theta = (float *)theta,
                             .g = (const float *)g,
                             .scale = scale,
                             .lr = lr};
    take_step(d, (const void *)sgd_kernel, &args, "sgd");
}

extern "C" void cuda_adam(struct device *d, size_t from, size_t len, void *theta, void *m, void *v,
                          const void *g, double scale, const struct adam *a,
                          const struct adam_rates *now)
{
    struct step_args args = {.from = from,
                             .end = from + len,
                             .theta = (float *)theta,
                             .m = (float *)m,
                             .v = (float *)v,
                             .g = (const float *)g,
                             .scale = scale,
                             .beta1 = a->beta1,
                             .beta2 = a->beta2,
                             .now = now};
    take_step(d, (const void *)adam_kernel, &args, "adam");
}
