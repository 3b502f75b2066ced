/* cuda_proto.cuh - the steps of the prototypical loss (Snell et al. 2017) of a task, by a block.
 *
 * Loops are loops: the code runs once, and new instructions are waited for longer than old ones
 * (docs/kernels.md).  Sums over images and over classes are a thread's, in their order.  Queries
 * are taken QUERIES at a time.  Features and prototypes are in shared memory where they fit.
 */
#ifndef CUDA_PROTO_CUH
#define CUDA_PROTO_CUH

#include "cuda_proto.h"
#include "cuda_block_norm.cuh"

enum {
    PROTO_WARPS = 16,
    PROTO_THREADS = PROTO_WARPS * 32,
    QUERIES = 32, /* a lane each, where losses are added up */
    NEAR = 8,     /* prototypes that a query is compared with at a time */
    TILE = 4      /* rows of a gradient that a thread makes together, four columns of each */
};

/* A block's view of its task. */
struct proto_task {
    size_t s_at, q_at;  /* the first support and query image in the pass, in floats */
    const float *s, *q; /* their features, in device memory */
    float *ds, *dq;
    const int32_t *sy, *qy;
    float *logits, *probs; /* what is asked for; logits may be NULL */
    float *dproto;         /* (ways, len), between one lot of queries and the next */
    /* in shared memory; features and prototypes only where they fit */
    float *support, *query; /* (images, len) */
    float *proto;           /* (ways, len) */
    float *kept, *z;        /* (support and query images, len), for batch norm: dout and z */
    float *norm;            /* what else it needs */
    double *rows;           /* (PROTO_WARPS, ways): a query's distances */
    double *losses;         /* (QUERIES, 2): see softmax_row */
    float *pull;            /* (QUERIES, ways): twice the loss's gradient */
    float *shares;          /* (ways + 1): 1 / images of the class, or 0 */
    uint32_t *members;      /* (ways + 1, words): a bit per image of the class, or of none */
};

/* What is in shared memory beside rows and labels. */
enum staged { NOTHING, FEATURES, WITH_NORM };

/* Batches that batch norm is over; the threads are shared among them. */
static __host__ __device__ __forceinline__ int teams(const struct proto_args &a)
{
    return a.stacked ? 2 : 1;
}

/* Lays out shared memory; returns the bytes it takes. */
static __host__ __device__ __forceinline__ size_t proto_layout(const struct proto_args &a,
                                                               struct proto_task *k, float *from,
                                                               enum staged staged)
{
    float *at = from;
    int images = a.support.count + a.query.count;
    if (staged != NOTHING) {
        k->support = at, at += a.support.count * a.len;
        k->query = at, at += a.query.count * a.len;
        k->proto = at, at += a.ways * a.len;
    }
    if (staged == WITH_NORM) {
        k->kept = at, at += images * a.len;
        k->z = at, at += images * a.len;
        k->norm = at, at += teams(a) * block_norm_floats(a.conv, PROTO_THREADS / teams(a));
    }
    k->rows = (double *)at;
    k->losses = k->rows + PROTO_WARPS * a.ways;
    k->pull = (float *)(k->losses + 2 * QUERIES);
    k->shares = k->pull + QUERIES * a.ways;
    k->members = (uint32_t *)(k->shares + a.ways + 1);
    return (size_t)((char *)(k->members + (a.ways + 1) * a.words) - (char *)from);
}

/* Where the task's features, labels and results lie in memory. */
static __device__ __forceinline__ struct proto_task task_of(const struct proto_args &a, int task)
{
    size_t s = (size_t)task * a.support.batch.n + a.support.first;
    size_t q = (size_t)task * a.query.batch.n + a.query.first;
    size_t from = s + (size_t)a.support.task * a.support.batch.n;
    size_t to = q + (size_t)a.query.task * a.query.batch.n;
    struct proto_task k = {};
    k.s_at = from * a.len;
    k.q_at = to * a.len;
    k.s = k.support = (float *)a.support.out + k.s_at;
    k.ds = (float *)a.support.dout + k.s_at;
    k.sy = a.support.labels + s;
    k.q = k.query = (float *)a.query.out + k.q_at;
    k.dq = (float *)a.query.dout + k.q_at;
    k.qy = a.query.labels + q;
    k.probs = a.probs + q * a.ways;
    k.logits = a.logits ? a.logits + q * a.ways : NULL;
    k.proto = a.scratch + (size_t)task * 2 * a.ways * a.len;
    k.dproto = k.proto + (size_t)a.ways * a.len;
    return k;
}

static __device__ __forceinline__ float4 quad_at(const float *at)
{
    return *(const float4 *)at;
}

static __device__ __forceinline__ float4 times(float4 v, float a)
{
    return make_float4(v.x * a, v.y * a, v.z * a, v.w * a);
}

/* sum += g (to - from) */
static __device__ __forceinline__ void pull4(float4 &sum, float g, float4 to, float4 from)
{
    sum.x = fmaf(g, to.x - from.x, sum.x);
    sum.y = fmaf(g, to.y - from.y, sum.y);
    sum.z = fmaf(g, to.z - from.z, sum.z);
    sum.w = fmaf(g, to.w - from.w, sum.w);
}

static __device__ __forceinline__ float squared4(float4 x, float4 y, float sum)
{
    sum = fmaf(x.x - y.x, x.x - y.x, sum);
    sum = fmaf(x.y - y.y, x.y - y.y, sum);
    sum = fmaf(x.z - y.z, x.z - y.z, sum);
    return fmaf(x.w - y.w, x.w - y.w, sum);
}

static __device__ __forceinline__ double warp_total(double v)
{
    for (int step = 16; step > 0; step /= 2)
        v += __shfl_xor_sync(~0u, v, step);
    return v;
}

/* ---- classes ---- */

/* Which support images are of which class, and what one counts in its mean; number `ways` is
 * no class.  A warp per class. */
static __device__ __forceinline__ void find_members(const struct proto_args &a,
                                                    const struct proto_task &k)
{
    int lane = threadIdx.x % 32;
#pragma unroll 1
    for (int w = threadIdx.x / 32; w <= a.ways; w += PROTO_WARPS) {
        int made = 0;
#pragma unroll 1
        for (int word = 0; word < a.words; word++) {
            int i = word * 32 + lane, y = i < a.support.count ? k.sy[i] : a.ways + 1;
            uint32_t bits = __ballot_sync(~0u, (y < 0 ? a.ways : y) == w);
            if (lane == 0)
                k.members[w * a.words + word] = bits;
            made += __popc(bits);
        }
        if (lane == 0)
            k.shares[w] = made ? 1.0f / made : 0;
    }
}

/* Calls visit(i) for the class's images, in their order. */
template <class VISIT>
static __device__ __forceinline__ void each_member(const struct proto_args &a,
                                                   const struct proto_task &k, int w, VISIT visit)
{
#pragma unroll 1
    for (int word = 0; word < a.words; word++)
#pragma unroll 1
        for (uint32_t left = k.members[w * a.words + word]; left; left &= left - 1)
            visit(word * 32 + __ffs(left) - 1);
}

/* 1 / (labelled queries).  Every warp counts for itself. */
static __device__ __forceinline__ double labelled_weight(const struct proto_args &a,
                                                         const int32_t *labels)
{
    int labelled = 0, lane = threadIdx.x % 32;
#pragma unroll 1
    for (int i = 0; i < a.query.count; i += 32)
        labelled += __popc(__ballot_sync(~0u, i + lane < a.query.count && labels[i + lane] >= 0));
    return labelled > 0 ? 1.0 / labelled : 1;
}

/* Features to shared memory.  Those of the support are copied by the thread that will add
 * them up, which then need not wait for the others'. */
static __device__ __forceinline__ void stage_features(const struct proto_args &a,
                                                      const struct proto_task &k)
{
    int quads = a.len / 4;
#pragma unroll 1
    for (int at = threadIdx.x; at < a.ways * quads; at += PROTO_THREADS) {
        int j = at % quads * 4;
        each_member(a, k, at / quads, [&](int i) {
            copy16(k.support + i * a.len + j, k.s + (size_t)i * a.len + j, true);
        });
    }
#pragma unroll 1
    for (int i = threadIdx.x * 4; i < a.query.count * a.len; i += PROTO_THREADS * 4)
        copy16(k.query + i, k.q + i, true);
}

/* Class means, the origin for a class without support. */
static __device__ __forceinline__ void put_prototypes(const struct proto_args &a,
                                                      const struct proto_task &k)
{
    int quads = a.len / 4;
#pragma unroll 1
    for (int at = threadIdx.x; at < a.ways * quads; at += PROTO_THREADS) {
        int w = at / quads, j = at % quads * 4;
        float4 sum = {};
        each_member(a, k, w, [&](int i) {
            float4 x = quad_at(k.support + (size_t)i * a.len + j);
            sum = make_float4(sum.x + x.x, sum.y + x.y, sum.z + x.z, sum.w + x.w);
        });
        *(float4 *)(k.proto + (size_t)w * a.len + j) = times(sum, k.shares[w]);
    }
}

/* ---- queries ---- */

/* Eight sums over the lanes of a warp; a lane is left with number lane % 8. */
static __device__ __forceinline__ double spread_total(const float (&v)[NEAR])
{
    int lane = threadIdx.x % 32;
    double four[4], two[2];
    for (int i = 0; i < 4; i++) {
        float keep = lane & 4 ? v[4 + i] : v[i], give = lane & 4 ? v[i] : v[4 + i];
        four[i] = (double)keep + __shfl_xor_sync(~0u, give, 4);
    }
    for (int i = 0; i < 2; i++) {
        double keep = lane & 2 ? four[2 + i] : four[i], give = lane & 2 ? four[i] : four[2 + i];
        two[i] = keep + __shfl_xor_sync(~0u, give, 2);
    }
    double keep = lane & 1 ? two[1] : two[0], give = lane & 1 ? two[0] : two[1];
    double one = keep + __shfl_xor_sync(~0u, give, 1);
    one += __shfl_xor_sync(~0u, one, 8);
    return one + __shfl_xor_sync(~0u, one, 16);
}

/* Whether a class without support has no part in the softmax; asked by a whole warp. */
static __device__ __forceinline__ bool leaves_out(const struct proto_args &a,
                                                  const struct proto_task &k)
{
    bool any = false;
#pragma unroll 1
    for (int j = threadIdx.x % 32; a.leaves_out && j < a.ways; j += 32)
        any = any || k.shares[j] > 0;
    return __any_sync(~0u, any);
}

/* Squared distances of features f to all prototypes, by a warp; to those that are left out they
 * are infinite. */
static __device__ __forceinline__ void put_distances(const struct proto_args &a,
                                                     const struct proto_task &k, const float *f,
                                                     bool without, double *row)
{
    int lane = threadIdx.x % 32;
#pragma unroll 1
    for (int w0 = 0; w0 < a.ways; w0 += NEAR) {
        const float *proto = k.proto + (size_t)w0 * a.len;
        float sum[NEAR] = {};
#pragma unroll 1
        for (int j = lane * 4; j < a.len; j += 128) {
            float4 x = quad_at(f + j), p[NEAR];
#pragma unroll
            for (int u = 0; u < NEAR; u++) /* of a class that is none the distance is 0 */
                p[u] = w0 + u < a.ways ? quad_at(proto + (size_t)u * a.len + j) : x;
#pragma unroll
            for (int u = 0; u < NEAR; u++)
                sum[u] = squared4(x, p[u], sum[u]);
        }
        double all = spread_total(sum);
        if (lane < NEAR && w0 + lane < a.ways)
            row[w0 + lane] = without && k.shares[w0 + lane] == 0 ? (double)INFINITY : all;
    }
}

/* From distances to probabilities and the gradient of query i of the lot, whose label is y;
 * `out`: its place in logits and probs.  Its loss is log(sum) + beyond, which are left in
 * k.losses: the logarithm is taken where nobody waits for it. */
static __device__ __forceinline__ void softmax_row(const struct proto_args &a,
                                                   const struct proto_task &k, double *row, int i,
                                                   int y, size_t out, double weight)
{
    int lane = threadIdx.x % 32;
    uint32_t nearest = ~0u; /* as floats from 0 on are ordered, so are their bits */
#pragma unroll 1
    for (int j = lane; j < a.ways; j += 32)
        nearest = min(nearest, __float_as_uint((float)row[j]));
    double least = __uint_as_float(__reduce_min_sync(~0u, nearest)), sum = 0;
    double beyond = y < 0 ? 0 : row[y] - least;
    __syncwarp();
#pragma unroll 1
    for (int j = lane; j < a.ways; j += 32) {
        if (k.logits)
            k.logits[out + j] = -(float)row[j];
        row[j] = exp(least - row[j]);
        sum += row[j];
    }
    sum = warp_total(sum);
#pragma unroll 1
    for (int j = lane; j < a.ways; j += 32) {
        double p = row[j] / sum;
        k.probs[out + j] = (float)p;
        k.pull[i * a.ways + j] = y < 0 ? 0 : (float)(2 * weight * (p - (j == y)));
    }
    if (lane == 0) {
        k.losses[2 * i] = y < 0 ? 1 : sum;
        k.losses[2 * i + 1] = beyond;
    }
}

static __device__ __forceinline__ void put_rows(const struct proto_args &a,
                                                const struct proto_task &k, int first, int queries,
                                                double weight)
{
    double *row = k.rows + threadIdx.x / 32 * a.ways;
    bool without = leaves_out(a, k);
#pragma unroll 1
    for (int i = threadIdx.x / 32; i < queries; i += PROTO_WARPS) {
        int y = k.qy[first + i];
        put_distances(a, k, k.query + (size_t)(first + i) * a.len, without, row);
        __syncwarp();
        softmax_row(a, k, row, i, y, (size_t)(first + i) * a.ways, weight);
        __syncwarp();
    }
}

/* The lot's loss, by a warp. */
static __device__ __forceinline__ double lot_loss(const struct proto_task &k, int queries)
{
    int lane = threadIdx.x % 32;
    return warp_total(lane < queries ? log(k.losses[2 * lane]) + k.losses[2 * lane + 1] : 0);
}

/* ---- gradients ---- */

/* To device memory, and to where batch norm finds it. */
template <bool KEEP>
static __device__ __forceinline__ void put_quad(float *to, float *kept, size_t at, float4 v)
{
    *(float4 *)(to + at) = v;
    if (KEEP)
        *(float4 *)(kept + at) = v;
}

/* The gradients of a class: kept for the next lot or, after the last, shared by its images. */
template <bool KEEP>
static __device__ __forceinline__ void put_class(const struct proto_args &a,
                                                 const struct proto_task &k, bool last, int w,
                                                 int j, float4 sum)
{
    if (!last) {
        *(float4 *)(k.dproto + (size_t)w * a.len + j) = sum;
        return;
    }
    float4 each = times(sum, k.shares[w]);
    each_member(a, k, w, [&](int i) { put_quad<KEEP>(k.ds, k.kept, (size_t)i * a.len + j, each); });
}

/* The lot's gradients, columns j..., of prototypes r0... or of its queries r0...: each is pulled
 * to all of the others.  One code for both: it is executed once, and waited for. */
template <bool KEEP>
static __device__ __forceinline__ void pull_tile(const struct proto_args &a,
                                                 const struct proto_task &k, int first, int queries,
                                                 bool ways, int r0, int j)
{
    const float *query = k.query + (size_t)first * a.len + j, *proto = k.proto + j;
    const float *own = ways ? proto : query, *others = ways ? query : proto;
    int rows = ways ? a.ways : queries, n = ways ? queries : a.ways;
    int across = ways ? 1 : a.ways, down = ways ? a.ways : 1; /* in k.pull */
    float4 from[TILE], sum[TILE];
    int row[TILE];
#pragma unroll
    for (int r = 0; r < TILE; r++) {
        row[r] = min(r0 + r, rows - 1);
        from[r] = quad_at(own + (size_t)row[r] * a.len);
        sum[r] = ways && first > 0 ? quad_at(k.dproto + (size_t)row[r] * a.len + j) : float4{};
    }
#pragma unroll 2
    for (int i = 0; i < n; i++) {
        float4 to = quad_at(others + (size_t)i * a.len);
#pragma unroll
        for (int r = 0; r < TILE; r++)
            pull4(sum[r], k.pull[i * down + row[r] * across], to, from[r]);
    }
#pragma unroll
    for (int r = 0; r < TILE && r0 + r < rows; r++)
        if (ways)
            put_class<KEEP>(a, k, first + queries >= a.query.count, row[r], j, sum[r]);
        else
            put_quad<KEEP>(k.dq, k.kept + a.support.count * a.len,
                           (size_t)(first + row[r]) * a.len + j, sum[r]);
}

/* All of a lot; the prototypes' first, which take longer and are always the same thread's. */
template <bool KEEP>
static __device__ __forceinline__ void pull_lot(const struct proto_args &a,
                                                const struct proto_task &k, int first, int queries)
{
    int quads = a.len / 4, ways = (a.ways + TILE - 1) / TILE;
    int tiles = ways + (queries + TILE - 1) / TILE;
#pragma unroll 1
    for (int at = threadIdx.x; at < tiles * quads; at += PROTO_THREADS) {
        int tile = at / quads, j = at % quads * 4;
        pull_tile<KEEP>(a, k, first, queries, tile < ways,
                        (tile < ways ? tile : tile - ways) * TILE, j);
    }
}

/* No gradient for support images without a class. */
template <bool KEEP>
static __device__ __forceinline__ void clear_others(const struct proto_args &a,
                                                    const struct proto_task &k)
{
    each_member(a, k, a.ways, [&](int i) {
#pragma unroll 1
        for (int j = threadIdx.x * 4; j < a.len; j += PROTO_THREADS * 4)
            put_quad<KEEP>(k.ds, k.kept, (size_t)i * a.len + j, float4{});
    });
}

#endif
