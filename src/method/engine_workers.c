/* engine_workers.c - the workers' memory: measured for the largest shard, taken once, grown. */
#include "method/engine_private.h"
#include "method/task_batch.h"
#include "base/error.h"

static size_t rounded(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

size_t whole_pages(size_t bytes)
{
    enum { LARGE_PAGE = 2 << 20 };
    return (bytes + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
}

/* Memory for the worker instead of what it has: beside that or, where there is not enough, after it
 * is given back.  A worker that cannot grow has again as much as it had. */
static int grow(struct worker *worker, size_t bytes)
{
    const struct kernels *k = worker->net->k;
    size_t had = worker->mem.size;
    void *p = NULL;
    int err = k->alloc(worker->dev, bytes, &p);
    if (err && err != METE_ENOMEM)
        return err;
    k->release(worker->dev, worker->mem.base, had);
    if (err)
        err = k->alloc(worker->dev, bytes, &p);
    if (err && (had == 0 || k->alloc(worker->dev, had, &p)))
        had = 0;
    worker->mem = (struct arena){.base = p, .size = err ? had : bytes};
    return err;
}

int worker_fit(struct worker *worker, const struct worker *measured)
{
    size_t arena = arena_peak(&measured->mem), scratch = measured->scratch_bytes;
    arena = arena > worker->arena_bytes ? arena : worker->arena_bytes;
    scratch = scratch > worker->scratch_bytes ? scratch : worker->scratch_bytes;
    size_t bytes = whole_pages(rounded(arena) + rounded(scratch));
    int err = worker->mem.base && bytes <= worker->mem.size ? 0 : grow(worker, bytes);
    if (!err) {
        worker->arena_bytes = arena;
        worker->scratch_bytes = scratch;
    }
    return err;
}

void worker_begin(struct worker *worker)
{
    arena_reset(&worker->mem);
    worker->scratch = arena_take(&worker->mem, worker->scratch_bytes);
}

struct worker engine_measure(const struct engine *e, const struct batch_shape *shape, bool predict)
{
    struct worker worker = {.net = &e->net};
    struct task_batch f;
    struct shuffle shuffled = engine_shuffle(e);
    struct prediction p = {.wanted = predict};
    task_batch_take(&f, &worker, shape, shuffled, &e->images);
    struct vec grad = vector_take(&worker, shape->tasks);
    e->method->ops->meta_grad(e->method, &worker, &f, e->train_ways, (struct vec){0}, grad, &p);
    return worker;
}

static size_t worker_bytes(const struct worker *measured)
{
    return whole_pages(rounded(arena_peak(&measured->mem)) + rounded(measured->scratch_bytes));
}

/* Whether the device has memory for a shard of `tasks`, now. */
static bool shard_fits(struct engine *e, int tasks)
{
    struct batch_shape shape = e->largest;
    void *p = NULL;
    shape.tasks = tasks;
    struct worker measured = engine_measure(e, &shape, false);
    size_t bytes = worker_bytes(&measured);
    if (e->k->alloc(e->dev, bytes, &p))
        return false;
    e->k->release(e->dev, p, bytes);
    return true;
}

/* Why a device that takes all tasks of a shard at once cannot, and what it could. */
static int too_large(struct engine *e, const struct worker *measured)
{
    int fits = 0, fails = e->meta_batch;
    while (fails - fits > 1) {
        int half = fits + (fails - fits) / 2;
        *(shard_fits(e, half) ? &fits : &fails) = half;
    }
    double mb = (double)worker_bytes(measured) / 1e6;
    if (fits == 0)
        return fail(METE_ENOMEM, "%s does not have the %.1f MB that one task of this size needs",
                    e->k->name, mb / e->meta_batch);
    return fail(
        METE_ENOMEM,
        "%s does not have the %.1f MB that a meta-batch of %d needs; train.meta_batch=%d is the "
        "largest that fits",
        e->k->name, mb, e->meta_batch, fits);
}

int engine_open_workers(struct engine *e)
{
    struct batch_shape shape = e->largest;
    shape.tasks = e->k->batched ? e->meta_batch : 1;
    struct worker measured = engine_measure(e, &shape, false);
    e->workers = mem_array((size_t)e->n_workers, sizeof *e->workers);
    for (int i = 0; i < e->n_workers; i++) {
        e->workers[i] = (struct worker){.net = &e->net};
        int err = i == 0 ? 0 : e->k->open(&e->workers[i].dev, &e->device);
        if (err)
            return err;
        if (i == 0)
            e->workers[0].dev = e->dev;
        err = worker_fit(&e->workers[i], &measured);
        if (err == METE_ENOMEM && e->k->batched)
            err = too_large(e, &measured);
        if (err)
            return err;
        e->planned += e->workers[i].mem.size;
    }
    return 0;
}
