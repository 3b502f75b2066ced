/* html.c - the pieces a page is made of. */
#include "report/page.h"
#include "store/store_sql.h"

#ifdef METE_HAVE_SQLITE
#include "base/error.h"
#include "base/memory.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LONG_TEXT = 48 }; /* bytes; longer cells may break into lines */

void html_add(struct text *t, const char *s)
{
    static const char *const special = "<>&\"";
    static const char *const names[] = {"&lt;", "&gt;", "&amp;", "&quot;"};
    while (*s) {
        size_t plain = strcspn(s, special);
        text_add_bytes(t, s, plain);
        s += plain;
        if (*s)
            text_add(t, names[strchr(special, *s++) - special]);
    }
}

void page_section(struct page *p, const char *id, const char *title, const char *intro)
{
    text_print(&p->nav, "<a href=\"#%s\">%s</a> ", id, title);
    text_print(&p->html, "<section id=\"%s\">\n<h2>%s</h2>\n", id, title);
    if (intro)
        text_print(&p->html, "<p>%s</p>\n", intro);
}

void page_section_end(struct page *p)
{
    text_add(&p->html, "</section>\n");
}

/* Digits with what belongs to numbers: signs, points, separators, intervals, 30K. */
static bool looks_like_number(const char *s)
{
    bool digit = false;
    for (; *s; s++) {
        digit |= isdigit((unsigned char)*s) != 0;
        if (strncmp(s, "±", 2) == 0)
            s++;
        else if (!isdigit((unsigned char)*s) && !strchr("+-.,%KM ", *s))
            return false;
    }
    return digit;
}

/* Of a statement that stands on its first row. */
static void add_header(struct text *t, sqlite3_stmt *stmt)
{
    text_add(t, "<thead><tr>");
    for (int c = 0; c < sqlite3_column_count(stmt); c++) {
        const char *value = (const char *)sqlite3_column_text(stmt, c);
        text_print(t, "<th scope=\"col\"%s>",
                   value && looks_like_number(value) ? " class=\"n\"" : "");
        html_add(t, sqlite3_column_name(stmt, c));
        text_add(t, "</th>");
    }
    text_add(t, "</tr></thead>\n<tbody>\n");
}

static void add_row(struct text *t, sqlite3_stmt *stmt)
{
    text_add(t, "<tr>");
    for (int c = 0; c < sqlite3_column_count(stmt); c++) {
        const char *value = (const char *)sqlite3_column_text(stmt, c);
        text_add(t, !value || strlen(value) < LONG_TEXT
                        ? value && looks_like_number(value) ? "<td class=\"n\">" : "<td>"
                        : "<td class=\"long\">");
        html_add(t, value ? value : "–");
        text_add(t, "</td>");
    }
    text_add(t, "</tr>\n");
}

int page_query(struct page *p, const char *caption, const char *sql, int *rows)
{
    sqlite3_stmt *stmt = NULL;
    int n = 0, row = 0, err = sql_prepare(p->s, &stmt, sql);
    while (!err && (row = sql_row(p->s, stmt)) == 1) {
        if (n++ == 0) {
            text_add(&p->html, "<div class=\"scroll\"><table>");
            if (caption)
                text_print(&p->html, "<caption>%s</caption>", caption);
            add_header(&p->html, stmt);
        }
        add_row(&p->html, stmt);
    }
    sqlite3_finalize(stmt);
    if (n > 0)
        text_add(&p->html, "</tbody></table></div>\n");
    if (rows)
        *rows = n;
    return err ? err : row < 0 ? row : 0;
}

void page_figure(struct page *p, const char *id, const char *title, const char *text)
{
    text_print(&p->html, "<figure data-chart=\"%s\">\n<figcaption><h3>", id);
    html_add(&p->html, title);
    text_add(&p->html, "</h3>");
    if (text)
        text_print(&p->html, "<p>%s</p>", text);
    text_add(&p->html, "</figcaption>\n<div class=\"panels\"></div>\n"
                       "<details open><summary>The numbers</summary>\n");
}

void page_figure_end(struct page *p)
{
    text_add(&p->html, "</details>\n</figure>\n");
}

static void chart_head(struct page *p, const struct chart *c)
{
    jsonw_object(&p->charts, c->id);
    jsonw_string(&p->charts, "kind", c->kind);
    jsonw_string(&p->charts, "title", c->title);
    jsonw_string(&p->charts, "x", c->x);
    jsonw_string(&p->charts, "y", c->y);
    jsonw_bool(&p->charts, "log", c->log & CHART_LOG_X);
    jsonw_bool(&p->charts, "logY", c->log & CHART_LOG_Y);
    jsonw_bool(&p->charts, "curve", c->curve);
    p->n_charts++;
}

void chart_open(struct page *p, const struct chart *c)
{
    chart_head(p, c);
    jsonw_array(&p->charts, "rows");
}

void chart_close(struct page *p)
{
    jsonw_close(&p->charts);
    jsonw_close(&p->charts);
}

int chart_query(struct page *p, const struct chart *c, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    int err = sql_prepare(p->s, &stmt, sql);
    if (!err) {
        int row = sql_row(p->s, stmt);
        err = row < 0 ? row : 0;
        const char *json = row == 1 ? (const char *)sqlite3_column_text(stmt, 0) : NULL;
        if (!err) {
            chart_head(p, c);
            jsonw_raw(&p->charts, "rows", json ? json : "[]");
            jsonw_close(&p->charts);
        }
    }
    sqlite3_finalize(stmt);
    return err;
}

int page_chart(struct page *p, const struct chart *c, const char *text, const char *rows_sql,
               const char *table_sql)
{
    int err = chart_query(p, c, rows_sql);
    page_figure(p, c->id, c->title, text);
    if (!err)
        err = page_query(p, NULL, table_sql, NULL);
    page_figure_end(p);
    return err;
}

/* A file of the first schema has no table of measures. */
int page_measured(struct page *p, const char *name, double *out)
{
    char *count = mem_print("SELECT count(DISTINCT run) FROM measures JOIN shown USING (run)"
                            " WHERE %s%s%s",
                            name ? "name = '" : "1", name ? name : "", name ? "'" : "");
    int err = page_number(p, "SELECT count(*) FROM sqlite_schema WHERE name = 'measures'", out);
    if (!err && *out > 0)
        err = page_number(p, count, out);
    free(count);
    return err;
}

int page_number(struct page *p, const char *sql, double *out)
{
    sqlite3_stmt *stmt = NULL;
    int err = sql_prepare(p->s, &stmt, sql);
    if (!err) {
        int row = sql_row(p->s, stmt);
        err = row < 0 ? row : 0;
        *out = row == 1 && sqlite3_column_type(stmt, 0) != SQLITE_NULL
                   ? sqlite3_column_double(stmt, 0)
                   : NAN;
    }
    sqlite3_finalize(stmt);
    return err;
}
#endif
