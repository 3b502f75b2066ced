/* cuda_group_dw.cuh - dW by warpgroups: rows are (tap, input channel), columns output channels, a
 * sum is over cells.
 *
 * Rows come from registers, since a tap moves them by one term; dz is transposed on the way into
 * shared memory, a unit being four cells of a channel.
 */
#ifndef CUDA_GROUP_DW_CUH
#define CUDA_GROUP_DW_CUH

#include "cuda_group_half.cuh"

/* A stage is the planes of x, and dz (term of the sum, output channel).  Of the forward pass's
 * bands of 7 rows (shape 5) but one would fit, of 3 rows four do. */
template <int SHAPE> struct dw_room {
    using C = cells<SHAPE, SHAPE == 5 ? 3 : stagings[SHAPE].band>;
    static constexpr int out = known<SHAPE>::filters, terms = (C::count + 7) / 8 * 8;
    static constexpr int blocks = (9 * WIDE + TILE - 1) / TILE; /* of 64 rows */
    static constexpr int each = (blocks + MULTIPLIERS - 1) / MULTIPLIERS;
    static constexpr int x = C::planes_bytes, stage = x + terms * out * 4;
    static constexpr int fit = SHARED_MOST / stage, slots = fit < 4 ? fit : 4;
    static constexpr int bytes = slots * stage + 8 * ROW;
};

/* The cell that term k of a sum stands for: of eight, even ones come first, so that what a
 * thread reads of them lies in a bank of its own. */
[[maybe_unused]] static __device__ __forceinline__ constexpr int cell_of_term(int k)
{
    return k / 8 * 8 + k % 4 * 2 + k / 4 % 2;
}

/* dz of a stage, transposed: (four of terms, channel).  A warp reads 8 channels of 4 cells. */
template <int SHAPE>
static __device__ __forceinline__ void transpose_dz(const float *dz, int n, int stage, uint32_t to)
{
    using R = dw_room<SHAPE>;
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

template <int SHAPE>
static __device__ __forceinline__ void
stage_dw(const struct conv_args &a, const CUtensorMap *x, int task, int n, const struct portion &h,
         uint32_t shared, struct ring<dw_room<SHAPE>::slots> *ring)
{
    using R = dw_room<SHAPE>;
    using C = typename R::C;
    const float *dz = a.cache.dz + (size_t)task * a.n * C::plane * R::out;
    int items = h.last - h.first;
    bool first = threadIdx.x % GROUP == 0;
    for (int i = 0; first && i < min(items, (int)R::slots); i++)
        copy_planes<C>(x, h.c0, task * a.n, h.first + i, shared + i * R::stage, &ring->made[i]);
    wait_for_previous();
#pragma unroll 1
    for (int i = 0; i < items; i++) {
        int slot = i % R::slots;
        uint32_t stage = shared + slot * R::stage;
        ring_make(ring, i);
        if (first && i >= R::slots)
            copy_planes<C>(x, h.c0, task * a.n, h.first + i, stage, &ring->made[slot]);
        transpose_dz<SHAPE>(dz, n, h.first + i, stage + R::x);
        barrier_arrive(&ring->made[slot]);
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

/* A block's sums in shared memory, by output channel: as they lie in memory, 9 taps of 16
 * input channels and again.  Two rows are 8 floats apart mod 32, what a warp writes at once. */
enum { SUMS = 9 * WIDE, SUMS_PITCH = SUMS + 4 };

template <int OUT>
static __device__ __forceinline__ void keep_sums(int b, const float (&acc)[OUT / 8][4], float *to)
{
    const struct dw_rows r = rows_of(b);
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    to += 2 * t * SUMS_PITCH + (r.c / 16 * 9 + r.tap) * 16 + 2 * g;
#pragma unroll
    for (int i = 0; r.tap < 9 && i < OUT / 4; i++)
        *(float2 *)(to + (i / 2 * 8 + i % 2) * SUMS_PITCH) =
            make_float2(acc[i / 2][i % 2], acc[i / 2][2 + i % 2]);
}

/* Four neighbours of them: the block's own, or where two have a part of the images each, both. */
template <int PARTS> static __device__ __forceinline__ float4 sums_at(const float *at)
{
    if constexpr (PARTS == 1)
        return *(const float4 *)at;
    cooperative_groups::cluster_group cluster = cooperative_groups::this_cluster();
    float4 a = *(const float4 *)cluster.map_shared_rank(at, 0);
    float4 b = *(const float4 *)cluster.map_shared_rank(at, 1);
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

/* All of them to memory, or the block's half. */
template <int SHAPE>
static __device__ __forceinline__ void sink_sums(const struct conv_args &a, int task, int which,
                                                 int c0, const float *from)
{
    enum { PARTS = parts_of<SHAPE>, FOURS = SUMS / 4, AT_ONCE = 4 };
    enum { MINE = known<SHAPE>::filters * FOURS / PARTS };
    size_t first = a.l.offset[TENSOR_WEIGHT] + (size_t)c0 * 9;
    int begin = PARTS > 1 ? which * MINE : 0, end = begin + MINE;
#pragma unroll 1
    for (int i = begin + threadIdx.x; i < end; i += AT_ONCE * PRODUCT_THREADS) {
        size_t at[AT_ONCE];
        bool real[AT_ONCE];
        float v[AT_ONCE][4];
#pragma unroll
        for (int j = 0; j < AT_ONCE; j++) {
            int four = i + j * PRODUCT_THREADS, o = four / FOURS, c = four % FOURS * 4;
            real[j] = four < end;
            at[j] = first + (size_t)o * 9 * known<SHAPE>::c + c;
            if (real[j])
                *(float4 *)v[j] = sums_at<PARTS>(from + o * SUMS_PITCH + c);
        }
        sink_all<AT_ONCE, 4>(a.sink, task, at, real, v);
    }
}

/* Where a thread finds terms t (or, half = 1, t + 4) of its rows of block b, in floats. */
template <int SHAPE> static __device__ __forceinline__ int terms_at(int b, int half)
{
    using C = typename dw_room<SHAPE>::C;
    const struct dw_rows r = rows_of(b);
    int tap = min(r.tap, 8), y = tap / 3, x = tap % 3, c = r.c + threadIdx.x % 32 / 4 * 2;
    int cell = (2 * (y == 1) + (x == 1)) * C::held + (y == 2 ? C::pitch : 0) + (x == 2) +
               cell_of_term(threadIdx.x % 4 + 4 * half);
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

/* The sums of `items` stages, to shared memory. */
template <int SHAPE>
static __device__ __forceinline__ void multiply_dw(int items, char *shared,
                                                   struct ring<dw_room<SHAPE>::slots> *ring)
{
    using R = dw_room<SHAPE>;
    enum { EACH = R::each, STEPS = R::terms / 8 };
    int group = group_of_thread(), at[EACH][2];
    float acc[EACH][R::out / 8][4] = {};
#pragma unroll
    for (int b = 0; b < 2 * EACH; b++)
        at[b / 2][b % 2] = terms_at<SHAPE>(group + b / 2 * MULTIPLIERS, b % 2);
#pragma unroll 1
    for (int i = 0; i < items; i++) {
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
                group_mma(acc[b], rows[k % 2][b], dz + 2 * k * R::out);
            group_ends();
            group_wait<1>(); /* that before, whose rows are now free */
            if (k + 1 < STEPS)
                load_terms<EACH>(x + (k + 1) * 8 * (ROW / 4), at, rows[(k + 1) % 2]);
        }
        group_wait<0>();
        ring_free(ring, i);
    }
    multipliers_meet(); /* nobody reads a stage any more */
#pragma unroll
    for (int b = 0; b < EACH; b++)
        keep_sums<R::out>(group + b * MULTIPLIERS, acc[b], (float *)shared);
}

/* One of dW's two blocks. */
template <int SHAPE>
static __device__ __forceinline__ void compute_dw(const struct conv_args &a, const CUtensorMap *x,
                                                  int task, int n, int which, char *shared,
                                                  struct ring<dw_room<SHAPE>::slots> *ring)
{
    const struct portion h = portion_of<SHAPE>(which, dw_room<SHAPE>::C::stages(n));
    if (group_of_thread() == MULTIPLIERS) {
        stage_dw<SHAPE>(a, x, task, n, h, shared_address(shared), ring);
    } else {
        wait_for_previous();
        multiply_dw<SHAPE>(h.last - h.first, shared, ring);
    }
    if (parts_of < SHAPE >> 1)
        cooperative_groups::this_cluster().sync();
    else
        __syncthreads();
    sink_sums<SHAPE>(a, task, which, h.c0, (const float *)shared);
    cluster_ends(parts_of<SHAPE>);
}

#endif
