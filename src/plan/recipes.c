/* recipes.c - the methods that a plan compares, and how each is trained. */
#include "plan/plan.h"

#include <string.h>

/* Rates and adaptation at test are those of suites/people.yaml, quick.yaml and recipe-*.yaml. */
const struct recipe plan_recipes[] = {
    /* people */
    {"protonet",
     true,
     false,
     false,
     false,
     true,
     0,
     {"method.absent=prior-mean", "train.resplit=any"}},
    {"protonet",
     true,
     false,
     false,
     false,
     true,
     1,
     {"method.absent=left-out", "train.resplit=any"}},
    {"maml", true, false, false, false, true, 0, {"inner.lr=0.1", "train.resplit=any"}},
    {"maml",
     true,
     false,
     false,
     false,
     true,
     1,
     {"inner.lr=0.1", "train.resplit=any", "inner.prox=0.1"}},
    {"reptile",
     true,
     false,
     false,
     false,
     false,
     0,
     {"inner.lr=0.1", "inner.batching=shuffled", "test.steps=20"}},
    {"fedavg", true, false, false, false, false, 0, {"inner.lr=0.1", "inner.batching=shuffled"}},
    {"tuned", true, false, true, false, false, 0, {0}},
    {"pooled", true, false, true, false, false, 0, {0}},
    {"majority", true, false, true, true, false, 0, {0}},
    /* classes */
    {"protonet", false, true, false, false, true, 0, {"train.remix=yes"}},
    {"protonet", false, true, false, false, true, 1, {"train.resplit=yes"}},
    {"maml",
     false,
     true,
     false,
     false,
     true,
     0,
     {"inner.lr=0.4", "test.steps=5", "train.remix=yes"}},
    {"maml",
     false,
     true,
     false,
     false,
     true,
     1,
     {"inner.lr=0.4", "test.steps=5", "train.relabel=yes", "train.resplit=yes"}},
    {"reptile",
     false,
     true,
     false,
     false,
     false,
     0,
     {"inner.lr=0.2", "inner.steps=5", "inner.batching=shuffled", "test.steps=5", "outer.lr=0.5",
      "train.relabel=yes"}},
    /* both */
    {"nearest", true, true, true, true, false, 0, {0}},
    {"local", true, true, true, true, false, 0, {0}},
    {0},
};

const char *const strategy_names[STRATEGIES] = {"random", "active"};

/* Whether `name` is among words joined by ','. */
static bool listed(const char *words, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = words; at; at = strchr(at, ','), at = at ? at + 1 : NULL)
        if (strncmp(at, name, n) == 0 && (at[n] == ',' || at[n] == '\0'))
            return true;
    return false;
}

bool situation_has(const struct situation *s, const struct recipe *r)
{
    return (s->users ? r->users : r->classes) &&
           (!s->o->methods || listed(s->o->methods, r->method));
}
