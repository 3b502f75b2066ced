/* scores.c - what the runs of a race came to, from the database. */
#include "plan/scores.h"
#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

#ifdef METE_HAVE_SQLITE
#include "store/store_sql.h"

static double real_at(sqlite3_stmt *row, int column)
{
    return sqlite3_column_type(row, column) == SQLITE_NULL ? NAN
                                                           : sqlite3_column_double(row, column);
}

/* A person counts with the mean of their supports. */
static int read_people(struct store *s, struct trial *t, int64_t test)
{
    sqlite3_stmt *find = NULL;
    int row = 0, worse = 0,
        err = sql_prepare(s, &find,
                          "SELECT avg(accuracy), avg(accuracy_before) FROM task_results"
                          " WHERE run = ? AND test = ? GROUP BY coalesce(user, task)"
                          " ORDER BY min(task)");
    if (!err)
        sql_bind(find, "ll", t->run, test);
    double before = 0, after = 0;
    while (!err && (row = sql_row(s, find)) == 1) {
        t->person = mem_grow(t->person, (size_t)t->n_person + 1, sizeof *t->person);
        double a = sqlite3_column_double(find, 0), b = sqlite3_column_double(find, 1);
        t->person[t->n_person++] = a;
        after += a;
        before += b;
        worse += a < b;
    }
    sqlite3_finalize(find);
    t->accuracy = after / t->n_person;
    t->before = before / t->n_person;
    t->worse = (double)worse / t->n_person;
    return row < 0 ? row : err;
}

static int read_trial(struct store *s, const char *suite, int number, struct trial *t)
{
    sqlite3_stmt *find = NULL;
    int64_t test = 0;
    int err = sql_prepare(
        s, &find,
        "SELECT r.run, o.tasks, o.labels_used, o.steps, t.test, t.valid_accuracy FROM suites s"
        " JOIN suite_runs USING (suite) JOIN runs r USING (run) JOIN outcomes o USING (run)"
        " JOIN tests t USING (run) WHERE s.name = ? AND suite_runs.number = ? AND"
        " r.status = 'done' AND t.model = 'best' ORDER BY t.test LIMIT 1");
    if (err)
        return err;
    sql_bind(find, "ti", suite, number);
    int row = sql_row(s, find);
    t->done = row == 1;
    if (t->done) {
        t->run = sqlite3_column_int64(find, 0);
        t->tasks = sqlite3_column_int64(find, 1);
        t->labels = sqlite3_column_int64(find, 2);
        t->steps = sqlite3_column_int64(find, 3);
        test = sqlite3_column_int64(find, 4);
        t->valid = real_at(find, 5);
    }
    sqlite3_finalize(find);
    return row < 0 ? row : t->done ? read_people(s, t, test) : 0;
}

int scores_read(const char *db, const char *suite, struct trial *t, int n)
{
    struct store *s = NULL;
    int err = store_open(&s, db, STORE_READ);
    for (int i = 0; i < n && !err; i++)
        err = read_trial(s, suite, i, &t[i]);
    store_close(s);
    return err;
}

int scores_labels(const char *db, const char *suites, int64_t kinds[3])
{
    struct store *s = NULL;
    sqlite3_stmt *find = NULL;
    int row = 0, err = store_open(&s, db, STORE_READ);
    kinds[0] = kinds[1] = kinds[2] = 0;
    if (!err)
        err = sql_prepare(s, &find,
                          "SELECT kind = 2, count(DISTINCT item) FROM ledger WHERE run IN"
                          " (SELECT run FROM suite_runs JOIN suites USING (suite)"
                          "  WHERE suites.name GLOB ?) GROUP BY 1");
    if (!err)
        sql_bind(find, "t", suites);
    while (!err && (row = sql_row(s, find)) == 1)
        kinds[sqlite3_column_int(find, 0) ? 2 : 0] = sqlite3_column_int64(find, 1);
    sqlite3_finalize(find);
    store_close(s);
    return row < 0 ? row : err;
}

int scores_seconds(const char *db, const char *suites, double *out)
{
    struct store *s = NULL;
    sqlite3_stmt *find = NULL;
    int row = 0, err = store_open(&s, db, STORE_READ);
    if (!err)
        err = sql_prepare(s, &find,
                          "SELECT sum(train_seconds + test_seconds) FROM times WHERE run IN"
                          " (SELECT run FROM suite_runs JOIN suites USING (suite)"
                          "  WHERE suites.name GLOB ?)");
    if (!err)
        sql_bind(find, "t", suites);
    if (!err && (row = sql_row(s, find)) == 1)
        *out = sqlite3_column_double(find, 0);
    sqlite3_finalize(find);
    store_close(s);
    return row < 0 ? row : err;
}
#else
int scores_read(const char *db, const char *suite, struct trial *t, int n)
{
    struct store *s = NULL;
    (void)suite;
    (void)t;
    (void)n;
    return store_open(&s, db, STORE_READ); /* says what is missing */
}

int scores_labels(const char *db, const char *suites, int64_t kinds[3])
{
    struct store *s = NULL;
    (void)suites;
    (void)kinds;
    return store_open(&s, db, STORE_READ);
}

int scores_seconds(const char *db, const char *suites, double *out)
{
    struct store *s = NULL;
    (void)suites;
    (void)out;
    return store_open(&s, db, STORE_READ);
}
#endif
