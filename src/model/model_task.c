/* model_task.c - adapting to a task, predicting and embedding, in memory. */
#include "model/model.h"
#include "run/model.h"
#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the items at hand ---- */

static int check_shape(const struct mete_model *m, const struct mete_array *x, const char *what)
{
    const struct dataset *t = &m->takes;
    if (!x || (!x->x && x->items))
        return fail(METE_EINVAL, "%s: there are no items", what);
    if (x->items < 0 || x->items > INT32_MAX)
        return fail(METE_EINVAL, "%s: %lld items, expected 0..%d", what, (long long)x->items,
                    INT32_MAX);
    if (x->h != t->h || x->w != t->w || x->c != t->c)
        return fail(METE_EINVAL, "%s: items of %d x %d x %d, and the model takes %d x %d x %d",
                    what, x->h, x->w, x->c, t->h, t->w, t->c);
    if (!x->is_float != !t->is_float && x->scale == 0)
        return fail(METE_EINVAL,
                    "%s: items are %s, and the model was trained on %s; set the array's scale and "
                    "shift to say what a learner sees of them",
                    what, x->is_float ? "float32" : "uint8", t->is_float ? "float32" : "uint8");
    if (x->is_float && (uintptr_t)x->x % sizeof(float))
        return fail(METE_EINVAL, "%s: float32 at an address that floats cannot have", what);
    return isfinite(x->scale) && isfinite(x->shift)
               ? 0
               : fail(METE_EINVAL, "%s: scale %g and shift %g cannot be used", what,
                      (double)x->scale, (double)x->shift);
}

int model_check_items(const struct mete_model *m, const struct mete_array *x, const char *what)
{
    int err = check_shape(m, x, what);
    if (err)
        return err;
    const float *values = x->x;
    int64_t each = (int64_t)x->h * x->w * x->c, n = x->is_float ? x->items * each : 0;
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(values[i]))
            return fail(METE_EINVAL, "%s: item %lld, value %lld is %g, expected a finite number",
                        what, (long long)(i / each), (long long)(i % each), (double)values[i]);
    return 0;
}

/* What the learner is to see, until the next call. */
static int show(struct mete_model *m, const struct mete_array *x, const void *items, int64_t n)
{
    bool own = x->scale == 0;
    m->shown.x = items;
    m->shown.items = n;
    m->shown.is_float = x->is_float;
    m->shown.scale = own ? m->takes.scale : x->scale;
    m->shown.shift = own ? m->takes.shift : x->shift;
    return learner_show(m->learner, &m->shown);
}

/* Items first..first+n-1 of what is shown; free() out.at. */
static struct items items_from(int first, int n, const int32_t *label)
{
    int32_t *at = mem_array((size_t)n + 1, sizeof *at);
    for (int i = 0; i < n; i++)
        at[i] = first + i;
    return (struct items){at, label, n};
}

/* ---- which kind of task ---- */

bool model_compares(const struct mete_model *m)
{
    return !m->setup.method.ops->open && !m->setup.method.ops->head;
}

bool model_needs_support(const struct mete_model *m)
{
    const struct method *method = &m->setup.method;
    if (method->ops->open || !m->setup.net->bn)
        return false;
    enum bn_mode bn = m->setup.net->bn(m->setup.net_state);
    bool joint = method->ops->one_pass && method->ops->one_pass(method);
    return bn == BN_SUPPORT || (bn == BN_BATCH && joint);
}

int model_check_alone(const struct mete_model *m, bool support)
{
    const struct method *method = &m->setup.method;
    enum bn_mode bn =
        method->ops->open || !m->setup.net->bn ? BN_RUNNING : m->setup.net->bn(m->setup.net_state);
    if (bn == BN_RUNNING || (bn == BN_SUPPORT && support))
        return 0;
    return fail(METE_EINVAL,
                m->has_frozen ? "%s: its batch norm looks at other items; set net.bn=running"
                              : "%s has no frozen batch-norm statistics, being of an older mete; "
                                "train it again, or with net.bn=running",
                m->name);
}

int model_check_classes(const struct mete_model *m)
{
    const struct method *method = &m->setup.method;
    bool prior = method->ops->prior && method->ops->prior(method, NULL);
    return !model_compares(m) || m->prototypes || prior
               ? 0
               : fail(METE_EINVAL,
                      "%s knows no classes before it is adapted; adapt it to a few labels: 'mete "
                      "adapt'",
                      m->name);
}

int model_forget_task(struct mete_model *m)
{
    free(m->prototypes);
    free(m->count);
    free(m->kept);
    m->prototypes = m->count = NULL;
    m->kept = NULL;
    m->n_kept = m->labelled = 0;
    m->adapted = false;
    return learner_adapt(m->learner, 1, &(struct items){0});
}

static int check_finite(const float *values, size_t n, const char *what)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(values[i]))
            return fail(
                METE_EDIVERGE,
                "the %s are not numbers: it diverged in adapting; try a smaller inner.lr or "
                "fewer test.steps",
                what);
    return 0;
}

/* ---- prototypes ---- */

/* Sums are in the order and the precision of the kernels', so that both agree. */
static void take_means(struct mete_model *m, const float *reps, const int32_t *y, int n)
{
    size_t ways = (size_t)m->takes.classes, features = (size_t)m->learner->is.features;
    m->prototypes = mem_array(ways * features, sizeof *m->prototypes);
    m->count = mem_array(ways, sizeof *m->count);
    for (int i = 0; i < n; i++)
        m->count[y[i]]++;
    for (int i = 0; i < n; i++) {
        float *mean = m->prototypes + (size_t)y[i] * features, share = 1 / m->count[y[i]];
        for (size_t k = 0; k < features; k++)
            mean[k] += share * reps[(size_t)i * features + k];
    }
}

static int embed_support(struct mete_model *m, const struct mete_array *x, const int32_t *y)
{
    size_t n = (size_t)x->items;
    float *reps = NULL;
    int err = mem_try(&reps, n * (size_t)m->learner->is.features, sizeof *reps, "representations");
    if (!err)
        err = model_look(m, x, &(struct model_view){.reps = reps});
    if (!err)
        take_means(m, reps, y, (int)n);
    free(reps);
    return err;
}

/* How many items its prototype of a class is the mean of. */
static float count_of(const struct mete_model *m, size_t way)
{
    return m->count ? m->count[way] : 0;
}

/* Prototypes n m / (n + k) + k G / (n + k) and log odds, as the prior has them (kernel.h). */
static int add_prior(struct mete_model *m, float *out, float *odds)
{
    struct tensors all = {0};
    int err = model_weights(m, false, &all);
    const struct ndarray *mean = err ? NULL : tensors_find(&all, "prior.mean");
    const struct ndarray *count = err ? NULL : tensors_find(&all, "prior.log_count");
    const struct ndarray *prior_odds = err ? NULL : tensors_find(&all, "prior.log_odds");
    size_t features = (size_t)m->learner->is.features;
    for (int w = 0; mean && count && prior_odds && w < m->takes.classes; w++) {
        odds[w] = ((const float *)prior_odds->data)[w];
        const float *g = (const float *)mean->data + (size_t)w * features;
        float worth = (float)exp((double)((const float *)count->data)[w]);
        float own = count_of(m, (size_t)w), all_of_them = own + worth;
        for (size_t k = 0; k < features; k++) {
            float *to = &out[(size_t)w * features + k];
            *to = *to * (own / all_of_them) + worth / all_of_them * g[k];
        }
    }
    tensors_release(&all);
    return err;
}

static bool leaves_out(const struct mete_model *m)
{
    const struct method *method = &m->setup.method;
    return method->ops->leaves_out && method->ops->leaves_out(method);
}

int model_prototypes(struct mete_model *m, float *out, float *odds)
{
    const struct method *method = &m->setup.method;
    size_t ways = (size_t)m->takes.classes, features = (size_t)m->learner->is.features;
    bool prior = method->ops->prior && method->ops->prior(method, NULL);
    if (!m->prototypes && !prior)
        return fail(METE_EINVAL, "%s: has no prototypes; adapt it first", m->name);
    memset(out, 0, ways * features * sizeof *out);
    if (m->prototypes)
        memcpy(out, m->prototypes, ways * features * sizeof *out);
    for (size_t w = 0; w < ways; w++)
        odds[w] = count_of(m, w) > 0 || !leaves_out(m) ? 0 : -INFINITY;
    return prior ? add_prior(m, out, odds) : 0;
}

/* Softmax over the log odds minus the squared distances. */
static void compare(const float *rep, const float *prototypes, const float *odds, int ways,
                    int features, double *logit, float *probs)
{
    double top = -INFINITY, sum = 0;
    for (int w = 0; w < ways; w++) {
        const float *p = prototypes + (size_t)w * (size_t)features;
        double far = 0;
        for (int k = 0; k < features; k++) {
            float off = rep[k] - p[k];
            far += (double)off * (double)off;
        }
        logit[w] = odds[w] - far;
        top = fmax(top, logit[w]);
    }
    for (int w = 0; w < ways; w++)
        sum += exp(logit[w] - top);
    for (int w = 0; w < ways; w++)
        probs[w] = (float)(exp(logit[w] - top) / sum);
}

static int compare_all(struct mete_model *m, const float *reps, int64_t n, float *probs)
{
    int ways = m->takes.classes, features = m->learner->is.features;
    float *prototypes = mem_array((size_t)ways * (size_t)features, sizeof *prototypes);
    float *odds = mem_array((size_t)ways, sizeof *odds);
    double *logit = mem_array((size_t)ways, sizeof *logit);
    int err = model_prototypes(m, prototypes, odds);
    for (int64_t i = 0; i < n && !err; i++)
        compare(reps + i * features, prototypes, odds, ways, features, logit, probs + i * ways);
    free(prototypes);
    free(odds);
    free(logit);
    return err;
}

/* ---- looking ---- */

/* Behind the support that predictions need. */
static int show_behind(struct mete_model *m, const struct mete_array *x)
{
    size_t each = dataset_item_bytes(&m->takes) / (m->takes.is_float ? sizeof(float) : 1);
    each *= x->is_float ? sizeof(float) : 1;
    const struct mete_array *s = &m->kept_as;
    if (!x->is_float != !s->is_float || x->scale != s->scale || x->shift != s->shift)
        return fail(METE_EINVAL, "items of another type or scale than those it was adapted to, "
                                 "which this model needs side by side");
    size_t before = (size_t)m->n_kept * each, more = (size_t)x->items * each;
    char *grown = realloc(m->kept, before + more + 1);
    if (!grown)
        return fail(METE_ENOMEM, "no memory for %zu bytes of items", before + more);
    m->kept = grown;
    memcpy(m->kept + before, x->x, more);
    return show(m, x, m->kept, m->n_kept + x->items);
}

/* A prediction is of one item alone: neither other items nor their statistics have a part in it. */
static bool is_of_one(const struct mete_model *m)
{
    return !m->setup.method.ops->open &&
           (!m->setup.net->bn || m->setup.net->bn(m->setup.net_state) == BN_RUNNING);
}

static void keep_rows(float *to, const float *from, int first, int rows, size_t width)
{
    if (to)
        memcpy(to + (size_t)first * width, from, (size_t)rows * width * sizeof *to);
}

/* Kernels round differently for one item and for many.  So the items of what is shown are looked at
 * PIECE at a time, the last one several times where fewer are left: each gets the same numbers,
 * whatever else is asked in the call. */
static int look_in_pieces(struct mete_model *m, int n, const struct model_view *out)
{
    enum { PIECE = 4 };
    size_t ways = (size_t)m->takes.classes, features = (size_t)m->learner->is.features;
    float *room = mem_array(PIECE * (ways + features + 1), sizeof *room);
    float *probs[] = {out->probs ? room : NULL};
    float *reps[] = {out->reps ? room + PIECE * ways : NULL};
    float *entropy[] = {out->entropy ? room + PIECE * (ways + features) : NULL};
    struct predicted wanted = {out->probs ? probs : NULL, out->reps ? reps : NULL,
                               out->entropy ? entropy : NULL, false};
    int err = 0;
    for (int first = 0; first < n && !err; first += PIECE) {
        int32_t at[PIECE];
        int rows = n - first < PIECE ? n - first : PIECE;
        for (int i = 0; i < PIECE; i++)
            at[i] = first + (i < rows ? i : rows - 1);
        struct items query = {at, NULL, PIECE};
        err = learner_predict(m->learner, 1, &query, &wanted);
        if (err)
            break;
        keep_rows(out->probs, probs[0], first, rows, ways);
        keep_rows(out->reps, reps[0], first, rows, features);
        keep_rows(out->entropy, entropy[0], first, rows, 1);
    }
    free(room);
    return err;
}

/* Through the learner alone. */
static int look(struct mete_model *m, const struct mete_array *x, const struct model_view *out)
{
    float *probs[] = {out->probs}, *reps[] = {out->reps}, *entropy[] = {out->entropy};
    struct predicted wanted = {out->probs ? probs : NULL, out->reps ? reps : NULL,
                               out->entropy ? entropy : NULL, out->clusters};
    int err = m->n_kept ? show_behind(m, x) : show(m, x, x->x, x->items);
    if (err)
        return err;
    if (is_of_one(m) && !out->clusters && !m->learner->is.batched)
        return look_in_pieces(m, (int)x->items, out);
    struct items query = items_from(m->n_kept, (int)x->items, NULL);
    err = learner_predict(m->learner, 1, &query, &wanted);
    free((void *)query.at);
    return err;
}

/* Representations, compared with the prototypes. */
static int look_and_compare(struct mete_model *m, const struct mete_array *x,
                            const struct model_view *out)
{
    size_t n = (size_t)x->items, ways = (size_t)m->takes.classes;
    float *reps = out->reps, *probs = out->probs;
    int err = 0;
    if (!reps)
        err = mem_try(&reps, n * (size_t)m->learner->is.features, sizeof *reps, "representations");
    if (!err && !probs)
        err = mem_try(&probs, n * ways, sizeof *probs, "probabilities");
    if (!err)
        err = look(m, x, &(struct model_view){.reps = reps, .clusters = out->clusters});
    if (!err)
        err = compare_all(m, reps, x->items, probs);
    if (!err && out->entropy)
        host_entropy(NULL, n, m->takes.classes, probs, out->entropy);
    if (reps != out->reps)
        free(reps);
    if (probs != out->probs)
        free(probs);
    return err;
}

int model_look(struct mete_model *m, const struct mete_array *x, const struct model_view *out)
{
    if (x->items == 0)
        return 0;
    return m->prototypes && (out->probs || out->entropy) ? look_and_compare(m, x, out)
                                                         : look(m, x, out);
}

/* ---- the public calls ---- */

static int check_labels(const struct mete_model *m, const struct mete_array *x, const int32_t *y)
{
    if (!y)
        return fail(METE_EINVAL, "adapt: the items have no labels");
    for (int64_t i = 0; i < x->items; i++)
        if (y[i] < 0 || y[i] >= m->takes.classes)
            return fail(METE_EINVAL, "adapt: item %lld has the label %d, expected 0..%d",
                        (long long)i, y[i], m->takes.classes - 1);
    return 0;
}

/* A copy of the support, for calls to come. */
static int keep_support(struct mete_model *m, const struct mete_array *x)
{
    size_t values = (size_t)x->items * (size_t)(x->h * x->w * x->c);
    size_t bytes = values * (x->is_float ? sizeof(float) : 1);
    int err = mem_try(&m->kept, bytes, 1, "the items it adapts to");
    if (err)
        return err;
    memcpy(m->kept, x->x, bytes);
    m->kept_as = *x;
    m->n_kept = (int)x->items;
    return 0;
}

static int adapt_to(struct mete_model *m, const struct mete_array *x, const int32_t *y)
{
    if (model_compares(m) && !model_needs_support(m))
        return embed_support(m, x, y);
    int err = model_needs_support(m) ? keep_support(m, x) : 0;
    if (!err)
        err = show(m, x, m->n_kept ? m->kept : x->x, x->items);
    struct items support = items_from(0, (int)x->items, y);
    if (!err)
        err = learner_adapt(m->learner, 1, &support);
    free((void *)support.at);
    return err;
}

int mete_adapt(struct mete_model *m, const struct mete_array *x, const int32_t *y)
{
    bool any = x && x->items;
    int err = model_check(m);
    if (!err && any)
        err = model_check_items(m, x, "adapt");
    if (!err && any)
        err = check_labels(m, x, y);
    if (err)
        return err;
    err = model_forget_task(m);
    if (!err && any)
        err = adapt_to(m, x, y);
    if (err) {
        model_forget_task(m);
        return err;
    }
    m->adapted = any;
    m->labelled = any ? (int)x->items : 0;
    return 0;
}

int mete_predict(struct mete_model *m, const struct mete_array *x, float *probs)
{
    int err = model_check(m);
    if (!err)
        err = model_check_items(m, x, "predict");
    if (!err && !probs)
        err = fail(METE_EINVAL, "predict: there is no room for probabilities");
    if (!err)
        err = model_look(m, x, &(struct model_view){.probs = probs});
    return err ? err
               : check_finite(probs, (size_t)x->items * (size_t)m->takes.classes, "predictions");
}

int mete_embed(struct mete_model *m, const struct mete_array *x, float *reps)
{
    int err = model_check(m);
    if (!err)
        err = model_check_items(m, x, "embed");
    if (!err && !reps)
        err = fail(METE_EINVAL, "embed: there is no room for representations");
    if (!err)
        err = model_look(m, x, &(struct model_view){.reps = reps});
    size_t features = err ? 0 : (size_t)m->learner->is.features;
    return err ? err : check_finite(reps, (size_t)x->items * features, "representations");
}

/* ---- the task, in a file ---- */

int model_task_write(struct mete_model *m, struct tensors *out)
{
    const int64_t shape[] = {m->takes.classes, m->learner->is.features};
    struct tensors adapted;
    if (m->prototypes) {
        size_t ways = (size_t)shape[0], all = ways * (size_t)shape[1];
        memcpy(tensors_add(out, "task.prototypes", DTYPE_F32, 2, shape), m->prototypes,
               all * sizeof *m->prototypes);
        memcpy(tensors_add(out, "task.count", DTYPE_F32, 1, shape), m->count,
               ways * sizeof *m->count);
        return 0;
    }
    if (model_needs_support(m))
        return fail(METE_EINVAL,
                    "%s: its predictions need the items that it was adapted to, which "
                    "a file does not hold; load it with net.bn=running first",
                    m->name);
    int err = model_weights(m, true, &adapted);
    for (int i = 0; i < adapted.n && !err; i++) {
        const struct ndarray *a = &adapted.at[i].array;
        if (a->dtype == DTYPE_F32)
            err = check_finite(a->data, (size_t)ndarray_count(a), "adapted weights");
        char *name = mem_print("task.%s", adapted.at[i].name);
        memcpy(tensors_add(out, name, a->dtype, a->rank, a->shape), a->data, a->bytes);
        free(name);
    }
    tensors_release(&adapted);
    return err;
}

static int read_prototypes(struct mete_model *m, const struct safetensors *f)
{
    const int64_t shape[] = {m->takes.classes, m->learner->is.features};
    struct tensors task = {0};
    float *prototypes = tensors_add(&task, "prototypes", DTYPE_F32, 2, shape);
    float *count = tensors_add(&task, "count", DTYPE_F32, 1, shape);
    size_t ways = (size_t)shape[0], all = ways * (size_t)shape[1];
    int err = tensors_read(&task, f, "task.");
    for (size_t w = 0; w < ways && !err; w++)
        if (count[w] < 0)
            err = fail(METE_EFORMAT, "%s: task.count of class %zu is below 0", m->name, w);
    if (!err) {
        m->prototypes = mem_array(all, sizeof *m->prototypes);
        m->count = mem_array(ways, sizeof *m->count);
        memcpy(m->prototypes, prototypes, all * sizeof *prototypes);
        memcpy(m->count, count, ways * sizeof *count);
    }
    tensors_release(&task);
    return err;
}

int model_task_read(struct mete_model *m, const struct safetensors *f)
{
    const char *labelled = mete_model_says(m, "model.labelled");
    char rest;
    if (!labelled)
        return 0;
    if (sscanf(labelled, "%d%c", &m->labelled, &rest) != 1 || m->labelled < 0)
        return fail(METE_EFORMAT, "%s: model.labelled is '%.40s', expected a number", m->name,
                    labelled);
    if (model_needs_support(m))
        return fail(METE_EINVAL,
                    "%s was adapted, and the items are not in it, which these settings need",
                    m->name);
    int err = model_compares(m) ? read_prototypes(m, f)
                                : model_take(f, "task.", LEARNER_ADAPTED, m->learner);
    m->adapted = !err;
    return err;
}
