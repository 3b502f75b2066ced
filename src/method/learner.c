/* learner.c - adapting to tasks and predicting, on one lane of an engine. */
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
    if (e && e->lanes && e->lanes[l->lane].dev)
        e->k->release(e->lanes[l->lane].dev, l->adapted, l->adapted_bytes);
    free(l->support);
    free(l->kept);
    *l = (struct learner){.engine = e, .lane = l->lane};
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
    struct lane *lane = &e->lanes[l->lane];
    size_t bytes = (size_t)tasks * e->net.len * e->k->elem;
    if (bytes <= l->adapted_bytes)
        return 0;
    e->k->release(lane->dev, l->adapted, l->adapted_bytes);
    l->adapted = NULL;
    l->adapted_bytes = 0;
    int err = e->k->alloc(lane->dev, bytes, &l->adapted);
    if (!err)
        l->adapted_bytes = bytes;
    return err;
}

static int adapt_all(struct learner *l, const struct lesson *lessons)
{
    struct engine *e = l->engine;
    struct lane *lane = &e->lanes[l->lane];
    struct shape shape = shape_of(lessons, l->tasks);
    struct lane measure = {.net = &e->net};
    struct vec theta = {engine_theta(e), 0}, adapted = {l->adapted, e->net.len};
    struct feed f;
    feed_take(&f, &measure, &shape, 0, false, &e->images);
    e->method->ops->adapt(e->method, &measure, &f, theta, adapted);
    int err = lane_fit(lane, &measure);
    if (err)
        return err;
    lane_begin(lane);
    feed_take(&f, lane, &shape, 0, false, &e->images);
    feed_fill(&f, lane, &shape, 0, false, lessons, e->seed);
    e->method->ops->adapt(e->method, lane, &f, theta, adapted);
    return e->k->sync(lane->dev);
}

int learner_adapt(struct learner *l, int tasks, const struct items *support)
{
    const struct method_ops *ops = l->engine->method->ops;
    bool any = false;
    for (int t = 0; t < tasks; t++)
        any = any || support[t].n > 0;
    keep_support(l, tasks, support);
    l->moved = ops->adapt && any;
    if (!l->moved)
        return 0;
    int err = reserve_adapted(l, tasks);
    if (err)
        return err;
    struct lesson *lessons = mem_array((size_t)tasks, sizeof *lessons);
    for (int t = 0; t < tasks; t++)
        lessons[t] = (struct lesson){.support = l->support[t]};
    err = adapt_all(l, lessons);
    free(lessons);
    return err;
}

/* Copies rows first..first+n-1 of each task's (rows, width) block to the callers'. */
static void hand_out(int tasks, const struct lesson *lessons, const float *block, int rows,
                     int first, int width, int done, float *const *to)
{
    for (int t = 0; t < tasks; t++) {
        int n = lessons[t].query.n;
        if (!to[t] || n == 0)
            continue;
        const float *from = block + ((size_t)t * (size_t)rows + (size_t)first) * (size_t)width;
        memcpy(to[t] + (size_t)done * (size_t)width, from,
               (size_t)n * (size_t)width * sizeof(float));
    }
}

static int predict_piece(struct learner *l, const struct lesson *lessons, int done,
                         float *const *probs, float *const *reps)
{
    struct engine *e = l->engine;
    struct lane *lane = &e->lanes[l->lane];
    struct shape shape = shape_of(lessons, l->tasks);
    struct lane measure = {.net = &e->net};
    struct vec theta =
        l->moved ? (struct vec){l->adapted, e->net.len} : (struct vec){engine_theta(e), 0};
    struct prediction p;
    struct feed f;
    feed_take(&f, &measure, &shape, 0, false, &e->images);
    e->method->ops->predict(e->method, &measure, &f, e->ways, theta, &p);
    int err = lane_fit(lane, &measure);
    if (err)
        return err;
    lane_begin(lane);
    feed_take(&f, lane, &shape, 0, false, &e->images);
    feed_fill(&f, lane, &shape, 0, false, lessons, e->seed);
    e->method->ops->predict(e->method, lane, &f, e->ways, theta, &p);

    size_t rows = (size_t)l->tasks * (size_t)p.pass.batch.n;
    int width = learner_features(l) > e->ways ? learner_features(l) : e->ways, last;
    float *block = mem_array(rows * (size_t)width, sizeof *block);
    if (probs) {
        e->k->download(lane->dev, block, p.probs, rows * (size_t)e->ways * sizeof *block);
        hand_out(l->tasks, lessons, block, p.pass.batch.n, p.first, e->ways, done, probs);
    }
    if (reps) {
        const struct layer *layer = net_feature_layer(&e->net, &last);
        e->k->rows(lane->dev, layer, &p.pass.batch,
                   e->k->out(layer, &p.pass.batch, p.pass.cache[last]), block);
        hand_out(l->tasks, lessons, block, p.pass.batch.n, p.first, learner_features(l), done,
                 reps);
    }
    free(block);
    return e->k->sync(lane->dev);
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
    for (int done = 0; done < largest && !err; done += PREDICT_MAX) {
        for (int t = 0; t < tasks; t++) {
            int left = query[t].n - done, n = left < 0             ? 0
                                              : left < PREDICT_MAX ? left
                                                                   : PREDICT_MAX;
            lessons[t].support = l->support[t];
            lessons[t].query = (struct items){query[t].at + done,
                                              query[t].label ? query[t].label + done : NULL, n};
        }
        err = predict_piece(l, lessons, done, probs, reps);
    }
    free(lessons);
    return err;
}
