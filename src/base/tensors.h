/* tensors.h - named arrays in memory: what a learner has learned, on its way to a file
 * or back.
 */
#ifndef BASE_TENSORS_H
#define BASE_TENSORS_H

#include "base/safetensors.h"

struct tensors { /* a zeroed one is empty */
    struct safetensor *at;
    int n;
};

/* Adds an array of zeros and returns its data, to be filled in; copies the name. */
void *tensors_add(struct tensors *t, const char *name, enum dtype type, int rank,
                  const int64_t *shape);
const struct ndarray *tensors_find(const struct tensors *t, const char *name); /* NULL: none */
void tensors_release(struct tensors *t);

/* Fills every array of `t` from the tensor of the file that is called `prefix` and its name, and
 * is of the same shape; arrays of bytes (U8, one dimension) may be of any length and take the
 * file's.  F32 also reads F64, and refuses what is not finite (METE_EFORMAT). */
int tensors_read(struct tensors *t, const struct safetensors *f, const char *prefix);
/* Adds to the first `n` of out[] what tensors_read will find under `prefix`, and returns how many
 * there are then; out[] has room for t->n more.  Borrows the data; free() the names with
 * tensors_names_free(out, from, to). */
int tensors_list(const struct tensors *t, const char *prefix, struct safetensor *out, int n);
void tensors_names_free(struct safetensor *out, int from, int to);

#endif
