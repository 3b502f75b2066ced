/* safetensors.h - named tensors in one file, strictly read and written.
 *
 * The format (github.com/huggingface/safetensors): 8 bytes with the length of
 * the header, the header as a JSON object {name: {"dtype", "shape",
 * "data_offsets"}, "__metadata__": {string: string}}, then the data.  Here a file
 * is refused unless its tensors fill the data exactly: no overlap, no hole,
 * nothing after them.
 */
#ifndef BASE_SAFETENSORS_H
#define BASE_SAFETENSORS_H

#include "base/ndarray.h"

enum {
    SAFETENSORS_HEADER_MAX = 100000000, /* bytes, as in the reference implementation */
    SAFETENSORS_TENSORS_MAX = 1 << 20,
};

struct safetensor {
    const char *name;
    struct ndarray array;
};

struct safetensors_pair { /* one entry of __metadata__ */
    const char *key, *value;
};

struct safetensors; /* an open file */

/* Reads the header and maps the file; tensors point into the mapping. */
int safetensors_open(struct safetensors **out, const char *path);
/* The same over memory, which must outlive it; `name` is what errors call it. */
int safetensors_open_memory(struct safetensors **out, const char *name, const void *data,
                            size_t size);
void safetensors_close(struct safetensors *s); /* NULL is fine */

int safetensors_count(const struct safetensors *s);
/* The tensors in the order of their names. */
const struct safetensor *safetensors_at(const struct safetensors *s, int i);
const struct ndarray *safetensors_find(const struct safetensors *s, const char *name); /* or NULL */
/* The tensor must be there, of one of the types and of this shape (-1: any length). */
int safetensors_get(const struct safetensors *s, const char *name, unsigned dtypes, int rank,
                    const int64_t *shape, const struct ndarray **out);
/* A value of __metadata__, or NULL. */
const char *safetensors_meta(const struct safetensors *s, const char *key);
/* All of it, in the order of the keys; *n of them. */
const struct safetensors_pair *safetensors_pairs(const struct safetensors *s, int *n);
const char *safetensors_name(const struct safetensors *s); /* the path, for messages */

/* Writes `path` whole or not at all.  The same tensors give the same bytes in
 * whatever order they come: larger element types first, then by name, so that
 * every tensor is aligned.  array.bytes need not be set. */
int safetensors_write(const char *path, const struct safetensor *tensors, int n,
                      const struct safetensors_pair *meta, int pairs);
/* The same into memory; free() *out. */
int safetensors_bytes(void **out, size_t *size, const struct safetensor *tensors, int n,
                      const struct safetensors_pair *meta, int pairs);
/* The same, with the SHA-256 of the data and of the other metadata among the metadata, as
 * "sha256". */
int safetensors_write_summed(const char *path, const struct safetensor *tensors, int n,
                             const struct safetensors_pair *meta, int pairs);
/* METE_EFORMAT where there is such a sum and it is another. */
int safetensors_verify(const struct safetensors *s);
/* Adds metadata in the order of its keys, without the sum itself. */
struct sha256;
void safetensors_sum_meta(struct sha256 *sum, const struct safetensors_pair *meta, int pairs);

#endif
