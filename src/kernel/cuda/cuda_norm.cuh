/* cuda_norm.cuh - batch norm, ReLU and pooling of a slice of 16 channels, and
 * their tangents (formulas: ref_norm.h).
 *
 * A thread works on 4 channels of an output pixel.  W is the number of conv pixels
 * under it: 1, or 4 where the layer pools.
 */
#ifndef CUDA_NORM_CUH
#define CUDA_NORM_CUH

#include "cuda_tile.cuh"

/* What is known of each channel of the slice. */
struct slice {
    float mu[SLICE], s[SLICE], gamma[SLICE], beta[SLICE], c1[SLICE], c2[SLICE];
    float m1[SLICE], m2[SLICE], rgamma[SLICE], rbeta[SLICE], rc1[SLICE], rc2[SLICE];
};

static __device__ __forceinline__ const float *tensor_at(const struct vec &v, int task,
                                                         const struct layer &l, int which)
{
    return (const float *)v.at + (size_t)task * v.stride + l.offset[which];
}

static __device__ __forceinline__ float *stat_at(const struct conv_args &a, const struct cache &k,
                                                 int task, int which)
{
    return k.stats + (size_t)(which * a.tasks + task) * a.out_rows;
}

static __device__ __forceinline__ void load4(float (&to)[4], const float *from)
{
    float4 v = __ldcg((const float4 *)from); /* other blocks may have written it */
    to[0] = v.x;
    to[1] = v.y;
    to[2] = v.z;
    to[3] = v.w;
}

static __device__ __forceinline__ void store4(float *to, const float (&v)[4])
{
    *(float4 *)to = make_float4(v[0], v[1], v[2], v[3]);
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
 * first largest), and whether the unit is on. */
template <int W> struct seen {
    float xh[W], best;
    int source;
    bool on;
};

template <int W>
static __device__ __forceinline__ struct seen<W>
see(const struct slice *ch, int c, const int (&at)[W], const float (&z)[W][4], int j)
{
    struct seen<W> v;
    v.source = -1;
    v.best = 0;
#pragma unroll
    for (int k = 0; k < W; k++) {
        v.xh[k] = (z[k][j] - ch->mu[c]) * ch->s[c];
        float y = ch->gamma[c] * v.xh[k] + ch->beta[c];
        if (at[k] >= 0 && (v.source < 0 || y > v.best)) {
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
        if (at[k] >= 0)
            load4(v[k], from + (size_t)at[k] * channels);
        else
            v[k][0] = v[k][1] = v[k][2] = v[k][3] = 0;
}

#endif
