/* test_people.c - users as tasks: tests apart from training, folds, supports of n labels, and
 * intervals over users.
 */
#include "config/config.h"
#include "label/label.h"
#include "run/experiment.h"
#include "base/error.h"
#include "test.h"
#include "tiny.h"

/* ---- tests are apart from training ---- */

struct opened {
    struct dataset *d;
    struct experiment x;
};

/* 30 users of 40 items, whose test parts are for the settings to draw. */
static int open_with(struct opened *o, const char *const *set)
{
    *o = (struct opened){.d = tiny_dataset(5, 240, 30)};
    free((void *)(uintptr_t)o->d->part);
    o->d->part = NULL;
    o->x.seed = 1;
    o->x.data = o->d;
    int err = setup_open(&o->x.setup, "protonet", "mlp", "random");
    if (!err)
        err = param_set_all(&o->x.setup.set, set);
    if (!err)
        err = bench_parse(&o->x.bench, "tiny:5w-1s@200");
    return err ? err : experiment_open_tasks(&o->x);
}

static void close_with(struct opened *o)
{
    experiment_close_tasks(&o->x);
    setup_close(&o->x.setup);
    dataset_close(o->d);
}

/* FNV-1a over pools and queries of the first tasks. */
static uint64_t tasks_hash(const struct tasks *t, int part, int n)
{
    struct task task = {0};
    uint64_t hash = 0xcbf29ce484222325u;
    for (int i = 0; i < n; i++) {
        if (task_draw(t, part, i, &task))
            return 0;
        hash = (hash ^ (uint64_t)task.n_pool) * 0x100000001b3u;
        for (int k = 0; k < task.n_pool; k++)
            hash = (hash ^ (uint64_t)task.pool[k]) * 0x100000001b3u;
        for (int k = 0; k < task.n_query; k++)
            hash = (hash ^ (uint64_t)task.query[k]) * 0x100000001b3u;
    }
    task_release(&task);
    return hash;
}

#define SET(...) ((const char *[]){__VA_ARGS__, NULL})

TEST(what_training_pays_for_changes_no_test_and_tests_change_no_training)
{
    static const struct {
        const char *set;
        bool train, test; /* whether it changes them */
    } known[] = {{"task.query=1", true, false},      {"task.holdout=0.5", true, false},
                 {"test.query=3", false, false},     {"test.holdout=0.5", false, true},
                 {"test.seed=4", false, true},       {"test.repeats=3", false, false},
                 {"budget.unit=draws", false, false}};
    struct opened plain, other;
    CHECK_OK(open_with(&plain, SET("train.steps=1")));
    uint64_t train = tasks_hash(plain.x.train, SPLIT_TRAIN, 20);
    uint64_t test = tasks_hash(plain.x.test[0], SPLIT_TEST, 6);
    uint64_t val = tasks_hash(plain.x.test[0], SPLIT_VAL, 5);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        CHECK_OK(open_with(&other, SET(known[i].set)));
        CHECK_EQ(tasks_hash(other.x.train, SPLIT_TRAIN, 20) != train, known[i].train);
        CHECK_EQ(tasks_hash(other.x.test[0], SPLIT_TEST, 6) != test, known[i].test);
        CHECK_EQ(tasks_hash(other.x.test[0], SPLIT_VAL, 5) != val, known[i].test);
        CHECK_EQ(tasks_hash(other.x.val, SPLIT_VAL, 5) != tasks_hash(plain.x.val, SPLIT_VAL, 5),
                 known[i].test);
        close_with(&other);
    }
    close_with(&plain);
}

TEST(a_training_users_query_is_some_of_the_test_part)
{
    struct opened whole, some;
    struct task a = {0}, b = {0};
    CHECK_OK(open_with(&some, SET("task.query=1", "task.holdout=0.5")));
    CHECK_OK(open_with(&whole, SET("task.holdout=0.5")));
    CHECK_OK(task_draw(whole.x.train, SPLIT_TRAIN, 3, &a));
    CHECK_EQ(a.n_query, 20); /* half of 40 */
    CHECK_OK(task_draw(some.x.train, SPLIT_TRAIN, 3, &b));
    CHECK_EQ(b.n_query, 5); /* a point for each of 5 classes */
    CHECK_EQ(b.n_pool, 20);
    CHECK_EQ(tasks_max_query(some.x.train), 5);
    for (int i = 0; i < b.n_query; i++) {
        int found = 0;
        for (int k = 0; k < a.n_query; k++)
            found += a.query[k] == b.query[i];
        CHECK_EQ(found, 1);
    }
    CHECK_OK(task_draw(some.x.test[0], SPLIT_TEST, 0, &b));
    CHECK_EQ(b.n_query, 8); /* a fifth: the whole test part */
    task_release(&a);
    task_release(&b);
    close_with(&whole);
    close_with(&some);
}

/* ---- folds and repeats ---- */

TEST(every_user_is_tested_once_over_the_folds)
{
    int tested[30] = {0};
    struct task task = {0};
    for (int fold = 1; fold <= 4; fold++) {
        struct opened o;
        char set[32];
        snprintf(set, sizeof set, "data.fold=%d", fold);
        CHECK_OK(open_with(&o, SET("data.folds=4", set)));
        int n = experiment_test_tasks(&o.x, SPLIT_TEST, o.x.test[0]);
        CHECK(n == 7 || n == 8);
        for (int i = 0; i < n; i++) {
            CHECK_OK(task_draw(o.x.test[0], SPLIT_TEST, i, &task));
            tested[task.user]++;
        }
        for (int i = 0; i < (int)tasks_count(o.x.train, SPLIT_TRAIN); i++) {
            CHECK_OK(task_draw(o.x.train, SPLIT_TRAIN, i, &task));
            for (int k = 0; k < n; k++) {
                struct task test = {0};
                CHECK_OK(task_draw(o.x.test[0], SPLIT_TEST, k, &test));
                CHECK(test.user != task.user);
                task_release(&test);
            }
        }
        close_with(&o);
    }
    task_release(&task);
    for (int u = 0; u < 30; u++)
        CHECK_EQ(tested[u], 1);
}

TEST(folds_that_cannot_be_are_refused)
{
    static const struct {
        const char *set[3], *says;
    } cases[] = {
        {{"data.folds=31"}, "has 30 users, so 2 to 30 folds are possible, not 31"},
        {{"data.folds=1"}, "2 to 30 folds are possible, not 1"},
        {{"data.folds=3", "data.fold=4"}, "expected one of 1..3, got 4"},
        {{"data.folds=3", "data.split=10:1:1"}, "leave data.split at auto"},
        {{"data.folds=2", "task.kind=classes"}, "folds are of users"},
        {{"test.labels=33"}, "33 labels are asked for, and no pool has more than 32 items"},
        {{"test.labels=0"}, "test.labels: expected up to 8 numbers"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct opened o;
        CHECK_EQ(open_with(&o, cases[i].set), METE_EINVAL);
        CHECK_HAS(mete_errmsg(), cases[i].says);
        close_with(&o);
    }
}

TEST(repeats_draw_other_supports_for_the_same_users)
{
    struct opened o;
    struct task a = {0}, b = {0};
    CHECK_OK(open_with(&o, SET("test.repeats=3", "test.tasks=4")));
    CHECK_EQ(experiment_test_tasks(&o.x, SPLIT_TEST, o.x.test[0]), 12);
    CHECK_EQ(experiment_test_tasks(&o.x, SPLIT_VAL, o.x.val), 5);
    for (int i = 0; i < 4; i++)
        for (int r = 1; r < 3; r++) {
            CHECK_OK(task_draw(o.x.test[0], SPLIT_TEST, i, &a));
            CHECK_OK(task_draw(o.x.test[0], SPLIT_TEST, 4 * r + i, &b));
            CHECK_EQ(a.user, b.user);
            CHECK_EQ(a.n_query, b.n_query);
            CHECK(memcmp(a.pool, b.pool, (size_t)a.n_pool * sizeof *a.pool) != 0);
        }
    task_release(&a);
    task_release(&b);
    close_with(&o);
}

/* ---- supports of n labels in all ---- */

TEST(a_support_has_exactly_so_many_labels)
{
    struct dataset *d = tiny_dataset(4, 100, 5); /* 80 items a user, 20 of them for tests */
    struct task_settings s;
    struct budget_settings plain;
    struct bench b = {"tiny", 4, 1, 0};
    param_defaults(task_params, &s);
    param_defaults(budget_params, &plain);
    for (int n = 1; n <= 60; n += 7)
        for (int k = 0; k < 2; k++) {
            struct tasks *t = NULL;
            struct ledger *l = NULL;
            struct labeller who = {0};
            struct episode e[1];
            int bought = 0, most = 0, least = n, have[4] = {0};
            CHECK_OK(tasks_open(&t, d, &b, &s, 1));
            CHECK_OK(tasks_ask(t, n));
            CHECK_EQ(tasks_max_labels(t), n);
            CHECK_OK(ledger_open(&l, t, &plain, 0, true));
            CHECK_OK(labeller_open(&who, k ? "stratified" : "random"));
            struct label_request q = {.tasks = t, .part = SPLIT_TEST, .n = 1, .ledger = l};
            CHECK_OK(labeller_buy(&who, &q, e, &bought));
            CHECK_EQ(e[0].n_support, n);
            for (int i = 0; i < n; i++)
                have[e[0].support_label[i]]++;
            for (int c = 0; c < 4; c++) {
                most = have[c] > most ? have[c] : most;
                least = have[c] < least ? have[c] : least;
            }
            CHECK(k == 0 || n > 40 || most - least <= 1); /* as even as it can be */
            CHECK_EQ(ledger_unique(l), n + e[0].n_query);
            episode_release(&e[0]);
            labeller_close(&who);
            ledger_close(l);
            tasks_close(t);
        }
    dataset_close(d);
}

/* ---- money ---- */

TEST(what_auto_means_depends_on_the_tasks)
{
    static const struct {
        bool users, cap;
        int unit, query;
    } known[] = {{true, true, UNIT_UNIQUE, 0},
                 {true, false, UNIT_DRAWS, 0},
                 {false, true, UNIT_DRAWS, 1},
                 {false, false, UNIT_DRAWS, 1}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct setup s;
        CHECK_OK(setup_open(&s, NULL, NULL, NULL));
        setup_settle(&s, known[i].users, known[i].cap);
        CHECK_EQ(s.budget.unit, known[i].unit);
        CHECK_EQ(s.task.query, known[i].query);
        setup_close(&s);
    }
}

/* ---- intervals ---- */

TEST(an_interval_is_over_users)
{
    /* means of a, b and c: 0.5, 0.7 and 0.9: mean 0.7, deviation 0.2, half 4.302653 * 0.2 / sqrt(3)
     */
    const struct store_task tasks[] = {
        {.number = 0, .user = "a", .accuracy = 0.4, .accuracy_before = 0.1},
        {.number = 1, .user = "b", .accuracy = 0.7, .accuracy_before = 0.1},
        {.number = 2, .user = "c", .accuracy = 0.8, .accuracy_before = 0.1},
        {.number = 3, .user = "a", .accuracy = 0.6, .accuracy_before = 0.3},
        {.number = 4, .user = "b", .accuracy = 0.7, .accuracy_before = 0.3},
        {.number = 5, .user = "c", .accuracy = 1.0, .accuracy_before = 0.3}};
    struct summary s = task_summary(tasks, 6, false);
    CHECK_EQ(s.n, 3);
    CHECK_NEAR(s.mean, 0.7, 1e-12);
    CHECK_NEAR(s.half, 4.302652729749464 * 0.2 / sqrt(3), 1e-9);
    s = task_summary(tasks, 6, true);
    CHECK_NEAR(s.mean, 0.2, 1e-12);
    CHECK_NEAR(s.half, 0, 1e-12);
    s = task_summary(tasks, 3, false);
    CHECK_EQ(s.n, 3);
    struct store_task nobody[2] = {{.accuracy = 0.25}, {.accuracy = 0.75}};
    s = task_summary(nobody, 2, false);
    CHECK_EQ(s.n, 2);
    CHECK_NEAR(s.mean, 0.5, 1e-12);
}

TESTS(T(what_training_pays_for_changes_no_test_and_tests_change_no_training),
      T(a_training_users_query_is_some_of_the_test_part),
      T(every_user_is_tested_once_over_the_folds), T(folds_that_cannot_be_are_refused),
      T(repeats_draw_other_supports_for_the_same_users), T(a_support_has_exactly_so_many_labels),
      T(what_auto_means_depends_on_the_tasks), T(an_interval_is_over_users))
