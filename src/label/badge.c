/* badge.c - batch active learning by diverse gradient embeddings (Ash et al., 2020):
 * k-means++ seeding on the last layer's gradients at the predicted labels.
 *
 * A gradient is the outer product of a = p - onehot(argmax p) and the representation
 * r, so that distances need only inner products of a's and r's:
 *   |g_i - g_j|^2 = |a_i|^2 |r_i|^2 + |a_j|^2 |r_j|^2 - 2 (a_i . a_j) (r_i . r_j).
 */
#include "label/label_own.h"
#include "base/memory.h"

#include <stdlib.h>

struct gradients {
    const struct label_view *v;
    const int32_t *at; /* (n) */
    int n;
    float *a; /* (n, ways) */
};

static float dot(const float *x, const float *y, int n)
{
    float lane[16] = {0}, sum = 0;
    int i = 0;
    for (; i + 16 <= n; i += 16)
        for (int l = 0; l < 16; l++)
            lane[l] += x[i + l] * y[i + l];
    for (; i < n; i++)
        lane[0] += x[i] * y[i];
    for (int l = 0; l < 16; l++)
        sum += lane[l];
    return sum;
}

static const float *rep(const struct gradients *g, int i)
{
    return g->v->reps + (size_t)g->at[i] * (size_t)g->v->features;
}

static void gradient_distance(const void *user, int centre, float *out)
{
    const struct gradients *g = user;
    int ways = g->v->ways, f = g->v->features;
    const float *ac = g->a + (size_t)centre * (size_t)ways, *rc = rep(g, centre);
    float own = dot(ac, ac, ways) * dot(rc, rc, f);
    for (int i = 0; i < g->n; i++) {
        const float *ai = g->a + (size_t)i * (size_t)ways, *ri = rep(g, i);
        float d = own + dot(ai, ai, ways) * dot(ri, ri, f) - 2 * dot(ac, ai, ways) * dot(rc, ri, f);
        out[i] = d > 0 ? d : 0;
    }
}

static void fill_gradients(struct gradients *g)
{
    int ways = g->v->ways;
    for (int i = 0; i < g->n; i++) {
        const float *p = g->v->probs + (size_t)g->at[i] * (size_t)ways;
        float *a = g->a + (size_t)i * (size_t)ways;
        int best = 0;
        for (int c = 0; c < ways; c++) {
            a[c] = p[c];
            best = p[c] > p[best] ? c : best;
        }
        a[best] -= 1;
    }
}

static int choose(const void *state, const struct label_view *v, int want, struct rng *r,
                  int32_t *picks)
{
    (void)state;
    int32_t *at = mem_array((size_t)v->n + 1, sizeof *at);
    struct gradients g = {.v = v, .at = at, .n = label_available(v, at)};
    g.a = mem_array((size_t)g.n * (size_t)v->ways + 1, sizeof *g.a);
    want = want < g.n ? want : g.n;
    fill_gradients(&g);
    int picked = seed_points(g.n, want, gradient_distance, &g, r, picks);
    for (int i = 0; i < picked; i++)
        picks[i] = at[picks[i]];
    picked = label_fill_up(at, g.n, picked, want, r, picks);
    free(g.a);
    free(at);
    return picked;
}

const struct label_ops label_badge = {
    .name = "badge",
    .summary = "k-means++ seeding on gradient embeddings (Ash et al., 2020)",
    .needs = LABEL_PROBS | LABEL_REPS,
    .choose = choose,
};
