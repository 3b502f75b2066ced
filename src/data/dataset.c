/* dataset.c - checking, making, opening and closing datasets. */
#include "data/dataset.h"
#include "data/dataset_own.h"
#include "data/answers.h"
#include "data/columns.h"
#include "data/meta.h"
#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

size_t dataset_item_bytes(const struct dataset *d)
{
    size_t values = (size_t)d->h * (size_t)d->w * (size_t)d->c;
    return values * (d->is_float ? sizeof(float) : 1);
}

int64_t dataset_labelled(const struct dataset *d)
{
    int64_t n = 0;
    for (int64_t i = 0; i < d->items; i++)
        n += d->y[i] != NO_LABEL;
    return n;
}

void dataset_tell_unlabelled(const struct dataset *d)
{
    int64_t n = dataset_labelled(d);
    if (n > 0 && n < d->items)
        log_info("%s: %lld of %lld items have no label; tasks are of the other %lld", d->name,
                 (long long)(d->items - n), (long long)d->items, (long long)n);
}

static int check_numbers(const struct dataset *d)
{
    enum { SIDE = 1 << 20, GROUPS = 1 << 24 }; /* so that arrays of them fit in memory */
    if (d->items < 1)
        return fail(METE_EFORMAT, "%s: a dataset needs at least one item", d->name);
    if (d->classes < 0)
        return fail(METE_EFORMAT, "%s: %d classes, expected 0 or more", d->name, d->classes);
    if (d->users < 0 || d->users > GROUPS || d->classes > GROUPS)
        return fail(METE_EFORMAT, "%s: %d classes and %d users, expected at most %d", d->name,
                    d->classes, d->users, GROUPS);
    if (d->h < 1 || d->w < 1 || d->c < 1 || d->h > SIDE || d->w > SIDE || d->c > SIDE ||
        (int64_t)d->h * d->w > SIDE || (int64_t)d->h * d->w * d->c > 64 * (int64_t)SIDE)
        return fail(METE_EFORMAT, "%s: an item of %d x %d x %d values cannot be used", d->name,
                    d->h, d->w, d->c);
    if (d->is_float && (d->h != 1 || d->w != 1))
        return fail(METE_EFORMAT, "%s: float items must be rows (1 x 1 x d), not %d x %d x %d",
                    d->name, d->h, d->w, d->c);
    if (!isfinite(d->scale) || !isfinite(d->shift) || d->scale == 0)
        return fail(METE_EFORMAT, "%s: scale %g and shift %g cannot be used", d->name,
                    (double)d->scale, (double)d->shift);
    return 0;
}

/* Numbers of classes (least NO_LABEL) or users (least 0). */
static int check_range(const struct dataset *d, const int32_t *values, int least, int n,
                       const char *what)
{
    for (int64_t i = 0; i < d->items; i++)
        if (values[i] < least || values[i] >= n)
            return n == 0 ? fail(METE_EFORMAT, "%s: item %lld has %s %d, and there are none",
                                 d->name, (long long)i, what, values[i])
                          : fail(METE_EFORMAT, "%s: item %lld has %s %d, expected 0..%d%s", d->name,
                                 (long long)i, what, values[i], n - 1,
                                 least < 0 ? ", or -1 for none" : "");
    return 0;
}

int dataset_check(const struct dataset *d)
{
    int err = check_numbers(d);
    if (err)
        return err;
    if (!d->y)
        return fail(METE_EFORMAT, "%s: items have no classes", d->name);
    if ((d->user != NULL) != (d->users > 0))
        return fail(METE_EFORMAT, "%s: %d users, but items %s one", d->name, d->users,
                    d->user ? "have" : "do not have");
    if ((err = check_range(d, d->y, NO_LABEL, d->classes, "class")))
        return err;
    if (d->user && (err = check_range(d, d->user, 0, d->users, "user")))
        return err;
    for (int64_t i = 0; d->part && i < d->items; i++)
        if (d->part[i] > PART_TEST)
            return fail(METE_EFORMAT, "%s: item %lld has part %d, expected 0 (train) or 1 (test)",
                        d->name, (long long)i, d->part[i]);
    for (int k = 0; d->class_split && k < d->classes; k++)
        if (d->class_split[k] > SPLIT_TEST)
            return fail(METE_EFORMAT, "%s: class %d has split %d, expected 0..2", d->name, k,
                        d->class_split[k]);
    return 0;
}

int dataset_check_rows(const char *name, const float *x, int64_t first, int64_t n, int d)
{
    for (int64_t i = 0; i < n * d; i++)
        if (!isfinite(x[i]))
            return fail(METE_EFORMAT, "%s: item %lld, value %lld is %g, expected a finite number",
                        name, (long long)(first + i / d), (long long)(i % d), (double)x[i]);
    return 0;
}

static int make(struct dataset **out, const struct dataset *parts, bool borrowed)
{
    struct dataset *d = mem_alloc(sizeof *d);
    struct dataset_own *own = mem_alloc(sizeof *own);
    *d = *parts;
    own->borrowed = borrowed;
    d->own = own;
    d->name = mem_string(parts->name ? parts->name : "");
    d->licence = mem_string(parts->licence ? parts->licence : "");
    d->source = mem_string(parts->source ? parts->source : "");
    d->path = mem_string("");
    d->sha256 = mem_string("");
    int err = d->x ? dataset_check(d) : fail(METE_EFORMAT, "%s: no items", d->name);
    if (!err && d->is_float)
        err = dataset_check_rows(d->name, d->x, 0, d->items, d->c);
    if (err) {
        dataset_close(d);
        return err;
    }
    *out = d;
    return 0;
}

int dataset_from_memory(struct dataset **out, const struct dataset *parts)
{
    return make(out, parts, false);
}

int dataset_borrow(struct dataset **out, const struct dataset *parts)
{
    struct dataset d = *parts;
    d.class_names = d.user_names = d.class_groups = NULL;
    d.class_split = NULL;
    d.columns = NULL;
    d.places = NULL;
    return make(out, &d, true);
}

static void release_names(char **names, int n)
{
    for (int i = 0; names && i < n; i++)
        free(names[i]);
    free(names);
}

/* An array is inside a mapped file, from malloc, or somebody else's. */
static void release_array(struct dataset_own *own, int which, const void *array)
{
    if (own && own->file[which].map.at)
        npy_close(&own->file[which]);
    else if (!own || !own->borrowed)
        free((void *)(uintptr_t)array);
}

void dataset_close(struct dataset *d)
{
    if (!d)
        return;
    release_array(d->own, OWN_X, d->x);
    release_array(d->own, OWN_Y, d->y);
    release_array(d->own, OWN_USER, d->user);
    release_array(d->own, OWN_PART, d->part);
    release_names(d->class_names, d->classes);
    release_names(d->class_groups, d->classes);
    release_names(d->user_names, d->users);
    free((void *)(uintptr_t)d->class_split);
    free((void *)(uintptr_t)d->paid);
    if (d->columns)
        columns_release(d->columns);
    free(d->columns);
    free(d->name);
    free(d->path);
    free(d->places);
    free(d->licence);
    free(d->source);
    free(d->sha256);
    free(d->own);
    free(d);
}

int dataset_x_shape(const struct dataset *d, int64_t shape[4])
{
    shape[0] = d->items;
    if (d->is_float) {
        shape[1] = d->c;
        return 2;
    }
    shape[1] = d->h;
    shape[2] = d->w;
    shape[3] = d->c;
    return d->c == 1 ? 3 : 4;
}

/* Maps one array; what it must be is known from meta.json. */
static int open_array(struct dataset *d, int which, enum dtype type, const void **to)
{
    struct dataset_own *own = d->own;
    struct npy *file = &own->file[which];
    int64_t shape[4] = {d->items};
    int rank = which == OWN_X ? dataset_x_shape(d, shape) : 1;
    char *path = mem_print("%s/%s", d->path, array_files[which]);
    int err = npy_open(file, path);
    if (!err)
        err = ndarray_check(&file->array, path, DTYPE_SET(type), rank, shape);
    if (!err)
        *to = file->array.data;
    free(path);
    return err;
}

static int open_arrays(struct dataset *d, unsigned arrays)
{
    const void *x = NULL, *y = NULL, *user = NULL, *part = NULL;
    int err = open_array(d, OWN_X, d->is_float ? DTYPE_F32 : DTYPE_U8, &x);
    if (!err)
        err = open_array(d, OWN_Y, DTYPE_I32, &y);
    if (!err && arrays & 1u << OWN_USER)
        err = open_array(d, OWN_USER, DTYPE_I32, &user);
    if (!err && arrays & 1u << OWN_PART)
        err = open_array(d, OWN_PART, DTYPE_U8, &part);
    d->x = x;
    d->y = y;
    d->user = user;
    d->part = part;
    return err;
}

static void fill_texts(struct dataset *d)
{
    char **texts[] = {&d->name, &d->licence, &d->source, &d->sha256};
    for (int i = 0; i < 4; i++)
        if (!*texts[i])
            *texts[i] = mem_string("");
}

int dataset_open_plain(struct dataset **out, const char *dir)
{
    struct dataset *d = mem_alloc(sizeof *d);
    unsigned arrays = 0;
    d->own = mem_alloc(sizeof(struct dataset_own));
    d->path = mem_string(dir);
    d->scale = 1;
    int err = meta_read(dir, d, &arrays);
    fill_texts(d);
    if (!err)
        err = check_numbers(d);
    if (!err)
        err = open_arrays(d, arrays);
    if (!err && (err = dataset_check(d)))
        err = fail_within(err, "%s", dir);
    if (err) {
        dataset_close(d);
        return err;
    }
    *out = d;
    return 0;
}

int dataset_open(struct dataset **out, const char *dir)
{
    struct dataset *d = NULL;
    int err = dataset_open_plain(&d, dir);
    if (!err)
        err = answers_overlay(d);
    if (err)
        dataset_close(d);
    else
        *out = d;
    return err;
}
