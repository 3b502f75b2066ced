/* selection.h - what selecting labels needs from a device: the clusters of a pool and the
 * entropy of predictions; and how the host computes both.
 *
 * k-means is for pools of some hundreds or thousands of points.  Its random numbers are
 * drawn before (label/seeding.c), so that every device makes the same choices.
 */
#ifndef KERNEL_SELECTION_H
#define KERNEL_SELECTION_H

#include <stddef.h>
#include <stdint.h>

struct device;

/* A pool to cluster, and its clusters. */
struct clustering {
    const float *x;     /* rows of points, device memory; all else here is host memory */
    const int32_t *row; /* (n) those that are the pool */
    int n, k;           /* points; clusters wanted */
    int rounds;         /* of Lloyd's, at most */
    int first;          /* the point where the first centre is */
    const double *draw; /* (k - 1) in [0, 1): they choose the other centres */
    int found;          /* out: clusters, k or fewer */
    int32_t *cluster;   /* out: (n) 0..found-1; a cluster may end empty */
    int32_t *nearest;   /* out: (k) of each found, the point nearest to its centre; -1: empty */
};

/* The kernel table's operations, for sets whose device is the host. */
void host_kmeans(struct device *d, int tasks, int f, struct clustering *c);
void host_entropy(struct device *d, size_t rows, int ways, const float *probs, float *host);

/* ---- for strategies that need distances but no clusters ---- */

/* Squared distance of each of the n points to point `centre`, into out (n). */
typedef void distance_fn(const void *user, int centre, float *out);

/* k-means++ seeding (Arthur & Vassilvitskii, 2007): point `first`, then each further one
 * with probability proportional to its squared distance to the nearest chosen; draw (k - 1)
 * are the uniform numbers that choose.  Chosen points go to out (k); fewer than k when
 * all others coincide with chosen ones.  Returns how many. */
int kmeans_seed(int n, int k, distance_fn *distance, const void *user, int first,
                const double *draw, int32_t *out);

/* Points x: row row[i] of a matrix with f columns, i < n. */
struct points {
    const float *x;
    const int32_t *row; /* (n) */
    int n, f;
};
void points_distance(const void *points, int centre, float *out); /* a distance_fn */

#endif
