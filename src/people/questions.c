/* questions.c - the model that is asked what to ask, and its pool as an array. */
#include "people/questions.h"
#include "people/cold.h"
#include "people/raw_points.h"
#include "kernel/selection.h"
#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COLD_OPEN = 2048, COLD_KNOWN = 128 }; /* items that are looked at without a model */

struct questions {
    const struct dataset *d;
    struct fitted fitted; /* no model: zeroed */
    struct labeller labeller;
    struct raw_points raw;
};

static int open_strategy(struct questions *q, const char *name)
{
    const struct label_ops *ops = label_find(name ? name : QUESTIONS_STRATEGY);
    if (!ops)
        return METE_EINVAL;
    if (ops->needs & LABEL_ORACLE)
        return fail(METE_EINVAL, "strategy %s looks at the true labels, which nobody has yet",
                    ops->name);
    int err = q->fitted.model ? 0 : cold_check(ops);
    return err ? err : labeller_open(&q->labeller, ops->name);
}

int questions_open(struct questions **out, const struct questions_options *o)
{
    struct questions *q = mem_alloc(sizeof *q);
    q->d = o->data;
    int err = 0;
    if (o->model)
        err = fitted_open(&q->fitted, &(struct fitted_options){.data = o->data,
                                                               .classes = o->classes,
                                                               .n_classes = o->n_classes,
                                                               .path = o->model,
                                                               .set = o->set,
                                                               .device = o->device});
    if (!err)
        err = open_strategy(q, o->strategy);
    if (err)
        questions_close(q);
    else
        *out = q;
    return err;
}

void questions_close(struct questions *q)
{
    if (!q)
        return;
    fitted_close(&q->fitted);
    labeller_close(&q->labeller);
    raw_points_close(&q->raw);
    free(q);
}

struct mete_model *questions_model(const struct questions *q)
{
    return q->fitted.model;
}

const struct fitted *questions_fitted(const struct questions *q)
{
    return &q->fitted;
}

const char *questions_strategy(const struct questions *q)
{
    return q->labeller.ops->name;
}

/* ---- with a model ---- */

static int way_of(const struct questions *q, int klass)
{
    return klass >= 0 && klass < q->fitted.classes ? q->fitted.way_of[klass] : -1;
}

/* The pool without known items of classes that the model does not have; known as it numbers them.
 * place (n) is where each was. */
static struct pool part_of(const struct questions *q, const struct pool *pool, int **place)
{
    struct pool p = {.item = mem_array((size_t)pool->n + 1, sizeof *p.item),
                     .known = mem_array((size_t)pool->n + 1, sizeof *p.known)};
    *place = mem_array((size_t)pool->n + 1, sizeof **place);
    for (int i = 0; i < pool->n; i++) {
        int way = way_of(q, pool->known[i]);
        if (pool->known[i] >= 0 && way < 0)
            continue;
        p.item[p.n] = pool->item[i];
        p.known[p.n] = pool->known[i] < 0 ? -1 : way;
        (*place)[p.n++] = i;
    }
    return p;
}

static void describe(const struct questions *q, struct picked *p, const float *probs)
{
    int ways = q->fitted.ways, best = 0;
    for (int k = 1; k < ways; k++)
        best = probs[k] > probs[best] ? k : best;
    p->guess = q->fitted.class_of[best];
    p->sure = probs[best];
    host_entropy(NULL, 1, ways, probs, &p->entropy);
}

static int pick_by_model(struct questions *q, const struct pool *pool, int want, uint64_t seed,
                         struct picked *out, int *n)
{
    int *place, ways = q->fitted.ways;
    struct pool part = part_of(q, pool, &place);
    struct mete_array x = fitted_items(&q->fitted, part.item, part.n);
    int32_t *picks = mem_array((size_t)part.n + 1, sizeof *picks);
    int32_t *cluster = mem_array((size_t)part.n + 1, sizeof *cluster);
    float *probs = mem_array((size_t)part.n + 1, (size_t)ways * sizeof *probs);
    want = want < part.n ? want : part.n;
    int err = model_suggest(q->fitted.model, questions_strategy(q), &x, part.known, want, seed,
                            picks, n, cluster);
    if (!err && part.n)
        err = mete_predict(q->fitted.model, &x, probs);
    for (int i = 0; i < *n && !err; i++) {
        out[i] = (struct picked){.at = place[picks[i]], .cluster = cluster[picks[i]]};
        describe(q, &out[i], probs + (size_t)picks[i] * (size_t)ways);
    }
    free((void *)x.x);
    free(part.item);
    free(part.known);
    free(place);
    free(picks);
    free(cluster);
    free(probs);
    return err;
}

int questions_adapt(struct questions *q, const struct pool *pool)
{
    int *place, known = 0;
    if (!q->fitted.model)
        return fail(METE_EINVAL, "there is no model to adapt");
    struct pool part = part_of(q, pool, &place);
    for (int i = 0; i < part.n; i++)
        if (part.known[i] >= 0) {
            part.item[known] = part.item[i];
            part.known[known++] = part.known[i];
        }
    struct mete_array x = fitted_items(&q->fitted, part.item, known);
    int err = mete_adapt(q->fitted.model, &x, part.known);
    free((void *)x.x);
    free(part.item);
    free(part.known);
    free(place);
    return err;
}

int questions_predict(struct questions *q, const int64_t *item, int n, float *probs)
{
    if (!q->fitted.model)
        return fail(METE_EINVAL, "there is no model to predict with");
    int ways = q->fitted.ways, classes = q->fitted.classes;
    struct mete_array x = fitted_items(&q->fitted, item, n);
    float *own = mem_array((size_t)n + 1, (size_t)ways * sizeof *own);
    int err = n > 0 ? mete_predict(q->fitted.model, &x, own) : 0;
    if (!err)
        memset(probs, 0, (size_t)n * (size_t)classes * sizeof *probs);
    for (int i = 0; i < n && !err; i++)
        for (int w = 0; w < ways; w++)
            if (q->fitted.class_of[w] >= 0)
                probs[(size_t)i * (size_t)classes + (size_t)q->fitted.class_of[w]] =
                    own[(size_t)i * (size_t)ways + (size_t)w];
    free((void *)x.x);
    free(own);
    return err;
}

/* ---- with one or without ---- */

static float *raw_of(struct questions *q, const struct pool *pool)
{
    if (!q->raw.data)
        raw_points_open(&q->raw, q->d);
    return raw_points_of(&q->raw, pool->item, pool->n);
}

/* Of a large pool a random part, since clustering takes items times clusters, and there are as many
 * clusters as known items and questions together.  place (n) is where each was. */
static struct pool thin(const struct pool *pool, int want, uint64_t seed, int **place)
{
    struct pool p = {.item = mem_array((size_t)pool->n + 1, sizeof *p.item),
                     .known = mem_array((size_t)pool->n + 1, sizeof *p.known)};
    struct rng r = rng_make(seed, RNG_LABEL, 0, 1);
    int left[2] = {0}; /* open, known */
    for (int i = 0; i < pool->n; i++)
        left[pool->known[i] >= 0]++;
    int most[2] = {COLD_OPEN > want ? COLD_OPEN : want, COLD_KNOWN};
    *place = mem_array((size_t)pool->n + 1, sizeof **place);
    for (int i = 0; i < pool->n; i++) {
        int known = pool->known[i] >= 0;
        bool keep = left[known] <= most[known] ||
                    rng_below(&r, (uint32_t)left[known]) < (uint32_t)most[known];
        left[known]--;
        most[known] -= keep;
        if (!keep)
            continue;
        p.item[p.n] = pool->item[i];
        p.known[p.n] = pool->known[i];
        (*place)[p.n++] = i;
    }
    return p;
}

static int pick_cold(struct questions *q, const struct pool *pool, int want, uint64_t seed,
                     struct picked *out, int *n)
{
    int *place;
    struct pool part = thin(pool, want, seed, &place);
    float *x = raw_of(q, &part);
    int err = cold_pick(&q->labeller, &part, x, q->raw.features, want, seed, out, n);
    for (int i = 0; i < *n && !err; i++)
        out[i].at = place[out[i].at];
    free(part.item);
    free(part.known);
    free(place);
    free(x);
    return err;
}

int questions_pick(struct questions *q, const struct pool *pool, int want, uint64_t seed,
                   struct picked *out, int *n)
{
    *n = 0;
    if (pool->n == 0 || want <= 0)
        return 0;
    return (q->fitted.model ? pick_by_model : pick_cold)(q, pool, want, seed, out, n);
}

static int doubt_of_model(struct questions *q, const struct pool *pool, double *out)
{
    int ways = q->fitted.ways, n = 0;
    int64_t *open = mem_array((size_t)pool->n + 1, sizeof *open);
    for (int i = 0; i < pool->n; i++)
        if (pool->known[i] < 0)
            open[n++] = pool->item[i];
    struct mete_array x = fitted_items(&q->fitted, open, n);
    float *probs = mem_array((size_t)n + 1, (size_t)ways * sizeof *probs);
    float *entropy = mem_array((size_t)n + 1, sizeof *entropy);
    int err = questions_adapt(q, pool);
    if (!err && n > 0)
        err = mete_predict(q->fitted.model, &x, probs);
    if (!err)
        host_entropy(NULL, (size_t)n, ways, probs, entropy);
    *out = 0;
    for (int i = 0; i < n && !err; i++)
        *out += (double)entropy[i] / n;
    free(open);
    free((void *)x.x);
    free(probs);
    free(entropy);
    return err;
}

int questions_doubt(struct questions *q, const struct pool *pool, double *out)
{
    if (q->fitted.model)
        return doubt_of_model(q, pool, out);
    int *place;
    struct pool part = thin(pool, 0, 0, &place); /* every open item is compared with every known */
    float *x = raw_of(q, &part);
    *out = cold_doubt(&part, x, q->raw.features);
    free(part.item);
    free(part.known);
    free(place);
    free(x);
    return 0;
}
