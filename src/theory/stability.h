/* stability.h - how much leaving out one item of the training data changes what is learned.
 *
 * The machinery knows nothing of learners: it asks for the risks of the model
 * trained without an item, and compares.  Whatever else training depends on (the
 * start, the order, the random numbers) the caller holds common, so that the
 * difference is the item's doing.
 */
#ifndef THEORY_STABILITY_H
#define THEORY_STABILITY_H

#include "base/statistics.h"

#include <stdint.h>

enum { STABILITY_ALL = -1 };

struct stability_problem {
    void *user;
    int items;       /* of the training data D */
    int probes;      /* fresh samples S, on which models are compared */
    double max_loss; /* risks outside [0, max_loss] are refused: the theory needs it */
    /* Trains on D without item `without` (STABILITY_ALL: on D) and writes the risk
     * on each probe (probes). */
    int (*risks)(void *user, int without, double *risk);
    const char *what; /* for progress; NULL: none is reported */
};

struct stability {
    int removals, probes;
    /* The largest |R(A(D), S) - R(A(D without i), S)| met, and where.  Uniform stability
     * is the largest over all items and all S, so this is a lower estimate of it. */
    double largest;
    int item, probe;
    /* With 95 % confidence, leaving out an item moves some probe by more than `largest`
     * for at most this share of the items; 0 when all were left out in turn. */
    double exceeding;
    struct summary mean;  /* over items, of the mean over probes of |difference| */
    struct summary worst; /* over items, of the largest over probes */
    double baseline;      /* the mean risk of A(D) */
};

/* Leaves out `removals` items, drawn with `seed` (all of them where there are no
 * more).  Trains removals + 1 times. */
int stability_measure(struct stability *out, const struct stability_problem *p, int removals,
                      uint64_t seed);

#endif
