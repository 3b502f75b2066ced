/* page_theory.c - prediction and measurement in one picture (docs/theory.md).
 *
 * Studies leave measures; those of mete_stability() hold n, m and the gap.  The shape of
 * the bound, a + b/sqrt(n) + c/m, is fitted (theory/bound_fit.c) and drawn dashed beside
 * what was measured.
 */
#include "report/page.h"
#include "store/store_sql.h"

#ifdef METE_HAVE_SQLITE
#include "base/memory.h"
#include "report/page_sql.h"
#include "theory/bound_fit.h"

#include <stdlib.h>

/* studied: a measure of a run, with its n and m; studied_seeds: over seeds.  `plain` is the
 * strategy of the first run: labels bought otherwise are for the figure of the constants. */
static const char studied_sql[] =
    "CREATE TEMP TABLE studied AS SELECT r.run, r.dataset, r.method, r.labels, a.value AS n,"
    "  b.value AS m, x.name, x.value, x.half FROM runs r JOIN shown USING (run)"
    "  JOIN measures a ON a.run = r.run AND a.name = 'n'"
    "  JOIN measures b ON b.run = r.run AND b.name = 'm'"
    "  JOIN measures x ON x.run = r.run WHERE x.value IS NOT NULL AND EXISTS"
    "  (SELECT 1 FROM measures g WHERE g.run = r.run AND g.name = 'gap');"
    "CREATE TEMP TABLE plain AS SELECT labels FROM studied ORDER BY run LIMIT 1;"
    "CREATE TEMP TABLE studied_seeds AS SELECT *, " SQL_OVER_SEEDS ", iif((SELECT count(DISTINCT"
    "  dataset) FROM studied) > 1, dataset || ' · ', '') AS place"
    "  FROM (SELECT dataset, method, labels, n, m, name, min(run) AS first, " SQL_SUMS
    "   FROM studied GROUP BY dataset, method, labels, n, m, name);"
    "CREATE TEMP TABLE shapes (dataset TEXT, method TEXT, labels TEXT, measure TEXT,"
    "  runs INTEGER, a REAL, a_half REAL, b REAL, b_half REAL, c REAL, c_half REAL, r2 REAL);";

/* points: with the fitted shape; curves: both as lines; grid: the measures side by side. */
static const char views_sql[] =
    "CREATE TEMP VIEW points AS SELECT s.*, f.a + coalesce(f.b / sqrt(s.n), 0)"
    "  + coalesce(f.c / s.m, 0) AS fitted FROM studied_seeds s LEFT JOIN shapes f"
    "  ON f.dataset = s.dataset AND f.method = s.method AND f.labels = s.labels"
    "  AND f.measure = s.name;"
    "CREATE TEMP VIEW single AS SELECT p.place, x.m, x.n, x.dataset, x.method, x.labels, x.name,"
    "  p.first, x.value AS y, NULL AS h, x.run FROM studied x JOIN points p USING (dataset, method,"
    "  labels, n, m, name) WHERE p.k BETWEEN 2 AND 9;"
    "CREATE TEMP VIEW curves AS SELECT name, place, method, n, m, first, method AS line,"
    "  '' AS dash, y, coalesce(w, h) AS bar, 0 AS fit FROM points JOIN plain USING (labels)"
    " UNION ALL SELECT name, place, method, n, m, first, method || ', fitted', 'fitted', fitted,"
    "  NULL, 1 FROM points JOIN plain USING (labels) WHERE fitted IS NOT NULL;"
    "CREATE TEMP VIEW grid AS SELECT place, method, labels, n, m, min(first) AS first,"
    "  max(y) FILTER (WHERE name = 'gap') AS gap,"
    "  max(w) FILTER (WHERE name = 'gap') AS gap_w,"
    "  max(h) FILTER (WHERE name = 'gap') AS gap_h,"
    "  max(fitted) FILTER (WHERE name = 'gap') AS gap_fitted,"
    "  max(y) FILTER (WHERE name = 'risk') AS risk,"
    "  max(y) FILTER (WHERE name = 'objective') AS objective,"
    "  max(y) FILTER (WHERE name = 'bound_by_beta') AS by_beta,"
    "  max(y) FILTER (WHERE name = 'bound_by_lemma') AS by_lemma,"
    "  max(y) FILTER (WHERE name = 'outer_beta') AS outer_beta,"
    "  max(w) FILTER (WHERE name = 'outer_beta') AS outer_beta_w,"
    "  max(h) FILTER (WHERE name = 'outer_beta') AS outer_beta_h,"
    "  max(fitted) FILTER (WHERE name = 'outer_beta') AS outer_beta_fitted,"
    "  max(y) FILTER (WHERE name = 'outer_beta_largest') AS outer_beta_largest,"
    "  max(y) FILTER (WHERE name = 'inner_beta') AS inner_beta,"
    "  max(w) FILTER (WHERE name = 'inner_beta') AS inner_beta_w,"
    "  max(h) FILTER (WHERE name = 'inner_beta') AS inner_beta_h,"
    "  max(fitted) FILTER (WHERE name = 'inner_beta') AS inner_beta_fitted,"
    "  max(y) FILTER (WHERE name = 'inner_beta_largest') AS inner_beta_largest,"
    "  max(y) FILTER (WHERE name = 'outer_L') AS outer_l,"
    "  max(h) FILTER (WHERE name = 'outer_L') AS outer_l_h,"
    "  max(y) FILTER (WHERE name = 'outer_gamma') AS outer_gamma,"
    "  max(h) FILTER (WHERE name = 'outer_gamma') AS outer_gamma_h,"
    "  max(y) FILTER (WHERE name = 'inner_L') AS inner_l,"
    "  max(h) FILTER (WHERE name = 'inner_L') AS inner_l_h,"
    "  max(y) FILTER (WHERE name = 'inner_gamma') AS inner_gamma,"
    "  max(h) FILTER (WHERE name = 'inner_gamma') AS inner_gamma_h"
    "  FROM points GROUP BY dataset, method, labels, n, m";

int theory_prepare(struct page *p)
{
    struct mete_shape *shape = NULL;
    if (p->theory)
        return 0;
    p->theory = true;
    int n = 0, err = sql_exec(p->s, studied_sql, "cannot read the studies");
    if (!err)
        err = sql_exec(p->s, views_sql, "cannot read the studies");
    if (!err)
        err = shape_fit(p->s, p->suite, &shape, &n);
    for (int i = 0; i < n && !err; i++) {
        const struct mete_shape *f = &shape[i];
        err = sql_do(p->s, "INSERT INTO shapes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                     "ttttiddddddd", f->dataset, f->method, f->labels, f->measure, f->runs, f->a,
                     f->a_half, f->b, f->b_half, f->c, f->c_half, f->r2);
    }
    free(shape);
    return err;
}

/* A measure and its fitted shape along x, a panel for each value of `other`; the table has
 * a row for each point and these columns of `grid`. */
struct against {
    struct chart chart;
    const char *text, *measure, *x, *other, *columns;
};

static int add_against(struct page *p, const struct against *a)
{
    char *rows =
        mem_print(SQL_ROWS "SELECT place || printf('%s = %%d', %s) AS panel, line, method AS"
                           " colour, dash, %s AS x, y, bar FROM curves WHERE name = '%s'"
                           " ORDER BY place, %s, fit, first, %s)",
                  a->other, a->other, a->x, a->measure, a->other, a->x);
    char *table = mem_print("SELECT place || method AS method, printf('%%d', n) AS n,"
                            " printf('%%d', m) AS m, %s FROM grid JOIN plain USING (labels)"
                            " ORDER BY place, grid.method, grid.%s, grid.%s",
                            a->columns, a->other, a->x);
    int err = page_chart(p, &a->chart, a->text, rows, table);
    free(rows);
    free(table);
    return err;
}

static const char gap_columns[] =
    "show_number(gap) AS gap, '±' || show_number(gap_w) AS 'over tasks', '±' || show_number(gap_h)"
    " AS 'over seeds', show_number(risk) AS risk, show_number(objective) AS objective,"
    " show_number(gap_fitted) AS 'fitted shape', show_number(by_beta) AS 'bound by β′ and β',"
    " show_number(by_lemma) AS 'bound by L and γ'";

static const struct against gaps[] = {
    {{"gap-n", "The gap against the number of tasks (O1, O2)", CHART_LINES, "training tasks n",
      "risk − objective", CHART_LOG_X, NULL},
     "Risk on new tasks minus the training objective. Solid: measured, mean over seeds, bars "
     "95 % over tasks. Dashed: a + b/√n + c/m, the shape of Theorem 3, by least squares over all "
     "points.",
     "gap",
     "n",
     "m",
     gap_columns},
    {{"gap-m", "The gap against the points of a task (O2)", CHART_LINES, "points per task m",
      "risk − objective", CHART_LOG_X, NULL},
     "The same numbers, along the other axis.",
     "gap",
     "m",
     "n",
     gap_columns},
};

static const struct against betas[] = {
    {{"beta-outer", "β′: what leaving out a task changes", CHART_LINES, "training tasks n",
      "mean |change of the risk|", CHART_LOG_X + CHART_LOG_Y, NULL},
     "Mean over the tasks left out and over new tasks, bars 95 % over the tasks left out. The "
     "largest change met, which the theorems are about, stands in the table.",
     "outer_beta",
     "n",
     "m",
     "show_number(outer_beta) AS mean, '±' || show_number(outer_beta_w) AS 'over tasks left out',"
     " '±' || show_number(outer_beta_h) AS 'over seeds', show_number(outer_beta_largest) AS"
     " 'largest met', show_number(outer_beta_fitted) AS 'fitted shape'"},
    {{"beta-inner", "β: what leaving out a point of a task changes", CHART_LINES,
      "points per task m", "mean |change of the loss|", CHART_LOG_X + CHART_LOG_Y, NULL},
     "Mean over points left out and new points, bars 95 % over new tasks.",
     "inner_beta",
     "m",
     "n",
     "show_number(inner_beta) AS mean, '±' || show_number(inner_beta_w) AS 'over tasks',"
     " '±' || show_number(inner_beta_h) AS 'over seeds', show_number(inner_beta_largest) AS"
     " 'largest met', show_number(inner_beta_fitted) AS 'fitted shape'"},
};

/* Means, and single seeds where these are too few for an interval.  A method whose objective
 * is held out has nothing within a task. */
#define SQL_SEEDS                                                                                  \
    " UNION ALL SELECT place, m, n, dataset, method, labels, name, first, y, h, run FROM single"

static const char parts_sql[] = SQL_ROWS
    "SELECT place || printf('m = %d', m) AS panel, method || iif(name = 'gap_outer', ', between"
    " tasks', ', within a task') AS line, method AS colour, iif(name = 'gap_outer', '', 'within')"
    " AS dash, n AS x, y, h AS bar, seed FROM (SELECT place, m, n, dataset, method, labels, name,"
    " first, y, h, 0 AS seed FROM points" SQL_SEEDS ") s JOIN plain USING (labels) WHERE name ="
    " 'gap_outer' OR (name = 'gap_inner' AND (SELECT max(abs(o.y)) FROM points o WHERE o.method ="
    " s.method AND o.name = 'gap_inner') > 0) ORDER BY place, m, first, name DESC, n, seed)";

static const char shapes_sql[] =
    "SELECT dataset AS 'data set', method, labels, CASE measure WHEN 'gap_outer' THEN 'gap between"
    " tasks' WHEN 'gap_inner' THEN 'gap within a task' WHEN 'outer_beta' THEN 'β′, mean' WHEN"
    " 'inner_beta' THEN 'β, mean' WHEN 'outer_L' THEN 'L′' WHEN 'outer_gamma' THEN 'γ′' ELSE"
    " measure END AS measure, runs, show_number(a, a_half) AS a, show_number(b, b_half) AS"
    " 'b (/√n)', show_number(c, c_half) AS 'c (/m)', printf('%.2f', r2) AS 'R²' FROM shapes";

static int add_parts(struct page *p)
{
    static const struct chart c = {"gap-parts",
                                   "The two parts of the gap",
                                   CHART_LINES,
                                   "training tasks n",
                                   "part of the gap",
                                   CHART_LOG_X,
                                   NULL};
    return page_chart(
        p, &c,
        "Between tasks: the objective on new tasks minus on training tasks (bounded by B′). "
        "Within a task: new points of new tasks against those the objective is made of (bounded "
        "by 2β; nothing for the held-out objective). Small dots are single seeds; bars 95 % over "
        "seeds where there are three. Below: the shapes "
        "fitted to all measures, with 95 % intervals.",
        parts_sql, shapes_sql);
}

/* Where strategies differ, at the n that they share; else at every n. */
static const char constants_sql[] = SQL_ROWS
    "SELECT place || iif(name = 'outer_L', 'L′', 'γ′') || printf(', n = %d', n) AS panel,"
    " method || ', ' || labels AS line, method AS colour, labels AS dash, m AS x, y, h AS bar, seed"
    " FROM (SELECT place, m, n, dataset, method, labels, name, first, y, h, 0 AS seed FROM "
    "points" SQL_SEEDS
    ") WHERE name IN ('outer_L', 'outer_gamma') AND (n IN (SELECT n FROM studied WHERE"
    " labels NOT IN plain) OR NOT EXISTS (SELECT 1 FROM studied WHERE labels NOT IN plain))"
    " ORDER BY place, name, n, first, m, seed)";

static const char constants_table_sql[] =
    "SELECT place || method AS method, labels, printf('%d', n) AS n, printf('%d', m) AS m,"
    " show_number(outer_l, outer_l_h) AS 'L′', show_number(outer_gamma, outer_gamma_h) AS 'γ′',"
    " show_number(inner_l, inner_l_h) AS L, show_number(inner_gamma, inner_gamma_h) AS γ,"
    " show_number(gap, gap_h) AS gap, show_number(risk) AS risk FROM grid"
    " ORDER BY place, grid.method, labels DESC, grid.n, grid.m";

static int add_constants(struct page *p)
{
    static const struct chart c = {.id = "constants",
                                   .title = "L′ and γ′ against the points of a task (O3)",
                                   .kind = CHART_LINES,
                                   .x = "points per task m",
                                   .y = "largest met",
                                   .flags = CHART_LOG_X + CHART_LOG_Y + CHART_OWN_Y};
    return page_chart(
        p, &c,
        "The largest gradient norm L′ and curvature γ′ of the objective along the training, mean "
        "over seeds; small dots are single seeds. The paper's O3 conjectures that larger and "
        "better "
        "chosen supports make for better-behaved objectives: smaller L′ and γ′.",
        constants_sql, constants_table_sql);
}

int page_theory(struct page *p)
{
    double n = 0;
    int err = page_measured(p, "gap", &n);
    if (err || n == 0)
        return err;
    err = theory_prepare(p);
    if (err)
        return err;
    page_section(p, "theory", "Theory against measurement",
                 "How far the risk on new tasks lies above the training objective, and what the "
                 "stability bounds say it depends on (docs/theory.md).");
    page_letters(p);
    for (int i = 0; i < 2 && !err; i++)
        err = add_against(p, &gaps[i]);
    if (!err)
        err = add_parts(p);
    for (int i = 0; i < 2 && !err; i++)
        err = add_against(p, &betas[i]);
    if (!err)
        err = add_constants(p);
    page_section_end(p);
    return err;
}
#endif
