/* test_base.c - errors, random numbers, threads, arena and settings. */
#include "test.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/param.h"
#include "base/threads.h"
#include "base/rng.h"

/* Known-answer vectors of Random123 1.09 (kat_vectors, philox 4x32 10). */
TEST(philox_matches_the_published_vectors)
{
    static const uint32_t kat[][10] = {
        {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
        {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d,
         0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
        {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09,
         0x94fdcceb, 0x5001e420, 0x24126ea1},
    };
    for (int i = 0; i < 3; i++) {
        uint32_t out[4];
        philox4x32(kat[i], kat[i] + 4, out);
        for (int j = 0; j < 4; j++)
            CHECK_EQ(out[j], kat[i][6 + j]);
    }
}

TEST(streams_differ_in_every_part_of_the_key)
{
    struct rng base = rng_make(1, RNG_TASK, 2, 3);
    struct rng others[] = {rng_make(2, RNG_TASK, 2, 3), rng_make(1, RNG_LABEL, 2, 3),
                           rng_make(1, RNG_TASK, 3, 3), rng_make(1, RNG_TASK, 2, 4)};
    uint32_t first = rng_u32(&base);
    for (int i = 0; i < 4; i++)
        CHECK(rng_u32(&others[i]) != first);
}

TEST(choosing_gives_distinct_numbers_each_equally_often)
{
    enum { N = 10, K = 3, ROUNDS = 20000 };
    int seen[N] = {0};
    struct rng r = rng_make(7, RNG_TEST, 0, 0);
    for (int i = 0; i < ROUNDS; i++) {
        int32_t pick[K];
        rng_choose(&r, N, K, pick);
        CHECK(pick[0] != pick[1] && pick[1] != pick[2] && pick[0] != pick[2]);
        for (int j = 0; j < K; j++)
            seen[pick[j]]++;
    }
    double expected = (double)ROUNDS * K / N, chi2 = 0;
    for (int i = 0; i < N; i++)
        chi2 += (seen[i] - expected) * (seen[i] - expected) / expected;
    CHECK(chi2 < 27.9); /* 9 degrees of freedom, p = 0.001 */
}

static int square(void *user, int piece, int worker)
{
    (void)worker;
    ((int *)user)[piece] = piece * piece;
    return piece == 37 ? fail(METE_EINVAL, "piece %d is no good", piece) : 0;
}

TEST(a_pool_does_every_piece_and_returns_the_first_failure)
{
    struct threads *p = NULL;
    int out[100];
    CHECK_OK(threads_open(&p, 4));
    for (int round = 0; round < 50; round++) {
        memset(out, 0, sizeof out);
        CHECK_EQ(threads_run(p, 100, square, out), METE_EINVAL);
        CHECK_STR(mete_errmsg(), "piece 37 is no good");
        for (int i = 0; i < 100; i++)
            CHECK_EQ(out[i], i * i);
    }
    threads_close(p);
}

TEST(an_arena_that_measures_takes_what_the_real_one_needs)
{
    struct arena plan = {0}, real;
    size_t sizes[] = {1, 64, 65, 1000000, 3};
    for (int i = 0; i < 5; i++)
        CHECK(arena_take(&plan, sizes[i]) == NULL);
    CHECK_OK(arena_open(&real, arena_peak(&plan)));
    for (int i = 0; i < 5; i++) {
        char *p = arena_take(&real, sizes[i]);
        CHECK_EQ((uintptr_t)p % 64, 0);
        p[sizes[i] - 1] = 1;
    }
    CHECK_EQ(arena_peak(&real), arena_peak(&plan));
    arena_close(&real);
}

struct demo {
    int steps, loss;
    double lr;
    bool first_order;
    char part[PARAM_TEXT_SIZE];
};
static const struct param demo_table[] = {
    PARAM_INT_ROW(struct demo, steps, "inner.steps", 5, 1, 100, "steps"),
    PARAM_REAL_ROW(struct demo, lr, "lr", 0.4, 0, 10, "rate"),
    PARAM_BOOL_ROW(struct demo, first_order, "first_order", 0, "no second derivatives"),
    PARAM_CHOICE_ROW(struct demo, loss, "loss", "mean|sum", 0, "reduction"),
    PARAM_TEXT_ROW(struct demo, part, "part", "train", "which part"),
    {0},
};

TEST(settings_are_read_checked_and_printed)
{
    struct demo d;
    struct param_set set = {0};
    param_set_add(&set, "method", demo_table, &d);
    CHECK_EQ(d.steps, 5);
    CHECK_STR(d.part, "train");
    const char *good[] = {"inner_steps=7", "method.lr=1e-3", "first_order=true", "loss=sum", NULL};
    CHECK_OK(param_set_all(&set, good));
    CHECK_EQ(d.steps, 7);
    CHECK_NEAR(d.lr, 1e-3, 0);
    CHECK(d.first_order);
    CHECK_EQ(d.loss, 1);
    char text[64];
    param_text(&demo_table[1], &d, text, sizeof text);
    CHECK_STR(text, "0.001");
    CHECK_EQ(param_set_text(&set, "first_ordr", "1"), METE_EINVAL);
    CHECK_STR(mete_errmsg(), "no setting named 'first_ordr'; did you mean 'method.first_order'?");
    CHECK_EQ(param_set_text(&set, "inner.steps", "five"), METE_EINVAL);
    CHECK_STR(mete_errmsg(), "inner.steps: expected a whole number, got 'five'");
    CHECK_EQ(param_set_text(&set, "inner.steps", "101"), METE_EINVAL);
    CHECK_EQ(param_set_text(&set, "lr", "nan"), METE_EINVAL);
    CHECK_EQ(param_set_text(&set, "loss", "max"), METE_EINVAL);
    CHECK_STR(mete_errmsg(), "method.loss: expected mean|sum, got 'max'");
}

TESTS(T(philox_matches_the_published_vectors), T(streams_differ_in_every_part_of_the_key),
      T(choosing_gives_distinct_numbers_each_equally_often),
      T(a_pool_does_every_piece_and_returns_the_first_failure),
      T(an_arena_that_measures_takes_what_the_real_one_needs),
      T(settings_are_read_checked_and_printed))
