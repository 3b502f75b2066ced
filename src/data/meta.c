/* meta.c - writing and reading meta.json. */
#include "data/meta.h"
#include "data/columns.h"
#include "data/dataset_own.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/jsonw.h"
#include "base/memory.h"
#include "base/sha256.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const split_names[] = {"train", "val", "test"};
static const char *const array_names[] = {"x", "y", "user", "part"};
const char *const array_files[] = {"x.npy", "y.npy", "user.npy", "part.npy"};

void meta_notes_add(struct meta_notes *notes, const char *key, char *text)
{
    notes->at = mem_grow(notes->at, (size_t)notes->n + 1, sizeof *notes->at);
    notes->at[notes->n].key = mem_string(key);
    notes->at[notes->n].text = text;
    notes->n++;
}

void meta_notes_release(struct meta_notes *notes)
{
    for (int i = 0; i < notes->n; i++) {
        free(notes->at[i].key);
        free(notes->at[i].text);
    }
    free(notes->at);
    *notes = (struct meta_notes){0};
}

int meta_sum(const char *dir, unsigned arrays, char out[65])
{
    struct sha256 all;
    sha256_init(&all);
    for (int a = 0; a < OWN_ARRAYS; a++) {
        if (!(arrays & 1u << a))
            continue;
        char hex[SHA256_HEX], line[128];
        char *path = mem_print("%s/%s", dir, array_files[a]);
        int err = sha256_file(path, hex);
        free(path);
        if (err)
            return err;
        snprintf(line, sizeof line, "%s  %s\n", hex, array_files[a]);
        sha256_add(&all, line, strlen(line));
    }
    sha256_hex(&all, out);
    return 0;
}

/* ---- writing ---- */

static void put_names(struct jsonw *w, const char *key, char *const *names, int n)
{
    if (!names)
        return;
    jsonw_array(w, key);
    for (int i = 0; i < n; i++)
        jsonw_string(w, NULL, names[i]);
    jsonw_close(w);
}

static void put_split(struct jsonw *w, const uint8_t *split, int n)
{
    if (!split)
        return;
    jsonw_array(w, "class_split");
    for (int i = 0; i < n; i++)
        jsonw_string(w, NULL, split_names[split[i]]);
    jsonw_close(w);
}

static void put_arrays(struct jsonw *w, const struct dataset *d)
{
    const bool there[] = {true, true, d->user, d->part};
    jsonw_array(w, "arrays");
    for (int a = 0; a < OWN_ARRAYS; a++)
        if (there[a])
            jsonw_string(w, NULL, array_names[a]);
    jsonw_close(w);
}

static void put_all(struct jsonw *w, const struct dataset *d, const struct meta_notes *notes)
{
    const int shape[] = {d->h, d->w, d->c};
    jsonw_object(w, NULL);
    jsonw_int(w, "format", META_FORMAT);
    jsonw_string(w, "name", d->name ? d->name : "");
    jsonw_int(w, "items", d->items);
    jsonw_int(w, "classes", d->classes);
    jsonw_int(w, "users", d->users);
    jsonw_array(w, "shape");
    for (int i = 0; i < 3; i++)
        jsonw_int(w, NULL, shape[i]);
    jsonw_close(w);
    jsonw_string(w, "dtype", d->is_float ? "float32" : "uint8");
    jsonw_float(w, "scale", d->scale);
    jsonw_float(w, "shift", d->shift);
    jsonw_string(w, "source", d->source ? d->source : "");
    jsonw_string(w, "licence", d->licence ? d->licence : "");
    jsonw_string(w, "sha256", d->sha256);
    put_arrays(w, d);
    put_names(w, "class_names", d->class_names, d->classes);
    put_names(w, "class_groups", d->class_groups, d->classes);
    put_split(w, d->class_split, d->classes);
    put_names(w, "user_names", d->user_names, d->users);
    if (d->columns)
        columns_write(d->columns, w, "columns");
    jsonw_object(w, "notes");
    for (int i = 0; i < notes->n; i++)
        jsonw_string(w, notes->at[i].key, notes->at[i].text);
    jsonw_close(w);
    jsonw_close(w);
}

int meta_write(const char *dir, const struct dataset *d, const struct meta_notes *notes)
{
    char *path = mem_print("%s/meta.json", dir);
    int err = 0;
    struct jsonw w = {.lines = 1, .err = &err};
    put_all(&w, d, notes);
    if (!err)
        err = file_write(path, w.text, w.size);
    jsonw_release(&w);
    free(path);
    return err;
}

/* ---- reading ---- */

struct list { /* of names; how many is checked when all is read */
    char **at;
    int n, room;
};

static int read_list(struct json *j, struct list *list)
{
    bool more;
    int err = json_enter(j, JSON_ARRAY);
    if (!err && list->at)
        err = json_fail(j, "this list occurs twice");
    if (!err)
        err = mem_try(&list->at, (size_t)(list->room = 16), sizeof *list->at, j->name);
    while (!err && !(err = json_more(j, &more)) && more && !(err = json_get_string(j))) {
        if (list->n == list->room)
            err = mem_extend(&list->at, (size_t)(list->room *= 2), sizeof *list->at, j->name);
        if (!err)
            list->at[list->n++] = mem_string(j->text);
    }
    return err;
}

static void release_list(struct list *list)
{
    for (int i = 0; i < list->n; i++)
        free(list->at[i]);
    free(list->at);
    *list = (struct list){0};
}

static int word_number(const char *word, const char *const *words, int n)
{
    int i = 0;
    while (i < n && strcmp(word, words[i]) != 0)
        i++;
    return i;
}

/* All that the file says, before it is known to fit together. */
struct draft {
    struct dataset d; /* but the lists */
    bool has_format, has_dtype;
    struct list class_names, class_groups, class_split, user_names, arrays;
};

static int read_format(struct json *j, struct draft *t)
{
    int64_t format = 0;
    int err = json_get_int(j, 0, INT_MAX, &format);
    t->has_format = true;
    if (!err && format != META_FORMAT)
        err = json_fail(j, "format %lld, expected %d: written by another version of mete",
                        (long long)format, META_FORMAT);
    return err;
}

static int read_items(struct json *j, struct draft *t)
{
    return json_get_int(j, 1, INT64_MAX, &t->d.items);
}

static int read_shape(struct json *j, struct draft *t)
{
    double shape[3];
    size_t n = 0;
    int err = json_get_reals(j, shape, 3, &n);
    bool good = n == 3;
    for (size_t i = 0; i < n; i++)
        good = good && shape[i] >= 1 && shape[i] <= 1 << 26 && shape[i] == (int)shape[i];
    if (err)
        return err;
    if (!good)
        return json_fail(j, "expected a shape of 3 whole numbers, [h, w, c]");
    t->d.h = (int)shape[0];
    t->d.w = (int)shape[1];
    t->d.c = (int)shape[2];
    return 0;
}

static int read_dtype(struct json *j, struct draft *t)
{
    int err = json_get_string(j);
    if (err)
        return err;
    t->d.is_float = strcmp(j->text, "float32") == 0;
    t->has_dtype = true;
    if (!t->d.is_float && strcmp(j->text, "uint8") != 0)
        return json_fail(j, "expected dtype uint8 or float32, got '%s'", j->text);
    return 0;
}

static int read_table_columns(struct json *j, struct draft *t)
{
    if (t->d.columns)
        return json_fail(j, "columns occur twice");
    t->d.columns = mem_alloc(sizeof *t->d.columns);
    return columns_read(t->d.columns, j);
}

static const struct key {
    const char *name;
    enum { TEXT, COUNT, REAL, LIST, OTHER } kind;
    size_t offset; /* in struct draft: a char *, an int, a float or a struct list */
    int (*read)(struct json *j, struct draft *t); /* OTHER */
} keys[] = {
    {"format", OTHER, 0, read_format},
    {"name", TEXT, offsetof(struct draft, d.name), NULL},
    {"items", OTHER, 0, read_items},
    {"classes", COUNT, offsetof(struct draft, d.classes), NULL},
    {"users", COUNT, offsetof(struct draft, d.users), NULL},
    {"shape", OTHER, 0, read_shape},
    {"dtype", OTHER, 0, read_dtype},
    {"scale", REAL, offsetof(struct draft, d.scale), NULL},
    {"shift", REAL, offsetof(struct draft, d.shift), NULL},
    {"source", TEXT, offsetof(struct draft, d.source), NULL},
    {"licence", TEXT, offsetof(struct draft, d.licence), NULL},
    {"sha256", TEXT, offsetof(struct draft, d.sha256), NULL},
    {"arrays", LIST, offsetof(struct draft, arrays), NULL},
    {"class_names", LIST, offsetof(struct draft, class_names), NULL},
    {"class_groups", LIST, offsetof(struct draft, class_groups), NULL},
    {"class_split", LIST, offsetof(struct draft, class_split), NULL},
    {"user_names", LIST, offsetof(struct draft, user_names), NULL},
    {"columns", OTHER, 0, read_table_columns},
};

static int read_text(struct json *j, char **to)
{
    int err = json_get_string(j);
    if (!err) {
        free(*to);
        *to = mem_string(j->text);
    }
    return err;
}

static int read_number(struct json *j, const struct key *key, void *to)
{
    int64_t count = 0;
    double real = 0;
    int err = key->kind == COUNT ? json_get_int(j, 0, INT_MAX, &count) : json_get_real(j, &real);
    if (!err && key->kind == COUNT)
        *(int *)to = (int)count;
    else if (!err)
        *(float *)to = (float)real;
    return err;
}

/* One key; unknown ones are skipped, so that later versions may add some. */
static int read_key(struct json *j, struct draft *t)
{
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        void *to = (char *)t + keys[i].offset;
        if (strcmp(j->text, keys[i].name) != 0)
            continue;
        return keys[i].kind == OTHER  ? keys[i].read(j, t)
               : keys[i].kind == TEXT ? read_text(j, to)
               : keys[i].kind == LIST ? read_list(j, to)
                                      : read_number(j, &keys[i], to);
    }
    return json_skip(j);
}

/* Gives a list to the dataset if it has as many names as it should. */
static int take_list(struct json *j, struct list *list, int n, const char *what, char ***to)
{
    if (!list->at)
        return 0;
    if (list->n != n)
        return json_fail(j, "%d %s, expected %d", list->n, what, n);
    *to = list->at;
    *list = (struct list){0};
    return 0;
}

static int take_split(struct json *j, const struct list *list, struct dataset *d)
{
    if (!list->at)
        return 0;
    if (list->n != d->classes)
        return json_fail(j, "%d class_split, expected %d", list->n, d->classes);
    uint8_t *split = NULL;
    int err = mem_try(&split, (size_t)list->n, 1, j->name);
    if (err)
        return err;
    d->class_split = split;
    for (int k = 0; k < list->n; k++) {
        split[k] = (uint8_t)word_number(list->at[k], split_names, 3);
        if (split[k] > SPLIT_TEST)
            return json_fail(j, "class_split: expected train, val or test, got '%s'", list->at[k]);
    }
    return 0;
}

static int take_arrays(struct json *j, const struct list *list, unsigned *arrays)
{
    *arrays = 0;
    for (int i = 0; i < list->n; i++) {
        int a = word_number(list->at[i], array_names, OWN_ARRAYS);
        if (a == OWN_ARRAYS)
            return json_fail(j, "arrays: expected x, y, user or part, got '%s'", list->at[i]);
        *arrays |= 1u << a;
    }
    unsigned least = 1u << OWN_X | 1u << OWN_Y;
    return (*arrays & least) == least ? 0 : json_fail(j, "arrays: x and y must be among them");
}

static int take_all(struct json *j, struct draft *t, unsigned *arrays)
{
    struct dataset *d = &t->d;
    if (!t->has_format || !t->has_dtype || !d->items || d->classes < 0 || !d->h)
        return json_fail(j, "not all of format, items, classes, shape and dtype are there");
    int err = take_arrays(j, &t->arrays, arrays);
    if (!err && d->columns && (!d->is_float || d->columns->features != d->c))
        err = json_fail(j, "columns of %d features, but an item has %d", d->columns->features,
                        d->is_float ? d->c : 0);
    if (!err)
        err = take_list(j, &t->class_names, d->classes, "class_names", &d->class_names);
    if (!err)
        err = take_list(j, &t->class_groups, d->classes, "class_groups", &d->class_groups);
    if (!err)
        err = take_list(j, &t->user_names, d->users, "user_names", &d->user_names);
    return err ? err : take_split(j, &t->class_split, d);
}

int meta_read(const char *dir, struct dataset *d, unsigned *arrays)
{
    char *path = mem_print("%s/meta.json", dir);
    struct draft t = {.d = *d};
    struct json j = {0};
    bool more;
    t.d.classes = -1; /* not read yet: a dataset without labels has none */
    int err = json_open_file(&j, path);
    if (!err)
        err = json_enter(&j, JSON_OBJECT);
    while (!err && !(err = json_more(&j, &more)) && more)
        err = read_key(&j, &t);
    if (!err)
        err = json_finish(&j);
    if (!err)
        err = take_all(&j, &t, arrays);
    *d = t.d;
    release_list(&t.arrays);
    release_list(&t.class_names);
    release_list(&t.class_groups);
    release_list(&t.class_split);
    release_list(&t.user_names);
    json_close(&j);
    free(path);
    return err;
}
