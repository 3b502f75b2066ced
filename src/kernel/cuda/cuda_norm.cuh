/* cuda_norm.cuh - batch norm, ReLU and pooling of a slice of channels, and their
 * tangents (formulas: ref_norm.h).
 *
 * W is the number of conv pixels under an output pixel: 1, or 4 where the layer
 * pools.
 */
#ifndef CUDA_NORM_CUH
#define CUDA_NORM_CUH

#include "cuda_tile.cuh"

/* What is known of each channel of the slice; scale is gamma s. */
struct slice {
    float mu[SLICE_MAX], s[SLICE_MAX], scale[SLICE_MAX], beta[SLICE_MAX], gamma[SLICE_MAX];
    float c1[SLICE_MAX], c2[SLICE_MAX], m1[SLICE_MAX], m2[SLICE_MAX];
    float rgamma[SLICE_MAX], rbeta[SLICE_MAX], rc1[SLICE_MAX], rc2[SLICE_MAX];
};

/* The same of N channels, in registers. */
template <int N> struct few {
    float mu[N], s[N], scale[N], beta[N];
    float c1[N], c2[N], m1[N], m2[N], rgamma[N], rbeta[N], rc1[N], rc2[N];
};

/* 4 channels from c; of 8 the others are 16 on. */
template <int N, bool TANGENT>
static __device__ __forceinline__ void load_few(struct few<N> &f, const struct slice *ch, int c)
{
#pragma unroll
    for (int j = 0; j < N; j++) {
        int at = c + j / 4 * 16 + j % 4;
        f.mu[j] = ch->mu[at];
        f.s[j] = ch->s[at];
        f.scale[j] = ch->scale[at];
        f.beta[j] = ch->beta[at];
        f.c1[j] = ch->c1[at];
        f.c2[j] = ch->c2[at];
        if (TANGENT) {
            f.m1[j] = ch->m1[at];
            f.m2[j] = ch->m2[at];
            f.rgamma[j] = ch->rgamma[at];
            f.rbeta[j] = ch->rbeta[at];
            f.rc1[j] = ch->rc1[at];
            f.rc2[j] = ch->rc2[at];
        }
    }
}

/* The conv pixels under output pixel p; -1 where the window leaves the picture. */
template <int W>
static __device__ __forceinline__ void window_of(const struct layer &l, int p, int (&at)[W])
{
    if (W == 1) {
        at[0] = p;
        return;
    }
    int image = p / (l.out_h * l.out_w), rest = p % (l.out_h * l.out_w);
    int y = rest / l.out_w * 2, x = rest % l.out_w * 2;
    for (int k = 0; k < W; k++)
        at[k] = y + k / 2 < l.conv_h && x + k % 2 < l.conv_w
                    ? (image * l.conv_h + y + k / 2) * l.conv_w + x + k % 2
                    : -1;
}

/* A window of one channel: xh of its pixels, which one the output came from (the
 * first largest), that one's y, and whether the unit is on. */
template <int W> struct seen {
    float xh[W], best;
    int source;
    bool on;
};

/* j: the channel among the few. */
template <int W, int N>
static __device__ __forceinline__ struct seen<W> see(const struct few<N> &f, int j,
                                                     const int (&at)[W], const float (&z)[W][4])
{
    struct seen<W> v;
    v.source = W == 1 ? 0 : -1;
    v.best = 0;
#pragma unroll
    for (int k = 0; k < W; k++) {
        float centred = z[k][j % 4] - f.mu[j], y = fmaf(centred, f.scale[j], f.beta[j]);
        v.xh[k] = centred * f.s[j];
        if (W == 1 || (at[k] >= 0 && (v.source < 0 || y > v.best))) {
            v.best = y;
            v.source = k;
        }
    }
    v.on = v.best > 0;
    return v;
}

template <int W>
static __device__ __forceinline__ void load_window(float (&v)[W][4], const float *from,
                                                   int channels, const int (&at)[W])
{
#pragma unroll
    for (int k = 0; k < W; k++)
        if (W == 1 || at[k] >= 0)
            load4(v[k], from + at[k] * channels);
        else
            v[k][0] = v[k][1] = v[k][2] = v[k][3] = 0;
}

template <int N>
static __device__ __forceinline__ float rxhat(const struct few<N> &f, int j, float xh, float rz)
{
    return f.s[j] * (rz - f.m1[j] - xh * f.m2[j]);
}

/* One channel of an output pixel: max(0, y), or the tangent of it. */
template <bool FULL, int W, bool TANGENT, int N>
static __device__ __forceinline__ float output_of(const struct few<N> &f, int j, const int (&at)[W],
                                                  const float (&z)[W][4], const float (&rz)[W][4])
{
    struct seen<W> v = see<W, N>(f, j, at, z);
    float y = v.best, xh = 0, r = 0;
    if (TANGENT) {
#pragma unroll
        for (int k = 0; k < W; k++)
            if (W == 1 || k == v.source) {
                xh = v.xh[k];
                r = rz[k][j % 4];
            }
        y = f.rgamma[j] * xh + f.scale[j] * (r - f.m1[j] - xh * f.m2[j]) + f.rbeta[j];
    }
    return !v.on ? 0 : FULL ? y : round_tf32(y);
}

#endif
