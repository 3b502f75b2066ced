/* cuda_together.h - small operations that do not depend on each other share a launch.
 *
 * Runs that take their steps together each have a vector of weights to spread, gradients to add
 * up and an optimiser step to take: one after the other, launches of microseconds that leave the
 * chip idle.  So such an operation is only noted, with others of the same kernel and grid that
 * follow it and touch nothing it writes; whatever else comes launches them.
 */
#ifndef CUDA_TOGETHER_H
#define CUDA_TOGETHER_H

#include "cuda_set.h"

/* Eight runs together are one launch of each kind; their arguments, of at most so many bytes each,
 * are a quarter of the 4 kB that a kernel can be given. */
enum { TOGETHER = 8, TOGETHER_BYTES = 128 };

struct span {
    const void *at;
    size_t bytes;
};

struct operation {
    const void *kernel; /* takes the arguments of TOGETHER of them; blockIdx.z tells which */
    struct grid grid;
    const void *args;
    size_t size; /* of args, which are copied */
    struct span writes[3], reads[3];
    const char *name;
};

/* What is noted. */
struct together {
    int n;
    struct operation of[TOGETHER];
    uint64_t args[TOGETHER * TOGETHER_BYTES / 8];
};

#ifdef __cplusplus
extern "C"
#endif
    void
    cuda_together(struct device *d, const struct operation *o);

#endif
