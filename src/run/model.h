/* model.h - a model as a file: the learner's tensors by their names, and how they were made.
 *
 * The engine's have PyTorch's names, so that a state_dict loads.
 */
#ifndef RUN_MODEL_H
#define RUN_MODEL_H

#include "method/learner.h"

int model_write(const char *path, const struct tensors *model, const struct safetensors_pair *meta,
                int pairs);
/* Into the learner, whose tensors say what must be there. */
int model_read(const char *path, struct learner *l);

#endif
