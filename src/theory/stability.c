/* stability.c - leave-one-out comparisons (conditions C1 and C2 of the paper's Theorem 1). */
#include "theory/stability.h"

#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>

/* The risks of one training, checked against the theory's range. */
static int risks_of(const struct stability_problem *p, int without, double *risk)
{
    int err = p->risks(p->user, without, risk);
    for (int i = 0; i < p->probes && !err; i++) {
        if (!isfinite(risk[i]))
            return fail(METE_EDIVERGE, "stability: the risk on probe %d is not finite", i);
        if (risk[i] < 0 || risk[i] > p->max_loss)
            return fail(METE_EINVAL,
                        "stability: a risk of %g was seen, which is outside [0, M] with M = %g",
                        risk[i], p->max_loss);
    }
    return err;
}

/* Takes in the differences that leaving out `item` made. */
static void compare(struct stability *s, int item, const double *all, const double *without,
                    double *mean, double *worst)
{
    *mean = *worst = 0;
    for (int i = 0; i < s->probes; i++) {
        double difference = fabs(all[i] - without[i]);
        *mean += difference / s->probes;
        *worst = fmax(*worst, difference);
        if (s->item < 0 || difference > s->largest) {
            s->largest = difference;
            s->item = item;
            s->probe = i;
        }
    }
}

static double mean_of(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i];
    return sum / n;
}

static int check_problem(const struct stability_problem *p, int removals)
{
    if (p->items < 2)
        return fail(METE_EINVAL, "stability: leaving one out needs two items or more, got %d",
                    p->items);
    if (p->probes < 1 || removals < 1)
        return fail(METE_EINVAL,
                    "stability: expected one sample and one removal or more, got %d and %d",
                    p->probes, removals);
    return 0;
}

int stability_measure(struct stability *out, const struct stability_problem *p, int removals,
                      uint64_t seed)
{
    int err = check_problem(p, removals);
    if (err)
        return err;
    int k = removals < p->items ? removals : p->items;
    struct stability s = {.removals = k, .probes = p->probes, .item = -1};
    size_t probes = (size_t)p->probes;
    double *all = mem_array(2 * probes + 2 * (size_t)k, sizeof *all);
    double *without = all + probes, *mean = without + probes, *worst = mean + k;
    int32_t *items = mem_array((size_t)k, sizeof *items);
    struct rng r = rng_make(seed, RNG_THEORY, 0, 0);
    rng_choose(&r, (uint32_t)p->items, (uint32_t)k, items);
    err = risks_of(p, STABILITY_ALL, all);
    for (int i = 0; i < k && !err; i++) {
        err = p->what ? progress(p->what, i, k) : 0;
        if (!err)
            err = risks_of(p, items[i], without);
        if (!err)
            compare(&s, items[i], all, without, &mean[i], &worst[i]);
    }
    if (!err) {
        s.mean = summary_of(mean, (size_t)k);
        s.worst = summary_of(worst, (size_t)k);
        s.baseline = mean_of(all, p->probes);
        /* If a share e of the items moved more, k draws would all miss them with
         * probability (1 - e)^k; that is 5 % at this e. */
        s.exceeding = k == p->items ? 0 : 1 - pow(0.05, 1.0 / k);
        *out = s;
    }
    free(items);
    free(all);
    return err;
}
