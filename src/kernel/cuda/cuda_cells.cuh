/* cuda_cells.cuh - products by warpgroups (wgmma), for convolutions that step by two.
 *
 * A warpgroup multiplies 64 rows by N columns and reads both sides from shared memory, where rows
 * are 32 terms, 128 bytes, and may begin at any row.  So images are staged by the copy engine as
 * four planes, by the parity of rows and columns, a row of shared memory being 32 channels of a
 * pixel, and a tap is a row to begin at:
 *
 *   cell (r, c) is conv pixel (r, c); in odd planes it holds row 2r - 1 (column 2c - 1) of the
 *   image, in even ones row 2r (column 2c).  Tap 2 reads the odd plane's next row (column).
 *
 * Where an image's width is odd, the odd plane's last column is zero, as its first: they are
 * one, and a row has as many cells as pixels.  Otherwise it has one more, whose result nobody
 * wants.  The same holds of rows.  Thus several images are one sequence of cells.
 *
 * The copy engine puts unit i (16 bytes) of row r in place i ^ r % 8, and products find it there:
 * whichever eight units are read together lie in different banks.
 */
#ifndef CUDA_CELLS_CUH
#define CUDA_CELLS_CUH

#include "cuda_map.h"
#include "cuda_shape.cuh"
#include "cuda_tile.cuh"

/* Of all architectures only sm_90a multiplies by warpgroups; compiled for another, kernels that do
 * have no body.  has_body() tells by the shared memory that all of them declare. */
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define HAVE_GROUPS
#endif

static inline bool has_body(const void *kernel)
{
    struct cudaFuncAttributes f;
    return cudaFuncGetAttributes(&f, kernel) == cudaSuccess && f.sharedSizeBytes > 0;
}

/* Begins the arguments of a kernel made for a shape; false: it is not for these, or has no body. */
template <int SHAPE, class ARGS>
static bool takes(const void *kernel, const struct conv_args *a, ARGS *args)
{
    if (!fixed<fix_norm<SHAPE>>(a) || !has_body(kernel))
        return false;
    memset(args, 0, sizeof *args);
    memcpy(&args->layer, a, sizeof args->layer);
    return true;
}

enum {
    TILE = 64,   /* rows of a product */
    GROUP = 128, /* threads of a warpgroup */
    WIDE = 32,   /* channels of a row */
    ROW = 128,   /* its bytes */
    UNIT = 16    /* bytes that descriptors count in, and keep together */
};

/* Bytes of shared memory for what kernels stage and declare: a block of compute capability 9.0 may
 * have 227 kB, of which one may be lost (aligned_to_eight_rows). */
enum { SHARED_MOST = 226 * 1024 };

/* What is staged at once: so many images, or a band of rows of one; as many as fill tiles.  Of the
 * rows of products these are pixels: 49 of 64, 64 of 64 and 28 of 64 on Omniglot, 147 of 192, 121
 * of 128 and 108 of 128 on mini-ImageNet. */
struct staged {
    int images, band;
};
static constexpr struct staged stagings[] = {{0, 0}, {1, 0}, {4, 0}, {7, 0},
                                             {0, 0}, {1, 7}, {1, 0}, {3, 0}};

template <int SHAPE, int BAND = stagings[SHAPE].band> struct cells {
    using K = known<SHAPE>;
    static constexpr int pitch = K::conv_w + (K::w % 2 == 0), rows = K::conv_h + (K::h % 2 == 0);
    static constexpr int image = pitch * rows, plane = K::conv_h * K::conv_w; /* cells, pixels */
    static constexpr int images = stagings[SHAPE].images, band = BAND;
    static constexpr int bands = band ? K::conv_h / band : 1;
    static constexpr int copied_rows = band ? band + 1 : rows; /* of a plane, of each image */
    static constexpr int count = band ? band * pitch : images * image;
    static constexpr int tiles = (count + TILE - 1) / TILE;
    /* Zeros after an odd plane's last image, where there is no row that is always zero. */
    static constexpr int filled = images * copied_rows * pitch;
    static constexpr int zeros = K::h % 2 ? pitch + 1 : 0;
    static constexpr int held =
        (filled + zeros + 7) / 8 * 8; /* cells: units are sorted by eights */
    static constexpr int bytes = filled * ROW, plane_bytes = held * ROW;
    static constexpr int last_held = (filled + 7) / 8 * 8; /* of the even plane, which comes last */
    static constexpr int planes_bytes = 3 * plane_bytes + last_held * ROW;

    /* Where a tap begins: planes are 0 odd rows and columns, 1 odd rows, 2 odd columns, 3 even. */
    static __host__ __device__ constexpr int tap(int i)
    {
        int y = i / 3, x = i % 3, p = 2 * (y == 1) + (x == 1);
        return p * held + (y == 2 ? pitch : 0) + (x == 2);
    }
    /* Stages of n images, and the pixels before one. */
    static __host__ __device__ constexpr int stages(int n)
    {
        return (n + images - 1) / images * bands;
    }
    static __device__ __forceinline__ int pixels_before(int stage)
    {
        return stage / bands * images * plane + stage % bands * band * K::conv_w;
    }
    /* The image and row that cells of a stage begin with. */
    static __device__ __forceinline__ int image_of(int stage)
    {
        return stage / bands * images;
    }
    static __device__ __forceinline__ int row_of(int stage)
    {
        return stage % bands * band;
    }
};

/* Bytes that products of `rows` rows read beyond `held`; nobody wants what they make of them. */
static constexpr int bytes_beyond(int rows, int held)
{
    return rows > held ? (rows - held) * ROW : 0;
}

/* A cell of a stage: which pixel of the task, of those of n images, or -1. */
template <class C> static __device__ __forceinline__ int pixel_of(int stage, int cell, int n)
{
    using K = typename C::K;
    int image = C::image_of(stage) + cell / C::image, r = cell % C::image / C::pitch;
    int c = cell % C::pitch;
    if (cell >= C::count || r >= K::conv_h || c >= K::conv_w || image >= n)
        return -1;
    return (image * K::conv_h + C::row_of(stage) + r) * K::conv_w + c;
}

/* ---- products ---- */

/* Rows of ROW bytes in shared memory, sorted; adding to it moves it by units.  The address has the
 * block's place in its cluster above bit 24.  That all lanes have the same is said to the
 * compiler, which would else move it there for each product. */
static __device__ __forceinline__ uint64_t sorted_rows(uint32_t at)
{
    uint32_t low = __shfl_sync(~0u, at / UNIT & 0x3fff, 0);
    return (uint64_t)low | (uint64_t)(8 * ROW / UNIT) << 32 | (uint64_t)1 << 62;
}

/* Units of four terms: eight rows in a row, and `apart` units on the next four terms. */
static __device__ __forceinline__ uint64_t plain_rows(uint32_t at, int apart)
{
    uint32_t low = __shfl_sync(~0u, at / UNIT & 0x3fff, 0);
    return (uint64_t)(low | (uint32_t)apart << 16) | (uint64_t)8 << 32;
}

/* The thread's warpgroup, such that the compiler knows it to be one number for a warp. */
static __device__ __forceinline__ int group_of_thread(void)
{
    return __shfl_sync(~0u, (int)threadIdx.x / GROUP, 0);
}

/* Between what a thread writes to shared memory and others' products of it. */
static __device__ __forceinline__ void shared_for_products(void)
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* Before products: what the thread has written to registers is there. */
static __device__ __forceinline__ void group_begins(void)
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

/* Has registers written before group_begins(), and not where a product first needs them: the
 * compiler would have to begin anew there. */
template <int N, int M> static __device__ __forceinline__ void settle(float (&c)[N][M][4])
{
#pragma unroll
    for (int i = 0; i < N * M * 4; i++)
        asm volatile("" : "+f"(c[i / (4 * M)][i / 4 % M][i % 4])::"memory");
}

static __device__ __forceinline__ void group_ends(void)
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/* Waits until all but the latest LEFT groups of products are done. */
template <int LEFT> static __device__ __forceinline__ void warpgroup_wait(void)
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory");
}

#define FOUR_OF(c) "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])

/* c += a b: 64 rows, 8 terms, 8 NT columns.  A thread has rows g and g + 8 of its warp's 16, and
 * columns 2t and 2t + 1 of each tile of 8. */
static __device__ __forceinline__ void warpgroup_mma(float (&c)[2][4], uint64_t a, uint64_t b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n16k8.f32.tf32.tf32 "
                 "{%0,%1,%2,%3,%4,%5,%6,%7}, %8, %9, 1, 1, 1;"
                 : FOUR_OF(c[0]), FOUR_OF(c[1])
                 : "l"(a), "l"(b));
}

static __device__ __forceinline__ void warpgroup_mma(float (&c)[4][4], uint64_t a, uint64_t b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n32k8.f32.tf32.tf32 "
                 "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15}, %16, %17, 1, 1, 1;"
                 : FOUR_OF(c[0]), FOUR_OF(c[1]), FOUR_OF(c[2]), FOUR_OF(c[3])
                 : "l"(a), "l"(b));
}

/* The same with rows from registers, as mma() takes them: (g, t), (g + 8, t), (g, t + 4) and
 * (g + 8, t + 4) of each warp's 16.  They must not change before the product is done. */
static __device__ __forceinline__ void warpgroup_mma(float (&c)[4][4], const float (&a)[4],
                                                     uint64_t b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n32k8.f32.tf32.tf32 "
                 "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15}, "
                 "{%16,%17,%18,%19}, %20, 1, 1, 1;"
                 : FOUR_OF(c[0]), FOUR_OF(c[1]), FOUR_OF(c[2]), FOUR_OF(c[3])
                 : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])),
                   "r"(__float_as_uint(a[2])), "r"(__float_as_uint(a[3])), "l"(b));
}

static __device__ __forceinline__ void warpgroup_mma(float (&c)[8][4], const float (&a)[4],
                                                     uint64_t b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 "
                 "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
                 "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, "
                 "{%32,%33,%34,%35}, %36, 1, 1, 1;"
                 : FOUR_OF(c[0]), FOUR_OF(c[1]), FOUR_OF(c[2]), FOUR_OF(c[3]), FOUR_OF(c[4]),
                   FOUR_OF(c[5]), FOUR_OF(c[6]), FOUR_OF(c[7])
                 : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])),
                   "r"(__float_as_uint(a[2])), "r"(__float_as_uint(a[3])), "l"(b));
}

/* ---- barriers between those who stage and those who multiply ---- */

static __device__ __forceinline__ void barrier_init(uint64_t *bar, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(bar)), "r"(arrivals)
                 : "memory");
}

static __device__ __forceinline__ void barrier_arrive(uint64_t *bar)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(bar)) : "memory");
}

/* Waits for the end of the phase of that parity; the first is 0. */
static __device__ __forceinline__ void barrier_wait(uint64_t *bar, int parity)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;\n"
                 "}" ::"r"(shared_address(bar)),
                 "r"(parity)
                 : "memory");
}

/* ---- staging ---- */

/* A ring of SLOTS stages: `makers` arrivals fill one, `users` warps have done with it. */
template <int SLOTS> struct ring {
    uint64_t made[SLOTS], used[SLOTS];
};

template <int SLOTS>
static __device__ __forceinline__ void ring_init(struct ring<SLOTS> *r, int makers, int users)
{
    if (threadIdx.x < SLOTS) {
        barrier_init(&r->made[threadIdx.x], makers);
        barrier_init(&r->used[threadIdx.x], users);
    }
    shared_for_products(); /* for the copy engine, too */
}

/* Before stage number i is copied: that which lay there has been used. */
template <int SLOTS> static __device__ __forceinline__ void ring_make(struct ring<SLOTS> *r, int i)
{
    if (i >= SLOTS)
        barrier_wait(&r->used[i % SLOTS], (i / SLOTS - 1) & 1);
}

/* Before it is read.  A barrier tells phases by their parity alone, so whoever reads a slot must
 * read it each time: those who share the stages must not share slots. */
template <int SLOTS> static __device__ __forceinline__ void ring_take(struct ring<SLOTS> *r, int i)
{
    barrier_wait(&r->made[i % SLOTS], i / SLOTS & 1);
}

template <int SLOTS> static __device__ __forceinline__ void ring_free(struct ring<SLOTS> *r, int i)
{
    if (threadIdx.x % 32 == 0)
        barrier_arrive(&r->used[i % SLOTS]);
}

/* ---- the copy engine ---- */

/* The thread that calls it arrives at `bar`, which also waits for `bytes` of copies. */
static __device__ __forceinline__ void barrier_expect(uint64_t *bar, int bytes)
{
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(bar)),
        "r"(bytes)
        : "memory");
}

static __device__ __forceinline__ void copy_box(uint32_t to, const CUtensorMap *m, int i, int j,
                                                int k, uint64_t *bar)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2,%3,%4}], [%5];" ::"r"(to),
                 "l"(m), "r"(i), "r"(j), "r"(k), "r"(shared_address(bar))
                 : "memory");
}

static __device__ __forceinline__ void copy_box(uint32_t to, const CUtensorMap *m, int i, int j,
                                                int k, int l, uint64_t *bar)
{
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2,%3,%4,%5}], [%6];" ::"r"(to),
                 "l"(m), "r"(i), "r"(j), "r"(k), "r"(l), "r"(shared_address(bar))
                 : "memory");
}

/* Bytes that lie together, a multiple of 16. */
static __device__ __forceinline__ void copy_bytes(uint32_t to, const void *from, int bytes,
                                                  uint64_t *bar)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(shared_address(bar))
                 : "memory");
}

/* The same from shared memory to device memory.  Before a thread ends: what it sent has been read.
 */
[[maybe_unused]] static __device__ __forceinline__ void send_bytes(void *to, uint32_t from,
                                                                   int bytes)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from),
                 "r"(bytes)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

[[maybe_unused]] static __device__ __forceinline__ void bytes_sent(void)
{
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

/* The four planes of a stage, 32 channels from c; first: the task's first image. */
template <class C>
static __device__ __forceinline__ void copy_planes(const CUtensorMap *x, int c, int first,
                                                   int stage, uint32_t to, uint64_t *bar)
{
    int image = first + C::image_of(stage), y = 2 * C::row_of(stage);
    barrier_expect(bar, 4 * C::bytes);
#pragma unroll
    for (int p = 0; p < 4; p++)
        copy_box(to + p * C::plane_bytes, x, c, p % 2 ? 0 : -1, p < 2 ? y - 1 : y, image, bar);
}

/* How copy_planes() sees a layer's input. */
template <class C> static struct box planes_of(const struct conv_args *a)
{
    using K = typename C::K;
    return {a->x,
            4,
            {K::c, K::w, K::h, (size_t)a->tasks * (size_t)a->n},
            {1, K::c, K::w * K::c, K::h * K::w * K::c},
            {WIDE, C::pitch, C::copied_rows, C::images},
            {1, 2, 2, 1}};
}

/* Zeros in the cells that the copy engine leaves, of `stages` stages. */
template <class C>
static __device__ __forceinline__ void zero_ends(char *shared, int stages, int stage_bytes,
                                                 int threads)
{
    enum { UNITS = (C::plane_bytes - C::bytes) / UNIT };
    enum { LAST = (C::planes_bytes - 3 * C::plane_bytes - C::bytes) / UNIT };
    if constexpr (UNITS > 0)
        for (int i = threadIdx.x; i < stages * 4 * UNITS; i += threads) {
            int plane = i / UNITS % 4, unit = i % UNITS;
            if (plane < 3 || unit < LAST)
                *(float4 *)(shared + i / (4 * UNITS) * stage_bytes + plane * C::plane_bytes +
                            C::bytes + unit * UNIT) = make_float4(0, 0, 0, 0);
        }
    shared_for_products();
}

/* Shared memory for units to be sorted in. */
static __device__ __forceinline__ char *aligned_to_eight_rows(float *dynamic)
{
    return (char *)dynamic + (-shared_address(dynamic) & (8 * ROW - 1));
}

#endif
