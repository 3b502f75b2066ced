/* test_answers.c - answers kept with a dataset: added whole or not at all, and laid over it. */
#include "data/answers.h"
#include "data/content.h"
#include "task/cost.h"
#include "test.h"
#include "files.h"
#include "tiny.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { CLASSES = 3, ITEMS = 24 };

/* A dataset in the scratch folder of which the first 12 items have no label; its folder. */
static const char *asked(void)
{
    struct dataset *d = tiny_dataset(CLASSES, ITEMS / CLASSES, 4);
    for (int i = 0; i < ITEMS / 2; i++)
        ((int32_t *)(uintptr_t)d->y)[i] = NO_LABEL;
    shell("rm -rf '%s'", scratch("d"), "");
    int err = dataset_write(scratch("d"), d, false);
    dataset_close(d);
    return err ? "" : scratch("d");
}

static struct answer says(const char *who, int64_t item, const char *klass)
{
    return (struct answer){.kind = klass ? ANSWER_LABEL : ANSWER_UNKNOWN,
                           .who = who,
                           .item = item,
                           .klass = klass,
                           .cost = 500000};
}

static int append(struct answers *a, struct answer r, struct answers_added *out)
{
    return answers_append(a, &r, 1, out);
}

static char *log_text(size_t *size)
{
    FILE *f = fopen(scratch("d/answers.log"), "rb");
    char *text = mem_alloc(1 << 20);
    *size = f ? fread(text, 1, (1 << 20) - 1, f) : 0;
    if (f)
        fclose(f);
    return text;
}

TEST(answers_are_laid_over_the_labels)
{
    struct answers *a = NULL;
    struct answers_added added;
    struct dataset *d = NULL;
    struct cost cost = {0};
    const struct answer rows[] = {says("ann", 3, "class2"), says("ann", 4, "class0"),
                                  says("bob", 5, NULL)};
    CHECK_OK(answers_open(&a, asked()));
    CHECK_OK(answers_append(a, rows, 3, &added));
    CHECK_EQ(added.added, 3);
    CHECK_EQ(added.charged, 1500000);
    CHECK_EQ(answers_label(a, 3), 2);
    CHECK_EQ(answers_totals(a).unlabelled, 10);
    CHECK_OK(dataset_open(&d, scratch("d")));
    CHECK_EQ(d->y[3], 2);
    CHECK_EQ(d->y[4], 0);
    CHECK_EQ(d->y[5], NO_LABEL);
    CHECK_EQ(d->paid[3], 500000);
    CHECK_EQ(d->paid[5], -1);
    CHECK_EQ(d->paid[20], -1);
    CHECK_OK(cost_open(&cost, d, "2"));
    CHECK_EQ(cost_of(&cost, d, 3), 500000); /* as it was paid */
    CHECK_EQ(cost_of(&cost, d, 20), 2000000);
    cost_release(&cost);
    dataset_close(d);
    answers_close(a);
}

TEST(the_same_answer_again_changes_nothing)
{
    struct answers *a = NULL;
    struct answers_added added;
    const struct answer rows[] = {says("ann", 3, "class2"), says("bob", 5, NULL),
                                  says("bob", 15, NULL)}; /* 15 was imported with a label */
    size_t size, after;
    CHECK_OK(answers_open(&a, asked()));
    CHECK_OK(answers_append(a, rows, 3, &added));
    CHECK_EQ(added.added, 2);
    CHECK_EQ(added.same, 1);
    char *before = log_text(&size);
    CHECK_OK(answers_append(a, rows, 3, &added));
    CHECK_EQ(added.added, 0);
    CHECK_EQ(added.charged, 0);
    CHECK_OK(append(a, says("carl", 3, "class2"), &added)); /* another agrees */
    CHECK_EQ(added.added, 0);
    char *text = log_text(&after);
    CHECK(size == after && memcmp(before, text, size) == 0);
    CHECK_OK(append(a, says("bob", 5, "class1"), &added)); /* and knows after all */
    CHECK_EQ(added.added, 1);
    CHECK_EQ(answers_totals(a).spent, 1500000);
    free(before);
    free(text);
    answers_close(a);
}

TEST(what_cannot_be_is_refused_and_nothing_of_its_batch_is_kept)
{
    static const struct {
        struct answer second;
        const char *says;
    } cases[] = {
        {{.who = "ann", .item = 4, .klass = "clas1"}, "no class 'clas1'; did you mean 'class1'?"},
        {{.who = "ann", .item = 24, .klass = "class1"}, "no item 24: tiny has items 0 to 23"},
        {{.who = "ann", .item = -1, .klass = "class1"}, "no item -1"},
        {{.who = "", .item = 4, .klass = "class1"}, "who answered has no name"},
        {{.who = "ann", .item = 3, .klass = "class1"},
         "item 3 is 'class2' by ann, and now 'class1'"},
        {{.who = "ann", .item = 4, .klass = "class1", .cost = -1}, "cannot cost"},
        {{.kind = ANSWER_UNDO, .who = "ann", .undoes = 7}, "row 7 is no answer"},
        {{.kind = ANSWER_UNDO, .who = "bob", .undoes = 0},
         "row 0 is the answer of ann, not of bob"},
        {{.kind = ANSWER_BUDGET, .who = "ann", .cost = -5}, "a budget is a number"},
    };
    struct answers *a = NULL;
    struct answers_added added;
    CHECK_OK(answers_open(&a, asked()));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct answer rows[] = {says("ann", 3, "class2"), cases[i].second};
        CHECK_EQ(answers_append(a, rows, 2, &added), METE_EINVAL);
        CHECK_HAS(mete_errmsg(), cases[i].says);
        CHECK_EQ(added.failed, 1);
        CHECK_EQ(answers_label(a, 3), NO_LABEL);
        CHECK_EQ(answers_totals(a).spent, 0);
    }
    struct dataset *d = NULL;
    CHECK_OK(dataset_open(&d, scratch("d")));
    CHECK(!d->paid);
    dataset_close(d);
    CHECK_EQ(append(a, says("ann", 20, "class9"), &added), METE_EINVAL);
    answers_close(a);
}

TEST(an_answer_can_be_taken_back_and_given_anew)
{
    struct answers *a = NULL;
    struct answers_added added;
    struct answer undo = {.kind = ANSWER_UNDO, .who = "ann"};
    CHECK_OK(answers_open(&a, asked()));
    CHECK_OK(append(a, says("ann", 3, "class2"), &added));
    undo.undoes = added.first;
    CHECK_OK(append(a, undo, &added));
    CHECK_EQ(answers_label(a, 3), NO_LABEL);
    CHECK_EQ(answers_totals(a).spent, 0);
    CHECK_OK(append(a, undo, &added)); /* pressed twice */
    CHECK_EQ(added.added, 0);
    CHECK_OK(append(a, says("ann", 3, "class0"), &added));
    CHECK_EQ(answers_totals(a).spent, 500000);
    answers_close(a);
    CHECK_OK(answers_open(&a, scratch("d")));
    CHECK_EQ(answers_label(a, 3), 0);
    CHECK_EQ(answers_totals(a).undone, 1);
    CHECK_EQ(answers_row_of(a, 3), 2);
    answers_close(a);
}

TEST(a_second_answer_is_paid_and_changes_no_label)
{
    struct answers *a = NULL;
    struct answers_added added;
    struct answer second = says("bob", 3, "class2"), other = says("cy", 3, "class0");
    second.kind = other.kind = ANSWER_SECOND;
    CHECK_OK(answers_open(&a, asked()));
    CHECK_EQ(append(a, second, NULL), METE_EINVAL); /* of no first one */
    CHECK_OK(append(a, says("ann", 3, "class2"), NULL));
    CHECK_OK(append(a, second, &added));
    CHECK_EQ(added.charged, 500000);
    CHECK_OK(append(a, second, &added));
    CHECK_EQ(added.same, 1);
    CHECK_OK(append(a, other, NULL));
    second.klass = "class1";
    CHECK_EQ(append(a, second, NULL), METE_EINVAL);
    CHECK_EQ(answers_label(a, 3), 2);
    CHECK_EQ(answers_totals(a).seconds, 2);
    CHECK_EQ(answers_totals(a).agreed, 1);
    CHECK_EQ(answers_totals(a).spent, 1500000);
    CHECK_EQ(answers_row_by(a, 3, "cy"), answers_last_by(a, "cy"));
    CHECK_EQ(answers_row_by(a, 3, "nobody"), -1);
    struct answer undo = {.kind = ANSWER_UNDO, .who = "bob", .undoes = answers_last_by(a, "bob")};
    CHECK_OK(append(a, undo, NULL));
    CHECK_EQ(answers_totals(a).seconds, 1);
    CHECK_EQ(answers_totals(a).agreed, 0);
    CHECK_EQ(answers_last_by(a, "bob"), -1);
    answers_close(a);
    CHECK_OK(answers_open(&a, scratch("d"))); /* and read again */
    CHECK_EQ(answers_totals(a).spent, 1000000);
    CHECK_EQ(answers_row_of(a, 3), 0);
    answers_close(a);
}

TEST(a_budget_is_kept)
{
    struct answers *a = NULL;
    struct answers_added added;
    const struct answer budget = {.kind = ANSWER_BUDGET, .who = "me", .cost = 1000000};
    const struct answer rows[] = {says("ann", 3, "class2"), says("ann", 4, "class2"),
                                  says("ann", 5, "class2")};
    CHECK_OK(answers_open(&a, asked()));
    CHECK_OK(append(a, budget, &added));
    CHECK_EQ(answers_append(a, rows, 3, &added), METE_EBUDGET);
    CHECK_HAS(mete_errmsg(), "these answers cost 1.5, and 1 of the budget of 1 is left");
    CHECK_OK(answers_append(a, rows, 2, &added));
    CHECK_EQ(answers_append(a, rows, 3, &added), METE_EBUDGET);
    CHECK_EQ(answers_totals(a).spent, 1000000);
    answers_close(a);
}

TEST(new_classes_come_last)
{
    struct answers *a = NULL;
    struct dataset *d = NULL;
    const struct answer rows[] = {{.kind = ANSWER_CLASS, .who = "me", .klass = "a\tb\\c\nd"},
                                  says("ann", 3, "a\tb\\c\nd")};
    CHECK_OK(answers_open(&a, asked()));
    CHECK_OK(answers_append(a, rows, 2, NULL));
    CHECK_STR(answers_class(a, 3), rows[0].klass);
    CHECK(!answers_class(a, 4));
    CHECK_OK(dataset_open(&d, scratch("d")));
    CHECK_EQ(d->classes, 4);
    CHECK_EQ(d->y[3], 3);
    CHECK_STR(d->class_names[3], rows[0].klass);
    CHECK_STR(d->class_names[0], "class0");
    dataset_close(d);
    answers_close(a);
}

TEST(the_content_of_a_dataset_covers_its_answers)
{
    char before[CONTENT_SIZE], after[CONTENT_SIZE];
    struct dataset *d = NULL;
    struct answers *a = NULL;
    struct mete_data_info info = {.size = sizeof info};
    CHECK_OK(dataset_open(&d, asked()));
    CHECK_OK(dataset_content(d, before));
    dataset_close(d);
    CHECK_OK(answers_open(&a, scratch("d")));
    CHECK_OK(append(a, says("ann", 3, "class2"), NULL));
    CHECK_OK(dataset_open(&d, scratch("d")));
    CHECK_OK(dataset_content(d, after));
    CHECK(strcmp(before, after) != 0);
    CHECK_EQ(dataset_write(scratch("d"), d, true), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "holds answers of people");
    dataset_close(d);
    CHECK_OK(mete_data_verify(scratch("d"))); /* the arrays are as they were */
    CHECK_OK(mete_data_info(scratch("d"), &info));
    CHECK_EQ(info.unlabelled, 11);
    answers_close(a);
}

TEST(half_a_batch_counts_for_nothing_and_is_removed)
{
    struct answers *a = NULL;
    struct answers_added added;
    size_t first, whole;
    CHECK_OK(answers_open(&a, asked()));
    CHECK_OK(append(a, says("ann", 3, "class2"), NULL));
    free(log_text(&first));
    CHECK_OK(append(a, says("ann", 4, "class1"), NULL));
    answers_close(a);
    char *text = log_text(&whole);
    for (size_t size = 0; size < whole; size++) {
        write_bytes(scratch("d/answers.log"), text, size);
        CHECK_OK(answers_open(&a, scratch("d")));
        CHECK_EQ(answers_label(a, 3), size < first ? NO_LABEL : 2);
        CHECK_EQ(answers_label(a, 4), NO_LABEL);
        CHECK_OK(append(a, says("ann", 4, "class0"), &added)); /* removes it */
        CHECK_EQ(answers_totals(a).spent, size < first ? 500000 : 1000000);
        answers_close(a);
        CHECK_OK(answers_open(&a, scratch("d")));
        CHECK_EQ(answers_label(a, 4), 0);
        answers_close(a);
    }
    free(text);
}

/* Whatever byte is changed in a whole log: refused, or nothing is different. */
TEST(a_changed_log_is_refused)
{
    struct answers *a = NULL;
    size_t size;
    CHECK_OK(answers_open(&a, asked()));
    CHECK_OK(append(a, says("ann", 3, "class2"), NULL));
    CHECK_OK(append(a, says("bob", 4, "class1"), NULL));
    answers_close(a);
    char *text = log_text(&size);
    for (size_t i = 0; i < size; i++) {
        bool last = memchr(text + i, '\n', size - i) == text + size - 1; /* perhaps cut short */
        text[i] ^= 1;
        write_bytes(scratch("d/answers.log"), text, size);
        int err = answers_open(&a, scratch("d"));
        if (!err && !last && answers_label(a, 3) != 2)
            FAIL_TEST("byte %zu may be changed", i);
        if (!err)
            answers_close(a);
        CHECK(!err || (err == METE_EFORMAT && strstr(mete_errmsg(), "answers.log:")));
        text[i] ^= 1;
    }
    write_bytes(scratch("d/answers.log"), text, size);
    shell("sed -i s/mete-answers.1/mete-answers\\t1x/ '%s'", scratch("d/answers.log"), "");
    CHECK_EQ(answers_open(&a, scratch("d")), METE_EFORMAT);
    CHECK_HAS(mete_errmsg(), "not the answers of this dataset");
    free(text);
}

/* Each writer adds its answers one by one, some of them the others', too. */
static int write_many(int who)
{
    struct answers *a = NULL;
    char name[16];
    snprintf(name, sizeof name, "w%d", who);
    int err = answers_open(&a, scratch("d"));
    for (int i = 0; i < ITEMS / 2 && !err; i++)
        err = append(a, says(name, (i + 3 * who) % (ITEMS / 2), i % 5 == who ? NULL : "class1"),
                     NULL);
    answers_close(a);
    return err != 0;
}

TEST(several_writers_lose_nothing)
{
    enum { WRITERS = 4 };
    struct answers *a = NULL;
    int64_t n;
    CHECK(*asked());
    for (int w = 0; w < WRITERS; w++)
        if (fork() == 0)
            _exit(write_many(w));
    for (int w = 0, status; w < WRITERS; w++)
        CHECK(wait(&status) > 0 && status == 0);
    CHECK_OK(answers_open(&a, scratch("d")));
    const struct answer *row = answers_rows(a, &n);
    int labels = 0;
    for (int64_t i = 0; i < n; i++)
        labels += row[i].kind == ANSWER_LABEL;
    CHECK_EQ(labels, ITEMS / 2); /* each item once, whoever came first */
    CHECK_EQ(answers_totals(a).labels, labels);
    CHECK_EQ(answers_totals(a).spent, 500000 * n);
    answers_close(a);
}

TEST(a_handle_sees_what_others_add)
{
    struct answers *a = NULL, *b = NULL;
    CHECK_OK(answers_open(&a, asked()));
    CHECK_OK(answers_open(&b, scratch("d")));
    CHECK_OK(append(a, says("ann", 3, "class2"), NULL));
    CHECK_EQ(answers_label(b, 3), NO_LABEL);
    CHECK_OK(answers_refresh(b));
    CHECK_EQ(answers_label(b, 3), 2);
    CHECK_OK(append(b, says("bob", 4, "class2"), NULL));
    CHECK_EQ(append(a, says("ann", 4, "class1"), NULL),
             METE_EINVAL); /* sees bob's under the lock */
    CHECK_HAS(mete_errmsg(), "item 4 is 'class2' by bob, and now 'class1'");
    answers_close(a);
    answers_close(b);
}

TEST(a_full_disk_takes_nothing)
{
    struct answers *a = NULL;
    CHECK_OK(answers_open(&a, asked()));
    CHECK_OK(append(a, says("ann", 3, "class2"), NULL));
    answers_close(a);
    CHECK_OK(answers_open(&a, scratch("d")));
    shell("mv '%s/answers.log' '%s/kept'", scratch("d"), scratch("d"));
    shell("mkdir '%s/answers.log'", scratch("d"), "");
    CHECK_EQ(append(a, says("ann", 4, "class2"), NULL), METE_EIO);
    CHECK_HAS(mete_errmsg(), "cannot write");
    answers_close(a);
}

TEST(a_generated_dataset_has_nobody_to_ask)
{
    struct answers *a = NULL;
    CHECK_EQ(answers_open(&a, "glyphs:classes=20"), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "nobody to ask");
}

TESTS(T(answers_are_laid_over_the_labels), T(the_same_answer_again_changes_nothing),
      T(what_cannot_be_is_refused_and_nothing_of_its_batch_is_kept),
      T(an_answer_can_be_taken_back_and_given_anew),
      T(a_second_answer_is_paid_and_changes_no_label), T(a_budget_is_kept),
      T(new_classes_come_last), T(the_content_of_a_dataset_covers_its_answers),
      T(half_a_batch_counts_for_nothing_and_is_removed), T(a_changed_log_is_refused),
      T(several_writers_lose_nothing), T(a_handle_sees_what_others_add),
      T(a_full_disk_takes_nothing), T(a_generated_dataset_has_nobody_to_ask))
