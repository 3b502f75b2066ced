/* cuda_tile.cuh - staging in shared memory, products of tiles on tensor cores,
 * and sums over a cluster.
 *
 * A warp multiplies tiles of 16 x 8 by 8 x 8 (mma.m16n8k8).  With g = lane / 4 and
 * t = lane % 4 a thread holds rows g, g + 8 and columns 2t, 2t + 1 of the result.
 * In plain fp32 the same thread computes the same elements with FMAs.
 */
#ifndef CUDA_TILE_CUH
#define CUDA_TILE_CUH

#include "cuda_conv.h"

#include <cooperative_groups.h>

static __device__ __forceinline__ void wait_for_previous(void)
{
    asm volatile("griddepcontrol.launch_dependents;");
    asm volatile("griddepcontrol.wait;" ::: "memory");
}

/* ---- copies into shared memory ---- */

/* 16 bytes, or zeros where !inside (`from` must be readable all the same). */
static __device__ __forceinline__ void copy16(float *to, const float *from, bool inside)
{
    uint32_t at = (uint32_t)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from),
                 "r"(inside ? 16 : 0)
                 : "memory");
}

static __device__ __forceinline__ void copies_end(void)
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Waits until all but the latest `LEFT` groups of copies have arrived. */
template <int LEFT> static __device__ __forceinline__ void copies_wait(void)
{
    asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
}

static __device__ __forceinline__ int divide(int n, struct divisor d)
{
    return d.by == 1 ? n : (int)__umulhi((uint32_t)n, d.factor);
}

/* Rows first..first+rows-1 of the tall picture, channels c0..c0+chunk-1 (a power of
 * two), to (rows, cols, pitch). */
static __device__ void stage_picture(const struct picture &p, const float *from, int n, int first,
                                     int rows, int c0, int chunk, int pitch, float *to)
{
    int shift = 29 - __clz(chunk), quad = (threadIdx.x & ((1 << shift) - 1)) * 4;
    for (int at = threadIdx.x >> shift; at < rows * p.cols; at += THREADS >> shift) {
        int row = divide(at, p.by_cols), x = at - row * p.cols - p.before;
        int image = divide(first + row, p.by_rows);
        int y = first + row - image * p.rows - p.before;
        bool inside = image < n && y >= 0 && y < p.h && x >= 0 && x < p.w && c0 + quad < p.c;
        size_t offset = (((size_t)image * p.h + y) * p.w + x) * p.c + c0 + quad;
        copy16(to + at * pitch + quad, inside ? from + offset : from, inside);
    }
}

/* ---- products ---- */

static __device__ __forceinline__ uint32_t tf32(float x)
{
    return __float_as_uint(x) + 0x1000u; /* to nearest: the unit drops the last 13 bits */
}

static __device__ __forceinline__ void mma(float (&c)[4], const uint32_t (&a)[4], uint32_t b0,
                                           uint32_t b1)
{
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* The two rows of a tile a thread holds, two neighbouring values of the sum each.
 * The order of a sum is free: k = t and t + 4 are neighbours 2t and 2t + 1. */
static __device__ __forceinline__ void rows_tf32(uint32_t (&a)[4], const float *row0,
                                                 const float *row1)
{
    float2 low = *(const float2 *)row0, high = *(const float2 *)row1;
    a[0] = tf32(low.x);
    a[1] = tf32(high.x);
    a[2] = tf32(low.y);
    a[3] = tf32(high.y);
}

/* c += (two rows, two values) x (two values, two columns) in fp32: b0 and b1 hold
 * the two values of a column each. */
static __device__ __forceinline__ void fma_pairs(float (&c)[4], float2 row0, float2 row1, float2 b0,
                                                 float2 b1)
{
    c[0] = fmaf(row0.y, b0.y, fmaf(row0.x, b0.x, c[0]));
    c[1] = fmaf(row0.y, b1.y, fmaf(row0.x, b1.x, c[1]));
    c[2] = fmaf(row1.y, b0.y, fmaf(row1.x, b0.x, c[2]));
    c[3] = fmaf(row1.y, b1.y, fmaf(row1.x, b1.x, c[3]));
}

/* A warp's 32 x 16 result into its place of tile (kgroups, block, 20). */
static __device__ __forceinline__ void tile_put(float *tile, const struct product &p,
                                                const float (&acc)[2][2][4])
{
    int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    float *at = tile + ((warp / p.mgroups) * p.block + (warp % p.mgroups) * 32) * TILE_PITCH;
    for (int m = 0; m < 2; m++)
        for (int n = 0; n < 2; n++)
            for (int h = 0; h < 2; h++)
                *(float2 *)(at + (m * 16 + h * 8 + g) * TILE_PITCH + n * 8 + 2 * t) =
                    make_float2(acc[m][n][2 * h], acc[m][n][2 * h + 1]);
}

/* Four channels of a row of the tile, summed over the kgroups. */
static __device__ __forceinline__ float4 tile_get(const float *tile, const struct product &p,
                                                  int row, int quad)
{
    float4 sum = *(const float4 *)(tile + row * TILE_PITCH + quad);
    for (int k = 1; k < p.kgroups; k++) {
        float4 more = *(const float4 *)(tile + (k * p.block + row) * TILE_PITCH + quad);
        sum.x += more.x;
        sum.y += more.y;
        sum.z += more.z;
        sum.w += more.w;
    }
    return sum;
}

/* ---- sums of 16 channels over a block and over the blocks that share a slice ---- */

enum { SUMS_MAX = 4 };
struct sums {
    double warp[WARPS][SUMS_MAX][SLICE], block[SUMS_MAX][SLICE], total[SUMS_MAX][SLICE];
};

/* v: this thread's share of NS sums, for channels 4 (thread % 4).. of the slice.
 * The total is left in s->total.  Always in the same order. */
template <int NS>
static __device__ void add_up(double (&v)[NS][4], struct sums *s, int rank, int splits)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, i = threadIdx.x / SLICE,
        c = threadIdx.x % SLICE;
    for (int k = 0; k < NS; k++)
        for (int j = 0; j < 4; j++) {
            for (int step = 4; step < 32; step *= 2)
                v[k][j] += __shfl_xor_sync(~0u, v[k][j], step);
            if (lane < 4)
                s->warp[warp][k][lane * 4 + j] = v[k][j];
        }
    __syncthreads();
    if (i < NS) {
        double sum = 0;
        for (int w = 0; w < WARPS; w++)
            sum += s->warp[w][i][c];
        s->block[i][c] = s->total[i][c] = sum;
    }
    if (splits > 1) {
        cooperative_groups::cluster_group cluster = cooperative_groups::this_cluster();
        cluster.sync();
        if (i < NS) {
            double sum = 0;
            for (int p = 0; p < splits; p++)
                sum += cluster.map_shared_rank(s, rank / splits * splits + p)->block[i][c];
            s->total[i][c] = sum;
        }
    }
    __syncthreads();
}

/* Before shared memory that other blocks read is written again, or gone. */
static __device__ __forceinline__ void blocks_meet(int ranks)
{
    if (ranks > 1)
        cooperative_groups::this_cluster().sync();
    else
        __syncthreads();
}

#endif
