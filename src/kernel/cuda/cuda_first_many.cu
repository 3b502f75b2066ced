/* cuda_first_many.cu - Omniglot's first layer backward, of many tasks (cuda_first.cuh has the
 * formulas): a block has all channels of a task, and goes on to the next.
 *
 * One warp stages: an image at a time, the copy engine brings dout and which units are on, the
 * warp's own copies the picture.  The others multiply, as D's rows 32 channels each (row g, g + 8
 * of tile i: channel 4 g + 2 i, + 1), as its terms eight pixels at a time: terms t and t + 4 are
 * pixels 2 t and 2 t + 1.
 */
#include "cuda_cells.cuh"
#include "cuda_first.cuh"

using W = window<0>;

struct many_args {
    CUtensorMap dout;
    struct conv_args layer;
};

enum {
    MULTIPLIERS = 16, /* warps */
    SHARES = 8,       /* of an image's pixels, for each half of the channels */
    MANY_THREADS = (MULTIPLIERS + 1) * 32,
    SLOTS = 3,
    PIXELS = W::K::conv_h * W::K::conv_w,
    STEPS = (PIXELS + 7) / 8,
    TILES = FIRST_SLICE / 16,
    SUMS = FIRST_SLICE * W::side /* of a warp */
};

/* What a block has in shared memory: bytes from its beginning.  A stage is dout, by the two halves
 * of the channels, sorted rows of them (cuda_cells.cuh), words of which units are on, and the
 * picture. */
struct many_room {
    static constexpr int half = STEPS * 8 * ROW, dout = 2 * half;
    static constexpr int words = STEPS * 8 * 2, on = SLOTS * dout;
    static constexpr int pictures = on + SLOTS * words * 4;
    static constexpr int sums = pictures + SLOTS * PLAIN_FLOATS * 4;
    static constexpr int bytes = sums + MULTIPLIERS * SUMS * 4 + 8 * ROW; /* aligned */
    static_assert(half % (8 * ROW) == 0 && sums % 16 == 0, "sorted, and read by fours");
    static_assert(bytes <= SHARED_MOST, "it fits");
};

/* ---- staging ---- */

/* An image of a block's tasks. */
struct place {
    int task, image, n; /* n: of the task */
};

static __device__ __forceinline__ int images_of(const struct conv_args &a, int task)
{
    return task >= a.tasks ? 0 : a.count ? a.count[task] : a.n;
}

/* That, or the first of a later task. */
static __device__ __forceinline__ struct place settled(const struct conv_args &a, struct place p)
{
    while (p.task < a.tasks && p.image >= p.n) {
        p.task += gridDim.x;
        p.image = 0;
        p.n = images_of(a, p.task);
    }
    return p;
}

static __device__ __forceinline__ struct place next_of(const struct conv_args &a, struct place p)
{
    p.image++;
    return settled(a, p);
}

/* All of stage number i but dout, which alone the kernel before has written; all lanes. */
static __device__ __forceinline__ void stage_early(const struct conv_args &a, const struct place &p,
                                                   int i, char *shared, struct ring<SLOTS> *ring)
{
    using R = many_room;
    uint64_t *made = &ring->made[i % SLOTS];
    int image = p.task * a.n + p.image, lane = threadIdx.x % 32;
    float *picture = (float *)(shared + R::pictures) + i % SLOTS * PLAIN_FLOATS;
    uint32_t on = shared_address(shared + R::on) + i % SLOTS * R::words * 4;
    ring_make(ring, i);
    stage_plain(a.x + (size_t)image * (W::K::h * W::K::w) * FEW, lane, 32, picture);
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_address(made))
                 : "memory");
    if (lane == 0) {
        barrier_expect(made, 2 * PIXELS * ROW + 2 * PIXELS * 4);
        copy_bytes(on, first_cache_of<W>(a, p.task).on + (size_t)p.image * PIXELS * 2,
                   2 * PIXELS * 4, made);
    }
    __syncwarp();
}

static __device__ __forceinline__ void stage_dout(const struct many_args &c, const struct place &p,
                                                  int i, char *shared, struct ring<SLOTS> *ring)
{
    using R = many_room;
    uint32_t to = shared_address(shared) + i % SLOTS * R::dout;
    if (threadIdx.x % 32 == 0)
        for (int h = 0; h < 2; h++)
            copy_box(to + h * R::half, &c.dout, h * WIDE, 0, p.task * c.layer.n + p.image,
                     &ring->made[i % SLOTS]);
}

static __device__ __forceinline__ void stage_all(const struct many_args &c,
                                                 const struct conv_args &a, struct place first,
                                                 char *shared, struct ring<SLOTS> *ring)
{
    struct place p = first;
    int i = 0;
    for (; i < SLOTS && p.task < a.tasks; i++, p = next_of(a, p))
        stage_early(a, p, i, shared, ring);
    wait_for_previous();
    for (int j = 0; j < i; j++, first = next_of(a, first))
        stage_dout(c, first, j, shared, ring);
    for (; p.task < a.tasks; i++, p = next_of(a, p)) {
        stage_early(a, p, i, shared, ring);
        stage_dout(c, p, i, shared, ring);
    }
}

/* Zeros that nobody writes again: borders of pictures, and of pixels behind an image that none of
 * their units is on. */
static __device__ __forceinline__ void zero_borders(char *shared)
{
    using R = many_room;
    float *pictures = (float *)(shared + R::pictures);
    uint32_t *on = (uint32_t *)(shared + R::on);
    for (int i = threadIdx.x; i < SLOTS * PLAIN_FLOATS; i += MANY_THREADS)
        pictures[i] = 0;
    for (int i = threadIdx.x; i < SLOTS * (R::words - 2 * PIXELS); i += MANY_THREADS)
        on[i % SLOTS * R::words + 2 * PIXELS + i / SLOTS] = 0;
}

/* ---- D ---- */

/* Where on, as products round it; bits: of those and what follows. */
static __device__ __forceinline__ void mask_dy(float4 &v, uint32_t bits)
{
    v.x = bits & 1 ? nudge(v.x) : 0;
    v.y = bits & 2 ? nudge(v.y) : 0;
    v.z = bits & 4 ? nudge(v.z) : 0;
    v.w = bits & 8 ? nudge(v.w) : 0;
}

/* Adds every SHARES-th step of an image to the warp's sums, from `first` on. */
static __device__ __forceinline__ void multiply_image(const char *dout, const uint32_t *on,
                                                      const float *picture, int first,
                                                      float (&acc)[TILES][2][4])
{
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    int shift = g % 4 * 8 + g / 4 * 4; /* to the bits of channels 4 g... (struct first_cache) */
    const char *near = dout + 2 * t * ROW + (g ^ 2 * t) * UNIT;
    const char *far = dout + (2 * t + 1) * ROW + (g ^ (2 * t + 1)) * UNIT;
    const float *window = picture + W::at(g, PLAIN_ROW, 1);
    const float *last = picture + W::at(8, PLAIN_ROW, 1);
    float other = g == 1 ? 1 : 0; /* of columns 8 to 15: a tap, ONE, zeros */
#pragma unroll 1
    for (int s = first; s < STEPS; s += SHARES) {
        int p = 8 * s + 2 * t, corner = plain_corner(min(p, PIXELS - 2));
        float4 low = *(const float4 *)(near + s * 8 * ROW),
               high = *(const float4 *)(far + s * 8 * ROW);
        mask_dy(low, on[2 * p] >> shift);
        mask_dy(high, on[2 * p + 2] >> shift);
        float b0 = window[corner], b1 = window[corner + 2];
        float c0 = last[corner], c1 = last[corner + 2];
        const float rows[TILES][4] = {{low.x, low.y, high.x, high.y},
                                      {low.z, low.w, high.z, high.w}};
        c0 = g == 0 ? c0 : other;
        c1 = g == 0 ? c1 : other;
#pragma unroll
        for (int m = 0; m < TILES; m++) {
            mma(acc[m][0], rows[m], b0, b1);
            mma(acc[m][1], rows[m], c0, c1);
        }
    }
}

/* A warp's sums as its threads hold them. */
static __device__ __forceinline__ void put_sums(const float (&acc)[TILES][2][4], float *to)
{
#pragma unroll
    for (int i = 0; i < TILES * 2; i++)
        *(float4 *)(to + i * 128 + threadIdx.x % 32 * 4) = *(const float4 *)acc[i / 2][i % 2];
}

/* Column `column` of channel c's D, the warps' sums added up in order. */
static __device__ __forceinline__ float sum_of(const float *sums, int c, int column)
{
    int i = c % 4 / 2 * 2 + column / 8, lane = c % FIRST_SLICE / 4 * 4 + column % 8 / 2;
    const float *from = sums + c / FIRST_SLICE * SHARES * SUMS;
    from += i * 128 + lane * 4 + c % 2 * 2 + column % 2;
    float sum = 0;
#pragma unroll
    for (int w = 0; w < SHARES; w++)
        sum += from[w * SUMS];
    return sum;
}

/* ---- what follows from it ---- */

/* What a channel's gradients are made of, but D, and what a step reads: by 16 lanes, which are
 * columns; those behind the taps have the last one's.  A tap's weight has its FEW channels, of
 * which one is there. */
struct channel {
    float w, centred, sum, mu, s, gamma;
    channel_olds old; /* the first of them */
    struct olds<1, 4> weights;
};

static __device__ __forceinline__ size_t tap_at(const struct conv_args &a, int c, int tap)
{
    return a.l.offset[TENSOR_WEIGHT] + (size_t)(c * 9 + tap) * FEW;
}

/* Begins to read it all. */
static __device__ __forceinline__ void load_channel(const struct conv_args &a, int task, int c,
                                                    struct channel &k)
{
    const struct first_cache f = first_cache_of<W>(a, task);
    int column = threadIdx.x % W::side, tap = min(column, W::one - 1);
    k.w = __ldcg(weights_at(a.theta, task, tap_at(a, c, tap)));
    k.centred = __ldcg(f.centred + c * W::side + tap);
    k.sum = __ldcg(f.sums + tap);
    k.mu = __ldcg(stat_at(a, a.cache, task, STAT_MU) + c);
    k.s = __ldcg(stat_at(a, a.cache, task, STAT_S) + c);
    k.gamma = __ldcg(tensor_at(a.theta, task, a.l, TENSOR_GAMMA) + c);
    sink_begin<1, 4>(a.sink, task, {tap_at(a, c, tap)}, {true}, k.weights);
    channel_begin(a, task, c, true, k.old);
}

/* d: the lane's column of D. */
static __device__ __forceinline__ void keep_channel(const struct conv_args &a, int task, int stat,
                                                    int c, float d, struct channel &k)
{
    int column = threadIdx.x % W::side;
    float over = stat > 0 ? 1 / ((float)stat * PIXELS) : 0;
    float dy_w = column < W::one ? round_tf32(k.w) * d : 0;
    for (int step = W::side / 2; step > 0; step /= 2)
        dy_w += __shfl_xor_sync(~0u, dy_w, step);
    float dy = __shfl_sync(~0u, d, W::one, W::side), dy_xh = k.s * (dy_w - k.mu * dy);
    float c1 = dy * over, c2 = dy_xh * over;
    float dw = k.gamma * k.s * (d - c1 * k.sum - c2 * k.s * k.centred);
    if (column < W::one)
        sink_end<1, 4>(a.sink, task, {tap_at(a, c, column)}, {true}, {{dw, 0, 0, 0}}, k.weights);
    if (column == 0) {
        channel_end(a, task, c, dy, dy_xh, 0, k.old);
        stat_at(a, a.cache, task, STAT_C1)[c] = c1;
        stat_at(a, a.cache, task, STAT_C2)[c] = c2;
    }
}

/* A task's images, from stage number `first` on, and its gradients. */
static __device__ __forceinline__ void finish_task(const struct conv_args &a, int task, int n,
                                                   int first, char *shared,
                                                   struct ring<SLOTS> *ring)
{
    using R = many_room;
    enum { AT_ONCE = MULTIPLIERS * 2, TURNS = W::K::filters / AT_ONCE };
    int warp = threadIdx.x / 32, half = warp / SHARES;
    float acc[TILES][2][4] = {}, *sums = (float *)(shared + R::sums);
    struct channel k[TURNS];
    int c = warp * 2 + threadIdx.x % 32 / W::side;
#pragma unroll
    for (int i = 0; i < TURNS; i++)
        load_channel(a, task, c + i * AT_ONCE, k[i]);
    wait_for_previous(); /* before anything is written */
#pragma unroll 1
    for (int i = 0; i < n; i++) {
        int slot = (first + i) % SLOTS;
        ring_take(ring, first + i);
        /* of 25 steps one warp has one more: each time another */
        multiply_image(shared + slot * R::dout + half * R::half,
                       (const uint32_t *)(shared + R::on) + slot * R::words + half,
                       (const float *)(shared + R::pictures) + slot * PLAIN_FLOATS,
                       (warp + i) % SHARES, acc);
        barrier_arrive(&ring->used[slot]); /* each thread for itself */
    }
    some_meet(MULTIPLIERS * 32); /* the task before has been read */
    put_sums(acc, sums + warp * SUMS);
    some_meet(MULTIPLIERS * 32);
#pragma unroll
    for (int i = 0; i < TURNS; i++)
        keep_channel(a, task, min(a.stat, n), c + i * AT_ONCE,
                     sum_of(sums, c + i * AT_ONCE, threadIdx.x % W::side), k[i]);
}

/* ---- the kernel ---- */

static __global__ void __launch_bounds__(MANY_THREADS, 1)
    first_many_kernel(const __grid_constant__ struct many_args given)
{
    extern __shared__ __align__(128) float dynamic[];
    __shared__ struct ring<SLOTS> ring;
    struct conv_args a = given.layer;
    fix_layer<0>(a);
    char *shared = aligned_to_eight_rows(dynamic);
    int first = 0, task = blockIdx.x;
    zero_borders(shared);
    ring_init(&ring, 1 + 32, MULTIPLIERS * 32);
    __syncthreads();
    if (threadIdx.x >= MULTIPLIERS * 32) {
        stage_all(given, a, settled(a, {task, 0, images_of(a, task)}), shared, &ring);
        return;
    }
#pragma unroll 1
    for (; task < a.tasks; task += gridDim.x) {
        int n = images_of(a, task);
        finish_task(a, task, n, first, shared, &ring);
        first += n;
    }
}

/* Launches it where there are enough tasks, and the layer is Omniglot's. */
extern "C" bool cuda_first_many(struct device *d, const struct conv_args *a)
{
    struct many_args c;
    int tasks = d->tasks ? d->tasks : a->tasks, blocks = d->blocks / 2;
    if (!first_many(d, tasks) || a->n == 0 || !fixed<fix_norm<0>>(a))
        return false;
    memset(&c, 0, sizeof c);
    memcpy(&c.layer, a, sizeof *a);
    const struct box dout = {a->cache.dout,
                             3,
                             {W::K::filters, PIXELS, (size_t)a->tasks * (size_t)a->n},
                             {1, W::K::filters, PIXELS * W::K::filters},
                             {WIDE, PIXELS, 1},
                             {1, 1, 1}};
    cuda_map(d, &dout, &c.dout);
    struct grid g = {.x = (unsigned)min(a->tasks, blocks),
                     .y = 1,
                     .threads = MANY_THREADS,
                     .shared = many_room::bytes};
    cuda_launch(d, (const void *)first_many_kernel, g, &c, "first backward");
    return true;
}
