/* page_words.c - studies in words: O1 to O3, the bounds and appendix A, as they came out.
 *
 * The sentences are made by queries over `points` and `studied` (page_theory.c) and `drifts`
 * (page_drift.c).  Each says a number at the least and at the most n, m or step size.
 */
#include "report/page.h"
#include "store/store_sql.h"

#ifdef METE_HAVE_SQLITE
#include "base/memory.h"

#include <stdlib.h>

/* ends: the least and the most n and m; plainly: the means with the first strategy. */
static const char ends_sql[] =
    "CREATE TEMP VIEW plainly AS SELECT p.* FROM points p JOIN plain USING (labels);"
    "CREATE TEMP VIEW ends AS SELECT min(n) AS n0, max(n) AS n1, min(m) AS m0, max(m) AS m1 FROM"
    "  plainly;"
    "CREATE TEMP VIEW within AS SELECT method, max(abs(y)) FILTER (WHERE name = 'gap_inner') > 0 AS"
    "  within FROM plainly GROUP BY method;";

static const char o1_sql[] =
    "WITH g AS (SELECT p.method, p.m, y, w, n = n1 AS last FROM plainly p JOIN ends JOIN within i"
    "  USING (method) WHERE name = 'gap' AND n IN (n0, n1) AND n0 < n1 AND NOT coalesce(i.within,"
    "  0)), c AS (SELECT count(*) AS k, sum(a.y - coalesce(a.w, 0) > b.y + coalesce(b.w, 0)) AS"
    "  falls FROM g a JOIN g b ON b.method = a.method AND b.m = a.m AND b.last AND NOT a.last),"
    " s AS (SELECT method, avg(y) FILTER (WHERE NOT last) AS a, avg(y) FILTER (WHERE last) AS b"
    "  FROM g GROUP BY method)"
    " SELECT (SELECT printf('<b>O1</b> says that the gap goes to 0 as tasks are added. It falls by"
    " more than the intervals in %d of %d comparisons: from n = %d to n = %d', falls, k, n0, n1)"
    "  FROM c) || group_concat(' from ' || show_number(a) || ' to ' || show_number(b) || ' for ' ||"
    "  method) || '.' FROM s JOIN ends HAVING count(a) > 0 AND count(b) > 0";

static const char o2_sql[] =
    "WITH g AS (SELECT p.method, n, m, y, name FROM plainly p JOIN ends JOIN within i USING "
    "(method)"
    "  WHERE i.within AND name IN ('gap', 'gap_inner') AND n = n1), s AS (SELECT method, avg(y)"
    "  FILTER (WHERE name = 'gap') AS gap, avg(y) FILTER (WHERE name = 'gap_inner') AS part, avg(y)"
    "  FILTER (WHERE name = 'gap_inner' AND m = m0) AS a, avg(y) FILTER (WHERE name = 'gap_inner'"
    "  AND m = m1) AS b FROM g JOIN ends GROUP BY method)"
    " SELECT printf('<b>O2</b> says that where the objective is the loss on the points learned "
    "from,"
    " a part of the gap falls with m only. At n = %d', n1) || group_concat(printf(' %s has a gap of"
    " %s, %.1f %% of it within a task; that part is %s at m = %d and %s at m = %d', method,"
    "  show_number(gap), 100 * part / gap, show_number(a), m0, show_number(b), m1), ';') || '.'"
    "  FROM s JOIN ends HAVING count(gap) > 0";

static const char o3_sql[] =
    "WITH g AS (SELECT p.method, avg(y) FILTER (WHERE m = m0) AS a, avg(y) FILTER (WHERE m = m1) AS"
    "  b FROM plainly p JOIN ends WHERE name = 'outer_L' AND m0 < m1 GROUP BY p.method),"
    " c AS (SELECT count(*) AS k, sum(a.y < b.y) AS smaller FROM points a JOIN points b ON "
    "b.method ="
    "  a.method AND b.n = a.n AND b.m = a.m AND b.dataset = a.dataset AND b.name = a.name AND"
    "  b.labels IN plain AND a.labels NOT IN plain WHERE a.name = 'outer_L')"
    " SELECT printf('<b>O3</b> expects larger and better chosen supports to make L′ smaller. It "
    "falls"
    " with m for %d of %d methods: from m = %d to m = %d', sum(b < a), count(*), m0, m1) ||"
    "  group_concat(' from ' || show_number(a) || ' to ' || show_number(b) || ' for ' || method) ||"
    "  '.' || (SELECT iif(k, printf(' With chosen labels it is smaller in %d of %d comparisons.',"
    "  smaller, k), '') FROM c) FROM g JOIN ends HAVING count(a) > 0 AND count(b) > 0";

static const char bounds_sql[] =
    "WITH g AS (SELECT min(value) FILTER (WHERE name LIKE 'bound_by%') AS bound, max(value) FILTER"
    "  (WHERE name = 'gap') AS gap, max(value) FILTER (WHERE name = 'risk') AS risk FROM studied)"
    " SELECT printf('<b>The bounds</b> %s: the smallest is %s, and the largest gap measured is "
    "%s.',"
    "  iif(bound > risk, 'say nothing at these sizes', 'are above the gap'), show_number(bound),"
    "  show_number(gap)) FROM g WHERE bound IS NOT NULL AND gap IS NOT NULL";

static const char drift_sql[] =
    "WITH s AS (SELECT min(lr) AS a, max(lr) AS b FROM drifts WHERE cosine IS NOT NULL), c AS "
    "(SELECT"
    "  min(cosine) FILTER (WHERE lr = a) AS low0, max(cosine) FILTER (WHERE lr = a) AS high0,"
    "  min(cosine) FILTER (WHERE lr = b) AS low1, max(cosine) FILTER (WHERE lr = b) AS high1, a, b"
    "  FROM drifts JOIN s)"
    " SELECT printf('<b>Appendix A</b>, Reptile''s update stands for a gradient: the cosine of the "
    "two"
    " is %.2f to %.2f at the step size %g, and %.2f to %.2f at %g.', low0, high0, a, low1, high1, "
    "b)"
    "  FROM c WHERE low0 IS NOT NULL AND a < b";

static int add_sentence(struct page *p, const char *sql)
{
    char *text = NULL;
    int err = page_text(p, sql, &text);
    if (text)
        text_print(&p->html, "<li>%s</li>\n", text); /* of numbers and known names */
    free(text);
    return err;
}

int page_words(struct page *p)
{
    static const char *const of_gaps[] = {o1_sql, o2_sql, o3_sql, bounds_sql};
    double gaps = 0, drifts = 0;
    int err = page_measured(p, "gap", &gaps);
    if (!err)
        err = page_measured(p, "cosine", &drifts);
    if (err || gaps + drifts == 0)
        return err;
    text_add(&p->html, "<ul class=\"verdict\">\n");
    if (gaps > 0) {
        err = theory_prepare(p);
        if (!err)
            err = sql_exec(p->s, ends_sql, "cannot read the studies");
        for (size_t i = 0; !err && i < sizeof of_gaps / sizeof *of_gaps; i++)
            err = add_sentence(p, of_gaps[i]);
    }
    if (!err && drifts > 0) {
        err = drift_prepare(p);
        if (!err)
            err = add_sentence(p, drift_sql);
    }
    text_add(&p->html, "</ul>\n");
    return err;
}

/* The letters of the figures, for whoever has not read the paper. */
void page_letters(struct page *p)
{
    static const struct {
        const char *letter, *meaning;
    } letters[] = {
        {"n, m", "training tasks; labelled points of a task"},
        {"risk", "the loss on new points of new tasks, after adaptation"},
        {"objective", "the same loss as training sees it: on query points of the training tasks "
                      "(held out), or, for Reptile, on the points that it learned from"},
        {"gap", "risk minus objective"},
        {"β′, β", "the most that the loss changes where one training task, or one point of a "
                  "task, is left out: the stability of the outer and of the inner loop"},
        {"L′, L", "the largest gradient norm of the outer and of the inner objective"},
        {"γ′, γ", "their largest curvature"},
        {"O1", "with ever more tasks the gap of MAML and ProtoNets goes to 0"},
        {"O2", "Reptile's gap has a part that falls with m only"},
        {"O3", "L′ and γ′ depend on the supports: larger and better chosen ones should make them "
               "smaller"},
    };
    text_add(&p->html, "<details open><summary>What the letters mean</summary>\n<dl "
                       "class=\"letters\">\n");
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        text_print(&p->html, "<div><dt>%s</dt><dd>%s</dd></div>\n", letters[i].letter,
                   letters[i].meaning);
    text_add(&p->html, "</dl></details>\n");
}
#endif
