/* questions.h - which items of a pool to ask about next: by a model and its strategy, or, as long
 * as there is no model, items that are unlike each other; and what the model makes of the answers.
 */
#ifndef PEOPLE_QUESTIONS_H
#define PEOPLE_QUESTIONS_H

#include "people/fitted.h"

struct questions;
struct questions_options {
    const struct dataset *data;      /* outlives it */
    const char *const *classes;      /* (n_classes) of the labels, with those that people added */
    int n_classes;                   /* 0: those of the dataset */
    const char *model;               /* a file, a run's folder, or NULL: nobody has one yet */
    const char *strategy;            /* one that needs no oracle; NULL: QUESTIONS_STRATEGY */
    const char *const *set, *device; /* of the model, or NULL */
};
#define QUESTIONS_STRATEGY "kmeans" /* where nobody says another */

/* Says what is wrong with a model or a strategy for this dataset. */
int questions_open(struct questions **out, const struct questions_options *o);
void questions_close(struct questions *q);                     /* NULL is fine */
struct mete_model *questions_model(const struct questions *q); /* NULL: none */
const struct fitted *questions_fitted(const struct questions *q);
const char *questions_strategy(const struct questions *q);

/* A pool: items that may be asked about, and those whose class is known. */
struct pool {
    int64_t *item;
    int32_t *known; /* class, or -1: may be asked about */
    int n;
};

struct picked {
    int at;        /* in the pool */
    int cluster;   /* that it stands for, or -1 */
    int guess;     /* the model's class, one of the dataset's, or -1 */
    float sure;    /* the probability of that; NaN without a model */
    float entropy; /* of the model's probabilities, in nats; NaN without a model */
};
/* At most `want` items of the pool, the most wanted first; *n is how many.  Without a model those
 * of a large pool are of a random part of it. */
int questions_pick(struct questions *q, const struct pool *pool, int want, uint64_t seed,
                   struct picked *out, int *n);
/* How much is left to learn of a pool, in a unit that pools share: with a model its mean entropy of
 * what may be asked about; without one, the mean squared distance of that to the nearest known
 * item, or where none is known to their mean. */
int questions_doubt(struct questions *q, const struct pool *pool, double *out);

/* Adapts the model to what is known of the pool; METE_EINVAL without a model. */
int questions_adapt(struct questions *q, const struct pool *pool);
/* Probabilities (n, classes) of items by the model as it was adapted last.  A class that the model
 * does not have has 0. */
int questions_predict(struct questions *q, const int64_t *item, int n, float *probs);

#endif
