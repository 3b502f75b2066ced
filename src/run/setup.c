/* setup.c - opening plug-ins by name and gathering their settings. */
#include "run/setup.h"
#include "base/error.h"
#include "method/engine.h"

#include <stdlib.h>

/* Meta-batch 32 and validation every 100 steps: reference settings of the released
 * code's last version; under a small budget early, frequent validation is part of
 * the method. */
static const struct param train_params[] = {
    PARAM_INT_ROW(struct train_settings, steps, "steps", 2000, 1, 1e8, "meta-updates"),
    PARAM_INT_ROW(struct train_settings, meta_batch, "meta_batch", 32, 1, 4096,
                  "tasks of a meta-update"),
    PARAM_INT_ROW(struct train_settings, groups, "groups", ENGINE_GROUPS, 1, 4096,
                  "groups of a meta-batch whose gradients are added up apart: the most threads "
                  "and ranks that share it"),
    PARAM_CHOICE_ROW(struct train_settings, reuse, "reuse", "epochs|draw", 0,
                     "how bought tasks are reused: in shuffled epochs, or drawn with replacement"),
    PARAM_BOOL_ROW(struct train_settings, relabel, "relabel", 0,
                   "permute the class labels of a task each time it is used; costs no label"),
    PARAM_CHOICE_ROW(struct train_settings, resplit, "resplit", "no|yes|any", RESPLIT_NO,
                     "re-split support and query of a task each time it is used: each class as "
                     "before, or any number of any labels; costs no label"),
    PARAM_BOOL_ROW(struct train_settings, remix, "remix", 0,
                   "make tasks anew of all bought points, by their class names; costs no label"),
    PARAM_BOOL_ROW(struct train_settings, redraw, "redraw", 0,
                   "show other images of a task's classes each time it is used, bought or not: "
                   "unbounded supervision"),
    PARAM_INT_ROW(struct train_settings, validate_every, "validate_every", 100, 1, 1e8,
                  "meta-updates between validations; a checkpoint follows each"),
    PARAM_INT_ROW(
        struct train_settings, patience, "patience", 0, 0, 1e8,
        "stop after this many validations in a row without a better one, counted once the "
        "budget is spent; 0: after train.steps"),
    PARAM_INT_ROW(struct train_settings, val_tasks, "val_tasks", 200, 1, 1e6, "validation tasks"),
    PARAM_INT_ROW(struct train_settings, val_shots, "val_shots", 1, 1, 1e6,
                  "shots of the validation supports"),
    {0},
};

static int labels_canonical(char text[PARAM_TEXT_SIZE])
{
    return *text ? shots_canonical(text) : 0;
}

static const struct param test_params[] = {
    PARAM_INT_ROW(struct test_settings, tasks, "tasks", 600, 1, 1e6, "test tasks"),
    PARAM_INT_ROW(struct test_settings, query, "query", 1, 1, 1e6,
                  "query items per class of a few-shot test task"),
    PARAM_INT_ROW(struct test_settings, seed, "seed", 0, 0, 1e9,
                  "seed of validation and test tasks; separate from the run's, so all runs have "
                  "the same tasks"),
    PARAM_FORM_ROW(struct test_settings, shots, "shots", "1,5", shots_canonical,
                   "shots of the test supports"),
    PARAM_TEXT_ROW(struct test_settings, support, "support", "stratified",
                   "label strategy that selects validation and test supports"),
    PARAM_FORM_ROW(struct test_settings, labels, "labels", "", labels_canonical,
                   "instead of test.shots: labels of a test task in all, such as 6,30"),
    PARAM_INT_ROW(struct test_settings, repeats, "repeats", 1, 1, 1000,
                  "supports drawn for each user who is tested"),
    PARAM_CHOICE_ROW(struct test_settings, keep, "keep", "always|by-support", KEEP_ALWAYS,
                     "who keeps their adapted model: everybody, or those for whom it is no worse "
                     "than the model for all, by leave-one-out on their support"),
    PARAM_REAL_ROW(struct test_settings, holdout, "holdout", 0.2, 0, 0.9,
                   "share of a validation or test user's items kept as query where the dataset has "
                   "no parts"),
    PARAM_CHOICE_ROW(struct test_settings, part, "part", "test|val", JUDGED_TEST,
                     "whom tests are of: the test part, or the validation part, so that settings "
                     "can be compared without a look at the test part"),
    {0},
};

static const struct param device_params[] = {
    PARAM_CHOICE_ROW(struct device_settings, precision, "precision", "tf32|fp32", 0,
                     "GPU arithmetic: TF32 tensor cores, or plain fp32"),
    {0},
};

int setup_open(struct setup *s, const char *method, const char *net, const char *labels)
{
    *s = (struct setup){0};
    int err = method_open(&s->method, method ? method : "maml");
    if (!err)
        err = net_find(&s->net, net ? net : "conv4");
    if (!err)
        err = labeller_open(&s->labeller, labels ? labels : "random");
    if (err) {
        setup_close(s);
        return err;
    }
    s->net_state = mem_alloc(s->net->state_size);
    param_set_add(&s->set, "method", s->method.ops->params, s->method.state);
    param_set_add(&s->set, "net", s->net->params, s->net_state);
    param_set_add(&s->set, "outer", outer_params, &s->outer);
    param_set_add(&s->set, "", task_params, &s->task);
    param_set_add(&s->set, "budget", budget_params, &s->budget);
    labeller_params(&s->labeller, &s->set);
    param_set_add(&s->set, "train", train_params, &s->train);
    param_set_add(&s->set, "test", test_params, &s->test);
    param_set_add(&s->set, "device", device_params, &s->device);
    return 0;
}

void setup_settle(struct setup *s, bool users, bool cap)
{
    if (s->budget.unit == UNIT_AUTO)
        s->budget.unit = users && cap ? UNIT_UNIQUE : UNIT_DRAWS;
    if (s->task.query == 0 && !users)
        s->task.query = 1;
}

void setup_close(struct setup *s)
{
    method_close(&s->method);
    labeller_close(&s->labeller);
    free(s->net_state);
    *s = (struct setup){0};
}

int setup_engine(const struct setup *s, const char *device, int threads, struct engine_spec *out)
{
    if (s->method.ops->open)
        return fail(METE_EINVAL, "method %s is a baseline: it has no meta-gradient",
                    s->method.ops->name);
    int err = method_check(&s->method);
    if (err)
        return err;
    *out = (struct engine_spec){
        .threads = threads,
        .net = s->net,
        .net_settings = s->net_state,
        .method = &s->method,
        .outer = s->outer,
        .device = {.full_fp32 = s->device.precision == 1, .index = ranks_on_host()},
        .meta_batch = s->train.meta_batch,
        .groups = s->train.groups,
    };
    return kernels_find(&out->kernels, device ? device : "cpu");
}

int setup_learner(const struct setup *s, const struct learner_spec *spec,
                  struct lockstep_set *lockstep_set, struct learner **out)
{
    struct engine_spec engine;
    struct engine *e = NULL;
    if (s->method.ops->open)
        return s->method.ops->open(s->method.state, spec, out);
    int err = setup_engine(s, spec->device, spec->threads, &engine);
    if (err)
        return err;
    engine.images = engine_images(spec->data);
    engine.ways = spec->ways;
    engine.train_ways = spec->train_ways;
    engine.meta_batch = spec->meta_batch;
    engine.largest = (struct batch_shape){1, spec->support, spec->query};
    engine.seed = spec->seed;
    engine.lockstep_set = lockstep_set;
    engine.ranks = spec->ranks;
    err = engine_open(&e, &engine);
    if (!err)
        *out = engine_learner(e);
    return err;
}
