/* test_tables.c - tables from results: choice, order, intervals, formats; and the
 * paper's numbers against the page they were taken from. */
#include "test.h"
#include "mete.h"
#include "report/paper.h"

#ifndef METE_HAVE_SQLITE
TEST(without_sqlite_the_package_is_named)
{
    char *text = NULL;
    struct mete_results_options o = {.size = sizeof o, .db = "x.db"};
    CHECK_EQ(mete_results(&o, &text), METE_EMISSING);
    CHECK_HAS(mete_errmsg(), "libsqlite3-dev");
}
TESTS(T(without_sqlite_the_package_is_named))
#else
#include "files.h"
#include "fixture.h"
#include "base/json.h"
#include "report/drawn.h"
#include "report/table.h"
#include "store/store_sql.h"

#include <unistd.h>

/* A filled database, made once. */
static const char *fixture_path(void)
{
    static char path[512];
    static bool made;
    if (!made) {
        struct store *s = NULL;
        struct fixture *f = NULL;
        snprintf(path, sizeof path, "%s", scratch("tables.db"));
        if (store_open(&s, path, STORE_WRITE) != 0 || fixture_fill(s, 3, &f) != 0)
            abort();
        store_close(s);
        free(f);
        made = true;
    }
    return path;
}

static char *results_as(const char *format)
{
    struct mete_results_options o = {.size = sizeof o, .db = fixture_path(), .format = format};
    char *text = NULL;
    return mete_results(&o, &text) == 0 ? text : mem_print("failed: %s", mete_errmsg());
}

TEST(the_papers_numbers_are_those_of_the_reference_page)
{
    FILE *page = fopen("../shared/reference/numbers.md", "r");
    if (!page)
        SKIP("../shared/reference/numbers.md is not here");
    static const char *const methods[] = {"reptile", "maml", "protonet"};
    char line[512], dataset[32];
    int ways, shots, budget, rows = 0;
    double n[6];
    while (fgets(line, sizeof line, page)) {
        if (sscanf(line, "| %31s %dw-%ds | %dK | %lf | %lf | %lf | %lf | %lf | %lf", dataset, &ways,
                   &shots, &budget, &n[0], &n[1], &n[2], &n[3], &n[4], &n[5]) != 10)
            continue;
        rows++;
        for (int k = 0; k < 6; k++) {
            struct paper_cell c = {dataset, methods[k / 2], k % 2 ? "active" : "random",
                                   ways,    shots,          budget * 1000};
            struct paper_number number = {0};
            CHECK(paper_find(&c, false, &number));
            CHECK_NEAR(number.accuracy, n[k], 0);
            CHECK_EQ(number.table, 1);
        }
    }
    fclose(page);
    CHECK_EQ(rows, 18);
}

TEST(tables_2_and_3_of_the_paper_have_intervals)
{
    struct paper_cell c = {"femnist", "reptile", "active", 62, 5, 100000};
    struct paper_number n;
    CHECK(paper_find(&c, true, &n));
    CHECK_NEAR(n.accuracy, 89.1, 0);
    CHECK_NEAR(n.half, 1.5, 0);
    CHECK(paper_find(&c, false, &n));
    CHECK_NEAR(n.accuracy, 89.0, 0);
    struct paper_cell classical = {"miniimagenet", "protonet", "stratified", 5, 5, 0};
    CHECK(paper_find(&classical, false, &n));
    CHECK_NEAR(n.accuracy, 66.2, 0);
    classical.budget = 17;
    CHECK(!paper_find(&classical, false, &n));
}

TEST(a_cell_is_the_variant_with_the_best_validation_accuracy)
{
    struct store *s = NULL;
    struct result_list r;
    struct table t;
    CHECK_OK(store_open(&s, fixture_path(), STORE_READ));
    CHECK_OK(result_list_read(&r, s, "fixture", "best"));
    CHECK_OK(table_open(&t, &r, "t", "dataset,ways,test_shots,budget", "method,labels"));
    CHECK_EQ(t.rows.n, 6);
    CHECK_EQ(t.columns.n, 11);
    CHECK_STR(axis_value(&t.rows, 1, 3), "300000");  /* budgets by size */
    CHECK_STR(axis_value(&t.rows, 4, 0), "femnist"); /* data sets as the suite has them */
    int chosen[6] = {0};
    for (int i = 0; i < r.n; i++) {
        const struct cell *c = &t.cells[t.where[i]];
        CHECK(c->chosen->valid_accuracy >= r.at[i].valid_accuracy);
        CHECK_STR(c->chosen->field[FIELD_METHOD], r.at[i].field[FIELD_METHOD]);
        CHECK_STR(c->chosen->field[FIELD_TEST_SHOTS], r.at[i].field[FIELD_TEST_SHOTS]);
        chosen[atoi(c->chosen->field[FIELD_SHOTS])]++;
    }
    CHECK(chosen[1] > 0 && chosen[5] > 0);
    for (int i = 0; i < t.rows.n; i++) {
        int best = 0;
        for (int j = 0; j < t.columns.n; j++)
            best += table_cell(&t, i, j)->best;
        CHECK(best >= 1);
    }
    CHECK_HAS(table_cell(&t, 0, 0)->choice, "training shots ");
    table_release(&t);
    result_list_release(&r);
    store_close(s);
}

TEST(what_belongs_to_the_test_is_never_chosen)
{
    struct store *s = NULL;
    struct result_list r;
    struct table t;
    CHECK_OK(store_open(&s, fixture_path(), STORE_READ));
    CHECK_OK(result_list_read(&r, s, NULL, "best"));
    CHECK_OK(table_open(&t, &r, "t", "", "method"));
    CHECK(axis_field(&t.rows, "dataset") >= 0 && axis_field(&t.rows, "test_shots") >= 0 &&
          axis_field(&t.rows, "budget") >= 0);
    CHECK_EQ(axis_field(&t.rows, "bn"), -1); /* the same everywhere */
    table_release(&t);
    CHECK_OK(table_open(&t, &r, "t", "shots,inner.lr", "method,labels"));
    CHECK_STR(axis_value(&t.rows, 0, 1), "0.1"); /* a setting is a field too */
    table_release(&t);
    result_list_release(&r);
    store_close(s);
}

TEST(the_text_shows_intervals_paper_and_batch_norm)
{
    char *text = results_as("table");
    CHECK_HAS(text, "Accuracy at a fixed label budget\n");
    CHECK_HAS(text, " ±");
    CHECK_HAS(text, "paper        73.3       77.2");
    CHECK_HAS(text, "Batch norm: batch (");
    CHECK_HAS(text, "± 95 % over seeds (Student's t).");
    CHECK_HAS(text, "62w-1s");
    CHECK(!strchr(text, '\033'));
    free(text);
}

TEST(csv_has_a_line_for_every_variant_and_test)
{
    char *text = results_as("csv");
    int lines = 0, commas = 0;
    for (char *c = text; *c; c++)
        lines += *c == '\n';
    for (char *c = text; *c != '\n'; c++)
        commas += *c == ',';
    CHECK_EQ(lines, 1 + 2 * (54 + 4)); /* two test shots of 58 variants, and the header */
    CHECK_EQ(commas, 29);
    CHECK_HAS(text, "suite,table,dataset,ways,shots,budget,");
    free(text);
}

TEST(json_reads_back)
{
    char *text = results_as("json");
    struct json j;
    bool more = false;
    int cells = 0;
    json_open_memory(&j, "results", text, strlen(text));
    CHECK_OK(json_enter(&j, JSON_ARRAY));
    CHECK_OK(json_more(&j, &more));
    CHECK(more);
    CHECK_OK(json_enter(&j, JSON_OBJECT));
    while (!json_more(&j, &more) && more)
        if (strcmp(j.text, "cells") == 0) {
            CHECK_OK(json_enter(&j, JSON_ARRAY));
            while (!json_more(&j, &more) && more) {
                CHECK_OK(json_skip(&j));
                cells++;
            }
        } else {
            CHECK_OK(json_skip(&j));
        }
    CHECK_OK(json_more(&j, &more));
    CHECK(!more);
    CHECK_OK(json_finish(&j));
    CHECK_EQ(cells, 4 * 9 + 2 * 4);
    json_close(&j);
    free(text);
}

TEST(latex_and_markdown_have_the_same_numbers)
{
    char *latex = results_as("latex"), *markdown = results_as("markdown");
    CHECK_HAS(latex, "\\begin{tabular}{lllrrrrrrrrrrr}");
    CHECK_HAS(latex, "\\multicolumn{3}{c}{\\textbf{reptile}}");
    CHECK_HAS(latex, "\\% ");
    CHECK_HAS(markdown, "| dataset | task | budget | reptile random |");
    char *bold = strstr(latex, "\\textbf{7"), number[8];
    CHECK(bold != NULL);
    snprintf(number, sizeof number, "**%.4s", bold + 8);
    CHECK_HAS(markdown, number);
    free(latex);
    free(markdown);
}

TEST(asking_wrongly_is_refused)
{
    char *text = NULL;
    struct mete_results_options o = {.size = sizeof o, .db = fixture_path(), .format = "xml"};
    CHECK_EQ(mete_results(&o, &text), METE_EINVAL);
    CHECK_HAS(mete_errmsg(),
              "expected table, summary, paper, csv, json, latex or markdown, got 'xml'");
    o = (struct mete_results_options){.size = sizeof o, .db = fixture_path(), .suite = "quik"};
    CHECK_EQ(mete_results(&o, &text), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "has no suite 'quik'; it has: fixture");
    o = (struct mete_results_options){.size = sizeof o, .db = "/nowhere/x.db"};
    CHECK_EQ(mete_results(&o, &text), METE_EIO);
}

/* Where suites ask for figures alone, or there is none, Table 1 is made all the same; and not
 * beside a table that was asked for. */
TEST(without_a_table_there_is_one_of_all_runs)
{
    static const char *const kept[] = {"1", "kind = 'figure'", "0"};
    static const int n[] = {3, 3, 1};
    for (int i = 0; i < 3; i++) {
        struct store *s = NULL;
        struct fixture *f = mem_alloc(sizeof *f);
        struct drawn_list d;
        char sql[96], name[16];
        snprintf(name, sizeof name, "drawn-%d.db", i);
        snprintf(sql, sizeof sql, "DELETE FROM drawings WHERE NOT (%s)", kept[i]);
        fixture_add(f, "omniglot", 5, 1, 30, "maml", "random", 1);
        CHECK_OK(store_open(&s, scratch(name), STORE_WRITE));
        CHECK_OK(fixture_plan(s, f));
        CHECK_OK(sql_exec(s, sql, "taking drawings out of"));
        CHECK_OK(drawn_read(&d, s, NULL));
        CHECK_EQ(d.n, n[i]);
        CHECK_EQ(d.at[0].figure, i == 1); /* tables that were asked for come first */
        CHECK_STR(d.at[i == 1 ? 2 : 0].rows, "dataset,ways,test_shots,budget");
        drawn_release(&d);
        store_close(s);
        free(f);
    }
}

TESTS(T(the_papers_numbers_are_those_of_the_reference_page),
      T(tables_2_and_3_of_the_paper_have_intervals),
      T(a_cell_is_the_variant_with_the_best_validation_accuracy),
      T(what_belongs_to_the_test_is_never_chosen), T(the_text_shows_intervals_paper_and_batch_norm),
      T(csv_has_a_line_for_every_variant_and_test), T(json_reads_back),
      T(latex_and_markdown_have_the_same_numbers), T(asking_wrongly_is_refused),
      T(without_a_table_there_is_one_of_all_runs))
#endif
