/* selection.c - k-means and entropy on the host, in loops that the compiler vectorises.
 *
 * Sums run in 16 lanes, so that their order is fixed by the source and the wide
 * registers are used without -ffast-math.  A GPU adds in the same order (cuda_lloyd.cu).
 */
#include "kernel/selection.h"
#include "base/memory.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1 /* as gcc says it */
#endif
#endif

/* Not under ThreadSanitizer, which is not up yet when the clones are chosen. */
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__SANITIZE_THREAD__)
#define MULTI_ISA __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define MULTI_ISA
#endif

enum { LANES = 16 };

static inline __attribute__((always_inline)) float lanes_sum(const float lane[LANES])
{
    float sum = 0;
    for (int l = 0; l < LANES; l++)
        sum += lane[l];
    return sum;
}

static inline __attribute__((always_inline)) float square_distance(const float *a, const float *b,
                                                                   int f)
{
    float lane[LANES] = {0};
    int i = 0;
    for (; i + LANES <= f; i += LANES)
        for (int l = 0; l < LANES; l++)
            lane[l] += (a[i + l] - b[i + l]) * (a[i + l] - b[i + l]);
    for (; i < f; i++)
        lane[0] += (a[i] - b[i]) * (a[i] - b[i]);
    return lanes_sum(lane);
}

/* out[i] = squared distance of point i to c (f). */
MULTI_ISA static void distances(const struct points *p, const float *c, float *out)
{
    for (int i = 0; i < p->n; i++)
        out[i] = square_distance(p->x + (size_t)p->row[i] * (size_t)p->f, c, p->f);
}

/* out[i] = squared distance of point i to the centre of its cluster. */
MULTI_ISA static void own_distances(const struct points *p, const float *centre,
                                    const int32_t *cluster, float *out)
{
    size_t f = (size_t)p->f;
    for (int i = 0; i < p->n; i++)
        out[i] =
            square_distance(p->x + (size_t)p->row[i] * f, centre + (size_t)cluster[i] * f, p->f);
}

/* sum (f) += x (f) */
MULTI_ISA static void add(float *restrict sum, const float *restrict x, int f)
{
    for (int i = 0; i < f; i++)
        sum[i] += x[i];
}

void points_distance(const void *points, int centre, float *out)
{
    const struct points *p = points;
    distances(p, p->x + (size_t)p->row[centre] * (size_t)p->f, out);
}

/* A number of 0..n-1 with a chance proportional to weight; u is uniform in [0, 1). */
static int draw_one(const float *weight, int n, double total, double u)
{
    int last = -1;
    u *= total;
    for (int i = 0; i < n; i++)
        if (weight[i] > 0) {
            last = i;
            u -= (double)weight[i];
            if (u < 0)
                break;
        }
    return last;
}

int kmeans_seed(int n, int k, distance_fn *distance, const void *user, int first,
                const double *draw, int32_t *out)
{
    float *nearest = mem_array((size_t)n + 1, sizeof *nearest);
    float *new = mem_array((size_t)n + 1, sizeof *new);
    int chosen = 0, next = n > 0 && k > 0 ? first : -1;
    for (int i = 0; i < n; i++)
        nearest[i] = FLT_MAX;
    while (next >= 0) {
        double total = 0;
        out[chosen++] = next;
        distance(user, next, new);
        new[next] = 0;
        for (int i = 0; i < n; i++) {
            nearest[i] = new[i] < nearest[i] ? new[i] : nearest[i];
            total += (double)nearest[i];
        }
        next = chosen < k ? draw_one(nearest, n, total, draw[chosen - 1]) : -1;
    }
    free(nearest);
    free(new);
    return chosen;
}

/* Gives every point to its nearest centre; whether any changed.  One without a finite
 * distance stays where it was, at first with cluster 0. */
static bool assign(const struct points *p, int k, const float *centre, int32_t *cluster,
                   float *scratch)
{
    float *best = scratch, *d = scratch + p->n;
    bool changed = false;
    for (int i = 0; i < p->n; i++)
        best[i] = FLT_MAX;
    int32_t *to = (int32_t *)(d + p->n);
    for (int c = 0; c < k; c++) {
        distances(p, centre + (size_t)c * (size_t)p->f, d);
        for (int i = 0; i < p->n; i++)
            if (d[i] < best[i]) {
                best[i] = d[i];
                to[i] = c;
            }
    }
    for (int i = 0; i < p->n; i++) {
        changed = changed || cluster[i] != to[i];
        cluster[i] = to[i];
    }
    return changed;
}

/* Moves each centre to the mean of its points; one without points stays. */
static void recentre(const struct points *p, int k, float *centre, const int32_t *cluster)
{
    size_t f = (size_t)p->f;
    int *count = mem_array((size_t)k, sizeof *count);
    for (int i = 0; i < p->n; i++)
        count[cluster[i]]++;
    for (int c = 0; c < k; c++)
        if (count[c])
            memset(centre + (size_t)c * f, 0, f * sizeof *centre);
    for (int i = 0; i < p->n; i++)
        add(centre + (size_t)cluster[i] * f, p->x + (size_t)p->row[i] * f, p->f);
    for (int c = 0; c < k; c++)
        for (size_t i = 0; count[c] && i < f; i++)
            centre[(size_t)c * f + i] /= (float)count[c];
    free(count);
}

/* One point of every cluster, the nearest to its centre. */
static void find_nearest(const struct points *p, int k, const float *centre, const int32_t *cluster,
                         float *d, int32_t *nearest)
{
    own_distances(p, centre, cluster, d);
    for (int c = 0; c < k; c++)
        nearest[c] = -1;
    for (int i = 0; i < p->n; i++) {
        int32_t *best = &nearest[cluster[i]];
        if (*best < 0 || d[i] < d[*best])
            *best = i;
    }
}

static void kmeans(const struct points *p, struct clustering *c)
{
    size_t f = (size_t)p->f;
    int k = c->k < c->n ? c->k : c->n, rounds = c->rounds;
    float *centre = mem_array((size_t)k * f + 1, sizeof *centre);
    float *scratch = mem_array(3 * (size_t)p->n + 1, sizeof *scratch);
    int32_t *seed = mem_array((size_t)k + 1, sizeof *seed);
    c->found = k = kmeans_seed(p->n, k, points_distance, p, c->first, c->draw, seed);
    for (int i = 0; i < k; i++)
        memcpy(centre + (size_t)i * f, p->x + (size_t)p->row[seed[i]] * f, f * sizeof *centre);
    for (int i = 0; i < p->n; i++)
        c->cluster[i] = -1;
    while (k > 0 && assign(p, k, centre, c->cluster, scratch) && rounds-- > 0)
        recentre(p, k, centre, c->cluster);
    if (k > 0)
        find_nearest(p, k, centre, c->cluster, scratch, c->nearest);
    free(seed);
    free(scratch);
    free(centre);
}

void host_kmeans(struct device *d, int tasks, int f, struct clustering *c)
{
    (void)d;
    for (int t = 0; t < tasks; t++)
        kmeans(&(struct points){c[t].x, c[t].row, c[t].n, f}, &c[t]);
}

void host_entropy(struct device *d, size_t rows, int ways, const float *probs, float *host)
{
    (void)d;
    for (size_t i = 0; i < rows; i++) {
        const float *p = probs + i * (size_t)ways;
        float h = 0;
        for (int c = 0; c < ways; c++)
            if (!(p[c] <= 0)) /* NaN too, which must not be lost */
                h -= p[c] * logf(p[c]);
        host[i] = h < 0 ? 0 : h;
    }
}
