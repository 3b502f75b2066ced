/* single.c - mete train and mete eval: one run, one model. */
#include "run/identity.h"
#include "run/single.h"
#include "run/evaluate.h"
#include "run/sweep.h"
#include "run/model.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/number.h"
#include "base/options.h"
#include "task/task_file.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int resolve(struct settings *out, struct shelf *shelf, const struct config_given *given,
                   int n, const char *const *set)
{
    struct run_rules own;
    struct config_rules rules = run_rules(&own, shelf);
    int err = config_resolve_given(out, given, n, set, &rules);
    if (err)
        return err;
    const struct method_ops *method = NULL;
    err = method_find(&method, settings_get(out, "method"));
    for (int i = 0; i < out->n && !err; i++)
        if (strcmp(out->at[i].origin, "--set") == 0)
            err = method_uses(method, out->at[i].key);
    if (err)
        settings_release(out);
    return err;
}

/* runs/omniglot-5w-1s-30K-maml-random-1a2b3c4d */
static int folder_name(const struct settings *s, char **out)
{
    struct planned p;
    char id[STORE_ID_SIZE];
    int err = planned_open(&p, s);
    if (err)
        return err;
    store_run_id(&p.run, id);
    *out = mem_print("runs/%s-%s-%s-%.8s", p.run.bench, p.run.method, p.run.labels, id);
    for (char *c = *out + strlen("runs/"); *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '.' && *c != '-')
            *c = '-';
    planned_release(&p);
    return 0;
}

static void tell(const struct store_test *t, mete_test_fn *fn, void *user)
{
    double before = 0, loss = 0, ece = 0, n = 0, kept = 0, adapted = 0;
    int worse = 0, adapted_worse = 0;
    if (!fn)
        return;
    for (int i = 0; i < t->n_tasks; i++) {
        const struct store_task *x = &t->tasks[i];
        before += x->accuracy_before / t->n_tasks;
        loss += x->loss / t->n_tasks;
        kept += (double)x->unadapted / t->n_tasks;
        adapted += x->accuracy_adapted / t->n_tasks;
        worse += x->accuracy < x->accuracy_before;
        adapted_worse += x->accuracy_adapted < x->accuracy_before;
    }
    for (int b = 0; b < STORE_BINS; b++) {
        ece += fabs(t->bins[b].confidence - t->bins[b].correct);
        n += (double)t->bins[b].n;
    }
    struct summary s = task_summary(t->tasks, t->n_tasks, false);
    bool users = t->n_tasks > 0 && t->tasks[0].user;
    fn(user, &(struct mete_test){.model = t->model,
                                 .shots = t->shots,
                                 .support = t->support,
                                 .bn = t->bn,
                                 .tasks = t->n_tasks,
                                 .accuracy = s.mean,
                                 .half = s.half,
                                 .before = before,
                                 .loss = loss,
                                 .ece = n > 0 ? ece / n : 0,
                                 .valid_accuracy = t->valid_accuracy,
                                 .labels = t->labels,
                                 .users = users ? (int)s.n : 0,
                                 .worse = (double)worse / t->n_tasks,
                                 .kept = t->keeps ? kept : NAN,
                                 .adapted = adapted,
                                 .adapted_worse = (double)adapted_worse / t->n_tasks});
}

static int pass_on_progress(void *user, struct meter *m)
{
    char detail[METER_TEXT];
    meter_text(m, detail);
    return progress_of(&(struct mete_progress){.what = user,
                                               .done = m->done / m->total,
                                               .total = 1,
                                               .restored = m->restored / m->total,
                                               .left = NAN,
                                               .detail = detail});
}

/* "10 tasks, 60 labels of 45 items: 30 support, 30 query; charged 60" */
static void log_labels(const struct store_results *r)
{
    char kinds[96] = "", unique[48] = "";
    if (r->kinds[KIND_SUPPORT] >= 0)
        snprintf(kinds, sizeof kinds, ": %lld support, %lld query",
                 (long long)r->kinds[KIND_SUPPORT], (long long)r->kinds[KIND_QUERY]);
    if (r->unique >= 0)
        snprintf(unique, sizeof unique, " of %lld items", (long long)r->unique);
    log_info("%lld tasks, %lld labels%s%s; charged %.10g", (long long)r->tasks,
             (long long)r->labels, unique, kinds, r->cost);
    log_info("validation saw %lld labels of %lld items; they choose the step and the shots",
             (long long)r->kinds[KIND_VALIDATION], (long long)r->unique_validation);
}

/* Trains, writes the folder, unless it is NULL, and tells of it. */
static int train_in(const char *folder, const struct settings *s, struct shelf *shelf,
                    const struct single *how, struct results *out)
{
    struct experiment_options x = {.device = how->o->device,
                                   .threads = how->o->threads,
                                   .ranks = ranks_world(),
                                   .folder = folder,
                                   .progress = how->progress,
                                   .model = how->model,
                                   .user = how->user};
    int err = folder ? identity_check_folder(s, folder) : 0;
    if (!err && folder)
        err = file_make_folder(folder);
    if (!err)
        err = experiment_run(s, shelf, &x, out);
    if (err)
        return err;
    err = folder ? folder_write(folder, s, out) : 0;
    if (err) {
        results_release(out);
        return err;
    }
    if (folder)
        checkpoint_remove(folder);
    log_labels(&out->all);
    log_info("best at step %lld%s%s", (long long)out->all.best_step, folder ? "; models in " : "",
             folder ? folder : "");
    return 0;
}

/* Adds the tasks of a test in another fold. */
static void join(struct store_test *to, const struct store_test *t)
{
    size_t n = (size_t)to->n_tasks, more = (size_t)t->n_tasks;
    struct store_task *tasks = mem_array(n + more, sizeof *tasks);
    memcpy(tasks, to->tasks, n * sizeof *tasks);
    memcpy(tasks + n, t->tasks, more * sizeof *tasks);
    free((void *)to->tasks);
    to->tasks = tasks;
    to->n_tasks += t->n_tasks;
    for (int b = 0; b < STORE_BINS; b++) {
        to->bins[b].n += t->bins[b].n;
        to->bins[b].confidence += t->bins[b].confidence;
        to->bins[b].correct += t->bins[b].correct;
    }
}

/* One run, or one for each fold, whose tests are told as one. */
static int train_all(const char *folder, const struct settings *s, struct shelf *shelf,
                     const struct single *how)
{
    struct results whole = {0};
    const struct mete_train_options *o = how->o;
    int err = 0, folds = settings_folds(s);
    if (folds > 1 && how->one_model)
        return fail(METE_EINVAL,
                    "data.folds=%d stands for %d models, where one is wanted; set data.fold", folds,
                    folds);
    for (int f = 1; f <= folds && !err; f++) {
        struct settings one = settings_fold(s, f);
        struct results r;
        char *at = !folder     ? NULL
                   : folds > 1 ? mem_print("%s/fold-%d", folder, f)
                               : mem_string(folder);
        err = train_in(at, &one, shelf, how, f == 1 ? &whole : &r);
        for (int i = 0; f > 1 && !err && i < r.all.n_tests; i++)
            join(&whole.tests[i], &r.tests[i]);
        if (f > 1 && !err)
            results_release(&r);
        settings_release(&one);
        free(at);
    }
    for (int i = 0; i < whole.all.n_tests && !err && o->test; i++)
        tell(&whole.tests[i], o->test, o->user);
    results_release(&whole);
    return err;
}

int single_run(const struct single *how)
{
    NUMBER_LOCALE;
    const struct mete_train_options *o = how->o;
    struct shelf *shelf = NULL;
    struct settings s = {0};
    char *folder = NULL, seed[24];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)o->seed);
    const struct config_given names[] = {{"bench", o->bench, ""},
                                         {"method", o->method, "--method"},
                                         {"labels", o->labels, "--labels"},
                                         {"net", o->net, "--net"},
                                         {"seed", seed, "--seed"}};
    if (o->threads < 0)
        return fail(METE_EINVAL, "%d threads cannot be; 0: one per core", o->threads);
    int err = shelf_open(&shelf);
    if (!err && how->data)
        shelf_lend(shelf, how->data);
    if (!err)
        err = resolve(&s, shelf, names, 5, o->set);
    if (!err && o->print_config) {
        char *text = settings_print(&s);
        if (o->config)
            o->config(o->user, text);
        free(text);
    } else if (!err) {
        if (o->folder && !how->no_folder)
            folder = mem_string(o->folder);
        else if (!how->no_folder)
            err = folder_name(&s, &folder);
        if (!err)
            err = train_all(folder, &s, shelf, how);
    }
    free(folder);
    settings_release(&s);
    shelf_close(shelf);
    return err;
}

int mete_train(const struct mete_train_options *given)
{
    struct mete_train_options own, *o = &own;
    int err = options_take(o, sizeof own, given, "mete_train_options");
    return err ? err
               : single_run(&(struct single){
                     .o = o, .progress = pass_on_progress, .user = (void *)o->bench});
}

/* A model's own benchmark is that of the data it knows: tests of others might hold what it was
 * trained on. */
static int check_data(const char *path, const struct settings *s)
{
    struct safetensors *f = NULL;
    int err = safetensors_open(&f, path);
    if (err)
        return err;
    const char *there = safetensors_meta(f, "data" CONTENT_KEY);
    const char *here = settings_get(s, "data" CONTENT_KEY), *bench = settings_get(s, "bench");
    if (there && here && strcmp(there, here) != 0)
        err = fail(METE_EINVAL,
                   "%s was trained on another %.*s than there is now: classes to test it on may be "
                   "some it was trained on; write the benchmark behind it to test it all the same",
                   path, (int)strcspn(bench, ":"), bench);
    safetensors_close(f);
    return err;
}

static int settings_of_model(const char *path, struct settings *out)
{
    struct safetensors *f = NULL;
    int err = safetensors_open(&f, path);
    if (!err)
        err = model_settings(f, out);
    safetensors_close(f);
    return err;
}

/* The tasks of a file, instead of the benchmark's own. */
static int test_file(struct experiment *x, const char *path, struct task_file *file,
                     struct store_test *test)
{
    struct score score = {0};
    int err = task_file_read(file, path, x->data), ways = tasks_ways(x->test[0]);
    if (!err && file->ways != ways)
        err = fail(METE_EINVAL, "%s: tasks of %d ways, but the model has %d; give the benchmark",
                   path, file->ways, ways);
    if (err)
        return err;
    struct evaluation what = {.tasks = x->test[0],
                              .n = file->n,
                              .given = file->episodes,
                              .before = true,
                              .keep = x->setup.test.keep == KEEP_BY_SUPPORT,
                              .meter = &x->meter};
    x->meter.total = 2 * file->n;
    err = evaluate(x->learner, &what, &score);
    experiment_describe(x, &score, test);
    test->shots = file->shots;
    test->support = file->support;
    test->keeps = what.keep;
    test->valid_accuracy = NAN;
    return err;
}

static int test_own(struct experiment *x, const struct mete_eval_options *o)
{
    int err = 0;
    x->meter.total = experiment_test_work(x);
    for (int i = 0; i < x->n_shots && !err; i++) {
        struct store_test test = {.model = "given"};
        err = experiment_test(x, i, &test);
        if (!err)
            tell(&test, o->test, o->user);
        free((void *)test.tasks);
    }
    return err;
}

static int eval_model(const struct mete_eval_options *o, struct shelf *shelf,
                      const struct settings *s)
{
    struct experiment x;
    struct experiment_options options = {.device = o->device,
                                         .threads = o->threads,
                                         .ranks = ranks_world(),
                                         .progress = pass_on_progress,
                                         .user = (void *)o->model};
    int err = experiment_open(&x, s, shelf, &options);
    if (err)
        return err;
    x.meter.testing = true;
    err = model_read(o->model, x.learner);
    if (!err && o->tasks) {
        struct store_test test = {.model = "given"};
        struct task_file file = {0};
        err = test_file(&x, o->tasks, &file, &test);
        if (!err)
            tell(&test, o->test, o->user);
        free((void *)test.tasks);
        task_file_release(&file);
    } else if (!err) {
        err = test_own(&x, o);
    }
    experiment_close(&x);
    return err;
}

static int eval_file(const struct mete_eval_options *o)
{
    struct shelf *shelf = NULL;
    struct settings s = {0};
    struct settings given = {0};
    int err = settings_of_model(o->model, &given), n = given.n;
    if (err)
        return err;
    struct config_given *names = mem_array((size_t)n + 1, sizeof *names);
    for (int i = 0; i < n; i++)
        names[i] = (struct config_given){given.at[i].key, given.at[i].value, o->model};
    if (o->bench)
        names[0] = (struct config_given){"bench", o->bench, ""};
    err = shelf_open(&shelf);
    if (!err)
        err = resolve(&s, shelf, names, n, o->set);
    if (!err && !o->bench)
        err = check_data(o->model, &s);
    if (!err)
        err = eval_model(o, shelf, &s);
    free(names);
    settings_release(&given);
    settings_release(&s);
    shelf_close(shelf);
    return err;
}

int mete_eval(const struct mete_eval_options *given)
{
    NUMBER_LOCALE;
    struct mete_eval_options own, *o = &own;
    int err = options_take(o, sizeof own, given, "mete_eval_options");
    if (!err && !o->model)
        err = fail(METE_EINVAL, "a model needs a path");
    if (err)
        return err;
    char *path = model_path(o->model);
    own.model = path;
    err = path ? eval_file(&own) : METE_EINVAL;
    free(path);
    return err;
}
