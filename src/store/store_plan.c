/* store_plan.c - recording a suite and the runs it asks for. */
#include "store/store_identity.h"

#ifdef METE_HAVE_SQLITE
#include "base/error.h"

#include <string.h>

static int put_settings(struct store *s, int64_t number, const struct store_run *run)
{
    sqlite3_stmt *put = NULL;
    int err = sql_prepare(s, &put, "INSERT INTO settings VALUES (?, ?, ?, ?)");
    for (int i = 0; !err && i < run->n_settings; i++) {
        const struct store_setting *setting = &run->settings[i];
        err = sql_put(s, put, "lttt", number, setting->key, setting->value,
                      setting->origin ? setting->origin : "default");
    }
    sqlite3_finalize(put);
    return err;
}

/* The run's number, or 0 when it is new. */
static int look_up(struct store *s, const struct store_run *run, const char *id, int64_t *number)
{
    sqlite3_stmt *find = NULL;
    int err = sql_prepare(s, &find,
                          "SELECT run, bench = ? AND method = ? AND labels = ? AND net = ?"
                          " AND seed = ? AND ways = ? AND shots = ? FROM runs WHERE id = ?");
    if (err)
        return err;
    sql_bind(find, "ttttliit", run->bench, run->method, run->labels, run->net, (int64_t)run->seed,
             run->ways, run->shots, id);
    int row = sql_row(s, find);
    *number = row == 1 ? sqlite3_column_int64(find, 0) : 0;
    bool same = row != 1 || sqlite3_column_int(find, 1);
    sqlite3_finalize(find);
    if (row < 0)
        return row;
    return same ? 0
                : fail(METE_EFORMAT, "%s: run %s is another than %s with %s and %s labels", s->path,
                       id, run->bench, run->method, run->labels);
}

static int put_run(struct store *s, const struct store_run *run, char id[STORE_ID_SIZE],
                   int64_t *number)
{
    struct run_identity identity;
    int err = identity_open(&identity, s, run);
    memcpy(id, identity.id, STORE_ID_SIZE);
    if (!err)
        err = look_up(s, run, id, number);
    if (err || *number) {
        identity_release(&identity);
        return err;
    }
    err = sql_do(s,
                 "INSERT INTO runs (id, variant, control, bench, dataset, ways, shots, budget,"
                 " method, labels, net, seed)"
                 " VALUES (?, ?, ?, ?, ?, ?, ?, nullif(?, 0), ?, ?, ?, ?)",
                 "tttttiiltttl", id, identity.variant, identity.control, run->bench,
                 identity.dataset, run->ways, run->shots, run->budget, run->method, run->labels,
                 run->net, (int64_t)run->seed);
    identity_release(&identity);
    if (err)
        return err;
    *number = sqlite3_last_insert_rowid(s->db);
    return put_settings(s, *number, run);
}

static int put_drawings(struct store *s, const struct store_suite *suite, int64_t number)
{
    sqlite3_stmt *put = NULL;
    int err = sql_prepare(s, &put, "INSERT INTO drawings VALUES (?, ?, ?, ?, ?, ?, ?)");
    for (int i = 0; !err && i < suite->n_drawings; i++) {
        const struct store_drawing *d = &suite->drawings[i];
        err = sql_put(s, put, "littttt", number, i, d->figure ? "figure" : "table", d->title, d->x,
                      d->rows, d->columns);
    }
    sqlite3_finalize(put);
    return err;
}

/* The suite's row, emptied of what an earlier text asked for. */
static int put_suite(struct store *s, const struct store_suite *suite, int64_t *number)
{
    sqlite3_stmt *put = NULL;
    int err = sql_prepare(s, &put,
                          "INSERT INTO suites (name, path, text) VALUES (?, ?, ?)"
                          " ON CONFLICT (name) DO UPDATE SET path = excluded.path,"
                          " text = excluded.text RETURNING suite");
    if (!err) {
        sql_bind(put, "ttt", suite->name, suite->path, suite->text);
        int row = sql_row(s, put);
        err = row < 0 ? row : 0;
        *number = sqlite3_column_int64(put, 0);
    }
    sqlite3_finalize(put);
    if (!err)
        err = sql_do(s, "DELETE FROM drawings WHERE suite = ?", "l", *number);
    if (!err)
        err = sql_do(s, "DELETE FROM suite_runs WHERE suite = ?", "l", *number);
    return err ? err : put_drawings(s, suite, *number);
}

int store_plan(struct store *s, const struct store_suite *suite, char (*ids)[STORE_ID_SIZE])
{
    int err = sql_begin(s);
    if (err)
        return err;
    int64_t number = 0, run = 0;
    sqlite3_stmt *put = NULL;
    err = put_suite(s, suite, &number);
    if (!err)
        err = sql_prepare(s, &put, "INSERT INTO suite_runs VALUES (?, ?, ?)");
    for (int i = 0; !err && i < suite->n_runs; i++) {
        err = put_run(s, &suite->runs[i], ids[i], &run);
        if (!err)
            err = sql_put(s, put, "lil", number, i, run);
    }
    sqlite3_finalize(put);
    return sql_end(s, err, "cannot plan the suite");
}
#endif
