/* learner.c - adapting to tasks and predicting, on all workers of an engine. */
#include "method/engine_private.h"
#include "method/task_batch.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

/* Images predicted in one pass.  Larger sets go in pieces of this size, each by its
 * own batch statistics where net.bn=batch; it bounds the memory a large pool takes. */
enum { PREDICT_MAX = 512 };

void learner_release(struct learner *l)
{
    struct engine *e = l->engine;
    if (e && e->dev) {
        e->k->release(e->dev, l->adapted, l->adapted_bytes);
        e->k->release(e->dev, l->reps, l->reps_bytes);
    }
    free(l->support);
    free(l->kept);
    *l = (struct learner){.engine = e};
}

int learner_ways(const struct learner *l)
{
    return l->engine->ways;
}

int learner_features(const struct learner *l)
{
    return net_features(&l->engine->net);
}

/* Copies the support, since callers' arrays may change before predict. */
static void keep_support(struct learner *l, int tasks, const struct items *support)
{
    size_t total = 0;
    for (int t = 0; t < tasks; t++)
        total += (size_t)support[t].n;
    l->support = mem_grow(l->support, (size_t)tasks, sizeof *l->support);
    l->kept = mem_grow(l->kept, 2 * total, sizeof *l->kept);
    int32_t *at = l->kept;
    for (int t = 0; t < tasks; t++) {
        size_t n = (size_t)support[t].n;
        l->support[t] = (struct items){at, at + n, support[t].n};
        if (n > 0) {
            memcpy(at, support[t].at, n * sizeof *at);
            memcpy(at + n, support[t].label, n * sizeof *at);
        }
        at += 2 * n;
    }
    l->tasks = tasks;
}

/* At least `bytes` of device memory at *at; what was there is lost if it grows. */
static int reserve(const struct engine *e, size_t bytes, void **at, size_t *has)
{
    if (bytes <= *has)
        return 0;
    e->k->release(e->dev, *at, *has);
    *at = NULL;
    *has = 0;
    int err = e->k->alloc(e->dev, bytes, at);
    if (!err)
        *has = bytes;
    return err;
}

/* The weights of task `first` and those after it. */
static struct vec weights_of(const struct learner *l, int first)
{
    struct engine *e = l->engine;
    if (!l->moved)
        return (struct vec){.at = engine_theta(e)};
    return (struct vec){.at = (char *)l->adapted + (size_t)first * e->net.len * e->k->elem,
                        .stride = e->net.len};
}

/* ---- sharing tasks out ---- */

/* Adapting or predicting for some tasks: n of them from `first` on, on one worker. */
struct job {
    struct learner *l;
    const struct labelled_task *labelled; /* of all tasks */
    int done;                             /* query images predicted before */
    const struct predicted *out;
    int (*run)(struct job *j, struct worker *worker, int first, int n);
};

static int job_piece(void *user, int piece, int worker)
{
    struct job *j = user;
    return j->run(j, &j->l->engine->workers[worker], piece, 1);
}

static int job_run(struct job *j)
{
    struct engine *e = j->l->engine;
    int tasks = j->l->tasks, err = lockstep_settle(e);
    if (!e->k->batched)
        return threads_run(e->threads, tasks, job_piece, j);
    for (int first = 0, most = tasks, n; !err && first < tasks; first += n) {
        int left = tasks - first;
        n = engine_together(e, j->labelled + first, left < most ? left : most, false);
        err = j->run(j, &e->workers[0], first, n);
        if (err == METE_ENOMEM && n > 1) { /* fewer at a time */
            most = n / 2;
            n = err = 0;
        }
    }
    return err;
}

/* ---- adapting ---- */

static int adapt_some(struct job *j, struct worker *worker, int first, int n)
{
    struct engine *e = j->l->engine;
    const struct labelled_task *labelled = j->labelled + first;
    struct batch_shape shape = batch_shape_of(labelled, n);
    struct worker measure = {.net = &e->net};
    struct run_step run = engine_run(e);
    struct vec theta = {.at = engine_theta(e)}, adapted = weights_of(j->l, first);
    struct task_batch f;
    task_batch_take(&f, &measure, &shape, 0, false, &e->images);
    e->method->ops->adapt(e->method, &measure, &f, theta, adapted);
    int err = worker_fit(worker, &measure);
    if (err)
        return err;
    worker_begin(worker);
    task_batch_take(&f, worker, &shape, 0, false, &e->images);
    task_batch_fill(&f, worker, &shape, 0, false, labelled, &run, n);
    e->method->ops->adapt(e->method, worker, &f, theta, adapted);
    return e->k->sync(worker->dev);
}

int learner_adapt(struct learner *l, int tasks, const struct items *support)
{
    bool any = false;
    for (int t = 0; t < tasks; t++)
        any = any || support[t].n > 0;
    keep_support(l, tasks, support);
    l->moved = l->engine->method->ops->adapt && any;
    if (!l->moved)
        return 0;
    size_t bytes = (size_t)tasks * l->engine->net.len * l->engine->k->elem;
    int err = reserve(l->engine, bytes, &l->adapted, &l->adapted_bytes);
    if (err)
        return err;
    struct labelled_task *labelled = mem_array((size_t)tasks, sizeof *labelled);
    for (int t = 0; t < tasks; t++)
        labelled[t] = (struct labelled_task){.support = l->support[t]};
    struct job j = {.l = l, .labelled = labelled, .run = adapt_some};
    err = job_run(&j);
    free(labelled);
    return err;
}

/* ---- predicting ---- */

/* Copies rows first.. of each task's (rows, width) block to where the caller wants them. */
static void hand_out(const struct job *j, int first_task, int n, const float *block,
                     const struct prediction *p, int width, float *const *to)
{
    for (int t = 0; t < n; t++) {
        int images = j->labelled[first_task + t].query.n;
        float *at = to[first_task + t];
        if (!at || images == 0)
            continue;
        size_t row = (size_t)t * (size_t)p->pass.batch.n + (size_t)p->first;
        memcpy(at + (size_t)j->done * (size_t)width, block + row * (size_t)width,
               (size_t)images * (size_t)width * sizeof *at);
    }
}

/* Where task t's representations begin. */
static float *reps_of(const struct learner *l, int t)
{
    return (float *)l->reps + (size_t)t * l->reps_stride;
}

static void fetch(const struct job *j, struct worker *worker, int first, int n,
                  const struct prediction *p)
{
    struct engine *e = j->l->engine;
    const struct batch *b = &p->pass.batch;
    size_t rows = (size_t)n * (size_t)b->n;
    float *block = mem_array(rows * (size_t)e->ways, sizeof *block);
    if (j->out->probs) {
        e->k->download(worker->dev, block, p->probs, rows * (size_t)e->ways * sizeof *block);
        hand_out(j, first, n, block, p, e->ways, j->out->probs);
    }
    if (j->out->entropy) {
        e->k->entropy(worker->dev, rows, e->ways, p->probs, block);
        hand_out(j, first, n, block, p, 1, j->out->entropy);
    }
    free(block);
}

/* Lays the representations of `images` query images a task beside those from before. */
static void keep_reps(const struct job *j, struct worker *worker, int first, int images,
                      const struct prediction *p)
{
    struct engine *e = j->l->engine;
    int last;
    const struct layer *layer = net_feature_layer(&e->net, &last);
    const void *out = e->k->out(layer, &p->pass.batch, p->pass.cache[last]);
    size_t before = (size_t)j->done * (size_t)net_features(&e->net);
    e->k->collect(worker->dev, layer, &p->pass.batch, out, p->first, images,
                  reps_of(j->l, first) + before, j->l->reps_stride);
}

static int predict_some(struct job *j, struct worker *worker, int first, int n)
{
    struct engine *e = j->l->engine;
    const struct labelled_task *labelled = j->labelled + first;
    struct batch_shape shape = batch_shape_of(labelled, n);
    struct worker measure = {.net = &e->net};
    struct run_step run = engine_run(e);
    struct vec theta = weights_of(j->l, first);
    struct prediction p = {.wanted = true};
    struct task_batch f;
    if (shape.query == 0)
        return 0;
    task_batch_take(&f, &measure, &shape, 0, false, &e->images);
    e->method->ops->predict(e->method, &measure, &f, e->ways, theta, &p);
    int err = worker_fit(worker, &measure);
    if (err)
        return err;
    worker_begin(worker);
    task_batch_take(&f, worker, &shape, 0, false, &e->images);
    task_batch_fill(&f, worker, &shape, 0, false, labelled, &run, n);
    e->method->ops->predict(e->method, worker, &f, e->ways, theta, &p);
    if (j->l->reps_tasks > 0)
        keep_reps(j, worker, first, shape.query, &p);
    fetch(j, worker, first, n, &p);
    return e->k->sync(worker->dev);
}

/* The images done.. of a query set, at most PREDICT_MAX. */
static struct items piece_of(const struct items *all, int done)
{
    int left = all->n - done;
    if (left <= 0)
        return (struct items){0};
    return (struct items){all->at + done, all->label ? all->label + done : NULL,
                          left < PREDICT_MAX ? left : PREDICT_MAX};
}

/* Room for the representations of `largest` images a task, where they are wanted. */
static int begin_reps(struct learner *l, int tasks, int largest, const struct predicted *out)
{
    l->reps_stride = (size_t)largest * (size_t)learner_features(l);
    l->reps_tasks = out->reps || out->clusters ? tasks : 0;
    size_t bytes = (size_t)l->reps_tasks * l->reps_stride * sizeof(float);
    return reserve(l->engine, bytes, &l->reps, &l->reps_bytes);
}

static int download_reps(struct learner *l, const struct items *query, float *const *to)
{
    struct engine *e = l->engine;
    size_t row = (size_t)learner_features(l) * sizeof(float);
    for (int t = 0; t < l->reps_tasks; t++)
        if (to[t] && query[t].n > 0)
            e->k->download(e->dev, to[t], reps_of(l, t), (size_t)query[t].n * row);
    return e->k->sync(e->dev);
}

int learner_predict(struct learner *l, int tasks, const struct items *query,
                    const struct predicted *out)
{
    if (tasks != l->tasks)
        return fail(METE_EINVAL, "predicting for %d tasks after adapting to %d", tasks, l->tasks);
    int largest = 0;
    for (int t = 0; t < tasks; t++)
        largest = query[t].n > largest ? query[t].n : largest;
    int err = begin_reps(l, tasks, largest, out);
    struct labelled_task *labelled = mem_array((size_t)tasks, sizeof *labelled);
    struct job j = {.l = l, .labelled = labelled, .out = out, .run = predict_some};
    for (j.done = 0; j.done < largest && !err; j.done += PREDICT_MAX) {
        for (int t = 0; t < tasks; t++)
            labelled[t] = (struct labelled_task){l->support[t], piece_of(&query[t], j.done), 0};
        err = job_run(&j);
    }
    free(labelled);
    return !err && out->reps ? download_reps(l, query, out->reps) : err;
}

/* ---- clusters ---- */

struct cluster_job {
    struct engine *e;
    struct clustering *c;
};

static int cluster_piece(void *user, int piece, int worker)
{
    struct cluster_job *j = user;
    struct device *dev = j->e->workers[worker].dev;
    j->e->k->kmeans(dev, 1, net_features(&j->e->net), &j->c[piece]);
    return j->e->k->sync(dev);
}

/* Whether there are clusters, and each point is in one of them. */
static bool is_clustered(const struct clustering *c)
{
    if (c->n == 0 || c->k == 0)
        return true;
    bool good = c->found > 0 && c->found <= c->k;
    for (int i = 0; good && i < c->n; i++)
        good = c->cluster[i] >= 0 && c->cluster[i] < c->found;
    return good;
}

int learner_cluster(struct learner *l, int tasks, struct clustering *c)
{
    struct engine *e = l->engine;
    struct cluster_job j = {e, c};
    int err;
    if (tasks != l->reps_tasks)
        return fail(METE_EINVAL, "clusters of %d tasks after predicting for %d", tasks,
                    l->reps_tasks);
    for (int t = 0; t < tasks; t++)
        c[t].x = reps_of(l, t);
    if (e->k->batched) {
        e->k->kmeans(e->dev, tasks, learner_features(l), c);
        err = e->k->sync(e->dev);
    } else {
        err = threads_run(e->threads, tasks, cluster_piece, &j);
    }
    for (int t = 0; t < tasks && !err; t++)
        if (!is_clustered(&c[t]))
            err = fail(METE_EDEVICE, "%s did not cluster the %d points of a pool", e->k->name,
                       c[t].n);
    return err;
}
