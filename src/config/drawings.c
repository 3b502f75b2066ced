/* drawings.c - the tables and figures a suite asks for. */
#include "config/suite_own.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* What every result has besides its settings. */
static const char *const fields[] = {"dataset", "ways",   "shots", "test_shots", "budget",
                                     "method",  "labels", "net",   "bench",      "seed",
                                     "tasks",   "bn",     "model", "support"};
enum { FIELDS = sizeof fields / sizeof *fields };

static bool is_field(const struct suite *s, const char *word)
{
    for (int i = 0; i < FIELDS; i++)
        if (strcmp(fields[i], word) == 0)
            return true;
    for (int r = 0; r < s->n_runs; r++)
        if (settings_get(&s->runs[r], word))
            return true;
    return false;
}

static int check_field(const struct suite *s, const struct yaml *y)
{
    if (y->kind != YAML_TEXT)
        return fail(METE_EINVAL, "%s:%d:%d: expected the name of a field, got %s", s->path, y->line,
                    y->column, yaml_kind_name(y));
    if (is_field(s, y->text))
        return 0;
    const char *near = nearest_word(y->text, fields, FIELDS);
    return fail(METE_EINVAL, "%s:%d:%d: results have no field '%s'%s%s%s", s->path, y->line,
                y->column, y->text,
                near ? "; did you mean '" : "; use dataset, budget, method, ...", near ? near : "",
                near ? "'?" : "");
}

/* One field or a list of them, joined by ','. */
static int read_fields(const struct suite *s, const struct yaml *y, char **out)
{
    char *joined = mem_string("");
    const struct yaml *item = y && y->kind == YAML_LIST ? y->child : y;
    int n = !y ? 0 : y->kind == YAML_LIST ? y->n : 1, err = 0;
    for (int i = 0; !err && i < n; i++) {
        err = check_field(s, &item[i]);
        if (!err) {
            char *longer = mem_print("%s%s%s", joined, i ? "," : "", item[i].text);
            free(joined);
            joined = longer;
        }
    }
    *out = joined;
    return err;
}

static int check_keys(const struct suite *s, const struct yaml *y, const char *const *keys, int n)
{
    if (y->kind != YAML_MAP)
        return fail(METE_EINVAL, "%s:%d:%d: expected a map, got %s", s->path, y->line, y->column,
                    yaml_kind_name(y));
    for (int i = 0; i < y->n; i++) {
        bool known = false;
        for (int k = 0; k < n; k++)
            known |= strcmp(y->child[i].key, keys[k]) == 0;
        const char *near = nearest_word(y->child[i].key, keys, n);
        if (!known)
            return fail(METE_EINVAL, "%s:%d:%d: no '%s' here%s%s%s", s->path, y->child[i].key_line,
                        y->child[i].key_column, y->child[i].key, near ? "; did you mean '" : "",
                        near ? near : "", near ? "'?" : "");
    }
    return 0;
}

static int read_drawing(struct suite *s, const struct yaml *y, bool figure)
{
    static const char *const table_keys[] = {"title", "rows", "columns"};
    static const char *const figure_keys[] = {"title", "x", "lines", "panels"};
    int err = check_keys(s, y, figure ? figure_keys : table_keys, figure ? 4 : 3);
    if (err)
        return err;
    const struct yaml *title = yaml_get(y, "title"), *x = yaml_get(y, "x");
    const struct yaml *rows = yaml_get(y, figure ? "panels" : "rows");
    const struct yaml *columns = yaml_get(y, figure ? "lines" : "columns");
    if (!title || title->kind != YAML_TEXT || !columns || (figure ? !x : !rows))
        return fail(METE_EINVAL, "%s:%d:%d: expected %s", s->path, y->line, y->column,
                    figure ? "{title: ..., x: field, lines: [fields], panels: [fields]}"
                           : "{title: ..., rows: [fields], columns: [fields]}");
    s->drawings = mem_grow(s->drawings, (size_t)s->n_drawings + 1, sizeof *s->drawings);
    struct drawing *d = &s->drawings[s->n_drawings++];
    *d = (struct drawing){.figure = figure, .title = mem_string(title->text)};
    if (figure)
        err = check_field(s, x);
    if (figure && !err)
        d->x = mem_string(x->text);
    if (!err)
        err = read_fields(s, rows, &d->rows);
    return err ? err : read_fields(s, columns, &d->columns);
}

int read_drawings(struct suite *s, const struct yaml *top)
{
    for (int figure = 0; figure < 2; figure++) {
        const struct yaml *list = yaml_get(top, figure ? "figures" : "tables");
        if (list && list->kind != YAML_LIST)
            return fail(METE_EINVAL, "%s:%d:%d: %s: expected a list", s->path, list->line,
                        list->column, list->key);
        for (int i = 0; list && i < list->n; i++) {
            int err = read_drawing(s, &list->child[i], figure);
            if (err)
                return err;
        }
    }
    return 0;
}
