/* test_parts.c - who is for training, validation and tests. */
#include "data/parts.h"
#include "test.h"

static int count(const uint8_t *part, int groups, int p)
{
    int n = 0;
    for (int g = 0; g < groups; g++)
        n += part[g] == p;
    return n;
}

TEST(few_users_keep_a_fifth_for_tests)
{
    static const int known[][4] = {
        /* users, then train, val, test */
        {2, 0, 1, 1},           {3, 1, 1, 1},          {5, 3, 1, 1},       {10, 6, 2, 2},
        {36, 22, 6, 8},         {200, 126, 34, 40},    {300, 220, 40, 40}, {680, 600, 40, 40},
        {3294, 2906, 194, 194}, {3400, 3000, 200, 200}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        int n[PARTS];
        parts_share_users(known[i][0], n);
        for (int p = 0; p < PARTS; p++)
            CHECK_EQ(n[p], known[i][1 + p]);
    }
    for (int users = 1; users < 5000; users++) {
        int n[PARTS];
        parts_share_users(users, n);
        CHECK_EQ(n[0] + n[1] + n[2], users);
        CHECK(n[0] >= 0 && n[1] >= 0 && (5 * n[SPLIT_TEST] >= users || n[SPLIT_TEST] >= 40));
    }
}

TEST(every_user_is_tested_in_one_fold)
{
    enum { MOST = 41 };
    for (int groups = 2; groups <= MOST; groups++)
        for (int folds = 2; folds <= groups; folds++) {
            int tested[MOST] = {0};
            for (int fold = 1; fold <= folds; fold++) {
                uint8_t part[MOST];
                parts_draw_fold(folds, fold, groups, 7, part);
                int tests = count(part, groups, SPLIT_TEST), val = count(part, groups, SPLIT_VAL);
                CHECK(tests == groups / folds || tests == (groups + folds - 1) / folds);
                CHECK_EQ(val, (groups - tests + 4) / 5);
                CHECK_EQ(count(part, groups, SPLIT_TRAIN), groups - tests - val);
                for (int g = 0; g < groups; g++)
                    tested[g] += part[g] == SPLIT_TEST;
            }
            for (int g = 0; g < groups; g++)
                CHECK_EQ(tested[g], 1);
        }
}

TEST(another_seed_draws_other_folds)
{
    uint8_t a[36], b[36];
    parts_draw_fold(5, 2, 36, 0, a);
    parts_draw_fold(5, 2, 36, 1, b);
    CHECK(memcmp(a, b, sizeof a) != 0);
    parts_draw_fold(5, 2, 36, 0, b);
    CHECK(memcmp(a, b, sizeof a) == 0);
}

TESTS(T(few_users_keep_a_fifth_for_tests), T(every_user_is_tested_in_one_fold),
      T(another_seed_draws_other_folds))
