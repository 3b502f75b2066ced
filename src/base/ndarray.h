/* ndarray.h - an array as a file holds it: element type, shape, bytes.
 *
 * Elements are little endian in C order.  `data` may lie at any address (a
 * safetensors file aligns nothing), so it is read through the functions here
 * unless the format promises more.
 */
#ifndef BASE_NDARRAY_H
#define BASE_NDARRAY_H

#include "mete.h"

enum dtype {
    DTYPE_F64,
    DTYPE_F32,
    DTYPE_F16,
    DTYPE_BF16,
    DTYPE_I64,
    DTYPE_I32,
    DTYPE_I16,
    DTYPE_I8,
    DTYPE_U8,
    DTYPE_BOOL,
    DTYPES
};

/* Sets of types. */
#define DTYPE_SET(type) (1u << (type))
#define DTYPES_REAL     (DTYPE_SET(DTYPE_F64) | DTYPE_SET(DTYPE_F32))

const char *dtype_name(enum dtype type); /* "F32" */
size_t dtype_size(enum dtype type);
int dtype_find(const char *name); /* -1: none of that name */

enum { NDARRAY_RANK = 8 };

struct ndarray {
    enum dtype dtype;
    int rank;
    int64_t shape[NDARRAY_RANK];
    const void *data;
    size_t bytes;
};

/* How many elements and bytes a shape has; false where that overflows. */
bool shape_count(int rank, const int64_t *shape, int64_t *count);
bool shape_bytes(enum dtype type, int rank, const int64_t *shape, size_t *bytes);

/* Is this array of one of the types in `dtypes`, with this shape (-1: any length)?
 * If not: "NAME: expected F32 (64, any), got F64 (64)". */
int ndarray_check(const struct ndarray *a, const char *name, unsigned dtypes, int rank,
                  const int64_t *shape);
/* "F32 (5, 1, 28, 28)" */
void ndarray_words(const struct ndarray *a, char *out, size_t size);

int64_t ndarray_count(const struct ndarray *a);
/* All elements, converted.  Reals of 16 bits and integers are exact; F64 is
 * rounded to float.  Reading as integers asserts an integer type. */
void ndarray_to_float(const struct ndarray *a, float *out);
void ndarray_to_double(const struct ndarray *a, double *out);
void ndarray_to_int64(const struct ndarray *a, int64_t *out);

#endif
