/* store_write.c - a run's results, written whole or not at all. */
#include "store/store_identity.h"

#ifdef METE_HAVE_SQLITE
#include "base/error.h"
#include "base/memory.h"
#include "base/statistics.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int put_checkpoints(struct store *s, int64_t run, const struct store_results *r)
{
    sqlite3_stmt *put = NULL;
    int err = sql_prepare(s, &put, "INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
    for (int i = 0; !err && i < r->n_checkpoints; i++) {
        const struct store_checkpoint *c = &r->checkpoints[i];
        err = sql_put(s, put, "llilldddd", run, c->step, c->shots, c->tasks, c->labels,
                      c->train_loss, c->accuracy, c->half, c->loss);
    }
    sqlite3_finalize(put);
    return err;
}

static int put_ledger(struct store *s, int64_t run, const struct store_results *r)
{
    sqlite3_stmt *put = NULL;
    int err = sql_prepare(s, &put, "INSERT INTO ledger VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
    for (int64_t i = 0; !err && i < r->n_ledger; i++) {
        const struct ledger_row *p = &r->ledger[i];
        err = sql_put(s, put, "llliiidi", run, i, p->task, p->item, p->klass, p->round,
                      money_labels(p->cost), p->kind);
    }
    sqlite3_finalize(put);
    if (!err)
        err = sql_do(s,
                     "INSERT INTO ledger_classes SELECT run, class, sum(round >= 0), sum(round < 0)"
                     " FROM ledger WHERE run = ? AND kind < 2 GROUP BY class",
                     "l", run);
    return err ? err
               : sql_do(s,
                        "INSERT INTO ledger_coverage SELECT run, classes, count(*) FROM"
                        " (SELECT run, count(DISTINCT class) AS classes FROM ledger"
                        "  WHERE run = ? AND kind = 0 GROUP BY task) GROUP BY classes",
                        "l", run);
}

static int put_measures(struct store *s, int64_t run, const struct store_results *r)
{
    sqlite3_stmt *put = NULL;
    int err = sql_prepare(s, &put, "INSERT INTO measures VALUES (?, ?, ?, ?)");
    for (int i = 0; !err && i < r->n_measures; i++) {
        const struct store_measure *m = &r->measures[i];
        err = sql_put(s, put, "ltdd", run, m->name, m->value, m->half);
    }
    sqlite3_finalize(put);
    return err;
}

/* Sums over the test tasks, in the order of the tasks. */
struct test_sums {
    struct summary after, before;
    double loss, loss_before, weighted, worst, worse_share, ece;
    double kept_share, adapted, adapted_worse; /* NaN where everybody is adapted */
};

static double expected_calibration_error(const struct store_bin *bins)
{
    double total = 0, error = 0;
    for (int b = 0; b < STORE_BINS; b++) {
        total += (double)bins[b].n;
        error += fabs(bins[b].confidence - bins[b].correct);
    }
    return total > 0 ? error / total : NAN;
}

static struct test_sums sum_up(const struct store_test *t)
{
    size_t n = (size_t)t->n_tasks;
    double *after = mem_array(2 * n, sizeof *after), *weight = after + n;
    struct test_sums sums = {.worst = 1};
    for (size_t i = 0; i < n; i++) {
        const struct store_task *task = &t->tasks[i];
        after[i] = task->accuracy;
        weight[i] = task->n_query;
        sums.loss += task->loss / (double)n;
        sums.loss_before += task->loss_before / (double)n;
        sums.worst = fmin(sums.worst, task->accuracy);
        sums.worse_share += (task->accuracy < task->accuracy_before) / (double)n;
        sums.kept_share += task->unadapted / (double)n;
        sums.adapted += task->accuracy_adapted / (double)n;
        sums.adapted_worse += (task->accuracy_adapted < task->accuracy_before) / (double)n;
    }
    if (!t->keeps)
        sums.kept_share = sums.adapted = sums.adapted_worse = NAN;
    sums.after = task_summary(t->tasks, t->n_tasks, false);
    sums.before = task_summary(t->tasks, t->n_tasks, true);
    sums.weighted = weighted_mean(after, weight, n);
    sums.ece = expected_calibration_error(t->bins);
    free(after);
    return sums;
}

static int put_tasks(struct store *s, int64_t run, int number, const struct store_test *t)
{
    sqlite3_stmt *put = NULL;
    int err =
        sql_prepare(s, &put, "INSERT INTO task_results VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    for (int i = 0; !err && i < t->n_tasks; i++) {
        const struct store_task *x = &t->tasks[i];
        err = sql_put(s, put, "liitiidddd", run, number, x->number, x->user, x->n_query, x->classes,
                      x->accuracy_before, x->accuracy, x->loss_before, x->loss);
    }
    sqlite3_finalize(put);
    return err;
}

static int put_bins(struct store *s, int64_t run, int number, const struct store_test *t)
{
    sqlite3_stmt *put = NULL;
    int err = sql_prepare(s, &put, "INSERT INTO calibration VALUES (?, ?, ?, ?, ?, ?)");
    for (int b = 0; !err && b < STORE_BINS; b++)
        if (t->bins[b].n > 0)
            err = sql_put(s, put, "liildd", run, number, b, t->bins[b].n, t->bins[b].confidence,
                          t->bins[b].correct);
    sqlite3_finalize(put);
    return err;
}

/* What the column `shots` holds: labels in all are below 0. */
static int shots_column(const struct store_test *t)
{
    return t->shots > 0 ? t->shots : -t->labels;
}

static int put_test(struct store *s, int64_t run, int number, const struct store_test *t)
{
    if (t->n_tasks < 1)
        return fail(METE_EINVAL, "a test at %d shots has no tasks", t->shots);
    struct test_sums sums = sum_up(t);
    char hash[STORE_ID_SIZE];
    uint64_t tasks_hash = t->tasks_hash;
    int err = identity_tasks(s, run, &tasks_hash);
    if (err)
        return err;
    snprintf(hash, sizeof hash, "%016" PRIx64, tasks_hash);
    err = sql_do(s,
                 "INSERT INTO tests VALUES"
                 " (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                 "litlittdtiddddddddddddd", run, number, t->model, t->step, shots_column(t),
                 t->support, t->bn, t->valid_accuracy, hash, t->n_tasks, sums.after.mean,
                 sums.after.half, sums.before.mean, sums.before.half, sums.loss, sums.loss_before,
                 sums.weighted, sums.worst, sums.worse_share, sums.ece, sums.kept_share,
                 sums.adapted, sums.adapted_worse);
    if (!err)
        err = put_tasks(s, run, number, t);
    return err ? err : put_bins(s, run, number, t);
}

static int put_times(struct store *s, int64_t run, const struct store_results *r)
{
    char host[128] = "unknown";
    gethostname(host, sizeof host - 1);
    const char *env = r->env ? r->env : "{}";
    int err = sql_do(s, "INSERT OR IGNORE INTO environments (json) VALUES (?)", "t", env);
    return err ? err
               : sql_do(s,
                        "INSERT INTO times SELECT ?, ?, ?, ?, ?, environment FROM environments"
                        " WHERE json = ?",
                        "ldddtt", run, r->started, r->train_seconds, r->test_seconds, host, env);
}

static int put_results(struct store *s, int64_t run, const struct store_results *r)
{
    /* a study's numbers are no counts of a ledger */
    bool counted = r->kinds[KIND_SUPPORT] + r->kinds[KIND_QUERY] == r->labels;
    int64_t unknown = -1;
    int err = sql_do(s,
                     "INSERT INTO outcomes VALUES (?, ?, ?, ?, ?, ?, ?, nullif(?, -1),"
                     " nullif(?, -1), nullif(?, -1), nullif(?, -1), nullif(?, -1))",
                     "llldlldlllll", run, r->steps, r->best_step, r->best_accuracy, r->tasks,
                     r->labels, r->cost, counted ? r->kinds[KIND_SUPPORT] : unknown,
                     counted ? r->kinds[KIND_QUERY] : unknown, r->kinds[KIND_VALIDATION],
                     counted ? r->unique : unknown, r->unique_validation);
    if (!err)
        err = put_checkpoints(s, run, r);
    for (int i = 0; !err && i < r->n_tests; i++)
        err = put_test(s, run, i, &r->tests[i]);
    if (!err)
        err = put_measures(s, run, r);
    if (!err)
        err = put_ledger(s, run, r);
    if (!err)
        err = put_times(s, run, r);
    if (!err)
        err = sql_do(s, "UPDATE runs SET status = 'done', message = NULL WHERE run = ?", "l", run);
    return err ? err : sql_do(s, "DELETE FROM claims WHERE run = ?", "l", run);
}

static int is_done(struct store *s, int64_t run, bool *done)
{
    sqlite3_stmt *find = NULL;
    int err = sql_prepare(s, &find, "SELECT status = 'done' FROM runs WHERE run = ?");
    if (!err) {
        sql_bind(find, "l", run);
        int row = sql_row(s, find);
        err = row < 0 ? row : 0;
        *done = row == 1 && sqlite3_column_int(find, 0);
    }
    sqlite3_finalize(find);
    return err;
}

int store_finish(struct store *s, const char *id, const struct store_results *r)
{
    int64_t run = 0;
    bool done = false;
    int err = sql_begin(s);
    if (err)
        return err;
    err = store_run_number(s, id, &run);
    if (!err)
        err = is_done(s, run, &done);
    if (!err && !done)
        err = put_results(s, run, r);
    return sql_end(s, err, "cannot write the results of a run");
}

int store_fail(struct store *s, const char *id, const char *sentence)
{
    int64_t run = 0;
    int err = sql_begin(s);
    if (err)
        return err;
    err = store_run_number(s, id, &run);
    if (!err)
        err = sql_do(s,
                     "UPDATE runs SET status = 'failed', message = ? WHERE run = ?"
                     " AND status <> 'done'",
                     "tl", sentence, run);
    if (!err)
        err = sql_do(s, "DELETE FROM claims WHERE run = ?", "l", run);
    return sql_end(s, err, "cannot mark a run as failed");
}

/* The number of the test that this one replaces, or the next free one. */
static int test_number(struct store *s, int64_t run, const struct store_test *t, int *number)
{
    sqlite3_stmt *find = NULL;
    int err = sql_prepare(s, &find,
                          "SELECT coalesce((SELECT test FROM tests WHERE run = ?1 AND model = ?2"
                          " AND shots = ?3 AND support = ?4 AND bn = ?5),"
                          " (SELECT max(test) + 1 FROM tests WHERE run = ?1), 0)");
    if (!err) {
        sql_bind(find, "ltitt", run, t->model, shots_column(t), t->support, t->bn);
        int row = sql_row(s, find);
        err = row < 0 ? row : 0;
        *number = sqlite3_column_int(find, 0);
    }
    sqlite3_finalize(find);
    return err;
}

int store_add_test(struct store *s, const char *id, const struct store_test *test)
{
    int64_t run = 0;
    int number = 0;
    bool done = false;
    int err = sql_begin(s);
    if (err)
        return err;
    err = store_run_number(s, id, &run);
    if (!err)
        err = is_done(s, run, &done);
    if (!err && !done)
        err = fail(METE_EINVAL, "run %s is not done yet: it cannot be tested", id);
    if (!err)
        err = test_number(s, run, test, &number);
    if (!err)
        err = sql_do(s, "DELETE FROM tests WHERE run = ? AND test = ?", "li", run, number);
    if (!err)
        err = put_test(s, run, number, test);
    return sql_end(s, err, "cannot add a test");
}
#endif
