/* cuda_loss.cu - softmax cross-entropy in a launch of its own: a block per task. */
#include "cuda_xent.cuh"

static __global__ void __launch_bounds__(THREADS)
    xent_kernel(const __grid_constant__ struct xent_args a)
{
    wait_for_previous();
    xent_task<WARPS>(a, blockIdx.x);
}

static __global__ void __launch_bounds__(THREADS)
    xent_tangent_kernel(const __grid_constant__ struct xent_args a)
{
    wait_for_previous();
    xent_tangent_task<WARPS>(a, blockIdx.x);
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
    if (cuda_head_loss(d, &a, false))
        return;
    cuda_launch(d, (const void *)xent_kernel,
                (struct grid){.x = (unsigned)b->tasks, .threads = THREADS}, &a, "xent");
}

extern "C" void cuda_xent_tangent(struct device *d, const struct layer *l, const struct batch *b,
                                  const int32_t *labels, bool mean, const float *probs,
                                  void *tangent)
{
    struct xent_args a = xent_args_of(l, b, labels, mean, cuda_cache(l, b, tangent));
    a.probs = (float *)probs;
    if (cuda_head_loss(d, &a, true))
        return;
    cuda_launch(d, (const void *)xent_tangent_kernel,
                (struct grid){.x = (unsigned)b->tasks, .threads = THREADS}, &a, "xent_tangent");
}
