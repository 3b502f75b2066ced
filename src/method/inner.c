/* inner.c - the inner loop, and prediction by a net with a head. */
#include "method/inner.h"

void copy_statistics(struct worker *worker, int tasks, struct vec to, struct vec from)
{
    const struct net *net = worker->net;
    size_t tail = net->len - net->trained, skip = net->trained * net->k->elem;
    if (net->bn != BN_RUNNING || tail == 0)
        return;
    struct vec a = to, b = from;
    a.at = (char *)to.at + skip;
    b.at = (char *)from.at + skip;
    net->k->axpy(worker->dev, tasks, tail, a, b, 0, b);
}

/* Whether new weights may overwrite those of the pass. */
static bool step_in_place(const struct kernels *k)
{
    return !k->backward_step;
}

void inner_loop_take(struct inner_loop *w, struct worker *worker, const struct inner *s,
                     struct batch batch, int steps, bool keep, bool shuffled, struct vec theta)
{
    if (shuffled && s->batch > 0)
        batch = (struct batch){batch.tasks, s->batch, NULL};
    w->moved = (struct vec){0};
    w->keep = keep;
    w->shuffled = shuffled;
    w->theta[0] = theta;
    w->weights = keep ? steps : step_in_place(worker->net->k) ? 1 : 2;
    w->grad = vector_take(worker, batch.tasks);
    w->start = theta;
    if (s->prox > 0)
        w->apart = vector_take(worker, batch.tasks);
    w->adam_steps = 0;
    if (s->optimiser == 1) {
        w->m = vector_take(worker, batch.tasks);
        w->v = vector_take(worker, batch.tasks);
        w->change = vector_take(worker, batch.tasks);
    }
    for (int i = 0; i < steps; i++) {
        if (i == 0 || keep) {
            pass_take(&w->pass[i], worker, batch, i > 0 && !shuffled ? w->pass[0].x : NULL);
            w->pass[i].mean = s->loss == 0;
            w->pass[i].norm.no_tangents = !keep;
        } else {
            w->pass[i] = w->pass[0];
        }
        w->theta[i + 1] =
            i < w->weights ? vector_take(worker, batch.tasks) : w->theta[i + 1 - w->weights];
    }
}

/* theta(i+1) = theta(i) - lr (grad + prox (theta(i) - theta(0))) */
static void tethered_step(struct inner_loop *w, struct worker *worker, const struct inner *s, int i)
{
    const struct kernels *k = worker->net->k;
    struct pass *p = &w->pass[i];
    size_t len = worker->net->trained;
    int tasks = p->batch.tasks;
    pass_backward(p, worker, w->theta[i], w->grad);
    k->axpy(worker->dev, tasks, len, w->apart, w->theta[i], -1, w->start);
    k->axpy(worker->dev, tasks, len, w->grad, w->grad, s->prox, w->apart);
    k->axpy(worker->dev, tasks, len, w->theta[i + 1], w->theta[i], -s->lr, w->grad);
}

/* One task at a time (inner_host_only): theta(i+1) = theta(i) + change, of Adam; `moved` as below.
 */
static void adam_step(struct inner_loop *w, struct worker *worker, const struct inner *s, int i)
{
    const struct kernels *k = worker->net->k;
    size_t len = worker->net->trained, bytes = worker->net->len * k->elem;
    struct adam adam = {s->lr, s->beta1, 0.999, s->eps};
    struct adam_rates now = adam_rates(&adam, w->adam_steps + 1);
    struct vec theta = w->theta[i];
    pass_backward(&w->pass[i], worker, theta, w->grad);
    if (s->prox > 0 && w->moved.at) {
        k->axpy(worker->dev, 1, len, w->grad, w->grad, -s->prox, w->moved);
    } else if (s->prox > 0) {
        k->axpy(worker->dev, 1, len, w->apart, theta, -1, w->start);
        k->axpy(worker->dev, 1, len, w->grad, w->grad, s->prox, w->apart);
    }
    if (w->adam_steps++ == 0) {
        k->zero(worker->dev, w->m.at, bytes);
        k->zero(worker->dev, w->v.at, bytes);
    }
    k->zero(worker->dev, w->change.at, bytes);
    k->adam(worker->dev, 0, len, w->change.at, w->m.at, w->v.at, w->grad.at, 1, &adam, &now);
    if (w->moved.at) {
        k->axpy(worker->dev, 1, len, w->moved, w->moved, -1, w->change);
        k->axpy(worker->dev, 1, len, w->theta[i + 1], w->theta[0], -1, w->moved);
    } else {
        k->axpy(worker->dev, 1, len, w->theta[i + 1], theta, 1, w->change);
    }
}

/* theta(i+1) = theta(i) - lr grad; where the way walked is wanted, it is summed up
 * apart and theta(i+1) = theta(0) - moved. */
static void step_weights(struct inner_loop *w, struct worker *worker, const struct inner *s, int i)
{
    struct pass *p = &w->pass[i];
    struct vec from = w->theta[w->moved.at ? 0 : i], to = w->theta[i + 1];
    bool plain = s->optimiser == 0;
    if (plain && s->prox > 0 && w->moved.at) /* theta(i) - theta(0) = -moved */
        worker->net->k->axpy(worker->dev, p->batch.tasks, worker->net->trained, w->moved, w->moved,
                             -s->lr * s->prox, w->moved);
    if (!plain)
        adam_step(w, worker, s, i);
    else if (s->prox > 0 && !w->moved.at)
        tethered_step(w, worker, s, i);
    else
        pass_step(p, worker, w->theta[i], w->grad, &(struct descent){to, from, w->moved, s->lr});
    if (i < w->weights)
        copy_statistics(worker, p->batch.tasks, to, w->theta[i]);
}

/* Step i, of images that are there. */
static void take_step(struct inner_loop *w, struct worker *worker, const struct inner *s, int i)
{
    pass_forward(&w->pass[i], worker, w->theta[i]);
    pass_xent(&w->pass[i], worker);
    step_weights(w, worker, s, i);
}

void inner_loop_run(struct inner_loop *w, struct worker *worker, const struct inner *s, int steps,
                    const struct images *images)
{
    for (int i = 0; i < steps; i++) {
        struct pass *p = &w->pass[i];
        int tasks = p->batch.tasks;
        size_t offset = w->shuffled ? (size_t)i * (size_t)tasks * (size_t)p->batch.n : 0;
        p->labels = w->label + offset;
        if (i == 0 || w->shuffled)
            pass_gather(p, worker, images, w->index + offset);
        take_step(w, worker, s, i);
    }
}

const char *inner_host_only(const struct inner *s)
{
    return s->prox > 0 ? "inner.prox" : s->optimiser == 1 ? "inner.optimiser=adam" : NULL;
}

struct shuffle inner_shuffled(const struct inner *s, bool both)
{
    return s->batching == 1 ? (struct shuffle){s->steps, s->batch, both} : (struct shuffle){0};
}

double inner_batch(const struct inner *s, double labels)
{
    return s->batching == 1 && s->batch > 0 ? s->batch : labels;
}

const char *inner_unfit(const struct inner *s)
{
    return s->batch > 0 && s->batching != 1
               ? "inner.batch is the size of shuffled batches: set inner.batching=shuffled"
               : NULL;
}

void inner_adapt(const struct inner *s, struct worker *worker, const struct task_batch *f,
                 struct vec theta, struct vec adapted)
{
    const struct net *net = worker->net;
    int tasks = f->support.tasks;
    struct inner test = *s;
    struct inner_loop w;
    inner_loop_take(&w, worker, &test, f->support, 1, false, false, theta);
    if (!worker->mem.base)
        return;
    net->k->axpy(worker->dev, tasks, net->len, adapted, theta, 0, theta);
    struct vec turns[2] = {adapted, step_in_place(net->k) ? adapted : w.theta[1]};
    int steps = f->support.n > 0 ? s->test_steps : 0;
    w.index = f->support_index;
    w.label = f->support_label;
    for (int i = 0; i < steps; i++) {
        w.theta[0] = turns[i % 2];
        w.theta[1] = turns[(i + 1) % 2];
        if (i == 0)
            inner_loop_run(&w, worker, &test, 1, f->images);
        else
            take_step(&w, worker, &test, 0);
    }
    if (steps % 2 == 1 && !step_in_place(net->k))
        net->k->axpy(worker->dev, tasks, net->len, adapted, turns[1], 0, turns[1]);
}

int query_pass_take(struct pass *p, struct worker *worker, const struct task_batch *f)
{
    bool joint = worker->net->bn == BN_SUPPORT && f->support.n > 0;
    pass_take(p, worker, joint ? f->both : f->query, NULL);
    p->norm.no_tangents = true;
    if (joint)
        p->norm.stat = f->support.n;
    p->labels = joint ? f->both_query_label : f->query_label;
    return joint ? f->support.n : 0;
}

void query_pass_forward(struct pass *p, struct worker *worker, const struct task_batch *f,
                        struct vec theta)
{
    bool joint = p->labels == f->both_query_label;
    pass_gather(p, worker, f->images, joint ? f->both_index : f->query_index);
    pass_forward(p, worker, theta);
    pass_xent(p, worker);
}

void head_take(struct prediction *out, struct worker *worker, const struct task_batch *f)
{
    int first = query_pass_take(&out->pass, worker, f);
    *out = (struct prediction){true, out->pass, first, out->pass.probs, NULL, out->pass.loss};
}

void head_predict(struct worker *worker, const struct task_batch *f, struct vec adapted,
                  struct prediction *out)
{
    head_take(out, worker, f);
    if (worker->mem.base)
        query_pass_forward(&out->pass, worker, f, adapted);
}
