/* mete_learner.h - learners and label strategies of your own.
 *
 * A learner is what trains on tasks, adapts to a few labelled points and predicts: a PyTorch
 * MAML, a logistic regression for each person.  Once it is added, its name stands wherever that
 * of a method does: in a suite, in the options of mete_train and mete_run, in the database and on
 * the page.  It gets the same tasks, labels, ledger, validations and tests as the methods of the
 * library.  A label strategy of your own is named like `active`.
 *
 * Functions return 0 or a METE_E* code, after mete_fail() with one sentence that says why.  Which
 * code it is says what becomes of a suite: METE_ESTOPPED ends it, and a later call continues the
 * run from its last checkpoint; any other ends this run alone, which is marked as failed
 * (METE_EDIVERGE: its training diverged), and the other runs go on.
 */
#ifndef METE_LEARNER_H
#define METE_LEARNER_H

#include "mete.h"

#ifdef __cplusplus
extern "C" {
#endif

/* For functions that the library calls: leaves a sentence, of which mete_errmsg() makes part of
 * its own, and returns `code`. */
int mete_fail(int code, const char *sentence);

/* ---- settings of your own ---- */

enum mete_param_type { METE_INT, METE_REAL, METE_BOOL, METE_CHOICE, METE_TEXT };

/* A setting: "lr" is method.lr (of a strategy: labels.lr); a name with a dot is complete. */
struct mete_param {
    const char *name; /* NULL ends a table */
    int32_t type;     /* enum mete_param_type */
    double initial, min, max;
    const char *text; /* METE_CHOICE: "mean|sum"; METE_TEXT: the initial text */
    const char *help;
};

/* Its value in a run.  A METE_CHOICE has its number and its word, others their text, too. */
struct mete_value {
    const char *name; /* NULL ends a list */
    const char *text;
    double number;
};

/* ---- learners ---- */

/* Some items of the data set.  Borrowed for the call. */
struct mete_items {
    const int32_t *item;  /* (n) their numbers */
    const int32_t *label; /* (n) 0..ways-1; NULL: to be predicted */
    int32_t n;
};

struct mete_labelled_task {
    struct mete_items support, query; /* with the labels that were bought */
    int64_t number;
};

/* What a run asks for. */
struct mete_learner_spec {
    size_t size;
    const void *x;    /* (items, h, w, c) of the data set; outlives the learner */
    int32_t is_float; /* float32, else uint8 */
    int32_t h, w, c;  /* feature rows are 1, 1, d */
    int64_t items;
    float scale, shift; /* the library's learners see value * scale + shift */
    int32_t ways;
    int32_t meta_batch;     /* tasks of a step, at most */
    int32_t support, query; /* points of the largest training task */
    int32_t threads;        /* that it may use; 0: one per core */
    uint64_t seed;
    const struct mete_value *settings; /* of its params; ends with a NULL name */
};

/* n items as the library's learners see them, into out (n, h, w, c). */
void mete_learner_read(const struct mete_learner_spec *spec, const int32_t *items, int32_t n,
                       float *out);

/* What a learner says of itself when it is opened; zeroed before. */
struct mete_learner_facts {
    size_t size;
    int32_t features;     /* of a representation; 0: it has none, and strategies that look at
                             representations refuse it */
    int32_t repeatable;   /* the same seed gives the same bytes; if not, tables say so */
    int32_t last_is_best; /* training only gathers labels: validation has no step to choose */
};

/* What is saved of it: what adapts and predicts, or all else that training needs to continue. */
enum mete_learner_part { METE_LEARNER_MODEL, METE_LEARNER_TRAINING };
/* Adds bytes to what is saved. */
typedef void mete_put_fn(void *to, const void *bytes, size_t n);

/* A state is used by one thread at a time; the states of two runs, by two. */
struct mete_learner_ops {
    size_t size;
    const char *name, *summary;
    const char *version;             /* of its code, part of the identity of its runs; or NULL */
    const struct mete_param *params; /* or NULL */
    int32_t same_classes;            /* only where classes are the same in all tasks: users */

    int (*open)(void *user, const struct mete_learner_spec *spec, struct mete_learner_facts *facts,
                void **state);
    /* One meta-update over n tasks.  *loss is 0 before; what it is set to appears in the history
     * of the run, and where it is not finite, training has diverged. */
    int (*step)(void *state, const struct mete_labelled_task *tasks, int32_t n, double *loss);
    /* Adapts the model to labelled items, from where training left it.  None at all is allowed: the
     * model is as it was learned. */
    int (*adapt)(void *state, const struct mete_items *support);
    /* Class probabilities (n, ways) of items without their labels, by the model of the last adapt;
     * reps (n, features) are wanted too, unless NULL. */
    int (*predict)(void *state, const struct mete_items *query, float *probs, float *reps);
    int (*save)(void *state, int32_t part, mete_put_fn *put, void *to);
    /* Takes what save put, here or in another process. */
    int (*load)(void *state, int32_t part, const void *bytes, size_t n);
    void (*close)(void *state); /* may be NULL */
};

/* Adds a learner under its name, for the whole process; copies what `ops` says and keeps `user`. */
int mete_learner_add(const struct mete_learner_ops *ops, void *user);
/* Takes it away; METE_EINVAL for a name that was not added, or while a run has it. */
int mete_learner_remove(const char *name);

/* ---- label strategies ---- */

enum mete_strategy_needs { METE_NEEDS_PROBS = 1, METE_NEEDS_REPS = 2 };

/* All that a strategy sees of a task: positions in its pool, and no labels but those bought. */
struct mete_pool {
    size_t size;
    int32_t n, ways, features;
    int32_t shots;            /* labels for each class; 0: any number */
    int32_t round;            /* 0, 1, … */
    const uint8_t *available; /* (n) 1: not bought yet */
    const int32_t *known;     /* (n) the label bought, or -1 */
    const float *probs;       /* (n, ways), with METE_NEEDS_PROBS */
    const float *reps;        /* (n, features), with METE_NEEDS_REPS */
    const struct mete_value *settings;
    uint64_t seed; /* for random choices: another one for each task and round */
    int32_t *memo; /* (n) the strategy's own, kept between rounds; -1 at first */
};

struct mete_strategy_ops {
    size_t size;
    const char *name, *summary;
    const char *version;
    const struct mete_param *params;
    int32_t needs; /* enum mete_strategy_needs; 0: no learner, and one round for all labels */
    /* Writes at most `want` different available positions to picks and returns how many, or a
     * METE_E* code.  Called from any thread, for several tasks at once. */
    int32_t (*choose)(void *user, const struct mete_pool *pool, int32_t want, int32_t *picks);
};
int mete_strategy_add(const struct mete_strategy_ops *ops, void *user);
int mete_strategy_remove(const char *name);

#ifdef __cplusplus
}
#endif

#endif
