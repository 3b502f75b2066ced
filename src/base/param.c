/* param.c - reading, checking, finding and printing settings. */
#include "base/param.h"
#include "base/error.h"
#include "base/number.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static void *field(const struct param *row, void *state)
{
    return (char *)state + row->offset;
}

static const void *field_const(const struct param *row, const void *state)
{
    return (const char *)state + row->offset;
}

void param_defaults(const struct param *table, void *state)
{
    for (const struct param *row = table; row->name; row++) {
        void *at = field(row, state);
        switch (row->type) {
        case PARAM_INT:
        case PARAM_CHOICE:
            *(int *)at = (int)row->initial;
            break;
        case PARAM_REAL:
            *(double *)at = row->initial;
            break;
        case PARAM_BOOL:
            *(bool *)at = row->initial != 0;
            break;
        case PARAM_TEXT:
            snprintf(at, PARAM_TEXT_SIZE, "%s", row->choices ? row->choices : "");
            break;
        }
    }
}

void param_set_add(struct param_set *set, const char *section, const struct param *table,
                   void *state)
{
    assert(set->sections < PARAM_SECTIONS);
    set->section[set->sections++] = (struct param_section){section, table, state};
    param_defaults(table, state);
}

void param_key(const struct param_section *section, const struct param *row, char *out, size_t size)
{
    if (strchr(row->name, '.') || !*section->name)
        snprintf(out, size, "%s", row->name);
    else
        snprintf(out, size, "%s.%s", section->name, row->name);
}

/* Keys are equal when they differ only in '_' and '.'. */
static bool same_key(const char *a, const char *b)
{
    for (; *a && *b; a++, b++) {
        char x = *a == '_' ? '.' : *a, y = *b == '_' ? '.' : *b;
        if (x != y)
            return false;
    }
    return *a == *b;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Insertions, deletions, replacements and swaps of neighbours that turn a into b, whatever the
 * case of the letters. */
static int edit_distance(const char *a, const char *b)
{
    enum { LIMIT = 64 };
    int n = (int)strlen(a), m = (int)strlen(b), rows[3][LIMIT + 1];
    if (n > LIMIT || m > LIMIT)
        return LIMIT;
    for (int i = 0; i <= n; i++) {
        int *row = rows[i % 3], *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        row[0] = i;
        for (int j = 1; j <= m; j++) {
            if (i == 0) {
                row[j] = j;
                continue;
            }
            char x = (char)tolower(a[i - 1]), y = (char)tolower(b[j - 1]);
            row[j] = least(above[j - 1] + (x != y), least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && x == tolower(b[j - 2]) && tolower(a[i - 2]) == y)
                row[j] = least(row[j], before[j - 2] + 1);
        }
    }
    return rows[n % 3][m];
}

const char *nearest_word(const char *word, const char *const *candidates, int n)
{
    const char *best = NULL;
    int length = (int)strlen(word), best_distance = length / 3 + 1; /* farther helps nobody */
    for (int i = 0; i < n; i++) {
        bool begun = length > 1 && strncasecmp(word, candidates[i], (size_t)length) == 0;
        int d = begun ? 1 : edit_distance(word, candidates[i]);
        if (d < best_distance) {
            best_distance = d;
            best = candidates[i];
        }
    }
    return best;
}

const char *mete_nearest(const char *word, const char *const *known, int n)
{
    return nearest_word(word, known, n);
}

int fail_unknown(const char *kind, const char *name, const char *const *candidates, int n)
{
    const char *near = nearest_word(name, candidates, n);
    if (near)
        return fail(METE_EINVAL, "no %s named '%s'; did you mean '%s'?", kind, name, near);
    char all[512] = "";
    for (int i = 0; i < n; i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i ? ", " : "", candidates[i]);
    return fail(METE_EINVAL, "no %s named '%s'; there are %s", kind, name, all);
}

/* The known key nearest to `key`, compared with and without its section. */
static const struct param *nearest_row(const struct param_set *set, const char *key, int *section)
{
    const struct param *best = NULL;
    int best_distance = (int)strlen(key) / 2 + 2;
    for (int s = 0; s < set->sections; s++)
        for (const struct param *row = set->section[s].table; row->name; row++) {
            char full[128];
            param_key(&set->section[s], row, full, sizeof full);
            int d = edit_distance(key, full), short_d = edit_distance(key, row->name);
            if (short_d < d)
                d = short_d;
            if (d < best_distance) {
                best_distance = d;
                best = row;
                *section = s;
            }
        }
    return best;
}

const struct param *param_find(const struct param_set *set, const char *key, int *section)
{
    const struct param *found = NULL;
    int matches = 0;
    for (int s = 0; s < set->sections; s++)
        for (const struct param *row = set->section[s].table; row->name; row++) {
            char full[128];
            param_key(&set->section[s], row, full, sizeof full);
            if (same_key(key, full)) {
                *section = s;
                return row;
            }
            if (same_key(key, row->name)) {
                found = row;
                *section = s;
                matches++;
            }
        }
    if (matches == 1)
        return found;
    if (matches > 1) {
        fail(METE_EINVAL, "'%s' is a setting of several sections; write section.%s", key, key);
        return NULL;
    }
    int near_section = 0;
    const struct param *near = nearest_row(set, key, &near_section);
    if (near) {
        char full[128];
        param_key(&set->section[near_section], near, full, sizeof full);
        fail(METE_EINVAL, "no setting named '%s'; did you mean '%s'?", key, full);
    } else {
        fail(METE_EINVAL, "no setting named '%s'; 'mete show NAME' lists those of a plug-in", key);
    }
    return NULL;
}

static int choice_index(const char *choices, const char *text)
{
    size_t n = strlen(text);
    int index = 0;
    for (const char *c = choices; c; index++) {
        const char *end = strchr(c, '|');
        size_t length = end ? (size_t)(end - c) : strlen(c);
        if (length == n && strncmp(c, text, n) == 0)
            return index;
        c = end ? end + 1 : NULL;
    }
    return -1;
}

/* "reuse: expected epochs|draw, got 'epoch'; did you mean 'epochs'?" */
static int unknown_choice(const char *choices, const char *key, const char *text)
{
    enum { MOST = 32 };
    char copy[512];
    const char *word[MOST];
    int n = 0;
    snprintf(copy, sizeof copy, "%s", choices);
    for (char *save = NULL, *at = strtok_r(copy, "|", &save); at && n < MOST;
         at = strtok_r(NULL, "|", &save))
        word[n++] = at;
    const char *near = nearest_word(text, word, n);
    return near ? fail(METE_EINVAL, "%s: expected %s, got '%s'; did you mean '%s'?", key, choices,
                       text, near)
                : fail(METE_EINVAL, "%s: expected %s, got '%s'", key, choices, text);
}

static int parse_bool(const char *text)
{
    static const char *const yes[] = {"yes", "true", "on", "1"};
    static const char *const no[] = {"no", "false", "off", "0"};
    for (int i = 0; i < 4; i++) {
        if (strcasecmp(text, yes[i]) == 0)
            return 1;
        if (strcasecmp(text, no[i]) == 0)
            return 0;
    }
    return -1;
}

/* Numbers may end in K or M: a budget is written 30K. */
static bool parse_real(const char *text, double *out)
{
    char *end;
    errno = 0;
    double value = number_read(text, &end);
    if (end == text || errno == ERANGE)
        return false;
    if ((*end == 'K' || *end == 'k') && !end[1])
        value *= 1e3, end++;
    else if (*end == 'M' && !end[1])
        value *= 1e6, end++;
    *out = value;
    return *end == '\0' && isfinite(value);
}

static int store_number(const struct param *row, void *state, const char *key, const char *text)
{
    double value;
    bool whole = row->type == PARAM_INT;
    if (!parse_real(text, &value) || (whole && value != floor(value)))
        return fail(METE_EINVAL, "%s: expected a %s, got '%s'", key,
                    whole ? "whole number" : "number", text);
    if (value < row->min || value > row->max)
        return fail(METE_EINVAL, "%s: expected %g..%g, got '%s'", key, row->min, row->max, text);
    if (whole)
        *(int *)field(row, state) = (int)value;
    else
        *(double *)field(row, state) = value;
    return 0;
}

static int store_text(const struct param *row, void *state, const char *key, const char *text)
{
    char own[PARAM_TEXT_SIZE];
    if (strlen(text) >= sizeof own)
        return fail(METE_EINVAL, "%s: longer than %d characters", key, PARAM_TEXT_SIZE - 1);
    strcpy(own, text);
    int err = row->canonical ? row->canonical(own) : 0;
    if (err)
        return fail_within(err, "%s", key);
    strcpy(field(row, state), own);
    return 0;
}

int param_store(const struct param *row, void *state, const char *key, const char *text)
{
    int value;
    switch (row->type) {
    case PARAM_INT:
    case PARAM_REAL:
        return store_number(row, state, key, text);
    case PARAM_BOOL:
        if ((value = parse_bool(text)) < 0)
            return fail(METE_EINVAL, "%s: expected yes or no, got '%s'", key, text);
        *(bool *)field(row, state) = value;
        return 0;
    case PARAM_CHOICE:
        if ((value = choice_index(row->choices, text)) < 0)
            return unknown_choice(row->choices, key, text);
        *(int *)field(row, state) = value;
        return 0;
    case PARAM_TEXT:
        return store_text(row, state, key, text);
    }
    return fail(METE_EINVAL, "%s: unknown kind of setting", key);
}

int param_set_text(struct param_set *set, const char *key, const char *text)
{
    int section = 0;
    const struct param *row = param_find(set, key, &section);
    if (!row)
        return METE_EINVAL;
    char full[128];
    param_key(&set->section[section], row, full, sizeof full);
    return param_store(row, set->section[section].state, full, text);
}

int param_set_all(struct param_set *set, const char *const *assignments)
{
    for (int i = 0; assignments && assignments[i]; i++) {
        char key[128];
        const char *equals = strchr(assignments[i], '=');
        size_t length = equals ? (size_t)(equals - assignments[i]) : 0;
        if (length == 0 || length >= sizeof key)
            return fail(METE_EINVAL, "expected key=value, got '%s'", assignments[i]);
        memcpy(key, assignments[i], length);
        key[length] = '\0';
        int err = param_set_text(set, key, equals + 1);
        if (err)
            return err;
    }
    return 0;
}

static void copy_choice(const char *choices, int index, char *out, size_t size)
{
    const char *c = choices;
    while (index-- > 0)
        c = strchr(c, '|') + 1;
    const char *end = strchr(c, '|');
    snprintf(out, size, "%.*s", end ? (int)(end - c) : (int)strlen(c), c);
}

void number_text(double value, char *out, size_t size)
{
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(out, size, "%.*g", digits, value);
        if (number_read(out, NULL) == value)
            return;
    }
}

void param_text(const struct param *row, const void *state, char *out, size_t size)
{
    const void *at = field_const(row, state);
    switch (row->type) {
    case PARAM_INT:
        snprintf(out, size, "%d", *(const int *)at);
        break;
    case PARAM_REAL:
        number_text(*(const double *)at, out, size);
        break;
    case PARAM_BOOL:
        snprintf(out, size, "%s", *(const bool *)at ? "yes" : "no");
        break;
    case PARAM_CHOICE:
        copy_choice(row->choices, *(const int *)at, out, size);
        break;
    case PARAM_TEXT:
        snprintf(out, size, "%s", (const char *)at);
        break;
    }
}

void param_range(const struct param *row, char *out, size_t size)
{
    switch (row->type) {
    case PARAM_INT:
    case PARAM_REAL:
        snprintf(out, size, "%g..%g", row->min, row->max);
        break;
    case PARAM_BOOL:
        snprintf(out, size, "yes|no");
        break;
    case PARAM_CHOICE:
        snprintf(out, size, "%s", row->choices);
        break;
    case PARAM_TEXT:
        snprintf(out, size, "text");
        break;
    }
}
