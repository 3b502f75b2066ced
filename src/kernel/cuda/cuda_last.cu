/* cuda_last.cu - the last conv block of many tasks, the head behind it, its loss, and the way back
 * through all of them to dz of the block before, in one launch: Conv4 on Omniglot, five images a
 * task at most.
 *
 * A block has a task.  Its weights, 147 kB, are in shared memory once, for the forward pass, dX, dW
 * and the step, which changes them there; in launches of their own they are read three times.
 * There is one block to a multiprocessor, so what counts is how little of its time it waits:
 * batch norm of four channels is one warp's work from z to dz, sums and all, a lane a pixel.
 */
#include "cuda_cells.cuh"
#include "cuda_dense.cuh"
#include "cuda_dx.cuh"
#include "cuda_last.h"
#include "cuda_norm_back.cuh"
#include "cuda_xent.cuh"

struct last_args {
    struct head_args head;
    struct conv_args layer, before;
    bool early; /* the kernel before has not written weights */
};

enum {
    LAST = 3, /* of shapes[] */
    CH = 64,  /* filters, and input channels */
    LAST_WARPS = 16,
    LAST_THREADS = LAST_WARPS * 32,
    IMAGES = 5,           /* what shared memory has room for beside the weights */
    CELLS = IMAGES * 4,   /* conv pixels: 2 x 2 an image */
    PIXELS = IMAGES * 16, /* of the input: 4 x 4 */
    WAYS_MOST = 8,        /* padded: a thread for each four of the head's weights */
    TERMS = 9 * CH        /* weights of an output channel */
};
static_assert(known<LAST>::h == 4 && known<LAST>::w == 4 && known<LAST>::c == CH &&
                  known<LAST>::filters == CH && CH == 4 * LAST_WARPS,
              "four channels a warp");

/* Floats between places in shared memory, such that threads of a warp meet all banks:
 * rows of weights 8 apart mod 32, so that 4 rows x 8 columns do, and by pairs 4 x 8 again;
 * the 4 cells of an image 8 apart, in any order, and the next image's 4 from those: 4 cells x 8
 * channels do, and 8 cells x 4. */
enum {
    W_PITCH = TERMS + 8,
    X_PIXEL = CH + 4,          /* two are 8 mod 32 */
    X_ROW = 5 * X_PIXEL + 4,   /* with a column of zeros; two are 16 */
    X_IMAGE = 5 * X_ROW + 4,   /* with a row of zeros; 28 */
    DZ_CELL = CH + 8,          /* 8 */
    DZ_ROW = 3 * DZ_CELL + 24, /* with a column of zeros; 16 */
    DZ_IMAGE = 3 * DZ_ROW + 4, /* with a row of zeros; 20 */
    Z_PITCH = X_PIXEL          /* of z's parts, and of outputs */
};
static_assert(W_PITCH % 32 == 8 && 2 * X_PIXEL % 32 == 8 && 2 * X_ROW % 32 == 16 &&
                  X_IMAGE % 32 == 28 && DZ_CELL % 32 == 8 && DZ_ROW % 32 == 16 &&
                  DZ_IMAGE % 32 == 20,
              "banks");

/* What a block has in shared memory.  z in four parts, one of each 16 input channels, makes room
 * for dz; dX, (pixel, X_PIXEL), takes the place of x. */
struct last_room {
    float w[CH * W_PITCH];
    float x[IMAGES * X_IMAGE];
    union {
        float z[4][CELLS * Z_PITCH];
        float dz[IMAGES * DZ_IMAGE];
    };
    float out[CELLS * Z_PITCH];
    float head[WAYS_MOST * 4 * CH]; /* its weights */
    float parts[LAST_WARPS][IMAGES * WAYS_MOST], logits[IMAGES * WAYS_MOST];
    double losses[LAST_WARPS];
    uint64_t bar;
    int32_t labels[IMAGES];
};
static_assert(sizeof(struct last_room) <= SHARED_MOST, "one block to a multiprocessor");

static __device__ __forceinline__ constexpr int x_at(int cell)
{
    return cell / 4 * X_IMAGE + cell / 2 % 2 * 2 * X_ROW + cell % 2 * 2 * X_PIXEL;
}
static __device__ __forceinline__ constexpr int dz_at(int cell)
{
    return cell / 4 * DZ_IMAGE + cell / 2 % 2 * DZ_ROW + cell % 2 * DZ_CELL;
}
/* Where input channel c begins in a row of weights; the next tap is SLICE on. */
static __device__ __forceinline__ constexpr int column_of(int c)
{
    return c / SLICE * 9 * SLICE + c % SLICE;
}

/* ---- staging ---- */

static __device__ __forceinline__ void stage_weights(const struct last_args &a, int task,
                                                     struct last_room *r)
{
    const struct dense_args &k = a.head.dense;
    const float *w = tensor_at(a.layer.theta, task, a.layer.l, TENSOR_WEIGHT);
    if (threadIdx.x < CH)
        copy_bytes(shared_address(r->w + threadIdx.x * W_PITCH), w + threadIdx.x * TERMS,
                   TERMS * (int)sizeof(float), &r->bar);
    const float *head = weights_at(k.theta, task, k.weight);
#pragma unroll 1
    for (int i = threadIdx.x * 4; i < k.out * 4 * CH; i += LAST_THREADS * 4)
        copy16(r->head + i, head + i, true);
}

static __device__ __forceinline__ void stage_x(const float *from, int n, float *to)
{
#pragma unroll
    for (int i = threadIdx.x; i < PIXELS * CH / 4; i += LAST_THREADS) {
        int p = i / (CH / 4), c = i % (CH / 4) * 4;
        int at = p / 16 * X_IMAGE + (p / 4 % 4 + 1) * X_ROW + (p % 4 + 1) * X_PIXEL + c;
        if (p < n * 16)
            copy16(to + at, from + i * 4, true);
    }
}

/* Zeros above images and to their left. */
static __device__ __forceinline__ void border_x(float *x)
{
    enum { ABOVE = X_ROW / 4, LEFT = X_PIXEL / 4 };
#pragma unroll
    for (int i = threadIdx.x; i < IMAGES * ABOVE; i += LAST_THREADS)
        store_zeros(x + i / ABOVE * X_IMAGE + i % ABOVE * 4);
#pragma unroll
    for (int i = threadIdx.x; i < IMAGES * 4 * LEFT; i += LAST_THREADS)
        store_zeros(x + i / (4 * LEFT) * X_IMAGE + (i / LEFT % 4 + 1) * X_ROW + i % LEFT * 4);
}

/* And to the right of dz and below. */
static __device__ __forceinline__ void border_dz(float *dz)
{
    enum { FOURS = CH / 4 };
#pragma unroll
    for (int i = threadIdx.x; i < IMAGES * 5 * FOURS; i += LAST_THREADS) {
        int p = i / FOURS % 5,
            at = p < 3 ? 2 * DZ_ROW + p * DZ_CELL : (p - 3) * DZ_ROW + 2 * DZ_CELL;
        store_zeros(dz + i / (5 * FOURS) * DZ_IMAGE + at + i % FOURS * 4);
    }
}

/* ---- the forward pass ---- */

/* z of a warp's 16 output channels, summed over 16 input channels: rows of the product are output
 * channels, columns cells.  Terms t and t + 4 are neighbouring channels. */
static __device__ __forceinline__ void convolve(struct last_room *r, int cells)
{
    enum { TILES = (CELLS + 7) / 8 };
    int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    int o = warp % 4 * 16, part = warp / 4;
    const float *w = r->w + (o + g) * W_PITCH + part * 9 * SLICE + 2 * t;
    const float *x[TILES];
    float acc[TILES][4] = {};
#pragma unroll
    for (int i = 0; i < TILES; i++)
        x[i] = r->x + x_at(max(min(8 * i + g, cells - 1), 0)) + part * SLICE + 2 * t;
#pragma unroll
    for (int tap = 0; tap < 9; tap++)
#pragma unroll
        for (int c = 0; c < SLICE; c += 8) {
            float2 upper = pair_at(w + tap * SLICE + c);
            float2 lower = pair_at(w + 8 * W_PITCH + tap * SLICE + c);
            float rows[4] = {nudge(upper.x), nudge(lower.x), nudge(upper.y), nudge(lower.y)};
#pragma unroll
            for (int i = 0; i < TILES; i++) {
                float2 v = pair_at(x[i] + tap / 3 * X_ROW + tap % 3 * X_PIXEL + c);
                mma(acc[i], rows, v.x, v.y);
            }
        }
#pragma unroll
    for (int i = 0; i < TILES * 4; i++) {
        int cell = i / 4 * 8 + 2 * t + i % 2;
        if (cell < cells)
            r->z[part][cell * Z_PITCH + o + g + i / 2 % 2 * 8] = acc[i / 4][i % 4];
    }
}

/* Four sums over a warp, to all lanes. */
static __device__ __forceinline__ void sum_over_warp(float (&v)[4])
{
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
#pragma unroll
        for (int j = 0; j < 4; j++)
            v[j] += __shfl_xor_sync(~0u, v[j], step);
}

static __device__ __forceinline__ void put4(float *shared, const float (&v)[4])
{
    *(float4 *)shared = make_float4(v[0], v[1], v[2], v[3]);
}

/* Statistics of a warp's four channels, of which a lane has one cell's z, and what follows from
 * them: in f, and in memory. */
static __device__ __forceinline__ void set_statistics(const struct conv_args &a, int task, int c,
                                                      int counted, const float (&z)[4],
                                                      struct few<4> &f)
{
    int lane = threadIdx.x % 32;
    float over = counted > 0 ? 1.0f / (float)counted : 0, var[4], gamma[4];
#pragma unroll
    for (int j = 0; j < 4; j++)
        f.mu[j] = lane < counted ? z[j] : 0;
    load4(gamma, tensor_at(a.theta, task, a.l, TENSOR_GAMMA) + c);
    load4(f.beta, tensor_at(a.theta, task, a.l, TENSOR_BETA) + c);
    sum_over_warp(f.mu);
#pragma unroll
    for (int j = 0; j < 4; j++) {
        f.mu[j] *= over;
        var[j] = lane < counted ? (z[j] - f.mu[j]) * (z[j] - f.mu[j]) : 0;
    }
    sum_over_warp(var);
#pragma unroll
    for (int j = 0; j < 4; j++) {
        f.s[j] = 1 / sqrtf(var[j] * over + (float)a.l.eps);
        f.scale[j] = gamma[j] * f.s[j];
    }
    if (lane == 0) {
        store4(stat_at(a, a.cache, task, STAT_MU) + c, f.mu);
        store4(stat_at(a, a.cache, task, STAT_S) + c, f.s);
    }
}

/* A cell's four channels of z, and of the output, which goes to shared memory too. */
static __device__ __forceinline__ void make_output(const struct conv_args &a, int task, int cells,
                                                   struct last_room *r, struct few<4> &f,
                                                   struct reading<1> &cell)
{
    int lane = threadIdx.x % 32, c = threadIdx.x / 32 * 4, n = cells / 4;
    size_t place = ((size_t)task * a.n * 4 + lane) * CH + c;
    float out[4] = {}, part[4];
    cell.at[0] = 0;
    for (int j = 0; j < 4; j++)
        cell.z[0][j] = 0;
    if (lane < cells)
#pragma unroll
        for (int p = 0; p < 4; p++) {
            take4(part, r->z[p] + lane * Z_PITCH + c);
            for (int j = 0; j < 4; j++)
                cell.z[0][j] += part[j];
        }
    set_statistics(a, task, c, min(a.stat, n) * 4, cell.z[0], f);
    if (lane >= cells)
        return;
#pragma unroll
    for (int j = 0; j < 4; j++)
        out[j] = output_of<false, 1, false, 4>(f, j, cell.at, cell.z, cell.rz);
    put4(r->out + lane * Z_PITCH + c, out);
    store4(a.cache.out + place, out);
    if (!a.no_tangents)
        store4(a.cache.z + place, cell.z[0]);
}

/* ---- the head ---- */

/* What a warp's four channels have for each logit, added up over an image's cells. */
static __device__ __forceinline__ void part_of_logits(const struct dense_args &k, int cells,
                                                      struct last_room *r)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float4 x = {};
    if (lane < cells)
        x = *(const float4 *)(r->out + lane * Z_PITCH + warp * 4);
#pragma unroll 1
    for (int o = 0; o < k.out; o++) {
        float4 w = *(const float4 *)(r->head + (o * 4 + lane % 4) * CH + warp * 4);
        float v = dot4(x, w, 0);
        v += __shfl_xor_sync(~0u, v, 1);
        v += __shfl_xor_sync(~0u, v, 2);
        if (lane % 4 == 0 && lane < cells)
            r->parts[warp][lane / 4 * WAYS_MOST + o] = v;
    }
}

static __device__ __forceinline__ void add_logits(const struct dense_args &k, int task, int n,
                                                  struct last_room *r)
{
    int i = threadIdx.x / k.out_c, o = threadIdx.x % k.out_c;
    if (i >= n)
        return;
    float sum = 0;
    if (o < k.out) {
#pragma unroll
        for (int w = 0; w < LAST_WARPS; w++)
            sum += r->parts[w][i * WAYS_MOST + o];
        sum += *weights_at(k.theta, task, k.bias + o);
    }
    r->logits[threadIdx.x] = sum;
    k.cache.out[(size_t)task * k.n * k.out_c + threadIdx.x] = sum;
}

/* The gradient of a cell's four channels. */
static __device__ __forceinline__ void head_dx(const struct dense_args &k, int task, int cells,
                                               const struct last_room *r, float (&dout)[4])
{
    int lane = threadIdx.x % 32, c = threadIdx.x / 32 * 4;
    float4 sum = {};
    if (lane < cells)
#pragma unroll 1
        for (int o = 0; o < k.out; o++)
            add4(sum, r->logits[lane / 4 * k.out_c + o],
                 *(const float4 *)(r->head + (o * 4 + lane % 4) * CH + c));
    dout[0] = sum.x, dout[1] = sum.y, dout[2] = sum.z, dout[3] = sum.w;
    if (lane < cells)
        store4(k.dx + ((size_t)task * k.n * 4 + lane) * CH + c, dout);
}

/* dw by fours, a thread one of them, and the biases'. */
static __device__ __forceinline__ void head_dw(const struct dense_args &k, int task, int n,
                                               const struct last_room *r)
{
    int o = threadIdx.x / CH, four = threadIdx.x % CH * 4, bias = LAST_THREADS - 1 - threadIdx.x;
    size_t at = k.weight + (size_t)threadIdx.x * 4;
    struct olds<1, 4> old;
    float4 sum = {};
    sink_begin<1, 4>(k.sink, task, {at}, {o < k.out}, old);
    if (o < k.out)
        for (int i = 0; i < n; i++)
            add4(sum, r->logits[i * k.out_c + o],
                 *(const float4 *)(r->out + (i * 4 + four / CH) * Z_PITCH + four % CH));
    sink_end<1, 4>(k.sink, task, {at}, {o < k.out}, {{sum.x, sum.y, sum.z, sum.w}}, old);
    if (bias < k.out) {
        float all = 0;
        for (int i = 0; i < n; i++)
            all += r->logits[i * k.out_c + bias];
        sink_value(k.sink, task, k.bias + bias, all);
    }
}

/* ---- batch norm backward ---- */

/* N pixels of a lane, 32 apart, of which the first `pixels` are real and the first `counted` made
 * statistics, four channels of a warp: what sums over them make of the parameters, and dz of each,
 * by put(pixel, dz). */
template <int N, class PUT>
static __device__ __forceinline__ void norm_back(const struct conv_args &a, int task, int c,
                                                 int pixels, int counted, struct few<4> &f,
                                                 const struct reading<1> (&r)[N], PUT put)
{
    int lane = threadIdx.x % 32;
    float sum[3][4] = {}, over = counted > 0 ? 1.0f / (float)counted : 0, mine[2] = {};
    channel_olds old;
    channel_begin(a, task, c + lane, lane < 4, old);
#pragma unroll
    for (int i = 0; i < N; i++)
        if (lane + 32 * i < pixels)
            count_pixel<1, false>(f, r[i], sum);
    sum_over_warp(sum[SUM_DY]);
    sum_over_warp(sum[SUM_DY_XH]);
#pragma unroll
    for (int j = 0; j < 4; j++) {
        f.c1[j] = sum[SUM_DY][j] * over;
        f.c2[j] = sum[SUM_DY_XH][j] * over;
        mine[0] = lane == j ? sum[SUM_DY][j] : mine[0];
        mine[1] = lane == j ? sum[SUM_DY_XH][j] : mine[1];
    }
#pragma unroll
    for (int i = 0; i < N; i++)
        if (lane + 32 * i < pixels) {
            float dz[1][4];
            dz_of<false, 1, false>(f, r[i], lane + 32 * i < counted, dz);
            put(lane + 32 * i, dz[0]);
        }
    if (lane < 4)
        channel_end(a, task, c + lane, mine[0], mine[1], 0, old);
    if (lane == 0) {
        store4(stat_at(a, a.cache, task, STAT_C1) + c, f.c1);
        store4(stat_at(a, a.cache, task, STAT_C2) + c, f.c2);
    }
}

/* What batch norm of the block before reads of a lane's pixels, and of a warp's channels; dout is
 * yet to come. */
enum { EACH = (PIXELS + 31) / 32 };

static __device__ __forceinline__ void read_before(const struct conv_args &a, int task, int n,
                                                   struct few<4> &f, struct reading<1> (&r)[EACH])
{
    int lane = threadIdx.x % 32, c = threadIdx.x / 32 * 4;
    const float *z = a.cache.z + ((size_t)task * a.n * 16 + lane) * CH + c;
    float gamma[4];
#pragma unroll
    for (int i = 0; i < EACH; i++)
        if (lane + 32 * i < n * 16)
            load4(r[i].z[0], z + 32 * i * CH);
    load4(f.mu, stat_at(a, a.cache, task, STAT_MU) + c);
    load4(f.s, stat_at(a, a.cache, task, STAT_S) + c);
    load4(gamma, tensor_at(a.theta, task, a.l, TENSOR_GAMMA) + c);
    load4(f.beta, tensor_at(a.theta, task, a.l, TENSOR_BETA) + c);
    for (int j = 0; j < 4; j++)
        f.scale[j] = gamma[j] * f.s[j];
}

/* dout: (pixel, X_PIXEL) in shared memory; keep: where it goes, too, if tangents will follow. */
static __device__ __forceinline__ void norm_before(const struct conv_args &a, int task, int n,
                                                   const float *dout, float *keep, struct few<4> &f,
                                                   struct reading<1> (&r)[EACH])
{
    int lane = threadIdx.x % 32, c = threadIdx.x / 32 * 4, pixels = n * 16;
    size_t first = (size_t)task * a.n * 16 * CH + c;
    float *dz = a.cache.dz + first;
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        r[i].at[0] = 0;
        if (lane + 32 * i >= pixels)
            continue;
        take4(r[i].dout, dout + (lane + 32 * i) * X_PIXEL + c);
        if (keep)
            store4(keep + first + (lane + 32 * i) * CH, r[i].dout);
    }
    norm_back<EACH>(a, task, c, pixels, min(a.stat, n) * 16, f, r,
                    [=](int pixel, const float(&v)[4]) { store4(dz + pixel * CH, v); });
}

/* ---- products ---- */

/* dX of a warp's 16 cells and 8 channels; acc: by parity of rows and columns. */
static __device__ __forceinline__ void multiply_dx(const struct last_room *r, int cells,
                                                   float (&acc)[4][4])
{
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const float *w = r->w + lane % 4 * W_PITCH + column_of(warp % 8 * 8) + lane / 4;
    int cell = max(min(warp / 8 * 16 + lane % 16, cells - 1), 0);
    uint32_t rows_at = shared_address(r->dz + dz_at(cell) + lane / 16 * 4);
    if (warp / 8 * 16 >= cells)
        return;
#pragma unroll 2
    for (int k = 0; k < CH; k += 8, w += 8 * W_PITCH)
#pragma unroll
        for (int from = 0; from < 4; from++) {
            float rows[4];
            int off = from / 2 * DZ_ROW + from % 2 * DZ_CELL + k;
            load_matrices(rows, rows_at + off * (int)sizeof(float));
#pragma unroll
            for (int tap = 0; tap < 9; tap++)
                if (neighbour_of_tap<2>(tap / 3) * 2 + neighbour_of_tap<2>(tap % 3) == from)
                    mma(acc[pixel_of_tap<2>(tap / 3) * 2 + pixel_of_tap<2>(tap % 3)], rows,
                        nudge(w[tap * SLICE]), nudge(w[4 * W_PITCH + tap * SLICE]));
        }
}

/* Those to (pixel, X_PIXEL), when nobody reads x any more. */
static __device__ __forceinline__ void keep_dx(const float (&acc)[4][4], int cells, float *to)
{
    int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, c = warp % 8 * 8 + threadIdx.x % 4 * 2;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        int cell = warp / 8 * 16 + i / 4 * 8 + g, p = i % 4;
        int y = cell / 2 % 2 * 2 + p / 2, x = cell % 2 * 2 + p % 2;
        if (cell < cells)
            *(float2 *)(to + (cell / 4 * 16 + y * 4 + x) * X_PIXEL + c) =
                pair_at(&acc[p][i / 4 * 2]);
    }
}

/* dW of 32 output channels, from a warp's first on, and 8 input channels: a product for each tap,
 * whose terms are the cells of two images. */
static __device__ __forceinline__ void multiply_dw(const struct last_room *r, int n,
                                                   float (&acc)[2][9][4])
{
    int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    const float *x = r->x + x_at(t) + warp % 8 * 8 + g;
    const float *dz = r->dz + dz_at(t) + warp / 8 * 32 + g;
#pragma unroll 1
    for (int i = 0; i < n; i += 2, x += 2 * X_IMAGE, dz += 2 * DZ_IMAGE) {
        bool two = i + 1 < n;
        const float *second = two ? x + X_IMAGE : x;
        float rows[2][4];
#pragma unroll
        for (int m = 0; m < 2; m++) {
            rows[m][0] = dz[m * 16];
            rows[m][1] = dz[m * 16 + 8];
            rows[m][2] = two ? dz[DZ_IMAGE + m * 16] : 0;
            rows[m][3] = two ? dz[DZ_IMAGE + m * 16 + 8] : 0;
        }
#pragma unroll
        for (int tap = 0; tap < 9; tap++) {
            int off = tap / 3 * X_ROW + tap % 3 * X_PIXEL;
            float b0 = x[off], b1 = second[off];
            mma(acc[0][tap], rows[0], b0, b1);
            mma(acc[1][tap], rows[1], b0, b1);
        }
    }
}

/* A warp's sums by pairs: pair i of 36 is of output channel i / 9 * 8 + g, tap i % 9. */
#define PAIR_OF(acc, i)                                                                            \
    {                                                                                              \
        acc[(i) / 18][(i) % 9][(i) / 9 % 2 * 2], acc[(i) / 18][(i) % 9][(i) / 9 % 2 * 2 + 1]       \
    }

/* Gradients in the place of weights in shared memory, or what a step makes of those. */
static __device__ __forceinline__ void keep_dw(const float (&acc)[2][9][4], bool step, float rate,
                                               float *w)
{
    int warp = threadIdx.x / 32;
    int o = warp / 8 * 32 + threadIdx.x % 32 / 4, c = warp % 8 * 8 + threadIdx.x % 4 * 2;
    w += o * W_PITCH + column_of(c);
#pragma unroll
    for (int i = 0; i < 36; i++) {
        const float g[2] = PAIR_OF(acc, i);
        float2 *at = (float2 *)(w + i / 9 * 8 * W_PITCH + i % 9 * SLICE);
        float2 old = step ? *at : make_float2(0, 0);
        *at = step ? make_float2(fmaf(-rate, g[0], old.x), fmaf(-rate, g[1], old.y))
                   : make_float2(g[0], g[1]);
    }
}
#undef PAIR_OF

/* Whether a step, if it is one, starts from the weights of the pass. */
static __device__ __forceinline__ bool starts_here(const struct conv_args &a)
{
    const struct descent &s = a.sink.step;
    return !s.to.at || (!s.moved.at && same_vectors(s.from, a.theta));
}

/* Rows of weights to memory, by the first two warps, when all have been made. */
static __device__ __forceinline__ void send_weights(const struct conv_args &a, int task,
                                                    const float *w)
{
    const struct vec &v = a.sink.step.to.at ? a.sink.step.to : a.sink.grad;
    float *to = task_at(v, task, a.l.offset[TENSOR_WEIGHT]);
    if (threadIdx.x >= CH)
        return;
    send_bytes(to + threadIdx.x * TERMS, shared_address(w + threadIdx.x * W_PITCH), TERMS * 4);
}

/* A step of any other kind, of gradients in shared memory. */
static __device__ __forceinline__ void sink_dw(const struct conv_args &a, int task, const float *g)
{
#pragma unroll 1
    for (int i = threadIdx.x; i < CH * TERMS / 4; i += LAST_THREADS) {
        int o = i / (TERMS / 4), at = i % (TERMS / 4) * 4;
        float4 v = *(const float4 *)(g + o * W_PITCH + at);
        sink_all<1, 4>(a.sink, task, {a.l.offset[TENSOR_WEIGHT] + (size_t)i * 4}, {true},
                       {{v.x, v.y, v.z, v.w}});
    }
}

/* ---- all ---- */

/* Everything that does not depend on the kernel before, or only where it has not written weights;
 * then x. */
static __device__ __forceinline__ void stage_all(const struct last_args &a, int task, int n,
                                                 struct last_room *r)
{
    if (threadIdx.x == 0) {
        barrier_init(&r->bar, 1);
        shared_for_products();
        barrier_expect(&r->bar, CH * TERMS * (int)sizeof(float));
    }
    __syncthreads();
    if (!a.early)
        wait_for_previous();
    stage_weights(a, task, r);
    border_x(r->x);
    if (a.early)
        wait_for_previous();
    stage_x(a.layer.x + (size_t)task * a.layer.n * 16 * CH, n, r->x);
    copies_end();
    if (threadIdx.x < n)
        r->labels[threadIdx.x] = a.head.xent.labels[(size_t)task * a.layer.n + threadIdx.x];
    copies_wait<0>();
    barrier_wait(&r->bar, 0);
    __syncthreads();
}

/* The loss, and dz of the block. */
static __device__ __forceinline__ void head_and_norm(const struct last_args &a, int task, int n,
                                                     struct last_room *r, struct few<4> &f,
                                                     struct reading<1> &cell)
{
    const struct dense_args &k = a.head.dense;
    const struct conv_args &l = a.layer;
    int c = threadIdx.x / 32 * 4;
    part_of_logits(k, n * 4, r);
    __syncthreads();
    border_dz(r->dz);
    add_logits(k, task, n, r);
    __syncthreads();
    xent_rows<LAST_WARPS>(a.head.xent, task, r->labels, r->logits, r->losses);
    __syncthreads();
    head_dx(k, task, n * 4, r, cell.dout);
    float *dz = l.no_tangents ? NULL : l.cache.dz + (size_t)task * l.n * 4 * CH + c;
    const struct reading<1> cells[1] = {
        cell
    };
    norm_back<1>(l, task, c, n * 4, min(l.stat, n) * 4, f, cells, [=](int i, const float(&v)[4]) {
        put4(r->dz + dz_at(i) + c, v);
        if (dz)
            store4(dz + i * CH, v);
    });
    head_dw(k, task, n, r);
    if (threadIdx.x == LAST_THREADS - 1)
        put_loss<LAST_WARPS>(r->losses, a.head.xent.loss + task);
}

/* dX, dW and the step; dX in the place of x, and weights on their way to memory. */
static __device__ __forceinline__ void products(const struct last_args &a, int task, int n,
                                                struct last_room *r, struct few<4> &f,
                                                struct reading<1> (&before)[EACH])
{
    float dx[4][4] = {}, dw[2][9][4] = {};
    bool here = starts_here(a.layer);
    multiply_dx(r, n * 4, dx);
    multiply_dw(r, n, dw);
    __syncthreads();
    keep_dx(dx, n * 4, r->x);
    keep_dw(dw, here && a.layer.sink.step.to.at, (float)a.layer.sink.step.rate, r->w);
    shared_for_products();
    read_before(a.before, task, n, f, before);
    __syncthreads();
    if (here)
        send_weights(a.layer, task, r->w);
    else
        sink_dw(a.layer, task, r->w);
}

/* A block per task. */
static __global__ void __launch_bounds__(LAST_THREADS, 1)
    last_kernel(const __grid_constant__ struct last_args a)
{
    extern __shared__ __align__(128) float dynamic[];
    struct last_room *r = (struct last_room *)dynamic;
    int task = blockIdx.x, n = a.layer.count ? a.layer.count[task] : a.layer.n;
    struct reading<1> cell, before[EACH];
    struct few<4> f;
    stage_all(a, task, n, r);
    convolve(r, n * 4);
    __syncthreads();
    make_output(a.layer, task, n * 4, r, f, cell);
    head_and_norm(a, task, n, r, f, cell);
    __syncthreads();
    products(a, task, n, r, f, before);
    norm_before(a.before, task, n, r->x, a.layer.no_tangents ? NULL : a.layer.dx, f, before);
    bytes_sent();
}

/* ---- what is noted ---- */

/* Forgets what is noted, and returns it. */
static struct last take(struct device *d)
{
    struct last l = *d->last;
    d->last->noted = last::LAST_NONE;
    return l;
}

static bool shape_is(const struct conv_args *a)
{
    return fixed<fix_norm<LAST>>(a) && a->n <= IMAGES && a->stat > 0 && !a->v.at;
}

/* Where more than half of the multiprocessors have a task.  Of 128 tasks this takes 33 us on an
 * H200, of 32 the three launches it stands for take 27; between those nobody has looked. */
extern "C" bool cuda_last_forward(struct device *d, const struct conv_args *a)
{
    int tasks = d->tasks ? d->tasks : a->tasks;
    if (in_fp32(d, &a->l) || tasks <= d->blocks / 4 || !shape_is(a) || d->error)
        return false;
    d->last->noted = last::LAST_FORWARD;
    d->last->forward = *a;
    return true;
}

extern "C" bool cuda_last_makes(const struct device *d, const float *x)
{
    return d->last->noted == last::LAST_FORWARD && d->last->forward.cache.out == x;
}

/* Whether both are of the same images, by the same statistics. */
static bool same_pass(const struct conv_args *a, const struct conv_args *b)
{
    return a->tasks == b->tasks && a->n == b->n && a->count == b->count && a->stat == b->stat;
}

/* It follows from the head, and that from the forward pass. */
extern "C" bool cuda_last_backward(struct device *d, const struct conv_args *a)
{
    struct last *l = d->last;
    const struct head *h = d->head;
    const struct dense_args *k = &h->args.dense;
    if (l->noted != last::LAST_FORWARD || h->noted != head::HEAD_BACKWARD || h->tangent ||
        h->tasks != a->tasks || k->n != a->n || k->count != a->count || k->in != 4 * CH ||
        k->out_c > WAYS_MOST || k->x != a->cache.out || k->dx != a->cache.dout || !a->dx ||
        !shape_is(a) || !same_pass(a, &l->forward) || a->cache.out != l->forward.cache.out ||
        a->x != l->forward.x || a->theta.at != l->forward.theta.at)
        return false;
    l->backward = *a;
    l->noted = last::LAST_BACKWARD;
    return true;
}

extern "C" void cuda_last_flush(struct device *d)
{
    if (d->last->noted == last::LAST_NONE)
        return;
    struct last l = take(d);
    struct head h = *d->head; /* noted after it: a launch would launch it first */
    d->head->noted = head::HEAD_NONE;
    cuda_forward_launch(d, &l.forward);
    *d->head = h;
    if (l.noted == last::LAST_BACKWARD)
        cuda_backward_launch(d, &l.backward);
}

extern "C" bool cuda_last_norm(struct device *d, const struct conv_args *before)
{
    const struct conv_args *a = &d->last->backward;
    if (d->last->noted != last::LAST_BACKWARD || !same_pass(a, before) || before->v.at ||
        a->dx != before->cache.dout || !fixed<fix_norm<LAST - 1>>(before))
        return false;
    struct last_args args = {d->head->args, *a, *before, after_forward(d)};
    struct grid g = {
        .x = (unsigned)a->tasks, .threads = LAST_THREADS, .shared = sizeof(struct last_room)};
    take(d);
    d->head->noted = head::HEAD_NONE;
    cuda_launch(d, (const void *)last_kernel, g, &args, "last");
    return true;
}
