/* cuda_second_products.cu - dX and dW of the second conv block of many Omniglot tasks, and the
 * step.  Both read the same dz, which is made fp16 once: times a power of two, such that the
 * task's largest is well within their range, since gradients may have any size. */
#include "cuda_dx.cuh"
#include "cuda_second.cuh"

/* What a block has in shared memory, one after the other: weights, dz, images of x.  Before those
 * come there are the weights as they are in memory, in the places of images and of dz; later those
 * that a step starts from, two pieces in the place of the weights and two in that of images.  Rows
 * of these are 4 floats apart mod 32, so that a warp's four rows x 8 channels are in 32 banks. */
enum {
    SLOTS = 3, /* images that there is room for */
    STEP_PITCH = TERMS + 4,
    STEP_BYTES = PIECE_ROWS * STEP_PITCH * 4,
    DZ_AT = (2 * STEP_BYTES + 8 * ROW - 1) / (8 * ROW) * (8 * ROW), /* >= WEIGHT_BYTES */
    X_AT = DZ_AT + DZ_BYTES,
    X_BYTES = (PIECES - 1) * PIECE_BYTES,
    BYTES = X_AT + X_BYTES + 8 * ROW
};
static_assert((int)DZ_AT >= WEIGHT_BYTES && X_BYTES >= SLOTS * IMAGE_BYTES &&
                  X_BYTES >= 2 * STEP_BYTES && (int)DZ_BYTES >= PIECE_BYTES &&
                  (int)BYTES < SHARED_MOST,
              "room for each other");

struct products_room {
    uint32_t top[SECOND_WARPS]; /* bits of the largest of dz */
    uint64_t weights[PIECES], old[PIECES], made[IMAGES], used[IMAGES - SLOTS];
};

#ifdef HAVE_GROUPS

static __device__ __forceinline__ int piece_at(int p)
{
    return p < PIECES - 1 ? X_AT + p * PIECE_BYTES : DZ_AT;
}
static __device__ __forceinline__ int step_at(int p)
{
    return (p < 2 ? 0 : X_AT) + p % 2 * STEP_BYTES;
}

static __device__ __forceinline__ int slot_at(int image)
{
    return X_AT + image % SLOTS * IMAGE_BYTES;
}

/* ---- dz ---- */

/* The power of two that dz is multiplied by, as a float's exponent, from the largest's bits: such
 * that it is 2^13 or more and less than 2^14: far from fp16' largest, 2^16, and 2^27 above their
 * smallest of all bits.  253: what undoes it is a float of all bits, too.  1 where the largest is
 * zero, infinite or not a number. */
static __device__ __forceinline__ uint32_t exponent_for(uint32_t top)
{
    uint32_t exponent = top >> 23;
    return top == 0 || exponent == 255 ? 127 : min(267 - exponent, 253u);
}

/* Zeros in the cells to the right of images and below them. */
static __device__ __forceinline__ void border_dz(char *dz)
{
    enum { EACH = 15 * ROW_UNITS };
    for (int i = threadIdx.x; i < IMAGES * EACH; i += SECOND_THREADS) {
        int cell = i / ROW_UNITS % 15, row = cell < 8 ? 56 + cell : (cell - 8) * 8 + 7;
        *(float4 *)(dz + (i / EACH * TILE + row) * ROW + i % ROW_UNITS * UNIT) =
            make_float4(0, 0, 0, 0);
    }
}

/* What a thread has of the warpgroup's image. */
enum { DZ_FOURS = second_cells::plane * CH / 4, DZ_EACH = (DZ_FOURS + GROUP - 1) / GROUP };

static __device__ __forceinline__ void load_dz(const float *dz, bool there, float (&v)[DZ_EACH][4])
{
#pragma unroll
    for (int i = 0; i < DZ_EACH; i++) {
        int at = threadIdx.x % GROUP + i * GROUP;
        if (there && at < DZ_FOURS)
            load4(v[i], dz + at * 4);
        else
            v[i][0] = v[i][1] = v[i][2] = v[i][3] = 0;
    }
}

/* That to shared memory; returns what undoes its scale. */
static __device__ __forceinline__ float stage_dz(const float (&v)[DZ_EACH][4], bool there,
                                                 uint32_t to, struct products_room *r)
{
    uint32_t top = 0;
#pragma unroll
    for (int i = 0; i < 4 * DZ_EACH; i++)
        top = max(top, __float_as_uint(v[i / 4][i % 4]) & 0x7fffffffu);
    top = __reduce_max_sync(~0u, top);
    if (threadIdx.x % 32 == 0)
        r->top[threadIdx.x / 32] = top;
    __syncthreads();
#pragma unroll
    for (int w = 0; w < SECOND_WARPS; w++)
        top = max(top, r->top[w]);
    uint32_t exponent = exponent_for(top);
    float scale = __uint_as_float(exponent << 23);
#pragma unroll
    for (int i = 0; i < DZ_EACH; i++) {
        int at = threadIdx.x % GROUP + i * GROUP, pixel = at / (CH / 4);
        int cell = pixel / known<SECOND>::conv_w * 8 + pixel % known<SECOND>::conv_w;
        const float scaled[4] = {v[i][0] * scale, v[i][1] * scale, v[i][2] * scale,
                                 v[i][3] * scale};
        if (there && at < DZ_FOURS)
            put_fp16(to, cell, at % (CH / 4) * 4, scaled);
    }
    shared_for_products();
    return __uint_as_float((254 - exponent) << 23);
}

/* ---- dX ---- */

/* Of pixels of parity P of rows and columns; dx: the thread's first pixel, of an even row and
 * column, and its channels. */
template <int P>
static __device__ __forceinline__ void pixels_of_dx(uint64_t dz, uint64_t w, const bool (&real)[2],
                                                    float unscale, float *dx)
{
    using K = known<SECOND>;
    float acc[1][8][4] = {};
    settle(acc);
    group_begins();
#pragma unroll
    for (int tap = 0; tap < 9; tap++)
        if (pixel_of_tap<2>(tap / 3) * 2 + pixel_of_tap<2>(tap % 3) == P)
#pragma unroll
            for (int k = 0; k < CH / 16; k++) {
                int from = neighbour_of_tap<2>(tap / 3) * 8 + neighbour_of_tap<2>(tap % 3);
                fp16_mma<0, 1>(acc[0], dz + (from * ROW_UNITS + 2 * k),
                               w + (tap * CH + 16 * k) * ROW_UNITS);
            }
    group_ends();
    warpgroup_wait<0>();
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const float *low = &acc[0][i % 4 * 2][i / 4 * 2], *high = &acc[0][i % 4 * 2 + 1][i / 4 * 2];
        const float v[4] = {low[0] * unscale, low[1] * unscale, high[0] * unscale,
                            high[1] * unscale};
        if (real[i / 4])
            store4(dx + ((2 * (i / 4) + P / 2) * K::w + P % 2) * CH + i % 4 * 16, v);
    }
}

/* dX of the warpgroup's image: while it writes pixels, others multiply. */
static __device__ __forceinline__ void compute_dx(const struct conv_args &a, int task, int image,
                                                  uint32_t shared, float unscale)
{
    using K = known<SECOND>;
    int g = threadIdx.x % 32 / 4, y = threadIdx.x / 32 % 4 * 2;
    const bool real[2] = {g < K::conv_w, g < K::conv_w && y + 1 < K::conv_h};
    float *dx = a.dx + (((size_t)task * a.n + image) * K::h + 2 * y) * K::w * CH + 2 * g * CH +
                threadIdx.x % 4 * 4;
    uint64_t dz = sorted_rows(shared + DZ_AT + image * TILE * ROW), w = sorted_rows(shared);
    pixels_of_dx<0>(dz, w, real, unscale, dx);
    pixels_of_dx<1>(dz, w, real, unscale, dx);
    pixels_of_dx<2>(dz, w, real, unscale, dx);
    pixels_of_dx<3>(dz, w, real, unscale, dx);
}

/* ---- dW ---- */

/* A warpgroup's taps: its own number, and that plus five where there is one.  When all have done
 * with an image, the next one that has no place yet takes it. */
template <int EACH>
static __device__ __forceinline__ void multiply_dw(const struct second_args &g, int task, int n,
                                                   uint32_t shared, struct products_room *r,
                                                   float (&acc)[EACH][8][4])
{
    int group = group_of_thread();
    bool copies = threadIdx.x == (IMAGES - 1) * GROUP;
    int taps[EACH];
    for (int b = 0; b < EACH; b++)
        taps[b] = second_cells::tap(group + b * IMAGES) * ROW_UNITS;
#pragma unroll 1
    for (int i = 0; i < n; i++) {
        barrier_wait(&r->made[i], 0);
        uint64_t x = sorted_rows(shared + slot_at(i));
        uint64_t dz = sorted_rows(shared + DZ_AT + i * TILE * ROW);
        group_begins();
#pragma unroll
        for (int k = 0; k < TILE / 16; k++)
#pragma unroll
            for (int b = 0; b < EACH; b++)
                fp16_mma<1, 1>(acc[b], x + (taps[b] + 16 * k * ROW_UNITS), dz + 16 * k * ROW_UNITS);
        group_ends();
        if (i + SLOTS >= n) /* nobody waits for its place */
            continue;
        warpgroup_wait<0>();
        barrier_arrive(&r->used[i]);
        if (copies) {
            barrier_wait(&r->used[i], 0);
            copy_image(g, task, i + SLOTS, shared + slot_at(i), &r->made[i + SLOTS]);
        }
        __syncwarp();
    }
    warpgroup_wait<0>();
}

/* ---- the step ----
 * A thread has input channels g and g + 8 of its warp's 16, and two output channels of every eight,
 * so four of each tap of a piece. */

/* Gradients of a piece, or what a step makes of its weights, where those are. */
template <int EACH>
static __device__ __forceinline__ void change_piece(const float (&acc)[EACH][8][4], int p,
                                                    bool step, float factor, float *piece)
{
    int warp = threadIdx.x / 32 % 4, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    float *at = piece + 2 * t * STEP_PITCH + (warp * 9 + group_of_thread()) * SLICE + g;
#pragma unroll
    for (int i = 0; i < 8 * EACH; i++) {
        int b = i / 8, tile = i / 4 % 2;
        float *one = at + (tile * 8 + i % 2) * STEP_PITCH + i / 2 % 2 * 8 + b * IMAGES * SLICE;
        *one = fmaf(factor, acc[b][2 * p + tile][i % 4], step ? *one : 0);
    }
    shared_for_products();
}

/* Whether there is a step, and it does not count its way. */
static __device__ __forceinline__ bool plain_step(const struct conv_args &a)
{
    return a.sink.step.to.at && !a.sink.step.moved.at;
}

/* The weights that it starts from, pieces p and p + 1, by the first warp. */
static __device__ __forceinline__ void ask_old(const struct conv_args &a, int task, int p,
                                               uint32_t shared, struct products_room *r)
{
    if (threadIdx.x >= 32 || !plain_step(a))
        return;
    p += threadIdx.x / PIECE_ROWS;
    ask_row(weights_at(a.sink.step.from, task, a.l.offset[TENSOR_WEIGHT]),
            p * PIECE_ROWS + threadIdx.x % PIECE_ROWS, shared + step_at(p), STEP_PITCH, &r->old[p]);
}

static __device__ __forceinline__ void send_piece(const struct conv_args &a, int task, int p,
                                                  uint32_t piece)
{
    const struct vec &v = a.sink.step.to.at ? a.sink.step.to : a.sink.grad;
    float *to = task_at(v, task, a.l.offset[TENSOR_WEIGHT]) + p * PIECE_ROWS * TERMS;
    if (threadIdx.x >= PIECE_ROWS)
        return;
    send_bytes(to + threadIdx.x * TERMS, piece + threadIdx.x * STEP_PITCH * 4, TERMS * 4);
}

/* A step that counts its way, from gradients. */
static __device__ __forceinline__ void sink_piece(const struct conv_args &a, int task, int p,
                                                  const float *piece)
{
    enum { FOURS = TERMS / 4 };
#pragma unroll 1
    for (int i = threadIdx.x; i < PIECE_ROWS * FOURS; i += SECOND_THREADS) {
        float v[1][4];
        take4(v[0], piece + i / FOURS * STEP_PITCH + i % FOURS * 4);
        sink_all<1, 4>(a.sink, task,
                       {a.l.offset[TENSOR_WEIGHT] + (size_t)(p * PIECE_ROWS * TERMS + i * 4)},
                       {true}, v);
    }
}

/* What was added up, to memory, or into a step.  Nobody reads images any more. */
template <int EACH>
static __device__ __forceinline__ void take_step(const struct conv_args &a, int task, float unscale,
                                                 char *aligned, struct products_room *r,
                                                 const float (&acc)[EACH][8][4])
{
    bool step = plain_step(a);
    float factor = step ? -(float)a.sink.step.rate * unscale : unscale;
    shared_for_products();
    __syncthreads();
    ask_old(a, task, 2, shared_address(aligned), r);
#pragma unroll
    for (int p = 0; p < PIECES; p++) {
        float *piece = (float *)(aligned + step_at(p));
        if (step)
            barrier_wait(&r->old[p], 0);
        change_piece<EACH>(acc, p, step, factor, piece);
        __syncthreads();
        if (a.sink.step.moved.at)
            sink_piece(a, task, p, piece);
        else
            send_piece(a, task, p, shared_address(piece));
    }
    bytes_sent();
}

template <int EACH>
static __device__ __forceinline__ void
compute_dw(const struct second_args &g, const struct conv_args &a, int task, int n, char *aligned,
           float unscale, struct products_room *r)
{
    float acc[EACH][8][4] = {};
    settle(acc);
    multiply_dw<EACH>(g, task, n, shared_address(aligned), r, acc);
    take_step<EACH>(a, task, unscale, aligned, r, acc);
}

/* ---- the kernel ---- */

static __device__ __forceinline__ void products_begin(struct products_room *r)
{
    if (threadIdx.x < IMAGES)
        barrier_init(&r->made[threadIdx.x], 1);
    else if (threadIdx.x < 2 * IMAGES - SLOTS)
        barrier_init(&r->used[threadIdx.x - IMAGES], SECOND_THREADS);
    if (threadIdx.x < PIECES) {
        barrier_init(&r->weights[threadIdx.x], PIECE_ROWS);
        barrier_init(&r->old[threadIdx.x], PIECE_ROWS);
    }
    shared_for_products();
    __syncthreads();
}

/* Halves of the weights, and then the first images. */
static __device__ __forceinline__ void stage_all(const struct second_args &g, int task, int n,
                                                 char *aligned, struct products_room *r)
{
    uint32_t shared = shared_address(aligned);
#pragma unroll 1
    for (int p = 0; p < PIECES; p++) {
        barrier_wait(&r->weights[p], 0);
        halve_piece<true>((const float *)(aligned + piece_at(p)), p, shared);
    }
    __syncthreads();
    for (int i = 0; threadIdx.x == 0 && i < min(n, (int)SLOTS); i++)
        copy_image(g, task, i, shared + slot_at(i), &r->made[i]);
    __syncwarp();
}

#endif

/* A block per task.  The kernel before has written dz alone of what is read here. */
static __global__ void __launch_bounds__(SECOND_THREADS, 1)
    second_products_kernel(const __grid_constant__ struct second_args given)
{
#ifdef HAVE_GROUPS
    extern __shared__ __align__(128) float dynamic[];
    __shared__ struct products_room r;
    struct conv_args a = given.layer;
    fix_layer<SECOND>(a);
    int task = blockIdx.x, n = a.count ? a.count[task] : a.n, group = group_of_thread();
    char *aligned = aligned_to_eight_rows(dynamic);
    uint32_t shared = shared_address(aligned);
    products_begin(&r);
    ask_weights(a, task, shared + piece_at(threadIdx.x / PIECE_ROWS), r.weights);
    wait_for_previous();
    float dz[DZ_EACH][4];
    load_dz(a.cache.dz + ((size_t)task * a.n + group) * second_cells::plane * CH, group < n, dz);
    stage_all(given, task, n, aligned, &r);
    border_dz(aligned + DZ_AT);
    float unscale = stage_dz(dz, group < n, shared + DZ_AT + group * TILE * ROW, &r);
    __syncthreads();
    if (group < n)
        compute_dx(a, task, group, shared, unscale);
    shared_for_products();
    __syncthreads();
    ask_old(a, task, 0, shared, &r);
    if (group + IMAGES < 9)
        compute_dw<2>(given, a, task, n, aligned, unscale, &r);
    else
        compute_dw<1>(given, a, task, n, aligned, unscale, &r);
#endif
}

extern "C" bool cuda_second_products(struct device *d, const struct conv_args *a)
{
    struct second_args g;
    const void *kernel = (const void *)second_products_kernel;
    if (!a->dx || !second_begins(d, kernel, a, &g))
        return false;
    struct grid grid = {.x = (unsigned)a->tasks, .threads = SECOND_THREADS, .shared = BYTES};
    cuda_launch(d, kernel, grid, &g, "backward");
    return true;
}
