/* probe.c - gradients and Hessian products of one task's loss at any weights. */
#include "theory/probe.h"

#include "net/pass.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct probe {
    const struct kernels *k;
    struct device *dev;
    struct net net;
    struct images images;
    struct worker worker;
    int items;
    uint64_t seed;
    struct pass pass; /* of the last probe_gradient */
    struct tangent tangent;
    int32_t *index, *label; /* device memory */
    struct vec theta, grad, v, hv;
    void *vectors; /* the four above */
    size_t vectors_bytes;
    float *floats; /* (len) for kernel sets that keep floats */
};

/* Takes the memory of one pass over n items; only measures while the arena has none. */
static void take(struct probe *p, struct worker *worker, int n)
{
    size_t ints = (size_t)n * sizeof(int32_t);
    arena_reset(&worker->mem);
    worker->scratch = arena_take(&worker->mem, worker->scratch_bytes);
    p->index = arena_take(&worker->mem, ints);
    p->label = arena_take(&worker->mem, ints);
    struct batch batch = {1, n, NULL};
    pass_take(&p->pass, worker, batch, NULL);
    tangent_take(&p->tangent, worker, &batch);
}

static int open_memory(struct probe *p)
{
    struct worker measure = {.net = &p->net};
    take(p, &measure, p->items); /* learns the size of the scratch, */
    take(p, &measure, p->items); /* which the second time is taken too */
    size_t bytes = arena_peak(&measure.mem);
    p->worker =
        (struct worker){.net = &p->net, .dev = p->dev, .scratch_bytes = measure.scratch_bytes};
    void *base = NULL;
    int err = p->k->alloc(p->dev, bytes, &base);
    if (err)
        return err;
    p->worker.mem = (struct arena){.base = base, .size = bytes};
    size_t vector = (p->net.len * p->k->elem + 63) / 64 * 64;
    err = p->k->alloc(p->dev, 4 * vector, &p->vectors);
    if (err)
        return err;
    p->vectors_bytes = 4 * vector;
    struct vec *each[] = {&p->theta, &p->grad, &p->v, &p->hv};
    for (int i = 0; i < 4; i++)
        *each[i] = (struct vec){.at = (char *)p->vectors + (size_t)i * vector};
    net_init(&p->net, p->dev, p->seed, p->theta.at);
    return 0;
}

int probe_open(struct probe **out, const struct probe_spec *spec)
{
    struct probe *p = mem_alloc(sizeof *p);
    p->k = spec->kernels;
    p->images = spec->images;
    p->items = spec->items;
    p->seed = spec->seed;
    int err = net_build(&p->net, spec->net, spec->net_settings, p->k, spec->images.h,
                        spec->images.w, spec->images.c, spec->ways);
    if (!err)
        err = p->k->open(&p->dev, &(struct device_options){.full_fp32 = true});
    if (!err)
        err = p->k->images_open(p->dev, &p->images);
    if (!err)
        err = open_memory(p);
    if (err) {
        probe_close(p);
        return err;
    }
    p->floats = mem_array(p->net.len, sizeof *p->floats);
    *out = p;
    return 0;
}

void probe_close(struct probe *p)
{
    if (!p)
        return;
    if (p->dev) {
        p->k->release(p->dev, p->worker.mem.base, p->worker.mem.size);
        p->k->release(p->dev, p->vectors, p->vectors_bytes);
        p->k->images_close(p->dev, &p->images);
        p->k->close(p->dev);
    }
    free(p->floats);
    free(p);
}

const struct net *probe_net(const struct probe *p)
{
    return &p->net;
}

size_t probe_len(const struct probe *p)
{
    return p->net.len;
}

size_t probe_trained(const struct probe *p)
{
    return p->net.trained;
}

static void download(struct probe *p, const void *from, size_t n, double *to)
{
    if (p->k->elem == sizeof *to) {
        p->k->download(p->dev, to, from, n * sizeof *to);
        return;
    }
    p->k->download(p->dev, p->floats, from, n * sizeof *p->floats);
    for (size_t i = 0; i < n; i++)
        to[i] = p->floats[i];
}

static void upload(struct probe *p, void *to, size_t n, const double *from)
{
    if (p->k->elem == sizeof *from) {
        p->k->upload(p->dev, to, from, n * sizeof *from);
        return;
    }
    for (size_t i = 0; i < n; i++)
        p->floats[i] = (float)from[i];
    p->k->upload(p->dev, to, p->floats, n * sizeof *p->floats);
    p->k->sync(p->dev); /* the floats are used again */
}

void probe_get(struct probe *p, double *theta)
{
    download(p, p->theta.at, p->net.len, theta);
}

void probe_put(struct probe *p, const double *theta)
{
    upload(p, p->theta.at, p->net.len, theta);
}

void probe_put_tensor(struct probe *p, const struct net_tensor *t, const float *host)
{
    p->k->pack(p->dev, &p->net.layer[t->layer], t->which, host, p->theta.at);
}

int probe_gradient(struct probe *p, const struct items *items, int only, double *loss,
                   double *gradient)
{
    assert(items->n > 0 && items->n <= p->items && only < items->n);
    size_t bytes = (size_t)items->n * sizeof(int32_t);
    int32_t *label = mem_array((size_t)items->n, sizeof *label);
    for (int i = 0; i < items->n; i++)
        label[i] = only < 0 || only == i ? items->label[i] : -1;
    take(p, &p->worker, items->n);
    p->k->upload(p->dev, p->index, items->at, bytes);
    p->k->upload(p->dev, p->label, label, bytes);
    p->pass.labels = p->label;
    pass_gather(&p->pass, &p->worker, &p->images, p->index);
    pass_forward(&p->pass, &p->worker, p->theta);
    pass_xent(&p->pass, &p->worker);
    pass_backward(&p->pass, &p->worker, p->theta, p->grad);
    float value;
    p->k->download(p->dev, &value, p->pass.loss, sizeof value);
    free(label);
    if (loss)
        *loss = value;
    if (gradient)
        download(p, p->grad.at, p->net.trained, gradient);
    return p->k->sync(p->dev);
}

int probe_product(void *probe, const double *v, double *out)
{
    struct probe *p = probe;
    upload(p, p->v.at, p->net.trained, v);
    pass_hvp(&p->pass, &p->worker, &p->tangent, p->theta, p->v, p->hv);
    download(p, p->hv.at, p->net.trained, out);
    return p->k->sync(p->dev);
}

double vector_dot(size_t n, const double *x, const double *y)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

double vector_norm(size_t n, const double *x)
{
    return sqrt(vector_dot(n, x, x));
}

void vector_add(size_t n, double *y, double a, const double *x)
{
    for (size_t i = 0; i < n; i++)
        y[i] += a * x[i];
}
