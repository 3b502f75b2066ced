/* test_label.c - buying tasks with a strategy: what a learner gets to see is what
 * was paid for.
 */
#include "test.h"
#include "tiny.h"
#include "mete.h"
#include "label/label.h"

struct shop {
    struct dataset *d;
    struct tasks *t;
    struct ledger *l;
};

static struct shop open_shop(int ways, int shots, int users, double cap,
                             const struct budget_settings *budget)
{
    struct shop s = {.d = tiny_dataset(users ? ways : 100, users ? 100 : 20, users)};
    struct task_settings settings;
    struct budget_settings plain;
    struct bench b = {"tiny", ways, shots, 0};
    param_defaults(task_params, &settings);
    param_defaults(budget_params, &plain);
    if (tasks_open(&s.t, s.d, &b, &settings, 5) != 0 ||
        ledger_open(&s.l, s.t, budget ? budget : &plain, cap, true) != 0)
        fprintf(stderr, "open_shop: %s\n", mete_errmsg());
    return s;
}

static void close_shop(struct shop *s)
{
    ledger_close(s->l);
    tasks_close(s->t);
    dataset_close(s->d);
}

static void release_all(struct episode *e, int n)
{
    for (int i = 0; i < n; i++)
        episode_release(&e[i]);
}

/* The label of `item` in the task's numbering, by way of its classes. */
static int true_label(const struct shop *s, const struct task *task, int32_t item)
{
    for (int c = 0; c < task->ways; c++)
        if (task->classes[c] == s->d->y[item])
            return c;
    return -1;
}

TEST(random_buys_distinct_points_of_the_pool_with_their_true_labels)
{
    struct shop s = open_shop(5, 3, 0, 0, NULL);
    struct labeller l = {0};
    struct episode e[50];
    struct task task = {0};
    int n = 0;
    CHECK_OK(labeller_open(&l, "random"));
    struct label_request q = {.tasks = s.t, .first = 100, .n = 50, .ledger = s.l};
    CHECK_OK(labeller_buy(&l, &q, e, &n));
    CHECK_EQ(n, 50);
    for (int i = 0; i < n; i++) {
        CHECK_OK(task_draw(s.t, SPLIT_TRAIN, 100 + i, &task));
        CHECK_EQ(e[i].n_support, 15);
        CHECK_EQ(e[i].n_query, 5);
        CHECK_EQ(e[i].task, 100 + i);
        for (int k = 0; k < 15; k++) {
            int found = 0;
            for (int p = 0; p < task.n_pool; p++)
                found += task.pool[p] == e[i].support[k];
            for (int p = 0; p < k; p++)
                found -= e[i].support[p] == e[i].support[k];
            CHECK_EQ(found, 1);
            CHECK_EQ(e[i].support_label[k], true_label(&s, &task, e[i].support[k]));
        }
        for (int k = 0; k < 5; k++)
            CHECK_EQ(e[i].query_label[k], true_label(&s, &task, e[i].query[k]));
    }
    release_all(e, n);
    task_release(&task);
    labeller_close(&l);
    close_shop(&s);
}

TEST(random_covers_the_classes_that_chance_predicts)
{
    /* Five of 95 points, 19 of each class: 5 (1 - C(76,5)/C(95,5)) = 3.3981 classes
     * with a standard deviation of 0.70 a task. */
    struct shop s = open_shop(5, 1, 0, 0, NULL);
    struct labeller l = {0};
    enum { N = 4000 };
    struct episode *e = mem_array(N, sizeof *e);
    int n = 0;
    double covered = 0;
    CHECK_OK(labeller_open(&l, "random"));
    struct label_request q = {.tasks = s.t, .n = N, .ledger = s.l};
    CHECK_OK(labeller_buy(&l, &q, e, &n));
    for (int i = 0; i < n; i++) {
        int seen[5] = {0};
        for (int k = 0; k < 5; k++)
            covered += !seen[e[i].support_label[k]]++;
    }
    double miss = 1;
    for (int i = 0; i < 5; i++)
        miss *= (76.0 - i) / (95.0 - i);
    CHECK_NEAR(covered / N, 5 * (1 - miss), 4 * 0.70 / sqrt(N));
    release_all(e, n);
    free(e);
    labeller_close(&l);
    close_shop(&s);
}

TEST(stratified_buys_the_shots_of_every_class)
{
    struct shop s = open_shop(5, 3, 0, 0, NULL), u = open_shop(10, 4, 25, 0, NULL);
    struct labeller l = {0};
    struct episode e[20];
    int n = 0;
    CHECK_OK(labeller_open(&l, "stratified"));
    struct label_request q = {.tasks = s.t, .n = 20, .ledger = s.l};
    CHECK_OK(labeller_buy(&l, &q, e, &n));
    for (int i = 0; i < 20; i++) {
        int seen[5] = {0};
        for (int k = 0; k < e[i].n_support; k++)
            seen[e[i].support_label[k]]++;
        for (int c = 0; c < 5; c++)
            CHECK_EQ(seen[c], 3);
    }
    release_all(e, n);
    q = (struct label_request){.tasks = u.t, .n = 5, .ledger = u.l};
    CHECK_OK(labeller_buy(&l, &q, e, &n));
    for (int i = 0; i < n; i++) {
        struct task task = {0};
        int seen[10] = {0}, there[10] = {0};
        CHECK_OK(task_draw(u.t, SPLIT_TRAIN, i, &task));
        for (int k = 0; k < task.n_pool; k++)
            there[u.d->y[task.pool[k]]]++;
        for (int k = 0; k < e[i].n_support; k++)
            seen[e[i].support_label[k]]++;
        for (int c = 0; c < 10; c++)
            CHECK_EQ(seen[c], there[c] < 4 ? there[c] : 4);
        task_release(&task);
    }
    release_all(e, n);
    labeller_close(&l);
    close_shop(&s);
    close_shop(&u);
}

TEST(the_budget_ends_the_buying_and_that_is_no_failure)
{
    struct shop s = open_shop(5, 1, 0, 1005, NULL);
    struct labeller l = {0};
    struct episode *e = mem_array(300, sizeof *e);
    int n = 0;
    CHECK_OK(labeller_open(&l, "stratified"));
    struct label_request q = {.tasks = s.t, .n = 300, .ledger = s.l};
    CHECK_OK(labeller_buy(&l, &q, e, &n));
    CHECK_EQ(n, 100);
    CHECK_NEAR(money_labels(ledger_totals(s.l).spent), 1000, 0);
    release_all(e, n);
    q.first = 100;
    CHECK_OK(labeller_buy(&l, &q, e, &n));
    CHECK_EQ(n, 0);
    free(e);
    labeller_close(&l);
    close_shop(&s);
}

TEST(an_unknown_strategy_is_refused_with_the_nearest)
{
    struct labeller l;
    CHECK_EQ(labeller_open(&l, "randon"), METE_EINVAL);
    CHECK_STR(mete_errmsg(), "no label strategy named 'randon'; did you mean 'random'?");
}

TESTS(T(random_buys_distinct_points_of_the_pool_with_their_true_labels),
      T(random_covers_the_classes_that_chance_predicts),
      T(stratified_buys_the_shots_of_every_class),
      T(the_budget_ends_the_buying_and_that_is_no_failure),
      T(an_unknown_strategy_is_refused_with_the_nearest))
