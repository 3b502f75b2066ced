/* cuda_warpgroup_dw.cuh - dW by warpgroups: rows are (tap, input channel), columns output channels,
 * a sum is over cells.
 *
 * Rows come from registers, since a tap moves them by one term; dz is transposed on the way into
 * shared memory, a unit being four cells of a channel.
 */
#ifndef CUDA_WARPGROUP_DW_CUH
#define CUDA_WARPGROUP_DW_CUH

#include "cuda_warpgroup_half.cuh"

enum { DW_MULTIPLIERS = 3 /* warpgroups; the last one stages */ };

/* A stage is the planes of x, and dz (term of the sum, output channel).  Of the forward pass's
 * bands of 7 rows (shape 5) but one would fit, of 3 rows four do.  STEP: a step is taken, and a
 * block has its weights in shared memory when it needs them, by output channel, as they lie in
 * memory; two rows are 8 floats apart mod 32, what half a warp reads at once. */
template <int SHAPE, bool STEP> struct dw_room {
    using C = cells<SHAPE, SHAPE == 5 ? 3 : stagings[SHAPE].band>;
    static constexpr int out = known<SHAPE>::filters, terms = (C::count + 7) / 8 * 8;
    static constexpr int blocks = (9 * WIDE + TILE - 1) / TILE; /* of 64 rows */
    static constexpr int each = (blocks + DW_MULTIPLIERS - 1) / DW_MULTIPLIERS;
    static constexpr int x = C::planes_bytes, stage = x + terms * out * 4;
    static constexpr int sums = 9 * WIDE, pitch = sums + 4; /* floats of an output channel */
    static constexpr int old = STEP ? out * pitch * 4 : 0;
    static constexpr int declared = 1024; /* besides, at most: barriers */
    static constexpr int fit = (SHARED_MOST - declared - old) / stage, slots = fit < 4 ? fit : 4;
    static constexpr int bytes = slots * stage + old + 8 * ROW;
    static_assert(slots > 1, "one is filled while the other is used");
};

template <class R> struct dw_barriers {
    struct ring<R::slots> ring;
    uint64_t old_made, old_used;
};

template <class R> static __device__ __forceinline__ void dw_barriers_init(struct dw_barriers<R> *b)
{
    if (threadIdx.x == 0) {
        barrier_init(&b->old_made, 1);
        barrier_init(&b->old_used, DW_MULTIPLIERS * GROUP);
    }
    ring_init(&b->ring, 1 + GROUP, DW_MULTIPLIERS * GROUP / 32);
}

/* The cell that term k of a sum stands for: of eight, even ones come first, so that what a
 * thread reads of them lies in a bank of its own. */
[[maybe_unused]] static __device__ __forceinline__ constexpr int cell_of_term(int k)
{
    return k / 8 * 8 + k % 4 * 2 + k / 4 % 2;
}

/* dz of a stage, transposed: (four of terms, channel).  A warp reads 8 channels of 4 cells. */
template <class R>
static __device__ __forceinline__ void transpose_dz(const float *dz, int n, int stage, uint32_t to)
{
    enum { OUT = R::out };
    int lane = threadIdx.x % 32, warp = threadIdx.x % GROUP / 32, channel = lane / 4;
#pragma unroll
    for (int i = warp * 4; i < R::terms; i += GROUP / 32 * 4) { /* 4 terms */
        int m = pixel_of<typename R::C>(stage, cell_of_term(i + lane % 4), n);
        const float *from = dz + max(m, 0) * OUT + channel;
        uint32_t at = to + (i / 4 * OUT + channel) * UNIT + lane % 4 * 4;
        float v[OUT / 8];
#pragma unroll
        for (int c = 0; c < OUT / 8; c++)
            v[c] = m >= 0 ? __ldcg(from + 8 * c) : 0;
#pragma unroll
        for (int c = 0; c < OUT / 8; c++)
            asm volatile("st.shared.f32 [%0], %1;" ::"r"(at + 8 * c * UNIT), "f"(v[c]) : "memory");
    }
    shared_for_products();
}

/* x of stages from..to-1 of a task, those there are. */
template <class R>
static __device__ __forceinline__ void copy_x(const struct conv_args &a, const CUtensorMap *x,
                                              const struct visit &v, int from, int to,
                                              uint32_t shared, struct ring<R::slots> *ring)
{
#pragma unroll 1
    for (int i = from; i < min(to, v.last - v.first); i++) {
        int slot = (v.before + i) % R::slots;
        copy_planes<typename R::C>(x, v.c0, v.task * a.n, v.first + i, shared + slot * R::stage,
                                   &ring->made[slot]);
    }
}

/* The weights that a task's step starts from, by a warp. */
template <class R>
static __device__ __forceinline__ void copy_old(const struct conv_args &a, const struct visit &v,
                                                uint32_t to, struct dw_barriers<R> *bars)
{
    enum { BYTES = R::sums * 4, IN = R::C::K::c };
    const float *from =
        weights_at(a.sink.step.from, v.task, a.l.offset[TENSOR_WEIGHT] + (size_t)(v.c0 * 9));
    if (v.turn > 0)
        barrier_wait(&bars->old_used, v.turn - 1 & 1);
    if (threadIdx.x % 32 == 0)
        barrier_expect(&bars->old_made, R::out * BYTES);
    __syncwarp();
#pragma unroll
    for (int o = threadIdx.x % 32; o < R::out; o += 32)
        copy_bytes(to + o * R::pitch * 4, from + o * 9 * IN, BYTES, &bars->old_made);
}

template <int SHAPE, bool STEP>
static __device__ __forceinline__ void stage_dw(const struct conv_args &a, const CUtensorMap *x,
                                                uint32_t shared,
                                                struct dw_barriers<dw_room<SHAPE, STEP>> *bars)
{
    using R = dw_room<SHAPE, STEP>;
    using C = typename R::C;
    bool first = threadIdx.x % GROUP == 0;
    struct visit v = first_visit<SHAPE, C>(a);
    bool copies_old = STEP && threadIdx.x % GROUP < 32;
    if (first) /* before the kernel before, which writes dz, has ended */
        copy_x<R>(a, x, v, 0, R::slots, shared, &bars->ring);
    if (copies_old)
        copy_old<R>(a, v, shared + R::slots * R::stage, bars);
    wait_for_previous();
#pragma unroll 1
    for (; v.task < a.tasks; next_visit<SHAPE, C>(a, v)) {
        const float *dz = a.cache.dz + (size_t)v.task * a.n * C::plane * R::out;
#pragma unroll 1
        for (int i = 0; i < v.last - v.first; i++) {
            int item = v.before + i, slot = item % R::slots;
            ring_make(&bars->ring, item);
            if (first && (v.turn > 0 || i >= R::slots))
                copy_x<R>(a, x, v, i, i + 1, shared, &bars->ring);
            transpose_dz<R>(dz, v.n, v.first + i, shared + slot * R::stage + R::x);
            barrier_arrive(&bars->ring.made[slot]);
        }
        if (copies_old && v.turn > 0)
            copy_old<R>(a, v, shared + R::slots * R::stage, bars);
    }
}

/* Rows of a warp: 16 channels of a tap, of block `b`; rows g and g + 8 are channels 2g and
 * 2g + 1.  The last block may have rows of no tap. */
struct dw_rows {
    int tap, c;
};
[[maybe_unused]] static __device__ __forceinline__ struct dw_rows rows_of(int b)
{
    int sixteen = b * 4 + threadIdx.x / 32 % 4;
    return {sixteen / (WIDE / 16), sixteen % (WIDE / 16) * 16};
}

/* Where sums lie in memory, from the first of a row of 9 * channels: a thread has neighbours of
 * each of two rows in a row. */
[[maybe_unused]] static __device__ __forceinline__ int place_of(const struct dw_rows &r)
{
    return (r.c / 16 * 9 + r.tap) * 16 + threadIdx.x % 32 / 4 * 2;
}

/* Two neighbours of a task's gradient, or what a step makes of them: old, the weights before it,
 * and way, how far they have moved. */
template <bool STEP>
static __device__ __forceinline__ void sink_pair(const struct sink &s, int task, size_t at,
                                                 const float (&g)[2], const float *old,
                                                 float (&way)[2])
{
    float rate = (float)s.step.rate, v[2] = {g[0], g[1]};
#pragma unroll
    for (int j = 0; STEP && j < 2; j++)
        if (s.step.moved.at) {
            way[j] = fmaf(rate, v[j], way[j]);
            v[j] = old[j] - way[j];
        } else {
            v[j] = fmaf(-rate, v[j], old[j]);
        }
    if (STEP && s.step.moved.at)
        store_some<2>(task_at(s.step.moved, task, at), way);
    store_some<2>(task_at(STEP ? s.step.to : s.grad, task, at), v);
}

/* A warpgroup's sums to memory.  old: weights before the step, if one is taken. */
template <class R, int EACH>
static __device__ __forceinline__ void sink_blocks(const struct conv_args &a, const struct visit &v,
                                                   const float *old,
                                                   const float (&acc)[EACH][R::out / 8][4])
{
    enum { STEP = R::old > 0, ROW_OUT = 9 * R::C::K::c };
    enum { AT_ONCE = 16 }; /* of 64 channels all that a thread has of a block, without spills */
    int o0 = threadIdx.x % 4 * 2;
#pragma unroll
    for (int i = 0; i < EACH * R::out / 4; i += AT_ONCE) { /* pairs */
        int b = i / (R::out / 4);
        const struct dw_rows r = rows_of(group_of_thread() + b * DW_MULTIPLIERS);
        size_t first = a.l.offset[TENSOR_WEIGHT] + (size_t)(v.c0 * 9 + place_of(r) + o0 * ROW_OUT);
        float way[AT_ONCE][2];
        if (r.tap >= 9)
            continue;
#pragma unroll
        for (int j = 0; j < AT_ONCE; j++) {
            int o = (i + j) / 2 % (R::out / 8) * 8 + j % 2;
            if (STEP && a.sink.step.moved.at)
                load_some<2>(way[j], task_at(a.sink.step.moved, v.task, first + o * ROW_OUT));
        }
#pragma unroll
        for (int j = 0; j < AT_ONCE; j++) {
            int tile = (i + j) / 2 % (R::out / 8), o = tile * 8 + j % 2;
            const float g[2] = {acc[b][tile][j % 2], acc[b][tile][2 + j % 2]};
            sink_pair<STEP>(a.sink, v.task, first + o * ROW_OUT, g,
                            old + (o0 + o) * R::pitch + place_of(r), way[j]);
        }
    }
}

/* Where two blocks have a part of the images each: sums in shared memory, as they lie in memory. */
template <class R, int EACH>
static __device__ __forceinline__ void keep_sums(const float (&acc)[EACH][R::out / 8][4], float *to)
{
    to += threadIdx.x % 4 * 2 * R::pitch;
#pragma unroll
    for (int b = 0; b < EACH; b++) {
        const struct dw_rows r = rows_of(group_of_thread() + b * DW_MULTIPLIERS);
#pragma unroll
        for (int i = 0; r.tap < 9 && i < R::out / 4; i++)
            *(float2 *)(to + (i / 2 * 8 + i % 2) * R::pitch + place_of(r)) =
                make_float2(acc[b][i / 2][i % 2], acc[b][i / 2][2 + i % 2]);
    }
}

/* Both blocks' sums to memory, half of them by each. */
template <class R>
static __device__ __forceinline__ void sink_sums(const struct conv_args &a, const float *from)
{
    enum { FOURS = R::sums / 4, AT_ONCE = 4, MINE = R::out * FOURS / 2 };
    cooperative_groups::cluster_group cluster = cooperative_groups::this_cluster();
    const float *parts[2] = {cluster.map_shared_rank(from, 0), cluster.map_shared_rank(from, 1)};
    int begin = blockIdx.x % 2 * MINE, end = begin + MINE;
    cluster.sync();
#pragma unroll 1
    for (int i = begin + threadIdx.x; i < end; i += AT_ONCE * PRODUCT_THREADS) {
        size_t at[AT_ONCE];
        bool real[AT_ONCE];
        float v[AT_ONCE][4];
#pragma unroll
        for (int j = 0; j < AT_ONCE; j++) {
            int four = i + j * PRODUCT_THREADS, o = four / FOURS, c = four % FOURS * 4;
            real[j] = four < end;
            at[j] = a.l.offset[TENSOR_WEIGHT] + (size_t)o * 9 * R::C::K::c + c;
            if (!real[j])
                continue;
            float4 one = *(const float4 *)(parts[0] + o * R::pitch + c);
            float4 other = *(const float4 *)(parts[1] + o * R::pitch + c);
            *(float4 *)v[j] =
                make_float4(one.x + other.x, one.y + other.y, one.z + other.z, one.w + other.w);
        }
        sink_all<AT_ONCE, 4>(a.sink, blockIdx.y, at, real, v);
    }
    cluster_ends(2);
}

/* Where a thread finds terms t (or, half = 1, t + 4) of its rows of block b, in floats. */
template <class C> static __device__ __forceinline__ int terms_at(int b, int half)
{
    const struct dw_rows r = rows_of(b);
    int c = r.c + threadIdx.x % 32 / 4 * 2;
    int cell = C::tap(min(r.tap, 8)) + cell_of_term(threadIdx.x % 4 + 4 * half);
    return cell * (ROW / 4) + ((c / 4 ^ cell % 8) * 4 + c % 4);
}

template <int EACH>
static __device__ __forceinline__ void load_terms(const float *x, const int (&at)[EACH][2],
                                                  float (&rows)[EACH][4])
{
#pragma unroll
    for (int b = 0; b < 2 * EACH; b++) {
        float2 v = pair_at(x + at[b / 2][b % 2]);
        rows[b / 2][b % 2 * 2] = v.x;
        rows[b / 2][b % 2 * 2 + 1] = v.y;
    }
}

/* A task's sums of EACH blocks of rows. */
template <class R, int EACH>
static __device__ __forceinline__ void add_stages(const struct visit &v, const int (&at)[EACH][2],
                                                  char *shared, struct ring<R::slots> *ring,
                                                  float (&acc)[EACH][R::out / 8][4])
{
    enum { STEPS = R::terms / 8 };
#pragma unroll 1
    for (int i = v.before; i < v.before + v.last - v.first; i++) {
        const float *x = (const float *)(shared + i % R::slots * R::stage);
        uint64_t dz = plain_rows(shared_address(x) + R::x, R::out);
        float rows[2][EACH][4];
        ring_take(ring, i);
        load_terms<EACH>(x, at, rows[0]);
#pragma unroll
        for (int k = 0; k < STEPS; k++) {
            group_begins();
#pragma unroll
            for (int b = 0; b < EACH; b++)
                warpgroup_mma(acc[b], rows[k % 2][b], dz + 2 * k * R::out);
            group_ends();
            warpgroup_wait<1>(); /* that before, whose rows are now free */
            if (k + 1 < STEPS)
                load_terms<EACH>(x + (k + 1) * 8 * (ROW / 4), at, rows[(k + 1) % 2]);
        }
        warpgroup_wait<0>();
        ring_free(ring, i);
    }
}

template <int SHAPE, bool STEP, int EACH>
static __device__ __forceinline__ void multiply_dw(const struct conv_args &a, char *shared,
                                                   struct dw_barriers<dw_room<SHAPE, STEP>> *bars)
{
    using R = dw_room<SHAPE, STEP>;
    using C = typename R::C;
    int at[EACH][2];
#pragma unroll
    for (int b = 0; b < 2 * EACH; b++)
        at[b / 2][b % 2] = terms_at<C>(group_of_thread() + b / 2 * DW_MULTIPLIERS, b % 2);
#pragma unroll 1
    for (struct visit v = first_visit<SHAPE, C>(a); v.task < a.tasks; next_visit<SHAPE, C>(a, v)) {
        float acc[EACH][R::out / 8][4] = {};
        settle(acc);
        add_stages<R, EACH>(v, at, shared, &bars->ring, acc);
        if constexpr (parts_of<SHAPE> == 1) {
            if (STEP)
                barrier_wait(&bars->old_made, v.turn & 1);
            sink_blocks<R, EACH>(a, v, (const float *)(shared + R::slots * R::stage), acc);
            if (STEP)
                barrier_arrive(&bars->old_used);
        } else {
            some_meet(DW_MULTIPLIERS * GROUP); /* nobody reads a stage any more */
            keep_sums<R, EACH>(acc, (float *)shared);
        }
    }
}

/* One of dW's two blocks.  The last warpgroups may have a block of rows less. */
template <int SHAPE, bool STEP>
static __device__ __forceinline__ void compute_dw(const struct conv_args &a, const CUtensorMap *x,
                                                  char *shared,
                                                  struct dw_barriers<dw_room<SHAPE, STEP>> *bars)
{
    using R = dw_room<SHAPE, STEP>;
    int group = group_of_thread();
    if (group == DW_MULTIPLIERS) {
        stage_dw<SHAPE, STEP>(a, x, shared_address(shared), bars);
    } else {
        wait_for_previous();
        if (group + (R::each - 1) * DW_MULTIPLIERS < R::blocks)
            multiply_dw<SHAPE, STEP, R::each>(a, shared, bars);
        else
            multiply_dw<SHAPE, STEP, R::each - 1>(a, shared, bars);
    }
    if constexpr (parts_of < SHAPE >> 1)
        sink_sums<R>(a, (const float *)shared);
}

#endif
