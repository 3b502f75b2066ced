/* store_measures.c - reading what studies measured. */
#include "store/store_sql.h"

#ifdef METE_HAVE_SQLITE
#include <math.h>

static double real_at(sqlite3_stmt *row, int column)
{
    return sqlite3_column_type(row, column) == SQLITE_NULL ? NAN
                                                           : sqlite3_column_double(row, column);
}

static const char *text_at(sqlite3_stmt *row, int column)
{
    const unsigned char *text = sqlite3_column_text(row, column);
    return text ? (const char *)text : "";
}

int store_measures(struct store *s, const char *suite, store_measure_fn *fn, void *user)
{
    sqlite3_stmt *find = NULL;
    int row = 0;
    int err =
        sql_prepare(s, &find,
                    "SELECT r.run, r.dataset, r.method, r.labels, r.seed, m.name, m.value, m.half"
                    " FROM runs r JOIN measures m USING (run) WHERE r.status = 'done' AND"
                    " (?1 IS NULL OR r.run IN (SELECT run FROM suite_runs JOIN suites USING"
                    "  (suite) WHERE suites.name = ?1)) ORDER BY r.run, m.name");
    if (!err)
        sql_bind(find, "t", suite);
    while (!err && (row = sql_row(s, find)) == 1) {
        struct store_measured m = {
            .run = sqlite3_column_int64(find, 0),
            .dataset = text_at(find, 1),
            .method = text_at(find, 2),
            .labels = text_at(find, 3),
            .seed = (uint64_t)sqlite3_column_int64(find, 4),
            .measure = {text_at(find, 5), real_at(find, 6), real_at(find, 7)}};
        fn(user, &m);
    }
    sqlite3_finalize(find);
    return err ? err : row < 0 ? row : 0;
}
#endif
