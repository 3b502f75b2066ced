/* safetensors.c - opening a file: the header, then the checks, then the lookups. */
#include "base/safetensors.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/sha256.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH = 8 }; /* bytes of the header's length */

struct entry {                /* a tensor, and where the header says it lies */
    struct safetensor tensor; /* tensor.name is ours */
    uint64_t begin, end;
};

struct safetensors {
    char *name;
    struct file_map map; /* empty when reading memory */
    const char *data;    /* of all tensors */
    size_t size;
    struct entry *entries; /* by name once open */
    int n, room;
    struct safetensors_pair *meta; /* by key once open; the strings are ours */
    int pairs, meta_room;
    bool has_meta;
};

void safetensors_close(struct safetensors *s)
{
    if (!s)
        return;
    for (int i = 0; i < s->n; i++)
        free((char *)s->entries[i].tensor.name);
    for (int i = 0; i < s->pairs; i++) {
        free((char *)s->meta[i].key);
        free((char *)s->meta[i].value);
    }
    free(s->entries);
    free(s->meta);
    free(s->name);
    file_map_close(&s->map);
    free(s);
}

static int read_meta(struct safetensors *s, struct json *j)
{
    bool more;
    if (s->has_meta)
        return json_fail(j, "__metadata__ is there twice");
    s->has_meta = true;
    int err = json_enter(j, JSON_OBJECT);
    while (!err && !(err = json_more(j, &more)) && more) {
        if (s->pairs == s->meta_room) {
            int room = 2 * s->meta_room + 8;
            if ((err = mem_extend(&s->meta, (size_t)room, sizeof *s->meta, s->name)))
                break;
            s->meta_room = room;
        }
        struct safetensors_pair *p = &s->meta[s->pairs];
        p->key = mem_string(j->text);
        p->value = NULL;
        s->pairs++;
        err = json_get_string(j);
        if (!err)
            p->value = mem_string(j->text);
    }
    return err;
}

static int read_dtype(struct json *j, struct ndarray *a)
{
    int err = json_get_string(j);
    if (err)
        return err;
    int type = dtype_find(j->text);
    if (type < 0)
        return json_fail(
            j, "the dtype '%.20s' is not one of F64 F32 F16 BF16 I64 I32 I16 I8 U8 BOOL", j->text);
    a->dtype = (enum dtype)type;
    return 0;
}

static int read_shape(struct json *j, struct ndarray *a)
{
    bool more;
    int err = json_enter(j, JSON_ARRAY);
    while (!err && !(err = json_more(j, &more)) && more) {
        if (a->rank == NDARRAY_RANK)
            return json_fail(j, "a shape of more than %d dimensions", NDARRAY_RANK);
        err = json_get_int(j, 0, INT64_MAX, &a->shape[a->rank]);
        a->rank++;
    }
    return err;
}

static int read_offsets(struct json *j, struct entry *e)
{
    int64_t begin, end;
    bool more;
    int err = json_enter(j, JSON_ARRAY);
    if (!err)
        err = json_get_int(j, 0, INT64_MAX, &begin);
    if (!err)
        err = json_get_int(j, 0, INT64_MAX, &end);
    if (!err)
        err = json_more(j, &more);
    if (err)
        return err;
    if (more || end < begin)
        return json_fail(j, "data_offsets must be [begin, end] with begin <= end");
    e->begin = (uint64_t)begin;
    e->end = (uint64_t)end;
    return 0;
}

/* {"dtype": ..., "shape": ..., "data_offsets": ...}: each once, nothing else. */
static int read_entry(struct json *j, struct entry *e)
{
    static const char *const keys[] = {"dtype", "shape", "data_offsets"};
    unsigned seen = 0;
    bool more;
    int err = json_enter(j, JSON_OBJECT);
    while (!err && !(err = json_more(j, &more)) && more) {
        unsigned k = 0;
        while (k < 3 && strcmp(j->text, keys[k]) != 0)
            k++;
        if (k == 3 || seen & 1u << k)
            return json_fail(j, "%s '%.40s' in the entry of '%.100s'",
                             k == 3 ? "an unknown key" : "a second", j->text, e->tensor.name);
        seen |= 1u << k;
        err = k == 0   ? read_dtype(j, &e->tensor.array)
              : k == 1 ? read_shape(j, &e->tensor.array)
                       : read_offsets(j, e);
    }
    if (!err && seen != 7)
        err = json_fail(j, "'%.100s' needs dtype, shape and data_offsets", e->tensor.name);
    return err;
}

static int read_header(struct safetensors *s, struct json *j)
{
    bool more;
    int err = json_enter(j, JSON_OBJECT);
    while (!err && !(err = json_more(j, &more)) && more) {
        if (strcmp(j->text, "__metadata__") == 0) {
            err = read_meta(s, j);
            continue;
        }
        if (s->n == SAFETENSORS_TENSORS_MAX)
            return json_fail(j, "more than %d tensors", SAFETENSORS_TENSORS_MAX);
        if (s->n == s->room) {
            int room = 2 * s->room + 32;
            if ((err = mem_extend(&s->entries, (size_t)room, sizeof *s->entries, s->name)))
                break;
            s->room = room;
        }
        struct entry *e = &s->entries[s->n++];
        *e = (struct entry){.tensor.name = mem_string(j->text)};
        err = read_entry(j, e);
    }
    return err ? err : json_finish(j);
}

static int by_offset(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

static int by_name(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    return strcmp(x->tensor.name, y->tensor.name);
}

static int by_key(const void *a, const void *b)
{
    const struct safetensors_pair *x = a, *y = b;
    return strcmp(x->key, y->key);
}

/* The tensors must have the bytes their shapes ask for and lie one after another
 * from the first byte of the data to the last. */
static int place(struct safetensors *s, const char *data, size_t size)
{
    uint64_t expected = 0;
    qsort(s->entries, (size_t)s->n, sizeof *s->entries, by_offset);
    for (int i = 0; i < s->n; i++) {
        struct entry *e = &s->entries[i];
        struct ndarray *a = &e->tensor.array;
        unsigned long long begin = e->begin, end = e->end;
        char words[160];
        ndarray_words(a, words, sizeof words);
        if (!shape_bytes(a->dtype, a->rank, a->shape, &a->bytes))
            return fail(METE_EFORMAT, "%s: %.100s: the shape %s overflows", s->name, e->tensor.name,
                        words);
        if (end > size)
            return fail(METE_EFORMAT,
                        "%s: %.100s: the data_offsets [%llu, %llu] pass the end of the "
                        "data, %zu bytes; is the file complete?",
                        s->name, e->tensor.name, begin, end, size);
        if (end - begin != a->bytes)
            return fail(METE_EFORMAT,
                        "%s: %.100s: %s needs %zu bytes, its data_offsets [%llu, %llu] hold %llu",
                        s->name, e->tensor.name, words, a->bytes, begin, end, end - begin);
        if (begin != expected)
            return fail(METE_EFORMAT,
                        "%s: %.100s: its data %s the tensor before it (at %llu, expected %llu)",
                        s->name, e->tensor.name,
                        begin < expected ? "overlaps" : "leaves a hole after", begin,
                        (unsigned long long)expected);
        a->data = data + begin;
        expected = end;
    }
    if (expected != size)
        return fail(METE_EFORMAT, "%s: %llu bytes follow the last tensor", s->name,
                    (unsigned long long)(size - expected));
    return 0;
}

static int refuse_duplicates(struct safetensors *s)
{
    if (s->n > 0)
        qsort(s->entries, (size_t)s->n, sizeof *s->entries, by_name);
    for (int i = 1; i < s->n; i++)
        if (by_name(&s->entries[i - 1], &s->entries[i]) == 0)
            return fail(METE_EFORMAT, "%s: two tensors are named '%.100s'", s->name,
                        s->entries[i].tensor.name);
    if (s->pairs > 0)
        qsort(s->meta, (size_t)s->pairs, sizeof *s->meta, by_key);
    for (int i = 1; i < s->pairs; i++)
        if (by_key(&s->meta[i - 1], &s->meta[i]) == 0)
            return fail(METE_EFORMAT, "%s: __metadata__ has the key '%.100s' twice", s->name,
                        s->meta[i].key);
    return 0;
}

static int parse(struct safetensors *s, const char *data, size_t size)
{
    uint64_t length;
    if (size < LENGTH)
        return fail(METE_EFORMAT, "%s: %zu bytes are too few for a safetensors file", s->name,
                    size);
    memcpy(&length, data, LENGTH);
    if (length > SAFETENSORS_HEADER_MAX || length > size - LENGTH)
        return fail(METE_EFORMAT,
                    "%s: not a safetensors file, or cut short: it announces a header of "
                    "%llu bytes and has %zu",
                    s->name, (unsigned long long)length, size);
    data += LENGTH;
    if (length == 0 || data[0] != '{')
        return fail(METE_EFORMAT, "%s: not a safetensors file: the header does not begin with '{'",
                    s->name);
    struct json j;
    char *header = mem_print("%s: header", s->name);
    json_open_memory(&j, header, data, length);
    int err = read_header(s, &j);
    json_close(&j);
    free(header);
    s->data = data + length;
    s->size = size - LENGTH - length;
    if (!err && s->n > 0)
        err = place(s, data + length, size - LENGTH - length);
    else if (!err && size > LENGTH + length)
        err = fail(METE_EFORMAT, "%s: data follows a header without tensors", s->name);
    return err ? err : refuse_duplicates(s);
}

static int open_over(struct safetensors **out, const char *name, struct file_map map,
                     const void *data, size_t size)
{
    struct safetensors *s = mem_alloc(sizeof *s);
    s->name = mem_string(name);
    s->map = map;
    int err = parse(s, data, size);
    if (err) {
        safetensors_close(s);
        return err;
    }
    *out = s;
    return 0;
}

int safetensors_open_memory(struct safetensors **out, const char *name, const void *data,
                            size_t size)
{
    return open_over(out, name, (struct file_map){0}, data, size);
}

int safetensors_open(struct safetensors **out, const char *path)
{
    struct file_map map;
    int err = file_map_open(&map, path);
    return err ? err : open_over(out, path, map, map.at, map.size);
}

int safetensors_count(const struct safetensors *s)
{
    return s->n;
}

const struct safetensor *safetensors_at(const struct safetensors *s, int i)
{
    return &s->entries[i].tensor;
}

const struct ndarray *safetensors_find(const struct safetensors *s, const char *name)
{
    if (s->n == 0)
        return NULL;
    struct entry key = {.tensor.name = name};
    const struct entry *e = bsearch(&key, s->entries, (size_t)s->n, sizeof key, by_name);
    return e ? &e->tensor.array : NULL;
}

int safetensors_get(const struct safetensors *s, const char *name, unsigned dtypes, int rank,
                    const int64_t *shape, const struct ndarray **out)
{
    const struct ndarray *a = safetensors_find(s, name);
    if (!a)
        return fail(METE_EFORMAT, "%s: there is no tensor '%s'", s->name, name);
    int err = ndarray_check(a, name, dtypes, rank, shape);
    if (err)
        return fail_within(err, "%s", s->name);
    *out = a;
    return 0;
}

const char *safetensors_meta(const struct safetensors *s, const char *key)
{
    if (s->pairs == 0)
        return NULL;
    struct safetensors_pair k = {.key = key};
    const struct safetensors_pair *p = bsearch(&k, s->meta, (size_t)s->pairs, sizeof k, by_key);
    return p ? p->value : NULL;
}

void safetensors_sum_meta(struct sha256 *sum, const struct safetensors_pair *meta, int pairs)
{
    for (int i = 0; i < pairs; i++)
        if (strcmp(meta[i].key, "sha256") != 0) {
            sha256_add(sum, meta[i].key, strlen(meta[i].key) + 1);
            sha256_add(sum, meta[i].value, strlen(meta[i].value) + 1);
        }
}

int safetensors_verify(const struct safetensors *s)
{
    const char *expected = safetensors_meta(s, "sha256");
    char sum[SHA256_HEX];
    struct sha256 state;
    if (!expected)
        return 0;
    sha256_init(&state);
    safetensors_sum_meta(&state, s->meta, s->pairs);
    sha256_add(&state, s->data, s->size);
    sha256_hex(&state, sum);
    return strcmp(sum, expected) == 0
               ? 0
               : fail(METE_EFORMAT, "%s: is damaged: its data is not what was written", s->name);
}

const struct safetensors_pair *safetensors_pairs(const struct safetensors *s, int *n)
{
    *n = s->pairs;
    return s->meta;
}

const char *safetensors_name(const struct safetensors *s)
{
    return s->name;
}
