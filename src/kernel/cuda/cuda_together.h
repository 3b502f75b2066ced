/* cuda_together.h - operations on vectors that share a launch.
 *
 * They are small: one after the other they would be launches of microseconds that leave the chip
 * idle, and runs that take their steps together have one of each kind apiece.  So such an operation
 * is only noted, with others that follow it and touch nothing it writes; whatever else comes
 * launches them.  An optimiser's step joins the sum that it takes, element by element.
 */
#ifndef CUDA_TOGETHER_H
#define CUDA_TOGETHER_H

#include "cuda_set.h"

/* Sums and losses of eight runs together; what describes them is 2.3 kB of the 4 that every kernel
 * can be given. */
enum { TOGETHER = 16 };

/* An optimiser's step with a gradient: Adam's, or where m is NULL plain descent by lr. */
struct update {
    float *theta, *m, *v;
    double scale, lr, beta1, beta2; /* scale: of the gradient */
    const struct adam_rates *now;
};

struct operation {
    enum { VECTOR_AXPY, VECTOR_AXPY4, VECTOR_SUM } kind;
    int tasks;
    unsigned blocks; /* of threads: each task's of an axpy, all of a sum */
    size_t len;
    /* axpy: to = y + a x, each task's; AXPY4 by fours.  Sum: to = x of all tasks, added to what
     * was there if `add`, or only for the update where to.at is NULL. */
    struct vec to, y, x;
    float a;
    bool add;
    struct update then; /* of a sum; theta NULL: none */
};

struct span {
    const void *at;
    size_t bytes;
};
/* What an operation touches. */
struct touched {
    struct span writes[4], reads[3];
};

/* What is noted. */
struct together {
    int n;
    struct operation of[TOGETHER];
    struct touched touched[TOGETHER];
};

#ifdef __cplusplus
extern "C" {
#endif
void cuda_together(struct device *d, const struct operation *o);
/* Launches n of them, none of which depends on another: cuda_vector.cu. */
void cuda_vectors(struct device *d, const struct operation *of, int n);
#ifdef __cplusplus
}
#endif
#endif
