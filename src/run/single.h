/* single.h - one run in this process: what mete_train and mete_fit have in common. */
#ifndef RUN_SINGLE_H
#define RUN_SINGLE_H

#include "run/experiment.h"

struct single {
    const struct mete_train_options *o;
    const struct dataset *data; /* NULL: the one that the benchmark names */
    bool no_folder;             /* leaves nothing on the disk, and cannot be continued */
    bool one_model;             /* refuses settings that stand for several runs (data.folds) */
    /* of struct experiment_options */
    int (*progress)(void *user, struct meter *m);
    int (*model)(void *user, const char *name, const struct tensors *model,
                 const struct safetensors_pair *says, int n);
    void *user;
};
int single_run(const struct single *s);

#endif
