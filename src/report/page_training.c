/* page_training.c - how training went, and where the labels went. */
#include "report/page.h"
#include "store/store_sql.h"

#ifdef METE_HAVE_SQLITE
#include "base/error.h"

/* `cells`: the chosen variant of each cell at its smallest test shots, one line in a
 * chart each, with its panel. */
#define LINE "'line', method || ', ' || labels, 'colour', method, 'dash', labels"

static const char curves_sql[] =
    "WITH points AS (SELECT c.panel || ' · ' || k.shots || '-shot validation' AS panel,"
    "  c.first_run, c.method, c.labels, k.step, count(*) AS n, sum(k.accuracy) AS s,"
    "  sum(k.accuracy * k.accuracy) AS q FROM cells c JOIN runs r USING (variant)"
    "  JOIN checkpoints k USING (run) WHERE k.accuracy IS NOT NULL"
    "  GROUP BY c.variant, k.shots, k.step),"
    " half AS (SELECT *, s / n AS y, (SELECT t FROM student WHERE df = min(n, 1001) - 1)"
    "  * sqrt(max(0, q - s * s / n) / (n - 1) / n) AS h, row_number() OVER line AS place,"
    "  count(*) OVER (PARTITION BY panel, first_run) AS total FROM points"
    "  WINDOW line AS (PARTITION BY panel, first_run ORDER BY step))"
    " SELECT json_group_array(json_object('panel', panel, " LINE ", 'x', step,"
    "  'y', 100 * y, 'lo', 100 * (y - h), 'hi', 100 * (y + h)))"
    " FROM (SELECT * FROM half WHERE place % max(1, total / 100) = 0 OR place = total"
    "  ORDER BY first_run, step)";

static const char outcomes_sql[] =
    "SELECT c.panel AS benchmark, c.method, c.labels, c.shots AS 'training shots',"
    " count(*) AS seeds, max(o.steps) AS 'meta-updates',"
    " group_concat(o.best_step, ', ') AS 'best at',"
    " printf('%.1f', 100 * avg(o.best_accuracy)) AS 'validation accuracy there, %'"
    " FROM cells c JOIN runs r USING (variant) JOIN outcomes o USING (run)"
    " GROUP BY c.variant ORDER BY c.first_run";

int page_training(struct page *p)
{
    static const struct chart chart = {"training",
                                       "lines",
                                       "Validation accuracy during training",
                                       "meta-updates",
                                       "validation accuracy, %",
                                       0,
                                       true};
    double n = 0;
    int err = page_number(
        p, "SELECT count(*) FROM checkpoints JOIN runs USING (run) JOIN cells USING (variant)", &n);
    if (err || n == 0)
        return err;
    page_section(p, "training", "Training",
                 "Validation accuracy of the chosen variants, mean over seeds with its 95 % "
                 "interval. The best model by validation is the one that is tested.");
    err = chart_query(p, &chart, curves_sql);
    page_figure(p, chart.id, chart.title, NULL);
    if (!err)
        err = page_query(p, NULL, outcomes_sql, NULL);
    page_figure_end(p);
    page_section_end(p);
    return err;
}

static const char ledger_panels_sql[] =
    "CREATE TEMP TABLE ledger_panels AS SELECT run, dataset || ' ' || ways || 'w · ' ||"
    " coalesce(show_count(budget) || ' labels', 'no cap') || ' · ' || shots || ' training shot' ||"
    " iif(shots = 1, '', 's') AS panel FROM runs JOIN shown USING (run)"
    " WHERE run IN (SELECT run FROM ledger_coverage)";

/* The shares of tasks by classes covered, and the classes by how often they were
 * labelled; both by strategy, over all methods and seeds of a benchmark. */
static const char coverage_sql[] =
    "SELECT json_group_array(json_object('panel', panel, 'line', labels, 'colour', labels,"
    "  'dash', '', 'x', classes, 'y', 100.0 * tasks / total)) FROM"
    " (SELECT *, sum(tasks) OVER (PARTITION BY panel, labels) AS total FROM"
    "  (SELECT l.panel, r.labels, v.classes, sum(v.tasks) AS tasks, min(r.run) AS first"
    "   FROM ledger_coverage v JOIN runs r USING (run) JOIN ledger_panels l USING (run)"
    "   GROUP BY l.panel, r.labels, v.classes) ORDER BY first, classes)";

static const char classes_sql[] =
    "WITH ranked AS (SELECT l.panel, r.labels, r.run, c.support,"
    "  row_number() OVER (PARTITION BY r.run ORDER BY c.support DESC) AS rank,"
    "  count(*) OVER (PARTITION BY r.run) AS total FROM ledger_classes c"
    "  JOIN runs r USING (run) JOIN ledger_panels l USING (run))"
    " SELECT json_group_array(json_object('panel', panel, 'line', labels, 'colour', labels,"
    "  'dash', '', 'x', rank, 'y', y)) FROM (SELECT panel, labels, rank, avg(support) AS y,"
    "  min(run) AS first FROM ranked WHERE (rank - 1) % max(1, total / 60) = 0"
    "  GROUP BY panel, labels, rank ORDER BY first, rank)";

static const char ledger_table_sql[] =
    "SELECT l.panel AS benchmark, r.labels AS strategy, count(DISTINCT r.run) AS runs,"
    " printf('%,d', sum(o.labels_used)) AS labels, printf('%,d', CAST(round(sum(o.cost)) AS "
    "INTEGER)) AS charged,"
    " printf('%,d', sum(o.tasks)) AS tasks,"
    " printf('%.2f', (SELECT 1.0 * sum(v.classes * v.tasks) / sum(v.tasks) FROM ledger_coverage v"
    "  JOIN runs x USING (run) JOIN ledger_panels y USING (run) WHERE x.labels = r.labels"
    "  AND y.panel = l.panel)) AS 'classes per task',"
    " (SELECT printf('%d to %d', min(c.support), max(c.support)) FROM ledger_classes c"
    "  JOIN runs x USING (run) JOIN ledger_panels y USING (run) WHERE x.labels = r.labels"
    "  AND y.panel = l.panel) AS 'labels per class and run'"
    " FROM runs r JOIN ledger_panels l USING (run) JOIN outcomes o USING (run)"
    " GROUP BY l.panel, r.labels ORDER BY min(r.run)";

static const char classes_table_sql[] =
    "SELECT l.panel AS benchmark, r.labels AS strategy,"
    " count(DISTINCT c.class) AS 'classes labelled',"
    " printf('%.1f', avg(c.support)) AS 'labels per class, mean',"
    " min(c.support) AS least, max(c.support) AS most, sum(c.query) AS 'query labels'"
    " FROM ledger_classes c JOIN runs r USING (run) JOIN ledger_panels l USING (run)"
    " GROUP BY l.panel, r.labels ORDER BY min(r.run)";

static int add_ledger_figure(struct page *p, const struct chart *chart, const char *rows_sql,
                             const char *table_sql)
{
    int err = chart_query(p, chart, rows_sql);
    page_figure(p, chart->id, chart->title, NULL);
    if (!err)
        err = page_query(p, NULL, table_sql, NULL);
    page_figure_end(p);
    return err;
}

int page_ledger(struct page *p)
{
    static const struct chart coverage = {"coverage",
                                          "bars",
                                          "Classes covered by a task's support",
                                          "distinct classes among the labels of a task",
                                          "share of tasks, %",
                                          0,
                                          false};
    static const struct chart classes = {"classes",
                                         "lines",
                                         "Labels per class",
                                         "classes, the most labelled first",
                                         "labels, mean over runs",
                                         0,
                                         true};
    double n = 0;
    int err = sql_exec(p->s, ledger_panels_sql, "cannot sum up the ledger");
    if (!err)
        err = page_number(p, "SELECT count(*) FROM ledger_panels", &n);
    if (err || n == 0)
        return err;
    page_section(p, "ledger", "Where the labels went",
                 "From the ledger, which holds every label that was bought. A support that lacks "
                 "a class cannot teach it; chosen labels should cover more classes than random "
                 "ones at the same price.");
    err = add_ledger_figure(p, &coverage, coverage_sql, ledger_table_sql);
    if (!err)
        err = add_ledger_figure(p, &classes, classes_sql, classes_table_sql);
    page_section_end(p);
    return err;
}
#endif
