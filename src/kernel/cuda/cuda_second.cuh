/* cuda_second.cuh - the second conv block of many Omniglot tasks, by warpgroups, with factors of 16
 * bits (cuda_fp16.h).
 *
 * Everything a product reads is rows of 64 fp16 in shared memory, 128 bytes, sorted as
 * cuda_cells.cuh has it: a cell's channels (x in four planes, dz), or an output channel's weights
 * of a tap.  Tensor cores take fp16 along rows or across them, so nothing is transposed:
 *
 *   forward  z (cell, out) = x (cell, in) w (out, in)'    sums along both's rows
 *   dX       (cell, in) = dz (cell, out) w (out, in)      along dz's, across w's
 *   dW       (in, out) = x (cell, in)' dz (cell, out)     across both's
 *
 * A block has a task, a warpgroup an image.
 */
#ifndef CUDA_SECOND_CUH
#define CUDA_SECOND_CUH

#include "cuda_cells.cuh"
#include "cuda_fp16.h"

enum {
    SECOND = 1, /* of shapes[] */
    CH = 64,    /* filters, and input channels */
    IMAGES = 5, /* warpgroups: what a multiprocessor has registers for */
    SECOND_THREADS = IMAGES * GROUP,
    SECOND_WARPS = SECOND_THREADS / 32,
    ROW_UNITS = ROW / UNIT,
    TERMS = 9 * CH /* weights of an output channel */
};
using second_cells = cells<SECOND>;
static_assert(known<SECOND>::c == CH && known<SECOND>::filters == CH &&
                  second_cells::image == TILE && second_cells::pitch == 8 &&
                  second_cells::plane_bytes == TILE * ROW,
              "an image is a tile, eight cells a row");

/* What both kernels have in shared memory. */
enum {
    WEIGHT_BYTES = 9 * CH * ROW,
    IMAGE_BYTES = second_cells::planes_bytes,
    DZ_BYTES = (IMAGES * TILE + 16) * ROW /* dX reads nine rows beyond the last */
};

struct second_args {
    CUtensorMap x;
    struct conv_args layer;
};

/* Weights as they are: the copy engine brings them by rows, a piece of 16 output channels after the
 * other.  Two rows are 16 floats apart mod 32: what eight threads read at once, 16 floats of rows o
 * and o + 2, lies in banks of its own. */
enum {
    PIECES = 4,
    PIECE_ROWS = CH / PIECES,
    PIECE_PITCH = TERMS + 8,
    PIECE_BYTES = PIECE_ROWS * PIECE_PITCH * 4
};

#ifdef HAVE_GROUPS /* as all that kernels without a body do not use */

/* Neighbours of a row to shared memory, four or two; at: the first of them, in fp16. */
static __device__ __forceinline__ void put_fp16(uint32_t rows, int row, int at, const float (&v)[4])
{
    uint32_t to = rows + row * ROW + (at / 8 ^ row % 8) * UNIT + at % 8 * 2;
    asm volatile("st.shared.v2.b32 [%0], {%1,%2};" ::"r"(to), "r"(two_fp16(v[0], v[1])),
                 "r"(two_fp16(v[2], v[3]))
                 : "memory");
}

static __device__ __forceinline__ void put_two(uint32_t rows, int row, int at, float low,
                                               float high)
{
    uint32_t to = rows + row * ROW + (at / 8 ^ row % 8) * UNIT + at % 8 * 2;
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(to), "r"(two_fp16(low, high)) : "memory");
}

/* c += a b: 64 rows, 16 terms, 64 columns; ACROSS: terms are the rows of what lies in memory. */
template <int A_ACROSS, int B_ACROSS>
static __device__ __forceinline__ void fp16_mma(float (&c)[8][4], uint64_t a, uint64_t b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
                 "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
                 "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, "
                 "%32, %33, 1, 1, 1, %34, %35;"
                 : FOUR_OF(c[0]), FOUR_OF(c[1]), FOUR_OF(c[2]), FOUR_OF(c[3]), FOUR_OF(c[4]),
                   FOUR_OF(c[5]), FOUR_OF(c[6]), FOUR_OF(c[7])
                 : "l"(a), "l"(b), "n"(A_ACROSS), "n"(B_ACROSS));
}

static __device__ __forceinline__ void copy_image(const struct second_args &g, int task, int image,
                                                  uint32_t to, uint64_t *bar)
{
    copy_planes<second_cells>(&g.x, 0, task * g.layer.n, image, to, bar);
}

/* A row of a task's weights, to its place in a piece, rows `pitch` floats apart.  bar: that of the
 * piece, of PIECE_ROWS arrivals, one for each row. */
static __device__ __forceinline__ void ask_row(const float *w, int row, uint32_t to, int pitch,
                                               uint64_t *bar)
{
    barrier_expect(bar, TERMS * 4);
    copy_bytes(to + row % PIECE_ROWS * pitch * 4, w + row * TERMS, TERMS * 4, bar);
}

/* All of them, a row by each of the first threads; to: where the thread's piece will be. */
static __device__ __forceinline__ void ask_weights(const struct conv_args &a, int task, uint32_t to,
                                                   uint64_t *bars)
{
    int p = threadIdx.x / PIECE_ROWS;
    if (p < PIECES)
        ask_row(tensor_at(a.theta, task, a.l, TENSOR_WEIGHT), threadIdx.x, to, PIECE_PITCH,
                &bars[p]);
}

/* Halves of piece p, (tap, output channel), by all.  A warp has 16 input channels of a tap, which
 * lie together, of eight output channels at a time, even ones first, so that what half a warp
 * writes lies in banks of its own.  SPREAD: in the order in which a thread will have four
 * neighbours of every 16 as columns of a product (channel_of_column). */
template <bool SPREAD>
static __device__ __forceinline__ void halve_piece(const float *piece, int p, uint32_t to)
{
    enum { SIXTEENS = TERMS / SLICE, ALL = PIECE_ROWS / 8 * SIXTEENS };
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, o = lane / 4 % 4 * 2 + lane / 16;
#pragma unroll
    for (int at = warp; at < ALL; at += SECOND_WARPS) {
        int sixteen = at % SIXTEENS, tap = sixteen % 9, c = sixteen / 9 * SLICE;
        int row = at / SIXTEENS * 8 + o;
        float v[4];
        take4(v, piece + row * PIECE_PITCH + sixteen * SLICE + lane % 4 * 4);
        row += tap * CH + p * PIECE_ROWS;
        if (SPREAD) {
            put_two(to, row, c + lane % 4 * 2, v[0], v[1]);
            put_two(to, row, c + lane % 4 * 2 + 8, v[2], v[3]);
        } else {
            put_fp16(to, row, c + lane % 4 * 4, v);
        }
    }
    shared_for_products();
}

#endif

/* How the copy engine sees x. */
static inline struct box planes_of_fp16(const struct conv_args *a, const uint16_t *x)
{
    struct box b = planes_of<second_cells>(a);
    b.at = x;
    b.copied[0] = CH;
    b.fp16 = true;
    return b;
}

/* Begins the arguments of a kernel; false: it is not for these. */
static inline bool second_begins(struct device *d, const void *kernel, const struct conv_args *a,
                                 struct second_args *to)
{
    const uint16_t *x = cuda_fp16_of(d, a->x);
    if (!x || a->v.at || a->n > IMAGES || a->stat == 0 || !takes<SECOND>(kernel, a, to))
        return false;
    const struct box planes = planes_of_fp16(a, x);
    cuda_map(d, &planes, &to->x);
    return true;
}

#endif
