/* jsonw.c - the JSON writer. */
#include "base/jsonw.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/utf8.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put(struct jsonw *w, const char *bytes, size_t n)
{
    if (w->err && *w->err)
        return;
    if (w->size + n + 1 > w->room) {
        size_t room = 2 * (w->size + n) + 256;
        if (!w->err)
            w->text = mem_grow(w->text, room, 1);
        else if ((*w->err = mem_extend(&w->text, room, 1, "JSON")))
            return;
        w->room = room;
    }
    memcpy(w->text + w->size, bytes, n);
    w->size += n;
    w->text[w->size] = '\0';
}

static void put_text(struct jsonw *w, const char *text)
{
    put(w, text, strlen(text));
}

static void put_escape(struct jsonw *w, unsigned char c)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    char out[8];
    const char *known = strchr(from, c);
    if (known)
        snprintf(out, sizeof out, "\\%c", to[known - from]);
    else
        snprintf(out, sizeof out, "\\u%04x", c);
    put_text(w, out);
}

static void put_quoted(struct jsonw *w, const char *text)
{
    const char *end = text + strlen(text);
    put(w, "\"", 1);
    while (text < end) {
        const char *run = text;
        while (text < end && (unsigned char)*text >= 0x20 && (unsigned char)*text < 0x7f &&
               *text != '"' && *text != '\\')
            text++;
        put(w, run, (size_t)(text - run));
        if (text == end)
            break;
        if ((unsigned char)*text < 0x80) {
            put_escape(w, (unsigned char)*text++);
            continue;
        }
        int n = utf8_length(text, (size_t)(end - text));
        put(w, n ? text : "\xef\xbf\xbd", n ? (size_t)n : 3);
        text += n ? n : 1;
    }
    put(w, "\"", 1);
}

static void put_line(struct jsonw *w)
{
    put(w, "\n", 1);
    for (int i = 0; i < w->depth; i++)
        put(w, "  ", 2);
}

/* The comma, the line and the key before a value. */
static void before(struct jsonw *w, const char *key)
{
    assert(w->depth == 0 ? !key : w->array[w->depth] == !key);
    assert(w->depth > 0 || !w->used[0]); /* one value at the top */
    if (w->used[w->depth])
        put(w, ",", 1);
    if (w->depth > 0 && w->depth <= w->lines)
        put_line(w);
    else if (w->used[w->depth])
        put(w, " ", 1);
    w->used[w->depth] = true;
    if (key) {
        put_quoted(w, key);
        put(w, ": ", 2);
    }
}

static void open_container(struct jsonw *w, const char *key, bool array)
{
    before(w, key);
    assert(w->depth < JSONW_DEPTH_MAX);
    w->depth++;
    w->array[w->depth] = array;
    w->used[w->depth] = false;
    put(w, array ? "[" : "{", 1);
}

void jsonw_object(struct jsonw *w, const char *key)
{
    open_container(w, key, false);
}

void jsonw_array(struct jsonw *w, const char *key)
{
    open_container(w, key, true);
}

void jsonw_close(struct jsonw *w)
{
    assert(w->depth > 0);
    bool array = w->array[w->depth], line = w->used[w->depth] && w->depth <= w->lines;
    w->depth--;
    if (line)
        put_line(w);
    put(w, array ? "]" : "}", 1);
    if (w->depth == 0 && w->lines > 0)
        put(w, "\n", 1);
}

void jsonw_string(struct jsonw *w, const char *key, const char *text)
{
    before(w, key);
    if (text)
        put_quoted(w, text);
    else
        put_text(w, "null");
}

void jsonw_int(struct jsonw *w, const char *key, int64_t value)
{
    char out[32];
    before(w, key);
    snprintf(out, sizeof out, "%" PRId64, value);
    put_text(w, out);
}

void jsonw_real(struct jsonw *w, const char *key, double value)
{
    char out[NUMBER_TEXT] = "null";
    before(w, key);
    if (isfinite(value))
        number_print(value, out);
    put_text(w, out);
}

void jsonw_float(struct jsonw *w, const char *key, float value)
{
    char out[NUMBER_TEXT] = "null";
    before(w, key);
    if (isfinite(value))
        number_print_float(value, out);
    put_text(w, out);
}

void jsonw_bool(struct jsonw *w, const char *key, bool value)
{
    before(w, key);
    put_text(w, value ? "true" : "false");
}

void jsonw_null(struct jsonw *w, const char *key)
{
    before(w, key);
    put_text(w, "null");
}

void jsonw_raw(struct jsonw *w, const char *key, const char *json)
{
    before(w, key);
    put_text(w, json);
}

void jsonw_release(struct jsonw *w)
{
    free(w->text);
    *w = (struct jsonw){0};
}
