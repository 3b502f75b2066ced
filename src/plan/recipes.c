/* recipes.c - the methods that a plan compares, and how each is trained. */
#include "plan/plan.h"

#include <string.h>

/* Rates and adaptation at test are those of suites/people.yaml, quick.yaml and recipe-*.yaml. */
const struct recipe plan_recipes[] = {
    /* people */
    {.method = "protonet",
     .users = true,
     .heldout = true,
     .set = {"method.absent=prior-mean", "train.resplit=any"}},
    {.method = "protonet",
     .users = true,
     .heldout = true,
     .variant = 1,
     .set = {"method.absent=left-out", "train.resplit=any"}},
    {.method = "maml",
     .users = true,
     .heldout = true,
     .set = {"inner.lr=0.1", "train.resplit=any"}},
    {.method = "maml",
     .users = true,
     .heldout = true,
     .variant = 1,
     .set = {"inner.lr=0.1", "train.resplit=any", "inner.prox=0.1"}},
    {.method = "reptile",
     .users = true,
     .set = {"inner.lr=0.1", "inner.batching=shuffled", "test.steps=20"}},
    {.method = "fedavg",
     .users = true,
     .one_for_all = true,
     .set = {"inner.lr=0.1", "inner.batching=shuffled"}},
    {.method = "tuned", .users = true, .baseline = true},
    {.method = "pooled", .users = true, .baseline = true, .one_for_all = true},
    {.method = "majority", .users = true, .baseline = true, .fixed = true, .one_for_all = true},
    /* classes */
    {.method = "protonet", .classes = true, .heldout = true, .set = {"train.remix=yes"}},
    {.method = "protonet",
     .classes = true,
     .heldout = true,
     .variant = 1,
     .set = {"train.resplit=yes"}},
    {.method = "maml",
     .classes = true,
     .heldout = true,
     .set = {"inner.lr=0.4", "test.steps=5", "train.remix=yes"}},
    {.method = "maml",
     .classes = true,
     .heldout = true,
     .variant = 1,
     .set = {"inner.lr=0.4", "test.steps=5", "train.relabel=yes", "train.resplit=yes"}},
    {.method = "reptile",
     .classes = true,
     .set = {"inner.lr=0.2", "inner.steps=5", "inner.batching=shuffled", "test.steps=5",
             "outer.lr=0.5", "train.relabel=yes"}},
    /* both */
    {.method = "nearest", .users = true, .classes = true, .baseline = true, .fixed = true},
    {.method = "local", .users = true, .classes = true, .baseline = true, .fixed = true},
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
