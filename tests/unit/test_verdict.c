/* test_verdict.c - what a database comes to: leaders, ties, strategies, and what is not told
 * apart or not chosen unsaid. */
#include "test.h"
#include "files.h"
#include "mete.h"

#ifndef METE_HAVE_SQLITE
TEST(without_sqlite_there_is_no_verdict)
{
    char *text = NULL;
    struct mete_results_options o = {.size = sizeof o, .db = "x.db", .format = "summary"};
    CHECK_EQ(mete_results(&o, &text), METE_EMISSING);
}
TESTS(T(without_sqlite_there_is_no_verdict))
#else
#include "fixture.h"
#include "base/file.h"
#include "store/store_sql.h"

enum { TASKS = 20, RUNS = 24 };
static char db[512];

/* Runs to be, with the accuracy each is given. */
struct plan {
    struct fixture f;
    double accuracy[RUNS];
    bool left_out[RUNS]; /* planned and not done */
};

static void add(struct plan *p, const char *method, const char *labels, int seed, double accuracy)
{
    p->accuracy[p->f.n] = accuracy;
    fixture_add(&p->f, "glyphs", 5, 1, 5, method, labels, (uint64_t)seed);
}

/* Tasks around the accuracy, the same pattern in every run: pairs differ by a constant. */
static int finish(struct store *s, const char *id, double accuracy)
{
    struct store_task tasks[TASKS] = {{0}};
    for (int i = 0; i < TASKS; i++)
        tasks[i] = (struct store_task){.number = i,
                                       .n_query = 5,
                                       .classes = 5,
                                       .accuracy_before = 0.2,
                                       .accuracy = accuracy + (i % 2 ? 0.04 : -0.04)};
    struct store_test test = {.model = "best",
                              .step = 10,
                              .shots = 1,
                              .support = "stratified",
                              .bn = "batch",
                              .valid_accuracy = accuracy,
                              .tasks_hash = 1,
                              .tasks = tasks,
                              .n_tasks = TASKS};
    struct store_results r = {.steps = 10,
                              .best_step = 10,
                              .best_accuracy = accuracy,
                              .tasks = 10,
                              .labels = 5000,
                              .cost = 5000,
                              .tests = &test,
                              .n_tests = 1,
                              .env = "{\"made up\": true}",
                              .started = 1.7e9};
    return store_finish(s, id, &r);
}

static struct store *stored(struct plan *p)
{
    struct store *s = NULL;
    static int number;
    char name[32];
    snprintf(name, sizeof name, "%d.db", number++);
    snprintf(db, sizeof db, "%s", scratch(name));
    int err = store_open(&s, db, STORE_WRITE);
    if (!err)
        err = fixture_plan(s, &p->f);
    for (int i = 0; !err && i < p->f.n; i++)
        if (!p->left_out[i])
            err = finish(s, p->f.ids[i], p->accuracy[i]);
    if (err)
        fprintf(stderr, "%s\n", mete_errmsg());
    return s;
}

/* Closes the store and says what it comes to, the lines of a summary joined; free() it. */
static char *output(struct store *s, const char *format)
{
    char *text = NULL;
    struct mete_results_options o = {.size = sizeof o, .db = db, .format = format};
    store_close(s);
    if (mete_results(&o, &text) != 0)
        text = mem_string(mete_errmsg());
    for (char *c = text; strcmp(format, "summary") == 0 && *c; c++)
        *c = *c == '\n' ? ' ' : *c;
    return text;
}

TEST(a_strategy_that_is_always_better_helps)
{
    struct plan *p = mem_alloc(sizeof *p);
    for (int seed = 1; seed <= 3; seed++) {
        add(p, "protonet", "random", seed, 0.80 + 0.01 * seed);
        add(p, "protonet", "active", seed, 0.85 + 0.01 * seed);
        add(p, "maml", "random", seed, 0.70 + 0.01 * seed);
        add(p, "maml", "active", seed, 0.69 + 0.01 * seed + (seed == 2 ? 0.03 : -0.015));
        add(p, "reptile", "random", seed, 0.60 + 0.02 * seed);
        add(p, "reptile", "active", seed, 0.57 + 0.02 * seed);
    }
    char *text = output(stored(p), "summary");
    CHECK_HAS(text, "At 5K labels ProtoNets lead 5w-1s with 87.0 % (+15.0 ±0.0 on MAML).");
    CHECK_HAS(text, "Active labels help ProtoNets (+5.0 ±0.0), hurt Reptile (-3.0 ±0.0); undecided "
                    "for MAML (-1.0 ±6.5); 5w-1s at 5K, 3 seeds.");
    free(text);
    free(p);
}

TEST(what_is_not_told_apart_is_a_tie)
{
    struct plan *p = mem_alloc(sizeof *p);
    static const double apart[] = {0.02, -0.01, 0.005};
    for (int seed = 1; seed <= 3; seed++) {
        add(p, "protonet", "random", seed, 0.80);
        add(p, "maml", "random", seed, 0.80 - apart[seed - 1]);
        add(p, "reptile", "random", seed, 0.50);
    }
    struct store *s = stored(p);
    char *text = output(s, "summary");
    CHECK_HAS(text, "ProtoNets and MAML are tied on 5w-1s: 80.0 and 79.5 % (+0.5 ±3.7)");
    CHECK(!strstr(text, "Active labels"));
    free(text);
    text = output(stored(p), "markdown"); /* bold: both, and not the third */
    CHECK_HAS(text, "**80.0 ±0.0**");
    CHECK_HAS(text, "**79.5 ±3.7**");
    CHECK_HAS(text, " 50.0 ±0.0 ");
    free(text);
    free(p);
}

/* Of two seeds, 20 points apart, Student's t would make ±127. */
TEST(two_seeds_have_the_interval_over_tasks)
{
    struct plan *p = mem_alloc(sizeof *p);
    add(p, "maml", "random", 1, 0.5);
    add(p, "maml", "random", 2, 0.7);
    char *text = output(stored(p), "table");
    CHECK_HAS(text, "60.0 ±1.9");
    CHECK_HAS(text, "over test tasks where there are fewer than three");
    free(text);
    free(p);
}

TEST(without_single_tasks_runs_are_paired_by_seed)
{
    struct plan *p = mem_alloc(sizeof *p);
    for (int seed = 1; seed <= 3; seed++) { /* the seeds differ far more than the strategies */
        add(p, "maml", "random", seed, 0.3 * seed);
        add(p, "maml", "active", seed, 0.3 * seed + 0.02 + 0.001 * seed);
    }
    struct store *s = stored(p);
    CHECK_OK(sql_exec(s, "DELETE FROM task_results", "test"));
    char *text = output(s, "summary");
    CHECK_HAS(text, "Active labels help MAML (+2.2 ±0.2)");
    free(text);
    free(p);
}

TEST(a_setting_that_varies_keeps_lines_apart)
{
    struct plan *p = mem_alloc(sizeof *p);
    static const struct store_setting yes[] = {{"train.resplit", "yes", "--set"}};
    static const struct store_setting no[] = {{"train.resplit", "no", "default"}};
    for (int seed = 1; seed <= 3; seed++)
        for (int k = 0; k < 2; k++) {
            add(p, "maml", "random", seed, k ? 0.9 : 0.8);
            p->f.runs[p->f.n - 1].settings = k ? yes : no;
            p->f.runs[p->f.n - 1].n_settings = 1;
            add(p, "maml", "active", seed, k ? 0.91 : 0.79);
            p->f.runs[p->f.n - 1].settings = k ? yes : no;
            p->f.runs[p->f.n - 1].n_settings = 1;
        }
    char *text = output(stored(p), "summary");
    CHECK_HAS(text, "random     80.0 ±0.0   train.resplit=no "); /* a line of its own */
    CHECK_HAS(text, "help MAML (train.resplit=yes: +1.0 ±0.0), hurt MAML (train.resplit=no: -1.0");
    free(text);
    struct mete_report_options o = {.size = sizeof o, .db = db, .path = scratch("verdict.html")};
    store_close(stored(p));
    CHECK_OK(mete_report(&o));
    char *page = NULL;
    size_t size;
    CHECK_OK(file_read(o.path, 1 << 28, &page, &size));
    CHECK_HAS(page, "data-line=\"maml, active, train.resplit=yes\"");
    CHECK(!strstr(page, "data-line=\"maml, active\""));
    free(page);
    free(p);
}

TEST(a_row_that_lacks_runs_is_marked)
{
    struct plan *p = mem_alloc(sizeof *p);
    add(p, "maml", "random", 1, 0.5);
    add(p, "maml", "random", 2, 0.5);
    p->left_out[1] = true;
    fixture_add(&p->f, "glyphs", 5, 1, 50, "maml", "random", 1);
    p->accuracy[2] = 0.7;
    char *text = output(stored(p), "table");
    CHECK_HAS(text, " 5K† ");
    CHECK_HAS(text, " 50K ");
    CHECK(!strstr(text, "50K†"));
    CHECK_HAS(text, "rows that lack some have a †");
    free(text);
    free(p);
}

TEST(an_empty_database_says_so)
{
    struct plan *p = mem_alloc(sizeof *p);
    char *text = output(stored(p), "summary");
    CHECK_HAS(text, "Nothing has been measured yet.");
    free(text);
    free(p);
}

TESTS(T(a_strategy_that_is_always_better_helps), T(what_is_not_told_apart_is_a_tie),
      T(two_seeds_have_the_interval_over_tasks), T(without_single_tasks_runs_are_paired_by_seed),
      T(a_setting_that_varies_keeps_lines_apart), T(a_row_that_lacks_runs_is_marked),
      T(an_empty_database_says_so))
#endif
