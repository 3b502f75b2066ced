/* pass.c - forward, backward and Hessian-vector products along the chain of layers.
 *
 * H v is forward-over-reverse (Pearlmutter 1994): every layer gives the tangent of
 * its forward pass, then of its backward pass, so no tape is needed.
 */
#include "net/pass.h"

static void *take(struct worker *worker, size_t bytes)
{
    return arena_take(&worker->mem, bytes);
}

void pass_take(struct pass *p, struct worker *worker, struct batch batch, void *x)
{
    const struct net *net = worker->net;
    const struct kernels *k = net->k;
    *p = (struct pass){
        .batch = batch, .norm.stat = net->bn == BN_RUNNING ? 0 : batch.n, .mean = true};
    p->x = x ? x : take(worker, k->input_bytes(&net->layer[0], &batch));
    for (int i = 0; i < net->layers; i++)
        p->cache[i] = take(worker, k->cache_bytes(&net->layer[i], &batch));
    size_t rows = (size_t)batch.tasks * (size_t)batch.n;
    p->probs = net->ways > 0 ? take(worker, rows * (size_t)net->ways * sizeof *p->probs) : NULL;
    p->loss = take(worker, (size_t)batch.tasks * sizeof *p->loss);
    size_t scratch = k->scratch_bytes(net->layer, net->layers, &batch);
    if (scratch > worker->scratch_bytes)
        worker->scratch_bytes = scratch;
}

void tangent_take(struct tangent *t, struct worker *worker, const struct batch *batch)
{
    for (int i = 0; i < worker->net->layers; i++)
        t->cache[i] = take(worker, worker->net->k->tangent_bytes(&worker->net->layer[i], batch));
}

struct vec vector_take(struct worker *worker, int tasks)
{
    size_t len = worker->net->len;
    return (struct vec){.at = take(worker, (size_t)tasks * len * worker->net->k->elem),
                        .stride = len};
}

/* What layer i of the pass reads. */
static void *input_of(const struct pass *p, const struct net *net, int i)
{
    return i == 0 ? p->x : net->k->out(&net->layer[i - 1], &p->batch, p->cache[i - 1]);
}

void pass_gather(struct pass *p, struct worker *worker, const struct images *from,
                 const int32_t *index)
{
    worker->net->k->gather(worker->dev, &worker->net->layer[0], &p->batch, from, index, p->x);
}

void pass_forward(struct pass *p, struct worker *worker, struct vec theta)
{
    const struct net *net = worker->net;
    for (int i = 0; i < net->layers; i++)
        net->k->forward(worker->dev, &net->layer[i], &p->batch, p->norm, input_of(p, net, i), theta,
                        p->cache[i], worker->scratch);
}

void pass_xent(struct pass *p, struct worker *worker)
{
    const struct net *net = worker->net;
    int last = net->layers - 1;
    net->k->xent(worker->dev, &net->layer[last], &p->batch, p->labels, p->mean, p->cache[last],
                 p->probs, p->loss);
}

/* Backward through all layers, with a step where one is given. */
static void layers_backward(struct pass *p, struct worker *worker, struct vec theta,
                            struct vec grad, const struct descent *step)
{
    const struct net *net = worker->net;
    const struct kernels *k = net->k;
    for (int i = net->layers - 1; i >= 0; i--) {
        const struct layer *l = &net->layer[i];
        void *dx = i == 0 ? NULL : k->dout(&net->layer[i - 1], &p->batch, p->cache[i - 1]);
        const void *x = input_of(p, net, i);
        if (step)
            k->backward_step(worker->dev, l, &p->batch, p->norm, x, theta, p->cache[i], dx, grad,
                             step, worker->scratch);
        else
            k->backward(worker->dev, l, &p->batch, p->norm, x, theta, p->cache[i], dx, grad,
                        worker->scratch);
    }
}

void pass_backward(struct pass *p, struct worker *worker, struct vec theta, struct vec grad)
{
    layers_backward(p, worker, theta, grad, NULL);
}

void pass_step(struct pass *p, struct worker *worker, struct vec theta, struct vec grad,
               const struct descent *step)
{
    const struct net *net = worker->net;
    int tasks = p->batch.tasks;
    if (net->k->backward_step) {
        layers_backward(p, worker, theta, grad, step);
        return;
    }
    layers_backward(p, worker, theta, grad, NULL);
    if (step->moved.at) {
        net->k->axpy(worker->dev, tasks, net->trained, step->moved, step->moved, step->rate, grad);
        net->k->axpy(worker->dev, tasks, net->trained, step->to, step->from, -1, step->moved);
    } else {
        net->k->axpy(worker->dev, tasks, net->trained, step->to, step->from, -step->rate, grad);
    }
}

static void forward_tangents(struct pass *p, struct worker *worker, struct tangent *t,
                             struct vec theta, struct vec v)
{
    const struct net *net = worker->net;
    const void *rx = NULL; /* the images have no tangent */
    for (int i = 0; i < net->layers; i++) {
        net->k->forward_tangent(worker->dev, &net->layer[i], &p->batch, p->norm,
                                input_of(p, net, i), rx, theta, v, p->cache[i], t->cache[i],
                                worker->scratch);
        rx = net->k->out(&net->layer[i], &p->batch, t->cache[i]);
    }
}

void pass_hvp(struct pass *p, struct worker *worker, struct tangent *t, struct vec theta,
              struct vec v, struct vec out)
{
    const struct net *net = worker->net;
    const struct kernels *k = net->k;
    int last = net->layers - 1;
    forward_tangents(p, worker, t, theta, v);
    k->xent_tangent(worker->dev, &net->layer[last], &p->batch, p->labels, p->mean, p->probs,
                    t->cache[last]);
    for (int i = last; i >= 0; i--) {
        const struct layer *before = i > 0 ? &net->layer[i - 1] : NULL;
        void *rdx = before ? k->dout(before, &p->batch, t->cache[i - 1]) : NULL;
        const void *rx = before ? k->out(before, &p->batch, t->cache[i - 1]) : NULL;
        k->backward_tangent(worker->dev, &net->layer[i], &p->batch, p->norm, input_of(p, net, i),
                            rx, theta, v, p->cache[i], t->cache[i], rdx, out, worker->scratch);
    }
}
