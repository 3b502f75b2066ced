/* predict.h - what a learner predicts for tasks, adapted to their supports. */
#ifndef RUN_PREDICT_H
#define RUN_PREDICT_H

#include "method/learner.h"

/* The probabilities (query n, ways) of n tasks, *most of them at a time; where that many models do
 * not fit into memory *most becomes what does. */
int predict_tasks(struct learner *l, int n, const struct items *support, const struct items *query,
                  float *const *probs, int *most);

/* The likeliest of the classes; the first of equals. */
int predicted_class(const float *probs, int ways);

/* Whether each of n tasks is better served by the model that is not adapted: by its own support,
 * of which some labels are left out, predicted by a model adapted to the others and by the one that
 * is not, in turn.  Labels whose class the others lack are not counted: without them no model could
 * adapt to that class.  Up to 20 labels are left out one by one; larger supports in 20 parts.
 * Predictions are made for the whole support at once, as a test's are for a whole query set: what
 * a net computes from the batch at hand (net.bn=batch) is then computed from many images. */
int prefer_unadapted(struct learner *l, int n, const struct items *support, int *most, bool *out);

#endif
