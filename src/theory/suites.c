/* suites.c - mete_run(): suites of training runs, and of studies.
 *
 * A suite with `study: stability` or `study: drift` has the settings of a training run and
 * those of a section named theory; each of its runs is one mete_stability(), or one row of
 * mete_drift(), whose numbers go to the database as measures.
 */
#include "run/ranks_job.h"
#include "theory/outer.h"

#include "mete_theory.h"
#include "base/error.h"
#include "base/jsonw.h"
#include "base/number.h"
#include "base/options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct theory_settings {
    int tasks, fresh, removals, probed;
    double max_loss, delta;
    double lr; /* of drift */
    int steps;
    bool trained;
};

#define S struct theory_settings
static const struct param stability_params[] = {
    PARAM_INT_ROW(S, tasks, "tasks", 0, 0, 1e6,
                  "training tasks, n; 0: as many as the budget pays for"),
    PARAM_INT_ROW(S, fresh, "fresh", 100, 1, 1e6, "new tasks on which models are compared"),
    PARAM_INT_ROW(S, removals, "removals", 10, 1, 1e6, "tasks, and points, left out in turn"),
    PARAM_INT_ROW(S, probed, "probed", 3, 1, 1e6, "tasks whose curvature is looked at"),
    PARAM_REAL_ROW(S, max_loss, "max_loss", 4, 1e-9, 1e9, "M: losses are clipped to it"),
    PARAM_REAL_ROW(S, delta, "delta", 0.05, 1e-300, 1, "of the bounds"),
    {0},
};

static const struct param drift_params[] = {
    PARAM_INT_ROW(S, tasks, "tasks", 0, 0, 1e6,
                  "training tasks, n; 0: as many as the budget pays for"),
    PARAM_INT_ROW(S, probed, "probed", 3, 1, 1e6, "tasks whose updates are looked at"),
    PARAM_REAL_ROW(S, lr, "lr", 0.01, 1e-12, 1e3, "inner step size of those updates"),
    PARAM_INT_ROW(S, steps, "steps", 5, 1, 1000, "inner steps of those updates"),
    PARAM_BOOL_ROW(S, trained, "trained", 0,
                   "at the weights that Reptile learns, not the initial ones"),
    {0},
};
#undef S

/* ---- the settings of a study ---- */

struct theory_rules {
    struct run_rules run;
    struct config_rules training;
    const struct param *table; /* of the section theory */
    struct theory_settings theory;
};

static int rules_open(void *user, struct config_names *names, struct param_set *set,
                      const char **key)
{
    struct theory_rules *r = user;
    int err = r->training.open(r->training.user, names, set, key);
    if (!err)
        param_set_add(set, "theory", r->table, &r->theory);
    return err;
}

static int rules_check(void *user, const struct config_names *names, const struct param_set *set,
                       const char **key)
{
    struct theory_rules *r = user;
    *key = "method";
    if (r->table == drift_params && strcmp(names->method, "reptile") != 0)
        return fail(METE_EINVAL, "method: drift is about reptile, got '%s'", names->method);
    return r->training.check(r->training.user, names, set, key);
}

static void rules_close(void *user, struct param_set *set)
{
    struct theory_rules *r = user;
    r->training.close(r->training.user, set);
}

static int rules_identify(void *user, struct settings *out)
{
    struct theory_rules *r = user;
    return r->training.identify(r->training.user, out);
}

static struct config_rules rules_with(void *own, struct shelf *shelf, const struct param *table)
{
    struct theory_rules *r = own;
    r->training = run_rules(&r->run, shelf);
    r->table = table;
    return (struct config_rules){r, rules_open, rules_check, rules_close, rules_identify, NULL};
}

static struct config_rules stability_rules(void *own, struct shelf *shelf)
{
    return rules_with(own, shelf, stability_params);
}

static struct config_rules drift_rules(void *own, struct shelf *shelf)
{
    return rules_with(own, shelf, drift_params);
}

/* ---- a study from its settings ---- */

static bool of_theory(const struct setting *s)
{
    return strncmp(s->key, "theory.", 7) == 0;
}

static bool names_plug_in(const struct setting *s)
{
    static const char *const names[] = {"bench", "method", "labels", "net", "seed"};
    for (int i = 0; i < 5; i++)
        if (strcmp(s->key, names[i]) == 0)
            return true;
    return false;
}

/* The section theory, read back. */
static int read_theory(const struct settings *s, const struct param *table,
                       struct theory_settings *out)
{
    struct param_set set = {0};
    int err = 0;
    *out = (struct theory_settings){.fresh = 1, .removals = 1, .max_loss = 1, .delta = 1};
    param_set_add(&set, "theory", table, out);
    for (int i = 0; i < s->n && !err; i++)
        if (of_theory(&s->at[i]))
            err = param_set_text(&set, s->at[i].key, s->at[i].value);
    return err;
}

/* The study that the settings describe; study_release() what it holds. */
static struct mete_study study_of(const struct settings *s, const struct theory_settings *t,
                                  const struct experiment_options *o)
{
    const char *seed = settings_get(s, "seed");
    char **set = mem_array((size_t)s->n + 1, sizeof *set);
    int n = 0;
    for (int i = 0; i < s->n; i++)
        if (!of_theory(&s->at[i]) && !names_plug_in(&s->at[i]) && !is_content_key(s->at[i].key))
            set[n++] = mem_print("%s=%s", s->at[i].key, s->at[i].value);
    return (struct mete_study){.bench = settings_get(s, "bench"),
                               .method = settings_get(s, "method"),
                               .net = settings_get(s, "net"),
                               .labels = settings_get(s, "labels"),
                               .device = o->device,
                               .set = (const char *const *)set,
                               .seed = seed ? strtoull(seed, NULL, 10) : 1,
                               .threads = o->threads,
                               .tasks = t->tasks,
                               .fresh = t->fresh,
                               .removals = t->removals,
                               .probed = t->probed,
                               .max_loss = t->max_loss,
                               .delta = t->delta};
}

static void study_release(struct mete_study *study)
{
    char **set = (char **)study->set;
    for (char **at = set; *at; at++)
        free(*at);
    free(set);
}

/* ---- its results ---- */

static void keep_measures(struct results *out, const struct store_measure *all, int n)
{
    out->measures = mem_array((size_t)n, sizeof *all);
    memcpy(out->measures, all, (size_t)n * sizeof *all);
    out->all.measures = out->measures;
    out->all.n_measures = n;
    out->all.best_accuracy = NAN;
}

static void gather_stability(const struct mete_stability *r, struct results *out)
{
    const struct store_measure all[] = {
        {"n", r->n, NAN},
        {"m", r->m, NAN},
        {"gap", r->gap, r->gap_half},
        {"gap_outer", r->gap_outer, NAN},
        {"gap_inner", r->gap_inner, NAN},
        {"objective", r->objective.mean, r->objective.half},
        {"risk", r->risk.mean, r->risk.half},
        {"outer_beta", r->outer_beta.mean, r->outer_beta.half},
        {"outer_beta_largest", r->outer_beta.largest, NAN},
        {"inner_beta", r->inner_beta.mean, r->inner_beta.half},
        {"inner_beta_largest", r->inner_beta.largest, NAN},
        {"outer_L", r->outer_l, NAN},
        {"outer_gamma", r->outer_gamma, NAN},
        {"inner_L", r->inner_l, NAN},
        {"inner_gamma", r->inner_gamma, NAN},
        {"bound_by_beta", r->by_beta.total, NAN},
        {"bound_by_lemma", r->by_lemma.total, NAN},
    };
    keep_measures(out, all, sizeof all / sizeof *all);
    out->all.steps = out->all.best_step = r->outer_steps;
    out->all.tasks = r->n;
    out->all.labels = (int64_t)r->n * r->m;
    out->all.cost = (double)out->all.labels;
}

/* Drift looks at updates, not at labels: it counts none. */
static void gather_drift(const struct mete_drift *r, bool trained, struct results *out)
{
    const struct store_measure all[] = {
        {"lr", r->lr, NAN},
        {"steps", r->steps, NAN},
        {"trained", trained, NAN},
        {"cosine", r->cosine, r->cosine_half},
        {"deviation", r->deviation, r->deviation_half},
        {"raw", r->raw, NAN},
        {"summed", r->summed, NAN},
        {"bound", r->bound, NAN},
        {"left_printed", r->left_printed, NAN},
        {"left_second", r->left_second, NAN},
    };
    keep_measures(out, all, sizeof all / sizeof *all);
    out->all.tasks = r->tasks;
}

static double clock_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void note_circumstances(const struct experiment_options *o, double start,
                               struct results *out)
{
    struct jsonw w = {0};
    jsonw_object(&w, NULL);
    jsonw_string(&w, "version", mete_version());
    if (*mete_commit())
        jsonw_string(&w, "commit", mete_commit());
    jsonw_string(&w, "device", o->device ? o->device : "cpu");
    jsonw_int(&w, "threads", o->threads);
    if (ranks_world()) {
        jsonw_int(&w, "ranks", 1);
        jsonw_string(&w, "mpi", ranks_transport());
    }
    jsonw_close(&w);
    out->all.env = out->env = w.text;
    out->all.started = start;
    out->all.train_seconds = clock_seconds() - start;
}

static int stability_run(const struct settings *s, struct shelf *shelf,
                         const struct experiment_options *o, struct results *out)
{
    struct theory_settings t;
    struct mete_stability r;
    double start = clock_seconds();
    (void)shelf;
    *out = (struct results){0};
    int err = read_theory(s, stability_params, &t);
    if (err)
        return err;
    struct mete_study study = study_of(s, &t, o);
    err = stability_study(&study, NULL, &r);
    study_release(&study);
    if (err)
        return err;
    gather_stability(&r, out);
    note_circumstances(o, start, out);
    return 0;
}

static int drift_run(const struct settings *s, struct shelf *shelf,
                     const struct experiment_options *o, struct results *out)
{
    struct theory_settings t;
    struct mete_drift row;
    double start = clock_seconds();
    (void)shelf;
    *out = (struct results){0};
    int err = read_theory(s, drift_params, &t);
    if (err)
        return err;
    struct mete_study study = study_of(s, &t, o);
    err = mete_drift(&study, t.trained, &t.lr, 1, &t.steps, 1, &row);
    study_release(&study);
    if (err)
        return err;
    gather_drift(&row, t.trained, out);
    note_circumstances(o, start, out);
    return 0;
}

/* So many trainings, and tasks that are adapted to and scored. */
static int estimate(const struct settings *s, struct shelf *shelf, const char *device,
                    struct rate_memo *memo, int trainings, int tasks, double scored,
                    struct estimate *out)
{
    struct settings training = {.at = mem_array((size_t)s->n, sizeof *s->at)};
    for (int i = 0; i < s->n; i++)
        if (!of_theory(&s->at[i]))
            training.at[training.n++] = s->at[i]; /* borrowed */
    int err = estimate_run(&training, shelf, device, memo, out);
    free(training.at);
    if (err)
        return err;
    out->flops *= trainings;
    out->seconds = trainings * out->training + scored * out->test_task;
    if (tasks) {
        out->labels = out->labels / out->tasks * tasks;
        out->tasks = tasks;
    }
    return 0;
}

/* One training for each removal and one more. */
static int stability_estimate(const struct settings *s, struct shelf *shelf, const char *device,
                              struct rate_memo *memo, struct estimate *out)
{
    struct theory_settings t;
    int err = read_theory(s, stability_params, &t);
    /* Each model is scored on the fresh tasks, and there each point left out in turn. */
    double scored = (double)t.fresh * (2 * t.removals + 2);
    return err ? err : estimate(s, shelf, device, memo, t.removals + 1, t.tasks, scored, out);
}

static int drift_estimate(const struct settings *s, struct shelf *shelf, const char *device,
                          struct rate_memo *memo, struct estimate *out)
{
    struct theory_settings t;
    int err = read_theory(s, drift_params, &t);
    return err ? err : estimate(s, shelf, device, memo, t.trained, t.tasks, 0, out);
}

static const struct sweep_kind studies[] = {
    {"stability", sizeof(struct theory_rules), stability_rules, stability_run, stability_estimate,
     false},
    {"drift", sizeof(struct theory_rules), drift_rules, drift_run, drift_estimate, false},
};

/* "": runs that train. */
static const struct sweep_kind *find_kind(const char *name)
{
    for (size_t i = 0; i < sizeof studies / sizeof *studies; i++)
        if (strcmp(name, studies[i].name) == 0)
            return &studies[i];
    return strcmp(name, "") == 0 ? &sweep_training : NULL;
}

int mete_run(const struct mete_run_options *given)
{
    NUMBER_LOCALE;
    struct mete_run_options own, *o = &own;
    char study[64];
    int err = options_take(o, sizeof own, given, "mete_run_options");
    if (!err && !o->suite)
        err = fail(METE_EINVAL, "a run needs a suite");
    if (!err && !o->db && !o->dry_run && !o->print_config)
        err = fail(METE_EINVAL, "a run needs a results database");
    if (!err)
        err = suite_study(o->suite, study, sizeof study);
    if (err)
        return err;
    const struct sweep_kind *kind = find_kind(study);
    return kind ? sweep_run(o, kind)
                : fail(METE_EINVAL, "%s: study: expected stability or drift, got '%s'", o->suite,
                       study);
}

int mete_ranks_serve(void)
{
    return ranks_serve(&(struct ranks_server){find_kind, outer_serve});
}
