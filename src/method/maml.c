/* maml.c - model-agnostic meta-learning (Finn et al. 2017).
 *
 * The inner loop takes inner.steps gradient steps on the support; the outer loop
 * differentiates the query's loss through them.  theta(s+1) = theta(s) - lr g(theta(s)),
 * so the meta-gradient is v <- v - lr H(theta(s)) v, walked back from the query's
 * gradient: exact, by Hessian-vector products, without a tape.  With inner.prox every step but the
 * first also takes lr prox (theta(s) - theta(0)), so that v <- v - lr H v - lr prox v, and what v
 * lost that way flows to theta(0) at once.  With first_order the
 * second derivatives are dropped (FOMAML).
 *
 * Defaults: the paper's appendix C.2 (5 steps of 0.01, 10 at test time).
 */
#include "method/inner.h"

struct maml {
    struct inner inner;
    bool first_order;
    int absent; /* enum absent */
};

static const struct param params[] = {
    PARAM_BOOL_ROW(struct maml, first_order, "first_order", 1, "drop second derivatives (FOMAML)"),
    PARAM_CHOICE_ROW(struct maml, absent, "absent", "origin|left-out", ABSENT_LEFT_OUT,
                     "a class without support: its query points are in the training loss like any "
                     "others (origin, as the same setting of ProtoNets), or left out of it"),
    INNER_PARAMS(struct maml, 5, 0.01, 10),
    {0},
};

static void maml_meta_grad(const struct method *m, struct worker *worker,
                           const struct task_batch *f, int ways, struct vec theta, struct vec grad,
                           struct prediction *out)
{
    const struct maml *s = m->state;
    const struct net *net = worker->net;
    int steps = s->inner.steps, tasks = f->support.tasks;
    bool second = !s->first_order, shuffled = s->inner.batching == 1;
    struct inner_loop w;
    struct pass query;
    struct tangent tangent;
    struct vec hv = {0}, tether = {0};
    double prox = s->inner.lr * s->inner.prox;
    (void)ways;
    inner_loop_take(&w, worker, &s->inner, f->support, steps, second, shuffled, theta);
    int first = query_pass_take(&query, worker, f);
    if (second) {
        tangent_take(&tangent, worker, &f->support);
        hv = vector_take(worker, tasks);
        tether = prox > 0 ? vector_take(worker, tasks) : hv;
    }
    *out = (struct prediction){out->wanted, query, first, query.probs, NULL, query.loss};
    if (!worker->mem.base)
        return;

    w.index = shuffled ? f->inner_index : f->support_index;
    w.label = shuffled ? f->inner_label : f->support_label;
    inner_loop_run(&w, worker, &s->inner, steps, f->images);
    query_pass_forward(&query, worker, f, w.theta[steps]);
    pass_backward(&query, worker, w.theta[steps], grad);
    if (second && prox > 0)
        net->k->zero(worker->dev, tether.at, (size_t)tasks * net->len * net->k->elem);
    for (int i = steps - 1; second && i >= 0; i--) {
        pass_hvp(&w.pass[i], worker, &tangent, w.theta[i], grad, hv);
        if (prox > 0 && i > 0) {
            net->k->axpy(worker->dev, tasks, net->trained, tether, tether, prox, grad);
            net->k->axpy(worker->dev, tasks, net->trained, grad, grad, -prox, grad);
        }
        net->k->axpy(worker->dev, tasks, net->trained, grad, grad, -s->inner.lr, hv);
    }
    if (second && prox > 0)
        net->k->axpy(worker->dev, tasks, net->trained, grad, grad, 1, tether);
}

static void maml_adapt(const struct method *m, struct worker *worker, const struct task_batch *f,
                       struct vec theta, struct vec adapted)
{
    inner_adapt(&((const struct maml *)m->state)->inner, worker, f, theta, adapted);
}

static void maml_predict(const struct method *m, struct worker *worker, const struct task_batch *f,
                         int ways, struct vec adapted, struct prediction *out)
{
    (void)m;
    (void)ways;
    head_predict(worker, f, adapted, out);
}

static void maml_cost(const struct method *m, const struct batch_shape *shape, double *both,
                      double *hvp)
{
    const struct maml *s = m->state;
    *both = (double)s->inner.steps * shape->support + shape->query;
    *hvp = s->first_order ? 0 : (double)s->inner.steps * shape->support;
}

static const char *maml_host_only(const struct method *m)
{
    return inner_host_only(&((const struct maml *)m->state)->inner);
}

static bool maml_leaves_out(const struct method *m)
{
    return ((const struct maml *)m->state)->absent == ABSENT_LEFT_OUT;
}

static int maml_shuffled(const struct method *m, bool *both)
{
    const struct maml *s = m->state;
    *both = false;
    return s->inner.batching == 1 ? s->inner.steps : 0;
}

const struct method_ops method_maml = {
    .name = "maml",
    .summary = "model-agnostic meta-learning, first or second order (Finn et al. 2017)",
    .state_size = sizeof(struct maml),
    .params = params,
    .head = true,
    .outer = OUTER_ADAM,
    .outer_lr = 0.005,
    .meta_grad = maml_meta_grad,
    .adapt = maml_adapt,
    .predict = maml_predict,
    .cost = maml_cost,
    .shuffled = maml_shuffled,
    .leaves_out = maml_leaves_out,
    .host_only = maml_host_only,
};
