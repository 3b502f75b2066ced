/* allocate.c - the split of a label budget into tasks and points that the bound likes best. */
#include "theory/bound.h"

#include "base/error.h"

#include <math.h>

static const double budget_max = 1e12; /* the search takes 2 sqrt(budget) steps */

/* The most whole units of `cost` that `budget` pays for. */
static double affordable(double budget, double cost)
{
    double n = floor(budget / cost);
    return n * cost > budget ? n - 1 : n; /* the quotient may have been rounded up */
}

/* The most points per task that n tasks leave room for. */
static double room(double budget, double n, double per_task)
{
    double m = floor(budget / n - per_task);
    return n * (m + per_task) > budget ? m - 1 : m;
}

/* Keeps the better of *best and the bound at (n, m).  The first found wins a tie, so
 * that of equals the one with the fewest points per task is kept. */
static void consider(struct mete_bound_setting *s, struct bound_pair c, double n, double m,
                     struct mete_bound *best)
{
    s->n = n;
    s->m = m;
    struct mete_bound b = bound_at(s, c);
    if (best->n == 0 || b.total < best->total)
        *best = b;
}

static int check_budget(const struct mete_bound_setting *s, double least, double budget,
                        double per_task)
{
    int err = bound_check(s);
    if (!err)
        err = bound_check_count("m, the least number of points per task,", least, 2);
    if (!err)
        err = bound_check_real("", "the cost per task", per_task);
    if (err)
        return err;
    double needed = 2 * (least + per_task);
    if (!(budget >= needed))
        return fail(METE_EINVAL,
                    "a budget of %g does not pay for two tasks of %g points at a cost of %g more "
                    "each: it must be %g or more",
                    budget, least, per_task, needed);
    if (budget > budget_max)
        return fail(METE_EINVAL, "a budget may be at most %g, got %g", budget_max, budget);
    return 0;
}

int mete_bound_best(const struct mete_bound_setting *setting, double budget, double per_task,
                    struct mete_bound *out)
{
    struct mete_bound_setting s = *setting;
    double least = s.m == 0 ? 2 : s.m;
    int err = check_budget(&s, least, budget, per_task);
    if (err)
        return err;
    /* The bound falls with n and never rises with m, so only pairs of which neither
     * can grow matter; and in each of them n or m is at most sqrt(budget). */
    struct bound_pair c = bound_constants(&s);
    struct mete_bound best = {0};
    double root = ceil(sqrt(budget)), most = affordable(budget, least + per_task);
    for (double m = least; m <= fmax(root, least) && room(budget, 2, per_task) >= m; m++)
        consider(&s, c, affordable(budget, m + per_task), m, &best);
    for (double n = fmin(most, root); n >= 2; n--)
        consider(&s, c, n, room(budget, n, per_task), &best);
    *out = best;
    return 0;
}
