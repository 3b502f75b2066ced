/* tensors.c - named arrays in memory. */
#include "base/tensors.h"
#include "base/error.h"
#include "base/memory.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void *tensors_add(struct tensors *t, const char *name, enum dtype type, int rank,
                  const int64_t *shape)
{
    struct ndarray a = {.dtype = type, .rank = rank};
    bool fits = shape_bytes(type, rank, shape, &a.bytes);
    assert(fits && rank <= NDARRAY_RANK);
    (void)fits;
    if (rank > 0)
        memcpy(a.shape, shape, (size_t)rank * sizeof *shape);
    void *data = mem_alloc(a.bytes + 1);
    a.data = data;
    t->at = mem_grow(t->at, (size_t)t->n + 1, sizeof *t->at);
    t->at[t->n++] = (struct safetensor){mem_string(name), a};
    return data;
}

const struct ndarray *tensors_find(const struct tensors *t, const char *name)
{
    for (int i = 0; i < t->n; i++)
        if (strcmp(t->at[i].name, name) == 0)
            return &t->at[i].array;
    return NULL;
}

void tensors_release(struct tensors *t)
{
    for (int i = 0; i < t->n; i++) {
        free((void *)t->at[i].name);
        free((void *)t->at[i].array.data);
    }
    free(t->at);
    *t = (struct tensors){0};
}

/* Copies, since a mapping promises no alignment. */
static void copy(struct ndarray *to, const struct ndarray *from)
{
    if (to->dtype == DTYPE_F32) {
        ndarray_to_float(from, (float *)to->data);
        return;
    }
    if (to->bytes != from->bytes) {
        free((void *)to->data);
        to->data = mem_alloc(from->bytes + 1);
        to->bytes = from->bytes;
        to->shape[0] = from->shape[0];
    }
    memcpy((void *)to->data, from->data, from->bytes);
}

static int check_finite(const struct ndarray *a, const struct safetensors *f, const char *name)
{
    const float *x = a->data;
    for (size_t i = 0; a->dtype == DTYPE_F32 && i < a->bytes / sizeof *x; i++)
        if (!isfinite(x[i]))
            return fail(METE_EFORMAT, "%s: number %zu of '%s' is not finite", safetensors_name(f),
                        i, name);
    return 0;
}

int tensors_read(struct tensors *t, const struct safetensors *f, const char *prefix)
{
    int err = 0;
    for (int i = 0; i < t->n && !err; i++) {
        struct ndarray *a = &t->at[i].array;
        const struct ndarray *found;
        bool bytes = a->dtype == DTYPE_U8 && a->rank == 1;
        char *name = mem_print("%s%s", prefix, t->at[i].name);
        err = safetensors_get(f, name, a->dtype == DTYPE_F32 ? DTYPES_REAL : DTYPE_SET(a->dtype),
                              a->rank, bytes ? (int64_t[]){-1} : a->shape, &found);
        if (!err) {
            copy(a, found);
            err = check_finite(a, f, name);
        }
        free(name);
    }
    return err;
}

int tensors_list(const struct tensors *t, const char *prefix, struct safetensor *out, int n)
{
    for (int i = 0; i < t->n; i++)
        out[n + i] = (struct safetensor){mem_print("%s%s", prefix, t->at[i].name), t->at[i].array};
    return n + t->n;
}

void tensors_names_free(struct safetensor *out, int from, int to)
{
    for (int i = from; i < to; i++)
        free((void *)out[i].name);
}
