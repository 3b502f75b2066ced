/* cuda_group_dx.cuh - dX by warpgroups: rows are cells of dz, a sum is over its channels.
 *
 * One cell makes 2 x 2 pixels, each from its own taps (cuda_dx.cuh).  Weights are transposed on
 * the way into shared memory.
 */
#ifndef CUDA_GROUP_DX_CUH
#define CUDA_GROUP_DX_CUH

#include "cuda_dx.cuh"
#include "cuda_group_half.cuh"

/* What a block has in shared memory: its weights, and a ring of stages of all channels of dz. */
template <int SHAPE> struct dx_room {
    using C = cells<SHAPE>;
    static constexpr int out = known<SHAPE>::filters, chunks = out / WIDE;
    static constexpr int weights = 9 * out / 4 * WIDE * UNIT, stage = chunks * C::plane_bytes;
    static constexpr int beyond = bytes_beyond(C::tiles * TILE + C::pitch + 1, C::held);
    static constexpr int slots = 2 * MULTIPLIERS; /* ring_take() */
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
    for (int i = threadIdx.x; i < ALL; i += MULTIPLIERS * GROUP) {
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
    multipliers_meet();
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

/* dz of a stage: the cells, and those to the right and below. */
template <int SHAPE>
static __device__ __forceinline__ void copy_dz(const CUtensorMap *dz, int first, int stage,
                                               uint32_t to, uint64_t *bar)
{
    using C = cells<SHAPE>;
    using R = dx_room<SHAPE>;
    barrier_expect(bar, R::chunks * C::bytes);
    for (int c = 0; c < R::chunks; c++)
        copy_box(to + c * C::plane_bytes, dz, c * WIDE, 0, C::row_of(stage),
                 first + C::image_of(stage), bar);
}

template <int SHAPE>
static __device__ __forceinline__ void
compute_dx(const struct conv_args &a, const CUtensorMap *dz, int task, int n,
           const struct portion &h, uint32_t shared, struct ring<dx_room<SHAPE>::slots> *ring)
{
    using C = cells<SHAPE>;
    using K = known<SHAPE>;
    using R = dx_room<SHAPE>;
    int group = group_of_thread(), items = h.last - h.first;
    uint32_t stages = shared + R::weights;
    if (group == MULTIPLIERS) {
        wait_for_previous();
#pragma unroll 1
        for (int i = 0; threadIdx.x % GROUP == 0 && i < items; i++) {
            int slot = i % R::slots;
            ring_make(ring, i);
            copy_dz<SHAPE>(dz, task * a.n, h.first + i, stages + slot * R::stage,
                           &ring->made[slot]);
        }
        return;
    }
    transpose_weights<SHAPE>(tensor_at(a.theta, task, a.l, TENSOR_WEIGHT) + h.c0 * 9, shared);
    wait_for_previous();
    float *dx = a.dx + (size_t)task * a.n * K::h * K::w * K::c + h.c0 + threadIdx.x % 4 * 4;
#pragma unroll 1
    for (int i = group; i < items; i += MULTIPLIERS) {
        ring_take(ring, i);
#pragma unroll 1
        for (int t = 0; t < C::tiles; t++) {
            float acc[4][4][4] = {};
            group_begins();
            multiply_tile<SHAPE>(sorted_rows(stages + i % R::slots * R::stage + t * TILE * ROW),
                                 plain_rows(shared, WIDE), acc);
            group_ends();
            group_wait<0>();
            if (t + 1 == C::tiles)
                ring_free(ring, i);
            keep_pixels<SHAPE>(dx, n, h.first + i, t * TILE + threadIdx.x / 32 % 4 * 16, acc);
        }
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
