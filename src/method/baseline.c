/* baseline.c - majority class, nearest mean, and softmax regression for each person alone, for all
 * at once, and for each person near to the one for all.
 *
 * A step only gathers the labelled points of its tasks; the model is fitted when it is looked at.
 * Inputs are standardised by the points that were bought.
 */
#include "method/baseline.h"
#include "method/softmax.h"
#include "base/error.h"
#include "base/memory.h"
#include "data/dataset.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum kind { MAJORITY, NEAREST, LOCAL, POOLED, TUNED };

struct settings {
    double l2;
};

static const struct param none[] = {{0}};
static const struct param fit_params[] = {
    PARAM_REAL_ROW(struct settings, l2, "l2", 1, 1e-6, 1e6,
                   "pull of the weights: towards 0, or towards those of the model for all"),
    {0},
};

struct baseline {
    struct learner learner;
    const struct dataset *data;
    enum kind kind;
    double l2;
    int d, ways, train_ways;
    /* bought: each item once, with its label */
    uint8_t *seen; /* (items) */
    int32_t *item, *label;
    int64_t n, room, fitted; /* fitted: the model knows so many of them */
    /* the model: mean (d), scale (d), how many of each class (ways), weights (ways, d + 1) */
    double *model, *mean, *scale, *count, *w;
    size_t len;
    /* adapted to tasks: weights, or class means, and how many points each class has */
    double *adapted;
    int tasks;
    size_t each;
};

/* ---- inputs ---- */

static void read_row(const struct baseline *b, int32_t item, float *x)
{
    const struct dataset *d = b->data;
    size_t first = (size_t)item * (size_t)b->d;
    for (int i = 0; i < b->d; i++) {
        float raw = d->is_float ? ((const float *)d->x)[first + (size_t)i]
                                : (float)((const uint8_t *)d->x)[first + (size_t)i];
        x[i] = (float)(((double)(raw * d->scale + d->shift) - b->mean[i]) * b->scale[i]);
    }
}

static float *read_rows(const struct baseline *b, const int32_t *items, int64_t n)
{
    float *x = mem_array((size_t)n * (size_t)b->d + 1, sizeof *x);
    for (int64_t i = 0; i < n; i++)
        read_row(b, items[i], x + i * b->d);
    return x;
}

/* A saved model, which is in floats, is the same. */
static void round_model(struct baseline *b)
{
    for (size_t i = 0; i < b->len; i++)
        b->model[i] = (double)(float)b->model[i];
}

static void standardise(struct baseline *b)
{
    for (int i = 0; i < b->d; i++) {
        b->mean[i] = 0;
        b->scale[i] = 1;
    }
    float *x = read_rows(b, b->item, b->n);
    for (int i = 0; i < b->d && b->n > 1; i++) {
        double sum = 0, squares = 0;
        for (int64_t r = 0; r < b->n; r++)
            sum += (double)x[r * b->d + i];
        for (int64_t r = 0; r < b->n; r++) {
            double off = (double)x[r * b->d + i] - sum / (double)b->n;
            squares += off * off;
        }
        double deviation = sqrt(squares / (double)b->n);
        b->mean[i] = sum / (double)b->n;
        b->scale[i] = deviation > 1e-6 ? 1 / deviation : 1;
    }
    free(x);
    round_model(b);
}

/* ---- training ---- */

static void gather(struct baseline *b, const struct items *from)
{
    for (int i = 0; i < from->n; i++) {
        if (!from->label || b->seen[from->at[i]])
            continue;
        if (b->n == b->room) {
            b->room = b->room ? 2 * b->room : 1024;
            b->item = mem_grow(b->item, (size_t)b->room, sizeof *b->item);
            b->label = mem_grow(b->label, (size_t)b->room, sizeof *b->label);
        }
        b->seen[from->at[i]] = 1;
        b->item[b->n] = from->at[i];
        b->label[b->n++] = from->label[i];
    }
}

static int step(void *state, const struct labelled_task *tasks, int n)
{
    struct baseline *b = state;
    for (int i = 0; i < n; i++) {
        gather(b, &tasks[i].support);
        gather(b, &tasks[i].query);
    }
    return 0;
}

/* Fits the model to all that was gathered, if there is anything new. */
static void fit(struct baseline *b)
{
    if (b->fitted == b->n)
        return;
    standardise(b);
    for (int k = 0; k < b->ways; k++)
        b->count[k] = 0;
    for (int64_t i = 0; i < b->n; i++)
        if (b->label[i] < b->ways) /* few-shot tasks may have more, and no use for it */
            b->count[b->label[i]]++;
    if (b->kind == POOLED || b->kind == TUNED) {
        float *x = read_rows(b, b->item, b->n);
        memset(b->w, 0,
               b->each * sizeof *b->w); /* whatever was fitted before makes no difference */
        softmax_fit(x, b->label, b->n, b->d, b->ways, b->l2, NULL, b->w);
        round_model(b);
        free(x);
    }
    b->fitted = b->n;
}

static int loss(void *state, bool restart, double *mean)
{
    (void)state, (void)restart;
    *mean = 0; /* nothing is descended */
    return 0;
}

/* ---- adapting and predicting ---- */

/* Class means (ways, d), then how many points each has (ways). */
static void take_means(const struct baseline *b, const struct items *s, double *to)
{
    double *many = to + (size_t)b->ways * (size_t)b->d;
    float *x = read_rows(b, s->at, s->n);
    memset(to, 0, b->each * sizeof *to);
    for (int i = 0; i < s->n; i++) {
        double *mean = to + (size_t)s->label[i] * (size_t)b->d;
        double part = 1 / ++many[s->label[i]];
        for (int k = 0; k < b->d; k++)
            mean[k] += part * ((double)x[(size_t)i * (size_t)b->d + (size_t)k] - mean[k]);
    }
    free(x);
}

static void take_weights(const struct baseline *b, const struct items *s, double *to)
{
    const double *anchor = b->kind == LOCAL ? NULL : b->w;
    size_t bytes = b->each * sizeof *to;
    if (anchor)
        memcpy(to, anchor, bytes);
    else
        memset(to, 0, bytes);
    if (b->kind == POOLED || s->n == 0)
        return;
    float *x = read_rows(b, s->at, s->n);
    softmax_fit(x, s->label, s->n, b->d, b->ways, b->l2, anchor, to);
    free(x);
}

static int adapt(void *state, int tasks, const struct items *support)
{
    struct baseline *b = state;
    fit(b);
    if (tasks > b->tasks)
        b->adapted = mem_grow(b->adapted, (size_t)tasks * b->each, sizeof *b->adapted);
    b->tasks = tasks > b->tasks ? tasks : b->tasks;
    for (int t = 0; t < tasks; t++) {
        double *to = b->adapted + (size_t)t * b->each;
        if (b->kind == NEAREST)
            take_means(b, &support[t], to);
        else if (b->kind != MAJORITY)
            take_weights(b, &support[t], to);
    }
    return 0;
}

/* exp(-distance^2 / d) over the classes that have points; the same for all where none has. */
static void nearest(const struct baseline *b, const float *x, const double *means, double *p)
{
    const double *many = means + (size_t)b->ways * (size_t)b->d;
    double most = -INFINITY, sum = 0;
    for (int k = 0; k < b->ways; k++) {
        double far = 0;
        for (int i = 0; i < b->d; i++) {
            double off = (double)x[i] - means[(size_t)k * (size_t)b->d + (size_t)i];
            far += off * off;
        }
        p[k] = many[k] > 0 ? -far / b->d : -INFINITY;
        most = fmax(most, p[k]);
    }
    for (int k = 0; k < b->ways; k++)
        sum += p[k] = isinf(most) ? 1 : exp(p[k] - most);
    for (int k = 0; k < b->ways; k++)
        p[k] /= sum;
}

static void majority(const struct baseline *b, double *p)
{
    double all = 0;
    for (int k = 0; k < b->ways; k++)
        all += b->count[k] + 1;
    for (int k = 0; k < b->ways; k++)
        p[k] = (b->count[k] + 1) / all;
}

static int predict(void *state, int tasks, const struct items *query, const struct predicted *out)
{
    struct baseline *b = state;
    float *x = mem_array((size_t)b->d, sizeof *x);
    double *p = mem_array((size_t)b->ways, sizeof *p);
    for (int t = 0; t < tasks; t++)
        for (int i = 0; i < query[t].n; i++) {
            const double *adapted = b->adapted + (size_t)t * b->each;
            read_row(b, query[t].at[i], x);
            if (b->kind == MAJORITY)
                majority(b, p);
            else if (b->kind == NEAREST)
                nearest(b, x, adapted, p);
            else
                softmax_probs(x, b->d, b->ways, adapted, p);
            for (int k = 0; out->probs && out->probs[t] && k < b->ways; k++)
                out->probs[t][i * b->ways + k] = (float)p[k];
            if (out->reps && out->reps[t])
                memcpy(out->reps[t] + (size_t)i * (size_t)b->d, x, (size_t)b->d * sizeof *x);
        }
    free(x);
    free(p);
    return 0;
}

/* ---- saving ---- */

/* What it became for the one task: `each` doubles, of which NEAREST and the regressions make use.
 */
static int save_adapted(const struct baseline *b, struct tensors *out)
{
    int64_t len = (int64_t)b->each;
    if (b->tasks < 1)
        return fail(METE_EINVAL, "the baseline was not adapted");
    memcpy(tensors_add(out, "adapted", DTYPE_F64, 1, &len), b->adapted, b->each * sizeof(double));
    return 0;
}

static int load_adapted(struct baseline *b, const struct tensors *in)
{
    const struct ndarray *a = tensors_find(in, "adapted");
    int64_t len = (int64_t)b->each;
    if (!a || ndarray_check(a, "adapted", DTYPE_SET(DTYPE_F64), 1, &len))
        return fail(METE_EFORMAT, "it holds no adapted baseline");
    b->adapted = mem_grow(b->adapted, b->each, sizeof *b->adapted);
    b->tasks = 1;
    memcpy(b->adapted, a->data, a->bytes);
    return 0;
}

static int save(void *state, enum learner_part part, struct tensors *out)
{
    struct baseline *b = state;
    if (part == LEARNER_ADAPTED)
        return save_adapted(b, out);
    if (part == LEARNER_MODEL) {
        fit(b);
        float *to = tensors_add(out, "baseline", DTYPE_F32, 1, &(int64_t){(int64_t)b->len});
        for (size_t i = 0; i < b->len; i++)
            to[i] = (float)b->model[i];
        return 0;
    }
    int64_t bytes = 2 * b->n * (int64_t)sizeof *b->item;
    uint8_t *to = tensors_add(out, "bought", DTYPE_U8, 1, &bytes);
    if (b->n > 0) {
        memcpy(to, b->item, (size_t)bytes / 2);
        memcpy(to + bytes / 2, b->label, (size_t)bytes / 2);
    }
    return 0;
}

static int load_bought(struct baseline *b, const struct ndarray *a)
{
    int64_t n = (int64_t)(a->bytes / 2 / sizeof *b->item);
    int32_t *copy = mem_array(a->bytes + 1, 1); /* a mapping promises no alignment */
    memcpy(copy, a->data, a->bytes);
    memset(b->seen, 0, (size_t)b->data->items);
    b->n = 0;
    int err = 0;
    for (int64_t i = 0; i < n && !err; i++) {
        if (copy[i] < 0 || copy[i] >= b->data->items || copy[n + i] < 0 ||
            copy[n + i] >= b->train_ways || b->seen[copy[i]])
            err = fail(METE_EFORMAT, "a bought point is not of this dataset");
        else
            gather(b, &(struct items){&copy[i], &copy[n + i], 1});
    }
    b->fitted = -1;
    free(copy);
    return err;
}

static int load(void *state, enum learner_part part, const struct tensors *in)
{
    struct baseline *b = state;
    if (part == LEARNER_ADAPTED)
        return load_adapted(b, in);
    const struct ndarray *a = tensors_find(in, part == LEARNER_MODEL ? "baseline" : "bought");
    if (!a)
        return fail(METE_EFORMAT, "it holds no baseline");
    if (part == LEARNER_TRAINING)
        return load_bought(b, a);
    float *from = mem_array(a->bytes + 1, 1);
    memcpy(from, a->data, a->bytes);
    for (size_t i = 0; i < b->len; i++)
        b->model[i] = (double)from[i];
    b->fitted = b->n; /* this is the model, whatever was gathered */
    free(from);
    return 0;
}

static void close_baseline(void *state)
{
    struct baseline *b = state;
    learner_forget(&b->learner);
    free(b->seen);
    free(b->item);
    free(b->label);
    free(b->model);
    free(b->adapted);
    free(b);
}

/* ---- the tables ---- */

static const struct learner_ops ops = {
    .name = "baseline",
    .step = step,
    .loss = loss,
    .adapt = adapt,
    .predict = predict,
    .save = save,
    .load = load,
    .close = close_baseline,
};

static int open_kind(enum kind kind, const void *state, const struct learner_spec *spec,
                     struct learner **out)
{
    const struct dataset *d = spec->data;
    struct baseline *b = mem_alloc(sizeof *b);
    b->data = d;
    b->kind = kind;
    b->l2 = kind >= LOCAL ? ((const struct settings *)state)->l2 : 0;
    b->d = d->h * d->w * d->c;
    b->ways = spec->ways;
    b->train_ways = spec->train_ways > spec->ways ? spec->train_ways : spec->ways;
    size_t w = (size_t)b->ways * (size_t)(b->d + 1), inputs = (size_t)b->d;
    b->seen = mem_array((size_t)d->items, 1);
    b->len = 2 * inputs + (size_t)b->ways + w;
    b->model = mem_array(b->len, sizeof *b->model);
    b->mean = b->model;
    b->scale = b->mean + inputs;
    b->count = b->scale + inputs;
    b->w = b->count + b->ways;
    b->each = w; /* class means and their counts take as much */
    for (int i = 0; i < b->d; i++)
        b->scale[i] = 1;
    b->learner = (struct learner){.ops = &ops,
                                  .state = b,
                                  .is = {.ways = b->ways,
                                         .features = b->d,
                                         .device = "cpu",
                                         .norm = "none",
                                         .last_is_best = true,
                                         .workers = 1}};
    *out = &b->learner;
    return 0;
}

#define BASELINE(id, KIND, called, says, table, size, same)                                        \
    static int open_##id(const void *state, const struct learner_spec *spec, struct learner **out) \
    {                                                                                              \
        return open_kind(KIND, state, spec, out);                                                  \
    }                                                                                              \
    const struct method_ops method_##id = {.name = called,                                         \
                                           .summary = says,                                        \
                                           .state_size = size,                                     \
                                           .params = table,                                        \
                                           .open = open_##id,                                      \
                                           .same_classes = same}

BASELINE(majority, MAJORITY, "majority", "baseline: the most frequent class of all bought labels",
         none, 1, true);
BASELINE(nearest, NEAREST, "nearest", "baseline: nearest class mean of the raw inputs", none, 1,
         false);
BASELINE(local, LOCAL, "local", "baseline: softmax regression on the support alone", fit_params,
         sizeof(struct settings), false);
BASELINE(pooled, POOLED, "pooled", "baseline: one softmax regression for all", fit_params,
         sizeof(struct settings), true);
BASELINE(tuned, TUNED, "tuned", "baseline: softmax regression pulled towards the one for all",
         fit_params, sizeof(struct settings), true);

const char *baseline_at(int i)
{
    static const struct method_ops *const all[] = {&method_majority, &method_nearest, &method_local,
                                                   &method_pooled, &method_tuned};
    return i >= 0 && i < (int)(sizeof all / sizeof *all) ? all[i]->name : NULL;
}
