/* card.c - what a model's file says of what it takes and of its classes. */
#include "run/card.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- lists of words ---- */

void words_release(struct words *w)
{
    for (int i = 0; i < w->n; i++)
        free(w->at[i]);
    free(w->at);
    *w = (struct words){0};
}

char *words_print(char *const *words, int n)
{
    struct jsonw w = {0};
    jsonw_array(&w, NULL);
    for (int i = 0; i < n; i++)
        jsonw_string(&w, NULL, words[i]);
    jsonw_close(&w);
    return w.text;
}

int words_read(struct words *out, const char *key, const char *json)
{
    struct json j;
    bool more = false;
    json_open_memory(&j, key, json, strlen(json));
    int err = json_enter(&j, JSON_ARRAY);
    while (!err && !(err = json_more(&j, &more)) && more) {
        err = json_get_string(&j);
        if (!err) {
            out->at = mem_grow(out->at, (size_t)out->n + 1, sizeof *out->at);
            out->at[out->n++] = mem_string(j.text);
        }
    }
    if (!err)
        err = json_finish(&j);
    json_close(&j);
    if (err)
        words_release(out);
    return err;
}

/* ---- writing ---- */

static void put(struct card_text *t, const char *key, char *value)
{
    t->own[t->n] = value;
    t->pairs[t->n++] = (struct safetensors_pair){key, value};
}

static char *print_float(float value)
{
    char text[NUMBER_TEXT];
    number_print_float(value, text);
    return mem_string(text);
}

void card_write(struct card_text *out, const struct dataset *d, int ways, bool same_classes,
                const char *frozen)
{
    *out = (struct card_text){0};
    put(out, "model.ways", mem_print("%d", ways));
    if (same_classes && d->class_names)
        put(out, "model.classes", words_print(d->class_names, ways));
    if (frozen)
        put(out, "model.frozen", mem_string(frozen));
    put(out, "input.shape", mem_print("%d,%d,%d", d->h, d->w, d->c));
    put(out, "input.type", mem_string(d->is_float ? "float32" : "uint8"));
    put(out, "input.scale", print_float(d->scale));
    put(out, "input.shift", print_float(d->shift));
    if (d->columns) {
        struct jsonw w = {0};
        jsonw_object(&w, NULL);
        columns_write(d->columns, &w, "columns");
        jsonw_close(&w);
        put(out, "input.columns", w.text);
    }
}

void card_text_release(struct card_text *t)
{
    for (int i = 0; i < t->n; i++)
        free(t->own[i]);
    *t = (struct card_text){0};
}

/* ---- reading ---- */

static int read_columns(struct columns *out, const char *json)
{
    struct json j;
    bool more = false;
    json_open_memory(&j, "input.columns", json, strlen(json));
    int err = json_enter(&j, JSON_OBJECT);
    if (!err)
        err = json_more(&j, &more);
    if (!err && (!more || strcmp(j.text, "columns") != 0))
        err = fail(METE_EFORMAT, "input.columns: expected {\"columns\": [...]}");
    if (!err)
        err = columns_read(out, &j);
    if (!err && !(err = json_more(&j, &more)) && more)
        err = fail(METE_EFORMAT, "input.columns: there is more after the columns");
    if (!err)
        err = json_finish(&j);
    json_close(&j);
    return err;
}

static int read_float(const struct safetensors *f, const char *key, float *out)
{
    const char *text = safetensors_meta(f, key);
    char *end = NULL;
    double value = text ? number_read(text, &end) : NAN;
    *out = (float)value;
    if (!isfinite(*out) || !end || *end)
        return fail(METE_EFORMAT, "%s is '%.40s', expected a number", key, text ? text : "");
    return 0;
}

static int read_numbers(struct card *c, const struct safetensors *f)
{
    enum { SIDE = 1 << 20, MOST = 1 << 24 }; /* as of datasets */
    const char *shape = safetensors_meta(f, "input.shape"),
               *ways = safetensors_meta(f, "model.ways");
    const char *type = safetensors_meta(f, "input.type");
    char rest;
    if (sscanf(shape, "%d,%d,%d%c", &c->h, &c->w, &c->c, &rest) != 3 || c->h < 1 || c->w < 1 ||
        c->c < 1 || c->h > SIDE || c->w > SIDE || c->c > SIDE ||
        (int64_t)c->h * c->w * c->c > 64 * (int64_t)SIDE)
        return fail(METE_EFORMAT, "input.shape is '%.40s', expected h,w,c", shape);
    if (!ways || sscanf(ways, "%d%c", &c->ways, &rest) != 1 || c->ways < 1 || c->ways > MOST)
        return fail(METE_EFORMAT, "model.ways is '%.40s', expected 1..%d", ways ? ways : "", MOST);
    c->is_float = type && strcmp(type, "float32") == 0;
    if (!c->is_float && (!type || strcmp(type, "uint8") != 0))
        return fail(METE_EFORMAT, "input.type is '%.40s', expected uint8 or float32",
                    type ? type : "");
    int err = read_float(f, "input.scale", &c->scale);
    return err ? err : read_float(f, "input.shift", &c->shift);
}

static int read_lists(struct card *c, const struct safetensors *f)
{
    const char *classes = safetensors_meta(f, "model.classes");
    const char *columns = safetensors_meta(f, "input.columns");
    int err = classes ? words_read(&c->classes, "model.classes", classes) : 0;
    if (!err && classes && c->classes.n != c->ways)
        err = fail(METE_EFORMAT, "model.classes: %d names of %d classes", c->classes.n, c->ways);
    if (!err && columns)
        err = read_columns(&c->columns, columns);
    if (!err && columns && c->columns.features != c->h * c->w * c->c)
        err = fail(METE_EFORMAT, "input.columns: %d features of %d", c->columns.features,
                   c->h * c->w * c->c);
    return err;
}

int card_read(struct card *out, const struct safetensors *f)
{
    struct card c = {0};
    c.known = safetensors_meta(f, "input.shape");
    c.frozen = safetensors_meta(f, "model.frozen");
    int err = c.known ? read_numbers(&c, f) : 0;
    if (!err)
        err = read_lists(&c, f);
    if (err) {
        card_release(&c);
        return fail_within(err, "%s", safetensors_name(f));
    }
    *out = c;
    return 0;
}

void card_release(struct card *c)
{
    words_release(&c->classes);
    columns_release(&c->columns);
    *c = (struct card){0};
}
