/* cuda_tile.cuh - staging in shared memory, products of tiles on tensor cores, and
 * sums over a cluster.
 *
 * A warp multiplies tiles of 16 x 8 by 8 x 8 (mma.m16n8k8).  With g = lane / 4 and
 * t = lane % 4 a thread holds rows g, g + 8 and columns 2t, 2t + 1 of the result.
 * Which pixel, channel or term of a sum a row, column or k stands for is ours to
 * choose: always so that a thread reads and writes neighbours.  In plain fp32 the
 * same thread computes the same elements with FMAs.
 */
#ifndef CUDA_TILE_CUH
#define CUDA_TILE_CUH

#include "cuda_conv.h"

#include <cooperative_groups.h>

/* The kernel before has ended, all it wrote can be read, and the next may begin.  In
 * that order: a kernel that has begun, but not waited yet, can rely on all kernels
 * but the one before it. */
static __device__ __forceinline__ void wait_for_previous(void)
{
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

/* The first `threads` of the block meet. */
static __device__ __forceinline__ void some_meet(int threads)
{
    asm volatile("bar.sync 1, %0;" ::"r"(threads) : "memory");
}

/* ---- copies into shared memory ---- */

static __device__ __forceinline__ uint32_t shared_address(const void *at)
{
    return (uint32_t)__cvta_generic_to_shared(at);
}

/* 16 bytes, or zeros where !inside; `from` is not read then. */
static __device__ __forceinline__ void copy16(uint32_t to, const float *from, bool inside)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
                 "r"(inside ? 16 : 0)
                 : "memory");
}

static __device__ __forceinline__ void copy16(float *to, const float *from, bool inside)
{
    copy16(shared_address(to), from, inside);
}

static __device__ __forceinline__ void copies_end(void)
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Waits until all but the latest LEFT groups of copies have arrived. */
template <int LEFT> static __device__ __forceinline__ void copies_wait(void)
{
    asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
}

/* Waits for the oldest of `stages` groups of copies, 4 at most. */
static __device__ __forceinline__ void wait_stage(int stages)
{
    if (stages == 1)
        copies_wait<0>();
    else if (stages == 2)
        copies_wait<1>();
    else if (stages == 3)
        copies_wait<2>();
    else
        copies_wait<3>();
}

static __device__ __forceinline__ int divide(int n, struct divisor d)
{
    return (int)__umulhi((uint32_t)n, d.factor) + (n & d.one);
}

static __device__ __forceinline__ int log2_of(int power)
{
    return 31 - __clz(power);
}

/* The tall picture's row where the window of conv pixel m begins, and its column. */
static __device__ __forceinline__ int window_row(const struct conv_args &a, int m, int *x)
{
    int row = divide(m, a.plan.by_w), image = divide(row, a.plan.by_h);
    *x = (m - row * a.l.conv_w) * a.l.stride;
    return image * a.plan.in.rows + (row - image * a.l.conv_h) * a.l.stride;
}

/* Rows first..first+rows-1 of the tall picture, channels c0..c0+chunk-1 (a power of two
 * up to 64), to (rows, cols, pitch).  A warp per row; a lane stays with its channels.
 * evens: 0, or how many columns are even; those come first then, and the odd ones after
 * them, so that pixels two apart lie side by side. */
template <int WARPS>
static __device__ __forceinline__ void stage_picture(const struct picture &p, const float *from,
                                                     int n, int first, int rows, int c0, int chunk,
                                                     int evens, int pitch, float *to)
{
    int shift = log2_of(chunk) - 2, lane = threadIdx.x % 32, c = (lane & ((1 << shift) - 1)) * 4;
    int x0 = lane >> shift, step = 32 >> shift, line = p.cols * pitch;
    int turns = (p.cols + step - 1) >> (5 - shift);
    int gap = evens ? p.gap * pitch : 0;
    bool mine = c0 + c < p.c;
    int column = evens ? x0 / 2 + (x0 & 1) * evens : x0, stride = evens ? step / 2 : step;
    uint32_t out = shared_address(to) + 4 * (column * pitch + c);
    const float *in = from + (x0 - p.before) * p.c + c0 + c;
#pragma unroll 1
    for (int row = threadIdx.x / 32; row < rows; row += WARPS) {
        int image = divide(first + row, p.by_rows), y = first + row - image * p.rows - p.before;
        bool real = mine && image < n && (unsigned)y < (unsigned)p.h;
        const float *source = in + (image * p.h + y) * p.w * p.c;
        uint32_t target = out + 4 * (row * line + (row >> 1) * gap);
#pragma unroll
        for (int i = 0; i < turns; i++) {
            int x = x0 + i * step;
            bool inside = real && (unsigned)(x - p.before) < (unsigned)p.w;
            if (x < p.cols)
                copy16(target + 4 * i * stride * pitch, source + i * step * p.c, inside);
        }
    }
}

/* `fours` of floats of each row of weights, `used` of them from memory and zeros after that.
 * row_at: how far from the first a staged row lies in memory, or -1, zeros.  Twelve lanes a
 * row: 9 taps of 16 channels are 36 fours, three for each. */
template <int WARPS, class ROW>
static __device__ __forceinline__ void stage_rows(int rows, int used, int fours, const float *from,
                                                  ROW row_at, float *to, int pitch)
{
    enum { LANES = 12 };
    int lane = threadIdx.x % 32, second = lane >= LANES, at = (lane - second * LANES) * 4;
#pragma unroll
    for (int first = 0; first < rows; first += 2 * WARPS) {
        int row = first + threadIdx.x / 32 * 2 + second, source = row_at(row);
        const float *in = from + source + at;
        uint32_t out = shared_address(to) + 4 * (row * pitch + at);
#pragma unroll
        for (int i = 0; i < fours; i += LANES)
            if (lane < 2 * LANES && row < rows && (i + LANES <= fours || at + 4 * i < 4 * fours))
                copy16(out + 16 * i, in + 4 * i, source >= 0 && at + 4 * i < used);
    }
}

/* An item of work: chunk `part` (of the sources' chunks) of the block of pixels at m,
 * and the stage it lies in. */
struct cursor {
    int m, part, slot;
};

static __device__ __forceinline__ void advance(struct cursor &c, const struct product &p, int each)
{
    if (++c.part == each) {
        c.part = 0;
        c.m += p.block;
    }
    if (++c.slot == p.stages)
        c.slot = 0;
}

/* ---- products ---- */

/* To the nearest TF32: the unit drops the last 13 bits. */
static __device__ __forceinline__ float round_tf32(float x)
{
    return __uint_as_float((__float_as_uint(x) + 0x1000u) & ~0x1fffu);
}

/* What the unit makes the nearest TF32 of x from, by dropping those bits. */
static __device__ __forceinline__ float nudge(float x)
{
    return __uint_as_float(__float_as_uint(x) + 0x1000u);
}

/* Two floats to the nearest fp16, the first one in the lower bits; what is too large becomes the
 * largest there is. */
[[maybe_unused]] static __device__ __forceinline__ uint32_t two_fp16(float low, float high)
{
    uint32_t both;
    asm("cvt.rn.satfinite.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}

static __device__ __forceinline__ void mma(float (&c)[4], const float (&a)[4], float b0, float b1)
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])),
          "r"(__float_as_uint(a[3])), "r"(__float_as_uint(b0)), "r"(__float_as_uint(b1)));
}

static __device__ __forceinline__ float2 pair_at(const float *at)
{
    return *(const float2 *)at;
}

/* Four matrices of 8 rows x 4 floats, one float of each to a thread: that of row g, column
 * t.  Lane 8 i + j has the address of row j of matrix i.  What mma() takes must come in
 * registers side by side, as here, or be moved there for every product. */
static __device__ __forceinline__ void load_matrices(float (&to)[4], uint32_t at)
{
    uint32_t r[4];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(at));
    for (int i = 0; i < 4; i++)
        to[i] = __uint_as_float(r[i]);
}

/* Of products by warps whose threads are to hold 4 neighbouring channels of every 16: the
 * channel that column `i` of a warp's tiles stands for. */
static __device__ __forceinline__ int channel_of_column(int i)
{
    int tile = i / 8, c = i % 8;
    return tile / 2 * 16 + c / 2 * 4 + tile % 2 * 2 + c % 2;
}

/* c += (two rows, two terms) x (two terms, two columns) in fp32: b0 and b1 hold the
 * two terms of a column each. */
static __device__ __forceinline__ void fma_pairs(float (&c)[4], float2 row0, float2 row1, float2 b0,
                                                 float2 b1)
{
    c[0] = fmaf(row0.y, b0.y, fmaf(row0.x, b0.x, c[0]));
    c[1] = fmaf(row0.y, b1.y, fmaf(row0.x, b1.x, c[1]));
    c[2] = fmaf(row1.y, b0.y, fmaf(row1.x, b0.x, c[2]));
    c[3] = fmaf(row1.y, b1.y, fmaf(row1.x, b1.x, c[3]));
}

/* Adds the kgroups' accumulators to those of the first, in order, through shared
 * memory: `places` warps in each group. */
template <int N>
static __device__ __forceinline__ void join_groups(float *acc, int kgroup, int kgroups, int place,
                                                   int places, float *shared)
{
    float *mine = shared + ((kgroup - 1) * places + place) * (N * 32) + threadIdx.x % 32 * 4;
    if (kgroup > 0 && kgroup < kgroups)
#pragma unroll
        for (int i = 0; i < N; i += 4)
            *(float4 *)(mine + i * 32) = make_float4(acc[i], acc[i + 1], acc[i + 2], acc[i + 3]);
    __syncthreads();
#pragma unroll 1
    for (int other = 1; kgroup == 0 && other < kgroups; other++) {
        const float *more = mine + other * places * (N * 32);
#pragma unroll
        for (int i = 0; i < N; i += 4) {
            float4 v = *(const float4 *)(more + i * 32);
            acc[i] += v.x;
            acc[i + 1] += v.y;
            acc[i + 2] += v.z;
            acc[i + 3] += v.w;
        }
    }
}

/* ---- sums over a block, and over the blocks that share a slice ---- */

/* NS sums of CHANNELS channels: of each warp, of each block of the cluster, and of all.
 * Blocks send theirs to the others (st.async), and each waits for what it is sent: a
 * barrier of the cluster would first wait until all that was ever stored has arrived. */
template <int NW, int NS, int CHANNELS> struct sums {
    double warp[NW][NS][CHANNELS], block[CLUSTER_MAX][NS][CHANNELS], total[NS][CHANNELS];
    uint64_t sent; /* an mbarrier: completes when all of `block` has come */
};

/* Sets up `sent` for `bytes` from the blocks of the cluster, and tells them; before anything
 * is sent, barrier.cluster.wait. */
static __device__ __forceinline__ void expect_sent(uint64_t *sent, int bytes, int splits)
{
    if (splits == 1)
        return;
    uint32_t at = shared_address(sent);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncwarp(); /* racecheck takes the two for accesses of different lanes */
    if (threadIdx.x == 0)
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at), "r"(bytes)
                     : "memory");
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

/* The first thing done with them; `used` of the NS sums will be added up. */
template <int NW, int NS, int CHANNELS>
static __device__ __forceinline__ void sums_begin(struct sums<NW, NS, CHANNELS> *s, int used,
                                                  int splits)
{
    expect_sent(&s->sent, splits * used * CHANNELS * (int)sizeof(double), splits);
}

/* Sends v to the same place in block `rank` of the cluster. */
static __device__ __forceinline__ void send(double *place, uint64_t *sent, int rank, double v)
{
    uint32_t to, bar;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
                 : "=r"(to)
                 : "r"(shared_address(place)), "r"(rank));
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
                 : "=r"(bar)
                 : "r"(shared_address(sent)), "r"(rank));
    asm volatile(
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, [%2];" ::"r"(to),
        "l"(__double_as_longlong(v)), "r"(bar)
        : "memory");
}

/* The same of two floats. */
static __device__ __forceinline__ void send_pair(float *place, uint64_t *sent, int rank, float2 v)
{
    send((double *)place, sent, rank, __hiloint2double(__float_as_int(v.y), __float_as_int(v.x)));
}

static __device__ __forceinline__ void wait_sent(uint64_t *sent)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], 0;\n"
                 "@!done bra again;\n"
                 "}" ::"r"(shared_address(sent))
                 : "memory");
}

/* Sums v (4 or 8 channels) over the lanes of equal t, each lane left with one of the
 * channels: channel_of_lane(). */
template <int CH> static __device__ __forceinline__ float spread_sum(const float (&v)[CH])
{
    int lane = threadIdx.x % 32;
    float four[4], two[2], one;
    for (int i = 0; i < 4; i++)
        four[i] = v[i];
    if (CH == 8)
        for (int i = 0; i < 4; i++) {
            float keep = lane & 4 ? v[CH - 4 + i] : v[i], give = lane & 4 ? v[i] : v[CH - 4 + i];
            four[i] = keep + __shfl_xor_sync(~0u, give, 4);
        }
    for (int i = 0; i < 2; i++) {
        float keep = lane & 8 ? four[2 + i] : four[i], give = lane & 8 ? four[i] : four[2 + i];
        two[i] = keep + __shfl_xor_sync(~0u, give, 8);
    }
    float keep = lane & 16 ? two[1] : two[0], give = lane & 16 ? two[0] : two[1];
    one = keep + __shfl_xor_sync(~0u, give, 16);
    return CH == 8 ? one : one + __shfl_xor_sync(~0u, one, 4);
}

template <int CH> static __device__ __forceinline__ int channel_of_lane(void)
{
    int lane = threadIdx.x % 32;
    return (CH == 8 && lane & 4 ? 4 : 0) + (lane & 8 ? 2 : 0) + (lane & 16 ? 1 : 0);
}

/* The first `used` sums of the first `warps` warps to s->total: over the block, then over
 * the `splits` blocks of the cluster.  Always in one order. */
template <int NW, int NS, int CHANNELS>
static __device__ void add_up(struct sums<NW, NS, CHANNELS> *s, int used, int warps, int splits)
{
    int i = threadIdx.x / CHANNELS, c = threadIdx.x % CHANNELS;
    double sum = 0;
    __syncthreads();
    if (i < used)
#pragma unroll 4
        for (int w = 0; w < warps; w++)
            sum += s->warp[w][i][c];
    if (splits > 1) { /* all have begun */
        int rank = cooperative_groups::this_cluster().block_rank() & (splits - 1);
        asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
        if (i < used) {
#pragma unroll 1
            for (int p = 0; p < splits; p++)
                send(&s->block[rank][i][c], &s->sent, p, sum);
            wait_sent(&s->sent);
            sum = 0;
#pragma unroll 1
            for (int p = 0; p < splits; p++)
                sum += s->block[p][i][c];
        }
    }
    if (i < used)
        s->total[i][c] = sum;
    __syncthreads();
}

/* Before a block whose shared memory others read may end. */
static __device__ __forceinline__ void cluster_ends(int splits)
{
    if (splits > 1)
        cooperative_groups::this_cluster().sync();
}

/* ---- channels ---- */

/* In the task's own vector. */
static __device__ __forceinline__ float *task_at(const struct vec &v, int task, size_t at)
{
    return (float *)v.at + (size_t)task * v.stride + at;
}

/* The same of weights, which tasks may share: to be read. */
static __device__ __forceinline__ uint32_t vector_number(const struct vec &v, int task)
{
    return v.shared ? __umulhi((uint32_t)task, v.shared) : (uint32_t)task;
}

static __device__ __forceinline__ const float *weights_at(const struct vec &v, int task, size_t at)
{
    return (const float *)v.at + (size_t)vector_number(v, task) * v.stride + at;
}

static __device__ __forceinline__ bool same_vectors(const struct vec &a, const struct vec &b)
{
    return a.at == b.at && a.stride == b.stride && a.shared == b.shared;
}

static __device__ __forceinline__ const float *tensor_at(const struct vec &v, int task,
                                                         const struct layer &l, int which)
{
    return weights_at(v, task, l.offset[which]);
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

/* The same from shared memory, and zeros to it. */
static __device__ __forceinline__ void take4(float (&to)[4], const float *from)
{
    float4 v = *(const float4 *)from;
    to[0] = v.x;
    to[1] = v.y;
    to[2] = v.z;
    to[3] = v.w;
}

static __device__ __forceinline__ void store_zeros(float *to)
{
    *(float4 *)to = make_float4(0, 0, 0, 0);
}

/* To device memory, never to shared memory.  An assignment may be taken apart into four
 * stores, which write each sector four times. */
static __device__ __forceinline__ void store4(float *to, const float *v)
{
    __stcg((float4 *)to, make_float4(v[0], v[1], v[2], v[3]));
}

/* ---- gradients ---- */

/* What a step reads of the weights it changes: N times C of them. */
template <int N, int C> struct olds {
    float from[N][C], way[N][C];
};

template <int C> static __device__ __forceinline__ void load_some(float (&to)[C], const float *from)
{
    if constexpr (C == 4) {
        load4(to, from);
    } else if constexpr (C == 2) {
        float2 v = __ldcg((const float2 *)from);
        to[0] = v.x;
        to[1] = v.y;
    } else
        for (int j = 0; j < C; j++)
            to[j] = __ldcg(from + j);
}

template <int C> static __device__ __forceinline__ void store_some(float *to, const float (&v)[C])
{
    if constexpr (C == 4)
        store4(to, v);
    else if constexpr (C == 2)
        __stcg((float2 *)to, make_float2(v[0], v[1]));
    else
        for (int j = 0; j < C; j++)
            to[j] = v[j];
}

/* Begins to read N times C of a task's weights, those that are `real`; all are under way
 * together. */
template <int N, int C>
static __device__ __forceinline__ void sink_begin(const struct sink &s, int task,
                                                  const size_t (&at)[N], const bool (&real)[N],
                                                  struct olds<N, C> &old)
{
#pragma unroll
    for (int i = 0; i < N; i++)
        if (real[i] && s.step.to.at) {
            load_some<C>(old.from[i], weights_at(s.step.from, task, at[i]));
            if (s.step.moved.at)
                load_some<C>(old.way[i], task_at(s.step.moved, task, at[i]));
        }
}

/* Their gradients, or what a step makes of them. */
template <int N, int C>
static __device__ __forceinline__ void sink_end(const struct sink &s, int task,
                                                const size_t (&at)[N], const bool (&real)[N],
                                                const float (&g)[N][C], struct olds<N, C> &old)
{
    float rate = (float)s.step.rate;
    float *to = s.step.to.at ? task_at(s.step.to, task, 0) : task_at(s.grad, task, 0);
#pragma unroll
    for (int i = 0; i < N; i++) {
        float v[C];
#pragma unroll
        for (int j = 0; j < C; j++) {
            v[j] = g[i][j];
            if (s.step.to.at && s.step.moved.at) {
                old.way[i][j] = fmaf(rate, v[j], old.way[i][j]);
                v[j] = old.from[i][j] - old.way[i][j];
            } else if (s.step.to.at) {
                v[j] = fmaf(-rate, v[j], old.from[i][j]);
            }
        }
        if (real[i] && s.step.to.at && s.step.moved.at)
            store_some<C>(task_at(s.step.moved, task, at[i]), old.way[i]);
        if (real[i])
            store_some<C>(to + at[i], v);
    }
}

template <int N, int C>
static __device__ __forceinline__ void sink_all(const struct sink &s, int task,
                                                const size_t (&at)[N], const bool (&real)[N],
                                                const float (&g)[N][C])
{
    struct olds<N, C> old;
    sink_begin<N, C>(s, task, at, real, old);
    sink_end<N, C>(s, task, at, real, g, old);
}

/* Element `at` of a task's gradient. */
static __device__ __forceinline__ void sink_value(const struct sink &s, int task, size_t at,
                                                  float g)
{
    sink_all<1, 1>(s, task, {at}, {true}, {{g}});
}

#endif
