/* engine.c - workers, meta-gradients along a fixed tree, and the meta-update. */
#include "method/engine.h"
#include "method/engine_private.h"
#include "method/groups.h"
#include "method/task_batch.h"
#include "base/error.h"
#include "data/dataset.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RANGE = 16384 };

const struct param outer_params[] = {
    PARAM_CHOICE_ROW(
        struct outer_settings, optimiser, "optimiser", "auto|adam|sgd", 0,
        "meta-optimiser; auto: adam for MAML and ProtoNets, sgd for Reptile and FedAvg"),
    PARAM_REAL_ROW(struct outer_settings, lr, "lr", 0, 0, 100,
                   "meta learning rate; 0: the method's own (0.005 with adam, 1 with sgd)"),
    PARAM_REAL_ROW(struct outer_settings, beta1, "beta1", 0, 0, 0.999999,
                   "Adam's first decay (the paper's: 0)"),
    PARAM_REAL_ROW(struct outer_settings, beta2, "beta2", 0.999, 0, 0.999999,
                   "Adam's second decay"),
    PARAM_REAL_ROW(struct outer_settings, eps, "eps", 1e-8, 0, 1,
                   "Adam's epsilon, outside the root"),
    PARAM_REAL_ROW(struct outer_settings, momentum, "bn_momentum", 0.1, 0, 1,
                   "how fast running averages follow: batch norm's (net.bn=running), and shared "
                   "prototypes (method.absent=prior-mean)"),
    {0},
};

static size_t vector_bytes(const struct engine *e)
{
    return (e->net.len * e->k->elem + 63) / 64 * 64;
}

void *engine_vector(const struct engine *e, size_t i)
{
    return (char *)e->vectors + i * vector_bytes(e);
}

/* Fixed by the meta-batch alone, so that sums are too.  A device that takes many tasks at once
 * adds up those that its rank has. */
static int groups_of(const struct engine *e, int tasks)
{
    int most = e->k->batched ? ranks_count(e->ranks) : e->groups;
    return tasks < most ? tasks : most;
}

/* The most groups that a rank has of any meta-batch. */
static int slots_of(const struct engine *e)
{
    int ranks = ranks_count(e->ranks);
    return (groups_of(e, e->meta_batch) + ranks - 1) / ranks;
}

struct shuffle engine_shuffle(const struct engine *e)
{
    const struct method_ops *ops = e->method->ops;
    return ops->shuffled ? ops->shuffled(e->method) : (struct shuffle){0};
}

static int open_vectors(struct engine *e)
{
    int slots = slots_of(e) + ranks_shared(e->ranks); /* the last for what another rank sends */
    /* axpy adds losses up; those of many ranks cross on the host */
    bool later = e->k->batched && e->k->elem == sizeof *e->losses && !ranks_shared(e->ranks);
    size_t vectors = vector_bytes(e) * (size_t)(VECTOR_SLOTS + slots);
    size_t bytes = whole_pages(vectors + (size_t)e->meta_batch * sizeof *e->losses);
    int err = e->k->alloc(e->dev, bytes, &e->vectors);
    if (err)
        return err;
    if (later)
        e->loss_parts = (char *)e->vectors + vectors;
    if (ranks_shared(e->ranks) && !e->k->host)
        e->crossing = mem_array(e->net.len, e->k->elem);
    e->vectors_bytes = bytes;
    e->planned += bytes;
    net_init(&e->net, e->dev, e->seed, engine_vector(e, VECTOR_THETA));
    return 0;
}

struct images engine_images(const struct dataset *d)
{
    return (struct images){.data = d->x,
                           .type = d->is_float ? IMAGES_F32 : IMAGES_U8,
                           .h = d->h,
                           .w = d->w,
                           .c = d->c,
                           .items = d->items,
                           .scale = d->scale,
                           .shift = d->shift};
}

int engine_show(struct engine *e, struct images images)
{
    int err = lockstep_settle(e);
    if (err)
        return err;
    e->k->images_close(e->dev, &e->images);
    e->images = images;
    e->pixels = images.data;
    return e->k->images_open(e->dev, &e->images);
}

static void choose_optimiser(struct engine *e, const struct outer_settings *s)
{
    const struct method_ops *ops = e->method->ops;
    e->outer = *s;
    e->outer.optimiser = s->optimiser == 0 ? (ops->outer == OUTER_ADAM ? 1 : 2) : s->optimiser;
    if (s->lr == 0)
        e->outer.lr = s->optimiser == 0 ? ops->outer_lr : e->outer.optimiser == 1 ? 0.005 : 1;
}

int engine_open(struct engine **out, const struct engine_spec *spec)
{
    struct engine *e = mem_alloc(sizeof *e);
    int ways = spec->method->ops->head ? spec->ways : 0;
    e->k = spec->kernels;
    e->method = spec->method;
    e->device = spec->device;
    e->images = spec->images;
    e->pixels = spec->images.data;
    e->lockstep_set = spec->lockstep_set;
    e->ranks = spec->ranks;
    e->ways = spec->ways;
    e->train_ways = spec->train_ways ? spec->train_ways : spec->ways;
    e->meta_batch = spec->meta_batch;
    e->groups = spec->groups > 0 ? spec->groups : ENGINE_GROUPS;
    e->largest = spec->largest;
    e->seed = spec->seed;
    choose_optimiser(e, &spec->outer);
    int err = net_build(&e->net, spec->net, spec->net_settings, e->k, spec->images.h,
                        spec->images.w, spec->images.c, ways);
    double count = 0;
    enum prior prior =
        spec->method->ops->prior ? spec->method->ops->prior(spec->method, &count) : PRIOR_NONE;
    if (!err && prior)
        err = net_add_prior(&e->net, spec->ways, prior, count);
    const char *(*host_only)(const struct method *m) = spec->method->ops->host_only;
    if (!err && !e->k->host && host_only && host_only(spec->method))
        err = fail(METE_EINVAL, "%s is not computed on %s; use a CPU, or another value",
                   host_only(spec->method), e->k->name);
    if (!err)
        err = e->k->open(&e->dev, &e->device);
    if (!err)
        err = e->k->images_open(e->dev, &e->images);
    if (!err)
        err = open_vectors(e);
    if (!err)
        err = threads_open(&e->threads, spec->threads);
    if (!err) { /* last: what is left is theirs, and says how large a meta-batch may be */
        e->n_workers = e->k->batched ? 1 : threads_count(e->threads);
        e->losses = mem_array((size_t)e->meta_batch, sizeof *e->losses);
        err = engine_open_workers(e);
    }
    if (err) {
        engine_close(e);
        return err;
    }
    engine_learner_open(e);
    *out = e;
    return 0;
}

void engine_close(struct engine *e)
{
    if (!e)
        return;
    lockstep_leave(e);
    engine_learner_release(e);
    for (int i = 0; e->workers && i < e->n_workers; i++) {
        if (!e->workers[i].dev)
            continue;
        e->k->release(e->workers[i].dev, e->workers[i].mem.base, e->workers[i].mem.size);
        if (i > 0)
            e->k->close(e->workers[i].dev);
    }
    if (e->dev) {
        e->k->release(e->dev, e->vectors, e->vectors_bytes);
        e->k->images_close(e->dev, &e->images);
        e->k->close(e->dev);
    }
    threads_close(e->threads);
    free(e->workers);
    free(e->crossing);
    free(e->losses);
    free(e);
}

/* ---- meta-gradients ---- */

/* Tasks of unequal size are masked, by how many images each has.  That is not enough where a
 * pass holds a support and the query after it, of which statistics, prototypes or losses want
 * one alone, nor for shuffled inner batches: there tasks of one size are taken together. */
int engine_together(const struct engine *e, const struct labelled_task *labelled, int n,
                    bool training)
{
    const struct method_ops *ops = e->method->ops;
    bool one_pass = e->net.bn == BN_SUPPORT || (ops->one_pass && ops->one_pass(e->method));
    int same = 1;
    if (!one_pass && !(training && engine_shuffle(e).steps))
        return n;
    while (same < n && labelled[same].support.n == labelled->support.n &&
           labelled[same].query.n == labelled->query.n)
        same++;
    return same;
}

struct step {
    struct engine *e;
    const struct labelled_task *tasks;
    int n;
    bool update, updated; /* wanted, and done with the gradient */
    struct run_step run;
    const struct adam_rates *rates; /* the run's, on the device */
    float *logits;                  /* where those of the first task are wanted */
    struct groups own;              /* of this rank */
    const struct merge *merge;      /* (merges) to be done before the update */
    int merges;
};

/* A vector for what another rank sends. */
static void *incoming(const struct engine *e)
{
    return engine_vector(e, VECTOR_SLOTS + (size_t)slots_of(e));
}

static struct adam adam_of(const struct engine *e)
{
    return (struct adam){e->outer.lr, e->outer.beta1, e->outer.beta2, e->outer.eps};
}

struct run_step engine_run(const struct engine *e)
{
    struct adam adam = adam_of(e);
    const struct method_ops *ops = e->method->ops;
    enum leave_out leaves_out = ops->leaves_out ? ops->leaves_out(e->method) : LEAVE_NONE;
    return (struct run_step){e->seed, adam_rates(&adam, e->steps + 1), leaves_out};
}

static size_t gradient_len(const struct engine *e)
{
    return e->net.bn == BN_RUNNING ? e->net.len : e->net.trained;
}

/* The first task's logits (n, ways). */
static void fetch_logits(struct engine *e, struct worker *worker, const struct prediction *p, int n,
                         float *to)
{
    int last = e->net.layers - 1;
    size_t row = (size_t)e->train_ways,
           rows = (size_t)p->pass.batch.tasks * (size_t)p->pass.batch.n;
    float *block = mem_array(rows * row, sizeof *block);
    if (p->logits)
        e->k->download(worker->dev, block, p->logits, rows * row * sizeof *block);
    else
        e->k->rows(worker->dev, &e->net.layer[last], &p->pass.batch,
                   e->k->out(&e->net.layer[last], &p->pass.batch, p->pass.cache[last]), block);
    memcpy(to, block + (size_t)p->first * row, (size_t)n * row * sizeof *block);
    free(block);
}

/* Losses of a meta-batch of n tasks are left where they were made, as parts of their mean. */
static void add_losses(struct engine *e, struct device *dev, int tasks, const float *loss, int n)
{
    struct vec parts = {.at = e->loss_parts}, more = {.at = (void *)loss};
    e->k->axpy(dev, 1, (size_t)tasks, parts, parts, 1.0 / n, more);
}

/* By the optimiser, or as running averages, which none moves. */
static void move_range(const struct step *s, struct device *dev, const struct adam_rates *rates,
                       size_t from, size_t len, bool averages)
{
    struct engine *e = s->e;
    void *theta = engine_vector(e, VECTOR_THETA), *g = engine_vector(e, VECTOR_SLOTS);
    double scale = 1.0 / s->n;
    struct adam adam = adam_of(e);
    if (averages)
        e->k->sgd(dev, from, len, theta, g, scale, e->outer.momentum);
    else if (e->outer.optimiser == 1)
        e->k->adam(dev, from, len, theta, engine_vector(e, VECTOR_M), engine_vector(e, VECTOR_V), g,
                   scale, &adam, rates);
    else
        e->k->sgd(dev, from, len, theta, g, scale, e->outer.lr);
}

static void update_range(const struct step *s, struct device *dev, const struct adam_rates *rates,
                         size_t from, size_t len)
{
    const struct net *net = &s->e->net;
    size_t cut[] = {net->means[0], net->means[1], net->trained, SIZE_MAX}, end = from + len;
    bool averages[] = {false, true, false, true};
    for (int i = 0; i < 4 && from < end; i++) {
        size_t until = cut[i] < end ? cut[i] : end;
        if (from < until) {
            move_range(s, dev, rates, from, until - from, averages[i]);
            from = until;
        }
    }
}

/* The meta-gradients of `tasks` labelled tasks in one call, summed into `to`. */
static int shard_gradient(struct step *s, struct worker *worker, int first, int tasks, void *to,
                          bool add)
{
    struct engine *e = s->e;
    const struct labelled_task *labelled = s->tasks + first;
    struct batch_shape shape = batch_shape_of(labelled, tasks);
    struct task_batch f;
    struct shuffle shuffled = engine_shuffle(e);
    struct prediction p = {.wanted = s->logits != NULL};
    worker_begin(worker);
    task_batch_take(&f, worker, &shape, shuffled, &e->images);
    task_batch_fill(&f, worker, &shape, shuffled, labelled, &s->run, tasks);
    bool direct = tasks == 1 && !add;
    struct vec grad = direct ? (struct vec){.at = to} : vector_take(worker, tasks);
    struct vec theta = {.at = engine_vector(e, VECTOR_THETA)};
    int64_t same[] = {tasks,    shape.support, shape.query, f.support.count != NULL,
                      p.wanted, add,           s->update,   s->n};
    struct replays *replays = e->k->batched ? &e->replays : NULL;
    bool later = s->update && e->loss_parts, all = later && tasks == s->n;
    if (!replays || !replay_begin(replays, worker, replay_key(worker, same, 8), &p)) {
        e->method->ops->meta_grad(e->method, worker, &f, e->train_ways, theta, grad, &p);
        if (!direct)
            e->k->reduce(worker->dev, tasks, gradient_len(e), to, grad, add);
        if (later)
            add_losses(e, worker->dev, tasks, p.loss, s->n);
        if (all)
            update_range(s, worker->dev, f.rates, 0, gradient_len(e));
        if (replays)
            replay_end(replays, worker, &p);
    }
    if (e->k->batched) {
        s->rates = f.rates;
        s->updated = all;
    }
    if (later)
        return 0; /* nobody waits: the device works on */
    e->k->download(worker->dev, e->losses + first, p.loss, (size_t)tasks * sizeof *p.loss);
    if (s->logits)
        fetch_logits(e, worker, &p, labelled[0].query.n, s->logits);
    return e->k->sync(worker->dev);
}

/* Tasks from..to-1 on a device that takes many at once. */
static int shards_gradient(struct step *s, int from, int to)
{
    struct engine *e = s->e;
    int err = 0;
    for (int first = from, n; !err && first < to; first += n) {
        n = engine_together(e, s->tasks + first, to - first, true);
        err = shard_gradient(s, &e->workers[0], first, n, engine_vector(e, VECTOR_SLOTS),
                             first > from);
    }
    return err;
}

/* Where the sum of a group of this rank is. */
static void *slot_of(const struct step *s, int group)
{
    return engine_vector(s->e, VECTOR_SLOTS + (size_t)(group - s->own.first));
}

static int group_piece(void *user, int piece, int worker)
{
    struct step *s = user;
    int group = s->own.first + piece;
    struct task_range tasks = group_tasks(s->own.n, s->n, group);
    for (int i = tasks.from; i < tasks.to; i++) {
        int err =
            shard_gradient(s, &s->e->workers[worker], i, 1, slot_of(s, group), i > tasks.from);
        if (err)
            return err;
    }
    return 0;
}

/* The sum of every group of this rank. */
static int group_gradients(struct step *s)
{
    struct engine *e = s->e;
    int groups = s->own.last - s->own.first;
    if (!e->k->batched)
        return threads_run(e->threads, groups, group_piece, s);
    struct task_range tasks =
        groups ? group_tasks(s->own.n, s->n, s->own.first) : (struct task_range){0};
    return shards_gradient(s, tasks.from, tasks.to);
}

/* Elements one piece of the update works on. */
static size_t range_of(const struct engine *e)
{
    return e->k->batched ? gradient_len(e) : RANGE;
}

/* Adds groups to groups over one range of elements, then updates. */
static int range_piece(void *user, int piece, int worker)
{
    struct step *s = user;
    struct engine *e = s->e;
    struct device *dev = e->workers[worker].dev;
    size_t range = range_of(e), total = gradient_len(e), from = (size_t)piece * range;
    size_t len = total - from < range ? total - from : range, at = from * e->k->elem;
    for (int i = 0; i < s->merges; i++) {
        const struct merge *m = &s->merge[i];
        bool came = m->kind == MERGE_RECEIVE;
        struct vec a = {.at = (char *)slot_of(s, m->to) + at};
        struct vec b = {.at = (char *)(came ? incoming(e) : slot_of(s, m->from)) + at};
        e->k->axpy(dev, 1, len, a, a, 1, b);
    }
    if (s->update && !s->updated)
        update_range(s, dev, s->rates, from, len);
    return 0;
}

static int ranges_run(struct step *s)
{
    struct engine *e = s->e;
    int ranges = (int)((gradient_len(e) + range_of(e) - 1) / range_of(e));
    return e->k->batched ? range_piece(s, 0, 0) : threads_run(e->threads, ranges, range_piece, s);
}

/* ---- over ranks ---- */

/* Sends a sum of this rank, or receives one: in host memory. */
static int cross(struct step *s, int rank, void *at, bool sends)
{
    struct engine *e = s->e;
    size_t bytes = gradient_len(e) * e->k->elem;
    void *host = e->crossing ? e->crossing : at;
    if (e->crossing && sends)
        e->k->download(e->dev, host, at, bytes);
    int err = sends ? ranks_send(e->ranks, rank, host, bytes)
                    : ranks_receive(e->ranks, rank, host, bytes);
    if (e->crossing && !sends && !err) {
        e->k->upload(e->dev, at, host, bytes);
        err = e->k->sync(e->dev);
    }
    return err;
}

/* Adds up the groups of all ranks; the root has the sum.  Who failed sends all the same, so that
 * nobody waits in vain. */
static int sum_ranks(struct step *s)
{
    struct engine *e = s->e;
    int me = ranks_me(e->ranks), ranks = ranks_count(e->ranks), err = 0;
    struct merge *all = mem_array((size_t)s->own.n, sizeof *all);
    int n = group_merges(s->own.n, me, ranks, all);
    s->update = false; /* not yet */
    for (int i = 0; i < n; i += s->merges) {
        int failed = 0;
        s->merge = &all[i];
        s->merges = 1;
        if (all[i].kind == MERGE_SEND) {
            failed = cross(s, all[i].rank, slot_of(s, all[i].from), true);
        } else {
            if (all[i].kind == MERGE_RECEIVE)
                failed = cross(s, all[i].rank, incoming(e), false);
            while (i + s->merges < n && all[i + s->merges].kind == MERGE_HERE)
                s->merges++;
            if (!failed)
                failed = ranges_run(s);
        }
        err = err ? err : failed;
    }
    s->merges = 0;
    free(all);
    return err;
}

/* Each rank's losses to the root. */
static int gather_losses(struct step *s)
{
    struct engine *e = s->e;
    int ranks = ranks_count(e->ranks);
    size_t *at = mem_array((size_t)ranks + 1, sizeof *at);
    for (int rank = 0; rank <= ranks; rank++) {
        int group = groups_of_rank(s->own.n, rank, ranks).first;
        at[rank] = (size_t)group_tasks(s->own.n, s->n, group).from * sizeof *e->losses;
    }
    int err = ranks_gather_parts(e->ranks, e->losses, at);
    free(at);
    return err;
}

/* The sum to every rank, which then updates by itself; or, to every rank, who failed. */
static int share_sum(struct step *s, int err)
{
    struct engine *e = s->e;
    struct verdict all = verdict_of(ranks_gather_verdicts(e->ranks, err));
    int lost = ranks_broadcast(e->ranks, &all, sizeof all);
    if (lost || all.code)
        return lost ? lost : verdict_fail(&all);
    err = gather_losses(s);
    if (err)
        return err;
    void *sum = slot_of(s, s->own.first);
    size_t bytes = gradient_len(e) * e->k->elem;
    bool root = ranks_me(e->ranks) == 0;
    if (e->crossing && root)
        e->k->download(e->dev, e->crossing, sum, bytes);
    err = ranks_broadcast(e->ranks, e->crossing ? e->crossing : sum, bytes);
    if (e->crossing && !root && !err) {
        e->k->upload(e->dev, sum, e->crossing, bytes);
        err = e->k->sync(e->dev);
    }
    return err;
}

/* The step of a team of ranks, each of which has the whole meta-batch at hand. */
static int ranks_step(struct step *s)
{
    int err = group_gradients(s), failed = sum_ranks(s);
    err = share_sum(s, err ? err : failed);
    s->update = true;
    return err ? err : ranges_run(s);
}

/* ---- the step ---- */

static int own_step(struct step *s)
{
    struct merge *all = mem_array((size_t)s->own.n, sizeof *all);
    int err = group_gradients(s);
    s->merge = all;
    s->merges = group_merges(s->own.n, 0, 1, all);
    if (!err)
        err = ranges_run(s);
    free(all);
    return err;
}

/* Devices that have nothing to do have no rates, either. */
static bool for_ranks(const struct step *s)
{
    const struct engine *e = s->e;
    return s->update && ranks_shared(e->ranks) && !(e->k->batched && s->n < ranks_count(e->ranks));
}

static int run_step(struct step *s, double *mean_loss)
{
    struct engine *e = s->e;
    if (s->n < 1 || s->n > e->meta_batch)
        return fail(METE_EINVAL, "a meta-batch of %d tasks, where 1..%d were planned", s->n,
                    e->meta_batch);
    s->run = engine_run(e);
    s->rates = &s->run.rates; /* where the host is the device */
    bool shared = for_ranks(s);
    s->own = shared ? groups_of_rank(groups_of(e, s->n), ranks_me(e->ranks), ranks_count(e->ranks))
                    : groups_of_rank(e->k->batched ? 1 : groups_of(e, s->n), 0, 1);
    int err = lockstep_settle(e);
    if (!err)
        err = shared ? ranks_step(s) : own_step(s);
    if (err)
        return err;
    double sum = 0;
    for (int i = 0; i < s->n; i++)
        sum += e->losses[i];
    if (mean_loss)
        *mean_loss = sum / s->n;
    return 0;
}

/* Whether a lockstep group may take the step: all of its tasks are of one size. */
static bool for_lockstep(const struct engine *e, const struct labelled_task *tasks, int n)
{
    bool whole = e->lockstep_set && e->loss_parts && n == e->meta_batch;
    for (int i = 0; whole && i < n; i++)
        whole = tasks[i].support.n == e->largest.support && tasks[i].query.n == e->largest.query;
    return whole;
}

int engine_step(struct engine *e, const struct labelled_task *tasks, int n)
{
    struct step s = {.e = e, .tasks = tasks, .n = n, .update = true};
    double loss = 0;
    if (for_lockstep(e, tasks, n))
        return lockstep_step(e->lockstep_set, e, tasks);
    int err = run_step(&s, &loss);
    if (err)
        return err;
    e->steps++;
    e->loss_steps++;
    e->loss_sum += loss; /* or later, from the parts */
    return 0;
}

void engine_lend(struct engine *e, struct device *dev, struct vec to)
{
    struct vec theta = {.at = engine_vector(e, VECTOR_THETA)};
    e->k->axpy(dev, 1, e->net.len, to, theta, 0, theta);
}

void engine_collect(struct engine *e, struct device *dev, int tasks, struct vec grad)
{
    e->k->reduce(dev, tasks, gradient_len(e), engine_vector(e, VECTOR_SLOTS), grad, false);
}

void engine_collect_losses(struct engine *e, struct device *dev, int tasks, const float *loss)
{
    add_losses(e, dev, tasks, loss, tasks);
}

void engine_update(struct engine *e, struct device *dev, int tasks, const struct adam_rates *rates)
{
    struct step s = {.e = e, .n = tasks, .update = true};
    update_range(&s, dev, rates, 0, gradient_len(e));
}

void engine_stepped(struct engine *e)
{
    e->steps++;
    e->loss_steps++;
}

void engine_leave(struct engine *e)
{
    lockstep_leave(e);
}

int engine_losses(struct engine *e, bool restart, double *mean)
{
    size_t n = (size_t)e->meta_batch, bytes = n * sizeof *e->losses;
    int err = lockstep_settle(e);
    if (err)
        return err;
    if (e->loss_parts) {
        e->k->download(e->dev, e->losses, e->loss_parts, bytes);
        e->loss_sum = 0;
        for (size_t i = 0; i < n; i++)
            e->loss_sum += e->losses[i];
    }
    *mean = e->loss_steps ? e->loss_sum / e->loss_steps : NAN;
    if (restart) {
        if (e->loss_parts)
            e->k->zero(e->dev, e->loss_parts, bytes);
        e->loss_sum = e->loss_steps = 0;
    }
    return e->k->sync(e->dev);
}

int engine_wait(struct engine *e)
{
    int err = lockstep_settle(e);
    return err ? err : e->k->sync(e->dev);
}

int engine_gradient(struct engine *e, const struct labelled_task *tasks, int n, double *mean_loss)
{
    struct step s = {.e = e, .tasks = tasks, .n = n};
    e->gradient_tasks = n;
    return run_step(&s, mean_loss);
}

int engine_gradient_one(struct engine *e, const struct labelled_task *task, double *loss,
                        float *logits)
{
    struct step s = {.e = e, .tasks = task, .n = 1, .logits = logits};
    struct batch_shape shape = batch_shape_of(task, 1);
    struct worker measured = engine_measure(e, &shape, true);
    e->gradient_tasks = 1;
    for (int i = 0; i < e->n_workers; i++) { /* whichever worker takes the task */
        int err = worker_fit(&e->workers[i], &measured);
        if (err)
            return err;
    }
    return run_step(&s, loss);
}

/* ---- what is inside ---- */

const struct net *engine_net(const struct engine *e)
{
    return &e->net;
}

struct threads *engine_threads(struct engine *e)
{
    return e->threads;
}

int engine_workers(const struct engine *e)
{
    return e->n_workers;
}

bool engine_batched(const struct engine *e)
{
    return e->k->batched;
}

size_t engine_bytes_planned(const struct engine *e)
{
    return e->planned;
}

int64_t engine_steps(const struct engine *e)
{
    return e->steps;
}

void engine_set_steps(struct engine *e, int64_t steps)
{
    e->steps = steps;
}

double engine_flops(const struct engine *e, const struct batch_shape *shape)
{
    double both, hvp;
    e->method->ops->cost(e->method, shape, &both, &hvp);
    return both * net_flops(&e->net, FLOPS_BOTH) + hvp * net_flops(&e->net, FLOPS_HVP);
}

struct learner *engine_learner(struct engine *e)
{
    return &e->learner;
}

void *engine_theta(const struct engine *e)
{
    return engine_vector(e, VECTOR_THETA);
}
