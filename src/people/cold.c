/* cold.c - diversity among raw items.
 *
 * With answers in the pool already, k-means looks for as many clusters as answers and questions
 * together, and asks about the middle of those that hold no answer, the largest first: a strategy
 * that leaves the known items out would ask about the same places again.
 */
#include "people/cold.h"
#include "label/label_own.h"
#include "base/error.h"
#include "base/memory.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

int cold_check(const struct label_ops *ops)
{
    if (ops->needs & LABEL_ORACLE)
        return fail(METE_EINVAL, "strategy %s looks at the true labels, which nobody has yet",
                    ops->name);
    if (ops->needs & (LABEL_PROBS | LABEL_ENTROPY))
        return fail(METE_EINVAL,
                    "strategy %s looks at what a model predicts, and there is none: name a model, "
                    "or take kmeans, kcenter or random",
                    ops->name);
    return 0;
}

struct search {
    const struct pool *pool;
    const float *x;
    int f, known, open, want;
    struct rng rng;
    uint8_t *available;
    int32_t *memo, *cluster, *central, *picks, *at; /* (n) */
};

/* Clusters of all items, known or not. */
static int cluster_all(struct search *s, int k)
{
    struct clustering c;
    struct label_view v = {.n = s->pool->n, .available = s->available};
    for (int i = 0; i < s->pool->n; i++)
        s->available[i] = 1;
    clustering_open(&c, &v, k, &s->rng);
    c.x = s->x;
    host_kmeans(NULL, 1, s->f, &c);
    int found = clustering_close(&c, k, &s->rng, s->cluster, s->central);
    for (int i = 0; i < s->pool->n; i++)
        s->available[i] = s->pool->known[i] < 0;
    return found;
}

static int pick_clusters(struct search *s)
{
    int found = cluster_all(s, s->known + s->want), n = 0;
    struct scored *rank = mem_array((size_t)found + 1, sizeof *rank);
    for (int c = 0; c < found; c++)
        rank[c] = (struct scored){.at = s->central[c]};
    for (int i = 0; i < s->pool->n; i++) {
        struct scored *r = &rank[s->cluster[i]];
        r->score += 1;
        if (s->pool->known[i] >= 0)
            r->at = -1;
    }
    scored_sort(rank, found);
    for (int c = 0; c < found && n < s->want; c++)
        if (rank[c].at >= 0)
            s->picks[n++] = rank[c].at;
    free(rank);
    return label_fill_up(s->at, s->open, n, s->want, &s->rng, s->picks);
}

/* A strategy of the table, shown the items as its representations. */
static int pick_by(struct search *s, const struct labeller *l)
{
    struct label_view v = {.n = s->pool->n,
                           .ways = 1,
                           .features = s->f,
                           .available = s->available,
                           .known = s->pool->known,
                           .reps = s->x,
                           .memo = s->memo};
    return l->ops->choose(l->state, &v, s->want, &s->rng, s->picks);
}

static void begin(struct search *s)
{
    size_t n = (size_t)s->pool->n;
    s->available = mem_array(n + 1, 1);
    s->memo = mem_array(5 * n + 5, sizeof *s->memo);
    s->cluster = s->memo + n;
    s->central = s->cluster + n;
    s->picks = s->central + n + 1;
    s->at = s->picks + n + 1;
    for (int i = 0; i < s->pool->n; i++) {
        s->memo[i] = s->cluster[i] = -1;
        s->available[i] = s->pool->known[i] < 0;
        if (s->available[i])
            s->at[s->open++] = i;
    }
    s->known = s->pool->n - s->open;
    s->want = s->want < s->open ? s->want : s->open;
}

int cold_pick(const struct labeller *l, const struct pool *pool, const float *x, int f, int want,
              uint64_t seed, struct picked *out, int *n)
{
    struct search s = {
        .pool = pool, .x = x, .f = f, .want = want, .rng = rng_make(seed, RNG_LABEL, 0, 0)};
    begin(&s);
    bool clusters = l->ops->needs & LABEL_CLUSTERS;
    int picked = s.want == 0 ? 0 : clusters ? pick_clusters(&s) : pick_by(&s, l);
    for (int i = 0; i < picked; i++)
        out[i] = (struct picked){.at = s.picks[i],
                                 .cluster = clusters ? s.cluster[s.picks[i]] : -1,
                                 .guess = -1,
                                 .sure = NAN,
                                 .entropy = NAN};
    *n = picked < 0 ? 0 : picked;
    free(s.available);
    free(s.memo);
    return picked < 0 ? picked : 0;
}

static double squared_distance(const float *a, const float *b, int f)
{
    double sum = 0;
    for (int k = 0; k < f; k++)
        sum += (double)(a[k] - b[k]) * (double)(a[k] - b[k]);
    return sum;
}

static double nearest_known(const struct pool *pool, const float *x, int f, const float *mean,
                            int i)
{
    double least = DBL_MAX;
    for (int j = 0; j < pool->n; j++)
        if (pool->known[j] >= 0)
            least = fmin(least,
                         squared_distance(x + (size_t)i * (size_t)f, x + (size_t)j * (size_t)f, f));
    return least < DBL_MAX ? least : squared_distance(x + (size_t)i * (size_t)f, mean, f);
}

double cold_doubt(const struct pool *pool, const float *x, int f)
{
    float *mean = mem_array((size_t)f + 1, sizeof *mean);
    double sum = 0;
    int open = 0;
    for (int i = 0; i < pool->n; i++)
        for (int k = 0; k < f; k++)
            mean[k] += x[(size_t)i * (size_t)f + (size_t)k] / (float)pool->n;
    for (int i = 0; i < pool->n; i++)
        if (pool->known[i] < 0) {
            sum += nearest_known(pool, x, f, mean, i);
            open++;
        }
    free(mean);
    return open ? sum / open : 0;
}
