/* test_page.c - the report page: whole with any database, and nothing in a name gets out
 * of its place. */
#include "test.h"
#include "mete.h"

#ifndef METE_HAVE_SQLITE
TEST(without_sqlite_the_package_is_named)
{
    struct mete_report_options o = {.size = sizeof o, .db = "x.db", .path = "x.html"};
    CHECK_EQ(mete_report(&o), METE_EMISSING);
    CHECK_HAS(mete_errmsg(), "libsqlite3-dev");
}
TESTS(T(without_sqlite_the_package_is_named))
#else
#include "files.h"
#include "fixture.h"
#include "base/file.h"
#include "report/tensorboard.h"

#include <unistd.h>

static char db[512], html[520];

/* A new, empty database in `db`. */
static struct store *new_store(void)
{
    struct store *s = NULL;
    static int n;
    char name[32];
    snprintf(name, sizeof name, "%d.db", n++);
    snprintf(db, sizeof db, "%s", scratch(name));
    snprintf(html, sizeof html, "%s.html", db);
    return store_open(&s, db, STORE_WRITE) == 0 ? s : NULL;
}

/* Closes the store, makes the page and gives its text; "" when it fails. */
static char *page_of(struct store *s)
{
    char *text = NULL;
    size_t size = 0;
    store_close(s);
    struct mete_report_options o = {.size = sizeof o, .db = db, .path = html};
    if (mete_report(&o) != 0 || file_read(html, 1 << 28, &text, &size) != 0) {
        fprintf(stderr, "%s\n", mete_errmsg());
        text = mem_string("");
    }
    unlink(db);
    unlink(html);
    return text;
}

/* No number that is none got into a drawing. */
static bool drawings_hold(const char *page)
{
    for (const char *svg = page; (svg = strstr(svg, "<svg")); svg++) {
        const char *end = strstr(svg, "</svg>");
        char *drawing = end ? mem_print("%.*s", (int)(end - svg), svg) : mem_string("nan");
        bool holds =
            !strstr(drawing, "nan") && !strstr(drawing, "inf\"") && !strstr(drawing, "inf ");
        free(drawing);
        if (!holds)
            return false;
    }
    return true;
}

TEST(an_empty_database_makes_a_page)
{
    char *page = page_of(new_store());
    CHECK(strstr(page, "<!doctype html>") != NULL);
    CHECK(strstr(page, "Nothing has been measured yet.") != NULL);
    CHECK(drawings_hold(page));
    free(page);
}

TEST(planned_and_failed_runs_make_a_page)
{
    struct store *s = new_store();
    struct fixture *f = mem_alloc(sizeof *f);
    fixture_add(f, "glyphs", 5, 1, 2, "maml", "random", 1);
    fixture_add(f, "glyphs", 5, 1, 2, "maml", "active", 1);
    CHECK_OK(fixture_plan(s, f));
    CHECK_OK(store_fail(s, f->ids[1], "training diverged at step 7"));
    char *page = page_of(s);
    CHECK(strstr(page, "0 of 2") != NULL);
    CHECK(strstr(page, "training diverged at step 7") != NULL);
    CHECK(drawings_hold(page));
    free(page);
    free(f);
}

TEST(one_run_of_one_seed_makes_a_page)
{
    struct store *s = new_store();
    struct fixture *f = mem_alloc(sizeof *f);
    fixture_add(f, "glyphs", 5, 1, 2, "maml", "random", 1);
    CHECK_OK(fixture_plan(s, f));
    CHECK_OK(fixture_finish(s, f->ids[0], &f->runs[0]));
    char *page = page_of(s);
    CHECK(strstr(page, "one seed; ± 95 % over test tasks.") != NULL);
    CHECK(drawings_hold(page));
    CHECK(!strstr(page, "nan"));
    free(page);
    free(f);
}

TEST(names_are_escaped_everywhere)
{
    struct store *s = new_store();
    struct fixture *f = mem_alloc(sizeof *f);
    fixture_add(f, "</script><i>&\"", 5, 1, 2, "<b>m", "random", 1);
    fixture_add(f, "</script><i>&\"", 5, 1, 2, "<b>m", "act'ive", 1);
    CHECK_OK(fixture_plan(s, f));
    for (int i = 0; i < 2; i++)
        CHECK_OK(fixture_finish(s, f->ids[i], &f->runs[i]));
    char *page = page_of(s);
    CHECK(strstr(page, "&lt;/script&gt;&lt;i&gt;&amp;&quot;") != NULL);
    CHECK(!strstr(page, "</script><i>"));
    CHECK(!strstr(page, "<b>m"));
    CHECK(drawings_hold(page));
    free(page);
    free(f);
}

TEST(the_full_fixture_has_every_section)
{
    struct store *s = new_store();
    struct fixture *f = NULL;
    CHECK_OK(fixture_fill(s, 2, &f));
    char *page = page_of(s);
    static const char *const sections[] = {"tables", "figures",     "labels",   "users", "training",
                                           "ledger", "calibration", "measures", "runs"};
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        char *mark = mem_print("<section id=\"%s\">", sections[i]);
        CHECK(strstr(page, mark) != NULL);
        free(mark);
    }
    CHECK(drawings_hold(page));
    CHECK(strstr(page, "-shot training") != NULL); /* tasks of different shots are not one line */
    free(page);
    free(f);
}

/* A run that only has measures. */
static int finish_study(struct store *s, const char *id, const struct store_measure *m, int n)
{
    struct store_results r = {.steps = 10,
                              .best_step = 10,
                              .best_accuracy = NAN,
                              .tasks = 10,
                              .measures = m,
                              .n_measures = n,
                              .env = "{\"made up\": true}",
                              .started = 1.7e9};
    return store_finish(s, id, &r);
}

/* A study whose gap is 0.5 + 3/sqrt(n) + 2/m, up to a little for the seed. */
static int finish_stability(struct store *s, const char *id, double n, double m, double seed)
{
    double gap = 0.5 + 3 / sqrt(n) + 2 / m + 0.01 * (seed - 1.5);
    const struct store_measure all[] = {{"n", n, NAN},
                                        {"m", m, NAN},
                                        {"gap", gap, 0.1},
                                        {"gap_outer", gap, NAN},
                                        {"gap_inner", 0, NAN},
                                        {"outer_beta", 1 / n, 0.1 / n},
                                        {"outer_beta_largest", 2 / n, NAN},
                                        {"inner_beta", 1 / m, NAN},
                                        {"outer_L", 30 / m, NAN},
                                        {"outer_gamma", 1234, NAN},
                                        {"inner_L", NAN, NAN}};
    return finish_study(s, id, all, sizeof all / sizeof *all);
}

TEST(studies_of_stability_have_their_figures)
{
    struct store *s = new_store();
    struct fixture *f = mem_alloc(sizeof *f);
    for (int i = 0; i < 8; i++) /* n by the budget, m by the shots, two seeds */
        fixture_add(f, "glyphs", 5, i & 1 ? 5 : 1, i & 2 ? 100 : 10, "maml", "random",
                    1 + (uint64_t)(i / 4));
    CHECK_OK(fixture_plan(s, f));
    for (int i = 0; i < 8; i++)
        CHECK_OK(finish_stability(s, f->ids[i], i & 2 ? 100 : 10, i & 1 ? 25 : 5, 1 + i / 4));
    char *page = page_of(s);
    static const char *const charts[] = {"gap-n",      "gap-m",      "gap-parts",
                                         "beta-outer", "beta-inner", "constants"};
    for (size_t i = 0; i < sizeof charts / sizeof *charts; i++) {
        char *mark = mem_print("<figure data-chart=\"%s\">", charts[i]);
        CHECK(strstr(page, mark) != NULL);
        free(mark);
    }
    CHECK(!strstr(page, "<section id=\"drift\">"));
    CHECK(strstr(page, "from n = 10 to n = 100 from") != NULL); /* O1 in words */
    CHECK(strstr(page, "It falls by more than the intervals in 2 of 2 comparisons") != NULL);
    CHECK(strstr(page, "with m for 1 of 1 methods: from m = 5 to m = 25 from 6 to 1.2 for maml") !=
          NULL); /* O3 */
    CHECK(strstr(page, "What the letters mean") != NULL);
    CHECK(strstr(page, "<td>gap</td><td class=\"n\">8</td><td class=\"n\">0.5 ±") != NULL);
    CHECK(strstr(page, "data-line=\"maml, fitted\"") != NULL);
    CHECK(strstr(page, "<td class=\"n\">1234</td>") != NULL); /* two seeds: no interval */
    CHECK(drawings_hold(page));
    free(page);
    free(f);
}

TEST(a_lone_study_has_no_shape_and_no_interval)
{
    struct store *s = new_store();
    struct fixture *f = mem_alloc(sizeof *f);
    fixture_add(f, "glyphs", 5, 1, 10, "maml", "random", 1);
    CHECK_OK(fixture_plan(s, f));
    CHECK_OK(finish_stability(s, f->ids[0], 10, 5, 1));
    char *page = page_of(s);
    CHECK(strstr(page, "<section id=\"theory\">") != NULL);
    CHECK(!strstr(page, "data-line=\"maml, fitted\""));
    CHECK(!strstr(page, "±0<"));
    CHECK(drawings_hold(page));
    CHECK(!strstr(page, "nan"));
    free(page);
    free(f);
}

TEST(studies_of_drift_have_their_figures)
{
    struct store *s = new_store();
    struct fixture *f = mem_alloc(sizeof *f);
    for (int i = 0; i < 4; i++)
        fixture_add(f, "glyphs", 5, 1 + i, 10, "reptile", "random", 1);
    CHECK_OK(fixture_plan(s, f));
    for (int i = 0; i < 4; i++) { /* the last one diverged */
        const struct store_measure all[] = {{"lr", i & 1 ? 0.1 : 0.01, NAN},
                                            {"steps", 5, NAN},
                                            {"trained", i / 2, NAN},
                                            {"cosine", i < 3 ? 0.75 : NAN, 0.1},
                                            {"deviation", i < 3 ? 0.5 : NAN, 0.2},
                                            {"summed", i < 3 ? 4.25 : NAN, NAN},
                                            {"bound", i & 1 ? -17 : 4, NAN}};
        CHECK_OK(finish_study(s, f->ids[i], all, sizeof all / sizeof *all));
    }
    char *page = page_of(s);
    CHECK(strstr(page, "the cosine of the two is 0.75 to 0.75 at the step size 0.01, and 0.75") !=
          NULL);
    CHECK(strstr(page, "<figure data-chart=\"drift-cosine\">") != NULL);
    CHECK(strstr(page, "<figure data-chart=\"drift-deviation\">") != NULL);
    CHECK(strstr(page, "<figure data-chart=\"drift-bound\">") != NULL);
    CHECK(strstr(page, "trained weights</h4>") != NULL);
    CHECK(strstr(page, "data-line=\"T = 5\"") != NULL);
    CHECK(strstr(page, "<td class=\"n\">-17</td>") != NULL); /* in the table, not in the chart */
    CHECK(!strstr(page, "data-y=\"-17"));
    CHECK(drawings_hold(page));
    free(page);
    free(f);
}

/* RFC 3720, B.4: 32 bytes of zeros, of ones, and ascending. */
TEST(crc32c_matches_the_published_vectors)
{
    unsigned char data[32] = {0};
    CHECK_EQ(crc32c(data, 32), 0x8a9136aa);
    memset(data, 0xff, 32);
    CHECK_EQ(crc32c(data, 32), 0x62a8ab43);
    for (int i = 0; i < 32; i++)
        data[i] = (unsigned char)i;
    CHECK_EQ(crc32c(data, 32), 0x46dd794e);
}

TESTS(T(an_empty_database_makes_a_page), T(planned_and_failed_runs_make_a_page),
      T(one_run_of_one_seed_makes_a_page), T(names_are_escaped_everywhere),
      T(the_full_fixture_has_every_section), T(studies_of_stability_have_their_figures),
      T(a_lone_study_has_no_shape_and_no_interval), T(studies_of_drift_have_their_figures),
      T(crc32c_matches_the_published_vectors))
#endif
