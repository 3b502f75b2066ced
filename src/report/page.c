/* page.c - mete report: one HTML file that carries everything it needs. */
#include "report/page.h"
#include "base/error.h"
#include "report/prepare.h"
#include "report/tensorboard.h"
#include "store/store_sql.h"

#ifndef METE_HAVE_SQLITE
int mete_report(const struct mete_report_options *given)
{
    struct store *s = NULL;
    (void)given;
    return store_open(&s, NULL, STORE_READ); /* says what is missing */
}
#else
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/options.h"

#include <stdlib.h>
#include <string.h>

extern const unsigned char report_script[], report_css[]; /* embedded by the build */
extern const size_t report_script_size, report_css_size;

static int prepare(struct page *p)
{
    int err = report_prepare(p->s, p->suite);
    return err ? err : result_list_read(&p->results, p->s, p->suite, "best");
}

static int add_sections(struct page *p, page_section_fn *const *sections, int n)
{
    int err = 0;
    for (int i = 0; !err && i < n; i++)
        err = sections[i](p), p->head_size = i ? p->head_size : p->html.size;
    return err;
}

static page_section_fn *const all_sections[] = {
    page_head,   page_plan,  page_tables,   page_paper,  page_figures,
    page_pairs,  page_users, page_training, page_ledger, page_calibration,
    page_theory, page_drift, page_measures, page_runs};
enum { ALL_SECTIONS = sizeof all_sections / sizeof *all_sections };

static void release_page(struct page *p)
{
    result_list_release(&p->results);
    text_release(&p->html);
    text_release(&p->nav);
    style_release(&p->style);
    store_close(p->s);
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
    text_print(out, "</h1>\n<p class=\"made\">mete %s%s</p>\n</header>\n<main>\n", mete_version(),
               p->results.n ? " · accuracy after adaptation, on tasks no run was trained on" : "");
}

static void add_closing(struct text *out)
{
    text_add(out,
             "</main>\n<footer><p>Intervals are two-sided 95 % by Student's t, over seeds and "
             "over test tasks kept apart. Variants, such as the number of training shots, are "
             "chosen by validation accuracy, never by test accuracy. docs/results.md describes "
             "the database behind this page.</p></footer>\n<script>\n");
    text_add_bytes(out, report_script, report_script_size);
    text_add(out, "</script>\n</body>\n</html>\n");
}

static void add_page(struct text *out, const struct page *p, const char *title)
{
    add_opening(out, p, title);
    text_add_bytes(out, p->html.at, p->head_size);
    text_print(out, "<nav aria-label=\"sections\">%s</nav>\n", p->nav.at ? p->nav.at : "");
    text_add(out, p->html.at ? p->html.at + p->head_size : "");
    add_closing(out);
}

static char *default_title(const char *db, const char *suite)
{
    const char *slash = strrchr(db, '/'), *name = slash ? slash + 1 : db;
    if (suite)
        return mem_print("%s: results", suite);
    return mem_print("Results of %.*s", (int)strcspn(name, "."), name);
}

static int open_page(struct page *p, const char *db)
{
    int err = store_open(&p->s, db, STORE_READ);
    return err ? err : prepare(p);
}

int report_sections(struct text *out, const char *db, page_section_fn *const *sections, int n)
{
    NUMBER_LOCALE;
    struct page p = {0};
    int err = open_page(&p, db);
    if (!err)
        err = add_sections(&p, sections, n);
    if (!err)
        text_add_bytes(out, p.html.at, p.html.size);
    release_page(&p);
    return err;
}

int report_one(struct text *out, const char *db, const char *title, page_section_fn *section)
{
    NUMBER_LOCALE;
    struct page p = {0};
    int err = open_page(&p, db);
    if (!err)
        err = section(&p);
    if (!err) {
        p.head_size = p.html.size;
        add_page(out, &p, title);
    }
    release_page(&p);
    return err;
}

int report_text(struct text *out, const struct mete_report_options *o)
{
    NUMBER_LOCALE;
    struct page p = {.suite = o->suite};
    char *title = o->title ? mem_string(o->title) : default_title(o->db, o->suite);
    int err = open_page(&p, o->db);
    if (!err)
        err = add_sections(&p, all_sections, ALL_SECTIONS);
    if (!err)
        add_page(out, &p, title);
    if (!err && o->tensorboard)
        err = tensorboard_write(p.s, o->suite, o->tensorboard);
    release_page(&p);
    free(title);
    return err;
}

int mete_report(const struct mete_report_options *given)
{
    struct mete_report_options own, *o = &own;
    struct text page = {0};
    int err = options_take(o, sizeof own, given, "mete_report_options");
    if (!err && !o->path)
        err = fail(METE_EINVAL, "a report needs a path");
    if (!err)
        err = report_text(&page, o);
    if (!err)
        err = file_write(o->path, page.at, page.size);
    text_release(&page);
    return err;
}
#endif
