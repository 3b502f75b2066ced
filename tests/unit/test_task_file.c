/* test_task_file.c - tasks.json: written, read, and refused where it is wrong. */
#include "test.h"
#include "tiny.h"
#include "mete.h"
#include "base/file.h"
#include "label/label.h"
#include "task/task_file.h"

#include <unistd.h>

/* Buys n tasks with stratified supports. */
static int fill(struct task_file *f, const struct dataset *d, int ways, int shots, int n)
{
    struct task_settings s;
    struct budget_settings budget;
    struct tasks *t = NULL;
    struct ledger *ledger = NULL;
    struct labeller l = {0};
    param_defaults(task_params, &s);
    param_defaults(budget_params, &budget);
    int err = tasks_open(&t, d, &(struct bench){"tiny", ways, shots, 0}, &s, 3);
    if (!err)
        err = ledger_open(&ledger, t, &budget, 0, false);
    if (!err)
        err = labeller_open(&l, "stratified");
    *f = (struct task_file){.support = mem_string("stratified"),
                            .part = SPLIT_TEST,
                            .seed = 3,
                            .ways = ways,
                            .shots = shots};
    f->episodes = mem_array((size_t)n, sizeof *f->episodes);
    struct label_request q = {.tasks = t, .part = SPLIT_TEST, .n = n, .ledger = ledger};
    if (!err)
        err = labeller_buy(&l, &q, f->episodes, &f->n);
    labeller_close(&l);
    ledger_close(ledger);
    tasks_close(t);
    return err;
}

static bool same_rows(const int32_t *a, const int32_t *b, int n)
{
    return memcmp(a, b, (size_t)n * sizeof *a) == 0;
}

static void round_trip(struct dataset *d, int ways, int n)
{
    struct task_file f = {0}, back = {0};
    char path[TEMP_SIZE];
    close(mkstemp(temp_name(path, "mete-tasks-XXXXXX")));
    CHECK_OK(fill(&f, d, ways, 2, n));
    CHECK_OK(task_file_write(path, &f, d));
    CHECK_OK(task_file_read(&back, path, d));
    CHECK_EQ(back.n, n);
    CHECK_EQ(back.part, SPLIT_TEST);
    CHECK_EQ(back.seed, 3);
    CHECK_EQ(back.ways, ways);
    CHECK_EQ(back.shots, 2);
    CHECK_STR(back.support, "stratified");
    for (int i = 0; i < n; i++) {
        const struct episode *a = &f.episodes[i], *b = &back.episodes[i];
        CHECK(a->task == b->task && a->user == b->user && a->ways == b->ways);
        CHECK(a->n_support == b->n_support && a->n_query == b->n_query);
        CHECK(same_rows(a->support, b->support, a->n_support));
        CHECK(same_rows(a->support_label, b->support_label, a->n_support));
        CHECK(same_rows(a->query, b->query, a->n_query));
        CHECK(same_rows(a->query_label, b->query_label, a->n_query));
    }
    unlink(path);
    task_file_release(&f);
    task_file_release(&back);
}

TEST(few_shot_tasks_are_read_back_as_written)
{
    struct dataset *d = tiny_dataset(40, 20, 0);
    round_trip(d, 5, 100);
    dataset_close(d);
}

TEST(user_tasks_are_read_back_as_written)
{
    struct dataset *d = tiny_dataset(10, 400, 100);
    round_trip(d, 10, 5);
    dataset_close(d);
}

#define HEAD        "{\"format\": \"mete-tasks\", \"version\": 1, \"dataset\": \"tiny\", "
#define TASKS(text) HEAD "\"items\": 8, \"ways\": 2, \"tasks\": [" text "]}"

TEST(what_is_wrong_is_refused_by_place_and_name)
{
    /* tiny: 8 items of 2 classes; items of class 0 and 1 in an order of their own */
    struct dataset *d = tiny_dataset(2, 4, 0);
    int32_t *y = (int32_t *)d->y;
    for (int i = 0; i < 8; i++)
        y[i] = i % 2;
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"[]", "expected an object"},
        {"{}", "expected a 'mete-tasks' file"},
        {"{\"format\": \"coco\"}", "made for the format 'coco'"},
        {HEAD "\"items\": 9}", "expected a whole number 8..8"},
        {"{\"format\": \"mete-tasks\", \"dataset\": \"omniglot\"}", "the dataset 'omniglot'"},
        {HEAD "\"tasks\": []}", "'ways' must come before"},
        {TASKS(""), "no tasks in it"},
        {TASKS("{\"query\": []}"), "task 0 has no query"},
        {TASKS("{\"query\": [8], \"query_labels\": [0]}"), "expected a whole number 0..7"},
        {TASKS("{\"query\": [1], \"query_labels\": [2]}"), "expected a whole number 0..1"},
        {TASKS("{\"query\": [1], \"query_labels\": [0, 1]}"), "query has 1 items and"},
        {TASKS("{\"query\": [1, 1], \"query_labels\": [0, 0]}"), "item 1 occurs twice"},
        {TASKS("{\"query\": [1, 2], \"query_labels\": [0, 0]}"), "item 2 is of class 0, which is "
                                                                 "not label 0"},
        {TASKS("{\"query\": [1, 3], \"query_labels\": [0, 1]}"), "not label 1"},
        {TASKS("{\"query\": [1], \"query_labels\": [0]}") "x", "1:"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct task_file f = {0};
        CHECK_EQ(task_file_parse(&f, "t.json", bad[i].text, strlen(bad[i].text), d), METE_EFORMAT);
        CHECK_HAS(mete_errmsg(), bad[i].says);
        CHECK_HAS(mete_errmsg(), "t.json:1:");
    }
    const char *good = TASKS("{\"query\": [1, 2], \"query_labels\": [1, 0], \"note\": {}}");
    struct task_file f = {0};
    CHECK_OK(task_file_parse(&f, "t.json", good, strlen(good), d));
    CHECK_EQ(f.n, 1);
    task_file_release(&f);
    CHECK_EQ(task_file_read(&f, "/nowhere/tasks.json", d), METE_EIO);
    dataset_close(d);
}

TEST(a_file_of_another_dataset_is_refused_by_its_checksum)
{
    struct dataset *d = tiny_dataset(40, 20, 0);
    struct task_file f = {0}, back = {0};
    free(d->sha256);
    d->sha256 = mem_string("aaaa");
    CHECK_OK(fill(&f, d, 5, 1, 2));
    char *text = task_file_text(&f, d);
    CHECK_OK(task_file_parse(&back, "t.json", text, strlen(text), d));
    task_file_release(&back);
    d->sha256[0] = 'b';
    CHECK_EQ(task_file_parse(&back, "t.json", text, strlen(text), d), METE_EFORMAT);
    CHECK_HAS(mete_errmsg(), "checksum 'aaaa', and this is 'baaa'");
    free(text);
    task_file_release(&f);
    dataset_close(d);
}

TESTS(T(few_shot_tasks_are_read_back_as_written), T(user_tasks_are_read_back_as_written),
      T(what_is_wrong_is_refused_by_place_and_name),
      T(a_file_of_another_dataset_is_refused_by_its_checksum))
