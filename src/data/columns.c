/* columns.c - reading fields, and keeping what a table's columns are. */
#include "data/columns.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const kinds[] = {"number", "flag", "words"};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* ---- making them ---- */

int column_features(const struct column *c)
{
    return c->kind == COLUMN_WORDS ? c->words.n : 1;
}

int columns_add(struct columns *c, const char *name, enum column_kind kind, struct names *words)
{
    int err = mem_extend(&c->at, (size_t)c->n + 1, sizeof *c->at, "columns");
    if (err)
        return err;
    struct column *to = &c->at[c->n++];
    *to = (struct column){.name = mem_string(name), .kind = kind, .first = c->features};
    if (words) {
        to->words = *words;
        *words = (struct names){0};
    }
    c->features += column_features(to);
    return 0;
}

int columns_close(struct columns *c)
{
    size_t n = (size_t)c->features;
    int err = mem_try(&c->fill, 3 * n + 1, sizeof *c->fill, "features");
    if (err)
        return err;
    c->mean = c->fill + n;
    c->deviation = c->mean + n;
    for (size_t i = 0; i < n; i++)
        c->deviation[i] = 1;
    return 0;
}

void columns_release(struct columns *c)
{
    for (int i = 0; i < c->n; i++) {
        free(c->at[i].name);
        names_release(&c->at[i].words);
    }
    free(c->at);
    free(c->fill);
    *c = (struct columns){0};
}

int columns_find(const struct columns *c, const char *name)
{
    for (int i = 0; i < c->n; i++)
        if (strcmp(c->at[i].name, name) == 0)
            return i;
    return -1;
}

/* ---- fields ---- */

/* The text without blanks around it. */
static size_t trimmed(const char **text)
{
    *text += strspn(*text, " \t");
    size_t n = strlen(*text);
    while (n > 0 && ((*text)[n - 1] == ' ' || (*text)[n - 1] == '\t'))
        n--;
    return n;
}

static bool reads(const char *text, size_t n, const char *word)
{
    return strlen(word) == n && strncasecmp(text, word, n) == 0;
}

bool field_missing(const char *text)
{
    static const char *const words[] = {"", "?", "nan", "na", "null"};
    size_t n = trimmed(&text);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (reads(text, n, words[i]))
            return true;
    return false;
}

bool field_number(const char *text, double *out)
{
    char *end;
    *out = number_read(text, &end);
    return end != text && !end[strspn(end, " \t")];
}

bool field_flag(const char *text, double *out)
{
    size_t n = trimmed(&text);
    *out = reads(text, n, "true");
    return *out > 0 || reads(text, n, "false");
}

static int expected(const char *what, const char *text)
{
    return fail(METE_EFORMAT, "expected %s, got '%s'", what, text);
}

static void read_word(const struct column *c, const char *text, double *raw)
{
    size_t n = trimmed(&text);
    char *word = mem_print("%.*s", (int)n, text);
    int known = names_find(&c->words, word);
    for (int k = 0; k < c->words.n; k++)
        raw[k] = k == known;
    free(word);
}

int column_read(const struct columns *c, int i, const char *text, double *raw)
{
    const struct column *column = &c->at[i];
    if (column->kind == COLUMN_WORDS) {
        read_word(column, text, raw);
        return 0;
    }
    if (column->kind == COLUMN_NUMBER && field_number(text, raw) && isfinite((float)*raw))
        return 0;
    if (field_missing(text)) {
        *raw = NAN;
        return 0;
    }
    if (column->kind == COLUMN_FLAG)
        return field_flag(text, raw) ? 0 : expected("True or False", text);
    return expected(field_number(text, raw) ? "a finite number" : "a number", text);
}

int columns_finish(const struct columns *c, const double *raw, float *x)
{
    for (int k = 0; k < c->features; k++) {
        double value = isnan(raw[k]) ? c->fill[k] : raw[k];
        x[k] = (float)((value - c->mean[k]) / c->deviation[k]);
        if (!isfinite(x[k]))
            return fail(METE_EFORMAT, "standardised it is %g, which no float holds",
                        (value - c->mean[k]) / c->deviation[k]);
    }
    return 0;
}

/* ---- in meta.json ---- */

static void write_reals(struct jsonw *w, const char *key, const double *x, int n)
{
    jsonw_array(w, key);
    for (int i = 0; i < n; i++)
        jsonw_real(w, NULL, x[i]);
    jsonw_close(w);
}

void columns_write(const struct columns *c, struct jsonw *w, const char *key)
{
    jsonw_array(w, key);
    for (int i = 0; i < c->n; i++) {
        const struct column *column = &c->at[i];
        int first = column->first, n = column_features(column);
        jsonw_object(w, NULL);
        jsonw_string(w, "name", column->name);
        jsonw_string(w, "kind", kinds[column->kind]);
        if (column->kind == COLUMN_WORDS) {
            jsonw_array(w, "words");
            for (int k = 0; k < column->words.n; k++)
                jsonw_string(w, NULL, column->words.at[k]);
            jsonw_close(w);
        } else {
            jsonw_real(w, "fill", c->fill[first]);
        }
        write_reals(w, "mean", c->mean + first, n);
        write_reals(w, "deviation", c->deviation + first, n);
        jsonw_close(w);
    }
    jsonw_close(w);
}

/* One column as it is read: its numbers before it has a place among the features. */
struct draft {
    char *name;
    int kind;
    struct names words;
    double fill, *mean, *deviation; /* (room) */
    size_t means, deviations;
    bool has_kind;
};

enum { FEATURES_MAX = 1 << 20 };

static int read_reals(struct json *j, double **x, size_t *n)
{
    double value;
    bool more = false;
    int err = json_enter(j, JSON_ARRAY);
    *n = 0;
    while (!err && !(err = json_more(j, &more)) && more) {
        if (*n == FEATURES_MAX)
            return json_fail(j, "more than %d numbers", FEATURES_MAX);
        err = json_get_real(j, &value);
        if (!err && !(err = mem_extend(x, *n + 1, sizeof **x, j->name)))
            (*x)[(*n)++] = value;
    }
    return err;
}

static int read_words(struct json *j, struct names *words)
{
    bool more = false;
    int err = json_enter(j, JSON_ARRAY);
    while (!err && !(err = json_more(j, &more)) && more) {
        int before = words->n;
        err = json_get_string(j);
        int number = err ? err : names_add(words, j->text);
        if (number >= 0 && number < before)
            err = json_fail(j, "the word '%s' occurs twice", j->text);
        else if (number < 0)
            err = number;
    }
    return err;
}

static int read_kind(struct json *j, struct draft *d)
{
    int err = json_get_string(j);
    for (int k = 0; !err && k < KINDS; k++)
        if (strcmp(j->text, kinds[k]) == 0) {
            d->kind = k;
            d->has_kind = true;
            return 0;
        }
    return err ? err : json_fail(j, "a column is number, flag or words, got '%s'", j->text);
}

static int read_key(struct json *j, struct draft *d)
{
    if (strcmp(j->text, "name") == 0) {
        int err = json_get_string(j);
        free(d->name);
        d->name = err ? NULL : mem_string(j->text);
        return err;
    }
    if (strcmp(j->text, "kind") == 0)
        return read_kind(j, d);
    if (strcmp(j->text, "words") == 0)
        return read_words(j, &d->words);
    if (strcmp(j->text, "fill") == 0)
        return json_get_real(j, &d->fill);
    if (strcmp(j->text, "mean") == 0)
        return read_reals(j, &d->mean, &d->means);
    if (strcmp(j->text, "deviation") == 0)
        return read_reals(j, &d->deviation, &d->deviations);
    return json_skip(j);
}

static int check_draft(struct json *j, const struct columns *c, const struct draft *d)
{
    size_t n = d->kind == COLUMN_WORDS ? (size_t)d->words.n : 1;
    if (!d->name || !d->has_kind || (d->kind == COLUMN_WORDS) != (d->words.n > 0))
        return json_fail(j, "a column needs a name, a kind, and words where that is its kind");
    if (columns_find(c, d->name) >= 0)
        return json_fail(j, "a second column named '%s'", d->name);
    if (d->means != n || d->deviations != n)
        return json_fail(j, "column '%s' has %zu features, %zu means and %zu deviations", d->name,
                         n, d->means, d->deviations);
    for (size_t i = 0; i < n; i++)
        if (!(d->deviation[i] > 0))
            return json_fail(j, "column '%s': a deviation of %g", d->name, d->deviation[i]);
    return c->features + (int64_t)n > FEATURES_MAX ? json_fail(j, "too many features") : 0;
}

/* Numbers of all columns so far, three of each feature: fill, mean, deviation. */
static int keep_numbers(double **all, const struct columns *c, const struct draft *d)
{
    int err = mem_extend(all, 3 * (size_t)c->features, sizeof **all, "features");
    if (err)
        return err;
    double *to = *all + 3 * (size_t)c->at[c->n - 1].first;
    for (size_t i = 0; i < d->means; i++) {
        to[3 * i] = d->fill;
        to[3 * i + 1] = d->mean[i];
        to[3 * i + 2] = d->deviation[i];
    }
    return 0;
}

static int read_column(struct json *j, struct columns *c, double **numbers)
{
    struct draft d = {0};
    bool more = false;
    int err = json_enter(j, JSON_OBJECT);
    while (!err && !(err = json_more(j, &more)) && more)
        err = read_key(j, &d);
    if (!err)
        err = check_draft(j, c, &d);
    if (!err)
        err = columns_add(c, d.name, (enum column_kind)d.kind, &d.words);
    if (!err)
        err = keep_numbers(numbers, c, &d);
    free(d.name);
    free(d.mean);
    free(d.deviation);
    names_release(&d.words);
    return err;
}

int columns_read(struct columns *out, struct json *j)
{
    struct columns c = {0};
    double *numbers = NULL;
    bool more = false;
    int err = json_enter(j, JSON_ARRAY);
    while (!err && !(err = json_more(j, &more)) && more)
        err = read_column(j, &c, &numbers);
    if (!err)
        err = columns_close(&c);
    if (!err) {
        for (int k = 0; k < c.features; k++) {
            c.fill[k] = numbers[3 * k];
            c.mean[k] = numbers[3 * k + 1];
            c.deviation[k] = numbers[3 * k + 2];
        }
        *out = c;
    } else {
        columns_release(&c);
    }
    free(numbers);
    return err;
}
