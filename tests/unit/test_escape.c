/* test_escape.c - every text column of a results database holds text that would get out of its
 * place in HTML, CSV, JSON, LaTeX, Markdown or on a terminal; in none of them it does. */
#include "test.h"
#include "mete.h"

#ifndef METE_HAVE_SQLITE
TEST(there_are_no_results_without_sqlite)
{
    SKIP("built without SQLite");
}
TESTS(T(there_are_no_results_without_sqlite))
#else
#include "files.h"
#include "fixture.h"
#include "html.h"
#include "base/file.h"
#include "base/json.h"

#include <ctype.h>
#include <dirent.h>
#include <sqlite3.h>

#define HOSTILE "=x|y`*</td></script><b onclick=\"a\">'&%$#_{}~^\\input{z}\033[31m\r\n+;,../../"

/* Two seeds of two cells, one of users, with a table and figures. */
static void make_good(const char *path)
{
    struct store *s = NULL;
    struct fixture *f = mem_alloc(sizeof *f);
    if (store_open(&s, path, STORE_WRITE) != 0)
        abort();
    for (uint64_t seed = 1; seed <= 2; seed++) {
        fixture_add(f, "omniglot", 5, 1, 30, "maml", "random", seed);
        fixture_add(f, "omniglot", 5, 1, 30, "maml", "active", seed);
        fixture_add(f, "femnist", 62, 1, 10, "fedavg", "random", seed);
    }
    if (fixture_plan(s, f) != 0)
        abort();
    for (int i = 0; i < f->n; i++)
        if (fixture_finish(s, f->ids[i], &f->runs[i]) != 0)
            abort();
    if (store_fail(s, f->ids[0], "made up") != 0)
        abort();
    store_close(s);
    free(f);
}

static sqlite3 *open_copy(const char *good, const char *path)
{
    sqlite3 *db = NULL;
    shell("cp '%s' '%s'", good, path);
    if (sqlite3_open(path, &db) != 0)
        abort();
    sqlite3_exec(db,
                 "PRAGMA foreign_keys=OFF; PRAGMA ignore_check_constraints=ON;"
                 " PRAGMA journal_mode=DELETE; PRAGMA synchronous=OFF",
                 NULL, NULL, NULL);
    return db;
}

/* `before` in front of each text of the column; how many there were. */
static int poison(sqlite3 *db, const char *table, const char *column)
{
    sqlite3_stmt *s = NULL;
    char *sql = mem_print("UPDATE OR IGNORE \"%s\" SET \"%s\" = ?1 || \"%s\""
                          " WHERE typeof(\"%s\") = 'text'",
                          table, column, column, column);
    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != 0)
        abort();
    sqlite3_bind_text(s, 1, HOSTILE, -1, SQLITE_STATIC);
    sqlite3_step(s);
    int n = sqlite3_finalize(s) == 0 ? sqlite3_changes(db) : 0;
    free(sql);
    return n;
}

static char *results_as(const char *db, const char *format)
{
    struct mete_results_options o = {.size = sizeof o, .db = db, .format = format};
    char *text = NULL;
    return mete_results(&o, &text) == 0 ? text : NULL;
}

/* Records of as many fields as the first, none of them a formula. */
static bool csv_holds(const char *at)
{
    int columns = 0, n = 0;
    while (*at) {
        bool quoted = *at == '"';
        const char *start = at += quoted;
        if (*start && strchr("=+@\t\r", *start))
            return false;
        if (*start == '-' && !isdigit((unsigned char)start[1]))
            return false;
        while (*at && (quoted ? *at != '"' || at[1] == '"' : *at != ',' && *at != '\n'))
            at += quoted && *at == '"' ? 2 : 1;
        at += quoted;
        n++;
        if (*at == '\n' || !*at) {
            if (columns && n != columns)
                return false;
            columns = n;
            n = 0;
        } else if (*at != ',') {
            return false;
        }
        at += *at != '\0';
    }
    return columns > 0;
}

/* In a table each line has as many cells as the one before; nothing is a tag. */
static bool markdown_holds(const char *text)
{
    int cells = 0;
    for (const char *tag = text; (tag = strstr(tag, "<b")); tag++)
        if (tag == text || tag[-1] != '\\')
            return false;
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        int n = 0;
        size_t length = strcspn(line, "\n");
        for (size_t i = 0; *line == '|' && i < length; i++)
            n += line[i] == '|' && line[i - (i > 0)] != '\\';
        if (n && cells && n != cells)
            return false;
        cells = n;
    }
    return !strchr(text, '\r');
}

static bool json_holds(const char *text)
{
    struct json j;
    json_open_memory(&j, "made", text, strlen(text));
    bool reads = json_skip(&j) == 0 && json_finish(&j) == 0;
    json_close(&j);
    return reads;
}

static bool latex_holds(const char *text)
{
    return !strstr(text, "\\input{") && !strstr(text, "\\\\input");
}

static bool terminal_holds(const char *text)
{
    return !strchr(text, '\033') && !strchr(text, '\r');
}

static const struct {
    const char *name;
    bool (*holds)(const char *text);
} formats[] = {{"csv", csv_holds},
               {"markdown", markdown_holds},
               {"json", json_holds},
               {"latex", latex_holds},
               {"table", terminal_holds}};

/* Event files lie in folders of plain names, right below the one given. */
static bool events_hold(const char *folder)
{
    DIR *d = opendir(folder);
    bool plain = true;
    for (struct dirent *e; d && (e = readdir(d));)
        for (const char *c = e->d_name; *c; c++)
            plain = plain && (isalnum((unsigned char)*c) || strchr("-_.@", *c));
    if (d)
        closedir(d);
    return plain;
}

static bool page_holds(const char *db)
{
    const char *path = scratch("x.html"), *events = scratch("events");
    struct mete_report_options o = {
        .size = sizeof o, .db = db, .path = path, .tensorboard = events};
    char *page = NULL;
    size_t size;
    shell("rm -rf '%s'", events, "");
    if (mete_report(&o) != 0) {
        fprintf(stderr, "the page: %s\n", mete_errmsg());
        return false;
    }
    if (file_read(path, 1 << 28, &page, &size) != 0)
        abort();
    bool holds = html_nests(page) && !strstr(page, "<b onclick") && strlen(page) == size;
    free(page);
    return holds && events_hold(events);
}

TEST(what_is_not_poisoned_holds)
{
    make_good(scratch("good.db"));
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        char *text = results_as(scratch("good.db"), formats[i].name);
        CHECK(text && formats[i].holds(text));
        mete_free(text);
    }
    CHECK(page_holds(scratch("good.db")));
}

TEST(no_text_of_any_column_gets_out_of_its_place)
{
    sqlite3_stmt *columns = NULL;
    sqlite3 *list = open_copy(scratch("good.db"), scratch("list.db"));
    int poisoned = 0, wrong = 0;
    sqlite3_prepare_v2(list,
                       "SELECT m.name, c.name FROM sqlite_schema m, pragma_table_info(m.name) c"
                       " WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%'",
                       -1, &columns, NULL);
    while (sqlite3_step(columns) == SQLITE_ROW) {
        const char *table = (const char *)sqlite3_column_text(columns, 0),
                   *column = (const char *)sqlite3_column_text(columns, 1);
        char path[512];
        snprintf(path, sizeof path, "%s", scratch("x.db"));
        sqlite3 *db = open_copy(scratch("good.db"), path);
        int n = poison(db, table, column);
        sqlite3_close(db);
        poisoned += n > 0;
        for (size_t i = 0; n > 0 && i < sizeof formats / sizeof *formats; i++) {
            char *text = results_as(path, formats[i].name);
            if (!text || !formats[i].holds(text)) {
                fprintf(stderr, "%s.%s in %s: %s\n", table, column, formats[i].name,
                        text ? "gets out" : mete_errmsg());
                wrong++;
            }
            mete_free(text);
        }
        if (n > 0 && !page_holds(path)) {
            fprintf(stderr, "%s.%s in the page\n", table, column);
            wrong++;
        }
    }
    sqlite3_finalize(columns);
    sqlite3_close(list);
    CHECK(poisoned > 25);
    CHECK_EQ(wrong, 0);
}

TESTS(T(what_is_not_poisoned_holds), T(no_text_of_any_column_gets_out_of_its_place))
#endif
