/* page_runs.c - every run, its settings, its environment, and the suites. */
#include "report/page.h"
#include "store/store_sql.h"

#ifdef METE_HAVE_SQLITE
#include "base/error.h"
#include "report/page_sql.h"

static void details(struct page *p, const char *summary)
{
    text_print(&p->html, "<details><summary>%s</summary>\n", summary);
}

static int add_runs(struct page *p)
{
    details(p, "Every run");
    int err = page_query(
        p, NULL,
        "SELECT substr(r.id, 1, 8) AS run, r.bench AS benchmark, r.shots AS 'training shots',"
        " r.method, r.labels, r.seed, r.status, coalesce(r.message,"
        " (SELECT group_concat(printf('%ds %.1f', t.shots, 100 * t.accuracy), ', ') FROM tests t"
        "  WHERE t.run = r.run AND t.model = 'best')) AS 'test accuracy, % (or why it failed)',"
        " (SELECT group_concat(DISTINCT t.bn) FROM tests t WHERE t.run = r.run) AS 'batch norm',"
        " printf('%,d', o.labels_used) AS labels, printf('%,d', o.tasks) AS tasks,"
        " printf('%.1f', (m.train_seconds + m.test_seconds) / 60) AS minutes, m.host"
        " FROM runs r JOIN shown USING (run) LEFT JOIN outcomes o ON o.run = r.run"
        " LEFT JOIN times m ON m.run = r.run ORDER BY r.run",
        NULL);
    text_add(&p->html, "</details>\n");
    return err;
}

/* A run's settings are those all share and those of its variant. */
static int add_settings(struct page *p)
{
    details(p, "Settings that all runs share");
    int err = page_query(p, NULL,
                         "SELECT key AS setting, max(value) AS value,"
                         " group_concat(DISTINCT origin) AS 'where from' FROM settings"
                         " JOIN shown USING (run) GROUP BY key HAVING count(DISTINCT value) = 1"
                         " AND count(*) = (SELECT count(*) FROM shown) ORDER BY key",
                         NULL);
    text_add(&p->html, "</details>\n");
    details(p, "Settings in which they differ");
    if (!err)
        err = page_query(
            p, NULL,
            "WITH shared AS (SELECT key FROM settings JOIN shown USING (run) GROUP BY key"
            "  HAVING count(DISTINCT value) = 1 AND count(*) = (SELECT count(*) FROM shown))"
            " SELECT substr(r.variant, 1, 8) AS variant, r.bench AS benchmark, r.method, r.labels,"
            " r.shots AS 'training shots', group_concat(DISTINCT r.seed) AS seeds, (SELECT "
            "group_concat(key || ' = ' || value,"
            "  '; ') FROM settings s WHERE s.run = min(r.run) AND key NOT IN (SELECT key FROM"
            "  shared) AND key NOT IN ('bench', 'method', 'labels', 'seed', 'shots')) AS settings"
            " FROM runs r JOIN shown USING (run) GROUP BY r.variant ORDER BY min(r.run)",
            NULL);
    text_add(&p->html, "</details>\n");
    return err;
}

static int add_environment(struct page *p)
{
    details(p, "Environment");
    int err = page_query(p, NULL,
                         "SELECT j.key AS what, j.value AS value, count(DISTINCT t.run) AS runs"
                         " FROM times t JOIN shown USING (run) JOIN environments e"
                         " USING (environment), json_each(iif(json_valid(e.json), e.json, '{}')) j"
                         " GROUP BY j.key, j.value ORDER BY j.key, count(*) DESC",
                         NULL);
    text_add(&p->html, "</details>\n");
    return err;
}

static int add_suites(struct page *p)
{
    sqlite3_stmt *stmt = NULL;
    int row = 0, err = sql_prepare(p->s, &stmt,
                                   "SELECT name, path, text FROM suites"
                                   " WHERE ?1 IS NULL OR name = ?1 ORDER BY suite");
    if (!err)
        sql_bind(stmt, "t", p->suite);
    while (!err && (row = sql_row(p->s, stmt)) == 1) {
        text_add(&p->html, "<details><summary>Suite ");
        html_add(&p->html, (const char *)sqlite3_column_text(stmt, 0));
        text_add(&p->html, " (");
        html_add(&p->html, (const char *)sqlite3_column_text(stmt, 1));
        text_add(&p->html, ")</summary>\n<pre>");
        html_add(&p->html, (const char *)sqlite3_column_text(stmt, 2));
        text_add(&p->html, "</pre></details>\n");
    }
    sqlite3_finalize(stmt);
    return err ? err : row < 0 ? row : 0;
}

static const char measures_sql[] =
    "SELECT substr(variant, 1, 8) AS variant, bench AS benchmark, method, labels, name AS measure,"
    " show_number(y, h) AS value, k AS seeds FROM (SELECT *, " SQL_OVER_SEEDS
    "  FROM (SELECT r.variant, r.bench, r.method, r.labels, m.name, min(r.run) AS first, " SQL_SUMS
    "   FROM measures m JOIN runs r USING (run) JOIN shown USING (run)"
    "   WHERE m.value IS NOT NULL GROUP BY r.variant, m.name)) ORDER BY first, name";

int page_measures(struct page *p)
{
    double n = 0;
    int err = page_measured(p, NULL, &n);
    if (err || n == 0)
        return err;
    page_section(p, "measures", "What was measured",
                 "Numbers of studies, mean over seeds with the 95 % interval over seeds. The "
                 "settings of a variant are listed below.");
    details(p, "Every measure of every variant");
    err = page_query(p, NULL, measures_sql, NULL);
    text_add(&p->html, "</details>\n");
    page_section_end(p);
    return err;
}

int page_runs(struct page *p)
{
    page_section(p, "runs", "Runs and settings",
                 "Everything needed to repeat a run: its settings with where each came from, the "
                 "suite, the program and machine it ran on.");
    int err = add_runs(p);
    if (!err)
        err = add_settings(p);
    if (!err)
        err = add_environment(p);
    if (!err)
        err = add_suites(p);
    page_section_end(p);
    return err;
}
#endif
