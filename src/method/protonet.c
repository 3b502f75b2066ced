/* protonet.c - prototypical networks (Snell et al. 2017).
 *
 * A class is the mean of its support's features; a query's logits are minus the
 * squared Euclidean distances to the classes.  With unbalanced supports there are
 * classes without support all the time.  With absent=left-out they have no part in the
 * softmax; with absent=origin their prototype is the origin, which is what the authors'
 * framework gives (sum / (count + 1e-7)): predicted, and trained towards.  Where classes are
 * the same for everybody, absent=prior gives every class a prototype that all tasks share,
 * learned with the net, a learned number of images that it counts for beside the support's, and
 * learned log odds: most of what tells a 0 from an O is how often people write them.
 * With absent=prior-mean that prototype is the running mean of the tasks' own instead
 * (outer.bn_momentum says how fast it follows), and only its count is learned.
 *
 * With batch statistics the support and the query are two passes, each by its own;
 * `joint` makes them one pass, as in Snell et al.'s program.  A device that takes all tasks
 * at once takes both at once too, where they are of one size and share their weights: as twice
 * as many tasks.
 */
#include "method/method.h"

struct protonet {
    bool joint;
    int absent; /* enum absent */
    double prior_count;
};

static const struct param params[] = {
    PARAM_BOOL_ROW(struct protonet, joint, "joint", 0,
                   "embed support and query in one pass, normalised together"),
    PARAM_CHOICE_ROW(struct protonet, absent, "absent", "origin|left-out|prior|prior-mean",
                     ABSENT_LEFT_OUT,
                     "a class without support: prototype at the origin; left out of the softmax, "
                     "and its query points of the training loss; or, where tasks share their "
                     "classes, all prototypes are drawn to shared ones: learned by gradient "
                     "(prior), or running means of the tasks' class means (prior-mean)"),
    PARAM_REAL_ROW(struct protonet, prior_count, "prior_count", 5, 1e-3, 1e6,
                   "prior, prior-mean: how many images of a class its shared prototype is worth "
                   "when training begins; learned from there"),
    {0},
};

/* One pass over both, or one over each; of stacked the query's tasks come after the support's. */
struct embedding {
    struct pass support, query;
    bool joint, stacked;
    struct classes classes;
    void *scratch;
};

static struct features features_of(struct worker *worker, struct pass *p, int tasks, int first,
                                   int count)
{
    int last;
    const struct layer *l = net_feature_layer(worker->net, &last);
    const struct kernels *k = worker->net->k;
    return (struct features){.out = k->out(l, &p->batch, p->cache[last]),
                             .dout = k->dout(l, &p->batch, p->cache[last]),
                             .batch = p->batch,
                             .tasks = tasks,
                             .first = first,
                             .count = count,
                             .labels = p->labels};
}

static void embedding_take(struct embedding *e, const struct method *m, struct worker *worker,
                           const struct task_batch *f, int ways, struct vec theta,
                           struct prediction *out)
{
    const struct protonet *s = m->state;
    const struct net *net = worker->net;
    bool one_pass = net->bn == BN_SUPPORT || (net->bn == BN_BATCH && s->joint);
    e->classes = (struct classes){.ways = ways, .absent = (enum absent)s->absent};
    if (net->prior)
        e->classes.prior = &net->layer[net->layers];
    e->classes.theta = theta;
    e->joint = one_pass && f->support.n > 0;
    e->stacked = net->bn == BN_BATCH && !e->joint && net->k->batched && !out->wanted &&
                 f->support.n == f->query.n && theta.stride == 0;
    if (e->stacked) { /* the query's own pass is not used */
        struct batch all = {2 * f->query.tasks, f->query.n, f->support.count};
        pass_take(&e->query, worker, all, NULL);
        e->query.labels = f->query_label;
        e->support = e->query;
        e->support.labels = f->support_label;
    } else if (e->joint) {
        pass_take(&e->query, worker, f->both, NULL);
        if (net->bn == BN_SUPPORT)
            e->query.norm.stat = f->support.n;
        e->query.labels = f->both_label;
        e->support = e->query;
    } else {
        pass_take(&e->query, worker, f->query, NULL);
        e->query.labels = f->query_label;
        e->support = e->query; /* with no support nothing reads it */
        if (f->support.n > 0) {
            pass_take(&e->support, worker, f->support, NULL);
            e->support.labels = f->support_label;
        }
    }
    e->query.norm.no_tangents = e->support.norm.no_tangents = true;
    e->scratch = arena_take(
        &worker->mem, net->k->proto_bytes(net_feature_layer(net, NULL), f->query.tasks, ways));
    size_t rows = (size_t)f->query.tasks * (size_t)e->query.batch.n * (size_t)ways;
    out->pass = e->query;
    out->first = e->joint ? f->support.n : 0;
    out->probs = arena_take(&worker->mem, rows * sizeof *out->probs);
    out->logits = arena_take(&worker->mem, rows * sizeof *out->logits);
    out->loss = e->query.loss;
}

/* Embeds support and query, and compares them: the loss and all that follows. */
static void compare(struct embedding *e, struct worker *worker, const struct task_batch *f,
                    struct vec theta, const struct prediction *out)
{
    const struct layer *last = net_feature_layer(worker->net, NULL);
    int tasks = f->query.tasks;
    if (!e->joint && !e->stacked && f->support.n > 0) {
        pass_gather(&e->support, worker, f->images, f->support_index);
        pass_forward(&e->support, worker, theta);
    }
    pass_gather(&e->query, worker, f->images,
                e->joint     ? f->both_index
                : e->stacked ? f->support_index /* the query's follow */
                             : f->query_index);
    pass_forward(&e->query, worker, theta);
    struct features from = features_of(worker, &e->support, tasks, 0, f->support.n);
    struct features to = features_of(worker, &e->query, tasks, out->first, f->query.n);
    to.task = e->stacked ? tasks : 0;
    worker->net->k->proto(worker->dev, last, &from, &to, &e->classes, out->logits, out->probs,
                          out->loss, e->scratch);
}

static void protonet_meta_grad(const struct method *m, struct worker *worker,
                               const struct task_batch *f, int ways, struct vec theta,
                               struct vec grad, struct prediction *out)
{
    const struct net *net = worker->net;
    int tasks = f->query.tasks;
    struct embedding e;
    embedding_take(&e, m, worker, f, ways, theta, out);
    struct vec more = {0}, query = grad;
    if (!e.joint) /* as much as stacked need: others of the worker's shards may be */
        more = vector_take(worker, net->k->batched ? 2 * tasks : tasks);
    if (!worker->mem.base)
        return;
    bool two = !e.joint && f->support.n > 0;
    e.classes.grad = grad;
    compare(&e, worker, f, theta, out);
    if (e.stacked) {
        query = (struct vec){.at = (char *)more.at + (size_t)tasks * more.stride * net->k->elem,
                             .stride = more.stride};
        pass_backward(&e.query, worker, theta, more);
    } else {
        pass_backward(&e.query, worker, theta, grad);
        if (two)
            pass_backward(&e.support, worker, theta, more);
    }
    if (two)
        net->k->axpy(worker->dev, tasks, net_body(net), grad, query, 1, more);
}

static void protonet_predict(const struct method *m, struct worker *worker,
                             const struct task_batch *f, int ways, struct vec adapted,
                             struct prediction *out)
{
    struct embedding e;
    embedding_take(&e, m, worker, f, ways, adapted, out);
    if (worker->mem.base)
        compare(&e, worker, f, adapted, out);
}

static void protonet_cost(const struct method *m, const struct batch_shape *shape, double *both,
                          double *hvp)
{
    (void)m;
    *both = shape->support + shape->query;
    *hvp = 0;
}

static enum prior protonet_prior(const struct method *m, double *count)
{
    const struct protonet *s = m->state;
    int absent = s->absent;
    if (count)
        *count = s->prior_count;
    return absent == ABSENT_PRIOR        ? PRIOR_LEARNED
           : absent == ABSENT_PRIOR_MEAN ? PRIOR_MEAN
                                         : PRIOR_NONE;
}

static const char *protonet_host_only(const struct method *m)
{
    static const char *const settings[] = {NULL, "method.absent=prior", "method.absent=prior-mean"};
    return settings[protonet_prior(m, NULL)];
}

static enum leave_out protonet_leaves_out(const struct method *m)
{
    bool leaves = ((const struct protonet *)m->state)->absent == ABSENT_LEFT_OUT;
    return leaves ? LEAVE_ALL : LEAVE_NONE;
}

static bool protonet_one_pass(const struct method *m)
{
    return ((const struct protonet *)m->state)->joint;
}

const struct method_ops method_protonet = {
    .name = "protonet",
    .summary = "prototypical networks: distance to class means (Snell et al. 2017)",
    .state_size = sizeof(struct protonet),
    .params = params,
    .head = false,
    .outer = OUTER_ADAM,
    .outer_lr = 0.005,
    .meta_grad = protonet_meta_grad,
    .predict = protonet_predict,
    .cost = protonet_cost,
    .one_pass = protonet_one_pass,
    .prior = protonet_prior,
    .host_only = protonet_host_only,
    .leaves_out = protonet_leaves_out,
};
