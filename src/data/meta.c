/* meta.c - writing meta.json. */
#include "data/meta.h"
#include "base/memory.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const split_names[] = {"train", "val", "test"};

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

static void put_string(FILE *to, const char *s)
{
    fputc('"', to);
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            fprintf(to, "\\%c", c);
        else if (c < 0x20)
            fprintf(to, "\\u%04x", c);
        else
            fputc(c, to);
    }
    fputc('"', to);
}

static void put_field(FILE *to, const char *key, const char *text)
{
    fprintf(to, ",\n  \"%s\": ", key);
    put_string(to, text ? text : "");
}

static void put_names(FILE *to, const char *key, char *const *names, int n)
{
    if (!names)
        return;
    fprintf(to, ",\n  \"%s\": [", key);
    for (int i = 0; i < n; i++) {
        fputs(i ? ", " : "", to);
        put_string(to, names[i]);
    }
    fputc(']', to);
}

static void put_split(FILE *to, const uint8_t *split, int n)
{
    if (!split)
        return;
    fputs(",\n  \"class_split\": [", to);
    for (int i = 0; i < n; i++)
        fprintf(to, "%s\"%s\"", i ? ", " : "", split_names[split[i]]);
    fputc(']', to);
}

static void put_notes(FILE *to, const struct meta_notes *notes)
{
    fputs(",\n  \"notes\": {", to);
    for (int i = 0; i < notes->n; i++) {
        fputs(i ? ", " : "", to);
        put_string(to, notes->at[i].key);
        fputs(": ", to);
        put_string(to, notes->at[i].text);
    }
    fputc('}', to);
}

char *meta_text(const struct dataset *d, const struct meta_notes *notes)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    assert(to);
    fputs("{\n  \"format\": 1,\n  \"name\": ", to);
    put_string(to, d->name ? d->name : "");
    fprintf(to, ",\n  \"items\": %lld,\n  \"classes\": %d,\n  \"users\": %d", (long long)d->items,
            d->classes, d->users);
    fprintf(to, ",\n  \"shape\": [%d, %d, %d],\n  \"dtype\": \"%s\"", d->h, d->w, d->c,
            d->is_float ? "float32" : "uint8");
    fprintf(to, ",\n  \"scale\": %.9g,\n  \"shift\": %.9g", (double)d->scale, (double)d->shift);
    put_field(to, "source", d->source);
    put_field(to, "licence", d->licence);
    put_field(to, "sha256", d->sha256);
    put_names(to, "class_names", d->class_names, d->classes);
    put_names(to, "class_groups", d->class_groups, d->classes);
    put_split(to, d->class_split, d->classes);
    put_names(to, "user_names", d->user_names, d->users);
    put_notes(to, notes);
    fputs("\n}\n", to);
    fclose(to);
    return text;
}
