/* store.h - the results database: one SQLite file, the record of every run.
 *
 * A run goes through four states: planned, running (a process holds its claim),
 * done, failed.  Nothing of a run's results is in the file until store_finish
 * writes all of it in one transaction, so a kill at any moment leaves whole runs
 * only.  What is compared between two databases (settings, checkpoints, tests,
 * tasks, calibration, ledger) holds no clock time and no machine name; those are
 * in `times`, `claims` and `environments`.
 *
 * A store may be used from several threads, and a file by several processes of
 * one machine (WAL needs shared memory); writers wait for each other.  docs/results.md describes
 * the tables and views.
 *
 * Without SQLite every function answers METE_EMISSING.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "base/statistics.h"
#include "task/ledger.h"

struct store;

enum store_mode {
    STORE_READ,  /* must exist; nothing is changed */
    STORE_WRITE, /* created when missing, brought to the present schema when older */
};

int store_open(struct store **out, const char *path, enum store_mode mode);
void store_close(struct store *s); /* NULL is fine; gives back this process's claims */
const char *store_path(const struct store *s);

/* ---- planning ---- */

enum { STORE_ID_SIZE = 17 }; /* 16 hexadecimal digits */

struct store_setting {
    const char *key, *value;
    const char *origin; /* "suites/quick.yaml:4:11", "--set", "default"; no part of the id */
};

/* A run as asked for.  `settings` holds every resolved setting that can change a
 * result, and only those: no thread count, device or path.  bench, method,
 * labels, net and seed need not be repeated there. */
struct store_run {
    const char *bench;   /* "omniglot:5w-1s@30K" as written */
    const char *dataset; /* its parts */
    int ways, shots;     /* shots: of training */
    int64_t budget;      /* labels; 0: no cap (the classical regime) */
    const char *method, *labels, *net;
    uint64_t seed;
    const struct store_setting *settings;
    int n_settings;
};

/* The run's id: a hash of bench, method, labels, net, seed and the settings in
 * the order of their keys.  The same everywhere and for ever.
 *
 * Among the settings are words for the content of the files that others name
 * (data.content, data.split.content, budget.cost.content).  Older databases have none:
 * there the first content that is planned with is taken for theirs, and left out of ids. */
void store_run_id(const struct store_run *run, char id[STORE_ID_SIZE]);

/* A table or figure that a suite asks for. */
struct store_drawing {
    bool figure; /* else a table */
    const char *title;
    const char *x;       /* figures: the field along the axis; NULL for tables */
    const char *rows;    /* tables: fields that name a row; figures: a panel each */
    const char *columns; /* tables: fields that name a column; figures: a line each */
};                       /* rows and columns are fields joined by ',' */

/* Records the suite (again: replaces its text and drawings) and plans its runs
 * in order; those known already keep their state, so that a suite goes on where
 * it stood.  ids: n_runs x STORE_ID_SIZE, out. */
struct store_suite {
    const char *name, *path, *text; /* text: the file as read */
    const struct store_drawing *drawings;
    int n_drawings;
    const struct store_run *runs;
    int n_runs;
};
int store_plan(struct store *s, const struct store_suite *suite, char (*ids)[STORE_ID_SIZE]);

/* ---- sharing the work ---- */

/* Claims the first run among ids[0..n) that is planned, or whose claim is stale:
 * its holder is gone (same machine) or has not been heard of for `lease` seconds.
 * *which is its index, or -1 when none can be had now. */
int store_claim(struct store *s, char (*ids)[STORE_ID_SIZE], int n, double lease, int *which);

/* Renews all claims of this process; call it a few times within every lease. */
int store_heartbeat(struct store *s);

/* Gives a claimed run back: it is planned again. */
int store_release(struct store *s, const char *id);

/* Failed runs are not claimed; this plans them again. */
int store_retry_failed(struct store *s, char (*ids)[STORE_ID_SIZE], int n);

enum store_state { STORE_UNKNOWN, STORE_PLANNED, STORE_RUNNING, STORE_DONE, STORE_FAILED };
int store_states(struct store *s, char (*ids)[STORE_ID_SIZE], int n, enum store_state *out);

struct store_counts {
    int planned, running, done, failed;
};
int store_count(struct store *s, char (*ids)[STORE_ID_SIZE], int n, struct store_counts *out);

/* ---- results ---- */

struct store_checkpoint { /* one validation during training */
    int64_t step;
    int shots;             /* of the validation tasks; one row for each */
    int64_t tasks, labels; /* bought by then */
    double train_loss;     /* mean since the checkpoint before; NaN where none */
    double accuracy, half; /* on the validation tasks: mean and 95 % half width */
    double loss;
};

struct store_task {   /* one test task */
    int number;       /* as task_draw counts; the same number is the same task */
    const char *user; /* NULL where tasks are not users */
    int n_query;
    int classes;                      /* distinct classes in the labelled support */
    double accuracy_before, accuracy; /* before and after adaptation, 0..1 */
    double loss_before, loss;         /* mean over the query */
    bool unadapted;                   /* keeps the model for all (store_test.keeps) … */
    double accuracy_adapted;          /* … which adaptation would have brought to this */
};

/* Mean accuracy and its 95 % interval.  Where tasks are users', a user counts once, however many
 * supports were drawn for them: the interval is over users. */
struct summary task_summary(const struct store_task *tasks, int n, bool before);

/* Calibration: query predictions by confidence, bin b holding b/15 < c <= (b+1)/15,
 * sums over all test tasks after adaptation. */
enum { STORE_BINS = 15 };
struct store_bin {
    int64_t n;
    double confidence, correct; /* sums */
};

struct store_test {        /* one model on one set of test tasks */
    const char *model;     /* "best" by validation or "last" */
    int64_t step;          /* of that model */
    int shots;             /* of the test supports; 0: so many labels in all */
    int labels;            /* of a support where shots is 0 */
    const char *support;   /* who chose them: "stratified", "random", "active" */
    const char *bn;        /* "batch", "support", "running": stands beside every accuracy */
    double valid_accuracy; /* the same model on the validation tasks, at these shots and with this
                              support: what "best over training shots" is chosen by, so that it
                              compares runs trained at different shots fairly; NaN: not measured */
    uint64_t tasks_hash;   /* of the test tasks themselves: equal hashes can be compared in pairs */
    const struct store_task *tasks; /* in order of number */
    int n_tasks;
    struct store_bin bins[STORE_BINS];
    bool keeps; /* test.keep=by-support: some tasks may have kept the model for all */
};

struct store_measure { /* a number of a run that is no accuracy: a study's (docs/theory.md) */
    const char *name;
    double value, half; /* half: of its 95 % interval; NaN where there is none */
};

struct store_results {
    int64_t steps;               /* meta-updates done */
    int64_t best_step;           /* of the best checkpoint */
    double best_accuracy;        /* its validation accuracy */
    int64_t tasks;               /* training tasks bought, or drawn where there is no cap */
    int64_t labels;              /* labels used */
    double cost;                 /* what was charged, validation included where it is charged */
    int64_t kinds[LEDGER_KINDS]; /* labels of support, query, validation; -1: not known */
    int64_t unique, unique_validation; /* different items among them; -1: not known */
    const struct store_checkpoint *checkpoints;
    int n_checkpoints;
    const struct store_test *tests;
    int n_tests;
    const struct ledger_row *ledger; /* in the order bought (task/ledger.h) */
    int64_t n_ledger;
    const struct store_measure *measures;
    int n_measures;
    const char *env; /* JSON text: version, commit, device, instruction set, … */
    double started, train_seconds, test_seconds; /* started: Unix time */
};

/* Writes everything of a claimed run and marks it done, in one transaction.
 * Where another process has finished the run in the meantime nothing changes. */
int store_finish(struct store *s, const char *id, const struct store_results *r);

/* Calls fn for every measure of every run that is done, of one suite (NULL: of any), in order
 * of run and name. */
struct store_measured {
    int64_t run;
    const char *dataset, *method, *labels;
    uint64_t seed;
    struct store_measure measure;
};
typedef void store_measure_fn(void *user, const struct store_measured *m);
int store_measures(struct store *s, const char *suite, store_measure_fn *fn, void *user);

/* Marks a claimed run failed, with its sentence (no clock time in it). */
int store_fail(struct store *s, const char *id, const char *sentence);

/* Adds a test to a run that is done (`mete eval`), replacing one of the same
 * model, shots, support and bn. */
int store_add_test(struct store *s, const char *id, const struct store_test *test);

/* ---- plans (plan/) ---- */

/* Notes that a plan is being made; *rate, GFLOP a second of this machine, is that of the first
 * time: what was decided by it stays decided. */
int store_plan_begin(struct store *s, const char *plan, double *rate);

struct store_plan_point { /* of its figures */
    const char *kind;     /* "run", "curve", "map" */
    const char *line;     /* a method */
    int64_t labels;
    double people, each, accuracy, lo, hi; /* lo, hi: of 90 %; NaN: none */
    bool trusted;                          /* within four times what was run */
};
/* The plan as text and as JSON, and its figures' points; replaces what was kept. */
int store_plan_keep(struct store *s, const char *plan, const char *text, const char *json,
                    const struct store_plan_point *at, int n);

#endif
