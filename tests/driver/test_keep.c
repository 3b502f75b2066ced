/* test_keep.c - who keeps the model for all: a learner whose answers are known by hand. */
#include "test.h"

#include "base/error.h"
#include "base/memory.h"
#include "run/predict.h"

#include <stdlib.h>
#include <string.h>

enum { WAYS = 3, ITEMS = 64, TASKS_MAX = 8 };

/* Adapted, it says of every item the most frequent class of its support, the first of equals;
 * not adapted, class 0. */
struct frequent {
    struct learner learner;
    int said[ITEMS * TASKS_MAX];
    int tasks, adapted, most; /* adapted: to labels, ever; most: tasks it has memory for */
    int smallest;             /* support that it was adapted to */
};

static bool told; /* the labels of what is predicted */

static int frequent_adapt(void *state, int tasks, const struct items *support)
{
    struct frequent *f = state;
    if (tasks > f->most)
        return fail(METE_ENOMEM, "no memory for %d tasks", tasks);
    for (int t = 0; t < tasks; t++) {
        int count[WAYS] = {0};
        f->said[t] = 0;
        for (int i = 0; i < support[t].n; i++)
            count[support[t].label[i]]++;
        for (int w = 1; w < WAYS; w++)
            f->said[t] = count[w] > count[f->said[t]] ? w : f->said[t];
        f->adapted += support[t].n > 0;
        if (support[t].n > 0 && support[t].n < f->smallest)
            f->smallest = support[t].n;
    }
    return 0;
}

static int frequent_predict(void *state, int tasks, const struct items *query,
                            const struct predicted *out)
{
    struct frequent *f = state;
    for (int t = 0; t < tasks; t++) {
        told = told || query[t].label;
        for (int i = 0; i < query[t].n * WAYS; i++)
            out->probs[t][i] = i % WAYS == f->said[t] ? 0.8F : 0.1F;
    }
    return 0;
}

static const struct learner_ops frequent_ops = {
    .name = "frequent", .adapt = frequent_adapt, .predict = frequent_predict};

static void frequent_open(struct frequent *f, int most)
{
    *f = (struct frequent){.most = most, .smallest = ITEMS};
    f->learner = (struct learner){.ops = &frequent_ops, .state = f, .is = {.ways = WAYS}};
}

static const int32_t item[ITEMS];

/* Supports as strings of classes: "001" */
static int prefer(struct frequent *f, int n, const char *const *classes, bool *out)
{
    static int32_t label[TASKS_MAX][ITEMS];
    struct items support[TASKS_MAX];
    int most = 32;
    for (int t = 0; t < n; t++) {
        support[t] = (struct items){item, label[t], (int)strlen(classes[t])};
        for (int i = 0; i < support[t].n; i++)
            label[t][i] = classes[t][i] - '0';
    }
    return prefer_unadapted(&f->learner, n, support, &most, out);
}

TEST(leaving_labels_out_decides_who_is_adapted)
{
    static const char *const supports[] = {
        "1111",    /* adapted: 4 right, not adapted: none */
        "0011",    /* the others always have more of the other class: none against 2 */
        "00011",   /* 3 against 3: an equal score adapts */
        "02",      /* no class has another label: nothing is counted */
        "0022111", /* left out, 0, 2 and 1 come to 1, 1 and the first, 0: none against 2 */
        "",
    };
    static const bool keeps[] = {false, true, false, false, true, false};
    enum { N = sizeof keeps / sizeof *keeps };
    for (int most = 1; most <= 32; most *= 4) { /* also where few models fit into memory */
        struct frequent f;
        bool out[N];
        frequent_open(&f, most);
        CHECK_OK(prefer(&f, N, supports, out));
        for (int t = 0; t < N; t++)
            CHECK_EQ(out[t], keeps[t]);
        CHECK_EQ(f.adapted, 4 + 4 + 5 + 2 + 7); /* once for each label */
        CHECK(!told);
        learner_forget(&f.learner);
    }
}

TEST(large_supports_are_left_out_in_twenty_parts)
{
    static const char *const supports[] = {"000000000000000000001111111111111111111111111"};
    struct frequent f;
    bool out[1];
    frequent_open(&f, 32);
    CHECK_OK(prefer(&f, 1, supports, out)); /* 20 zeros, 25 ones: 25 against 20 */
    CHECK(!out[0]);
    CHECK_EQ(f.adapted, 20);
    CHECK_EQ(f.smallest, 45 - 3); /* 45 in parts of 2 and 3 */
    learner_forget(&f.learner);
}

TEST(one_class_that_only_a_part_holds_is_not_counted)
{
    /* The two 2s are left out together (20 apart), so nobody could predict them; 19 zeros against
     * 22 ones: adapted 22, not adapted 19. */
    static const char *const supports[] = {"2000000000000000000021111111111111111111111"};
    struct frequent f;
    bool out[1];
    frequent_open(&f, 32);
    CHECK_OK(prefer(&f, 1, supports, out));
    CHECK(!out[0]);
    learner_forget(&f.learner);
}

static int fails(void *state, int tasks, const struct items *support)
{
    (void)state, (void)tasks, (void)support;
    return fail(METE_EDEVICE, "gone");
}

TEST(a_learner_that_fails_is_reported)
{
    static const char *const supports[] = {"0011"};
    static const struct learner_ops ops = {.name = "failing", .adapt = fails};
    struct frequent f;
    bool out[1];
    frequent_open(&f, 32);
    f.learner.ops = &ops;
    CHECK_EQ(prefer(&f, 1, supports, out), METE_EDEVICE);
    CHECK_STR(mete_errmsg(), "gone");
    learner_forget(&f.learner);
}

TESTS(T(leaving_labels_out_decides_who_is_adapted), T(large_supports_are_left_out_in_twenty_parts),
      T(one_class_that_only_a_part_holds_is_not_counted), T(a_learner_that_fails_is_reported))
