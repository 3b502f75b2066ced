/* cuda_fp16_to_float.cu - floats of fp16 values. */
#include "cuda_fp16.h"
#include "cuda_tile.cuh"

#include <cuda_fp16.h>

static __global__ void fp16_to_float_kernel(const __grid_constant__ struct fp16_output a)
{
    size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    wait_for_previous();
    if (i >= a.fours)
        return;
    uint2 v = __ldcg((const uint2 *)a.at + i);
    float2 low = __half22float2(*(const __half2 *)&v.x), high = __half22float2(*(__half2 *)&v.y);
    __stcg((float4 *)a.out + i, make_float4(low.x, low.y, high.x, high.y));
}

extern "C" void cuda_fp16_to_float(struct device *d, const struct fp16_output *h)
{
    struct fp16_output args = *h;
    struct grid g = {.x = (unsigned)((h->fours + THREADS - 1) / THREADS), .threads = THREADS};
    cuda_launch(d, (const void *)fp16_to_float_kernel, g, &args, "plain");
}
