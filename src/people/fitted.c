/* fitted.c - matching a model's classes and features with those of a dataset. */
#include "people/fitted.h"
#include "run/model.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* ---- classes ---- */

static const char *class_name(const struct fitted_options *o, int k)
{
    return o->classes ? o->classes[k] : o->data->class_names ? o->data->class_names[k] : NULL;
}

static int find_class(const struct fitted_options *o, int classes, const char *name)
{
    for (int k = 0; k < classes; k++) {
        const char *own = class_name(o, k);
        if (own && strcmp(own, name) == 0)
            return k;
    }
    return -1;
}

/* A model of few-shot tasks has no classes of its own: those of the dataset become its task's. */
static int adopt_classes(struct fitted *f, const struct fitted_options *o)
{
    if (f->ways != f->classes)
        return fail(METE_EINVAL, "%s tells %d classes apart, and %s has %d", o->path, f->ways,
                    f->data->name, f->classes);
    const char **names = mem_array((size_t)f->ways + 1, sizeof *names);
    bool all = true;
    for (int k = 0; k < f->ways; k++) {
        f->class_of[k] = f->way_of[k] = k;
        names[k] = class_name(o, k);
        all = all && names[k];
    }
    int err = all ? mete_model_name_classes(f->model, names) : 0;
    free((void *)names);
    return err;
}

static int match_classes(struct fitted *f, const struct fitted_options *o)
{
    int found = 0;
    f->class_of = mem_array((size_t)f->ways, sizeof *f->class_of);
    f->way_of = mem_array((size_t)f->classes + 1, sizeof *f->way_of);
    if (!mete_model_class(f->model, 0))
        return adopt_classes(f, o);
    for (int k = 0; k < f->classes; k++)
        f->way_of[k] = -1;
    for (int w = 0; w < f->ways; w++) {
        int k = find_class(o, f->classes, mete_model_class(f->model, w));
        f->class_of[w] = k;
        if (k >= 0)
            f->way_of[k] = w;
        found += k >= 0;
    }
    return found || f->classes == 0
               ? 0
               : fail(METE_EINVAL,
                      "%s knows none of the %d classes of %s; it knows '%s' and %d more", o->path,
                      f->classes, f->data->name, mete_model_class(f->model, 0), f->ways - 1);
}

/* ---- features ---- */

static bool same_columns(const struct columns *a, const struct columns *b)
{
    if (a->n != b->n || a->features != b->features)
        return false;
    for (int i = 0; i < a->n; i++) {
        const struct column *x = &a->at[i], *y = &b->at[i];
        if (strcmp(x->name, y->name) != 0 || x->kind != y->kind || x->first != y->first)
            return false;
        for (int k = 0; k < x->words.n; k++)
            if (strcmp(x->words.at[k], y->words.at[k]) != 0)
                return false;
    }
    return memcmp(a->mean, b->mean, (size_t)a->features * sizeof *a->mean) == 0 &&
           memcmp(a->deviation, b->deviation, (size_t)a->features * sizeof *a->deviation) == 0;
}

static int match_features(struct fitted *f, const char *path)
{
    const struct columns *m = &f->model->columns, *d = f->data->columns;
    if (!m->n || !d || same_columns(m, d))
        return 0;
    f->from = mem_array((size_t)m->features, sizeof *f->from);
    for (int i = 0; i < m->n; i++) {
        const struct column *c = &m->at[i];
        int at = columns_find(d, c->name);
        if (at < 0)
            return fail(METE_EINVAL, "%s takes a column '%s', which %s does not have", path,
                        c->name, f->data->name);
        const struct column *own = &d->at[at];
        if ((own->kind == COLUMN_WORDS) != (c->kind == COLUMN_WORDS))
            return fail(METE_EINVAL,
                        "column '%s' is of %s to %s and not to %s; import it with --like the "
                        "dataset that the model was trained on",
                        c->name, c->kind == COLUMN_WORDS ? "words" : "numbers", path,
                        f->data->name);
        for (int k = 0; k < column_features(c); k++) {
            int word = c->kind == COLUMN_WORDS ? names_find(&own->words, c->words.at[k]) : 0;
            f->from[c->first + k] = word < 0 ? -1 : own->first + word;
        }
    }
    return 0;
}

static void convert(const struct fitted *f, const float *x, float *out)
{
    const struct columns *m = &f->model->columns, *d = f->data->columns;
    for (int k = 0; k < m->features; k++) {
        int from = f->from[k];
        double raw = from < 0 ? 0 : (double)x[from] * d->deviation[from] + d->mean[from];
        out[k] = (float)((raw - m->mean[k]) / m->deviation[k]);
    }
}

struct mete_array fitted_items(const struct fitted *f, const int64_t *item, int n)
{
    const struct dataset *d = f->data, *t = &f->model->takes;
    size_t each = dataset_item_bytes(d), to_each = f->from ? dataset_item_bytes(t) : each;
    char *x = mem_array((size_t)n + 1, to_each);
    for (int i = 0; i < n; i++) {
        const char *at = (const char *)d->x + (size_t)item[i] * each;
        char *to = x + (size_t)i * to_each;
        if (f->from)
            convert(f, (const float *)(const void *)at, (float *)(void *)to);
        else
            memcpy(to, at, each);
    }
    return (struct mete_array){
        .x = x, .items = n, .h = t->h, .w = t->w, .c = t->c, .is_float = d->is_float};
}

/* ---- both ---- */

static int check_items(const struct fitted *f, const char *path)
{
    const struct dataset *d = f->data, *t = &f->model->takes;
    if (f->from || (d->h == t->h && d->w == t->w && d->c == t->c && d->is_float == t->is_float))
        return 0;
    return fail(METE_EINVAL,
                "%s takes items of %d x %d x %d %s, and those of %s are %d x %d x %d %s", path,
                t->h, t->w, t->c, t->is_float ? "float32" : "uint8", d->name, d->h, d->w, d->c,
                d->is_float ? "float32" : "uint8");
}

/* With as many classes as the dataset has, where the model has none of its own. */
static int load(struct fitted *f, const char *path, const struct fitted_options *o)
{
    struct mete_model_options how = {.size = sizeof how, .device = o->device, .set = o->set};
    int err = mete_model_load(&f->model, path, &how);
    if (err || mete_model_class(f->model, 0) || f->model->adapted || !f->classes ||
        f->model->takes.classes == f->classes || !model_compares(f->model))
        return err;
    mete_model_close(f->model);
    f->model = NULL;
    how.ways = f->classes;
    return mete_model_load(&f->model, path, &how);
}

int fitted_open(struct fitted *out, const struct fitted_options *o)
{
    struct fitted f = {.data = o->data, .classes = o->classes ? o->n_classes : o->data->classes};
    char *path = model_path(o->path);
    int err = path ? load(&f, path, o) : METE_EINVAL;
    if (!err) {
        f.ways = f.model->takes.classes;
        err = match_features(&f, path);
    }
    if (!err)
        err = check_items(&f, path);
    if (!err)
        err = match_classes(&f, o);
    free(path);
    if (err)
        fitted_close(&f);
    else
        *out = f;
    return err;
}

void fitted_close(struct fitted *f)
{
    mete_model_close(f->model);
    free(f->class_of);
    free(f->way_of);
    free(f->from);
    *f = (struct fitted){0};
}
