/* rows_array.c - items in a .npy file.  For a model of a table they are what an exported one takes:
 * features before they are filled and standardised, NaN for what is missing.
 */
#include "people/rows.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/npy.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct array_state {
    struct npy file;
    int64_t next;
    double *raw; /* (values) */
};

static bool suits(const char *path)
{
    return path_ends(path, ".npy");
}

/* (n, d) for feature rows; (n, h, w) or (n, h, w, c) for images. */
static bool has_shape(const struct ndarray *a, const struct dataset *t)
{
    const int64_t *s = a->shape;
    if (a->rank == 2)
        return t->h == 1 && t->w == 1 && s[1] == t->c;
    return (a->rank == 4 ? s[3] == t->c : a->rank == 3 && t->c == 1) && s[1] == t->h &&
           s[2] == t->w;
}

static int wrong_shape(const struct rows *r)
{
    const struct dataset *t = &r->model->takes;
    if (t->h == 1 && t->w == 1)
        return fail(METE_EINVAL, "%s: expected rows of %d features, which %s takes", r->path, t->c,
                    r->model->name);
    return fail(METE_EINVAL, "%s: expected items of %d x %d x %d, which %s takes", r->path, t->h,
                t->w, t->c, r->model->name);
}

static int open_array(struct rows *r)
{
    struct array_state *s = r->state = mem_alloc(sizeof *s);
    const struct dataset *t = &r->model->takes;
    int err = npy_open(&s->file, r->path);
    if (err)
        return err;
    const struct ndarray *a = &s->file.array;
    if ((a->dtype == DTYPE_U8) == t->is_float)
        return fail(METE_EINVAL, "%s: holds %s, and %s takes %s", r->path,
                    a->dtype == DTYPE_U8 ? "uint8" : "numbers that are not uint8", r->model->name,
                    t->is_float ? "floats" : "uint8 pixels");
    if (!has_shape(a, t))
        return wrong_shape(r);
    s->raw = mem_array((size_t)(t->h * t->w * t->c) + 1, sizeof *s->raw);
    return 0;
}

/* One value a feature, as a table would have said it. */
static int finish(struct rows *r, const double *raw, float *x)
{
    const struct columns *c = &r->model->columns;
    const struct dataset *t = &r->model->takes;
    int n = t->h * t->w * t->c;
    for (int i = 0; i < n; i++) {
        r->missing += isnan(raw[i]) && c->n;
        x[i] = (float)raw[i];
        if (!isfinite(x[i]) && !(isnan(raw[i]) && c->n))
            return fail(METE_EFORMAT, "value %d is %g, expected a finite number", i, raw[i]);
    }
    return c->n ? columns_finish(c, raw, x) : 0;
}

static int next_item(struct rows *r, void *x, bool *more)
{
    struct array_state *s = r->state;
    struct ndarray one = s->file.array;
    char row[24];
    int err = 0;
    *more = s->next < one.shape[0];
    if (!*more)
        return 0;
    one.bytes /= (size_t)one.shape[0];
    one.data = (const char *)one.data + (size_t)s->next * one.bytes;
    one.shape[0] = 1;
    if (one.dtype == DTYPE_U8) {
        memcpy(x, one.data, one.bytes);
    } else {
        ndarray_to_double(&one, s->raw);
        err = finish(r, s->raw, x);
    }
    snprintf(row, sizeof row, "%" PRId64, s->next++);
    rows_place(r, row);
    return err ? fail_within(err, "%s: row %s", r->path, row) : 0;
}

static void close_array(void *state)
{
    struct array_state *s = state;
    npy_close(&s->file);
    free(s->raw);
    free(s);
}

const struct rows_ops rows_array = {
    .word = "row", .suits = suits, .open = open_array, .next = next_item, .close = close_array};
