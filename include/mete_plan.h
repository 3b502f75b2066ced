/* mete_plan.h - what to do with B labels: which method, how many people, how many labels each,
 * who chooses them, and how accurate that will be.  docs/plan.md says how it is found out.
 *
 * Beside mete.h, and by the same rules.
 */
#ifndef METE_PLAN_H
#define METE_PLAN_H

#include "mete.h"

#ifdef __cplusplus
extern "C" {
#endif

struct mete_plan_options {
    size_t size;
    const char *data;       /* "glyphs-users"; or with ways and shots of tests: "omniglot:5w-1s" */
    double labels;          /* B */
    double target;          /* an accuracy, 0..1, whose labels are wanted; 0: none */
    const char *price;      /* of a label: a number, or class:FILE or item:FILE; NULL: not said */
    const char *methods;    /* "maml,tuned": only these; NULL: all */
    const char *db;         /* the database of the plan's runs */
    const char *net;        /* NULL: conv4, or mlp for feature rows */
    const char *device;     /* NULL: cpu */
    const char *const *set; /* for every run, as "train.steps=200"; NULL at the end; may be NULL */
    double minutes;         /* about as long; 0: as long as a plan takes */
    uint64_t seed;
    int32_t people;  /* who can be asked, at most; 0: everybody */
    int32_t threads; /* 0: one per core */
    /* Told once, before the runs: about how long they take (NaN: not known), without those that
     * were made before, and with how many training steps. */
    void (*before)(void *user, double seconds, int32_t steps);
    mete_progress_fn *progress; /* of this call alone; NULL: that of mete_progress_to */
    void *user;
};
/* Makes a plan, or goes on with one that was stopped, and keeps it in the database.  *out, to be
 * freed by mete_free(), is the plan as "text" (80 columns) or "json". */
int mete_plan(const struct mete_plan_options *o, const char *format, char **out);
/* Makes a plan, then the full grid of its arms with all labels and `seeds` seeds (0: 3), tested on
 * the test part; says how much worse the plan's choice is than the best of the grid, and how much
 * worse the choices of advisors are who look at no data.  *out as above. */
int mete_plan_eval(const struct mete_plan_options *o, int32_t seeds, const char *format,
                   char **out);
/* The plans of a database as an HTML page: words, curves with bands, people by labels each. */
int mete_plan_page(const char *db, const char *path);

#ifdef __cplusplus
}
#endif
#endif
