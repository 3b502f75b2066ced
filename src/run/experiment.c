/* experiment.c - opening what a run needs, training, testing, gathering results. */
#include "run/experiment.h"
#include "run/card.h"
#include "run/freeze.h"
#include "run/identity.h"
#include "run/model.h"
#include "run/ranks_learner.h"
#include "method/given_learner.h"
#include "base/error.h"
#include "base/file.h"
#include "base/jsonw.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double clock_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int parse_shots(struct experiment *x)
{
    const struct test_settings *s = &x->setup.test;
    x->by_labels = *s->labels;
    x->n_shots = shots_parse(x->by_labels ? s->labels : s->shots, x->shots);
    return x->n_shots < 0
               ? fail_within(METE_EINVAL, "%s", x->by_labels ? "test.labels" : "test.shots")
               : 0;
}

/* Tasks to judge by: the run's own, but for the support, the query and a seed all runs share.  Of a
 * user the whole test part is the query, whatever training pays for. */
static int open_judged(struct experiment *x, int shots, uint64_t seed, struct tasks **out)
{
    const struct test_settings *test = &x->setup.test;
    struct task_settings s = x->setup.task;
    s.shots = shots;
    s.query = tasks_are_users(x->train) ? 0 : test->query;
    s.holdout = test->holdout;
    s.labels = 0;
    s.train_ways = 0;
    return tasks_open(out, x->data, &x->bench, &s, seed);
}

int experiment_judged(const struct experiment *x)
{
    return x->setup.test.part == JUDGED_VAL ? SPLIT_VAL : SPLIT_TEST;
}

/* The tests at x->shots[i]; validation there is what models are chosen by.  Tests of the validation
 * part are drawn apart from the tasks that choose the step. */
static int open_test(struct experiment *x, int i)
{
    uint64_t seed = (uint64_t)x->setup.test.seed + (experiment_judged(x) == SPLIT_VAL);
    int err = open_judged(x, x->by_labels ? 1 : x->shots[i], seed, &x->test[i]);
    if (!err && x->by_labels && (err = tasks_ask(x->test[i], x->shots[i])))
        err = fail_within(err, "test.labels");
    if (!err)
        err = tasks_check(x->test[i], experiment_judged(x));
    if (!err)
        err = tasks_check(x->test[i], SPLIT_VAL);
    if (!err && tasks_are_users(x->train)) {
        tasks_limit(x->test[i], SPLIT_TEST, x->setup.test.tasks);
        tasks_limit(x->test[i], SPLIT_VAL,
                    experiment_judged(x) == SPLIT_VAL ? x->setup.test.tasks
                                                      : x->setup.train.val_tasks);
    }
    return err;
}

/* The labels of tasks 0..n-1 of one of the sets to choose by. */
static int buy_judged(struct experiment *x, struct ledger *ledger, const struct tasks *tasks)
{
    enum { AT_ONCE = 256 };
    int n = experiment_test_tasks(x, SPLIT_VAL, tasks), got = 0, err = 0;
    struct episode *episodes = mem_array(AT_ONCE, sizeof *episodes);
    for (int first = 0; first < n && !err; first += got) {
        struct label_request q = {.tasks = tasks,
                                  .part = SPLIT_VAL,
                                  .first = first,
                                  .n = n - first < AT_ONCE ? n - first : AT_ONCE,
                                  .ledger = ledger};
        err = labeller_buy(&x->judge, &q, episodes, &got);
        for (int i = 0; i < got && !err; i++)
            episode_release(&episodes[i]);
        if (!err && got == 0)
            break;
    }
    free(episodes);
    return err;
}

int experiment_buy_validation(struct experiment *x, struct ledger *ledger)
{
    if (x->judge.ops->needs & LABEL_LEARNER) /* which labels is known when they are asked for */
        return x->setup.budget.charge != CHARGE_ALL
                   ? 0
                   : fail(METE_EINVAL,
                          "budget.charge: validation is charged before training, and "
                          "test.support=%s chooses its labels later; use stratified or random",
                          x->judge.ops->name);
    int err = buy_judged(x, ledger, x->val);
    for (int i = 0; i < x->n_shots && !err; i++)
        err = buy_judged(x, ledger, x->test[i]);
    if (err == METE_EBUDGET)
        err = fail(METE_EINVAL,
                   "budget.charge: a budget of %g does not pay for the labels of %d validation "
                   "tasks; raise it or lower train.val_tasks",
                   ledger_cap(ledger), x->setup.train.val_tasks);
    return err;
}

/* Points may change tasks only where a label names the same class in all of them, and where those
 * of the query were paid for, too. */
static int check_remix(const struct experiment *x)
{
    if (tasks_are_users(x->train))
        return fail(METE_EINVAL,
                    "train.remix: a task of %s is a person, whose points stay theirs; leave it at "
                    "no",
                    x->bench.dataset);
    if (x->setup.budget.charge == CHARGE_SUPPORT)
        return fail(METE_EINVAL, "train.remix: the query's labels would be learned from, and are "
                                 "not paid for; set budget.charge=support+query");
    return 0;
}

/* Images that nobody paid for are shown, and that is what is studied: not beside options that
 * keep to what was bought. */
static int check_redraw(const struct experiment *x)
{
    if (tasks_are_users(x->train))
        return fail(METE_EINVAL,
                    "train.redraw: a task of %s is a person, whose points stay theirs; leave it at "
                    "no",
                    x->bench.dataset);
    if (x->setup.train.remix || x->setup.train.resplit)
        return fail(METE_EINVAL, "train.redraw shows images that were not bought, and train.remix "
                                 "and train.resplit reuse those that were: set one of them");
    if (x->bench.budget == 0 && x->setup.budget.labels == 0)
        return fail(METE_EINVAL, "train.redraw is about tasks that were bought: without a budget "
                                 "each is used once; leave it at no");
    return 0;
}

/* Other ways in training: what has a head has an output for each class, and what chooses labels by
 * the model's predictions would ask for those of tests. */
static int check_train_ways(const struct experiment *x)
{
    const struct method_ops *method = x->setup.method.ops;
    const struct label_ops *labels = x->setup.labeller.ops;
    if (method->head || given_learner_find(method->name))
        return fail(METE_EINVAL,
                    "task.train_ways: method %s has an output for each class, so it trains on as "
                    "many as it is tested on; leave it at 0",
                    method->name);
    if (labels && labels->needs & LABEL_LEARNER)
        return fail(METE_EINVAL,
                    "task.train_ways: labels=%s looks at predictions, which are of %d classes; use "
                    "random or stratified",
                    labels->name, tasks_ways(x->val));
    return 0;
}

int experiment_open_tasks(struct experiment *x)
{
    int err = parse_shots(x);
    if (!err)
        err = tasks_open(&x->train, x->data, &x->bench, &x->setup.task, x->seed);
    if (!err)
        err = tasks_check(x->train, SPLIT_TRAIN);
    const struct method *method = &x->setup.method;
    if (!err)
        err = method_check(method);
    if (!err && method->ops->same_classes && !tasks_are_users(x->train))
        err = fail(METE_EINVAL,
                   "method %s is one model for all: tasks of %s have different classes, which it "
                   "cannot share",
                   method->ops->name, x->bench.dataset);
    if (!err && method->ops->prior && method->ops->prior(method, NULL) &&
        !tasks_are_users(x->train))
        err = fail(METE_EINVAL,
                   "method.absent=%s: tasks of %s have different classes, which cannot share "
                   "prototypes; use left-out",
                   method->ops->prior(method, NULL) == PRIOR_MEAN ? "prior-mean" : "prior",
                   x->bench.dataset);
    if (!err && x->setup.train.relabel && tasks_are_users(x->train))
        err = fail(METE_EINVAL,
                   "train.relabel: a class is the same for all users of %s and keeps "
                   "its number; leave it at no",
                   x->bench.dataset);
    if (!err && x->setup.test.repeats > 1 && !tasks_are_users(x->train))
        err = fail(METE_EINVAL, "test.repeats: supports are drawn again for users; few-shot tasks "
                                "are all different: raise test.tasks");
    if (!err && x->setup.test.keep == KEEP_BY_SUPPORT && !tasks_are_users(x->train))
        err = fail(METE_EINVAL,
                   "test.keep=by-support keeps the model for all people where it is better; tasks "
                   "of %s have different classes, and no such model: leave it at always",
                   x->bench.dataset);
    if (!err && x->setup.train.resplit && x->setup.budget.charge == CHARGE_SUPPORT)
        err = fail(METE_EINVAL, "train.resplit: the query's labels would be learned from, and "
                                "are not paid for; set budget.charge=support+query");
    if (!err && x->setup.train.remix)
        err = check_remix(x);
    if (!err && x->setup.train.redraw)
        err = check_redraw(x);
    if (!err)
        err = open_judged(x, x->setup.train.val_shots, (uint64_t)x->setup.test.seed, &x->val);
    if (!err)
        err = tasks_check(x->val, SPLIT_VAL);
    if (!err && tasks_ways(x->train) != tasks_ways(x->val))
        err = check_train_ways(x);
    for (int i = 0; i < x->n_shots && !err; i++) {
        err = open_test(x, i);
    }
    return err;
}

void experiment_close_tasks(struct experiment *x)
{
    tasks_close(x->train);
    tasks_close(x->val);
    for (int i = 0; i < x->n_shots; i++)
        tasks_close(x->test[i]);
}

/* Before any label is bought: a learner without representations has none to choose by. */
static int check_strategy(const struct experiment *x, const char *key, const struct label_ops *ops)
{
    if (x->learner->is.features > 0 || !(ops->needs & (LABEL_REPS | LABEL_CLUSTERS)))
        return 0;
    struct text others = {0};
    for (int i = 0; label_at(i); i++)
        if (!(label_at(i)->needs & (LABEL_REPS | LABEL_CLUSTERS | LABEL_ORACLE)))
            text_print(&others, "%s%s", others.size ? ", " : "", label_at(i)->name);
    int err = fail(METE_EINVAL,
                   "%s=%s looks at representations, which the learner '%s' does not have; use one "
                   "of %s",
                   key, ops->name, x->learner->ops->name, others.at);
    text_release(&others);
    return err;
}

/* The engine of many ranks. */
static int open_shared(struct experiment *x, const struct settings *settings, struct shelf *shelf,
                       struct learner_spec *spec, struct ranks *ranks)
{
    char content[CONTENT_SIZE];
    struct ranks_opening o = {settings, x->bench.dataset, content};
    struct learner_spec own = *spec;
    struct learner *learner = NULL;
    own.ranks = spec->ranks = ranks;
    own.threads = spec->threads ? spec->threads : ranks_threads();
    int err = shelf_content(shelf, x->bench.dataset, content);
    if (!err)
        err = setup_learner(&x->setup, &own, NULL, &learner);
    return err ? err : ranks_learner_open(&x->learner, &o, spec, learner);
}

/* The learner that the run is about: the engine, unless somebody brings another. */
static int open_learner(struct experiment *x, const struct settings *settings, struct shelf *shelf,
                        const struct experiment_options *o)
{
    struct learner_spec spec = {.data = x->data,
                                .ways = tasks_ways(x->val),
                                .train_ways = tasks_ways(x->train),
                                .meta_batch = x->setup.train.meta_batch,
                                .support = tasks_max_labels(x->train),
                                .query = tasks_max_query(x->train),
                                .seed = x->seed,
                                .device = o->device,
                                .threads = o->threads};
    int err;
    if (x->setup.train.resplit == RESPLIT_ANY)
        spec.support = spec.query = spec.support + spec.query - 1;
    if (o->source)
        err = o->source->open(o->source->user, &spec, &x->learner);
    else if (ranks_shared(o->ranks))
        err = open_shared(x, settings, shelf, &spec, o->ranks);
    else
        err = setup_learner(&x->setup, &spec, o->lockstep_set, &x->learner);
    if (!err)
        err = check_strategy(x, "labels", x->setup.labeller.ops);
    return err ? err : check_strategy(x, "test.support", x->judge.ops);
}

int experiment_open(struct experiment *x, const struct settings *settings, struct shelf *shelf,
                    const struct experiment_options *o)
{
    const char *seed = settings_get(settings, "seed");
    *x = (struct experiment){.meter = {.tell = o->progress, .user = o->user, .accuracy = NAN},
                             .seed = seed ? strtoull(seed, NULL, 10) : 1,
                             .ranks = o->ranks};
    int err = setup_open(&x->setup, settings_get(settings, "method"), settings_get(settings, "net"),
                         settings_get(settings, "labels"));
    if (!err)
        err = config_apply(settings, &x->setup.set);
    if (!err)
        err = bench_parse(&x->bench, settings_get(settings, "bench"));
    if (!err)
        err = shelf_dataset(shelf, x->bench.dataset, &x->data);
    if (!err)
        err = experiment_open_tasks(x);
    if (!err)
        err = labeller_open(&x->judge, x->setup.test.support);
    if (!err) {
        double cap = x->setup.budget.labels > 0 ? x->setup.budget.labels : (double)x->bench.budget;
        setup_settle(&x->setup, tasks_are_users(x->train), cap > 0);
        err = ledger_open(&x->ledger, x->train, &x->setup.budget, cap, cap > 0);
    }
    if (!err)
        err = open_learner(x, settings, shelf, o);
    if (err)
        experiment_close(x);
    return err;
}

void experiment_close(struct experiment *x)
{
    learner_close(x->learner);
    ledger_close(x->ledger);
    labeller_close(&x->judge);
    experiment_close_tasks(x);
    setup_close(&x->setup);
    *x = (struct experiment){0};
}

/* Users are tested once each, or with several supports; few-shot tasks as many as asked. */
int experiment_test_tasks(const struct experiment *x, int part, const struct tasks *t)
{
    bool tests = t != x->val && part == experiment_judged(x);
    int want = tests ? x->setup.test.tasks : x->setup.train.val_tasks;
    int64_t there = tasks_count(t, part), repeats = t == x->val ? 1 : x->setup.test.repeats;
    return (int)(repeats * (there < want ? there : want));
}

void experiment_describe(const struct experiment *x, const struct score *s, struct store_test *test)
{
    test->bn = x->learner->is.norm;
    test->tasks_hash = s->tasks_hash;
    test->tasks = s->rows;
    test->n_tasks = s->n;
    memcpy(test->bins, s->bins, sizeof test->bins);
}

int experiment_test(struct experiment *x, int i, struct store_test *test)
{
    struct evaluation what = {.tasks = x->test[i],
                              .part = SPLIT_VAL,
                              .support = &x->judge,
                              .n = experiment_test_tasks(x, SPLIT_VAL, x->test[i]),
                              .keep = x->setup.test.keep == KEEP_BY_SUPPORT,
                              .meter = &x->meter,
                              .ledger = x->ledger};
    struct score valid = {0}, score = {0};
    bool apart = experiment_judged(x) != SPLIT_VAL;
    int err = apart ? evaluate(x->learner, &what, &valid) : 0;
    if (apart)
        what.ledger = NULL; /* a test chooses nothing */
    what.part = experiment_judged(x);
    what.n = experiment_test_tasks(x, what.part, x->test[i]);
    what.before = true;
    if (!err)
        err = evaluate(x->learner, &what, &score);
    experiment_describe(x, &score, test);
    test->shots = x->by_labels ? 0 : x->shots[i];
    test->labels = x->by_labels ? x->shots[i] : 0;
    test->support = x->judge.ops->name;
    test->keeps = what.keep;
    test->valid_accuracy = apart ? valid.accuracy : score.accuracy;
    score_release(&valid);
    return err;
}

/* Settings, and what the model takes. */
static int write_model(const struct experiment *x, const struct tensors *model, const char *frozen,
                       const struct settings *settings, const struct experiment_options *o,
                       const char *name)
{
    char path[4096];
    struct card_text card;
    int n = 0;
    struct safetensors_pair *meta = settings_pairs(settings, &n);
    card_write(&card, x->data, tasks_ways(x->val), tasks_are_users(x->train), frozen);
    meta = mem_grow(meta, (size_t)(n + card.n), sizeof *meta);
    memcpy(meta + n, card.pairs, (size_t)card.n * sizeof *meta);
    int err = 0;
    if (o->folder) {
        snprintf(path, sizeof path, "%s/%s.safetensors", o->folder, name);
        err = model_write(path, model, meta, n + card.n);
    }
    if (!err && o->model)
        err = o->model(o->user, name, model, meta, n + card.n);
    card_text_release(&card);
    free(meta);
    return err;
}

static int write_models(struct experiment *x, struct trainer *t, struct tensors *last,
                        const struct settings *settings, const struct experiment_options *o)
{
    char frozen[FREEZE_TEXT];
    int err = freeze_models(x, t, last, frozen);
    const char *of = *frozen ? frozen : NULL;
    if (!err)
        err = write_model(x, &t->best, of, settings, o, "best");
    return err ? err : write_model(x, last, of, settings, o, "last");
}

/* The best model, then the last, on the test tasks of every number of shots. */
static int test_models(struct experiment *x, const struct trainer *t, const struct tensors *last,
                       struct results *out)
{
    int err = 0;
    for (int m = 0; m < 2 && !err; m++) {
        err = learner_load(x->learner, LEARNER_MODEL, m == 0 ? &t->best : last);
        for (int i = 0; i < x->n_shots && !err; i++) {
            struct store_test *test = &out->tests[out->all.n_tests];
            test->model = m == 0 ? "best" : "last";
            test->step = m == 0 ? t->best_step : t->step;
            err = experiment_test(x, i, test);
            out->all.n_tests++;
        }
    }
    out->all.tests = out->tests;
    return err;
}

static void gather_ledger(const struct experiment *x, struct results *out)
{
    const struct ledger_row *rows;
    int64_t n = ledger_rows(x->ledger, &rows);
    out->ledger = mem_array((size_t)n, sizeof *out->ledger);
    if (n > 0)
        memcpy(out->ledger, rows, (size_t)n * sizeof *rows);
    out->all.ledger = out->ledger;
    out->all.n_ledger = n;
}

static void gather(const struct experiment *x, const struct trainer *t, struct results *out)
{
    struct ledger_totals totals = ledger_totals(x->ledger);
    struct jsonw w = {0};
    out->checkpoints = mem_array((size_t)t->n_history, sizeof *out->checkpoints);
    memcpy(out->checkpoints, t->history, (size_t)t->n_history * sizeof *out->checkpoints);
    out->all.steps = t->step;
    out->all.best_step = t->best_step;
    out->all.best_accuracy = t->best_accuracy;
    out->all.tasks = totals.tasks;
    out->all.labels = totals.labels;
    out->all.cost = money_labels(totals.spent);
    memcpy(out->all.kinds, totals.kinds, sizeof totals.kinds);
    out->all.unique = x->setup.train.redraw ? t->redraw.n_shown : totals.unique;
    out->all.unique_validation = totals.unique_validation;
    out->all.checkpoints = out->checkpoints;
    out->all.n_checkpoints = t->n_history;
    gather_ledger(x, out);
    jsonw_object(&w, NULL);
    jsonw_string(&w, "version", mete_version());
    if (*mete_commit())
        jsonw_string(&w, "commit", mete_commit());
    jsonw_string(&w, "device", x->learner->is.device);
    jsonw_int(&w, "threads", x->learner->is.workers);
    if (x->learner->is.unrepeatable)
        jsonw_string(&w, "bytes", "may differ");
    if (ranks_world()) {
        jsonw_int(&w, "ranks", ranks_count(x->ranks));
        jsonw_string(&w, "mpi", ranks_transport());
    }
    jsonw_close(&w);
    out->env = w.text;
    out->all.env = out->env;
}

double experiment_test_work(const struct experiment *x)
{
    double tests = 0;
    for (int i = 0; i < x->n_shots; i++)
        tests +=
            (experiment_judged(x) == SPLIT_TEST ? experiment_test_tasks(x, SPLIT_VAL, x->test[i])
                                                : 0) +
            2 * experiment_test_tasks(x, experiment_judged(x), x->test[i]);
    return tests;
}

/* Of updates and validations. */
static double work_of_training(const struct experiment *x, int val_tasks)
{
    const struct train_settings *s = &x->setup.train;
    double validations = 1 + ceil((double)s->steps / s->validate_every);
    return (double)METER_UPDATE * s->steps * s->meta_batch + validations * val_tasks;
}

static int run_once(const struct settings *settings, struct shelf *shelf,
                    const struct experiment_options *o, struct results *out, bool *again)
{
    struct experiment x;
    double start = clock_seconds();
    int err = experiment_open(&x, settings, shelf, o);
    if (err)
        return err;
    int val_tasks = experiment_test_tasks(&x, SPLIT_VAL, x.val);
    double training = work_of_training(&x, val_tasks);
    x.meter.steps = x.setup.train.steps;
    x.meter.total = training + 2 * experiment_test_work(&x);
    struct trainer t = {.setup = &x.setup,
                        .learner = x.learner,
                        .tasks = x.train,
                        .ledger = x.ledger,
                        .seed = x.seed,
                        .folder = o->folder,
                        .settings = settings,
                        .meter = &x.meter,
                        .validation = {.tasks = x.val,
                                       .part = SPLIT_VAL,
                                       .support = &x.judge,
                                       .n = val_tasks,
                                       .meter = &x.meter,
                                       .ledger = x.ledger}};
    err = experiment_buy_validation(&x, x.ledger);
    if (!err)
        err = train(&t);
    x.meter.done = training; /* also where it stopped early */
    x.meter.testing = true;
    *again = t.unusable;
    out->all.started = start;
    out->all.train_seconds = clock_seconds() - start;
    struct tensors last = {0};
    if (!err)
        err = learner_save(x.learner, LEARNER_MODEL, &last);
    if (!err && (o->folder || o->model))
        err = write_models(&x, &t, &last, settings, o);
    if (!err)
        err = test_models(&x, &t, &last, out);
    if (!err)
        gather(&x, &t, out);
    out->all.test_seconds = clock_seconds() - start - out->all.train_seconds;
    tensors_release(&last);
    trainer_release(&t);
    experiment_close(&x);
    return err;
}

int experiment_run(const struct settings *settings, struct shelf *shelf,
                   const struct experiment_options *o, struct results *out)
{
    bool again = false;
    *out = (struct results){0};
    int err = run_once(settings, shelf, o, out, &again);
    if (err && again)
        err = run_once(settings, shelf, o, out, &again);
    if (err)
        results_release(out);
    return err;
}

void results_release(struct results *r)
{
    for (int i = 0; i < r->all.n_tests; i++)
        free((void *)r->tests[i].tasks);
    free(r->checkpoints);
    free(r->ledger);
    free(r->measures);
    free(r->env);
    free(r->texts);
    *r = (struct results){0};
}
