/* cuda_kmeans.h - what a launch of k-means works on: pools of points, padded to the size of
 * the largest. */
#ifndef CUDA_KMEANS_H
#define CUDA_KMEANS_H

#include "cuda_set.h"

struct pool {
    const float *x;
    int n, k, rounds, first; /* as in struct clustering */
};

/* Everything in device memory. */
struct kmeans_args {
    int tasks, n, k, f;
    int team; /* blocks that work on a pool: a cluster */
    /* asked */
    const double *draw;       /* (tasks, k) */
    const struct pool *pools; /* (tasks) */
    const int32_t *row;       /* (tasks, n) */
    /* answered */
    int32_t *found;   /* (tasks) */
    int32_t *cluster; /* (tasks, n) */
    int32_t *nearest; /* (tasks, k) */
    /* in between */
    int32_t *next;   /* (tasks) the point where the next centre is, or -1 */
    int32_t *moved;  /* (tasks) the latest round in which a point changed its cluster */
    float *distance; /* (tasks, n) of points: to the nearest centre so far, at last to their own */
    float *centre;   /* (tasks, k, f) */
};

#ifdef __cplusplus
extern "C"
#endif
    void
    cuda_lloyd(struct device *d, struct kmeans_args *a);

#endif
