/* pass.h - a small net run through every operation of a kernel set.
 *
 * A spec says what net and what tasks; a pass holds it on one set's device:
 * forward, loss, backward, and the Hessian-vector product in a random direction.
 * The data depend on the spec alone, so that two sets can be held against each
 * other.  Results come back as named arrays of floats in PyTorch's order.
 */
#ifndef PASS_H
#define PASS_H

#include "base/memory.h"
#include "base/rng.h"
#include "kernel/kernel.h"
#include "mete.h"
#include "test.h"

enum { TASKS_MAX = 4, WAYS_MAX = 32, WHOLE = -1 };

struct spec {
    const char *name;
    int h, w, c;  /* an image */
    int conv[5];  /* filters of the conv layers, 0: no more */
    bool pool;    /* stride 1 and pooling instead of stride 2 */
    int dense[4]; /* widths of the dense layers; the last is the head */
    int tasks, n;
    int count[TASKS_MAX]; /* all 0: n each; of more tasks, over again */
    int stat;             /* of struct norm; WHOLE: n */
    bool own;             /* a parameter vector per task, not a shared one */
    bool sum;             /* the loss is a sum over the images, not a mean */
    bool ignore;          /* every third label is -1 */
    int seed;
};

/* Whether tests should do little, of every kernel: racecheck takes a fifth of a second for a
 * launch, and all of test_kernels are thousands. */
static inline bool light(void)
{
    return getenv("METE_TEST_LIGHT") != NULL;
}

/* Whether a spec is none of those that are enough then, by name; the last is NULL. */
static inline bool beyond(const char *const *enough, const struct spec *s)
{
    while (light() && *enough && strcmp(*enough, s->name) != 0)
        enough++;
    return light() && !*enough;
}

/* How a pass differs from its spec. */
struct manner {
    bool tf32;      /* GPU: not in plain fp32 */
    int cycle;      /* after so many, tasks are the first over again; 0: all are their own */
    bool flat;      /* images of one colour: windows of pooling are equal, or far from it */
    int tasks;      /* that work is cut for; 0: those of the spec */
    int processors; /* of a GPU that work is cut for; 0: all it has */
};

struct pass {
    const struct kernels *k;
    const struct spec *spec;
    struct manner manner;
    struct device *device;
    struct layer layers[LAYERS_MAX];
    int n_layers;
    size_t len, trained;
    struct batch batch;
    struct norm norm;
    struct vec theta, v, grad, hv;
    void *x, *cache[LAYERS_MAX], *tangent[LAYERS_MAX], *scratch;
    int32_t *labels; /* device memory, as are the two below */
    float *probs, *loss;
    struct {
        void *at;
        size_t bytes;
    } owned[64];
    int n_owned;
};

struct result {
    char *name;
    float *at;
    size_t len;
    double slack; /* how much more than the tolerance it may be off */
};
struct results { /* zeroed: none */
    int n, room;
    struct result *item; /* (room) */
};

/* ---- shapes ---- */

static inline struct layer conv_layer(int h, int w, int c, int filters, bool pool)
{
    struct layer l = {.kind = LAYER_CONV,
                      .in_h = h,
                      .in_w = w,
                      .in_c = c,
                      .out_c = filters,
                      .stride = pool ? 1 : 2,
                      .pool = pool,
                      .relu = true,
                      .eps = 1e-5};
    l.conv_h = (h - 1) / l.stride + 1;
    l.conv_w = (w - 1) / l.stride + 1;
    l.out_h = pool ? (l.conv_h + 1) / 2 : l.conv_h;
    l.out_w = pool ? (l.conv_w + 1) / 2 : l.conv_w;
    return l;
}

static inline int spec_layers(const struct spec *s, struct layer *layers)
{
    int n = 0, h = s->h, w = s->w, c = s->c;
    for (int i = 0; i < 5 && s->conv[i]; i++, n++) {
        layers[n] = conv_layer(h, w, c, s->conv[i], s->pool);
        h = layers[n].out_h;
        w = layers[n].out_w;
        c = s->conv[i];
    }
    for (int i = 0; i < 4 && s->dense[i]; i++, n++) {
        layers[n] = (struct layer){.kind = LAYER_DENSE,
                                   .in_h = h,
                                   .in_w = w,
                                   .in_c = c,
                                   .out_h = 1,
                                   .out_w = 1,
                                   .out_c = s->dense[i],
                                   .relu = i < 3 && s->dense[i + 1]};
        h = w = 1;
        c = s->dense[i];
    }
    return n;
}

static inline size_t tensor_size(const struct layer *l, enum tensor which)
{
    if (which == TENSOR_WEIGHT)
        return (size_t)(l->out_c * l->in_c * (l->kind == LAYER_CONV ? 9 : l->in_h * l->in_w));
    return l->kind == LAYER_CONV || which == TENSOR_BIAS ? (size_t)l->out_c : 0;
}

static inline size_t row_size(const struct layer *l)
{
    return (size_t)(l->out_c * l->out_h * l->out_w);
}

static inline int spec_count(const struct spec *s, int task)
{
    int given = 0;
    for (int t = 0; t < TASKS_MAX; t++)
        given += s->count[t];
    return given ? s->count[task % TASKS_MAX] : s->n;
}

/* ---- data ---- */

/* A tensor's values: weights of variance 2/inputs, gamma and variances near 1, so
 * that activations neither die nor explode; the rest is small. */
static inline void fill_tensor(struct rng *r, const struct layer *l, enum tensor which, float *to)
{
    double spread = 0.3, centre = which == TENSOR_GAMMA || which == TENSOR_VAR ? 1 : 0;
    if (which == TENSOR_WEIGHT)
        spread = sqrt(2.0 * l->out_c / (double)tensor_size(l, which));
    for (size_t i = 0; i < tensor_size(l, which); i++) {
        to[i] = (float)(centre + spread * rng_normal(r));
        if (which == TENSOR_VAR)
            to[i] = 0.1f + fabsf(to[i]);
    }
}

/* Fills tensors of one vector on the device: all, or the trained ones, or (only >= 0)
 * tensor `only` % TENSORS of layer `only` / TENSORS. */
static inline void fill_vector(struct pass *p, struct rng *r, void *vector, bool running, int only)
{
    for (int i = 0; i < p->n_layers; i++)
        for (int w = 0; w < (running ? TENSORS : TENSOR_MEAN); w++) {
            const struct layer *l = &p->layers[i];
            float *host = mem_array(tensor_size(l, (enum tensor)w) + 1, sizeof *host);
            fill_tensor(r, l, (enum tensor)w, host);
            if (tensor_size(l, (enum tensor)w) && (only < 0 || only == i * TENSORS + w))
                p->k->pack(p->device, l, (enum tensor)w, host, vector);
            free(host);
        }
}

static inline void *vector_of(const struct pass *p, struct vec v, int task)
{
    return (char *)v.at + (size_t)task * v.stride * p->k->elem;
}

static inline void no_memory(void)
{
    fprintf(stderr, "no memory for a test: %s\n", mete_errmsg());
    abort();
}

/* Device memory that lives as long as the pass. */
static inline void *device_alloc(struct pass *p, size_t bytes)
{
    void *at = NULL;
    if (p->n_owned == 64 || p->k->alloc(p->device, bytes + 1, &at))
        no_memory();
    p->owned[p->n_owned].at = at;
    p->owned[p->n_owned++].bytes = bytes + 1;
    return at;
}

static inline void *device_copy(struct pass *p, const void *host, size_t bytes)
{
    void *at = device_alloc(p, bytes);
    p->k->upload(p->device, at, host, bytes);
    return at;
}

static inline struct vec vec_alloc(struct pass *p, bool own)
{
    size_t vectors = own ? (size_t)p->batch.tasks : 1;
    return (struct vec){.at = device_alloc(p, vectors * p->len * p->k->elem),
                        .stride = own ? p->len : 0};
}

static inline void pass_parameters(struct pass *p)
{
    const struct spec *s = p->spec;
    p->theta = vec_alloc(p, s->own);
    p->v = vec_alloc(p, s->own);
    p->grad = vec_alloc(p, true);
    p->hv = vec_alloc(p, true);
    struct rng r = rng_make((uint64_t)s->seed, RNG_TEST, 1, 0);
    for (int t = 0; t < (s->own ? s->tasks : 1); t++) {
        if (p->manner.cycle && t % p->manner.cycle == 0)
            r = rng_make((uint64_t)s->seed, RNG_TEST, 1, 0);
        fill_vector(p, &r, vector_of(p, p->theta, t), true, -1);
        fill_vector(p, &r, vector_of(p, p->v, t), false, -1);
    }
}

static inline void pass_images(struct pass *p)
{
    const struct spec *s = p->spec;
    int items = s->tasks * s->n;
    size_t size = (size_t)(s->h * s->w * s->c);
    float *host = mem_array((size_t)items * size, sizeof *host);
    int32_t *index = mem_array((size_t)items, sizeof *index);
    struct rng r = rng_make((uint64_t)s->seed, RNG_TEST, 2, 0);
    for (size_t i = 0; i < (size_t)items * size; i++)
        host[i] = p->manner.flat && i % (size_t)(s->h * s->w) ? host[i - 1] : (float)rng_normal(&r);
    for (int i = 0; i < items; i++)
        index[i] = p->manner.cycle ? i % (p->manner.cycle * s->n) : i;
    struct images images = {.data = host,
                            .type = IMAGES_F32,
                            .planar = true,
                            .h = s->h,
                            .w = s->w,
                            .c = s->c,
                            .items = items,
                            .scale = 1};
    int32_t *on_device = device_copy(p, index, (size_t)items * sizeof *index);
    if (p->k->images_open(p->device, &images))
        no_memory();
    p->k->gather(p->device, &p->layers[0], &p->batch, &images, on_device, p->x);
    p->k->sync(p->device);
    p->k->images_close(p->device, &images);
    free(index);
    free(host);
}

static inline int32_t *spec_labels(const struct spec *s, int ways)
{
    int32_t *labels = mem_array((size_t)(s->tasks * s->n), sizeof *labels);
    struct rng r = rng_make((uint64_t)s->seed, RNG_TEST, 3, 0);
    for (int i = 0; i < s->tasks * s->n; i++)
        labels[i] = s->ignore && i % 3 == 1 ? -1 : (int32_t)rng_below(&r, (uint32_t)ways);
    return labels;
}

/* ---- life ---- */

static inline void pass_counts(struct pass *p)
{
    size_t bytes = (size_t)p->spec->tasks * sizeof(int32_t);
    int32_t *count = mem_alloc(bytes);
    bool unequal = false;
    for (int t = 0; t < p->spec->tasks; t++) {
        count[t] = spec_count(p->spec, t);
        unequal |= count[t] != p->spec->n;
    }
    if (unequal)
        p->batch.count = device_copy(p, count, bytes);
    free(count);
}

static inline void pass_open_as(struct pass *p, const struct kernels *k, const struct spec *s,
                                struct manner manner)
{
    *p = (struct pass){.k = k, .spec = s, .manner = manner, .batch = {s->tasks, s->n, NULL}};
    p->norm.stat = s->stat == WHOLE ? s->n : s->stat;
    if (k->open(&p->device, &(struct device_options){.full_fp32 = !manner.tf32,
                                                     .tasks = manner.tasks,
                                                     .processors = manner.processors}))
        no_memory();
    p->n_layers = spec_layers(s, p->layers);
    p->len = k->layout(p->layers, p->n_layers, &p->trained);
    pass_counts(p);
    pass_parameters(p);
    p->x = device_alloc(p, k->input_bytes(&p->layers[0], &p->batch));
    for (int i = 0; i < p->n_layers; i++) {
        p->cache[i] = device_alloc(p, k->cache_bytes(&p->layers[i], &p->batch));
        p->tangent[i] = device_alloc(p, k->tangent_bytes(&p->layers[i], &p->batch));
    }
    p->scratch = device_alloc(p, k->scratch_bytes(p->layers, p->n_layers, &p->batch));
    size_t images = (size_t)(s->tasks * s->n);
    int ways = p->layers[p->n_layers - 1].out_c;
    int32_t *labels = spec_labels(s, ways);
    size_t cycle = (size_t)(manner.cycle * s->n);
    for (size_t i = cycle; cycle && i < images; i++)
        labels[i] = labels[i - cycle];
    p->labels = device_copy(p, labels, images * sizeof *labels);
    free(labels);
    p->probs = device_alloc(p, images * (size_t)ways * sizeof(float));
    p->loss = device_alloc(p, (size_t)s->tasks * sizeof(float));
    pass_images(p);
}

static inline void pass_open(struct pass *p, const struct kernels *k, const struct spec *s)
{
    pass_open_as(p, k, s, (struct manner){0});
}

static inline void pass_close(struct pass *p)
{
    for (int i = 0; i < p->n_owned; i++)
        p->k->release(p->device, p->owned[i].at, p->owned[i].bytes);
    p->k->close(p->device);
}

/* ---- the passes ---- */

static inline void *pass_out(const struct pass *p, int layer, bool tangent)
{
    return p->k->out(&p->layers[layer], &p->batch, (tangent ? p->tangent : p->cache)[layer]);
}

static inline void *pass_dout(const struct pass *p, int layer, bool tangent)
{
    return p->k->dout(&p->layers[layer], &p->batch, (tangent ? p->tangent : p->cache)[layer]);
}

static inline void pass_forward(struct pass *p)
{
    for (int i = 0; i < p->n_layers; i++)
        p->k->forward(p->device, &p->layers[i], &p->batch, p->norm,
                      i ? pass_out(p, i - 1, false) : p->x, p->theta, p->cache[i], p->scratch);
}

static inline void pass_loss(struct pass *p)
{
    int last = p->n_layers - 1;
    p->k->xent(p->device, &p->layers[last], &p->batch, p->labels, !p->spec->sum, p->cache[last],
               p->probs, p->loss);
}

static inline void pass_backward(struct pass *p)
{
    for (int i = p->n_layers - 1; i >= 0; i--)
        p->k->backward(p->device, &p->layers[i], &p->batch, p->norm,
                       i ? pass_out(p, i - 1, false) : p->x, p->theta, p->cache[i],
                       i ? pass_dout(p, i - 1, false) : NULL, p->grad, p->scratch);
}

static inline void pass_tangent(struct pass *p)
{
    int last = p->n_layers - 1;
    for (int i = 0; i <= last; i++)
        p->k->forward_tangent(p->device, &p->layers[i], &p->batch, p->norm,
                              i ? pass_out(p, i - 1, false) : p->x,
                              i ? pass_out(p, i - 1, true) : NULL, p->theta, p->v, p->cache[i],
                              p->tangent[i], p->scratch);
    p->k->xent_tangent(p->device, &p->layers[last], &p->batch, p->labels, !p->spec->sum, p->probs,
                       p->tangent[last]);
    for (int i = last; i >= 0; i--)
        p->k->backward_tangent(
            p->device, &p->layers[i], &p->batch, p->norm, i ? pass_out(p, i - 1, false) : p->x,
            i ? pass_out(p, i - 1, true) : NULL, p->theta, p->v, p->cache[i], p->tangent[i],
            i ? pass_dout(p, i - 1, true) : NULL, p->hv, p->scratch);
}

/* ---- results ---- */

/* Room for a result; takes the name over. */
static inline float *keep(struct results *r, size_t len, char *name)
{
    if (r->n == r->room) {
        r->room = r->room ? 2 * r->room : 64;
        r->item = mem_grow(r->item, (size_t)r->room, sizeof *r->item);
    }
    r->item[r->n] = (struct result){name, mem_array(len + 1, sizeof(float)), len, 1};
    return r->item[r->n++].at;
}

static inline void results_free(struct results *r)
{
    for (int i = 0; i < r->n; i++)
        free(r->item[i].at), free(r->item[i].name);
    free(r->item);
    *r = (struct results){0};
}

/* Rows of images a task does not have say nothing: zeros. */
static inline void blank_missing(const struct spec *s, size_t row, float *rows)
{
    for (int t = 0; t < s->tasks; t++)
        for (int i = spec_count(s, t); i < s->n; i++)
            memset(rows + (size_t)(t * s->n + i) * row, 0, row * sizeof *rows);
}

static inline void keep_rows(struct pass *p, struct results *r, const char *what, int layer,
                             const void *out)
{
    const struct layer *l = &p->layers[layer];
    size_t images = (size_t)(p->spec->tasks * p->spec->n);
    float *rows = keep(r, images * row_size(l), mem_print("%s of layer %d", what, layer));
    p->k->rows(p->device, l, &p->batch, out, rows);
    blank_missing(p->spec, row_size(l), rows);
}

/* A vector's tensors, one by one and all together.  A tensor can be a single sum that
 * nearly cancels, so by itself it may be off by ten times as much. */
static inline void keep_task_vector(struct pass *p, struct results *r, const char *what,
                                    struct vec v, int task)
{
    static const char *const names[] = {"weight", "bias", "gamma", "beta", "mean", "var"};
    float *all = keep(r, p->len, mem_print("%s of task %d", what, task));
    for (int i = 0; i < p->n_layers; i++)
        for (int w = 0; w < TENSORS; w++) {
            const struct layer *l = &p->layers[i];
            size_t len = tensor_size(l, (enum tensor)w);
            if (!len)
                continue;
            char *name = mem_print("%s %s of layer %d, task %d", what, names[w], i, task);
            float *one = keep(r, len, name);
            r->item[r->n - 1].slack = 10;
            p->k->unpack(p->device, l, (enum tensor)w, vector_of(p, v, task), one);
            memcpy(all, one, len * sizeof *all);
            all += len;
        }
}

static inline void keep_vector(struct pass *p, struct results *r, const char *what, struct vec v)
{
    for (int t = 0; t < p->spec->tasks; t++)
        keep_task_vector(p, r, what, v, t);
}

static inline void keep_floats(struct pass *p, struct results *r, const char *what,
                               const float *device, size_t row)
{
    size_t rows = (size_t)p->spec->tasks * (row ? (size_t)p->spec->n : 1);
    float *host = keep(r, rows * (row ? row : 1), mem_string(what));
    p->k->download(p->device, host, device, rows * (row ? row : 1) * sizeof *host);
    if (row)
        blank_missing(p->spec, row, host);
}

/* Leaves task `task` of the rows of result `i`, which are of all tasks. */
static inline void keep_task(struct result *i, int tasks, int task)
{
    i->len /= (size_t)tasks;
    memmove(i->at, i->at + i->len * (size_t)task, i->len * sizeof *i->at);
}

static inline void keep_activations(struct pass *p, struct results *r)
{
    int last = p->n_layers - 1;
    for (int i = 0; i <= last; i++) {
        keep_rows(p, r, "out", i, pass_out(p, i, false));
        keep_rows(p, r, "Rout", i, pass_out(p, i, true));
    }
    keep_rows(p, r, "dlogits", last, pass_dout(p, last, false));
    keep_rows(p, r, "Rdlogits", last, pass_dout(p, last, true));
    keep_floats(p, r, "probs", p->probs, (size_t)p->layers[last].out_c);
    keep_floats(p, r, "loss", p->loss, 0);
}

/* The outputs of one task, named as if it were the only one. */
static inline void pass_task_results(struct pass *p, struct results *r, int task)
{
    keep_activations(p, r);
    for (int i = 0; i < r->n; i++)
        keep_task(&r->item[i], p->spec->tasks, task);
    keep_task_vector(p, r, "grad", p->grad, task);
    keep_task_vector(p, r, "Hv", p->hv, task);
}

/* Every output of the passes that were run. */
static inline void pass_results(struct pass *p, struct results *r)
{
    keep_activations(p, r);
    keep_vector(p, r, "grad", p->grad);
    keep_vector(p, r, "Hv", p->hv);
}

/* |a - b| / |b|, or |a| where b is zero.  Infinities that are the same do not differ. */
static inline double relative_error(size_t len, const float *a, const float *b)
{
    double error = 0, norm = 0;
    for (size_t i = 0; i < len; i++) {
        if (isinf(b[i]) && a[i] == b[i])
            continue;
        error += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
        norm += (double)b[i] * b[i];
    }
    return sqrt(norm > 0 ? error / norm : error);
}

/* Says which results of `got` differ from `want` by more than `tolerance`; how many. */
static inline int results_differ(const char *spec, const char *set, const struct results *got,
                                 const struct results *want, double tolerance)
{
    int bad = got->n != want->n;
    for (int i = 0; i < got->n && i < want->n; i++) {
        size_t len = got->item[i].len < want->item[i].len ? got->item[i].len : want->item[i].len;
        double error = relative_error(len, got->item[i].at, want->item[i].at);
        if (error <= tolerance * got->item[i].slack)
            continue;
        if (bad++ < 5)
            fprintf(stderr, "%s on %s: %s is off by %.2g\n", spec, set, got->item[i].name, error);
    }
    return bad;
}

/* The set that METE_TEST_SET names, as for sanitizers that are slow; ends the test where there
 * is none such.  NULL: all are to be tested. */
static inline const struct kernels *only_set(void)
{
    const char *name = getenv("METE_TEST_SET");
    char why[256] = "there is no such set";
    for (int i = 0; name && kernels_at(i); i++)
        if (strcmp(kernels_at(i)->name, name) == 0 && kernels_at(i)->usable(why, sizeof why))
            return kernels_at(i);
    if (name) {
        fprintf(stderr, "METE_TEST_SET=%s: %s\n", name, why);
        exit(1);
    }
    return NULL;
}

static inline bool set_usable(const struct kernels *k)
{
    const struct kernels *only = only_set();
    char why[256];
    return only ? k == only : k->usable(why, sizeof why);
}

#endif
