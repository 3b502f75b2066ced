/* active.c - cluster-stratified uncertainty: Algorithm 2 of the paper.
 *
 * The unlabelled points are clustered by the learner's representations, every
 * cluster gets its share of the labels, and within a cluster points are drawn
 * without replacement by the learner's predictive entropy h.  The driver calls this
 * once a round, with the learner adapted to the labels bought so far.
 *
 * Where the paper leaves a choice open it is a setting: whether the chance of a point
 * is proportional to h (the paper's Categorical) or to exp h (Gumbel-top-k on h, the
 * released sampler's helper), and whether later rounds cluster anew.
 */
#include "label/label_own.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

enum { BY_ENTROPY, BY_EXP_ENTROPY };

struct active {
    int probability, clusters;
    bool recluster;
};

static const struct param params[] = {
    PARAM_CHOICE_ROW(
        struct active, probability, "probability", "entropy|exp-entropy", BY_ENTROPY,
        "probability of a point in its cluster: proportional to its entropy h or to exp h"),
    PARAM_INT_ROW(struct active, clusters, "clusters", 0, 0, 1e6, "clusters; 0: ways"),
    PARAM_BOOL_ROW(struct active, recluster, "recluster", true,
                   "cluster again each round, by the adapted learner's representations"),
    {0},
};

int active_quota(const int *size, int clusters, int want, struct rng *r, int *quota)
{
    int used = 0, given = 0, open = 0;
    int32_t *left = mem_array((size_t)clusters + 1, sizeof *left);
    for (int c = 0; c < clusters; c++)
        used += size[c] > 0;
    for (int c = 0; c < clusters; c++) {
        int share = used ? want / used : 0;
        quota[c] = share < size[c] ? share : size[c];
        given += quota[c];
        if (quota[c] < size[c])
            left[open++] = c;
    }
    while (given < want && open > 0) {
        uint32_t i = rng_below(r, (uint32_t)open);
        int c = left[i];
        given++;
        if (++quota[c] == size[c])
            left[i] = left[--open];
    }
    free(left);
    return given;
}

static int clusters(const void *state, const struct label_view *v, int want)
{
    const struct active *s = state;
    (void)want;
    if (v->round > 0 && !s->recluster)
        return 0;
    return s->clusters ? s->clusters : v->ways;
}

/* The clusters of the available points at[0..n), new ones or those of the first round, in
 * v->memo; how many there are. */
static int remember_clusters(const struct label_view *v, const int32_t *at, int n)
{
    int k = v->clusters;
    for (int i = 0; i < n && v->clusters > 0; i++)
        v->memo[at[i]] = v->cluster[at[i]];
    for (int i = 0; i < v->n && v->clusters == 0; i++)
        k = v->memo[i] >= k ? v->memo[i] + 1 : k;
    return k;
}

/* Points in the order of their keys, largest first, are points drawn one after another
 * without replacement, with chances proportional to exp(key - noise): Gumbel-top-k. */
static double key(const struct active *s, float entropy, struct rng *r)
{
    double h = fmax((double)entropy, 1e-30); /* certain points come last, in random order */
    return rng_gumbel(r) + (s->probability == BY_ENTROPY ? log(h) : (double)entropy);
}

static int choose(const void *state, const struct label_view *v, int want, struct rng *r,
                  int32_t *picks)
{
    const struct active *s = state;
    int32_t *at = mem_array((size_t)v->n + 1, sizeof *at);
    struct scored *rank = mem_array((size_t)v->n + 1, sizeof *rank);
    int n = label_available(v, at), picked = 0;
    int k = remember_clusters(v, at, n);
    int *size = mem_array((size_t)k + 1, sizeof *size),
        *quota = mem_array((size_t)k + 1, sizeof *quota);
    for (int i = 0; i < n; i++)
        size[v->memo[at[i]]]++;
    active_quota(size, k, want, r, quota);
    for (int i = 0; i < n; i++)
        rank[i] = (struct scored){.score = key(s, v->entropy[at[i]], r), .at = at[i]};
    scored_sort(rank, n);
    for (int i = 0; i < n; i++)
        if (quota[v->memo[rank[i].at]]-- > 0)
            picks[picked++] = rank[i].at;
    free(quota);
    free(size);
    free(rank);
    free(at);
    return picked;
}

const struct label_ops label_active = {
    .name = "active",
    .summary = "by entropy within clusters of representations (Algorithm 2)",
    .state_size = sizeof(struct active),
    .params = params,
    .needs = LABEL_ENTROPY | LABEL_CLUSTERS,
    .clusters = clusters,
    .choose = choose,
};
