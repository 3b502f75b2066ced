/* effort.c - how many training steps a plan can afford, and how long it will take.
 *
 * Work is counted in GFLOP, which are the same everywhere.  Without --minutes a plan may make so
 * many that it takes some minutes on two cores; --minutes N allows as many as this machine makes in
 * that time, by a speed that is measured once and kept with the plan.
 */
#include "plan/plan.h"
#include "base/error.h"
#include "base/memory.h"
#include "run/sweep.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum { USUAL_GFLOP = 60000, STEPS_LEAST = 25, GRID_SEEDS = 3 };
static const double SLOWER = 1.7; /* a whole plan than its updates, each measured alone */
static const double SHARE = 0.1;  /* of the full grid's work */

/* Of a trial, in GFLOP; or seconds of a thread here. */
static int estimate_trial(const struct situation *s, const struct trial *t, bool seconds,
                          struct rate_memo *memo, double *out)
{
    struct settings settings = {0};
    struct estimate e;
    memo->by_flops = !seconds;
    int err = trial_settings(s, t, NULL, &settings);
    if (!err)
        err = estimate_run(&settings, s->shelf, s->o->device, memo, &e);
    if (!err)
        *out = e.seconds;
    settings_release(&settings);
    return err;
}

static int fill_arm(struct situation *s, int recipe, int each, struct rate_memo *memo)
{
    struct work *w = &s->work[recipe][each];
    struct trial t = {.recipe = recipe, .each = each, .budget = s->within, .seed = 1};
    int err = estimate_trial(s, &t, false, memo, &w->whole);
    w->quarter = w->whole;
    if (err || plan_recipes[recipe].baseline)
        return err;
    t.level = 2;
    return estimate_trial(s, &t, false, memo, &w->quarter);
}

static int fill_work(struct situation *s)
{
    struct rate_memo memo = {0};
    int err = 0;
    for (int i = 0; plan_recipes[i].method; i++)
        for (int e = 0; e < s->n_each && situation_has(s, &plan_recipes[i]) && !err; e++)
            err = fill_arm(s, i, e, &memo);
    rate_memo_release(&memo);
    return err;
}

/* The work is a part that every run has, its test, and one that grows with steps. */
double effort_of(const struct situation *s, const struct trial *t)
{
    const struct work *w = &s->work[t->recipe][t->each];
    return t->level == 0   ? w->whole
           : t->level == 1 ? w->quarter + (w->whole - w->quarter) / 3
                           : w->quarter;
}

/* A tenth of the full grid's: three seeds of every arm, by both strategies. */
static double allow(const struct situation *s)
{
    double grid = 0;
    for (int i = 0; plan_recipes[i].method; i++)
        for (int e = 0; e < s->n_each && situation_has(s, &plan_recipes[i]); e++) {
            const struct recipe *r = &plan_recipes[i];
            if (!r->fixed || e == 0)
                grid += s->work[i][e].whole * GRID_SEEDS * (r->baseline ? 1 : STRATEGIES);
        }
    return SHARE * grid;
}

/* The first stage is run whatever it takes, and one whole training. */
static double least(const struct situation *s)
{
    double work = 0, most = 0;
    for (int i = 0; plan_recipes[i].method; i++)
        for (int e = 0; e < s->n_each && situation_has(s, &plan_recipes[i]); e++) {
            if (!plan_recipes[i].variant && (!plan_recipes[i].fixed || e == 0))
                work += s->work[i][e].quarter;
            most = fmax(most, s->work[i][e].whole);
        }
    return work + most;
}

static double work_of(const struct situation *s)
{
    return fmax(allow(s), least(s));
}

static int threads_of(const struct situation *s)
{
    long n = s->o->threads ? s->o->threads : sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

static bool steps_given(const struct situation *s)
{
    for (int i = 0; s->o->set && s->o->set[i]; i++)
        if (strncmp(s->o->set[i], "train.steps=", 12) == 0)
            return true;
    return false;
}

static int begin(const struct situation *s, const char *plan, double *rate)
{
    struct store *store = NULL;
    int err = store_open(&store, s->o->db, STORE_WRITE);
    if (!err)
        err = store_plan_begin(store, plan, rate);
    store_close(store);
    return err;
}

/* GFLOP a second of one thread, over the methods. */
static int measure_rate(const struct situation *s, double *rate)
{
    struct rate_memo memo = {0};
    double work = 0, seconds = 0, one = 0;
    int err = 0;
    for (int i = 0; plan_recipes[i].method && !err; i++) {
        struct trial t = {.recipe = i, .each = s->n_each / 2, .budget = s->within, .seed = 1};
        const struct recipe *r = &plan_recipes[i];
        if (!situation_has(s, r) || r->variant || r->fixed)
            continue;
        err = estimate_trial(s, &t, true, &memo, &one);
        work += effort_of(s, &t);
        seconds += one;
    }
    rate_memo_release(&memo);
    *rate = seconds > 0 ? work / seconds : NAN;
    return err;
}

int effort_settle(struct situation *s, const char *plan, double *seconds)
{
    double rate = 0;
    int err = fill_work(s);
    if (!err)
        err = measure_rate(s, &rate);
    double now = rate;
    if (!err)
        err = begin(s, plan, &rate);
    if (err)
        return err;
    double most = s->o->minutes > 0 && isfinite(rate)
                      ? 60 * s->o->minutes * rate * threads_of(s) / SLOWER
                  : steps_given(s) ? INFINITY
                                   : USUAL_GFLOP;
    s->whole_steps = s->steps;
    while (work_of(s) > most && s->steps / 2 >= STEPS_LEAST) {
        s->steps /= 2;
        err = fill_work(s);
        if (err)
            return err;
    }
    s->allowance = allow(s);
    *seconds = SLOWER * work_of(s) / now / threads_of(s);
    return 0;
}
