/* live_charts.c - the report's charts while runs are under way.
 *
 * Of runs that are done everything is in the database, and the sections are the report's own.
 * The validation curves have the runs under way, too, from their checkpoints.
 */
#include "serve/live.h"
#include "store/store_sql.h"

#ifdef METE_HAVE_SQLITE
#include "base/memory.h"
#include "report/page.h"
#include "run/train.h"

#include <stdlib.h>

static const char points_sql[] =
    "CREATE TEMP TABLE live_points (run INTEGER, step INTEGER, labels REAL, accuracy REAL);"
    "INSERT INTO live_points SELECT run, step, labels_used, accuracy FROM checkpoints k"
    " WHERE accuracy IS NOT NULL AND shots = (SELECT min(shots) FROM checkpoints x"
    "  WHERE x.run = k.run)";

static int add_history(struct page *p, int64_t run, const struct glance *g)
{
    int err = 0;
    for (int i = 0; i < g->n_history && !err; i++)
        err = sql_do(p->s, "INSERT INTO live_points VALUES (?, ?, ?, ?)", "lldd", run,
                     g->history[i].step, (double)g->history[i].labels, g->history[i].accuracy);
    return err;
}

static int add_running(struct page *p)
{
    sqlite3_stmt *stmt = NULL;
    int row = 0,
        err = sql_prepare(p->s, &stmt, "SELECT run, id FROM runs WHERE status = 'running'");
    while (!err && (row = sql_row(p->s, stmt)) == 1) {
        struct glance g = {0};
        char *folder = mem_print("%s.runs/%s", store_path(p->s), sqlite3_column_text(stmt, 1));
        if (!checkpoint_glance(folder, &g)) /* one without a checkpoint has just begun */
            err = add_history(p, sqlite3_column_int64(stmt, 0), &g);
        free(g.history);
        free(folder);
    }
    sqlite3_finalize(stmt);
    return err ? err : row < 0 ? row : 0;
}

#define SQL_NAMES                                                                                  \
    "r.bench || ' · ' || r.method AS panel, r.method || ', ' || r.labels || iif((SELECT"          \
    " count(DISTINCT shots) FROM runs x WHERE x.bench = r.bench AND x.method = r.method) > 1,"     \
    " ', ' || r.shots || ' shots', '') || iif(n.apart = '', '', ', ' || n.apart) AS line,"         \
    " r.method AS colour, r.labels || iif(n.apart = '', '', ', ' || n.apart) AS dash"

static const char curves_sql[] =
    "SELECT panel, line, colour, dash, step AS x, 100 * avg(accuracy) AS y FROM"
    " (SELECT " SQL_NAMES ", r.variant, k.step, k.accuracy, min(r.run) OVER (PARTITION BY"
    "  r.variant) AS first, dense_rank() OVER (PARTITION BY r.variant ORDER BY k.step) AS number,"
    "  count(*) OVER (PARTITION BY r.run) AS total FROM live_points k JOIN runs r USING (run)"
    "  JOIN named n USING (variant))"
    " WHERE number % max(1, total / 100) = 0 OR number IN (1, total)"
    " GROUP BY variant, step ORDER BY first, step";

static const char spending_sql[] =
    "SELECT r.bench AS panel, line, colour, dash, labels AS x, 100 * avg(accuracy) AS y FROM"
    " (SELECT " SQL_NAMES ", r.bench, r.variant, r.run, k.labels, max(k.accuracy) OVER (PARTITION"
    "  BY r.run ORDER BY k.step) AS accuracy, min(r.run) OVER (PARTITION BY r.variant) AS first"
    "  FROM live_points k JOIN runs r USING (run) JOIN named n USING (variant)) r"
    " GROUP BY variant, labels ORDER BY first, labels";

static const char curves_table_sql[] =
    "SELECT r.bench AS benchmark, r.method, r.labels, r.seed, r.status, max(k.step) AS step,"
    " printf('%,d', CAST(max(k.labels) AS INTEGER)) AS labels, coalesce(show_count(r.budget),"
    " 'no cap') AS cap, printf('%.1f', 100 * max(k.accuracy)) AS 'best validation, %'"
    " FROM live_points k JOIN runs r USING (run) GROUP BY r.run ORDER BY r.run";

static int add_curves(struct page *p)
{
    static const struct chart steps = {.id = "curves",
                                       .title = "Validation accuracy during training",
                                       .kind = CHART_CURVES,
                                       .x = "meta-updates",
                                       .y = "validation accuracy, %"};
    static const struct chart labels = {.id = "spending",
                                        .title = "Best validation accuracy for the labels bought",
                                        .kind = CHART_CURVES,
                                        .x = "labels bought",
                                        .y = "validation accuracy, %"};
    double n = 0;
    int err = sql_exec(p->s, points_sql, "cannot read validations");
    if (!err)
        err = add_running(p);
    if (!err)
        err = page_number(p, "SELECT count(*) FROM live_points", &n);
    if (err || n == 0)
        return err;
    page_section(p, "training", "Training", NULL);
    err = page_chart(p, &steps,
                     "Of every variant, from step 0, mean over the seeds that have come so far; "
                     "runs under way included.",
                     curves_sql, curves_table_sql);
    if (!err)
        err = page_chart(p, &labels, NULL, spending_sql, curves_table_sql);
    page_section_end(p);
    return err;
}

int live_charts(const char *db, struct text *out)
{
    static page_section_fn *const sections[] = {page_head, add_curves, page_ledger, page_users};
    return report_sections(out, db, sections, sizeof sections / sizeof *sections);
}
#endif
