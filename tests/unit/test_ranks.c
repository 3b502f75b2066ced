/* test_ranks.c - teams of ranks: messages, broadcasts, verdicts, silence; and the tree of sums. */
#include "ranks_job.h"
#include "test.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "method/groups.h"

enum { BIG = 300000 };

TEST(a_message_gives_back_what_was_put)
{
    struct message m = {0};
    const float x[3] = {1, 2, 3};
    float back[3];
    message_put_int(&m, -5);
    message_put_text(&m, "maml");
    message_put_text(&m, NULL);
    message_put_text(&m, "");
    message_put(&m, x, sizeof x);
    message_put_real(&m, 0.1);
    CHECK_EQ(message_get_int(&m), -5);
    CHECK_STR(message_get_text(&m), "maml");
    CHECK(message_get_text(&m) == NULL);
    CHECK_STR(message_get_text(&m), "");
    message_get(&m, back, sizeof back);
    CHECK(memcmp(x, back, sizeof x) == 0);
    CHECK(message_get_real(&m) == 0.1);
    CHECK_OK(message_check(&m));
    CHECK_EQ(message_get_int(&m), 0); /* there is no more */
    CHECK_EQ(message_check(&m), METE_EFORMAT);
    message_release(&m);
}

static int hear_and_answer(struct ranks *world)
{
    struct message m = {0};
    char *big = mem_array(BIG, 1);
    int err = ranks_broadcast_message(world, &m, RANKS_EVER);
    int64_t got = message_get_int(&m);
    if (!err)
        err = ranks_broadcast(world, big, BIG);
    for (int i = 0; i < BIG && !err; i++)
        err = big[i] != (char)(i * 7);
    if (!err)
        err = ranks_gather_verdicts(world, 0);
    if (!err && ranks_me(world) >= 2) /* the first that fails is told of */
        fail(METE_ENOMEM, "no room for %d", ranks_me(world));
    err = ranks_gather_verdicts(world, ranks_me(world) >= 2 ? METE_ENOMEM : 0);
    message_release(&m);
    free(big);
    return got == 42 && (err == METE_ENOMEM) == (ranks_me(world) >= 2) ? 0 : 1;
}

TEST(broadcasts_reach_all_and_the_first_failure_has_its_rank)
{
    for (int ranks = 2; ranks <= 7; ranks++) {
        struct message m = {0};
        char *big = mem_array(BIG, 1);
        for (int i = 0; i < BIG; i++)
            big[i] = (char)(i * 7);
        message_put_int(&m, 42);
        CHECK_OK(job_start(ranks, -1, hear_and_answer));
        CHECK_EQ(ranks_count(ranks_world()), ranks);
        CHECK_OK(ranks_broadcast_message(ranks_world(), &m, RANKS_ANSWER));
        CHECK_OK(ranks_broadcast(ranks_world(), big, BIG));
        CHECK_OK(ranks_gather_verdicts(ranks_world(), 0));
        int err = ranks_gather_verdicts(ranks_world(), 0);
        CHECK_EQ(err, ranks > 2 ? METE_ENOMEM : 0);
        if (err) {
            CHECK_HAS(mete_errmsg(), "rank 2 on ");
            CHECK_HAS(mete_errmsg(), ": no room for 2");
        }
        CHECK_EQ(job_end(), 0);
        message_release(&m);
        free(big);
    }
}

static int sleep_and_answer(struct ranks *world)
{
    if (ranks_me(world) == 2)
        usleep(1500000);
    return ranks_gather_verdicts(world, 0) != 0;
}

TEST(a_silent_rank_is_given_up_by_name)
{
    CHECK_OK(job_start(3, -1, sleep_and_answer));
    ranks_set_timeout(0.2);
    job_forgotten = 0;
    CHECK_EQ(ranks_gather_verdicts(ranks_world(), 0), METE_EIO);
    CHECK_EQ(job_forgotten, 1); /* what it says later is not heard */
    CHECK_HAS(mete_errmsg(), "rank 2 on ");
    CHECK_HAS(mete_errmsg(), "has not been heard of for");
    CHECK(ranks_lost());
    CHECK_EQ(ranks_send(ranks_world(), 2, "x", 1), METE_EIO); /* at once */
    ranks_set_timeout(600);
    for (int rank = 1; rank < 3; rank++)
        kill(the_job.child[rank], SIGKILL);
    job_end();
}

static int leave(struct ranks *world)
{
    return ranks_me(world) == 1 ? 7 : sleep_and_answer(world);
}

TEST(a_rank_that_is_gone_is_noticed)
{
    CHECK_OK(job_start(2, -1, leave));
    CHECK_EQ(ranks_gather_verdicts(ranks_world(), 0), METE_EIO);
    CHECK_HAS(mete_errmsg(), "rank 1 on ");
    CHECK_EQ(job_end(), 7);
}

TEST(ranks_that_compute_otherwise_are_refused)
{
    CHECK_EQ(job_start(4, 2, hear_and_answer), METE_EDEVICE);
    CHECK_HAS(mete_errmsg(), "rank 2 on ");
    CHECK_HAS(mete_errmsg(), "another C library than rank 0");
    CHECK_EQ(job_end(), 3 * 99); /* all of them see it */
}

/* Rank i's part: i numbers, none of rank 0 and of every third. */
static size_t parts_of(size_t *at, int ranks)
{
    size_t sum = 0;
    for (int i = 0; i < ranks; i++) {
        at[i] = sum * sizeof(int32_t);
        sum += i % 3 ? (size_t)i : 0;
    }
    at[ranks] = sum * sizeof(int32_t);
    return sum;
}

static int give_part(struct ranks *world)
{
    size_t at[JOB_MOST + 1], sum = parts_of(at, ranks_count(world));
    int32_t *data = mem_array(sum + 1, sizeof *data);
    int me = ranks_me(world);
    for (size_t i = at[me] / sizeof *data; i < at[me + 1] / sizeof *data; i++)
        data[i] = (int32_t)(100 * me + (int)i);
    struct ranks_sent before = ranks_sent();
    int err = ranks_gather_parts(world, data, at);
    struct ranks_sent after = ranks_sent();
    free(data);
    /* its own, and those of the ranks behind it */
    bool more = after.bytes - before.bytes >= (int64_t)(at[me + 1] - at[me]);
    return err || !more || after.messages - before.messages > 1;
}

TEST(parts_are_put_together_at_the_root)
{
    for (int ranks = 2; ranks <= JOB_MOST; ranks++) {
        size_t at[JOB_MOST + 1], sum = parts_of(at, ranks);
        int32_t *data = mem_array(sum + 1, sizeof *data);
        CHECK_OK(job_start(ranks, -1, give_part));
        CHECK_OK(ranks_gather_parts(ranks_world(), data, at));
        CHECK_EQ(job_end(), 0);
        for (int rank = 0; rank < ranks; rank++)
            for (size_t i = at[rank] / sizeof *data; i < at[rank + 1] / sizeof *data; i++)
                CHECK_EQ(data[i], 100 * rank + (int)i);
        free(data);
    }
}

/* ---- the tree of sums ---- */

enum { GROUPS = 64, LEN = 3 };

/* As one rank adds up; in floats, so that the order shows. */
static void sum_alone(float (*slot)[LEN], int groups)
{
    struct merge all[GROUPS];
    int n = group_merges(groups, 0, 1, all);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < LEN; k++)
            slot[all[i].to][k] += slot[all[i].from][k];
}

/* As many ranks do: each in its own order, waiting for what it receives.  False: they hang. */
static bool sum_together(float (*slot)[LEN], int groups, int ranks)
{
    static struct merge all[16][GROUPS];
    int n[16], at[16] = {0}, left = 0;
    for (int r = 0; r < ranks; r++)
        left += n[r] = group_merges(groups, r, ranks, all[r]);
    for (bool moved = true; left > 0 && moved;) {
        moved = false;
        for (int r = 0; r < ranks; r++) {
            const struct merge *m = at[r] < n[r] ? &all[r][at[r]] : NULL;
            if (!m || m->kind == MERGE_SEND)
                continue;
            const struct merge *o = m->kind == MERGE_RECEIVE ? &all[m->rank][at[m->rank]] : NULL;
            if (o && (at[m->rank] >= n[m->rank] || o->kind != MERGE_SEND || o->from != m->from ||
                      o->rank != r))
                continue;
            for (int k = 0; k < LEN; k++)
                slot[m->to][k] += slot[m->from][k];
            at[r]++;
            at[m->rank] += o != NULL;
            left -= 1 + (o != NULL);
            moved = true;
        }
    }
    return left == 0;
}

TEST(a_sum_does_not_depend_on_how_many_ranks_make_it)
{
    struct rng r = rng_make(1, 0, 0, 0);
    for (int groups = 1; groups <= GROUPS; groups++) {
        float start[GROUPS][LEN], alone[GROUPS][LEN], many[GROUPS][LEN];
        for (int g = 0; g < groups; g++)
            for (int k = 0; k < LEN; k++)
                start[g][k] = (float)rng_normal(&r);
        memcpy(alone, start, sizeof start);
        sum_alone(alone, groups);
        for (int ranks = 1; ranks <= 16; ranks++) {
            memcpy(many, start, sizeof start);
            CHECK(sum_together(many, groups, ranks));
            CHECK(memcmp(alone[0], many[0], sizeof alone[0]) == 0);
        }
    }
}

TEST(every_group_and_every_task_has_one_owner)
{
    for (int groups = 1; groups <= 40; groups++) {
        int task = 0, tasks = 3 * groups + 1;
        for (int ranks = 1; ranks <= 60; ranks++) {
            int next = 0;
            CHECK(groups_of_rank(groups, 0, ranks).last > 0); /* the sum ends there */
            for (int rank = 0; rank < ranks; rank++) {
                struct groups g = groups_of_rank(groups, rank, ranks);
                CHECK_EQ(g.first, next);
                CHECK(g.last - g.first <= (groups + ranks - 1) / ranks);
                next = g.last;
            }
            CHECK_EQ(next, groups);
        }
        for (int g = 0; g < groups; g++) {
            CHECK_EQ(group_tasks(groups, tasks, g).from, task);
            task = group_tasks(groups, tasks, g).to;
        }
        CHECK_EQ(task, tasks);
    }
}

TESTS(T(a_message_gives_back_what_was_put),
      T(broadcasts_reach_all_and_the_first_failure_has_its_rank),
      T(a_silent_rank_is_given_up_by_name), T(a_rank_that_is_gone_is_noticed),
      T(ranks_that_compute_otherwise_are_refused), T(parts_are_put_together_at_the_root),
      T(a_sum_does_not_depend_on_how_many_ranks_make_it),
      T(every_group_and_every_task_has_one_owner))
