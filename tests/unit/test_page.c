/* test_page.c - the report page: whole with any database, and nothing in a name gets out
 * of its place. */
#include "test.h"
#include "mete.h"

#ifndef METE_HAVE_SQLITE
TEST(without_sqlite_the_package_is_named)
{
    struct mete_report_options o = {.db = "x.db", .path = "x.html"};
    CHECK_EQ(mete_report(&o), METE_EMISSING);
    CHECK_HAS(mete_errmsg(), "libsqlite3-dev");
}
TESTS(T(without_sqlite_the_package_is_named))
#else
#include "fixture.h"
#include "base/file.h"
#include "base/json.h"
#include "report/tensorboard.h"

#include <unistd.h>

static char db[] = "/tmp/mete-page-XXXXXX", html[64];

/* A new, empty database in `db`. */
static struct store *new_store(void)
{
    struct store *s = NULL;
    strcpy(db, "/tmp/mete-page-XXXXXX");
    close(mkstemp(db));
    snprintf(html, sizeof html, "%s.html", db);
    return store_open(&s, db, STORE_WRITE) == 0 ? s : NULL;
}

/* Closes the store, makes the page and gives its text; "" when it fails. */
static char *page_of(struct store *s)
{
    char *text = NULL;
    size_t size = 0;
    store_close(s);
    struct mete_report_options o = {.db = db, .path = html};
    if (mete_report(&o) != 0 || file_read(html, 1 << 28, &text, &size) != 0) {
        fprintf(stderr, "%s\n", mete_errmsg());
        text = mem_string("");
    }
    unlink(db);
    unlink(html);
    return text;
}

/* The charts' data is JSON that reads. */
static bool charts_read(char *page)
{
    char *from = strstr(page, "id=\"charts\">"), *to = from ? strstr(from, "</script>") : NULL;
    struct json j;
    if (!to)
        return false;
    from += strlen("id=\"charts\">");
    json_open_memory(&j, "charts", from, (size_t)(to - from));
    bool reads = json_skip(&j) == 0 && json_finish(&j) == 0;
    if (!reads)
        fprintf(stderr, "%s\n", mete_errmsg());
    json_close(&j);
    return reads;
}

TEST(an_empty_database_makes_a_page)
{
    char *page = page_of(new_store());
    CHECK(strstr(page, "<!doctype html>") != NULL);
    CHECK(strstr(page, "Nothing has been measured yet.") != NULL);
    CHECK(charts_read(page));
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
    CHECK(charts_read(page));
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
    CHECK(charts_read(page));
    *strstr(page, "id=\"charts\"") = '\0'; /* the script after it has words of its own */
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
    CHECK(charts_read(page));
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
    CHECK(charts_read(page));
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
      T(the_full_fixture_has_every_section), T(crc32c_matches_the_published_vectors))
#endif
