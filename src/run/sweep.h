/* sweep.h - what `mete run` and `mete train` share: a run's place on disk. */
#ifndef RUN_SWEEP_H
#define RUN_SWEEP_H

#include "run/experiment.h"

/* A resolved run as the store knows it; borrows from `s`. */
struct planned {
    struct store_run run;
    struct bench bench;
    struct store_setting *settings;
};
int planned_open(struct planned *p, const struct settings *s);
void planned_release(struct planned *p);

/* Multiply-adds of a whole run, and its seconds on `threads` threads (estimate.c). */
struct estimate {
    double flops, seconds;
    double training, test_task; /* of the seconds: training alone, adapting to and scoring a task */
    int64_t tasks, labels;      /* bought, or drawn where there is no cap */
};

/* Seconds that were measured, by what they depend on: what several runs of a suite have in common
 * is measured once.  Starts zeroed. */
struct rate_memo {
    struct rate {
        char *key;
        double seconds;
    } * at;
    int n;
    bool by_flops; /* nothing is measured: seconds as if every core made as many FLOPs */
};
void rate_memo_release(struct rate_memo *m);
int estimate_run(const struct settings *s, struct shelf *shelf, const char *device,
                 struct rate_memo *memo, struct estimate *out);

/* What a run of a suite is: the settings it can have, and the work. */
struct sweep_kind {
    const char *name;  /* as a suite's `study:` says it; "": training */
    size_t rules_size; /* of what `rules` keeps its answers in */
    struct config_rules (*rules)(void *own, struct shelf *shelf);
    int (*run)(const struct settings *settings, struct shelf *shelf,
               const struct experiment_options *o, struct results *out);
    int (*estimate)(const struct settings *settings, struct shelf *shelf, const char *device,
                    struct rate_memo *memo, struct estimate *out);
    bool shared; /* several ranks can share a run */
};
extern const struct sweep_kind sweep_training;

/* All runs of a suite, as mete_run() has it. */
int sweep_run(const struct mete_run_options *o, const struct sweep_kind *kind);
/* The same for a suite that is open already; o->suite, o->set and o->seeds are not looked at. */
int sweep_suite(const struct mete_run_options *o, const struct sweep_kind *kind,
                struct suite *suite, struct shelf *shelf);

/* config.yaml, env.json, metrics.jsonl and ledger.csv into the run's folder. */
int folder_write(const char *folder, const struct settings *s, const struct results *r);

#endif
