/* table.c - a table in CSV: a row for each item, a column for its label, perhaps one for its user
 * and one for its part, and features in the others (columns.h says which).
 *
 * A table of numbers alone is read once.  Where a field is missing or a word, the file is read
 * first to see what its columns hold (table_survey.h), and again to measure the training users
 * (table_measure.h): fills, and means and deviations with `standardise`, are theirs alone, so that
 * nothing of the other users is seen.  With `like`, all that comes from another dataset: people who
 * come later are treated as those before them.
 */
#include "data/csv.h"
#include "data/importer.h"
#include "data/names.h"
#include "data/parts.h"
#include "data/places.h"
#include "data/table_measure.h"
#include "data/table_survey.h"
#include "data/file_iter.h"
#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NO_SEPARATOR = 0x1f };       /* a line is one field */
enum { NO_COLUMN = 1 - (1 << 30) }; /* no METE_E* */

struct settings {
    char label[PARAM_TEXT_SIZE], user[PARAM_TEXT_SIZE], part[PARAM_TEXT_SIZE];
    char ignore[PARAM_TEXT_SIZE], words[PARAM_TEXT_SIZE], train_users[PARAM_TEXT_SIZE];
    char like[PARAM_TEXT_SIZE], classes[PARAM_TEXT_SIZE];
    bool standardise, index, number_labels;
    int words_max, separator;
};

static const struct param params[] = {
    PARAM_TEXT_ROW(struct settings, label, "label", NULL, "the column that holds the label"),
    PARAM_TEXT_ROW(struct settings, user, "user", NULL, "the column that holds the user, if any"),
    PARAM_TEXT_ROW(struct settings, part, "part", NULL,
                   "the column that says train or test of a user's rows, if any"),
    PARAM_TEXT_ROW(struct settings, ignore, "ignore", NULL,
                   "columns that are not features, separated by commas"),
    PARAM_TEXT_ROW(struct settings, words, "words", NULL,
                   "columns of words that may look like numbers, separated by commas"),
    PARAM_INT_ROW(struct settings, words_max, "words_max", 32, 2, 100000,
                  "the most distinct words of a column; each is a feature"),
    PARAM_BOOL_ROW(struct settings, standardise, "standardise", 0,
                   "mean 0 and deviation 1 over the training users"),
    PARAM_TEXT_ROW(struct settings, train_users, "train_users", NULL,
                   "file that names the training users, one per line; without one, those of "
                   "data.split=auto"),
    PARAM_TEXT_ROW(struct settings, like, "like", NULL,
                   "a dataset made from a table before: the same features, fills, means, "
                   "deviations and classes"),
    PARAM_TEXT_ROW(struct settings, classes, "classes", NULL,
                   "the classes, separated by commas: for rows of which none or few have a label"),
    PARAM_BOOL_ROW(struct settings, index, "index", 0,
                   "keep a column that only counts the rows as a feature"),
    PARAM_BOOL_ROW(struct settings, number_labels, "number_labels", 0,
                   "take labels that look like measurements for names of classes"),
    PARAM_CHOICE_ROW(struct settings, separator, "separator", "auto|comma|semicolon|tab", 0,
                     "between the fields; auto: what the first line has most of"),
    {0},
};

/* Whether a column of numbers is only an index of the rows. */
struct counter {
    double last;
    bool rising, by_one; /* whole numbers, each above the one before; by one */
};

struct table {
    const struct settings *set;
    struct import_job *job;
    /* columns of the file */
    int width, label, user, part; /* NO_COLUMN where there is none */
    struct names header;
    int *from; /* (columns.n) the file's column */
    /* what they hold */
    bool known; /* columns are; else all of them are taken for numbers */
    bool gap;   /* and that was wrong */
    struct columns columns;
    struct survey survey;
    struct measure measure;
    struct counter *counter; /* (columns.n) */
    /* rows */
    struct names classes, users;
    uint8_t *training; /* (users.n) or NULL: all rows are */
    int32_t *y, *who;
    uint8_t *parts;
    struct text lines; /* of the file, one for each item, once they are not simply 2, 3, … */
    int64_t items, room;
    double *raw; /* (features) */
    float *x;
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

/* Marks the columns named in `list`. */
static int mark_columns(const struct csv *c, const char *list, const char *what, bool *marked)
{
    char word[PARAM_TEXT_SIZE];
    while (*list) {
        size_t n = strcspn(list, ",");
        snprintf(word, sizeof word, "%.*s", (int)n, list);
        int i = find_column(c, word, what);
        if (i < 0)
            return i;
        marked[i] = true;
        list += n + (list[n] == ',');
    }
    return 0;
}

static int read_header(struct table *t, const struct csv *c)
{
    names_release(&t->header);
    for (int i = 0; i < c->n; i++) {
        int k = names_add(&t->header, c->field[i]);
        if (k != i)
            return k < 0 ? k : csv_fail(c, i, "a second column named '%s'", c->field[i]);
    }
    return 0;
}

/* Where the columns that are known stand in this file; others are passed over. */
static int find_known(struct table *t, const struct csv *c)
{
    int err = mem_extend(&t->from, (size_t)t->columns.n, sizeof *t->from, c->name);
    if (err)
        return err;
    for (int k = 0; k < t->columns.n; k++) {
        t->from[k] = find_column(c, t->columns.at[k].name, "feature");
        if (t->from[k] < 0)
            return t->from[k];
    }
    return 0;
}

/* The file's columns that are left for features: to be surveyed, or taken for numbers. */
static int find_features(struct table *t, const struct csv *c, const bool *taken, bool survey)
{
    bool *words = NULL;
    int err = mem_try(&words, (size_t)c->n, sizeof *words, c->name), n = 0;
    if (!err)
        err = mem_extend(&t->from, (size_t)c->n, sizeof *t->from, c->name);
    if (!err)
        err = mark_columns(c, t->set->words, "columns of words", words);
    for (int i = 0; i < c->n && !err; i++) {
        if (taken[i])
            continue;
        t->from[n++] = i;
        err = survey ? survey_add(&t->survey, t->header.at[i], words[i])
                     : columns_add(&t->columns, t->header.at[i], COLUMN_NUMBER, NULL);
    }
    free(words);
    if (!err && n == 0)
        err = csv_fail(c, 0, "no columns are left for features");
    return err || survey ? err : columns_close(&t->columns);
}

static int find_columns(struct table *t, const struct csv *c, bool survey)
{
    const struct settings *set = t->set;
    bool *taken = NULL;
    int err = mem_try(&taken, (size_t)c->n, sizeof *taken, c->name);
    if (!err)
        err = read_header(t, c);
    t->width = c->n;
    t->label = err ? err : !*set->label ? NO_COLUMN : find_column(c, set->label, "label");
    bool failed = t->label < 0 && t->label != NO_COLUMN;
    t->user = failed || !*set->user ? NO_COLUMN : find_column(c, set->user, "user");
    t->part = failed || !*set->part ? NO_COLUMN : find_column(c, set->part, "part");
    if (failed)
        err = t->label;
    else if ((*set->user && t->user < 0) || (*set->part && t->part < 0))
        err = METE_EINVAL;
    if (!err)
        err = mark_columns(c, set->ignore, "columns to ignore", taken);
    for (int i = 0; i < c->n && !err; i++)
        taken[i] |= i == t->label || i == t->user || i == t->part;
    if (!err)
        err = t->known ? find_known(t, c) : find_features(t, c, taken, survey);
    free(taken);
    return err;
}

/* ---- rows ---- */

/* The number of a row's user, 0 where there are none. */
static int user_of(struct table *t, const struct csv *c, int32_t *user)
{
    *user = 0;
    if (t->user < 0)
        return 0;
    if (!*c->field[t->user])
        return csv_fail(c, t->user, "a row without a user");
    *user = names_add(&t->users, c->field[t->user]);
    return *user < 0 ? *user : 0;
}

static int read_raw(struct table *t, const struct csv *c)
{
    for (int k = 0; k < t->columns.n; k++) {
        const char *text = c->field[t->from[k]];
        double *raw = t->raw + t->columns.at[k].first;
        int err = column_read(&t->columns, k, text, raw);
        if ((err || isnan(*raw)) && !t->known) {
            t->gap = true;
            return err ? err : fail(METE_EFORMAT, "a missing field");
        }
        if (err) {
            char *what = mem_string(mete_errmsg());
            csv_fail(c, t->from[k], "column '%s': %s", t->columns.at[k].name, what);
            free(what);
            return err;
        }
    }
    return 0;
}

typedef int row_fn(struct table *t, const struct csv *c);

/* Reads the whole file and calls `row` for each record after the names. */
static int read_table(struct table *t, row_fn *row, bool survey)
{
    static const char separators[] = {CSV_ANY_SEPARATOR, ',', ';', '\t'};
    const char *path = t->job->paths[0];
    struct file_iter *file = NULL;
    struct csv c = {0};
    bool more = false;
    int err = file_iter_open_plain(&file, path);
    if (!err) {
        csv_open(&c, path, separators[t->set->separator], file_iter_read, file);
        err = csv_next(&c, &more);
    }
    if (!err)
        err =
            more ? find_columns(t, &c, survey) : csv_fail(&c, 0, "expected a line of column names");
    if (!err)
        err = mem_extend(&t->raw, (size_t)t->columns.features + 1, sizeof *t->raw, path);
    if (!err)
        err = mem_extend(&t->x, (size_t)t->columns.features + 1, sizeof *t->x, path);
    while (!err && !(err = csv_next(&c, &more)) && more)
        err = c.n == t->width ? row(t, &c)
                              : csv_fail(&c, c.n - 1, "%d fields, expected %d", c.n, t->width);
    csv_close(&c);
    file_iter_close(file);
    return err;
}

/* ---- before the items: what columns hold, and the training users ---- */

static int survey_row(struct table *t, const struct csv *c)
{
    int32_t user;
    int err = user_of(t, c, &user);
    for (int k = 0; k < t->survey.n && !err; k++)
        err = survey_field(&t->survey, k, c, t->from[k]);
    return err;
}

/* Marks the users that a file names. */
static int read_training_users(struct table *t)
{
    struct file_iter *file = NULL;
    struct csv c = {0};
    bool more = false;
    int err = file_iter_open_plain(&file, t->set->train_users), found = 0;
    if (!err)
        csv_open(&c, t->set->train_users, NO_SEPARATOR, file_iter_read, file);
    while (!err && !(err = csv_next(&c, &more)) && more) {
        int user = names_find(&t->users, c.field[0]);
        if (user >= 0)
            t->training[user] = 1;
        found += user >= 0;
    }
    csv_close(&c);
    file_iter_close(file);
    if (!err && found == 0)
        err = fail(METE_EFORMAT, "%s: none of the users that %s names has a row", t->job->paths[0],
                   t->set->train_users);
    return err;
}

/* Users must be in the order that they have in the dataset: of their names. */
static int choose_training(struct table *t)
{
    int n[PARTS], groups = t->users.n;
    if (t->user < 0)
        return 0;
    int err = mem_try(&t->training, (size_t)groups + 1, 1, "users");
    if (err)
        return err;
    if (*t->set->train_users)
        return read_training_users(t);
    parts_share_users(groups, n);
    parts_draw(n, groups, 0, t->training);
    for (int u = 0; u < groups; u++)
        t->training[u] = n[SPLIT_TRAIN] == 0 || t->training[u] == SPLIT_TRAIN;
    return 0;
}

static int measure_one(struct table *t, const struct csv *c)
{
    int32_t user;
    int err = user_of(t, c, &user);
    if (!err)
        err = read_raw(t, c);
    if (!err && (!t->training || t->training[user]))
        err = measure_row(&t->measure, t->raw, user);
    return err;
}

/* Numbers users in the order of their names. */
static int sort_users(struct table *t)
{
    int32_t *to = NULL;
    int err = names_sort(&t->users, &to);
    if (err)
        return err;
    for (int64_t i = 0; i < t->items && t->user >= 0; i++)
        t->who[i] = to[t->who[i]];
    for (int64_t i = 0; i < t->measure.room && i < t->measure.rows && t->user >= 0; i++)
        t->measure.user[i] = to[t->measure.user[i]];
    free(to);
    return 0;
}

static int survey_and_measure(struct table *t)
{
    t->survey.words_max = t->set->words_max;
    int err = read_table(t, survey_row, true);
    if (!err)
        err = survey_finish(&t->survey, t->job->paths[0], &t->columns);
    if (err)
        return err;
    t->known = true;
    err = sort_users(t);
    if (!err)
        err = measure_open(&t->measure, t->columns.features, t->set->standardise);
    if (!err)
        err = choose_training(t);
    if (!err)
        err = read_table(t, measure_one, false);
    return err ? err : measure_finish(&t->measure, t->training, &t->columns);
}

/* ---- items ---- */

static int read_part(struct table *t, const struct csv *c, uint8_t *part)
{
    const char *text = c->field[t->part];
    *part = strcmp(text, "test") == 0 ? PART_TEST : PART_TRAIN;
    if (strcmp(text, "test") != 0 && strcmp(text, "train") != 0)
        return csv_fail(c, t->part, "expected train or test, got '%s'", text);
    return 0;
}

static int make_room(struct table *t)
{
    if (t->items < t->room)
        return 0;
    int64_t room = t->room ? 2 * t->room : 1024;
    int err = mem_extend(&t->y, (size_t)room, sizeof *t->y, "rows");
    if (!err)
        err = mem_extend(&t->who, (size_t)room, sizeof *t->who, "rows");
    if (!err)
        err = mem_extend(&t->parts, (size_t)room, 1, "rows");
    t->room = err ? t->room : room;
    return err;
}

/* Follows each column of numbers, to see whether it only counts the rows. */
static void count_row(struct table *t)
{
    bool first = t->items == 0;
    for (int k = 0; k < t->columns.n; k++) {
        struct counter *n = &t->counter[k];
        double value = t->raw[t->columns.at[k].first];
        bool rises = t->columns.at[k].kind == COLUMN_NUMBER && value == floor(value) &&
                     (first || (n->rising && value > n->last));
        n->by_one = rises && (first ? value <= 1 : n->by_one && value == n->last + 1);
        n->rising = rises;
        n->last = value;
    }
}

static int label_of(struct table *t, const struct csv *c, int32_t *label)
{
    const char *text = t->label < 0 ? "" : c->field[t->label];
    const char *of = *t->set->like ? t->set->like : *t->set->classes ? "--set classes" : NULL;
    *label = NO_LABEL;
    if (!text[strspn(text, " ")])
        return 0;
    *label = of ? names_find(&t->classes, text) : names_add(&t->classes, text);
    if (!of && *label < 0)
        return *label;
    return *label >= 0 ? 0
                       : csv_fail(c, t->label, "label '%s' is none of the %d classes of %s", text,
                                  t->classes.n, of);
}

/* With the first row the number of features is known. */
static int begin_items(struct table *t)
{
    int err = mem_try(&t->counter, (size_t)t->columns.n, sizeof *t->counter, "columns");
    if (!err && !t->known)
        err = measure_open(&t->measure, t->columns.features, false);
    return err ? err : builder_shape(t->job->builder, 1, 1, t->columns.features, true);
}

static int put_row(struct table *t, const struct csv *c)
{
    int32_t user = 0, label = 0;
    uint8_t part = PART_TRAIN;
    int err = read_raw(t, c);
    if (!err && t->items == 0)
        err = begin_items(t);
    if (!err)
        err = label_of(t, c, &label);
    if (!err)
        err = user_of(t, c, &user);
    if (!err && t->part >= 0)
        err = read_part(t, c, &part);
    if (!err && (err = columns_finish(&t->columns, t->raw, t->x)))
        err = fail_within(err, "%s:%lld", t->job->paths[0], (long long)c->line);
    if (!err)
        err = make_room(t);
    if (err)
        return err;
    t->y[t->items] = label;
    t->who[t->items] = user;
    t->parts[t->items] = part;
    places_add_line(&t->lines, t->items, c->line);
    count_row(t);
    if (!t->known)
        err = measure_row(&t->measure, t->raw, user);
    if (!err)
        err = builder_put(t->job->builder, t->items++, t->x, 1);
    return err ? err : t->items % 4096 ? 0 : progress("table", (double)t->items, 0);
}

/* ---- what a person should look at again ---- */

static bool named_like_an_index(const char *name)
{
    static const char *const names[] = {"", "id", "index", "row", "rowid", "Unnamed: 0"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(name, names[i]) == 0)
            return true;
    return false;
}

static int question_index(const struct table *t)
{
    enum { NO_ACCIDENT = 20 }; /* rows */
    for (int k = 0; k < t->columns.n && !t->set->index && !*t->set->like; k++) {
        const struct counter *n = &t->counter[k];
        const char *name = t->columns.at[k].name;
        if (t->items > 1 &&
            ((n->by_one && t->items >= NO_ACCIDENT) || (n->rising && named_like_an_index(name))))
            return fail(METE_EINVAL,
                        "%s: column '%s' only counts the rows, and as a feature it would tell them "
                        "apart; leave it out with --set ignore=%s, or keep it: --set index=yes",
                        t->job->paths[0], name, name);
    }
    return 0;
}

/* Labels that are numbers: measured ones, or a different one in nearly every row. */
static int question_labels(const struct table *t)
{
    enum { FEW = 10 };
    bool whole = true;
    for (int i = 0; i < t->classes.n; i++) {
        double value;
        if (!field_number(t->classes.at[i], &value))
            return 0;
        whole = whole && value == floor(value);
    }
    if (t->set->number_labels || *t->set->like || t->classes.n <= FEW ||
        (whole && 2 * (int64_t)t->classes.n < t->items))
        return 0;
    return fail(METE_EINVAL,
                "%s: column '%s' holds %d different numbers in %lld rows, such as %s: mete tells "
                "classes apart and does not predict numbers; cut them into ranges, or take each "
                "for a class: --set number_labels=yes",
                t->job->paths[0], t->set->label, t->classes.n, (long long)t->items,
                t->classes.at[t->classes.n / 2]);
}

/* ---- the end ---- */

static int sort_classes(struct table *t)
{
    int32_t *to = NULL;
    int err = names_sort(&t->classes, &to);
    if (err)
        return err;
    for (int64_t i = 0; i < t->items; i++)
        t->y[i] = t->y[i] == NO_LABEL ? NO_LABEL : to[t->y[i]];
    free(to);
    return 0;
}

static void note_columns(struct table *t)
{
    struct builder *b = t->job->builder;
    int words = 0, flags = 0;
    for (int k = 0; k < t->columns.n; k++) {
        words += t->columns.at[k].kind == COLUMN_WORDS;
        flags += t->columns.at[k].kind == COLUMN_FLAG;
    }
    builder_note(b, "features", "%d of %d columns: %d of numbers, %d of True/False, %d of words",
                 t->columns.features, t->columns.n, t->columns.n - words - flags, flags, words);
    builder_note(b, "fills are medians of", "%s",
                 *t->set->like          ? t->set->like
                 : t->user < 0          ? "all rows"
                 : *t->set->train_users ? t->set->train_users
                                        : "the training users of data.split=auto");
}

static void describe(struct table *t)
{
    struct dataset *about = &t->job->about;
    note_columns(t);
    about->items = t->items;
    about->scale = 1;
    about->classes = t->classes.n;
    about->class_names = names_take(&t->classes);
    about->y = t->y;
    t->y = NULL;
    if (t->user >= 0) {
        about->users = t->users.n;
        about->user_names = names_take(&t->users);
        about->user = t->who;
        t->who = NULL;
    }
    if (t->part >= 0) {
        about->part = t->parts;
        t->parts = NULL;
    }
    if (t->lines.at)
        about->places = text_take(&t->lines);
    about->columns = mem_alloc(sizeof *about->columns);
    *about->columns = t->columns;
    t->columns = (struct columns){0};
}

static void release(struct table *t)
{
    columns_release(&t->columns);
    survey_release(&t->survey);
    measure_release(&t->measure);
    names_release(&t->classes);
    names_release(&t->users);
    names_release(&t->header);
    free(t->training);
    free(t->counter);
    free(t->from);
    free(t->y);
    free(t->who);
    free(t->parts);
    text_release(&t->lines);
    free(t->raw);
    free(t->x);
}

/* Columns and classes of a dataset that was imported before. */
static int read_like(struct table *t)
{
    struct dataset *d = NULL;
    int err = dataset_find(&d, t->set->like);
    if (!err && (!d->columns || !d->class_names))
        err = fail(METE_EINVAL,
                   "like: %s does not say how a table became its features; import it again",
                   t->set->like);
    if (!err) {
        t->columns = *d->columns;
        *d->columns = (struct columns){0};
        for (int k = 0, number = 0; k < d->classes && !err; k++)
            err = (number = names_add(&t->classes, d->class_names[k])) < 0 ? number : 0;
        t->known = true;
    }
    dataset_close(d);
    return err;
}

static int check_settings(const struct settings *set)
{
    if (!*set->label && !*set->like && !*set->classes)
        return fail(METE_EINVAL,
                    "table: say which column holds the label: --label COLUMN; where there is none, "
                    "which classes there are: --set classes=A,B");
    if (*set->part && !*set->user)
        return fail(METE_EINVAL, "table: parts are those of users; give the user column too");
    if (set->standardise && !*set->user)
        return fail(METE_EINVAL,
                    "standardise: the training users must be known: give the user column");
    if (*set->like && (set->standardise || *set->words || *set->train_users || *set->classes))
        return fail(METE_EINVAL,
                    "like: %s says what is standardised, what are words and what are classes; "
                    "leave standardise, words, train_users and classes out",
                    set->like);
    return 0;
}

static int read_classes(struct table *t)
{
    char word[PARAM_TEXT_SIZE];
    for (const char *list = t->set->classes; *list;) {
        size_t n = strcspn(list, ",");
        snprintf(word, sizeof word, "%.*s", (int)n, list);
        int before = t->classes.n;
        if (n == 0 || names_add(&t->classes, word) < before)
            return fail(METE_EINVAL, "classes: expected different names as in sick,well, got '%s'",
                        t->set->classes);
        list += n + (list[n] == ',');
    }
    return 0;
}

/* Into items: at once if all fields are numbers, else in the light of what was measured. */
static int read_items(struct table *t)
{
    bool simple = !t->set->standardise && !*t->set->words && !*t->set->train_users;
    int err = read_classes(t);
    if (!err && (t->known || simple))
        err = read_table(t, put_row, false);
    if (t->gap || (!t->known && !simple)) {
        struct table again = {.set = t->set, .job = t->job};
        release(t);
        *t = again;
        err = builder_restart(t->job->builder);
        if (!err)
            err = read_classes(t);
        if (!err)
            err = survey_and_measure(t);
        if (!err)
            err = read_table(t, put_row, false);
    }
    if (!err && t->items == 0)
        err = fail(METE_EFORMAT, "%s: no rows after the column names", t->job->paths[0]);
    return err;
}

static int import_table(struct import_job *job)
{
    struct table t = {.set = job->settings, .job = job};
    int err = check_settings(t.set);
    if (!err && *t.set->like)
        err = read_like(&t);
    if (!err)
        err = read_items(&t);
    if (!err)
        err = question_index(&t);
    if (!err)
        err = question_labels(&t);
    if (!err)
        err = sort_users(&t);
    if (!err && !*t.set->like)
        err = sort_classes(&t);
    if (!err && !t.known) { /* numbers alone: their medians are for people who come later */
        err = choose_training(&t);
        if (!err)
            err = measure_finish(&t.measure, t.training, &t.columns);
    }
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
