/* answer.c - from a race to predictions.
 *
 * The points of the recommended arm make a curve.  People are drawn again with replacement, runs
 * get the noise that seeds were seen to make, and the curve is fitted again: what 200 of these
 * predict, with the noise of one more run and of other people who are tested, is the interval.
 */
#include "plan/answer.h"
#include "plan/scores.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "base/statistics.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DRAWS = 200, POINTS_MAX = 64, TRUSTED_TIMES = 4, KINDS_LEAST = 3 };
static const double VAGUE = 0.3; /* of an interval; our choice, beside methods 0.05 to 0.2 apart */

static void weak(struct answer *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void weak(struct answer *a, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    if (a->n_weak < WEAK_MAX)
        vsnprintf(a->weak[a->n_weak++], WORDS, fmt, args);
    va_end(args);
}

/* ---- the points of an arm's curve ---- */

struct cloud {
    const struct trial *of[POINTS_MAX];
    struct curve_point at[POINTS_MAX];
    int n;
    double sd; /* of one run around its curve */
    bool heldout;
};

static bool same_method(const struct trial *a, const struct trial *b)
{
    return strcmp(plan_recipes[a->recipe].method, plan_recipes[b->recipe].method) == 0;
}

static bool is_baseline(const struct trial *t)
{
    return plan_recipes[t->recipe].baseline;
}

/* Runs with the arm's recipe and strategy; short ones of its siblings are at a level of their own.
 */
static int level_of(const struct trial *t, const struct trial *arm)
{
    if (!t->done || t->on_test || !same_method(t, arm))
        return -1;
    if (t->recipe == arm->recipe && t->strategy == arm->strategy)
        return t->level;
    return t->level == 2 ? CURVE_LEVELS - 1 : -1;
}

static double spread_of_people(const struct trial *t)
{
    struct summary s = summary_of(t->person, (size_t)t->n_person);
    return t->n_person > 1 ? s.sd : 0.1;
}

/* Tasks of few classes share them.  Beyond what a query of so many items makes uncertain, tasks
 * differ by their classes and by their supports; half of it is taken for classes, which are drawn
 * anew for validation and for tests. */
static double spread_of_classes(const struct situation *s, const struct trial *t)
{
    if (s->users || s->groups[0] < 1 || s->groups[1] < 1)
        return 0;
    double spread = spread_of_people(t), query = (double)s->bench.ways * s->query;
    double tasks = spread * spread - t->accuracy * (1 - t->accuracy) / query;
    return sqrt(0.5 * fmax(tasks, 0) * s->bench.ways * (1.0 / s->groups[0] + 1.0 / s->groups[1]));
}

/* The deviation of runs that differ in their seed alone; by four degrees of freedom it is drawn to
 * what such runs had in docs/plan.md, and to half of what so few people make the mean uncertain:
 * all runs are of the same ones. */
static double noise_of_runs(const struct race *r, const struct trial *arm)
{
    double people = 0.5 * spread_of_people(arm) / sqrt(arm->n_person);
    double runs = plan_recipes[arm->recipe].fixed ? 0.005 : 0.025;
    double squares = 4 * (runs * runs + people * people);
    int df = 4;
    for (int i = 0; i < r->made; i++)
        for (int j = 0; j < i; j++) {
            const struct trial *a = &r->trial[i], *b = &r->trial[j];
            if (!a->done || !b->done || !same_arm(a, b) || a->budget != b->budget ||
                a->level != b->level || a->seed == b->seed || a->on_test != b->on_test)
                continue;
            squares += (a->accuracy - b->accuracy) * (a->accuracy - b->accuracy) / 2;
            df++;
        }
    return sqrt(squares / df);
}

static void gather(struct cloud *p, const struct race *r, const struct trial *arm)
{
    *p = (struct cloud){.sd = noise_of_runs(r, arm), .heldout = plan_recipes[arm->recipe].heldout};
    for (int i = 0; i < r->made && p->n < POINTS_MAX; i++) {
        const struct trial *t = &r->trial[i];
        int level = level_of(t, arm);
        if (level < 0 || t->tasks < 1)
            continue;
        p->of[p->n] = t;
        p->at[p->n++] = (struct curve_point){.n = (double)t->tasks,
                                             .m = (double)t->labels / (double)t->tasks,
                                             .level = level,
                                             .error = 1 - t->accuracy,
                                             .weight = 1 / (p->sd * p->sd)};
    }
}

/* Different numbers of people and labels each among the points. */
static int kinds_of_points(const struct cloud *p)
{
    int kinds = 0;
    for (int i = 0; i < p->n; i++) {
        bool seen = false;
        for (int j = 0; j < i; j++)
            seen |= p->at[j].n == p->at[i].n && p->at[j].m == p->at[i].m;
        kinds += !seen;
    }
    return kinds;
}

/* ---- how to spend a budget along a curve ---- */

static double best_error(const struct situation *s, const struct curve *c, double labels,
                         struct amount *out)
{
    double least = INFINITY;
    for (int e = 0; e < s->n_more; e++) {
        double each = s->each[e], n = fmin(labels / each, s->people);
        if (n < 1)
            continue;
        double error = curve_at(c, n, each);
        if (!(error < least))
            continue;
        least = error;
        if (out)
            *out =
                (struct amount){(int64_t)(n * each + 0.5), (int64_t)n, s->each[e], 0, 0, 0, true};
    }
    return isinf(least) ? NAN : least;
}

static double clamp(double x)
{
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

/* ---- drawing again ---- */

struct draws {
    double at[BUDGETS][DRAWS];
};

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double drawn_error(const struct trial *t, const int *people)
{
    double sum = 0;
    for (int i = 0; i < t->n_person; i++)
        sum += t->person[people[i]];
    return 1 - sum / t->n_person;
}

/* A point of the curve, or where there is none the error that was measured. */
static double error_at(const struct answer *a, const struct curve *c, const struct amount *at,
                       double measured)
{
    return a->odd ? measured : curve_at(c, (double)at->people, at->each);
}

static void draw_once(const struct answer *a, const struct cloud *p, struct rng *rng,
                      double out[BUDGETS])
{
    int n = a->best.n_person;
    int *people = mem_array((size_t)n, sizeof *people);
    struct curve_point at[POINTS_MAX];
    struct curve c;
    double measured = 0, tested = spread_of_people(&a->best) / sqrt(a->s->tested);
    double classes = spread_of_classes(a->s, &a->best);
    int whole = 0;
    for (int i = 0; i < n; i++)
        people[i] = (int)rng_below(rng, (uint32_t)n);
    for (int i = 0; i < p->n; i++) {
        at[i] = p->at[i];
        at[i].error = drawn_error(p->of[i], people) + p->sd * rng_normal(rng);
        if (p->of[i]->level == 0 && p->of[i]->budget == a->best.budget &&
            same_arm(p->of[i], &a->best)) {
            measured += at[i].error;
            whole++;
        }
    }
    curve_fit(&c, at, p->n, p->heldout);
    double later = p->sd * rng_normal(rng) + tested * rng_normal(rng) + classes * rng_normal(rng);
    for (int b = 0; b < BUDGETS; b++)
        out[b] = 1 - error_at(a, &c, &a->at[b], measured / whole) + later;
    free(people);
}

static void draw_intervals(struct answer *a, const struct race *r, const struct cloud *p)
{
    struct draws *d = mem_alloc(sizeof *d);
    for (int i = 0; i < DRAWS; i++) {
        struct rng rng = rng_make(r->seed, RNG_PLAN, (uint64_t)i, 0);
        double out[BUDGETS];
        draw_once(a, p, &rng, out);
        for (int b = 0; b < BUDGETS; b++)
            d->at[b][i] = out[b];
    }
    /* Few people drawn again differ less than others would: as Student's t beside the normal. */
    double n = a->best.n_person, wide = 1;
    if (n > 1)
        wide = student_quantile(0.95, n - 1) / student_quantile(0.95, 1e6) * sqrt(n / (n - 1));
    for (int b = 0; b < BUDGETS; b++) {
        /* What is drawn has the noise twice, so that a curve's bounds move its middle. */
        qsort(d->at[b], DRAWS, sizeof *d->at[b], ascending);
        double middle = sorted_quantile(d->at[b], DRAWS, 0.5), at = a->at[b].accuracy;
        a->at[b].lo = clamp(at - wide * (middle - sorted_quantile(d->at[b], DRAWS, 0.05)));
        a->at[b].hi = clamp(at + wide * (sorted_quantile(d->at[b], DRAWS, 0.95) - middle));
    }
    free(d);
}

/* ---- the parts of an answer ---- */

/* The allocation of a budget: at what was run, that of the recommended arm. */
static void spend(struct answer *a, const struct curve *c, double labels, struct amount *out)
{
    const struct situation *s = a->s;
    int each = s->each[a->best.each];
    int64_t people = situation_tasks(s, (int64_t)labels, each);
    *out = (struct amount){.labels = people * each, .people = people, .each = each};
    bool fixed = plan_recipes[a->best.recipe].fixed;
    if (!fixed && !a->odd && fabs(labels - (double)s->within) > 0.5)
        best_error(s, c, labels, out);
    out->trusted = (double)out->labels <= TRUSTED_TIMES * (double)s->within;
}

/* What a whole run was luckier or unluckier than its method stands. */
static double luck_of(const struct race *r, const struct trial *arm)
{
    return race_standing(r, arm) - race_mean(r, arm, NULL);
}

static void predict_budgets(struct answer *a, const struct race *r, const struct cloud *p,
                            const struct curve *c)
{
    static const double times[BUDGETS] = {0.1, 0.25, 0.5, 1, 2, 4, 7, 10};
    double measured = 1 - race_mean(r, &a->best, NULL);
    double luck = luck_of(r, &a->best);
    for (int b = 0; b < BUDGETS; b++) {
        spend(a, c, times[b] * (double)a->s->labels, &a->at[b]);
        a->at[b].accuracy = clamp(1 - error_at(a, c, &a->at[b], measured) + luck);
    }
    draw_intervals(a, r, p);
    a->amount = a->at[ONCE];
}

static void find_target(struct answer *a, const struct curve *c)
{
    double most = 100.0 * (double)a->s->within;
    bool fixed = plan_recipes[a->best.recipe].fixed;
    a->reach = fixed ? a->amount.accuracy : clamp(1 - best_error(a->s, c, most, NULL));
    if (!(a->s->o->target > 0) || fixed)
        return;
    a->target_labels = NAN;
    for (double labels = a->s->each[0]; labels <= most && isnan(a->target_labels); labels *= 1.05)
        if (1 - best_error(a->s, c, labels, NULL) >= a->s->o->target)
            a->target_labels = ceil(labels);
    a->target_trusted = a->target_labels <= TRUSTED_TIMES * (double)a->s->within;
}

/* The latest trial of a method, and the arm of the leader that was run alike. */
static void stand(struct answer *a, const struct race *r, const char *method)
{
    struct standing *m = &a->method[a->n_methods];
    const struct trial *mine = NULL, *theirs = NULL;
    for (int i = 0; i < r->made; i++) {
        const struct trial *t = &r->trial[i];
        bool counts = t->done && strcmp(plan_recipes[t->recipe].method, method) == 0 && !t->on_test;
        bool later = mine && (t->level < mine->level ||
                              (t->level == mine->level && t->budget > mine->budget));
        bool better = mine && t->level == mine->level && t->budget >= mine->budget &&
                      t->accuracy > mine->accuracy;
        if (counts && (!mine || later || better))
            mine = t;
    }
    if (!mine)
        return;
    for (int i = 0; i < r->made; i++) {
        const struct trial *t = &r->trial[i];
        bool same_budget =
            t->budget == mine->budget || (is_baseline(mine) && t->budget == a->best.budget);
        bool same_level = t->level == mine->level || is_baseline(t); /* those have one alone */
        bool alike = t->done && !t->on_test && same_method(t, &a->best) &&
                     (plan_recipes[t->recipe].fixed || (same_level && same_budget));
        if (alike && (!theirs || t->accuracy > theirs->accuracy))
            theirs = t;
    }
    *m = (struct standing){.method = method,
                           .at = mine->budget,
                           .whole = mine->level == 0,
                           .accuracy = race_mean(r, mine, NULL),
                           .behind = NAN,
                           .more_people = NAN,
                           .more_each = NAN};
    if (theirs) {
        struct margin x = race_margin(r, theirs, mine);
        m->behind = x.mean;
        m->behind_half = 1.96 * x.se;
    }
    a->n_methods++;
    struct cloud p;
    struct curve c;
    char why[WORDS];
    gather(&p, r, mine);
    if (p.n < 5 || plan_recipes[mine->recipe].fixed)
        return;
    curve_fit(&c, p.at, p.n, p.heldout);
    if (curve_odd(&c, p.at, p.n, why, sizeof why))
        return;
    double n = (double)mine->tasks, each = (double)mine->labels / n, here = curve_at(&c, n, each);
    m->more_people = here - curve_at(&c, fmin(n + 100 / each, a->s->people), each);
    m->more_each = here - curve_at(&c, n, each + 100 / n);
}

static void stand_all(struct answer *a, const struct race *r)
{
    for (int i = 0; plan_recipes[i].method; i++) {
        bool seen = !situation_has(a->s, &plan_recipes[i]);
        for (int k = 0; k < a->n_methods; k++)
            seen |= strcmp(a->method[k].method, plan_recipes[i].method) == 0;
        if (!seen && a->n_methods < METHODS_MAX)
            stand(a, r, plan_recipes[i].method);
    }
}

static void say_weaknesses(struct answer *a, const char *why)
{
    const struct situation *s = a->s;
    if (plan_recipes[a->best.recipe].fixed)
        weak(a, "Methods that learn from labels were tried with up to %" PRId64 " of them.",
             s->within);
    else if (a->odd)
        weak(a,
             "%s has no learning curve here: %s.  So nothing is said of other budgets "
             "than %" PRId64 " labels.",
             plan_recipes[a->best.recipe].method, why, a->validated);
    else if (s->within < s->labels)
        weak(a,
             "Runs were made with up to %" PRId64 " labels, all that are known; beyond is "
             "extrapolation%s.",
             a->validated,
             (double)s->labels > TRUSTED_TIMES * (double)s->within
                 ? ", and more than four times as far is a guess"
                 : "");
    else
        weak(a, "Validated up to %" PRId64 " labels; beyond is extrapolation.", a->validated);
    if (s->steps < s->whole_steps)
        weak(a,
             "Runs were of %d training steps, so that a plan takes minutes; longer training may do "
             "better (--set train.steps=%d).",
             s->steps, s->whole_steps);
    if (s->users && s->judged < 20)
        weak(a, "Only %d people are there to compare methods on; small differences cannot be seen.",
             s->judged);
    if (a->second.done && a->second_margin < a->second_half)
        weak(a, "The runner-up is within the noise of the comparison.");
    int64_t spent = a->at[ONCE].labels;
    if (!plan_recipes[a->best.recipe].fixed && spent < s->labels * 9 / 10)
        weak(a,
             "Only %" PRId64 " of the %" PRId64 " labels are spent: more than %d each of %" PRId64
             " %s were not tried.",
             spent, s->labels, a->at[ONCE].each, a->at[ONCE].people, s->users ? "people" : "tasks");
}

/* A quarter of the labels is where curves can be trusted from.  Where what is known leaves an
 * interval that says little, as much again is bought first. */
static void plan_pilot(struct answer *a)
{
    const struct situation *s = a->s;
    int64_t most = s->labels - s->within;
    int64_t quarter = (s->labels + TRUSTED_TIMES - 1) / TRUSTED_TIMES - s->within;
    if (a->of == SIMULATED)
        return;
    a->vague = a->amount.hi - a->amount.lo > VAGUE;
    if (!plan_recipes[a->best.recipe].fixed && quarter > 0)
        a->pilot = quarter;
    if (a->vague && a->pilot < s->within)
        a->pilot = s->within < most ? s->within : most;
}

int answer_make(struct answer *a, const struct race *r, int best, int second)
{
    struct cloud p;
    struct curve c;
    char why[WORDS] = "", suites[80];
    int64_t kinds[3];
    *a = (struct answer){.s = r->s, .best = r->trial[best], .validated = r->trial[best].labels};
    a->of = r->s->within < r->s->labels ? ANSWERED : SIMULATED;
    snprintf(suites, sizeof suites, "%s-[0-9]", r->name);
    int err = scores_labels(r->s->o->db, suites, kinds);
    if (err)
        return err;
    a->used_training = kinds[0];
    a->used_validation = kinds[2];
    for (int i = 0; i < r->made; i++)
        a->runs += r->trial[i].done;
    if (second >= 0) {
        struct margin m = race_margin(r, &a->best, &r->trial[second]);
        a->second = r->trial[second];
        a->second_margin = m.mean;
        a->second_half = 1.645 * m.se;
    }
    gather(&p, r, &a->best);
    curve_fit(&c, p.at, p.n, p.heldout);
    a->odd = curve_odd(&c, p.at, p.n, why, sizeof why);
    if (!a->odd && kinds_of_points(&p) < KINDS_LEAST) {
        a->odd = true;
        snprintf(why, sizeof why, "its runs differ too little in people and labels each");
    }
    predict_budgets(a, r, &p, &c);
    a->curve = c;
    a->curve.a -= luck_of(r, &a->best);
    find_target(a, &a->curve);
    for (int i = 0; i < r->made; i++)
        if (r->trial[i].done && same_arm(&r->trial[i], &a->best) && r->trial[i].level == 0 &&
            r->trial[i].budget == a->best.budget) {
            int seeds;
            race_mean(r, &a->best, &seeds);
            a->worse += r->trial[i].worse / seeds;
            a->before += r->trial[i].before / seeds;
        }
    stand_all(a, r);
    say_weaknesses(a, why);
    plan_pilot(a);
    struct trial spent = a->best;
    for (int e = 0; e < r->s->n_more; e++)
        if (r->s->each[e] == a->amount.each)
            spent.each = e;
    a->command = trial_command(r->s, &spent, a->amount.labels);
    return 0;
}

void answer_release(struct answer *a)
{
    free(a->command);
    *a = (struct answer){0};
}
