/* diverse.c - points that are unlike one another, whatever the learner predicts:
 * k-means (as many clusters as labels, the point nearest to each centre) and k-centre,
 * the core-set greedy of Sener & Savarese (2018): the point farthest from all that is
 * labelled or chosen, again and again.
 */
#include "label/label_own.h"
#include "base/memory.h"

#include <float.h>
#include <stdlib.h>

static int as_many_as_labels(const void *state, const struct label_view *v, int want)
{
    (void)state;
    (void)v;
    return want;
}

static int choose_kmeans(const void *state, const struct label_view *v, int want, struct rng *r,
                         int32_t *picks)
{
    (void)state;
    int32_t *at = mem_array((size_t)v->n + 1, sizeof *at);
    int n = label_available(v, at), picked = 0;
    for (int c = 0; c < v->clusters; c++)
        if (v->central[c] >= 0)
            picks[picked++] = v->central[c];
    picked = label_fill_up(at, n, picked, want, r, picks);
    free(at);
    return picked;
}

/* nearest[j] = its distance to the nearest centre, now that point i is one too. */
static void add_centre(const struct points *p, int i, float *nearest, float *scratch)
{
    points_distance(p, i, scratch);
    for (int j = 0; j < p->n; j++)
        nearest[j] = scratch[j] < nearest[j] ? scratch[j] : nearest[j];
    nearest[i] = -1; /* not again */
}

static int farthest(const float *nearest, int n)
{
    int best = 0;
    for (int j = 1; j < n; j++)
        if (nearest[j] > nearest[best])
            best = j;
    return best;
}

static int choose_kcenter(const void *state, const struct label_view *v, int want, struct rng *r,
                          int32_t *picks)
{
    (void)state;
    int32_t *at = mem_array((size_t)v->n + 1, sizeof *at);
    float *nearest = mem_array(2 * (size_t)v->n + 1, sizeof *nearest), *d = nearest + v->n;
    struct points p = {v->reps, at, v->n, v->features};
    int left = 0, picked = 0;
    for (int i = 0; i < v->n; i++) {
        at[i] = i;
        nearest[i] = FLT_MAX;
        left += v->available[i];
    }
    for (int i = 0; i < v->n; i++)
        if (!v->available[i])
            add_centre(&p, i, nearest, d);
    if (left == v->n && want > 0) { /* nothing labelled yet: begin anywhere */
        picks[picked++] = (int32_t)rng_below(r, (uint32_t)v->n);
        add_centre(&p, picks[0], nearest, d);
    }
    for (want = want < left ? want : left; picked < want; picked++) {
        picks[picked] = farthest(nearest, v->n);
        add_centre(&p, picks[picked], nearest, d);
    }
    free(nearest);
    free(at);
    return picked;
}

const struct label_ops label_kmeans = {
    .name = "kmeans",
    .summary = "the points nearest to the centres of as many clusters as labels",
    .needs = LABEL_CLUSTERS,
    .clusters = as_many_as_labels,
    .choose = choose_kmeans,
};

const struct label_ops label_kcenter = {
    .name = "kcenter",
    .summary = "farthest first: the greedy core-set",
    .needs = LABEL_REPS,
    .choose = choose_kcenter,
};
