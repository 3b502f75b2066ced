/* results_read.c - reading results from the store, and naming their fields. */
#include "report/results.h"
#include "store/store_sql.h"

#ifdef METE_HAVE_SQLITE
#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const field_names[FIELDS] = {
#define X(id, name) name,
    RESULT_FIELDS(X)
#undef X
};

static double real_or_nan(sqlite3_stmt *row, int column)
{
    return sqlite3_column_type(row, column) == SQLITE_NULL ? NAN
                                                           : sqlite3_column_double(row, column);
}

/* The fields come first, in their order; then the numbers; shares are over all tests of a row. */
static const char query[] =
    "SELECT dataset, ways, shots, budget, method, labels, net, bench, test_shots, support, bn,"
    " model, CAST(train_tasks AS INTEGER), variant, first_run, seeds, accuracy, half_seeds,"
    " half_tasks, accuracy_before, ece, valid_accuracy, labels_used,"
    " (SELECT sum(t.tasks) FROM tests t JOIN runs r USING (run) WHERE r.variant = a.variant"
    "  AND r.seed = (SELECT seed FROM runs WHERE run = first_run) AND t.model = a.model"
    "  AND t.shots = a.test_shots AND t.support = a.support AND t.bn = a.bn),"
    " (SELECT user FROM task_results WHERE run = first_run LIMIT 1) IS NOT NULL,"
    " worse, kept, adapted, adapted_worse FROM accuracy_seeds a JOIN"
    " (SELECT r.variant AS v, t.model AS m, t.shots AS n, t.support AS s, t.bn AS b,"
    "   sum(t.worse_share * t.tasks) / sum(t.tasks) AS worse,"
    "   sum(t.kept_share * t.tasks) / sum(t.tasks) AS kept,"
    "   sum(t.adapted_accuracy * t.tasks) / sum(t.tasks) AS adapted,"
    "   sum(t.adapted_worse_share * t.tasks) / sum(t.tasks) AS adapted_worse"
    "  FROM tests t JOIN runs r USING (run) GROUP BY v, m, n, s, b)"
    " ON v = variant AND m = model AND n = test_shots AND s = support AND b = bn"
    " WHERE model = ?1 AND (?2 IS NULL OR EXISTS (SELECT 1 FROM suite_runs"
    "  JOIN suites USING (suite) JOIN runs r USING (run) WHERE name = ?2"
    "  AND r.variant = a.variant)) ORDER BY first_run, abs(test_shots), support, bn";

static void fill(struct result *r, sqlite3_stmt *row)
{
    for (int f = 0; f < FIELDS; f++)
        r->field[f] = sql_text(row, f);
    char *variant = sql_text(row, FIELDS);
    snprintf(r->variant, sizeof r->variant, "%s", variant);
    free(variant);
    r->first_run = sqlite3_column_int64(row, FIELDS + 1);
    r->seeds = sqlite3_column_int(row, FIELDS + 2);
    double *const numbers[] = {&r->accuracy,        &r->half_seeds, &r->half_tasks,
                               &r->accuracy_before, &r->ece,        &r->valid_accuracy,
                               &r->labels_used};
    for (int i = 0; i < 7; i++)
        *numbers[i] = real_or_nan(row, FIELDS + 3 + i);
    r->test_tasks = sqlite3_column_int(row, FIELDS + 10);
    r->users = sqlite3_column_int(row, FIELDS + 11);
    double *const shares[] = {&r->worse_share, &r->kept_share, &r->adapted_accuracy,
                              &r->adapted_worse_share};
    for (int i = 0; i < 4; i++)
        *shares[i] = real_or_nan(row, FIELDS + 12 + i);
    if (*r->field[FIELD_TEST_SHOTS] == '-') { /* so many labels in all */
        char *all = mem_print("%s labels", r->field[FIELD_TEST_SHOTS] + 1);
        free(r->field[FIELD_TEST_SHOTS]);
        r->field[FIELD_TEST_SHOTS] = all;
    }
}

static int count_runs(struct result_list *out, struct store *s, const char *suite)
{
    sqlite3_stmt *stmt = NULL;
    int err = sql_prepare(s, &stmt,
                          "SELECT sum(status = 'done'), sum(status = 'planned'),"
                          " sum(status = 'running'), sum(status = 'failed') FROM runs"
                          " WHERE ?1 IS NULL OR run IN (SELECT run FROM suite_runs"
                          " JOIN suites USING (suite) WHERE name = ?1)");
    if (!err) {
        sql_bind(stmt, "t", suite);
        int row = sql_row(s, stmt);
        err = row < 0 ? row : 0;
        out->done = sqlite3_column_int(stmt, 0);
        out->planned = sqlite3_column_int(stmt, 1);
        out->running = sqlite3_column_int(stmt, 2);
        out->failed = sqlite3_column_int(stmt, 3);
    }
    sqlite3_finalize(stmt);
    return err;
}

static int read_missing(struct result_list *out, struct store *s, const char *suite)
{
    sqlite3_stmt *stmt = NULL;
    int row = 0,
        err = sql_prepare(s, &stmt,
                          "SELECT dataset, ways, shots, budget, method, labels, net, bench, '', '',"
                          " '', '', '', run FROM runs WHERE status <> 'done' AND (?1 IS NULL OR run"
                          " IN (SELECT run FROM suite_runs JOIN suites USING (suite) WHERE name ="
                          " ?1)) ORDER BY run");
    if (!err)
        sql_bind(stmt, "t", suite);
    while (!err && (row = sql_row(s, stmt)) == 1) {
        out->missing = mem_grow(out->missing, (size_t)out->n_missing + 1, sizeof *out->missing);
        struct result *r = &out->missing[out->n_missing++];
        *r = (struct result){.first_run = sqlite3_column_int64(stmt, FIELDS)};
        for (int f = 0; f < FIELDS; f++)
            r->field[f] = sql_text(stmt, f);
    }
    sqlite3_finalize(stmt);
    return err ? err : row < 0 ? row : 0;
}

int result_list_read(struct result_list *out, struct store *s, const char *suite, const char *model)
{
    struct result_list r = {.store = s};
    sqlite3_stmt *stmt = NULL;
    int row = 0, err = sql_prepare(s, &stmt, query);
    if (!err)
        sql_bind(stmt, "tt", model, suite);
    while (!err && (row = sql_row(s, stmt)) == 1) {
        r.at = mem_grow(r.at, (size_t)r.n + 1, sizeof *r.at);
        fill(&r.at[r.n++], stmt);
    }
    err = err ? err : row < 0 ? row : count_runs(&r, s, suite);
    if (!err)
        err = read_missing(&r, s, suite);
    sqlite3_finalize(stmt);
    if (err)
        result_list_release(&r);
    else
        *out = r;
    return err;
}

static void free_fields(struct result *at, int n)
{
    for (int i = 0; i < n; i++)
        for (int f = 0; f < FIELDS; f++)
            free(at[i].field[f]);
    free(at);
}

void result_list_release(struct result_list *r)
{
    free_fields(r->at, r->n);
    free_fields(r->missing, r->n_missing);
    *r = (struct result_list){0};
}

char *result_get(const struct result_list *all, const struct result *r, const char *name)
{
    for (int f = 0; f < FIELDS; f++)
        if (strcmp(field_names[f], name) == 0)
            return mem_string(r->field[f]);
    sqlite3_stmt *stmt = NULL;
    char *value = NULL;
    if (sql_prepare(all->store, &stmt, "SELECT value FROM settings WHERE run = ? AND key = ?") ==
        0) {
        sql_bind(stmt, "lt", r->first_run, name);
        if (sql_row(all->store, stmt) == 1)
            value = sql_text(stmt, 0);
    }
    sqlite3_finalize(stmt);
    return value ? value : mem_string("");
}

/* 30000 as 30K, 1500000 as 1.5M. */
static char *show_count(const char *value)
{
    double n = number_read(value, NULL);
    if (n >= 1e6)
        return mem_print("%.4gM", n / 1e6);
    return n >= 1e4 || (n >= 1000 && fmod(n, 1000) == 0) ? mem_print("%.4gK", n / 1e3)
                                                         : mem_string(value);
}

char *result_show(const char *name, const char *value)
{
    if (strcmp(name, "budget") == 0)
        return *value ? show_count(value) : mem_string("no cap");
    if (strcmp(name, "tasks") == 0)
        return show_count(value);
    if (strcmp(name, "ways") == 0)
        return strcmp(value, "0") == 0 ? mem_string("-") : mem_print("%sw", value);
    if (strcmp(name, "test_shots") == 0 || strcmp(name, "shots") == 0)
        return strchr(value, ' ') ? mem_string(value) : mem_print("%ss", value);
    return mem_string(*value ? value : "-");
}

char *result_head(const char *name, const char *value)
{
    return strchr(name, '.') ? mem_print("%s=%s", name, *value ? value : "-")
                             : result_show(name, value);
}

const char *field_title(const char *name)
{
    if (strcmp(name, "test_shots") == 0)
        return "test shots";
    if (strcmp(name, "shots") == 0)
        return "training shots";
    return strcmp(name, "bn") == 0 ? "batch norm" : name;
}

int result_compare(const char *a, const char *b)
{
    char *end_a, *end_b;
    double x = number_read(a, &end_a), y = number_read(b, &end_b);
    if (*a && *b && !*end_a && !*end_b)
        return (x > y) - (x < y);
    if (!*a != !*b) /* no cap comes after every cap */
        return !*a - !*b;
    return strcmp(a, b);
}
#endif
