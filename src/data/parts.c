/* parts.c - drawing the parts of a dataset. */
#include "data/parts.h"
#include "base/memory.h"
#include "base/rng.h"

#include <assert.h>
#include <stdlib.h>

void parts_share(const double weight[PARTS], int groups, int n[PARTS])
{
    double total = weight[0] + weight[1] + weight[2], rest[PARTS];
    int left = groups;
    for (int p = 0; p < PARTS; p++) {
        double exact = weight[p] / total * groups;
        n[p] = (int)exact;
        rest[p] = exact - n[p];
        left -= n[p];
    }
    for (; left > 0; left--) {
        int best = 0;
        for (int p = 1; p < PARTS; p++)
            if (rest[p] > rest[best])
                best = p;
        n[best]++;
        rest[best] -= 1;
    }
}

static int at_least(int n, int share, int groups)
{
    enum { ENOUGH = 40 }; /* an interval over so many people is tolerable */
    int least = (groups + share - 1) / share;
    least = least < ENOUGH ? least : ENOUGH;
    return n > least ? n : least;
}

void parts_share_users(int users, int n[PARTS])
{
    static const double paper[PARTS] = {3000, 200, 200};
    parts_share(paper, users, n);
    n[SPLIT_TEST] = at_least(n[SPLIT_TEST], 5, users);
    n[SPLIT_VAL] = at_least(n[SPLIT_VAL], 6, users);
    if (n[SPLIT_TEST] + n[SPLIT_VAL] > users)
        n[SPLIT_VAL] = users - n[SPLIT_TEST];
    n[SPLIT_TRAIN] = users - n[SPLIT_TEST] - n[SPLIT_VAL];
}

static int32_t *drawn_order(int groups, int seed)
{
    struct rng r = rng_make((uint64_t)seed, RNG_SPLIT, 0, 0);
    int32_t *order = mem_array((size_t)groups + 1, sizeof *order);
    for (int g = 0; g < groups; g++)
        order[g] = g;
    rng_shuffle(&r, order, (uint32_t)groups);
    return order;
}

void parts_draw(const int n[PARTS], int groups, int seed, uint8_t *part)
{
    int32_t *order = drawn_order(groups, seed);
    int at = 0;
    for (int p = 0; p < PARTS; p++)
        for (int i = 0; i < n[p]; i++)
            part[order[at++]] = (uint8_t)p;
    free(order);
}

void parts_draw_fold(int folds, int fold, int groups, int seed, uint8_t *part)
{
    assert(folds >= 2 && fold >= 1 && fold <= folds && groups >= folds);
    int32_t *order = drawn_order(groups, seed);
    int first = (int)((int64_t)groups * (fold - 1) / folds);
    int tests = (int)((int64_t)groups * fold / folds) - first;
    int val = (groups - tests + 4) / 5;
    for (int i = 0; i < groups; i++) {
        int p = i < tests ? SPLIT_TEST : i < tests + val ? SPLIT_VAL : SPLIT_TRAIN;
        part[order[(first + i) % groups]] = (uint8_t)p;
    }
    free(order);
}
