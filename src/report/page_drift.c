/* page_drift.c - appendix A in pictures: Reptile's update beside the gradient it stands for.
 *
 * A study of drift leaves, for one inner step size and number of steps, the measures of
 * mete_drift() (docs/theory.md).
 */
#include "report/page.h"
#include "store/store_sql.h"

#ifdef METE_HAVE_SQLITE
#include "base/memory.h"
#include "report/page_sql.h"

#include <stdlib.h>

/* drifted: a measure of a run; drifted_seeds: over seeds; drifts: the measures side by side. */
static const char prepare_sql[] =
    "CREATE TEMP TABLE drifted AS SELECT r.run, r.dataset || iif(r.ways > 0, printf(' %dw-%ds',"
    "  r.ways, r.shots), '') AS bench, a.value AS lr, b.value AS steps, iif(c.value > 0,"
    "  'trained', 'initial') AS weights, x.name, x.value, x.half"
    "  FROM runs r JOIN shown USING (run)"
    "  JOIN measures a ON a.run = r.run AND a.name = 'lr'"
    "  JOIN measures b ON b.run = r.run AND b.name = 'steps'"
    "  JOIN measures c ON c.run = r.run AND c.name = 'trained'"
    "  JOIN measures x ON x.run = r.run WHERE x.value IS NOT NULL;"
    "CREATE TEMP TABLE drifted_seeds AS SELECT *, " SQL_OVER_SEEDS ", iif((SELECT count(DISTINCT"
    "  bench) FROM drifted) > 1, bench || ' · ', '') || weights || ' weights' AS panel,"
    "  printf('T = %d', steps) AS line"
    "  FROM (SELECT bench, weights, lr, steps, name, " SQL_SUMS
    "   FROM drifted GROUP BY bench, weights, lr, steps, name);"
    "CREATE TEMP VIEW drifts AS SELECT bench, weights, lr, steps,"
    "  max(y) FILTER (WHERE name = 'cosine') AS cosine,"
    "  max(w) FILTER (WHERE name = 'cosine') AS cosine_w,"
    "  max(h) FILTER (WHERE name = 'cosine') AS cosine_h,"
    "  max(y) FILTER (WHERE name = 'deviation') AS deviation,"
    "  max(w) FILTER (WHERE name = 'deviation') AS deviation_w,"
    "  max(h) FILTER (WHERE name = 'deviation') AS deviation_h,"
    "  max(y) FILTER (WHERE name = 'raw') AS raw,"
    "  max(y) FILTER (WHERE name = 'summed') AS summed,"
    "  max(y) FILTER (WHERE name = 'bound') AS bound,"
    "  max(y) FILTER (WHERE name = 'left_printed') AS left_printed,"
    "  max(y) FILTER (WHERE name = 'left_second') AS left_second"
    "  FROM drifted_seeds GROUP BY bench, weights, lr, steps";

static const char cosine_sql[] =
    SQL_ROWS "SELECT panel, line, line AS colour, '' AS dash, lr AS x, y, coalesce(w, h) AS bar"
             " FROM drifted_seeds WHERE name = 'cosine' ORDER BY weights, bench, steps, lr)";

static const char deviation_sql[] =
    SQL_ROWS "SELECT panel, line, line AS colour, '' AS dash, lr AS x, y, coalesce(w, h) AS bar"
             " FROM drifted_seeds WHERE name = 'deviation' ORDER BY weights, bench, steps, lr)";

/* The appendix's expression is a bound only where it is positive: T > 1, alpha lambda < 1. */
static const char bound_sql[] = SQL_ROWS
    "SELECT panel, line || iif(name = 'bound', ', appendix', '') AS line, line AS colour,"
    " iif(name = 'bound', 'appendix', '') AS dash, lr AS x, y, NULL AS bar FROM drifted_seeds"
    " WHERE name IN ('summed', 'bound') AND steps > 1 AND y > 0"
    " ORDER BY weights, bench, name DESC, steps, lr)";

static const struct figure {
    struct chart chart;
    const char *text, *rows, *columns;
} figures[] = {
    {{"drift-cosine", "Does the update point along the gradient?", CHART_LINES, "inner step size α",
      "cosine of u and G", CHART_LOG_X, NULL},
     "u = θ(0) − θ(T), the way Reptile moves on a task after T inner steps of size α; G, the "
     "exact gradient of the empirical risk after those steps. Mean over seeds, bars 95 % over "
     "tasks; 1: the same direction.",
     cosine_sql,
     "show_number(cosine) AS cosine, '±' || show_number(cosine_w) AS 'over tasks',"
     " '±' || show_number(cosine_h) AS 'over seeds'"},
    {{"drift-deviation", "How far is it off, as a mean gradient?", CHART_LINES, "inner step size α",
      "|u/(αT) − G| / |G|", CHART_LOG_X + CHART_LOG_Y, NULL},
     "0: the mean of the inner gradients is G. Bars 95 % over tasks.",
     deviation_sql,
     "show_number(deviation) AS deviation, '±' || show_number(deviation_w) AS 'over tasks',"
     " '±' || show_number(deviation_h) AS 'over seeds', show_number(raw) AS '|u − G| / |G|'"},
    {{"drift-bound", "The difference beside the appendix's expression", CHART_LINES,
      "inner step size α", "relative to |G|", CHART_LOG_X + CHART_LOG_Y, NULL},
     "With g(t) the inner gradients, H the Hessian at θ(0) and λ its largest eigenvalue. Solid: "
     "|u/α − G|, which the appendix's expression has the size of. Dashed: its bound, "
     "(1 − αλ) max|g| (T − 1), left out where it is 0 (T = 1) or negative (αλ above 1). The "
     "table also says what its expression for the difference, (I − αH)(g(0) + … + g(T−2)), "
     "leaves over, and what g(0) + … + g(T−2) + α(T + 1)Hg(0) does.",
     bound_sql,
     "show_number(summed) AS '|u/α − G| / |G|', show_number(bound) AS 'appendix''s bound',"
     " show_number(left_printed) AS 'left by its expression', show_number(left_second) AS"
     " 'left by the second-order one'"},
};

static int add_figure(struct page *p, const struct figure *f)
{
    char *table = mem_print("SELECT bench AS benchmark, weights, printf('%%g', lr) AS 'step size"
                            " α', printf('%%d', steps) AS 'steps T', %s FROM drifts"
                            " ORDER BY bench, weights, lr, steps",
                            f->columns);
    int err = page_chart(p, &f->chart, f->text, f->rows, table);
    free(table);
    return err;
}

int drift_prepare(struct page *p)
{
    if (p->drift)
        return 0;
    p->drift = true;
    return sql_exec(p->s, prepare_sql, "cannot read the studies of drift");
}

int page_drift(struct page *p)
{
    double n = 0;
    int err = page_measured(p, "cosine", &n);
    if (err || n == 0)
        return err;
    err = drift_prepare(p);
    if (err)
        return err;
    page_section(p, "drift", "Reptile's update and its gradient",
                 "The paper's appendix A argues that Reptile's updates approximate gradient steps "
                 "on the empirical risk after adaptation. Here is how well (docs/theory.md).");
    for (size_t i = 0; i < sizeof figures / sizeof *figures && !err; i++)
        err = add_figure(p, &figures[i]);
    page_section_end(p);
    return err;
}
#endif
