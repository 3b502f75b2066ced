/* cuda_small_products.cu - dX and dW of a conv block of few pixels, and batch norm of the block
 * before, in one launch: the last two layers of Conv4 on Omniglot, five images a task; of the last
 * one, where a head and its loss do not take all of it (cuda_last.cu).
 *
 * A block has 16 input channels of a task.  Their weights, inputs and dz are brought to shared
 * memory once, for dX, dW and the step.  Half of its warps compute dX, the others dW; then dX is
 * left in the place of the inputs, and all take batch norm of it.
 */
#include "cuda_cells.cuh"
#include "cuda_dx.cuh"
#include "cuda_norm_back.cuh"

struct small_args {
    struct conv_args layer, before;
};

enum {
    SMALL_WARPS = 16,
    SMALL_THREADS = SMALL_WARPS * 32,
    SMALL_HALF = SMALL_WARPS / 2,       /* of dX, and of dW */
    PIXELS_AT_ONCE = SMALL_THREADS / 4, /* of batch norm, a thread four channels of each */
    PIXELS_EACH = 2                     /* of a thread */
};
using small_sums = struct sums<SMALL_WARPS, 2, SLICE>;

/* The least multiple of 4 from `floats` on that is `rest` mod `by`. */
static constexpr int padded(int floats, int rest, int by)
{
    while (floats % by != rest)
        floats += 4;
    return floats;
}

/* What a block has in shared memory, in floats: weights (output channel, DX_PITCH), then x, then
 * dz.  An image of x has zeros above and to the left of it; where those of the next row (or image)
 * are also what is to its right (below it), they are not there twice.  An image of dz has zeros to
 * its right and below it.  Rows and images are padded such that eight cells in a row of dz lie 4
 * floats apart mod 32, in any order, and so do, 8 apart, every other four of them and of x. */
template <int SHAPE> struct small_room {
    using K = known<SHAPE>;
    static constexpr int out = K::filters, plane = K::conv_h * K::conv_w, each = K::h * K::w;
    static constexpr bool odd = K::w % 2;
    static constexpr int x_pitch = known_pitch(SLICE, 2), x_cols = K::w + 1, x_rows = K::h + 1;
    static constexpr int x_row = padded(x_cols * x_pitch, 4, 16);
    static constexpr int x = odd ? x_rows * x_row : padded(x_rows * x_row, 16, 32);
    static constexpr int x_tail = odd ? (x_cols + 1) * x_pitch : 0; /* behind the last image */
    static constexpr int dz_pitch = known_matrix_pitch(out);
    static constexpr int dz_cols = K::conv_w + 1, dz_rows = K::conv_h + 1;
    static constexpr int dz_row = padded(dz_cols * dz_pitch, K::conv_w * 4 % 32, 32);
    static constexpr int dz = padded(dz_rows * dz_row, plane * 4 % 32, 32);
    static constexpr int weights = out * DX_PITCH;
    static_assert(K::h == K::w && each * x_pitch <= x, "dX in the place of x");
    /* Images, at most, of 49 and of 16 pixels: 256 pixels are in registers between sums and dz,
     * and of dX's 8 warps each has 16 cells, or of pixel 3 twice that.  Of the small ones more
     * than eight would fit; nobody has asked for them. */
    static constexpr int images = plane > 8 ? 5 : 8, tiles = (images * plane + 15) / 16;
    static constexpr int last_tiles = (tiles + 2) / 3;
    static constexpr int last_warps = (tiles + last_tiles - 1) / last_tiles;
    static_assert(last_warps + tiles <= SMALL_HALF, "a warp for each");
    static_assert(images * each <= PIXELS_EACH * PIXELS_AT_ONCE, "read at once");

    static __host__ __device__ constexpr int x_floats(int n) /* a multiple of 4 */
    {
        return n * x + x_tail;
    }
    static size_t bytes(int n)
    {
        size_t of_dz = (size_t)(n * dz) * sizeof(float);
        of_dz = of_dz < sizeof(small_sums) ? sizeof(small_sums) : of_dz;
        return (size_t)(weights + x_floats(n)) * sizeof(float) + of_dz;
    }
    /* Where a cell's window of x begins, and its dz lies. */
    static __device__ __forceinline__ constexpr int x_at(int cell)
    {
        int image = cell / plane, y = cell % plane / K::conv_w * 2, left = cell % K::conv_w * 2;
        return image * x + y * x_row + left * x_pitch;
    }
    static __device__ __forceinline__ constexpr int dz_at(int cell)
    {
        int image = cell / plane, y = cell % plane / K::conv_w, left = cell % K::conv_w;
        return image * dz + y * dz_row + left * dz_pitch;
    }
};

/* ---- staging ---- */

/* The slice's weights, by the first two warps: a row of them is in one piece. */
template <int SHAPE>
static __device__ __forceinline__ void stage_weights(const float *from, float *to, uint64_t *bar)
{
    enum { ROWS = known<SHAPE>::filters, BYTES = 9 * SLICE * sizeof(float) };
    if (threadIdx.x == 0) {
        barrier_init(bar, 1);
        shared_for_products();
        barrier_expect(bar, ROWS * BYTES);
    }
    __syncthreads();
    if (threadIdx.x < ROWS)
        copy_bytes(shared_address(to + threadIdx.x * DX_PITCH),
                   from + threadIdx.x * 9 * known<SHAPE>::c, BYTES, bar);
}

/* Does f(0), f(1), ... f(N - 1), a thread every SMALL_THREADS-th. */
template <int N, class F> static __device__ __forceinline__ void share_out(F f)
{
#pragma unroll
    for (int u = 0; u < N; u += SMALL_THREADS)
        if (u + SMALL_THREADS <= N || u + (int)threadIdx.x < N)
            f(u + (int)threadIdx.x);
}

/* The 16 channels of x; from: of pixel 0. */
template <int SHAPE>
static __device__ __forceinline__ void stage_x(const float *from, int n, float *to)
{
    using R = small_room<SHAPE>;
    using K = known<SHAPE>;
    share_out<R::images * R::each * 4>([=](int i) {
        int p = i / 4, image = p / R::each, y = p % R::each / K::w, x = p % K::w;
        int at = image * R::x + (y + 1) * R::x_row + (x + 1) * R::x_pitch + i % 4 * 4;
        if (image < n)
            copy16(to + at, from + p * K::c + i % 4 * 4, true);
    });
}

/* Zeros above an image, to the left of its rows, and four behind each; and behind the last image.
 */
template <int SHAPE> static __device__ __forceinline__ void stage_border_of_x(int n, float *to)
{
    using R = small_room<SHAPE>;
    using K = known<SHAPE>;
    enum { ABOVE = R::x_row / 4, LEFT = SLICE / 4, FOURS = LEFT + 1 };
    share_out<R::images * ABOVE>([=](int i) {
        if (i / ABOVE < n)
            store_zeros(to + i / ABOVE * R::x + i % ABOVE * 4);
    });
    share_out<R::images * K::h * FOURS>([=](int i) {
        int row = i / FOURS % K::h + 1, image = i / (FOURS * K::h), four = i % FOURS;
        int at = four < LEFT ? four * 4 : R::x_cols * R::x_pitch;
        if (image < n)
            store_zeros(to + image * R::x + row * R::x_row + at);
    });
    share_out<R::x_tail / 4>([=](int i) { store_zeros(to + n * R::x + i * 4); });
}

template <int SHAPE> static __device__ __forceinline__ void stage_border_of_dz(int n, float *to)
{
    using R = small_room<SHAPE>;
    using K = known<SHAPE>;
    enum { BORDER = K::conv_w + K::conv_h + 1, FOURS = R::out / 4 };
    share_out<R::images * BORDER * FOURS>([=](int i) {
        int image = i / (FOURS * BORDER), p = i / FOURS % BORDER;
        int at = p < R::dz_cols ? K::conv_h * R::dz_row + p * R::dz_pitch
                                : (p - R::dz_cols) * R::dz_row + K::conv_w * R::dz_pitch;
        if (image < n)
            store_zeros(to + image * R::dz + at + i % FOURS * 4);
    });
}

template <int SHAPE>
static __device__ __forceinline__ void stage_dz(const float *from, int cells, float *to)
{
    using R = small_room<SHAPE>;
    enum { FOURS = R::out / 4 };
    share_out<R::images * R::plane * FOURS>([=](int i) {
        if (i / FOURS < cells)
            copy16(to + R::dz_at(i / FOURS) + i % FOURS * 4, from + i * 4, true);
    });
}

/* ---- dX ---- */

/* dX of 16 cells, TILES times, 16 channels: of each cell pixel 3, which four taps reach, or the
 * other three, which five do. */
template <int SHAPE, bool LAST, int TILES>
static __device__ __forceinline__ void multiply_dx(const float *weights, const float *dz, int first,
                                                   int cells,
                                                   float (&acc)[TILES][LAST ? 1 : 3][2][4])
{
    using R = small_room<SHAPE>;
    int lane = threadIdx.x % 32;
    const float *w = weights + lane % 4 * DX_PITCH + lane / 4;
    uint32_t row[TILES];
#pragma unroll
    for (int m = 0; m < TILES; m++) {
        int cell = min(first + m * 16 + lane % 16, cells - 1);
        row[m] = shared_address(dz + R::dz_at(cell) + lane / 16 * 4);
    }
#pragma unroll 2
    for (int k = 0; k < R::out; k += 8, w += 8 * DX_PITCH)
#pragma unroll
        for (int from = 0; from < (LAST ? 4 : 3); from++) {
            float rows[TILES][4];
            int off = from / 2 * R::dz_row + from % 2 * R::dz_pitch;
#pragma unroll
            for (int m = 0; m < TILES; m++)
                load_matrices(rows[m], row[m] + (off + k) * (int)sizeof(float));
#pragma unroll
            for (int i = 0; i < 18; i++) {
                int tap = i / 2, j = i % 2, y = tap / 3, x = tap % 3;
                int to = pixel_of_tap<2>(y) * 2 + pixel_of_tap<2>(x);
                if (neighbour_of_tap<2>(y) * 2 + neighbour_of_tap<2>(x) != from ||
                    (to == 3) != LAST)
                    continue;
                const float *at = w + tap * SLICE + 8 * j;
                float b0 = nudge(at[0]), b1 = nudge(at[4 * DX_PITCH]);
#pragma unroll
                for (int m = 0; m < TILES; m++)
                    mma(acc[m][LAST ? 0 : to][j], rows[m], b0, b1);
            }
        }
}

/* Those to (pixel, x_pitch). */
template <int SHAPE, bool LAST, int TILES>
static __device__ __forceinline__ void keep_dx(const float (&acc)[TILES][LAST ? 1 : 3][2][4],
                                               int first, int cells, float *to)
{
    using R = small_room<SHAPE>;
    using K = known<SHAPE>;
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
    for (int i = 0; i < 2 * TILES; i++) {
        int h = i % 2, cell = first + 8 * i + g;
        int image = cell / R::plane, y = cell % R::plane / K::conv_w * 2, x = cell % K::conv_w * 2;
        float *at = to + ((image * K::h + y) * K::w + x) * R::x_pitch + 2 * t;
#pragma unroll
        for (int p = LAST ? 3 : 0; p < (LAST ? 4 : 3); p++)
#pragma unroll
            for (int j = 0; j < 2; j++)
                if (cell < cells && y + p / 2 < K::h && x + p % 2 < K::w)
                    *(float2 *)(at + (p / 2 * K::w + p % 2) * R::x_pitch + 8 * j) =
                        pair_at(&acc[i / 2][LAST ? 0 : p][j][2 * h]);
    }
}

/* A warp's share of dX.  Between the products and the results nobody reads x any more. */
template <int SHAPE, bool LAST>
static __device__ __forceinline__ void compute_dx(const float *weights, const float *dz, int warp,
                                                  int cells, float *to)
{
    enum { TILES = LAST ? small_room<SHAPE>::last_tiles : 1 };
    float acc[TILES][LAST ? 1 : 3][2][4] = {};
    int first = warp * TILES * 16;
    if (first < cells)
        multiply_dx<SHAPE, LAST, TILES>(weights, dz, first, cells, acc);
    some_meet(SMALL_THREADS);
    if (first < cells)
        keep_dx<SHAPE, LAST, TILES>(acc, first, cells, to);
}

/* ---- dW ---- */

/* dW of 16 output channels and 8 input channels: rows are output channels (cuda_dw.cuh), columns
 * input channels, a product for each tap.  Of eight cells even ones are terms 0 to 3. */
template <int SHAPE>
static __device__ __forceinline__ void multiply_dw(const float *x, const float *dz, int warp,
                                                   int cells, float (&acc)[9][4])
{
    using R = small_room<SHAPE>;
    enum { IMAGES = 16 / R::plane };
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    x += warp / 4 * 8 + g + R::x_at(2 * t);
    dz += warp % 4 * 16 + 2 * g + R::dz_at(2 * t);
#pragma unroll 1
    for (int k = 0; k < cells; k += 16, x += IMAGES * R::x, dz += IMAGES * R::dz)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            float rows[4];
            bool real = IMAGES == 1 || k + 8 * half + 2 * t < cells; /* a row of two cells */
            const float *at = real ? x + R::x_at(8 * half) : x - R::x_at(2 * t);
#pragma unroll
            for (int i = 0; i < 2; i++) {
                float2 v = real ? pair_at(dz + R::dz_at(8 * half + i)) : make_float2(0, 0);
                rows[2 * i] = v.x;
                rows[2 * i + 1] = v.y;
            }
#pragma unroll
            for (int tap = 0; tap < 9; tap++) {
                int off = tap / 3 * R::x_row + tap % 3 * R::x_pitch;
                mma(acc[tap], rows, at[off], at[off + R::x_at(1)]);
            }
        }
}

/* A warp's sums lie in memory, from its first: pair i of 18 is of output channel i / 9 and tap
 * i % 9; output channels are `apart` floats apart. */
static __device__ __forceinline__ constexpr int place_of_pair(int i, int apart)
{
    return i / 9 * apart + i % 9 * SLICE;
}
#define PAIR_OF(acc, i)                                                                            \
    {                                                                                              \
        acc[(i) % 9][(i) / 9 * 2], acc[(i) % 9][(i) / 9 * 2 + 1]                                   \
    }

/* Those to memory, or a step: `weights` are those in shared memory, which it mostly starts from. */
template <int SHAPE>
static __device__ __forceinline__ void sink_dw(const struct conv_args &a, int task, int c0,
                                               int warp, const float *weights,
                                               const float (&acc)[9][4])
{
    enum { APART = 9 * known<SHAPE>::c };
    const struct descent &step = a.sink.step;
    int o = warp % 4 * 16 + threadIdx.x % 32 / 4 * 2, c = warp / 4 * 8 + threadIdx.x % 4 * 2;
    size_t first = a.l.offset[TENSOR_WEIGHT] + (size_t)(o * APART + c0 * 9 + c);
    float rate = (float)step.rate;
    if (!step.to.at) {
        float *to = task_at(a.sink.grad, task, first);
#pragma unroll
        for (int i = 0; i < 18; i++)
            store_some<2>(to + place_of_pair(i, APART), PAIR_OF(acc, i));
    } else if (!step.moved.at && same_vectors(step.from, a.theta)) {
        float *to = task_at(step.to, task, first);
        weights += o * DX_PITCH + c;
#pragma unroll
        for (int i = 0; i < 18; i++) {
            const float g[2] = PAIR_OF(acc, i);
            float2 old = pair_at(weights + place_of_pair(i, DX_PITCH));
            store_some<2>(to + place_of_pair(i, APART),
                          {fmaf(-rate, g[0], old.x), fmaf(-rate, g[1], old.y)});
        }
    } else {
#pragma unroll
        for (int i = 0; i < 18; i++)
            sink_all<1, 2>(a.sink, task, {first + place_of_pair(i, APART)}, {true},
                           {PAIR_OF(acc, i)});
    }
}
#undef PAIR_OF

template <int SHAPE>
static __device__ __forceinline__ void compute_dw(const struct conv_args &a, int task, int c0,
                                                  const float *weights, const float *x,
                                                  const float *dz, int warp, int cells)
{
    float acc[9][4] = {};
    multiply_dw<SHAPE>(x, dz, warp, cells, acc);
    some_meet(SMALL_THREADS);
    sink_dw<SHAPE>(a, task, c0, warp, weights, acc);
}

/* ---- batch norm of the block before ---- */

/* A thread's pixels, four channels of each. */
static __device__ __forceinline__ int pixel_number(int i)
{
    return threadIdx.x / 4 + i * PIXELS_AT_ONCE;
}

/* Where the thread's four channels of the task's first pixel lie. */
static __device__ __forceinline__ size_t first_pixel(const struct conv_args &a, int task, int c0)
{
    return (size_t)task * a.n * a.l.conv_h * a.l.conv_w * a.out_c + c0 + threadIdx.x % 4 * 4;
}

/* z of the slice's pixels. */
static __device__ __forceinline__ void read_z(const struct conv_args &a, int task, int c0, int n,
                                              float (&z)[PIXELS_EACH][4])
{
    const float *from = a.cache.z + first_pixel(a, task, c0);
#pragma unroll
    for (int i = 0; i < PIXELS_EACH; i++)
        if (pixel_number(i) < n * a.l.conv_h * a.l.conv_w)
            load4(z[i], from + pixel_number(i) * a.out_c);
}

/* Sums over all pixels, in double: to each warp, lane 16 i + c has sum i of channel c. */
static __device__ __forceinline__ double total_of(const small_sums *sums)
{
    int lane = threadIdx.x % 32;
    double total = 0;
#pragma unroll
    for (int w = 0; w < SMALL_WARPS; w++)
        total += sums->warp[w][lane / SLICE][lane % SLICE];
    return total;
}

/* What of the totals a channel's dz needs (c1, c2), for the thread's four. */
static __device__ __forceinline__ void spread_totals(float mean, struct few<4> &f)
{
#pragma unroll
    for (int j = 0; j < 4; j++) {
        f.c1[j] = __shfl_sync(~0u, mean, threadIdx.x % 4 * 4 + j);
        f.c2[j] = __shfl_sync(~0u, mean, SLICE + threadIdx.x % 4 * 4 + j);
    }
}

/* A channel's gradients, and what tangents need, by the first lanes of the first warp. */
static __device__ __forceinline__ void keep_channel(const struct conv_args &a, int task, int c,
                                                    double total, float mean, channel_olds &old)
{
    float dgamma = (float)__shfl_down_sync(~0u, total, SLICE);
    float c2 = __shfl_down_sync(~0u, mean, SLICE);
    if (threadIdx.x >= SLICE)
        return;
    channel_end(a, task, c, (float)total, dgamma, 0, old);
    stat_at(a, a.cache, task, STAT_C1)[c] = mean;
    stat_at(a, a.cache, task, STAT_C2)[c] = c2;
}

/* dx: dout, (pixel, pitch); keep: where it goes, too, if tangents will follow. */
static __device__ __forceinline__ void norm_back(const struct conv_args &a, int task, int c0, int n,
                                                 const float *dx, int pitch, float *keep,
                                                 const float (&z)[PIXELS_EACH][4], small_sums *sums,
                                                 const struct slice *ch)
{
    int plane = a.l.conv_h * a.l.conv_w, quad = threadIdx.x % 4 * 4, stat = min(a.stat, n);
    float sum[3][4] = {};
    struct reading<1> r[PIXELS_EACH];
    struct few<4> f;
    channel_olds old;
    if (threadIdx.x < 32)
        channel_begin(a, task, c0 + threadIdx.x, threadIdx.x < SLICE, old);
    load_few<4, false>(f, ch, quad);
#pragma unroll
    for (int i = 0; i < PIXELS_EACH; i++)
        if (pixel_number(i) < n * plane) {
            r[i].at[0] = pixel_number(i);
            *(float4 *)r[i].z[0] = *(const float4 *)z[i];
            *(float4 *)r[i].dout = *(const float4 *)(dx + pixel_number(i) * pitch + quad);
            if (keep)
                store4(keep + pixel_number(i) * a.out_c + quad, r[i].dout);
            count_pixel<1, false>(f, r[i], sum);
        }
    put_sums<false>(sum, sums);
    __syncthreads();
    double total = total_of(sums);
    float mean = (float)(total * (stat > 0 ? 1 / ((double)stat * plane) : 0));
    spread_totals(mean, f);
    float *dz = a.cache.dz + first_pixel(a, task, c0);
#pragma unroll
    for (int i = 0; i < PIXELS_EACH; i++)
        if (pixel_number(i) < n * plane)
            put_pixel<false, 1, false>(a, f, r[i], pixel_number(i) < stat * plane, dz);
    if (threadIdx.x < 32)
        keep_channel(a, task, c0 + threadIdx.x, total, mean, old);
}

/* ---- all ---- */

/* blockIdx = (slice, task).  The kernel before has written dz alone of what is read here. */
template <int SHAPE>
static __global__ void __launch_bounds__(SMALL_THREADS, 2)
    small_product_kernel(const __grid_constant__ struct small_args given)
{
    using R = small_room<SHAPE>;
    extern __shared__ __align__(128) float dynamic[];
    __shared__ struct slice ch;
    __shared__ uint64_t bar;
    struct conv_args a = given.layer, before = given.before;
    fix_layer<SHAPE>(a);
    fix_layer<SHAPE - 1>(before);
    int task = blockIdx.y, c0 = blockIdx.x * SLICE, warp = threadIdx.x / 32;
    int n = a.count ? a.count[task] : a.n, cells = n * R::plane;
    float *weights = dynamic, *x = weights + R::weights, *dz = x + R::x_floats(a.n);
    stage_weights<SHAPE>(tensor_at(a.theta, task, a.l, TENSOR_WEIGHT) + c0 * 9, weights, &bar);
    stage_x<SHAPE>(a.x + (size_t)task * a.n * R::each * a.in_c + c0, n, x);
    load_slice(before, {task, n, 0, c0, 0, 0}, false, &ch);
    stage_border_of_x<SHAPE>(n, x);
    stage_border_of_dz<SHAPE>(n, dz);
    wait_for_previous();
    stage_dz<SHAPE>(a.cache.dz + (size_t)task * a.n * R::plane * R::out, cells, dz);
    copies_end();
    copies_wait<0>();
    barrier_wait(&bar, 0);
    __syncthreads();
    if (warp < R::last_warps)
        compute_dx<SHAPE, true>(weights, dz, warp, cells, x);
    else if (warp < SMALL_HALF)
        compute_dx<SHAPE, false>(weights, dz, warp - R::last_warps, cells, x);
    else
        compute_dw<SHAPE>(a, task, c0, weights, x, dz, warp - SMALL_HALF, cells);
    float z[PIXELS_EACH][4];
    read_z(before, task, c0, n, z);
    __syncthreads();
    float *keep = a.no_tangents ? NULL : a.dx + (size_t)task * a.n * R::each * a.in_c + c0;
    norm_back(before, task, c0, n, x, R::x_pitch, keep, z, (small_sums *)dz, &ch);
}

template <int SHAPE>
static bool launch(struct device *d, const struct conv_args *a, const struct conv_args *before)
{
    struct small_args args;
    if (!fixed<fix_norm<SHAPE>>(a) || !fixed<fix_norm<SHAPE - 1>>(before) ||
        a->n > small_room<SHAPE>::images)
        return false;
    memcpy(&args.layer, a, sizeof *a);
    memcpy(&args.before, before, sizeof *before);
    struct grid g = {.x = (unsigned)(a->in_c / SLICE),
                     .y = (unsigned)a->tasks,
                     .threads = SMALL_THREADS,
                     .shared = small_room<SHAPE>::bytes(a->n)};
    cuda_launch(d, (const void *)small_product_kernel<SHAPE>, g, &args, "backward");
    return true;
}

/* Launches the products of a layer with batch norm of the layer before, where they are of those
 * shapes, statistics are this batch's, and there are more blocks than multiprocessors: fewer are
 * better off with dX and dW in blocks of their own. */
extern "C" bool cuda_small_products(struct device *d, const struct conv_args *a,
                                    const struct conv_args *before)
{
    int tasks = d->tasks ? d->tasks : a->tasks;
    if (in_fp32(d, &a->l) || a->v.at || before->stat == 0 ||
        tasks * (a->in_c / SLICE) <= d->blocks / 2)
        return false;
    return launch<2>(d, a, before) || launch<3>(d, a, before);
}
