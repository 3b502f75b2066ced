/* reptile.c - Reptile (Nichol et al. 2018) and FedAvg (McMahan et al. 2017).
 *
 * Both train on a task's support and query together, and their "gradient" is the
 * way back: theta0 - thetaT, summed up step by step (the difference of two nearly
 * equal vectors would lose the digits of a small inner.lr).  They differ only at test time: Reptile
 * fine-tunes on the support, FedAvg does not (the paper, section 3.3).
 *
 * Defaults: the paper's appendix C.2 (10 steps of 0.001, 50 at test time).
 */
#include "method/inner.h"

struct reptile {
    struct inner inner;
};

static const struct param params[] = {
    INNER_PARAMS(struct reptile, 10, 0.001, 50, INNER_TEST_STEPS),
    {0},
};

/* FedAvg has no use for test.steps.  It keeps the row because ids of runs and models hold it, and
 * because a suite may set it for FedAvg and Reptile at once; method_uses refuses it elsewhere. */
static const struct param fedavg_params[] = {
    INNER_PARAMS(struct reptile, 10, 0.001, 50,
                 "not used: FedAvg does not adapt at test time (Reptile does)"),
    {0},
};

static void reptile_meta_grad(const struct method *m, struct worker *worker,
                              const struct task_batch *f, int ways, struct vec theta,
                              struct vec grad, struct prediction *out)
{
    const struct reptile *s = m->state;
    const struct net *net = worker->net;
    int steps = s->inner.steps, tasks = f->both.tasks;
    bool shuffled = s->inner.batching == 1;
    struct inner_loop w;
    (void)ways;
    inner_loop_take(&w, worker, &s->inner, f->both, steps, false, shuffled, theta);
    bool predict = out->wanted;
    *out = (struct prediction){.loss = w.pass[0].loss};
    if (predict)
        head_take(out, worker, f);
    if (!worker->mem.base)
        return;

    w.index = shuffled ? f->inner_index : f->both_index;
    w.label = shuffled ? f->inner_label : f->both_label;
    w.moved = grad;
    net->k->zero(worker->dev, grad.at, (size_t)tasks * net->len * net->k->elem);
    inner_loop_run(&w, worker, &s->inner, steps, f->images);
    copy_statistics(worker, tasks, grad, w.grad); /* running averages follow the last step */
    if (predict)
        query_pass_forward(&out->pass, worker, f, w.theta[steps]);
}

static void reptile_adapt(const struct method *m, struct worker *worker, const struct task_batch *f,
                          struct vec theta, struct vec adapted)
{
    inner_adapt(&((const struct reptile *)m->state)->inner, worker, f, theta, adapted);
}

static void reptile_predict(const struct method *m, struct worker *worker,
                            const struct task_batch *f, int ways, struct vec adapted,
                            struct prediction *out)
{
    (void)m;
    (void)ways;
    head_predict(worker, f, adapted, out);
}

static void reptile_cost(const struct method *m, const struct batch_shape *shape, double *both,
                         double *hvp)
{
    const struct reptile *s = m->state;
    *both = s->inner.steps * inner_batch(&s->inner, shape->support + shape->query);
    *hvp = 0;
}

static const char *reptile_host_only(const struct method *m)
{
    return inner_host_only(&((const struct reptile *)m->state)->inner);
}

static struct shuffle reptile_shuffled(const struct method *m)
{
    return inner_shuffled(&((const struct reptile *)m->state)->inner, true);
}

static const char *reptile_unfit(const struct method *m)
{
    return inner_unfit(&((const struct reptile *)m->state)->inner);
}

const struct method_ops method_reptile = {
    .name = "reptile",
    .summary = "Reptile: move towards each task's solution (Nichol et al. 2018)",
    .state_size = sizeof(struct reptile),
    .params = params,
    .head = true,
    .outer = OUTER_SGD,
    .outer_lr = 1,
    .meta_grad = reptile_meta_grad,
    .adapt = reptile_adapt,
    .predict = reptile_predict,
    .cost = reptile_cost,
    .shuffled = reptile_shuffled,
    .host_only = reptile_host_only,
    .unfit = reptile_unfit,
};

const struct method_ops method_fedavg = {
    .name = "fedavg",
    .summary =
        "federated averaging: Reptile without fine-tuning at test time (McMahan et al. 2017)",
    .state_size = sizeof(struct reptile),
    .params = fedavg_params,
    .head = true,
    .outer = OUTER_SGD,
    .outer_lr = 1,
    .meta_grad = reptile_meta_grad,
    .adapt = NULL,
    .predict = reptile_predict,
    .cost = reptile_cost,
    .shuffled = reptile_shuffled,
    .host_only = reptile_host_only,
    .unfit = reptile_unfit,
};
