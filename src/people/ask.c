/* ask.c - questions for one person, or for everybody.
 *
 * Labels are shared out by the gain that is expected of each.  What is left to learn of a person is
 * `doubt` (questions.h); with k labels it falls about as 1 / sqrt(k + 1), as errors of means do.
 * So the next label after k + j brings doubt (sqrt((k + 1) / (k + 1 + j)) - sqrt((k + 1) / (k + 2 +
 * j))), less with every j, and the labels go to the largest of these.
 */
#include "people/ask.h"
#include "label/label_own.h"
#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

struct share { /* of a person */
    int person, want;
    struct pool pool;
    int open, known;
};

static struct share share_of(const struct people *p, int person, int most)
{
    struct share s = {.person = person, .pool = people_pool(p, person)};
    for (int i = 0; i < s.pool.n; i++)
        s.open += s.pool.known[i] < 0;
    s.known = s.pool.n - s.open;
    s.want = most < s.open ? most : s.open;
    return s;
}

static double gain(double doubt, int known, int before)
{
    double k = known + 1;
    return doubt * (sqrt(k / (k + before)) - sqrt(k / (k + before + 1)));
}

/* Lowers `want` until all together are `all`. */
static int share_out(const struct people *p, struct share *s, int n, int most, int64_t all)
{
    double *doubt = mem_array((size_t)n + 1, sizeof *doubt);
    int err = 0;
    int64_t rows = 0;
    for (int i = 0; i < n && !err; i++) {
        if (s[i].want)
            err = questions_doubt(p->questions, &s[i].pool, &doubt[i]);
        rows += s[i].want;
    }
    if (rows > INT32_MAX)
        err = fail(METE_EINVAL, "more than %d questions; ask for fewer with --n", INT32_MAX);
    struct scored *rank = err ? NULL : mem_array((size_t)rows + 1, sizeof *rank);
    int made = 0;
    for (int j = 0; j < most && !err; j++)
        for (int i = 0; i < n; i++)
            if (j < s[i].want)
                rank[made++] = (struct scored){.score = gain(doubt[i], s[i].known, j), .at = i};
    for (int i = 0; i < n && !err; i++)
        s[i].want = 0;
    if (!err)
        scored_sort(rank, made);
    for (int i = 0; i < made && i < all; i++)
        s[rank[i].at].want++;
    free(rank);
    free(doubt);
    return err;
}

/* A stream of its own for each person and round. */
static uint64_t seed_of(uint64_t seed, int person, int round)
{
    struct rng r = rng_make(seed, RNG_LABEL, (uint64_t)person, (uint32_t)round);
    uint64_t high = rng_u32(&r);
    return high << 32 | rng_u32(&r);
}

static int ask_one(const struct people *p, const struct share *s, int round, uint64_t seed,
                   struct ask *out)
{
    struct picked *picks = mem_array((size_t)s->want + 1, sizeof *picks);
    int n = 0;
    int err =
        questions_pick(p->questions, &s->pool, s->want, seed_of(seed, s->person, round), picks, &n);
    if (!err && n > 0) {
        out->at = mem_grow(out->at, (size_t)(out->n + n), sizeof *out->at);
        out->people++;
    }
    for (int i = 0; i < n && !err; i++)
        out->at[out->n++] = (struct question){.item = s->pool.item[picks[i].at],
                                              .person = s->person,
                                              .round = round,
                                              .cluster = picks[i].cluster,
                                              .entropy = picks[i].entropy,
                                              .guess = picks[i].guess,
                                              .sure = picks[i].sure};
    free(picks);
    return err;
}

int ask_people(const struct people *p, int person, int most, int64_t all, uint64_t seed,
               struct ask *out)
{
    struct ask a = {0};
    int n = person < 0 ? p->n : 1, err = 0, *round = people_rounds(p);
    int64_t wanted = 0;
    struct share *s = mem_array((size_t)n, sizeof *s);
    for (int i = 0; i < n; i++) {
        s[i] = share_of(p, person < 0 ? i : person, most);
        wanted += s[i].want;
        a.done += s[i].open == 0;
    }
    if (wanted > all && n == 1)
        s[0].want = (int)all; /* there is nothing to share out */
    else if (wanted > all)
        err = share_out(p, s, n, most, all);
    for (int i = 0; i < n && !err; i++)
        if (s[i].want)
            err = ask_one(p, &s[i], round[s[i].person], seed, &a);
    for (int i = 0; i < n; i++)
        pool_release(&s[i].pool);
    free(s);
    free(round);
    if (err)
        ask_release(&a);
    else
        *out = a;
    return err;
}

void ask_release(struct ask *a)
{
    free(a->at);
    *a = (struct ask){0};
}
