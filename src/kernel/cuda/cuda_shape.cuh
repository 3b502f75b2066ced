/* cuda_shape.cuh - layers whose sizes are known when their kernels are compiled.
 *
 * A kernel works on a copy of its arguments.  For a known shape it sets in the copy
 * what the host has set already, so that the compiler knows it too: addresses become
 * immediates, divisions multiplications.  The host takes such a kernel only where
 * that changes nothing (`fixed`).
 */
#ifndef CUDA_SHAPE_CUH
#define CUDA_SHAPE_CUH

#include "cuda_conv.h"

#include <string.h>

/* Input, with channels as stored, and filters; stride 2, no pooling. */
struct shape {
    int h, w, c, filters;
};
static constexpr struct shape shapes[] = {
    {28, 28, 4, 64}, {14, 14, 64, 64}, {7, 7, 64, 64},   {4, 4, 64, 64},  /* Omniglot */
    {84, 84, 4, 32}, {42, 42, 32, 32}, {21, 21, 32, 32}, {11, 11, 32, 32} /* mini-ImageNet */
};
enum { ANY_SHAPE = -1 };

static __host__ __device__ constexpr int known_pitch(int floats,
                                                     int step) /* pitch_of() of cuda_plan.c */
{
    int pitch = (floats + 3) / 4 * 4;
    while (step * pitch % 32 != 8 && step * pitch % 32 != 24)
        pitch += 4;
    return pitch;
}

static __host__ __device__ constexpr int known_matrix_pitch(int floats) /* matrix_pitch() there */
{
    return floats % 8 ? floats : floats + 4;
}

static __host__ __device__ constexpr uint32_t known_factor(int by) /* by > 1 */
{
    return (uint32_t)((1ull << 32) / (uint32_t)by + 1);
}

/* What follows from a shape. */
template <int SHAPE> struct known {
    static constexpr int h = shapes[SHAPE].h, w = shapes[SHAPE].w, c = shapes[SHAPE].c;
    static constexpr int filters = shapes[SHAPE].filters;
    static constexpr int conv_h = (h + 1) / 2, conv_w = (w + 1) / 2;
    static constexpr int rows = conv_h * 2 + 2, cols = conv_w * 2 + 1; /* of the bordered input */
    static constexpr int gap = (conv_w + 8 - 2 * cols % 8) % 8;
};

/* The layer itself. */
template <int SHAPE> static __host__ __device__ __forceinline__ void fix_layer(struct conv_args &a)
{
    using K = known<SHAPE>;
    a.l.in_h = K::h;
    a.l.in_w = K::w;
    a.l.conv_h = a.l.out_h = K::conv_h;
    a.l.conv_w = a.l.out_w = K::conv_w;
    a.l.out_c = K::filters;
    a.l.stride = 2;
    a.l.pool = false;
    a.in_c = K::c;
    a.plan.width = K::c < SLICE ? K::c : SLICE; /* together() */
    a.out_c = a.out_rows = K::filters;
    a.plan.in = {K::h, K::w, K::c, 1, K::rows, K::cols, K::gap, {known_factor(K::rows), 0}};
    a.plan.dz = {K::conv_h,     K::conv_w,     K::filters, 0,
                 K::conv_h + 1, K::conv_w + 1, 0,          {known_factor(K::conv_h + 1), 0}};
    a.plan.by_w = {known_factor(K::conv_w), 0};
    a.plan.by_h = {known_factor(K::conv_h), 0};
}

/* Nothing known. */
struct any_shape {
    static constexpr bool known = false;
    static __host__ __device__ __forceinline__ void in(struct conv_args &)
    {
    }
};

/* A forward pass by slices of 8 NT channels and chunks of CHUNK.  Of 4 channels all
 * warps have pixels of their own. */
template <int SHAPE, int CHUNK, int NT> struct fix_forward {
    static constexpr bool known = true;
    static constexpr int chunk = CHUNK, cols = ::known<SHAPE>::cols, gap = ::known<SHAPE>::gap;
    static constexpr int pitch = known_matrix_pitch(CHUNK);
    static constexpr int weights = known_matrix_pitch((9 * CHUNK + 7) / 8 * 8);
    static __host__ __device__ __forceinline__ void in(struct conv_args &a)
    {
        struct product &p = a.plan.forward;
        fix_layer<SHAPE>(a);
        a.plan.slice = 8 * NT;
        p.chunk = CHUNK;
        p.pitch = pitch;
        p.weights = weights;
        if (CHUNK == 4) {
            p.block = FORWARD_WARPS * 32;
            p.mgroups = FORWARD_WARPS;
            p.kgroups = 1;
        }
    }
};

template <int SHAPE> struct fix_norm {
    static constexpr bool known = true;
    static __host__ __device__ __forceinline__ void in(struct conv_args &a)
    {
        fix_layer<SHAPE>(a);
    }
};

/* dX by chunks of DX channels, and dW; of a layer that is not the first. */
template <int SHAPE, int DX> struct fix_products {
    static constexpr bool known = true;
    static constexpr int columns = ::known<SHAPE>::filters > 32 ? 64 : 32, ngroups = 3;
    static __host__ __device__ __forceinline__ void in(struct conv_args &a)
    {
        struct product &dx = a.plan.dx, &dw = a.plan.dw;
        fix_layer<SHAPE>(a);
        dx.chunk = DX;
        dx.pitch = known_matrix_pitch(DX);
        dw.chunk = SLICE;
        a.plan.columns = columns;
        a.plan.ngroups = ngroups;
        dw.mgroups = columns / 32;
        dw.kgroups = WARPS / (columns / 32 * ngroups);
        dw.pitch = known_pitch(SLICE, 2);
        dw.weights = known_pitch(columns, 1);
    }
    /* The layer before. */
    static __host__ __device__ __forceinline__ void before(struct conv_args &a)
    {
        fix_layer<SHAPE - 1>(a);
    }
    static bool follows(const struct conv_args *a)
    {
        struct conv_args b;
        memcpy(&b, a, sizeof b);
        before(b);
        return memcmp(&b, a, sizeof b) == 0;
    }
};

/* Whether a kernel that fixes its arguments with FIX may be given these. */
template <class FIX> static bool fixed(const struct conv_args *a)
{
    struct conv_args b;
    memcpy(&b, a, sizeof b);
    FIX::in(b);
    return memcmp(&b, a, sizeof b) == 0;
}

#endif
