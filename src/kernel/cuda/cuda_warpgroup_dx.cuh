/* cuda_warpgroup_dx.cuh - dX by warpgroups: rows are cells of dz, a sum is over its channels.
 *
 * One cell makes 2 x 2 pixels, each from its own taps (cuda_dx.cuh).  Weights are transposed on
 * the way into shared memory.  AHEAD: blocks go on to other tasks, whose weights are brought to
 * shared memory as they are while the task before is computed, and transposed there.
 */
#ifndef CUDA_WARPGROUP_DX_CUH
#define CUDA_WARPGROUP_DX_CUH

#include "cuda_dx.cuh"
#include "cuda_warpgroup_half.cuh"

enum { DX_MULTIPLIERS = 3 /* warpgroups; one thread more has the copy engine stage */ };

/* What a block has in shared memory: its weights, a ring of stages of all channels of dz, and the
 * next task's weights as they are. */
template <int SHAPE, bool AHEAD> struct dx_room {
    using C = cells<SHAPE>;
    static constexpr int out = known<SHAPE>::filters, chunks = out / WIDE;
    static constexpr int weights = 9 * out / 4 * WIDE * UNIT, stage = chunks * C::plane_bytes;
    static constexpr int beyond = bytes_beyond(C::tiles * TILE + C::pitch + 1, C::held);
    static constexpr int slots = (AHEAD ? 1 : 2) * DX_MULTIPLIERS; /* ring_take() */
    static constexpr int next = (weights + slots * stage + beyond + UNIT - 1) / UNIT * UNIT;
    static constexpr int bytes = next + (AHEAD ? weights : 0) + 8 * ROW;
    static_assert(bytes <= SHARED_MOST - 1024, "stages for each warpgroup, and barriers");
};

template <class R> struct dx_barriers {
    struct ring<R::slots> ring;
    uint64_t next_made, next_used;
};

template <class R> static __device__ __forceinline__ void dx_barriers_init(struct dx_barriers<R> *b)
{
    if (threadIdx.x == 0) {
        barrier_init(&b->next_made, 1);
        barrier_init(&b->next_used, DX_MULTIPLIERS * GROUP);
    }
    ring_init(&b->ring, 1, GROUP / 32);
}

/* The slice's weights, transposed: (tap, four of output channels, row).  A thread takes 4 x 4
 * channels.  Rows i, i + 8, i + 16 and i + 24 are four neighbouring channels, so that eight
 * threads write eight rows in a row; and those fours are sorted such that four threads, each of
 * which holds two rows in a row of a product, hold 16 neighbours.  w: in memory, or in shared
 * memory; output channels are `apart` floats apart. */
template <class R, bool SHARED>
static __device__ __forceinline__ void transpose_weights(const float *w, int apart, uint32_t to)
{
    enum { ALL = 9 * R::out / 4 * WIDE / 4 };
#pragma unroll
    for (int i = threadIdx.x; i < ALL; i += DX_MULTIPLIERS * GROUP) {
        int k = i % 8, four = i / 8 % (R::out / 4), tap = i / (2 * R::out);
        const float *from = w + four * 4 * apart + (k / 4 * 9 + tap) * SLICE + k % 4 * 4;
        float v[4][4];
#pragma unroll
        for (int o = 0; o < 4; o++)
            if (SHARED)
                *(float4 *)v[o] = *(const float4 *)(from + o * apart);
            else
                load4(v[o], from + o * apart);
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

/* The weights of every task but the block's first, by a warp. */
template <int SHAPE>
static __device__ __forceinline__ void
copy_next_weights(const struct conv_args &a, uint32_t to,
                  struct dx_barriers<dx_room<SHAPE, true>> *b)
{
    enum { BYTES = 9 * WIDE * 4, OUT = known<SHAPE>::filters };
    struct visit v = first_visit<SHAPE, cells<SHAPE>>(a);
    next_visit<SHAPE, cells<SHAPE>>(a, v);
#pragma unroll 1
    for (; v.task < a.tasks; next_visit<SHAPE, cells<SHAPE>>(a, v)) {
        const float *from = tensor_at(a.theta, v.task, a.l, TENSOR_WEIGHT) + v.c0 * 9;
        if (v.turn > 1)
            barrier_wait(&b->next_used, v.turn & 1);
        if (threadIdx.x % 32 == 0)
            barrier_expect(&b->next_made, OUT * BYTES);
        __syncwarp();
#pragma unroll
        for (int o = threadIdx.x % 32; o < OUT; o += 32)
            copy_bytes(to + o * BYTES, from + o * 9 * known<SHAPE>::c, BYTES, &b->next_made);
    }
}

/* acc: by parity of rows and columns. */
template <int SHAPE>
static __device__ __forceinline__ void multiply_tile(uint64_t a, uint64_t b, float (&acc)[4][4][4])
{
    using C = cells<SHAPE>;
    enum { OUT = known<SHAPE>::filters };
#pragma unroll
    for (int k = 0; k < OUT / 8; k++)
#pragma unroll
        for (int tap = 0; tap < 9; tap++) {
            int to = pixel_of_tap<2>(tap / 3) * 2 + pixel_of_tap<2>(tap % 3);
            int from = neighbour_of_tap<2>(tap / 3) * C::pitch + neighbour_of_tap<2>(tap % 3);
            warpgroup_mma(acc[to], a + ((k / 4 * C::held + from) * ROW / UNIT + k % 4 * 2),
                          b + (tap * (OUT / 4) + 2 * k) * WIDE);
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
template <int SHAPE, class R>
static __device__ __forceinline__ void copy_dz(const struct conv_args &a, const CUtensorMap *dz,
                                               uint32_t stages, struct ring<R::slots> *ring)
{
    using C = cells<SHAPE>;
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
template <int SHAPE, class R>
static __device__ __forceinline__ void multiply_dx(const struct conv_args &a, const struct visit &v,
                                                   uint32_t shared, struct ring<R::slots> *ring)
{
    using C = cells<SHAPE>;
    using K = known<SHAPE>;
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
            warpgroup_wait<0>();
            if (t + 1 == C::tiles)
                ring_free(ring, item);
            keep_pixels<SHAPE>(dx, v.n, stage, t * TILE + warp * 16, acc);
        }
    }
}

/* A task's weights to where products read them: those of a block's first from memory. */
template <int SHAPE, bool AHEAD>
static __device__ __forceinline__ void take_weights(const struct conv_args &a,
                                                    const struct visit &v, char *shared,
                                                    struct dx_barriers<dx_room<SHAPE, AHEAD>> *bars)
{
    using R = dx_room<SHAPE, AHEAD>;
    if (AHEAD && v.turn > 0) {
        barrier_wait(&bars->next_made, v.turn - 1 & 1);
        transpose_weights<R, true>((const float *)(shared + R::next), 9 * WIDE,
                                   shared_address(shared));
        barrier_arrive(&bars->next_used);
    } else {
        transpose_weights<R, false>(tensor_at(a.theta, v.task, a.l, TENSOR_WEIGHT) + v.c0 * 9,
                                    9 * known<SHAPE>::c, shared_address(shared));
    }
}

/* One of dX's two blocks. */
template <int SHAPE, bool AHEAD>
static __device__ __forceinline__ void compute_dx(const struct conv_args &a, const CUtensorMap *dz,
                                                  char *shared,
                                                  struct dx_barriers<dx_room<SHAPE, AHEAD>> *bars)
{
    using C = cells<SHAPE>;
    using R = dx_room<SHAPE, AHEAD>;
    if (group_of_thread() == DX_MULTIPLIERS) {
        if constexpr (AHEAD)
            if (threadIdx.x % GROUP / 32 == 1)
                copy_next_weights<SHAPE>(a, shared_address(shared + R::next), bars);
        wait_for_previous();
        if (threadIdx.x % GROUP == 0)
            copy_dz<SHAPE, R>(a, dz, shared_address(shared) + R::weights, &bars->ring);
        return;
    }
#pragma unroll 1
    for (struct visit v = first_visit<SHAPE, C>(a); v.task < a.tasks; next_visit<SHAPE, C>(a, v)) {
        if (v.turn > 0)
            some_meet(DX_MULTIPLIERS * GROUP); /* nobody reads those of the task before */
        take_weights<SHAPE, AHEAD>(a, v, shared, bars);
        some_meet(DX_MULTIPLIERS * GROUP);
        if (v.turn == 0)
            wait_for_previous();
        multiply_dx<SHAPE, R>(a, v, shared_address(shared), &bars->ring);
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
