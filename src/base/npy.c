/* npy.c - the .npy format (NumPy enhancement proposal 1).
 *
 * "\x93NUMPY", version, the length of the header, the header, the data.  The
 * header is a Python dictionary literal with the keys descr, fortran_order and
 * shape, each once, padded with spaces and ended by a newline.
 */
#include "base/npy.h"
#include "base/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { HEADER_MAX = 65535, HEADER_LEAST = NPY_HEADER_LEAST };

static const struct {
    enum dtype type;
    const char *descr;
} types[] = {
    {DTYPE_U8, "|u1"},  {DTYPE_I32, "<i4"}, {DTYPE_I64, "<i8"},
    {DTYPE_F32, "<f4"}, {DTYPE_F64, "<f8"},
};
enum { TYPES = sizeof types / sizeof *types };

/* A place in the header. */
struct cursor {
    const char *name, *at, *end;
};

static void skip_space(struct cursor *c)
{
    while (c->at < c->end && *c->at == ' ')
        c->at++;
}

static bool take(struct cursor *c, const char *word)
{
    size_t n = strlen(word);
    skip_space(c);
    if ((size_t)(c->end - c->at) < n || memcmp(c->at, word, n) != 0)
        return false;
    c->at += n;
    return true;
}

/* A string in either kind of quotes, without escapes. */
static bool take_string(struct cursor *c, char *out, size_t size)
{
    skip_space(c);
    if (c->at == c->end || (*c->at != '\'' && *c->at != '"'))
        return false;
    const char *start = c->at + 1, *close = memchr(start, *c->at, (size_t)(c->end - start));
    if (!close || (size_t)(close - start) >= size)
        return false;
    for (const char *p = start; p < close; p++)
        if (*p < 0x20 || *p > 0x7e || *p == '\\')
            return false;
    memcpy(out, start, (size_t)(close - start));
    out[close - start] = '\0';
    c->at = close + 1;
    return true;
}

static int broken(const struct cursor *c, const char *what)
{
    return fail(METE_EFORMAT, "%s: the npy header has %s", c->name, what);
}

static int read_descr(struct cursor *c, struct ndarray *a)
{
    char descr[32];
    if (!take_string(c, descr, sizeof descr))
        return broken(c, "a dtype that is not a plain type");
    for (int i = 0; i < TYPES; i++)
        if (strcmp(types[i].descr, descr) == 0) {
            a->dtype = types[i].type;
            return 0;
        }
    return fail(METE_EFORMAT,
                "%s: arrays of dtype '%s' are not read; save it as |u1, <i4, <i8, <f4 or <f8",
                c->name, descr);
}

static int read_order(struct cursor *c)
{
    if (take(c, "False"))
        return 0;
    if (take(c, "True"))
        return fail(METE_EFORMAT, "%s: fortran_order is not read; save numpy.ascontiguousarray(x)",
                    c->name);
    return broken(c, "a fortran_order that is not True or False");
}

static bool take_length(struct cursor *c, int64_t *out)
{
    int64_t value = 0;
    skip_space(c);
    const char *start = c->at;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *c->at - '0', &value))
            return false;
    *out = value;
    return c->at > start;
}

/* (), (5,), (3, 4) or (3, 4,) */
static int read_shape(struct cursor *c, struct ndarray *a)
{
    bool comma = true;
    if (!take(c, "("))
        return broken(c, "a shape that is not a tuple");
    while (!take(c, ")")) {
        if (a->rank == NDARRAY_RANK)
            return broken(c, "a shape of more than 8 dimensions");
        if (!comma || !take_length(c, &a->shape[a->rank]))
            return broken(c, "a shape that is not a tuple of lengths");
        a->rank++;
        comma = take(c, ",");
    }
    return a->rank == 1 && !comma ? broken(c, "a shape that is not a tuple") : 0;
}

static int read_dictionary(struct cursor *c, struct ndarray *a)
{
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    unsigned seen = 0;
    bool comma = true;
    char key[32];
    if (!take(c, "{"))
        return broken(c, "no dictionary");
    while (!take(c, "}")) {
        unsigned k = 0;
        if (!comma || !take_string(c, key, sizeof key) || !take(c, ":"))
            return broken(c, "no dictionary as NumPy writes it");
        while (k < 3 && strcmp(key, keys[k]) != 0)
            k++;
        if (k == 3 || seen & 1u << k)
            return fail(METE_EFORMAT, "%s: the npy header has %s key '%s'", c->name,
                        k == 3 ? "an unknown" : "a second", key);
        seen |= 1u << k;
        int err = k == 0 ? read_descr(c, a) : k == 1 ? read_order(c) : read_shape(c, a);
        if (err)
            return err;
        comma = take(c, ",");
    }
    if (seen != 7)
        return broken(c, "not all of descr, fortran_order and shape");
    skip_space(c);
    if (c->at + 1 != c->end || *c->at != '\n')
        return broken(c, "something after its dictionary, or no newline at its end");
    return 0;
}

/* Where the header begins and ends. */
static int find_header(struct cursor *c, const char *data, size_t size)
{
    if (size < 10 || memcmp(data, "\x93NUMPY", 6) != 0)
        return fail(METE_EFORMAT, "%s: not an npy file", c->name);
    const unsigned char *b = (const unsigned char *)data;
    if ((b[6] != 1 && b[6] != 2) || b[7] != 0)
        return fail(METE_EFORMAT, "%s: npy version %d.%d is not read, only 1.0 and 2.0", c->name,
                    b[6], b[7]);
    size_t start = b[6] == 1 ? 10 : 12, length = b[8] | (size_t)b[9] << 8;
    if (b[6] == 2 && size >= 12)
        length |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
    if (size < start || length > size - start || length > HEADER_MAX)
        return fail(METE_EFORMAT, "%s: the npy header is cut short or too long", c->name);
    c->at = data + start;
    c->end = c->at + length;
    return 0;
}

int npy_header_read(struct ndarray *out, size_t *offset, const char *name, const void *data,
                    size_t size)
{
    const unsigned char *b = data;
    struct cursor c = {.name = name};
    struct ndarray a = {0};
    char words[160];
    *offset = 0;
    if (size >= 12) { /* then it says how long it is */
        size_t start = b[6] == 1 ? 10 : 12, length = b[8] | (size_t)b[9] << 8;
        length |= b[6] == 1 ? 0 : (size_t)b[10] << 16 | (size_t)b[11] << 24;
        if (length <= HEADER_MAX && size < start + length && memcmp(data, "\x93NUMPY", 6) == 0)
            return 0;
    }
    int err = find_header(&c, data, size);
    if (!err)
        err = read_dictionary(&c, &a);
    if (err)
        return err;
    ndarray_words(&a, words, sizeof words);
    if (!shape_bytes(a.dtype, a.rank, a.shape, &a.bytes))
        return fail(METE_EFORMAT, "%s: the shape %s overflows", name, words);
    *offset = (size_t)(c.end - (const char *)data);
    *out = a;
    return 0;
}

int npy_open_memory(struct npy *f, const char *name, const void *data, size_t size)
{
    struct cursor c = {.name = name};
    struct ndarray a = {0};
    int err = find_header(&c, data, size);
    if (!err)
        err = read_dictionary(&c, &a);
    if (err)
        return err;
    size_t offset = (size_t)(c.end - (const char *)data);
    char words[160];
    ndarray_words(&a, words, sizeof words);
    if (!shape_bytes(a.dtype, a.rank, a.shape, &a.bytes))
        return fail(METE_EFORMAT, "%s: the shape %s overflows", name, words);
    if (size - offset != a.bytes)
        return fail(METE_EFORMAT, "%s: %s needs %zu bytes of data, the file has %zu", name, words,
                    a.bytes, size - offset);
    if (offset % dtype_size(a.dtype) != 0)
        return fail(METE_EFORMAT, "%s: the npy header of %zu bytes leaves the data unaligned", name,
                    offset);
    a.data = c.end;
    *f = (struct npy){.array = a};
    return 0;
}

int npy_open(struct npy *f, const char *path)
{
    struct file_map map;
    int err = file_map_open(&map, path);
    if (err)
        return err;
    err = npy_open_memory(f, path, map.at, map.size);
    if (err)
        file_map_close(&map);
    else
        f->map = map;
    return err;
}

void npy_close(struct npy *f)
{
    file_map_close(&f->map);
    *f = (struct npy){0};
}

size_t npy_header(char out[NPY_HEADER_ROOM], enum dtype type, int rank, const int64_t *shape,
                  size_t least)
{
    const char *descr = NULL;
    for (int i = 0; i < TYPES; i++)
        if (types[i].type == type)
            descr = types[i].descr;
    if (!descr)
        return 0;
    char *p = out + 10, *end = out + NPY_HEADER_ROOM;
    p +=
        snprintf(p, (size_t)(end - p), "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (int i = 0; i < rank; i++)
        p += snprintf(p, (size_t)(end - p), i ? ", %" PRId64 : "%" PRId64, shape[i]);
    p += snprintf(p, (size_t)(end - p), rank == 1 ? ",), }" : "), }");
    size_t total = ((size_t)(p - out) + 1 + 63) / 64 * 64;
    total = total < least ? least : total;
    memset(p, ' ', (size_t)(out + total - p));
    out[total - 1] = '\n';
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    out[8] = (char)((total - 10) & 255);
    out[9] = (char)((total - 10) >> 8);
    return total;
}

int npy_write(const char *path, enum dtype type, int rank, const int64_t *shape, const void *data)
{
    char header[NPY_HEADER_ROOM];
    struct file_out o;
    size_t bytes, length = rank >= 0 && rank <= NDARRAY_RANK
                               ? npy_header(header, type, rank, shape, HEADER_LEAST)
                               : 0;
    if (length == 0 || !shape_bytes(type, rank, shape, &bytes))
        return fail(METE_EINVAL, "cannot write %s: a type or shape that npy files here do not have",
                    path);
    int err = file_out_open(&o, path);
    if (err)
        return err;
    file_out_write(&o, header, length);
    file_out_write(&o, data, bytes);
    return file_out_commit(&o);
}

int npy_out_open(struct npy_out *o, const char *path, enum dtype type, int rank,
                 const int64_t *shape)
{
    char header[NPY_HEADER_ROOM];
    *o = (struct npy_out){.array = {.dtype = type, .rank = rank}, .file.fd = -1};
    if (rank < 1 || rank > NDARRAY_RANK || !shape_bytes(type, rank - 1, shape + 1, &o->row))
        return fail(METE_EINVAL, "cannot write %s: rows of a bad shape", path);
    memcpy(o->array.shape, shape, (size_t)rank * sizeof *shape);
    o->array.shape[0] = INT64_MAX; /* room for any number of rows */
    o->header = npy_header(header, type, rank, o->array.shape, HEADER_LEAST);
    if (o->header == 0)
        return fail(METE_EINVAL, "cannot write %s: npy files here do not hold %s", path,
                    dtype_name(type));
    o->array.shape[0] = 0;
    int err = file_out_open(&o->file, path);
    return err ? err : file_out_write(&o->file, header, o->header);
}

int npy_out_rows(struct npy_out *o, const void *rows, int64_t n)
{
    o->array.shape[0] += n;
    return file_out_write(&o->file, rows, (size_t)n * o->row);
}

int npy_out_commit(struct npy_out *o)
{
    char header[NPY_HEADER_ROOM];
    npy_header(header, o->array.dtype, o->array.rank, o->array.shape, o->header);
    file_out_patch(&o->file, 0, header, o->header);
    return file_out_commit(&o->file);
}

void npy_out_abandon(struct npy_out *o)
{
    file_out_abandon(&o->file);
}
