/* page_training.c - how training went, where the labels went, how sure the models are. */
#include "report/page.h"
#include "store/store_sql.h"

#ifdef METE_HAVE_SQLITE
#include "base/error.h"

/* `cells`: the chosen variant of each cell at its smallest test shots, one line in a
 * chart each, with its panel. */
#define LINE "'line', method || ', ' || labels, 'colour', method, 'dash', labels"

int page_training(struct page *p)
{
    double n = 0;
    int err = page_number(
        p, "SELECT count(*) FROM checkpoints JOIN runs USING (run) JOIN cells USING (variant)", &n);
    if (err || n == 0)
        return err;
    static const struct chart chart = {"training",
                                       "lines",
                                       "Validation accuracy during training",
                                       "meta-updates",
                                       "validation accuracy, %",
                                       false,
                                       true};
    page_section(p, "training", "Training",
                 "Validation accuracy of the chosen variants, mean over seeds with its 95 % "
                 "interval. The best model by validation is the one that is tested.");
    err = chart_query(
        p, &chart,
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
        "  ORDER BY first_run, step)");
    page_figure(p, chart.id, chart.title, NULL);
    if (!err)
        err = page_query(
            p, NULL,
            "SELECT c.panel AS benchmark, c.method, c.labels, c.shots AS 'training shots',"
            " count(*) AS seeds, max(o.steps) AS 'meta-updates',"
            " group_concat(o.best_step, ', ') AS 'best at',"
            " printf('%.1f', 100 * avg(o.best_accuracy)) AS 'validation accuracy there, %'"
            " FROM cells c JOIN runs r USING (variant) JOIN outcomes o USING (run)"
            " GROUP BY c.variant ORDER BY c.first_run",
            NULL);
    page_figure_end(p);
    page_section_end(p);
    return err;
}

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
    " printf('%,d', sum(o.labels_used)) AS labels, printf('%,.0f', sum(o.cost)) AS charged,"
    " printf('%,d', sum(o.tasks)) AS tasks,"
    " printf('%.2f', (SELECT 1.0 * sum(v.classes * v.tasks) / sum(v.tasks) FROM ledger_coverage v"
    "  JOIN runs x USING (run) JOIN ledger_panels y USING (run) WHERE x.labels = r.labels"
    "  AND y.panel = l.panel)) AS 'classes per task',"
    " (SELECT printf('%d to %d', min(c.support), max(c.support)) FROM ledger_classes c"
    "  JOIN runs x USING (run) JOIN ledger_panels y USING (run) WHERE x.labels = r.labels"
    "  AND y.panel = l.panel) AS 'labels per class and run'"
    " FROM runs r JOIN ledger_panels l USING (run) JOIN outcomes o USING (run)"
    " GROUP BY l.panel, r.labels ORDER BY min(r.run)";

int page_ledger(struct page *p)
{
    double n = 0;
    int err = sql_exec(p->s,
                       "CREATE TEMP TABLE ledger_panels AS SELECT run, dataset || ' ' || ways ||"
                       " 'w · ' || coalesce(show_count(budget) || ' labels', 'no cap') || ' · ' ||"
                       " shots || ' training shot' || iif(shots = 1, '', 's') AS panel"
                       " FROM runs JOIN shown USING (run)"
                       " WHERE run IN (SELECT run FROM ledger_coverage)",
                       "cannot sum up the ledger");
    if (!err)
        err = page_number(p, "SELECT count(*) FROM ledger_panels", &n);
    if (err || n == 0)
        return err;
    static const struct chart coverage = {"coverage",
                                          "bars",
                                          "Classes covered by a task's support",
                                          "distinct classes among the labels of a task",
                                          "share of tasks, %",
                                          false,
                                          false};
    static const struct chart classes = {"classes",
                                         "lines",
                                         "Labels per class",
                                         "classes, the most labelled first",
                                         "labels of the support, mean over runs",
                                         false,
                                         false};
    page_section(p, "ledger", "Where the labels went",
                 "From the ledger, which holds every label that was bought. A support that lacks "
                 "a class cannot teach it; chosen labels should cover more classes than random "
                 "ones at the same price.");
    err = chart_query(p, &coverage, coverage_sql);
    if (!err)
        err = chart_query(p, &classes, classes_sql);
    page_figure(p, coverage.id, coverage.title, NULL);
    if (!err)
        err = page_query(p, NULL, ledger_table_sql, NULL);
    page_figure_end(p);
    page_figure(p, classes.id, classes.title, NULL);
    if (!err)
        err = page_query(p, NULL,
                         "SELECT l.panel AS benchmark, r.labels AS strategy,"
                         " count(DISTINCT c.class) AS 'classes labelled',"
                         " printf('%.1f', avg(c.support)) AS 'labels per class, mean',"
                         " min(c.support) AS least, max(c.support) AS most,"
                         " sum(c.query) AS 'query labels'"
                         " FROM ledger_classes c JOIN runs r USING (run)"
                         " JOIN ledger_panels l USING (run) GROUP BY l.panel, r.labels"
                         " ORDER BY min(r.run)",
                         NULL);
    page_figure_end(p);
    page_section_end(p);
    return err;
}

int page_calibration(struct page *p)
{
    double n = 0;
    int err = page_number(
        p, "SELECT count(*) FROM calibration JOIN runs USING (run) JOIN chosen USING (variant)",
        &n);
    if (err || n == 0)
        return err;
    static const struct chart chart = {
        "calibration", "calibration", "Confidence and accuracy", "confidence, %", "accuracy, %",
        false,         false};
    page_section(p, "calibration", "How sure are the models?",
                 "Query predictions by their confidence. On the dashed line a model that says "
                 "80 % is right in 80 % of cases; below it, it is too sure of itself.");
    err = chart_query(
        p, &chart,
        "SELECT json_group_array(json_object('panel', panel, " LINE ", 'x', 100 * confidence / n,"
        "  'y', 100 * correct / n, 'n', n)) FROM"
        " (SELECT c.panel || ' · ' || c.test_shots || '-shot tests' AS panel, c.method, c.labels,"
        "  b.bin, sum(b.n) AS n, sum(b.confidence) AS confidence, sum(b.correct) AS correct"
        "  FROM chosen c JOIN runs r USING (variant) JOIN tests t ON t.run = r.run"
        "  AND t.model = 'best' AND t.shots = c.test_shots AND t.support = c.support"
        "  AND t.bn = c.bn JOIN calibration b ON b.run = t.run AND b.test = t.test"
        "  GROUP BY c.variant, c.test_shots, c.support, c.bn, b.bin"
        "  HAVING sum(b.n) >= 20 ORDER BY c.first_run, c.test_shots, b.bin)");
    page_figure(p, chart.id, chart.title, "Bins of fewer than 20 predictions are left out.");
    if (!err)
        err = page_query(p, NULL,
                         "SELECT panel AS benchmark, test_shots AS 'test shots', method, labels,"
                         " printf('%.1f', 100 * accuracy) AS 'accuracy, %', bn AS 'batch norm',"
                         " printf('%.3f', ece) AS 'calibration error (ECE)'"
                         " FROM chosen ORDER BY first_run, test_shots",
                         NULL);
    page_figure_end(p);
    page_section_end(p);
    return err;
}

int page_users(struct page *p)
{
    double n = 0;
    int err = page_number(
        p, "SELECT count(*) FROM users u JOIN shown USING (run) WHERE u.model = 'best'", &n);
    if (err || n == 0)
        return err;
    static const struct chart chart = {
        "users", "users", "Every user before and after", "accuracy before, %", "accuracy after, %",
        false,   false};
    page_section(p, "users", "Who gains, who loses",
                 "Tasks are users here. A point is one user, mean over seeds; above the dashed "
                 "line personalisation helped, below it made things worse.");
    err = chart_query(
        p, &chart,
        "SELECT json_group_array(json_object('panel', c.panel || ' · ' || c.test_shots ||"
        "  '-shot tests · ' || c.method || ', ' || c.labels, 'line', c.method || ', ' || c.labels,"
        "  'colour', c.method, 'dash', c.labels, 'user', x.user, 'x', x.before, 'y', x.after))"
        " FROM (SELECT r.variant, t.shots, t.support, t.bn, x.user, avg(100 * x.accuracy_before)"
        "   AS before, avg(100 * x.accuracy) AS after FROM runs r JOIN shown USING (run)"
        "   JOIN tests t ON t.run = r.run AND t.model = 'best' JOIN task_results x"
        "   ON x.run = t.run AND x.test = t.test WHERE x.user IS NOT NULL"
        "   GROUP BY r.variant, t.shots, t.support, t.bn, x.user) x"
        " JOIN chosen c ON c.variant = x.variant AND c.test_shots = x.shots"
        "  AND c.support = x.support AND c.bn = x.bn");
    page_figure(p, chart.id, chart.title, NULL);
    if (!err)
        err = page_query(
            p, NULL,
            "SELECT c.panel AS benchmark, c.test_shots AS 'test shots', c.method, c.labels,"
            " max(u.users) AS users, printf('%.1f', 100 * avg(u.mean_before)) AS 'before, %',"
            " printf('%.1f', 100 * avg(u.mean)) AS 'after, %',"
            " printf('%.1f', 100 * avg(u.weighted_mean)) AS 'after, by query size, %',"
            " printf('%.1f', 100 * avg((SELECT d.mean FROM user_deciles d WHERE d.run = u.run"
            "  AND d.test = u.test AND d.decile = 1))) AS 'worst tenth, %',"
            " printf('%.1f', 100 * avg((SELECT d.mean FROM user_deciles d WHERE d.run = u.run"
            "  AND d.test = u.test AND d.decile = 10))) AS 'best tenth, %',"
            " printf('%.1f', 100 * min(u.worst)) AS 'worst, %',"
            " printf('%.1f', 100 * avg(u.worse_share)) AS 'made worse, % of users',"
            " c.bn AS 'batch norm'"
            " FROM chosen c JOIN runs r USING (variant) JOIN users u ON u.run = r.run"
            "  AND u.model = 'best' AND u.test_shots = c.test_shots AND u.bn = c.bn"
            " GROUP BY c.variant, c.test_shots, c.bn ORDER BY c.first_run, c.test_shots",
            NULL);
    page_figure_end(p);
    page_section_end(p);
    return err;
}
#endif
