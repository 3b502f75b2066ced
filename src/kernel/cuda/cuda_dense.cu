/* cuda_dense.cu - dense layers in launches of their own. */
#include "cuda_dense.cuh"

/* A warp per output unit; blockIdx = (units / WARPS, images / ROWS, task). */
template <bool TANGENT>
static __global__ void __launch_bounds__(THREADS)
    dense_forward_kernel(const __grid_constant__ struct dense_args a)
{
    wait_for_previous();
    int task = blockIdx.z, n = a.count ? a.count[task] : a.n;
    dense_unit<TANGENT>(a, task, n, blockIdx.y * ROWS, blockIdx.x * WARPS + threadIdx.x / 32);
}

/* A thread per four columns; blockIdx = (rows x columns, task). */
template <bool TANGENT>
static __global__ void __launch_bounds__(THREADS)
    dense_backward_kernel(const __grid_constant__ struct dense_args a)
{
    wait_for_previous();
    int task = blockIdx.y, n = a.count ? a.count[task] : a.n;
    dense_quad<TANGENT>(a, task, n, blockIdx.x * THREADS + threadIdx.x);
}

static struct dense_args dense_args_of(const struct layer_call *c)
{
    struct dense_args a = {};
    a.n = c->b->n;
    a.in = (int)in_floats(c->l);
    a.out = c->l->out_c;
    a.out_c = channels(c->l->out_c);
    a.relu = c->l->relu;
    a.count = c->b->count;
    a.x = c->x;
    a.rx = c->rx;
    a.theta = c->theta;
    a.v = c->v;
    a.sink = c->sink;
    a.weight = c->l->offset[TENSOR_WEIGHT];
    a.bias = c->l->offset[TENSOR_BIAS];
    a.cache = c->cache;
    a.tangent = c->tangent;
    a.dx = c->dx;
    return a;
}

extern "C" void cuda_dense_launch(struct device *d, const struct dense_args *given, int tasks,
                                  bool tangent)
{
    struct dense_args a = *given;
    struct grid g = {.x = (unsigned)(a.out_c + WARPS - 1) / WARPS,
                     .y = (unsigned)(a.n + ROWS - 1) / ROWS,
                     .z = (unsigned)tasks,
                     .threads = THREADS};
    cuda_launch(d,
                tangent ? (const void *)dense_forward_kernel<true>
                        : (const void *)dense_forward_kernel<false>,
                g, &a, "dense forward");
}

extern "C" void cuda_dense_forward(struct device *d, const struct layer_call *c)
{
    struct dense_args a = dense_args_of(c);
    if (!cuda_head_forward(d, &a, c->b->tasks, c->v.at != NULL))
        cuda_dense_launch(d, &a, c->b->tasks, c->v.at != NULL);
}

extern "C" void cuda_dense_backward(struct device *d, const struct layer_call *c)
{
    struct dense_args a = dense_args_of(c);
    int rows = a.out + (c->dx ? a.n : 0);
    if (cuda_head_backward(d, &a, c->v.at != NULL))
        return;
    struct grid g = {.x = (unsigned)(rows * (a.in / 4) + THREADS - 1) / THREADS,
                     .y = (unsigned)c->b->tasks,
                     .threads = THREADS};
    cuda_launch(d,
                c->v.at ? (const void *)dense_backward_kernel<true>
                        : (const void *)dense_backward_kernel<false>,
                g, &a, "dense backward");
}
