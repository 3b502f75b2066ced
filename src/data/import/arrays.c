/* arrays.c - NumPy arrays: x.npy y.npy [user.npy [part.npy]], or one .npz that holds
 * arrays of these names.
 *
 * x is (items, h, w) or (items, h, w, c) uint8 for images, or (items, d) of any type
 * for rows.  y and user are whole numbers, which need not begin at 0; the label -1 is
 * none.  part is 0 (train) or 1 (test).
 */
#include "data/dataset_own.h"
#include "data/importer.h"
#include "data/relabel.h"
#include "data/file_iter.h"
#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 4 << 20 };
static const size_t member_max = (size_t)64 << 30;
static const char *const names[OWN_ARRAYS] = {"x", "y", "user", "part"};

struct settings {
    bool invert, unlabelled;
};

static const struct param params[] = {
    PARAM_BOOL_ROW(struct settings, invert, "invert", 0,
                   "a learner sees images as 1 - value / 255, not value / 255"),
    PARAM_BOOL_ROW(struct settings, unlabelled, "unlabelled", 1,
                   "y = -1 is an item without a label; no: it is a class"),
    {0},
};

struct arrays {
    struct npy file[OWN_ARRAYS]; /* .array.data NULL: not given */
    char *name[OWN_ARRAYS];      /* for errors */
    void *memory[OWN_ARRAYS];    /* what a member of an npz was read into */
};

/* ---- the files ---- */

/* Reads until there are `want` bytes or no more. */
static int read_up_to(struct arrays *a, struct file_iter *w, int which, size_t *size, size_t want)
{
    char *to = a->memory[which];
    while (*size < want) {
        int64_t n = file_iter_read(w, to + *size, want - *size);
        if (n <= 0)
            return (int)n;
        *size += (size_t)n;
    }
    return 0;
}

/* Room for `bytes`, which may be refused. */
static int make_room(struct arrays *a, int which, size_t bytes)
{
    void *p = realloc(a->memory[which], bytes);
    if (!p)
        return fail(METE_ENOMEM, "%s: there is no memory for %zu bytes", a->name[which], bytes);
    a->memory[which] = p;
    return 0;
}

/* What a member says of itself is read, and judged, before the rest of it: some kilobytes of zeros,
 * packed, are gigabytes. */
static int read_header(struct arrays *a, struct file_iter *w, int which, size_t *size,
                       struct ndarray *array, size_t *offset)
{
    int err = 0;
    for (size_t want = 4096; !err && *offset == 0; want *= 2) {
        err = make_room(a, which, want);
        if (!err)
            err = read_up_to(a, w, which, size, want);
        if (!err)
            err = npy_header_read(array, offset, a->name[which], a->memory[which], *size);
        if (!err && *offset == 0 && *size < want)
            err = fail(METE_EFORMAT, "%s: the npy header is cut short", a->name[which]);
    }
    return err;
}

static int check_header(const char *name, int which, const struct ndarray *array)
{
    char words[160];
    ndarray_words(array, words, sizeof words);
    if (which == OWN_X ? array->rank < 2 || array->rank > 4 : array->rank != 1)
        return fail(METE_EFORMAT, "%s: %s cannot be %s", name, words,
                    which == OWN_X ? "items" : "one number for each item");
    return 0;
}

/* The rest: memory is asked for as data arrives, since the header may claim more than there is. */
static int read_data(struct arrays *a, struct file_iter *w, int which, size_t *size, size_t whole)
{
    int err = 0;
    for (size_t room = *size; !err && *size < whole && *size == room;) {
        room = room < (size_t)CHUNK_BYTES ? (size_t)CHUNK_BYTES : 2 * room;
        room = room < whole ? room : whole;
        err = make_room(a, which, room);
        if (!err)
            err = read_up_to(a, w, which, size, room);
    }
    char more;
    int64_t n = err || *size < whole ? 0 : file_iter_read(w, &more, 1);
    if (!err && n > 0)
        err = fail(METE_EFORMAT, "%s: data follows the array", a->name[which]);
    return err ? err : n < 0 ? (int)n : 0;
}

static int read_member(struct arrays *a, struct file_iter *w, int which)
{
    size_t size = 0, offset = 0;
    struct ndarray array = {0};
    if (a->name[which])
        return fail(METE_EFORMAT, "%s: occurs twice", file_iter_place(w));
    a->name[which] = mem_string(file_iter_place(w));
    int err = read_header(a, w, which, &size, &array, &offset);
    if (!err && array.bytes > member_max)
        err = fail(METE_EFORMAT, "%s: larger than %zu bytes", a->name[which], member_max);
    if (!err)
        err = check_header(a->name[which], which, &array);
    if (!err)
        err = read_data(a, w, which, &size, offset + array.bytes);
    return err ? err : npy_open_memory(&a->file[which], a->name[which], a->memory[which], size);
}

static int open_npz(struct arrays *a, const char *path)
{
    struct file_iter *w = NULL;
    const char *name = NULL;
    int err = file_iter_open(&w, path);
    while (!err && !(err = file_iter_next(w, &name)) && name)
        for (int i = 0; i < OWN_ARRAYS && !err; i++) {
            char member[16];
            snprintf(member, sizeof member, "%s.npy", names[i]);
            if (strcmp(name, member) == 0) {
                err = read_member(a, w, i);
                break; /* `name` is gone if that failed */
            }
        }
    file_iter_close(w);
    for (int i = OWN_X; i <= OWN_Y && !err; i++)
        if (!a->name[i])
            err = fail(METE_EFORMAT,
                       "%s: holds no array '%s'; expected x, y and perhaps user and "
                       "part",
                       path, names[i]);
    return err;
}

static int open_npys(struct arrays *a, const struct import_job *job)
{
    int err = 0;
    for (int i = 0; i < job->n && !err; i++) {
        a->name[i] = mem_string(job->paths[i]);
        err = npy_open(&a->file[i], a->name[i]);
    }
    return err;
}

static void release(struct arrays *a)
{
    for (int i = 0; i < OWN_ARRAYS; i++) {
        npy_close(&a->file[i]);
        free(a->name[i]);
        free(a->memory[i]);
    }
}

/* ---- x ---- */

static int x_shape(struct arrays *a, struct builder *b, bool *rows)
{
    const struct ndarray *x = &a->file[OWN_X].array;
    char words[160];
    ndarray_words(x, words, sizeof words);
    *rows = x->rank == 2;
    for (int i = 0; i < x->rank; i++)
        if (x->shape[i] < 1 || (i > 0 && x->shape[i] > 1 << 20))
            return fail(METE_EFORMAT, "%s: %s cannot be items", a->name[OWN_X], words);
    if (*rows)
        return builder_shape(b, 1, 1, (int)x->shape[1], true);
    if (x->rank != 3 && x->rank != 4)
        return fail(METE_EFORMAT,
                    "%s: expected images (items, h, w) or (items, h, w, c), or rows (items, d), "
                    "got %s",
                    a->name[OWN_X], words);
    if (x->dtype != DTYPE_U8)
        return fail(METE_EFORMAT,
                    "%s: expected uint8 images, got %s; save (x * 255).round().astype('uint8'), or "
                    "rows (items, d)",
                    a->name[OWN_X], words);
    return builder_shape(b, (int)x->shape[1], (int)x->shape[2], x->rank == 4 ? (int)x->shape[3] : 1,
                         false);
}

/* Puts items first..first+n-1; floats (n, d) is scratch for rows. */
static int put_chunk(struct arrays *a, struct builder *b, bool rows, int64_t first, int64_t n,
                     float *floats)
{
    struct ndarray part = a->file[OWN_X].array;
    size_t item = part.bytes / (size_t)part.shape[0];
    part.data = (const char *)part.data + (size_t)first * item;
    part.bytes = (size_t)n * item;
    part.shape[0] = n;
    if (!rows)
        return builder_put(b, first, part.data, n);
    ndarray_to_float(&part, floats);
    int err = dataset_check_rows(a->name[OWN_X], floats, first, n, (int)part.shape[1]);
    return err ? err : builder_put(b, first, floats, n);
}

static int put_x(struct arrays *a, struct import_job *job, bool rows)
{
    const struct ndarray *x = &a->file[OWN_X].array;
    int64_t items = x->shape[0];
    size_t item = rows ? (size_t)x->shape[1] * sizeof(float) : x->bytes / (size_t)items;
    int64_t chunk = item < CHUNK_BYTES ? (int64_t)(CHUNK_BYTES / item) : 1;
    float *floats = NULL;
    int err = rows ? mem_try(&floats, (size_t)chunk, item, a->name[OWN_X]) : 0;
    for (int64_t first = 0; first < items && !err; first += chunk) {
        int64_t n = items - first < chunk ? items - first : chunk;
        err = put_chunk(a, job->builder, rows, first, n, floats);
        if (!err)
            err = progress("arrays", (double)(first + n), (double)items);
    }
    free(floats);
    return err;
}

/* ---- y, user and part ---- */

static int check_vector(const struct arrays *a, int which, int64_t items)
{
    const struct ndarray *v = &a->file[which].array;
    const unsigned whole = DTYPE_SET(DTYPE_U8) | DTYPE_SET(DTYPE_I32) | DTYPE_SET(DTYPE_I64);
    return ndarray_check(v, a->name[which], whole, 1, &items);
}

/* Classes are often -1 and 1, where -1 is not meant to be "no label". */
static int question_signs(const char *name, const int64_t *value, int64_t n)
{
    bool minus = false, one = false, other = false;
    for (int64_t i = 0; i < n; i++) {
        minus = minus || value[i] == -1;
        one = one || value[i] == 1;
        other = other || (value[i] != -1 && value[i] != 1);
    }
    if (!minus || !one || other)
        return 0;
    return fail(METE_EINVAL,
                "%s: holds only -1 and 1, and -1 says that an item has no label: for two classes, "
                "--set unlabelled=no",
                name);
}

/* Labels (`some`: -1 is none) or users; how many different ones, or a failure. */
static int read_vector(const struct arrays *a, int which, int64_t items, bool some,
                       const int32_t **out, char ***texts)
{
    int err = check_vector(a, which, items);
    if (err)
        return err;
    int64_t *value = NULL;
    int32_t *number = NULL;
    int n = mem_try(&value, (size_t)items, sizeof *value, a->name[which]);
    if (n == 0)
        n = mem_try(&number, (size_t)items, sizeof *number, a->name[which]);
    if (n == 0)
        ndarray_to_int64(&a->file[which].array, value);
    if (n == 0 && some)
        n = question_signs(a->name[which], value, items);
    if (n == 0)
        n = some ? relabel_some(value, items, number, texts) : relabel(value, items, number, texts);
    free(value);
    *out = number;
    return n;
}

static int read_part(const struct arrays *a, int64_t items, const uint8_t **out)
{
    int err = check_vector(a, OWN_PART, items);
    if (err)
        return err;
    int64_t *value = NULL;
    uint8_t *part = NULL;
    err = mem_try(&value, (size_t)items, sizeof *value, a->name[OWN_PART]);
    if (!err)
        err = mem_try(&part, (size_t)items, 1, a->name[OWN_PART]);
    *out = part;
    if (!err)
        ndarray_to_int64(&a->file[OWN_PART].array, value);
    for (int64_t i = 0; i < items && !err; i++) {
        part[i] = (uint8_t)value[i];
        if (value[i] != PART_TRAIN && value[i] != PART_TEST)
            err = fail(METE_EFORMAT, "%s: item %lld is %lld, expected 0 (train) or 1 (test)",
                       a->name[OWN_PART], (long long)i, (long long)value[i]);
    }
    free(value);
    return err;
}

static int read_all(struct arrays *a, struct import_job *job)
{
    struct dataset *about = &job->about;
    bool rows;
    int err = x_shape(a, job->builder, &rows), n;
    if (err)
        return err;
    about->items = a->file[OWN_X].array.shape[0];
    const struct settings *set = job->settings;
    n = read_vector(a, OWN_Y, about->items, set->unlabelled, &about->y, &about->class_names);
    if (n < 0)
        return n;
    about->classes = n;
    if (a->name[OWN_USER]) {
        n = read_vector(a, OWN_USER, about->items, false, &about->user, &about->user_names);
        if (n < 0)
            return n;
        about->users = n;
    }
    if (a->name[OWN_PART] && (err = read_part(a, about->items, &about->part)))
        return err;
    if (a->name[OWN_PART] && !a->name[OWN_USER])
        return fail(METE_EFORMAT, "%s: parts are those of users, and there is no user array",
                    a->name[OWN_PART]);
    about->scale = rows ? 1 : set->invert ? -1 / 255.0f : 1 / 255.0f;
    about->shift = !rows && set->invert ? 1 : 0;
    return put_x(a, job, rows);
}

static int import_arrays(struct import_job *job)
{
    struct arrays a = {0};
    int err = job->n == 1 ? open_npz(&a, job->paths[0]) : open_npys(&a, job);
    if (!err)
        err = read_all(&a, job);
    release(&a);
    return err;
}

const struct importer importer_arrays = {
    .name = "arrays",
    .summary = "NumPy arrays: images or rows, with labels and perhaps users",
    .usage = "x.npy y.npy [user.npy [part.npy]] | DATA.npz",
    .least = 1,
    .most = 4,
    .settings_size = sizeof(struct settings),
    .params = params,
    .run = import_arrays,
};
