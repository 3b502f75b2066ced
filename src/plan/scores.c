/* scores.c - what the runs of a race came to, from the database. */
#include "plan/scores.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/statistics.h"

#include <math.h>
#include <stdlib.h>

#ifdef METE_HAVE_SQLITE
#include "store/store_sql.h"

static double real_at(sqlite3_stmt *row, int column)
{
    return sqlite3_column_type(row, column) == SQLITE_NULL ? NAN
                                                           : sqlite3_column_double(row, column);
}

/* What one model came to on the people of a test. */
struct people {
    double *accuracy; /* owned; (n) */
    int n;
    double after, before, worse; /* means over people; of them, those made worse */
};

/* A person counts with the mean of their supports. */
static int read_people(struct store *s, int64_t run, int64_t test, struct people *p)
{
    sqlite3_stmt *find = NULL;
    int row = 0, worse = 0,
        err = sql_prepare(s, &find,
                          "SELECT avg(accuracy), avg(accuracy_before) FROM task_results"
                          " WHERE run = ? AND test = ? GROUP BY coalesce(user, task)"
                          " ORDER BY min(task)");
    *p = (struct people){0};
    if (!err)
        sql_bind(find, "ll", run, test);
    while (!err && (row = sql_row(s, find)) == 1) {
        p->accuracy = mem_grow(p->accuracy, (size_t)p->n + 1, sizeof *p->accuracy);
        double a = sqlite3_column_double(find, 0), b = sqlite3_column_double(find, 1);
        p->accuracy[p->n++] = a;
        p->after += a;
        p->before += b;
        worse += a < b;
    }
    sqlite3_finalize(find);
    p->after /= p->n;
    p->before /= p->n;
    p->worse = (double)worse / p->n;
    return row < 0 ? row : err;
}

/* Whether a is better than b on the same people, by more than twice the standard error. */
static bool clearly_better(const struct people *a, const struct people *b)
{
    double *difference = mem_array((size_t)a->n + 1, sizeof *difference);
    for (int i = 0; i < a->n; i++)
        difference[i] = a->accuracy[i] - b->accuracy[i];
    struct summary x = summary_of(difference, (size_t)a->n);
    free(difference);
    return a->n < 2 || x.mean > 2 * x.sd / sqrt(a->n);
}

/* The best model was chosen by the very people who judge it here, among some twenty, which makes it
 * look better than it is to others.  The last was not, so it judges, unless it is clearly worse. */
static int read_judged(struct store *s, struct trial *t, int64_t best, int64_t last)
{
    struct people x, y = {0};
    int err = read_people(s, t->run, best, &x);
    if (!err && last >= 0 && !t->on_test)
        err = read_people(s, t->run, last, &y);
    if (!err && y.n == x.n && !clearly_better(&x, &y)) {
        struct people swap = x;
        x = y;
        y = swap;
    }
    t->person = x.accuracy;
    t->n_person = x.n;
    t->accuracy = x.after;
    t->before = x.before;
    t->worse = x.worse;
    free(y.accuracy);
    return err;
}

static int read_trial(struct store *s, const char *suite, int number, struct trial *t)
{
    sqlite3_stmt *find = NULL;
    int64_t test = 0, last = -1;
    int err = sql_prepare(
        s, &find,
        "SELECT r.run, o.tasks, o.labels_used, o.steps, t.test, t.valid_accuracy,"
        " (SELECT min(test) FROM tests l WHERE l.run = t.run AND l.model = 'last'"
        "   AND l.shots = t.shots AND l.support = t.support AND l.bn = t.bn) FROM suites s"
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
        if (sqlite3_column_type(find, 6) != SQLITE_NULL)
            last = sqlite3_column_int64(find, 6);
    }
    sqlite3_finalize(find);
    return row < 0 ? row : t->done ? read_judged(s, t, test, last) : 0;
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
