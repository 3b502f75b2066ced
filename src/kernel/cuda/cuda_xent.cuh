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

/* 1 / (labelled images) for a mean, else 1.  The whole block asks. */
template <int NW> static __device__ float image_weight(int n, const int32_t *labels, bool mean)
{
    int labelled = 0;
#pragma unroll 1
    for (int i = 0; i < n; i += NW * 32)
        labelled += __syncthreads_count(i + (int)threadIdx.x < n && labels[i + threadIdx.x] >= 0);
    return mean && labelled > 0 ? 1.0f / labelled : 1;
}

/* Adds the warps' losses in their order; `own` is the same in all lanes of a warp. */
template <int NW> static __device__ void put_loss(double own, double weight, float *loss)
{
    __shared__ double warps[NW];
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = own;
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    double sum = 0;
    for (int w = 0; w < NW; w++)
        sum += warps[w];
    *loss = (float)(weight * sum);
}

/* A warp per image.  shared: NULL, or the logits (n, padded), whose place the loss's gradient
 * takes. */
template <int NW>
static __device__ void xent_task(const struct xent_args &a, int task, float *shared = NULL)
{
    int lane = threadIdx.x % 32, n = a.count ? a.count[task] : a.n;
    const int32_t *labels = a.labels + (size_t)task * a.n;
    float weight = image_weight<NW>(n, labels, a.mean);
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
    put_loss<NW>(loss, weight, a.loss + task);
}

/* out and dout are those of the tangent. */
template <int NW> static __device__ void xent_tangent_task(const struct xent_args &a, int task)
{
    int lane = threadIdx.x % 32, n = a.count ? a.count[task] : a.n;
    const int32_t *labels = a.labels + (size_t)task * a.n;
    float weight = image_weight<NW>(n, labels, a.mean);
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
