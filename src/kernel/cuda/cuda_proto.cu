/* cuda_proto.cu - the prototypical loss (Snell et al. 2017), a block per task.
 *
 * Every feature column belongs to one thread, which sums over images in their
 * order.  Queries are taken QUERIES at a time: distances by warps, softmax, then
 * the columns' gradients.  Features and prototypes are held in shared memory
 * where they fit.
 */
#include "cuda_tile.cuh"

enum { QUERIES = 32 };
static const size_t shared_most = 200 * 1024;

struct proto_args {
    int ways, len; /* len: features of an image, with padding */
    struct features support, query;
    float *logits, *probs, *loss;
    float *scratch; /* prototypes and their gradients (tasks, 2, ways, len) */
    bool staged;    /* features of support and query in shared memory too */
};

/* A block's view of its task. */
struct proto_task {
    const float *s, *q; /* features of the first support and query image */
    float *ds, *dq;
    const int32_t *sy, *qy;
    float *proto, *dproto;     /* (ways, len) */
    double *logits;            /* (QUERIES, ways); then the loss's gradient */
    float *logit_rows, *probs; /* what is asked for; logit_rows may be NULL */
};

/* Prototypes: class means, the origin for a class without support. */
static __device__ void put_prototypes(const struct proto_args &a, const struct proto_task &k)
{
    for (int j = threadIdx.x; j < a.len; j += THREADS)
        for (int w = 0; w < a.ways; w++) {
            float sum = 0;
            int made = 0;
            for (int i = 0; i < a.support.count; i++)
                if (k.sy[i] == w) {
                    sum += k.s[(size_t)i * a.len + j];
                    made++;
                }
            k.proto[(size_t)w * a.len + j] = made ? sum / made : 0;
            k.dproto[(size_t)w * a.len + j] = 0;
        }
}

/* Minus squared distances, a warp per pair. */
static __device__ void put_logits(const struct proto_args &a, const struct proto_task &k, int first,
                                  int queries)
{
    int lane = threadIdx.x % 32;
    for (int pair = threadIdx.x / 32; pair < queries * a.ways; pair += WARPS) {
        const float *f = k.q + (size_t)(first + pair / a.ways) * a.len;
        const float *p = k.proto + (size_t)(pair % a.ways) * a.len;
        float sum = 0;
        for (int j = lane; j < a.len; j += 32)
            sum += (f[j] - p[j]) * (f[j] - p[j]);
        double all = sum;
        for (int step = 16; step > 0; step /= 2)
            all += __shfl_xor_sync(~0u, all, step);
        if (lane == 0)
            k.logits[pair] = -all;
    }
}

/* Probabilities, and the loss's gradient in the place of the logits, a warp per
 * query; returns the warp's loss. */
static __device__ double softmax_rows(const struct proto_args &a, const struct proto_task &k,
                                      int first, int queries, double weight)
{
    double loss = 0;
    for (int i = threadIdx.x / 32; i < queries; i += WARPS) {
        double *row = k.logits + i * a.ways, top = -INFINITY, sum = 0;
        int y = k.qy[first + i], lane = threadIdx.x % 32;
        for (int j = 0; j < a.ways; j++)
            top = fmax(top, row[j]);
        for (int j = lane; j < a.ways; j += 32)
            sum += exp(row[j] - top);
        for (int step = 16; step > 0; step /= 2)
            sum += __shfl_xor_sync(~0u, sum, step);
        double lse = top + log(sum);
        loss += y < 0 ? 0 : lse - row[y];
        __syncwarp();
        for (int j = lane; j < a.ways; j += 32) {
            double p = exp(row[j] - lse);
            if (k.logit_rows)
                k.logit_rows[(size_t)(first + i) * a.ways + j] = (float)row[j];
            k.probs[(size_t)(first + i) * a.ways + j] = (float)p;
            row[j] = y < 0 ? 0 : weight * (p - (j == y));
        }
    }
    return loss;
}

/* Gradients of the queries' features, and their part of the prototypes'. */
static __device__ void pull_columns(const struct proto_args &a, const struct proto_task &k,
                                    int first, int queries)
{
    for (int j = threadIdx.x; j < a.len; j += THREADS) {
        for (int i = 0; i < queries; i++) {
            float f = k.q[(size_t)(first + i) * a.len + j], sum = 0;
            for (int w = 0; w < a.ways; w++)
                sum -= 2 * (float)k.logits[i * a.ways + w] * (f - k.proto[(size_t)w * a.len + j]);
            k.dq[(size_t)(first + i) * a.len + j] = sum;
        }
        for (int w = 0; w < a.ways; w++) {
            float p = k.proto[(size_t)w * a.len + j], sum = k.dproto[(size_t)w * a.len + j];
            for (int i = 0; i < queries; i++)
                sum += 2 * (float)k.logits[i * a.ways + w] *
                       (k.q[(size_t)(first + i) * a.len + j] - p);
            k.dproto[(size_t)w * a.len + j] = sum;
        }
    }
}

/* Each support image's share of its prototype's gradient. */
static __device__ void pull_support(const struct proto_args &a, const struct proto_task &k)
{
    for (int i = 0; i < a.support.count; i++) {
        int y = k.sy[i], made = 0;
        for (int other = 0; other < a.support.count; other++)
            made += k.sy[other] == y;
        for (int j = threadIdx.x; j < a.len; j += THREADS)
            k.ds[(size_t)i * a.len + j] = y < 0 ? 0 : k.dproto[(size_t)y * a.len + j] / made;
    }
}

static __device__ double labelled_weight(const struct proto_args &a, const int32_t *labels)
{
    int labelled = 0;
    for (int i = 0; i < a.query.count; i++)
        labelled += labels[i] >= 0;
    return labelled > 0 ? 1.0 / labelled : 1;
}

/* Where the task's features, labels and results lie in memory. */
static __device__ struct proto_task task_of(const struct proto_args &a, int task)
{
    size_t s = (size_t)task * a.support.batch.n + a.support.first;
    size_t q = (size_t)task * a.query.batch.n + a.query.first;
    size_t from = s + (size_t)a.support.task * a.support.batch.n;
    size_t to = q + (size_t)a.query.task * a.query.batch.n;
    struct proto_task k = {};
    k.s = (const float *)a.support.out + from * a.len;
    k.ds = (float *)a.support.dout + from * a.len;
    k.sy = a.support.labels + s;
    k.q = (const float *)a.query.out + to * a.len;
    k.dq = (float *)a.query.dout + to * a.len;
    k.qy = a.query.labels + q;
    k.probs = a.probs + q * a.ways;
    k.logit_rows = a.logits ? a.logits + q * a.ways : NULL;
    k.proto = a.scratch + (size_t)task * 2 * a.ways * a.len;
    k.dproto = k.proto + (size_t)a.ways * a.len;
    return k;
}

/* The features of support and query, and the prototypes, to shared memory. */
static __device__ void stage_task(const struct proto_args &a, struct proto_task &k, float *shared)
{
    int support = a.support.count * a.len, query = a.query.count * a.len;
    for (int i = threadIdx.x * 4; i < support; i += THREADS * 4)
        copy16(shared + i, k.s + i, true);
    for (int i = threadIdx.x * 4; i < query; i += THREADS * 4)
        copy16(shared + support + i, k.q + i, true);
    k.s = shared;
    k.q = shared + support;
    k.proto = shared + support + query;
    k.dproto = k.proto + a.ways * a.len;
    copies_end();
    copies_wait<0>();
    __syncthreads();
}

static __global__ void __launch_bounds__(THREADS)
    proto_kernel(const __grid_constant__ struct proto_args a)
{
    extern __shared__ __align__(128) float dynamic[];
    __shared__ double warps[WARPS];
    wait_for_previous();
    struct proto_task k = task_of(a, blockIdx.x);
    k.logits = (double *)dynamic;
    if (a.staged)
        stage_task(a, k, dynamic + 2 * QUERIES * a.ways);
    double weight = labelled_weight(a, k.qy), loss = 0;
    put_prototypes(a, k);
    __syncthreads();
    for (int first = 0; first < a.query.count; first += QUERIES) {
        int queries = min((int)QUERIES, a.query.count - first);
        put_logits(a, k, first, queries);
        __syncthreads();
        loss += softmax_rows(a, k, first, queries, weight);
        __syncthreads();
        pull_columns(a, k, first, queries);
        __syncthreads();
    }
    pull_support(a, k);
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = loss;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < WARPS; w++)
            loss += warps[w];
        a.loss[blockIdx.x] = (float)(weight * loss);
    }
}

extern "C" size_t cuda_proto_bytes(const struct layer *l, int tasks, int ways)
{
    return (size_t)tasks * 2 * (size_t)ways * out_floats(l) * sizeof(float);
}

extern "C" void cuda_proto(struct device *d, const struct layer *l, const struct features *support,
                           const struct features *query, int ways, float *logits, float *probs,
                           float *loss, void *scratch)
{
    struct proto_args a = {ways, (int)out_floats(l), *support, *query, logits, probs,
                           loss, (float *)scratch,   false};
    size_t rows = QUERIES * (size_t)ways * sizeof(double);
    size_t images = (size_t)(support->count + query->count + 2 * ways);
    size_t all = rows + images * out_floats(l) * sizeof(float);
    a.staged = all <= shared_most;
    struct grid g = {
        .x = (unsigned)query->tasks, .threads = THREADS, .shared = a.staged ? all : rows};
    cuda_launch(d, (const void *)proto_kernel, g, &a, "proto");
}
