/* assumptions.c - which bound a method falls under, and which of the theory's
 * assumptions a setting meets, stretches or breaks.
 *
 * A note is one row of a table: a word, a test and a sentence.
 */
#include "theory/bound.h"

#include "base/error.h"
#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *method;
    enum mete_estimator estimator;
} methods[] = {
    {"maml", METE_ESTIMATOR_HELDOUT},     {"fomaml", METE_ESTIMATOR_HELDOUT},
    {"protonet", METE_ESTIMATOR_HELDOUT}, {"reptile", METE_ESTIMATOR_EMPIRICAL},
    {"fedavg", METE_ESTIMATOR_EMPIRICAL},
};

int mete_bound_method(const char *method, enum mete_estimator *out)
{
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (strcmp(methods[i].method, method) == 0) {
            *out = methods[i].estimator;
            return 0;
        }
    return fail(METE_EINVAL,
                "no bound for a method named '%s': there is one for maml, fomaml, protonet, "
                "reptile and fedavg",
                method);
}

/* A loop of the setting whose stability comes from the lemma, and what to write. */
struct note {
    const struct mete_bound_setting *s;
    const struct mete_sgm *sgm;
    const char *loop, *examples; /* "outer", "tasks" */
    char *text;
    size_t size;
};

enum verdict { SILENT, REMARK, BROKEN };
typedef enum verdict note_fn(const struct note *n);

static double lemma_range(const struct mete_bound_setting *s)
{
    return s->rescale ? s->max_loss : 1;
}

static enum verdict note_range(const struct note *n)
{
    if (n->s->rescale || n->s->max_loss <= 1)
        return SILENT;
    snprintf(n->text, n->size,
             "the %s loop's lemma is stated for a loss in [0, 1] and M is %g (see rescale)",
             n->loop, n->s->max_loss);
    return BROKEN;
}

/* A constant step size lr is at most c/t for t up to c/lr only.  The slack is for a
 * c = lr * T that was written in decimals. */
static enum verdict note_step(const struct note *n)
{
    const struct mete_sgm *a = n->sgm;
    if (a->lr == 0)
        return SILENT;
    double c = bound_step_constant(a), last = c / a->lr * (1 + 1e-12);
    if (last >= a->steps) {
        snprintf(n->text, n->size,
                 "the %s step size is constant, %g, not c/t: c = %g covers these %.0f steps, but "
                 "no c covers any number of them",
                 n->loop, a->lr, c, a->steps);
        return REMARK;
    }
    snprintf(n->text, n->size,
             "the %s step size is constant, %g, and above c/t from step %.0f of %.0f on: the lemma "
             "needs c >= %g",
             n->loop, a->lr, floor(last) + 1, a->steps, a->lr * a->steps);
    return BROKEN;
}

static enum verdict note_adam(const struct note *n)
{
    if (!n->sgm->adam)
        return SILENT;
    snprintf(n->text, n->size, "the %s loop uses Adam, and the lemma is about plain gradient steps",
             n->loop);
    return BROKEN;
}

static enum verdict note_batch(const struct note *n)
{
    if (n->sgm->batch <= 1)
        return SILENT;
    snprintf(n->text, n->size, "an %s step sees %g %s, and the lemma's sees one drawn at random",
             n->loop, n->sgm->batch, n->examples);
    return BROKEN;
}

/* gamma c -> 0: the closed form grows as 2 L^2 / gamma without limit. */
static enum verdict note_gamma(const struct note *n)
{
    double plain = bound_lemma(n->sgm, lemma_range(n->s), false);
    double tight = bound_lemma(n->sgm, lemma_range(n->s), true);
    if (n->s->tight || tight >= plain * (1 - 1e-12))
        return SILENT;
    snprintf(n->text, n->size,
             "a larger %s gamma, which the lemma allows, gives a better bound (see tight): C = "
             "%.6g instead of %.6g",
             n->loop, tight, plain);
    return REMARK;
}

static enum verdict note_points(const struct note *n)
{
    if (n->s->estimator == METE_ESTIMATOR_EMPIRICAL)
        return SILENT;
    snprintf(n->text, n->size,
             "the held-out bound does not contain m: more points per task can only help through "
             "the outer L and gamma (the paper's O3)");
    return REMARK;
}

enum loop { OUTER, INNER, ANY };
static const struct {
    const char *id;
    enum loop loop;
    note_fn *write;
} rows[] = {
    {"outer-range", OUTER, note_range}, {"inner-range", INNER, note_range},
    {"outer-step", OUTER, note_step},   {"inner-step", INNER, note_step},
    {"outer-adam", OUTER, note_adam},   {"inner-adam", INNER, note_adam},
    {"outer-batch", OUTER, note_batch}, {"inner-batch", INNER, note_batch},
    {"outer-gamma", OUTER, note_gamma}, {"inner-gamma", INNER, note_gamma},
    {"no-m", ANY, note_points},
};

static enum verdict judge(const struct mete_bound_setting *s, size_t row, char *text, size_t size)
{
    bool inner = rows[row].loop == INNER;
    struct note n = {.s = s,
                     .sgm = inner ? &s->inner : &s->outer,
                     .loop = inner ? "inner" : "outer",
                     .examples = inner ? "points" : "tasks",
                     .text = text,
                     .size = size};
    if (inner && s->estimator != METE_ESTIMATOR_EMPIRICAL)
        return SILENT; /* that bound has no inner part */
    if (rows[row].loop != ANY && !isnan(n.sgm->beta))
        return SILENT; /* the stability was given: the lemma is not used */
    return rows[row].write(&n);
}

bool mete_bound_note(const struct mete_bound_setting *s, int i, const char **id, bool *broken,
                     char *text, size_t size)
{
    NUMBER_LOCALE;
    int at = 0;
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        enum verdict verdict = judge(s, row, text, size);
        if (verdict == SILENT || at++ < i)
            continue;
        *id = rows[row].id;
        *broken = verdict == BROKEN;
        return true;
    }
    return false;
}
