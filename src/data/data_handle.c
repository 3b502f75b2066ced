/* data_handle.c - datasets as programs hold them: made of their arrays, or opened by name. */
#include "data/data_handle.h"
#include "data/columns.h"
#include "data/dataset_own.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/options.h"

#include <stdlib.h>

static int copy_names(char ***out, const char *const *names, int n)
{
    int err = names ? mem_try(out, (size_t)n, sizeof **out, "names") : 0;
    for (int i = 0; names && i < n && !err; i++)
        (*out)[i] = mem_string(names[i] ? names[i] : "");
    return err;
}

static int copy_columns(struct columns **made, const char *const *names, int n)
{
    int err = 0;
    if (!names)
        return 0;
    struct columns *out = *made = mem_alloc(sizeof *out);
    for (int i = 0; i < n && !err; i++)
        err = columns_add(out, names[i] ? names[i] : "", COLUMN_NUMBER, NULL);
    return err ? err : columns_close(out);
}

/* One more than the largest. */
static int count_of(const int32_t *values, int64_t n)
{
    int32_t most = -1;
    for (int64_t i = 0; values && i < n; i++)
        most = values[i] > most ? values[i] : most;
    return most < INT32_MAX ? most + 1 : most;
}

static int check_array(const struct mete_array *x)
{
    if (!x->x || x->items < 1)
        return fail(METE_EINVAL, "x has no items");
    if (x->items > INT32_MAX)
        return fail(METE_EINVAL, "x has %lld items, expected at most %d", (long long)x->items,
                    INT32_MAX);
    if (x->is_float && (uintptr_t)x->x % sizeof(float))
        return fail(METE_EINVAL, "x is float32 at an address that floats cannot have");
    return 0;
}

static int nowhere(void)
{
    return fail(METE_EINVAL, "there is nowhere to put the data");
}

int mete_data_make(struct mete_data **out, const struct mete_data_parts *parts)
{
    NUMBER_LOCALE;
    struct mete_data_parts p;
    int err = out ? options_take(&p, sizeof p, parts, "mete_data_parts") : nowhere();
    if (!err)
        err = check_array(&p.x);
    if (!err && !p.y)
        err = fail(METE_EINVAL, "y is missing: items need a class each");
    if (!err && (p.classes < 0 || p.users < 0))
        err = fail(METE_EINVAL, "%d classes and %d users cannot be", p.classes, p.users);
    if (err)
        return err;
    struct dataset d = {.name = (char *)(p.name && *p.name ? p.name : "data"),
                        .items = p.x.items,
                        .classes = p.classes ? p.classes : count_of(p.y, p.x.items),
                        .users = p.user && !p.users ? count_of(p.user, p.x.items) : p.users,
                        .h = p.x.h,
                        .w = p.x.w,
                        .c = p.x.c,
                        .is_float = p.x.is_float,
                        .scale = p.x.scale != 0 ? p.x.scale : 1,
                        .shift = p.x.scale != 0 ? p.x.shift : 0,
                        .x = p.x.x,
                        .y = p.y,
                        .user = p.user,
                        .part = p.part};
    struct dataset *made = NULL;
    err = dataset_borrow(&made, &d);
    if (err)
        return err;
    err = copy_names(&made->class_names, p.class_names, made->classes);
    if (!err)
        err = copy_names(&made->user_names, p.user_names, made->users);
    if (!err && made->is_float)
        err = copy_columns(&made->columns, p.feature_names, made->c);
    if (err) {
        dataset_close(made);
        return err;
    }
    *out = mem_alloc(sizeof **out);
    (*out)->d = made;
    return 0;
}

int mete_data_open(struct mete_data **out, const char *name)
{
    NUMBER_LOCALE;
    struct dataset *d = NULL;
    int err = out ? dataset_find(&d, name) : nowhere();
    if (err)
        return err;
    *out = mem_alloc(sizeof **out);
    (*out)->d = d;
    return 0;
}

static int closed(void)
{
    return fail(METE_EINVAL, "no data: it is NULL");
}

int mete_data_save(const struct mete_data *d, const char *dir, int32_t force)
{
    NUMBER_LOCALE;
    if (!d)
        return closed();
    return dir ? dataset_write(dir, d->d, force) : fail(METE_EINVAL, "a dataset needs a folder");
}

void mete_data_close(struct mete_data *d)
{
    if (d)
        dataset_close(d->d);
    free(d);
}

int mete_data_describe(const struct mete_data *d, struct mete_data_info *out)
{
    return d ? dataset_describe(d->d, out) : closed();
}

int mete_data_arrays(const struct mete_data *d, struct mete_array *x, const int32_t **y,
                     const int32_t **user, const uint8_t **part)
{
    if (!d)
        return closed();
    const struct dataset *s = d->d;
    if (x)
        *x = (struct mete_array){s->x, s->items, s->h, s->w, s->c, s->is_float, s->scale, s->shift};
    if (y)
        *y = s->y;
    if (user)
        *user = s->user;
    if (part)
        *part = s->part;
    return 0;
}

const char *mete_data_class(const struct mete_data *d, int32_t i)
{
    return d && d->d->class_names && i >= 0 && i < d->d->classes ? d->d->class_names[i] : NULL;
}

const char *mete_data_user(const struct mete_data *d, int32_t i)
{
    return d && d->d->user_names && i >= 0 && i < d->d->users ? d->d->user_names[i] : NULL;
}
