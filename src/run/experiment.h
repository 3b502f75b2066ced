/* experiment.h - one run: one method, one benchmark, one strategy, one seed, from
 * nothing to a scored model.
 */
#ifndef RUN_EXPERIMENT_H
#define RUN_EXPERIMENT_H

#include "base/ranks.h"
#include "config/config.h"
#include "run/setup.h"
#include "run/train.h"

/* Datasets that several runs share, each opened once. */
struct shelf;
int shelf_open(struct shelf **out);
/* Whatever is asked for is this one, which outlives the shelf. */
void shelf_lend(struct shelf *s, const struct dataset *data);
void shelf_close(struct shelf *s); /* NULL is fine */
int shelf_dataset(struct shelf *s, const char *name, const struct dataset **out);
/* What the dataset holds, in a word that is made once (data/content.h). */
int shelf_content(struct shelf *s, const char *name, char out[CONTENT_SIZE]);

/* What config/ asks about keys and values (config.h); keeps `s`. */
struct run_rules {
    struct shelf *shelf;
    struct setup setup;
    char bench[1024]; /* in its canonical spelling */
    /* words for the content of data, split and prices; "" where no file is named */
    char content[3][CONTENT_SIZE];
};
struct config_rules run_rules(struct run_rules *own, struct shelf *s);

struct experiment {
    struct bench bench;
    struct setup setup;
    uint64_t seed;
    const struct dataset *data;
    struct tasks *train, *val;          /* val: at train.val_shots */
    struct tasks *test[TEST_SHOTS_MAX]; /* one per number of shots */
    int shots[TEST_SHOTS_MAX], n_shots;
    bool by_labels;        /* shots[] are labels of a support in all */
    struct labeller judge; /* chooses validation and test supports */
    struct meter meter;    /* tells what the options say */
    struct ledger *ledger;
    struct learner *learner;
    struct ranks *ranks;
};

struct experiment_options {
    const struct learner_source *source; /* NULL: the engine */
    const char *device;                  /* NULL: cpu */
    int threads;
    struct ranks *ranks;               /* NULL, or those that share the run */
    struct lockstep_set *lockstep_set; /* NULL, or runs that share a GPU's launches */
    const char *folder;                /* for checkpoints and models; NULL: none */
    int (*model)(void *user, const char *name, const struct tensors *model,
                 const struct safetensors_pair *says, int n); /* gets the models, too; or NULL */
    int (*progress)(void *user, struct meter *m);             /* may be NULL */
    void *user;
};

int experiment_open(struct experiment *x, const struct settings *settings, struct shelf *shelf,
                    const struct experiment_options *o);
void experiment_close(struct experiment *x); /* a zeroed one is fine */

/* Its tasks alone, given bench, setup, seed and data: whether there can be such a run. */
int experiment_open_tasks(struct experiment *x);
void experiment_close_tasks(struct experiment *x);
/* Records the labels of all validation tasks, and charges them where budget.charge says so, so
 * that the rest of the budget is for training.  Where a learner chooses the supports, they are
 * recorded when it does. */
int experiment_buy_validation(struct experiment *x, struct ledger *ledger);

/* Trains and tests; `out` and what it points to are given back with results_release. */
struct results {
    struct store_results all;
    struct store_test tests[2 * TEST_SHOTS_MAX]; /* best and last, at each number of shots */
    struct store_checkpoint *checkpoints;
    struct ledger_row *ledger;
    struct store_measure *measures; /* of studies; their names are not owned */
    char *env;
    void *texts; /* that the rest points into, where another rank made it */
};
int experiment_run(const struct settings *settings, struct shelf *shelf,
                   const struct experiment_options *o, struct results *out);
void results_release(struct results *r);

/* One model on the test tasks of x->test[i]; fills everything of `test` but model and step. */
int experiment_test(struct experiment *x, int i, struct store_test *test);
/* Of `test`: the batch norm, and what a score holds, whose rows it takes over. */
struct score;
void experiment_describe(const struct experiment *x, const struct score *s,
                         struct store_test *test);
int experiment_judged(const struct experiment *x);       /* which part tests are of */
double experiment_test_work(const struct experiment *x); /* of one model, as meter.h counts */
int experiment_test_tasks(const struct experiment *x, int part,
                          const struct tasks *t); /* how many */

#endif
