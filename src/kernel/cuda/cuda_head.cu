/* cuda_head.cu - a net's last dense layer, its loss and the way back in one launch. */
#include "cuda_dense.cuh"
#include "cuda_last.h"
#include "cuda_xent.cuh"

enum {
    HEAD_WARPS = 16,
    HEAD_THREADS = HEAD_WARPS * 32,
    HEAD_MOST = 1024 /* logits of a task that one block works through: twice 20 ways, one shot */
};

/* A block per task. */
template <bool TANGENT>
static __global__ void __launch_bounds__(HEAD_THREADS)
    head_kernel(const __grid_constant__ struct head_args a)
{
    const struct dense_args &k = a.dense;
    wait_for_previous();
    int task = blockIdx.x, n = k.count ? k.count[task] : k.n;
    for (int i0 = 0, at = threadIdx.x / 32; i0 < n; i0 += ROWS, at -= k.out_c)
        for (; at < k.out_c; at += HEAD_WARPS)
            dense_unit<TANGENT>(k, task, n, i0, at);
    __syncthreads();
    if (TANGENT)
        xent_tangent_task<HEAD_WARPS>(a.xent, task);
    else
        xent_task<HEAD_WARPS>(a.xent, task);
    if (!a.backward)
        return;
    __syncthreads();
    for (int at = threadIdx.x; at < (k.out + n) * (k.in / 4); at += HEAD_THREADS)
        dense_quad<TANGENT>(k, task, n, at);
}

static void launch_head(struct device *d, struct head *h)
{
    cuda_launch(d, h->tangent ? (const void *)head_kernel<true> : (const void *)head_kernel<false>,
                (struct grid){.x = (unsigned)h->tasks, .threads = HEAD_THREADS}, &h->args, "head");
}

/* Forgets what is noted, and returns it. */
static struct head take(struct device *d)
{
    struct head h = *d->head;
    d->head->noted = head::HEAD_NONE;
    return h;
}

extern "C" void cuda_head_flush(struct device *d)
{
    if (d->head->noted == head::HEAD_NONE)
        return;
    struct head h = take(d);
    if (h.noted == head::HEAD_FORWARD)
        cuda_dense_launch(d, &h.args.dense, h.tasks, h.tangent);
    else
        launch_head(d, &h);
}

/* Small heads: one block works through a task's. */
extern "C" bool cuda_head_forward(struct device *d, const struct dense_args *a, int tasks,
                                  bool tangent)
{
    if (!cuda_last_makes(d, a->x)) /* they may be one launch yet */
        cuda_flush(d);
    if (a->relu || a->n * a->out_c > HEAD_MOST || d->error)
        return false;
    *d->head = (struct head){head::HEAD_FORWARD, tangent, tasks, {*a}};
    return true;
}

extern "C" bool cuda_head_loss(struct device *d, const struct xent_args *a, bool tangent)
{
    struct head *h = d->head;
    const struct cache *c = tangent ? &h->args.dense.tangent : &h->args.dense.cache;
    if (h->noted != head::HEAD_FORWARD || h->tangent != tangent || c->out != a->out ||
        h->args.dense.n != a->n)
        return false;
    h->args.xent = *a;
    h->noted = head::HEAD_LOSS;
    return true;
}

extern "C" bool cuda_head_backward(struct device *d, const struct dense_args *a, bool tangent)
{
    struct head *h = d->head;
    const struct dense_args *k = &h->args.dense;
    if (h->noted != head::HEAD_LOSS || h->tangent != tangent || k->cache.out != a->cache.out ||
        k->x != a->x || k->rx != a->rx || k->theta.at != a->theta.at || k->v.at != a->v.at)
        return false;
    h->args.dense = *a;
    h->args.backward = true;
    h->noted = head::HEAD_BACKWARD;
    return true;
}

extern "C" bool cuda_head_norm(struct device *d, const struct conv_args *a)
{
    if (d->head->noted != head::HEAD_BACKWARD || d->head->tangent)
        return false;
    struct head all = take(d);
    if (cuda_fused_head(d, &all.args, all.tasks, a))
        return true;
    *d->head = all;
    return false;
}
