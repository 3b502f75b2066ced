/* race.c - which trials are worth making: small ones first, and more of those that do not fall
 * behind.
 *
 *   1  every method at each number of labels each, a quarter of the labels and of the steps
 *   2  the methods that are not behind, at all labels
 *   3  the arms that are not behind, half of the steps; labels chosen by the learner, and settings
 *      that may matter
 *   4  the best two arms as they would be done, two seeds each
 *   5  the best with a tenth, a quarter and half of the labels, for its curve
 *
 * Who is behind is decided by differences on the same validation people.  Nothing depends on the
 * clock, so the same seed makes the same race on any number of threads, and after a kill.
 */
#include "plan/plan.h"
#include "plan/scores.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/statistics.h"
#include "run/sweep.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool same_arm(const struct trial *a, const struct trial *b)
{
    return a->recipe == b->recipe && a->each == b->each && a->strategy == b->strategy;
}

static bool same_trial(const struct trial *a, const struct trial *b)
{
    return same_arm(a, b) && a->budget == b->budget && a->level == b->level && a->seed == b->seed &&
           a->on_test == b->on_test;
}

int race_want(struct race *r, struct trial t)
{
    const struct situation *s = r->s;
    int64_t most = (int64_t)s->people * s->each[t.each], least = s->each[t.each];
    t.budget = t.budget > most ? most : t.budget < least ? least : t.budget;
    for (int i = 0; i < r->n; i++)
        if (same_trial(&r->trial[i], &t))
            return i;
    r->trial = mem_grow(r->trial, (size_t)r->n + 1, sizeof *r->trial);
    r->trial[r->n] = t;
    return r->n++;
}

static int open_suite(const struct race *r, int stage, struct suite *suite)
{
    int err = 0;
    suite->name = mem_print("%s-%d", r->name, stage);
    suite->path = mem_string("mete plan");
    suite->text = mem_print("# stage %d of a plan\n", stage);
    suite->runs = mem_array((size_t)(r->n - r->made), sizeof *suite->runs);
    for (int i = r->made; i < r->n && !err; i++)
        err = trial_settings(r->s, &r->trial[i], NULL, &suite->runs[suite->n_runs++]);
    return err;
}

/* A run that diverged is a trial that lost; the others go on. */
static int run_suite(const struct race *r, struct suite *suite)
{
    struct mete_run_summary summary = {0};
    const struct mete_plan_options *o = r->s->o;
    struct mete_run_options run = {.suite = suite->path,
                                   .db = o->db,
                                   .device = o->device,
                                   .threads = o->threads,
                                   .summary = &summary,
                                   .progress = o->progress,
                                   .user = o->user};
    int err = sweep_suite(&run, &sweep_training, suite, r->s->shelf);
    return err == METE_EDIVERGE && summary.done > 0 ? 0 : err;
}

static void release_suite(struct suite *suite)
{
    for (int i = 0; i < suite->n_runs; i++)
        settings_release(&suite->runs[i]);
    free(suite->runs);
    free(suite->name);
    free(suite->path);
    free(suite->text);
}

int race_make(struct race *r, int stage)
{
    struct suite suite = {0};
    if (r->made == r->n)
        return 0;
    int err = open_suite(r, stage, &suite);
    if (!err)
        err = run_suite(r, &suite);
    if (!err)
        err = scores_read(r->s->o->db, suite.name, r->trial + r->made, r->n - r->made);
    release_suite(&suite);
    r->made = r->n;
    return err;
}

void race_release(struct race *r)
{
    for (int i = 0; i < r->n; i++)
        free(r->trial[i].person);
    free(r->trial);
    *r = (struct race){0};
}

/* ---- comparing ---- */

static bool same_but_seed(const struct trial *a, const struct trial *b)
{
    return same_arm(a, b) && a->budget == b->budget && a->level == b->level &&
           a->on_test == b->on_test;
}

double race_mean(const struct race *r, const struct trial *t, int *seeds)
{
    double sum = 0;
    int n = 0;
    for (int i = 0; i < r->made; i++)
        if (r->trial[i].done && same_but_seed(&r->trial[i], t)) {
            sum += r->trial[i].accuracy;
            n++;
        }
    if (seeds)
        *seeds = n;
    return n ? sum / n : NAN;
}

/* Person by person, the mean over an arm's seeds. */
static void add_people(const struct race *r, const struct trial *t, double sign, double *out)
{
    int seeds;
    race_mean(r, t, &seeds);
    for (int i = 0; i < r->made; i++)
        if (r->trial[i].done && same_but_seed(&r->trial[i], t))
            for (int p = 0; p < t->n_person; p++)
                out[p] += sign * r->trial[i].person[p] / seeds;
}

struct margin race_margin(const struct race *r, const struct trial *a, const struct trial *b)
{
    int n = a->n_person;
    double *difference = mem_array((size_t)n, sizeof *difference);
    add_people(r, a, 1, difference);
    add_people(r, b, -1, difference);
    struct summary s = summary_of(difference, (size_t)n);
    free(difference);
    return (struct margin){s.mean, n > 1 ? s.sd / sqrt(n) : INFINITY};
}

/* By more than 1.3 standard errors: one in ten of equals. */
static bool behind(const struct race *r, const struct trial *t, const struct trial *leader)
{
    struct margin m = race_margin(r, leader, t);
    return m.mean > 1.3 * m.se;
}

/* ---- the stages ---- */

struct ranking { /* trials of one stage, the best first */
    int *at, n;
};

static void put_in_order(const struct race *r, struct ranking *k, int i)
{
    k->at = mem_grow(k->at, (size_t)k->n + 1, sizeof *k->at);
    int p = k->n++;
    for (; p > 0 && r->trial[k->at[p - 1]].accuracy < r->trial[i].accuracy; p--)
        k->at[p] = k->at[p - 1];
    k->at[p] = i;
}

static bool trained(const struct trial *t)
{
    return !plan_recipes[t->recipe].baseline;
}

/* Trials first..made that are of nets, at a level. */
static struct ranking rank(const struct race *r, int first, int level)
{
    struct ranking k = {0};
    for (int i = first; i < r->made; i++)
        if (r->trial[i].done && trained(&r->trial[i]) && r->trial[i].level == level)
            put_in_order(r, &k, i);
    return k;
}

static void want_methods(struct race *r)
{
    const struct situation *s = r->s;
    int64_t quarter = s->within / 4;
    for (int i = 0; plan_recipes[i].method; i++) {
        const struct recipe *p = &plan_recipes[i];
        if (!situation_has(s, p) || p->variant)
            continue;
        int last = s->n_each - 1, step = p->baseline && last > 0 ? last : 1;
        for (int e = 0; e < (p->fixed ? 1 : s->n_each); e += step) { /* few or many labels each */
            struct trial t = {
                .recipe = i, .each = e, .level = p->baseline ? 0 : 2, .seed = r->seed};
            t.budget = p->baseline ? s->within : quarter;
            race_want(r, t);
        }
    }
}

/* The best two methods go on, the second only where its best arm is not behind. */
static void want_allocations(struct race *r)
{
    struct ranking k = rank(r, 0, 2);
    int kept[2], n = 0;
    for (int i = 0; i < k.n && n < 2; i++) {
        const struct trial *t = &r->trial[k.at[i]], *leader = &r->trial[k.at[0]];
        bool seen = n == 1 && r->trial[kept[0]].recipe == t->recipe;
        if (!seen && (n == 0 || !behind(r, t, leader)))
            kept[n++] = k.at[i];
    }
    for (int i = 0; i < n; i++)
        for (int e = 0; e < r->s->n_each; e++) {
            struct trial t = {.recipe = r->trial[kept[i]].recipe,
                              .each = e,
                              .budget = r->s->within,
                              .level = 2,
                              .seed = r->seed};
            race_want(r, t);
        }
    free(k.at);
}

/* The first two of a ranking that are not behind, and of each what is to be tried beside it. */
static void want_siblings(struct race *r, int first)
{
    struct ranking k = rank(r, first, 2);
    for (int i = 0; i < k.n && i < 2; i++) {
        struct trial t = r->trial[k.at[i]];
        if (behind(r, &t, &r->trial[k.at[0]]))
            break;
        struct trial next = {
            .recipe = t.recipe, .each = t.each, .budget = t.budget, .level = 1, .seed = r->seed};
        race_want(r, next);
        next.strategy = STRATEGY_ACTIVE;
        race_want(r, next);
        next.strategy = STRATEGY_RANDOM;
        for (int v = 0; plan_recipes[v].method; v++)
            if (plan_recipes[v].variant && situation_has(r->s, &plan_recipes[v]) &&
                strcmp(plan_recipes[v].method, plan_recipes[t.recipe].method) == 0) {
                next.recipe = v;
                race_want(r, next);
            }
    }
    free(k.at);
}

static void want_whole(struct race *r, int first)
{
    struct ranking k = rank(r, first, 1);
    for (int i = 0; i < k.n && i < 2; i++)
        for (int seed = 0; seed < 2; seed++) {
            struct trial t = r->trial[k.at[i]], next = {.recipe = t.recipe,
                                                        .each = t.each,
                                                        .strategy = t.strategy,
                                                        .budget = t.budget,
                                                        .seed = r->seed + (uint64_t)seed};
            race_want(r, next);
        }
    free(k.at);
}

static void want_curve(struct race *r, int best)
{
    static const double shares[] = {0.1, 0.25, 0.5};
    for (int i = 0; i < 3; i++) {
        struct trial t = r->trial[best], next = {.recipe = t.recipe,
                                                 .each = t.each,
                                                 .strategy = t.strategy,
                                                 .budget = (int64_t)(shares[i] * (double)t.budget),
                                                 .seed = r->seed};
        race_want(r, next);
    }
}

/* The best and the next best arm as they would be done. */
static int find_best(const struct race *r, int *best, int *second)
{
    *best = *second = -1;
    for (int i = 0; i < r->made; i++) {
        const struct trial *t = &r->trial[i];
        double mean = race_mean(r, t, NULL);
        bool counts = t->done && t->level == 0 && t->seed == r->seed;
        if (!counts)
            continue;
        if (*best < 0 || mean > race_mean(r, &r->trial[*best], NULL)) {
            *second = *best;
            *best = i;
        } else if (*second < 0 || mean > race_mean(r, &r->trial[*second], NULL)) {
            *second = i;
        }
    }
    return *best < 0 ? fail(METE_EDIVERGE, "no run of the plan came to an end; the log says why")
                     : 0;
}

int race_run(struct race *r, int *best, int *second)
{
    int err, first;
    want_methods(r);
    err = race_make(r, 1);
    if (!err) {
        first = r->n;
        want_allocations(r);
        err = race_make(r, 2);
    }
    if (!err) {
        want_siblings(r, first);
        first = r->n;
        err = race_make(r, 3);
    }
    if (!err) {
        want_whole(r, 0);
        err = race_make(r, 4);
    }
    if (!err)
        err = find_best(r, best, second);
    if (!err) {
        want_curve(r, *best);
        err = race_make(r, 5);
    }
    return err;
}
