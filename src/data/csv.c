/* csv.c - reading CSV a byte at a time from a buffer. */
#include "data/csv.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER = 64 << 10 };

void csv_open(struct csv *c, const char *name, char separator, json_read_fn *read, void *user)
{
    *c = (struct csv){.name = mem_string(name),
                      .separator = separator,
                      .read = read,
                      .user = user,
                      .buffer = mem_alloc(BUFFER),
                      .next_line = 1,
                      .column = 1};
}

void csv_close(struct csv *c)
{
    free(c->name);
    free(c->buffer);
    free(c->text);
    free(c->place);
    free(c->field);
    *c = (struct csv){0};
}

static int fail_at(const struct csv *c, int64_t line, int64_t column, const char *what)
{
    return fail(METE_EFORMAT, "%s:%lld:%lld: %s", c->name, (long long)line, (long long)column,
                what);
}

int csv_fail(const struct csv *c, int i, const char *fmt, ...)
{
    char what[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    if (i >= 0 && i < c->n)
        return fail_at(c, c->place[i].line, c->place[i].column, what);
    return fail_at(c, c->line, 1, what);
}

int csv_find(const struct csv *c, const char *word)
{
    for (int i = 0; i < c->n; i++)
        if (strcmp(c->field[i], word) == 0)
            return i;
    return -1;
}

/* The next byte without taking it: 0..255, -1 at the end, or a failure below -1. */
static int peek(struct csv *c)
{
    if (c->at == c->end && !c->at_end) {
        int64_t n = c->read(c->user, c->buffer, BUFFER);
        if (n < 0)
            return fail_within((int)n, "%s", c->name) - 1;
        c->at = 0;
        c->end = (size_t)n;
        c->at_end = n == 0;
    }
    return c->at < c->end ? (unsigned char)c->buffer[c->at] : -1;
}

static void take(struct csv *c)
{
    if (c->buffer[c->at++] == '\n') {
        c->next_line++;
        c->column = 1;
    } else {
        c->column++;
    }
}

static int put(struct csv *c, char byte)
{
    if (c->text_size == c->text_room) {
        size_t room = c->text_room ? 2 * c->text_room : 256;
        int err = mem_extend(&c->text, room, 1, c->name);
        if (err)
            return err;
        c->text_room = room;
    }
    if (c->text_size >= CSV_RECORD_MAX)
        return fail_at(c, c->next_line, c->column, "a record of more than 16 MB");
    c->text[c->text_size++] = byte;
    c->beyond_ascii |= (unsigned char)byte >= 0x80;
    return 0;
}

static int begin_field(struct csv *c)
{
    if (c->n == c->room) {
        int room = c->room ? 2 * c->room : 16;
        int err = mem_extend(&c->place, (size_t)room, sizeof *c->place, c->name);
        if (!err)
            err = mem_extend(&c->field, (size_t)room, sizeof *c->field, c->name);
        if (err)
            return err;
        c->room = room;
    }
    c->place[c->n++] = (struct csv_place){c->text_size, c->next_line, c->column};
    return 0;
}

/* Between the quotes; ends after the closing one. */
static int read_quoted(struct csv *c)
{
    const struct csv_place *start = &c->place[c->n - 1];
    take(c);
    for (;;) {
        int b = peek(c);
        if (b < -1)
            return b + 1;
        if (b < 0)
            return fail_at(c, start->line, start->column, "a quoted field that does not end");
        if (b == 0)
            return fail_at(c, c->next_line, c->column, "a zero byte; expected text");
        take(c);
        if (b == '"') {
            int after = peek(c);
            if (after < -1)
                return after + 1;
            if (after != '"')
                return 0;
            take(c);
        }
        int err = put(c, (char)b);
        if (err)
            return err;
    }
}

static bool ends_field(const struct csv *c, int b)
{
    return b < 0 || b == c->separator || b == '\n' || b == '\r';
}

static int read_bare(struct csv *c)
{
    for (;;) {
        int b = peek(c);
        if (b < -1)
            return b + 1;
        if (ends_field(c, b))
            return 0;
        if (b == '"')
            return fail_at(c, c->next_line, c->column, "a quote inside a field that is not quoted");
        if (b == 0)
            return fail_at(c, c->next_line, c->column, "a zero byte; expected text");
        take(c);
        int err = put(c, (char)b);
        if (err)
            return err;
    }
}

/* The field just read.  Names go into files that are UTF-8, where bytes of other encodings would
 * all be the same sign. */
static int check_encoding(struct csv *c)
{
    const struct csv_place *place = &c->place[c->n - 1];
    if (!c->beyond_ascii)
        return 0;
    c->beyond_ascii = false;
    return is_utf8(c->text + place->offset)
               ? 0
               : fail_at(c, place->line, place->column,
                         "text that is not UTF-8; save the file as UTF-8 (iconv -f WINDOWS-1252 "
                         "-t UTF-8, if it is from a spreadsheet)");
}

/* One field; *last is set when the record ends after it. */
static int read_field(struct csv *c, bool *last)
{
    int err = begin_field(c);
    if (err)
        return err;
    int b = peek(c);
    err = b < -1 ? b + 1 : b == '"' ? read_quoted(c) : read_bare(c);
    if (!err)
        err = put(c, '\0');
    if (!err)
        err = check_encoding(c);
    if (err)
        return err;
    if ((b = peek(c)) < -1)
        return b + 1;
    if (!ends_field(c, b))
        return fail_at(c, c->next_line, c->column, "text after the closing quote of a field");
    *last = b != c->separator;
    if (b >= 0)
        take(c);
    if (b == '\r') {
        if ((b = peek(c)) < -1)
            return b + 1;
        if (b == '\n')
            take(c);
        else if (b >= 0)
            return fail_at(c, c->next_line, c->column, "a carriage return inside a line");
    }
    return 0;
}

/* Skips blank lines; *more tells whether a record follows. */
static int skip_blank(struct csv *c, bool *more)
{
    int b;
    while ((b = peek(c)) == '\n' || b == '\r')
        take(c);
    *more = b >= 0;
    return b < -1 ? b + 1 : 0;
}

/* Fills the buffer, by however few bytes at a time they come, since the start is looked at whole.
 */
static int fill(struct csv *c)
{
    while (c->end < BUFFER && !c->at_end) {
        int64_t n = c->read(c->user, c->buffer + c->end, BUFFER - c->end);
        if (n < 0)
            return fail_within((int)n, "%s", c->name);
        c->end += (size_t)n;
        c->at_end = n == 0;
    }
    return 0;
}

static int skip_mark(struct csv *c)
{
    int err = fill(c);
    if (err)
        return err;
    const char *start = c->buffer + c->at;
    size_t n = c->end - c->at;
    if (n >= 2 && (memcmp(start, "\xff\xfe", 2) == 0 || memcmp(start, "\xfe\xff", 2) == 0))
        return fail_at(c, 1, 1, "UTF-16 text; save the file as UTF-8 (iconv -f UTF-16 -t UTF-8)");
    if (n >= 3 && memcmp(start, "\xef\xbb\xbf", 3) == 0)
        c->at += 3;
    return 0;
}

/* The one of comma, semicolon and tab that there are most of before the first line ends, outside
 * quotes; a spreadsheet writes semicolons where the comma is a decimal point. */
static char find_separator(const struct csv *c)
{
    static const char separators[] = ",;\t";
    size_t count[sizeof separators] = {0}, most = 0;
    bool quoted = false;
    for (size_t i = c->at; i < c->end && (quoted || c->buffer[i] != '\n'); i++) {
        const char *at = c->buffer[i] ? strchr(separators, c->buffer[i]) : NULL;
        quoted ^= c->buffer[i] == '"';
        if (at && !quoted)
            count[at - separators]++;
    }
    for (size_t k = 1; k < sizeof separators - 1; k++)
        most = count[k] > count[most] ? k : most;
    return separators[most];
}

int csv_next(struct csv *c, bool *more)
{
    bool last = false;
    int err = c->next_line == 1 && c->column == 1 ? skip_mark(c) : 0;
    c->n = 0;
    c->text_size = 0;
    if (!err)
        err = skip_blank(c, more);
    if (err || !*more)
        return err;
    if (c->separator == CSV_ANY_SEPARATOR)
        c->separator = find_separator(c);
    c->line = c->next_line;
    while (!err && !last)
        err = read_field(c, &last);
    for (int i = 0; i < c->n && !err; i++)
        c->field[i] = c->text + c->place[i].offset;
    return err;
}
