/* prepare.c - the temporary tables behind the page and the summary. */
#include "report/prepare.h"
#include "store/store_sql.h"

#ifdef METE_HAVE_SQLITE
#include "base/text.h"
#include "report/results.h"

#include <math.h>
#include <stdlib.h>

/* show_count(30000) is '30K' in SQL too. */
static void sql_show_count(sqlite3_context *context, int n, sqlite3_value **value)
{
    (void)n;
    const char *text = (const char *)sqlite3_value_text(value[0]);
    if (text)
        sqlite3_result_text(context, result_show("tasks", text), -1, free);
    else
        sqlite3_result_null(context);
}

/* show_number(x): three digits, and no exponent where it can be helped; show_number(x, h):
 * 'x ±h'.  NULL stays NULL, and a half width that is NULL is left out. */
static void sql_show_number(sqlite3_context *context, int n, sqlite3_value **value)
{
    struct text out = {0};
    for (int i = 0; i < n && sqlite3_value_type(value[i]) != SQLITE_NULL; i++) {
        double x = sqlite3_value_double(value[i]);
        text_add(&out, i ? " ±" : "");
        text_print(&out, fabs(x) >= 100 ? "%.0f" : "%.3g", x);
    }
    if (out.size)
        sqlite3_result_text(context, text_take(&out), -1, free);
}

/* apart: the settings in which variants differ that are otherwise one cell with one number of
 * training shots. */
static const char variants_sql[] =
    "CREATE TEMP TABLE variants AS SELECT variant, min(run) AS run, dataset, ways, shots, budget,"
    "  method, labels, net FROM runs JOIN shown USING (run) GROUP BY variant;"
    "CREATE TEMP TABLE apart AS SELECT DISTINCT x.key FROM variants a JOIN variants b"
    "  ON a.variant < b.variant AND a.dataset = b.dataset AND a.ways = b.ways AND a.shots = b.shots"
    "  AND a.budget IS b.budget AND a.method = b.method AND a.labels = b.labels AND a.net = b.net"
    "  JOIN settings x ON x.run = a.run JOIN settings y ON y.run = b.run AND y.key = x.key"
    "  AND y.value <> x.value WHERE x.key NOT IN ('seed', 'bench', 'shots');"
    "CREATE TEMP TABLE named AS SELECT variant, coalesce((SELECT group_concat(key || '=' || value,"
    "  ', ') FROM (SELECT key, value FROM settings s WHERE s.run = v.run AND key IN apart ORDER BY"
    "  key)), '') AS apart FROM variants v;";

static const char chosen_sql[] =
    "CREATE TEMP TABLE chosen AS SELECT *, row_number() OVER (ORDER BY dataset_first, ways,"
    "   test_shots, coalesce(budget, 1e18), first_run) AS place, dataset || iif(ways > 0, ' ' || "
    "ways || 'w',"
    "   '') || ' · ' || coalesce(show_count(budget) || ' labels', 'no cap') AS panel,"
    "   labels || iif(apart = '', '', ', ' || apart) AS dash,"
    "   method || ', ' || labels || iif(apart = '', '', ', ' || apart) AS line,"
    "   iif(seeds >= 3, half_seeds, half_tasks) AS half FROM"
    "  (SELECT a.*, n.apart, min(first_run) OVER (PARTITION BY dataset) AS dataset_first,"
    "   row_number() OVER (PARTITION BY dataset, ways, budget, method, labels, net, apart,"
    "   test_shots, support, bn ORDER BY valid_accuracy DESC, variant) AS lead"
    "   FROM accuracy_seeds a JOIN named n USING (variant) WHERE model = 'best') WHERE lead = 1;"
    "CREATE TEMP TABLE cells AS SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY dataset,"
    "  ways, budget, method, labels, net, apart ORDER BY test_shots, support, bn) AS first FROM"
    "  chosen) WHERE first = 1;"
    "CREATE TEMP TABLE head AS WITH first AS (SELECT support, bn FROM chosen"
    "   ORDER BY bn = 'none', place LIMIT 1) SELECT chosen.* FROM chosen JOIN first USING (support)"
    "  WHERE chosen.bn IN (first.bn, 'none');"
    "CREATE TEMP TABLE cell_seeds AS SELECT c.place, r.seed, r.run, t.test, t.accuracy,"
    "  t.tasks_hash FROM chosen c JOIN runs r USING (variant) JOIN shown USING (run) JOIN tests t"
    "  ON t.run = r.run AND t.model = 'best' AND t.shots = c.test_shots AND t.support = c.support"
    "  AND t.bn = c.bn;"
    "CREATE INDEX temp.cell_seeds_place ON cell_seeds (place, seed);";

/* wanted: pairs (a, b) of places in `head`. */
static const char wanted_sql[] =
    "CREATE TEMP TABLE wanted AS SELECT 'labels' AS kind, x.place AS a, y.place AS b FROM head x"
    "  JOIN head y ON y.dataset = x.dataset AND y.ways = x.ways AND y.budget IS x.budget"
    "  AND y.method = x.method AND y.net = x.net AND y.apart = x.apart"
    "  AND y.test_shots = x.test_shots AND y.labels = 'random' AND x.labels <> 'random';"
    "INSERT INTO wanted WITH best AS (SELECT *, row_number() OVER (cell ORDER BY accuracy DESC,"
    "   place) AS number, first_value(method) OVER (cell ORDER BY accuracy DESC, place) AS leader,"
    "   first_value(place) OVER (cell ORDER BY accuracy DESC, place) AS top,"
    "   row_number() OVER (PARTITION BY dataset, ways, budget, test_shots, method"
    "    ORDER BY accuracy DESC, place) AS of_method FROM head"
    "   WINDOW cell AS (PARTITION BY dataset, ways, budget, test_shots))"
    "  SELECT 'method', top, place FROM best WHERE method <> leader AND of_method = 1;";

/* Differences a - b with the runs of equal seeds; where both have results task by task on the
 * same tasks, averaged over seeds task by task, so that the interval over tasks is one of these
 * models on new tasks. */
#define SQL_HALF(n, s, q)                                                                          \
    "(SELECT t FROM student WHERE df = min(" n ", 1001) - 1)"                                      \
    " * sqrt(max(0, " q " - " s " * " s " / " n ") / (" n " - 1) / " n ")"
#define SQL_WIDER "iif(seeds >= 3, max(half_seeds, coalesce(half_tasks, 0)), half_tasks)"

static const char contests_sql[] =
    "CREATE TEMP TABLE contests AS WITH runs_of AS (SELECT kind, a, b, x.run, x.test,"
    "   y.run AS run2, y.test AS test2, x.tasks_hash = y.tasks_hash AS same,"
    "   x.accuracy - y.accuracy AS d FROM wanted w JOIN cell_seeds x ON x.place = w.a"
    "   JOIN cell_seeds y ON y.place = w.b AND y.seed = x.seed),"
    "  over_seeds AS (SELECT kind, a, b, count(*) AS seeds, sum(d) AS s, sum(d * d) AS q"
    "   FROM runs_of GROUP BY kind, a, b),"
    "  by_task AS (SELECT kind, a, b, p.task, avg(p.accuracy - q.accuracy) AS d FROM runs_of r"
    "   JOIN task_results p ON p.run = r.run AND p.test = r.test"
    "   JOIN task_results q ON q.run = r.run2 AND q.test = r.test2 AND q.task = p.task"
    "   WHERE same GROUP BY kind, a, b, p.task),"
    "  over_tasks AS (SELECT kind, a, b, count(*) AS n, sum(d) AS s, sum(d * d) AS q FROM by_task"
    "   GROUP BY kind, a, b)"
    " SELECT *, " SQL_WIDER " AS half FROM (SELECT o.kind, o.a, o.b, seeds, o.s / seeds AS"
    "  difference, " SQL_HALF("seeds", "o.s", "o.q") " AS half_seeds, " SQL_HALF(
        "n", "t.s", "t.q") " AS half_tasks"
                           "  FROM over_seeds o LEFT JOIN over_tasks t USING (kind, a, b))";

/* Every variant against its control. */
static const char pairs_sql[] =
    "CREATE TEMP TABLE pairs AS WITH runs_of AS (SELECT a.variant, t.shots AS test_shots,"
    "   t.support, t.bn, t.run, t.test, u.run AS run2, u.test AS test2,"
    "   t.tasks_hash = u.tasks_hash AS same, t.accuracy - u.accuracy AS d"
    "   FROM runs a JOIN shown USING (run)"
    "   JOIN runs b ON b.control = a.control AND b.labels = 'random' AND a.labels <> 'random'"
    "   JOIN tests t ON t.run = a.run AND t.model = 'best' JOIN tests u ON u.run = b.run AND"
    "   u.model = 'best' AND u.shots = t.shots AND u.support = t.support AND u.bn = t.bn),"
    "  over_seeds AS (SELECT variant, test_shots, support, bn, count(*) AS seeds, sum(d) AS s,"
    "   sum(d * d) AS q FROM runs_of GROUP BY 1, 2, 3, 4),"
    "  by_task AS (SELECT variant, test_shots, support, bn, p.task, avg(p.accuracy - q.accuracy)"
    "   AS d FROM runs_of r JOIN task_results p ON p.run = r.run AND p.test = r.test"
    "   JOIN task_results q ON q.run = r.run2 AND q.test = r.test2 AND q.task = p.task"
    "   WHERE same GROUP BY 1, 2, 3, 4, 5),"
    "  over_tasks AS (SELECT variant, test_shots, support, bn, count(*) AS n, sum(d) AS s,"
    "   sum(d * d) AS q, sum(d > 0) AS better, sum(d < 0) AS worse FROM by_task"
    "   GROUP BY 1, 2, 3, 4)"
    " SELECT *, " SQL_WIDER " AS half FROM (SELECT o.variant, o.test_shots, o.support, o.bn,"
    "  seeds, o.s / seeds AS difference, better, worse, n, " SQL_HALF(
        "seeds", "o.s",
        "o.q") " AS half_seeds, " SQL_HALF("n", "t.s",
                                           "t.q") " AS half_tasks"
                                                  "  FROM over_seeds o LEFT JOIN over_tasks t "
                                                  "USING (variant, test_shots, support, bn))";

int report_prepare_runs(struct store *s, const char *suite)
{
    int rc = sqlite3_create_function(s->db, "show_count", 1, SQLITE_UTF8, NULL, sql_show_count,
                                     NULL, NULL);
    if (!rc)
        rc = sqlite3_create_function(s->db, "show_number", -1, SQLITE_UTF8, NULL, sql_show_number,
                                     NULL, NULL);
    if (rc)
        return sql_failed(s, rc, "cannot read it");
    int err = sql_exec(s, "CREATE TEMP TABLE shown (run INTEGER PRIMARY KEY)", "cannot read it");
    if (!err)
        err = sql_do(s,
                     "INSERT INTO shown SELECT run FROM runs WHERE ?1 IS NULL OR run IN"
                     " (SELECT run FROM suite_runs JOIN suites USING (suite) WHERE name = ?1)",
                     "t", suite);
    return err ? err : sql_exec(s, variants_sql, "cannot read the results");
}

int report_prepare(struct store *s, const char *suite)
{
    static const char *const steps[] = {chosen_sql, wanted_sql, contests_sql};
    int err = report_prepare_runs(s, suite);
    for (size_t i = 0; !err && i < sizeof steps / sizeof *steps; i++)
        err = sql_exec(s, steps[i], "cannot read the results");
    return err;
}

int prepare_pairs(struct store *s)
{
    return sql_exec(s, pairs_sql, "cannot compare runs");
}
#endif
