/* cuda_first_backward.cu - a net's first layer backward, from the gradient of its output and
 * what forward has left (cuda_first.cuh).
 *
 * D, the sum over pixels of dy u', is one product: its rows are the channels of a slice, half
 * of the layer's (row g, g + 8 of tile i: channel 16 i + 2 g, + 1), its columns those of u,
 * its terms pixels.
 */
#include "cuda_first.cuh"

extern "C" bool cuda_first_many(struct device *d, const struct conv_args *a);

enum {
    BACK_WARPS = 16,
    BACK_THREADS = BACK_WARPS * 32,
    AT_ONCE = 256, /* pixels: two steps of 8 a warp */
    STAGES = 3,    /* what a multiprocessor has room for */
    SUMS = 512     /* of a slice: of fewer channels there are more columns */
};

/* A stage holds dout of a slice, which units are on (a word a pixel), and the picture. */
template <class W> struct stage {
    static constexpr int rows = W::K::filters / 2, tiles = rows / 16;
    static constexpr int on = AT_ONCE * rows, picture = on + AT_ONCE;
    static constexpr int floats = picture + rows_staged<W>(AT_ONCE) * W::K::cols * FEW;
    static_assert(rows * W::side == SUMS, "a thread for two sums");

    /* Where channel c of a pixel lies: eights of channels change places from pixel to pixel,
     * so that those that the threads of a warp read lie in banks of their own. */
    static __device__ __forceinline__ int at(int pixel, int c)
    {
        return pixel * rows + ((c / 8 ^ (pixel / (32 / rows) & (rows / 8 - 1))) * 8 | c % 8);
    }
};

/* Begins to copy dout of pixels first..; zeros from `last` on. */
template <class W>
static __device__ __forceinline__ void stage_dout(const struct conv_args &a, const float *from,
                                                  int first, int last, float *to)
{
    using S = stage<W>;
    enum { LANES = S::rows / 4 }; /* of a pixel */
    int c = threadIdx.x % LANES * 4, pixel = threadIdx.x / LANES;
    const float *in = from + (first + pixel) * a.out_c + c;
    uint32_t out = shared_address(to + S::at(pixel, c));
#pragma unroll
    for (int i = 0; i < AT_ONCE; i += BACK_THREADS / LANES)
        copy16(out + 4 * i * S::rows, in + i * a.out_c, first + pixel + i < last);
}

/* Which units are on, of pixels first... */
static __device__ __forceinline__ void stage_on(const uint32_t *from, int apart, int first,
                                                int last, float *to)
{
    int i = threadIdx.x;
    if (i < AT_ONCE)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(to + i)),
                     "l"(from + (first + i) * apart), "r"(first + i < last ? 4 : 0)
                     : "memory");
}

/* dy of two channels, as products round it, where on; bits: of those and what follows. */
template <class W>
static __device__ __forceinline__ void take_dy(const float *from, int pixel, int c, uint32_t bits,
                                               float *to)
{
    float2 dout = pair_at(from + stage<W>::at(pixel, c));
    to[0] = bits & 1 ? nudge(dout.x) : 0;
    to[1] = bits & 2 ? nudge(dout.y) : 0;
}

/* Adds a stage to the warp's sums: a warp takes every 16th step of 8 pixels.  first: the
 * stage's, last: the part's. */
template <class W>
static __device__ __forceinline__ void multiply_stage(const struct conv_args &a, const float *from,
                                                      int c0, int first, int last,
                                                      float (&acc)[stage<W>::tiles][W::side / 8][4])
{
    using S = stage<W>;
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, x, top = window_row(a, first, &x);
    int shift = g / 2 * 8 + g % 2 * 2 + c0 % FIRST_SLICE / 4; /* to the channels' bits */
    const uint32_t *on = (const uint32_t *)(from + S::on);
    const float *picture = from + S::picture;
#pragma unroll
    for (int i = 0; i < AT_ONCE; i += BACK_WARPS * 8) {
        int k = i + threadIdx.x / 32 * 8 + t;
        if (first + k - t >= last)
            continue;
        const float *near = picture + corner_of(a, top, min(first + k, last - 1));
        const float *far = picture + corner_of(a, top, min(first + k + 4, last - 1));
        uint32_t low = on[k] >> shift, high = on[k + 4] >> shift;
        float rows[S::tiles][4];
#pragma unroll
        for (int m = 0; m < S::tiles; m++) {
            take_dy<W>(from, k, 16 * m + 2 * g, low >> 4 * m, rows[m]);
            take_dy<W>(from, k + 4, 16 * m + 2 * g, high >> 4 * m, rows[m] + 2);
        }
#pragma unroll
        for (int n = 0; n < W::side / 8; n++) {
            int column = 8 * n + g, at = W::at(column, W::K::cols, FEW);
            float b0 = column == W::one ? 1 : near[at], b1 = column == W::one ? 1 : far[at];
            for (int m = 0; m < S::tiles; m++)
                mma(acc[m][n], rows[m], b0, b1);
        }
    }
}

/* ---- the sums ---- */

/* What the blocks of a cluster send to the one that keeps a share of the slice's channels:
 * (block, row, column). */
struct exchange {
    float from[SUMS];
    uint64_t sent; /* an mbarrier: completes when all has come */
};

/* The warps' sums, added up in order, to those who keep the rows.  shared: those of each
 * warp, (rows, side). */
template <class W>
static __device__ __forceinline__ void
share_sums(const float (&acc)[stage<W>::tiles][W::side / 8][4], int part, int splits, float *shared,
           struct exchange *to)
{
    enum { TILES = stage<W>::tiles };
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, share = log2_of(SUMS) - log2_of(splits);
    float *mine = shared + threadIdx.x / 32 * SUMS + 2 * g * W::side + 2 * t;
#pragma unroll
    for (int i = 0; i < 2 * TILES * (W::side / 8); i++) {
        int n = i / (2 * TILES), m = i / 2 % TILES, h = i % 2;
        *(float2 *)(mine + (16 * m + h) * W::side + 8 * n) =
            make_float2(acc[m][n][2 * h], acc[m][n][2 * h + 1]);
    }
    __syncthreads();
    if (splits > 1) /* all have begun */
        asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
    int i = threadIdx.x * 2;
    if (i < SUMS) {
        float2 sum = {0, 0};
#pragma unroll
        for (int w = 0; w < BACK_WARPS; w++) {
            float2 v = pair_at(shared + w * SUMS + i);
            sum.x += v.x;
            sum.y += v.y;
        }
        float *at = to->from + (part << share) + (i & ((1 << share) - 1));
        if (splits > 1)
            send_pair(at, &to->sent, i >> share, sum);
        else
            *(float2 *)at = sum;
    }
    if (splits > 1)
        wait_sent(&to->sent);
    else
        __syncthreads();
}

/* ---- what follows from them ---- */

static __device__ __forceinline__ float warp_sum(float v)
{
    for (int step = 16; step > 0; step /= 2)
        v += __shfl_xor_sync(~0u, v, step);
    return v;
}

/* What a channel's gradients are made of, but D, and what a step reads: by a warp, whose lanes
 * are columns. */
struct channel {
    float w, centred, sum, mu, s, gamma;
    channel_olds old;          /* lane 0 */
    struct olds<2, 1> weights; /* two a lane of the 9 FEW as stored */
    size_t at[2];
    bool real[2];
};

template <class W>
static __device__ __forceinline__ void load_channel(const struct conv_args &a, int task, int c,
                                                    struct channel &k)
{
    int lane = threadIdx.x % 32;
    const struct first_cache f = first_cache_of<W>(a, task);
    const float *w = tensor_at(a.theta, task, a.l, TENSOR_WEIGHT) + c * 9 * FEW;
    bool column = lane < W::one;
    k.w = column ? round_tf32(w[W::slot(lane)]) : 0;
    k.centred = column ? f.centred[c * W::side + lane] : 0;
    k.sum = column ? f.sums[lane] : 0;
    k.mu = stat_at(a, a.cache, task, STAT_MU)[c];
    k.s = stat_at(a, a.cache, task, STAT_S)[c];
    k.gamma = tensor_at(a.theta, task, a.l, TENSOR_GAMMA)[c];
    for (int i = 0; i < 2; i++) {
        k.at[i] = a.l.offset[TENSOR_WEIGHT] + (size_t)c * 9 * FEW + lane + 32 * i;
        k.real[i] = lane + 32 * i < 9 * FEW;
    }
    sink_begin<2, 1>(a.sink, task, k.at, k.real, k.weights);
    channel_begin(a, task, c, lane == 0, k.old);
}

/* d: the lane's column of D. */
template <class W>
static __device__ __forceinline__ void keep_channel(const struct conv_args &a, const struct part &s,
                                                    int c, float d, struct channel &k)
{
    int lane = threadIdx.x % 32;
    float over = s.stat > 0 ? 1 / ((float)s.stat * (W::K::conv_h * W::K::conv_w)) : 0;
    float dy = __shfl_sync(~0u, d, W::one), dy_xh = k.s * (warp_sum(k.w * d) - k.mu * dy);
    float c1 = dy * over, c2 = dy_xh * over, g[2][1];
    float dw = k.gamma * k.s * (d - c1 * k.sum - c2 * k.s * k.centred);
    for (int i = 0; i < 2; i++) {
        int slot = lane + 32 * i, channel = slot % FEW;
        float v = __shfl_sync(~0u, dw, min(slot / FEW * W::channels + channel, 31));
        g[i][0] = channel < W::channels ? v : 0;
    }
    sink_end<2, 1>(a.sink, s.task, k.at, k.real, g, k.weights);
    if (lane == 0) {
        channel_end(a, s.task, c, dy, dy_xh, 0, k.old);
        stat_at(a, a.cache, s.task, STAT_C1)[c] = c1;
        stat_at(a, a.cache, s.task, STAT_C2)[c] = c2;
    }
}

/* A block's share of the slice's channels, a warp one at a time; the first is loaded. */
template <class W>
static __device__ __forceinline__ void keep_share(const struct conv_args &a, const struct part &s,
                                                  int part, int splits, const float *from,
                                                  struct channel &k)
{
    int each = stage<W>::rows >> log2_of(splits), lane = threadIdx.x % 32;
#pragma unroll 1
    for (int i = threadIdx.x / 32; i < each; i += BACK_WARPS) {
        int c = s.c0 + part * each + i;
        float d = 0;
        if (i >= BACK_WARPS)
            load_channel<W>(a, s.task, c, k);
        for (int b = 0; lane < W::side && b < splits; b++)
            d += from[(b * each + i) * W::side + lane];
        keep_channel<W>(a, s, c, d, k);
    }
}

/* ---- the kernel ---- */

/* blockIdx = ((slice, part), task); the parts of a slice are a cluster.  The kernel before
 * has written dout alone of what is read here. */
template <class FIX, class W>
static __global__ void __launch_bounds__(BACK_THREADS, 1)
    first_backward_kernel(const __grid_constant__ struct conv_args given)
{
    using S = stage<W>;
    enum { WORDS = W::K::filters / FIRST_SLICE }; /* of a pixel: on */
    extern __shared__ __align__(128) float dynamic[];
    __shared__ struct exchange exchange;
    struct conv_args a = given;
    FIX::in(a);
    int splits = a.plan.back_splits, part = blockIdx.x & (splits - 1), task = blockIdx.y;
    int c0 = (int)(blockIdx.x >> log2_of(splits)) * S::rows, slot = 0;
    int each = S::rows >> log2_of(splits);
    const struct part s = part_of(a, task, c0, part, splits);
    size_t mine = (size_t)task * a.n * (W::K::conv_h * W::K::conv_w) * a.out_c + c0;
    const float *dout = a.cache.dout + mine;
    const uint32_t *on = first_cache_of<W>(a, task).on + c0 / FIRST_SLICE;
    expect_sent(&exchange.sent, sizeof exchange.from, splits);
    auto stage_early = [&](int first, float *to) {
        int end = min(first + (int)AT_ONCE, s.last);
        stage_windows<BACK_WARPS>(a, task, s.n, first, end, to + S::picture);
        stage_on(on, WORDS, first, s.last, to + S::on);
    };
    for (int i = 0; i < STAGES - 1; i++)
        if (s.first + i * AT_ONCE < s.last)
            stage_early(s.first + i * AT_ONCE, dynamic + i * S::floats);
    struct channel k;
    load_channel<W>(a, task, c0 + part * each + min((int)threadIdx.x / 32, each - 1), k);
    wait_for_previous();
    for (int i = 0; i < STAGES - 1; i++) {
        if (s.first + i * AT_ONCE < s.last)
            stage_dout<W>(a, dout, s.first + i * AT_ONCE, s.last, dynamic + i * S::floats);
        copies_end();
    }
    float acc[S::tiles][W::side / 8][4] = {};
#pragma unroll 1
    for (int first = s.first; first < s.last; first += AT_ONCE) {
        int next = first + (STAGES - 1) * AT_ONCE;
        copies_wait<STAGES - 2>();
        __syncthreads();
        if (next < s.last) {
            float *to = dynamic + (slot + STAGES - 1) % STAGES * S::floats;
            stage_dout<W>(a, dout, next, s.last, to);
            stage_early(next, to);
        }
        copies_end();
        multiply_stage<W>(a, dynamic + slot * S::floats, c0, first, s.last, acc);
        slot = (slot + 1) % STAGES;
    }
    copies_wait<0>();
    __syncthreads();
    share_sums<W>(acc, part, splits, dynamic, &exchange);
    keep_share<W>(a, s, part, splits, exchange.from, k);
}

template <int SHAPE> static void launch(struct device *d, struct conv_args *a)
{
    using W = window<SHAPE>;
    static_assert(BACK_WARPS * SUMS <= STAGES * stage<W>::floats,
                  "sums find room where stages were");
    struct grid g = {.x = (unsigned)(2 * a->plan.back_splits),
                     .y = (unsigned)a->tasks,
                     .threads = BACK_THREADS,
                     .cluster = (unsigned)a->plan.back_splits,
                     .shared = STAGES * stage<W>::floats * sizeof(float)};
    cuda_launch(d, (const void *)first_backward_kernel<fix_norm<SHAPE>, W>, g, a, "first backward");
}

/* Launches it where gather has brought the moments. */
extern "C" bool cuda_first_backward(struct device *d, struct conv_args *a)
{
    if (!by_moments(d, &a->l) || a->stat == 0)
        return false;
    if (cuda_first_many(d, a))
        return true;
    (moments_side(&a->l) == window<0>::side ? launch<0> : launch<4>)(d, a);
    return true;
}
