/* page_head.c - the first screen: the verdict, accuracy against labels beside the paper's, what
 * choosing labels changed, four tiles, and the labels that an accuracy takes.
 */
#include "report/page.h"
#include "report/prepare.h"
#include "report/verdict.h"
#include "store/store_sql.h"

#ifdef METE_HAVE_SQLITE
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- accuracy against labels ---- */

/* The settings apart stand in the name of a line; the data set where there are several. */
static const char head_sql[] =
    "SELECT iif((SELECT count(DISTINCT dataset) FROM head) > 1, dataset || ' ', '') ||"
    "  iif(ways > 0, printf('%dw-', ways), '') ||"
    "  iif(test_shots > 0, printf('%ds', test_shots), printf('%d labels', -test_shots)), line,"
    "  method, dash,"
    "  budget, 100 * accuracy, 100 * half, dataset, labels, ways, test_shots, seeds, place"
    " FROM head ORDER BY place";

static const char seeds_sql[] =
    "SELECT 100 * accuracy FROM cell_seeds WHERE place = ? ORDER BY seed";

struct head {
    struct chart_rows rows;
    bool against; /* there are several budgets to hold accuracy against */
    bool paper;   /* some cell has the paper's number */
};

static char *word(sqlite3_stmt *row, int column)
{
    return (char *)sqlite3_column_text(row, column);
}

static void add_paper(struct head *h, sqlite3_stmt *row, const struct chart_row *ours)
{
    struct paper_cell at = {.dataset = word(row, 7),
                            .method = word(row, 2),
                            .labels = word(row, 8),
                            .ways = sqlite3_column_int(row, 9),
                            .shots = sqlite3_column_int(row, 10),
                            .budget = sqlite3_column_int64(row, 4)};
    struct paper_number paper;
    if (!paper_find(&at, false, &paper))
        return;
    struct chart_row r = *ours;
    r.of = OF_PAPER;
    r.note = (char *)"the paper's number";
    r.y = paper.accuracy;
    r.lo = r.hi = NAN;
    chart_add(&h->rows, &r);
    h->paper = true;
}

/* Single seeds, where they are too few for an interval or nothing else shares the place. */
static int add_seeds(struct page *p, struct head *h, sqlite3_stmt *row,
                     const struct chart_row *ours)
{
    sqlite3_stmt *stmt = NULL;
    struct chart_row r = *ours;
    int next = 0, err = sql_prepare(p->s, &stmt, seeds_sql);
    r.of = OF_SEED;
    r.note = (char *)"one seed";
    r.lo = r.hi = NAN;
    if (!err)
        sql_bind(stmt, "i", sqlite3_column_int(row, 12));
    while (!err && (next = sql_row(p->s, stmt)) == 1) {
        r.y = sqlite3_column_double(stmt, 0);
        chart_add(&h->rows, &r);
    }
    sqlite3_finalize(stmt);
    return err ? err : next < 0 ? next : 0;
}

static int add_head_row(struct page *p, struct head *h, sqlite3_stmt *row)
{
    bool half = sqlite3_column_type(row, 6) != SQLITE_NULL;
    int seeds = sqlite3_column_int(row, 11);
    struct chart_row r = {.panel = word(row, 0),
                          .line = word(row, 1),
                          .colour = word(row, 2),
                          .dash = word(row, 3),
                          .label = (char *)style_method(word(row, 2)),
                          .x = sqlite3_column_double(row, 4),
                          .y = sqlite3_column_double(row, 5)};
    r.lo = half ? r.y - sqlite3_column_double(row, 6) : NAN;
    r.hi = half ? r.y + sqlite3_column_double(row, 6) : NAN;
    chart_add(&h->rows, &r);
    add_paper(h, row, &r);
    bool dots = seeds > 1 && (!h->against || seeds < SEEDS_ENOUGH);
    return dots ? add_seeds(p, h, row, &r) : 0;
}

static int read_head(struct page *p, struct head *h)
{
    double budgets = 0, uncapped = 0;
    sqlite3_stmt *stmt = NULL;
    int row = 0, err = page_number(p, "SELECT count(DISTINCT budget) FROM head", &budgets);
    if (!err)
        err = page_number(p, "SELECT count(*) FROM head WHERE budget IS NULL", &uncapped);
    h->against = budgets > 1 && uncapped == 0;
    if (!err)
        err = sql_prepare(p->s, &stmt, head_sql);
    while (!err && (row = sql_row(p->s, stmt)) == 1)
        err = add_head_row(p, h, stmt);
    sqlite3_finalize(stmt);
    return err ? err : row < 0 ? row : 0;
}

static const char head_table_sql[] =
    "SELECT dataset AS 'data set', printf('%dw-%ds', ways, test_shots) AS task,"
    " coalesce(show_count(budget), 'no cap') AS budget, method, dash AS labels, printf('%.1f', 100"
    " * accuracy) || coalesce(printf(' ±%.1f', 100 * half), '') AS 'accuracy, %', seeds,"
    " shots AS 'training shots', bn AS 'batch norm' FROM head ORDER BY place";

static int add_accuracy(struct page *p)
{
    struct head h = {0};
    char *budget = NULL, *axis = NULL;
    int err = read_head(p, &h);
    if (!err)
        err = page_text(p, "SELECT show_count(max(budget)) || ' labels' FROM head", &budget);
    axis = mem_print("%s", h.against ? "labels" : budget ? budget : "no cap on labels");
    struct chart chart = {.id = "accuracy",
                          .title = h.against ? "Accuracy against labels" : "Accuracy",
                          .kind = h.against ? CHART_LINES : CHART_DOTS,
                          .x = axis,
                          .y = "test accuracy, %",
                          .flags = CHART_LOG_X,
                          .layout = "head"};
    if (!err && h.rows.n > 0) {
        page_figure(p, &chart,
                    h.paper     ? "Filled: measured here, with 95 % intervals. Hollow: the paper's."
                    : h.against ? "With 95 % intervals."
                                : "With 95 % intervals; small dots are single seeds.",
                    &h.rows);
        err = page_query(p, NULL, head_table_sql, NULL);
        page_figure_end(p);
    }
    chart_release(&h.rows);
    free(axis);
    free(budget);
    return err;
}

/* ---- what choosing labels changed; else how far the leader leads ---- */

#define SQL_LABEL                                                                                  \
    "iif((SELECT count(DISTINCT dataset) FROM head) > 1, h.dataset || ' ', '') || iif(h.ways > 0," \
    " printf('%dw-', h.ways), '') || printf('%ds', h.test_shots) || iif((SELECT count(DISTINCT"    \
    " budget) FROM head) > 1, ' ' || coalesce(show_count(h.budget), 'no cap'), '') ||"             \
    " iif(h.apart = '', '', ', ' || h.apart)"

static const char changed_sql[] =
    "SELECT h.line, h.method AS colour, h.dash, h.method || iif((SELECT count(DISTINCT labels) FROM"
    " head) > 2, ' ' || h.labels, '') || ', ' || " SQL_LABEL " AS label, 100 * difference AS x,"
    " 100 * (difference - c.half) AS lo, 100 * (difference + c.half) AS hi, " SQL_VERDICT_OF(
        "c.") " AS note FROM contests c JOIN head h ON h.place = c.a WHERE c.kind = 'labels' ORDER "
              "BY"
              " min(h.place) OVER (PARTITION BY h.method), h.place LIMIT 40";

static const char changed_table_sql[] =
    "SELECT h.method, h.dash AS strategy, " SQL_LABEL " AS test, printf('%+.1f', 100 * difference)"
    " || coalesce(printf(' ±%.1f', 100 * c.half), '') AS difference, c.seeds, '±' || printf('%.1f',"
    " 100 * half_tasks_of) AS 'over tasks', '±' || printf('%.1f', 100 * half_seeds_of) AS 'over"
    " seeds', " SQL_VERDICT_OF(
        "c.") " AS verdict FROM (SELECT *, half_tasks AS half_tasks_of,"
              " half_seeds AS half_seeds_of FROM contests) c JOIN head h ON h.place = c.a WHERE "
              "c.kind ="
              " 'labels' ORDER BY min(h.place) OVER (PARTITION BY h.method), h.place";

static const char ahead_sql[] =
    "SELECT o.line, o.method AS colour, o.dash, 'on ' || o.method || ', ' || " SQL_LABEL
    " AS label,"
    " 100 * difference AS x, 100 * (difference - c.half) AS lo, 100 * (difference + c.half) AS "
    "hi, " SQL_VERDICT_OF(
        "c.") " AS note FROM contests c JOIN head h ON h.place = c.a JOIN head o"
              " ON o.place = c.b WHERE c.kind = 'method' ORDER BY h.place LIMIT 40";

static const char ahead_table_sql[] =
    "SELECT " SQL_LABEL " AS test, h.method AS first, o.method AS other, printf('%+.1f', 100 *"
    " difference) || coalesce(printf(' ±%.1f', 100 * c.half), '') AS difference, "
    "c.seeds, " SQL_VERDICT_OF(
        "c.") " AS verdict FROM contests c JOIN head h ON h.place = c.a JOIN head o"
              " ON o.place = c.b WHERE c.kind = 'method' ORDER BY h.place";

static int add_forest(struct page *p)
{
    static const struct chart labels = {.id = "chosen",
                                        .title = "Chosen labels minus random",
                                        .kind = CHART_FOREST,
                                        .x = "points of accuracy",
                                        .y = ""};
    static const struct chart methods = {.id = "leads",
                                         .title = "How far the first is ahead",
                                         .kind = CHART_FOREST,
                                         .x = "points of accuracy",
                                         .y = ""};
    double n = 0, m = 0;
    int err = page_number(p, "SELECT count(*) FROM contests WHERE kind = 'labels'", &n);
    if (!err)
        err = page_number(p, "SELECT count(*) FROM contests WHERE kind = 'method'", &m);
    if (!err && n > 0)
        err = page_chart(p, &labels,
                         "The same seeds and test tasks; to the right of 0 chosen labels are "
                         "better.",
                         changed_sql, changed_table_sql);
    else if (!err && m > 0)
        err = page_chart(p, &methods, "The same seeds and test tasks.", ahead_sql, ahead_table_sql);
    return err;
}

/* ---- tiles ---- */

/* What a run used: the most and the least, since a sum over runs answers no question. */
static const char labels_tile[] =
    "SELECT iif(min(n) = max(n), show_count(min(n)), show_count(min(n)) || ' to ' ||"
    " show_count(max(n))) FROM (SELECT CAST(round(labels_used) AS INTEGER) AS n FROM outcomes JOIN"
    " shown USING (run))";
static const char labels_more[] =
    "SELECT printf('%.0f %% support, %.0f %% query', 100.0 * s / (s + q), 100.0 * q / (s + q))"
    " FROM (SELECT sum(support) AS s, sum(query) AS q FROM ledger_classes JOIN shown USING (run))"
    " WHERE s + q > 0";
static const char validation_more[] =
    "SELECT iif(max(charged), 'validation: ', 'validation, not charged: ') ||"
    " iif(min(v) = max(v), show_count(min(v)), show_count(min(v)) || ' to ' || show_count(max(v)))"
    " FROM (SELECT coalesce(o.validation_labels, r.ways * t.value * (s.value + q.value)) AS v,"
    " EXISTS (SELECT 1 FROM settings x WHERE x.run = r.run AND x.key = 'budget.charge' AND x.value"
    " LIKE '%validation') AS charged FROM runs r JOIN shown USING (run) JOIN outcomes o USING "
    "(run) JOIN"
    " settings t ON t.run = r.run AND t.key = 'train.val_tasks' JOIN settings s ON s.run = r.run"
    " AND s.key = 'train.val_shots' JOIN settings q ON q.run = r.run AND q.key = 'test.query'"
    " WHERE r.ways > 0 AND EXISTS (SELECT 1 FROM checkpoints c WHERE c.run = r.run)) HAVING "
    "count(v) > 0";
static const char runs_tile[] =
    "SELECT printf('%d of %d', sum(status = 'done'), count(*)) FROM runs JOIN shown USING (run)";
static const char runs_more[] =
    "SELECT iif(f, f || ' failed', '') || iif(f AND m, ', ', '') || iif(m, m || ' missing', '') ||"
    " iif(f OR m, '', 'none failed, none missing') FROM (SELECT sum(status = 'failed') AS f,"
    " sum(status IN ('planned', 'running')) AS m FROM runs JOIN shown USING (run)) WHERE f + m >= "
    "0";
static const char seeds_tile[] = "SELECT count(DISTINCT seed) FROM runs JOIN shown USING (run)";
static const char seeds_more[] =
    "SELECT iif(min(n) = max(n), min(n), min(n) || ' to ' || max(n)) || ' test tasks each' FROM"
    " (SELECT t.tasks AS n FROM tests t JOIN shown USING (run)) HAVING count(n) > 0";
/* The time in which some run was at work: runs overlap, and between two there may be days. */
static const char time_tile[] =
    "WITH spans AS (SELECT started AS a, started + train_seconds + test_seconds AS b FROM times"
    "  JOIN shown USING (run)), marked AS (SELECT a, b, max(b) OVER (ORDER BY a, b ROWS BETWEEN"
    "  UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM spans)"
    " SELECT CASE WHEN s < 100 THEN printf('%.0f s', s) WHEN s < 5400 THEN printf('%.0f min', s /"
    "  60) ELSE printf('%.1f h', s / 3600) END FROM (SELECT sum(max(0, b - max(a, coalesce(before,"
    "  a)))) AS s FROM marked) WHERE s IS NOT NULL";
static const char time_more[] =
    "SELECT group_concat(DISTINCT json_extract(e.json, '$.device')) || ', ' || date(max(started),"
    " 'unixepoch') || ', mete ' || group_concat(DISTINCT json_extract(e.json, '$.version')) ||"
    " coalesce(' ' || group_concat(DISTINCT json_extract(e.json, '$.commit')), '') FROM times JOIN"
    " shown USING (run) JOIN environments e USING (environment) WHERE json_valid(e.json)";

static int add_tile(struct page *p, const char *name, const char *value, const char *const *more)
{
    char *text = NULL;
    int err = page_text(p, value, &text);
    if (!err && text) {
        text_print(&p->html, "<div><dt>%s</dt><dd>", name);
        html_add(&p->html, text);
        text_add(&p->html, "</dd><dd class=\"more\">");
        bool said = false;
        for (int i = 0; !err && i < 2 && more[i]; i++) {
            char *rest = NULL;
            err = page_text(p, more[i], &rest);
            text_add(&p->html, rest && said ? "; " : "");
            html_add(&p->html, rest ? rest : "");
            said |= rest != NULL;
            free(rest);
        }
        text_add(&p->html, "</dd></div>\n");
    }
    free(text);
    return err;
}

static int add_tiles(struct page *p)
{
    static const struct {
        const char *name, *value, *more[2];
    } tiles[] = {
        {"labels bought by a run", labels_tile, {labels_more, validation_more}},
        {"runs done", runs_tile, {runs_more}},
        {"seeds", seeds_tile, {seeds_more}},
        {"time at work", time_tile, {time_more}},
    };
    int err = 0;
    text_add(&p->html, "<dl class=\"tiles\">\n");
    for (size_t i = 0; !err && i < sizeof tiles / sizeof *tiles; i++)
        err = add_tile(p, tiles[i].name, tiles[i].value, tiles[i].more);
    text_add(&p->html, "</dl>\n");
    return err;
}

/* ---- labels to reach an accuracy ---- */

/* Rows of (column, line, text), in the order of the columns and lines.
 *
 * For tests with several budgets: along the line through the accuracies measured, over the
 * logarithm of the budget; the target is the second highest, in steps of 5 points, that some
 * line reaches. */
static const char reach_sql[] =
    "WITH line AS (SELECT dataset, ways, test_shots, place, line, 100 * accuracy AS y, budget AS x,"
    "  lag(100 * accuracy) OVER w AS y0, lag(budget) OVER w AS x0, min(place) OVER (PARTITION BY"
    "  line) AS first FROM head WHERE budget IS NOT NULL"
    "  WINDOW w AS (PARTITION BY dataset, ways, test_shots, line ORDER BY budget)),"
    " spans AS (SELECT dataset, ways, test_shots, min(y) AS low, max(y) AS high, min(place) AS"
    "  first_test FROM line GROUP BY 1, 2, 3 HAVING count(DISTINCT x) > 1),"
    " targets AS (SELECT *, value AS target, row_number() OVER (PARTITION BY dataset, ways,"
    "  test_shots ORDER BY value DESC) AS n, count(*) OVER (PARTITION BY dataset, ways, test_shots)"
    "  AS many FROM spans, json_each('[30,40,50,60,70,75,80,85,90,95,98]') WHERE value <= high),"
    " found AS (SELECT l.dataset, l.ways, l.test_shots, l.line, l.first, k.target, k.first_test,"
    "  min(CASE WHEN y0 IS NULL AND y >= target THEN x WHEN y0 < target AND y >= target THEN"
    "   x0 * exp(ln(1.0 * x / x0) * (target - y0) / (y - y0)) END) AS x,"
    "  max(y0 IS NULL AND y >= target) AS at_once, max(l.x) AS most"
    "  FROM line l JOIN targets k USING (dataset, ways, test_shots) WHERE k.n = min(2, many)"
    "  GROUP BY l.dataset, l.ways, l.test_shots, l.line)"
    " SELECT iif((SELECT count(DISTINCT dataset) FROM head) > 1, dataset || ' ', '') ||"
    "  printf('%dw-%ds: ', ways, test_shots) || target || ' %', line, CASE WHEN x IS NULL THEN"
    "  'more than ' || show_count(most) WHEN at_once THEN 'at most ' || show_count(CAST(x AS"
    "  INTEGER)) ELSE 'about ' || show_count(1000 * max(1, CAST(round(x / 1000) AS INTEGER))) END"
    " FROM found ORDER BY first, first_test";

/* With one budget: the labels bought when validation first reached an accuracy. */
static const char reach_training_sql[] =
    "WITH best AS (SELECT c.place, c.line, c.panel, k.run, k.labels_used AS x, 100 * k.accuracy AS"
    "  y FROM cells c JOIN runs r USING (variant) JOIN shown USING (run) JOIN checkpoints k USING"
    "  (run) WHERE k.accuracy IS NOT NULL AND c.panel = (SELECT panel FROM cells ORDER BY place"
    "  LIMIT 1)), kept AS (SELECT value AS target, row_number() OVER (ORDER BY value DESC) AS n "
    "FROM"
    "  json_each('[30,40,50,55,60,65,70,75,80,85,90,95,98]') WHERE value <= (SELECT max(y) FROM"
    "  best)), found AS (SELECT b.place, b.line, b.run, target, min(CASE WHEN y >= target THEN x"
    "  END) AS x FROM best b JOIN kept k WHERE n <= 3 GROUP BY b.place, b.run, target)"
    " SELECT 'validation ' || target || ' %', line, CASE WHEN count(x) = count(*) THEN"
    "  show_count(100 * CAST(round(avg(x) / 100) AS INTEGER)) WHEN count(x) = 0 THEN 'not reached' "
    "ELSE"
    "  show_count(100 * CAST(round(avg(x) / 100) AS INTEGER)) || ' (' || count(x) || ' of ' || "
    "count(*) ||"
    "  ' seeds)' END FROM found GROUP BY place, target ORDER BY place, target";

/* A table of texts by row and column, in the order in which these are met. */
struct grid {
    char **row, **column, **text; /* text: (rows, columns), NULL where there is none */
    int rows, columns;
};

static int grid_find(char ***names, int *n, const char *name)
{
    for (int i = 0; i < *n; i++)
        if (strcmp((*names)[i], name) == 0)
            return i;
    *names = mem_grow(*names, (size_t)*n + 1, sizeof **names);
    (*names)[*n] = mem_string(name);
    return (*n)++;
}

enum { GRID_COLUMNS = 16 };

static int read_grid(struct page *p, const char *sql, struct grid *g)
{
    sqlite3_stmt *stmt = NULL;
    int next = 0, err = sql_prepare(p->s, &stmt, sql);
    while (!err && (next = sql_row(p->s, stmt)) == 1) {
        int rows = g->rows, column = grid_find(&g->column, &g->columns, word(stmt, 0));
        int row = grid_find(&g->row, &g->rows, word(stmt, 1));
        if (g->rows > rows) {
            size_t size = (size_t)g->rows * GRID_COLUMNS;
            g->text = mem_grow(g->text, size, sizeof *g->text);
            memset(g->text + size - GRID_COLUMNS, 0, GRID_COLUMNS * sizeof *g->text);
        }
        if (column >= GRID_COLUMNS)
            continue;
        char **text = &g->text[row * GRID_COLUMNS + column];
        free(*text); /* a damaged database may name a cell twice */
        *text = mem_string(word(stmt, 2));
    }
    sqlite3_finalize(stmt);
    return err ? err : next < 0 ? next : 0;
}

static void write_grid(struct text *t, const struct grid *g, const char *caption)
{
    int columns = g->columns < GRID_COLUMNS ? g->columns : GRID_COLUMNS;
    text_print(t,
               "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s\"><table>"
               "<caption>%s</caption><thead><tr><th scope=\"col\">method, labels</th>",
               caption, caption);
    for (int j = 0; j < columns; j++) {
        text_add(t, "<th scope=\"col\">");
        html_add(t, g->column[j]);
        text_add(t, "</th>");
    }
    text_add(t, "</tr></thead>\n<tbody>\n");
    for (int i = 0; i < g->rows; i++) {
        text_add(t, "<tr><th scope=\"row\">");
        html_add(t, g->row[i]);
        text_add(t, "</th>");
        for (int j = 0; j < columns; j++) {
            const char *text = g->text[i * GRID_COLUMNS + j];
            text_add(t, "<td>");
            html_add(t, text ? text : "–");
            text_add(t, "</td>");
        }
        text_add(t, "</tr>\n");
    }
    text_add(t, "</tbody></table></div>\n");
}

static void release_grid(struct grid *g)
{
    for (int i = 0; i < g->rows; i++)
        free(g->row[i]);
    for (int i = 0; i < g->columns; i++)
        free(g->column[i]);
    for (int i = 0; i < g->rows * GRID_COLUMNS; i++)
        free(g->text[i]);
    free(g->row);
    free(g->column);
    free(g->text);
    *g = (struct grid){0};
}

static int add_reach(struct page *p)
{
    struct grid g = {0};
    int err = read_grid(p, reach_sql, &g);
    bool budgets = g.rows > 0;
    if (!err && !budgets)
        err = read_grid(p, reach_training_sql, &g);
    if (!err && g.rows > 0) {
        write_grid(&p->html, &g,
                   budgets ? "Labels to reach an accuracy"
                           : "Labels bought when validation first reached an accuracy");
        if (budgets)
            text_add(&p->html, "<p class=\"notes\">Read off the lines above, on the logarithm of "
                               "the budget.</p>\n");
    }
    release_grid(&g);
    return err;
}

/* ---- all of it ---- */

static int add_verdict(struct page *p)
{
    char *verdict = NULL;
    double studies = 0;
    int err = verdict_read(p->s, &verdict);
    if (!err && *verdict) {
        text_add(&p->html, "<p class=\"verdict\">");
        html_add(&p->html, verdict);
        text_add(&p->html, "</p>\n");
    } else if (!err) {
        err = page_measured(p, NULL, &studies);
        if (!err && studies == 0)
            text_add(&p->html, "<p class=\"verdict\">Nothing has been measured yet.</p>\n");
    }
    if (!err)
        err = page_words(p);
    free(verdict);
    return err;
}

int page_head(struct page *p)
{
    int err = add_verdict(p);
    text_add(&p->html, "<div class=\"first\">\n");
    if (!err)
        err = add_accuracy(p);
    if (!err)
        err = add_forest(p);
    text_add(&p->html, "</div>\n");
    if (!err)
        err = add_tiles(p);
    return err ? err : add_reach(p);
}
#endif
