/* plan.c - mete_plan: a situation, a race, an answer. */
#include "plan/answer.h"
#include "plan/prior.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/options.h"
#include "base/sha256.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "plan-1f2e3d4c": of all that can change a plan, so that the same command goes on with it and
 * others share its runs without mixing with it. */
static void name_of(const struct situation *s, char out[PLAN_NAME])
{
    struct text all = {0};
    char bench[1024], hash[SHA256_HEX];
    bench_text(&s->bench, bench, sizeof bench);
    text_print(&all, "race 2 %s %" PRId64 " %d %s %s %s %g %" PRIu64, bench, s->labels,
               s->o->people, s->o->price ? s->o->price : "", s->o->net ? s->o->net : "",
               s->o->methods ? s->o->methods : "", s->o->minutes, s->o->seed);
    for (int i = 0; s->o->set && s->o->set[i]; i++)
        text_print(&all, " %s", s->o->set[i]);
    sha256_of(all.at, all.size, hash);
    snprintf(out, PLAN_NAME, "plan-%.8s", hash);
    text_release(&all);
}

int plan_check_format(const char *format)
{
    return format && (strcmp(format, "text") == 0 || strcmp(format, "json") == 0)
               ? 0
               : fail(METE_EINVAL, "a plan is text or json, not '%s'", format ? format : "NULL");
}

int plan_make(struct situation *s, struct race *r, struct answer *a)
{
    char name[PLAN_NAME];
    double seconds;
    int best = -1, second = -1;
    name_of(s, name);
    *r = (struct race){.s = s, .seed = s->o->seed ? s->o->seed : 1};
    snprintf(r->name, sizeof r->name, "%s", name);
    int err = effort_settle(s, name, &seconds);
    if (err)
        return err;
    if (s->o->before)
        s->o->before(s->o->user, seconds, s->steps);
    err = race_run(r, &best, &second);
    if (!err)
        err = answer_make(a, r, best, second);
    return err ? err : answer_keep(a, r, name);
}

int mete_plan(const struct mete_plan_options *given, const char *format, char **out)
{
    NUMBER_LOCALE;
    struct mete_plan_options o;
    struct situation s;
    struct answer a = {0};
    struct race r = {0};
    struct precedent p;
    int err = options_take(&o, sizeof o, given, "mete_plan_options");
    if (!err)
        err = plan_check_format(format);
    if (!err)
        err = out ? situation_open(&s, &o) : fail(METE_EINVAL, "there is nowhere to put the plan");
    if (err)
        return err;
    bool json = strcmp(format, "json") == 0;
    if (s.none)
        err = prior_make(&p, &s);
    else
        err = plan_make(&s, &r, &a);
    if (!err && s.none)
        *out = json ? prior_json(&p, &s) : prior_text(&p, &s);
    else if (!err)
        *out = json ? answer_json(&a) : answer_text(&a);
    answer_release(&a);
    race_release(&r);
    situation_close(&s);
    return err;
}
