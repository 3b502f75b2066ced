/* kmeans.h - k-means for pools of some hundreds or thousands of points. */
#ifndef LABEL_KMEANS_H
#define LABEL_KMEANS_H

#include "base/rng.h"

/* Squared distance of each of the n points to point `centre`, into out (n). */
typedef void distance_fn(const void *user, int centre, float *out);

/* k-means++ seeding (Arthur & Vassilvitskii, 2007): the first point uniformly, each
 * further one with a chance proportional to its squared distance to the nearest
 * chosen.  Chosen numbers go to out (k); fewer than k when the points that are left
 * all lie upon chosen ones.  Returns how many. */
int kmeans_seed(int n, int k, distance_fn *distance, const void *user, struct rng *r, int32_t *out);

/* Points x: row row[i] of a matrix with f columns, i < n. */
struct points {
    const float *x;
    const int32_t *row; /* (n) */
    int n, f;
};
void points_distance(const void *points, int centre, float *out);   /* a distance_fn */
void points_to(const struct points *p, const float *c, float *out); /* to c (f) */

/* Seeds, then Lloyd's rounds until nothing changes, `rounds` at most.  cluster (n)
 * gets 0..k-1; a cluster may end empty.  centre (k, f) may be NULL.  Returns how many
 * clusters there are, k or fewer. */
int kmeans(const struct points *p, int k, int rounds, struct rng *r, int32_t *cluster,
           float *centre);

#endif
