/* results.c - mete results: the tables of a database as text. */
#include "report/results.h"
#include "base/error.h"
#include "report/beside.h"
#include "report/drawn.h"
#include "report/format.h"
#include "report/measures.h"
#include "report/prepare.h"
#include "report/verdict.h"
#include "store/store_sql.h"

#include <stdlib.h>
#include <string.h>

void mete_free(void *p)
{
    free(p);
}

#ifndef METE_HAVE_SQLITE
int mete_results(const struct mete_results_options *given, char **out)
{
    (void)given, (void)out;
    struct store *s = NULL;
    return store_open(&s, NULL, STORE_READ); /* says what is missing */
}
#else
#include "base/jsonw.h"
#include "base/number.h"
#include "base/options.h"

enum format {
    FORMAT_TEXT,
    FORMAT_CSV,
    FORMAT_JSON,
    FORMAT_LATEX,
    FORMAT_MARKDOWN,
    FORMAT_SUMMARY,
    FORMAT_PAPER,
    FORMATS
};
static const char *const format_names[FORMATS] = {"table",    "csv",     "json", "latex",
                                                  "markdown", "summary", "paper"};

static int find_format(const char *name, enum format *out)
{
    for (int i = 0; i < FORMATS; i++)
        if (strcmp(format_names[i], name) == 0) {
            *out = (enum format)i;
            return 0;
        }
    return fail(METE_EINVAL,
                "--format: expected table, summary, paper, csv, json, latex or markdown, got '%s'",
                name);
}

struct printer {
    enum format format;
    bool colour;
    int width;
    const char *model;
    struct text text;
    struct jsonw json;
    int tables;
    int results; /* in all tables */
};

static int print_drawn(struct printer *p, struct store *s, const struct drawn *d)
{
    struct result_list results = {0};
    struct table table = {0};
    const char *suite = d->suite ? d->suite : "";
    int err = result_list_read(&results, s, d->suite, p->model);
    if (!err)
        err = table_open(&table, &results, d->title, d->rows, d->columns);
    p->results += results.n;
    if (!err && p->tables++ && p->format != FORMAT_CSV && p->format != FORMAT_JSON)
        text_add(&p->text, "\n");
    if (!err && p->format == FORMAT_TEXT)
        format_text(&p->text, &table, p->colour, p->width);
    if (!err && p->format == FORMAT_MARKDOWN)
        format_markdown(&p->text, &table);
    if (!err && p->format == FORMAT_LATEX)
        format_latex(&p->text, &table);
    if (!err && p->format == FORMAT_CSV)
        format_csv(&p->text, &table, suite, p->tables == 1);
    if (!err && p->format == FORMAT_JSON)
        format_json(&p->json, &table, suite);
    table_release(&table);
    result_list_release(&results);
    return err;
}

/* A suite of studies has measures instead of accuracies, which then are all there is to print. */
static int print_measures(struct printer *p, struct store *s, const char *suite)
{
    struct text measures = {0};
    bool found = false;
    int err = 0;
    if (p->results == 0 && p->format == FORMAT_TEXT)
        err = measures_text(&measures, s, suite, &found);
    else if (p->results == 0 && p->format == FORMAT_CSV)
        err = measures_csv(&measures, s, suite, &found);
    if (!err && found) {
        text_release(&p->text);
        p->text = measures;
        return 0;
    }
    text_release(&measures);
    return err;
}

static int print_all(struct printer *p, struct store *s, const char *suite)
{
    struct drawn_list drawn = {0};
    int err = drawn_read(&drawn, s, suite);
    p->json.lines = 3;
    if (p->format == FORMAT_JSON)
        jsonw_array(&p->json, NULL);
    for (int i = 0; !err && i < drawn.n; i++)
        if (!drawn.at[i].figure)
            err = print_drawn(p, s, &drawn.at[i]);
    if (p->format == FORMAT_JSON) {
        jsonw_close(&p->json);
        text_add(&p->text, p->json.text);
        text_add(&p->text, "\n");
    }
    drawn_release(&drawn);
    return err ? err : print_measures(p, s, suite);
}

static int print_summary(struct printer *p, struct store *s)
{
    char *summary = NULL;
    int err = p->format == FORMAT_PAPER ? beside_table(s, &summary) : summary_read(s, &summary);
    if (!err)
        text_add(&p->text, summary);
    free(summary);
    return err;
}

static int print_results(const struct mete_results_options *o, char **out)
{
    struct store *s = NULL;
    struct printer p = {.colour = o->colour, .width = o->width, .model = o->last ? "last" : "best"};
    int err = find_format(o->format ? o->format : "table", &p.format);
    if (!err)
        err = store_open(&s, o->db, STORE_READ);
    if (!err && (p.format == FORMAT_SUMMARY || p.format == FORMAT_PAPER)) {
        err = report_prepare(s, o->suite);
        if (!err)
            err = print_summary(&p, s);
    } else if (!err) {
        err = print_all(&p, s, o->suite);
    }
    store_close(s);
    jsonw_release(&p.json);
    if (err)
        text_release(&p.text);
    else
        *out = text_take(&p.text);
    return err;
}

int mete_results(const struct mete_results_options *o, char **out)
{
    NUMBER_LOCALE;
    struct mete_results_options own;
    int err = options_take(&own, sizeof own, o, "mete_results_options");
    if (!err && !out)
        err = fail(METE_EINVAL, "there is nowhere to put the tables");
    return err ? err : print_results(&own, out);
}
#endif
