/* seeding.c - the random numbers of k-means, and the pools that a learner is to cluster.
 *
 * k-means++ takes a random number for each centre, and stops early where points coincide.
 * A device wants them all before it begins; so they are drawn ahead, and the stream then
 * continues after the last one used.
 */
#include "label/label_own.h"
#include "base/memory.h"

#include <stdlib.h>

enum { LLOYD_ROUNDS = 100 };

/* Returns the first centre; draw (k - 1) for the others, for which r stays as it is. */
static int draw_ahead(struct rng *r, int n, int k, double *draw)
{
    int first = (int)rng_below(r, (uint32_t)n);
    struct rng ahead = *r;
    for (int i = 0; i + 1 < k; i++)
        draw[i] = rng_uniform(&ahead);
    return first;
}

/* Takes what the search for k centres used: a number for each after the first, and where there
 * were fewer, one in vain. */
static void draw_used(struct rng *r, int k, int found)
{
    for (int i = 0; i < (found < k ? found : k - 1); i++)
        rng_uniform(r);
}

int seed_points(int n, int k, distance_fn *distance, const void *user, struct rng *r, int32_t *out)
{
    if (n < 1 || k < 1)
        return 0;
    double *draw = mem_array((size_t)k, sizeof *draw);
    int first = draw_ahead(r, n, k, draw);
    int found = kmeans_seed(n, k, distance, user, first, draw, out);
    draw_used(r, k, found);
    free(draw);
    return found;
}

void clustering_open(struct clustering *c, const struct label_view *v, int k, struct rng *r)
{
    size_t most = (size_t)v->n + 1;
    double *draw = mem_array(most, sizeof *draw);
    int32_t *row = mem_array(3 * most, sizeof *row);
    *c = (struct clustering){.row = row, .draw = draw, .rounds = LLOYD_ROUNDS};
    c->n = label_available(v, row);
    c->k = k < c->n ? k : c->n;
    c->cluster = row + most;
    c->nearest = c->cluster + most;
    if (c->k > 0)
        c->first = draw_ahead(r, c->n, c->k, draw);
}

int clustering_close(struct clustering *c, int k, struct rng *r, int32_t *cluster, int32_t *central)
{
    for (int i = 0; c->found > 0 && i < c->n; i++)
        cluster[c->row[i]] = c->cluster[i];
    for (int i = 0; i < c->found; i++)
        central[i] = c->nearest[i] < 0 ? -1 : c->row[c->nearest[i]];
    if (c->n > 0)
        draw_used(r, k, c->found);
    free((void *)c->draw);
    free((void *)c->row);
    return c->found;
}
