/* config.h - from suites and --set to resolved runs.
 *
 * A suite is a short YAML file:
 *
 *   name: quick
 *   base: {train.steps: 600, test.shots: "1,5"}      # settings of every run
 *   axes:                                             # the product of all axes
 *     bench: [glyphs:5w-1s@2K, glyphs:5w-5s@2K]
 *     method: [reptile, maml, protonet]
 *     labels: [random, active]
 *     size:                                           # an axis may list maps, which
 *       - {net.filters: 32, train.batch: 8}           # set several keys at once
 *       - {net.filters: 64, train.batch: 4}
 *   when:                                             # settings of some runs only
 *     - {method: maml, set: {first_order: no}}        # values may be patterns: 'mini*'
 *   seeds: 3                                          # or a list: [1, 2, 3]
 *   baselines: yes                                    # beside every method (baseline.h)
 *   study: stability                                  # what a run is, if not training
 *   tables:
 *     - {title: Accuracy, rows: [dataset, ways, test_shots, budget], columns: [method, labels]}
 *   figures:
 *     - {title: Shots, x: shots, lines: [method, labels], panels: [dataset, test_shots]}
 *
 * A run with data.folds=K and no data.fold stands for K runs, one for each fold.
 *
 * Precedence: defaults, base, when (in order), axes, --set.  Five keys name
 * plug-ins or the draw: bench, method, labels, net, seed.  Which other keys exist
 * depends on them, so each run is resolved by itself against the tables of its
 * own plug-ins, which the caller supplies (struct config_rules).  A --set must
 * name a setting of at least one run; the others are left as they are.
 *
 * Every message about a file starts with path:line:column.
 */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include "base/param.h"

struct setting {
    char *key;    /* complete: "inner.lr" */
    char *value;  /* as param_text prints it; names as written */
    char *origin; /* "suites/quick.yaml:4:11", "--set", "default" */
};

/* Ordered: bench, method, labels, net, seed, then the sections in their order. */
struct settings {
    struct setting *at;
    int n;
};
const char *settings_get(const struct settings *s, const char *key); /* NULL when not there */
/* What a setting was before it was one, in runs and models that do not name it; which need not be
 * its default.  NULL: they name it. */
const char *setting_before(const char *key);
void settings_put(struct settings *s, const char *key, const char *value, const char *origin);
void settings_release(struct settings *s);
struct settings settings_copy(const struct settings *s);
/* Changes a value that is there. */
void settings_change(struct settings *s, const char *key, const char *value);

/* How many folds a run stands for: data.folds where it does not say which (data.fold), else 1; and
 * the run of fold 1..folds. */
int settings_folds(const struct settings *s);
struct settings settings_fold(const struct settings *s, int fold);

struct config_names { /* NULL where a run does not say: the caller's default */
    const char *bench, *method, *labels, *net;
    uint64_t seed;
};

/* What the caller knows.  `open` may fill in names that are NULL with defaults
 * (static strings), may replace a name by the one spelling that all spellings of it
 * have (valid until `close`), refuses names it does not know with a sentence, and adds
 * the sections in force to `set`, whose states it owns until `close`.  `check` looks
 * at the filled-in whole (more ways than classes, a budget below one task, a
 * data set that is not there) and on failure names the key to blame through
 * *key, so that the message can point at its line; it may be NULL. */
struct config_rules {
    void *user;
    int (*open)(void *user, struct config_names *names, struct param_set *set, const char **key);
    int (*check)(void *user, const struct config_names *names, const struct param_set *set,
                 const char **key);
    void (*close)(void *user, struct param_set *set);
    /* Adds words for the content of what the settings name, under keys that end in
     * CONTENT_KEY (data.content); may be NULL.  A suite or --set may give such a key too: the
     * run is refused where the content is another. */
    int (*identify)(void *user, struct settings *out);
    /* The baselines' methods, NULL past the last; the function may be NULL. */
    const char *(*baseline)(int i);
};
#define CONTENT_KEY ".content"
bool is_content_key(const char *key);

struct config_given {        /* a setting that is not from --set */
    const char *key, *value; /* value NULL: not given */
    const char *place;       /* "--method", a model's file; "": what the value says is enough */
};
/* As config_resolve, but first come n settings that were given in another way. */
int config_resolve_given(struct settings *out, const struct config_given *given, int n,
                         const char *const *assignments, const struct config_rules *rules);
/* Resolves one run from "key=value" strings alone (mete train).  `assignments`
 * ends with NULL and may be NULL; their origin is "--set". */
int config_resolve(struct settings *out, const char *const *assignments,
                   const struct config_rules *rules);

/* Puts resolved settings into another set of the same tables: what run/ does
 * before it starts.  The five names are left to the caller. */
int config_apply(const struct settings *s, struct param_set *set);

struct drawing { /* a table or figure to draw; fields joined by ',' */
    bool figure;
    char *title;
    char *x;       /* figures */
    char *rows;    /* tables: rows; figures: panels */
    char *columns; /* tables: columns; figures: lines */
};

struct suite {
    char *name, *path, *text;
    struct drawing *drawings;
    int n_drawings;
    struct settings *runs; /* seeds innermost; duplicates are an error */
    int n_runs;
};

/* Reads and resolves the whole suite, or refuses it by the first thing wrong.
 * `seeds` > 0 replaces the file's seeds by 1..seeds. */
int suite_open(struct suite **out, const char *path, const char *const *assignments, int seeds,
               const struct config_rules *rules);
/* Whether a run fits every "KEY=PATTERN" (as a shell matches); NULL at the end, NULL: none. */
bool suite_run_fits(const struct settings *run, const char *const *only);
void suite_close(struct suite *suite); /* NULL is fine */
/* Its `study`, "" where it has none: read first, since the rules depend on it. */
int suite_study(const char *path, char *out, size_t size);

/* "key = value    # origin" lines, aligned; free() it. */
char *settings_print(const struct settings *s);

#endif
