/* model_suggest.c - which items of a pool to label next, by a label strategy. */
#include "model/model.h"
#include "label/label_own.h"
#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct suggestion {
    struct mete_model *m;
    const struct mete_array *pool;
    struct labeller labeller;
    struct rng rng;
    int n, known, want;
    bool clustered;
    uint8_t *available;
    int32_t *labels, *memo, *cluster, *central; /* (n) */
    float *probs, *reps, *entropy;
};

static int check_known(const struct suggestion *s)
{
    for (int i = 0; i < s->n; i++)
        if (s->labels[i] < -1 || s->labels[i] >= s->m->takes.classes)
            return fail(METE_EINVAL, "suggest: item %d is known as %d, expected -1..%d", i,
                        s->labels[i], s->m->takes.classes - 1);
    return 0;
}

/* Adapts to what is known. */
static int adapt(struct suggestion *s)
{
    size_t each = (size_t)(s->pool->h * s->pool->w * s->pool->c);
    each *= s->pool->is_float ? sizeof(float) : 1;
    char *items = mem_array((size_t)s->known + 1, each);
    int32_t *y = mem_array((size_t)s->known + 1, sizeof *y);
    int n = 0;
    for (int i = 0; i < s->n; i++)
        if (s->labels[i] >= 0) {
            memcpy(items + (size_t)n * each, (const char *)s->pool->x + (size_t)i * each, each);
            y[n++] = s->labels[i];
        }
    struct mete_array x = *s->pool;
    x.x = items;
    x.items = n;
    int err = mete_adapt(s->m, &x, y);
    free(items);
    free(y);
    return err;
}

/* Lets the model look at the pool, as far as the strategy wants it. */
static int consult(struct suggestion *s)
{
    unsigned needs = s->labeller.ops->needs;
    size_t n = (size_t)s->n, ways = (size_t)s->m->takes.classes;
    size_t features = (size_t)s->m->learner->is.features;
    s->entropy = mem_array(n, sizeof *s->entropy);
    if (needs & LABEL_PROBS)
        s->probs = mem_array(n * ways, sizeof *s->probs);
    if (needs & LABEL_REPS)
        s->reps = mem_array(n * features, sizeof *s->reps);
    int err = model_look(
        s->m, s->pool, &(struct model_view){s->probs, s->reps, s->entropy, needs & LABEL_CLUSTERS});
    for (size_t i = 0; i < n && !err; i++)
        if (!isfinite(s->entropy[i]))
            err = fail(METE_EDIVERGE, "suggest: the model's view of item %zu is not finite", i);
    return err;
}

static struct label_view view_of(const struct suggestion *s)
{
    return (struct label_view){.n = s->n,
                               .ways = s->m->takes.classes,
                               .features = s->m->learner->is.features,
                               .available = s->available,
                               .known = s->labels,
                               .probs = s->probs,
                               .reps = s->reps,
                               .entropy = s->entropy,
                               .memo = s->memo};
}

static int choose(struct suggestion *s, int32_t *picks, int32_t *n)
{
    const struct label_ops *ops = s->labeller.ops;
    struct label_view v = view_of(s);
    int err = 0;
    if (ops->needs & LABEL_CLUSTERS) {
        struct clustering c;
        int k = ops->clusters(s->labeller.state, &v, s->want);
        clustering_open(&c, &v, k, &s->rng);
        err = learner_cluster(s->m->learner, 1, &c);
        v.clusters = clustering_close(&c, k, &s->rng, s->cluster, s->central);
        v.cluster = s->cluster;
        s->clustered = v.clusters > 0;
        v.central = s->central;
    }
    int picked = err ? err : ops->choose(s->labeller.state, &v, s->want, &s->rng, picks);
    if (picked >= 0)
        *n = picked;
    return picked < 0 ? picked : 0;
}

/* The model's own strategy has the settings that it was trained with. */
static int open_strategy(struct suggestion *s, const char *name)
{
    const struct label_ops *ops = label_find(name ? name : s->m->setup.labeller.ops->name);
    if (!ops)
        return METE_EINVAL;
    if (ops->needs & LABEL_ORACLE)
        return fail(METE_EINVAL,
                    "suggest: strategy %s looks at the true labels, which nobody has yet",
                    ops->name);
    int err = labeller_open(&s->labeller, ops->name);
    const struct labeller *own = &s->m->setup.labeller;
    if (!err && own->ops == ops && ops->state_size)
        memcpy(s->labeller.state, own->state, ops->state_size);
    return err;
}

static int begin(struct suggestion *s, const int32_t *known, int want)
{
    size_t n = (size_t)s->n;
    s->labels = mem_array(4 * n + 1, sizeof *s->labels);
    s->memo = s->labels + n;
    s->cluster = s->memo + n;
    s->central = s->cluster + n;
    s->available = mem_array(n + 1, 1);
    memset(s->memo, -1, n * sizeof *s->memo);
    for (size_t i = 0; i < n; i++) {
        s->labels[i] = known ? known[i] : -1;
        s->available[i] = s->labels[i] == -1;
        s->known += !s->available[i];
    }
    s->want = want < s->n - s->known ? want : s->n - s->known;
    return check_known(s);
}

int model_suggest(struct mete_model *m, const char *strategy, const struct mete_array *pool,
                  const int32_t *known, int want, uint64_t seed, int32_t *picks, int32_t *n,
                  int32_t *cluster)
{
    struct suggestion s = {.m = m, .pool = pool, .rng = rng_make(seed, RNG_LABEL, 0, 0)};
    int32_t found = 0;
    int err = model_check(m);
    if (!err)
        err = model_check_items(m, pool, "suggest");
    if (!err && want < 0)
        err = fail(METE_EINVAL, "suggest: %d items cannot be wanted", want);
    if (!err && (!picks || !n))
        err = fail(METE_EINVAL, "suggest: there is no room for picks");
    if (!err)
        err = open_strategy(&s, strategy);
    if (!err) {
        s.n = (int)pool->items;
        err = begin(&s, known, want);
    }
    if (!err)
        err = adapt(&s);
    if (!err && s.want > 0 && s.labeller.ops->needs & LABEL_LEARNER)
        err = consult(&s);
    if (!err && s.want > 0)
        err = choose(&s, picks, &found);
    if (!err)
        *n = found;
    if (!err && cluster)
        for (int i = 0; i < s.n; i++)
            cluster[i] = s.clustered && s.available[i] ? s.cluster[i] : -1;
    labeller_close(&s.labeller);
    free(s.labels);
    free(s.available);
    free(s.probs);
    free(s.reps);
    free(s.entropy);
    return err;
}

int mete_suggest(struct mete_model *m, const char *strategy, const struct mete_array *pool,
                 const int32_t *known, int32_t want, uint64_t seed, int32_t *picks, int32_t *n)
{
    return model_suggest(m, strategy, pool, known, want, seed, picks, n, NULL);
}
