/* fuzz_results.c - a results database in which some values are any text, number or bytes: tables
 * and page are made or refused, and what is made is well formed.
 *
 * An input is a list of changes: the table, the row, the column, the kind of value, its length and
 * the value.
 */
#include "fuzz_import.h"
#include "fixture.h"
#include "html.h"
#include "base/file.h"
#include "base/json.h"

#ifdef METE_HAVE_SQLITE
#include <sqlite3.h>

static const char *const tables[] = {
    "suites",       "drawings",     "runs",        "settings", "outcomes",       "checkpoints",
    "tests",        "task_results", "calibration", "ledger",   "ledger_classes", "ledger_coverage",
    "environments", "times",        "suite_runs",  "measures"};
enum { TABLES = sizeof tables / sizeof *tables };

static char *good;
static size_t good_size;

/* Two runs of each of two cells. */
static void make_good(void)
{
    struct store *s = NULL;
    struct fixture *f = mem_alloc(sizeof *f);
    HOLDS(store_open(&s, fuzz_path("good.db"), STORE_WRITE) == 0);
    for (uint64_t seed = 1; seed <= 2; seed++) {
        fixture_add(f, "omniglot", 5, 1, 30, "maml", "random", seed);
        fixture_add(f, "omniglot", 5, 1, 30, "maml", "active", seed);
    }
    HOLDS(fixture_plan(s, f) == 0);
    for (int i = 0; i < f->n; i++)
        HOLDS(fixture_finish(s, f->ids[i], &f->runs[i]) == 0);
    store_close(s);
    free(f);
    sqlite3 *db = NULL;
    HOLDS(sqlite3_open(fuzz_path("good.db"), &db) == 0);
    HOLDS(sqlite3_exec(db, "PRAGMA journal_mode=DELETE; VACUUM", NULL, NULL, NULL) == 0);
    sqlite3_close(db);
    HOLDS(file_read(fuzz_path("good.db"), 1 << 28, &good, &good_size) == 0);
}

/* One change; how many bytes of the input it took. */
static size_t change(sqlite3 *db, const uint8_t *data, size_t size)
{
    if (size < 5)
        return size;
    size_t n = data[4] < size - 5 ? data[4] : size - 5;
    const char *table = tables[data[0] % TABLES];
    char sql[256], column[64] = "";
    sqlite3_stmt *s = NULL;
    snprintf(sql, sizeof sql, "SELECT name FROM pragma_table_info('%s') WHERE cid = %d", table,
             data[2] % 20);
    sqlite3_prepare_v2(db, sql, -1, &s, NULL);
    if (sqlite3_step(s) == SQLITE_ROW)
        snprintf(column, sizeof column, "%s", (const char *)sqlite3_column_text(s, 0));
    sqlite3_finalize(s);
    if (!*column)
        return 5 + n;
    snprintf(sql, sizeof sql,
             "UPDATE OR IGNORE %s SET \"%s\" = ?1 WHERE rowid IN (SELECT rowid FROM %s LIMIT 1"
             " OFFSET %d)",
             table, column, table, data[1] % 8);
    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK) /* without row numbers: all of it */
        return 5 + n;
    const uint8_t *value = data + 5;
    int64_t whole = 0;
    double real = 0;
    memcpy(&whole, value, n < 8 ? n : 8);
    memcpy(&real, value, n < 8 ? n : 8);
    switch (data[3] % 5) {
    case 0:
        sqlite3_bind_text(s, 1, (const char *)value, (int)n, SQLITE_TRANSIENT);
        break;
    case 1:
        sqlite3_bind_int64(s, 1, whole);
        break;
    case 2:
        sqlite3_bind_double(s, 1, real);
        break;
    case 3:
        sqlite3_bind_blob(s, 1, value, (int)n, SQLITE_TRANSIENT);
        break;
    default:
        sqlite3_bind_null(s, 1);
    }
    sqlite3_step(s);
    sqlite3_finalize(s);
    return 5 + n;
}

static bool is_json(const char *text, size_t size)
{
    struct json j;
    json_open_memory(&j, "made", text, size);
    bool reads = json_skip(&j) == 0 && json_finish(&j) == 0;
    json_close(&j);
    return reads;
}

static void check_tables(void)
{
    static const char *const formats[] = {"table", "csv", "json", "latex", "markdown"};
    for (int i = 0; i < 5; i++) {
        struct mete_results_options o = {
            .size = sizeof o, .db = fuzz_path("x.db"), .format = formats[i]};
        char *text = NULL;
        if (mete_results(&o, &text) != 0) {
            HOLDS(*mete_errmsg() && !text);
            continue;
        }
        HOLDS(i != 2 || is_json(text, strlen(text)));
        mete_free(text);
    }
}

static void check_page(void)
{
    struct mete_report_options o = {.size = sizeof o,
                                    .db = fuzz_path("x.db"),
                                    .path = fuzz_path("x.html"),
                                    .tensorboard = fuzz_path("events")};
    char *page = NULL;
    size_t size = 0;
    if (mete_report(&o) != 0) {
        HOLDS(*mete_errmsg());
        return;
    }
    HOLDS(file_read(fuzz_path("x.html"), 1 << 28, &page, &size) == 0);
    HOLDS(html_nests(page));
    free(page);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sqlite3 *db = NULL;
    if (!good)
        make_good();
    fuzz_write("x.db", (const uint8_t *)good, good_size);
    HOLDS(sqlite3_open(fuzz_path("x.db"), &db) == 0);
    sqlite3_exec(db,
                 "PRAGMA ignore_check_constraints=ON; PRAGMA foreign_keys=OFF;"
                 " PRAGMA synchronous=OFF; PRAGMA journal_mode=OFF",
                 NULL, NULL, NULL);
    for (int i = 0; size > 0 && i < 16; i++) {
        size_t used = change(db, data, size);
        data += used;
        size -= used;
    }
    sqlite3_close(db);
    check_tables();
    check_page();
    return 0;
}
#else
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    (void)data, (void)size;
    return 0;
}
#endif
