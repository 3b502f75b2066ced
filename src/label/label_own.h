/* label_own.h - the strategies' tables, and what they share. */
#ifndef LABEL_LABEL_OWN_H
#define LABEL_LABEL_OWN_H

#include "label/label.h"
#include "kernel/selection.h"

extern const struct label_ops label_random, label_stratified, label_active, label_entropy,
    label_margin, label_kmeans, label_kcenter, label_badge;

/* The available positions, ascending, into out (v->n); how many. */
int label_available(const struct label_view *v, int32_t *out);

/* Adds random ones of at[0..n) to the `picked` picks until there are `want`. */
int label_fill_up(const int32_t *at, int n, int picked, int want, struct rng *r, int32_t *picks);

struct scored {
    double score;
    int32_t at, place; /* place: filled in by scored_sort */
};
void scored_sort(struct scored *s, int n); /* highest first; ties stay in order */

/* seeding.c: k-means++ with random numbers from r, of any distance. */
int seed_points(int n, int k, distance_fn *distance, const void *user, struct rng *r, int32_t *out);
/* Prepares the clustering of a view's available points into k clusters, or fewer where there are
 * fewer points; and writes the result in the form of a view: cluster (n) and central (n).  Takes
 * from r exactly the random numbers that seeding used.  Returns how many clusters there are. */
void clustering_open(struct clustering *c, const struct label_view *v, int k, struct rng *r);
int clustering_close(struct clustering *c, int k, struct rng *r, int32_t *cluster,
                     int32_t *central);

/* active.c: splits `want` over clusters of the given sizes: the same whole number
 * for each that is not empty, no more than it has, and the rest one by one to
 * clusters drawn uniformly among those with points left.  How many were given out. */
int active_quota(const int *size, int clusters, int want, struct rng *r, int *quota);

#endif
