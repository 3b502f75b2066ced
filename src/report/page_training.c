/* page_training.c - how training went, and where the labels went. */
#include "report/page.h"
#include "store/store_sql.h"

#ifdef METE_HAVE_SQLITE
#include "base/error.h"

/* `cells`: the chosen variant of each cell at its smallest test shots, one line each; a panel
 * for each method, since one may train ten times as long as another. */
static const char curves_sql[] =
    "WITH points AS (SELECT c.panel || ' · ' || c.method AS panel, c.place, c.line, c.method,"
    "  c.dash, k.step, count(*) AS n, sum(k.accuracy) AS s, sum(k.accuracy * k.accuracy) AS q"
    "  FROM cells c JOIN runs r USING (variant) JOIN checkpoints k USING (run)"
    "  WHERE k.accuracy IS NOT NULL AND k.shots = (SELECT min(shots) FROM checkpoints x WHERE"
    "  x.run = k.run) GROUP BY c.variant, k.step),"
    " half AS (SELECT *, s / n AS y, iif(n > 2, (SELECT t FROM student WHERE df = min(n, 1001) -"
    "  1) * sqrt(max(0, q - s * s / n) / (n - 1) / n), NULL) AS h, row_number() OVER line AS"
    "  number, count(*) OVER (PARTITION BY place) AS total FROM points"
    "  WINDOW line AS (PARTITION BY place ORDER BY step))"
    " SELECT panel, line, method AS colour, dash, step AS x, 100 * y AS y, 100 * (y - h) AS lo,"
    "  100 * (y + h) AS hi FROM half"
    " WHERE number % max(1, total / 100) = 0 OR number IN (1, total) ORDER BY place, step";

static const char outcomes_sql[] =
    "SELECT c.panel AS benchmark, c.method, c.dash AS labels, c.shots AS 'training shots',"
    " count(*) AS seeds, max(o.steps) AS 'meta-updates', printf('%.1f', 100 * avg((SELECT"
    "  accuracy FROM checkpoints k WHERE k.run = r.run ORDER BY step LIMIT 1))) AS 'first"
    " validation, %', printf('%.1f', 100 * avg(o.best_accuracy)) AS 'best validation, %',"
    " group_concat(o.best_step, ', ') AS 'at step'"
    " FROM cells c JOIN runs r USING (variant) JOIN outcomes o USING (run)"
    " GROUP BY c.variant ORDER BY c.place";

int page_training(struct page *p)
{
    static const struct chart chart = {.id = "training",
                                       .title = "Validation accuracy during training",
                                       .kind = CHART_CURVES,
                                       .x = "meta-updates",
                                       .y = "validation accuracy, %"};
    double n = 0;
    int err = page_number(
        p, "SELECT count(*) FROM checkpoints JOIN runs USING (run) JOIN cells USING (variant)", &n);
    if (err || n == 0)
        return err;
    page_section(p, "training", "Training", NULL);
    err = page_chart(p, &chart,
                     "Of the chosen variants, mean over seeds; bands 95 % over seeds where there "
                     "are three or more. Each panel has its own axis of steps. The model that is "
                     "best on validation is the one that is tested.",
                     curves_sql, outcomes_sql);
    page_section_end(p);
    return err;
}

static const char ledger_panels_sql[] =
    "CREATE TEMP TABLE ledger_panels AS SELECT run, dataset || iif(ways > 0, ' ' || ways || 'w', "
    "'') || ' · ' ||"
    " coalesce(show_count(budget) || ' labels', 'no cap') || ' · ' || shots || ' training shot' ||"
    " iif(shots = 1, '', 's') AS panel FROM runs JOIN shown USING (run)"
    " WHERE run IN (SELECT run FROM ledger_coverage)";

/* The shares of tasks by classes covered, and the classes by how often they were
 * labelled; both by strategy, over all methods and seeds of a benchmark. */
static const char coverage_sql[] =
    "SELECT panel, labels AS line, labels AS dash, classes AS x, 100.0 * tasks / total AS y FROM"
    " (SELECT *, sum(tasks) OVER (PARTITION BY panel, labels) AS total FROM"
    "  (SELECT l.panel, r.labels, v.classes, sum(v.tasks) AS tasks, min(r.run) AS first"
    "   FROM ledger_coverage v JOIN runs r USING (run) JOIN ledger_panels l USING (run)"
    "   GROUP BY l.panel, r.labels, v.classes) ORDER BY first, classes)";

static const char classes_sql[] =
    "WITH ranked AS (SELECT l.panel, r.labels, r.run, c.support,"
    "  row_number() OVER (PARTITION BY r.run ORDER BY c.support DESC) AS rank,"
    "  count(*) OVER (PARTITION BY r.run) AS total FROM ledger_classes c"
    "  JOIN runs r USING (run) JOIN ledger_panels l USING (run))"
    " SELECT panel, labels AS line, labels AS dash, rank AS x, y FROM (SELECT panel, labels, rank,"
    "  avg(support) AS y, min(run) AS first FROM ranked WHERE (rank - 1) % max(1, total / 60) = 0"
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

int page_ledger(struct page *p)
{
    static const struct chart coverage = {.id = "coverage",
                                          .title = "Classes covered by a task's support",
                                          .kind = CHART_BARS,
                                          .x = "distinct classes among the labels of a task",
                                          .y = "share of tasks, %"};
    static const struct chart classes = {.id = "classes",
                                         .title = "Labels per class",
                                         .kind = CHART_CURVES,
                                         .x = "classes, the most labelled first",
                                         .y = "labels, mean over runs",
                                         .flags = CHART_OWN_Y};
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
    err = page_chart(p, &coverage, NULL, coverage_sql, ledger_table_sql);
    if (!err)
        err = page_chart(p, &classes, NULL, classes_sql, classes_table_sql);
    page_section_end(p);
    return err;
}
#endif
