/* rng.h - counter-based random numbers: Philox4x32-10 (Salmon et al., SC 2011).
 *
 * Randomness is an argument.  A stream is keyed by (seed, purpose) and a pair of
 * numbers, such as task and step, so any task can be drawn without drawing the
 * ones before it, on any thread or device.
 */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stdint.h>

/* Part of the key; append only: runs must stay repeatable. */
enum rng_purpose {
    RNG_INIT = 1, /* initial weights */
    RNG_SPLIT,    /* which classes or users go to which part */
    RNG_TASK,     /* classes, query and pool of a task */
    RNG_LABEL,    /* what a strategy buys */
    RNG_BATCH,    /* which bought tasks form a meta-batch */
    RNG_INNER,    /* shuffled inner batches */
    RNG_GLYPH,    /* the built-in generator */
    RNG_THEORY,   /* stability experiments */
    RNG_TEST,     /* tests and benchmarks */
    RNG_PROBE,    /* power iteration, random directions */
    RNG_RELABEL,  /* permutations of a task's class labels */
    RNG_RESPLIT,  /* re-splits of a task's support and query */
    RNG_REMIX,    /* tasks made anew of bought points */
    RNG_REDRAW,   /* other images of a bought task's classes */
    RNG_PLAN,     /* people drawn again, for the intervals of a plan */
};

struct rng {
    uint32_t key[2], counter[4];
    uint32_t out[4];
    int left; /* unused words of `out` */
};

void philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

struct rng rng_make(uint64_t seed, enum rng_purpose purpose, uint64_t a, uint32_t b);
uint32_t rng_u32(struct rng *r);
uint32_t rng_below(struct rng *r, uint32_t n); /* uniform in 0..n-1, unbiased; n > 0 */
double rng_uniform(struct rng *r);             /* in [0, 1), 53 bits */
double rng_normal(struct rng *r);
double rng_gumbel(struct rng *r); /* -log(-log u) */
void rng_shuffle(struct rng *r, int32_t *items, uint32_t n);
/* k distinct numbers of 0..n-1 in random order into out (k). */
void rng_choose(struct rng *r, uint32_t n, uint32_t k, int32_t *out);

#endif
