/* engine_learner.c - the engine as a learner: adapting to tasks and predicting on all its workers,
 * and its weights as tensors.
 */
#include "method/engine_private.h"
#include "method/task_batch.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

/* Images predicted in one pass.  Larger sets go in pieces of this size, each by its
 * own batch statistics where net.bn=batch; it bounds the memory a large pool takes. */
enum { PREDICT_MAX = 512 };

void engine_learner_release(struct engine *e)
{
    struct models *m = &e->models;
    learner_forget(&e->learner);
    if (e->dev) {
        e->k->release(e->dev, m->adapted, m->adapted_bytes);
        e->k->release(e->dev, m->reps, m->reps_bytes);
    }
    free(m->support);
    free(m->kept);
    *m = (struct models){0};
}

/* Copies the support, since callers' arrays may change before predict. */
static void keep_support(struct engine *e, int tasks, const struct items *support)
{
    size_t total = 0;
    for (int t = 0; t < tasks; t++)
        total += (size_t)support[t].n;
    e->models.support = mem_grow(e->models.support, (size_t)tasks, sizeof *e->models.support);
    e->models.kept = mem_grow(e->models.kept, 2 * total, sizeof *e->models.kept);
    int32_t *at = e->models.kept;
    for (int t = 0; t < tasks; t++) {
        size_t n = (size_t)support[t].n;
        e->models.support[t] = (struct items){at, at + n, support[t].n};
        if (n > 0) {
            memcpy(at, support[t].at, n * sizeof *at);
            memcpy(at + n, support[t].label, n * sizeof *at);
        }
        at += 2 * n;
    }
    e->models.tasks = tasks;
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
static struct vec weights_of(const struct engine *e, int first)
{
    if (!e->models.moved)
        return (struct vec){.at = engine_theta(e)};
    return (struct vec){.at = (char *)e->models.adapted + (size_t)first * e->net.len * e->k->elem,
                        .stride = e->net.len};
}

/* ---- sharing tasks out ---- */

/* Adapting or predicting for some tasks: n of them from `first` on, on one worker. */
struct job {
    struct engine *e;
    const struct labelled_task *labelled; /* of all tasks */
    int done;                             /* query images predicted before */
    const struct predicted *out;
    int (*run)(struct job *j, struct worker *worker, int first, int n);
};

static int job_piece(void *user, int piece, int worker)
{
    struct job *j = user;
    return j->run(j, &j->e->workers[worker], piece, 1);
}

static int job_run(struct job *j)
{
    struct engine *e = j->e;
    int tasks = j->e->models.tasks, err = lockstep_settle(e);
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
    struct engine *e = j->e;
    const struct labelled_task *labelled = j->labelled + first;
    struct batch_shape shape = batch_shape_of(labelled, n);
    struct worker measure = {.net = &e->net};
    struct run_step run = engine_run(e);
    struct vec theta = {.at = engine_theta(e)}, adapted = weights_of(e, first);
    struct task_batch f;
    task_batch_take(&f, &measure, &shape, (struct shuffle){0}, &e->images);
    e->method->ops->adapt(e->method, &measure, &f, theta, adapted);
    int err = worker_fit(worker, &measure);
    if (err)
        return err;
    worker_begin(worker);
    task_batch_take(&f, worker, &shape, (struct shuffle){0}, &e->images);
    task_batch_fill(&f, worker, &shape, (struct shuffle){0}, labelled, &run, n);
    e->method->ops->adapt(e->method, worker, &f, theta, adapted);
    return e->k->sync(worker->dev);
}

static int adapt(void *state, int tasks, const struct items *support)
{
    struct engine *e = state;
    bool any = false;
    for (int t = 0; t < tasks; t++)
        any = any || support[t].n > 0;
    keep_support(e, tasks, support);
    e->models.moved = e->method->ops->adapt && any;
    if (!e->models.moved)
        return 0;
    size_t bytes = (size_t)tasks * e->net.len * e->k->elem;
    int err = reserve(e, bytes, &e->models.adapted, &e->models.adapted_bytes);
    if (err)
        return err;
    struct labelled_task *labelled = mem_array((size_t)tasks, sizeof *labelled);
    for (int t = 0; t < tasks; t++)
        labelled[t] = (struct labelled_task){.support = e->models.support[t]};
    struct job j = {.e = e, .labelled = labelled, .run = adapt_some};
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
static float *reps_of(const struct engine *e, int t)
{
    return (float *)e->models.reps + (size_t)t * e->models.reps_stride;
}

static void fetch(const struct job *j, struct worker *worker, int first, int n,
                  const struct prediction *p)
{
    struct engine *e = j->e;
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
    struct engine *e = j->e;
    int last;
    const struct layer *layer = net_feature_layer(&e->net, &last);
    const void *out = e->k->out(layer, &p->pass.batch, p->pass.cache[last]);
    size_t before = (size_t)j->done * (size_t)net_features(&e->net);
    e->k->collect(worker->dev, layer, &p->pass.batch, out, p->first, images,
                  reps_of(e, first) + before, j->e->models.reps_stride);
}

static int predict_some(struct job *j, struct worker *worker, int first, int n)
{
    struct engine *e = j->e;
    const struct labelled_task *labelled = j->labelled + first;
    struct batch_shape shape = batch_shape_of(labelled, n);
    struct worker measure = {.net = &e->net};
    struct run_step run = engine_run(e);
    struct vec theta = weights_of(e, first);
    struct prediction p = {.wanted = true};
    struct task_batch f;
    if (shape.query == 0)
        return 0;
    task_batch_take(&f, &measure, &shape, (struct shuffle){0}, &e->images);
    e->method->ops->predict(e->method, &measure, &f, e->ways, theta, &p);
    int err = worker_fit(worker, &measure);
    if (err)
        return err;
    worker_begin(worker);
    task_batch_take(&f, worker, &shape, (struct shuffle){0}, &e->images);
    task_batch_fill(&f, worker, &shape, (struct shuffle){0}, labelled, &run, n);
    e->method->ops->predict(e->method, worker, &f, e->ways, theta, &p);
    if (j->e->models.reps_tasks > 0)
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
static int begin_reps(struct engine *e, int tasks, int largest, const struct predicted *out)
{
    e->models.reps_stride = (size_t)largest * (size_t)net_features(&e->net);
    e->models.reps_tasks = out->reps || out->clusters ? tasks : 0;
    size_t bytes = (size_t)e->models.reps_tasks * e->models.reps_stride * sizeof(float);
    return reserve(e, bytes, &e->models.reps, &e->models.reps_bytes);
}

static int download_reps(struct engine *e, const struct items *query, float *const *to)
{
    size_t row = (size_t)net_features(&e->net) * sizeof(float);
    for (int t = 0; t < e->models.reps_tasks; t++)
        if (to[t] && query[t].n > 0)
            e->k->download(e->dev, to[t], reps_of(e, t), (size_t)query[t].n * row);
    return e->k->sync(e->dev);
}

static int predict(void *state, int tasks, const struct items *query, const struct predicted *out)
{
    struct engine *e = state;
    int largest = 0;
    for (int t = 0; t < tasks; t++)
        largest = query[t].n > largest ? query[t].n : largest;
    int err = begin_reps(e, tasks, largest, out);
    struct labelled_task *labelled = mem_array((size_t)tasks, sizeof *labelled);
    struct job j = {.e = e, .labelled = labelled, .out = out, .run = predict_some};
    for (j.done = 0; j.done < largest && !err; j.done += PREDICT_MAX) {
        for (int t = 0; t < tasks; t++)
            labelled[t] =
                (struct labelled_task){e->models.support[t], piece_of(&query[t], j.done), 0};
        err = job_run(&j);
    }
    free(labelled);
    return !err && out->reps ? download_reps(e, query, out->reps) : err;
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

static int cluster(void *state, int tasks, struct clustering *c)
{
    struct engine *e = state;
    struct cluster_job j = {e, c};
    for (int t = 0; t < tasks; t++)
        c[t].x = reps_of(e, t);
    if (!e->k->batched)
        return threads_run(e->threads, tasks, cluster_piece, &j);
    e->k->kmeans(e->dev, tasks, net_features(&e->net), c);
    return e->k->sync(e->dev);
}

/* ---- weights ---- */

static float *add_tensor(struct tensors *out, const struct net_tensor *t)
{
    const int64_t shape[4] = {t->shape[0], t->shape[1], t->shape[2], t->shape[3]};
    return tensors_add(out, t->name, DTYPE_F32, t->dims, shape);
}

/* The model: weights by PyTorch's names, so that a state_dict loads. */
static void save_model(struct engine *e, struct tensors *out)
{
    struct net_tensor t[NET_TENSORS_MAX];
    int n = net_tensors(&e->net, t);
    for (int i = 0; i < n; i++)
        engine_get(e, ENGINE_THETA, &t[i], add_tensor(out, &t[i]));
}

static int check_model(const struct net_tensor *t, int n, const struct tensors *in)
{
    for (int i = 0; i < n; i++) {
        const int64_t shape[4] = {t[i].shape[0], t[i].shape[1], t[i].shape[2], t[i].shape[3]};
        const struct ndarray *a = tensors_find(in, t[i].name);
        if (!a)
            return fail(METE_EFORMAT, "the model has no tensor %s", t[i].name);
        int err = ndarray_check(a, t[i].name, DTYPE_SET(DTYPE_F32), t[i].dims, shape);
        if (err)
            return err;
    }
    return 0;
}

static int load_model(struct engine *e, const struct tensors *in)
{
    struct net_tensor t[NET_TENSORS_MAX];
    int n = net_tensors(&e->net, t), err = check_model(t, n, in);
    for (int i = 0; i < n && !err; i++)
        engine_put(e, ENGINE_THETA, &t[i], tensors_find(in, t[i].name)->data);
    return err;
}

/* The weights of the one task there is, by the same names. */
static int save_adapted(struct engine *e, struct tensors *out)
{
    struct net_tensor t[NET_TENSORS_MAX];
    int n = net_tensors(&e->net, t);
    if (e->models.tasks != 1)
        return fail(METE_EINVAL, "a model adapted to %d tasks cannot be saved", e->models.tasks);
    for (int i = 0; i < n; i++)
        e->k->unpack(e->dev, &e->net.layer[t[i].layer], t[i].which, weights_of(e, 0).at,
                     add_tensor(out, &t[i]));
    return e->k->sync(e->dev);
}

static int load_adapted(struct engine *e, const struct tensors *in)
{
    struct net_tensor t[NET_TENSORS_MAX];
    size_t bytes = e->net.len * e->k->elem;
    int n = net_tensors(&e->net, t), err = check_model(t, n, in);
    if (!err)
        err = reserve(e, bytes, &e->models.adapted, &e->models.adapted_bytes);
    if (err)
        return err;
    keep_support(e, 1, &(struct items){0});
    e->models.moved = true;
    e->k->zero(e->dev, e->models.adapted, bytes);
    for (int i = 0; i < n; i++)
        e->k->pack(e->dev, &e->net.layer[t[i].layer], t[i].which, tensors_find(in, t[i].name)->data,
                   e->models.adapted);
    return e->k->sync(e->dev);
}

/* The optimiser: Adam's two moments, each all tensors as one row, and the steps taken. */
static const struct moment {
    const char *name;
    enum engine_vector which;
} moments[] = {{"adam_m", ENGINE_ADAM_M}, {"adam_v", ENGINE_ADAM_V}};

static void save_training(struct engine *e, struct tensors *out)
{
    struct net_tensor t[NET_TENSORS_MAX];
    int n = net_tensors(&e->net, t);
    int64_t len = 0, *steps;
    for (int i = 0; i < n; i++)
        len += (int64_t)t[i].len;
    for (int m = 0; m < 2; m++) {
        float *row = tensors_add(out, moments[m].name, DTYPE_F32, 1, &len);
        for (int i = 0; i < n; row += t[i++].len)
            engine_get(e, moments[m].which, &t[i], row);
    }
    steps = tensors_add(out, "steps", DTYPE_I64, 0, NULL);
    *steps = engine_steps(e);
}

static int load_training(struct engine *e, const struct tensors *in)
{
    struct net_tensor t[NET_TENSORS_MAX];
    int n = net_tensors(&e->net, t);
    int64_t len = 0;
    const struct ndarray *row[2], *steps = tensors_find(in, "steps");
    for (int i = 0; i < n; i++)
        len += (int64_t)t[i].len;
    for (int m = 0; m < 2; m++) {
        row[m] = tensors_find(in, moments[m].name);
        if (!row[m] || ndarray_check(row[m], moments[m].name, DTYPE_SET(DTYPE_F32), 1, &len))
            return fail(METE_EFORMAT, "the optimiser's state does not have the %lld numbers of %s",
                        (long long)len, moments[m].name);
    }
    if (!steps || ndarray_check(steps, "steps", DTYPE_SET(DTYPE_I64), 0, NULL) ||
        *(const int64_t *)steps->data < 0 || *(const int64_t *)steps->data > INT32_MAX)
        return fail(METE_EFORMAT, "the optimiser's state does not say how many steps it took");
    for (int m = 0; m < 2; m++) {
        const float *at = row[m]->data;
        for (int i = 0; i < n; at += t[i++].len)
            engine_put(e, moments[m].which, &t[i], at);
    }
    engine_set_steps(e, *(const int64_t *)steps->data);
    return 0;
}

static int save(void *state, enum learner_part part, struct tensors *out)
{
    if (part == LEARNER_ADAPTED)
        return save_adapted(state, out);
    part == LEARNER_MODEL ? save_model(state, out) : save_training(state, out);
    return 0;
}

static int load(void *state, enum learner_part part, const struct tensors *in)
{
    return part == LEARNER_MODEL      ? load_model(state, in)
           : part == LEARNER_TRAINING ? load_training(state, in)
                                      : load_adapted(state, in);
}

/* ---- the table ---- */

static int step(void *state, const struct labelled_task *tasks, int n)
{
    return engine_step(state, tasks, n);
}

static int loss(void *state, bool restart, double *mean)
{
    return engine_losses(state, restart, mean);
}

static void close_engine(void *state)
{
    engine_close(state);
}

static int show(void *state, const struct dataset *data)
{
    return engine_show(state, engine_images(data));
}

static int freeze(void *state, const int32_t *items, int n)
{
    return engine_freeze(state, items, n);
}

static bool finite_engine(void *state)
{
    return engine_finite(state);
}

static int wait_engine(void *state)
{
    return engine_wait(state);
}

static void leave_engine(void *state)
{
    engine_leave(state);
}

static double flops(const void *state, int support, int query)
{
    return engine_flops(state, &(struct batch_shape){1, support, query});
}

static const struct learner_ops engine_ops = {
    .name = "engine",
    .step = step,
    .loss = loss,
    .adapt = adapt,
    .predict = predict,
    .save = save,
    .load = load,
    .close = close_engine,
    .cluster = cluster,
    .show = show,
    .freeze = freeze,
    .finite = finite_engine,
    .wait = wait_engine,
    .leave = leave_engine,
    .flops = flops,
};

void engine_learner_open(struct engine *e)
{
    static const char *const norms[] = {"batch", "support", "running"};
    e->learner = (struct learner){
        .ops = &engine_ops,
        .state = e,
        .is = {.ways = e->ways,
               .features = net_features(&e->net),
               .gives = LEARNER_ENTROPY | LEARNER_CLUSTERS,
               .batched = e->k->batched,
               .device = e->k->name,
               .norm = e->net.ops->bn ? norms[e->net.bn] : "none",
               .workers = e->n_workers,
               .threads = e->threads},
    };
}
