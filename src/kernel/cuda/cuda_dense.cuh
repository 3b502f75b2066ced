/* cuda_dense.cuh - the parts of a dense layer, always in fp32: it is a small part of
 * the work.
 *
 * x (n, in) and dy (n, out) of a task, w (out, in); `in` is padded like every
 * activation.  A tangent adds a second product.
 */
#ifndef CUDA_DENSE_CUH
#define CUDA_DENSE_CUH

#include "cuda_head.h"
#include "cuda_tile.cuh"

enum { ROWS = 8 }; /* images a warp or thread works on at a time */

static __device__ __forceinline__ float dot4(float4 a, float4 b, float sum)
{
    return fmaf(a.w, b.w, fmaf(a.z, b.z, fmaf(a.y, b.y, fmaf(a.x, b.x, sum))));
}

/* sum[i] += x[i] . w for ROWS rows, lanes sharing the columns. */
static __device__ void dot_rows(const float *x, const float *w, int in, int rows,
                                float (&sum)[ROWS])
{
#pragma unroll 2
    for (int j = threadIdx.x % 32 * 4; j < in; j += 128) {
        float4 b = __ldcg((const float4 *)(w + j));
#pragma unroll
        for (int i = 0; i < ROWS; i++)
            if (i < rows)
                sum[i] = dot4(__ldcg((const float4 *)(x + (size_t)i * in + j)), b, sum[i]);
    }
}

/* A warp: output unit o of images i0.. */
template <bool TANGENT>
static __device__ __forceinline__ void dense_unit(const struct dense_args &a, int task, int n,
                                                  int i0, int o)
{
    int rows = min(ROWS, n - i0);
    if (rows <= 0 || o >= a.out_c)
        return;
    size_t from = ((size_t)task * a.n + i0) * a.in, to = ((size_t)task * a.n + i0) * a.out_c + o;
    const float *w = weights_at(a.theta, task, 0), *v = weights_at(a.v, task, 0);
    float sum[ROWS] = {}, bias = 0;
    if (o < a.out) {
        bias = (TANGENT ? v : w)[a.bias + o];
        dot_rows(a.x + from, (TANGENT ? v : w) + a.weight + (size_t)o * a.in, a.in, rows, sum);
        if (TANGENT && a.rx)
            dot_rows(a.rx + from, w + a.weight + (size_t)o * a.in, a.in, rows, sum);
    }
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        for (int step = 16; step > 0; step /= 2)
            sum[i] += __shfl_xor_sync(~0u, sum[i], step);
        float y = sum[i] + bias;
        if (threadIdx.x % 32 != 0 || i >= rows)
            continue;
        size_t at = to + (size_t)i * a.out_c;
        if (TANGENT)
            a.tangent.out[at] = a.relu && !(a.cache.out[at] > 0) ? 0 : y;
        else
            a.cache.out[at] = a.relu && !(y > 0) ? 0 : y;
    }
}

/* Image i's gradient at output o, where the unit was on. */
static __device__ __forceinline__ float dy_at(const struct dense_args &a, const float *dout,
                                              size_t i, int o)
{
    size_t at = i * a.out_c + o;
    return a.relu && !(__ldcg(a.cache.out + at) > 0) ? 0 : __ldcg(dout + at);
}

static __device__ __forceinline__ void add4(float4 &sum, float a, float4 x)
{
    sum.x = fmaf(a, x.x, sum.x);
    sum.y = fmaf(a, x.y, sum.y);
    sum.z = fmaf(a, x.z, sum.z);
    sum.w = fmaf(a, x.w, sum.w);
}

/* Four columns of dw's row o. */
template <bool TANGENT>
static __device__ void dense_dw(const struct dense_args &a, int task, int n, int o, int j)
{
    size_t first = (size_t)task * a.n;
    float4 sum = {};
    float bias = 0;
    for (int i = 0; i < n; i++) {
        float dy = dy_at(a, TANGENT ? a.tangent.dout : a.cache.dout, first + i, o);
        add4(sum, dy, __ldcg((const float4 *)(a.x + (first + i) * a.in + j)));
        bias += dy;
        if (TANGENT && a.rx)
            add4(sum, dy_at(a, a.cache.dout, first + i, o),
                 __ldcg((const float4 *)(a.rx + (first + i) * a.in + j)));
    }
    const size_t at[1] = {a.weight + (size_t)o * a.in + j};
    const bool real[1] = {true};
    const float v[1][4] = {{sum.x, sum.y, sum.z, sum.w}};
    sink_all<1, 4>(a.sink, task, at, real, v);
    if (j == 0)
        sink_value(a.sink, task, a.bias + o, bias);
}

/* Four columns of dx's row i. */
template <bool TANGENT>
static __device__ void dense_dx(const struct dense_args &a, int task, int i, int j)
{
    size_t at = (size_t)task * a.n + i;
    const float *w = weights_at(a.theta, task, a.weight + j),
                *v = weights_at(a.v, task, a.weight + j);
    float4 sum = {};
    for (int o = 0; o < a.out; o++) {
        add4(sum, dy_at(a, TANGENT ? a.tangent.dout : a.cache.dout, at, o),
             __ldcg((const float4 *)(w + (size_t)o * a.in)));
        if (TANGENT)
            add4(sum, dy_at(a, a.cache.dout, at, o),
                 __ldcg((const float4 *)(v + (size_t)o * a.in)));
    }
    *(float4 *)(a.dx + at * a.in + j) = sum;
}

/* Four columns of a row: first the rows of dw, then those of dx. */
template <bool TANGENT>
static __device__ __forceinline__ void dense_quad(const struct dense_args &a, int task, int n,
                                                  int at)
{
    int quads = a.in / 4, row = at / quads, j = at % quads * 4;
    if (row < a.out)
        dense_dw<TANGENT>(a, task, n, row, j);
    else if (a.dx && row - a.out < n)
        dense_dx<TANGENT>(a, task, row - a.out, j);
}

#endif
