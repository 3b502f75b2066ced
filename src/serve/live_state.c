/* live_state.c - the runs of a database and how far each is, as JSON.
 *
 * The database says which runs there are and what came out of those that are done.  Of a run that
 * is being made it has only the claim; its last checkpoint says the rest.
 */
#include "serve/live.h"
#include "store/store_sql.h"

#ifdef METE_HAVE_SQLITE
#include "base/jsonw.h"
#include "base/memory.h"
#include "report/prepare.h"
#include "run/train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SILENT_SECONDS = 60 }; /* without a heartbeat: nobody works on it any more */

/* Runs of one kind take about as long. */
static const char runs_sql[] =
    "SELECT r.run, r.id, r.variant, r.seed, r.status, r.message, coalesce(r.budget, 0),"
    " o.labels_used, o.cost, t.train_seconds + t.test_seconds,"
    " CAST((SELECT value FROM settings s WHERE s.run = r.run AND key = 'train.steps') AS INTEGER),"
    " (SELECT accuracy FROM tests x WHERE x.run = r.run AND x.model = 'best' ORDER BY x.test"
    "  LIMIT 1), o.best_accuracy, c.heartbeat, o.steps,"
    " r.bench, r.method, r.labels, r.shots, r.net, n.apart,"
    " r.bench || ' ' || r.method || ' ' || r.net || ' ' || r.shots AS kind"
    " FROM runs r JOIN named n USING (variant) LEFT JOIN outcomes o USING (run)"
    " LEFT JOIN times t USING (run) LEFT JOIN claims c USING (run)"
    " ORDER BY min(r.run) OVER (PARTITION BY r.variant), r.seed";
enum {
    RUN,
    ID,
    VARIANT,
    SEED,
    STATUS,
    MESSAGE,
    BUDGET,
    LABELS,
    COST,
    SECONDS,
    STEPS,
    TEST,
    VALID,
    HEARTBEAT,
    DONE_STEPS,
    BENCH,
    METHOD,
    STRATEGY,
    SHOTS,
    NET,
    APART,
    KIND
};

struct kind {
    char *name;
    double seconds; /* of the runs that are done, in all */
    int done;
    double left; /* runs' worth of work that is left */
};

struct state {
    struct store *s;
    struct jsonw w;
    char *variant; /* of the rows being written, or NULL */
    struct kind *kinds;
    int n_kinds;
    int planned, running, stopped, done, failed;
    double labels, cap; /* over all runs */
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec;
}

static const char *word(sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);
    return text ? text : "";
}

static double real(sqlite3_stmt *row, int column)
{
    return sqlite3_column_type(row, column) == SQLITE_NULL ? NAN
                                                           : sqlite3_column_double(row, column);
}

static struct kind *kind_of(struct state *st, const char *name)
{
    for (int i = 0; i < st->n_kinds; i++)
        if (strcmp(st->kinds[i].name, name) == 0)
            return &st->kinds[i];
    st->kinds = mem_grow(st->kinds, (size_t)st->n_kinds + 1, sizeof *st->kinds);
    struct kind *k = &st->kinds[st->n_kinds++];
    *k = (struct kind){.name = mem_string(name)};
    return k;
}

static void begin_variant(struct state *st, sqlite3_stmt *row)
{
    struct jsonw *w = &st->w;
    if (st->variant && strcmp(st->variant, word(row, VARIANT)) == 0)
        return;
    if (st->variant) {
        jsonw_close(w);
        jsonw_close(w);
    }
    free(st->variant);
    st->variant = mem_string(word(row, VARIANT));
    jsonw_object(w, NULL);
    jsonw_string(w, "bench", word(row, BENCH));
    jsonw_string(w, "method", word(row, METHOD));
    jsonw_string(w, "labels", word(row, STRATEGY));
    jsonw_int(w, "shots", sqlite3_column_int64(row, SHOTS));
    jsonw_string(w, "net", word(row, NET));
    jsonw_string(w, "apart", word(row, APART));
    jsonw_array(w, "runs");
}

/* "running" where its holder still gives signs of life, else "stopped". */
static const char *status_of(sqlite3_stmt *row)
{
    const char *status = word(row, STATUS);
    if (strcmp(status, "running") != 0)
        return status;
    return now() - sqlite3_column_double(row, HEARTBEAT) > SILENT_SECONDS ? "stopped" : "running";
}

static void count(struct state *st, const char *status)
{
    const struct {
        const char *name;
        int *n;
    } all[] = {{"planned", &st->planned},
               {"running", &st->running},
               {"stopped", &st->stopped},
               {"done", &st->done},
               {"failed", &st->failed}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        *all[i].n += strcmp(status, all[i].name) == 0;
}

/* What its last checkpoint says of a run that is under way; the share of its work that is done. */
static double add_glance(struct state *st, sqlite3_stmt *row)
{
    char *folder = mem_print("%s.runs/%s", store_path(st->s), word(row, ID));
    struct glance g = {0};
    int err = checkpoint_glance(folder, &g);
    double steps = real(row, STEPS);
    free(folder);
    if (err)
        return 0;
    jsonw_int(&st->w, "step", g.step);
    jsonw_int(&st->w, "labels", g.labels);
    jsonw_real(&st->w, "spent", g.spent);
    if (g.n_history)
        jsonw_real(&st->w, "valid", g.history[g.n_history - 1].accuracy);
    st->labels += (double)g.labels;
    free(g.history);
    return steps > 0 ? fmin(1, (double)g.step / steps) : 0;
}

static void add_outcome(struct state *st, sqlite3_stmt *row)
{
    jsonw_int(&st->w, "step", sqlite3_column_int64(row, DONE_STEPS));
    jsonw_int(&st->w, "labels", sqlite3_column_int64(row, LABELS));
    jsonw_real(&st->w, "spent", real(row, COST));
    jsonw_real(&st->w, "valid", real(row, VALID));
    jsonw_real(&st->w, "test", real(row, TEST));
    jsonw_real(&st->w, "seconds", real(row, SECONDS));
    st->labels += sqlite3_column_double(row, LABELS);
}

static void add_run(struct state *st, sqlite3_stmt *row)
{
    struct jsonw *w = &st->w;
    const char *status = status_of(row);
    bool done = strcmp(status, "done") == 0, failed = strcmp(status, "failed") == 0;
    double fraction = 0;
    begin_variant(st, row);
    struct kind *k = kind_of(st, word(row, KIND));
    count(st, status);
    st->cap += sqlite3_column_double(row, BUDGET);
    jsonw_object(w, NULL);
    jsonw_string(w, "id", word(row, ID));
    jsonw_int(w, "seed", sqlite3_column_int64(row, SEED));
    jsonw_string(w, "status", status);
    if (sqlite3_column_type(row, STEPS) != SQLITE_NULL)
        jsonw_int(w, "steps", sqlite3_column_int64(row, STEPS));
    jsonw_int(w, "budget", sqlite3_column_int64(row, BUDGET));
    if (failed)
        jsonw_string(w, "message", word(row, MESSAGE));
    else if (done)
        add_outcome(st, row);
    else if (strcmp(status, "planned") != 0)
        fraction = add_glance(st, row);
    jsonw_close(w);
    k->left += done || failed ? 0 : 1 - fraction;
    if (done && !isnan(real(row, SECONDS))) {
        k->seconds += real(row, SECONDS);
        k->done++;
    }
}

/* By what runs of the kind took, or all runs where none of the kind is done; divided among the runs
 * that are being made now.  NaN where nothing is known or nobody works. */
static double seconds_left(const struct state *st)
{
    double seconds = 0, left = 0;
    int done = 0;
    for (int i = 0; i < st->n_kinds; i++) {
        seconds += st->kinds[i].seconds;
        done += st->kinds[i].done;
    }
    for (int i = 0; i < st->n_kinds; i++) {
        const struct kind *k = &st->kinds[i];
        if (k->left > 0)
            left += k->left * (k->done ? k->seconds / k->done : seconds / done);
    }
    return st->running > 0 ? left / st->running : NAN;
}

static void add_totals(struct state *st)
{
    struct jsonw *w = &st->w;
    int timed = 0;
    for (int i = 0; i < st->n_kinds; i++)
        timed += st->kinds[i].done;
    jsonw_int(w, "planned", st->planned);
    jsonw_int(w, "running", st->running);
    jsonw_int(w, "stopped", st->stopped);
    jsonw_int(w, "done", st->done);
    jsonw_int(w, "failed", st->failed);
    jsonw_real(w, "labels", st->labels);
    jsonw_real(w, "cap", st->cap);
    jsonw_real(w, "left", seconds_left(st));
    jsonw_int(w, "timed", timed);
}

static int add_variants(struct state *st)
{
    sqlite3_stmt *stmt = NULL;
    int row = 0, err = sql_prepare(st->s, &stmt, runs_sql);
    jsonw_array(&st->w, "variants");
    while (!err && (row = sql_row(st->s, stmt)) == 1)
        add_run(st, stmt);
    sqlite3_finalize(stmt);
    if (st->variant) {
        jsonw_close(&st->w);
        jsonw_close(&st->w);
    }
    jsonw_close(&st->w);
    return err ? err : row < 0 ? row : 0;
}

int live_state(struct store *s, struct text *out)
{
    struct state st = {.s = s};
    jsonw_object(&st.w, NULL);
    int err = sql_exec(s,
                       "DROP TABLE IF EXISTS temp.shown; DROP TABLE IF EXISTS temp.variants;"
                       "DROP TABLE IF EXISTS temp.apart; DROP TABLE IF EXISTS temp.named",
                       "cannot read it");
    if (!err)
        err = report_prepare_runs(s, NULL);
    if (!err)
        err = add_variants(&st);
    if (!err) {
        add_totals(&st);
        jsonw_close(&st.w);
        text_add_bytes(out, st.w.text, st.w.size);
    }
    for (int i = 0; i < st.n_kinds; i++)
        free(st.kinds[i].name);
    free(st.kinds);
    free(st.variant);
    jsonw_release(&st.w);
    return err;
}
#endif
