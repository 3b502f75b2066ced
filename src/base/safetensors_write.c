/* safetensors_write.c - writing a safetensors file: sort, lay out, write. */
#include "base/safetensors.h"
#include "base/error.h"
#include "base/file.h"
#include "base/jsonw.h"
#include "base/memory.h"
#include "base/sha256.h"
#include "base/text.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

static int by_size_and_name(const void *a, const void *b)
{
    const struct safetensor *x = a, *y = b;
    size_t p = dtype_size(x->array.dtype), q = dtype_size(y->array.dtype);
    return p != q ? (p < q ? 1 : -1) : strcmp(x->name, y->name);
}

static int by_key(const void *a, const void *b)
{
    const struct safetensors_pair *x = a, *y = b;
    return strcmp(x->key, y->key);
}

static int check(const char *path, struct safetensor *tensors, int n,
                 const struct safetensors_pair *meta, int pairs)
{
    for (int i = 0; i < n; i++) {
        const char *name = tensors[i].name;
        struct ndarray *a = &tensors[i].array;
        if (a->rank < 0 || a->rank > NDARRAY_RANK ||
            !shape_bytes(a->dtype, a->rank, a->shape, &a->bytes))
            return fail(METE_EINVAL, "cannot write %s: %s has a bad shape", path, name);
        if (!is_utf8(name) || strcmp(name, "__metadata__") == 0)
            return fail(METE_EINVAL, "cannot write %s: '%s' cannot name a tensor", path, name);
    }
    for (int i = 0; i < pairs; i++)
        if (!is_utf8(meta[i].key) || !is_utf8(meta[i].value))
            return fail(METE_EINVAL, "cannot write %s: metadata that is not UTF-8", path);
    return 0;
}

/* Names must differ also among tensors of different types, which sort apart. */
static int by_name(const void *a, const void *b)
{
    const struct safetensor *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static int refuse_duplicates(const char *path, struct safetensor *tensors, int n,
                             const struct safetensors_pair *meta, int pairs)
{
    qsort(tensors, (size_t)n, sizeof *tensors, by_name);
    for (int i = 1; i < n; i++)
        if (by_name(&tensors[i - 1], &tensors[i]) == 0)
            return fail(METE_EINVAL, "cannot write %s: two tensors are named '%s'", path,
                        tensors[i].name);
    for (int i = 1; i < pairs; i++)
        if (by_key(&meta[i - 1], &meta[i]) == 0)
            return fail(METE_EINVAL, "cannot write %s: the metadata has '%s' twice", path,
                        meta[i].key);
    return 0;
}

static void write_header(struct jsonw *w, const struct safetensor *tensors, int n,
                         const struct safetensors_pair *meta, int pairs)
{
    size_t offset = 0;
    jsonw_object(w, NULL);
    if (pairs > 0) {
        jsonw_object(w, "__metadata__");
        for (int i = 0; i < pairs; i++)
            jsonw_string(w, meta[i].key, meta[i].value);
        jsonw_close(w);
    }
    for (int i = 0; i < n; i++) {
        const struct ndarray *a = &tensors[i].array;
        jsonw_object(w, tensors[i].name);
        jsonw_string(w, "dtype", dtype_name(a->dtype));
        jsonw_array(w, "shape");
        for (int d = 0; d < a->rank; d++)
            jsonw_int(w, NULL, a->shape[d]);
        jsonw_close(w);
        jsonw_array(w, "data_offsets");
        jsonw_int(w, NULL, (int64_t)offset);
        jsonw_int(w, NULL, (int64_t)(offset += a->bytes));
        jsonw_close(w);
        jsonw_close(w);
    }
    jsonw_close(w);
}

/* Where the bytes go: a file, or memory. */
struct sink {
    struct file_out file;
    bool memory;
    struct text text;
};

static void sink_write(struct sink *o, const void *data, size_t size)
{
    if (o->memory)
        text_add_bytes(&o->text, data, size);
    else
        file_out_write(&o->file, data, size);
}

static int write_sorted(const char *path, struct sink *o, const struct safetensor *tensors, int n,
                        const struct safetensors_pair *meta, int pairs)
{
    struct jsonw w = {0};
    write_header(&w, tensors, n, meta, pairs);
    uint64_t length = (w.size + 7) / 8 * 8; /* padded with spaces: the data is aligned */
    int err = length > SAFETENSORS_HEADER_MAX
                  ? fail(METE_EINVAL, "cannot write %s: the header would be too long", path)
              : o->memory ? 0
                          : file_out_open(&o->file, path);
    if (!err) {
        sink_write(o, &length, sizeof length);
        sink_write(o, w.text, w.size);
        sink_write(o, "       ", length - w.size);
        for (int i = 0; i < n; i++)
            sink_write(o, tensors[i].array.data, tensors[i].array.bytes);
        err = o->memory ? 0 : file_out_commit(&o->file);
    }
    jsonw_release(&w);
    return err;
}

/* Of the metadata and the data, in the order of the file. */
static void sum_of(const struct safetensor *tensors, int n, const struct safetensors_pair *meta,
                   int pairs, char out[SHA256_HEX])
{
    struct sha256 sum;
    sha256_init(&sum);
    safetensors_sum_meta(&sum, meta, pairs);
    for (int i = 0; i < n; i++)
        sha256_add(&sum, tensors[i].array.data, tensors[i].array.bytes);
    sha256_hex(&sum, out);
}

static int write_all(const char *path, struct sink *o, const struct safetensor *tensors, int n,
                     const struct safetensors_pair *meta, int pairs, bool summed)
{
    struct safetensor *t = mem_array((size_t)n, sizeof *t);
    struct safetensors_pair *m = mem_array((size_t)pairs + 1, sizeof *m);
    char sum[SHA256_HEX] = "";
    if (n > 0)
        memcpy(t, tensors, (size_t)n * sizeof *t);
    if (pairs > 0)
        memcpy(m, meta, (size_t)pairs * sizeof *m);
    if (summed)
        m[pairs++] = (struct safetensors_pair){"sha256", sum};
    qsort(m, (size_t)pairs, sizeof *m, by_key);
    int err = check(path, t, n, m, pairs);
    if (!err)
        err = refuse_duplicates(path, t, n, m, pairs);
    qsort(t, (size_t)n, sizeof *t, by_size_and_name);
    if (!err && summed)
        sum_of(t, n, m, pairs, sum);
    if (!err)
        err = write_sorted(path, o, t, n, m, pairs);
    free(t);
    free(m);
    return err;
}

int safetensors_write(const char *path, const struct safetensor *tensors, int n,
                      const struct safetensors_pair *meta, int pairs)
{
    return write_all(path, &(struct sink){0}, tensors, n, meta, pairs, false);
}

int safetensors_bytes(void **out, size_t *size, const struct safetensor *tensors, int n,
                      const struct safetensors_pair *meta, int pairs)
{
    struct sink o = {.memory = true};
    int err = write_all("to memory", &o, tensors, n, meta, pairs, false);
    if (err) {
        text_release(&o.text);
        return err;
    }
    *out = o.text.at;
    *size = o.text.size;
    return 0;
}

int safetensors_write_summed(const char *path, const struct safetensor *tensors, int n,
                             const struct safetensors_pair *meta, int pairs)
{
    return write_all(path, &(struct sink){0}, tensors, n, meta, pairs, true);
}
