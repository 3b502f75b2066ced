/* cuda_team_dw.cuh - dW = x * dz summed over pixels, by a team: each block has its own
 * channels of the input, and all output channels.
 *
 * Row g (and g + 8) of tile i is output channel 4 g + 2 i (+ 1), so that a thread reads 4
 * neighbours of dz; a tile's columns are 8 input channels of a tap.  Layers of equally many
 * channels share the code.
 */
#ifndef CUDA_TEAM_DW_CUH
#define CUDA_TEAM_DW_CUH

#include "cuda_team.cuh"

/* Warps are 3 x KG for each 32 output channels: three rows of taps, shares of the pixels. */
template <int C, int F, int KG> struct dw_of {
    static constexpr int c = C, f = F, block = DW_BLOCK, mg = F / 32, kg = KG;
    static constexpr int channels = C / TEAM, eights = channels / 8, tiles = 3 * eights;
    static constexpr int pitch = known_pitch(channels, 2), zpitch = known_pitch(F, 1);
    static constexpr int after = block * (zpitch + 1); /* of a stage: dz and corners, then x */
    static constexpr int tpitch = 9 * channels + 4, plane = F * tpitch;
    static_assert(mg * 3 * KG <= TASK_WARPS, "a warp each");
};

struct dw_share {
    int n, c0, pixels, stage; /* stage: floats of one */
    const float *x, *dz;
};

template <class A>
static __device__ __forceinline__ void stage_team_dw(const struct dims &l, const struct dw_share &s,
                                                     int m0, float *to)
{
    constexpr int quads = A::f / 4, step = TASK_THREADS / quads;
    int end = min(m0 + A::block, s.pixels), x, top = x_row(l, m0, &x);
    int quad = threadIdx.x % quads * 4, m = threadIdx.x / quads;
    int *corner = (int *)(to + A::block * A::zpitch);
    stage_tall<A::channels, A::pitch>(l.input, s.x, s.n, top, x_row(l, end - 1, &x) + 3 - top, s.c0,
                                      to + A::after);
    const float *dz = s.dz + (m0 + m) * A::f + quad;
    float *target = to + m * A::zpitch + quad;
#pragma unroll 1
    for (; m < A::block; m += step) {
        copy16(target, dz, m0 + m < end);
        target += step * A::zpitch;
        dz += step * A::f;
    }
    if (threadIdx.x < A::block) {
        int row = x_row(l, min(m0 + (int)threadIdx.x, end - 1), &x) - top;
        corner[threadIdx.x] = (row * l.input.cols + x) * A::pitch;
    }
}

template <class A>
static __device__ __forceinline__ void multiply_team_dw(const float *stage, int cols, int pixels,
                                                        float (&acc)[2][A::tiles][4])
{
    int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    int mgroup = warp % A::mg, ngroup = warp / A::mg % 3, kgroup = warp / (A::mg * 3);
    const float *dz = stage + t * A::zpitch + mgroup * 32 + 4 * g;
    const int *corner = (const int *)(stage + A::block * A::zpitch) + t;
    const float *x = stage + A::after + ngroup * cols * A::pitch + g;
    if (kgroup >= A::kg)
        return;
#pragma unroll 2
    for (int k = kgroup * 8; k < pixels; k += A::kg * 8) {
        float4 a0 = get4(dz + k * A::zpitch), a1 = get4(dz + (k + 4) * A::zpitch);
        float rows[2][4] = {{a0.x, a0.y, a1.x, a1.y}, {a0.z, a0.w, a1.z, a1.w}};
        const float *near = x + corner[k], *far = x + corner[k + 4];
#pragma unroll
        for (int i = 0; i < A::tiles; i++) {
            int at = i / A::eights * A::pitch + i % A::eights * 8;
            float b0 = near[at], b1 = far[at];
            mma(acc[0][i], rows[0], b0, b1);
            mma(acc[1][i], rows[1], b0, b1);
        }
    }
}

template <class A>
static __device__ __forceinline__ void put_dw_tile(const float (&acc)[2][A::tiles][4], float *tile)
{
    int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    int mgroup = warp % A::mg, ngroup = warp / A::mg % 3, kgroup = warp / (A::mg * 3);
    float *to = tile + kgroup * A::plane + (mgroup * 32 + 4 * g) * A::tpitch +
                ngroup * 3 * A::channels + 2 * t;
    if (kgroup >= A::kg)
        return;
#pragma unroll
    for (int m = 0; m < 2; m++)
#pragma unroll
        for (int i = 0; i < A::tiles; i++) {
            float *at = to + 2 * m * A::tpitch + i * 8;
            *(float2 *)at = make_float2(acc[m][i][0], acc[m][i][1]);
            *(float2 *)(at + A::tpitch) = make_float2(acc[m][i][2], acc[m][i][3]);
        }
}

template <class A>
static __device__ __noinline__ void team_dw(int shape, const struct step &step,
                                            const struct team &m, float *dynamic)
{
    const struct conv_step &s = step.conv;
    const struct dims &l = layer_dims[shape];
    int n = images_of(s, m), image = m.task * s.n;
    struct dw_share mine = {n,
                            m.rank * A::channels,
                            n * l.pixels,
                            l.dw_stage,
                            s.x + (size_t)image * l.in_floats,
                            s.cache.dz + (size_t)image * (l.pixels * A::f)};
    float acc[2][A::tiles][4] = {};
    __syncthreads();
    if (mine.pixels > 0)
        stage_team_dw<A>(l, mine, 0, dynamic);
    copies_end();
    int slot = 0;
#pragma unroll 1
    for (int m0 = 0; m0 < mine.pixels; m0 += A::block, slot ^= 1) {
        if (m0 + A::block < mine.pixels)
            stage_team_dw<A>(l, mine, m0 + A::block, dynamic + (slot ^ 1) * mine.stage);
        copies_end();
        copies_wait<1>();
        __syncthreads();
        multiply_team_dw<A>(dynamic + slot * mine.stage, l.input.cols,
                            min((int)A::block, mine.pixels - m0), acc);
        __syncthreads();
    }
    put_dw_tile<A>(acc, dynamic);
    __syncthreads();
    constexpr int of_tap = A::channels / 4;
    int q = threadIdx.x % of_tap * 4;
#pragma unroll 1
    for (int i = threadIdx.x / of_tap; i < A::f * 9; i += TASK_THREADS / of_tap)
        put_gradient(
            step, m.task, s.offset[TENSOR_WEIGHT] + i * A::c + mine.c0 + q,
            planes4(dynamic + i / 9 * A::tpitch + i % 9 * A::channels + q, A::kg, A::plane));
}

#endif
