/* cuda_proto.cu - the prototypical loss, a block per task, and batch norm backward of the layer
 * the features come from.
 *
 * A task is too small to fill even its block: what counts is how few times it waits.  Which
 * images are whose class is known before the features are; then come prototypes, a warp per
 * query for its distances and softmax, and the gradients of both parts together.  A barrier
 * lies between those, and nowhere else.
 */
#include "cuda_proto.cuh"
#include "cuda_shape.cuh"

/* ---- batch norm ---- */

/* This thread's batch: support and query, or the one or the other. */
static __device__ __forceinline__ struct block_norm team_of(const struct proto_args &a,
                                                            const struct proto_task &k)
{
    struct block_norm t = {};
    t.threads = PROTO_THREADS / teams(a);
    t.rank = threadIdx.x % t.threads;
    t.n = a.conv.n;
    int team = threadIdx.x / t.threads;
    t.task = blockIdx.x + (team ? a.query.task : a.support.task);
    t.dout = k.kept + team * t.n * a.len;
    t.z = k.z + team * t.n * a.len;
    block_norm_layout(a.conv, &t, k.norm + team * block_norm_floats(a.conv, t.threads));
    return t;
}

static __device__ __forceinline__ void stage_z(const struct proto_args &a,
                                               const struct proto_task &k)
{
    int support = a.support.count * a.len, query = a.query.count * a.len;
#pragma unroll 1
    for (int i = threadIdx.x * 4; i < support; i += PROTO_THREADS * 4)
        copy16(k.z + i, a.conv.cache.z + k.s_at + i, true);
#pragma unroll 1
    for (int i = threadIdx.x * 4; i < query; i += PROTO_THREADS * 4)
        copy16(k.z + support + i, a.conv.cache.z + k.q_at + i, true);
}

/* ---- the whole ---- */

/* Everything that is needed, up to the prototypes. */
template <enum staged STAGED>
static __device__ __forceinline__ void begin(const struct proto_args &a, const struct proto_task &k,
                                             const struct block_norm &t)
{
    if (STAGED != NOTHING)
        stage_features(a, k);
    if (STAGED == WITH_NORM)
        stage_z(a, k);
    copies_end();
    if (STAGED == WITH_NORM)
        load_block_norm(a.conv, t);
    copies_wait<0>();
    put_prototypes(a, k);
    clear_others<STAGED == WITH_NORM>(a, k);
    __syncthreads();
}

/* FIX: what is known of the layer; a known one has all its outputs as features. */
template <enum staged STAGED, bool FULL, class FIX = any_shape>
static __global__ void __launch_bounds__(PROTO_THREADS)
    proto_kernel(const __grid_constant__ struct proto_args given)
{
    extern __shared__ __align__(128) float dynamic[];
    struct proto_args a = given;
    FIX::in(a.conv);
    if (FIX::known)
        a.len = a.conv.l.out_h * a.conv.l.out_w * a.conv.out_c;
    struct proto_task k = task_of(a, blockIdx.x);
    proto_layout(a, &k, dynamic, STAGED);
    const struct block_norm t = STAGED == WITH_NORM ? team_of(a, k) : block_norm{};
    if (!a.early)
        wait_for_previous();
    find_members(a, k);
    double weight = labelled_weight(a, k.qy), loss = 0;
    __syncthreads();
    if (a.early)
        wait_for_previous();
    begin<STAGED>(a, k, t);
    bool adds = threadIdx.x / 32 == PROTO_WARPS - 1; /* the warp with the least to pull */
#pragma unroll 1
    for (int first = 0;; first += QUERIES) {
        int queries = min((int)QUERIES, a.query.count - first);
        put_rows(a, k, first, queries, weight);
        __syncthreads();
        pull_lot<STAGED == WITH_NORM>(a, k, first, queries);
        if (adds)
            loss += lot_loss(k, queries);
        if (first + QUERIES >= a.query.count)
            break;
        __syncthreads();
    }
    if (threadIdx.x == PROTO_THREADS - 1)
        a.loss[blockIdx.x] = (float)(weight * loss);
    if (STAGED == WITH_NORM)
        block_norm_back<FULL>(a.conv, t);
}

extern "C" size_t cuda_proto_bytes(const struct layer *l, int tasks, int ways)
{
    return (size_t)tasks * 2 * (size_t)ways * out_floats(l) * sizeof(float);
}

static const void *kernel_with_norm(const struct device *d, const struct proto_args *a)
{
    if (in_fp32(d, &a->conv.l))
        return (const void *)proto_kernel<WITH_NORM, true>;
    if (fixed<fix_norm<3>>(&a->conv))
        return (const void *)proto_kernel<WITH_NORM, false, fix_norm<3>>;
    if (fixed<fix_norm<7>>(&a->conv))
        return (const void *)proto_kernel<WITH_NORM, false, fix_norm<7>>;
    return (const void *)proto_kernel<WITH_NORM, false>;
}

static void launch(struct device *d, struct proto_args *a, enum staged staged)
{
    struct proto_task k;
    const void *kernel = staged == NOTHING    ? (const void *)proto_kernel<NOTHING, false>
                         : staged == FEATURES ? (const void *)proto_kernel<FEATURES, false>
                                              : kernel_with_norm(d, a);
    struct grid g = {.x = (unsigned)a->query.tasks,
                     .threads = PROTO_THREADS,
                     .shared = proto_layout(*a, &k, NULL, staged)};
    d->proto_noted = false;
    cuda_launch(d, kernel, g, a, "proto");
}

static bool fits(const struct device *d, const struct proto_args *a, enum staged staged)
{
    struct proto_task k;
    return proto_layout(*a, &k, NULL, staged) <= (size_t)d->shared_max;
}

extern "C" void cuda_proto_flush(struct device *d)
{
    if (d->proto_noted)
        launch(d, d->proto, fits(d, d->proto, FEATURES) ? FEATURES : NOTHING);
}

extern "C" void cuda_proto(struct device *d, const struct layer *l, const struct features *support,
                           const struct features *query, const struct classes *classes,
                           float *logits, float *probs, float *loss, void *scratch)
{
    cuda_flush(d); /* before asking what the kernel before is */
    *d->proto = (struct proto_args){classes->ways,
                                    (int)out_floats(l),
                                    (support->count + 31) / 32,
                                    after_forward(d),
                                    classes->absent == ABSENT_LEFT_OUT,
                                    *support,
                                    *query,
                                    logits,
                                    probs,
                                    loss,
                                    (float *)scratch};
    d->proto_noted = true;
}

/* Whether support and query are all the images of the pass: each task's first and last ones,
 * or, of stacked, the first half of its tasks and the second. */
static bool is_whole(const struct proto_args *a, const struct conv_args *conv)
{
    const struct features *s = &a->support, *q = &a->query;
    if (s->dout != conv->cache.dout || q->dout != s->dout || conv->count || s->batch.n != conv->n ||
        q->batch.n != conv->n || s->task != 0 || s->first != 0)
        return false;
    if (a->stacked)
        return conv->tasks == 2 * q->tasks && q->task == q->tasks && q->first == 0 &&
               s->count == conv->n && q->count == conv->n;
    return conv->tasks == q->tasks && q->task == 0 && q->first == s->count &&
           s->count + q->count == conv->n;
}

extern "C" bool cuda_proto_norm(struct device *d, const struct conv_args *conv)
{
    if (!d->proto_noted)
        return false;
    struct proto_args a = *d->proto;
    a.conv = *conv;
    a.stacked = a.query.task > 0;
    if (!is_whole(&a, conv) || !block_norm_fits(conv, PROTO_THREADS / teams(a)) ||
        !fits(d, &a, WITH_NORM))
        return false;
    launch(d, &a, WITH_NORM);
    return true;
}
