/* html.c - the pieces a page is made of. */
#include "report/page.h"
#include "store/store_sql.h"

#include <string.h>

void html_add(struct text *t, const char *s)
{
    static const char *const special = "<>&\"";
    static const char *const names[] = {"&lt;", "&gt;", "&amp;", "&quot;"};
    while (s && *s) {
        size_t plain = strcspn(s, special);
        text_add_bytes(t, s, plain);
        s += plain;
        if (*s)
            text_add(t, names[strchr(special, *s++) - special]);
    }
}

#ifdef METE_HAVE_SQLITE
#include "base/error.h"
#include "base/memory.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

enum { LONG_TEXT = 48 }; /* bytes; longer cells may break into lines */

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
            text_add(&p->html,
                     "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"");
            html_add(&p->html, caption ? caption : "the numbers");
            text_add(&p->html, "\"><table>");
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

void page_figure(struct page *p, const struct chart *c, const char *text,
                 const struct chart_rows *rows)
{
    text_print(&p->html, "<figure data-chart=\"%s\">\n<figcaption><h3>", c->id);
    html_add(&p->html, c->title);
    text_add(&p->html, "</h3>");
    if (text)
        text_print(&p->html, "<p>%s</p>", text);
    text_add(&p->html, "</figcaption>\n");
    chart_draw(&p->html, c, rows, &p->style);
    text_add(&p->html, "<details open><summary>The numbers</summary>\n");
    p->n_charts++;
}

void page_figure_end(struct page *p)
{
    text_add(&p->html, "</details>\n</figure>\n");
}

/* Columns by their names; a row without x or y has no place. */
static void add_chart_row(struct chart_rows *rows, sqlite3_stmt *stmt)
{
    struct chart_row r = {.x = NAN, .y = NAN, .lo = NAN, .hi = NAN};
    double seed = 0;
    const struct {
        const char *name;
        char **text;
        double *number;
    } fields[] = {{"panel", &r.panel, NULL}, {"line", &r.line, NULL},   {"colour", &r.colour, NULL},
                  {"dash", &r.dash, NULL},   {"label", &r.label, NULL}, {"note", &r.note, NULL},
                  {"x", NULL, &r.x},         {"y", NULL, &r.y},         {"lo", NULL, &r.lo},
                  {"hi", NULL, &r.hi},       {"seed", NULL, &seed}};
    for (int c = 0; c < sqlite3_column_count(stmt); c++)
        for (size_t f = 0; f < sizeof fields / sizeof *fields; f++) {
            if (strcmp(sqlite3_column_name(stmt, c), fields[f].name) != 0 ||
                sqlite3_column_type(stmt, c) == SQLITE_NULL)
                continue;
            if (fields[f].text)
                *fields[f].text = sql_text(stmt, c);
            else
                *fields[f].number = sqlite3_column_double(stmt, c);
        }
    r.of = seed > 0 ? OF_SEED : OF_MEAN;
    if (isfinite(r.x) || isfinite(r.y))
        chart_add(rows, &r);
    for (size_t f = 0; f < sizeof fields / sizeof *fields; f++)
        if (fields[f].text)
            free(*fields[f].text);
}

int chart_query(struct page *p, struct chart_rows *rows, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    int row = 0, err = sql_prepare(p->s, &stmt, sql);
    while (!err && (row = sql_row(p->s, stmt)) == 1)
        add_chart_row(rows, stmt);
    sqlite3_finalize(stmt);
    return err ? err : row < 0 ? row : 0;
}

int page_chart(struct page *p, const struct chart *c, const char *text, const char *rows_sql,
               const char *table_sql)
{
    struct chart_rows rows = {0};
    int err = chart_query(p, &rows, rows_sql);
    page_figure(p, c, text, &rows);
    chart_release(&rows);
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

int page_text(struct page *p, const char *sql, char **out)
{
    sqlite3_stmt *stmt = NULL;
    int err = sql_prepare(p->s, &stmt, sql), row = err ? 0 : sql_row(p->s, stmt);
    const char *text = row == 1 ? (const char *)sqlite3_column_text(stmt, 0) : NULL;
    *out = text ? mem_string(text) : NULL;
    sqlite3_finalize(stmt);
    return err ? err : row < 0 ? row : 0;
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
