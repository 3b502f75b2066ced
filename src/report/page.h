/* page.h - the report page in the making.
 *
 * Everything shown is in HTML tables; a chart is a second view of numbers that stand in the
 * table below it.  The page is complete without scripts.
 */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include "base/text.h"
#include "report/chart.h"
#include "report/table.h"

struct store;

struct page {
    struct store *s;
    const char *suite; /* NULL: all runs */
    struct text html;
    struct text nav;    /* links to the sections */
    size_t head_size;   /* bytes of `html` that are the first screen */
    bool theory, drift; /* their tables are prepared */
    struct style style;
    int n_charts;
    struct result_list results; /* of the best models */
};

/* ---- pieces (html.c) ---- */

void html_add(struct text *t, const char *s); /* escaped */
void page_section(struct page *p, const char *id, const char *title, const char *intro);
void page_section_end(struct page *p);

/* A table straight from a query: its column names are the header; numbers are set
 * to the right.  Nothing is written for no rows; *rows says how many, and may be NULL. */
int page_query(struct page *p, const char *caption, const char *sql, int *rows);

/* A figure: its drawing, then `below` (the numbers). */
void page_figure(struct page *p, const struct chart *c, const char *text,
                 const struct chart_rows *rows);
void page_figure_end(struct page *p);
/* Rows from a query with columns panel, line, colour, dash, label, note, x, y, lo, hi and seed
 * (above 0: a single seed), or some of them. */
int chart_query(struct page *p, struct chart_rows *rows, const char *sql);
/* A figure whole: its chart and its table from queries. */
int page_chart(struct page *p, const struct chart *c, const char *text, const char *rows_sql,
               const char *table_sql);

/* The first column of the first row. */
int page_number(struct page *p, const char *sql, double *out);
/* How many of the page's runs have the measure `name` (NULL: any). */
int page_measured(struct page *p, const char *name, double *out);

/* The text in the first column of the first row, or NULL; free() it. */
int page_text(struct page *p, const char *sql, char **out);

/* ---- pages ---- */

/* The whole page of `mete report`, which o->path does not name. */
int report_text(struct text *out, const struct mete_report_options *o);
/* Some sections of all runs, without what is around them. */
typedef int page_section_fn(struct page *p);
int report_sections(struct text *out, const char *db, page_section_fn *const *sections, int n);

/* A page of one section of all runs. */
int report_one(struct text *out, const char *db, const char *title, page_section_fn *section);

/* ---- sections, in order ---- */

int page_head(struct page *p);     /* the first screen */
int page_plan(struct page *p);     /* what mete plan answered */
int page_tables(struct page *p);   /* the tables that suites ask for */
int page_paper(struct page *p);    /* cell by cell beside the paper */
int page_figures(struct page *p);  /* the figures that suites ask for, and the default ones */
int page_pairs(struct page *p);    /* do chosen labels pay? */
int page_training(struct page *p); /* validation curves */
int page_ledger(struct page *p);   /* where the labels went */
int page_users(struct page *p);    /* who gains, who loses */
int page_calibration(struct page *p);
int page_theory(struct page *p);   /* studies of stability beside the bound's shape */
int page_drift(struct page *p);    /* Reptile's update beside the gradient it stands for */
int page_measures(struct page *p); /* of any study */
int page_runs(struct page *p);     /* every run, its settings and environment */

int page_words(struct page *p); /* studies in a few sentences */
void page_letters(struct page *p);
int theory_prepare(struct page *p); /* the tables behind the studies; once is enough */
int drift_prepare(struct page *p);

void page_table(struct page *p, const struct table *t); /* one table with its notes */

#endif
