/* page_head.c - what this is at a glance, and whether choosing labels pays. */
#include "report/page.h"
#include "store/store_sql.h"

#ifdef METE_HAVE_SQLITE
#include "base/error.h"

#include <math.h>
#include <stdlib.h>

static int add_tile(struct page *p, const char *name, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    int err = sql_prepare(p->s, &stmt, sql), row = 0;
    if (!err && (row = sql_row(p->s, stmt)) == 1 && sqlite3_column_text(stmt, 0)) {
        text_print(&p->html, "<div><dt>%s</dt><dd>", name);
        html_add(&p->html, (const char *)sqlite3_column_text(stmt, 0));
        text_add(&p->html, "</dd></div>\n");
    }
    sqlite3_finalize(stmt);
    return err ? err : row < 0 ? row : 0;
}

static int add_tiles(struct page *p)
{
    static const struct {
        const char *name, *sql;
    } tiles[] = {
        {"runs done", "SELECT printf('%d of %d', sum(status = 'done'), count(*)) FROM runs JOIN "
                      "shown USING (run)"},
        {"failed", "SELECT nullif(sum(status = 'failed'), 0) FROM runs JOIN shown USING (run)"},
        {"seeds", "SELECT count(DISTINCT seed) FROM runs JOIN shown USING (run)"},
        {"labels used",
         "SELECT printf('%,d', sum(labels_used)) FROM outcomes JOIN shown USING (run)"},
        {"training tasks", "SELECT printf('%,d', sum(tasks)) FROM outcomes JOIN shown USING (run)"},
        {"test tasks scored",
         "SELECT printf('%,d', sum(tasks)) FROM tests JOIN shown USING (run) HAVING count(*) > 0"},
        {"time", "SELECT CASE WHEN s < 5400 THEN printf('%.0f min', s / 60)"
                 " ELSE printf('%.1f h', s / 3600) END FROM (SELECT sum(train_seconds +"
                 " test_seconds) AS s FROM times JOIN shown USING (run)) WHERE s IS NOT NULL"},
    };
    int err = 0;
    text_add(&p->html, "<dl class=\"tiles\">\n");
    for (size_t i = 0; !err && i < sizeof tiles / sizeof *tiles; i++)
        err = add_tile(p, tiles[i].name, tiles[i].sql);
    text_add(&p->html, "</dl>\n");
    return err;
}

/* The leader of every benchmark at its largest budget. */
static int add_leaders(struct page *p)
{
    int err = page_query(
        p, "In front, at each benchmark's largest budget",
        "SELECT dataset AS 'data set', printf('%dw-%ds', ways, test_shots) AS task,"
        " coalesce(show_count(budget), 'no cap') AS budget,"
        " printf('%.1f', 100 * accuracy) || iif(half IS NULL, '', printf(' ±%.1f', 100 * half))"
        "  AS 'accuracy, %', method, labels, shots AS 'training shots', bn AS 'batch norm' FROM"
        " (SELECT *, coalesce(half_seeds, half_tasks) AS half, max(coalesce(budget, 1e18)) OVER"
        "   (PARTITION BY dataset, ways, test_shots) AS top, row_number() OVER"
        "   (PARTITION BY dataset, ways, test_shots, budget, support, bn ORDER BY accuracy DESC)"
        "   AS lead FROM chosen)"
        " WHERE lead = 1 AND coalesce(budget, 1e18) = top"
        " ORDER BY min(first_run) OVER (PARTITION BY dataset), ways, test_shots",
        NULL);
    return err;
}

int page_head(struct page *p)
{
    int err = add_tiles(p);
    return err ? err : add_leaders(p);
}

/* Differences on the same test tasks, averaged over seeds task by task, so that the
 * interval over tasks is one of these models on new tasks; the other over seeds. */
static const char pairs_sql[] =
    "CREATE TEMP TABLE pairs AS"
    " WITH single AS (SELECT a.variant, a.run, p.test_shots, p.support, p.bn, p.task, p.difference"
    "   FROM runs a JOIN shown USING (run)"
    "   JOIN runs b ON b.control = a.control AND b.labels = 'random' AND a.labels <> 'random'"
    "   JOIN task_pairs p ON p.run = a.run AND p.other_run = b.run WHERE p.model = 'best'),"
    " by_task AS (SELECT variant, test_shots, support, bn, task, avg(difference) AS d"
    "   FROM single GROUP BY 1, 2, 3, 4, 5),"
    " over_tasks AS (SELECT variant, test_shots, support, bn, count(*) AS n, sum(d) AS s,"
    "   sum(d * d) AS q, sum(d > 0) AS better, sum(d < 0) AS worse FROM by_task"
    "   GROUP BY 1, 2, 3, 4),"
    " by_seed AS (SELECT variant, test_shots, support, bn, run, avg(difference) AS d"
    "   FROM single GROUP BY 1, 2, 3, 4, 5),"
    " over_seeds AS (SELECT variant, test_shots, support, bn, count(*) AS seeds, sum(d) AS s,"
    "   sum(d * d) AS q FROM by_seed GROUP BY 1, 2, 3, 4)"
    " SELECT t.variant, t.test_shots, t.support, t.bn, t.s / n AS difference, better, worse, n,"
    "  (SELECT t FROM student WHERE df = min(n, 1001) - 1)"
    "   * sqrt(max(0, t.q - t.s * t.s / n) / (n - 1) / n) AS half_tasks, seeds,"
    "  (SELECT t FROM student WHERE df = min(seeds, 1001) - 1)"
    "   * sqrt(max(0, o.q - o.s * o.s / seeds) / (seeds - 1) / seeds) AS half_seeds"
    " FROM over_tasks t JOIN over_seeds o USING (variant, test_shots, support, bn)";

/* Shown: beyond both intervals, or beyond the one over tasks where there is one seed. */
#define BEYOND(sign)                                                                               \
    sign "difference > half_tasks AND (half_seeds IS NULL OR " sign "difference > half_seeds)"
#define VERDICT                                                                                    \
    "CASE WHEN " BEYOND("") " THEN 'ahead' WHEN " BEYOND(                                          \
        "-") " THEN 'behind'"                                                                      \
             " WHEN difference > half_tasks THEN 'ahead with these seeds'"                         \
             " WHEN -difference > half_tasks THEN 'behind with these seeds' ELSE 'open' END"

static int add_verdict(struct page *p)
{
    double n = 0, better = 0, worse = 0;
    int err = page_number(p, "SELECT count(*) FROM pairs", &n);
    if (!err)
        err = page_number(p, "SELECT sum(" BEYOND("") ") FROM pairs", &better);
    if (!err)
        err = page_number(p, "SELECT sum(" BEYOND("-") ") FROM pairs", &worse);
    text_print(
        &p->html,
        "<p>Of %.0f comparisons with labels bought at random, on the same test tasks, the "
        "strategy is ahead in %.0f and behind in %.0f, by more than the 95 %% intervals over "
        "tasks and over seeds; the others are open. Among so many, some will be ahead or "
        "behind by chance.</p>\n",
        n, better, worse);
    return err;
}

static const char forest_sql[] =
    "SELECT json_group_array(json_object('panel', panel, 'line', r.method || ', ' || r.labels,"
    " 'colour', r.method, 'dash', r.labels, 'label', r.method || ', ' || r.labels || ', ' ||"
    " r.shots || iif(r.shots = 1, ' shot', ' shots'), 'x', 100 * difference,"
    " 'lo', 100 * (difference - half_tasks), 'hi', 100 * (difference + half_tasks),"
    " 'note', " VERDICT ")) FROM (SELECT p.*, r.*, r.dataset || ' · ' || r.ways || 'w-' ||"
    " p.test_shots || 's · ' || coalesce(show_count(r.budget), 'no cap') AS panel"
    " FROM pairs p JOIN (SELECT *, min(run) FROM runs GROUP BY variant) r USING (variant)"
    " ORDER BY r.run, p.test_shots) r";

int page_pairs(struct page *p)
{
    static const struct chart chart = {"pairs",
                                       "forest",
                                       "Difference to random labels, on the same test tasks",
                                       "difference in points",
                                       "",
                                       0,
                                       false};
    double n = 0;
    int err = sql_exec(p->s, pairs_sql, "cannot compare runs");
    if (!err)
        err = page_number(p, "SELECT count(*) FROM pairs", &n);
    if (err || n == 0)
        return err;
    page_section(p, "labels", "Does choosing labels pay?", NULL);
    err = add_verdict(p);
    if (!err)
        err = chart_query(p, &chart, forest_sql);
    page_figure(p, chart.id, chart.title,
                "Points of accuracy, with the 95 % interval over test tasks; to the right of the "
                "dashed line the strategy is ahead.");
    if (!err)
        err = page_query(
            p, NULL,
            "SELECT r.dataset AS 'data set', printf('%dw-%ds', r.ways, p.test_shots) AS task,"
            " coalesce(show_count(r.budget), 'no cap') AS budget, r.method, r.labels AS strategy,"
            " r.shots AS 'training shots', printf('%+.1f', 100 * difference) AS difference,"
            " printf('±%.1f', 100 * half_tasks) AS 'over tasks',"
            " CASE WHEN half_seeds IS NULL THEN '–' ELSE printf('±%.1f', 100 * half_seeds) END"
            "  AS 'over seeds', better AS 'tasks better', worse AS 'tasks worse', " VERDICT
            " AS verdict, p.bn AS 'batch norm' FROM pairs p"
            " JOIN (SELECT *, min(run) FROM runs GROUP BY variant) r USING (variant)"
            " ORDER BY r.run, p.test_shots",
            NULL);
    page_figure_end(p);
    page_section_end(p);
    return err;
}
#endif
