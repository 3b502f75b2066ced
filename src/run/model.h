/* model.h - a model as a file: the learner's tensors by their names, how they were made, and what
 * the model takes (card.h).
 *
 * The engine's have PyTorch's names, so that a state_dict loads.
 */
#ifndef RUN_MODEL_H
#define RUN_MODEL_H

#include "config/config.h"
#include "method/learner.h"

/* "best.safetensors" of a run's folder; a file is itself.  free() it; NULL after a sentence. */
char *model_path(const char *model);

int model_write(const char *path, const struct tensors *model, const struct safetensors_pair *meta,
                int pairs);
/* Into the learner, whose tensors say what must be there. */
int model_read(const char *path, struct learner *l);
/* The same of one part of what a file holds: names begin with `prefix` there. */
int model_take(const struct safetensors *f, const char *prefix, enum learner_part part,
               struct learner *l);

/* The settings that a model was trained with: the five names that it has, then the others.  What
 * an older file does not name is as it was then.  METE_EFORMAT for other people's files. */
int model_settings(const struct safetensors *f, struct settings *out);

#endif
