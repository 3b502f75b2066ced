/* frozen.c - batch-norm statistics for use one image at a time.
 *
 * A net that was trained by the statistics of the batch at hand needs others when images come one
 * by one.  They are taken layer by layer: those of a layer are of its inputs as they are once the
 * layers before it have theirs.  So a large batch normalised by itself, and the same images under
 * the frozen statistics, give the same numbers.  A piece of the images at a time gives its mean
 * and variance, and pieces are put together in order: the same for any number of threads.
 */
#include "method/engine_private.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE = 64 };

struct freezing {
    struct engine *e;
    const int32_t *items;
    int n, layer;
    float *mean, *var; /* (pieces, channels) */
};

static int size_of(const struct freezing *f, int piece)
{
    int left = f->n - piece * PIECE;
    return left < PIECE ? left : PIECE;
}

/* Everything that a piece takes from its worker. */
struct piece_memory {
    struct pass pass;
    int32_t *index;
    struct vec grad;
};

static struct piece_memory take(struct worker *worker, int n)
{
    struct piece_memory m;
    m.index = arena_take(&worker->mem, (size_t)n * sizeof *m.index);
    pass_take(&m.pass, worker, (struct batch){.tasks = 1, .n = n}, NULL);
    m.pass.norm = (struct norm){.stat = 0, .no_tangents = true};
    m.grad = vector_take(worker, 1);
    return m;
}

static const void *input_of(const struct net *net, const struct pass *p, int i)
{
    return i == 0 ? p->x : net->k->out(&net->layer[i - 1], &p->batch, p->cache[i - 1]);
}

/* The layer's backward pass leaves (running - this piece's) statistics; the running ones are 0 and
 * 1, and what it does with a gradient of zeros is not looked at. */
static int piece(void *user, int number, int which)
{
    struct freezing *f = user;
    struct engine *e = f->e;
    const struct kernels *k = e->k;
    struct worker *worker = &e->workers[which], measure = {.net = &e->net};
    const struct layer *l = &e->net.layer[f->layer];
    int n = size_of(f, number);
    take(&measure, n);
    int err = worker_fit(worker, &measure);
    if (err)
        return err;
    worker_begin(worker);
    struct piece_memory m = take(worker, n);
    struct vec theta = {.at = engine_theta(e)};
    k->upload(worker->dev, m.index, f->items + (size_t)number * PIECE, (size_t)n * sizeof *m.index);
    pass_gather(&m.pass, worker, &e->images, m.index);
    void *cache = m.pass.cache[f->layer];
    k->zero(worker->dev, cache, k->cache_bytes(l, &m.pass.batch));
    for (int i = 0; i <= f->layer; i++)
        k->forward(worker->dev, &e->net.layer[i], &m.pass.batch, m.pass.norm,
                   input_of(&e->net, &m.pass, i), theta, m.pass.cache[i], worker->scratch);
    k->backward(worker->dev, l, &m.pass.batch, m.pass.norm, input_of(&e->net, &m.pass, f->layer),
                theta, cache, NULL, m.grad, worker->scratch);
    size_t row = (size_t)number * (size_t)l->out_c;
    k->unpack(worker->dev, l, TENSOR_MEAN, m.grad.at, f->mean + row);
    k->unpack(worker->dev, l, TENSOR_VAR, m.grad.at, f->var + row);
    return k->sync(worker->dev);
}

/* Mean and variance of channel c over all pieces, from (0 - mean) and (1 - variance) of each. */
static void join(const struct freezing *f, int channels, int c, float *mean, float *var)
{
    double sum = 0, square = 0;
    for (int first = 0, p = 0; first < f->n; first += PIECE, p++)
        sum -= (double)f->mean[p * channels + c] * size_of(f, p);
    sum /= f->n;
    for (int first = 0, p = 0; first < f->n; first += PIECE, p++) {
        double off = -(double)f->mean[p * channels + c] - sum;
        square += (1 - (double)f->var[p * channels + c] + off * off) * size_of(f, p);
    }
    *mean = (float)sum;
    *var = (float)(square / f->n);
}

static void put(struct engine *e, int layer, const float *mean, const float *var)
{
    const struct layer *l = &e->net.layer[layer];
    e->k->pack(e->dev, l, TENSOR_MEAN, mean, engine_theta(e));
    e->k->pack(e->dev, l, TENSOR_VAR, var, engine_theta(e));
}

static int freeze_layer(struct freezing *f)
{
    struct engine *e = f->e;
    int channels = e->net.layer[f->layer].out_c, pieces = (f->n + PIECE - 1) / PIECE, err = 0;
    size_t row = (size_t)channels;
    float *mean = mem_array(row, sizeof *mean), *var = mem_array(row, sizeof *var);
    f->mean = mem_array((size_t)pieces * row, sizeof *f->mean);
    f->var = mem_array((size_t)pieces * row, sizeof *f->var);
    for (int c = 0; c < channels; c++)
        var[c] = 1;
    put(e, f->layer, mean, var);
    if (!e->k->batched)
        err = threads_run(e->threads, pieces, piece, f);
    for (int p = 0; e->k->batched && p < pieces && !err; p++)
        err = piece(f, p, 0);
    for (int c = 0; c < channels; c++)
        join(f, channels, c, &mean[c], &var[c]);
    if (!err)
        put(e, f->layer, mean, var);
    free(f->mean);
    free(f->var);
    free(mean);
    free(var);
    return err;
}

int engine_freeze(struct engine *e, const int32_t *items, int n)
{
    struct freezing f = {.e = e, .items = items, .n = n};
    int err = lockstep_settle(e);
    if (!e->net.ops->bn || e->net.bn == BN_RUNNING)
        return err;
    for (f.layer = 0; f.layer < e->net.layers && !err; f.layer++)
        if (e->net.layer[f.layer].kind == LAYER_CONV)
            err = freeze_layer(&f);
    return err ? err : e->k->sync(e->dev);
}
