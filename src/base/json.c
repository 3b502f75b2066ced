/* json.c - the JSON reader: tokens and grammar.  json_text.c reads strings and
 * numbers; json_get.c is the convenience on top.
 *
 * The grammar is a state and one bit per open container.  `at` points into the
 * buffer (or the caller's memory); json_fill() makes room for a token that would
 * cross the buffer's end.
 */
#include "base/json.h"
#include "base/json_impl.h"
#include "base/error.h"
#include "base/memory.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER = 256 << 10 };

enum state {
    VALUE, /* a value must come: at the top, after a colon or a comma */
    FIRST, /* just inside a container */
    AFTER, /* after a value in a container: a comma or the end */
    DONE,  /* after the top value */
};

void json_open_memory(struct json *j, const char *name, const void *data, size_t size)
{
    *j = (struct json){.name = mem_string(name), .at_end = true, .line = 1};
    j->at = size ? data : "";
    j->end = j->at + size;
    j->end_offset = (int64_t)size;
}

void json_open(struct json *j, const char *name, json_read_fn *read, void *user)
{
    *j = (struct json){.name = mem_string(name), .read = read, .user = user, .line = 1};
    j->buffer = mem_alloc(BUFFER);
    j->at = j->end = j->buffer;
}

static int64_t read_stdio(void *user, void *to, size_t size)
{
    size_t n = fread(to, 1, size, user);
    return n == 0 && ferror(user) ? fail(METE_EIO, "cannot read: %s", strerror(errno)) : (int64_t)n;
}

int json_open_file(struct json *j, const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return fail(METE_EIO, "cannot read %s: %s", path, strerror(errno));
    setvbuf(file, NULL, _IONBF, 0); /* ours is the buffer */
    json_open(j, path, read_stdio, file);
    return 0;
}

void json_close(struct json *j)
{
    if (j->read == read_stdio)
        fclose(j->user);
    free(j->name);
    free(j->buffer);
    free(j->text);
    *j = (struct json){0};
}

int json_fail(struct json *j, const char *fmt, ...)
{
    char what[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    j->err = fail(METE_EFORMAT, "%s:%lld:%lld: %s", j->name, (long long)j->token_line,
                  (long long)j->token_column, what);
    return j->err;
}

void json_mark(struct json *j)
{
    j->token_line = j->line;
    j->token_column = j->end_offset - (j->end - j->at) - j->line_start + 1;
}

int json_fail_here(struct json *j, const char *what)
{
    json_mark(j);
    return json_fail(j, "%s", what);
}

/* Moves what is left to the front of the buffer and reads until `want` bytes are
 * there or the input ends. */
int json_fill(struct json *j, size_t want)
{
    if (j->at_end)
        return 0;
    size_t left = (size_t)(j->end - j->at);
    memmove(j->buffer, j->at, left);
    j->at = j->buffer;
    while (left < want && !j->at_end) {
        int64_t n = j->read(j->user, j->buffer + left, BUFFER - left);
        if (n < 0)
            return j->err = fail_within((int)n, "%s", j->name);
        j->at_end = n == 0;
        left += (size_t)n;
        j->end_offset += n;
    }
    j->end = j->buffer + left;
    return 0;
}

/* Skips white space; the next byte through *c, or -1 at the end. */
static int peek(struct json *j, int *c)
{
    for (;;) {
        for (; j->at < j->end; j->at++) {
            char b = *j->at;
            if (b == '\n') {
                j->line++;
                j->line_start = j->end_offset - (j->end - j->at) + 1;
            } else if (b != ' ' && b != '\t' && b != '\r') {
                *c = (unsigned char)b;
                return 0;
            }
        }
        int err = json_fill(j, 1);
        if (err)
            return err;
        if (j->at == j->end) {
            *c = -1;
            return 0;
        }
    }
}

static int unexpected(struct json *j, int c, const char *expected)
{
    json_mark(j);
    if (c < 0)
        return json_fail(j, "the text ends where %s should be", expected);
    if (c > 0x20 && c < 0x7f)
        return json_fail(j, "expected %s, got '%c'", expected, c);
    return json_fail(j, "expected %s, got the byte 0x%02x", expected, c);
}

static bool in_object(const struct json *j)
{
    return j->depth > 0 && (j->is_object >> (j->depth - 1) & 1);
}

static void after_value(struct json *j)
{
    j->state = j->depth > 0 ? AFTER : DONE;
}

static int open_container(struct json *j, bool object, enum json_token *token)
{
    if (j->depth == JSON_DEPTH_MAX)
        return json_fail(j, "nested deeper than %d levels", JSON_DEPTH_MAX);
    uint64_t bit = (uint64_t)1 << j->depth++;
    j->is_object = object ? j->is_object | bit : j->is_object & ~bit;
    j->at++;
    j->state = FIRST;
    *token = object ? JSON_OBJECT : JSON_ARRAY;
    return 0;
}

static int read_word(struct json *j, const char *word, enum json_token is, enum json_token *token)
{
    size_t n = strlen(word);
    int err = json_fill_to(j, n);
    if (err)
        return err;
    if ((size_t)(j->end - j->at) < n || memcmp(j->at, word, n) != 0)
        return json_fail(j, "expected a value, got a word that is not true, false or null");
    j->at += n;
    *token = is;
    after_value(j);
    return 0;
}

static int read_value(struct json *j, int c, enum json_token *token)
{
    int err;
    json_mark(j);
    switch (c) {
    case '{':
    case '[':
        return open_container(j, c == '{', token);
    case 't':
        return read_word(j, "true", JSON_TRUE, token);
    case 'f':
        return read_word(j, "false", JSON_FALSE, token);
    case 'n':
        return read_word(j, "null", JSON_NULL, token);
    case '"':
        err = json_read_string(j);
        *token = JSON_STRING;
        break;
    default:
        if (c != '-' && (c < '0' || c > '9'))
            return unexpected(j, c, "a value");
        err = json_read_number(j);
        *token = JSON_NUMBER;
    }
    if (!err)
        after_value(j);
    return err;
}

static int read_key(struct json *j, int c, enum json_token *token)
{
    if (c != '"')
        return unexpected(j, c, "a key in quotes");
    json_mark(j);
    int err = json_read_string(j);
    if (!err)
        err = peek(j, &c);
    if (err)
        return err;
    if (c != ':')
        return unexpected(j, c, "':' after the key");
    j->at++;
    j->state = VALUE;
    *token = JSON_KEY;
    return 0;
}

/* Between elements: a comma, or the end of the container. */
static int read_between(struct json *j, int *c, bool *ended)
{
    bool object = in_object(j);
    *ended = *c == (object ? '}' : ']');
    if (*ended) {
        json_mark(j);
        j->at++;
        j->depth--;
        after_value(j);
        return 0;
    }
    if (j->state == AFTER) {
        if (*c != ',')
            return unexpected(j, *c, object ? "',' or '}'" : "',' or ']'");
        j->at++;
        return peek(j, c);
    }
    return 0;
}

int json_next(struct json *j, enum json_token *token)
{
    int c;
    if (j->err || (j->err = peek(j, &c)))
        return j->err;
    if (j->state == DONE) {
        *token = JSON_END;
        return c < 0 ? 0 : unexpected(j, c, "the end of the text");
    }
    if (j->state != VALUE) {
        bool object = in_object(j), ended;
        int err = read_between(j, &c, &ended);
        if (err)
            return err;
        if (ended) {
            *token = object ? JSON_OBJECT_END : JSON_ARRAY_END;
            return 0;
        }
        if (object)
            return read_key(j, c, token);
    }
    return read_value(j, c, token);
}

int json_more(struct json *j, bool *more)
{
    assert(j->err || (j->depth > 0 && j->state != VALUE)); /* between elements */
    int c;
    enum json_token token;
    if (j->err || (j->err = peek(j, &c)))
        return j->err;
    bool ended, object = in_object(j);
    int err = read_between(j, &c, &ended);
    if (err)
        return err;
    *more = !ended;
    if (ended)
        return 0;
    j->state = VALUE;
    return object ? read_key(j, c, &token) : 0;
}
