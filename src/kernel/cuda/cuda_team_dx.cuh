/* cuda_team_dx.cuh - dX = dz * w transposed, by a team.
 *
 * A cell is 2 x 2 input pixels, each reached by its own taps from the cell's own dz and its
 * right and lower neighbours (cuda_dx.cuh).  Column 8 j + c of a pair of tiles is channel
 * 2 c + j, so that a thread holds 4 neighbouring ones.
 */
#ifndef CUDA_TEAM_DX_CUH
#define CUDA_TEAM_DX_CUH

#include "cuda_dx.cuh"
#include "cuda_team.cuh"

/* PARTS parts of the cells (else of the input channels); warps are MG x NG x KG; weights of
 * OUT output channels are staged at a time. */
template <int SHAPE, int PARTS, int MG, int NG, int KG, int OUT> struct dx_of : layer_of<SHAPE> {
    using L = layer_of<SHAPE>;
    static constexpr int parts = PARTS, mg = MG, ng = NG, kg = KG, out = OUT;
    static constexpr int channels = L::c * PARTS / TEAM, nt = channels / 8 / NG;
    static constexpr int quads = channels / 4, step = TASK_THREADS / quads;
    static constexpr int block = MG * 16;
    static constexpr int zpitch = known_pitch(L::f, 1), wpitch = known_pitch(9 * channels, 2);
    static constexpr int weights = OUT * wpitch, chunks = L::f / OUT;
    static constexpr int stages = chunks == 1 ? 1 : 2;
    static constexpr int picture = rows_under(block, L::h, L::w, 1, 2, 1) * (L::w + 1) * zpitch;
    static constexpr int tpitch = known_pitch(channels, 1), plane = block * 4 * tpitch;
    /* Weights that all blocks of cells use stay; others make room for the tile. */
    static constexpr int before = chunks == 1 ? weights : 0;
    static constexpr int staged = stages * weights + picture;
    static constexpr int floats = staged > before + KG * plane ? staged : before + KG * plane;
    static_assert(MG * NG * KG == TASK_WARPS, "a warp each");
};

struct dx_share {
    int n, c0;
    struct span cells;
    const float *dz, *w;
    float *dx; /* channel c0 of the task's first pixel */
};

/* Weights of output channels o0.., (OUT, tap, channels). */
template <class A>
static __device__ __forceinline__ void stage_team_weights(const struct dx_share &s, int o0,
                                                          float *to)
{
    constexpr int quads = 9 * A::channels / 4, of_tap = A::channels / 4;
    int lane = threadIdx.x % 32;
#pragma unroll 1
    for (int o = threadIdx.x / 32; o < A::out; o += TASK_WARPS) {
        const float *from = s.w + (o0 + o) * 9 * A::c + s.c0;
#pragma unroll 2
        for (int q = lane; q < quads; q += 32)
            copy16(to + o * A::wpitch + q * 4, from + q / of_tap * A::c + q % of_tap * 4, true);
    }
}

/* One neighbour's part of 8 output channels, for all taps that read it. */
template <class A, int NEIGHBOUR>
static __device__ __forceinline__ void team_neighbour(const float *const (&row)[2], const float *w,
                                                      float (&acc)[4][A::nt][4])
{
    constexpr int at = (NEIGHBOUR / 2 * (A::w + 1) + NEIGHBOUR % 2) * A::zpitch;
    float a[4];
    load_rows(a, row[0] + at, row[1] + at);
#pragma unroll
    for (int tap = 0; tap < 9; tap++) {
        int from = neighbour_of_tap<2>(tap / 3) * 2 + neighbour_of_tap<2>(tap % 3);
        int to = pixel_of_tap<2>(tap / 3) * 2 + pixel_of_tap<2>(tap % 3);
        if (from != NEIGHBOUR)
            continue;
#pragma unroll
        for (int p = 0; p < A::nt; p += 2) {
            float2 b0 = pair_at(w + tap * A::channels + p * 8);
            float2 b1 = pair_at(w + A::wpitch + tap * A::channels + p * 8);
            mma(acc[to][p], a, nudge(b0.x), nudge(b1.x));
            mma(acc[to][p + 1], a, nudge(b0.y), nudge(b1.y));
        }
    }
}

/* Output channels o0.., whose weights are staged. */
template <class A>
static __device__ __forceinline__ void multiply_team_dx(const float *const (&row)[2], int o0,
                                                        const float *weights,
                                                        float (&acc)[4][A::nt][4])
{
    int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    int kgroup = warp / (A::mg * A::ng), ngroup = warp / A::mg % A::ng;
#pragma unroll 1
    for (int o = kgroup * 8; o < A::out; o += A::kg * 8) {
        const float *const at[2] = {row[0] + o0 + o, row[1] + o0 + o};
        const float *w = weights + (o + 2 * t) * A::wpitch + ngroup * A::nt * 8 + 2 * g;
        team_neighbour<A, 0>(at, w, acc);
        team_neighbour<A, 1>(at, w, acc);
        team_neighbour<A, 2>(at, w, acc);
        team_neighbour<A, 3>(at, w, acc);
    }
}

template <class A>
static __device__ __forceinline__ void put_dx_tile(const float (&acc)[4][A::nt][4], float *tile)
{
    int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    int mgroup = warp % A::mg, ngroup = warp / A::mg % A::ng, kgroup = warp / (A::mg * A::ng);
    float *to = tile + kgroup * A::plane + (mgroup * 16 + g) * 4 * A::tpitch + ngroup * A::nt * 8 +
                4 * t;
#pragma unroll
    for (int p = 0; p < 4; p++)
#pragma unroll
        for (int n = 0; n < A::nt; n += 2)
#pragma unroll
            for (int h = 0; h < 4; h += 2)
                put4(to + (h * 16 + p) * A::tpitch + n * 8,
                     make_float4(acc[p][n][h], acc[p][n + 1][h], acc[p][n][h + 1],
                                 acc[p][n + 1][h + 1]));
}

/* The cells from m0 on: dX to memory. */
template <class A>
static __device__ __forceinline__ void keep_team_dx(const struct dx_share &s, int m0,
                                                    const float *tile)
{
    int quad = threadIdx.x % A::quads * 4, rows = min((int)A::block, s.cells.last - m0) * 4;
#pragma unroll 1
    for (int r = threadIdx.x / A::quads; r < rows; r += A::step) {
        int cell = m0 + r / 4, line = cell / A::w, image = line / A::h;
        int y = (line - image * A::h) * 2 + r % 4 / 2, x = (cell - line * A::w) * 2 + r % 2;
        if (y < A::in_h && x < A::in_w)
            write4(s.dx + ((image * A::in_h + y) * A::in_w + x) * A::c + quad,
                   planes4<A::kg>(tile, A::plane, r * A::tpitch + quad));
    }
}

template <class A>
static __device__ __noinline__ void team_dx(const struct conv_step &s, const struct team &m,
                                               float *dynamic)
{
    int n = s.count ? s.count[m.task] : s.n, warp = threadIdx.x / 32, x;
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    size_t image = (size_t)m.task * s.n;
    struct dx_share mine = {n, A::parts > 1 ? 0 : m.rank * A::channels,
                            span_of<A::parts>(n * A::pixels, A::parts > 1 ? m.rank : 0)};
    mine.dz = s.cache.dz + image * (A::pixels * A::f);
    mine.w = theta_at(s, m.task, TENSOR_WEIGHT);
    mine.dx = s.dx + image * (A::in_h * A::in_w * A::c) + mine.c0;
    float *picture = dynamic + A::stages * A::weights, *tile = dynamic + A::before;
#pragma unroll 1
    for (int m0 = mine.cells.first; m0 < mine.cells.last; m0 += A::block) {
        int end = min(m0 + A::block, mine.cells.last) - 1, top = A::dz_row(m0, &x);
        float acc[4][A::nt][4] = {};
        const float *row[2];
        __syncthreads(); /* the tile has been read */
        if (A::chunks > 1 || m0 == mine.cells.first)
            stage_team_weights<A>(mine, 0, dynamic);
        stage_tall<A::f, A::zpitch>(A::gradient(), mine.dz, n, top, A::dz_row(end, &x) + 2 - top, 0,
                                    picture);
        copies_end();
        for (int i = 0; i < 2; i++) {
            int y = A::dz_row(min(m0 + warp % A::mg * 16 + i * 8 + g, end), &x) - top;
            row[i] = picture + (y * (A::w + 1) + x) * A::zpitch + 2 * t;
        }
#pragma unroll 1
        for (int chunk = 0; chunk < A::chunks; chunk++) {
            if (chunk + 1 < A::chunks)
                stage_team_weights<A>(mine, (chunk + 1) * A::out,
                                      dynamic + (chunk + 1) % A::stages * A::weights);
            copies_end();
            copies_wait<1>();
            __syncthreads();
            multiply_team_dx<A>(row, chunk * A::out, dynamic + chunk % A::stages * A::weights, acc);
            __syncthreads();
        }
        put_dx_tile<A>(acc, tile);
        __syncthreads();
        keep_team_dx<A>(mine, m0, tile);
    }
}

#endif
