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
 * That loss estimates the transfer risk by held-out labels (the paper's L_Q).  method.objective
 * may make it the loss on all labels of a task after adapting to all of them (L_emp, the objective
 * of Reptile), or a mixture of the two, which the paper's appendix D names as the next to try.
 *
 * Defaults: the paper's appendix C.2 (5 steps of 0.01, 10 at test time).
 */
#include "method/inner.h"

enum objective { HELDOUT, EMPIRICAL, BLEND };

struct maml {
    struct inner inner;
    bool first_order;
    int absent;    /* enum absent */
    int objective; /* enum objective */
    double blend_labels;
};

static const struct param params[] = {
    PARAM_BOOL_ROW(struct maml, first_order, "first_order", 1, "drop second derivatives (FOMAML)"),
    PARAM_CHOICE_ROW(struct maml, absent, "absent", "origin|left-out", ABSENT_LEFT_OUT,
                     "a class without support: its query points are in the training loss like any "
                     "others (origin, as the same setting of ProtoNets), or left out of it"),
    PARAM_CHOICE_ROW(struct maml, objective, "objective", "heldout|empirical|blend", HELDOUT,
                     "train for the loss on the query after adapting to the support; for the loss "
                     "on all labels after adapting to all of them; or for both, the second the "
                     "more, the more labels a task has"),
    PARAM_REAL_ROW(struct maml, blend_labels, "blend_labels", 100, 0, 1e9,
                   "objective=blend: labels of a task at which both losses count the same"),
    INNER_PARAMS(struct maml, 5, 0.01, 10, INNER_TEST_STEPS),
    {0},
};

/* What adapting to some labels and then scoring others takes: one term of the objective. */
struct term {
    struct inner_loop w;
    struct pass query;
    struct tangent tangent;
    struct vec grad, hv, tether;
    double prox; /* times the inner rate */
    int first;   /* where the query starts in its pass */
};

/* Adapts to the support and scores the query; or, of `all` labels, adapts to them and scores
 * them. */
static void term_take(struct term *t, struct worker *worker, const struct maml *s,
                      const struct task_batch *f, bool all, struct vec theta, struct vec grad)
{
    int tasks = f->support.tasks;
    bool second = !s->first_order, shuffled = s->inner.batching == 1;
    struct batch learned = all ? f->both : f->support;
    *t = (struct term){.grad = grad, .prox = s->inner.lr * s->inner.prox};
    inner_loop_take(&t->w, worker, &s->inner, learned, s->inner.steps, second, shuffled, theta);
    if (all) {
        pass_take(&t->query, worker, f->both, NULL);
        t->query.norm.no_tangents = true;
        t->query.labels = f->both_label;
        t->first = f->support.n;
    } else {
        t->first = query_pass_take(&t->query, worker, f);
    }
    if (second) {
        tangent_take(&t->tangent, worker, &t->w.pass[0].batch);
        t->hv = vector_take(worker, tasks);
        t->tether = t->prox > 0 ? vector_take(worker, tasks) : t->hv;
    }
    if (shuffled) {
        t->w.index = f->inner_index;
        t->w.label = f->inner_label;
    } else {
        t->w.index = all ? f->both_index : f->support_index;
        t->w.label = all ? f->both_label : f->support_label;
    }
}

/* From the gradient at the adapted weights to that at theta(0). */
static void walk_back(struct term *t, struct worker *worker, const struct inner *s)
{
    const struct net *net = worker->net;
    int tasks = t->query.batch.tasks;
    struct vec grad = t->grad;
    if (t->prox > 0)
        net->k->zero(worker->dev, t->tether.at, (size_t)tasks * net->len * net->k->elem);
    for (int i = s->steps - 1; i >= 0; i--) {
        pass_hvp(&t->w.pass[i], worker, &t->tangent, t->w.theta[i], grad, t->hv);
        if (t->prox > 0 && i > 0) {
            net->k->axpy(worker->dev, tasks, net->trained, t->tether, t->tether, t->prox, grad);
            net->k->axpy(worker->dev, tasks, net->trained, grad, grad, -t->prox, grad);
        }
        net->k->axpy(worker->dev, tasks, net->trained, grad, grad, -s->lr, t->hv);
    }
    if (t->prox > 0)
        net->k->axpy(worker->dev, tasks, net->trained, grad, grad, 1, t->tether);
}

static void term_grad(struct term *t, struct worker *worker, const struct maml *s,
                      const struct task_batch *f, bool all)
{
    struct vec adapted = t->w.theta[s->inner.steps];
    inner_loop_run(&t->w, worker, &s->inner, s->inner.steps, f->images);
    if (all) {
        pass_gather(&t->query, worker, f->images, f->both_index);
        pass_forward(&t->query, worker, adapted);
        pass_xent(&t->query, worker);
    } else {
        query_pass_forward(&t->query, worker, f, adapted);
    }
    pass_backward(&t->query, worker, adapted, t->grad);
    if (!s->first_order)
        walk_back(t, worker, &s->inner);
}

static void predict_with(struct prediction *out, const struct term *t)
{
    *out =
        (struct prediction){out->wanted, t->query, t->first, t->query.probs, NULL, t->query.loss};
}

/* One task at a time (maml_host_only): (1 - w) heldout + w empirical, w = n / (n + blend_labels)
 * of a task with n labels.  The loss that is told is the held-out one. */
static void blend_grad(struct worker *worker, const struct maml *s, const struct task_batch *f,
                       struct vec theta, struct vec grad, struct prediction *out)
{
    const struct net *net = worker->net;
    struct term heldout, empirical;
    struct vec more = vector_take(worker, f->both.tasks);
    term_take(&heldout, worker, s, f, false, theta, grad);
    term_take(&empirical, worker, s, f, true, theta, more);
    predict_with(out, &heldout);
    if (!worker->mem.base)
        return;
    double n = f->both.n, weight = n / (n + s->blend_labels);
    term_grad(&heldout, worker, s, f, false);
    term_grad(&empirical, worker, s, f, true);
    net->k->axpy(worker->dev, f->both.tasks, net->len, more, more, -1, grad);
    net->k->axpy(worker->dev, f->both.tasks, net->len, grad, grad, weight, more);
}

static void maml_meta_grad(const struct method *m, struct worker *worker,
                           const struct task_batch *f, int ways, struct vec theta, struct vec grad,
                           struct prediction *out)
{
    const struct maml *s = m->state;
    bool all = s->objective == EMPIRICAL;
    struct term t;
    (void)ways;
    if (s->objective == BLEND) {
        blend_grad(worker, s, f, theta, grad, out);
        return;
    }
    term_take(&t, worker, s, f, all, theta, grad);
    predict_with(out, &t);
    if (worker->mem.base)
        term_grad(&t, worker, s, f, all);
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
    double all = shape->support + shape->query, steps = s->inner.steps, learned = 0;
    *both = 0;
    if (s->objective != EMPIRICAL) {
        *both += steps * inner_batch(&s->inner, shape->support) + shape->query;
        learned += inner_batch(&s->inner, shape->support);
    }
    if (s->objective != HELDOUT) {
        *both += steps * inner_batch(&s->inner, all) + all;
        learned += inner_batch(&s->inner, all);
    }
    *hvp = s->first_order ? 0 : steps * learned;
}

static const char *maml_host_only(const struct method *m)
{
    const struct maml *s = m->state;
    return s->objective == BLEND ? "method.objective=blend" : inner_host_only(&s->inner);
}

static const char *maml_unfit(const struct method *m)
{
    const struct maml *s = m->state;
    if (s->inner.optimiser == 1 && !s->first_order)
        return "second derivatives are of plain inner steps, and inner.optimiser=adam takes "
               "others: "
               "set method.first_order=yes, or inner.optimiser=sgd";
    return s->objective == BLEND && s->inner.batching == 1
               ? "method.objective=blend adapts twice, to other labels each time, and "
                 "inner.batching=shuffled is for one: use inner.batching=full"
               : inner_unfit(&s->inner);
}

/* Adapting to all labels, no class with any is absent. */
static enum leave_out maml_leaves_out(const struct method *m)
{
    const struct maml *s = m->state;
    bool none = s->absent != ABSENT_LEFT_OUT || s->objective == EMPIRICAL;
    return none ? LEAVE_NONE : s->objective == BLEND ? LEAVE_QUERY : LEAVE_ALL;
}

static struct shuffle maml_shuffled(const struct method *m)
{
    const struct maml *s = m->state;
    return inner_shuffled(&s->inner, s->objective == EMPIRICAL);
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
    .unfit = maml_unfit,
};
