/* page.h - the report page in the making: HTML, and the data of its charts.
 *
 * Everything shown is in HTML tables, so the page is complete without scripts; a
 * chart is a second view of numbers that stand in the table below it.
 */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include "base/jsonw.h"
#include "base/text.h"
#include "report/table.h"

struct store;

struct page {
    struct store *s;
    const char *suite; /* NULL: all runs */
    struct text html;
    struct text nav;     /* links to the sections */
    struct jsonw charts; /* an object: one entry per chart */
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

/* A figure: chart, then `below` (the numbers).  Give it a chart by one of the two. */
void page_figure(struct page *p, const char *id, const char *title, const char *text);
void page_figure_end(struct page *p);
enum { CHART_LOG_X = 1, CHART_LOG_Y = 2 };
struct chart {
    const char *id, *kind, *title; /* kind: lines, bars, users, calibration (charts.js) */
    const char *x, *y;
    int log;    /* CHART_LOG_X, CHART_LOG_Y, or both added */
    bool curve; /* many points on a line */
};
void chart_open(struct page *p, const struct chart *c); /* then row objects into p->charts */
void chart_close(struct page *p);
int chart_query(struct page *p, const struct chart *c, const char *sql); /* a JSON array of rows */
/* A figure whole: its chart and its table from queries. */
int page_chart(struct page *p, const struct chart *c, const char *text, const char *rows_sql,
               const char *table_sql);

/* The first column of the first row. */
int page_number(struct page *p, const char *sql, double *out);
/* How many of the page's runs have the measure `name` (NULL: any). */
int page_measured(struct page *p, const char *name, double *out);

/* ---- sections, in order ---- */

int page_head(struct page *p);     /* what this is, at a glance */
int page_tables(struct page *p);   /* the tables that suites ask for */
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

void page_table(struct page *p, const struct table *t); /* one table with its notes */

#endif
