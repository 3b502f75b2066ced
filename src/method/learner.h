/* learner.h - a meta-learned model at work on tasks: adapt, then predict.
 *
 * This is all that strategies, evaluation and applications see of a method.  It
 * works on `tasks` tasks at once: shared out over threads, or all in one call of a
 * GPU.  What it computes for a task does not depend on the others.
 */
#ifndef METHOD_LEARNER_H
#define METHOD_LEARNER_H

#include <stdbool.h>
#include <stdint.h>

struct learner;
struct clustering; /* kernel/selection.h */

/* Some items of the dataset, with labels 0..ways-1 where they are known. */
struct items {
    const int32_t *at;
    const int32_t *label; /* NULL where not known */
    int n;
};

/* Adapts the model to each task's labelled items, starting from the meta-learned
 * weights.  No items at all is allowed: the model stays as it was learned. */
int learner_adapt(struct learner *l, int tasks, const struct items *support);

/* What is wanted of a prediction, one array for each task, in row-major host memory; any of
 * them, or single entries, may be NULL. */
struct predicted {
    float *const *probs;   /* (n, ways) */
    float *const *reps;    /* (n, learner_features) */
    float *const *entropy; /* (n) of the probabilities, in nats; NaN where one is */
    bool clusters;         /* learner_cluster will ask for them */
};

/* Predicts for each task's items with the models of the last learner_adapt. */
int learner_predict(struct learner *l, int tasks, const struct items *query,
                    const struct predicted *out);

/* Clusters the items of the last learner_predict by their representations, which have not
 * left the device: c[t].row are positions among those of task t, and c[t].x is set here. */
int learner_cluster(struct learner *l, int tasks, struct clustering *c);

int learner_ways(const struct learner *l);
int learner_features(const struct learner *l); /* of the last hidden layer */

#endif
