/* oracle.h - a run with the stub for a learner, and every number of it a second time.
 *
 * What is expected is computed from the settings, the tasks (which have tests of their own), and
 * the stub's function; none of src/run/ is used for it.
 */
#ifndef ORACLE_H
#define ORACLE_H

#include "driver/stub.h"
#include "test.h"

#include "label/label.h"
#include "run/experiment.h"

/* A run, done, and what it is about. */
struct scene {
    const char *bench, *const *sets; /* as `mete train` takes them */
    const char *folder;              /* NULL: none */
    int stop_after;                  /* calls of progress after which it is stopped; 0: never */
    struct stub stub;
    struct shelf *shelf;
    struct setup setup;
    struct bench name;
    const struct dataset *data;
    uint64_t seed;
    struct results results;
    int told;        /* calls of progress before the tests */
    double fraction; /* the last one */
    bool backwards;  /* fractions fell */
};

static int scene_progress(void *user, struct meter *m)
{
    struct scene *s = user;
    double fraction = m->done / m->total;
    s->backwards = s->backwards || fraction < s->fraction;
    s->fraction = fraction;
    if (m->testing) /* told, but not counted */
        return 0;
    return ++s->told == s->stop_after ? fail(METE_ESTOPPED, "stopped") : 0;
}

/* Resolves the settings and keeps a copy of them, with which to compute. */
static int scene_settings(struct scene *s, struct settings *out)
{
    const char *all[32] = {NULL};
    char bench[256];
    struct run_rules own;
    struct config_rules rules = run_rules(&own, s->shelf);
    int n = 0;
    snprintf(bench, sizeof bench, "bench=%s", s->bench);
    all[n++] = bench;
    for (int i = 0; s->sets[i]; i++)
        all[n++] = s->sets[i];
    int err = config_resolve(out, all, &rules);
    if (!err)
        err = setup_open(&s->setup, settings_get(out, "method"), settings_get(out, "net"),
                         settings_get(out, "labels"));
    if (!err)
        err = config_apply(out, &s->setup.set);
    if (!err)
        err = bench_parse(&s->name, s->bench);
    if (!err)
        err = shelf_dataset(s->shelf, s->name.dataset, &s->data);
    if (!err)
        s->seed = strtoull(settings_get(out, "seed"), NULL, 10);
    return err;
}

static int scene_run(struct scene *s)
{
    struct settings settings = {0};
    struct learner_source source = {stub_open, &s->stub};
    int err = shelf_open(&s->shelf);
    if (!err)
        err = scene_settings(s, &settings);
    s->stub.users = s->data && s->data->users > 0 && s->setup.task.kind != TASK_CLASSES;
    struct experiment_options o = {.source = &source,
                                   .folder = s->folder,
                                   .threads = 1,
                                   .progress = scene_progress,
                                   .user = s};
    if (!err)
        err = experiment_run(&settings, s->shelf, &o, &s->results);
    settings_release(&settings);
    return err;
}

static void scene_close(struct scene *s)
{
    results_release(&s->results);
    setup_close(&s->setup);
    shelf_close(s->shelf);
    stub_release(&s->stub);
}

/* ---- what is expected ---- */

/* The scores of one model on some tasks of a part. */
struct expected {
    int n, ways;
    struct episode *task;
    double *accuracy, *loss, *accuracy_before, *loss_before;
    struct store_bin bins[STORE_BINS];
    double mean, half, mean_loss;
};

static void expected_release(struct expected *x)
{
    for (int i = 0; i < x->n; i++)
        episode_release(&x->task[i]);
    free(x->task);
    free(x->accuracy);
    *x = (struct expected){0};
}

/* The two-sided 95 % point of Student's t: tables, for the numbers of tasks used here. */
static double t_table(int df)
{
    static const struct {
        int df;
        double t;
    } table[] = {{1, 12.706204736}, {2, 4.302652730},  {3, 3.182446305},  {4, 2.776445105},
                 {5, 2.570581836},  {6, 2.446911851},  {7, 2.364624252},  {9, 2.262157163},
                 {11, 2.200985160}, {13, 2.160368656}, {14, 2.144786688}, {19, 2.093024054},
                 {39, 2.022690920}, {49, 2.009575234}, {89, 1.986978657}, {399, 1.965927296}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].df == df)
            return table[i].t;
    return NAN;
}

/* Mean and half width, by the textbook. */
static void interval_of(const double *x, int n, double *mean, double *half)
{
    double sum = 0, squares = 0;
    for (int i = 0; i < n; i++)
        sum += x[i];
    *mean = sum / n;
    for (int i = 0; i < n; i++)
        squares += (x[i] - *mean) * (x[i] - *mean);
    *half = n > 1 ? t_table(n - 1) * sqrt(squares / (n - 1) / n) : NAN;
}

/* Accuracy and loss of a task at model theta; adapted to its support, or to nothing. */
static void expect_task(const struct scene *s, int theta, const struct episode *e, bool adapted,
                        double *accuracy, double *loss, struct store_bin *bins)
{
    struct items support = {e->support, e->support_label, adapted ? e->n_support : 0};
    float *p = mem_array((size_t)e->ways, sizeof *p);
    *accuracy = *loss = 0;
    for (int i = 0; i < e->n_query; i++) {
        stub_probs(s->data, s->stub.users, theta, e->ways, &support, e->query[i], p);
        int best = 0;
        for (int c = e->ways - 1; c > 0; c--)
            if (p[c] > p[best] || (p[c] == p[best] && c < best && best != 0))
                best = c;
        int y = e->query_label[i];
        *accuracy += best == y;
        *loss += p[y] > 1e-30f ? -log((double)p[y]) : -log(1e-30);
        for (int b = 0; bins && b < STORE_BINS; b++)
            if ((double)p[best] * 15 > b && (double)p[best] * 15 <= b + 1) {
                bins[b].n++;
                bins[b].confidence += (double)p[best];
                bins[b].correct += best == y;
            }
    }
    *accuracy /= e->n_query;
    *loss /= e->n_query;
    free(p);
}

/* The tasks that a run is judged by: numbers 0..n-1 of a part, with these shots. */
static int judged_tasks(const struct scene *s, int part, int shots, int want, int theta,
                        struct expected *x)
{
    struct task_settings settings = s->setup.task;
    struct budget_settings plain;
    struct tasks *tasks = NULL;
    struct ledger *ledger = NULL;
    struct labeller judge = {0};
    struct stub view = {.data = s->data, .users = s->stub.users, .theta = theta};
    settings.shots = shots;
    settings.query = s->stub.users ? 0 : s->setup.test.query; /* of a user: the whole test part */
    settings.holdout = s->setup.test.holdout;
    param_defaults(budget_params, &plain);
    int err = tasks_open(&tasks, s->data, &s->name, &settings, (uint64_t)s->setup.test.seed);
    if (!err)
        err = ledger_open(&ledger, tasks, &plain, 0, false);
    if (!err)
        err = labeller_open(&judge, s->setup.test.support);
    if (err)
        return err;
    int64_t there = tasks_count(tasks, part);
    x->n = there < want ? (int)there : want;
    x->ways = view.ways = tasks_ways(tasks);
    x->task = mem_array((size_t)x->n, sizeof *x->task);
    view.learner = (struct learner){
        .ops = &stub_ops, .state = &view, .is = {.ways = view.ways, .features = STUB_FEATURES}};
    int got = 0;
    struct label_request q = {
        .tasks = tasks, .part = part, .n = x->n, .ledger = ledger, .learner = &view.learner};
    err = labeller_buy(&judge, &q, x->task, &got);
    learner_forget(&view.learner);
    stub_release(&view);
    labeller_close(&judge);
    ledger_close(ledger);
    tasks_close(tasks);
    return err || got != x->n ? METE_EINVAL : 0;
}

/* The scores of model theta on a part's tasks. */
static int expect(const struct scene *s, int part, int shots, int want, int theta,
                  struct expected *x)
{
    *x = (struct expected){0};
    int err = judged_tasks(s, part, shots, want, theta, x);
    if (err)
        return err;
    x->accuracy = mem_array(4 * (size_t)x->n, sizeof *x->accuracy);
    x->loss = x->accuracy + x->n;
    x->accuracy_before = x->loss + x->n;
    x->loss_before = x->accuracy_before + x->n;
    for (int i = 0; i < x->n; i++) {
        expect_task(s, theta, &x->task[i], true, &x->accuracy[i], &x->loss[i], x->bins);
        expect_task(s, theta, &x->task[i], false, &x->accuracy_before[i], &x->loss_before[i], NULL);
        x->mean_loss += x->loss[i] / x->n;
    }
    interval_of(x->accuracy, x->n, &x->mean, &x->half);
    return 0;
}

/* Which part of the split an item belongs to. */
static int part_of(const struct scene *s, const struct split *split, int32_t item)
{
    int32_t group = s->stub.users ? s->data->user[item] : s->data->y[item];
    for (int p = 0; p < SPLIT_PARTS; p++)
        for (int i = 0; i < split->n[p]; i++)
            if (split->group[p][i] == group)
                return p;
    return -1;
}

/* The part that all of these are of; -1 where they are of several. */
static int part_of_items(const struct scene *s, const struct split *split, const struct items *x)
{
    int part = x->n > 0 ? part_of(s, split, x->at[0]) : -1;
    for (int i = 1; i < x->n; i++)
        if (part_of(s, split, x->at[i]) != part)
            return -1;
    return part;
}

#endif
