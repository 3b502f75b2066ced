/* text.c - a growing text. */
#include "base/text.h"
#include "base/memory.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *make_room(struct text *t, size_t more)
{
    if (t->size + more + 1 > t->room) {
        t->room = 2 * (t->size + more) + 64;
        t->at = mem_grow(t->at, t->room, 1);
    }
    return t->at + t->size;
}

void text_add_bytes(struct text *t, const void *bytes, size_t size)
{
    char *to = make_room(t, size);
    memcpy(to, bytes, size);
    to[size] = '\0';
    t->size += size;
}

void text_add(struct text *t, const char *piece)
{
    text_add_bytes(t, piece, strlen(piece));
}

void text_print(struct text *t, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (n > 0) {
        vsnprintf(make_room(t, (size_t)n), (size_t)n + 1, fmt, again);
        t->size += (size_t)n;
    }
    va_end(again);
}

void text_csv(struct text *t, const char *field)
{
    if (!field[strcspn(field, ",\"\n\r")]) {
        text_add(t, field);
        return;
    }
    text_add(t, "\"");
    for (; *field; field++)
        text_add_bytes(t, *field == '"' ? "\"\"" : field, *field == '"' ? 2 : 1);
    text_add(t, "\"");
}

int text_width(const char *s)
{
    int width = 0;
    for (; *s; s++)
        width += ((unsigned char)*s & 0xc0) != 0x80;
    return width;
}

void text_pad(struct text *t, const char *piece, int width)
{
    int left = width < 0, blanks = abs(width) - text_width(piece);
    if (left)
        text_add(t, piece);
    for (int i = 0; i < blanks; i++)
        text_add(t, " ");
    if (!left)
        text_add(t, piece);
}

void text_wrap(struct text *t, const char *words, int width)
{
    int column = 0;
    while (*words) {
        size_t n = strcspn(words, " ");
        char *word = mem_print("%.*s", (int)n, words);
        int size = text_width(word);
        bool fits = column == 0 || column + 1 + size <= width;
        text_print(t, "%s%s", column == 0 ? "" : fits ? " " : "\n", word);
        column = column == 0 || !fits ? size : column + 1 + size;
        words += n + (words[n] == ' ');
        free(word);
    }
    text_add(t, "\n");
}

char *text_take(struct text *t)
{
    char *at = t->at ? t->at : mem_string("");
    *t = (struct text){0};
    return at;
}

void text_release(struct text *t)
{
    free(t->at);
    *t = (struct text){0};
}
