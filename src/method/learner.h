/* learner.h - a learner: what trains on tasks, adapts to a support and predicts.
 *
 * run/ trains, validates, tests and saves a learner through one table of functions, and
 * label/ looks at pools through it; neither knows more of a learner.  The engine (engine.h)
 * fills the table, and so may anybody else's code: a test's, another program's.
 *
 * Every call is about many tasks, so that they can be shared out over threads, in one call of
 * a GPU, or over machines.  What is computed for a task does not depend on the others.
 * Arrays are host memory.  A function that fails returns METE_E* and leaves a sentence
 * (base/error.h).
 */
#ifndef METHOD_LEARNER_H
#define METHOD_LEARNER_H

#include "base/tensors.h"

#include <stdbool.h>
#include <stdint.h>

struct clustering; /* kernel/selection.h */
struct dataset;    /* data/dataset.h */
struct ranks;      /* base/ranks.h */
struct threads;    /* base/threads.h */

/* Some items of the dataset, with labels 0..ways-1 where they are known. */
struct items {
    const int32_t *at;
    const int32_t *label; /* NULL where not known */
    int n;
};

/* A labelled task, as a learner sees it. */
struct labelled_task {
    struct items support, query;
    uint64_t id; /* its number: keys the random order of shuffled inner batches */
};

/* What is wanted of a prediction, one array for each task, row by row; any of them, or single
 * entries, may be NULL. */
struct predicted {
    float *const *probs;   /* (n, ways) */
    float *const *reps;    /* (n, features): representations */
    float *const *entropy; /* (n) of the probabilities, in nats; NaN where one is */
    bool clusters;         /* learner_cluster will ask for them */
};

/* What is saved of a learner: what adapts and predicts (a model file holds it); all else that
 * training needs to continue (the optimiser's state); or, where the last adapt was to one task,
 * what it became. */
enum learner_part { LEARNER_MODEL, LEARNER_TRAINING, LEARNER_ADAPTED };

/* What a learner computes where its data are.  The rest is made of its probabilities and
 * representations here. */
enum learner_gives { LEARNER_ENTROPY = 1, LEARNER_CLUSTERS = 2 };

struct learner_ops {
    const char *name; /* for messages */

    /* One meta-update over n tasks, at most the meta_batch it was opened for.  It may return
     * before the work is done; a failure then shows in a later call. */
    int (*step)(void *state, const struct labelled_task *tasks, int n);
    /* The mean loss of the steps since the last restart, NaN where there was none. */
    int (*loss)(void *state, bool restart, double *mean);

    /* Adapts the model to each task's labelled items, from the meta-learned weights.  No items
     * at all is allowed: the model stays as it was learned.  The arrays may be gone when predict
     * is called. */
    int (*adapt)(void *state, int tasks, const struct items *support);
    /* Predicts for each task's items, labels unseen, with the models of the last adapt; fills
     * probs, reps, and of the others what `gives` says. */
    int (*predict)(void *state, int tasks, const struct items *query, const struct predicted *out);

    /* Adds the part's arrays to *out, which is empty. */
    int (*save)(void *state, enum learner_part part, struct tensors *out);
    /* Takes what save gave, here or in another process. */
    int (*load)(void *state, enum learner_part part, const struct tensors *in);
    /* Gives back the state, and the struct learner with it. */
    void (*close)(void *state);

    /* Optional: NULL where the remark holds. */
    int (*cluster)(void *state, int tasks, struct clustering *c); /* without LEARNER_CLUSTERS */
    bool (*finite)(void *state); /* it cannot tell whether its weights are finite */
    /* Its items are those of `data` from now on, of the same shape: it reads the dataset that it
     * was opened with anew in each call. */
    int (*show)(void *state, const struct dataset *data);
    /* Takes the statistics of n items that predictions will be made with, one item at a time, under
     * net.bn=running: it has none. */
    int (*freeze)(void *state, const int32_t *items, int n);
    int (*wait)(void *state);   /* step returns when the work is done */
    void (*leave)(void *state); /* nobody waits for its next step */
    double (*flops)(const void *state, int support, int query); /* of training on a task: unknown */
};

/* What a learner says of itself, from when it is opened. */
struct learner_facts {
    int ways;
    int features;            /* of a representation; 0: it has none */
    unsigned gives;          /* enum learner_gives */
    bool batched;            /* many tasks in one call are quicker (a GPU) */
    const char *device;      /* for the record */
    const char *norm;        /* "batch", "support", "running" or "none": stands beside accuracies */
    int workers;             /* threads that compute, for the record */
    bool unrepeatable;       /* the same seed need not give the same bytes */
    bool last_is_best;       /* more steps only bring more labels: validation has no choice */
    struct threads *threads; /* that choose labels, too; NULL: none */
};

struct learner {
    const struct learner_ops *ops;
    void *state;
    struct learner_facts is;
    /* private */
    int adapted, predicted; /* tasks of the last call */
    float **reps;           /* of the last predict, to be clustered here */
    int reps_tasks;
};

/* ---- the table's functions, checked ---- */

int learner_step(struct learner *l, const struct labelled_task *tasks, int n);
int learner_loss(struct learner *l, bool restart, double *mean);
int learner_adapt(struct learner *l, int tasks, const struct items *support);
int learner_predict(struct learner *l, int tasks, const struct items *query,
                    const struct predicted *out);
/* Clusters the items of the last learner_predict by their representations: c[t].row are
 * positions among those of task t, and c[t].x is set here. */
int learner_cluster(struct learner *l, int tasks, struct clustering *c);
int learner_save(struct learner *l, enum learner_part part, struct tensors *out);
int learner_load(struct learner *l, enum learner_part part, const struct tensors *in);
int learner_show(struct learner *l, const struct dataset *data);
int learner_freeze(struct learner *l, const int32_t *items, int n);
bool learner_finite(struct learner *l); /* no NaN or infinity in the weights, as far as known */
int learner_wait(struct learner *l);    /* until all steps are done */
void learner_leave(struct learner *l);  /* no more steps for now: others need not wait for it */
double learner_flops(const struct learner *l, int support, int query); /* 0: unknown */
void learner_close(struct learner *l);                                 /* NULL is fine */

/* For whoever fills the table: gives back what the functions above keep in *l.  learner_close
 * does. */
void learner_forget(struct learner *l);

/* Steps to ask for before the loss is looked at: a GPU's shortest take 170 us, a wait some tens. */
enum { LEARNER_AHEAD = 16 };

/* ---- opening one ---- */

/* What a run asks for. */
struct learner_spec {
    const struct dataset *data; /* outlives the learner */
    int ways;                   /* of tasks to adapt to and predict */
    int train_ways;             /* of those to learn from; 0: the same */
    int meta_batch;
    int support, query; /* images of the largest training task */
    uint64_t seed;
    const char *device;  /* NULL: cpu */
    int threads;         /* 0: one per core */
    struct ranks *ranks; /* NULL, or a team that opens the same learner and shares its work */
};

/* Who opens learners. */
struct learner_source {
    int (*open)(const void *user, const struct learner_spec *spec, struct learner **out);
    const void *user;
};

#endif
