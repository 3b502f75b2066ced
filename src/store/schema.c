/* schema.c - creating the tables and bringing older files up to date. */
#include "store/store_sql.h"

#ifdef METE_HAVE_SQLITE
#include "base/statistics.h"

#include <assert.h>

extern const unsigned char schema_sql[]; /* schema.sql, embedded by the build */

static const char measures_sql[] =
    "CREATE TABLE measures (" /* of studies: numbers of a run that are no accuracies */
    "    run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,"
    "    name TEXT NOT NULL,"
    "    value REAL,"
    "    half REAL," /* half width of its 95 % interval; NULL: none */
    "    PRIMARY KEY (run, name)"
    ") WITHOUT ROWID;";

/* A change of the schema appends the statements that make it. */
static const void *const steps[] = {schema_sql, measures_sql};
const int schema_version = sizeof steps / sizeof *steps;

static int fill_student(struct store *s)
{
    sqlite3_stmt *stmt = NULL;
    int err = sql_prepare(s, &stmt, "INSERT INTO student VALUES (?, ?)");
    for (int df = 1; !err && df <= 1000; df++)
        err = sql_put(s, stmt, "id", df, student_quantile(0.975, df));
    sqlite3_finalize(stmt);
    return err;
}

int schema_upgrade(struct store *s, int from)
{
    assert(from >= 0 && from < schema_version);
    int err = sql_exec(s, steps[from], "cannot create its tables");
    return err || from > 0 ? err : fill_student(s);
}
#endif
