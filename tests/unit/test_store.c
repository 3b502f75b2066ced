/* test_store.c - the results database: ids, sharing, whole runs only, views. */
#include "test.h"

#ifndef METE_HAVE_SQLITE
#include "store/store.h"

TEST(without_sqlite_the_package_is_named)
{
    struct store *s = NULL;
    CHECK_EQ(store_open(&s, "x.db", STORE_WRITE), METE_EMISSING);
    CHECK_HAS(mete_errmsg(), "libsqlite3-dev");
}
TESTS(T(without_sqlite_the_package_is_named))
#else
#include "fixture.h"
#include "base/statistics.h"
#include "store/store_sql.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[TEMP_SIZE];

static const char *new_path(void)
{
    static char path[TEMP_SIZE + 16];
    static int n;
    if (n == 0 && !mkdtemp(temp_name(folder, "mete-store-XXXXXX")))
        abort();
    snprintf(path, sizeof path, "%s/%d.db", folder, n++);
    return path;
}

static double number(struct store *s, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    double value = NAN;
    if (sql_prepare(s, &stmt, sql) == 0 && sql_row(s, stmt) == 1 &&
        sqlite3_column_type(stmt, 0) != SQLITE_NULL)
        value = sqlite3_column_double(stmt, 0);
    sqlite3_finalize(stmt);
    return value;
}

static char *text(struct store *s, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    char *value = NULL;
    if (sql_prepare(s, &stmt, sql) == 0 && sql_row(s, stmt) == 1)
        value = mem_string((const char *)sqlite3_column_text(stmt, 0));
    sqlite3_finalize(stmt);
    return value ? value : mem_string("");
}

static struct store_run one_run(void)
{
    return (struct store_run){.bench = "glyphs:5w-1s@2K",
                              .dataset = "glyphs",
                              .ways = 5,
                              .shots = 1,
                              .budget = 2000,
                              .method = "maml",
                              .labels = "random",
                              .net = "conv4",
                              .seed = 1,
                              .settings = fixture_settings,
                              .n_settings = 2};
}

/* FNV-1a 64 of "bench=glyphs:5w-1s@2K\ninner.lr=0.1\nlabels=random\nmethod=maml\n
 * net=conv4\nseed=1\ntrain.steps=1000\n", computed in Python. */
TEST(the_id_of_a_run_is_the_same_for_ever)
{
    struct store_run run = one_run();
    char id[STORE_ID_SIZE];
    store_run_id(&run, id);
    CHECK_STR(id, "06e9e4fd07d2eb93");
}

TEST(the_id_depends_on_every_setting_but_not_on_order_or_origin)
{
    struct store_run run = one_run();
    char id[STORE_ID_SIZE], other[STORE_ID_SIZE];
    store_run_id(&run, id);
    const struct store_setting turned[] = {{"inner.lr", "0.1", "elsewhere"},
                                           {"train.steps", "1000", "default"}};
    run.settings = turned;
    store_run_id(&run, other);
    CHECK_STR(other, id);
    const struct store_setting changed[] = {{"inner.lr", "0.2", ""}, {"train.steps", "1000", ""}};
    run.settings = changed;
    store_run_id(&run, other);
    CHECK(strcmp(other, id) != 0);
    static const struct {
        const char *key, *before, *other;
    } later[] = {{"train.relabel", "no", "yes"},
                 {"train.resplit", "no", "yes"},
                 {"train.patience", "0", "10"},
                 {"inner.prox", "0", "1"},
                 {"test.keep", "always", "by-support"},
                 {"method.objective", "heldout", "blend"},
                 {"method.blend_labels", "100", "10"},
                 {"method.absent", "origin", "left-out"},
                 {"data.content", "generated-1-0123456789abcdef", "0123456789abcdef"}};
    const int cases = 2 * (int)(sizeof later / sizeof *later);
    for (int i = 0; i < cases; i++) { /* settings that came later */
        run.settings = (const struct store_setting[]){
            {"inner.lr", "0.1", ""},
            {"train.steps", "1000", ""},
            {later[i / 2].key, i % 2 ? later[i / 2].other : later[i / 2].before, ""}};
        run.n_settings = 3;
        store_run_id(&run, other);
        CHECK_EQ(strcmp(other, id) != 0, i % 2);
    }
    run = one_run();
    run.seed = 2;
    store_run_id(&run, other);
    CHECK(strcmp(other, id) != 0);
}

TEST(planning_again_changes_nothing_and_a_run_is_claimed_once)
{
    struct store *s = NULL;
    struct fixture *f = mem_alloc(sizeof *f);
    int which = 9;
    fixture_add(f, "glyphs", 5, 1, 2, "maml", "random", 1);
    fixture_add(f, "glyphs", 5, 1, 2, "maml", "active", 1);
    CHECK_OK(store_open(&s, new_path(), STORE_WRITE));
    CHECK_OK(fixture_plan(s, f));
    CHECK_OK(fixture_plan(s, f));
    CHECK_EQ(number(s, "SELECT count(*) FROM runs"), 2);
    CHECK_EQ(number(s, "SELECT count(*) FROM settings"), 8);
    CHECK_EQ(number(s, "SELECT count(*) FROM drawings"), 3);
    CHECK_OK(store_claim(s, f->ids, 2, 60, &which));
    CHECK_EQ(which, 0);
    CHECK_OK(store_claim(s, f->ids, 2, 60, &which));
    CHECK_EQ(which, 1);
    CHECK_OK(store_claim(s, f->ids, 2, 60, &which));
    CHECK_EQ(which, -1);
    CHECK_OK(fixture_finish(s, f->ids[0], &f->runs[0]));
    CHECK_OK(store_fail(s, f->ids[1], "training diverged at step 7"));
    struct store_counts counts;
    CHECK_OK(store_count(s, f->ids, 2, &counts));
    CHECK_EQ(counts.done, 1);
    CHECK_EQ(counts.failed, 1);
    CHECK_OK(store_claim(s, f->ids, 2, 60, &which));
    CHECK_EQ(which, -1);
    CHECK_OK(store_retry_failed(s, f->ids, 2));
    CHECK_OK(store_claim(s, f->ids, 2, 60, &which));
    CHECK_EQ(which, 1);
    CHECK_OK(fixture_plan(s, f)); /* a finished run stays finished */
    CHECK_OK(store_count(s, f->ids, 2, &counts));
    CHECK_EQ(counts.done, 1);
    store_close(s);
    free(f);
}

TEST(closing_gives_claims_back_and_a_silent_machine_loses_its_claim)
{
    struct store *s = NULL, *other = NULL;
    struct fixture *f = mem_alloc(sizeof *f);
    int which = 9;
    char path[TEMP_SIZE + 16];
    snprintf(path, sizeof path, "%s", new_path());
    fixture_add(f, "glyphs", 5, 1, 2, "maml", "random", 1);
    CHECK_OK(store_open(&s, path, STORE_WRITE));
    CHECK_OK(store_open(&other, path, STORE_WRITE));
    CHECK_OK(fixture_plan(s, f));
    CHECK_OK(store_claim(s, f->ids, 1, 60, &which));
    CHECK_OK(store_claim(other, f->ids, 1, 0, &which));
    CHECK_EQ(which, -1); /* the holder lives: no lease applies on its own machine */
    store_close(s);
    CHECK_OK(store_claim(other, f->ids, 1, 60, &which));
    CHECK_EQ(which, 0);
    CHECK_OK(sql_exec(other, "UPDATE claims SET host = 'elsewhere'", ""));
    CHECK_OK(store_claim(other, f->ids, 1, 60, &which));
    CHECK_EQ(which, -1);
    CHECK_OK(sql_exec(other, "UPDATE claims SET heartbeat = heartbeat - 61", ""));
    CHECK_OK(store_claim(other, f->ids, 1, 60, &which));
    CHECK_EQ(which, 0);
    CHECK_OK(sql_exec(other, "UPDATE claims SET heartbeat = 0", ""));
    CHECK_OK(store_heartbeat(other));
    CHECK_EQ(number(other, "SELECT count(*) FROM claims WHERE heartbeat > 1e9"), 1);
    store_close(other);
    free(f);
}

/* Claims and finishes until nothing is left; the exit status counts the runs done. */
static int work_through(const char *path, struct fixture *f)
{
    struct store *s = NULL;
    int done = 0, which = 0;
    int err = store_open(&s, path, STORE_WRITE);
    if (!err)
        err = fixture_plan(s, f);
    while (!err && (err = store_claim(s, f->ids, f->n, 60, &which)) == 0 && which >= 0) {
        err = fixture_finish(s, f->ids[which], &f->runs[which]);
        done++;
    }
    if (err)
        fprintf(stderr, "a process: %s\n", mete_errmsg());
    store_close(s);
    return err ? 255 : done;
}

TEST(four_processes_share_the_work_and_do_no_run_twice)
{
    struct fixture *f = mem_alloc(sizeof *f);
    for (int seed = 1; seed <= 24; seed++)
        fixture_add(f, "glyphs", 5, 1, 2, "maml", "random", (uint64_t)seed);
    char path[TEMP_SIZE + 16];
    snprintf(path, sizeof path, "%s", new_path());
    pid_t pids[4];
    for (int i = 0; i < 4; i++)
        if ((pids[i] = fork()) == 0)
            _exit(work_through(path, f));
    int total = 0, status = 0;
    for (int i = 0; i < 4; i++) {
        waitpid(pids[i], &status, 0);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) != 255);
        total += WEXITSTATUS(status);
    }
    CHECK_EQ(total, 24);
    struct store *s = NULL;
    CHECK_OK(store_open(&s, path, STORE_READ));
    CHECK_EQ(number(s, "SELECT count(*) FROM runs WHERE status = 'done'"), 24);
    CHECK_EQ(number(s, "SELECT count(*) FROM claims"), 0);
    store_close(s);
    free(f);
}

/* Everything that is compared between databases, as one text. */
static char *results_of(struct store *s)
{
    return text(
        s,
        "SELECT group_concat(line, char(10)) FROM ("
        " SELECT 'r' || quote(run) || quote(id) || quote(status) || quote(message) AS line"
        "  FROM runs"
        " UNION ALL SELECT 'o' || quote(run) || quote(best_accuracy) || quote(cost) FROM outcomes"
        " UNION ALL SELECT 'c' || quote(run) || quote(step) || quote(shots) || quote(accuracy)"
        "  || quote(loss) FROM checkpoints"
        " UNION ALL SELECT 't' || quote(run) || quote(test) || quote(accuracy) || quote(half)"
        "  || quote(ece) || quote(worse_share) FROM tests"
        " UNION ALL SELECT 'x' || quote(run) || quote(test) || quote(task) || quote(accuracy)"
        "  || quote(loss_before) FROM task_results"
        " UNION ALL SELECT 'l' || quote(run) || quote(number) || quote(item) || quote(class)"
        "  FROM ledger)");
}

TEST(kill_9_at_any_moment_leaves_whole_runs_and_the_same_results)
{
    struct fixture *f = mem_alloc(sizeof *f);
    for (int seed = 1; seed <= 12; seed++)
        fixture_add(f, "glyphs", 5, 1, 2, "maml", "random", (uint64_t)seed);
    char calm[TEMP_SIZE + 16], rough[TEMP_SIZE + 16];
    snprintf(calm, sizeof calm, "%s", new_path());
    snprintf(rough, sizeof rough, "%s", new_path());
    CHECK_EQ(work_through(calm, f), 12);
    int kills = 0;
    struct rng r = rng_make(3, RNG_TEST, 0, 0);
    for (int i = 0; i < 25; i++) {
        pid_t pid = fork();
        if (pid == 0)
            _exit(work_through(rough, f) == 255);
        usleep(rng_below(&r, 12000));
        kill(pid, SIGKILL);
        int status;
        waitpid(pid, &status, 0);
        kills += WIFSIGNALED(status);
        CHECK(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    }
    CHECK(kills > 3);
    CHECK(work_through(rough, f) <= 12);
    struct store *a = NULL, *b = NULL;
    CHECK_OK(store_open(&a, calm, STORE_READ));
    CHECK_OK(store_open(&b, rough, STORE_READ));
    char *x = results_of(a), *y = results_of(b), *sound = text(b, "PRAGMA integrity_check");
    CHECK_STR(sound, "ok");
    CHECK(strlen(x) > 100000 && strcmp(x, y) == 0);
    free(x);
    free(y);
    free(sound);
    store_close(a);
    store_close(b);
    free(f);
}

TEST(finishing_a_finished_run_changes_nothing)
{
    struct store *s = NULL;
    struct fixture *f = mem_alloc(sizeof *f);
    fixture_add(f, "glyphs", 5, 1, 2, "maml", "random", 1);
    CHECK_OK(store_open(&s, new_path(), STORE_WRITE));
    CHECK_OK(fixture_plan(s, f));
    CHECK_OK(fixture_finish(s, f->ids[0], &f->runs[0]));
    char *before = results_of(s);
    CHECK_OK(fixture_finish(s, f->ids[0], &f->runs[0]));
    char *after = results_of(s);
    CHECK_STR(after, before);
    free(before);
    free(after);
    store_close(s);
    free(f);
}

TEST(a_full_disk_is_a_sentence_and_nothing_is_half_written)
{
    struct store *s = NULL;
    struct fixture *f = mem_alloc(sizeof *f);
    fixture_add(f, "glyphs", 5, 1, 2, "maml", "random", 1);
    CHECK_OK(store_open(&s, new_path(), STORE_WRITE));
    CHECK_OK(fixture_plan(s, f));
    CHECK_OK(sql_exec(s, "PRAGMA max_page_count = 1", "")); /* the file may not grow */
    CHECK_EQ(fixture_finish(s, f->ids[0], &f->runs[0]), METE_EIO);
    CHECK_HAS(mete_errmsg(), "the disk is full");
    CHECK_EQ(number(s, "SELECT count(*) FROM tests"), 0);
    CHECK_EQ(number(s, "SELECT count(*) FROM ledger"), 0);
    CHECK_OK(sql_exec(s, "PRAGMA max_page_count = 1000000", ""));
    CHECK_OK(fixture_finish(s, f->ids[0], &f->runs[0]));
    store_close(s);
    free(f);
}

static int refused(const char *path, enum store_mode mode, int code, const char *part)
{
    struct store *s = NULL;
    int err = store_open(&s, path, mode);
    if (!err)
        store_close(s);
    return err == code && strstr(mete_errmsg(), part) && strstr(mete_errmsg(), path);
}

TEST(files_that_are_no_results_are_refused_by_name)
{
    char path[TEMP_SIZE + 16];
    struct store *s = NULL;
    snprintf(path, sizeof path, "%s", new_path());
    CHECK(refused(path, STORE_READ, METE_EIO, "No such file"));
    CHECK(refused("/nowhere/x.db", STORE_WRITE, METE_EIO, "No such file"));
    CHECK_OK(store_open(&s, path, STORE_WRITE));
    CHECK_OK(sql_exec(s, "PRAGMA user_version = 99", ""));
    store_close(s);
    CHECK(refused(path, STORE_WRITE, METE_EFORMAT, "newer mete (schema 99"));
    CHECK(refused(path, STORE_READ, METE_EFORMAT, "newer mete (schema 99"));

    sqlite3 *db = NULL;
    snprintf(path, sizeof path, "%s", new_path());
    sqlite3_open(path, &db);
    sqlite3_exec(db, "CREATE TABLE t (x)", NULL, NULL, NULL);
    sqlite3_close(db);
    CHECK(refused(path, STORE_WRITE, METE_EFORMAT, "not one of mete's"));

    snprintf(path, sizeof path, "%s", new_path());
    FILE *file = fopen(path, "w");
    for (int i = 0; i < 4096; i++)
        fputc(i * 7 % 251, file);
    fclose(file);
    CHECK(refused(path, STORE_WRITE, METE_EFORMAT, "not a results database"));
    CHECK(refused(path, STORE_READ, METE_EFORMAT, "not a results database"));
}

TEST(a_damaged_file_is_a_sentence)
{
    char path[TEMP_SIZE + 16];
    snprintf(path, sizeof path, "%s", new_path());
    struct store *s = NULL;
    struct fixture *f = mem_alloc(sizeof *f);
    fixture_add(f, "glyphs", 5, 1, 2, "maml", "random", 1);
    CHECK_OK(store_open(&s, path, STORE_WRITE));
    CHECK_OK(fixture_plan(s, f));
    store_close(s);
    FILE *file = fopen(path, "r+"); /* everything but the first page */
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    fseek(file, 4096, SEEK_SET);
    for (long i = 4096; i < size; i++)
        fputc(0xff, file);
    fclose(file);
    int err = store_open(&s, path, STORE_WRITE);
    if (!err) {
        err = fixture_plan(s, f);
        store_close(s);
    }
    CHECK_EQ(err, METE_EFORMAT);
    CHECK_HAS(mete_errmsg(), "is damaged");
    free(f);
}

/* As root every file is writable, so the test becomes nobody for a moment. */
TEST(a_read_only_database_can_be_read_and_refuses_writing)
{
    struct store *s = NULL;
    char path[TEMP_SIZE + 48], place[TEMP_SIZE + 16];
    snprintf(place, sizeof place, "%s/locked", folder);
    snprintf(path, sizeof path, "%s/x.db", place);
    CHECK_EQ(mkdir(place, 0755), 0);
    CHECK_OK(store_open(&s, path, STORE_WRITE));
    store_close(s);
    chmod(path, 0444);
    chmod(place, 0555);
    chmod(folder, 0755);
    pid_t pid = fork();
    if (pid == 0) {
        if (getuid() == 0 && setuid(65534) != 0)
            _exit(3);
        if (!refused(path, STORE_WRITE, METE_EIO, "read-only")) {
            fprintf(stderr, "%s\n", mete_errmsg());
            _exit(1);
        }
        int err = store_open(&s, path, STORE_READ);
        if (err)
            fprintf(stderr, "%s\n", mete_errmsg());
        _exit(err ? 2 : 0);
    }
    int status;
    waitpid(pid, &status, 0);
    chmod(place, 0755);
    CHECK_EQ(WEXITSTATUS(status), 0);
}

/* Everything over seeds is a mean of theirs, in a fixture where seeds differ. */
static void check_means(struct store *s)
{
    static const char *const columns[] = {"valid_accuracy", "accuracy_before", "ece", "labels_used",
                                          "train_tasks"};
    for (int i = 0; i < 5; i++) {
        char sql[640];
        snprintf(sql, sizeof sql,
                 "SELECT count(*) FROM accuracy_seeds s WHERE abs(%s - (SELECT avg(%s) FROM"
                 " accuracy a WHERE a.variant = s.variant AND a.model = s.model AND"
                 " a.test_shots = s.test_shots AND a.bn = s.bn AND a.support = s.support)) > 1e-9",
                 columns[i], columns[i]);
        CHECK_EQ(number(s, sql), 0);
    }
    CHECK(number(s, "SELECT max(most - least) FROM (SELECT max(valid_accuracy) AS most,"
                    " min(valid_accuracy) AS least FROM accuracy GROUP BY variant, model,"
                    " test_shots)") > 0);
}

TEST(views_agree_with_the_statistics)
{
    struct store *s = NULL;
    struct fixture *f = NULL;
    CHECK_OK(store_open(&s, new_path(), STORE_WRITE));
    CHECK_OK(fixture_fill(s, 3, &f));
    double x[3];
    for (int i = 0; i < 3; i++) {
        char sql[160];
        snprintf(sql, sizeof sql,
                 "SELECT accuracy FROM accuracy WHERE run = %d AND model = 'best'"
                 " AND test_shots = 1",
                 i + 1);
        x[i] = number(s, sql);
    }
    struct summary over = summary_of(x, 3);
    const char *where = " FROM accuracy_seeds WHERE first_run = 1 AND model = 'best'"
                        " AND test_shots = 1";
    char sql[512];
    snprintf(sql, sizeof sql, "SELECT accuracy%s", where);
    CHECK_NEAR(number(s, sql), over.mean, 1e-14);
    snprintf(sql, sizeof sql, "SELECT half_seeds%s", where);
    CHECK_NEAR(number(s, sql), over.half, 1e-10);
    snprintf(sql, sizeof sql, "SELECT seeds%s", where);
    CHECK_EQ(number(s, sql), 3);
    CHECK_EQ(number(s, "SELECT count(*) FROM accuracy_seeds WHERE seeds <> 3"), 0);
    check_means(s);
    /* best over training shots: the validation accuracy of the chosen is the maximum */
    CHECK_EQ(number(s, "SELECT count(*) FROM accuracy_best b WHERE dataset = 'omniglot' AND"
                       " (variants <> 3 OR valid_accuracy < (SELECT max(valid_accuracy)"
                       "  FROM accuracy_seeds a WHERE a.dataset = b.dataset AND a.budget = b.budget"
                       "  AND a.method = b.method AND a.labels = b.labels AND a.model = b.model"
                       "  AND a.test_shots = b.test_shots))"),
             0);
    store_close(s);
    free(f);
}

TEST(pairs_are_differences_on_the_same_tasks)
{
    struct store *s = NULL;
    struct fixture *f = NULL;
    CHECK_OK(store_open(&s, new_path(), STORE_WRITE));
    CHECK_OK(fixture_fill(s, 1, &f));
    double a[FIXTURE_TASKS], b[FIXTURE_TASKS];
    int64_t runs[2];
    runs[0] = (int64_t)number(s, "SELECT run FROM paired_labels WHERE labels = 'active' LIMIT 1");
    runs[1] =
        (int64_t)number(s, "SELECT control_run FROM paired_labels WHERE labels = 'active' LIMIT 1");
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < FIXTURE_TASKS; i++) {
            char sql[128];
            snprintf(
                sql, sizeof sql,
                "SELECT accuracy FROM task_results WHERE run = %lld AND test = 0 AND task = %d",
                (long long)runs[k], i);
            (k ? b : a)[i] = number(s, sql);
        }
    struct paired p = paired_of(a, b, FIXTURE_TASKS);
    const char *columns[] = {"difference", "half", "better", "tasks"};
    double expected[] = {p.difference.mean, p.difference.half, (double)p.better, FIXTURE_TASKS};
    for (int i = 0; i < 4; i++) {
        char query[320];
        snprintf(query, sizeof query,
                 "SELECT %s FROM paired_labels WHERE run = %lld AND model = 'best'"
                 " AND test_shots = 1",
                 columns[i], (long long)runs[0]);
        CHECK_NEAR(number(s, query), expected[i], 1e-12);
    }
    CHECK_EQ(number(s, "SELECT count(*) FROM paired_labels WHERE labels = 'active'"
                       " AND model = 'best' AND test_shots = 1"),
             20); /* 18 of omniglot, 2 of femnist */
    CHECK(number(s, "SELECT count(*) FROM paired_methods") > 0);
    store_close(s);
    free(f);
}

TEST(users_have_deciles_and_the_share_made_worse)
{
    struct store *s = NULL;
    struct fixture *f = NULL;
    CHECK_OK(store_open(&s, new_path(), STORE_WRITE));
    CHECK_OK(fixture_fill(s, 1, &f));
    CHECK_EQ(number(s, "SELECT count(*) FROM users"), 16); /* 4 runs of femnist, 4 tests each */
    CHECK_EQ(number(s, "SELECT count(*) FROM users u WHERE abs(worse_share - (SELECT"
                       " avg(accuracy < accuracy_before) FROM task_results t WHERE t.run = u.run"
                       " AND t.test = u.test)) > 1e-12 OR abs(weighted_mean - (SELECT"
                       " sum(n_query * accuracy) / sum(n_query) FROM task_results t WHERE"
                       " t.run = u.run AND t.test = u.test)) > 1e-12 OR worst <> (SELECT"
                       " min(least) FROM user_deciles d WHERE d.run = u.run AND d.test = u.test)"),
             0);
    CHECK_EQ(number(s, "SELECT count(*) FROM user_deciles"), 160);
    CHECK_EQ(number(s, "SELECT count(*) FROM user_deciles WHERE users <> 6"), 0);
    CHECK_EQ(number(s, "SELECT max(cumulative) FROM ledger_cumulative WHERE run = 1"),
             FIXTURE_LABELS);
    CHECK_EQ(number(s, "SELECT sum(support) FROM ledger_classes WHERE run = 1"), FIXTURE_LABELS);
    CHECK_EQ(number(s, "SELECT sum(tasks) FROM ledger_coverage WHERE run = 1"), FIXTURE_LABELS / 5);
    store_close(s);
    free(f);
}

TEST(a_test_can_be_added_and_replaced)
{
    struct store *s = NULL;
    struct fixture *f = mem_alloc(sizeof *f);
    fixture_add(f, "glyphs", 5, 1, 2, "maml", "random", 1);
    CHECK_OK(store_open(&s, new_path(), STORE_WRITE));
    CHECK_OK(fixture_plan(s, f));
    struct store_task task = {.number = 0, .n_query = 5, .accuracy = 0.8};
    struct store_test test = {.model = "best",
                              .shots = 1,
                              .support = "stratified",
                              .bn = "running",
                              .tasks = &task,
                              .n_tasks = 1};
    CHECK_EQ(store_add_test(s, f->ids[0], &test), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "is not done yet");
    CHECK_OK(fixture_finish(s, f->ids[0], &f->runs[0]));
    CHECK_OK(store_add_test(s, f->ids[0], &test));
    CHECK_EQ(number(s, "SELECT count(*) FROM tests"), 5);
    task.accuracy = 0.6;
    CHECK_OK(store_add_test(s, f->ids[0], &test));
    CHECK_EQ(number(s, "SELECT count(*) FROM tests"), 5);
    CHECK_NEAR(number(s, "SELECT accuracy FROM tests WHERE bn = 'running'"), 0.6, 0);
    CHECK(isnan(number(s, "SELECT half FROM tests WHERE bn = 'running'"))); /* one task: none */
    CHECK_EQ(store_add_test(s, "0123", &test), METE_EINVAL);
    store_close(s);
    free(f);
}

TEST(an_older_file_can_be_read_and_is_brought_up_to_date_by_writing)
{
    char path[TEMP_SIZE + 16];
    struct store *s = NULL;
    struct fixture *f = NULL;
    snprintf(path, sizeof path, "%s", new_path());
    CHECK_OK(store_open(&s, path, STORE_WRITE));
    CHECK_OK(fixture_fill(s, 3, &f));
    CHECK_OK(sql_exec(
        s,
        "DROP TABLE measures; DROP TABLE contents; DROP TABLE plans; DROP TABLE plan_points;"
        "ALTER TABLE tests DROP COLUMN kept_share;"
        "ALTER TABLE tests DROP COLUMN adapted_accuracy;"
        "ALTER TABLE tests DROP COLUMN adapted_worse_share;"
        "ALTER TABLE ledger DROP COLUMN kind;"
        "ALTER TABLE outcomes DROP COLUMN support_labels;"
        "ALTER TABLE outcomes DROP COLUMN query_labels;"
        "ALTER TABLE outcomes DROP COLUMN validation_labels;"
        "ALTER TABLE outcomes DROP COLUMN unique_labels;"
        "ALTER TABLE outcomes DROP COLUMN unique_validation; DROP VIEW accuracy_best; DROP "
        "VIEW accuracy_seeds;"
        "CREATE VIEW accuracy_seeds AS SELECT 0 AS valid_accuracy;"
        "CREATE VIEW accuracy_best AS SELECT * FROM accuracy_seeds;"
        "PRAGMA user_version = 1",
        ""));
    store_close(s);
    CHECK_OK(store_open(&s, path, STORE_READ));
    check_means(s); /* its own views chose by one seed */
    double cells = number(s, "SELECT count(*) FROM accuracy_best");
    CHECK(cells > 0);
    store_close(s);
    CHECK_OK(store_open(&s, path, STORE_WRITE));
    CHECK_EQ(number(s, "PRAGMA user_version"), schema_version);
    CHECK_EQ(number(s, "SELECT count(*) FROM measures"), 0);
    check_means(s);
    CHECK_EQ(number(s, "SELECT count(*) FROM accuracy_best"), cells);
    store_close(s);
    free(f);
}

TEST(the_last_test_cleans_up)
{
    char command[TEMP_SIZE + 16];
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK_EQ(system(command), 0);
}

TEST(tables_are_columns_of_numbers_or_texts)
{
    const char *path = new_path();
    struct store *s = NULL;
    struct mete_table *t = NULL;
    int64_t rows = 0;
    CHECK_OK(store_open(&s, path, STORE_WRITE));
    CHECK_OK(sql_exec(s, "CREATE TABLE mixed (a, b, c)", "write"));
    CHECK_OK(sql_exec(s, "INSERT INTO mixed VALUES (1, 'x', NULL), (2.5, 3, NULL)", "write"));
    store_close(s);
    CHECK_OK(mete_table_open(&t, path, "mixed"));
    CHECK_EQ(mete_table_columns(t, &rows), 3);
    CHECK_EQ(rows, 2);
    const double *numbers = NULL;
    const char *const *texts = NULL;
    CHECK_STR(mete_table_column(t, 0, &numbers, &texts), "a");
    CHECK(numbers && !texts && numbers[0] == 1 && numbers[1] == 2.5);
    CHECK_STR(mete_table_column(t, 1, &numbers, &texts), "b");
    CHECK(!numbers && texts);
    CHECK_STR(texts[1], "3");
    CHECK_STR(mete_table_column(t, 2, &numbers, NULL), "c");
    CHECK(numbers && isnan(numbers[0]));
    CHECK(!mete_table_column(t, 3, NULL, NULL) && !mete_table_column(NULL, 0, NULL, NULL));
    mete_table_close(t);
    t = NULL;
    CHECK_EQ(mete_table_open(&t, path, "runs; drop"), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "no table 'runs; drop'");
    CHECK(mete_table_open(&t, "/nowhere.db", "runs") < 0 && t == NULL);
    mete_table_close(NULL);
}

TESTS(T(tables_are_columns_of_numbers_or_texts), T(the_id_of_a_run_is_the_same_for_ever),
      T(the_id_depends_on_every_setting_but_not_on_order_or_origin),
      T(planning_again_changes_nothing_and_a_run_is_claimed_once),
      T(closing_gives_claims_back_and_a_silent_machine_loses_its_claim),
      T(four_processes_share_the_work_and_do_no_run_twice),
      T(kill_9_at_any_moment_leaves_whole_runs_and_the_same_results),
      T(finishing_a_finished_run_changes_nothing),
      T(a_full_disk_is_a_sentence_and_nothing_is_half_written),
      T(files_that_are_no_results_are_refused_by_name), T(a_damaged_file_is_a_sentence),
      T(a_read_only_database_can_be_read_and_refuses_writing), T(views_agree_with_the_statistics),
      T(pairs_are_differences_on_the_same_tasks), T(users_have_deciles_and_the_share_made_worse),
      T(a_test_can_be_added_and_replaced),
      T(an_older_file_can_be_read_and_is_brought_up_to_date_by_writing), T(the_last_test_cleans_up))
#endif
