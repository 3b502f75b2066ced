/* cuda_warpgroup_forward.cu - a conv block forward by warpgroups: convolution, statistics,
 * normalisation and ReLU, for the shapes of Conv4 after the first layer.
 *
 * A block has a slice of a task's channels and a part of its images; parts are a cluster.  One
 * thread has the copy engine stage, two warpgroups multiply stage by stage, write z and add up
 * the moments; when statistics are known all make outputs of z.  Where there is more work than
 * blocks, a block does one such unit after the other, and the next one's images and weights are
 * on their way while outputs are made.
 */
#include "cuda_cells.cuh"
#include "cuda_forward.cuh"

#include <limits.h>

enum { MULTIPLIERS = 2 /* warpgroups */, GROUP_THREADS = MULTIPLIERS * GROUP + 32 };

/* What a block has in shared memory: all its weights, as they lie in memory but in boxes of 32
 * terms, and a ring of stages of 32 channels. */
template <int SHAPE, int NT> struct forward_room {
    using C = cells<SHAPE>;
    static constexpr int declared = 11 * 1024; /* besides, at most */
    static constexpr int chunks = known<SHAPE>::c / WIDE, box = 8 * NT * ROW;
    static constexpr int weights = 9 * chunks * box, stage = C::planes_bytes;
    static constexpr int beyond = bytes_beyond(C::tiles * TILE, C::last_held);
    static constexpr int fit = (SHARED_MOST - declared - beyond - weights) / stage;
    static constexpr int sharing = MULTIPLIERS * chunks; /* stages until a warpgroup has its next */
    static constexpr int slots = fit < 4 ? fit / sharing * sharing : 4; /* ring_take() */
    static constexpr int bytes = weights + slots * stage + beyond + 8 * ROW;
    static_assert(slots > 0 && slots % sharing == 0, "of stages for each warpgroup");
};

struct group_args {
    CUtensorMap x, w;
    struct conv_args layer;
};

template <int SHAPE, int NT> struct forward_barriers {
    uint64_t weights[forward_room<SHAPE, NT>::chunks], spent; /* read to the end by all */
    struct ring<forward_room<SHAPE, NT>::slots> ring;
};

/* What a block does at a time: channels c0.. of a task, stages first..last-1 of its n images. */
struct unit {
    int task, c0, n, first, last;
};

template <int SHAPE, int NT>
static __device__ __forceinline__ struct unit unit_of(const struct conv_args &a, int number,
                                                      int part, int split)
{
    enum { SLICES = known<SHAPE>::filters / (8 * NT) };
    struct unit u = {number / SLICES, number % SLICES * 8 * NT, 0, 0, 0};
    if (u.task >= a.tasks)
        return u;
    u.n = a.count ? a.count[u.task] : a.n;
    int stages = cells<SHAPE>::stages(u.n), each = (stages + (1 << split) - 1) >> split;
    u.first = min(part * each, stages);
    u.last = min(u.first + each, stages);
    return u;
}

/* The slice's weights of 32 input channels. */
template <int SHAPE, int NT>
static __device__ __forceinline__ void copy_weights(const struct group_args &g, int task, int c0,
                                                    int chunk, uint32_t to, uint64_t *bar)
{
    using R = forward_room<SHAPE, NT>;
    int vector = g.layer.theta.stride ? (int)vector_number(g.layer.theta, task) : 0;
    barrier_expect(bar, 9 * R::box);
#pragma unroll 1
    for (int i = chunk * 9; i < chunk * 9 + 9; i++)
        copy_box(to + i * R::box, &g.w, i * WIDE, c0, vector, bar);
}

template <int SHAPE, int NT>
static __device__ __forceinline__ void copy_all_weights(const struct group_args &g,
                                                        const struct unit &u, uint32_t shared,
                                                        struct forward_barriers<SHAPE, NT> *bars)
{
#pragma unroll 1
    for (int c = 0; u.first < u.last && c < forward_room<SHAPE, NT>::chunks; c++)
        copy_weights<SHAPE, NT>(g, u.task, u.c0, c, shared, &bars->weights[c]);
}

/* Items from..to-1 of a unit, those there are: 32 channels of a stage each.  before: stages of
 * units before. */
template <int SHAPE, int NT>
static __device__ __forceinline__ void stage_items(const struct group_args &g, const struct unit &u,
                                                   int from, int to, int before, uint32_t shared,
                                                   struct forward_barriers<SHAPE, NT> *bars)
{
    using R = forward_room<SHAPE, NT>;
    to = min(to, (u.last - u.first) * R::chunks);
#pragma unroll 1
    for (int i = from; i < to; i++) {
        int item = before * R::chunks + i, slot = item % R::slots;
        ring_make(&bars->ring, item);
        copy_planes<cells<SHAPE>>(&g.x, i % R::chunks * WIDE, u.task * g.layer.n,
                                  u.first + i / R::chunks, shared + R::weights + slot * R::stage,
                                  &bars->ring.made[slot]);
    }
}

/* A stage's product with 32 input channels: 9 taps of 16, and again. */
template <int SHAPE, int NT>
static __device__ __forceinline__ void multiply_chunk(uint64_t a, uint64_t b,
                                                      float (&acc)[cells<SHAPE>::tiles][NT][4])
{
    using C = cells<SHAPE>;
    enum { ROW_UNITS = ROW / UNIT, BOX_UNITS = forward_room<SHAPE, NT>::box / UNIT };
#pragma unroll
    for (int i = 0; i < 36; i++) { /* 8 channels of a tap */
        int tap = i / 2 % 9, c = i / 18 * 16 + i % 2 * 8;
#pragma unroll
        for (int t = 0; t < C::tiles; t++)
            warpgroup_mma(acc[t], a + ((C::tap(tap) + t * TILE) * ROW_UNITS + c / 4),
                          b + (i / 4 * BOX_UNITS + i % 4 * 2));
    }
}

/* z of a warp's 16 cells to memory, and into the moments. */
template <int SHAPE, int NT>
static __device__ __forceinline__ void keep_cells(int stage, int cell0, int n, int counted,
                                                  float *z, const float (&acc)[NT][4],
                                                  struct moments<2 * NT> &mo)
{
    enum { CH = 2 * NT };
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        int m = pixel_of<cells<SHAPE>>(stage, cell0 + 8 * i + g, n);
        bool counts = m >= 0 && m < counted;
        unsigned all = __ballot_sync(~0u, counts);
        float v[CH];
#pragma unroll
        for (int j = 0; j < CH; j++)
            v[j] = acc[j / 2][i * 2 + j % 2];
        if (mo.made == 0 && all)
            for (int j = 0; j < CH; j++)
                mo.pivot[j] = __shfl_sync(~0u, v[j], (__ffs(all) - 1) / 4 * 4 + t);
        mo.made += __popc(all) / 4;
        if (m >= 0)
#pragma unroll
            for (int j = 0; j < CH; j += 2)
                __stcg((float2 *)(z + m * known<SHAPE>::filters + j * 4),
                       make_float2(v[j], v[j + 1]));
#pragma unroll
        for (int j = 0; counts && j < CH; j++) {
            float d = v[j] - mo.pivot[j];
            mo.sum[j] += d;
            mo.product[j] += d * d;
        }
    }
}

/* The warpgroup's stages of a unit: of all that the block has had, every other. */
template <int SHAPE, int NT>
static __device__ __forceinline__ void
multiply_images(const struct unit &u, int before, int turn, int counted, float *z, uint32_t shared,
                struct forward_barriers<SHAPE, NT> *bars, struct moments<2 * NT> &mo)
{
    using C = cells<SHAPE>;
    using R = forward_room<SHAPE, NT>;
    int group = group_of_thread(), warp = threadIdx.x / 32 % 4;
#pragma unroll 1
    for (int stage = u.first + (group + before) % MULTIPLIERS; stage < u.last;
         stage += MULTIPLIERS) {
        int item = (before + stage - u.first) * R::chunks;
        float acc[C::tiles][NT][4] = {};
        settle(acc);
#pragma unroll 1
        for (int c = 0; c < R::chunks; c++, item++) {
            barrier_wait(&bars->weights[c], turn & 1);
            ring_take(&bars->ring, item);
            group_begins();
            multiply_chunk<SHAPE, NT>(sorted_rows(shared + R::weights + item % R::slots * R::stage),
                                      sorted_rows(shared + c * 9 * R::box), acc);
            group_ends();
            if (c > 0) {
                warpgroup_wait<1>();
                ring_free(&bars->ring, item - 1);
            }
        }
        warpgroup_wait<0>();
        ring_free(&bars->ring, item - 1);
#pragma unroll
        for (int t = 0; t < C::tiles; t++)
            keep_cells<SHAPE, NT>(stage, t * TILE + warp * 16, u.n, counted, z, acc[t], mo);
    }
}

/* What is left to stage of a unit, and the beginning of the next. */
template <int SHAPE, int NT>
static __device__ __forceinline__ void
stage_unit(const struct group_args &g, const struct unit &u, const struct unit &next, int before,
           int turn, uint32_t shared, struct forward_barriers<SHAPE, NT> *bars)
{
    using R = forward_room<SHAPE, NT>;
    int stages = u.last - u.first;
    stage_items<SHAPE, NT>(g, u, R::slots, INT_MAX, before, shared, bars);
    stage_items<SHAPE, NT>(g, next, 0, R::slots, before + stages, shared, bars);
    if (stages > 0)
        barrier_wait(&bars->spent, turn & 1);
    copy_all_weights<SHAPE, NT>(g, next, shared, bars);
}

/* A warpgroup's part of a unit that has stages. */
template <int SHAPE, int NT>
static __device__ __forceinline__ void
multiply_unit(const struct conv_args &a, const struct unit &u, int before, int turn, int counted,
              uint32_t shared, struct forward_barriers<SHAPE, NT> *bars, struct moments<2 * NT> &mo)
{
    size_t pixels = (size_t)u.task * a.n * cells<SHAPE>::plane;
    float *z = a.cache.z + pixels * a.out_c + u.c0 + threadIdx.x % 4 * 2;
    multiply_images<SHAPE, NT>(u, before, turn, counted, z, shared, bars, mo);
    if (threadIdx.x % 32 == 0)
        barrier_arrive(&bars->spent);
}

template <int SHAPE, int NT>
static __device__ __forceinline__ void forward_begins(struct forward_barriers<SHAPE, NT> *bars,
                                                      char *stages)
{
    using R = forward_room<SHAPE, NT>;
    if (threadIdx.x < R::chunks)
        barrier_init(&bars->weights[threadIdx.x], 1);
    if (threadIdx.x == R::chunks)
        barrier_init(&bars->spent, MULTIPLIERS * GROUP / 32);
    ring_init(&bars->ring, 1, GROUP / 32);
    zero_ends<cells<SHAPE>>(stages, R::slots, R::stage, GROUP_THREADS);
}

/* blockIdx = (unit, part). */
template <int SHAPE, int NT>
static __global__ void __launch_bounds__(GROUP_THREADS, 1)
    group_forward_kernel(const __grid_constant__ struct group_args given)
{
#ifdef HAVE_GROUPS
    using C = cells<SHAPE>;
    using R = forward_room<SHAPE, NT>;
    extern __shared__ __align__(128) float dynamic[];
    __shared__ struct sums<GROUP_THREADS / 32, 2, 8 * NT> sums;
    __shared__ struct slice ch;
    __shared__ struct forward_barriers<SHAPE, NT> bars;
    struct conv_args a = given.layer;
    fix_layer<SHAPE>(a);
    a.plan.slice = 8 * NT;
    int splits = a.plan.forward.splits, split = log2_of(splits), part = blockIdx.x & (splits - 1);
    char *aligned = aligned_to_eight_rows(dynamic);
    uint32_t shared = shared_address(aligned);
    bool stager = threadIdx.x == MULTIPLIERS * GROUP;
    int group = group_of_thread();
    forward_begins<SHAPE, NT>(&bars, aligned + R::weights);
    sums_begin(&sums, 2, splits);
    __syncthreads();
    if (!a.early)
        wait_for_previous();
    int number = (int)blockIdx.x >> split, before = 0, turn = 0;
    struct unit u = unit_of<SHAPE, NT>(a, number, part, split);
    struct affine affine = load_affine(a, u.task, u.c0);
    if (stager)
        copy_all_weights<SHAPE, NT>(given, u, shared, &bars);
    if (a.early)
        wait_for_previous();
    if (stager)
        stage_items<SHAPE, NT>(given, u, 0, R::slots, 0, shared, &bars);
#pragma unroll 1
    while (u.task < a.tasks) {
        number += gridDim.x >> split;
        const struct unit next = unit_of<SHAPE, NT>(a, number, part, split);
        int stat = min(a.stat, u.n), stages = u.last - u.first;
        struct moments<2 *NT> mo = {
        };
        if (stager)
            stage_unit<SHAPE, NT>(given, u, next, before, turn, shared, &bars);
        else if (group < MULTIPLIERS && stages > 0)
            multiply_unit<SHAPE, NT>(a, u, before, turn, stat * C::plane, shared, &bars, mo);
        __syncwarp();
        add_moments<2 * NT, false, true>(mo, &sums, MULTIPLIERS * GROUP / 32, splits);
        set_statistics(a, u.task, u.c0, stat > 0 ? 1.0 / ((double)stat * C::plane) : 0, &sums,
                       affine, &ch, part == 0);
        if (next.task < a.tasks)
            affine = load_affine(a, next.task, next.c0);
        __syncthreads();
        put_output<false, 1, false, GROUP_THREADS>(a, u.task, u.c0, &ch, C::pixels_before(u.first),
                                                   min(C::pixels_before(u.last), u.n * C::plane));
        before += stages;
        turn += stages > 0;
        u = next;
    }
#endif
}

/* The slices' weights in boxes of 32 terms. */
template <int SHAPE, int NT> static struct box weights_of(const struct conv_args *a)
{
    using K = known<SHAPE>;
    bool several = a->theta.stride > 0; /* vectors, a task's own or not: no more than tasks */
    return {(const float *)a->theta.at + a->l.offset[TENSOR_WEIGHT],
            3,
            {9 * K::c, K::filters, several ? (size_t)a->tasks : 1},
            {1, 9 * K::c, several ? (size_t)a->theta.stride : 9 * K::c * K::filters},
            {WIDE, 8 * NT, 1},
            {1, 1, 1}};
}

/* Launches it where the layer is of that shape.  tasks: that work is cut for. */
template <int SHAPE, int NT> static bool launch(struct device *d, struct conv_args *a, int tasks)
{
    struct group_args g;
    const void *kernel = (const void *)group_forward_kernel<SHAPE, NT>;
    if (!takes<SHAPE>(kernel, a, &g))
        return false;
    int slices = known<SHAPE>::filters / (8 * NT), blocks = d->blocks / 2 / (tasks * slices);
    int parts = cells<SHAPE>::stages(a->n), most = tasks >= 16 ? 2 : CLUSTER_MAX, splits = 1;
    while (2 * splits <= blocks && 2 * splits <= parts && 2 * splits <= most)
        splits *= 2;
    const struct box x = planes_of<cells<SHAPE>>(a), w = weights_of<SHAPE, NT>(a);
    cuda_map(d, &x, &g.x);
    cuda_map(d, &w, &g.w);
    g.layer.plan.forward.splits = splits;
    /* one to a multiprocessor; those of a cluster do not go on to another unit */
    int units = slices * a->tasks, most_units = splits > 1 ? units : d->blocks / 2;
    struct grid grid = {.x = (unsigned)(min(units, most_units) * splits),
                        .threads = GROUP_THREADS,
                        .cluster = (unsigned)splits,
                        .shared = (size_t)forward_room<SHAPE, NT>::bytes};
    cuda_launch(d, kernel, grid, &g, CUDA_FORWARD);
    return true;
}

/* Launches it where the layer is of those shapes. */
extern "C" bool cuda_group_forward(struct device *d, struct conv_args *a)
{
    int tasks = d->tasks ? d->tasks : a->tasks;
    return !in_fp32(d, &a->l) && tasks > 0 && a->n > 0 &&
           (launch<1, 4>(d, a, tasks) || launch<2, 4>(d, a, tasks) || launch<3, 4>(d, a, tasks) ||
            launch<5, 2>(d, a, tasks) || launch<6, 2>(d, a, tasks) || launch<7, 2>(d, a, tasks));
}
