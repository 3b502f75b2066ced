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

enum { USUAL_GFLOP = 4000, STEPS_LEAST = 25 };

/* Of the whole training of an arm, in GFLOP; or seconds of a thread here. */
static int cost_of(const struct situation *s, int recipe, bool seconds, double *out)
{
    struct settings settings = {0};
    struct rate_memo memo = {.by_flops = !seconds};
    struct estimate e;
    struct trial t = {.recipe = recipe, .each = s->n_each / 2, .budget = s->within, .seed = 1};
    int err = trial_settings(s, &t, NULL, &settings);
    if (!err)
        err = estimate_run(&settings, s->shelf, s->o->device, &memo, &e);
    if (!err)
        *out = e.seconds;
    settings_release(&settings);
    rate_memo_release(&memo);
    return err;
}

/* Of the whole race: stages 2 to 5 by the costliest method, which may not be the one that wins. */
static int work_of(const struct situation *s, double *work, int *costliest)
{
    double most = 0, cost;
    *work = 0;
    *costliest = -1;
    for (int i = 0; plan_recipes[i].method; i++) {
        const struct recipe *r = &plan_recipes[i];
        if (!situation_has(s, r) || r->variant || r->baseline)
            continue;
        int err = cost_of(s, i, false, &cost);
        if (err)
            return err;
        *work += s->n_each * cost / 4;
        if (cost > most) {
            most = cost;
            *costliest = i;
        }
    }
    *work += most * (2 * s->n_each / 4.0 + 6 / 2.0 + 4 + 2);
    return 0;
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

int effort_settle(struct situation *s, const char *plan, double *seconds)
{
    double work, measured = 1, counted = 1, rate = 0;
    int costliest, err = work_of(s, &work, &costliest);
    *seconds = NAN;
    if (!err && costliest >= 0) {
        err = cost_of(s, costliest, false, &counted);
        if (!err)
            err = cost_of(s, costliest, true, &measured);
        rate = counted / measured; /* of a thread */
    }
    double now = rate;
    if (!err)
        err = begin(s, plan, &rate);
    if (err || costliest < 0)
        return err;
    double most = s->o->minutes > 0 ? 60 * s->o->minutes * rate * threads_of(s)
                  : steps_given(s)  ? INFINITY
                                    : USUAL_GFLOP;
    s->whole_steps = s->steps;
    while (work > most && s->steps / 2 >= STEPS_LEAST) {
        s->steps /= 2;
        err = work_of(s, &work, &costliest);
        if (err)
            return err;
    }
    *seconds = work / now / threads_of(s);
    return 0;
}
