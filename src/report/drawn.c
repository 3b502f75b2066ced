/* drawn.c - reading the tables and figures asked for. */
#include "report/drawn.h"
#include "store/store_sql.h"

#ifdef METE_HAVE_SQLITE
#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static struct drawn *add(struct drawn_list *d)
{
    d->at = mem_grow(d->at, (size_t)d->n + 1, sizeof *d->at);
    d->at[d->n] = (struct drawn){0};
    return &d->at[d->n++];
}

static int check_suite(struct store *s, const char *suite)
{
    sqlite3_stmt *stmt = NULL;
    int err = sql_prepare(s, &stmt, "SELECT max(name = ?), group_concat(name, ', ') FROM suites");
    if (!err) {
        sql_bind(stmt, "t", suite);
        int row = sql_row(s, stmt);
        const char *names = (const char *)sqlite3_column_text(stmt, 1);
        err = row < 0 ? row : 0;
        if (!err && !sqlite3_column_int(stmt, 0))
            err = fail(METE_EINVAL, "%s has no suite '%s'; it has: %s", store_path(s), suite,
                       names ? names : "none");
    }
    sqlite3_finalize(stmt);
    return err;
}

int drawn_read(struct drawn_list *out, struct store *s, const char *suite)
{
    struct drawn_list d = {0};
    sqlite3_stmt *stmt = NULL;
    bool tables = false;
    int row = 0, err = suite ? check_suite(s, suite) : 0;
    if (!err)
        err = sql_prepare(s, &stmt,
                          "SELECT name, kind = 'figure', title, x, row_fields, column_fields"
                          " FROM drawings JOIN suites USING (suite) WHERE ?1 IS NULL OR name = ?1"
                          " ORDER BY suite, number");
    if (!err)
        sql_bind(stmt, "t", suite);
    while (!err && (row = sql_row(s, stmt)) == 1) {
        *add(&d) =
            (struct drawn){sql_text(stmt, 0), sqlite3_column_int(stmt, 1), sql_text(stmt, 2),
                           sql_text(stmt, 3), sql_text(stmt, 4),           sql_text(stmt, 5)};
        tables |= !d.at[d.n - 1].figure;
    }
    sqlite3_finalize(stmt);
    err = err ? err : row < 0 ? row : 0;
    if (!err && !tables)
        *add(&d) = (struct drawn){.suite = suite ? mem_string(suite) : NULL,
                                  .title = mem_string("Accuracy at a fixed label budget"),
                                  .rows = mem_string("dataset,ways,test_shots,budget"),
                                  .columns = mem_string("method,labels")};
    if (err)
        drawn_release(&d);
    else
        *out = d;
    return err;
}

void drawn_release(struct drawn_list *d)
{
    for (int i = 0; i < d->n; i++) {
        free(d->at[i].suite);
        free(d->at[i].title);
        free(d->at[i].x);
        free(d->at[i].rows);
        free(d->at[i].columns);
    }
    free(d->at);
    *d = (struct drawn_list){0};
}
#endif
