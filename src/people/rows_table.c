/* rows_table.c - rows of a CSV table that was never imported: the columns that the model was
 * trained on are found by their names, and filled and standardised as they were then.
 */
#include "people/rows.h"
#include "data/csv.h"
#include "data/file_iter.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/param.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct table_state {
    struct file_iter *file;
    struct csv csv;
    int *from; /* (columns) of the file */
    int width; /* fields of a record */
    double *raw;
};

static bool suits(const char *path)
{
    static const char *const names[] = {".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (path_ends(path, names[i]))
            return true;
    return false;
}

static int find_columns(struct rows *r, struct table_state *t)
{
    const struct columns *c = &r->model->columns;
    t->width = t->csv.n;
    t->from = mem_array((size_t)c->n + 1, sizeof *t->from);
    t->raw = mem_array((size_t)c->features + 1, sizeof *t->raw);
    for (int i = 0; i < c->n; i++) {
        const char *name = c->at[i].name;
        t->from[i] = csv_find(&t->csv, name);
        if (t->from[i] >= 0)
            continue;
        const char *near = nearest_word(name, (const char *const *)t->csv.field, t->csv.n);
        return near ? csv_fail(&t->csv, 0, "no column '%s', which the model takes; is it '%s'?",
                               name, near)
                    : csv_fail(&t->csv, 0, "no column '%s', which the model takes, among %d", name,
                               t->csv.n);
    }
    return 0;
}

static int open_table(struct rows *r)
{
    struct table_state *t = r->state = mem_alloc(sizeof *t);
    bool more = false;
    if (!r->model->columns.n)
        return fail(METE_EINVAL,
                    "%s is a table, and %s was not trained on one; give it what it takes as .npy",
                    r->path, r->model->name);
    int err = file_iter_open_plain(&t->file, r->path);
    if (err)
        return err;
    csv_open(&t->csv, r->path, CSV_ANY_SEPARATOR, file_iter_read, t->file);
    err = csv_next(&t->csv, &more);
    if (!err && !more)
        err = csv_fail(&t->csv, 0, "expected a line of column names");
    return err ? err : find_columns(r, t);
}

static int read_field(struct rows *r, struct table_state *t, int i)
{
    const struct columns *c = &r->model->columns;
    const char *text = t->csv.field[t->from[i]];
    r->missing += field_missing(text);
    int err = column_read(c, i, text, t->raw + c->at[i].first);
    if (err) {
        char *what = mem_string(mete_errmsg());
        csv_fail(&t->csv, t->from[i], "column '%s': %s", c->at[i].name, what);
        free(what);
    }
    return err;
}

static int next_row(struct rows *r, void *x, bool *more)
{
    struct table_state *t = r->state;
    const struct columns *c = &r->model->columns;
    char line[24];
    int err = csv_next(&t->csv, more);
    if (err || !*more)
        return err;
    if (t->csv.n != t->width)
        return csv_fail(&t->csv, t->csv.n - 1, "%d fields, expected %d", t->csv.n, t->width);
    for (int i = 0; i < c->n && !err; i++)
        err = read_field(r, t, i);
    if (!err && (err = columns_finish(c, t->raw, x)))
        err = fail_within(err, "%s:%" PRId64, r->path, t->csv.line);
    snprintf(line, sizeof line, "%" PRId64, t->csv.line);
    rows_place(r, line);
    return err;
}

static void close_table(void *state)
{
    struct table_state *t = state;
    csv_close(&t->csv);
    file_iter_close(t->file);
    free(t->from);
    free(t->raw);
    free(t);
}

const struct rows_ops rows_table = {
    .word = "line", .suits = suits, .open = open_table, .next = next_row, .close = close_table};
