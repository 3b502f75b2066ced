/* study_options.h - the options that `mete stability` and `mete drift` share. */
#ifndef STUDY_OPTIONS_H
#define STUDY_OPTIONS_H

#include "cli.h"

#define STUDY_USAGE                                                                                \
    "  --tasks N       training tasks (default: what the benchmark's budget pays for)\n"           \
    "  --net NET       conv4 (default) or mlp\n"                                                   \
    "  --labels S      who chooses the labels (random)\n"                                          \
    "  --set k=v       a setting; train.steps is 200, train.meta_batch 8 and task.query 5 here\n"  \
    "  --probed N      tasks whose gradients and curvatures are looked at (3)\n"                   \
    "  --seed N        of tasks, initial weights and draws (1)\n"                                  \
    "  --device D      cpu (default), ref64 for doubles, ...\n"                                    \
    "  --threads N     0: one per core (default)\n"

/* Reads the common options and `more` (ends with {0}), and the benchmark.  0 or the
 * exit status after saying why.  Strings in *o point into argv. */
int study_options(int argc, char **argv, const char *usage, const struct option_row *more,
                  struct mete_study *o);

#endif
