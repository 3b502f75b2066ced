/* cuda_team.cuh - what the steps of a task share: the team, its barrier, sums of channels,
 * staging.
 *
 * Every block of the team owns a quarter of the channels of every layer, over all pixels:
 * their z, statistics, outputs and dz.  It reads the others' channels of the layer before,
 * which is all that a barrier is needed for.  Blocks exchange through memory: what one
 * writes the others read after team_sync(), past the first cache (__ldcg, copy16).
 *
 * A tile is left by warps (g = lane / 4, t = lane % 4, as in cuda_tile.cuh) in shared memory,
 * one plane for each share of the sum; then every thread takes four channels of a row, adds
 * up the planes and goes on with those.
 *
 * Loops stay loops, and layers share code where they can: what runs once between two
 * barriers must not push the rest of the program out of the instruction cache.
 */
#ifndef CUDA_TEAM_CUH
#define CUDA_TEAM_CUH

#include "cuda_shape.cuh"
#include "cuda_task.h"
#include "cuda_tile.cuh"

struct team {
    int task, rank, tasks;
    unsigned *arrived; /* counts blocks that came to a barrier, since ever */
    unsigned due;      /* what it will be when all have come to the next one */
};

static __device__ __forceinline__ unsigned arrived_at(const unsigned *arrived)
{
    unsigned now;
    asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(now) : "l"(arrived) : "memory");
    return now;
}

static __device__ __forceinline__ void team_sync(struct team &m)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(m.arrived) : "memory");
        while ((int)(arrived_at(m.arrived) - m.due) < 0)
            ;
    }
    m.due += TEAM;
    __syncthreads();
}

/* ---- sizes ---- */

/* What follows from a layer's shape, for code of its own. */
template <int SHAPE> struct layer_of {
    using K = known<SHAPE>;
    static constexpr int in_h = K::h, in_w = K::w, c = K::c, f = K::filters;
    static constexpr int h = K::conv_h, w = K::conv_w, pixels = h * w;
    static constexpr int rows = K::rows, cols = K::cols; /* of the bordered input */
};

/* Rows under `block` pixels in a row of a (h, w) grid, at worst: those step apart, `window`
 * of the last, `more` between two pictures. */
static __host__ __device__ constexpr int rows_under(int block, int h, int w, int step, int window,
                                                    int more)
{
    int grid = (block - 1 + w - 1) / w + 1;
    return (grid - 1) * step + window + (grid - 1 + h - 1) / h * more;
}

/* The same known only when a step begins, for code that layers share. */
struct dims {
    struct picture input, dz;  /* as convolutions see it; as dX sees it */
    struct divisor by_w, by_h; /* of the pixels */
    int h, w, pixels, in_floats;
    int dx_mg;    /* groups of warps with pixels of their own in dX; the others share sums */
    int dw_stage; /* floats of a stage of dW */
};

enum { DW_BLOCK = 128 }; /* pixels of a stage of dW: dz and corners, then x */

template <int SHAPE> static constexpr struct dims dims_of(void)
{
    using L = layer_of<SHAPE>;
    int pitch = L::c < 8 ? 0 : known_pitch(L::c / TEAM, 2), zpitch = known_pitch(L::f, 1);
    int rows = rows_under(DW_BLOCK, L::h, L::w, 2, 3, 1);
    return {{L::in_h, L::in_w, L::c, 1, L::rows, L::cols, {known_factor(L::rows), 0}},
            {L::h, L::w, L::f, 0, L::h + 1, L::w + 1, {known_factor(L::h + 1), 0}},
            {known_factor(L::w), 0},
            {known_factor(L::h), 0},
            L::h,
            L::w,
            L::pixels,
            L::in_h * L::in_w * L::c,
            L::pixels < 8 ? 2 : 8,
            DW_BLOCK * (zpitch + 1) + rows * L::cols * pitch};
}

static __constant__ const struct dims layer_dims[] = {dims_of<0>(), dims_of<1>(), dims_of<2>(),
                                                      dims_of<3>(), dims_of<4>(), dims_of<5>(),
                                                      dims_of<6>(), dims_of<7>()};

/* The tall picture's row where the window of pixel m begins, and its column. */
static __device__ __forceinline__ int x_row(const struct dims &l, int m, int *x)
{
    int row = divide(m, l.by_w), image = divide(row, l.by_h);
    *x = (m - row * l.w) * 2;
    return image * l.input.rows + (row - image * l.h) * 2;
}

/* The same of dz, where a window begins at the pixel itself. */
static __device__ __forceinline__ int dz_row(const struct dims &l, int m, int *x)
{
    int row = divide(m, l.by_w), image = divide(row, l.by_h);
    *x = m - row * l.w;
    return image * l.dz.rows + row - image * l.h;
}

/* ---- staging ---- */

/* Rows first..first+rows-1 of the tall picture p, channels c0..c0+CHUNK-1, to (rows, cols,
 * PITCH).  A warp per row. */
template <int CHUNK, int PITCH>
static __device__ __forceinline__ void stage_tall(const struct picture &p, const float *from, int n,
                                                  int first, int rows, int c0, float *to)
{
    constexpr int quads = CHUNK / 4, step = 32 / quads;
    int lane = threadIdx.x % 32, x0 = lane / quads, c = lane % quads * 4;
#pragma unroll 1
    for (int row = threadIdx.x / 32; row < rows; row += TASK_WARPS) {
        int image = divide(first + row, p.by_rows), y = first + row - image * p.rows - p.before;
        bool real = image < n && (unsigned)y < (unsigned)p.h;
        const float *source = from + ((image * p.h + y) * p.w + x0 - p.before) * p.c + c0 + c;
        uint32_t target = shared_address(to + (row * p.cols + x0) * PITCH + c);
#pragma unroll 2
        for (int x = x0; x < p.cols; x += step) {
            copy16(target, source, real && (unsigned)(x - p.before) < (unsigned)p.w);
            target += 4 * step * PITCH;
            source += step * p.c;
        }
    }
}

/* ---- four channels ---- */

static __device__ __forceinline__ float4 get4(const float *from) /* shared memory */
{
    return *(const float4 *)from;
}

static __device__ __forceinline__ void put4(float *to, float4 v)
{
    *(float4 *)to = v;
}

static __device__ __forceinline__ float4 read4(const float *from) /* device memory */
{
    return __ldcg((const float4 *)from);
}

static __device__ __forceinline__ void write4(float *to, float4 v)
{
    __stcg((float4 *)to, v);
}

static __device__ __forceinline__ float4 plus(float4 a, float4 b)
{
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

static __device__ __forceinline__ float4 minus(float4 a, float4 b)
{
    return make_float4(a.x - b.x, a.y - b.y, a.z - b.z, a.w - b.w);
}

static __device__ __forceinline__ float4 fma4(float4 a, float4 b, float4 c)
{
    return make_float4(fmaf(a.x, b.x, c.x), fmaf(a.y, b.y, c.y), fmaf(a.z, b.z, c.z),
                       fmaf(a.w, b.w, c.w));
}

static __device__ __forceinline__ float4 times(float4 a, float4 b)
{
    return make_float4(a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w);
}

static __device__ __forceinline__ float4 round4(float4 v)
{
    return make_float4(round_tf32(v.x), round_tf32(v.y), round_tf32(v.z), round_tf32(v.w));
}

/* d where y > 0. */
static __device__ __forceinline__ float4 where_on(float4 y, float4 d)
{
    return make_float4(y.x > 0 ? d.x : 0, y.y > 0 ? d.y : 0, y.z > 0 ? d.z : 0, y.w > 0 ? d.w : 0);
}

/* The planes' sum, four channels at `tile`. */
static __device__ __forceinline__ float4 planes4(const float *tile, int planes, int plane)
{
    float4 v = get4(tile);
#pragma unroll 2
    for (int i = 1; i < planes; i++)
        v = plus(v, get4(tile + i * plane));
    return v;
}

/* ---- sums of channels ---- */

enum { OWN_MOST = 64 / TEAM }; /* channels of a block */

/* Two sums of every channel, of each warp. */
struct __align__(16) warp_sums
{
    float at[TASK_WARPS][2][OWN_MOST];
};

/* What is known of each channel. */
struct __align__(16) norm_channels
{
    float mu[OWN_MOST], s[OWN_MOST], scale[OWN_MOST], beta[OWN_MOST];
    float c1[OWN_MOST], c2[OWN_MOST];
};

/* (images, classes), and a loss per image; HEAD_MOST of either. */
struct head_shared {
    float logit[HEAD_MOST], loss[HEAD_MOST];
};

struct __align__(16) team_shared
{
    struct step step[2]; /* this one, and the next */
    union {
        struct warp_sums sums;
        struct head_shared head;
    };
    struct norm_channels ch;
    int ticket;
};

/* Two sums of a thread's four channels; threads QUADS apart have the same ones.  Then
 * thread c < 4 QUADS has both of channel c, in double. */
template <int QUADS>
static __device__ __noinline__ double2 sum_channels(float4 a, float4 b, struct warp_sums *s)
{
    float v[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, c = threadIdx.x;
    double2 sum = {};
#pragma unroll
    for (int step = QUADS; step < 32; step *= 2)
#pragma unroll
        for (int i = 0; i < 8; i++)
            v[i] += __shfl_xor_sync(~0u, v[i], step);
    __syncthreads();
    if (lane < QUADS) {
        put4(&s->at[warp][0][lane * 4], make_float4(v[0], v[1], v[2], v[3]));
        put4(&s->at[warp][1][lane * 4], make_float4(v[4], v[5], v[6], v[7]));
    }
    __syncthreads();
#pragma unroll 4
    for (int w = 0; c < 4 * QUADS && w < TASK_WARPS; w++) {
        sum.x += s->at[w][0][c];
        sum.y += s->at[w][1][c];
    }
    return sum;
}

/* ---- a step's tensors ---- */

static __device__ __forceinline__ int images_of(const struct conv_step &s, const struct team &m)
{
    return s.count ? s.count[m.task] : s.n;
}

static __device__ __forceinline__ const float *theta_at(const struct conv_step &s, int task,
                                                        int which)
{
    return (const float *)s.theta.at + (size_t)task * s.theta.stride + s.offset[which];
}

static __device__ __forceinline__ float *grad_at(const struct conv_step &s, int task, int which)
{
    return (float *)s.grad.at + (size_t)task * s.grad.stride + s.offset[which];
}

/* A gradient's elements, from `at` on: kept, and what else becomes of them. */
static __device__ __forceinline__ void put_gradient(const struct step &s, int task, size_t at,
                                                    float4 g)
{
    const struct update &u = s.update;
    if (!u.drop)
        write4((float *)s.conv.grad.at + task * s.conv.grad.stride + at, g);
#pragma unroll 1
    for (int i = 0; i < u.n; i++) {
        g = fma4(make_float4(u.a[i], u.a[i], u.a[i], u.a[i]), g,
                 read4((const float *)u.y[i].at + task * u.y[i].stride + at));
        write4((float *)u.to[i].at + task * u.to[i].stride + at, g);
    }
}

static __device__ __forceinline__ void put_gradient(const struct step &s, int task, size_t at,
                                                    float g)
{
    const struct update &u = s.update;
    if (!u.drop)
        ((float *)s.conv.grad.at)[task * s.conv.grad.stride + at] = g;
#pragma unroll 1
    for (int i = 0; i < u.n; i++) {
        g = fmaf(u.a[i], g, __ldcg((const float *)u.y[i].at + task * u.y[i].stride + at));
        __stcg((float *)u.to[i].at + task * u.to[i].stride + at, g);
    }
}

static __device__ __forceinline__ float *stats_of(const struct conv_step &s, const struct team &m,
                                                  int which, int filters)
{
    return s.cache.stats + (size_t)(which * m.tasks + m.task) * filters;
}

#endif
