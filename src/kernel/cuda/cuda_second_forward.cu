/* cuda_second_forward.cu - the second conv block of many Omniglot tasks forward: convolution,
 * statistics, normalisation and ReLU.  z of an image stays in its warpgroup's registers until
 * outputs are made of it. */
#include "cuda_second.cuh"

enum {
    SLOTS = 4, /* images that there is room for beside the weights; the last takes the first's */
    MINE = 16, /* channels of a thread: 2t and 2t + 1 of every eight */
    BYTES = WEIGHT_BYTES + PIECES * PIECE_BYTES + 8 * ROW
};
static_assert(SLOTS + 1 == (int)IMAGES, "one image waits for one place");
static_assert((int)SLOTS == PIECES && (int)IMAGE_BYTES <= PIECE_BYTES,
              "when a piece of the weights has been read, an image may take its place");

struct forward_room {
    float sums[SECOND_WARPS][CH];
    float mu[CH], scale[CH], beta[CH];
    uint64_t weights[PIECES], made[IMAGES], used; /* the first image's place */
};

#ifdef HAVE_GROUPS

static __device__ __forceinline__ int slot_at(int image)
{
    return WEIGHT_BYTES + image % SLOTS * IMAGE_BYTES;
}

/* The warpgroup's image. */
static __device__ __forceinline__ void convolve(const struct second_args &g, int task, int image,
                                                uint32_t shared, struct forward_room *r,
                                                float (&acc)[8][4])
{
    if (image >= SLOTS && threadIdx.x % GROUP == 0) {
        barrier_wait(&r->used, 0);
        copy_image(g, task, image, shared + slot_at(image), &r->made[image]);
    }
    __syncwarp();
    barrier_wait(&r->made[image], 0);
    uint64_t x = sorted_rows(shared + slot_at(image)), w = sorted_rows(shared);
    group_begins();
#pragma unroll
    for (int tap = 0; tap < 9; tap++)
#pragma unroll
        for (int k = 0; k < CH / 16; k++)
            fp16_mma<0, 0>(acc, x + (second_cells::tap(tap) * ROW_UNITS + 2 * k),
                           w + (tap * CH * ROW_UNITS + 2 * k));
    group_ends();
    warpgroup_wait<0>();
    if (image == 0)
        barrier_arrive(&r->used);
}

/* Sums of a thread's channels over the lanes that have the same, to the warp's place. */
static __device__ __forceinline__ void sum_channels(const float (&v)[MINE], float *to)
{
    int lane = threadIdx.x % 32;
    float eight[8], four[4], two[2];
#pragma unroll
    for (int i = 0; i < 8; i++)
        eight[i] =
            (lane & 16 ? v[8 + i] : v[i]) + __shfl_xor_sync(~0u, lane & 16 ? v[i] : v[8 + i], 16);
#pragma unroll
    for (int i = 0; i < 4; i++)
        four[i] = (lane & 8 ? eight[4 + i] : eight[i]) +
                  __shfl_xor_sync(~0u, lane & 8 ? eight[i] : eight[4 + i], 8);
#pragma unroll
    for (int i = 0; i < 2; i++)
        two[i] = (lane & 4 ? four[2 + i] : four[i]) +
                 __shfl_xor_sync(~0u, lane & 4 ? four[i] : four[2 + i], 4);
    int tile = (lane & 16) / 4 + (lane & 8) / 4 + (lane & 4) / 4;
    *(float2 *)(to + tile * 8 + lane % 4 * 2) = make_float2(two[0], two[1]);
}

/* Those of all warps, for thread c channel c. */
static __device__ __forceinline__ float sum_of_warps(const struct forward_room *r)
{
    float sum = 0;
#pragma unroll
    for (int w = 0; w < SECOND_WARPS; w++)
        sum += r->sums[w][threadIdx.x];
    return sum;
}

/* A thread's cells, of rows 2w and 2w + 1 of the image: those that count. */
static __device__ __forceinline__ void add_cells(const float (&acc)[8][4], const float (&mu)[MINE],
                                                 const bool (&counts)[2], bool squared,
                                                 float (&sum)[MINE])
{
#pragma unroll
    for (int j = 0; j < MINE; j++) {
        float a = acc[j / 2][j % 2] - mu[j], b = acc[j / 2][2 + j % 2] - mu[j];
        sum[j] = (counts[0] ? squared ? a * a : a : 0) + (counts[1] ? squared ? b * b : b : 0);
    }
}

static __device__ __forceinline__ void take_channels(float (&to)[MINE], const float *from)
{
#pragma unroll
    for (int j = 0; j < MINE; j += 2) {
        float2 v = pair_at(from + j / 2 * 8 + threadIdx.x % 4 * 2);
        to[j] = v.x;
        to[j + 1] = v.y;
    }
}

/* mu, scale and beta of all channels, of the first `stat` images, and in memory. */
static __device__ __forceinline__ void set_statistics(const struct conv_args &a, int task, int stat,
                                                      const float (&acc)[8][4],
                                                      const bool (&counts)[2], float gamma,
                                                      float beta, struct forward_room *r)
{
    float over = stat > 0 ? 1.0f / (float)(stat * second_cells::plane) : 0;
    float sum[MINE], mu[MINE] = {};
    int c = threadIdx.x;
    add_cells(acc, mu, counts, false, sum);
    sum_channels(sum, r->sums[threadIdx.x / 32]);
    __syncthreads();
    if (c < CH)
        r->mu[c] = sum_of_warps(r) * over;
    __syncthreads();
    take_channels(mu, r->mu);
    add_cells(acc, mu, counts, true, sum);
    sum_channels(sum, r->sums[threadIdx.x / 32]);
    __syncthreads();
    if (c < CH) {
        float s = 1 / sqrtf(sum_of_warps(r) * over + (float)a.l.eps);
        r->scale[c] = gamma * s;
        r->beta[c] = beta;
        stat_at(a, a.cache, task, STAT_MU)[c] = r->mu[c];
        stat_at(a, a.cache, task, STAT_S)[c] = s;
    }
    __syncthreads();
}

/* A thread's cells, z or outputs, to memory; to: the first one's channels. */
static __device__ __forceinline__ void put_cells(const float (&acc)[8][4], const bool (&real)[2],
                                                 float *to)
{
#pragma unroll
    for (int i = 0; i < 16; i++)
        if (real[i / 8])
            __stcg((float2 *)(to + i / 8 * known<SECOND>::conv_w * CH + i % 8 * 8),
                   make_float2(acc[i % 8][i / 8 * 2], acc[i % 8][i / 8 * 2 + 1]));
}

static __device__ __forceinline__ void put_outputs(float (&acc)[8][4], const bool (&real)[2],
                                                   const struct forward_room *r, float *out)
{
    int t = threadIdx.x % 4;
#pragma unroll
    for (int tile = 0; tile < 8; tile++) {
        float2 mu = pair_at(r->mu + tile * 8 + 2 * t), beta = pair_at(r->beta + tile * 8 + 2 * t);
        float2 scale = pair_at(r->scale + tile * 8 + 2 * t);
#pragma unroll
        for (int i = 0; i < 2; i++) {
            acc[tile][2 * i] = fmaf(acc[tile][2 * i] - mu.x, scale.x, beta.x);
            acc[tile][2 * i + 1] = fmaf(acc[tile][2 * i + 1] - mu.y, scale.y, beta.y);
        }
#pragma unroll
        for (int i = 0; i < 4; i++)
            acc[tile][i] = acc[tile][i] > 0 ? round_tf32(acc[tile][i]) : 0;
    }
    put_cells(acc, real, out);
}

static __device__ __forceinline__ void forward_begins(struct forward_room *r)
{
    if (threadIdx.x < IMAGES)
        barrier_init(&r->made[threadIdx.x], 1);
    if (threadIdx.x == IMAGES)
        barrier_init(&r->used, GROUP);
    if (threadIdx.x < PIECES)
        barrier_init(&r->weights[threadIdx.x], PIECE_ROWS);
    shared_for_products();
    __syncthreads();
}

/* Weights as they are, to the places of images. */
static __device__ __forceinline__ int piece_at(int p)
{
    return WEIGHT_BYTES + p * PIECE_BYTES;
}

/* Halves of them; where a piece was, images follow. */
static __device__ __forceinline__ void stage_all(const struct second_args &g, int task, int n,
                                                 char *aligned, struct forward_room *r)
{
    uint32_t shared = shared_address(aligned);
#pragma unroll 1
    for (int p = 0; p < PIECES; p++) {
        barrier_wait(&r->weights[p], 0);
        halve_piece<false>((const float *)(aligned + piece_at(p)), p, shared);
        __syncthreads();
        if (threadIdx.x == 0 && p < n)
            copy_image(g, task, p, shared + slot_at(p), &r->made[p]);
        __syncwarp();
    }
}

#endif

/* A block per task. */
static __global__ void __launch_bounds__(SECOND_THREADS, 1)
    second_forward_kernel(const __grid_constant__ struct second_args given)
{
#ifdef HAVE_GROUPS
    extern __shared__ __align__(128) float dynamic[];
    __shared__ struct forward_room r;
    struct conv_args a = given.layer;
    fix_layer<SECOND>(a);
    int task = blockIdx.x, n = a.count ? a.count[task] : a.n, stat = min(a.stat, n);
    int image = group_of_thread(), g = threadIdx.x % 32 / 4, y = threadIdx.x / 32 % 4 * 2;
    char *aligned = aligned_to_eight_rows(dynamic);
    uint32_t shared = shared_address(aligned);
    forward_begins(&r);
    if (!a.early)
        wait_for_previous();
    ask_weights(a, task, shared + piece_at(threadIdx.x / PIECE_ROWS), r.weights);
    float gamma = 0, beta = 0;
    if (threadIdx.x < CH) {
        gamma = tensor_at(a.theta, task, a.l, TENSOR_GAMMA)[threadIdx.x];
        beta = tensor_at(a.theta, task, a.l, TENSOR_BETA)[threadIdx.x];
    }
    if (a.early)
        wait_for_previous();
    stage_all(given, task, n, aligned, &r);
    float acc[8][4] = {};
    if (image < n)
        convolve(given, task, image, shared, &r, acc);
    bool inside = image < n && g < known<SECOND>::conv_w;
    const bool real[2] = {inside, inside && y + 1 < known<SECOND>::conv_h};
    const bool counts[2] = {real[0] && image < stat, real[1] && image < stat};
    size_t pixel =
        ((size_t)task * a.n + image) * second_cells::plane + y * known<SECOND>::conv_w + g;
    size_t place = pixel * CH + threadIdx.x % 4 * 2;
    put_cells(acc, real, a.cache.z + place);
    set_statistics(a, task, stat, acc, counts, gamma, beta, &r);
    put_outputs(acc, real, &r, a.cache.out + place);
#endif
}

extern "C" bool cuda_second_forward(struct device *d, struct conv_args *a)
{
    struct second_args g;
    const void *kernel = (const void *)second_forward_kernel;
    if (!second_begins(d, kernel, a, &g))
        return false;
    struct grid grid = {.x = (unsigned)a->tasks, .threads = SECOND_THREADS, .shared = BYTES};
    cuda_launch(d, kernel, grid, &g, CUDA_FORWARD);
    return true;
}

/* Both kernels have a body or neither has. */
extern "C" bool cuda_second_takes(int images)
{
    return images > 0 && images <= IMAGES && has_body((const void *)second_forward_kernel);
}
