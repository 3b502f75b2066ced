/* cuda_lloyd.cu - k-means of many pools in one launch: seeding, then Lloyd's rounds, a cluster
 * of blocks to a pool.
 *
 * A distance is half a warp's, a mean is a thread's, and both add in the order of the host
 * (kernel/selection.c), as does the draw of a centre.  So the choices are the host's, but for
 * what hangs on a rounding, and do not depend on how many blocks share a pool.
 *
 * Blocks work on memory that all can see, and meet() between a step and the next: the barrier
 * of a cluster, like that of a block, also shows each what the others wrote before it.
 */
#include "cuda_kmeans.h"
#include "cuda_tile.cuh"

#include <float.h>

enum {
    LLOYD_THREADS = 512,
    LANES = 16,                     /* of a distance: selection.c's */
    PLACES = LLOYD_THREADS / LANES, /* points that a block has in hand */
    CENTRES = 4                     /* that a point is compared with at a time */
};

/* A pool as one warp of its team sees it. */
struct view {
    const float *x;
    const int32_t *row;
    const double *draw;
    int32_t *found, *cluster, *nearest, *next, *moved;
    float *distance, *centre;
    int n, k, rounds, first, f;
    int team, warp, warps; /* blocks; this warp of the team, and how many there are */
};

static __device__ __forceinline__ struct view view_of(const struct kmeans_args &a)
{
    int task = blockIdx.x / a.team, rank = blockIdx.x % a.team;
    size_t points = (size_t)task * a.n, centres = (size_t)task * a.k;
    const struct pool pool = a.pools[task];
    struct view v;
    v.x = pool.x;
    v.row = a.row + points;
    v.draw = a.draw + centres;
    v.found = a.found + task;
    v.cluster = a.cluster + points;
    v.nearest = a.nearest + centres;
    v.next = a.next + task;
    v.moved = a.moved + task;
    v.distance = a.distance + points;
    v.centre = a.centre + centres * a.f;
    v.n = pool.n;
    v.k = pool.k;
    v.rounds = pool.rounds;
    v.first = pool.first;
    v.f = a.f;
    v.team = a.team;
    v.warp = rank * (LLOYD_THREADS / 32) + threadIdx.x / 32;
    v.warps = a.team * (LLOYD_THREADS / 32);
    return v;
}

static __device__ __forceinline__ void meet(const struct view &v)
{
    if (v.team > 1)
        cooperative_groups::this_cluster().sync();
    else
        __syncthreads();
}

static __device__ __forceinline__ const float *point_at(const struct view &v, int i)
{
    return v.x + (size_t)v.row[i] * v.f;
}

static __device__ __forceinline__ float *centre_at(const struct view &v, int c)
{
    return v.centre + (size_t)c * v.f;
}

/* A warp has two points at a time, from number `pair` on: that of this half, or the last one
 * again; and whether this thread is the one to write its result. */
static __device__ __forceinline__ int point_of(const struct view &v, int pair, bool *writes)
{
    int i = pair + threadIdx.x % 32 / LANES;
    *writes = i < v.n && threadIdx.x % LANES == 0;
    return min(i, v.n - 1);
}

template <int MANY>
static __device__ __forceinline__ void add_squares(float x, const float *const (&c)[MANY], int j,
                                                   float (&sum)[MANY])
{
#pragma unroll
    for (int m = 0; m < MANY; m++) {
        float d = x - c[m][j];
        sum[m] = fmaf(d, d, sum[m]);
    }
}

/* Squared distances of x (f) to `rows` rows, MANY at most, from c on.  Half a warp: each lane
 * adds up every 16th, the first one what is left over, and the lanes are added in order.  The
 * whole warp calls it. */
template <int MANY>
static __device__ __forceinline__ void distances(const float *x, const float *c, int rows, int f,
                                                 float (&sum)[MANY])
{
    int lane = threadIdx.x % LANES, whole = f / LANES * LANES;
    const float *at[MANY];
#pragma unroll
    for (int m = 0; m < MANY; m++) {
        at[m] = c + (size_t)min(m, rows - 1) * f;
        sum[m] = 0;
    }
    for (int j = lane; j < whole; j += LANES)
        add_squares(x[j], at, j, sum);
    for (int j = whole; lane == 0 && j < f; j++)
        add_squares(x[j], at, j, sum);
#pragma unroll
    for (int m = 0; m < MANY; m++) {
        float total = 0;
#pragma unroll
        for (int l = 0; l < LANES; l++)
            total += __shfl_sync(~0u, sum[m], l, LANES);
        sum[m] = total;
    }
}

/* ---- seeding ---- */

/* Centre c is point i. */
static __device__ __forceinline__ void add_centre(const struct view &v, int c, int i)
{
    const float *from = point_at(v, i);
    float *to = centre_at(v, c);
    for (int j = v.warp * 32 + threadIdx.x % 32; j < v.f; j += v.warps * 32)
        to[j] = from[j];
    for (int pair = 2 * v.warp; pair < v.n; pair += 2 * v.warps) {
        bool writes;
        int p = point_of(v, pair, &writes);
        float d[1];
        distances(point_at(v, p), from, 1, v.f, d);
        if (writes) {
            float before = c == 0 ? FLT_MAX : v.distance[p];
            v.distance[p] = p == i ? 0 : d[0] < before ? d[0] : before;
        }
    }
}

/* The distances of 32 points, one a lane; none past the last. */
static __device__ __forceinline__ float weight_of(const struct view &v, int from)
{
    int i = from + threadIdx.x % 32;
    return i < v.n ? v.distance[i] : 0;
}

/* A point with a chance proportional to its distance, by a uniform number, or -1: all are 0.
 * One warp, every lane of which adds up the same. */
static __device__ __forceinline__ int draw_point(const struct view &v, double uniform)
{
    double total = 0;
    int last = -1;
    for (int from = 0; from < v.n; from += 32) {
        float weight = weight_of(v, from);
#pragma unroll
        for (int l = 0; l < 32; l++)
            total += (double)__shfl_sync(~0u, weight, l);
    }
    double u = __dmul_rn(uniform, total); /* rounded, as on the host */
    for (int from = 0; from < v.n && u >= 0; from += 32) {
        float weight = weight_of(v, from);
#pragma unroll
        for (int l = 0; l < 32; l++) {
            float w = __shfl_sync(~0u, weight, l);
            if (w > 0 && u >= 0) {
                last = from + l;
                u = __dadd_rn(u, -(double)w);
            }
        }
    }
    return last;
}

/* How many centres there are, k or fewer. */
static __device__ __forceinline__ int seed(const struct view &v)
{
    int next = v.first, c = 0;
    for (;;) {
        add_centre(v, c++, next);
        meet(v);
        if (c == v.k)
            return c;
        if (v.warp == 0) {
            next = draw_point(v, v.draw[c - 1]);
            if (threadIdx.x == 0)
                *v.next = next;
        }
        meet(v);
        next = __ldcg(v.next);
        if (next < 0)
            return c;
    }
}

/* ---- Lloyd's rounds ---- */

/* Gives every point to its nearest centre.  One without a finite distance stays where it was,
 * at first with cluster 0. */
static __device__ __forceinline__ void assign(const struct view &v, int k, int round)
{
    for (int pair = 2 * v.warp; pair < v.n; pair += 2 * v.warps) {
        bool writes;
        int i = point_of(v, pair, &writes), to = -1;
        const float *x = point_at(v, i);
        float best = FLT_MAX;
        for (int c = 0; c < k; c += CENTRES) {
            float d[CENTRES];
            distances(x, centre_at(v, c), min((int)CENTRES, k - c), v.f, d);
#pragma unroll
            for (int m = 0; m < CENTRES; m++)
                if (c + m < k && d[m] < best) {
                    best = d[m];
                    to = c + m;
                }
        }
        if (writes) {
            int before = round == 1 ? -1 : v.cluster[i];
            to = to >= 0 ? to : max(before, 0);
            v.cluster[i] = to;
            if (to != before)
                *v.moved = round; /* whoever writes, writes the same */
        }
    }
}

/* Which of 32 points are in cluster c, a bit each. */
static __device__ __forceinline__ unsigned members_of(const struct view &v, int c, int from)
{
    int i = from + threadIdx.x % 32;
    return __ballot_sync(~0u, i < v.n && v.cluster[i] == c);
}

/* Moves each centre to the mean of its points; one without points stays.  A warp has 32
 * features of a centre, and adds the points in their order. */
static __device__ __forceinline__ void recentre(const struct view &v, int k)
{
    int lane = threadIdx.x % 32, strips = (v.f + 31) / 32;
    for (int strip = v.warp; strip < k * strips; strip += v.warps) {
        int c = strip / strips, j = strip % strips * 32 + lane, count = 0;
        float sum = 0;
        for (int from = 0; from < v.n; from += 32) {
            unsigned members = members_of(v, c, from);
            count += __popc(members);
            for (; members; members &= members - 1) {
                const float *x = point_at(v, from + __ffs(members) - 1);
                sum += j < v.f ? x[j] : 0;
            }
        }
        if (count > 0 && j < v.f)
            centre_at(v, c)[j] = sum / (float)count;
    }
}

/* Of each cluster the point nearest to its centre, the first of those; -1: it has none. */
static __device__ __forceinline__ void find_nearest(const struct view &v)
{
    for (int pair = 2 * v.warp; pair < v.n; pair += 2 * v.warps) {
        bool writes;
        int i = point_of(v, pair, &writes);
        float d[1];
        distances(point_at(v, i), centre_at(v, v.cluster[i]), 1, v.f, d);
        if (writes)
            v.distance[i] = d[0];
    }
    meet(v);
    for (int c = v.warp; c < v.k; c += v.warps) {
        float least = 0;
        int best = -1;
        for (int from = 0; from < v.n; from += 32)
            for (unsigned members = members_of(v, c, from); members; members &= members - 1) {
                int i = from + __ffs(members) - 1;
                float d = v.distance[i];
                if (best < 0 || d < least) {
                    least = d;
                    best = i;
                }
            }
        if (threadIdx.x % 32 == 0)
            v.nearest[c] = best;
    }
}

/* blockIdx = (pool, block of its team); the team is a cluster. */
static __global__ void __launch_bounds__(LLOYD_THREADS)
    lloyd_kernel(const __grid_constant__ struct kmeans_args a)
{
    wait_for_previous();
    const struct view v = view_of(a);
    bool leads = v.warp == 0 && threadIdx.x == 0;
    if (leads)
        *v.found = *v.moved = 0;
    if (v.n == 0 || v.k == 0)
        return;
    int k = seed(v);
    for (int round = 1;; round++) {
        assign(v, k, round);
        meet(v);
        if (__ldcg(v.moved) != round || round > v.rounds)
            break;
        recentre(v, k);
        meet(v);
    }
    find_nearest(v);
    if (leads)
        *v.found = k;
}

extern "C" void cuda_lloyd(struct device *d, struct kmeans_args *a)
{
    a->team = 1;
    while (a->team < CLUSTER_MAX && 2 * a->team * a->tasks <= d->blocks / 2 &&
           a->team * PLACES < a->n)
        a->team *= 2;
    struct grid g = {.x = (unsigned)(a->tasks * a->team),
                     .threads = LLOYD_THREADS,
                     .cluster = a->team > 1 ? (unsigned)a->team : 0};
    cuda_launch(d, (const void *)lloyd_kernel, g, a, "kmeans");
}
