/* learner.h - a meta-learned model at work on tasks: adapt, then predict.
 *
 * This is all that strategies, evaluation and applications see of a method.  It
 * works on `tasks` tasks at once: shared out over threads, or all in one call of a
 * GPU.  What it computes for a task does not depend on the others.
 */
#ifndef METHOD_LEARNER_H
#define METHOD_LEARNER_H

#include <stdint.h>

struct learner;

/* Some items of the dataset, with labels 0..ways-1 where they are known. */
struct items {
    const int32_t *at;
    const int32_t *label; /* NULL where not known */
    int n;
};

/* Adapts the model to each task's labelled items, starting from the meta-learned
 * weights.  No items at all is allowed: the model stays as it was learned. */
int learner_adapt(struct learner *l, int tasks, const struct items *support);

/* Predicts for each task's items with the models of the last learner_adapt.
 * probs[t] (n, ways) and reps[t] (n, learner_features), row-major host memory;
 * either array, or single entries, may be NULL. */
int learner_predict(struct learner *l, int tasks, const struct items *query, float *const *probs,
                    float *const *reps);

int learner_ways(const struct learner *l);
int learner_features(const struct learner *l); /* of the last hidden layer */

#endif
