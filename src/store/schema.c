/* schema.c - creating the tables and bringing older files up to date. */
#include "store/store_identity.h"

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

/* The mean over a seed's folds, each by the users that it tested. */
#define OVER_FOLDS(value)                                                                          \
    "iif(count(*) = 1, max(" value "), sum(" value " * test_tasks) / sum(test_tasks))"

/* accuracy_seeds, over seeds: half_seeds is Student's t over the seeds' means (NULL for one
 * seed).  half_tasks is over users where tasks are theirs, each with the mean of all their tests in
 * all seeds and folds; else the mean of the intervals over test tasks.  accuracy_best, the paper's
 * choice: of all variants of a cell, among them the training shots, the one with the best
 * validation accuracy. */
#define ACCURACY_VIEWS(view)                                                                       \
    "CREATE " view " accuracy_seeds AS"                                                            \
    " SELECT variant, bench, dataset, ways, shots, budget, method, labels, net, model, "           \
    "test_shots,"                                                                                  \
    "  support, bn, seeds, total / seeds AS accuracy,"                                             \
    "  (SELECT t FROM student WHERE df = min(seeds, 1001) - 1)"                                    \
    "   * sqrt(max(0, squares - total * total / seeds) / (seeds - 1) / seeds) AS half_seeds,"      \
    "  CASE WHEN (SELECT user FROM task_results WHERE run = first_run LIMIT 1) IS NULL"            \
    "   THEN half_tasks ELSE"                                                                      \
    "   (SELECT (SELECT t FROM student WHERE df = min(n, 1001) - 1)"                               \
    "     * sqrt(max(0, q - s * s / n) / (n - 1) / n)"                                             \
    "    FROM (SELECT count(*) AS n, sum(y) AS s, sum(y * y) AS q FROM"                            \
    "     (SELECT avg(x.accuracy) AS y FROM runs r JOIN tests t USING (run)"                       \
    "       JOIN task_results x USING (run, test)"                                                 \
    "      WHERE r.variant = f.variant AND t.model = f.model AND t.shots = f.test_shots"           \
    "       AND t.support = f.support AND t.bn = f.bn GROUP BY x.user))) END AS half_tasks,"       \
    "  accuracy_before, ece, valid_accuracy, train_tasks, labels_used, first_run"                  \
    " FROM (SELECT variant, bench, dataset, ways, shots, budget, method, labels, net, model,"      \
    "   test_shots, support, bn, count(*) AS seeds, sum(accuracy) AS total,"                       \
    "   sum(accuracy * accuracy) AS squares, avg(half) AS half_tasks,"                             \
    "   avg(accuracy_before) AS accuracy_before, avg(ece) AS ece,"                                 \
    "   avg(valid_accuracy) AS valid_accuracy, avg(train_tasks) AS train_tasks,"                   \
    "   avg(labels_used) AS labels_used, min(first) AS first_run"                                  \
    "  FROM (SELECT variant, bench, dataset, ways, shots, budget, method, labels, net, model,"     \
    "    test_shots, support, bn, seed, " OVER_FOLDS(                                              \
        "accuracy") " AS accuracy,"                                                                \
                    "    avg(half) AS half, " OVER_FOLDS(                                          \
                        "accuracy_before") " AS accuracy_before,"                                  \
                                           "    avg(ece) AS ece, avg(valid_accuracy) AS "          \
                                           "valid_accuracy,"                                       \
                                           "    avg(train_tasks) AS train_tasks, "                 \
                                           "avg(labels_used) AS labels_used, min(run) AS first"    \
                                           "   FROM accuracy GROUP BY variant, seed, model, "      \
                                           "test_shots, support, bn)"                              \
                                           "  GROUP BY variant, model, test_shots, support, bn) "  \
                                           "f;"                                                    \
                                           "CREATE " view " accuracy_best AS"                      \
                                           " SELECT * FROM (SELECT *, count(*) OVER cell AS "      \
                                           "variants,"                                             \
                                           "   row_number() OVER (cell ORDER BY valid_accuracy "   \
                                           "DESC, variant) AS place"                               \
                                           "  FROM accuracy_seeds WINDOW cell AS (PARTITION BY "   \
                                           "dataset, ways, budget, method, labels,"                \
                                           "   net, model, test_shots, support, bn))"              \
                                           " WHERE place = 1;"

/* Files of version 2 and older chose by the validation accuracy of one seed; those of version 4
 * and older took folds for seeds, and had no interval over users. */
static const char choice_sql[] = "DROP VIEW IF EXISTS accuracy_best;"
                                 "DROP VIEW IF EXISTS accuracy_seeds;" ACCURACY_VIEWS("VIEW");
static const char choice_temp_sql[] = ACCURACY_VIEWS("TEMP VIEW");
enum { CHOICE_VERSION = 5 };

/* What the files held that older runs name (store_identity.h). */
static const char contents_sql[] =
    "CREATE TABLE contents ("
    "    key TEXT NOT NULL,"  /* data.content, data.split.content, budget.cost.content */
    "    name TEXT NOT NULL," /* of the dataset, and of the file */
    "    content TEXT NOT NULL,"
    "    PRIMARY KEY (key, name)"
    ") WITHOUT ROWID;";
enum { CONTENTS_STEP = 3 }; /* from version 3 to 4 */

/* Labels of every kind; NULL where an older run did not count them. */
static const char kinds_sql[] =
    "ALTER TABLE ledger ADD COLUMN kind INTEGER;" /* 0 support, 1 query, 2 validation */
    "ALTER TABLE outcomes ADD COLUMN support_labels INTEGER;"
    "ALTER TABLE outcomes ADD COLUMN query_labels INTEGER;"
    "ALTER TABLE outcomes ADD COLUMN validation_labels INTEGER;"
    "ALTER TABLE outcomes ADD COLUMN unique_labels INTEGER;" /* of support and query */
    "ALTER TABLE outcomes ADD COLUMN unique_validation INTEGER;";
static const char kinds_temp_sql[] =
    "CREATE TEMP VIEW outcomes AS SELECT *, NULL AS support_labels, NULL AS query_labels,"
    " NULL AS validation_labels, NULL AS unique_labels, NULL AS unique_validation"
    " FROM main.outcomes;";
enum { KINDS_VERSION = 6 };

/* Of test.keep=by-support; NULL where everybody keeps what was adapted. */
static const char keep_sql[] =
    "ALTER TABLE tests ADD COLUMN kept_share REAL;"       /* of tasks that were not adapted */
    "ALTER TABLE tests ADD COLUMN adapted_accuracy REAL;" /* had all been */
    "ALTER TABLE tests ADD COLUMN adapted_worse_share REAL;" /* made worse, had all been */;
static const char keep_temp_sql[] =
    "CREATE TEMP VIEW tests AS SELECT *, NULL AS kept_share, NULL AS adapted_accuracy,"
    " NULL AS adapted_worse_share FROM main.tests;";
enum { KEEP_VERSION = 7 };

/* What `mete plan` answered; the rate is how fast the machine was when a plan was begun. */
#define PLAN_TABLES(table)                                                                         \
    "CREATE " table " plans (plan TEXT PRIMARY KEY, rate REAL, text TEXT, answer TEXT);"           \
    "CREATE " table " plan_points ("                                                               \
    "    plan TEXT NOT NULL, number INTEGER NOT NULL,"                                             \
    "    kind TEXT NOT NULL," /* run, curve, map */                                                \
    "    line TEXT NOT NULL," /* a method */                                                       \
    "    labels INTEGER NOT NULL, people REAL, each REAL,"                                         \
    "    accuracy REAL, low REAL, high REAL,"                                                      \
    "    trusted INTEGER NOT NULL,"                                                                \
    "    PRIMARY KEY (plan, number)"                                                               \
    ") WITHOUT ROWID;"
static const char plans_sql[] = PLAN_TABLES("TABLE");
static const char plans_temp_sql[] = PLAN_TABLES("TEMP TABLE");
enum { PLANS_VERSION = 8 };

/* A change of the schema appends the statements that make it. */
static const void *const steps[] = {schema_sql, measures_sql, choice_sql, contents_sql,
                                    choice_sql, kinds_sql,    keep_sql,   plans_sql};
const int schema_version = sizeof steps / sizeof *steps;
const int schema_objects = 21 + 9 + 3; /* tables, views and indices after the last step */
const int schema_columns = 146;        /* of all tables */

static int fill_student(struct store *s)
{
    sqlite3_stmt *stmt = NULL;
    int err = sql_prepare(s, &stmt, "INSERT INTO student VALUES (?, ?)");
    for (int df = 1; !err && df <= 1000; df++)
        err = sql_put(s, stmt, "id", df, student_quantile(0.975, df));
    sqlite3_finalize(stmt);
    return err;
}

int schema_for_reading(struct store *s, int version)
{
    int err = version < CHOICE_VERSION ? sql_exec(s, choice_temp_sql, "cannot read it") : 0;
    if (!err && version < KINDS_VERSION)
        err = sql_exec(s, kinds_temp_sql, "cannot read it");
    if (!err && version < KEEP_VERSION)
        err = sql_exec(s, keep_temp_sql, "cannot read it");
    if (!err && version < PLANS_VERSION)
        err = sql_exec(s, plans_temp_sql, "cannot read it");
    return err;
}

int schema_upgrade(struct store *s, int from)
{
    assert(from >= 0 && from < schema_version);
    int err = sql_exec(s, steps[from], "cannot create its tables");
    if (!err && from == CONTENTS_STEP)
        err = identity_respell(s);
    return err || from > 0 ? err : fill_student(s);
}
#endif
