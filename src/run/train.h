/* train.h - the paper's Algorithm 1: buy tasks with the current learner, keep them,
 * meta-learn on batches of them, validate, keep the best.
 *
 * Everything random is keyed by (seed, step) and every checkpoint is taken right
 * after a validation, so a run that was killed continues to the same bytes.
 */
#ifndef RUN_TRAIN_H
#define RUN_TRAIN_H

#include "config/config.h"
#include "run/collection.h"
#include "run/evaluate.h"
#include "run/redraw.h"
#include "run/remix.h"
#include "run/setup.h"

struct trainer {
    /* borrowed */
    struct setup *setup;
    struct learner *learner;
    const struct tasks *tasks; /* to train on */
    struct ledger *ledger;
    struct evaluation validation;
    uint64_t seed;
    const char *folder;              /* for checkpoints; NULL: none */
    const struct settings *settings; /* what a checkpoint is of; NULL: not kept */
    struct meter *meter;             /* NULL: nobody is told how far it is */
    /* state */
    struct collection bought;
    int32_t *labels; /* of a meta-batch with permuted class labels */
    int32_t *items;  /* of one whose support and query are re-split */
    struct remix remix;
    struct redraw redraw;
    int64_t step;  /* meta-updates done */
    int64_t asked; /* tasks asked for so far */
    bool unusable; /* the checkpoint was no good */
    bool spent;    /* the budget has no room for another task */
    struct store_checkpoint *history;
    int n_history;
    struct tensors best; /* the model of the best validation */
    int64_t best_step;
    double best_accuracy;
    int written;                /* tasks in the collection on disk */
    int64_t written_rows;       /* and rows of the ledger */
    double saved_at, save_took; /* the last checkpoint: when, and for how long; in seconds */
};

/* Continues from the folder's checkpoint, if there is one, to the last step. */
int train(struct trainer *t);
void trainer_release(struct trainer *t);

/* checkpoint.c */
int checkpoint_write(struct trainer *t);
/* Where there is one.  That of another run is refused (METE_EINVAL) and left alone.  One that
 * cannot be used is moved aside with a warning, and t->unusable says that everything must be
 * opened again. */
int checkpoint_read(struct trainer *t);
void checkpoint_remove(const char *folder);

/* How far a run is that another process makes, by its last checkpoint; METE_EIO where there is
 * none.  free() `history` (n_history). */
struct glance {
    int64_t step, tasks, labels;
    double spent; /* labels' worth */
    struct store_checkpoint *history;
    int n_history;
};
int checkpoint_glance(const char *folder, struct glance *out);

#endif
