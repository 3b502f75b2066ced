/* rules.c - which settings a run can have, and whether they make sense together. */
#include "run/experiment.h"
#include "base/error.h"
#include "method/baseline.h"
#include "task/cost.h"

#include <stdlib.h>
#include <string.h>

/* What cannot be read is left for rules_check to refuse. */
static void spell_bench(struct run_rules *r, const char **name)
{
    struct bench b;
    if (!*name || bench_parse(&b, *name) || dataset_spell(b.dataset, sizeof b.dataset))
        return;
    bench_text(&b, r->bench, sizeof r->bench);
    *name = r->bench;
}

static int rules_open(void *user, struct config_names *names, struct param_set *set,
                      const char **key)
{
    struct run_rules *r = user;
    const struct method_ops *method;
    const struct net_ops *net;
    names->method = names->method ? names->method : "maml";
    names->net = names->net ? names->net : "conv4";
    names->labels = names->labels ? names->labels : "random";
    spell_bench(r, &names->bench);
    *key = "method";
    if (method_find(&method, names->method))
        return METE_EINVAL;
    *key = "net";
    if (net_find(&net, names->net))
        return METE_EINVAL;
    *key = "labels";
    int err = setup_open(&r->setup, names->method, names->net, names->labels);
    if (!err)
        *set = r->setup.set;
    return err;
}

static void rules_close(void *user, struct param_set *set)
{
    struct run_rules *r = user;
    setup_close(&r->setup);
    *set = (struct param_set){0};
}

/* A cap that does not pay for the smallest task is a mistake, found before any work. */
static int check_budget(struct experiment *x)
{
    const struct budget_settings *s = &x->setup.budget;
    struct ledger *ledger = NULL;
    double cap = s->labels > 0 ? s->labels : (double)x->bench.budget;
    int err = ledger_open(&ledger, x->train, s, cap, false);
    struct task task = {0};
    struct purchase p = {0};
    if (!err && s->charge == CHARGE_ALL)
        err = experiment_buy_validation(x, ledger);
    if (!err)
        err = task_draw(x->train, SPLIT_TRAIN, 0, &task);
    if (!err)
        err = purchase_open(&p, ledger, &task, task.labels);
    if (!err)
        purchase_drop(&p);
    else if (err == METE_EBUDGET)
        err =
            fail(METE_EINVAL, "a budget of %g labels does not pay for one task of %d + %d labels%s",
                 cap, task.labels, s->charge == CHARGE_SUPPORT ? 0 : task.n_query,
                 s->charge == CHARGE_ALL ? " beside those of validation" : "");
    task_release(&task);
    ledger_close(ledger);
    return err;
}

static int check_net(const struct setup *s, const struct dataset *d)
{
    struct net net;
    if (s->method.ops->self) /* a learner of another program has a net of its own, if any */
        return 0;
    return net_build(&net, s->net, s->net_state, &kernels_ref, d->h, d->w, d->c, 2);
}

enum { DATA, SPLIT, COST };

/* What is behind the names, while it is open. */
static int note_content(struct run_rules *r, const struct experiment *x)
{
    struct cost cost = {0};
    const struct split *split = tasks_split(x->train);
    memset(r->content, 0, sizeof r->content);
    int err = shelf_content(r->shelf, x->bench.dataset, r->content[DATA]);
    if (!err && split->by_content)
        split_content(split, r->content[SPLIT]);
    if (!err)
        err = cost_open(&cost, x->data, x->setup.budget.cost);
    if (!err && !cost_content(&cost, x->data, r->content[COST]))
        r->content[COST][0] = '\0';
    cost_release(&cost);
    return err;
}

static int rules_identify(void *user, struct settings *out)
{
    static const char *const keys[] = {"data" CONTENT_KEY, "data.split" CONTENT_KEY,
                                       "budget.cost" CONTENT_KEY};
    const struct run_rules *r = user;
    for (int i = 0; i < 3; i++)
        if (*r->content[i])
            settings_put(out, keys[i], r->content[i], "content");
    return 0;
}

static int rules_check(void *user, const struct config_names *names, const struct param_set *set,
                       const char **key)
{
    struct run_rules *r = user;
    const struct setup *s = &r->setup;
    struct experiment x = {.setup = *s, .seed = names->seed};
    (void)set;
    *key = "bench";
    if (!names->bench)
        return fail(METE_EINVAL, "bench: say what to train on, as in glyphs:5w-1s@2K");
    int err = bench_parse(&x.bench, names->bench);
    if (!err)
        err = shelf_dataset(r->shelf, x.bench.dataset, &x.data);
    if (!err)
        err = experiment_open_tasks(&x);
    if (!err) {
        setup_settle(&r->setup, tasks_are_users(x.train),
                     s->budget.labels > 0 || x.bench.budget > 0);
        x.setup = *s;
        *key = "test.support";
        err = labeller_open(&x.judge, s->test.support);
    }
    if (!err) {
        *key = s->budget.charge == CHARGE_ALL ? "budget.charge" : "bench";
        err = check_budget(&x);
    }
    if (!err)
        err = note_content(r, &x);
    if (!err) {
        *key = "net";
        err = check_net(s, x.data);
    }
    labeller_close(&x.judge);
    experiment_close_tasks(&x);
    return err;
}

struct config_rules run_rules(struct run_rules *own, struct shelf *s)
{
    *own = (struct run_rules){.shelf = s};
    return (struct config_rules){own,         rules_open,     rules_check,
                                 rules_close, rules_identify, baseline_at};
}
