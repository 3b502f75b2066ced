/* split.c - drawing and checking splits. */
#include "task/split.h"
#include "task/split_file.h"
#include "data/names.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/param.h"
#include "base/sha256.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const part_names[SPLIT_PARTS] = {"train", "val", "test"};

const char *split_part_name(int part)
{
    return part_names[part];
}

int split_part_find(const char *name, int *part)
{
    for (int p = 0; p < SPLIT_PARTS; p++)
        if (strcmp(part_names[p], name) == 0) {
            *part = p;
            return 0;
        }
    return fail(METE_EINVAL, "a part is train, val or test, got '%s'", name);
}

void split_release(struct split *s)
{
    for (int p = 0; p < SPLIT_PARTS; p++)
        free(s->group[p]);
    *s = (struct split){0};
}

/* Turns the part of each group (SPLIT_PARTS: none) into three ascending lists. */
static void list_parts(struct split *s, const uint8_t *part, int groups)
{
    for (int p = 0; p < SPLIT_PARTS; p++) {
        s->n[p] = 0;
        s->group[p] = mem_array((size_t)groups + 1, sizeof **s->group);
        for (int g = 0; g < groups; g++)
            if (part[g] == p)
                s->group[p][s->n[p]++] = g;
    }
}

/* Reads three numbers with `between` between them. */
static bool read_three(const char *text, char between, double out[SPLIT_PARTS])
{
    for (int p = 0; p < SPLIT_PARTS; p++) {
        char *end;
        out[p] = number_read(text, &end);
        if (end == text || !(out[p] >= 0) || !isfinite(out[p]) ||
            *end != (p < SPLIT_PARTS - 1 ? between : '\0'))
            return false;
        text = end + 1;
    }
    return true;
}

/* ---- drawn ---- */

/* "Alphabet/character07/rot090" is "Alphabet/character07" turned: how long that is, or 0. */
static int plain_length(const char *name)
{
    static const char *const turns[] = {"/rot090", "/rot180", "/rot270"};
    size_t length = strlen(name), suffix = strlen(turns[0]);
    for (int i = 0; i < 3 && length > suffix; i++)
        if (strcmp(name + length - suffix, turns[i]) == 0)
            return (int)(length - suffix);
    return 0;
}

/* In *from, for each class, the one that it is a turned copy of, or -1; NULL: there are none. */
static int find_turned(const struct dataset *d, int **from)
{
    struct names classes = {0};
    int turned = 0, err = 0;
    for (int k = 0; d->class_names && k < d->classes; k++)
        turned += plain_length(d->class_names[k]) > 0;
    for (int k = 0; turned && k < d->classes && err >= 0; k++)
        err = names_add(&classes, d->class_names[k]);
    if (turned && err >= 0)
        *from = mem_array((size_t)d->classes, sizeof **from);
    for (int k = 0; *from && k < d->classes; k++) {
        char *plain = mem_print("%.*s", plain_length(d->class_names[k]), d->class_names[k]);
        (*from)[k] = names_find(&classes, plain);
        free(plain);
    }
    names_release(&classes);
    return err < 0 ? err : 0;
}

/* Parts are drawn for the groups that are no turned copies, whose number groups_drawn() is. */
static int groups_drawn(const struct dataset *d, bool users, const int *turned)
{
    int groups = users ? d->users : d->classes, n = 0;
    for (int g = 0; g < groups; g++)
        n += !turned || turned[g] < 0;
    return n;
}

/* From the parts of those to the parts of all. */
static void place_turned(const int *turned, int groups, uint8_t *part)
{
    int from = 0;
    uint8_t *drawn = mem_array((size_t)groups + 1, 1);
    memcpy(drawn, part, (size_t)groups);
    for (int g = 0; g < groups; g++)
        if (turned[g] < 0)
            part[g] = drawn[from++];
    for (int g = 0; g < groups; g++)
        if (turned[g] >= 0)
            part[g] = part[turned[g]] == SPLIT_TRAIN ? SPLIT_TRAIN : SPLIT_PARTS;
    free(drawn);
}

static int split_counts(const struct dataset *d, const double count[SPLIT_PARTS], bool users,
                        int groups, int seed, uint8_t *part)
{
    int n[SPLIT_PARTS];
    double total = count[0] + count[1] + count[2];
    for (int p = 0; p < SPLIT_PARTS; p++) {
        if (count[p] != floor(count[p]))
            return fail(METE_EINVAL, "data.split: expected whole numbers as in 1000/200/423");
        n[p] = (int)fmin(count[p], groups);
    }
    if (total > groups)
        return fail(METE_EINVAL,
                    "data.split: %.0f/%.0f/%.0f asks for %.0f %s and %s has %d, so parts would "
                    "overlap; write %.0f:%.0f:%.0f for that proportion",
                    count[0], count[1], count[2], total, users ? "users" : "classes", d->name,
                    groups, count[0], count[1], count[2]);
    parts_draw(n, groups, seed, part);
    return 0;
}

static int split_shares(const double weight[SPLIT_PARTS], int groups, int seed, uint8_t *part)
{
    int n[SPLIT_PARTS];
    if (!(weight[0] + weight[1] + weight[2] > 0))
        return fail(METE_EINVAL, "data.split: a proportion needs a number above 0");
    parts_share(weight, groups, n);
    parts_draw(n, groups, seed, part);
    return 0;
}

static int read_files(struct split *s, const struct dataset *d, const char *folder, uint8_t *part)
{
    s->by_content = true;
    return split_file_read(d, s->users, folder, part);
}

static int published(struct split *s, const struct dataset *d, const char *how, uint8_t *part)
{
    if (!s->users && d->class_split) {
        memcpy(part, d->class_split, (size_t)d->classes);
        return 0;
    }
    if (*d->path && split_file_exists(d->path))
        return read_files(s, d, d->path, part);
    return fail(METE_EINVAL,
                "data.split: %s has no '%s' split of its own; give the folder that holds "
                "train.txt, val.txt and test.txt (or .csv)",
                d->name, how);
}

static int is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Few users were once shared out as many are: ids of runs must tell the two apart. */
static bool is_news(int users, const int n[SPLIT_PARTS])
{
    static const double before[] = {3000, 200, 200};
    int then[SPLIT_PARTS];
    parts_share(before, users, then);
    return memcmp(then, n, sizeof then) != 0;
}

/* *drawn: of `groups` groups, to be placed; else of all. */
static int find_parts(struct split *s, const struct dataset *d, const char *how, int groups,
                      int seed, uint8_t *part, bool *drawn)
{
    static const double few_shot[] = {1000, 200, 423}; /* Omniglot, all 1,623 characters */
    double number[SPLIT_PARTS];
    bool users = s->users;
    if (strcmp(how, "auto") == 0 && !users && d->class_split)
        how = "published";
    *drawn = true;
    if (strcmp(how, "auto") == 0 && users) {
        int n[SPLIT_PARTS];
        parts_share_users(groups, n);
        s->by_content = is_news(groups, n);
        parts_draw(n, groups, seed, part);
        return 0;
    }
    if (strcmp(how, "auto") == 0)
        return split_shares(few_shot, groups, seed, part);
    if (read_three(how, '/', number))
        return split_counts(d, number, users, groups, seed, part);
    if (read_three(how, ':', number))
        return split_shares(number, groups, seed, part);
    *drawn = false;
    if (strcmp(how, "published") == 0 || strcmp(how, "vinyals") == 0 || strcmp(how, "ravi") == 0)
        return published(s, d, how, part);
    if (is_folder(how))
        return read_files(s, d, how, part);
    return fail(METE_EINVAL,
                "data.split: expected auto, 1000/200/423, 3000:200:200, vinyals, ravi or a folder "
                "of split files, got '%s'",
                how);
}

void split_content(const struct split *s, char out[CONTENT_SIZE])
{
    struct sha256 sum;
    sha256_init(&sum);
    for (int p = 0; p < SPLIT_PARTS; p++) {
        sha256_add(&sum, &s->n[p], sizeof s->n[p]);
        sha256_add(&sum, s->group[p], (size_t)s->n[p] * sizeof **s->group);
    }
    content_word(&sum, out);
}

int split_canonical(char how[PARAM_TEXT_SIZE])
{
    double number[SPLIT_PARTS];
    char between = strchr(how, '/') ? '/' : ':';
    if (!read_three(how, between, number))
        return 0;
    size_t used = 0;
    for (int p = 0; p < SPLIT_PARTS; p++) {
        char one[40];
        number_text(number[p], one, sizeof one);
        used += (size_t)snprintf(how + used, PARAM_TEXT_SIZE - used, "%s%s", one,
                                 p < SPLIT_PARTS - 1 ? (char[]){between, '\0'} : "");
    }
    return 0;
}

int split_make(struct split *out, const struct dataset *d, bool users, const char *how, int seed)
{
    int groups = users ? d->users : d->classes;
    uint8_t *part = mem_array((size_t)groups + 1, 1);
    memset(part, SPLIT_PARTS, (size_t)groups);
    out->users = users;
    out->by_content = false;
    int *turned = NULL, err = users ? 0 : find_turned(d, &turned);
    bool drawn;
    if (!err)
        err = find_parts(out, d, how, groups_drawn(d, users, turned), seed, part, &drawn);
    if (!err && drawn && turned)
        place_turned(turned, groups, part);
    if (!err)
        list_parts(out, part, groups);
    free(turned);
    free(part);
    return err;
}

int split_make_fold(struct split *out, const struct dataset *d, int folds, int fold, int seed)
{
    if (folds < 2 || folds > d->users)
        return fail(METE_EINVAL,
                    "data.folds: %s has %d users, so 2 to %d folds are possible, not %d", d->name,
                    d->users, d->users, folds);
    if (fold < 1 || fold > folds)
        return fail(METE_EINVAL, "data.fold: expected one of 1..%d, got %d", folds, fold);
    uint8_t *part = mem_array((size_t)d->users, 1);
    parts_draw_fold(folds, fold, d->users, seed, part);
    out->users = true;
    list_parts(out, part, d->users);
    free(part);
    return 0;
}
