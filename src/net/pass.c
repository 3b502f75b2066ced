/* pass.c - forward, backward and Hessian-vector products along the chain of layers.
 *
 * H v is forward-over-reverse (Pearlmutter 1994): every layer gives the tangent of
 * its forward pass, then of its backward pass, so no tape is needed.
 */
#include "net/pass.h"

static void *take(struct lane *lane, size_t bytes)
{
    return arena_take(&lane->mem, bytes);
}

void pass_take(struct pass *p, struct lane *lane, struct batch batch, void *x)
{
    const struct net *net = lane->net;
    const struct kernels *k = net->k;
    *p = (struct pass){
        .batch = batch, .norm.stat = net->bn == BN_RUNNING ? 0 : batch.n, .mean = true};
    p->x = x ? x : take(lane, k->input_bytes(&net->layer[0], &batch));
    for (int i = 0; i < net->layers; i++)
        p->cache[i] = take(lane, k->cache_bytes(&net->layer[i], &batch));
    size_t rows = (size_t)batch.tasks * (size_t)batch.n;
    p->probs = net->ways > 0 ? take(lane, rows * (size_t)net->ways * sizeof *p->probs) : NULL;
    p->loss = take(lane, (size_t)batch.tasks * sizeof *p->loss);
    size_t scratch = k->scratch_bytes(net->layer, net->layers, &batch);
    if (scratch > lane->scratch_bytes)
        lane->scratch_bytes = scratch;
}

void tangent_take(struct tangent *t, struct lane *lane, const struct batch *batch)
{
    for (int i = 0; i < lane->net->layers; i++)
        t->cache[i] = take(lane, lane->net->k->tangent_bytes(&lane->net->layer[i], batch));
}

struct vec vector_take(struct lane *lane, int tasks)
{
    size_t len = lane->net->len;
    return (struct vec){.at = take(lane, (size_t)tasks * len * lane->net->k->elem), .stride = len};
}

/* What layer i of the pass reads. */
static void *input_of(const struct pass *p, const struct net *net, int i)
{
    return i == 0 ? p->x : net->k->out(&net->layer[i - 1], &p->batch, p->cache[i - 1]);
}

void pass_gather(struct pass *p, struct lane *lane, const struct images *from, const int32_t *index)
{
    lane->net->k->gather(lane->dev, &lane->net->layer[0], &p->batch, from, index, p->x);
}

void pass_forward(struct pass *p, struct lane *lane, struct vec theta)
{
    const struct net *net = lane->net;
    for (int i = 0; i < net->layers; i++)
        net->k->forward(lane->dev, &net->layer[i], &p->batch, p->norm, input_of(p, net, i), theta,
                        p->cache[i], lane->scratch);
}

void pass_xent(struct pass *p, struct lane *lane)
{
    const struct net *net = lane->net;
    int last = net->layers - 1;
    net->k->xent(lane->dev, &net->layer[last], &p->batch, p->labels, p->mean, p->cache[last],
                 p->probs, p->loss);
}

/* Backward through all layers, with a step where one is given. */
static void walk_back(struct pass *p, struct lane *lane, struct vec theta, struct vec grad,
                      const struct descent *step)
{
    const struct net *net = lane->net;
    const struct kernels *k = net->k;
    for (int i = net->layers - 1; i >= 0; i--) {
        const struct layer *l = &net->layer[i];
        void *dx = i == 0 ? NULL : k->dout(&net->layer[i - 1], &p->batch, p->cache[i - 1]);
        const void *x = input_of(p, net, i);
        if (step)
            k->backward_step(lane->dev, l, &p->batch, p->norm, x, theta, p->cache[i], dx, grad,
                             step, lane->scratch);
        else
            k->backward(lane->dev, l, &p->batch, p->norm, x, theta, p->cache[i], dx, grad,
                        lane->scratch);
    }
}

void pass_backward(struct pass *p, struct lane *lane, struct vec theta, struct vec grad)
{
    walk_back(p, lane, theta, grad, NULL);
}

void pass_step(struct pass *p, struct lane *lane, struct vec theta, struct vec grad,
               const struct descent *step)
{
    const struct net *net = lane->net;
    int tasks = p->batch.tasks;
    if (net->k->backward_step) {
        walk_back(p, lane, theta, grad, step);
        return;
    }
    walk_back(p, lane, theta, grad, NULL);
    if (step->moved.at) {
        net->k->axpy(lane->dev, tasks, net->trained, step->moved, step->moved, step->rate, grad);
        net->k->axpy(lane->dev, tasks, net->trained, step->to, step->from, -1, step->moved);
    } else {
        net->k->axpy(lane->dev, tasks, net->trained, step->to, step->from, -step->rate, grad);
    }
}

static void forward_tangents(struct pass *p, struct lane *lane, struct tangent *t, struct vec theta,
                             struct vec v)
{
    const struct net *net = lane->net;
    const void *rx = NULL; /* the images have no tangent */
    for (int i = 0; i < net->layers; i++) {
        net->k->forward_tangent(lane->dev, &net->layer[i], &p->batch, p->norm, input_of(p, net, i),
                                rx, theta, v, p->cache[i], t->cache[i], lane->scratch);
        rx = net->k->out(&net->layer[i], &p->batch, t->cache[i]);
    }
}

void pass_hvp(struct pass *p, struct lane *lane, struct tangent *t, struct vec theta, struct vec v,
              struct vec out)
{
    const struct net *net = lane->net;
    const struct kernels *k = net->k;
    int last = net->layers - 1;
    forward_tangents(p, lane, t, theta, v);
    k->xent_tangent(lane->dev, &net->layer[last], &p->batch, p->labels, p->mean, p->probs,
                    t->cache[last]);
    for (int i = last; i >= 0; i--) {
        const struct layer *before = i > 0 ? &net->layer[i - 1] : NULL;
        void *rdx = before ? k->dout(before, &p->batch, t->cache[i - 1]) : NULL;
        const void *rx = before ? k->out(before, &p->batch, t->cache[i - 1]) : NULL;
        k->backward_tangent(lane->dev, &net->layer[i], &p->batch, p->norm, input_of(p, net, i), rx,
                            theta, v, p->cache[i], t->cache[i], rdx, out, lane->scratch);
    }
}
