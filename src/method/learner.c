/* learner.c - adapting to tasks and predicting, on all lanes of an engine. */
#include "method/engine_private.h"
#include "method/feed.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

/* Images predicted in one pass.  Larger sets go in pieces of this size, each by its
 * own batch statistics where net.bn=batch; it bounds the memory a large pool takes. */
enum { PREDICT_MAX = 512 };

void learner_release(struct learner *l)
{
    struct engine *e = l->engine;
    if (e && e->dev)
        e->k->release(e->dev, l->adapted, l->adapted_bytes);
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

static int reserve_adapted(struct learner *l, int tasks)
{
    struct engine *e = l->engine;
    size_t bytes = (size_t)tasks * e->net.len * e->k->elem;
    if (bytes <= l->adapted_bytes)
        return 0;
    e->k->release(e->dev, l->adapted, l->adapted_bytes);
    l->adapted = NULL;
    l->adapted_bytes = 0;
    int err = e->k->alloc(e->dev, bytes, &l->adapted);
    if (!err)
        l->adapted_bytes = bytes;
    return err;
}

/* The weights of task `first` and those after it. */
static struct vec weights_of(const struct learner *l, int first)
{
    struct engine *e = l->engine;
    if (!l->moved)
        return (struct vec){engine_theta(e), 0};
    return (struct vec){(char *)l->adapted + (size_t)first * e->net.len * e->k->elem, e->net.len};
}

/* ---- sharing tasks out ---- */

/* Adapting or predicting for some tasks: n lessons from `first` on, on one lane. */
struct job {
    struct learner *l;
    const struct lesson *lessons; /* of all tasks */
    int done;                     /* query images predicted before */
    float *const *probs, *const *reps;
    int (*run)(struct job *j, struct lane *lane, int first, int n);
};

static int job_piece(void *user, int piece, int lane)
{
    struct job *j = user;
    return j->run(j, &j->l->engine->lanes[lane], piece, 1);
}

static int job_run(struct job *j)
{
    struct engine *e = j->l->engine;
    int tasks = j->l->tasks, err = crew_settle(e);
    if (!e->k->whole_shard)
        return pool_run(e->pool, tasks, job_piece, j);
    for (int first = 0, n; !err && first < tasks; first += n) {
        n = engine_together(e, j->lessons + first, tasks - first, false);
        err = j->run(j, &e->lanes[0], first, n);
    }
    return err;
}

/* ---- adapting ---- */

static int adapt_some(struct job *j, struct lane *lane, int first, int n)
{
    struct engine *e = j->l->engine;
    const struct lesson *lessons = j->lessons + first;
    struct shape shape = shape_of(lessons, n);
    struct lane measure = {.net = &e->net};
    struct vec theta = {engine_theta(e), 0}, adapted = weights_of(j->l, first);
    struct feed f;
    feed_take(&f, &measure, &shape, 0, false, &e->images);
    e->method->ops->adapt(e->method, &measure, &f, theta, adapted);
    int err = lane_fit(lane, &measure);
    if (err)
        return err;
    lane_begin(lane);
    feed_take(&f, lane, &shape, 0, false, &e->images);
    feed_fill(&f, lane, &shape, 0, false, lessons, &e->seed, n);
    e->method->ops->adapt(e->method, lane, &f, theta, adapted);
    return e->k->sync(lane->dev);
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
    int err = reserve_adapted(l, tasks);
    if (err)
        return err;
    struct lesson *lessons = mem_array((size_t)tasks, sizeof *lessons);
    for (int t = 0; t < tasks; t++)
        lessons[t] = (struct lesson){.support = l->support[t]};
    struct job j = {.l = l, .lessons = lessons, .run = adapt_some};
    err = job_run(&j);
    free(lessons);
    return err;
}

/* ---- predicting ---- */

/* Copies rows first.. of each task's (rows, width) block to where the caller wants them. */
static void hand_out(const struct job *j, int first_task, int n, const float *block,
                     const struct prediction *p, int width, float *const *to)
{
    for (int t = 0; t < n; t++) {
        int images = j->lessons[first_task + t].query.n;
        float *at = to[first_task + t];
        if (!at || images == 0)
            continue;
        size_t row = (size_t)t * (size_t)p->pass.batch.n + (size_t)p->first;
        memcpy(at + (size_t)j->done * (size_t)width, block + row * (size_t)width,
               (size_t)images * (size_t)width * sizeof *at);
    }
}

static void fetch(const struct job *j, struct lane *lane, int first, int n,
                  const struct prediction *p)
{
    struct engine *e = j->l->engine;
    int last, features = net_features(&e->net);
    const struct layer *layer = net_feature_layer(&e->net, &last);
    size_t rows = (size_t)n * (size_t)p->pass.batch.n;
    size_t width = (size_t)(features > e->ways ? features : e->ways);
    float *block = mem_array(rows * width, sizeof *block);
    if (j->probs) {
        e->k->download(lane->dev, block, p->probs, rows * (size_t)e->ways * sizeof *block);
        hand_out(j, first, n, block, p, e->ways, j->probs);
    }
    if (j->reps) {
        e->k->rows(lane->dev, layer, &p->pass.batch,
                   e->k->out(layer, &p->pass.batch, p->pass.cache[last]), block);
        hand_out(j, first, n, block, p, features, j->reps);
    }
    free(block);
}

static int predict_some(struct job *j, struct lane *lane, int first, int n)
{
    struct engine *e = j->l->engine;
    const struct lesson *lessons = j->lessons + first;
    struct shape shape = shape_of(lessons, n);
    struct lane measure = {.net = &e->net};
    struct vec theta = weights_of(j->l, first);
    struct prediction p = {.wanted = true};
    struct feed f;
    if (shape.query == 0)
        return 0;
    feed_take(&f, &measure, &shape, 0, false, &e->images);
    e->method->ops->predict(e->method, &measure, &f, e->ways, theta, &p);
    int err = lane_fit(lane, &measure);
    if (err)
        return err;
    lane_begin(lane);
    feed_take(&f, lane, &shape, 0, false, &e->images);
    feed_fill(&f, lane, &shape, 0, false, lessons, &e->seed, n);
    e->method->ops->predict(e->method, lane, &f, e->ways, theta, &p);
    fetch(j, lane, first, n, &p);
    return e->k->sync(lane->dev);
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

int learner_predict(struct learner *l, int tasks, const struct items *query, float *const *probs,
                    float *const *reps)
{
    if (tasks != l->tasks)
        return fail(METE_EINVAL, "predicting for %d tasks after adapting to %d", tasks, l->tasks);
    int largest = 0, err = 0;
    for (int t = 0; t < tasks; t++)
        largest = query[t].n > largest ? query[t].n : largest;
    struct lesson *lessons = mem_array((size_t)tasks, sizeof *lessons);
    struct job j = {.l = l, .lessons = lessons, .probs = probs, .reps = reps, .run = predict_some};
    for (j.done = 0; j.done < largest && !err; j.done += PREDICT_MAX) {
        for (int t = 0; t < tasks; t++)
            lessons[t] = (struct lesson){l->support[t], piece_of(&query[t], j.done), 0};
        err = job_run(&j);
    }
    free(lessons);
    return err;
}
