/* eval.c - how good a plan was: beside the full grid of its arms at all labels, and beside advisors
 * who look at no data.
 *
 * The grid's runs are tested on the test part, which plans do not look at, with seeds of their own.
 */
#include "plan/answer.h"
#include "plan/scores.h"
#include "base/error.h"
#include "base/jsonw.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/options.h"
#include "mete_theory.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ADVISORS = 4, GRID_SEED = 100 };

struct verdict_of_plan {
    const struct trial *best, *plan; /* cells of the grid */
    double best_accuracy, accuracy;
    double regret, half; /* of 95 %, over test people */
    bool holds;          /* the interval that was predicted */
    int cells;
    double share, share_seconds; /* of the grid's work, and of its seconds, that the plan took */
    struct advice {
        const char *name;
        int each;           /* a level; -1: by validation among the paper's shots */
        double regret;      /* mean over the paper's methods */
        double with_method; /* with the method of the plan; NaN: it has no such cell */
    } advice[ADVISORS];
};

/* ---- the grid ---- */

static void want_grid(struct race *g, int seeds)
{
    const struct situation *s = g->s;
    for (int i = 0; plan_recipes[i].method; i++) {
        const struct recipe *p = &plan_recipes[i];
        if (!situation_has(s, p))
            continue;
        for (int e = 0; e < (p->fixed ? 1 : s->n_each); e++)
            for (int strategy = 0; strategy < (p->baseline ? 1 : STRATEGIES); strategy++)
                for (int seed = 0; seed < seeds; seed++)
                    race_want(g, (struct trial){.recipe = i,
                                                .each = e,
                                                .strategy = strategy,
                                                .budget = s->within,
                                                .seed = g->seed + (uint64_t)(GRID_SEED + seed),
                                                .on_test = true});
    }
}

/* The cell of an arm: its first seed that came to an end; NULL: none did. */
static const struct trial *cell(const struct race *g, const struct trial *arm)
{
    for (int i = 0; i < g->made; i++)
        if (g->trial[i].done && same_arm(&g->trial[i], arm))
            return &g->trial[i];
    return NULL;
}

static const struct trial *best_cell(const struct race *g)
{
    const struct trial *best = NULL;
    for (int i = 0; i < g->made; i++)
        if (g->trial[i].done &&
            (!best || race_mean(g, &g->trial[i], NULL) > race_mean(g, best, NULL)))
            best = &g->trial[i];
    return best;
}

/* ---- advisors ---- */

static int nearest_level(const struct situation *s, double each)
{
    int best = 0;
    for (int e = 1; e < s->n_each; e++)
        if (fabs(log(s->each[e] / each)) < fabs(log(s->each[best] / each)))
            best = e;
    return best;
}

/* Labels of a task with so many shots, and as many query labels where tasks are people. */
static double labels_of_shots(const struct situation *s, int shots)
{
    if (!s->users)
        return s->bench.ways * (shots + 1);
    return 2.0 * s->data->classes * shots;
}

/* The split of B that the bound of the paper likes best, every constant 1. */
static int level_of_bound(const struct situation *s, const char *method)
{
    struct mete_bound_setting b = mete_bound_defaults();
    struct mete_bound best;
    double query = s->users ? 1 : s->bench.ways;
    if (mete_bound_method(method, &b.estimator))
        return 0;
    b.m = s->users ? 2 : s->bench.ways;
    if (mete_bound_best(&b, (double)s->within, query, &best))
        return 0;
    return nearest_level(s, fmax(best.m, b.m) + query);
}

static int level_of(const struct situation *s, int advisor, const char *method)
{
    double b = (double)s->within;
    if (advisor == 0)
        return level_of_bound(s, method);
    if (advisor == 1) /* Cioba et al. 2022: the number of tasks grows as the root of the budget */
        return nearest_level(s, sqrt(b));
    return nearest_level(s, labels_of_shots(s, 1));
}

static double validated(const struct race *g, const struct trial *t)
{
    double sum = 0;
    int n = 0;
    for (int i = 0; i < g->made; i++)
        if (g->trial[i].done && same_arm(&g->trial[i], t)) {
            sum += g->trial[i].valid;
            n++;
        }
    return sum / n;
}

/* The cell that an advisor would have with this recipe. */
static const struct trial *advised(const struct race *g, int advisor, int recipe)
{
    const struct situation *s = g->s;
    static const int shots[] = {1, 3, 5};
    const struct trial *best = NULL;
    struct trial arm = {.recipe = recipe};
    if (advisor < 3) {
        arm.each =
            plan_recipes[recipe].fixed ? 0 : level_of(s, advisor, plan_recipes[recipe].method);
        return cell(g, &arm);
    }
    for (int i = 0; i < 3; i++) {
        arm.each = plan_recipes[recipe].fixed ? 0 : nearest_level(s, labels_of_shots(s, shots[i]));
        const struct trial *t = cell(g, &arm);
        if (t && (!best || validated(g, t) > validated(g, best)))
            best = t;
    }
    return best;
}

static void judge_advisors(struct verdict_of_plan *v, const struct race *g, const struct answer *a)
{
    static const char *const names[ADVISORS] = {"the bound", "square root", "one shot",
                                                "best of 1, 3, 5"};
    static const char *const papers[] = {"maml", "reptile", "protonet"};
    for (int k = 0; k < ADVISORS; k++) {
        struct advice *x = &v->advice[k];
        int n = 0;
        *x = (struct advice){.name = names[k], .with_method = NAN};
        for (int i = 0; plan_recipes[i].method; i++)
            for (int m = 0; m < 3; m++) {
                bool his = situation_has(g->s, &plan_recipes[i]) && !plan_recipes[i].variant &&
                           strcmp(plan_recipes[i].method, papers[m]) == 0;
                const struct trial *t = his ? advised(g, k, i) : NULL;
                if (!t)
                    continue;
                x->regret += v->best_accuracy - race_mean(g, t, NULL);
                n++;
            }
        x->regret = n ? x->regret / n : NAN;
        const struct trial *own = advised(g, k, a->best.recipe);
        if (own)
            x->with_method = v->best_accuracy - race_mean(g, own, NULL);
    }
}

/* ---- the verdict ---- */

static int judge(struct verdict_of_plan *v, const struct race *g, const struct answer *a)
{
    *v = (struct verdict_of_plan){.best = best_cell(g), .plan = cell(g, &a->best)};
    if (!v->best || !v->plan)
        return fail(METE_EDIVERGE, "no run of the grid came to an end; the log says why");
    v->best_accuracy = race_mean(g, v->best, NULL);
    v->accuracy = race_mean(g, v->plan, NULL);
    struct margin m = race_margin(g, v->best, v->plan);
    v->regret = v->best_accuracy - v->accuracy;
    v->half = v->best == v->plan ? 0 : 1.96 * m.se;
    v->holds = v->accuracy >= a->amount.lo && v->accuracy <= a->amount.hi;
    v->cells = 0;
    for (int i = 0; i < g->made; i++)
        v->cells += cell(g, &g->trial[i]) == &g->trial[i];
    judge_advisors(v, g, a);
    return 0;
}

static char *cell_text(const struct situation *s, const struct trial *t)
{
    const struct recipe *r = &plan_recipes[t->recipe];
    return mem_print("%s%s, %d each, %s", r->method, r->variant ? " (other settings)" : "",
                     s->each[t->each], strategy_names[t->strategy]);
}

static char *verdict_text(const struct verdict_of_plan *v, const struct answer *a)
{
    struct text out = {0};
    char *best = cell_text(a->s, v->best), *plan = cell_text(a->s, v->plan);
    text_print(&out, "%-18s %-40s %8s %8s\n", "", "", "accuracy", "regret");
    text_print(&out, "%-18s %-40s %7.1f%% %8s\n", "best of the grid", best, 100 * v->best_accuracy,
               "");
    text_print(&out, "%-18s %-40s %7.1f%% %8.1f ±%.1f\n", "the plan", plan, 100 * v->accuracy,
               100 * v->regret, 100 * v->half);
    for (int k = 0; k < ADVISORS; k++)
        text_print(&out, "%-18s %-40s %8s %8.1f   %.1f with the plan's method\n", v->advice[k].name,
                   "mean of maml, reptile, protonet", "", 100 * v->advice[k].regret,
                   100 * v->advice[k].with_method);
    text_print(&out,
               "\n%d cells.  Predicted %.1f %%, 90 %% interval %.1f to %.1f %%: %s.  The plan's "
               "runs took %.0f %% of the grid's work, and %.0f %% of its time.\n",
               v->cells, 100 * a->amount.accuracy, 100 * a->amount.lo, 100 * a->amount.hi,
               v->holds ? "it holds" : "it does not hold", 100 * v->share, 100 * v->share_seconds);
    free(best);
    free(plan);
    return text_take(&out);
}

/* Every cell, once; `half` of its distance from the best. */
static void put_grid(struct jsonw *w, const struct race *g, const struct trial *best)
{
    jsonw_array(w, "grid");
    for (int i = 0; i < g->made; i++) {
        const struct trial *t = &g->trial[i];
        if (cell(g, t) != t)
            continue;
        jsonw_object(w, NULL);
        jsonw_string(w, "method", plan_recipes[t->recipe].method);
        jsonw_int(w, "variant", plan_recipes[t->recipe].variant);
        jsonw_string(w, "strategy", strategy_names[t->strategy]);
        jsonw_int(w, "each", g->s->each[t->each]);
        jsonw_array(w, "settings");
        for (int k = 0; k < PLAN_SETTINGS_MAX && plan_recipes[t->recipe].set[k]; k++)
            jsonw_string(w, NULL, plan_recipes[t->recipe].set[k]);
        jsonw_close(w);
        jsonw_real(w, "accuracy", race_mean(g, t, NULL));
        jsonw_real(w, "half", t == best ? 0 : 1.96 * race_margin(g, best, t).se);
        jsonw_close(w);
    }
    jsonw_close(w);
}

static char *verdict_json(const struct verdict_of_plan *v, const struct answer *a,
                          const struct race *g)
{
    struct jsonw w = {0};
    char *best = cell_text(a->s, v->best), *plan = cell_text(a->s, v->plan);
    jsonw_object(&w, NULL);
    jsonw_string(&w, "data", a->s->o->data);
    jsonw_int(&w, "labels", a->s->labels);
    jsonw_int(&w, "cells", v->cells);
    jsonw_string(&w, "best", best);
    jsonw_real(&w, "best_accuracy", v->best_accuracy);
    jsonw_string(&w, "plan", plan);
    jsonw_real(&w, "accuracy", v->accuracy);
    jsonw_real(&w, "regret", v->regret);
    jsonw_real(&w, "half", v->half);
    jsonw_real(&w, "predicted", a->amount.accuracy);
    jsonw_real(&w, "low", a->amount.lo);
    jsonw_real(&w, "high", a->amount.hi);
    jsonw_bool(&w, "holds", v->holds);
    jsonw_real(&w, "share", v->share);
    jsonw_real(&w, "share_seconds", v->share_seconds);
    jsonw_int(&w, "ways", a->s->users ? a->s->data->classes : a->s->bench.ways);
    jsonw_bool(&w, "users", a->s->users);
    put_grid(&w, g, v->best);
    jsonw_array(&w, "advisors");
    for (int k = 0; k < ADVISORS; k++) {
        jsonw_object(&w, NULL);
        jsonw_string(&w, "name", v->advice[k].name);
        jsonw_real(&w, "regret", v->advice[k].regret);
        jsonw_real(&w, "with_method", v->advice[k].with_method);
        jsonw_close(&w);
    }
    jsonw_close(&w);
    jsonw_close(&w);
    char *out = mem_print("%s\n", w.text);
    jsonw_release(&w);
    free(best);
    free(plan);
    return out;
}

int mete_plan_eval(const struct mete_plan_options *given, int seeds, const char *format, char **out)
{
    NUMBER_LOCALE;
    struct mete_plan_options o;
    struct situation s;
    struct answer a = {0};
    struct race r = {0}, g = {0};
    struct verdict_of_plan v = {0};
    char suites[80];
    double plan_seconds = 0, grid_seconds = 0;
    int err = options_take(&o, sizeof o, given, "mete_plan_options");
    if (!err)
        err = plan_check_format(format);
    if (!err)
        err = out ? situation_open(&s, &o) : fail(METE_EINVAL, "there is nowhere to put the plan");
    if (err)
        return err;
    if (s.none)
        err = fail(METE_EINVAL, "%s has too few labels to judge a plan by", s.bench.dataset);
    if (!err)
        err = plan_make(&s, &r, &a);
    g = (struct race){.s = &s, .seed = r.seed};
    snprintf(g.name, sizeof g.name, "%.13s-grid", r.name);
    want_grid(&g, seeds > 0 ? seeds : 3);
    if (!err)
        err = race_make(&g, 1);
    if (!err)
        err = judge(&v, &g, &a);
    snprintf(suites, sizeof suites, "%s-[0-9]", r.name);
    if (!err)
        err = scores_seconds(o.db, suites, &plan_seconds);
    snprintf(suites, sizeof suites, "%s-[0-9]", g.name);
    if (!err)
        err = scores_seconds(o.db, suites, &grid_seconds);
    v.share = r.spent / g.spent;
    v.share_seconds = plan_seconds / grid_seconds;
    if (!err)
        *out = strcmp(format, "json") == 0 ? verdict_json(&v, &a, &g) : verdict_text(&v, &a);
    answer_release(&a);
    race_release(&r);
    race_release(&g);
    situation_close(&s);
    return err;
}
