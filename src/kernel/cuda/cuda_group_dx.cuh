/* cuda_group_dx.cuh - dX by warpgroups: rows are cells of dz, a sum is over its channels.
 *
 * One cell makes 2 x 2 pixels, each from its own taps (cuda_dx.cuh).  Weights are transposed on
 * the way into shared memory.
 */
#ifndef CUDA_GROUP_DX_CUH
#define CUDA_GROUP_DX_CUH

#include "cuda_dx.cuh"
#include "cuda_group_half.cuh"

enum { DX_MULTIPLIERS = 3 /* warpgroups; one thread more has the copy engine stage */ };

/* What a block has in shared memory: its weights, and a ring of stages of all channels of dz. */
template <int SHAPE> struct dx_room {
    using C = cells<SHAPE>;
    static constexpr int out = known<SHAPE>::filters, chunks = out / WIDE;
    static constexpr int weights = 9 * out / 4 * WIDE * UNIT, stage = chunks * C::plane_bytes;
    static constexpr int beyond = bytes_beyond(C::tiles * TILE + C::pitch + 1, C::held);
    static constexpr int slots = 2 * DX_MULTIPLIERS; /* ring_take() */
    static constexpr int bytes = weights + slots * stage + beyond + 8 * ROW;
    static_assert(bytes <= SHARED_MOST, "two stages for each warpgroup");
};

/* The slice's weights, transposed: (tap, four of output channels, row).  A thread takes 4 x 4
 * channels.  Rows i, i + 8, i + 16 and i + 24 are four neighbouring channels, so that eight
 * threads write eight rows in a row; and those fours are sorted such that four threads, each of
 * which holds two rows in a row of a product, hold 16 neighbours. */
template <int SHAPE>
static __device__ __forceinline__ void transpose_weights(const float *w, uint32_t to)
{
    using R = dx_room<SHAPE>;
    enum { ALL = 9 * R::out / 4 * WIDE / 4 };
#pragma unroll
    for (int i = threadIdx.x; i < ALL; i += DX_MULTIPLIERS * GROUP) {
        int k = i % 8, four = i / 8 % (R::out / 4), tap = i / (2 * R::out);
        const float *from = w + (four * 4 * known<SHAPE>::c + k / 4 * SLICE) * 9 + tap * SLICE;
        float v[4][4];
#pragma unroll
        for (int o = 0; o < 4; o++)
            load4(v[o], from + o * 9 * known<SHAPE>::c + k % 4 * 4);
        int row = k % 4 * 2 + k / 4;
        uint32_t at = to + ((tap * (R::out / 4) + four) * WIDE + row) * UNIT;
#pragma unroll
        for (int c = 0; c < 4; c++)
            asm volatile("st.shared.v4.f32 [%0], {%1,%2,%3,%4};" ::"r"(at + 8 * c * UNIT),
                         "f"(nudge(v[0][c])), "f"(nudge(v[1][c])), "f"(nudge(v[2][c])),
                         "f"(nudge(v[3][c]))
                         : "memory");
    }
    shared_for_products();
}

/* acc: by parity of rows and columns. */
template <int SHAPE>
static __device__ __forceinline__ void multiply_tile(uint64_t a, uint64_t b, float (&acc)[4][4][4])
{
    using C = cells<SHAPE>;
    using R = dx_room<SHAPE>;
#pragma unroll
    for (int k = 0; k < R::out / 8; k++)
#pragma unroll
        for (int tap = 0; tap < 9; tap++) {
            int to = pixel_of_tap<2>(tap / 3) * 2 + pixel_of_tap<2>(tap % 3);
            int from = neighbour_of_tap<2>(tap / 3) * C::pitch + neighbour_of_tap<2>(tap % 3);
            group_mma(acc[to], a + ((k / 4 * C::held + from) * ROW / UNIT + k % 4 * 2),
                      b + (tap * (R::out / 4) + 2 * k) * WIDE);
        }
}

/* A warp's 16 cells to memory: of each pixel a thread has 4 neighbours of every 16 channels. */
template <int SHAPE>
static __device__ __forceinline__ void keep_pixels(float *dx, int n, int stage, int cell0,
                                                   const float (&acc)[4][4][4])
{
    using C = cells<SHAPE>;
    using K = known<SHAPE>;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        int cell = cell0 + 8 * i + threadIdx.x % 32 / 4, image = C::image_of(stage);
        int y = (C::row_of(stage) + cell % C::image / C::pitch) * 2, x = cell % C::pitch * 2;
        image += cell / C::image;
        float *to = dx + ((image * K::h + y) * K::w + x) * K::c;
#pragma unroll
        for (int p = 0; p < 4; p++)
            if (cell < C::count && image < n && y + p / 2 < K::h && x + p % 2 < K::w)
#pragma unroll
                for (int e = 0; e < 2; e++) {
                    const float v[4] = {acc[p][0][2 * i + e], acc[p][1][2 * i + e],
                                        acc[p][2][2 * i + e], acc[p][3][2 * i + e]};
                    store4(to + (p / 2 * K::w + p % 2) * K::c + 16 * e, v);
                }
    }
}

/* dz of all stages: the cells, and those to the right and below. */
template <int SHAPE>
static __device__ __forceinline__ void copy_dz(const struct conv_args &a, const CUtensorMap *dz,
                                               uint32_t stages,
                                               struct ring<dx_room<SHAPE>::slots> *ring)
{
    using C = cells<SHAPE>;
    using R = dx_room<SHAPE>;
#pragma unroll 1
    for (struct visit v = first_visit<SHAPE, C>(a); v.task < a.tasks; next_visit<SHAPE, C>(a, v))
#pragma unroll 1
        for (int stage = v.first; stage < v.last; stage++) {
            int item = v.before + stage - v.first, slot = item % R::slots;
            ring_make(ring, item);
            barrier_expect(&ring->made[slot], R::chunks * C::bytes);
            for (int c = 0; c < R::chunks; c++)
                copy_box(stages + slot * R::stage + c * C::plane_bytes, dz, c * WIDE, 0,
                         C::row_of(stage), v.task * a.n + C::image_of(stage), &ring->made[slot]);
        }
}

/* The warpgroup's stages of a task: of all that the block has had, every third. */
template <int SHAPE>
static __device__ __forceinline__ void multiply_dx(const struct conv_args &a, const struct visit &v,
                                                   uint32_t shared,
                                                   struct ring<dx_room<SHAPE>::slots> *ring)
{
    using C = cells<SHAPE>;
    using K = known<SHAPE>;
    using R = dx_room<SHAPE>;
    int late = v.before % DX_MULTIPLIERS, warp = threadIdx.x / 32 % 4;
    int first = (group_of_thread() + DX_MULTIPLIERS - late) % DX_MULTIPLIERS;
    float *dx = a.dx + (size_t)v.task * a.n * K::h * K::w * K::c + v.c0 + threadIdx.x % 4 * 4;
#pragma unroll 1
    for (int stage = v.first + first; stage < v.last; stage += DX_MULTIPLIERS) {
        int item = v.before + stage - v.first;
        uint32_t at = shared + R::weights + item % R::slots * R::stage;
        ring_take(ring, item);
#pragma unroll 1
        for (int t = 0; t < C::tiles; t++) {
            float acc[4][4][4] = {};
            settle(acc);
            group_begins();
            multiply_tile<SHAPE>(sorted_rows(at + t * TILE * ROW), plain_rows(shared, WIDE), acc);
            group_ends();
            group_wait<0>();
            if (t + 1 == C::tiles)
                ring_free(ring, item);
            keep_pixels<SHAPE>(dx, v.n, stage, t * TILE + warp * 16, acc);
        }
    }
}

/* One of dX's two blocks. */
template <int SHAPE>
static __device__ __forceinline__ void compute_dx(const struct conv_args &a, const CUtensorMap *dz,
                                                  uint32_t shared,
                                                  struct ring<dx_room<SHAPE>::slots> *ring)
{
    using C = cells<SHAPE>;
    using R = dx_room<SHAPE>;
    if (group_of_thread() == DX_MULTIPLIERS) {
        wait_for_previous();
        if (threadIdx.x % GROUP == 0)
            copy_dz<SHAPE>(a, dz, shared + R::weights, ring);
        return;
    }
#pragma unroll 1
    for (struct visit v = first_visit<SHAPE, C>(a); v.task < a.tasks; next_visit<SHAPE, C>(a, v)) {
        const float *w = tensor_at(a.theta, v.task, a.l, TENSOR_WEIGHT) + v.c0 * 9;
        if (v.turn > 0)
            some_meet(DX_MULTIPLIERS * GROUP); /* nobody reads those of the task before */
        transpose_weights<SHAPE>(w, shared);
        some_meet(DX_MULTIPLIERS * GROUP);
        if (v.turn == 0)
            wait_for_previous();
        multiply_dx<SHAPE>(a, v, shared, ring);
    }
}

/* How dX sees dz. */
template <int SHAPE> static struct box cells_of_dz(const struct conv_args *a)
{
    using C = cells<SHAPE>;
    using K = known<SHAPE>;
    return {a->cache.dz,
            4,
            {K::filters, K::conv_w, K::conv_h, (size_t)a->tasks * (size_t)a->n},
            {1, K::filters, K::conv_w * K::filters, K::conv_h * K::conv_w * K::filters},
            {WIDE, C::pitch, C::copied_rows, C::images},
            {1, 1, 1, 1}};
}

#endif
