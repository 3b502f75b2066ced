/* table.c - arranging results, choosing among variants, and saying how. */
#include "report/table.h"
#include "report/prepare.h"
#include "store/store_sql.h"

#ifdef METE_HAVE_SQLITE
#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *axis_value(const struct table_axis *a, int i, int field)
{
    return a->value[i * a->fields + field];
}

int axis_field(const struct table_axis *a, const char *name)
{
    for (int f = 0; f < a->fields; f++)
        if (strcmp(a->field[f], name) == 0)
            return f;
    return -1;
}

const struct cell *table_cell(const struct table *t, int row, int column)
{
    return &t->cells[row * t->columns.n + column];
}

double cell_half(const struct cell *c)
{
    const struct result *r = c->chosen;
    return r->seeds >= SEEDS_ENOUGH || isnan(r->half_tasks) ? r->half_seeds : r->half_tasks;
}

static int add_field(struct table_axis *a, const char *name, size_t n)
{
    if (a->fields == TABLE_FIELDS)
        return fail(METE_EINVAL, "a table has more than %d fields", TABLE_FIELDS);
    a->field[a->fields++] = mem_print("%.*s", (int)n, name);
    return 0;
}

static int split_fields(struct table_axis *a, const char *fields)
{
    int err = 0;
    while (!err && *fields) {
        size_t n = strcspn(fields, ",");
        err = add_field(a, fields, n);
        fields += n + (fields[n] == ',');
    }
    return err;
}

/* Whether two results that would share a row were tested differently in setting `name`. */
static bool differs_in_a_row(const struct table *t, const char *name, const char *usual)
{
    int n = t->results->n;
    char *(*row)[TABLE_FIELDS] = mem_array((size_t)n + 1, sizeof *row);
    char **value = mem_array((size_t)n + 1, sizeof *value);
    bool differs = false;
    for (int i = 0; i < n; i++) {
        value[i] = result_get(t->results, &t->results->at[i], name);
        if (!*value[i]) { /* an older run, from before there was a choice */
            free(value[i]);
            value[i] = mem_string(usual);
        }
        differs |= strcmp(value[i], value[0]) != 0;
    }
    for (int i = 0; i < n && differs; i++)
        for (int f = 0; f < t->rows.fields; f++)
            row[i][f] = result_get(t->results, &t->results->at[i], t->rows.field[f]);
    bool any = false;
    for (int i = 0; i < n && differs && !any; i++)
        for (int k = 0; k < i && !any; k++) {
            bool same = strcmp(value[i], value[k]) != 0;
            for (int f = 0; f < t->rows.fields && same; f++)
                same = strcmp(row[i][f], row[k][f]) == 0;
            any = same;
        }
    for (int i = 0; i < n; i++) {
        for (int f = 0; f < t->rows.fields && differs; f++)
            free(row[i][f]);
        free(value[i]);
    }
    free(row);
    free(value);
    return any;
}

/* Different tests never stand side by side: a setting that makes them different joins the rows. */
static int add_test_settings(struct table *t)
{
    static const struct {
        const char *name, *usual;
    } settings[] = {{"data.split", "auto"}, {"data.split_seed", "0"}, {"data.folds", "0"},
                    {"test.seed", "0"},     {"test.query", "1"},      {"test.tasks", "600"},
                    {"test.repeats", "1"},  {"test.holdout", "0.2"}};
    int err = 0;
    for (size_t i = 0; !err && i < sizeof settings / sizeof *settings; i++) {
        const char *name = settings[i].name;
        if (axis_field(&t->rows, name) < 0 && axis_field(&t->columns, name) < 0 &&
            differs_in_a_row(t, name, settings[i].usual))
            err = add_field(&t->rows, name, strlen(name));
    }
    return err;
}

/* Learners without batch norm ("none") were tested by whatever mode the others have. */
static bool protocol_varies(const struct table *t, const char *name)
{
    char *first = NULL;
    bool varies = false;
    for (int i = 0; !varies && i < t->results->n; i++) {
        char *value = result_get(t->results, &t->results->at[i], name);
        bool counts = strcmp(name, "bn") != 0 || strcmp(value, "none") != 0;
        varies = counts && first && strcmp(first, value) != 0;
        if (counts && !first)
            first = value;
        else
            free(value);
    }
    free(first);
    return varies;
}

/* The protocol of a test is not chosen: what varies and is not asked for joins the
 * rows, unless a field that is asked for settles it. */
static int add_protocol(struct table *t)
{
    static const char *const protocol[] = {"dataset",    "ways",    "budget",
                                           "test_shots", "support", "bn"};
    int err = 0;
    bool by_tasks = axis_field(&t->rows, "tasks") >= 0 || axis_field(&t->columns, "tasks") >= 0;
    for (int i = 0; !err && i < 6; i++) {
        const char *name = protocol[i];
        if (axis_field(&t->rows, name) >= 0 || axis_field(&t->columns, name) >= 0 ||
            (by_tasks && strcmp(name, "budget") == 0))
            continue;
        if (protocol_varies(t, name))
            err = add_field(&t->rows, name, strlen(name));
    }
    return err;
}

static int find_tuple(const struct table_axis *a, char *const *tuple)
{
    for (int i = 0; i < a->n; i++) {
        bool same = true;
        for (int f = 0; same && f < a->fields; f++)
            same = strcmp(axis_value(a, i, f), tuple[f]) == 0;
        if (same)
            return i;
    }
    return -1;
}

static void get_tuple(const struct result_list *all, const struct result *r,
                      const struct table_axis *a, char **tuple)
{
    for (int f = 0; f < a->fields; f++)
        tuple[f] = result_get(all, r, a->field[f]);
}

static void free_tuple(char **tuple, int n)
{
    for (int f = 0; f < n; f++)
        free(tuple[f]);
}

/* All tuples of values that occur, in the order of the runs. */
static void collect_values(struct table_axis *a, const struct result_list *all)
{
    for (int i = 0; i < all->n; i++) {
        char *tuple[TABLE_FIELDS];
        get_tuple(all, &all->at[i], a, tuple);
        if (find_tuple(a, tuple) >= 0) {
            free_tuple(tuple, a->fields);
            continue;
        }
        a->value = mem_grow(a->value, (size_t)(a->n + 1) * (size_t)a->fields, sizeof *a->value);
        if (a->fields)
            memcpy(a->value + (size_t)a->n * (size_t)a->fields, tuple,
                   (size_t)a->fields * sizeof *tuple);
        a->n++;
    }
}

/* Where value `text` of a field first occurs: texts keep the order of the suite. */
static int first_seen(const struct table_axis *a, int field, const char *text)
{
    int i = 0;
    while (strcmp(axis_value(a, i, field), text) != 0)
        i++;
    return i;
}

static bool is_number(const char *text)
{
    char *end;
    number_read(text, &end);
    return !*text || !*end;
}

static int compare_tuples(const struct table_axis *a, const struct table_axis *seen, int i, int j)
{
    for (int f = 0; f < a->fields; f++) {
        const char *x = axis_value(a, i, f), *y = axis_value(a, j, f);
        int order = is_number(x) && is_number(y) ? result_compare(x, y)
                                                 : first_seen(seen, f, x) - first_seen(seen, f, y);
        if (order)
            return order;
    }
    return 0;
}

/* Field by field: numbers by size, texts as the suite has them. */
static void sort_axis(struct table_axis *a)
{
    struct table_axis seen = *a;
    size_t bytes = (size_t)a->n * (size_t)a->fields * sizeof *a->value;
    if (bytes == 0)
        return;
    seen.value = mem_alloc(bytes);
    memcpy(seen.value, a->value, bytes);
    for (int i = 1; i < a->n; i++)
        for (int j = i; j > 0 && compare_tuples(a, &seen, j, j - 1) < 0; j--)
            for (int f = 0; f < a->fields; f++) {
                char **x = &a->value[j * a->fields + f], **y = x - a->fields, *swap = *x;
                *x = *y;
                *y = swap;
            }
    free(seen.value);
}

static bool is_better(const struct result *a, const struct result *b)
{
    if (isnan(a->valid_accuracy) || isnan(b->valid_accuracy))
        return isnan(b->valid_accuracy) && !isnan(a->valid_accuracy);
    return a->valid_accuracy > b->valid_accuracy;
}

static int cell_of(const struct table *t, const struct result *r)
{
    char *row[TABLE_FIELDS], *column[TABLE_FIELDS];
    get_tuple(t->results, r, &t->rows, row);
    get_tuple(t->results, r, &t->columns, column);
    int i = find_tuple(&t->rows, row), j = find_tuple(&t->columns, column);
    free_tuple(row, t->rows.fields);
    free_tuple(column, t->columns.fields);
    return i * t->columns.n + j;
}

/* The paper's cells are the best over training shots: a table that shows those, or a
 * setting, has nothing to hold against them. */
static bool is_comparable(const struct table *t)
{
    static const char known[] = ",dataset,ways,budget,test_shots,support,bn,method,labels,";
    for (int side = 0; side < 2; side++) {
        const struct table_axis *a = side ? &t->columns : &t->rows;
        for (int f = 0; f < a->fields; f++) {
            char *word = mem_print(",%s,", a->field[f]);
            bool found = strstr(known, word) != NULL;
            free(word);
            if (!found)
                return false;
        }
    }
    return true;
}

static void look_up_paper(struct table *t, struct cell *c)
{
    char *const *f = c->chosen->field;
    bool fedavg = false;
    for (int i = 0; i < t->results->n; i++)
        fedavg |= strcmp(t->results->at[i].field[FIELD_METHOD], "fedavg") == 0;
    struct paper_cell at = {.dataset = f[FIELD_DATASET],
                            .method = f[FIELD_METHOD],
                            .labels = f[FIELD_LABELS],
                            .ways = atoi(f[FIELD_WAYS]),
                            .shots = atoi(f[FIELD_TEST_SHOTS]),
                            .budget = atoll(f[FIELD_BUDGET])};
    c->has_paper = paper_find(&at, fedavg, &c->paper);
}

/* The settings in which the variants of a cell differ, as the chosen has them. */
static char *describe_choice(const struct table *t, const struct cell *c, struct result **in, int n)
{
    struct text out = {0};
    sqlite3_stmt *stmt = NULL;
    struct store *s = t->results->store;
    bool shots = false;
    for (int i = 0; i < n; i++)
        shots |= strcmp(in[i]->field[FIELD_SHOTS], c->chosen->field[FIELD_SHOTS]) != 0;
    if (shots)
        text_print(&out, "training shots %s", c->chosen->field[FIELD_SHOTS]);
    int err = sql_prepare(s, &stmt,
                          "SELECT a.key, a.value, EXISTS (SELECT 1 FROM settings b WHERE b.run = ?2"
                          " AND b.key = a.key AND b.value <> a.value) FROM settings a"
                          " WHERE a.run = ?1 AND a.key NOT IN ('shots', 'bench')");
    for (int i = 0; !err && i < n; i++) {
        if (in[i] == c->chosen)
            continue;
        sql_bind(stmt, "ll", c->chosen->first_run, in[i]->first_run);
        while (sql_row(s, stmt) == 1) {
            char *key = sql_text(stmt, 0), *value = sql_text(stmt, 1);
            char *pair = mem_print("%s %s", key, value);
            free(key);
            free(value);
            if (sqlite3_column_int(stmt, 2) && !(out.at && strstr(out.at, pair)))
                text_print(&out, "%s%s", out.size ? ", " : "", pair);
            free(pair);
        }
    }
    sqlite3_finalize(stmt);
    return out.size ? text_take(&out) : NULL;
}

static void describe_choices(struct table *t)
{
    struct result **in = mem_array((size_t)t->results->n + 1, sizeof *in);
    bool comparable = is_comparable(t);
    for (int k = 0; k < t->rows.n * t->columns.n; k++) {
        struct cell *c = &t->cells[k];
        int n = 0;
        if (!c->chosen)
            continue;
        if (comparable)
            look_up_paper(t, c);
        for (int i = 0; c->variants > 1 && i < t->results->n; i++)
            if (t->where[i] == k)
                in[n++] = &t->results->at[i];
        if (n > 1)
            c->choice = describe_choice(t, c, in, n);
    }
    free(in);
}

/* Half the width of the interval, 0 where there is none. */
static double spread(const struct cell *c)
{
    double half = cell_half(c);
    return isnan(half) ? 0 : half;
}

/* All that cannot be told apart from the best: equal as printed, to a tenth of a per cent, or
 * closer than both intervals together reach. */
static void mark_best(struct table *t)
{
    for (int i = 0; i < t->rows.n; i++) {
        const struct cell *best = NULL;
        for (int j = 0; j < t->columns.n; j++) {
            const struct cell *c = table_cell(t, i, j);
            if (c->chosen && (!best || c->chosen->accuracy > best->chosen->accuracy))
                best = c;
        }
        for (int j = 0; j < t->columns.n; j++) {
            struct cell *c = &t->cells[i * t->columns.n + j];
            double apart = c->chosen ? best->chosen->accuracy - c->chosen->accuracy : INFINITY;
            c->best =
                c->chosen && (round(1000 * apart) == 0 || apart <= hypot(spread(best), spread(c)));
        }
    }
}

/* A run that is not done belongs to all rows that agree with what is known of it. */
static bool in_row(const struct table *t, const struct result *r, int row)
{
    bool agrees = true;
    for (int f = 0; agrees && f < t->rows.fields; f++) {
        const char *name = t->rows.field[f];
        char *value = result_get(t->results, r, name);
        bool unknown = !*value && strcmp(name, "budget") != 0;
        agrees = unknown || strcmp(value, axis_value(&t->rows, row, f)) == 0;
        free(value);
    }
    return agrees;
}

static void count_missing(struct table *t)
{
    t->missing = mem_array((size_t)t->rows.n + 1, sizeof *t->missing);
    for (int i = 0; i < t->rows.n; i++)
        for (int k = 0; k < t->results->n_missing; k++)
            t->missing[i] += in_row(t, &t->results->missing[k], i);
}

int table_open(struct table *out, const struct result_list *r, const char *title, const char *rows,
               const char *columns)
{
    struct table t = {.title = mem_string(title), .results = r};
    int err = split_fields(&t.rows, rows);
    if (!err)
        err = split_fields(&t.columns, columns);
    if (!err)
        err = add_protocol(&t);
    if (!err)
        err = add_test_settings(&t);
    if (err) {
        table_release(&t);
        return err;
    }
    collect_values(&t.rows, r);
    collect_values(&t.columns, r);
    sort_axis(&t.rows);
    sort_axis(&t.columns);
    t.cells = mem_array((size_t)t.rows.n * (size_t)t.columns.n + 1, sizeof *t.cells);
    t.where = mem_array((size_t)r->n + 1, sizeof *t.where);
    for (int i = 0; i < r->n; i++) {
        struct cell *c = &t.cells[t.where[i] = cell_of(&t, &r->at[i])];
        c->variants++;
        if (!c->chosen || is_better(&r->at[i], c->chosen))
            c->chosen = &r->at[i];
    }
    describe_choices(&t);
    mark_best(&t);
    count_missing(&t);
    *out = t;
    return 0;
}

static void axis_release(struct table_axis *a)
{
    for (int i = 0; i < a->n * a->fields; i++)
        free(a->value[i]);
    for (int f = 0; f < a->fields; f++)
        free(a->field[f]);
    free(a->value);
}

void table_release(struct table *t)
{
    for (int i = 0; t->cells && i < t->rows.n * t->columns.n; i++)
        free(t->cells[i].choice);
    free(t->cells);
    free(t->where);
    free(t->missing);
    axis_release(&t->rows);
    axis_release(&t->columns);
    free(t->title);
    *t = (struct table){0};
}
#endif
