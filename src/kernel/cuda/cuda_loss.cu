/* cuda_loss.cu - softmax cross-entropy and the prototypical loss: a block per task,
 * logits and sums in double. */
#include "cuda_tile.cuh"

/* ---- shared by both losses ---- */

static __device__ __forceinline__ double warp_sum(double v)
{
    for (int step = 16; step > 0; step /= 2)
        v += __shfl_xor_sync(~0u, v, step);
    return v;
}

static __device__ __forceinline__ double warp_max(double v)
{
    for (int step = 16; step > 0; step /= 2)
        v = fmax(v, __shfl_xor_sync(~0u, v, step));
    return v;
}

/* 1 / (labelled images) for a mean, else 1.  The whole block asks. */
static __device__ double image_weight(int n, const int32_t *labels, bool mean)
{
    int labelled = 0;
    for (int i = 0; i < n; i += THREADS)
        labelled += __syncthreads_count(i + (int)threadIdx.x < n && labels[i + threadIdx.x] >= 0);
    return mean && labelled > 0 ? 1.0 / labelled : 1;
}

/* log sum exp of a warp's row of logits, read by `ways` lanes at a time. */
template <typename REAL> static __device__ double log_sum_exp(int ways, const REAL *logits)
{
    int lane = threadIdx.x % 32;
    double top = -INFINITY, sum = 0;
    for (int j = lane; j < ways; j += 32)
        top = fmax(top, (double)logits[j]);
    top = warp_max(top);
    for (int j = lane; j < ways; j += 32)
        sum += exp(logits[j] - top);
    return top + log(warp_sum(sum));
}

/* Adds the warps' losses in their order; `own` is the same in all lanes of a warp. */
static __device__ void put_loss(double own, double weight, float *loss)
{
    __shared__ double warps[WARPS];
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = own;
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    double sum = 0;
    for (int w = 0; w < WARPS; w++)
        sum += warps[w];
    *loss = (float)(weight * sum);
}

/* ---- cross-entropy ---- */

struct xent_args {
    int n, ways, padded;
    const int32_t *count, *labels;
    bool mean;
    const float *out;
    float *dout, *probs, *loss;
};

/* A warp per image. */
static __global__ void __launch_bounds__(THREADS)
    xent_kernel(const __grid_constant__ struct xent_args a)
{
    int task = blockIdx.x, lane = threadIdx.x % 32;
    wait_for_previous();
    int n = a.count ? a.count[task] : a.n;
    const int32_t *labels = a.labels + (size_t)task * a.n;
    double weight = image_weight(n, labels, a.mean), sum = 0;
    for (int i = threadIdx.x / 32; i < n; i += WARPS) {
        size_t row = (size_t)task * a.n + i;
        const float *logits = a.out + row * a.padded;
        int y = labels[i];
        double lse = log_sum_exp(a.ways, logits);
        for (int j = lane; j < a.padded; j += 32) {
            double p = j < a.ways ? exp(logits[j] - lse) : 0;
            if (j < a.ways)
                a.probs[row * a.ways + j] = (float)p;
            a.dout[row * a.padded + j] = y < 0 ? 0 : (float)(weight * (p - (j == y)));
        }
        sum += y < 0 ? 0 : lse - logits[y];
    }
    put_loss(sum, weight, a.loss + task);
}

/* out and dout are those of the tangent. */
static __global__ void __launch_bounds__(THREADS)
    xent_tangent_kernel(const __grid_constant__ struct xent_args a)
{
    int task = blockIdx.x, lane = threadIdx.x % 32;
    wait_for_previous();
    int n = a.count ? a.count[task] : a.n;
    const int32_t *labels = a.labels + (size_t)task * a.n;
    double weight = image_weight(n, labels, a.mean);
    for (int i = threadIdx.x / 32; i < n; i += WARPS) {
        size_t row = (size_t)task * a.n + i;
        const float *p = a.probs + row * a.ways, *r = a.out + row * a.padded;
        double mean = 0;
        for (int j = lane; j < a.ways; j += 32)
            mean += p[j] * (double)r[j];
        mean = warp_sum(mean);
        for (int j = lane; j < a.padded; j += 32)
            a.dout[row * a.padded + j] =
                labels[i] < 0 || j >= a.ways ? 0 : (float)(weight * p[j] * (r[j] - mean));
    }
}

static struct xent_args xent_args_of(const struct layer *l, const struct batch *b,
                                     const int32_t *labels, bool mean, struct cache c)
{
    struct xent_args a = {};
    a.n = b->n;
    a.ways = l->out_c;
    a.padded = channels(l->out_c);
    a.count = b->count;
    a.labels = labels;
    a.mean = mean;
    a.out = c.out;
    a.dout = c.dout;
    return a;
}

extern "C" void cuda_xent(struct device *d, const struct layer *l, const struct batch *b,
                          const int32_t *labels, bool mean, void *cache, float *probs, float *loss)
{
    struct xent_args a = xent_args_of(l, b, labels, mean, cuda_cache(l, b, cache));
    a.probs = probs;
    a.loss = loss;
    cuda_launch(d, (const void *)xent_kernel,
                (struct grid){.x = (unsigned)b->tasks, .threads = THREADS}, &a, "xent");
}

extern "C" void cuda_xent_tangent(struct device *d, const struct layer *l, const struct batch *b,
                                  const int32_t *labels, bool mean, const float *probs,
                                  void *tangent)
{
    struct xent_args a = xent_args_of(l, b, labels, mean, cuda_cache(l, b, tangent));
    a.probs = (float *)probs;
    cuda_launch(d, (const void *)xent_tangent_kernel,
                (struct grid){.x = (unsigned)b->tasks, .threads = THREADS}, &a, "xent_tangent");
}
