/* study_options.h - the options that `mete stability` and `mete drift` share. */
#ifndef STUDY_OPTIONS_H
#define STUDY_OPTIONS_H

#include "cli.h"
#include "mete_theory.h"

/* In the values of a command: `struct study_values study`, first. */
struct study_values {
    const char *net, *labels, *device;
    int tasks, probed, seed, threads;
    struct text_list set;
};

#define STUDY_OPTIONS                                                                              \
    OPTION_COUNT(struct study_values, tasks, "--tasks",                                            \
                 "training tasks (default: what the benchmark's budget pays for)"),                \
        OPTION_TEXT(struct study_values, net, "--net", "NET", "conv4 (default) or mlp"),           \
        OPTION_TEXT(struct study_values, labels, "--labels", "STRATEGY",                           \
                    "which points to label (default random)"),                                     \
        OPTION_LIST(struct study_values, set, "--set", "KEY=VALUE",                                \
                    "a setting; here train.steps is 200, train.meta_batch 8 and task.query 5"),    \
        OPTION_COUNT(struct study_values, probed, "--probed",                                      \
                     "tasks whose gradients and curvatures are measured (default 3)"),             \
        OPTION_COUNT(struct study_values, seed, "--seed", "random seed (default 1)"),              \
        OPTION_TEXT(struct study_values, device, "--device", "DEVICE",                             \
                    "cpu (default), ref64 for double precision, ..."),                             \
        OPTION_COUNT(struct study_values, threads, "--threads",                                    \
                     "threads (default 0: one per core)")

/* From the library's defaults, and to what the library takes; `v` must outlive it. */
struct study_values study_defaults(const struct mete_study *o);
void study_take(struct mete_study *o, const struct study_values *v, const char *bench);

#endif
