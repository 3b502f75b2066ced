/* race.c - which trials are worth making: short ones first, and longer ones of those that do not
 * fall behind.
 *
 *   1  every method at each number of labels each, all labels, a quarter of the steps; baselines
 *   2  the best arm of each method that is not far behind, half of the steps; of the leader also
 *      its next numbers of labels each, labels chosen by the learner, and settings that may matter
 *   3  the best arms as they would be done, up to three seeds each
 *   4  the best with fewer labels, for its curve, and the other methods for theirs
 *
 * Each stage has a share of the plan's allowance, and each has seeds of its own: what was lucky
 * enough to go on is measured anew.  Who is behind is decided by differences on the same validation
 * people.  Nothing depends on the clock, so the same seed makes the same race on any number of
 * threads, and after a kill.
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

enum { FINALISTS = 3, FINAL_SEEDS = 3 };
static const double SEMI = 0.65, FINAL = 0.9; /* shares of the allowance up to these stages' ends */
static const double HALF_COUNTS = 0.7; /* of a whole training, beside which it was half as long */
static const double FAR = 0.08; /* behind, after a quarter of the steps: not to be caught up with */

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
    r->spent += effort_of(s, &t);
    return r->n++;
}

/* If this share of the allowance pays for it. */
static bool want_within(struct race *r, struct trial t, double share)
{
    bool paid = r->spent + effort_of(r->s, &t) <= share * r->s->allowance;
    if (paid)
        race_want(r, t);
    return paid;
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

/* Trials of nets, at a level. */
static struct ranking rank(const struct race *r, int level)
{
    struct ranking k = {0};
    for (int i = 0; i < r->made; i++)
        if (r->trial[i].done && trained(&r->trial[i]) && r->trial[i].level == level)
            put_in_order(r, &k, i);
    return k;
}

static void want_methods(struct race *r)
{
    const struct situation *s = r->s;
    for (int i = 0; plan_recipes[i].method; i++) {
        const struct recipe *p = &plan_recipes[i];
        if (!situation_has(s, p) || p->variant)
            continue;
        int last = s->n_each - 1, step = p->baseline && last > 0 ? last : 1;
        for (int e = 0; e < (p->fixed ? 1 : s->n_each); e += step) /* few or many labels each */
            race_want(r, (struct trial){.recipe = i,
                                        .each = e,
                                        .level = p->baseline ? 0 : 2,
                                        .budget = s->within,
                                        .seed = r->seed});
    }
}

static bool same_method(const struct trial *a, const struct trial *b)
{
    return strcmp(plan_recipes[a->recipe].method, plan_recipes[b->recipe].method) == 0;
}

/* The first of a ranking with this one's method, and the next one of it; -1: none. */
static int of_method(const struct race *r, const struct ranking *k, const struct trial *t, int nth)
{
    for (int i = 0; i < k->n; i++)
        if (same_method(&r->trial[k->at[i]], t) && nth-- == 0)
            return k->at[i];
    return -1;
}

static struct trial half_of(const struct race *r, int i)
{
    const struct trial *t = &r->trial[i];
    return (struct trial){.recipe = t->recipe,
                          .each = t->each,
                          .strategy = t->strategy,
                          .budget = t->budget,
                          .level = 1,
                          .seed = r->seed + 1};
}

/* A method that learns slowly has half of the steps to catch up. */
static void want_methods_again(struct race *r, const struct ranking *k)
{
    for (int i = 0; i < k->n; i++) {
        const struct trial *t = &r->trial[k->at[i]], *leader = &r->trial[k->at[0]];
        struct margin m = race_margin(r, leader, t);
        bool best = of_method(r, k, t, 0) == k->at[i];
        if (best && m.mean - 1.3 * m.se < FAR)
            want_within(r, half_of(r, k->at[i]), i ? SEMI : 1);
    }
}

/* Another number of labels each, and other ways to the same. */
static void want_siblings(struct race *r, const struct ranking *k, const struct trial *leader)
{
    int at = of_method(r, k, leader, 0), next = of_method(r, k, leader, 1);
    if (next >= 0 && !behind(r, &r->trial[next], &r->trial[at]))
        want_within(r, half_of(r, next), SEMI);
    struct trial t = half_of(r, at);
    for (int v = 0; plan_recipes[v].method; v++) {
        t.recipe = v;
        if (plan_recipes[v].variant && situation_has(r->s, &plan_recipes[v]) &&
            same_method(&t, leader))
            want_within(r, t, SEMI);
    }
    t = half_of(r, at);
    t.strategy = STRATEGY_ACTIVE;
    want_within(r, t, SEMI);
}

static void want_semifinal(struct race *r)
{
    struct ranking k = rank(r, 2);
    if (k.n) {
        struct trial leader = r->trial[k.at[0]];
        want_methods_again(r, &k);
        want_siblings(r, &k, &leader);
        for (int i = 1; i < k.n; i++) {
            struct trial t = r->trial[k.at[i]];
            if (of_method(r, &k, &t, 0) == k.at[i] && !behind(r, &t, &r->trial[k.at[0]]))
                want_siblings(r, &k, &t);
        }
    }
    free(k.at);
}

/* The best two or three, as they would be done. */
static void want_whole(struct race *r)
{
    struct ranking k = rank(r, 1);
    if (k.n == 0) { /* none was paid for */
        free(k.at);
        k = rank(r, 2);
    }
    for (int seed = 0; seed < FINAL_SEEDS; seed++)
        for (int i = 0; i < k.n && i < FINALISTS; i++) {
            struct trial t = half_of(r, k.at[i]);
            t.level = 0;
            t.seed = r->seed + 2 + (uint64_t)seed;
            if (i == 0 && seed == 0)
                race_want(r, t);
            else if (!behind(r, &r->trial[k.at[i]], &r->trial[k.at[0]]))
                want_within(r, t, FINAL);
        }
    free(k.at);
}

/* Baselines had one seed, and the best of them was chosen by it. */
static void want_baselines_again(struct race *r)
{
    struct ranking k = rank(r, 1), baselines = {0};
    for (int i = 0; i < r->made; i++)
        if (r->trial[i].done && !trained(&r->trial[i]))
            put_in_order(r, &baselines, i);
    for (int i = 0; i < baselines.n && i < FINALISTS; i++) {
        struct trial t = r->trial[baselines.at[i]];
        if ((k.n && behind(r, &t, &r->trial[k.at[0]])) || behind(r, &t, &r->trial[baselines.at[0]]))
            continue;
        for (int seed = 0; seed < FINAL_SEEDS - 1; seed++) {
            t.seed = r->seed + 2 + (uint64_t)seed;
            race_want(r,
                      (struct trial){
                          .recipe = t.recipe, .each = t.each, .budget = t.budget, .seed = t.seed});
        }
    }
    free(k.at);
    free(baselines.at);
}

/* With half of the steps if that is paid for, else with a quarter. */
static void want_fewer(struct race *r, const struct trial *arm, double share)
{
    struct trial t = {.recipe = arm->recipe,
                      .each = arm->each,
                      .strategy = arm->strategy,
                      .budget = (int64_t)(share * (double)r->s->within),
                      .seed = r->seed};
    for (t.level = trained(&t) ? 1 : 0; t.level <= 2; t.level++)
        if (want_within(r, t, 1))
            return;
}

static void want_curves(struct race *r, int best)
{
    struct trial t = r->trial[best];
    struct ranking k = rank(r, 2);
    if (!plan_recipes[t.recipe].fixed) {
        want_fewer(r, &t, 0.25);
        want_fewer(r, &t, 0.1);
    }
    for (int i = 0; i < k.n; i++) {
        struct trial other = r->trial[k.at[i]];
        if (of_method(r, &k, &other, 0) != k.at[i] || same_method(&other, &t))
            continue;
        other.budget = r->s->within / 4;
        want_within(r,
                    (struct trial){.recipe = other.recipe,
                                   .each = other.each,
                                   .budget = other.budget,
                                   .level = 2,
                                   .seed = r->seed},
                    1);
    }
    if (!plan_recipes[t.recipe].fixed)
        want_fewer(r, &t, 0.5);
    free(k.at);
}

/* ---- the choice ---- */

/* What the second half of the training may bring: somewhat less than the second quarter did, over
 * the arms that had both. */
static double gain_of_steps(const struct race *r)
{
    double sum = 0;
    int n = 0;
    for (int i = 0; i < r->made; i++) {
        const struct trial *t = &r->trial[i];
        struct trial quarter = *t;
        quarter.level = 2;
        double before = race_mean(r, &quarter, NULL);
        if (t->done && t->level == 1 && !isnan(before)) {
            sum += t->accuracy - before;
            n++;
        }
    }
    return n && sum > 0 ? 0.7 * sum / n : 0;
}

double race_standing(const struct race *r, const struct trial *t)
{
    struct trial half = *t;
    int n, n_half;
    half.level = 1;
    double whole = race_mean(r, t, &n), part = race_mean(r, &half, &n_half);
    if (n_half == 0)
        return whole;
    return (n * whole + HALF_COUNTS * (part + gain_of_steps(r))) / (n + HALF_COUNTS);
}

/* The best and the next best arm as they would be done. */
static int find_best(const struct race *r, int *best, int *second)
{
    double first = 0, next = 0;
    *best = *second = -1;
    for (int i = 0; i < r->made; i++) {
        const struct trial *t = &r->trial[i];
        double value = race_standing(r, t);
        bool seen = (*best >= 0 && same_arm(t, &r->trial[*best])) ||
                    (*second >= 0 && same_arm(t, &r->trial[*second]));
        if (!t->done || t->level != 0 || seen)
            continue;
        if (*best < 0 || value > first) {
            *second = *best;
            next = first;
            *best = i;
            first = value;
        } else if (*second < 0 || value > next) {
            *second = i;
            next = value;
        }
    }
    return *best < 0 ? fail(METE_EDIVERGE, "no run of the plan came to an end; the log says why")
                     : 0;
}

int race_run(struct race *r, int *best, int *second)
{
    want_methods(r);
    int err = race_make(r, 1);
    if (!err) {
        want_semifinal(r);
        err = race_make(r, 2);
    }
    if (!err) {
        want_whole(r);
        want_baselines_again(r);
        err = race_make(r, 3);
    }
    if (!err)
        err = find_best(r, best, second);
    if (!err) {
        want_curves(r, *best);
        err = race_make(r, 4);
    }
    return err;
}
