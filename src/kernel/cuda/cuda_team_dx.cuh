/* cuda_team_dx.cuh - dX = dz * w transposed, by a team: each block has its own channels of
 * the input.
 *
 * A cell is 2 x 2 input pixels, each reached by its own taps from the cell's own dz and its
 * right and lower neighbours (cuda_dx.cuh).  Where a block has 16 channels, column c of tile
 * j is channel 2 c + j, so that a thread reads two neighbours at once.
 */
#ifndef CUDA_TEAM_DX_CUH
#define CUDA_TEAM_DX_CUH

#include "cuda_dx.cuh"
#include "cuda_team.cuh"

template <int C, int F> struct dx_of {
    static constexpr int c = C, f = F, own = C / TEAM, nt = own / 8, quads = own / 4;
    static constexpr int step = TASK_THREADS / quads;
    static constexpr int zpitch = known_pitch(F, 1), wpitch = known_pitch(9 * own, 2);
    static constexpr int weights = F * wpitch, tpitch = known_pitch(own, 1);
    static constexpr int floats(int h, int w, int mg)
    {
        int picture = rows_under(16 * mg, h, w, 1, 2, 1) * (w + 1) * zpitch;
        int tiles = TASK_WARPS * 16 * 4 * tpitch;
        return weights + (picture > tiles ? picture : tiles);
    }
};

template <class A> static __device__ __forceinline__ void stage_dx_slice(const float *w, float *to)
{
    constexpr int quads = 9 * A::own / 4, of_tap = A::own / 4;
#pragma unroll 1
    for (int o = threadIdx.x / 32; o < A::f; o += TASK_WARPS)
#pragma unroll 1
        for (int q = threadIdx.x % 32; q < quads; q += 32)
            copy16(to + o * A::wpitch + q * 4, w + (o * 9 + q / of_tap) * A::c + q % of_tap * 4,
                   true);
}

/* One neighbour's part of 8 output channels, for all taps that read it. */
template <class A, int NEIGHBOUR>
static __device__ __forceinline__ void team_neighbour(const float *row0, const float *row1,
                                                      const float *w, float (&acc)[4][A::nt][4])
{
    float a[4];
    load_rows(a, row0, row1);
#pragma unroll
    for (int tap = 0; tap < 9; tap++) {
        int from = neighbour_of_tap<2>(tap / 3) * 2 + neighbour_of_tap<2>(tap % 3);
        int to = pixel_of_tap<2>(tap / 3) * 2 + pixel_of_tap<2>(tap % 3);
        const float *at = w + tap * A::own;
        if (from != NEIGHBOUR)
            continue;
        if constexpr (A::nt == 2) {
            float2 b0 = pair_at(at), b1 = pair_at(at + A::wpitch);
            mma(acc[to][0], a, nudge(b0.x), nudge(b1.x));
            mma(acc[to][1], a, nudge(b0.y), nudge(b1.y));
        } else {
            mma(acc[to][0], a, nudge(at[0]), nudge(at[A::wpitch]));
        }
    }
}

/* kgroups share the output channels. */
template <class A>
static __device__ __forceinline__ void multiply_team_dx(const float *row0, const float *row1,
                                                        int line, const float *weights, int kgroup,
                                                        int kg, float (&acc)[4][A::nt][4])
{
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll 1
    for (int o = kgroup * 8; o < A::f; o += kg * 8) {
        const float *w = weights + (o + 2 * t) * A::wpitch + A::nt * g;
        const float *low0 = row0 + o + line, *low1 = row1 + o + line;
        team_neighbour<A, 0>(row0 + o, row1 + o, w, acc);
        team_neighbour<A, 1>(row0 + o + A::zpitch, row1 + o + A::zpitch, w, acc);
        team_neighbour<A, 2>(low0, low1, w, acc);
        team_neighbour<A, 3>(low0 + A::zpitch, low1 + A::zpitch, w, acc);
    }
}

/* The warp's cells to its plane, (cell, pixel, channel). */
template <class A>
static __device__ __forceinline__ void put_dx_tile(const float (&acc)[4][A::nt][4], float *to)
{
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        int p = i / 2, h = i % 2 * 2;
        float *at = to + ((g + h * 4) * 4 + p) * A::tpitch;
        if constexpr (A::nt == 2)
            put4(at + 4 * t,
                 make_float4(acc[p][0][h], acc[p][1][h], acc[p][0][h + 1], acc[p][1][h + 1]));
        else
            *(float2 *)(at + 2 * t) = make_float2(acc[p][0][h], acc[p][0][h + 1]);
    }
}

/* The tile's cells, from m0 on, to memory. */
template <class A>
static __device__ __forceinline__ void keep_team_dx(const struct dims &l, int m0, int cells,
                                                    const float *tile, int planes, int plane,
                                                    float *dx)
{
    int quad = threadIdx.x % A::quads * 4;
#pragma unroll 1
    for (int r = threadIdx.x / A::quads; r < cells * 4; r += A::step) {
        int cell = m0 + r / 4, line = divide(cell, l.by_w), image = divide(line, l.by_h);
        int y = (line - image * l.h) * 2 + r % 4 / 2, x = (cell - line * l.w) * 2 + r % 2;
        if (y < l.input.h && x < l.input.w)
            write4(dx + ((image * l.input.h + y) * l.input.w + x) * A::c + quad,
                   planes4(tile + r * A::tpitch + quad, planes, plane));
    }
}

template <class A>
static __device__ __noinline__ void team_dx(int shape, const struct conv_step &s,
                                            const struct team &m, float *dynamic)
{
    const struct dims &l = layer_dims[shape];
    int n = images_of(s, m), cells = n * l.pixels, mg = l.dx_mg, kg = TASK_WARPS / mg, x;
    int mgroup = threadIdx.x / 32 % mg, kgroup = threadIdx.x / 32 / mg, block = mg * 16;
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, plane = block * 4 * A::tpitch;
    size_t image = (size_t)m.task * s.n;
    const float *dz = s.cache.dz + image * (l.pixels * A::f);
    float *dx = s.dx + image * l.in_floats + m.rank * A::own, *picture = dynamic + A::weights;
    stage_dx_slice<A>(theta_at(s, m.task, TENSOR_WEIGHT) + m.rank * A::own, dynamic);
#pragma unroll 1
    for (int m0 = 0; m0 < cells; m0 += block) {
        int last = min(m0 + block, cells) - 1, top = dz_row(l, m0, &x), y;
        float acc[4][A::nt][4] = {};
        const float *row[2];
        stage_tall<A::f, A::zpitch>(l.dz, dz, n, top, dz_row(l, last, &x) + 2 - top, 0, picture);
        copies_end();
#pragma unroll
        for (int i = 0; i < 2; i++) {
            y = dz_row(l, min(m0 + mgroup * 16 + i * 8 + g, last), &x) - top;
            row[i] = picture + (y * l.dz.cols + x) * A::zpitch + 2 * t;
        }
        copies_wait<0>();
        __syncthreads();
        multiply_team_dx<A>(row[0], row[1], l.dz.cols * A::zpitch, dynamic, kgroup, kg, acc);
        __syncthreads();
        put_dx_tile<A>(acc, picture + kgroup * plane + mgroup * 16 * 4 * A::tpitch);
        __syncthreads();
        keep_team_dx<A>(l, m0, last + 1 - m0, picture, kg, plane, dx);
        __syncthreads();
    }
}

#endif
