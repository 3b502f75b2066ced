/* grad.c - the meta-gradient of a given task, for checking against other software.
 *
 * In: the weights and the task as tensors of one safetensors file.  Out: the
 * meta-gradient under the weights' names, the loss and the logits of the query
 * after adaptation.
 */
#include "run/setup.h"
#include "method/engine.h"
#include "base/error.h"
#include "base/number.h"
#include "base/options.h"
#include "base/safetensors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct given { /* the task of a file */
    const struct safetensors *file;
    int n[2]; /* support, query */
    int c, h, w;
    float *x; /* both, (n, c, h, w) */
    int32_t *item, *label;
    int ways;
};

static const char *const parts[2] = {"support", "query"};

static int not_finite(const struct given *g, const char *name, size_t at, float value)
{
    return fail(METE_EFORMAT, "%s: %s: element %zu is %s; every value must be finite",
                safetensors_name(g->file), name, at, isnan(value) ? "NaN" : "infinite");
}

static int get_reals(const struct given *g, const char *name, int rank, const int64_t *shape,
                     float *out)
{
    const struct ndarray *a;
    int err = safetensors_get(g->file, name, DTYPES_REAL, rank, shape, &a);
    if (err)
        return err;
    ndarray_to_float(a, out);
    for (int64_t i = 0; i < ndarray_count(a); i++)
        if (!isfinite(out[i]))
            return not_finite(g, name, (size_t)i, out[i]);
    return 0;
}

/* Images (n, c, h, w), or feature rows (n, d). */
static int get_shape(struct given *g, int part, bool rows)
{
    char name[32];
    const struct ndarray *a;
    int64_t any[4] = {-1, -1, -1, -1};
    if (part == 1) {
        any[1] = g->c;
        any[2] = g->h;
        any[3] = g->w;
    }
    snprintf(name, sizeof name, "%s.x", parts[part]);
    int err = safetensors_get(g->file, name, DTYPES_REAL, rows ? 2 : 4, any, &a);
    if (err)
        return err;
    for (int i = 0; i < a->rank; i++)
        if (a->shape[i] < (part == 0 || i > 0) || a->shape[i] > 1 << 20)
            return fail(METE_EFORMAT, "%s: %s: a length of %lld cannot be used",
                        safetensors_name(g->file), name, (long long)a->shape[i]);
    g->n[part] = (int)a->shape[0];
    g->c = (int)a->shape[1];
    g->h = rows ? 1 : (int)a->shape[2];
    g->w = rows ? 1 : (int)a->shape[3];
    return 0;
}

static int get_labels(struct given *g, int part, int32_t *to)
{
    char name[32];
    const struct ndarray *a;
    int64_t shape[1] = {g->n[part]};
    snprintf(name, sizeof name, "%s.y", parts[part]);
    int err =
        safetensors_get(g->file, name, DTYPE_SET(DTYPE_I64) | DTYPE_SET(DTYPE_I32), 1, shape, &a);
    if (err)
        return err;
    int64_t *values = mem_array((size_t)g->n[part], sizeof *values);
    ndarray_to_int64(a, values);
    for (int i = 0; i < g->n[part] && !err; i++) {
        if (values[i] < 0 || values[i] >= g->ways)
            err = fail(METE_EFORMAT, "%s: %s: label %lld of image %d, expected 0..%d",
                       safetensors_name(g->file), name, (long long)values[i], i, g->ways - 1);
        to[i] = (int32_t)values[i];
    }
    free(values);
    return err;
}

/* The ways are the rows of the head or of shared prototypes, or, for a net without them, 1 + the
 * largest label. */
static int get_ways(struct given *g, bool head)
{
    const struct ndarray *a = safetensors_find(g->file, "head.weight");
    if (!a && !head)
        a = safetensors_find(g->file, "prior.mean");
    g->ways = 1 << 20;
    if (a && a->rank == 2 && a->shape[0] >= 1 && a->shape[0] < g->ways) {
        g->ways = (int)a->shape[0];
        return 0;
    }
    if (head)
        return fail(METE_EFORMAT, "%s: head.weight: expected a tensor (ways, features)%s",
                    safetensors_name(g->file), a ? "" : ", and there is none");
    int largest = 0;
    for (int part = 0; part < 2; part++) {
        int err = get_labels(g, part, g->label + (part ? g->n[0] : 0));
        if (err)
            return err;
    }
    for (int i = 0; i < g->n[0] + g->n[1]; i++)
        largest = g->label[i] > largest ? g->label[i] : largest;
    g->ways = largest + 1;
    return 0;
}

static int given_read(struct given *g, bool rows, bool head)
{
    for (int part = 0; part < 2; part++) {
        int err = get_shape(g, part, rows);
        if (err)
            return err;
    }
    size_t total = (size_t)(g->n[0] + g->n[1]), image = (size_t)g->c * (size_t)g->h * (size_t)g->w;
    g->x = mem_array(total * image, sizeof *g->x);
    g->item = mem_array(total, sizeof *g->item);
    g->label = mem_array(total, sizeof *g->label);
    for (size_t i = 0; i < total; i++)
        g->item[i] = (int32_t)i;
    int err = get_ways(g, head);
    for (int part = 0; part < 2 && !err; part++) {
        char name[32];
        size_t at = part ? (size_t)g->n[0] : 0;
        int64_t shape[4] = {g->n[part], g->c, g->h, g->w};
        snprintf(name, sizeof name, "%s.x", parts[part]);
        err = get_reals(g, name, rows ? 2 : 4, shape, g->x + at * image);
        if (!err)
            err = get_labels(g, part, g->label + at);
    }
    return err;
}

static void given_release(struct given *g)
{
    free(g->x);
    free(g->item);
    free(g->label);
}

static int put_weights(struct engine *e, const struct given *g)
{
    struct net_tensor tensors[NET_TENSORS_MAX];
    int n = net_tensors(engine_net(e), tensors);
    for (int i = 0; i < n; i++) {
        const struct net_tensor *t = &tensors[i];
        int64_t shape[4] = {t->shape[0], t->shape[1], t->shape[2], t->shape[3]};
        if (!net_tensor_trained(t) && engine_net(e)->bn != BN_RUNNING)
            continue;
        float *host = mem_array(t->len, sizeof *host);
        int err = get_reals(g, t->name, t->dims, shape, host);
        if (!err)
            engine_put(e, ENGINE_THETA, t, host);
        free(host);
        if (err)
            return err;
    }
    return 0;
}

/* The widths of the given weights become the net's, so that nobody says them twice. */
static int take_widths(struct setup *s, const struct safetensors *file)
{
    char width[32];
    bool rows = strcmp(s->net->name, "mlp") == 0;
    const struct ndarray *a = safetensors_find(file, rows ? "fc0.weight" : "conv0.weight");
    if (!a || a->rank < 2 || a->shape[0] > 4096)
        return 0; /* put_weights says what is wrong */
    snprintf(width, sizeof width, "%lld", (long long)a->shape[0]);
    int err = param_set_text(&s->set, rows ? "net.units" : "net.filters", width);
    if (err)
        return fail_within(METE_EFORMAT, "%s: %s.weight", safetensors_name(file),
                           rows ? "fc0" : "conv0");
    for (int i = 1; rows && i < LAYERS_MAX && !err; i++) {
        char name[32];
        snprintf(name, sizeof name, "fc%d.weight", i);
        snprintf(width, sizeof width, "%d", i);
        if (!safetensors_find(file, name))
            return param_set_text(&s->set, "net.hidden", width);
    }
    return err;
}

static int write_result(struct engine *e, const char *path, const struct given *g, double loss,
                        float *logits)
{
    struct net_tensor tensors[NET_TENSORS_MAX];
    struct safetensor out[NET_TENSORS_MAX + 2];
    int n = net_tensors(engine_net(e), tensors), used = 0;
    for (int i = 0; i < n; i++) {
        const struct net_tensor *t = &tensors[i];
        if (!net_tensor_trained(t))
            continue;
        float *host = mem_array(t->len, sizeof *host);
        engine_get(e, ENGINE_GRADIENT, t, host);
        out[used++] =
            (struct safetensor){t->name,
                                {.dtype = DTYPE_F32,
                                 .rank = t->dims,
                                 .data = host,
                                 .shape = {t->shape[0], t->shape[1], t->shape[2], t->shape[3]}}};
    }
    int gradients = used;
    out[used++] = (struct safetensor){"loss", {.dtype = DTYPE_F64, .rank = 0, .data = &loss}};
    out[used++] = (struct safetensor){
        "logits", {.dtype = DTYPE_F32, .rank = 2, .data = logits, .shape = {g->n[1], g->ways}}};
    int err = safetensors_write(path, out, used, NULL, 0);
    for (int i = 0; i < gradients; i++)
        free((void *)out[i].array.data);
    return err;
}

static int compute(const struct mete_grad_options *o, struct setup *s, struct given *g)
{
    struct engine_spec spec;
    struct engine *e = NULL;
    double loss = 0;
    int err = setup_engine(s, o->device, 1, &spec);
    if (err)
        return err;
    spec.images = (struct images){.data = g->x,
                                  .type = IMAGES_F32,
                                  .planar = true,
                                  .h = g->h,
                                  .w = g->w,
                                  .c = g->c,
                                  .items = g->n[0] + g->n[1],
                                  .scale = 1};
    spec.ways = g->ways;
    spec.meta_batch = 1;
    spec.largest = (struct batch_shape){1, g->n[0], g->n[1]};
    err = engine_open(&e, &spec);
    if (err == METE_EINVAL) /* it is the file's shapes that do not suit, not a flag */
        err = fail_within(METE_EFORMAT, "%s: support.x", safetensors_name(g->file));
    if (err)
        return err;
    struct labelled_task task = {.support = {g->item, g->label, g->n[0]},
                                 .query = {g->item + g->n[0], g->label + g->n[0], g->n[1]}};
    float *logits = mem_array((size_t)(g->n[1] * g->ways) + 1, sizeof *logits);
    err = put_weights(e, g);
    if (!err)
        err = engine_gradient_one(e, &task, &loss, logits);
    if (!err && !isfinite(loss))
        err = fail(METE_EDIVERGE, "the loss is %g after adaptation; try a smaller inner.lr", loss);
    if (!err)
        err = write_result(e, o->out, g, loss, logits);
    free(logits);
    engine_close(e);
    return err;
}

int mete_grad(const struct mete_grad_options *given)
{
    NUMBER_LOCALE;
    struct mete_grad_options own, *o = &own;
    struct setup s;
    struct safetensors *file = NULL;
    struct given g = {0};
    int err = options_take(o, sizeof own, given, "mete_grad_options");
    if (!err && (!o->in || !o->out))
        err = fail(METE_EINVAL, "a gradient needs a file to read and one to write");
    if (err)
        return err;
    err = setup_open(&s, o->method, o->net, NULL);
    if (err)
        return err;
    err = param_set_all(&s.set, o->set);
    if (!err)
        err = safetensors_open(&file, o->in);
    if (!err) {
        g.file = file;
        err = take_widths(&s, file);
    }
    if (!err)
        err = given_read(&g, strcmp(s.net->name, "mlp") == 0, s.method.ops->head);
    if (!err)
        err = compute(o, &s, &g);
    given_release(&g);
    safetensors_close(file);
    setup_close(&s);
    return err;
}
