/* split_file.c - {train,val,test}.txt as of Vinyals et al. (a class per line,
 * Alphabet/characterNN/rotDDD) and .csv as of Ravi & Larochelle (filename,label).
 *
 * The four rotations of a character are one class, unless the dataset has them as
 * classes of their own.
 */
#include "task/split_file.h"
#include "task/split.h"
#include "base/error.h"
#include "base/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct name {
    const char *text;
    int group;
};

struct reader {
    const struct dataset *d;
    struct name *names; /* sorted */
    int groups;
    uint8_t *part;
    const char *path;
    int line;
};

static int by_text(const void *a, const void *b)
{
    return strcmp(((const struct name *)a)->text, ((const struct name *)b)->text);
}

static int find_group(const struct reader *r, const char *text)
{
    const struct name key = {text, 0};
    const struct name *found = bsearch(&key, r->names, (size_t)r->groups, sizeof key, by_text);
    return found ? found->group : -1;
}

static int take_name(struct reader *r, char *text, int part)
{
    int group = find_group(r, text);
    char *slash = strrchr(text, '/');
    if (group < 0 && slash && strncmp(slash, "/rot", 4) == 0) {
        *slash = '\0';
        group = find_group(r, text);
    }
    if (group < 0)
        return fail(METE_EFORMAT, "%s:%d: %s has no class or user '%s'", r->path, r->line,
                    r->d->name, text);
    if (r->part[group] != SPLIT_PARTS && r->part[group] != part)
        return fail(METE_EFORMAT, "%s:%d: '%s' is in both %s and %s; parts must not overlap",
                    r->path, r->line, text, split_part_name(r->part[group]), split_part_name(part));
    r->part[group] = (uint8_t)part;
    return 0;
}

static int read_lines(struct reader *r, FILE *file, bool csv, int part)
{
    char *line = NULL;
    size_t room = 0;
    int err = 0;
    for (r->line = 1; !err && getline(&line, &room, file) >= 0; r->line++) {
        line[strcspn(line, "\r\n")] = '\0';
        char *text = line;
        if (csv) {
            char *comma = strrchr(line, ',');
            if (!comma && *line)
                err = fail(METE_EFORMAT, "%s:%d: expected filename,label", r->path, r->line);
            if (!comma || (r->line == 1 && strcmp(line, "filename,label") == 0))
                continue;
            text = comma + 1;
        }
        if (*text)
            err = take_name(r, text, part);
    }
    if (!err && ferror(file))
        err = fail(METE_EIO, "cannot read %s: %s", r->path, strerror(errno));
    free(line);
    return err;
}

static int read_part(struct reader *r, const char *folder, const char *ending, int part)
{
    char *path = mem_print("%s/%s.%s", folder, split_part_name(part), ending);
    FILE *file = fopen(path, "r");
    int err;
    r->path = path;
    if (!file) {
        err = fail(METE_EIO, "cannot read the split file %s: %s", path, strerror(errno));
    } else {
        err = read_lines(r, file, strcmp(ending, "csv") == 0, part);
        fclose(file);
    }
    free(path);
    return err;
}

static bool has_file(const char *folder, const char *ending)
{
    char *path = mem_print("%s/train.%s", folder, ending);
    bool found = access(path, R_OK) == 0;
    free(path);
    return found;
}

bool split_file_exists(const char *folder)
{
    return has_file(folder, "txt") || has_file(folder, "csv");
}

int split_file_read(const struct dataset *d, bool users, const char *folder, uint8_t *part)
{
    char **names = users ? d->user_names : d->class_names;
    struct reader r = {.d = d, .groups = users ? d->users : d->classes, .part = part};
    const char *ending = has_file(folder, "txt") ? "txt" : "csv";
    int err = 0;
    if (!split_file_exists(folder))
        return fail(METE_EINVAL, "data.split: %s holds neither train.txt nor train.csv", folder);
    if (!names)
        return fail(METE_EINVAL, "data.split: %s has no names for %s to go by", d->name, folder);
    r.names = mem_array((size_t)r.groups + 1, sizeof *r.names);
    for (int g = 0; g < r.groups; g++)
        r.names[g] = (struct name){names[g], g};
    qsort(r.names, (size_t)r.groups, sizeof *r.names, by_text);
    for (int p = 0; p < SPLIT_PARTS && !err; p++)
        err = read_part(&r, folder, ending, p);
    free(r.names);
    return err;
}
