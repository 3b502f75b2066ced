/* plan.h - what a plan is made of, from inside.
 *
 * A situation is what is asked: data, labels, people.  An arm is one way to spend the labels: a
 * recipe (a method with settings), labels each, and who chooses them.  A trial is an arm with a
 * budget, a number of steps and a seed, run like any run of a suite and judged on validation
 * people.  The race decides which trials are worth making; the answer is read from their results.
 */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include "mete_plan.h"
#include "plan/curve.h"
#include "run/experiment.h"

#include "base/text.h"

enum { EACH_MAX = 8, RECIPES_MAX = 24, PLAN_SETTINGS_MAX = 6, PLAN_SET_MAX = 256, PLAN_NAME = 16 };

/* A method with the settings that did best in docs/people.md and docs/reproduction.md. */
struct recipe {
    const char *method;
    bool users, classes; /* what tasks it is for */
    bool baseline;       /* trained in no time, from random labels */
    bool fixed;          /* labels for training make no difference, or hardly any */
    bool one_for_all;    /* does not adapt to a person */
    bool heldout;        /* the theory's bound does not depend on labels each */
    int variant;         /* 0; others differ in settings that may matter, and are tried late */
    const char *set[PLAN_SETTINGS_MAX];
};
extern const struct recipe plan_recipes[]; /* ends with a NULL method */

struct situation {
    const struct mete_plan_options *o;
    struct shelf *shelf; /* owned */
    const struct dataset *data;
    struct bench bench; /* without a budget */
    char split[64];     /* "data.split=..." that --people asks for, or "" */
    bool users;
    int people;          /* who can be asked: training people; of classes INT32_MAX */
    int judged, tested;  /* validation people, and test people; or tasks of each */
    int groups[2];       /* of classes: how many those tasks are drawn from */
    int64_t known;       /* labels of training people that are there to simulate with */
    int64_t items;       /* of training people, labelled or not */
    int64_t labels;      /* B */
    int64_t within;      /* min(B, known): what can be simulated */
    int each[EACH_MAX];  /* labels of a person, or of a task with its query */
    int shots[EACH_MAX]; /* of classes: that make it */
    double holdout;      /* of the items of a person who is judged; 0: the usual */
    int n_each; /* that can be simulated; those up to n_more are larger, and only extrapolated to */
    int n_more;
    int steps;                 /* of the whole training */
    int whole_steps;           /* the same before it was shortened to what a plan may take */
    int batch;                 /* tasks of an update */
    int query;                 /* items of each class by which a task is judged */
    bool charge_support;       /* budget.charge=support: what re-splits is left out */
    double price;              /* of a label in money; 0: not given */
    bool none;                 /* too few labels to simulate */
    struct work {              /* in GFLOP, of one run of a recipe */
        double whole, quarter; /* at each number of steps */
    } work[RECIPES_MAX][EACH_MAX];
    double allowance; /* of the whole race, in GFLOP */
};
/* Checks what is asked, and says what would be possible where it is not. */
int situation_open(struct situation *s, const struct mete_plan_options *o);
void situation_close(struct situation *s);
bool situation_has(const struct situation *s, const struct recipe *r);
/* Tasks that a budget pays for, at most all people once. */
int64_t situation_tasks(const struct situation *s, int64_t budget, int each);

enum { STRATEGY_RANDOM, STRATEGY_ACTIVE, STRATEGIES };
extern const char *const strategy_names[STRATEGIES];

struct trial {
    int recipe, each, strategy; /* each: of situation.each */
    int64_t budget;
    int level; /* of training steps: 0 all, 1 half of them, 2 a quarter */
    uint64_t seed;
    bool on_test; /* judged on the test part: the grid that plans are compared with */
    /* what came out */
    bool done;
    double accuracy, before, worse, valid; /* worse: share of people */
    double *person;                        /* (n_person) accuracies, in one order for all trials */
    int n_person;
    int64_t tasks, labels, steps, run;
};

/* The settings of a trial; settings_release().  A --set that it has no setting for is passed over;
 * `known` (one for each --set; may be NULL) notes those that it has. */
int trial_settings(const struct situation *s, const struct trial *t, bool *known,
                   struct settings *out);
/* "mete train ..." that makes it; free() it. */
char *trial_command(const struct situation *s, const struct trial *t, int64_t budget);
int trial_steps(const struct situation *s, const struct trial *t);

struct race {
    const struct situation *s;
    char name[PLAN_NAME + 8]; /* of its suites */
    struct trial *trial;
    int n, made; /* those before `made` have been run */
    uint64_t seed;
    double spent; /* GFLOP of all that is wanted */
};
/* The trial of these values, found or added. */
int race_want(struct race *r, struct trial t);
/* Runs what was added since the last time, and reads what came out. */
int race_make(struct race *r, int stage);
void race_release(struct race *r);
/* Of the two, on the same people: mean of a - b and its standard error; seeds are averaged. */
struct margin {
    double mean, se;
};
struct margin race_margin(const struct race *r, const struct trial *a, const struct trial *b);
/* Mean accuracy over the seeds of an arm at this budget and level. */
double race_mean(const struct race *r, const struct trial *t, int *seeds);
/* The same as the whole training would come out: a first run alone may have been lucky, so that
 * one of half of the steps counts too. */
double race_standing(const struct race *r, const struct trial *t);
bool same_arm(const struct trial *a, const struct trial *b);

/* effort.c: shortens training to what the plan may take, and sets the allowance; *seconds that it
 * will take, NaN: not known. */
int effort_settle(struct situation *s, const char *plan, double *seconds);
/* GFLOP of a trial, after effort_settle(). */
double effort_of(const struct situation *s, const struct trial *t);

int plan_check_format(const char *format);

/* All stages; *best is the trial of the arm that is recommended, at situation.within. */
int race_run(struct race *r, int *best, int *second);

#endif
