/* field.c - opening an experiment: plug-ins, data, and the tasks it is about. */
#include "theory/field.h"

#include "base/error.h"
#include "base/number.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Settings of a study where the user's say nothing else: small enough to train many times. */
static const char *const study_settings[] = {"train.steps=200", "train.meta_batch=8",
                                             "task.query=5", NULL};

struct mete_study mete_study_defaults(void)
{
    return (struct mete_study){.bench = "glyphs:5w-1s",
                               .seed = 1,
                               .tasks = 0,
                               .fresh = 100,
                               .removals = 10,
                               .probed = 3,
                               .max_loss = 4,
                               .delta = 0.05};
}

/* A setting as text; "" where the method has no such. */
static const char *setting_of(const struct setup *s, const char *key, char text[PARAM_TEXT_SIZE])
{
    int section;
    const struct param *row = param_find(&s->set, key, &section);
    text[0] = 0;
    if (row)
        param_text(row, s->set.section[section].state, text, PARAM_TEXT_SIZE);
    return text;
}

/* The theory's A takes the same steps when it is trained and when it is used. */
static int read_inner(struct field *f)
{
    char text[PARAM_TEXT_SIZE];
    f->inner_lr = number_read(setting_of(&f->setup, "inner.lr", text), NULL);
    f->inner_sum = strcmp(setting_of(&f->setup, "inner.loss", text), "sum") == 0;
    f->inner_steps = (int)strtol(setting_of(&f->setup, "inner.steps", text), NULL, 10);
    return f->inner_steps > 0 ? param_set_text(&f->setup.set, "test.steps", text) : 0;
}

/* Studies measure MAML's risk where it holds labels out. */
static int check_objective(const struct field *f)
{
    char text[PARAM_TEXT_SIZE];
    if (strcmp(f->setup.method.ops->name, "maml") != 0 ||
        strcmp(setting_of(&f->setup, "method.objective", text), "heldout") == 0)
        return 0;
    return fail(METE_EINVAL,
                "method.objective=%s: studies measure MAML by the labels that it holds out; leave "
                "it at heldout",
                text);
}

static int open_setup(struct field *f, const struct mete_study *o)
{
    const char *method = o->method ? o->method : "maml";
    int err = mete_bound_method(method, &f->estimator);
    if (!err)
        err = setup_open(&f->setup, method, o->net, o->labels);
    if (!err)
        err = param_set_all(&f->setup.set, study_settings);
    if (!err)
        err = param_set_all(&f->setup.set, o->set);
    if (!err)
        err = read_inner(f);
    if (!err)
        err = check_objective(f);
    return err ? err : setup_engine(&f->setup, o->device, o->threads, &f->spec);
}

static int open_data(struct field *f, const struct mete_study *o)
{
    int err = bench_parse(&f->bench, o->bench);
    if (!err)
        err = dataset_find(&f->dataset, f->bench.dataset);
    if (!err)
        err = tasks_open(&f->tasks, f->dataset, &f->bench, &f->setup.task, o->seed);
    if (!err)
        err = tasks_check(f->tasks, SPLIT_TRAIN);
    if (err)
        return err;
    f->spec.images = engine_images(f->dataset);
    f->spec.ways = tasks_ways(f->tasks);
    f->spec.largest =
        (struct batch_shape){1, tasks_max_labels(f->tasks), tasks_max_query(f->tasks)};
    f->spec.seed = o->seed;
    return 0;
}

/* Buys `want` tasks from number `first` on; a cap of 0 pays for all of them. */
static int buy(struct field *f, struct labeller *labeller, struct learner *learner, int64_t first,
               int want, double cap, struct episode **out, int *bought)
{
    struct ledger *ledger = NULL;
    int err = ledger_open(&ledger, f->tasks, &f->setup.budget, cap, false);
    if (err)
        return err;
    *out = mem_array((size_t)want, sizeof **out);
    struct label_request q = {.tasks = f->tasks,
                              .part = SPLIT_TRAIN,
                              .first = first,
                              .n = want,
                              .ledger = ledger,
                              .learner = learner};
    err = labeller_buy(labeller, &q, *out, bought);
    ledger_close(ledger);
    return err;
}

static void give_back(struct episode **episodes, int *n)
{
    for (int i = 0; i < *n; i++)
        episode_release(&(*episodes)[i]);
    free(*episodes);
    *episodes = NULL;
    *n = 0;
}

/* How many tasks to ask for, and the cap: the number asked for, or the budget. */
static int wanted(const struct field *f, const struct mete_study *o, int *want, double *cap)
{
    double budget = f->setup.budget.labels > 0 ? f->setup.budget.labels : (double)f->bench.budget;
    if (o->tasks == 0 && budget == 0)
        return fail(METE_EINVAL, "%s has no label budget: say how many tasks to train on",
                    o->bench);
    if (o->tasks < 0 || o->tasks == 1)
        return fail(METE_EINVAL, "stability needs two training tasks or more, got %d", o->tasks);
    int64_t most = tasks_count(f->tasks, SPLIT_TRAIN) - o->fresh;
    *cap = o->tasks ? 0 : budget;
    double count = o->tasks ? o->tasks : budget / tasks_max_labels(f->tasks) + 1;
    if (most < 2)
        return fail(METE_EINVAL,
                    "%s has %lld users to train on, too few for %d fresh ones and two "
                    "more",
                    o->bench, (long long)(most + o->fresh), o->fresh);
    if (o->tasks && most < o->tasks)
        return fail(METE_EINVAL, "%s has %lld users to train on, not %d and %d fresh ones",
                    o->bench, (long long)(most + o->fresh), o->tasks, o->fresh);
    count = count < (double)most ? count : (double)most;
    *want = count < 1e6 ? (int)count : 1000000;
    return 0;
}

static int buy_all(struct field *f, const struct mete_study *o, struct labeller *labeller,
                   struct learner *learner)
{
    int want = 0;
    double cap = 0;
    int err = wanted(f, o, &want, &cap);
    if (!err)
        err = buy(f, labeller, learner, 0, want, cap, &f->train, &f->n);
    if (!err && f->n < 2)
        err =
            fail(METE_EINVAL, "%s pays for %d tasks: stability needs two or more", o->bench, f->n);
    /* the numbers after all that could have been bought */
    return err ? err : buy(f, labeller, learner, want, o->fresh, 0, &f->fresh, &f->n_fresh);
}

/* Strategies that ask a learner: one that was trained on tasks labelled at random. */
static int buy_with_learner(struct field *f, const struct mete_study *o)
{
    struct labeller at_random;
    struct engine *e = NULL;
    int err = labeller_open(&at_random, "random");
    if (err)
        return err;
    err = buy_all(f, o, &at_random, NULL);
    labeller_close(&at_random);
    if (!err)
        err = field_train(f, -1, NULL, NULL, &e);
    give_back(&f->train, &f->n);
    give_back(&f->fresh, &f->n_fresh);
    if (!err)
        err = buy_all(f, o, &f->setup.labeller, engine_learner(e));
    engine_close(e);
    return err;
}

int field_open(struct field *f, const struct mete_study *o)
{
    *f = (struct field){.max_loss = o->max_loss};
    if (o->fresh < 1 || o->fresh > 1000000)
        return fail(METE_EINVAL, "expected 1 to 1000000 fresh tasks, got %d", o->fresh);
    int err = open_setup(f, o);
    if (!err)
        err = open_data(f, o);
    if (!err)
        err = f->setup.labeller.ops->needs ? buy_with_learner(f, o)
                                           : buy_all(f, o, &f->setup.labeller, NULL);
    if (err)
        field_close(f);
    return err;
}

void field_close(struct field *f)
{
    give_back(&f->train, &f->n);
    give_back(&f->fresh, &f->n_fresh);
    tasks_close(f->tasks);
    dataset_close(f->dataset);
    setup_close(&f->setup);
    *f = (struct field){0};
}

struct labelled_task field_labelled_task(const struct field *f, const struct episode *e)
{
    bool heldout = f->estimator == METE_ESTIMATOR_HELDOUT;
    return (struct labelled_task){.support = {e->support, e->support_label, e->n_support},
                                  .query = {e->query, e->query_label, heldout ? e->n_query : 0},
                                  .id = (uint64_t)e->task};
}
