/* page_plan.c - what `mete plan` answered: its words, the curve with its band, and the map of
 * people by labels each.
 */
#include "mete_plan.h"
#include "report/page.h"
#include "base/error.h"
#include "store/store_sql.h"

#ifdef METE_HAVE_SQLITE
#include "base/file.h"
#include "base/memory.h"
#include "report/axis.h"
#include "report/svg.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLAN_TITLE "substr(text, 1, instr(text, char(10)) - 1)"

static const char curves_sql[] =
    "SELECT " PLAN_TITLE " AS panel, CASE WHEN kind = 'run' THEN line || ', run' WHEN trusted THEN"
    " line || ', expected' ELSE line || ', a guess' END AS line, line AS colour,"
    " CASE WHEN kind = 'run' THEN 'run' WHEN trusted THEN '' ELSE 'guess' END AS dash,"
    " printf('%.0f of %.1f labels each', people, each) AS note, kind = 'run' AS seed,"
    " labels AS x, 100 * max(accuracy) AS y, 100 * low AS lo, 100 * high AS hi"
    " FROM plan_points JOIN plans USING (plan) WHERE kind IN ('run', 'curve')"
    " GROUP BY plan, kind, plan_points.line, trusted, labels ORDER BY plans.rowid DESC, kind, 2, "
    "labels";

static const char curves_table_sql[] =
    "SELECT " PLAN_TITLE " AS plan, line AS method, iif(kind = 'run', 'run', iif(trusted, "
    "'expected', 'a guess')) AS 'is', labels, printf('%.0f', people) AS people,"
    " printf('%.1f', each) AS each, printf('%.1f', 100 * accuracy) AS 'accuracy, %',"
    " iif(low IS NULL, '', printf('%.1f to %.1f', 100 * low, 100 * high)) AS '90 % interval'"
    " FROM plan_points JOIN plans USING (plan) WHERE kind IN ('run', 'curve')"
    " ORDER BY plans.rowid DESC, kind, line, labels";

/* ---- the map ---- */

struct spot {
    double people, each, accuracy;
    bool trusted;
};

struct map {
    struct spot *at;
    int n;
    double least, most; /* accuracy */
    struct axis people, each;
};

static int read_map(struct page *p, const char *plan, struct map *m)
{
    sqlite3_stmt *find = NULL;
    int row = 0, err = sql_prepare(p->s, &find,
                                   "SELECT people, each, accuracy, trusted FROM plan_points"
                                   " WHERE plan = ? AND kind = 'map' ORDER BY number");
    *m = (struct map){.least = 1};
    if (!err)
        sql_bind(find, "t", plan);
    while (!err && (row = sql_row(p->s, find)) == 1) {
        m->at = mem_grow(m->at, (size_t)m->n + 1, sizeof *m->at);
        struct spot c = {sqlite3_column_double(find, 0), sqlite3_column_double(find, 1),
                         sqlite3_column_double(find, 2), sqlite3_column_int(find, 3)};
        m->at[m->n++] = c;
        m->least = fmin(m->least, c.accuracy);
        m->most = fmax(m->most, c.accuracy);
    }
    sqlite3_finalize(find);
    return row < 0 ? row : err;
}

static const double FLAT = 0.05; /* differences that are hardly any have hardly any colour */
enum { MAP_WIDTH = 720, MAP_HEIGHT = 300, MAP_LEFT = 60, MAP_FOOT = 46 };

/* People double from cell to cell, and so do labels each, so cells are even on log axes. */
static void set_axes(struct map *m)
{
    struct spot first = m->at[0], last = m->at[0];
    for (int i = 0; i < m->n; i++) {
        last.people = fmax(last.people, m->at[i].people);
        last.each = fmax(last.each, m->at[i].each);
        first.each = fmin(first.each, m->at[i].each);
    }
    double half = sqrt(2);
    m->people = (struct axis){.from = first.people / half,
                              .to = last.people * half,
                              .a = MAP_LEFT,
                              .b = MAP_WIDTH - 8,
                              .log = true};
    m->each = (struct axis){.from = first.each / half,
                            .to = last.each * half,
                            .a = MAP_HEIGHT - MAP_FOOT,
                            .b = 8,
                            .log = true};
}

static void draw_cells(struct text *t, const struct map *m)
{
    double half = sqrt(2);
    for (int i = 0; i < m->n; i++) {
        const struct spot *c = &m->at[i];
        double x1 = axis_at(&m->people, c->people / half),
               x2 = axis_at(&m->people, c->people * half);
        double y1 = axis_at(&m->each, c->each * half), y2 = axis_at(&m->each, c->each / half);
        double shade = 1 - (m->most - c->accuracy) / fmax(m->most - m->least, FLAT);
        text_print(t,
                   "<rect class=\"k0 m\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                   "style=\"stroke:none;fill-opacity:%.2f\"><title>%.0f with %.0f labels each: "
                   "%.1f %%%s</title></rect>\n",
                   x1, y1, fmax(x2 - x1 - 1, 1), fmax(y2 - y1 - 1, 1), 0.08 + 0.82 * shade,
                   c->people, c->each, 100 * c->accuracy, c->trusted ? "" : ", a guess");
    }
}

static void draw_ticks(struct text *t, const struct map *m)
{
    char number[AXIS_TEXT];
    double last_people = 0, last_each = 0;
    for (int i = 0; i < m->n; i++) {
        if (m->at[i].each == m->at[0].each && m->at[i].people > last_people) {
            last_people = m->at[i].people;
            axis_text(last_people, 0, number);
            svg_text(t, "t", "middle", axis_at(&m->people, last_people), MAP_HEIGHT - MAP_FOOT + 16,
                     number);
        }
        if (m->at[i].each > last_each) {
            last_each = m->at[i].each;
            axis_text(last_each, 0, number);
            svg_text(t, "t", "end", MAP_LEFT - 6, axis_at(&m->each, last_each) + 4, number);
        }
    }
    svg_text(t, "t", "middle", (MAP_LEFT + MAP_WIDTH) / 2.0, MAP_HEIGHT - 8, "people, or tasks");
    svg_text(t, "t", "start", 2, 8, "labels each");
}

/* Where people times labels each is a number of labels. */
static void draw_cost(struct text *t, const struct map *m, double labels)
{
    double from = fmax(m->people.from, labels / m->each.to),
           to = fmin(m->people.to, labels / m->each.from);
    char number[AXIS_TEXT], words[AXIS_TEXT + 8];
    if (!(to > from))
        return;
    svg_line(t, "z", axis_at(&m->people, from), axis_at(&m->each, labels / from),
             axis_at(&m->people, to), axis_at(&m->each, labels / to));
    double x = axis_at(&m->people, from), y = axis_at(&m->each, labels / from) + 12;
    bool late = x > 0.8 * MAP_WIDTH;
    axis_text(labels, 0, number);
    snprintf(words, sizeof words, "%s labels", number);
    svg_text(t, "t", late ? "end" : "start", late ? x - 4 : x + 4, y, words);
}

static int draw_map(struct page *p, const char *plan)
{
    struct map m;
    double labels = NAN;
    char *sql =
        mem_print("SELECT json_extract(answer, '$.labels') FROM plans WHERE plan = '%s'", plan);
    int err = read_map(p, plan, &m);
    if (!err)
        err = page_number(p, sql, &labels);
    free(sql);
    if (err || m.n == 0) {
        free(m.at);
        return err;
    }
    set_axes(&m);
    text_print(
        &p->html,
        "<figure>\n<figcaption><h3>People, or labels each?</h3><p>Expected accuracy by colour, "
        "from %.1f %% to %.1f %%, the paler the lower; a dashed line joins what costs the "
        "same.</p></figcaption>\n"
        "<div class=\"panels p1\"><div class=\"panel\" style=\"overflow-x:auto\"><svg "
        "viewBox=\"0 0 %d %d\" style=\"min-width:36rem\" role=\"img\" aria-label=\"accuracy by "
        "people and labels each\">\n",
        100 * m.least, 100 * m.most, MAP_WIDTH, MAP_HEIGHT);
    draw_cells(&p->html, &m);
    for (int i = 0; i < 3; i++)
        draw_cost(&p->html, &m, labels * pow(10, i - 1) / (i == 2 ? 2 : 1));
    draw_ticks(&p->html, &m);
    text_add(&p->html, "</svg></div></div>\n<details open><summary>The numbers</summary>\n");
    free(m.at);
    sql = mem_print(
        "SELECT printf('%%.0f', each) AS 'labels each', printf('%%.0f', people) AS people,"
        " labels, printf('%%.1f', 100 * accuracy) AS 'accuracy, %%', iif(trusted, '', 'a guess')"
        " AS note FROM plan_points WHERE plan = '%s' AND kind = 'map' ORDER BY number",
        plan);
    err = page_query(p, NULL, sql, NULL);
    free(sql);
    text_add(&p->html, "</details>\n</figure>\n");
    return err;
}

/* ---- the section ---- */

/* Its first paragraph is what to do; the rest has columns. */
static int add_plan(struct page *p, const char *plan, char *words)
{
    char *advice = strstr(words, "\n\n"), *rest = advice ? strstr(advice + 2, "\n\n") : NULL;
    if (rest) {
        *advice = *rest = '\0';
        text_add(&p->html, "<h3>");
        html_add(&p->html, words);
        text_add(&p->html, "</h3>\n<p class=\"verdict\">");
        html_add(&p->html, advice + 2);
        text_add(&p->html, "</p>\n");
        words = rest + 2;
    }
    text_add(&p->html, "<pre class=\"scroll\" tabindex=\"0\">");
    html_add(&p->html, words);
    text_add(&p->html, "</pre>\n");
    return draw_map(p, plan);
}

static int add_plans(struct page *p)
{
    sqlite3_stmt *find = NULL;
    int row = 0, err = sql_prepare(p->s, &find,
                                   "SELECT plan, text FROM plans WHERE text IS NOT NULL"
                                   " ORDER BY rowid DESC");
    while (!err && (row = sql_row(p->s, find)) == 1) {
        char *plan = sql_text(find, 0),
             *words = mem_string((const char *)sqlite3_column_text(find, 1));
        bool plain = strspn(plan, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(plan);
        err = plain ? add_plan(p, plan, words) : 0; /* a name of ours; others are not asked for */
        free(plan);
        free(words);
    }
    sqlite3_finalize(find);
    return row < 0 ? row : err;
}

int page_plan(struct page *p)
{
    static const struct chart chart = {.id = "plan",
                                       .title = "Accuracy against labels",
                                       .kind = CHART_CURVES,
                                       .flags = CHART_LOG_X,
                                       .x = "labels",
                                       .y = "accuracy, %"};
    double n = 0;
    int err = page_number(p, "SELECT count(*) FROM plans WHERE text IS NOT NULL", &n);
    if (err || n == 0)
        return err;
    page_section(p, "plans", "Plans",
                 "What to do with so many labels, as mete plan found it on validation people. "
                 "Bands are 90 % intervals.");
    err = add_plans(p);
    if (!err)
        err = page_chart(p, &chart,
                         "Expected where the labels are spent as recommended, beside what was run. "
                         "Dashed beyond four times the labels that were run.",
                         curves_sql, curves_table_sql);
    page_section_end(p);
    return err;
}

int mete_plan_page(const char *db, const char *path)
{
    struct text page = {0};
    int err = report_one(&page, db, "Plans", page_plan);
    if (!err)
        err = file_write(path, page.at, page.size);
    text_release(&page);
    return err;
}
#else
int mete_plan_page(const char *db, const char *path)
{
    struct store *s = NULL;
    (void)path;
    return store_open(&s, db, STORE_READ); /* says what is missing */
}
#endif
