/* bound.c - generalization bounds for meta-learning, with all their constants.
 *
 * Theorem 1 is Maurer's (2005), for methods that minimise the empirical
 * estimator of the transfer risk (Reptile, FedAvg); Theorem 2 is the paper's, for
 * the held-out one (MAML, ProtoNets); the lemma is Theorem 3.12 of Hardt et al.
 * (2015); Theorem 3 puts them together.
 *
 * Powers are taken through their logarithms, and those in long double: the
 * exponent of a double's range is up to 700, of which a double keeps 13 digits.
 */
#include "theory/bound.h"

#include "base/error.h"

#include <math.h>

double bound_step_constant(const struct mete_sgm *a)
{
    return a->c == 0 ? a->lr * a->steps : a->c;
}

/* ln C for L, c, T > 0.  With q = gamma c, K = 2 c L^2 / range:
 *   ln C = ln range + ln(1 + 1/q) + (ln K + q ln T) / (1 + q). */
static long double lemma_log(const struct mete_sgm *a, long double c, double range, bool tight)
{
    long double log_k = logl(2) + logl(c) + 2 * logl(a->lipschitz) - logl(range);
    long double log_t = logl(a->steps);
    long double q = a->smooth * c;
    if (tight) {
        /* d/dq is negative up to q* = 1 / (ln(T/K) - 1) and positive after it; where
         * ln(T/K) <= 1 it is negative everywhere, and C falls to T. */
        long double gap = log_t - log_k;
        if (gap <= 1)
            return logl(range) + log_t;
        if (q * (gap - 1) < 1)
            return logl(range) + 1 + log_k + logl(gap); /* at q*: C = e K ln(T/K) */
    }
    if (a->smooth == 0)
        return INFINITY;
    /* Each form where it does not cancel. */
    long double log_factor = q >= 1 ? log1pl(1 / q) : log1pl(q) - logl(a->smooth) - logl(c);
    return logl(range) + log_factor + log_k / (1 + q) + log_t / (1 + 1 / q);
}

double bound_lemma(const struct mete_sgm *a, double range, bool tight)
{
    long double c = bound_step_constant(a);
    if (a->lipschitz == 0 || c == 0 || a->steps == 0)
        return 0; /* nothing moves: whatever is removed, the result is the same */
    return (double)expl(lemma_log(a, c, range, tight));
}

double bound_outer(double n, double beta, double max_loss, double delta)
{
    double spread = sqrt(-log(delta) / (2 * n));
    double concentration = spread > 0 ? (4 * n * beta + max_loss) * spread : 0;
    return 2 * beta + concentration;
}

struct mete_bound_setting mete_bound_defaults(void)
{
    struct mete_sgm one = {
        .lipschitz = 1, .smooth = 1, .c = 1, .steps = 1, .batch = 1, .beta = NAN};
    return (struct mete_bound_setting){.delta = 0.05, .max_loss = 1, .outer = one, .inner = one};
}

int bound_check_real(const char *loop, const char *name, double value)
{
    if (isfinite(value) && value >= 0)
        return 0;
    return fail(METE_EINVAL, "%s%s must be a number of at least 0, got %g", loop, name, value);
}

int bound_check_count(const char *name, double value, double least)
{
    if (isfinite(value) && value >= least && floor(value) == value)
        return 0;
    return fail(METE_EINVAL, "%s must be a whole number of at least %g, got %.17g", name, least,
                value);
}

static int check_sgm(const char *loop, const struct mete_sgm *a)
{
    const struct {
        const char *name;
        double value;
    } fields[] = {{"L", a->lipschitz},
                  {"gamma", a->smooth},
                  {"c", a->c},
                  {"T", a->steps},
                  {"lr", a->lr},
                  {"batch", a->batch},
                  {"beta", isnan(a->beta) ? 0 : a->beta}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        int err = bound_check_real(loop, fields[i].name, fields[i].value);
        if (err)
            return err;
    }
    if (floor(a->steps) != a->steps)
        return fail(METE_EINVAL, "%sT must be a whole number of steps, got %g", loop, a->steps);
    return 0;
}

int bound_check(const struct mete_bound_setting *s)
{
    if (!(s->delta > 0 && s->delta <= 1))
        return fail(METE_EINVAL, "delta must lie in (0, 1], got %g", s->delta);
    if (!(isfinite(s->max_loss) && s->max_loss > 0))
        return fail(METE_EINVAL, "M must be a number above 0, got %g", s->max_loss);
    int err = bound_check_real("", "the loss seen", s->loss_seen);
    if (!err && s->loss_seen > s->max_loss)
        return fail(METE_EINVAL,
                    "M = %g is below the largest loss seen, %g: the loss must lie in "
                    "[0, M]",
                    s->max_loss, s->loss_seen);
    if (!err)
        err = check_sgm("outer ", &s->outer);
    return err ? err : check_sgm("inner ", &s->inner);
}

struct bound_pair bound_constants(const struct mete_bound_setting *s)
{
    double range = s->rescale ? s->max_loss : 1;
    return (struct bound_pair){bound_lemma(&s->outer, range, s->tight),
                               bound_lemma(&s->inner, range, s->tight)};
}

struct mete_bound bound_at(const struct mete_bound_setting *s, struct bound_pair c)
{
    bool empirical = s->estimator == METE_ESTIMATOR_EMPIRICAL;
    struct mete_bound b = {.n = s->n, .m = s->m, .inner_c = NAN, .inner_beta = NAN};
    bool given = !isnan(s->outer.beta);
    b.outer_c = given ? NAN : c.outer;
    b.outer_beta = given ? s->outer.beta : c.outer / (s->n - 1);
    b.outer = bound_outer(s->n, b.outer_beta, s->max_loss, s->delta);
    if (empirical) {
        given = !isnan(s->inner.beta);
        b.inner_c = given ? NAN : c.inner;
        b.inner_beta = given ? s->inner.beta : c.inner / (s->m - 1);
        b.inner = 2 * b.inner_beta;
    }
    b.total = b.outer + b.inner;
    b.vacuous = b.total > s->max_loss;
    return b;
}

int mete_bound(const struct mete_bound_setting *s, struct mete_bound *out)
{
    int err = bound_check(s);
    if (!err)
        err = bound_check_count("n, the number of tasks,", s->n, 2);
    if (!err && (s->estimator == METE_ESTIMATOR_EMPIRICAL || s->m != 0))
        err = bound_check_count("m, the number of points per task,", s->m, 2);
    if (err)
        return err;
    *out = bound_at(s, bound_constants(s));
    return 0;
}
