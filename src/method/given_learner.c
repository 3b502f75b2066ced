/* given_learner.c - a learner of another program behind the learner's table.
 *
 * Others answer for one task at a time, so a support is kept until its query comes.  What they
 * answer is checked: a row that was not written, a number that is none or probabilities that do not
 * sum to one would look like a bad model otherwise.
 */
#include "method/given_learner.h"
#include "base/added.h"
#include "base/error.h"
#include "base/given_params.h"
#include "base/memory.h"
#include "data/dataset.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One that was added: the method under which runs find it, and the table of its learners. */
struct given {
    struct method_ops method; /* its state begins with a pointer to this struct */
    struct learner_ops table;
    struct mete_learner_ops ops;
    struct given_params params;
    void *user;
};

static struct added learners = ADDED("learner");

struct given_learner {
    struct learner learner;
    const struct given *given;
    void *state; /* theirs */
    struct mete_value *settings;
    struct items *support; /* (tasks) of the last adapt, copied into `kept` */
    int32_t *kept;
    int tasks;
    struct mete_labelled_task *step; /* (meta_batch) */
    double loss;                     /* summed since the last restart */
    int steps;
};

/* ---- failing ---- */

/* So that a sentence of before is not taken for that of a callback. */
static void forget_sentence(void)
{
    fail(0, "%s", "");
}

static int failed(const struct given_learner *g, int err, const char *what)
{
    const char *name = g->given->ops.name;
    if (err == 0)
        return 0;
    if (err > 0)
        return fail(METE_EINVAL, "learner '%s': %s returned %d, which is no error code", name, what,
                    err);
    if (!*mete_errmsg())
        return fail(err, "learner '%s': %s failed: %s", name, what, mete_errtext(err));
    return fail_within(err, "learner '%s'", name);
}

/* ---- training ---- */

static struct mete_items items_for(const struct items *from)
{
    return (struct mete_items){from->at, from->label, from->n};
}

static int step(void *state, const struct labelled_task *tasks, int n)
{
    struct given_learner *g = state;
    double loss = 0;
    for (int i = 0; i < n; i++)
        g->step[i] = (struct mete_labelled_task){items_for(&tasks[i].support),
                                                 items_for(&tasks[i].query), (int64_t)tasks[i].id};
    forget_sentence();
    int err = failed(g, g->given->ops.step(g->state, g->step, n, &loss), "step");
    g->loss += loss;
    g->steps++;
    return err;
}

static int mean_loss(void *state, bool restart, double *mean)
{
    struct given_learner *g = state;
    *mean = g->steps ? g->loss / g->steps : NAN;
    if (restart) {
        g->loss = 0;
        g->steps = 0;
    }
    return 0;
}

/* ---- adapting and predicting ---- */

static int adapt(void *state, int tasks, const struct items *support)
{
    struct given_learner *g = state;
    size_t total = 0;
    for (int t = 0; t < tasks; t++)
        total += (size_t)support[t].n;
    g->support = mem_grow(g->support, (size_t)tasks, sizeof *g->support);
    g->kept = mem_grow(g->kept, 2 * total + 1, sizeof *g->kept);
    int32_t *at = g->kept;
    for (int t = 0; t < tasks; t++) {
        size_t n = (size_t)support[t].n;
        if (n > 0) {
            memcpy(at, support[t].at, n * sizeof *at);
            memcpy(at + n, support[t].label, n * sizeof *at);
        }
        g->support[t] = (struct items){at, at + n, support[t].n};
        at += 2 * n;
    }
    g->tasks = tasks;
    return 0;
}

static int check_probs(const struct given_learner *g, const float *probs, int n)
{
    const double near = 1e-3; /* of 1: floats that others made, perhaps of 16 bits */
    const char *name = g->given->ops.name;
    int ways = g->learner.is.ways;
    for (int i = 0; i < n; i++) {
        double sum = 0;
        bool negative = false;
        for (int k = 0; k < ways; k++) {
            float p = probs[(size_t)i * (size_t)ways + (size_t)k];
            sum += (double)p;
            negative = negative || p < 0;
        }
        if (!isfinite(sum))
            return fail(
                METE_EINVAL,
                "learner '%s': predict left row %d of %d without %d numbers that are finite", name,
                i, n, ways);
        if (negative || fabs(sum - 1) > near)
            return fail(METE_EINVAL,
                        "learner '%s': row %d of %d of predict is not made of probabilities: they "
                        "sum to %g%s",
                        name, i, n, sum, negative ? ", and one is negative" : "");
    }
    return 0;
}

static int check_reps(const struct given_learner *g, const float *reps, int n)
{
    size_t width = (size_t)g->learner.is.features;
    for (size_t i = 0; i < (size_t)n * width; i++)
        if (!isfinite(reps[i]))
            return fail(METE_EINVAL,
                        "learner '%s': predict left row %zu of %d of the representations without "
                        "%zu numbers that are finite",
                        g->given->ops.name, i / width, n, width);
    return 0;
}

static void fill(float *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        at[i] = NAN; /* what is left like this was not written */
}

/* One task's probabilities into (n, ways), and representations unless `reps` is NULL. */
static int predict_one(struct given_learner *g, int t, const struct items *query, float *probs,
                       float *reps)
{
    const struct mete_learner_ops *ops = &g->given->ops;
    struct mete_items support = items_for(&g->support[t]);
    struct mete_items items = {query->at, NULL, query->n};
    fill(probs, (size_t)query->n * (size_t)g->learner.is.ways);
    if (reps)
        fill(reps, (size_t)query->n * (size_t)g->learner.is.features);
    forget_sentence();
    int err = failed(g, ops->adapt(g->state, &support), "adapt");
    if (!err)
        err = failed(g, ops->predict(g->state, &items, probs, reps), "predict");
    if (!err)
        err = check_probs(g, probs, query->n);
    return !err && reps ? check_reps(g, reps, query->n) : err;
}

static int predict(void *state, int tasks, const struct items *query, const struct predicted *out)
{
    struct given_learner *g = state;
    int err = 0;
    for (int t = 0; t < tasks && !err; t++) {
        if (query[t].n == 0)
            continue;
        float *own = NULL, *probs = out->probs ? out->probs[t] : NULL;
        if (!probs)
            probs = own = mem_array((size_t)query[t].n * (size_t)g->learner.is.ways, sizeof *own);
        err = predict_one(g, t, &query[t], probs, out->reps ? out->reps[t] : NULL);
        free(own);
    }
    return err;
}

/* ---- saving ---- */

struct bytes {
    uint8_t *at;
    size_t n, room;
};

static void put(void *to, const void *bytes, size_t n)
{
    struct bytes *b = to;
    if (n == 0)
        return;
    if (b->n + n > b->room) {
        b->room = 2 * (b->n + n);
        b->at = mem_grow(b->at, b->room, 1);
    }
    memcpy(b->at + b->n, bytes, n);
    b->n += n;
}

static int save(void *state, enum learner_part part, struct tensors *out)
{
    struct given_learner *g = state;
    struct bytes b = {0};
    int32_t which = part == LEARNER_MODEL ? METE_LEARNER_MODEL : METE_LEARNER_TRAINING;
    forget_sentence();
    int err = failed(g, g->given->ops.save(g->state, which, put, &b), "save");
    if (!err) {
        uint8_t *to = tensors_add(out, "learner", DTYPE_U8, 1, &(int64_t){(int64_t)b.n});
        if (b.n > 0)
            memcpy(to, b.at, b.n);
    }
    free(b.at);
    return err;
}

static int load(void *state, enum learner_part part, const struct tensors *in)
{
    struct given_learner *g = state;
    const struct ndarray *a = tensors_find(in, "learner");
    int32_t which = part == LEARNER_MODEL ? METE_LEARNER_MODEL : METE_LEARNER_TRAINING;
    if (!a)
        return fail(METE_EFORMAT, "it holds no state of learner '%s'", g->given->ops.name);
    forget_sentence();
    return failed(g, g->given->ops.load(g->state, which, a->data, a->bytes), "load");
}

/* ---- opening and closing ---- */

static void close_given(void *state)
{
    struct given_learner *g = state;
    if (g->given->ops.close && g->state)
        g->given->ops.close(g->state);
    learner_forget(&g->learner);
    free(g->settings);
    free(g->support);
    free(g->kept);
    free(g->step);
    free(g);
}

static int open_given(const void *settings, const struct learner_spec *spec, struct learner **out)
{
    const struct given *given = *(const struct given *const *)settings;
    const struct dataset *d = spec->data;
    struct mete_learner_facts facts = {.size = sizeof facts};
    struct given_learner *g = mem_alloc(sizeof *g);
    g->given = given;
    g->settings = given_values(given->params.table, settings);
    g->step = mem_array((size_t)spec->meta_batch, sizeof *g->step);
    struct mete_learner_spec asked = {.size = sizeof asked,
                                      .x = d->x,
                                      .is_float = d->is_float,
                                      .h = d->h,
                                      .w = d->w,
                                      .c = d->c,
                                      .items = d->items,
                                      .scale = d->scale,
                                      .shift = d->shift,
                                      .ways = spec->ways,
                                      .meta_batch = spec->meta_batch,
                                      .support = spec->support,
                                      .query = spec->query,
                                      .threads = spec->threads,
                                      .seed = spec->seed,
                                      .settings = g->settings};
    forget_sentence();
    int err = failed(g, given->ops.open(given->user, &asked, &facts, &g->state), "open");
    if (!err && facts.features < 0)
        err = fail(METE_EINVAL, "learner '%s': %d features of a representation", given->ops.name,
                   facts.features);
    if (err) {
        close_given(g);
        return err;
    }
    g->learner = (struct learner){.ops = &given->table,
                                  .state = g,
                                  .is = {.ways = spec->ways,
                                         .features = facts.features,
                                         .device = "cpu",
                                         .norm = "none",
                                         .last_is_best = facts.last_is_best != 0,
                                         .unrepeatable = !facts.repeatable,
                                         .workers = 1}};
    *out = &g->learner;
    return 0;
}

void mete_learner_read(const struct mete_learner_spec *spec, const int32_t *items, int32_t n,
                       float *out)
{
    size_t each = (size_t)spec->h * (size_t)spec->w * (size_t)spec->c;
    for (int32_t i = 0; i < n; i++) {
        size_t first = (size_t)items[i] * each;
        for (size_t k = 0; k < each; k++) {
            float raw = spec->is_float ? ((const float *)spec->x)[first + k]
                                       : (float)((const uint8_t *)spec->x)[first + k];
            *out++ = raw * spec->scale + spec->shift;
        }
    }
}

/* ---- adding ---- */

static void given_close(struct given *g)
{
    given_params_close(&g->params);
    free((char *)g->ops.name);
    free((char *)g->ops.summary);
    free(g);
}

static int check_ops(const struct mete_learner_ops *ops)
{
    const struct method_ops *ours;
    if (!ops)
        return fail(METE_EINVAL, "there is no learner's table");
    if (ops->size < offsetof(struct mete_learner_ops, close))
        return fail(METE_EINVAL, "a learner's table of %zu bytes: its size comes first", ops->size);
    if (!ops->name || !*ops->name || strpbrk(ops->name, "=, \t\n"))
        return fail(METE_EINVAL, "a learner needs a name without blanks, ',' and '='");
    if (!ops->open || !ops->step || !ops->adapt || !ops->predict || !ops->save || !ops->load)
        return fail(METE_EINVAL,
                    "learner '%s' lacks one of open, step, adapt, predict, save and load",
                    ops->name);
    if (!given_learner_find(ops->name) && method_find(&ours, ops->name) == 0)
        return fail(METE_EINVAL, "learner '%s': there is a method of this name", ops->name);
    return 0;
}

int mete_learner_add(const struct mete_learner_ops *ops, void *user)
{
    int err = check_ops(ops);
    if (err)
        return err;
    struct given *g = mem_alloc(sizeof *g);
    err = given_params_open(&g->params, ops->params, ops->version);
    memcpy(&g->ops, ops, ops->size < sizeof g->ops ? ops->size : sizeof g->ops);
    g->ops.name = mem_string(ops->name);
    g->ops.summary = mem_string(ops->summary ? ops->summary : "a learner of another program");
    g->user = user;
    g->table = (struct learner_ops){.name = g->ops.name,
                                    .step = step,
                                    .loss = mean_loss,
                                    .adapt = adapt,
                                    .predict = predict,
                                    .save = save,
                                    .load = load,
                                    .close = close_given};
    g->method = (struct method_ops){.name = g->ops.name,
                                    .summary = g->ops.summary,
                                    .state_size = g->params.state_size,
                                    .params = g->params.table,
                                    .self = g,
                                    .open = open_given,
                                    .same_classes = ops->same_classes != 0};
    if (!err)
        err = added_put(&learners, g->ops.name, g);
    if (err) {
        err = fail_within(err, "learner '%s'", ops->name);
        given_close(g);
    }
    return err;
}

int mete_learner_remove(const char *name)
{
    void *g = NULL;
    int err = !name ? fail(METE_EINVAL, "say which learner") : added_take(&learners, name, &g);
    if (!err)
        given_close(g);
    return err;
}

/* ---- for the registry ---- */

static const struct method_ops *method_of(const struct given *g)
{
    return g ? &g->method : NULL;
}

const struct method_ops *given_learner_at(int i)
{
    return method_of(added_at(&learners, i));
}

const struct method_ops *given_learner_find(const char *name)
{
    return method_of(added_find(&learners, name));
}

void given_learner_hold(const struct method_ops *ops)
{
    added_hold(&learners, ops->self);
}

void given_learner_leave(const struct method_ops *ops)
{
    added_leave(&learners, ops->self);
}
