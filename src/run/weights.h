/* weights.h - all tensors of an engine's vector as one row, and as a model file. */
#ifndef RUN_WEIGHTS_H
#define RUN_WEIGHTS_H

#include "base/safetensors.h"
#include "method/engine.h"

size_t weights_len(const struct net *net);
/* In the order of net_tensors, PyTorch's layout. */
void weights_get(struct engine *e, enum engine_vector which, float *row);
void weights_put(struct engine *e, enum engine_vector which, const float *row);

/* A model file: the tensors by PyTorch's names, so that a state_dict loads. */
int model_write(const char *path, const struct net *net, const float *row,
                const struct safetensors_pair *meta, int pairs);
int model_read(const char *path, const struct net *net, float *row);

#endif
