/* test_collection.c - bought tasks used again: new numbers for their classes, support and query
 * drawn anew. */
#include "test.h"
#include "run/collection.h"

#include <stdlib.h>
#include <string.h>

enum { WAYS = 5, LABELLED = 40 };

static const int32_t items[12] = {7, 3, 9, 1, 4, 8, 2, 6, 5, 0, 11, 10};
static const int32_t support[7] = {0, 1, 2, 3, 4, 4, 2}, query[5] = {4, 3, 2, 1, 0};

static void make(struct labelled_task *labelled, int64_t step)
{
    for (int i = 0; i < LABELLED; i++)
        labelled[i] = (struct labelled_task){.support = {items, support, 7},
                                             .query = {items + 7, query, 5},
                                             .id = (uint64_t)i ^ (uint64_t)step << 32};
}

/* The number that each class has now, or false where that is no renumbering. */
static bool numbers_of(const struct labelled_task *l, int32_t number[WAYS])
{
    bool taken[WAYS] = {false}, right = true;
    for (int i = 0; i < 5; i++) {
        number[i] = l->support.label[i]; /* classes 0..4 in order */
        right = right && number[i] >= 0 && number[i] < WAYS && !taken[number[i]];
        if (right)
            taken[number[i]] = true;
    }
    for (int i = 0; i < 7; i++)
        right = right && l->support.label[i] == number[support[i]];
    for (int i = 0; i < 5; i++)
        right = right && l->query.label[i] == number[query[i]];
    return right && l->support.at == items && l->query.at == items + 7;
}

/* What becomes of the same tasks in a step, in the same once more, and in the next. */
struct uses {
    struct labelled_task first[LABELLED], again[LABELLED], later[LABELLED];
    int32_t *room[3];
};

static void uses_make(struct uses *u, void change(struct labelled_task *labelled, int n, int ways,
                                                  uint64_t seed, int32_t **room))
{
    struct labelled_task *labelled[3] = {u->first, u->again, u->later};
    for (int i = 0; i < 3; i++) {
        u->room[i] = NULL;
        make(labelled[i], i < 2 ? 3 : 4);
        change(labelled[i], LABELLED, WAYS, 1, &u->room[i]);
    }
}

static void uses_release(struct uses *u)
{
    for (int i = 0; i < 3; i++)
        free(u->room[i]);
}

TEST(classes_get_new_numbers_and_stay_classes)
{
    struct uses u;
    int32_t x[WAYS], y[WAYS], z[WAYS];
    int moved = 0, changed = 0, counts[WAYS] = {0};
    uses_make(&u, tasks_relabel);
    for (int i = 0; i < LABELLED; i++) {
        CHECK(numbers_of(&u.first[i], x) && numbers_of(&u.again[i], y) &&
              numbers_of(&u.later[i], z));
        CHECK(memcmp(x, y, sizeof x) == 0); /* same seed, task and step */
        changed += memcmp(x, z, sizeof x) != 0;
        for (int w = 0; w < WAYS; w++)
            moved += x[w] != w;
        counts[x[0]]++;
    }
    CHECK(changed > LABELLED * 9 / 10); /* one in 120 stays by chance */
    CHECK(moved > LABELLED * WAYS / 2);
    for (int w = 0; w < WAYS; w++)
        CHECK(counts[w] > 0);
    uses_release(&u);
}

/* Whether both parts still have their places and labels, and each class its items. */
static bool is_a_split(const struct labelled_task *l)
{
    for (int w = 0; w < WAYS; w++) {
        int64_t before = 0, now = 0; /* items are below 60, and different */
        for (int i = 0; i < 12; i++)
            if ((i < 7 ? support[i] : query[i - 7]) == w) {
                before += (int64_t)1 << items[i];
                now += (int64_t)1 << (i < 7 ? l->support.at[i] : l->query.at[i - 7]);
            }
        if (before != now)
            return false;
    }
    return l->support.label == support && l->query.label == query && l->support.n == 7 &&
           l->query.n == 5;
}

TEST(support_and_query_are_drawn_anew_within_classes)
{
    struct uses u;
    int changed = 0, chosen[12] = {0};
    uses_make(&u, tasks_resplit);
    for (int i = 0; i < LABELLED; i++) {
        const int32_t *support_now = u.first[i].support.at;
        CHECK(is_a_split(&u.first[i]) && is_a_split(&u.again[i]) && is_a_split(&u.later[i]));
        CHECK(memcmp(support_now, u.again[i].support.at, sizeof support) == 0);
        changed += memcmp(support_now, u.later[i].support.at, sizeof support) != 0;
        for (int j = 0; j < 5; j++)
            chosen[u.first[i].query.at[j]]++;
    }
    CHECK(changed > LABELLED * 9 / 10);
    for (int i = 0; i < 12; i++) /* each is query now and then */
        CHECK(chosen[i] > 0);
    uses_release(&u);
}

static void split_anyhow(struct labelled_task *labelled, int n, int ways, uint64_t seed,
                         int32_t **points)
{
    (void)ways;
    tasks_split_anyhow(labelled, n, seed, points);
}

/* Whether the task has its twelve points, each with its label, and both parts some. */
static bool is_any_split(const struct labelled_task *l)
{
    int seen = 0;
    for (int i = 0; i < 12; i++) { /* items are all different */
        bool q = i >= l->support.n;
        const struct items *part = q ? &l->query : &l->support;
        int k = q ? i - l->support.n : i, j = 0;
        while (j < 12 && items[j] != part->at[k])
            j++;
        if (j == 12 || part->label[k] != (j < 7 ? support[j] : query[j - 7]))
            return false;
        seen |= 1 << j;
    }
    return seen == (1 << 12) - 1 && l->support.n > 0 && l->query.n > 0 &&
           l->support.n + l->query.n == 12;
}

TEST(tasks_are_split_at_any_place)
{
    struct uses u;
    int changed = 0, places[12] = {0};
    uses_make(&u, split_anyhow);
    for (int i = 0; i < LABELLED; i++) {
        CHECK(is_any_split(&u.first[i]) && is_any_split(&u.again[i]) && is_any_split(&u.later[i]));
        CHECK_EQ(u.first[i].support.n, u.again[i].support.n);
        CHECK(memcmp(u.first[i].support.at, u.again[i].support.at, 12 * sizeof(int32_t)) == 0);
        changed += memcmp(u.first[i].support.at, u.later[i].support.at, 12 * sizeof(int32_t)) != 0;
        places[u.first[i].support.n]++;
    }
    CHECK(changed > LABELLED * 9 / 10);
    for (int k = 1; k < 12; k++)
        CHECK(places[k] > 0);
    uses_release(&u);
}

TESTS(T(tasks_are_split_at_any_place), T(classes_get_new_numbers_and_stay_classes),
      T(support_and_query_are_drawn_anew_within_classes))
