/* store_claim.c - several processes share one list of runs.
 *
 * A claim names its holder: machine, process and when that process was born, so
 * that a number given again to another process is no holder.  On the machine
 * itself a dead holder is seen at once; elsewhere silence over the lease decides.
 */
#include "store/store_sql.h"

#ifdef METE_HAVE_SQLITE
#include "base/error.h"
#include "base/memory.h"
#include "base/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The columns of `claim`: host, pid, born, heartbeat from column 2 on. */
static bool is_stale(sqlite3_stmt *row, const char *host, double lease)
{
    const char *holder = (const char *)sqlite3_column_text(row, 2);
    if (holder && strcmp(holder, host) == 0) {
        int64_t since = process_born(sqlite3_column_int64(row, 3));
        if (since >= 0)
            return since != sqlite3_column_int64(row, 4);
    }
    return now() - sqlite3_column_double(row, 5) > lease;
}

static int take(struct store *s, int64_t run, const char *host)
{
    int err = sql_do(s, "INSERT OR REPLACE INTO claims VALUES (?, ?, ?, ?, ?, ?)", "ltllid", run,
                     host, (int64_t)getpid(), process_born(getpid()), s->handle, now());
    return err ? err : sql_do(s, "UPDATE runs SET status = 'running' WHERE run = ?", "l", run);
}

/* Is the run behind `row` (status, run, then its claim) to be had? */
static bool is_free(sqlite3_stmt *row, const char *host, double lease)
{
    const char *status = (const char *)sqlite3_column_text(row, 0);
    if (strcmp(status, "planned") == 0)
        return true;
    return strcmp(status, "running") == 0 && is_stale(row, host, lease);
}

int store_claim(struct store *s, char (*ids)[STORE_ID_SIZE], int n, double lease, int *which)
{
    char host[256];
    process_host(host, sizeof host);
    int err = sql_begin(s);
    if (err)
        return err;
    sqlite3_stmt *find = NULL;
    int found = -1;
    int64_t run = 0;
    err = sql_prepare(s, &find,
                      "SELECT status, run, host, pid, born, heartbeat"
                      " FROM runs LEFT JOIN claims USING (run) WHERE id = ?");
    for (int i = 0; !err && found < 0 && i < n; i++) {
        sql_bind(find, "t", ids[i]);
        int row = sql_row(s, find);
        if (row != 1)
            err = row < 0 ? row : fail(METE_EINVAL, "%s has no run %s", s->path, ids[i]);
        else if (is_free(find, host, lease)) {
            found = i;
            run = sqlite3_column_int64(find, 1);
        }
    }
    sqlite3_finalize(find);
    if (!err && found >= 0)
        err = take(s, run, host);
    err = sql_end(s, err, "cannot claim a run");
    if (!err)
        *which = found;
    return err;
}

int store_heartbeat(struct store *s)
{
    char host[256];
    process_host(host, sizeof host);
    int err = sql_begin(s);
    if (err)
        return err;
    err = sql_do(s, "UPDATE claims SET heartbeat = ? WHERE host = ? AND pid = ? AND handle = ?",
                 "dtli", now(), host, (int64_t)getpid(), s->handle);
    return sql_end(s, err, "cannot renew the claims");
}

int store_release(struct store *s, const char *id)
{
    int64_t run = 0;
    int err = sql_begin(s);
    if (err)
        return err;
    err = store_run_number(s, id, &run);
    if (!err)
        err = sql_do(s, "UPDATE runs SET status = 'planned' WHERE run = ? AND status = 'running'",
                     "l", run);
    if (!err)
        err = sql_do(s, "DELETE FROM claims WHERE run = ?", "l", run);
    return sql_end(s, err, "cannot release a run");
}

int store_retry_failed(struct store *s, char (*ids)[STORE_ID_SIZE], int n)
{
    int err = sql_begin(s);
    if (err)
        return err;
    for (int i = 0; !err && i < n; i++)
        err = sql_do(s,
                     "UPDATE runs SET status = 'planned', message = NULL"
                     " WHERE id = ? AND status = 'failed'",
                     "t", ids[i]);
    return sql_end(s, err, "cannot plan failed runs again");
}

static enum store_state state_of(const char *status)
{
    static const char *const names[] = {"", "planned", "running", "done", "failed"};
    for (int i = STORE_PLANNED; i <= STORE_FAILED; i++)
        if (strcmp(status, names[i]) == 0)
            return (enum store_state)i;
    return STORE_UNKNOWN;
}

int store_states(struct store *s, char (*ids)[STORE_ID_SIZE], int n, enum store_state *out)
{
    sqlite3_stmt *find = NULL;
    pthread_mutex_lock(&s->lock);
    int err = sql_prepare(s, &find, "SELECT status FROM runs WHERE id = ?");
    for (int i = 0; !err && i < n; i++) {
        sql_bind(find, "t", ids[i]);
        int row = sql_row(s, find);
        if (row < 0)
            err = row;
        out[i] = row == 1 ? state_of((const char *)sqlite3_column_text(find, 0)) : STORE_UNKNOWN;
    }
    sqlite3_finalize(find);
    pthread_mutex_unlock(&s->lock);
    return err;
}

int store_count(struct store *s, char (*ids)[STORE_ID_SIZE], int n, struct store_counts *out)
{
    enum store_state *state = mem_array((size_t)n, sizeof *state);
    struct store_counts counts = {0};
    int err = store_states(s, ids, n, state);
    for (int i = 0; !err && i < n; i++) {
        counts.planned += state[i] == STORE_PLANNED;
        counts.running += state[i] == STORE_RUNNING;
        counts.done += state[i] == STORE_DONE;
        counts.failed += state[i] == STORE_FAILED;
    }
    free(state);
    if (!err)
        *out = counts;
    return err;
}

/* What this store had claimed is planned again.  Closing cannot fail, and what
 * cannot be written now is found stale later. */
static void give_back_all(struct store *s)
{
    char host[256];
    process_host(host, sizeof host);
    if (sql_begin(s) != 0)
        return;
    int err = sql_do(s,
                     "UPDATE runs SET status = 'planned' WHERE status = 'running' AND run IN"
                     " (SELECT run FROM claims WHERE host = ? AND pid = ? AND handle = ?)",
                     "tli", host, (int64_t)getpid(), s->handle);
    if (!err)
        err = sql_do(s, "DELETE FROM claims WHERE host = ? AND pid = ? AND handle = ?", "tli", host,
                     (int64_t)getpid(), s->handle);
    sql_end(s, err, "cannot release the claims");
}

void store_close(struct store *s)
{
    if (!s)
        return;
    if (s->db && s->mode == STORE_WRITE)
        give_back_all(s);
    sqlite3_close(s->db);
    pthread_mutex_destroy(&s->lock);
    free(s->path);
    free(s);
}
#endif
