/* cuda_first_forward.cu - a net's first layer forward: statistics from the windows' second
 * moments, then convolution, normalisation and ReLU of each pixel at once.
 *
 * A warp computes 32 pixels x 32 channels; its columns stand for channels such that a thread
 * holds 4 neighbours of every 16 (channel_of_column).  A block has a slice of a task's channels, or
 * a part of its pixels too; of many Omniglot tasks, all of a task.
 */
#include "cuda_first.cuh"
#include "cuda_fp16.h"

enum {
    AT_ONCE = 256, /* pixels: 32 a warp */
    STAGES = 3,    /* what two blocks of a multiprocessor have room for */
    TILES = FIRST_SLICE / 8,
    CHANNELS = 2 * TILES /* of a thread */
};

/* M of the task's first `stat` images to shared memory, (side, pitch). */
template <class W>
static __device__ __forceinline__ void sum_moments(const struct conv_args &a, int task, int stat,
                                                   float *to)
{
    enum { EACH = W::side * W::side };
    const float *from = a.x + (size_t)a.tasks * a.n * W::K::h * W::K::w * FEW;
    from += (size_t)task * a.n * EACH;
#pragma unroll
    for (int i = threadIdx.x * 4; i < EACH; i += THREADS * 4) {
        float sum[4] = {}, v[4];
#pragma unroll 4 /* not 5: nvcc 13.0 then adds up a multiple of 5 images */
        for (int image = 0; image < stat; image++) {
            load4(v, from + image * EACH + i);
            for (int j = 0; j < 4; j++)
                sum[j] += v[j];
        }
        for (int j = 0; j < 4; j++)
            to[i / W::side * W::pitch + i % W::side + j] = sum[j];
    }
}

/* The slice's weights, (channels, side), as products round them. */
template <class W>
static __device__ __forceinline__ void load_weights(const struct conv_args &a, int task, int c0,
                                                    float *to)
{
    const float *from = tensor_at(a.theta, task, a.l, TENSOR_WEIGHT) + c0 * 9 * FEW;
#pragma unroll
    for (int i = threadIdx.x; i < FIRST_SLICE * W::side; i += THREADS) { /* all are under way */
        int column = i % W::side, slot = W::slot(min(column, W::one - 1));
        float v = round_tf32(__ldcg(from + i / W::side * 9 * FEW + slot));
        to[i] = column < W::one ? v : 0;
    }
}

/* y = scale z + shift, for each channel of the slice. */
struct scaling {
    float scale[FIRST_SLICE], shift[FIRST_SLICE];
};

/* mu and s of the slice's channels, 8 threads for each, and what y is of z.  keep: what
 * backward needs, too. */
template <class W>
static __device__ __forceinline__ void set_scaling(const struct conv_args &a, const struct part &s,
                                                   const float *moments, const float *weights,
                                                   bool keep, struct scaling *to)
{
    enum { LINES = (W::one + 7) / 8 };
    int i = threadIdx.x / 8, part = threadIdx.x % 8, c = s.c0 + i;
    const float *w = weights + i * W::side;
    float gamma = tensor_at(a.theta, s.task, a.l, TENSOR_GAMMA)[c];
    float beta = tensor_at(a.theta, s.task, a.l, TENSOR_BETA)[c];
    double sum = 0, square = 0, line[LINES] = {};
#pragma unroll
    for (int j = 0; j < LINES; j++) { /* zeros after the last row */
        const float *row = moments + (part + 8 * j) * W::pitch;
        for (int l = 0; l < W::one; l++)
            line[j] += (double)w[l] * row[l];
        sum += (double)w[part + 8 * j] * row[W::one];
        square += w[part + 8 * j] * line[j];
    }
    for (int step = 1; step < 8; step *= 2) {
        sum += __shfl_xor_sync(~0u, sum, step);
        square += __shfl_xor_sync(~0u, square, step);
    }
    double over = s.stat > 0 ? 1 / ((double)s.stat * (W::K::conv_h * W::K::conv_w)) : 0;
    double mu = sum * over, var = fmax(square * over - mu * mu, 0.0);
    float s1 = 1 / sqrtf((float)var + (float)a.l.eps);
    if (part == 0) {
        to->scale[i] = gamma * s1;
        to->shift[i] = (float)(beta - mu * (gamma * s1));
    }
    if (!keep)
        return;
    const struct first_cache k = first_cache_of<W>(a, s.task);
    for (int j = 0; j < LINES; j++) {
        float m = moments[(part + 8 * j) * W::pitch + W::one];
        k.centred[c * W::side + part + 8 * j] = (float)(line[j] - mu * m);
        if (c == 0)
            k.sums[part + 8 * j] = m;
    }
    if (part == 0) {
        stat_at(a, a.cache, s.task, STAT_MU)[c] = (float)mu;
        stat_at(a, a.cache, s.task, STAT_S)[c] = s1;
    }
}

/* The weights as a thread multiplies them: terms t and t + 4 of each step, for column g of
 * each tile. */
template <class W>
static __device__ __forceinline__ void take_weights(const float *weights,
                                                    float (&b)[W::side / 8][TILES][2])
{
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
    for (int i = 0; i < W::side / 8 * TILES * 2; i++) {
        int k = i / (2 * TILES), n = i / 2 % TILES, half = i % 2;
        b[k][n][half] = weights[channel_of_column(8 * n + g) * W::side + 8 * k + t + 4 * half];
    }
}

/* The same with 4 terms, of which a thread has t. */
static __device__ __forceinline__ void mma4(float (&c)[4], float a0, float a1, float b)
{
    asm("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 "
        "{%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(__float_as_uint(a0)), "r"(__float_as_uint(a1)), "r"(__float_as_uint(b)));
}

/* z of a warp's 32 pixels; pictures have rows of COLS pixels of FLOATS. */
template <class W, int COLS, int FLOATS>
static __device__ __forceinline__ void convolve(const float *picture, const int (&corner)[4],
                                                const float (&b)[W::side / 8][TILES][2],
                                                float (&acc)[2][TILES][4])
{
    int t = threadIdx.x % 4;
#pragma unroll
    for (int k = 0; k < W::side / 8; k++) {
        bool few = W::one - 8 * k <= 4; /* the last terms are not there */
        int near = W::at(8 * k + t, COLS, FLOATS), far = W::at(8 * k + t + 4, COLS, FLOATS);
#pragma unroll
        for (int m = 0; m < 2; m++) {
            const float *low = picture + corner[2 * m], *high = picture + corner[2 * m + 1];
            const float rows[4] = {low[near], high[near], few ? 0 : low[far], few ? 0 : high[far]};
#pragma unroll
            for (int n = 0; n < TILES; n++)
                if (few)
                    mma4(acc[m][n], rows[0], rows[1], b[k][n][0]);
                else
                    mma(acc[m][n], rows, b[k][n][0], b[k][n][1]);
        }
    }
}

/* What is written: outputs; and z too, for tangents; or outputs as fp16, where z would be. */
enum kept { KEPT_OUT, KEPT_Z, KEPT_FP16 };

/* Outputs of a thread's four pixels, and which of them are on. */
template <enum kept KEPT>
static __device__ __forceinline__ void
put_pixels(const float (&acc)[2][TILES][4], const float (&scale)[CHANNELS],
           const float (&shift)[CHANNELS], int first, int last, int apart, float *out, uint8_t *on,
           float *z)
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        int pixel = first + 8 * i;
        float v[CHANNELS], y[CHANNELS];
        uint32_t bits = 0;
#pragma unroll
        for (int j = 0; j < CHANNELS; j++) {
            v[j] = acc[i / 2][j / 4 * 2 + j % 4 / 2][i % 2 * 2 + j % 2];
            y[j] = fmaxf(fmaf(v[j], scale[j], shift[j]), 0);
            if (KEPT != KEPT_FP16)
                y[j] = round_tf32(y[j]);
        }
#pragma unroll
        for (int j = CHANNELS; j-- > 0;) /* y is not negative: where it is not 0, -y's sign is */
            bits = __funnelshift_l(0 - __float_as_uint(y[j]), bits, 1);
        if (pixel < last)
            on[pixel * (apart / 8)] = (uint8_t)bits;
#pragma unroll
        for (int j = 0; pixel < last && j < CHANNELS; j += 4) {
            if (KEPT == KEPT_FP16)
                __stcg((uint2 *)((uint16_t *)z + pixel * apart + 4 * j),
                       make_uint2(two_fp16(y[j], y[j + 1]), two_fp16(y[j + 2], y[j + 3])));
            else
                store4(out + pixel * apart + 4 * j, y + j);
            if (KEPT == KEPT_Z)
                store4(z + pixel * apart + 4 * j, v + j);
        }
    }
}

/* blockIdx = ((slice, part), task).  early: the kernel before has not written pictures. */
template <class FIX, class W, enum kept KEPT>
static __global__ void __launch_bounds__(THREADS, 2)
    first_forward_kernel(const __grid_constant__ struct conv_args given)
{
    enum { STAGE = rows_staged<W>(AT_ONCE) * W::K::cols * FEW };
    extern __shared__ __align__(128) float dynamic[];
    __shared__ float moments[W::side * W::pitch], weights[FIRST_SLICE * W::side];
    __shared__ struct scaling scaling;
    struct conv_args a = given;
    FIX::in(a);
    int splits = a.plan.first_splits, part = blockIdx.x & (splits - 1), task = blockIdx.y;
    int c0 = (int)(blockIdx.x >> log2_of(splits)) * FIRST_SLICE, t = threadIdx.x % 4;
    if (!a.early)
        wait_for_previous();
    const struct part s = part_of(a, task, c0, part, splits);
    for (int i = 0; i < STAGES - 1; i++) {
        int first = s.first + i * AT_ONCE;
        if (first < s.last)
            stage_windows<WARPS>(a, task, s.n, first, min(first + AT_ONCE, s.last),
                                 dynamic + i * STAGE);
        copies_end();
    }
    sum_moments<W>(a, task, s.stat, moments);
    if (a.early)
        wait_for_previous();
    load_weights<W>(a, task, c0, weights);
    __syncthreads();
    set_scaling<W>(a, s, moments, weights, part == 0, &scaling);
    float b[W::side / 8][TILES][2], scale[CHANNELS], shift[CHANNELS];
    take_weights<W>(weights, b);
    __syncthreads();
#pragma unroll
    for (int j = 0; j < CHANNELS; j++) {
        scale[j] = scaling.scale[t * 4 + j / 4 * 16 + j % 4];
        shift[j] = scaling.shift[t * 4 + j / 4 * 16 + j % 4];
    }
    size_t mine = (size_t)task * a.n * W::K::conv_h * W::K::conv_w * a.out_c + c0 + t * 4;
    uint8_t *on = (uint8_t *)(first_cache_of<W>(a, task).on + c0 / FIRST_SLICE) + t;
    int within = threadIdx.x / 32 * 32 + threadIdx.x % 32 / 4, slot = 0;
#pragma unroll 1
    for (int first = s.first; first < s.last; first += AT_ONCE) {
        int next = first + (STAGES - 1) * AT_ONCE, x, corner[4];
        copies_wait<STAGES - 2>();
        __syncthreads();
        if (next < s.last)
            stage_windows<WARPS>(a, task, s.n, next, min(next + AT_ONCE, s.last),
                                 dynamic + (slot + STAGES - 1) % STAGES * STAGE);
        copies_end();
        int top = window_row(a, first, &x);
#pragma unroll
        for (int i = 0; i < 4; i++)
            corner[i] = corner_of(a, top, min(first + within + 8 * i, s.last - 1));
        float acc[2][TILES][4] = {};
        convolve<W, W::K::cols, FEW>(dynamic + slot * STAGE, corner, b, acc);
        put_pixels<KEPT>(acc, scale, shift, first + within, s.last, a.out_c, a.cache.out + mine, on,
                         a.cache.z + mine);
        slot = (slot + 1) % STAGES;
    }
}

/* ---- all of a task ---- */

enum {
    IMAGES = 5, /* staged at once */
    PLANE = known<0>::conv_h * known<0>::conv_w,
    PARTS = known<0>::filters / FIRST_SLICE, /* that the warps have */
    APART = WARPS / PARTS * 32               /* pixels between a warp's */
};

/* Pictures from..., `images` of them, to shared memory whose borders are zeros. */
static __device__ __forceinline__ void stage_images(const struct conv_args &a, int task, int from,
                                                    int images, float *to)
{
    using K = known<0>;
    const float *first = a.x + (size_t)(task * a.n + from) * (K::h * K::w) * FEW;
    for (int i = 0; i < images; i++)
        stage_plain(first + (size_t)i * (K::h * K::w) * FEW, threadIdx.x, THREADS,
                    to + i * PLAIN_FLOATS);
    copies_end();
}

static __device__ __forceinline__ void zero_borders(float *pictures)
{
    enum { EACH = PLAIN_ROW + 28 }; /* the first row, and of the others the first column */
    for (int i = threadIdx.x; i < IMAGES * EACH; i += THREADS) {
        int at = i % EACH < PLAIN_ROW ? i % EACH : (i % EACH - PLAIN_ROW + 1) * PLAIN_ROW;
        pictures[i / EACH * PLAIN_FLOATS + at] = 0;
    }
}

/* That the compiler makes it once, and not again wherever it is used. */
template <class T> static __device__ __forceinline__ void keep_address(T *&at)
{
    asm volatile("" : "+l"(at));
}

/* blockIdx = task. */
template <enum kept KEPT>
static __global__ void __launch_bounds__(THREADS, 2)
    first_many_forward_kernel(const __grid_constant__ struct conv_args given)
{
    using W = window<0>;
    __shared__ float pictures[IMAGES * PLAIN_FLOATS];
    __shared__ float moments[W::side * W::pitch], weights[PARTS * FIRST_SLICE * W::side];
    __shared__ struct scaling scaling[PARTS];
    struct conv_args a = given;
    fix_layer<0>(a);
    int task = blockIdx.x, warp = threadIdx.x / 32, t = threadIdx.x % 4, part = warp % PARTS;
    if (!a.early)
        wait_for_previous();
    const struct part s = part_of(a, task, 0, 0, 1);
    stage_images(a, task, 0, min(s.n, (int)IMAGES), pictures);
    zero_borders(pictures);
    sum_moments<W>(a, task, s.stat, moments);
    if (a.early)
        wait_for_previous();
    for (int i = 0; i < PARTS; i++)
        load_weights<W>(a, task, i * FIRST_SLICE, weights + i * FIRST_SLICE * W::side);
    __syncthreads();
    for (int i = 0; i < PARTS; i++)
        set_scaling<W>(a, {task, s.n, s.stat, i * FIRST_SLICE, 0, 0}, moments,
                       weights + i * FIRST_SLICE * W::side, true, &scaling[i]);
    float b[W::side / 8][TILES][2], scale[CHANNELS], shift[CHANNELS];
    take_weights<W>(weights + part * FIRST_SLICE * W::side, b);
    copies_wait<0>();
    __syncthreads();
#pragma unroll
    for (int j = 0; j < CHANNELS; j++) {
        scale[j] = scaling[part].scale[t * 4 + j / 4 * 16 + j % 4];
        shift[j] = scaling[part].shift[t * 4 + j / 4 * 16 + j % 4];
    }
    int c = part * FIRST_SLICE + t * 4, g = threadIdx.x % 32 / 4;
#pragma unroll 1
    for (int from = 0; from < s.n; from += IMAGES) {
        int images = min(s.n - from, (int)IMAGES), last = images * PLANE;
        size_t mine = ((size_t)task * a.n + from) * PLANE * a.out_c + c;
        float *out = a.cache.out + mine, *z = a.cache.z + mine;
        if (KEPT == KEPT_FP16)
            z = (float *)((uint16_t *)a.cache.z + mine);
        uint8_t *on = (uint8_t *)(first_cache_of<W>(a, task).on + from * PLANE * PARTS + part) + t;
        keep_address(KEPT == KEPT_FP16 ? z : out);
        keep_address(on);
        if (from > 0) {
            __syncthreads();
            stage_images(a, task, from, images, pictures);
            copies_wait<0>();
            __syncthreads();
        }
#pragma unroll 1
        for (int tile = warp / PARTS * 32; tile < last; tile += APART) { /* all lanes, or none */
            int corner[4], first = tile + g;
#pragma unroll
            for (int i = 0; i < 4; i++) {
                unsigned pixel = min(first + 8 * i, last - 1);
                corner[i] = plain_corner(pixel) + pixel / PLANE * IMAGE_GAP;
            }
            float acc[2][TILES][4] = {};
            convolve<W, PLAIN_ROW, 1>(pictures, corner, b, acc);
            put_pixels<KEPT>(acc, scale, shift, first, last, a.out_c, out, on, z);
        }
    }
}

static bool launch_many(struct device *d, struct conv_args *a, bool keep_z)
{
    int tasks = d->tasks ? d->tasks : a->tasks;
    if (!first_many(d, tasks) || !fixed<fix_norm<0>>(a))
        return false;
    struct grid g = {.x = (unsigned)a->tasks, .y = 1, .threads = THREADS};
    const void *kernel = keep_z ? (const void *)first_many_forward_kernel<KEPT_Z>
                         : cuda_fp16_begin(d, a)
                             ? (const void *)first_many_forward_kernel<KEPT_FP16>
                             : (const void *)first_many_forward_kernel<KEPT_OUT>;
    cuda_launch(d, kernel, g, a, CUDA_FORWARD);
    return true;
}

template <int SHAPE> static void launch(struct device *d, struct conv_args *a, bool keep_z)
{
    using W = window<SHAPE>;
    struct grid g = {.x = (unsigned)(a->out_rows / FIRST_SLICE * a->plan.first_splits),
                     .y = (unsigned)a->tasks,
                     .threads = THREADS,
                     .shared = STAGES * rows_staged<W>(AT_ONCE) * W::K::cols * FEW * sizeof(float)};
    const void *kernel = keep_z ? (const void *)first_forward_kernel<fix_norm<SHAPE>, W, KEPT_Z>
                                : (const void *)first_forward_kernel<fix_norm<SHAPE>, W, KEPT_OUT>;
    cuda_launch(d, kernel, g, a, CUDA_FORWARD);
}

/* Launches it where gather has brought the moments.  keep_z: tangents will follow. */
extern "C" bool cuda_first_forward(struct device *d, struct conv_args *a, bool keep_z)
{
    if (!by_moments(d, &a->l) || a->stat == 0)
        return false;
    a->early = d->latest && strcmp(d->latest, CUDA_GATHER) != 0;
    if (launch_many(d, a, keep_z))
        return true;
    (moments_side(&a->l) == window<0>::side ? launch<0> : launch<4>)(d, a, keep_z);
    return true;
}
