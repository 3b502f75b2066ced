/* page.c - mete report: one HTML file that carries everything it needs. */
#include "report/page.h"
#include "base/error.h"
#include "report/tensorboard.h"
#include "store/store_sql.h"

#ifndef METE_HAVE_SQLITE
int mete_report(const struct mete_report_options *o)
{
    struct store *s = NULL;
    return store_open(&s, o->db, STORE_READ); /* says what is missing */
}
#else
#include "base/file.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

extern const unsigned char report_charts[], report_css[]; /* embedded by the build */
extern const size_t report_charts_size, report_css_size;

/* show_count(30000) is '30K' in SQL too. */
static void sql_show_count(sqlite3_context *context, int n, sqlite3_value **value)
{
    (void)n;
    const char *text = (const char *)sqlite3_value_text(value[0]);
    if (text)
        sqlite3_result_text(context, result_show("tasks", text), -1, free);
    else
        sqlite3_result_null(context);
}

/* show_number(x): three digits, and no exponent where it can be helped; show_number(x, h):
 * 'x ±h'.  NULL stays NULL, and a half width that is NULL is left out. */
static void sql_show_number(sqlite3_context *context, int n, sqlite3_value **value)
{
    struct text out = {0};
    for (int i = 0; i < n && sqlite3_value_type(value[i]) != SQLITE_NULL; i++) {
        double x = sqlite3_value_double(value[i]);
        text_add(&out, i ? " ±" : "");
        text_print(&out, fabs(x) >= 100 ? "%.0f" : "%.3g", x);
    }
    if (out.size)
        sqlite3_result_text(context, text_take(&out), -1, free);
}

/* What the sections read: `shown`, the runs of the page; `chosen`, for every cell and
 * test the variant with the best validation accuracy; `cells`, one test of each. */
static const char chosen_sql[] =
    "CREATE TEMP TABLE chosen AS SELECT *, dataset || ' ' || ways || 'w · ' ||"
    "  coalesce(show_count(budget) || ' labels', 'no cap') AS panel FROM"
    "  (SELECT *, row_number() OVER (PARTITION BY dataset, ways, budget, method, labels, net,"
    "   test_shots, support, bn ORDER BY valid_accuracy DESC, variant) AS place"
    "   FROM accuracy_seeds WHERE model = 'best'"
    "   AND variant IN (SELECT variant FROM runs JOIN shown USING (run))) WHERE place = 1;"
    "CREATE TEMP TABLE cells AS SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY dataset,"
    "  ways, budget, method, labels, net ORDER BY test_shots, support, bn) AS first FROM chosen)"
    "  WHERE first = 1;";

static int prepare(struct page *p)
{
    int rc = sqlite3_create_function(p->s->db, "show_count", 1, SQLITE_UTF8, NULL, sql_show_count,
                                     NULL, NULL);
    if (!rc)
        rc = sqlite3_create_function(p->s->db, "show_number", -1, SQLITE_UTF8, NULL,
                                     sql_show_number, NULL, NULL);
    if (rc)
        return sql_failed(p->s, rc, "cannot read it");
    int err = sql_exec(p->s, "CREATE TEMP TABLE shown (run INTEGER PRIMARY KEY)", "cannot read it");
    if (!err)
        err = sql_do(p->s,
                     "INSERT INTO shown SELECT run FROM runs WHERE ?1 IS NULL OR run IN"
                     " (SELECT run FROM suite_runs JOIN suites USING (suite) WHERE name = ?1)",
                     "t", p->suite);
    if (!err)
        err = sql_exec(p->s, chosen_sql, "cannot read the results");
    return err ? err : result_list_read(&p->results, p->s, p->suite, "best");
}

static int write_sections(struct page *p)
{
    typedef int section_fn(struct page * p);
    static section_fn *const sections[] = {
        page_head,   page_tables,      page_figures, page_pairs, page_users,    page_training,
        page_ledger, page_calibration, page_theory,  page_drift, page_measures, page_runs};
    int err = 0;
    jsonw_object(&p->charts, NULL);
    for (size_t i = 0; !err && i < sizeof sections / sizeof *sections; i++)
        err = sections[i](p);
    jsonw_close(&p->charts);
    return err;
}

/* JSON inside a script element: '<' could end it. */
static void add_json(struct text *out, const char *json)
{
    while (*json) {
        size_t plain = strcspn(json, "<");
        text_add_bytes(out, json, plain);
        json += plain;
        if (*json) {
            text_add(out, "\\u003c");
            json++;
        }
    }
}

static void add_opening(struct text *out, const struct page *p, const char *title)
{
    text_add(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                  "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                  "<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
    html_add(out, title);
    text_add(out, "</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n");
    text_add_bytes(out, report_css, report_css_size);
    text_add(out, "</style>\n</head>\n<body>\n<header>\n<h1>");
    html_add(out, title);
    text_print(out, "</h1>\n<p class=\"made\">mete %s%s</p>\n<nav>%s</nav>\n</header>\n<main>\n",
               mete_version(),
               p->results.n ? " · accuracy after adaptation, on tasks no run was trained on" : "",
               p->nav.at ? p->nav.at : "");
    if (report_charts_size == 0)
        text_add(out, "<p class=\"notice\">This mete was built without node and npm, so the page "
                      "has no charts; the numbers of each stand in its table.</p>\n");
    else
        text_add(out, "<noscript><p class=\"notice\">Scripts are off, so no charts are drawn; the "
                      "numbers of each stand in its table.</p></noscript>\n");
}

static void add_closing(struct text *out, const struct page *p)
{
    text_add(out,
             "</main>\n<footer><p>Intervals are two-sided 95 % by Student's t, over seeds and "
             "over test tasks kept apart. Variants, such as the number of training shots, are "
             "chosen by validation accuracy, never by test accuracy. docs/results.md describes "
             "the database behind this page.</p></footer>\n"
             "<script type=\"application/json\" id=\"charts\">");
    add_json(out, p->charts.text);
    text_add(out, "</script>\n");
    if (report_charts_size) {
        text_add(out, "<script>");
        text_add_bytes(out, report_charts, report_charts_size);
        text_add(out, "</script>\n");
    }
    text_add(out, "</body>\n</html>\n");
}

static int write_page(struct page *p, const char *path, const char *title)
{
    struct text out = {0};
    add_opening(&out, p, title);
    text_add(&out, p->html.at ? p->html.at : "");
    add_closing(&out, p);
    int err = file_write(path, out.at, out.size);
    text_release(&out);
    return err;
}

static char *default_title(const char *db, const char *suite)
{
    const char *slash = strrchr(db, '/'), *name = slash ? slash + 1 : db;
    if (suite)
        return mem_print("%s: results", suite);
    return mem_print("Results of %.*s", (int)strcspn(name, "."), name);
}

int mete_report(const struct mete_report_options *o)
{
    struct page p = {.suite = o->suite};
    char *title = o->title ? mem_string(o->title) : default_title(o->db, o->suite);
    int err = store_open(&p.s, o->db, STORE_READ);
    if (!err)
        err = prepare(&p);
    if (!err)
        err = write_sections(&p);
    if (!err)
        err = write_page(&p, o->path, title);
    if (!err && o->tensorboard)
        err = tensorboard_write(p.s, o->suite, o->tensorboard);
    result_list_release(&p.results);
    text_release(&p.html);
    text_release(&p.nav);
    jsonw_release(&p.charts);
    store_close(p.s);
    free(title);
    return err;
}
#endif
