/* test_annotators.c - several annotators at once: who holds what, and what becomes of answers. */
#include "serve/annotators.h"
#include "test.h"
#include "files.h"
#include "tiny.h"

enum { CLASSES = 3, ITEMS = 48, USERS = 4 };

/* Opened on a dataset in the scratch folder without a label, of 4 users with 12 items each. */
static struct annotators *opened(int round)
{
    struct dataset *d = tiny_dataset(CLASSES, ITEMS / CLASSES, USERS);
    struct annotators *a = NULL;
    for (int i = 0; i < ITEMS; i++)
        ((int32_t *)(uintptr_t)d->y)[i] = NO_LABEL;
    shell("rm -rf '%s'", scratch("d"), "");
    if (dataset_write(scratch("d"), d, false))
        abort();
    dataset_close(d);
    struct annotators_options o = {
        .data = scratch("d"), .round = round, .cost = (millionths)MILLIONTHS};
    if (annotators_open(&a, &o))
        abort();
    return a;
}

static const struct annotator ann = {.who = "ann"}, bob = {.who = "bob"},
                              bob_again = {.who = "bob", .second = true};

TEST(two_annotators_have_all_items_between_them_and_none_twice)
{
    struct annotators *a = opened(5);
    struct view v;
    bool seen[ITEMS] = {false};
    int asked = 0;
    for (int turn = 0; turn < ITEMS; turn++) {
        const struct annotator *who = turn % 2 ? &bob : &ann;
        CHECK_OK(annotators_look(a, who, false, &v));
        if (v.n == 0)
            continue; /* the other one has the rest */
        CHECK(!seen[v.next[0].item]);
        seen[v.next[0].item] = true;
        CHECK_OK(annotators_answer(a, who, v.next[0].item, "class1", &v));
        CHECK_EQ(v.spent, ++asked);
    }
    for (const struct annotator *who = &ann; asked < ITEMS;) {
        CHECK_OK(annotators_look(a, who, false, &v));
        if (v.n == 0) {
            who = who == &ann ? &bob : &ann;
            continue;
        }
        CHECK_OK(annotators_answer(a, who, v.next[0].item, NULL, &v));
        asked++;
    }
    CHECK_OK(annotators_look(a, &ann, false, &v));
    CHECK(v.n == 0 && v.left == LEFT_NONE && v.open == 0 && v.answered == ITEMS);
    annotators_close(a);
}

TEST(what_is_skipped_is_asked_of_the_other_and_comes_back_when_undone)
{
    struct annotators *a = opened(ITEMS);
    struct view v;
    CHECK_OK(annotators_look(a, &(struct annotator){.who = "ann", .user = "2"}, false, &v));
    struct annotator mine = {.who = "ann", .user = "2"}, other = {.who = "bob", .user = "2"};
    int64_t first = v.next[0].item;
    struct view w;
    CHECK_OK(annotators_look(a, &other, false, &w));
    CHECK(w.n == 0 && w.left == LEFT_TO_OTHERS && w.open == ITEMS / USERS);
    CHECK_OK(annotators_skip(a, &mine, first, &v));
    CHECK(v.next[0].item != first && v.spent == 0);
    CHECK_OK(annotators_look(a, &other, false, &w));
    CHECK(w.n == 1 && w.next[0].item == first);
    CHECK_OK(annotators_answer(a, &other, first, "class2", &w));
    CHECK_OK(annotators_undo(a, &other, first, &w));
    CHECK(w.n == 1 && w.next[0].item == first && w.spent == 0 && w.mine == 0);
    annotators_close(a);
}

TEST(seconds_are_of_what_others_have_labelled)
{
    struct annotators *a = opened(2);
    struct view v;
    CHECK_OK(annotators_answer(a, &ann, 7, "class0", &v));
    CHECK_OK(annotators_answer(a, &bob, 8, "class0", &v));
    CHECK_OK(annotators_answer(a, &ann, 9, NULL, &v));
    CHECK_OK(annotators_look(a, &bob_again, false, &v));
    CHECK(v.n == 1 && v.next[0].item == 7);
    CHECK_OK(annotators_answer(a, &bob_again, 7, "class1", &v));
    CHECK(v.spent == 4 && v.mine == 2);
    CHECK_OK(annotators_look(a, &bob_again, false, &v));
    CHECK(v.n == 0 && v.left == LEFT_NONE);
    annotators_close(a);
}

/* A ledger that is not there is read anew each time. */
TEST(names_of_classes_stay_while_the_ledger_is_read)
{
    struct annotators *a = opened(2);
    struct view v;
    const char *const *classes = annotators_people(a)->classes;
    const char *name = classes[1];
    CHECK_OK(annotators_look(a, &ann, false, &v));
    CHECK(classes[1] == name);
    CHECK_STR(name, "class1");
    annotators_close(a);
}

TEST(what_cannot_be_is_refused)
{
    struct annotators *a = opened(2);
    struct view v;
    CHECK_EQ(annotators_look(a, &(struct annotator){.who = ""}, false, &v), METE_EINVAL);
    CHECK_EQ(annotators_look(a, &(struct annotator){.who = "a", .user = "x"}, false, &v),
             METE_EINVAL);
    CHECK_EQ(annotators_answer(a, &ann, ITEMS, "class0", &v), METE_EINVAL);
    CHECK_EQ(annotators_answer(a, &ann, -1, "class0", &v), METE_EINVAL);
    CHECK_EQ(annotators_answer(a, &ann, 0, "none", &v), METE_EINVAL);
    CHECK_EQ(annotators_skip(a, &ann, ITEMS, &v), METE_EINVAL);
    CHECK_EQ(annotators_undo(a, &ann, ITEMS, &v), METE_EINVAL);
    CHECK_OK(annotators_look(a, &ann, false, &v));
    CHECK(v.spent == 0 && v.open == ITEMS);
    annotators_close(a);
}

TESTS(T(two_annotators_have_all_items_between_them_and_none_twice),
      T(what_is_skipped_is_asked_of_the_other_and_comes_back_when_undone),
      T(seconds_are_of_what_others_have_labelled),
      T(names_of_classes_stay_while_the_ledger_is_read), T(what_cannot_be_is_refused))
