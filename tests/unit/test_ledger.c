/* test_ledger.c - the budget: charged before a label is revealed, and refused past
 * the cap.
 */
#include "test.h"
#include "tiny.h"
#include "mete.h"
#include "task/ledger.h"

#include <unistd.h>

static struct budget_settings budget(void)
{
    struct budget_settings s;
    param_defaults(budget_params, &s);
    return s;
}

static struct tasks *five_way(const struct dataset *d)
{
    struct task_settings s;
    struct bench b = {"tiny", 5, 1, 0};
    struct tasks *t = NULL;
    param_defaults(task_params, &s);
    if (tasks_open(&t, d, &b, &s, 1) != 0)
        fprintf(stderr, "five_way: %s\n", mete_errmsg());
    return t;
}

/* Buys the first five of the pool and the query. */
static int buy_task(struct ledger *l, const struct task *task)
{
    struct purchase p;
    int32_t positions[5] = {0, 1, 2, 3, 4}, labels[5];
    int err = purchase_open(&p, l, task, 5);
    if (!err)
        err = purchase_support(&p, 0, positions, 5, labels);
    if (!err)
        err = purchase_query(&p, labels);
    if (!err)
        purchase_close(&p);
    return err;
}

static int64_t tasks_for(const struct tasks *t, const struct budget_settings *s, double cap,
                         double *spent)
{
    struct ledger *l = NULL;
    struct task task = {0};
    int64_t n = 0;
    int err = ledger_open(&l, t, s, cap, true);
    while (!err && !(err = task_draw(t, SPLIT_TRAIN, n, &task)) && !(err = buy_task(l, &task)))
        n++;
    *spent = l ? money_labels(ledger_totals(l).spent) : -1;
    ledger_close(l);
    task_release(&task);
    return err == METE_EBUDGET ? n : -1;
}

TEST(thirty_thousand_labels_are_the_tasks_the_reference_counts)
{
    struct dataset *d = tiny_dataset(100, 20, 0);
    struct tasks *t = five_way(d);
    struct budget_settings s = budget();
    double spent;
    CHECK_EQ(tasks_for(t, &s, 30000, &spent), 3000);
    CHECK_NEAR(spent, 30000, 0);
    CHECK_EQ(tasks_for(t, &s, 30009, &spent), 3000);
    CHECK_NEAR(spent, 30000, 0);
    s.charge = CHARGE_SUPPORT;
    CHECK_EQ(tasks_for(t, &s, 30000, &spent), 6000);
    CHECK_NEAR(spent, 30000, 0);
    snprintf(s.cost, sizeof s.cost, "0.1");
    CHECK_EQ(tasks_for(t, &s, 30, &spent), 60);
    CHECK_NEAR(spent, 30, 0);
    tasks_close(t);
    dataset_close(d);
}

TEST(unique_labels_are_paid_once)
{
    struct dataset *d = tiny_dataset(100, 20, 0);
    struct tasks *t = five_way(d);
    struct budget_settings s = budget();
    double spent, draws;
    s.unit = UNIT_UNIQUE;
    int64_t n = tasks_for(t, &s, 1000, &spent);
    CHECK(n > 100);
    CHECK(spent > 990 && spent <= 1000);
    s.unit = UNIT_DRAWS;
    CHECK_EQ(tasks_for(t, &s, 1000, &draws), 100);
    s.unit = UNIT_UNIQUE;
    struct ledger *l = NULL; /* 62 training classes of 20 */
    CHECK_EQ(ledger_open(&l, t, &s, 1240, true), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "1240");
    CHECK_OK(ledger_open(&l, t, &s, 1239, true));
    ledger_close(l);
    tasks_close(t);
    dataset_close(d);
}

TEST(what_would_pass_the_cap_is_refused_before_it_is_revealed)
{
    struct dataset *d = tiny_dataset(100, 20, 0);
    struct tasks *t = five_way(d);
    struct budget_settings s = budget();
    struct ledger *l = NULL;
    struct task task = {0};
    struct purchase p;
    int32_t positions[3] = {0, 1, 2}, labels[5] = {-7, -7, -7, -7, -7};
    CHECK_OK(ledger_open(&l, t, &s, 9, true));
    CHECK_OK(task_draw(t, SPLIT_TRAIN, 0, &task));
    CHECK_EQ(purchase_open(&p, l, &task, 5), METE_EBUDGET);
    CHECK_OK(purchase_open(&p, l, &task, 2)); /* holds 2 + 5 */
    CHECK_OK(purchase_query(&p, labels));
    CHECK_OK(purchase_support(&p, 0, positions, 3, labels));
    labels[0] = -7;
    CHECK_EQ(purchase_support(&p, 1, positions, 2, labels), METE_EBUDGET);
    CHECK_EQ(labels[0], -7);
    CHECK_NEAR(money_labels(ledger_totals(l).spent), 8, 0);
    CHECK_EQ(purchase_support(&p, 1, &(int32_t){95}, 1, labels), METE_EINVAL);
    purchase_close(&p);
    CHECK_EQ(ledger_totals(l).labels, 8);
    ledger_close(l);
    task_release(&task);
    tasks_close(t);
    dataset_close(d);
}

TEST(costs_come_from_files)
{
    struct dataset *d = tiny_dataset(100, 20, 0);
    struct tasks *t = five_way(d);
    struct budget_settings s = budget();
    struct ledger *l = NULL;
    char path[TEMP_SIZE];
    FILE *f = fdopen(mkstemp(temp_name(path, "mete-cost-XXXXXX")), "w");
    for (int c = 0; c < 100; c++)
        fprintf(f, "%s%d,%d\n", c % 2 ? "class" : "", c, c); /* by name or by number */
    fclose(f);
    snprintf(s.cost, sizeof s.cost, "class:%s", path);
    CHECK_OK(ledger_open(&l, t, &s, 0, true));
    struct task task = {0};
    CHECK_OK(task_draw(t, SPLIT_TRAIN, 0, &task));
    CHECK_OK(buy_task(l, &task));
    const struct ledger_row *rows;
    millionths sum = 0;
    CHECK_EQ(ledger_rows(l, &rows), 10);
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(rows[i].cost, 1000000 * d->y[rows[i].item]);
        CHECK_EQ(rows[i].kind, i < 5 ? KIND_SUPPORT : KIND_QUERY);
        CHECK_EQ(rows[i].klass, d->y[rows[i].item]);
        CHECK_EQ(rows[i].total, sum += rows[i].cost);
        CHECK_EQ(rows[i].round, i < 5 ? 0 : ROUND_QUERY);
    }
    ledger_close(l);
    snprintf(s.cost, sizeof s.cost, "item:%s", path);
    CHECK_EQ(ledger_open(&l, t, &s, 0, true), METE_EFORMAT);
    CHECK_HAS(mete_errmsg(), ":1: expected a cost");
    f = fopen(path, "w");
    fprintf(f, "class3,1\nclass3,1\n");
    fclose(f);
    snprintf(s.cost, sizeof s.cost, "class:%s", path);
    CHECK_EQ(ledger_open(&l, t, &s, 0, true), METE_EFORMAT);
    CHECK_HAS(mete_errmsg(), ":2: class 'class3' has a cost already");
    snprintf(s.cost, sizeof s.cost, "cheap");
    CHECK_EQ(ledger_open(&l, t, &s, 0, true), METE_EINVAL);
    unlink(path);
    task_release(&task);
    tasks_close(t);
    dataset_close(d);
}

TEST(a_ledger_is_restored_from_its_rows)
{
    struct dataset *d = tiny_dataset(100, 20, 0);
    struct tasks *t = five_way(d);
    struct budget_settings s = budget();
    struct ledger *whole = NULL, *half = NULL, *rest = NULL;
    struct task task = {0};
    const struct ledger_row *a, *b;
    s.unit = UNIT_UNIQUE;
    CHECK_OK(ledger_open(&whole, t, &s, 800, true));
    CHECK_OK(ledger_open(&half, t, &s, 800, true));
    CHECK_OK(ledger_open(&rest, t, &s, 800, true));
    for (int i = 0; i < 40; i++) {
        CHECK_OK(task_draw(t, SPLIT_TRAIN, i, &task));
        CHECK_OK(buy_task(whole, &task));
        if (i < 20)
            CHECK_OK(buy_task(half, &task));
    }
    int64_t n = ledger_rows(half, &a);
    for (int i = 20; i < 25; i++) { /* bought and forgotten: what is restored is all there is */
        CHECK_OK(task_draw(t, SPLIT_TRAIN, i, &task));
        CHECK_OK(buy_task(rest, &task));
    }
    CHECK_OK(ledger_restore(rest, ledger_totals(half), a, n, NULL));
    for (int i = 20; i < 40; i++) {
        CHECK_OK(task_draw(t, SPLIT_TRAIN, i, &task));
        CHECK_OK(buy_task(rest, &task));
    }
    n = ledger_rows(whole, &a);
    CHECK_EQ(ledger_rows(rest, &b), n);
    CHECK_EQ(memcmp(a, b, (size_t)n * sizeof *a), 0);
    struct ledger_totals wrong = ledger_totals(half);
    wrong.spent += 1;
    n = ledger_rows(half, &a);
    CHECK_EQ(ledger_restore(rest, wrong, a, n, NULL), METE_EFORMAT);
    ledger_close(whole);
    ledger_close(half);
    ledger_close(rest);
    task_release(&task);
    tasks_close(t);
    dataset_close(d);
}

/* Buys the first five of the pool and the query of a validation task. */
static int buy_validation(struct ledger *l, const struct tasks *t, int number)
{
    struct task task = {0};
    int err = task_draw(t, SPLIT_VAL, number, &task);
    if (!err)
        err = buy_task(l, &task);
    task_release(&task);
    return err;
}

static bool same_totals(struct ledger_totals a, struct ledger_totals b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

TEST(labels_of_validation_are_counted_once_and_charged_on_request)
{
    struct dataset *d = tiny_dataset(100, 20, 0);
    struct tasks *t = five_way(d);
    static const struct {
        int charge, unit;
        bool charged;
    } cases[] = {{CHARGE_SUPPORT_QUERY, UNIT_DRAWS, false},
                 {CHARGE_SUPPORT, UNIT_UNIQUE, false},
                 {CHARGE_ALL, UNIT_DRAWS, true},
                 {CHARGE_ALL, UNIT_UNIQUE, true}};
    for (int c = 0; c < 4; c++) {
        struct budget_settings s = budget();
        struct ledger *l = NULL;
        struct task task = {0};
        s.charge = cases[c].charge;
        s.unit = cases[c].unit;
        CHECK_OK(ledger_open(&l, t, &s, 1000, true));
        for (int again = 0; again < 3; again++)
            for (int i = 0; i < 4; i++)
                CHECK_OK(buy_validation(l, t, i));
        struct ledger_totals totals = ledger_totals(l);
        const struct ledger_row *rows;
        uint8_t seen[2000] = {0};
        int different = 0;
        CHECK_EQ(ledger_rows(l, &rows), 40);
        for (int i = 0; i < 40; i++) {
            CHECK_EQ(rows[i].kind, KIND_VALIDATION);
            different += !seen[rows[i].item]++;
        }
        CHECK_EQ(totals.kinds[KIND_VALIDATION], 40);
        CHECK_EQ(totals.unique_validation, different);
        CHECK_EQ(totals.labels, 0);
        CHECK_EQ(totals.tasks, 0);
        CHECK_EQ(totals.unique, 0);
        int paid = s.unit == UNIT_UNIQUE ? different : 40;
        CHECK_EQ(totals.spent, cases[c].charged ? 1000000 * paid : 0);
        CHECK_OK(task_draw(t, SPLIT_TRAIN, 0, &task));
        CHECK_OK(buy_task(l, &task));
        CHECK_EQ(ledger_totals(l).kinds[KIND_SUPPORT], 5);
        CHECK_EQ(ledger_totals(l).kinds[KIND_QUERY], 5);
        CHECK_EQ(ledger_totals(l).labels, 10);
        CHECK_EQ(ledger_totals(l).unique, 10);
        struct ledger *again = NULL;
        int64_t n = ledger_rows(l, &rows);
        CHECK_OK(ledger_open(&again, t, &s, 1000, true));
        CHECK_OK(ledger_restore(again, ledger_totals(l), rows, n, NULL));
        CHECK(same_totals(ledger_totals(again), ledger_totals(l)));
        CHECK_OK(buy_validation(again, t, 3)); /* known already */
        CHECK(same_totals(ledger_totals(again), ledger_totals(l)));
        ledger_close(again);
        ledger_close(l);
        task_release(&task);
    }
    tasks_close(t);
    dataset_close(d);
}

TEST(sums_alone_are_restored_with_what_was_seen)
{
    struct dataset *d = tiny_dataset(100, 20, 0);
    struct tasks *t = five_way(d);
    struct budget_settings s = budget();
    struct ledger *whole = NULL, *rest = NULL;
    struct task task = {0};
    const struct ledger_row *rows;
    int64_t items;
    CHECK_OK(ledger_open(&whole, t, &s, 0, false));
    CHECK_OK(ledger_open(&rest, t, &s, 0, false));
    CHECK_OK(buy_validation(whole, t, 0));
    for (int i = 0; i < 40; i++) {
        CHECK_OK(task_draw(t, SPLIT_TRAIN, i, &task));
        CHECK_OK(buy_task(whole, &task));
        if (i == 19) {
            CHECK_OK(buy_validation(whole, t, 1)); /* its rows have training between them */
            int64_t n = ledger_rows(whole, &rows);
            CHECK_EQ(n, 20);
            CHECK_OK(
                ledger_restore(rest, ledger_totals(whole), rows, n, ledger_seen(whole, &items)));
            CHECK_EQ(items, d->items);
            CHECK(same_totals(ledger_totals(rest), ledger_totals(whole)));
        } else if (i > 19) {
            CHECK_OK(buy_task(rest, &task));
        }
    }
    CHECK(ledger_totals(whole).unique < 400 && ledger_totals(whole).unique > 100);
    CHECK(same_totals(ledger_totals(rest), ledger_totals(whole)));
    CHECK_OK(ledger_restore(rest, ledger_totals(whole), NULL, 0, NULL));
    CHECK_EQ(ledger_totals(rest).unique, -1); /* nobody knows */
    ledger_close(whole);
    ledger_close(rest);
    task_release(&task);
    tasks_close(t);
    dataset_close(d);
}

TEST(what_would_buy_for_ever_or_overflow_is_refused)
{
    struct dataset *d = tiny_dataset(100, 20, 0);
    struct tasks *t = five_way(d);
    struct budget_settings s = budget();
    struct ledger *l = NULL;
    struct task task = {0};
    CHECK_EQ(ledger_open(&l, t, &s, 9.3e12, true), METE_EINVAL);
    CHECK_EQ(ledger_open(&l, t, &s, NAN, true), METE_EINVAL);
    CHECK_EQ(ledger_open(&l, t, &s, -1, true), METE_EINVAL);
    CHECK_EQ(ledger_open(&l, t, &s, 1e12, true), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "a run holds at most 2147483647");
    snprintf(s.cost, sizeof s.cost, "0");
    CHECK_EQ(ledger_open(&l, t, &s, 10, true), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "would never be spent");
    CHECK_OK(ledger_open(&l, t, &s, 0, true));
    ledger_close(l);
    snprintf(s.cost, sizeof s.cost, "1000000"); /* the dearest labels */
    CHECK_OK(ledger_open(&l, t, &s, 1e12, true));
    CHECK_OK(task_draw(t, SPLIT_TRAIN, 0, &task));
    CHECK_OK(buy_task(l, &task));
    CHECK_EQ(ledger_totals(l).spent, INT64_C(10000000000000));
    ledger_close(l);
    CHECK_OK(ledger_open(&l, t, &s, 0, false));
    const struct ledger_totals nearly = {.spent = INT64_MAX - INT64_C(5000000000000), .labels = 9};
    CHECK_OK(ledger_restore(l, nearly, NULL, 0, NULL));
    CHECK_EQ(buy_task(l, &task), METE_EBUDGET);
    CHECK_HAS(mete_errmsg(), "lower budget.cost");
    ledger_close(l);
    task_release(&task);
    tasks_close(t);
    dataset_close(d);
}

TEST(tasks_are_due_at_once_or_by_the_schedule)
{
    struct budget_settings s = budget();
    CHECK_EQ(budget_due(&s, 0, 0), INT64_MAX);
    CHECK_EQ(budget_due(&s, 1, 3000), 0);
    s.grow = GROW_SCHEDULE;
    s.grow_tasks = 30;
    s.grow_every = 10;
    CHECK_EQ(budget_due(&s, 0, 0), 30);
    CHECK_EQ(budget_due(&s, 9, 30), 0);
    CHECK_EQ(budget_due(&s, 10, 30), 30);
    CHECK_EQ(budget_due(&s, 35, 30), 90);
    s.grow_first = 600;
    CHECK_EQ(budget_due(&s, 0, 0), 600);
    CHECK_EQ(budget_due(&s, 10, 600), 30);
}

TEST(the_csv_has_a_line_for_each_label)
{
    struct dataset *d = tiny_dataset(100, 20, 0);
    struct tasks *t = five_way(d);
    struct budget_settings s = budget();
    struct ledger *l = NULL;
    struct task task = {0};
    char path[TEMP_SIZE], line[256] = "", expected[256];
    const struct ledger_row *rows;
    close(mkstemp(temp_name(path, "mete-ledger-XXXXXX")));
    CHECK_OK(ledger_open(&l, t, &s, 30, true));
    CHECK_OK(task_draw(t, SPLIT_TRAIN, 0, &task));
    CHECK_OK(buy_task(l, &task));
    CHECK_OK(ledger_write_csv(l, "a-run", path));
    FILE *f = fopen(path, "r");
    CHECK(fgets(line, sizeof line, f));
    CHECK_STR(line, "run,task,item,class,round,cost,total,kind\n");
    ledger_rows(l, &rows);
    for (int i = 0; i < 10; i++) {
        CHECK(fgets(line, sizeof line, f));
        snprintf(expected, sizeof expected, "a-run,0,%d,%d,%d,1,%d,%s\n", rows[i].item,
                 rows[i].klass, i < 5 ? 0 : -1, i + 1, i < 5 ? "support" : "query");
        CHECK_STR(line, expected);
    }
    CHECK(!fgets(line, sizeof line, f));
    fclose(f);
    unlink(path);
    CHECK_EQ(ledger_write_csv(l, "a-run", "/nowhere/ledger.csv"), METE_EIO);
    ledger_close(l);
    task_release(&task);
    tasks_close(t);
    dataset_close(d);
}

TESTS(T(thirty_thousand_labels_are_the_tasks_the_reference_counts), T(unique_labels_are_paid_once),
      T(what_would_pass_the_cap_is_refused_before_it_is_revealed), T(costs_come_from_files),
      T(labels_of_validation_are_counted_once_and_charged_on_request),
      T(sums_alone_are_restored_with_what_was_seen),
      T(what_would_buy_for_ever_or_overflow_is_refused), T(a_ledger_is_restored_from_its_rows),
      T(tasks_are_due_at_once_or_by_the_schedule), T(the_csv_has_a_line_for_each_label))
