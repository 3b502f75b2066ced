/* cuda_halves.cu - notes of outputs that are halves, and floats made of them. */
#include "cuda_halves.h"
#include "cuda_tile.cuh"

#include <cuda_fp16.h>

struct plain_args {
    const uint16_t *from;
    float *to;
    size_t fours;
};

static __global__ void plain_kernel(const __grid_constant__ struct plain_args a)
{
    size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    wait_for_previous();
    if (i >= a.fours)
        return;
    uint2 v = __ldcg((const uint2 *)a.from + i);
    float2 low = __half22float2(*(const __half2 *)&v.x), high = __half22float2(*(__half2 *)&v.y);
    __stcg((float4 *)a.to + i, make_float4(low.x, low.y, high.x, high.y));
}

static void make_plain(struct device *d, const struct halves *h)
{
    struct plain_args args = {h->at, (float *)h->out, h->count / 4};
    struct grid g = {.x = (unsigned)((args.fours + THREADS - 1) / THREADS), .threads = THREADS};
    cuda_launch(d, (const void *)plain_kernel, g, &args, "plain");
}

static void drop(struct noted_halves *n, int i)
{
    n->note[i] = n->note[--n->notes];
}

extern "C" bool cuda_halves_begin(struct device *d, const struct conv_args *a)
{
    struct noted_halves *n = d->halves;
    int tasks = d->tasks ? d->tasks : a->tasks;
    if (!a->l.halves || !a->no_tangents || !cuda_second_takes(d, tasks, a->n))
        return false;
    if (n->notes == HALVES_MOST) {
        make_plain(d, &n->note[0]);
        drop(n, 0);
    }
    n->note[n->notes++] = (struct halves){a->cache.out, (const uint16_t *)a->cache.z,
                                          (size_t)a->tasks * (size_t)a->n *
                                              (size_t)(a->l.out_h * a->l.out_w) * (size_t)a->out_c};
    return true;
}

static const struct halves *note_of(const struct device *d, const float *x)
{
    for (int i = 0; i < d->halves->notes; i++)
        if (d->halves->note[i].out == x)
            return &d->halves->note[i];
    return NULL;
}

extern "C" const uint16_t *cuda_halves_of(const struct device *d, const float *x)
{
    const struct halves *h = note_of(d, x);
    return h ? h->at : NULL;
}

extern "C" void cuda_plain(struct device *d, const float *out)
{
    const struct halves *h = note_of(d, out);
    if (!h)
        return;
    make_plain(d, h);
    drop(d->halves, (int)(h - d->halves->note));
}

extern "C" void cuda_halves_forget(struct device *d, const void *from, size_t bytes)
{
    struct noted_halves *n = d->halves;
    for (int i = n->notes; i-- > 0;)
        if ((size_t)((const char *)n->note[i].out - (const char *)from) < bytes)
            drop(n, i);
}
