/* setup.h - the plug-ins and settings of one run, in one place.
 *
 * Sections: method (and inner., test.steps of its table), net, outer, "" (data.,
 * task., shots), budget, labels, train, test, device.
 */
#ifndef RUN_SETUP_H
#define RUN_SETUP_H

#include "label/label.h"
#include "method/learner.h"
#include "method/method.h"
#include "method/outer.h"
#include "task/ledger.h"

enum resplit { RESPLIT_NO, RESPLIT_YES, RESPLIT_ANY };

struct train_settings {
    int steps, meta_batch, groups, reuse; /* reuse: 0 epochs, 1 draw */
    int resplit;                          /* enum resplit */
    bool relabel, remix, redraw;
    int validate_every, patience, val_tasks, val_shots;
};

enum keep { KEEP_ALWAYS, KEEP_BY_SUPPORT };
enum judged { JUDGED_TEST, JUDGED_VAL };

struct test_settings {
    int tasks, query, seed, repeats;
    int keep;                      /* enum keep */
    int part;                      /* enum judged */
    double holdout;                /* of a user's items, as task.holdout */
    char labels[PARAM_TEXT_SIZE];  /* "6,30", or "" */
    char shots[PARAM_TEXT_SIZE];   /* "1,5": ascending, no number twice */
    char support[PARAM_TEXT_SIZE]; /* a label strategy */
};

struct device_settings {
    int precision; /* 0 tf32, 1 fp32 */
};

struct setup {
    struct method method;
    const struct net_ops *net;
    void *net_state;
    struct labeller labeller;
    struct outer_settings outer;
    struct task_settings task;
    struct budget_settings budget;
    struct train_settings train;
    struct test_settings test;
    struct device_settings device;
    struct param_set set; /* over all of the above */
};

/* What `auto` and 0 stand for where tasks are users, or are not; `cap`: whether there is one. */
void setup_settle(struct setup *s, bool users, bool cap);

/* NULL names mean the defaults: maml, conv4, random. */
int setup_open(struct setup *s, const char *method, const char *net, const char *labels);
void setup_close(struct setup *s); /* a zeroed one is fine */

/* The engine, as a run's learner.  Keeps `s`.  `lockstep_set`: NULL, or runs that share a GPU's
 * launches. */
struct lockstep_set;
int setup_learner(const struct setup *s, const struct learner_spec *spec,
                  struct lockstep_set *lockstep_set, struct learner **out);

/* For what studies the engine itself (method/engine.h): its spec, but for the images, the shapes
 * and the seed. */
struct engine_spec;
int setup_engine(const struct setup *s, const char *device, int threads, struct engine_spec *out);

#endif
