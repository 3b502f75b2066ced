/* page_results.c - the tables and figures of accuracy. */
#include "report/drawn.h"
#include "report/page.h"
#include "report/sheet.h"
#include "store/store_sql.h"

#ifdef METE_HAVE_SQLITE
#include "base/memory.h"
#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_heads(struct text *t, const struct sheet *s)
{
    int heads = s->heads ? s->heads : 1;
    text_add(t, "<thead>\n");
    for (int h = 0; h < heads; h++) {
        text_add(t, "<tr>");
        for (int l = 0; h == 0 && l < s->labels; l++) {
            text_print(t, "<th scope=\"col\" rowspan=\"%d\">", heads);
            html_add(t, s->label_head[l]);
            text_add(t, "</th>");
        }
        for (int j = 0; j < s->columns;) {
            int n = s->heads ? sheet_span(s, h, j) : 1;
            text_print(t, "<th scope=\"col\" colspan=\"%d\" class=\"%s\">", n,
                       h + 1 < heads ? "group" : "value");
            html_add(t, s->heads ? s->head[h * s->columns + j] : "accuracy");
            text_add(t, "</th>");
            j += n;
        }
        text_add(t, "</tr>\n");
    }
    text_add(t, "</thead>\n");
}

static void add_cell(struct text *t, const struct sheet_cell *c)
{
    text_print(t, "<td class=\"n%s\">", c->best ? " best" : "");
    html_add(t, *c->text ? c->text : c->from ? "–" : "");
    if (*c->half)
        text_print(t, "<span class=\"half\"> ±%s</span>", c->half);
    text_add(t, "</td>");
}

static void add_lines(struct text *t, const struct sheet *s)
{
    for (int i = 0; i < s->lines; i++) {
        const char *first = s->label[i * s->labels];
        text_print(t, "<tr class=\"%s%s\">", s->paper[i] ? "paper" : "ours",
                   *first && i ? " new" : "");
        for (int l = 0; l < s->labels; l++) {
            text_add(t, "<th scope=\"row\">");
            html_add(t, s->label[i * s->labels + l]);
            text_add(t, "</th>");
        }
        for (int j = 0; j < s->columns; j++)
            add_cell(t, &s->cell[i * s->columns + j]);
        text_add(t, "</tr>\n");
    }
}

/* The fields of a row or column in one text: "omniglot 5w-1s 30K". */
static void add_place(struct text *t, const struct table_axis *a, int i, const char *between)
{
    for (int f = 0; f < a->fields; f++) {
        char *value = result_head(a->field[f], axis_value(a, i, f));
        text_add(t, f ? between : "");
        html_add(t, value);
        free(value);
    }
}

static void add_detail(struct text *t, const struct table *table, int i, int j)
{
    const struct cell *c = table_cell(table, i, j);
    const struct result *r = c->chosen;
    text_add(t, "<tr><td>");
    add_place(t, &table->rows, i, " ");
    text_add(t, "</td><td>");
    add_place(t, &table->columns, j, ", ");
    text_print(t, "</td><td class=\"n\">%.1f</td><td class=\"n\">", 100 * r->accuracy);
    text_add(t, isnan(r->half_seeds) ? "–" : "");
    if (!isnan(r->half_seeds))
        text_print(t, "±%.1f", 100 * r->half_seeds);
    text_print(t, "</td><td class=\"n\">%d</td><td class=\"n\">", r->seeds);
    text_add(t, isnan(r->half_tasks) ? "–" : "");
    if (!isnan(r->half_tasks))
        text_print(t, "±%.1f", 100 * r->half_tasks);
    text_print(t,
               "</td><td class=\"n\">%d</td><td class=\"n\">%.1f</td><td class=\"n\">%d</td><td>",
               r->test_tasks, 100 * r->accuracy_before, c->variants);
    html_add(t, c->choice ? c->choice : "–");
    text_add(t, "</td></tr>\n");
}

/* What stands behind each number, in a table of its own. */
static void add_details(struct text *t, const struct table *table)
{
    text_add(t, "<details><summary>What stands behind each number</summary>\n<div "
                "class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"What stands behind "
                "each number\"><table><thead><tr><th scope=\"col\">row</th><th "
                "scope=\"col\">column</th><th scope=\"col\" class=\"n\">accuracy, %</th><th "
                "scope=\"col\" class=\"n\">over seeds</th><th scope=\"col\" "
                "class=\"n\">seeds</th><th scope=\"col\" class=\"n\">over test tasks</th><th "
                "scope=\"col\" class=\"n\">test tasks</th><th scope=\"col\" class=\"n\">before "
                "adaptation, %</th><th scope=\"col\" class=\"n\">variants</th><th "
                "scope=\"col\">chosen on validation</th></tr></thead><tbody>\n");
    for (int i = 0; i < table->rows.n; i++)
        for (int j = 0; j < table->columns.n; j++)
            if (table_cell(table, i, j)->chosen)
                add_detail(t, table, i, j);
    text_add(t, "</tbody></table></div></details>\n");
}

/* The one value of the first of several row fields, such as the data set; NULL: it has others. */
static const char *same_label(const struct table *t)
{
    for (int i = 1; i < t->rows.n; i++)
        if (strcmp(axis_value(&t->rows, i, 0), axis_value(&t->rows, 0, 0)) != 0)
            return NULL;
    return t->rows.fields > 1 && t->rows.n > 0 && strcmp(t->rows.field[0], "ways") != 0
               ? axis_value(&t->rows, 0, 0)
               : NULL;
}

void page_table(struct page *p, const struct table *t)
{
    struct sheet s;
    const char *same = same_label(t);
    sheet_open(&s, t);
    text_add(&p->html, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"");
    html_add(&p->html, t->title);
    text_print(&p->html, "\"><table class=\"results%s\">\n<caption>", same ? " same" : "");
    html_add(&p->html, t->title);
    if (same) { /* on a phone its column is not shown */
        text_add(&p->html, "<span class=\"phone\"> · ");
        html_add(&p->html, same);
        text_add(&p->html, "</span>");
    }
    text_add(&p->html, "</caption>\n");
    add_heads(&p->html, &s);
    text_add(&p->html, "<tbody>\n");
    add_lines(&p->html, &s);
    text_add(&p->html, "</tbody></table></div>\n<p class=\"notes\">");
    char *note;
    for (int i = 0; (note = table_note(t, i)); i++, free(note)) {
        text_add(&p->html, i ? " " : "");
        html_add(&p->html, note);
    }
    text_add(&p->html, "</p>\n");
    add_details(&p->html, t);
    sheet_release(&s);
}

int page_tables(struct page *p)
{
    struct drawn_list drawn = {0};
    double studies = 0;
    int err = page_measured(p, NULL, &studies);
    if (err || (studies > 0 && p->results.n == 0))
        return err; /* studies alone: they have no accuracies */
    err = drawn_read(&drawn, p->s, p->suite);
    if (err)
        return err;
    page_section(p, "tables", "Accuracy",
                 "In <b>bold</b> what cannot be told apart from the best of its row.");
    for (int i = 0; !err && i < drawn.n; i++) {
        struct result_list results = {0};
        struct table table = {0};
        if (drawn.at[i].figure)
            continue;
        err = result_list_read(&results, p->s, drawn.at[i].suite, "best");
        if (!err)
            err = table_open(&table, &results, drawn.at[i].title, drawn.at[i].rows,
                             drawn.at[i].columns);
        if (!err)
            page_table(p, &table);
        table_release(&table);
        result_list_release(&results);
    }
    page_section_end(p);
    drawn_release(&drawn);
    return err;
}

/* All fields of a row but `x`, as people write them; ways and test shots as one. */
static char *panel_name(const struct table *t, int row, int x)
{
    struct text out = {0};
    for (int f = 0; f < t->rows.fields; f++) {
        if (f == x)
            continue;
        char *value = result_show(t->rows.field[f], axis_value(&t->rows, row, f));
        bool shots = strcmp(t->rows.field[f], "test_shots") == 0;
        bool training = strcmp(t->rows.field[f], "shots") == 0;
        bool after_ways = shots && f > 0 && strcmp(t->rows.field[f - 1], "ways") == 0;
        if (training || (shots && !after_ways)) {
            free(value);
            value = mem_print(training ? "%s-shot training" : "%s-shot tests",
                              axis_value(&t->rows, row, f));
        }
        text_print(&out, "%s%s", !out.size ? "" : after_ways ? "-" : " · ", value);
        free(value);
    }
    return text_take(&out);
}

static char *line_name(const struct table_axis *a, int column, int from)
{
    struct text out = {0};
    for (int f = from; f < a->fields; f++) {
        char *value = result_head(a->field[f], axis_value(a, column, f));
        text_print(&out, "%s%s", out.size ? ", " : "", value);
        free(value);
    }
    return text_take(&out);
}

/* A line has the colour of its method, or of its first field where that is another one. */
static void add_point(struct chart_rows *rows, const struct table *t, int row, int column, int x)
{
    const struct cell *c = table_cell(t, row, column);
    int method = axis_field(&t->columns, "method");
    bool named = t->columns.fields > 0 && method <= 0 &&
                 (method == 0 || strcmp(t->columns.field[0], "labels") != 0);
    double half = 100 * cell_half(c), y = 100 * c->chosen->accuracy;
    char *panel = panel_name(t, row, x), *line = line_name(&t->columns, column, 0);
    char *dash = line_name(&t->columns, column, named);
    struct chart_row r = {.panel = panel,
                          .line = *line ? line : "accuracy",
                          .dash = dash,
                          .colour = named ? (char *)axis_value(&t->columns, column, 0)
                                          : c->chosen->field[FIELD_METHOD],
                          .note = c->choice,
                          .x = number_read(axis_value(&t->rows, row, x), NULL),
                          .y = y,
                          .lo = isnan(half) ? NAN : y - half,
                          .hi = isnan(half) ? NAN : y + half};
    chart_add(rows, &r);
    free(panel);
    free(line);
    free(dash);
}

/* Whether some line of a row's panel goes on in another row: the panels are all fields but x. */
static bool has_line(const struct table *t, int x)
{
    for (int i = 0; i < t->rows.n; i++)
        for (int k = i + 1; k < t->rows.n; k++) {
            bool same = true;
            for (int f = 0; same && f < t->rows.fields; f++)
                same =
                    f == x || strcmp(axis_value(&t->rows, i, f), axis_value(&t->rows, k, f)) == 0;
            for (int j = 0; same && j < t->columns.n; j++)
                if (table_cell(t, i, j)->chosen && table_cell(t, k, j)->chosen)
                    return true;
        }
    return false;
}

static void draw_figure(struct page *p, const struct drawn *d, const struct table *t)
{
    char id[32];
    struct text text = {0};
    struct chart_rows rows = {0};
    bool counts = strcmp(d->x, "budget") == 0 || strcmp(d->x, "tasks") == 0;
    const char *title = strcmp(d->x, "budget") == 0  ? "label budget"
                        : strcmp(d->x, "tasks") == 0 ? "training tasks bought"
                                                     : field_title(d->x);
    snprintf(id, sizeof id, "figure%d", p->n_charts + 1);
    struct chart chart = {.id = id,
                          .title = d->title,
                          .kind = CHART_LINES,
                          .x = title,
                          .y = "test accuracy, %",
                          .flags = counts ? CHART_LOG_X : 0};
    int x = axis_field(&t->rows, d->x);
    text_add(&text, "95 % intervals over seeds, or over test tasks where there are fewer than "
                    "three seeds. Batch norm: ");
    html_add(&text, t->results->at[0].field[FIELD_BN]);
    text_add(&text, ".");
    for (int i = 0; i < t->rows.n; i++)
        for (int j = 0; j < t->columns.n; j++)
            if (table_cell(t, i, j)->chosen && *axis_value(&t->rows, i, x))
                add_point(&rows, t, i, j, x);
    page_figure(p, &chart, axis_field(&t->rows, "bn") < 0 ? text.at : NULL, &rows);
    page_table(p, t);
    page_figure_end(p);
    chart_release(&rows);
    text_release(&text);
}

/* The columns asked for, and the settings that would else vary unsaid within a line. */
static int lines_of(struct page *p, const struct drawn *d, char **out)
{
    struct text columns = {0};
    sqlite3_stmt *stmt = NULL;
    char *asked = mem_print(",%s,%s,%s,", d->rows, d->columns, d->x);
    int row = 0, err = sql_prepare(p->s, &stmt, "SELECT key FROM apart ORDER BY key");
    text_add(&columns, d->columns);
    while (!err && (row = sql_row(p->s, stmt)) == 1) {
        const char *key = (const char *)sqlite3_column_text(stmt, 0);
        char *word = mem_print(",%s,", key);
        if (!strstr(asked, word))
            text_print(&columns, "%s%s", columns.size ? "," : "", key);
        free(word);
    }
    sqlite3_finalize(stmt);
    free(asked);
    *out = text_take(&columns);
    return err ? err : row < 0 ? row : 0;
}

/* Panels first, the axis last: the order of the table below the chart. */
static int add_figure(struct page *p, const struct drawn *d, bool asked)
{
    struct result_list results = {0};
    struct table table = {0};
    char *rows = mem_print("%s%s%s", d->rows, *d->rows ? "," : "", d->x), *columns = NULL;
    int err = lines_of(p, d, &columns);
    if (!err)
        err = result_list_read(&results, p->s, d->suite, "best");
    if (!err && results.n > 0)
        err = table_open(&table, &results, d->title, rows, columns);
    int x = axis_field(&table.rows, d->x); /* none in a database that is not ours */
    if (!err && results.n > 0 && x >= 0 && (asked || has_line(&table, x)))
        draw_figure(p, d, &table);
    table_release(&table);
    result_list_release(&results);
    free(columns);
    free(rows);
    return err;
}

static bool varies(const struct result_list *r, const char *field)
{
    bool different = false;
    char *first = r->n ? result_get(r, &r->at[0], field) : mem_string("");
    for (int i = 1; !different && i < r->n; i++) {
        char *other = result_get(r, &r->at[i], field);
        different = strcmp(first, other) != 0;
        free(other);
    }
    free(first);
    return different;
}

/* What anybody would plot, unless a suite has asked for its axis already. */
static int add_usual_figures(struct page *p, const struct drawn_list *asked)
{
    static const struct drawn usual[] = {
        {NULL, true, "Accuracy against labels", "budget", "dataset,ways,test_shots",
         "method,labels"},
        {NULL, true, "Accuracy against training shots", "shots", "dataset,ways,test_shots,budget",
         "method,labels"},
        {NULL, true, "Accuracy against training tasks", "tasks", "dataset,ways,test_shots",
         "method,labels"},
    };
    int err = 0;
    for (int k = 0; !err && k < 3; k++) {
        bool known = !varies(&p->results, usual[k].x);
        for (int i = 0; i < asked->n; i++)
            known |= asked->at[i].figure && strcmp(asked->at[i].x, usual[k].x) == 0;
        struct drawn d = usual[k];
        d.suite = (char *)p->suite;
        if (strcmp(d.x, "tasks") == 0 && varies(&p->results, "shots"))
            d.rows = "dataset,ways,test_shots,shots"; /* or a line would join different tasks */
        if (!known)
            err = add_figure(p, &d, false);
    }
    return err;
}

int page_figures(struct page *p)
{
    struct drawn_list drawn = {0};
    struct text before = p->html, nav = p->nav; /* set aside: the section may stay empty */
    int charts = p->n_charts, err = drawn_read(&drawn, p->s, p->suite);
    if (err)
        return err;
    p->html = p->nav = (struct text){0};
    page_section(p, "figures", "Against the budget", NULL);
    for (int i = 0; !err && i < drawn.n; i++)
        if (drawn.at[i].figure)
            err = add_figure(p, &drawn.at[i], true);
    if (!err)
        err = add_usual_figures(p, &drawn);
    page_section_end(p);
    if (p->n_charts > charts) {
        text_add(&before, p->html.at);
        text_add(&nav, p->nav.at);
    }
    text_release(&p->html);
    text_release(&p->nav);
    p->html = before;
    p->nav = nav;
    drawn_release(&drawn);
    return err;
}
#endif
