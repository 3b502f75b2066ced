/* table.c - a table in CSV: a row for each item, a column for its label, perhaps one
 * for its user and one for its part, and numbers in the others.
 *
 * With standardise, each feature has the mean taken off and is divided by its
 * standard deviation, both over rows of training users only (train_users lists
 * them), so that nothing of the other users is seen.  That takes two passes.
 */
#include "data/csv.h"
#include "data/importer.h"
#include "data/names.h"
#include "data/file_iter.h"
#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NO_SEPARATOR = 0x1f }; /* a line is one field */

struct settings {
    char label[PARAM_TEXT_SIZE], user[PARAM_TEXT_SIZE], part[PARAM_TEXT_SIZE];
    char ignore[PARAM_TEXT_SIZE], train_users[PARAM_TEXT_SIZE];
    bool standardise;
    int separator;
};

static const struct param params[] = {
    PARAM_TEXT_ROW(struct settings, label, "label", NULL, "the column that holds the label"),
    PARAM_TEXT_ROW(struct settings, user, "user", NULL, "the column that holds the user, if any"),
    PARAM_TEXT_ROW(struct settings, part, "part", NULL,
                   "the column that says train or test of a user's rows, if any"),
    PARAM_TEXT_ROW(struct settings, ignore, "ignore", NULL,
                   "columns that are no features, with commas between"),
    PARAM_BOOL_ROW(struct settings, standardise, "standardise", 0,
                   "mean 0 and deviation 1 over the training users"),
    PARAM_TEXT_ROW(struct settings, train_users, "train_users", NULL,
                   "file that names the training users, one on each line"),
    PARAM_CHOICE_ROW(struct settings, separator, "separator", "comma|semicolon|tab", 0,
                     "between the fields"),
    {0},
};

struct table {
    const struct settings *set;
    struct import_job *job;
    /* columns */
    int columns, label, user, part; /* user, part: -1 if there is none */
    int *feature, features;
    struct names header; /* all columns */
    /* rows */
    struct names classes, users, training;
    int32_t *y, *who;
    uint8_t *parts;
    int64_t items, room;
    float *x; /* (features) */
    /* standardisation */
    double *value, *mean, *sum2; /* (features); sum2: of squared deviations, then 1/deviation */
    int64_t train_rows;
};

/* ---- columns ---- */

static int find_column(const struct csv *c, const char *word, const char *what)
{
    int i = csv_find(c, word);
    if (i >= 0)
        return i;
    const char *near = nearest_word(word, (const char *const *)c->field, c->n);
    if (near)
        csv_fail(c, 0, "no column '%s' for the %s; did you mean '%s'?", word, what, near);
    else
        csv_fail(c, 0, "no column '%s' for the %s among %d columns", word, what, c->n);
    return METE_EINVAL; /* the fault is not the file's */
}

/* Marks the columns named in `list` as no features. */
static int ignore_columns(const struct csv *c, const char *list, bool *taken)
{
    char word[PARAM_TEXT_SIZE];
    while (*list) {
        size_t n = strcspn(list, ",");
        snprintf(word, sizeof word, "%.*s", (int)n, list);
        int i = find_column(c, word, "columns to ignore");
        if (i < 0)
            return i;
        taken[i] = true;
        list += n + (list[n] == ',');
    }
    return 0;
}

static int read_header(struct table *t, const struct csv *c)
{
    names_release(&t->header);
    for (int i = 0; i < c->n; i++)
        if (names_add(&t->header, c->field[i]) < i)
            return csv_fail(c, i, "a second column named '%s'", c->field[i]);
    return 0;
}

static int find_columns(struct table *t, const struct csv *c)
{
    const struct settings *set = t->set;
    bool *taken = mem_array((size_t)c->n, sizeof *taken);
    int err = read_header(t, c);
    t->columns = c->n;
    t->label = err ? err : find_column(c, set->label, "label");
    t->user = t->label < 0 || !*set->user ? -1 : find_column(c, set->user, "user");
    t->part = t->label < 0 || !*set->part ? -1 : find_column(c, set->part, "part");
    if (t->label < 0)
        err = t->label;
    else if ((*set->user && t->user < 0) || (*set->part && t->part < 0))
        err = METE_EINVAL;
    if (!err)
        err = ignore_columns(c, set->ignore, taken);
    t->features = 0;
    free(t->feature);
    t->feature = mem_array((size_t)c->n, sizeof *t->feature);
    for (int i = 0; i < c->n && !err; i++)
        if (i != t->label && i != t->user && i != t->part && !taken[i])
            t->feature[t->features++] = i;
    free(taken);
    if (!err && t->features == 0)
        err = csv_fail(c, 0, "no columns are left for features");
    return err;
}

/* ---- rows ---- */

static int read_values(struct table *t, const struct csv *c)
{
    for (int k = 0; k < t->features; k++) {
        const char *text = c->field[t->feature[k]];
        char *end;
        t->value[k] = number_read(text, &end);
        end += strspn(end, " \t");
        if (end == text || *end)
            return csv_fail(c, t->feature[k], "column '%s': expected a number, got '%s'",
                            t->header.at[t->feature[k]], text);
        if (!isfinite((float)t->value[k]))
            return csv_fail(c, t->feature[k], "column '%s': expected a finite number, got '%s'",
                            t->header.at[t->feature[k]], text);
    }
    return 0;
}

typedef int row_fn(struct table *t, const struct csv *c);

/* Reads the whole file and calls `row` for each row of values. */
static int read_table(struct table *t, const char *path, row_fn *row)
{
    static const char separators[] = ",;\t";
    struct file_iter *w = NULL;
    struct csv c = {0};
    bool more = false;
    int err = file_iter_open_plain(&w, path);
    if (!err) {
        csv_open(&c, path, separators[t->set->separator], file_iter_read, w);
        err = csv_next(&c, &more);
    }
    if (!err)
        err = more ? find_columns(t, &c) : csv_fail(&c, 0, "expected a line of column names");
    if (!err) {
        t->value = mem_grow(t->value, (size_t)t->features, sizeof *t->value);
        t->x = mem_grow(t->x, (size_t)t->features, sizeof *t->x);
    }
    while (!err && !(err = csv_next(&c, &more)) && more) {
        if (c.n != t->columns)
            err = csv_fail(&c, c.n - 1, "%d fields, expected %d", c.n, t->columns);
        else if (!(err = read_values(t, &c)))
            err = row(t, &c);
    }
    csv_close(&c);
    file_iter_close(w);
    return err;
}

/* ---- first pass: means and deviations (Welford) ---- */

static int measure_row(struct table *t, const struct csv *c)
{
    if (!t->mean) {
        t->mean = mem_array((size_t)t->features, sizeof *t->mean);
        t->sum2 = mem_array((size_t)t->features, sizeof *t->sum2);
    }
    if (names_find(&t->training, c->field[t->user]) < 0)
        return 0;
    t->train_rows++;
    for (int k = 0; k < t->features; k++) {
        double off = t->value[k] - t->mean[k];
        t->mean[k] += off / (double)t->train_rows;
        t->sum2[k] += off * (t->value[k] - t->mean[k]);
    }
    return 0;
}

static int read_training_users(struct table *t)
{
    struct file_iter *w = NULL;
    struct csv c = {0};
    bool more = false;
    int err = file_iter_open_plain(&w, t->set->train_users);
    if (!err)
        csv_open(&c, t->set->train_users, NO_SEPARATOR, file_iter_read, w);
    while (!err && !(err = csv_next(&c, &more)) && more)
        names_add(&t->training, c.field[0]);
    csv_close(&c);
    file_iter_close(w);
    return err;
}

static int measure(struct table *t, const char *path)
{
    if (!*t->set->train_users || !*t->set->user)
        return fail(METE_EINVAL, "standardise: the training users must be known: give the user "
                                 "column and --set train_users=FILE");
    int err = read_training_users(t);
    if (!err)
        err = read_table(t, path, measure_row);
    if (!err && t->train_rows == 0)
        err = fail(METE_EFORMAT, "%s: none of the users that %s names has a row", path,
                   t->set->train_users);
    for (int k = 0; k < t->features && !err; k++) {
        double deviation = sqrt(t->sum2[k] / (double)t->train_rows);
        t->sum2[k] = deviation > 0 ? 1 / deviation : 1; /* a constant stays a constant */
    }
    return err;
}

/* ---- second pass: items ---- */

static int read_part(struct table *t, const struct csv *c, uint8_t *part)
{
    const char *text = c->field[t->part];
    *part = strcmp(text, "test") == 0 ? PART_TEST : PART_TRAIN;
    if (strcmp(text, "test") != 0 && strcmp(text, "train") != 0)
        return csv_fail(c, t->part, "expected train or test, got '%s'", text);
    return 0;
}

static void make_room(struct table *t)
{
    if (t->items < t->room)
        return;
    t->room = t->room ? 2 * t->room : 1024;
    t->y = mem_grow(t->y, (size_t)t->room, sizeof *t->y);
    t->who = mem_grow(t->who, (size_t)t->room, sizeof *t->who);
    t->parts = mem_grow(t->parts, (size_t)t->room, 1);
}

static int put_row(struct table *t, const struct csv *c)
{
    int err = t->items == 0 ? builder_shape(t->job->builder, 1, 1, t->features, true) : 0;
    make_room(t);
    if (!*c->field[t->label])
        return csv_fail(c, t->label, "a row without a label");
    if (t->user >= 0 && !*c->field[t->user])
        return csv_fail(c, t->user, "a row without a user");
    t->y[t->items] = names_add(&t->classes, c->field[t->label]);
    if (t->user >= 0)
        t->who[t->items] = names_add(&t->users, c->field[t->user]);
    if (!err && t->part >= 0)
        err = read_part(t, c, &t->parts[t->items]);
    for (int k = 0; k < t->features; k++)
        t->x[k] = (float)(t->mean ? (t->value[k] - t->mean[k]) * t->sum2[k] : t->value[k]);
    if (!err)
        err = builder_put(t->job->builder, t->items++, t->x, 1);
    return err ? err : t->items % 4096 ? 0 : progress("table", (double)t->items, 0);
}

/* ---- the end ---- */

/* Renumbers labels or users in the order of their names. */
static void sort_names(struct names *names, int32_t *value, int64_t n)
{
    int32_t *to = mem_array((size_t)names->n, sizeof *to);
    names_sort(names, to);
    for (int64_t i = 0; i < n; i++)
        value[i] = to[value[i]];
    free(to);
}

/* What a program that meets new rows must know. */
static void note_numbers(struct table *t, const char *key, const double *numbers, bool inverse)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    for (int k = 0; k < t->features; k++) {
        char number[NUMBER_TEXT];
        number_print(inverse ? 1 / numbers[k] : numbers[k], number);
        fprintf(to, "%s%s", k ? " " : "", number);
    }
    fclose(to);
    builder_note(t->job->builder, key, "%s", text);
    free(text);
}

static void note_features(struct table *t)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    for (int k = 0; k < t->features; k++)
        fprintf(to, "%s%s", k ? "," : "", t->header.at[t->feature[k]]);
    fclose(to);
    builder_note(t->job->builder, "features", "%s", text);
    free(text);
}

static void describe(struct table *t)
{
    struct dataset *about = &t->job->about;
    about->items = t->items;
    about->scale = 1;
    sort_names(&t->classes, t->y, t->items);
    about->classes = t->classes.n;
    about->class_names = names_take(&t->classes);
    about->y = t->y;
    t->y = NULL;
    if (t->user >= 0) {
        sort_names(&t->users, t->who, t->items);
        about->users = t->users.n;
        about->user_names = names_take(&t->users);
        about->user = t->who;
        t->who = NULL;
    }
    if (t->part >= 0) {
        about->part = t->parts;
        t->parts = NULL;
    }
    note_features(t);
    if (t->mean) {
        builder_note(t->job->builder, "standardised by rows", "%lld", (long long)t->train_rows);
        note_numbers(t, "mean", t->mean, false);
        note_numbers(t, "deviation", t->sum2, true);
    }
}

static void release(struct table *t)
{
    names_release(&t->classes);
    names_release(&t->users);
    names_release(&t->training);
    names_release(&t->header);
    free(t->feature);
    free(t->y);
    free(t->who);
    free(t->parts);
    free(t->x);
    free(t->value);
    free(t->mean);
    free(t->sum2);
}

static int import_table(struct import_job *job)
{
    struct table t = {.set = job->settings, .job = job};
    int err = 0;
    if (!*t.set->label)
        err = fail(METE_EINVAL, "table: say which column holds the label: --label COLUMN");
    else if (*t.set->part && !*t.set->user)
        err = fail(METE_EINVAL, "table: parts are those of users; give the user column too");
    if (!err && t.set->standardise)
        err = measure(&t, job->paths[0]);
    if (!err)
        err = read_table(&t, job->paths[0], put_row);
    if (!err && t.items == 0)
        err = fail(METE_EFORMAT, "%s: no rows after the column names", job->paths[0]);
    if (!err)
        describe(&t);
    release(&t);
    return err;
}

const struct importer importer_table = {
    .name = "table",
    .summary = "a CSV table: numbers, a label and perhaps a user in each row",
    .usage = "TABLE.csv",
    .least = 1,
    .most = 1,
    .settings_size = sizeof(struct settings),
    .params = params,
    .run = import_table,
};
