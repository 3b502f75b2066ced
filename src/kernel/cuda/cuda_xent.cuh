/* cuda_xent.cuh - softmax cross-entropy of a task, by a block of NW warps. */
#ifndef CUDA_XENT_CUH
#define CUDA_XENT_CUH

#include "cuda_head.h"
#include "cuda_tile.cuh"

static __device__ __forceinline__ float warp_sum(float v)
{
    for (int step = 16; step > 0; step /= 2)
        v += __shfl_xor_sync(~0u, v, step);
    return v;
}

static __device__ __forceinline__ float warp_max(float v)
{
    for (int step = 16; step > 0; step /= 2)
        v = fmaxf(v, __shfl_xor_sync(~0u, v, step));
    return v;
}

/* 1 / (labelled images) for a mean, else 1.  The whole warp asks. */
static __device__ float image_weight(int n, const int32_t *labels, bool mean)
{
    int labelled = 0, lane = threadIdx.x % 32;
#pragma unroll 1
    for (int i = 0; i < n; i += 32)
        labelled += __popc(__ballot_sync(~0u, i + lane < n && labels[i + lane] >= 0));
    return mean && labelled > 0 ? 1.0f / labelled : 1;
}

/* A task's loss: what its NW warps have, in their order.  One thread calls it, after all. */
template <int NW>
static __device__ __forceinline__ void put_loss(const double (&warps)[NW], float *loss)
{
    double sum = 0;
    for (int w = 0; w < NW; w++)
        sum += warps[w];
    *loss = (float)sum;
}

/* A warp per image.  shared: NULL, or the logits (n, padded), whose place the loss's gradient
 * takes.  The warps' parts of the loss are left in shared memory, `warps`. */
template <int NW>
static __device__ __forceinline__ void xent_rows(const struct xent_args &a, int task,
                                                 const int32_t *labels, float *shared,
                                                 double (&warps)[NW])
{
    int lane = threadIdx.x % 32, n = a.count ? a.count[task] : a.n;
    float weight = image_weight(n, labels, a.mean);
    double loss = 0;
#pragma unroll 1
    for (int i = threadIdx.x / 32; i < n; i += NW) {
        size_t row = (size_t)task * a.n + i;
        const float *logits = shared ? shared + i * a.padded : a.out + row * a.padded;
        float top = -INFINITY, sum = 0;
        int y = labels[i];
        float own = y < 0 ? 0 : logits[y];
#pragma unroll 1
        for (int j = lane; j < a.ways; j += 32)
            top = fmaxf(top, logits[j]);
        top = warp_max(top);
#pragma unroll 1
        for (int j = lane; j < a.ways; j += 32)
            sum += expf(logits[j] - top);
        sum = warp_sum(sum);
#pragma unroll 1
        for (int j = lane; j < a.padded; j += 32) {
            float p = j < a.ways ? expf(logits[j] - top) / sum : 0;
            float g = y < 0 ? 0 : weight * (p - (j == y));
            if (j < a.ways)
                a.probs[row * a.ways + j] = p;
            a.dout[row * a.padded + j] = g;
            if (shared)
                shared[i * a.padded + j] = g;
        }
        loss += y < 0 ? 0 : logf(sum) + (top - own);
    }
    if (lane == 0)
        warps[threadIdx.x / 32] = weight * loss;
}

template <int NW> static __device__ void xent_task(const struct xent_args &a, int task)
{
    __shared__ double warps[NW];
    xent_rows<NW>(a, task, a.labels + (size_t)task * a.n, NULL, warps);
    __syncthreads();
    if (threadIdx.x == 0)
        put_loss<NW>(warps, a.loss + task);
}

/* out and dout are those of the tangent. */
template <int NW> static __device__ void xent_tangent_task(const struct xent_args &a, int task)
{
    int lane = threadIdx.x % 32, n = a.count ? a.count[task] : a.n;
    const int32_t *labels = a.labels + (size_t)task * a.n;
    float weight = image_weight(n, labels, a.mean);
#pragma unroll 1
    for (int i = threadIdx.x / 32; i < n; i += NW) {
        size_t row = (size_t)task * a.n + i;
        const float *p = a.probs + row * a.ways, *r = a.out + row * a.padded;
        float mean = 0;
#pragma unroll 1
        for (int j = lane; j < a.ways; j += 32)
            mean += p[j] * r[j];
        mean = warp_sum(mean);
#pragma unroll 1
        for (int j = lane; j < a.padded; j += 32)
            a.dout[row * a.padded + j] =
                labels[i] < 0 || j >= a.ways ? 0 : weight * p[j] * (r[j] - mean);
    }
}

#endif
