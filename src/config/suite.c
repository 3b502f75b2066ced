/* suite.c - reading a suite and multiplying out its axes.
 *
 * A run is a list of assignments, later ones winning: base, the `when` rules that
 * match, the options chosen on each axis, the seed, --set.
 */
#include "config/suite_own.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS_MAX = 100000 };

struct axis {
    struct assignments *option;
    int n;
};

struct rule { /* `when`: the run must match every pattern */
    struct assignments match, set;
    const struct yaml *at;
    bool used;
};

struct grid {
    const char *path;
    struct assignments base, last; /* last: --set */
    struct axis *axes;             /* the seeds are the last axis */
    int n_axes;
    struct rule *rules;
    int n_rules;
};

static int at_fault(const struct grid *g, const struct yaml *y, const char *what)
{
    return fail(METE_EINVAL, "%s:%d:%d: %s", g->path, y->line, y->column, what);
}

static void grid_release(struct grid *g)
{
    assignments_release(&g->base);
    assignments_release(&g->last);
    for (int i = 0; i < g->n_axes; i++) {
        for (int j = 0; j < g->axes[i].n; j++)
            assignments_release(&g->axes[i].option[j]);
        free(g->axes[i].option);
    }
    for (int i = 0; i < g->n_rules; i++) {
        assignments_release(&g->rules[i].match);
        assignments_release(&g->rules[i].set);
    }
    free(g->axes);
    free(g->rules);
}

static struct axis *new_axis(struct grid *g, int options)
{
    g->axes = mem_grow(g->axes, (size_t)g->n_axes + 1, sizeof *g->axes);
    struct axis *axis = &g->axes[g->n_axes++];
    axis->option = mem_array((size_t)options, sizeof *axis->option);
    axis->n = options;
    return axis;
}

static int read_axis(struct grid *g, const struct yaml *axis)
{
    if (axis->kind != YAML_LIST || axis->n == 0)
        return fail(METE_EINVAL, "%s:%d:%d: axis %s: expected a list of values, got %s", g->path,
                    axis->key_line, axis->key_column, axis->key,
                    axis->kind == YAML_LIST ? "an empty one" : yaml_kind_name(axis));
    struct axis *to = new_axis(g, axis->n);
    int err = 0;
    for (int i = 0; !err && i < axis->n; i++) {
        const struct yaml *option = &axis->child[i];
        err = option->kind == YAML_MAP
                  ? assignments_add_yaml(&to->option[i], g->path, option)
                  : assignments_add_value(&to->option[i], g->path, axis->key, axis, option);
    }
    return err;
}

static int read_axes(struct grid *g, const struct yaml *axes)
{
    if (!axes)
        return 0;
    if (axes->kind != YAML_MAP)
        return at_fault(g, axes, "axes: expected a map of lists");
    int err = 0;
    for (int i = 0; !err && i < axes->n; i++)
        err = read_axis(g, &axes->child[i]);
    return err;
}

static int add_seed(struct axis *axis, int i, const char *path, const struct yaml *under,
                    const char *text)
{
    struct yaml value = {
        .kind = YAML_TEXT, .text = (char *)text, .line = under->line, .column = under->column};
    return assignments_add_value(&axis->option[i], path, "seed", under, &value);
}

/* seeds: 3, or [4, 5, 6]; --seeds N replaces either. */
static int read_seeds(struct grid *g, const struct yaml *seeds, int replaced)
{
    if (!seeds && replaced <= 0)
        return 0;
    static const struct yaml nowhere = {.key_line = 1, .key_column = 1, .line = 1, .column = 1};
    int n = replaced, err = 0;
    if (replaced <= 0 && seeds->kind == YAML_LIST) {
        struct axis *axis = new_axis(g, seeds->n > 0 ? seeds->n : 1);
        if (seeds->n == 0)
            return at_fault(g, seeds, "seeds: expected a number of seeds, or a list of them");
        for (int i = 0; !err && i < seeds->n; i++)
            err = assignments_add_value(&axis->option[i], g->path, "seed", seeds, &seeds->child[i]);
        return err;
    }
    if (replaced <= 0) {
        char *end = NULL;
        long value = seeds->kind == YAML_TEXT ? strtol(seeds->text, &end, 10) : 0;
        if (!end || *end || value < 1 || value > RUNS_MAX)
            return at_fault(g, seeds, "seeds: expected a number of seeds, or a list of them");
        n = (int)value;
    }
    struct axis *axis = new_axis(g, n);
    for (int i = 0; !err && i < n; i++) {
        char text[16];
        snprintf(text, sizeof text, "%d", i + 1);
        err = add_seed(axis, i, g->path, seeds ? seeds : &nowhere, text);
    }
    return err;
}

static int read_rule(struct grid *g, const struct yaml *rule)
{
    g->rules = mem_grow(g->rules, (size_t)g->n_rules + 1, sizeof *g->rules);
    struct rule *to = &g->rules[g->n_rules++];
    *to = (struct rule){.at = rule};
    const struct yaml *set = yaml_get(rule, "set");
    if (!set || set->kind != YAML_MAP || rule->n < 2)
        return at_fault(g, rule, "when: expected {key: pattern, ..., set: {key: value, ...}}");
    int err = assignments_add_yaml(&to->set, g->path, set);
    for (int i = 0; !err && i < rule->n; i++)
        if (&rule->child[i] != set)
            err = assignments_add_value(&to->match, g->path, rule->child[i].key, &rule->child[i],
                                        &rule->child[i]);
    for (int i = 0; !err && i < to->set.n; i++)
        if (is_name_key(to->set.at[i].key))
            err = fail(METE_EINVAL, "%s: when: %s cannot depend on other settings; use an axis",
                       to->set.at[i].key_place, to->set.at[i].key);
    return err;
}

static int read_rules(struct grid *g, const struct yaml *when)
{
    if (!when)
        return 0;
    if (when->kind != YAML_LIST)
        return at_fault(g, when, "when: expected a list of {key: pattern, set: {...}}");
    int err = 0;
    for (int i = 0; !err && i < when->n; i++)
        err = read_rule(g, &when->child[i]);
    return err;
}

static bool matches(const struct rule *rule, const struct assignments *run)
{
    for (int i = 0; i < rule->match.n; i++) {
        const struct assignment *have = assignments_last(run, rule->match.at[i].key);
        if (!have || fnmatch(rule->match.at[i].value, have->value, 0) != 0)
            return false;
    }
    return true;
}

/* The assignments of the run at `choice` (an option for each axis). */
static struct assignments assemble(struct grid *g, const int *choice)
{
    struct assignments known = {0}, run = {0};
    assignments_append(&known, &g->base);
    for (int i = 0; i < g->n_axes; i++)
        assignments_append(&known, &g->axes[i].option[choice[i]]);
    assignments_append(&known, &g->last);
    assignments_append(&run, &g->base);
    for (int i = 0; i < g->n_rules; i++)
        if (matches(&g->rules[i], &known)) {
            g->rules[i].used = true;
            assignments_append(&run, &g->rules[i].set);
        }
    for (int i = 0; i < g->n_axes; i++)
        assignments_append(&run, &g->axes[i].option[choice[i]]);
    assignments_append(&run, &g->last);
    assignments_release(&known);
    return run;
}

static bool same_settings(const struct settings *a, const struct settings *b)
{
    if (a->n != b->n)
        return false;
    for (int i = 0; i < a->n; i++)
        if (strcmp(a->at[i].value, b->at[i].value) != 0 || strcmp(a->at[i].key, b->at[i].key) != 0)
            return false;
    return true;
}

static const char *get_or(const struct settings *s, const char *key)
{
    const char *value = settings_get(s, key);
    return value ? value : "-";
}

static int refuse_repeats(const struct suite *s)
{
    for (int i = 0; i < s->n_runs; i++)
        for (int j = 0; j < i; j++)
            if (same_settings(&s->runs[i], &s->runs[j]))
                return fail(METE_EINVAL,
                            "%s: runs %d and %d are the same (%s %s %s seed %s): an axis or --set "
                            "repeats a value",
                            s->path, j + 1, i + 1, get_or(&s->runs[i], "bench"),
                            get_or(&s->runs[i], "method"), get_or(&s->runs[i], "labels"),
                            get_or(&s->runs[i], "seed"));
    return 0;
}

/* Resolves run number r; a --set that it has a setting for is marked in g->last. */
static int resolve_one(struct suite *s, struct grid *g, const struct config_rules *rules, int r,
                       bool lenient)
{
    int *choice = mem_array((size_t)g->n_axes + 1, sizeof *choice);
    for (int i = g->n_axes - 1, rest = r; i >= 0; rest /= g->axes[i--].n)
        choice[i] = rest % g->axes[i].n;
    struct assignments run = assemble(g, choice);
    int err = resolve_run(&s->runs[r], &run, rules, g->path, lenient);
    for (int i = 0; i < g->last.n; i++)
        g->last.at[i].known |= run.at[run.n - g->last.n + i].known;
    assignments_release(&run);
    free(choice);
    return err;
}

static int resolve_all(struct suite *s, struct grid *g, const struct config_rules *rules)
{
    int total = 1, err = 0;
    for (int i = 0; i < g->n_axes; i++) {
        if (total > RUNS_MAX / g->axes[i].n)
            return fail(METE_EINVAL, "%s: more than %d runs", g->path, RUNS_MAX);
        total *= g->axes[i].n;
    }
    s->runs = mem_array((size_t)total, sizeof *s->runs);
    s->n_runs = total;
    for (int r = 0; !err && r < total; r++)
        err = resolve_one(s, g, rules, r, true);
    for (int i = 0; !err && i < g->last.n; i++)
        if (!g->last.at[i].known) { /* no run has it: strictly, the first says so */
            settings_release(&s->runs[0]);
            err = resolve_one(s, g, rules, 0, false);
        }
    return err;
}

/* Whether a baseline has the setting of another run: not those of methods and nets, nor how often
 * and in which order tasks are used again. */
static bool shared_setting(const char *key)
{
    static const char *const prefixes[] = {"bench", "seed",    "shots",           "data.",
                                           "task.", "budget.", "train.val_tasks", "train.val_shots",
                                           "test.", "device."};
    static const char *const method_keys[] = {"test.steps", "test.keep"}; /* of methods */
    const char *dot = strrchr(key, '.');
    if (dot && strcmp(dot, ".content") == 0)
        return false;
    for (size_t i = 0; i < sizeof method_keys / sizeof *method_keys; i++)
        if (strcmp(key, method_keys[i]) == 0)
            return false;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(key, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

/* The run of a baseline beside run `like`: the same tasks, budget, seed and tests; random labels.
 */
static int resolve_baseline(const struct settings *like, const char *name,
                            const struct config_rules *rules, struct settings *out)
{
    const char **text = mem_array((size_t)like->n + 5, sizeof *text);
    char **owned = mem_array((size_t)like->n + 5, sizeof *owned);
    struct assignments a = {0};
    int n = 0;
    for (int i = 0; i < like->n; i++)
        if (shared_setting(like->at[i].key))
            owned[n++] = mem_print("%s=%s", like->at[i].key, like->at[i].value);
    owned[n++] = mem_print("method=%s", name);
    owned[n++] = mem_string("net=linear");
    owned[n++] = mem_string("labels=random");
    owned[n++] = mem_string("train.validate_every=2000");
    for (int i = 0; i < n; i++)
        text[i] = owned[i];
    int err = assignments_add_texts(&a, text);
    if (!err)
        err = resolve_run(out, &a, rules, NULL, false);
    assignments_release(&a);
    for (int i = 0; i < n; i++)
        free(owned[i]);
    free(owned);
    free(text);
    return err;
}

static bool is_there(const struct suite *s, const struct settings *run)
{
    for (int i = 0; i < s->n_runs; i++)
        if (same_settings(&s->runs[i], run))
            return true;
    return false;
}

/* baselines: yes.  One that cannot be, such as one model for classes that no two tasks share, is
 * left out. */
static int add_baselines(struct suite *s, struct grid *g, const struct yaml *wanted,
                         const struct config_rules *rules)
{
    if (!wanted)
        return 0;
    bool yes = wanted->kind == YAML_TEXT && strcmp(wanted->text, "yes") == 0;
    if (!yes && (wanted->kind != YAML_TEXT || strcmp(wanted->text, "no") != 0))
        return at_fault(g, wanted, "baselines: expected yes or no");
    int runs = yes && rules->baseline ? s->n_runs : 0;
    for (int r = 0; r < runs; r++)
        for (int b = 0; rules->baseline(b); b++) {
            struct settings run = {0};
            if (resolve_baseline(&s->runs[r], rules->baseline(b), rules, &run))
                continue;
            if (is_there(s, &run) || s->n_runs == RUNS_MAX) {
                settings_release(&run);
                continue;
            }
            s->runs = mem_grow(s->runs, (size_t)s->n_runs + 1, sizeof *s->runs);
            s->runs[s->n_runs++] = run;
        }
    return 0;
}

/* A run of all folds becomes a run for each. */
static int unfold(struct suite *s)
{
    int64_t total = 0;
    int n = 0;
    for (int r = 0; r < s->n_runs; r++)
        total += settings_folds(&s->runs[r]);
    if (total > RUNS_MAX)
        return fail(METE_EINVAL, "%s: more than %d runs", s->path, RUNS_MAX);
    struct settings *runs = mem_array((size_t)total, sizeof *runs);
    for (int r = 0; r < s->n_runs; r++) {
        for (int f = 1, folds = settings_folds(&s->runs[r]); f <= folds; f++)
            runs[n++] = settings_fold(&s->runs[r], f);
        settings_release(&s->runs[r]);
    }
    free(s->runs);
    s->runs = runs;
    s->n_runs = n;
    return 0;
}

/* A rule for nothing is a slip of the pen, unless --set took its runs away. */
static int refuse_idle_rules(const struct grid *g)
{
    for (int i = 0; i < g->n_rules && g->last.n == 0; i++)
        if (!g->rules[i].used)
            return at_fault(g, g->rules[i].at, "when: no run of this suite matches");
    return 0;
}

static int read_top(struct suite *s, const struct yaml *top)
{
    static const char *const keys[] = {"name",   "base",    "axes",  "when",     "seeds",
                                       "tables", "figures", "study", "baselines"};
    enum { KEYS = sizeof keys / sizeof *keys };
    if (top->kind != YAML_MAP)
        return fail(METE_EINVAL, "%s:1:1: a suite is a map with name, base, axes, ...", s->path);
    for (int i = 0; i < top->n; i++) {
        const struct yaml *c = &top->child[i];
        bool known = false;
        for (int k = 0; k < KEYS; k++)
            known |= strcmp(c->key, keys[k]) == 0;
        const char *near = known ? NULL : nearest_word(c->key, keys, KEYS);
        if (!known)
            return fail(METE_EINVAL, "%s:%d:%d: a suite has no '%s'%s%s%s", s->path, c->key_line,
                        c->key_column, c->key, near ? "; did you mean '" : "", near ? near : "",
                        near ? "'?" : "");
    }
    const struct yaml *name = yaml_get(top, "name");
    if (!name || name->kind != YAML_TEXT || !*name->text)
        return fail(METE_EINVAL, "%s:1:1: a suite needs a name", s->path);
    for (const char *c = name->text; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("-_.", *c))
            return fail(METE_EINVAL, "%s:%d:%d: name: only letters, digits and -_. are allowed",
                        s->path, name->line, name->column);
    s->name = mem_string(name->text);
    return 0;
}

static int read_suite(struct suite *s, const struct yaml *top, const char *const *assignments,
                      int seeds, const struct config_rules *rules)
{
    struct grid g = {.path = s->path};
    const struct yaml *base = yaml_get(top, "base");
    int err = read_top(s, top);
    if (!err)
        err = assignments_add_texts(&g.last, assignments);
    if (!err && base)
        err = assignments_add_yaml(&g.base, g.path, base);
    if (!err)
        err = read_axes(&g, yaml_get(top, "axes"));
    if (!err)
        err = read_seeds(&g, yaml_get(top, "seeds"), seeds);
    if (!err)
        err = read_rules(&g, yaml_get(top, "when"));
    if (!err)
        err = resolve_all(s, &g, rules);
    if (!err)
        err = add_baselines(s, &g, yaml_get(top, "baselines"), rules);
    if (!err)
        err = unfold(s);
    if (!err)
        err = refuse_idle_rules(&g);
    if (!err)
        err = refuse_repeats(s);
    grid_release(&g);
    return err ? err : read_drawings(s, top);
}

int suite_open(struct suite **out, const char *path, const char *const *assignments, int seeds,
               const struct config_rules *rules)
{
    struct suite *s = mem_alloc(sizeof *s);
    struct yaml *top = NULL;
    size_t size = 0;
    s->path = mem_string(path);
    int err = file_read(path, YAML_SIZE_MAX, &s->text, &size);
    if (!err)
        err = yaml_read(&top, path, s->text, size);
    if (!err)
        err = read_suite(s, top, assignments, seeds, rules);
    yaml_close(top);
    if (err)
        suite_close(s);
    else
        *out = s;
    return err;
}

bool suite_run_fits(const struct settings *run, const char *const *only)
{
    for (int i = 0; only && only[i]; i++) {
        const char *equals = strchr(only[i], '=');
        char *key = mem_print("%.*s", equals ? (int)(equals - only[i]) : 0, only[i]);
        const char *have = settings_get(run, key);
        bool fits = have && fnmatch(equals + 1, have, 0) == 0;
        free(key);
        if (!fits)
            return false;
    }
    return true;
}

int suite_study(const char *path, char *out, size_t size)
{
    struct yaml *top = NULL;
    char *text = NULL;
    size_t length = 0;
    int err = file_read(path, YAML_SIZE_MAX, &text, &length);
    if (!err)
        err = yaml_read(&top, path, text, length);
    const struct yaml *study = !err && top->kind == YAML_MAP ? yaml_get(top, "study") : NULL;
    if (study && study->kind != YAML_TEXT)
        err =
            fail(METE_EINVAL, "%s:%d:%d: study: expected a name", path, study->line, study->column);
    else if (!err)
        snprintf(out, size, "%s", study ? study->text : "");
    yaml_close(top);
    free(text);
    return err;
}

void suite_close(struct suite *s)
{
    if (!s)
        return;
    for (int i = 0; i < s->n_runs; i++)
        settings_release(&s->runs[i]);
    for (int i = 0; i < s->n_drawings; i++) {
        free(s->drawings[i].title);
        free(s->drawings[i].x);
        free(s->drawings[i].rows);
        free(s->drawings[i].columns);
    }
    free(s->runs);
    free(s->drawings);
    free(s->name);
    free(s->path);
    free(s->text);
    free(s);
}
