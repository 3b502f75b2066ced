/* cuda_group_products.cu - dX and dW of a conv block by warpgroups, in blocks of their own, for
 * the layers of Conv4 after the first.
 *
 * Four blocks a task, two for dX and two for dW: of 64 input channels each has half, of 32 each
 * has half of the images, and the two of dW are a cluster and add up.  In each, three warpgroups
 * multiply and one stages, or has the copy engine stage.
 *
 *   dX: rows are cells of dz, a sum is over its channels.  One cell makes 2 x 2 pixels, each from
 *       its own taps (cuda_dx.cuh).  Weights are transposed on the way into shared memory.
 *   dW: rows are (tap, input channel), columns output channels, a sum is over cells.  Rows come
 *       from registers, since a tap moves them by one term; dz is transposed on its way, a unit
 *       being four cells of a channel.
 */
#include "cuda_cells.cuh"
#include "cuda_dx.cuh"

enum { MULTIPLIERS = 3 /* warpgroups */, PRODUCT_THREADS = (MULTIPLIERS + 1) * GROUP };

/* Products may read beyond a stage's end what nobody wants. */
template <int SHAPE> struct dx_room {
    using C = cells<SHAPE>;
    static constexpr int out = known<SHAPE>::filters, chunks = out / WIDE;
    static constexpr int weights = 9 * out / 4 * WIDE * UNIT, stage = chunks * C::plane_bytes;
    static constexpr int beyond = 48 * ROW, fit = (216 * 1024 - weights - beyond) / stage;
    static constexpr int slots = fit < 6 ? MULTIPLIERS : 2 * MULTIPLIERS; /* ring_take() */
    static constexpr int bytes = weights + slots * stage + beyond + 8 * ROW;
};

/* A stage is the planes of x, and dz (term of the sum, output channel). */
template <int SHAPE> struct dw_room {
    using C = cells<SHAPE, SHAPE == 5 ? 3 : staged[SHAPE].band>;
    static constexpr int out = known<SHAPE>::filters, terms = (C::count + 7) / 8 * 8;
    static constexpr int blocks = (9 * WIDE + TILE - 1) / TILE; /* of 64 rows */
    static constexpr int each = (blocks + MULTIPLIERS - 1) / MULTIPLIERS;
    static constexpr int x = C::planes_bytes, stage = x + terms * out * 4;
    static constexpr int fit = 216 * 1024 / stage, slots = fit < 4 ? fit : 4;
    static constexpr int bytes = slots * stage + 8 * ROW;
};

/* What one of two blocks has: input channels from c0, stages first..last-1. */
struct portion {
    int c0, first, last;
};
template <int SHAPE> static constexpr int parts_of = 2 * WIDE / known<SHAPE>::c;

template <int SHAPE>
static __device__ __forceinline__ struct portion portion_of(int which, int stages)
{
    if (parts_of<SHAPE> == 1)
        return {which * WIDE, 0, stages};
    int middle = (stages + 1) / 2;
    return {0, which ? middle : 0, which ? stages : middle};
}

struct products_args {
    CUtensorMap x, dz;
    struct conv_args layer;
};

[[maybe_unused]] static __device__ __forceinline__ void multipliers_meet(void)
{
    asm volatile("bar.sync 1, %0;" ::"n"(MULTIPLIERS * GROUP) : "memory");
}

/* ---- dX ---- */

/* The slice's weights, transposed: (tap, four of output channels, row).  A thread takes 4 x 4
 * channels.  Rows i, i + 8, i + 16 and i + 24 are four neighbouring channels, so that eight
 * threads write eight rows in a row; and those fours are sorted such that four threads, each of
 * which holds two rows in a row of a product, hold 16 neighbours. */
template <int SHAPE>
static __device__ __forceinline__ void transpose_weights(const float *w, uint32_t to)
{
    using R = dx_room<SHAPE>;
    enum { ALL = 9 * R::out / 4 * WIDE / 4 };
#pragma unroll
    for (int i = threadIdx.x; i < ALL; i += MULTIPLIERS * GROUP) {
        int k = i % 8, four = i / 8 % (R::out / 4), tap = i / (2 * R::out);
        const float *from = w + (four * 4 * known<SHAPE>::c + k / 4 * SLICE) * 9 + tap * SLICE;
        float v[4][4];
#pragma unroll
        for (int o = 0; o < 4; o++)
            load4(v[o], from + o * 9 * known<SHAPE>::c + k % 4 * 4);
        int row = k % 4 * 2 + k / 4;
        uint32_t at = to + ((tap * (R::out / 4) + four) * WIDE + row) * UNIT;
#pragma unroll
        for (int c = 0; c < 4; c++)
            asm volatile("st.shared.v4.f32 [%0], {%1,%2,%3,%4};" ::"r"(at + 8 * c * UNIT),
                         "f"(nudge(v[0][c])), "f"(nudge(v[1][c])), "f"(nudge(v[2][c])),
                         "f"(nudge(v[3][c]))
                         : "memory");
    }
    shared_for_products();
    multipliers_meet();
}

/* acc: by parity of rows and columns. */
template <int SHAPE>
static __device__ __forceinline__ void multiply_tile(uint64_t a, uint64_t b, float (&acc)[4][4][4])
{
    using C = cells<SHAPE>;
    using R = dx_room<SHAPE>;
#pragma unroll
    for (int k = 0; k < R::out / 8; k++)
#pragma unroll
        for (int tap = 0; tap < 9; tap++) {
            int to = pixel_of_tap<2>(tap / 3) * 2 + pixel_of_tap<2>(tap % 3);
            int from = neighbour_of_tap<2>(tap / 3) * C::pitch + neighbour_of_tap<2>(tap % 3);
            group_mma(acc[to], a + ((k / 4 * C::held + from) * ROW / UNIT + k % 4 * 2),
                      b + (tap * (R::out / 4) + 2 * k) * WIDE);
        }
}

/* A warp's 16 cells to memory: of each pixel a thread has 4 neighbours of every 16 channels. */
template <int SHAPE>
static __device__ __forceinline__ void keep_pixels(float *dx, int n, int stage, int cell0,
                                                   const float (&acc)[4][4][4])
{
    using C = cells<SHAPE>;
    using K = known<SHAPE>;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        int cell = cell0 + 8 * i + threadIdx.x % 32 / 4, image = C::image_of(stage);
        int y = (C::row_of(stage) + cell % C::image / C::pitch) * 2, x = cell % C::pitch * 2;
        image += cell / C::image;
        float *to = dx + ((image * K::h + y) * K::w + x) * K::c;
#pragma unroll
        for (int p = 0; p < 4; p++)
            if (cell < C::count && image < n && y + p / 2 < K::h && x + p % 2 < K::w)
#pragma unroll
                for (int e = 0; e < 2; e++) {
                    const float v[4] = {acc[p][0][2 * i + e], acc[p][1][2 * i + e],
                                        acc[p][2][2 * i + e], acc[p][3][2 * i + e]};
                    store4(to + (p / 2 * K::w + p % 2) * K::c + 16 * e, v);
                }
    }
}

/* dz of a stage: the cells, and those to the right and below. */
template <int SHAPE>
static __device__ __forceinline__ void copy_dz(const CUtensorMap *dz, int first, int stage,
                                               uint32_t to, uint64_t *bar)
{
    using C = cells<SHAPE>;
    using R = dx_room<SHAPE>;
    barrier_expect(bar, R::chunks * C::bytes);
    for (int c = 0; c < R::chunks; c++)
        copy_box(to + c * C::plane_bytes, dz, c * WIDE, 0, C::row_of(stage),
                 first + C::image_of(stage), bar);
}

template <int SHAPE>
static __device__ __forceinline__ void
compute_dx(const struct conv_args &a, const CUtensorMap *dz, int task, int n,
           const struct portion &h, uint32_t shared, struct ring<dx_room<SHAPE>::slots> *ring)
{
    using C = cells<SHAPE>;
    using K = known<SHAPE>;
    using R = dx_room<SHAPE>;
    int group = group_of_thread(), items = h.last - h.first;
    uint32_t stages = shared + R::weights;
    if (group == MULTIPLIERS) {
        wait_for_previous();
#pragma unroll 1
        for (int i = 0; threadIdx.x % GROUP == 0 && i < items; i++) {
            int slot = i % R::slots;
            ring_make(ring, i);
            copy_dz<SHAPE>(dz, task * a.n, h.first + i, stages + slot * R::stage,
                           &ring->made[slot]);
        }
        return;
    }
    transpose_weights<SHAPE>(tensor_at(a.theta, task, a.l, TENSOR_WEIGHT) + h.c0 * 9, shared);
    wait_for_previous();
    float *dx = a.dx + (size_t)task * a.n * K::h * K::w * K::c + h.c0 + threadIdx.x % 4 * 4;
#pragma unroll 1
    for (int i = group; i < items; i += MULTIPLIERS) {
        ring_take(ring, i);
#pragma unroll 1
        for (int t = 0; t < C::tiles; t++) {
            float acc[4][4][4] = {};
            group_begins();
            multiply_tile<SHAPE>(sorted_rows(stages + i % R::slots * R::stage + t * TILE * ROW),
                                 plain_rows(shared, WIDE), acc);
            group_ends();
            group_wait<0>();
            if (t + 1 == C::tiles)
                ring_free(ring, i);
            keep_pixels<SHAPE>(dx, n, h.first + i, t * TILE + threadIdx.x / 32 % 4 * 16, acc);
        }
    }
}

/* ---- dW ---- */

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

/* blockIdx = (block, task).  The kernel before has written dz alone of what is read here. */
template <int SHAPE>
static __global__ void __launch_bounds__(PRODUCT_THREADS, 1)
    group_product_kernel(const __grid_constant__ struct products_args given)
{
#ifdef HAVE_GROUPS
    using R = dw_room<SHAPE>;
    extern __shared__ __align__(128) float dynamic[];
    __shared__ struct ring<dx_room<SHAPE>::slots> dx_ring;
    __shared__ struct ring<R::slots> dw_ring;
    struct conv_args a = given.layer;
    fix_layer<SHAPE>(a);
    int task = blockIdx.y, which = blockIdx.x % 2, n = a.count ? a.count[task] : a.n;
    bool dx = blockIdx.x >= 2;
    char *aligned = aligned_to_eight_rows(dynamic);
    ring_init(&dx_ring, 1, GROUP / 32);
    ring_init(&dw_ring, 1 + GROUP, MULTIPLIERS * GROUP / 32);
    if (!dx) /* 0 times what was there need not be 0 */
        zero_ends<typename R::C>(aligned, R::slots, R::stage, PRODUCT_THREADS);
    __syncthreads();
    if (dx)
        compute_dx<SHAPE>(a, &given.dz, task, n, portion_of<SHAPE>(which, cells<SHAPE>::stages(n)),
                          shared_address(aligned), &dx_ring);
    else
        compute_dw<SHAPE>(a, &given.x, task, n, which, aligned, &dw_ring);
#endif
}

/* How dX sees dz. */
template <int SHAPE> static struct box cells_of_dz(const struct conv_args *a)
{
    using C = cells<SHAPE>;
    using K = known<SHAPE>;
    return {a->cache.dz,
            4,
            {K::filters, K::conv_w, K::conv_h, (size_t)a->tasks * (size_t)a->n},
            {1, K::filters, K::conv_w * K::filters, K::conv_h * K::conv_w * K::filters},
            {WIDE, C::pitch, C::copied_rows, C::images},
            {1, 1, 1, 1}};
}

template <int SHAPE> static bool launch(struct device *d, const struct conv_args *a)
{
    struct products_args g;
    const void *kernel = (const void *)group_product_kernel<SHAPE>;
    memset(&g, 0, sizeof g);
    memcpy(&g.layer, a, sizeof g.layer);
    fix_layer<SHAPE>(g.layer);
    if (memcmp(&g.layer, a, sizeof g.layer) != 0 || !has_body(kernel))
        return false;
    const struct box x = planes_of<typename dw_room<SHAPE>::C>(a), dz = cells_of_dz<SHAPE>(a);
    cuda_map(d, &x, &g.x);
    cuda_map(d, &dz, &g.dz);
    struct grid grid = {.x = 4,
                        .y = (unsigned)a->tasks,
                        .threads = PRODUCT_THREADS,
                        .cluster = (unsigned)parts_of<SHAPE>,
                        .shared = (size_t)(dx_room<SHAPE>::bytes > dw_room<SHAPE>::bytes
                                               ? dx_room<SHAPE>::bytes
                                               : dw_room<SHAPE>::bytes)};
    cuda_launch(d, kernel, grid, &g, "backward");
    return true;
}

/* Launches the products where the layer is of those shapes, tasks fill the chip, and there is so
 * much to do that batch norm of the layer before is worth a launch of its own. */
extern "C" bool cuda_group_products(struct device *d, const struct conv_args *a)
{
    enum { PIXELS_MIN = 128 }; /* of a task: so measured on an H200 */
    int tasks = d->tasks ? d->tasks : a->tasks, pixels = a->n * a->l.conv_h * a->l.conv_w;
    if (in_fp32(d, &a->l) || a->v.at || !a->dx || pixels < PIXELS_MIN ||
        4 * tasks < d->blocks / 2 * 3 / 4)
        return false;
    return launch<1>(d, a) || launch<2>(d, a) || launch<3>(d, a) || launch<5>(d, a) ||
           launch<6>(d, a);
}
