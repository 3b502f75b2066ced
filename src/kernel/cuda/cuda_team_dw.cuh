/* cuda_team_dw.cuh - dW = x * dz summed over pixels, by a team: each block has a quarter of
 * the input channels and all output channels.
 *
 * Row g (and g + 8) of tile i is output channel 4 g + 2 i (+ 1), so that a thread reads 4
 * neighbours of dz; a tile's columns are 8 input channels of a tap.
 */
#ifndef CUDA_TEAM_DW_CUH
#define CUDA_TEAM_DW_CUH

#include "cuda_team.cuh"

/* BLOCK pixels are staged at a time; warps are NG x KG for each 32 output channels, NG of
 * which share the taps. */
template <int SHAPE, int BLOCK, int NG, int KG> struct dw_of : layer_of<SHAPE> {
    using L = layer_of<SHAPE>;
    static constexpr int block = BLOCK, mg = L::f / 32, ng = NG, kg = KG;
    static constexpr int channels = L::c / TEAM, eights = channels / 8, taps = 9 / NG;
    static constexpr int pitch = known_pitch(channels, 2), zpitch = known_pitch(L::f, 1);
    static constexpr int picture = rows_under(BLOCK, L::h, L::w, 2, 3, 1) * L::cols * pitch;
    static constexpr int stage = picture + BLOCK * (zpitch + 1); /* x, dz, corners */
    static constexpr int tpitch = 9 * channels + 4, plane = L::f * tpitch;
    static constexpr int floats = 2 * stage > KG * plane ? 2 * stage : KG * plane;
    static_assert(mg * NG * KG <= TASK_WARPS, "a warp each");
};

struct dw_share {
    int n, c0, pixels;
    const float *x, *dz;
};

template <class A>
static __device__ __forceinline__ void stage_team_dw(const struct dw_share &s, int m0, float *to)
{
    int end = min(m0 + A::block, s.pixels), x, top = A::x_row(m0, &x);
    float *dz = to + A::picture;
    int *corner = (int *)(dz + A::block * A::zpitch);
    stage_picture<TASK_WARPS>(A::input(), s.x, s.n, top, A::x_row(end - 1, &x) + 3 - top, s.c0,
                              A::channels, A::pitch, to);
#pragma unroll 4
    for (int i = threadIdx.x; i < A::block * (A::f / 4); i += TASK_THREADS) {
        int m = i / (A::f / 4), quad = i % (A::f / 4) * 4;
        copy16(dz + m * A::zpitch + quad, s.dz + (m0 + m) * A::f + quad, m0 + m < end);
    }
    for (int i = threadIdx.x; i < A::block; i += TASK_THREADS) {
        int row = A::x_row(min(m0 + i, end - 1), &x) - top;
        corner[i] = (row * A::cols + x) * A::pitch;
    }
}

template <class A>
static __device__ __forceinline__ void
multiply_team_dw(const float *stage, int pixels, float (&acc)[2][A::taps * A::eights][4])
{
    int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    int mgroup = warp % A::mg, ngroup = warp / A::mg % A::ng, kgroup = warp / (A::mg * A::ng);
    const float *dz = stage + A::picture + t * A::zpitch + mgroup * 32 + 4 * g;
    const int *corner = (const int *)(stage + A::picture + A::block * A::zpitch) + t;
    const float *x = stage + g;
    if (kgroup >= A::kg)
        return;
#pragma unroll 2
    for (int k = kgroup * 8; k < pixels; k += A::kg * 8) {
        float4 a0 = get4(dz + k * A::zpitch), a1 = get4(dz + (k + 4) * A::zpitch);
        float rows[2][4] = {{a0.x, a0.y, a1.x, a1.y}, {a0.z, a0.w, a1.z, a1.w}};
        const float *near = x + corner[k], *far = x + corner[k + 4];
#pragma unroll
        for (int i = 0; i < A::taps * A::eights; i++) {
            int tap = ngroup * A::taps + i / A::eights;
            int at = (tap / 3 * A::cols + tap % 3) * A::pitch + i % A::eights * 8;
            float b0 = near[at], b1 = far[at];
            mma(acc[0][i], rows[0], b0, b1);
            mma(acc[1][i], rows[1], b0, b1);
        }
    }
}

template <class A>
static __device__ __forceinline__ void
put_dw_tile(const float (&acc)[2][A::taps * A::eights][4], float *tile)
{
    int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    int mgroup = warp % A::mg, ngroup = warp / A::mg % A::ng, kgroup = warp / (A::mg * A::ng);
    float *to = tile + kgroup * A::plane + (mgroup * 32 + 4 * g) * A::tpitch +
                ngroup * A::taps * A::channels + 2 * t;
    if (kgroup >= A::kg)
        return;
#pragma unroll
    for (int m = 0; m < 2; m++)
#pragma unroll
        for (int i = 0; i < A::taps * A::eights; i++) {
            float *at = to + 2 * m * A::tpitch + i * 8;
            *(float2 *)at = make_float2(acc[m][i][0], acc[m][i][1]);
            *(float2 *)(at + A::tpitch) = make_float2(acc[m][i][2], acc[m][i][3]);
        }
}

template <class A>
static __device__ __noinline__ void team_dw(const struct conv_step &s, const struct team &m,
                                               float *dynamic)
{
    int n = s.count ? s.count[m.task] : s.n;
    size_t image = (size_t)m.task * s.n;
    struct dw_share mine = {n, m.rank * A::channels, n * A::pixels,
                            s.x + image * (A::in_h * A::in_w * A::c),
                            s.cache.dz + image * (A::pixels * A::f)};
    float acc[2][A::taps * A::eights][4] = {};
    __syncthreads();
    if (mine.pixels > 0)
        stage_team_dw<A>(mine, 0, dynamic);
    copies_end();
    for (int m0 = 0, slot = 0; m0 < mine.pixels; m0 += A::block, slot ^= 1) {
        if (m0 + A::block < mine.pixels)
            stage_team_dw<A>(mine, m0 + A::block, dynamic + (slot ^ 1) * A::stage);
        copies_end();
        copies_wait<1>();
        __syncthreads();
        multiply_team_dw<A>(dynamic + slot * A::stage, min((int)A::block, mine.pixels - m0), acc);
        __syncthreads();
    }
    put_dw_tile<A>(acc, dynamic);
    __syncthreads();
    float *dw = grad_at(s, m.task, TENSOR_WEIGHT) + mine.c0;
    constexpr int quads = 9 * A::channels / 4, of_tap = A::channels / 4;
#pragma unroll 2
    for (int i = threadIdx.x; i < A::f * quads; i += TASK_THREADS) {
        int o = i / quads, q = i % quads, tap = q / of_tap, c = q % of_tap * 4;
        write4(dw + (o * 9 + tap) * A::c + c,
               planes4<A::kg>(dynamic, A::plane, o * A::tpitch + q * 4));
    }
}

#endif
