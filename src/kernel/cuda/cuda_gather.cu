/* cuda_gather.cu - pictures gathered by index; for first layers that want them
 * (cuda_first.cuh), with the second moments of each picture's windows, which are made once,
 * when pictures are opened, and lie behind them. */
#include "cuda_first.cuh"
#include "cuda_fp16.h"

struct gather_args {
    struct images from;
    const int32_t *index;
    const float *made; /* (items, side, side) */
    float *x, *moments;
    int c; /* with padding */
    bool full_fp32;
};

/* Channel c of a pixel; base: of the image. */
static __device__ __forceinline__ float image_value(const struct images &m, int64_t base, int pixel,
                                                    int c)
{
    int64_t at = base + (m.planar ? c * m.h * m.w + pixel : pixel * m.c + c);
    float value =
        m.type == images::IMAGES_U8 ? ((const uint8_t *)m.data)[at] : ((const float *)m.data)[at];
    return value * m.scale + m.shift;
}

/* A thread per four channels of a pixel; blockIdx = (image, pixels x channels). */
static __global__ void __launch_bounds__(THREADS)
    gather_kernel(const __grid_constant__ struct gather_args a)
{
    const struct images &m = a.from;
    int quads = a.c / 4, at = blockIdx.y * THREADS + threadIdx.x;
    int pixel = quads == 1 ? at : at / quads, c = (at - pixel * quads) * 4;
    wait_for_previous();
    if (pixel >= m.h * m.w)
        return;
    int32_t item = a.index[blockIdx.x];
    int64_t base = (int64_t)item * (m.h * m.w * m.c);
    float v[4];
    for (int j = 0; j < 4; j++)
        v[j] = item >= 0 && c + j < m.c ? image_value(m, base, pixel, c + j) : 0;
    for (int j = 0; j < 4 && !a.full_fp32; j++)
        v[j] = round_tf32(v[j]);
    float *to = a.x + ((size_t)blockIdx.x * (m.h * m.w * quads) + at) * 4;
    store4(to, v);
}

/* ---- with moments ---- */

/* A block's band of a picture: whole rows of windows, in shared memory with the rows and the
 * column of zeros before it: (rows, cols, channels).  The bands of a picture are a cluster. */
template <class W> struct band {
    static constexpr int bands = W::side / 16, tall = W::K::conv_h / bands; /* rows of windows */
    static constexpr int rows = 2 * tall + 1, cols = W::K::cols, channels = W::channels;
    static constexpr int floats = rows * cols * channels;
    static_assert(tall * bands == W::K::conv_h, "bands are equal");
};

/* A value as products take it. */
static __device__ __forceinline__ float taken(const struct images &m, float value)
{
    return round_tf32(value * m.scale + m.shift);
}

/* Row r of the band is row top + r of the picture.  from: the picture; NULL: zeros. */
template <class W, class T>
static __device__ __forceinline__ void read_band(const struct images &m, const T *from, int top,
                                                 float *shared)
{
    using B = band<W>;
    int across = m.planar ? 1 : B::channels, deep = m.planar ? W::K::h * W::K::w : 1;
#pragma unroll 4
    for (int i = threadIdx.x; i < B::rows * W::K::w; i += THREADS) {
        int row = i / W::K::w, pixel = top * W::K::w + i;
        float *to = shared + (i + row + 1) * B::channels; /* a column of zeros a row */
        for (int c = 0; c < B::channels; c++)
            to[c] = from && pixel >= 0 ? taken(m, (float)from[pixel * across + c * deep]) : 0;
    }
}

/* The same of bytes that lie as the band does, four at a time. */
template <class W>
static __device__ __forceinline__ void read_words(const struct images &m, const uint8_t *from,
                                                  int top, float *shared)
{
    using B = band<W>;
    enum { WORDS = W::K::w * B::channels / 4 }; /* of a row */
    static_assert(WORDS * 4 == W::K::w * B::channels, "rows are whole words");
#pragma unroll 4
    for (int i = threadIdx.x; i < B::rows * WORDS; i += THREADS) {
        int row = i / WORDS, at = top * WORDS + i;
        float *to = shared + 4 * i + (row + 1) * B::channels;
        uint32_t word = from && at >= 0 ? ((const uint32_t *)from)[at] : 0;
        for (int j = 0; j < 4; j++) {
            int b = (j + threadIdx.x / 8) & 3; /* lanes 8 apart in banks of their own */
            to[b] = from && at >= 0 ? taken(m, (float)(word >> 8 * b & 255)) : 0;
        }
    }
}

/* Picture `item`, or zeros where that is -1. */
template <class W>
static __device__ __forceinline__ void read_picture(const struct images &m, int32_t item, int top,
                                                    float *shared)
{
    using B = band<W>;
    size_t first = (size_t)max(item, 0) * (W::K::h * W::K::w * W::channels);
    const uint8_t *bytes = item < 0 ? NULL : (const uint8_t *)m.data + first;
    const float *floats = item < 0 ? NULL : (const float *)m.data + first;
    for (int i = threadIdx.x; i < B::rows * B::channels; i += THREADS)
        shared[i / B::channels * (B::cols * B::channels) + i % B::channels] = 0;
    if (m.type != images::IMAGES_U8)
        read_band<W>(m, floats, top, shared);
    else if (m.planar)
        read_band<W>(m, bytes, top, shared);
    else
        read_words<W>(m, bytes, top, shared);
}

/* The rows that are the band's own, to memory: all but the first. */
template <class W> static __device__ __forceinline__ void write_band(const float *shared, float *to)
{
    using B = band<W>;
#pragma unroll 4
    for (int i = threadIdx.x; i < (B::rows - 1) * W::K::w; i += THREADS) {
        int row = i / W::K::w;
        const float *from = shared + (i + row + 1 + B::cols) * B::channels;
        float v[FEW] = {};
        for (int c = 0; c < B::channels; c++)
            v[c] = from[c];
        store4(to + i * FEW, v);
    }
}

/* The warp's part of the sum of u u': every eighth step of 8 pixels. */
template <class W>
static __device__ __forceinline__ void multiply_windows(const float *picture,
                                                        float (&acc)[W::side / 16][W::side / 8][4])
{
    using B = band<W>;
    enum { PIXELS = B::tall * W::K::conv_w, GROUPS = W::side / 8 };
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, at[GROUPS];
#pragma unroll
    for (int i = 0; i < GROUPS; i++)
        at[i] = W::at(8 * i + g, B::cols, B::channels);
    float rest = W::one % 8 == g ? 1 : 0; /* of the last columns, those of no tap */
    bool tap = 8 * (GROUPS - 1) + g < W::one;
#pragma unroll 1
    for (int k = threadIdx.x / 32 * 8 + t; k - t < PIXELS; k += WARPS * 8) {
        float v[GROUPS][2]; /* columns 8 i + g of pixels k and k + 4: rows and columns alike */
#pragma unroll
        for (int half = 0; half < 2; half++) {
            int pixel = k + 4 * half, y = (unsigned)pixel / W::K::conv_w;
            bool real = pixel < PIXELS;
            /* two rows on, less the columns that were counted */
            int corner = 2 * pixel + y * (2 * B::cols - 2 * W::K::conv_w);
            const float *from = picture + (real ? corner : 0) * B::channels;
#pragma unroll
            for (int i = 0; i < GROUPS; i++) {
                float value = i == GROUPS - 1 && !tap ? rest : from[at[i]];
                v[i][half] = real ? value : 0;
            }
        }
#pragma unroll
        for (int m = 0; m < W::side / 16; m++) {
            const float rows[4] = {v[2 * m][0], v[2 * m + 1][0], v[2 * m][1], v[2 * m + 1][1]};
#pragma unroll
            for (int n = 2 * m; n < GROUPS; n++) /* M is symmetric */
                mma(acc[m][n], rows, v[n][0], v[n][1]);
        }
    }
}

/* The warps' sums, then the bands', in order, which go to the first of them; shared: (warps,
 * side, side), then (bands, side, side).  They are sent, as other sums of a cluster are. */
template <class W>
static __device__ __forceinline__ void
keep_moments(const float (&acc)[W::side / 16][W::side / 8][4], float *shared, float *to)
{
    enum { EACH = W::side * W::side, BANDS = band<W>::bands };
    __shared__ uint64_t sent;
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, rank = blockIdx.x % BANDS;
    float *mine = shared + threadIdx.x / 32 * EACH + g * W::side + 2 * t;
    float *bands = shared + WARPS * EACH;
    expect_sent(&sent, BANDS * EACH * (int)sizeof(float), BANDS);
#pragma unroll
    for (int i = 0; i < EACH / 64; i++) {
        int m = i / 2 / (W::side / 8), n = i / 2 % (W::side / 8), h = i % 2;
        if (n >= 2 * m)
            *(float2 *)(mine + (16 * m + 8 * h) * W::side + 8 * n) =
                make_float2(acc[m][n][2 * h], acc[m][n][2 * h + 1]);
    }
    __syncthreads();
    if (BANDS > 1) /* the first has no more use for its picture */
        asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
    for (int i = threadIdx.x * 2; i < EACH; i += THREADS * 2) {
        float2 sum = {0, 0};
        for (int w = 0; w < WARPS; w++) {
            float2 v = pair_at(shared + w * EACH + i);
            sum.x += v.x;
            sum.y += v.y;
        }
        if (BANDS > 1)
            send_pair(bands + rank * EACH + i, &sent, 0, sum);
        else
            *(float2 *)(bands + i) = sum;
    }
    if (rank > 0)
        return;
    if (BANDS > 1)
        wait_sent(&sent);
    else
        __syncthreads();
    for (int i = threadIdx.x; i < EACH; i += THREADS) {
        int row = i / W::side, column = i % W::side;
        int at = column / 16 < row / 16 ? column * W::side + row : i; /* M is symmetric */
        float sum = 0;
        for (int b = 0; b < BANDS; b++)
            sum += bands[b * EACH + at];
        to[i] = sum;
    }
}

/* Of every picture; blockIdx = (item, band). */
template <class W>
static __global__ void __launch_bounds__(THREADS, 5)
    moments_kernel(const __grid_constant__ struct gather_args a)
{
    extern __shared__ __align__(16) float dynamic[];
    int item = blockIdx.x / band<W>::bands;
    int first = 2 * (blockIdx.x % band<W>::bands) * band<W>::tall;
    float acc[W::side / 16][W::side / 8][4] = {};
    wait_for_previous();
    read_picture<W>(a.from, item, first - 1, dynamic);
    __syncthreads();
    multiply_windows<W>(dynamic, acc);
    __syncthreads();
    keep_moments<W>(acc, dynamic, a.moments + (size_t)item * W::side * W::side);
}

/* Four of the moments of a picture; of no picture, which is black, those of ones alone. */
template <class W>
static __device__ __forceinline__ float4 moments_of(const float *made, int32_t item, int at)
{
    enum { ONES = W::one * W::side + W::one };
    if (item >= 0)
        return __ldg((const float4 *)(made + (size_t)item * W::side * W::side + at));
    float ones = at == ONES / 4 * 4 ? W::K::conv_h * W::K::conv_w : 0;
    return make_float4(ONES % 4 == 0 ? ones : 0, ONES % 4 == 1 ? ones : 0, ONES % 4 == 2 ? ones : 0,
                       ONES % 4 == 3 ? ones : 0);
}

/* Pictures and their moments; blockIdx = (image, band).  Nobody writes what they come from:
 * they are read before the kernel before, which may still read x, has ended. */
template <class W>
static __global__ void __launch_bounds__(THREADS, 5)
    gather_moments_kernel(const __grid_constant__ struct gather_args a)
{
    enum { EACH = W::side * W::side / band<W>::bands }; /* moments that a band brings */
    static_assert(EACH / 4 <= THREADS, "four a thread");
    extern __shared__ __align__(16) float dynamic[];
    int image = blockIdx.x / band<W>::bands, rank = blockIdx.x % band<W>::bands;
    int first = 2 * rank * band<W>::tall, at = rank * EACH + 4 * threadIdx.x;
    bool brings = 4 * threadIdx.x < EACH;
    int32_t item = a.index[image];
    float4 moments = brings ? moments_of<W>(a.made, item, at) : float4{};
    read_picture<W>(a.from, item, first - 1, dynamic);
    __syncthreads();
    wait_for_previous();
    write_band<W>(dynamic, a.x + ((size_t)image * W::K::h + first) * W::K::w * FEW);
    if (brings)
        *(float4 *)(a.moments + (size_t)image * W::side * W::side + at) = moments;
}

template <int SHAPE>
static void gather_moments(struct device *d, const struct batch *b, struct gather_args *a)
{
    using W = window<SHAPE>;
    size_t images = (size_t)(b->tasks * b->n);
    struct grid g = {.x = (unsigned)images * band<W>::bands,
                     .threads = THREADS,
                     .shared = band<W>::floats * sizeof(float)};
    a->moments = a->x + images * W::K::h * W::K::w * FEW;
    cuda_launch(d, (const void *)gather_moments_kernel<W>, g, a, CUDA_GATHER);
}

template <int SHAPE> static void make_moments(struct device *d, struct gather_args *a)
{
    using W = window<SHAPE>;
    size_t sums = (WARPS + band<W>::bands) * W::side * W::side, picture = band<W>::floats;
    struct grid g = {.x = (unsigned)(a->from.items * band<W>::bands),
                     .threads = THREADS,
                     .cluster = band<W>::bands,
                     .shared = (picture > sums ? picture : sums) * sizeof(float)};
    cuda_launch(d, (const void *)moments_kernel<W>, g, a, "moments");
}

static float *moments_behind(const struct images *m)
{
    return (float *)((char *)m->data + cuda_behind_images(m));
}

extern "C" void cuda_moments(struct device *d, const struct images *of)
{
    struct gather_args args = {.from = *of, .moments = moments_behind(of)};
    (picture_side(of->h, of->w, of->c) == window<0>::side ? make_moments<0>
                                                          : make_moments<4>)(d, &args);
}

extern "C" void cuda_gather(struct device *d, const struct layer *first, const struct batch *b,
                            const struct images *from, const int32_t *index, void *x)
{
    struct gather_args args = {.from = *from,
                               .index = index,
                               .x = (float *)x,
                               .c = channels(first->in_c),
                               .full_fp32 = in_fp32(d, first) || !is_conv(first)};
    cuda_fp16_forget(d, x, 1);
    if (by_moments(d, first)) {
        bool gray = moments_side(first) == window<0>::side;
        args.made = moments_behind(from);
        (gray ? gather_moments<0> : gather_moments<4>)(d, b, &args);
        return;
    }
    struct grid g = {.x = (unsigned)(b->tasks * b->n),
                     .y = (unsigned)((in_floats(first) / 4 + THREADS - 1) / THREADS),
                     .threads = THREADS};
    cuda_launch(d, (const void *)gather_kernel, g, &args, CUDA_GATHER);
}
