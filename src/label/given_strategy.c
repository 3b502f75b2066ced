/* given_strategy.c - a label strategy of another program behind the strategies' table. */
#include "label/given_strategy.h"
#include "label/label_own.h"
#include "base/added.h"
#include "base/error.h"
#include "base/given_params.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

struct given {
    struct label_ops label; /* its state begins with a pointer to this struct */
    struct mete_strategy_ops ops;
    struct given_params params;
    void *user;
};

static struct added strategies = ADDED("label strategy");

static int choose(const void *state, const struct label_view *v, int want, struct rng *r,
                  int32_t *picks)
{
    const struct given *g = *(const struct given *const *)state;
    struct mete_value *settings = given_values(g->params.table, state);
    uint64_t seed = rng_u32(r);
    seed = seed << 32 | rng_u32(r);
    struct mete_pool pool = {.size = sizeof pool,
                             .n = v->n,
                             .ways = v->ways,
                             .features = v->features,
                             .shots = v->shots,
                             .round = v->round,
                             .available = v->available,
                             .known = v->known,
                             .probs = v->probs,
                             .reps = v->reps,
                             .settings = settings,
                             .seed = seed,
                             .memo = v->memo};
    fail(0, "%s", ""); /* a sentence of before is not taken for this one's */
    int picked = g->ops.choose(g->user, &pool, want, picks);
    free(settings);
    if (picked < 0 && !*mete_errmsg())
        return fail(picked, "strategy '%s' failed: %s", g->ops.name, mete_errtext(picked));
    return picked < 0 ? fail_within(picked, "strategy '%s'", g->ops.name) : picked;
}

/* ---- adding ---- */

static void given_close(struct given *g)
{
    given_params_close(&g->params);
    free((char *)g->ops.name);
    free((char *)g->ops.summary);
    free(g);
}

static int check_ops(const struct mete_strategy_ops *ops)
{
    if (!ops)
        return fail(METE_EINVAL, "there is no strategy's table");
    if (ops->size < sizeof *ops)
        return fail(METE_EINVAL, "a strategy's table of %zu bytes: its size comes first",
                    ops->size);
    if (!ops->name || !*ops->name || strpbrk(ops->name, "=, \t\n"))
        return fail(METE_EINVAL, "a label strategy needs a name without blanks, ',' and '='");
    if (!ops->choose || ops->needs & ~(METE_NEEDS_PROBS | METE_NEEDS_REPS))
        return fail(METE_EINVAL, "strategy '%s': it lacks choose, or needs what there is not",
                    ops->name);
    if (!given_strategy_find(ops->name) && label_find(ops->name))
        return fail(METE_EINVAL, "strategy '%s': there is one of this name", ops->name);
    return 0;
}

int mete_strategy_add(const struct mete_strategy_ops *ops, void *user)
{
    int err = check_ops(ops);
    if (err)
        return err;
    struct given *g = mem_alloc(sizeof *g);
    err = given_params_open(&g->params, ops->params, ops->version);
    g->ops = *ops;
    g->ops.name = mem_string(ops->name);
    g->ops.summary = mem_string(ops->summary ? ops->summary : "a strategy of another program");
    g->user = user;
    g->label = (struct label_ops){.name = g->ops.name,
                                  .summary = g->ops.summary,
                                  .state_size = g->params.state_size,
                                  .params = g->params.table,
                                  .self = g,
                                  .needs = (ops->needs & METE_NEEDS_PROBS ? LABEL_PROBS : 0u) |
                                           (ops->needs & METE_NEEDS_REPS ? LABEL_REPS : 0u),
                                  .choose = choose};
    if (!err)
        err = added_put(&strategies, g->ops.name, g);
    if (err) {
        err = fail_within(err, "strategy '%s'", ops->name);
        given_close(g);
    }
    return err;
}

int mete_strategy_remove(const char *name)
{
    void *g = NULL;
    int err = !name ? fail(METE_EINVAL, "say which strategy") : added_take(&strategies, name, &g);
    if (!err)
        given_close(g);
    return err;
}

/* ---- for the registry ---- */

static const struct label_ops *label_of(const struct given *g)
{
    return g ? &g->label : NULL;
}

const struct label_ops *given_strategy_at(int i)
{
    return label_of(added_at(&strategies, i));
}

const struct label_ops *given_strategy_find(const char *name)
{
    return label_of(added_find(&strategies, name));
}

void given_strategy_hold(const struct label_ops *ops)
{
    added_hold(&strategies, ops->self);
}

void given_strategy_leave(const struct label_ops *ops)
{
    added_leave(&strategies, ops->self);
}
