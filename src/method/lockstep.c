/* lockstep.c - who is in a lockstep group, and the steps it takes. */
#include "method/lockstep.h"
#include "method/engine_private.h"
#include "method/task_batch.h"
#include "base/error.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct member {
    struct engine *engine;
    const struct labelled_task *tasks; /* of the step it waits for, or NULL */
};

struct lockstep {
    struct lockstep *next;
    struct lockstep_set *all;
    /* what all members have in common */
    const void *pixels; /* on the host */
    struct net net;
    struct method method;
    struct batch_shape shape; /* of a member's meta-batch */
    int ways;
    struct shuffle shuffled;
    struct device_options device;
    /* the lockstep group's own */
    struct device *dev;
    struct worker worker;
    struct images images;
    struct replays replays;
    struct labelled_task *labelled; /* (members, tasks) of a step */
    /* guarded by the lock */
    pthread_mutex_t lock;
    pthread_cond_t taken;
    struct member member[LOCKSTEP_MAX];
    int members;
    int failed; /* the first failure, which is everyone's */
    char sentence[1024];
};

struct lockstep_set {
    pthread_mutex_t lock; /* taken before a lockstep group's */
    struct lockstep *first;
    int most;
};

int lockstep_set_open(struct lockstep_set **out, int members)
{
    if (members < 1 || members > LOCKSTEP_MAX)
        return fail(METE_EINVAL, "%d runs together, expected 1 to %d", members, LOCKSTEP_MAX);
    struct lockstep_set *all = mem_alloc(sizeof *all);
    pthread_mutex_init(&all->lock, NULL);
    all->most = members;
    *out = all;
    return 0;
}

static void lockstep_close(struct lockstep *c)
{
    const struct kernels *k = c->net.k;
    if (c->dev) {
        k->release(c->dev, c->worker.mem.base, c->worker.mem.size);
        if (c->images.data)
            k->images_close(c->dev, &c->images);
        k->close(c->dev);
    }
    pthread_mutex_destroy(&c->lock);
    pthread_cond_destroy(&c->taken);
    free(c->method.state);
    free(c->labelled);
    free(c);
}

void lockstep_set_close(struct lockstep_set *all)
{
    if (!all)
        return;
    while (all->first) {
        struct lockstep *c = all->first;
        all->first = c->next;
        lockstep_close(c);
    }
    pthread_mutex_destroy(&all->lock);
    free(all);
}

/* ---- a step ---- */

/* What a step of `members` takes from the worker: the task batch, weights of every member,
 * gradients of every task, and what the method takes after them. */
struct work {
    struct batch_shape shape;
    struct task_batch task_batch;
    struct vec theta, grad;
};

static void work_take(struct work *w, const struct lockstep *c, struct worker *worker, int members)
{
    w->shape = c->shape;
    w->shape.tasks *= members;
    task_batch_take(&w->task_batch, worker, &w->shape, c->shuffled, &c->images);
    struct vec weights = vector_take(worker, members);
    w->theta = vec_of_runs(weights.at, weights.stride, c->shape.tasks);
    w->grad = vector_take(worker, w->shape.tasks);
}

static int plan_worker(struct lockstep *c)
{
    struct worker measured = {.net = &c->net};
    struct prediction p = {0};
    struct work w;
    work_take(&w, c, &measured, c->all->most);
    c->method.ops->meta_grad(&c->method, &measured, &w.task_batch, c->ways,
                             (struct vec){.stride = c->net.len}, w.grad, &p);
    c->worker = (struct worker){.net = &c->net, .dev = c->dev};
    return worker_fit(&c->worker, &measured);
}

/* The vectors from number `first` on. */
static struct vec from_vector(const struct lockstep *c, struct vec v, int first)
{
    return (struct vec){.at = (char *)v.at + (size_t)first * v.stride * c->net.k->elem,
                        .stride = v.stride};
}

static void compute(struct lockstep *c, const struct work *w, struct prediction *p)
{
    int each = c->shape.tasks;
    for (int i = 0; i < c->members; i++)
        engine_lend(c->member[i].engine, c->dev, from_vector(c, w->theta, i));
    c->method.ops->meta_grad(&c->method, &c->worker, &w->task_batch, c->ways, w->theta, w->grad, p);
    for (int i = 0; i < c->members; i++) /* what is alike together: a GPU makes one launch of it */
        engine_collect(c->member[i].engine, c->dev, each, from_vector(c, w->grad, i * each));
    for (int i = 0; i < c->members; i++)
        engine_collect_losses(c->member[i].engine, c->dev, each, p->loss + i * each);
    for (int i = 0; i < c->members; i++)
        engine_update(c->member[i].engine, c->dev, each, &w->task_batch.rates[i * each]);
}

/* All members have a step to take. */
static int take_step(struct lockstep *c)
{
    int each = c->shape.tasks;
    struct run_step runs[LOCKSTEP_MAX];
    int64_t same[LOCKSTEP_MAX + 1] = {c->members};
    struct prediction p = {0};
    struct work w;
    for (int i = 0; i < c->members; i++) {
        const struct member *m = &c->member[i];
        memcpy(c->labelled + i * each, m->tasks, (size_t)each * sizeof *m->tasks);
        runs[i] = engine_run(m->engine);
        same[i + 1] = (int64_t)(intptr_t)m->engine->vectors;
    }
    worker_begin(&c->worker);
    work_take(&w, c, &c->worker, c->members);
    task_batch_fill(&w.task_batch, &c->worker, &w.shape, c->shuffled, c->labelled, runs, each);
    uint64_t key = replay_key(&c->worker, same, c->members + 1);
    if (!replay_begin(&c->replays, &c->worker, key, &p)) {
        compute(c, &w, &p);
        replay_end(&c->replays, &c->worker, &p);
    }
    for (int i = 0; i < c->members; i++)
        engine_stepped(c->member[i].engine);
    return 0;
}

/* ---- under the lock ---- */

static void note_failure(struct lockstep *c, int err)
{
    if (!err || c->failed)
        return;
    c->failed = err;
    snprintf(c->sentence, sizeof c->sentence, "%s", mete_errmsg());
}

static int failure(const struct lockstep *c)
{
    return c->failed ? fail(c->failed, "%s", c->sentence) : 0;
}

static struct member *member_of(struct lockstep *c, const struct engine *e)
{
    int i = 0;
    while (c->member[i].engine != e)
        i++;
    return &c->member[i];
}

static void take_if_all_wait(struct lockstep *c)
{
    for (int i = 0; i < c->members; i++)
        if (!c->member[i].tasks)
            return;
    if (c->members > 0 && !c->failed)
        note_failure(c, take_step(c));
    for (int i = 0; i < c->members; i++)
        c->member[i].tasks = NULL;
    pthread_cond_broadcast(&c->taken);
}

/* Recordings name the members' memory. */
static void members_change(struct lockstep *c)
{
    const struct kernels *k = c->net.k;
    note_failure(c, k->sync(c->dev));
    if (k->forget)
        k->forget(c->dev);
    c->replays = (struct replays){0};
}

/* ---- coming and going ---- */

static bool alike(const struct lockstep *c, const struct engine *e)
{
    const struct method_ops *ops = e->method->ops;
    return c->pixels == e->pixels && c->net.k == e->k && c->ways == e->train_ways &&
           c->shape.tasks == e->meta_batch && c->shape.support == e->largest.support &&
           c->shape.query == e->largest.query && c->device.index == e->device.index &&
           c->device.full_fp32 == e->device.full_fp32 && c->method.ops == ops &&
           memcmp(c->method.state, e->method->state, ops->state_size) == 0 &&
           c->net.ops == e->net.ops && c->net.bn == e->net.bn && c->net.layers == e->net.layers &&
           c->net.len == e->net.len &&
           memcmp(c->net.layer, e->net.layer, (size_t)e->net.layers * sizeof *e->net.layer) == 0;
}

static int lockstep_open(struct lockstep **out, struct lockstep_set *all, const struct engine *e)
{
    struct lockstep *c = mem_alloc(sizeof *c);
    const struct method_ops *ops = e->method->ops;
    c->all = all;
    c->pixels = e->pixels;
    c->net = e->net;
    c->shape = (struct batch_shape){e->meta_batch, e->largest.support, e->largest.query};
    c->ways = e->train_ways;
    c->shuffled = ops->shuffled ? ops->shuffled(e->method) : (struct shuffle){0};
    c->method = (struct method){ops, mem_alloc(ops->state_size)};
    memcpy(c->method.state, e->method->state, ops->state_size);
    c->device = e->device;
    c->device.tasks = all->most * e->meta_batch;
    c->images = e->images;
    c->images.data = NULL;
    c->labelled = mem_array((size_t)(all->most * e->meta_batch), sizeof *c->labelled);
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->taken, NULL);
    int err = e->k->open(&c->dev, &c->device);
    if (!err) {
        struct images images = e->images;
        images.data = e->pixels;
        err = e->k->images_open(c->dev, &images);
        c->images = err ? c->images : images;
    }
    if (!err)
        err = plan_worker(c);
    if (err) {
        lockstep_close(c);
        return err;
    }
    *out = c;
    return 0;
}

static int join(struct lockstep_set *all, struct engine *e)
{
    struct lockstep *c;
    int err = 0;
    pthread_mutex_lock(&all->lock);
    for (c = all->first; c; c = c->next)
        if (c->members < all->most && !c->failed && alike(c, e))
            break;
    if (!c) {
        err = lockstep_open(&c, all, e);
        if (err == METE_ENOMEM)
            err = fail_within(err, "%d runs together", all->most);
        if (!err) {
            c->next = all->first;
            all->first = c;
        }
    }
    if (!err) {
        pthread_mutex_lock(&c->lock);
        members_change(c);
        c->member[c->members++] = (struct member){.engine = e};
        pthread_mutex_unlock(&c->lock);
        e->lockstep = c;
    }
    pthread_mutex_unlock(&all->lock);
    return err;
}

int lockstep_step(struct lockstep_set *all, struct engine *e, const struct labelled_task *tasks)
{
    int err = e->k->sync(e->dev); /* what it has done alone */
    if (!err && !e->lockstep)
        err = join(all, e);
    if (err)
        return err;
    struct lockstep *c = e->lockstep;
    pthread_mutex_lock(&c->lock);
    member_of(c, e)->tasks = tasks;
    take_if_all_wait(c);
    while (member_of(c, e)->tasks)
        pthread_cond_wait(&c->taken, &c->lock);
    err = failure(c);
    pthread_mutex_unlock(&c->lock);
    e->ahead = true;
    return err;
}

int lockstep_settle(struct engine *e)
{
    struct lockstep *c = e->lockstep;
    if (!c || !e->ahead)
        return 0;
    pthread_mutex_lock(&c->lock);
    note_failure(c, c->net.k->sync(c->dev));
    int err = failure(c);
    pthread_mutex_unlock(&c->lock);
    e->ahead = false;
    return err;
}

void lockstep_leave(struct engine *e)
{
    struct lockstep *c = e->lockstep;
    if (!c)
        return;
    struct lockstep_set *all = c->all;
    pthread_mutex_lock(&all->lock);
    pthread_mutex_lock(&c->lock);
    members_change(c);
    struct member *m = member_of(c, e);
    *m = c->member[--c->members];
    c->member[c->members] = (struct member){0};
    take_if_all_wait(c);
    bool empty = c->members == 0;
    pthread_mutex_unlock(&c->lock);
    e->lockstep = NULL;
    e->ahead = false;
    if (empty) {
        struct lockstep **at = &all->first;
        while (*at != c)
            at = &(*at)->next;
        *at = c->next;
        lockstep_close(c);
    }
    pthread_mutex_unlock(&all->lock);
}
