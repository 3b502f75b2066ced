/* uncertain.c - the points the learner is least sure of, one after another: entropy
 * of its prediction, or margin between its two best classes (Settles, 2009).
 *
 * Equal scores are taken in random order.
 */
#include "label/label_own.h"
#include "base/memory.h"

#include <stdlib.h>

static double margin(const struct label_view *v, int i)
{
    const float *p = v->probs + (size_t)i * (size_t)v->ways;
    float best = -1, second = -1;
    for (int c = 0; c < v->ways; c++)
        if (p[c] > best) {
            second = best;
            best = p[c];
        } else if (p[c] > second) {
            second = p[c];
        }
    return (double)(second - best);
}

static double entropy(const struct label_view *v, int i)
{
    return (double)v->entropy[i];
}

static int choose_by(const struct label_view *v, int want, struct rng *r, int32_t *picks,
                     double (*score)(const struct label_view *v, int i))
{
    int32_t *at = mem_array((size_t)v->n + 1, sizeof *at);
    struct scored *rank = mem_array((size_t)v->n + 1, sizeof *rank);
    int n = label_available(v, at);
    rng_shuffle(r, at, (uint32_t)n);
    for (int i = 0; i < n; i++)
        rank[i] = (struct scored){.score = score(v, at[i]), .at = at[i]};
    scored_sort(rank, n);
    want = want < n ? want : n;
    for (int i = 0; i < want; i++)
        picks[i] = rank[i].at;
    free(rank);
    free(at);
    return want;
}

static int choose_entropy(const void *state, const struct label_view *v, int want, struct rng *r,
                          int32_t *picks)
{
    (void)state;
    return choose_by(v, want, r, picks, entropy);
}

static int choose_margin(const void *state, const struct label_view *v, int want, struct rng *r,
                         int32_t *picks)
{
    (void)state;
    return choose_by(v, want, r, picks, margin);
}

const struct label_ops label_entropy = {
    .name = "entropy",
    .summary = "highest predictive entropy first",
    .needs = LABEL_ENTROPY,
    .choose = choose_entropy,
};

const struct label_ops label_margin = {
    .name = "margin",
    .summary = "smallest margin between the two likeliest classes first",
    .needs = LABEL_PROBS,
    .choose = choose_margin,
};
