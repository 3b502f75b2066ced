/* suites.c - mete_run(): suites of training runs, and of studies.
 *
 * A suite with `study: stability` has the settings of a training run and those of a
 * section named theory; each of its runs is one mete_stability(), whose numbers go to
 * the database as measures.
 */
#include "run/sweep.h"

#include "base/error.h"
#include "base/jsonw.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct theory_settings {
    int tasks, fresh, removals, probed;
    double max_loss, delta;
};

#define S struct theory_settings
static const struct param theory_params[] = {
    PARAM_INT_ROW(S, tasks, "tasks", 0, 0, 1e6,
                  "training tasks, n; 0: as many as the budget pays for"),
    PARAM_INT_ROW(S, fresh, "fresh", 100, 1, 1e6, "new tasks on which models are compared"),
    PARAM_INT_ROW(S, removals, "removals", 10, 1, 1e6, "tasks, and points, left out in turn"),
    PARAM_INT_ROW(S, probed, "probed", 3, 1, 1e6, "tasks whose curvature is looked at"),
    PARAM_REAL_ROW(S, max_loss, "max_loss", 4, 1e-9, 1e9, "M: losses are clipped to it"),
    PARAM_REAL_ROW(S, delta, "delta", 0.05, 1e-300, 1, "of the bounds"),
    {0},
};
#undef S

/* ---- the settings of a study ---- */

struct theory_rules {
    struct run_rules run;
    struct config_rules training;
    struct theory_settings theory;
};

static int rules_open(void *user, struct config_names *names, struct param_set *set,
                      const char **key)
{
    struct theory_rules *r = user;
    int err = r->training.open(r->training.user, names, set, key);
    if (!err)
        param_set_add(set, "theory", theory_params, &r->theory);
    return err;
}

static int rules_check(void *user, const struct config_names *names, const struct param_set *set,
                       const char **key)
{
    struct theory_rules *r = user;
    return r->training.check(r->training.user, names, set, key);
}

static void rules_close(void *user, struct param_set *set)
{
    struct theory_rules *r = user;
    r->training.close(r->training.user, set);
}

static struct config_rules theory_rules(void *own, struct shelf *shelf)
{
    struct theory_rules *r = own;
    r->training = run_rules(&r->run, shelf);
    return (struct config_rules){r, rules_open, rules_check, rules_close};
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
static int read_theory(const struct settings *s, struct theory_settings *out)
{
    struct param_set set = {0};
    int err = 0;
    param_set_add(&set, "theory", theory_params, out);
    for (int i = 0; i < s->n && !err; i++)
        if (of_theory(&s->at[i]))
            err = param_set_text(&set, s->at[i].key, s->at[i].value);
    return err;
}

static int measure(const struct settings *s, const struct experiment_options *o,
                   struct mete_stability *out)
{
    struct theory_settings t;
    const char *seed = settings_get(s, "seed");
    int err = read_theory(s, &t), n = 0;
    if (err)
        return err;
    char **set = mem_array((size_t)s->n + 1, sizeof *set);
    for (int i = 0; i < s->n; i++)
        if (!of_theory(&s->at[i]) && !names_plug_in(&s->at[i]))
            set[n++] = mem_print("%s=%s", s->at[i].key, s->at[i].value);
    struct mete_study study = {.bench = settings_get(s, "bench"),
                               .method = settings_get(s, "method"),
                               .net = settings_get(s, "net"),
                               .labels = settings_get(s, "labels"),
                               .device = o->device,
                               .set = (const char *const *)set,
                               .seed = seed ? strtoull(seed, NULL, 10) : 1,
                               .threads = o->threads,
                               .tasks = t.tasks,
                               .fresh = t.fresh,
                               .removals = t.removals,
                               .probed = t.probed,
                               .max_loss = t.max_loss,
                               .delta = t.delta};
    err = mete_stability(&study, out);
    for (int i = 0; i < n; i++)
        free(set[i]);
    free(set);
    return err;
}

/* ---- its results ---- */

static void gather(const struct mete_stability *r, struct results *out)
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
    out->measures = mem_alloc(sizeof all);
    memcpy(out->measures, all, sizeof all);
    out->all.measures = out->measures;
    out->all.n_measures = sizeof all / sizeof *all;
    out->all.steps = out->all.best_step = r->outer_steps;
    out->all.best_accuracy = NAN;
    out->all.tasks = r->n;
    out->all.labels = (int64_t)r->n * r->m;
    out->all.cost = (double)out->all.labels;
}

static double clock_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int theory_run(const struct settings *s, struct shelf *shelf,
                      const struct experiment_options *o, struct results *out)
{
    struct mete_stability r;
    struct jsonw w = {0};
    double start = clock_seconds();
    (void)shelf;
    *out = (struct results){0};
    int err = measure(s, o, &r);
    if (err)
        return err;
    gather(&r, out);
    jsonw_object(&w, NULL);
    jsonw_string(&w, "version", mete_version());
    jsonw_string(&w, "device", o->device ? o->device : "cpu");
    jsonw_int(&w, "threads", o->threads);
    jsonw_close(&w);
    out->all.env = out->env = w.text;
    out->all.started = start;
    out->all.train_seconds = clock_seconds() - start;
    return 0;
}

/* One training for each removal and one more; what is measured between them is not counted. */
static int theory_estimate(const struct settings *s, struct shelf *shelf, const char *device,
                           struct estimate *out)
{
    struct theory_settings t;
    struct settings training = {.at = mem_array((size_t)s->n, sizeof *s->at)};
    int err = read_theory(s, &t);
    for (int i = 0; i < s->n; i++)
        if (!of_theory(&s->at[i]))
            training.at[training.n++] = s->at[i]; /* borrowed */
    if (!err)
        err = estimate_run(&training, shelf, device, out);
    free(training.at);
    if (!err) {
        out->flops *= t.removals + 1;
        out->seconds *= t.removals + 1;
        out->tasks = t.tasks ? t.tasks : out->tasks;
    }
    return err;
}

static const struct sweep_kind sweep_stability = {
    .rules_size = sizeof(struct theory_rules),
    .rules = theory_rules,
    .run = theory_run,
    .estimate = theory_estimate,
};

int mete_run(const struct mete_run_options *o)
{
    char study[64];
    int err = suite_study(o->suite, study, sizeof study);
    if (err)
        return err;
    if (strcmp(study, "") == 0)
        return sweep_run(o, &sweep_training);
    if (strcmp(study, "stability") == 0)
        return sweep_run(o, &sweep_stability);
    return fail(METE_EINVAL, "%s: study: expected stability, got '%s'", o->suite, study);
}
