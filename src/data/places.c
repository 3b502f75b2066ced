/* places.c - a line of text for each item. */
#include "data/places.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIRST_LINE = 2 }; /* of a table: after the names of its columns */

void places_add_line(struct text *lines, int64_t item, int64_t line)
{
    if (!lines->at && line == item + FIRST_LINE)
        return;
    if (!lines->at)
        for (int64_t i = 0; i < item; i++)
            text_print(lines, "%" PRId64 "\n", i + FIRST_LINE);
    text_print(lines, "%" PRId64 "\n", line);
}

char *places_of_files(const struct names *files)
{
    struct text all = {0};
    for (int i = 0; i < files->n; i++) {
        size_t start = all.size;
        text_add(&all, files->at[i]);
        for (char *c = all.at + start; *c; c++)
            *c = *c == '\n' || *c == '\r' ? '?' : *c; /* a name with a line's end in it */
        text_add(&all, "\n");
    }
    return text_take(&all);
}

int places_write(const char *dir, const char *places)
{
    char *path = mem_print("%s/%s", dir, PLACES_FILE);
    int err = file_write(path, places, strlen(places));
    free(path);
    return err;
}

static int cut(struct places *p, const char *path, int64_t items)
{
    int64_t n = 0;
    p->at = mem_array((size_t)items + 1, sizeof *p->at);
    for (char *at = p->text; *at;) {
        char *end = strchr(at, '\n');
        if (!end || n == items)
            break;
        *end = '\0';
        p->at[n++] = at;
        at = end + 1;
    }
    return n == items
               ? 0
               : fail(METE_EFORMAT,
                      "%s: %" PRId64 " lines, expected one for each of the %" PRId64 " items", path,
                      n, items);
}

int places_open(struct places *out, const struct dataset *d)
{
    struct places p = {.word = d->columns ? "line" : NULL};
    char *path = mem_print("%s/%s", d->path, PLACES_FILE);
    size_t size;
    int err = 0;
    if (*d->path && access(path, F_OK) == 0) {
        p.word = d->columns ? "line" : "file";
        err = file_read(path, SIZE_MAX / 2, &p.text, &size);
        if (!err)
            err = cut(&p, path, d->items);
    }
    free(path);
    if (err)
        places_close(&p);
    else
        *out = p;
    return err;
}

void places_close(struct places *p)
{
    free(p->text);
    free(p->at);
    *p = (struct places){0};
}

const char *places_of(const struct places *p, int64_t item, char buffer[PLACE_SIZE])
{
    if (p->at)
        return p->at[item];
    buffer[0] = '\0';
    if (p->word)
        snprintf(buffer, PLACE_SIZE, "%" PRId64, item + FIRST_LINE);
    return buffer;
}
