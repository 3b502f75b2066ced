/* dry_run.h - what a suite would do. */
#ifndef RUN_DRY_RUN_H
#define RUN_DRY_RUN_H

#include "run/sweep.h"

struct dry_run {
    const struct mete_run_options *o;
    const struct sweep_kind *kind;
    const struct suite *suite;
    struct shelf *shelf;
    const int *chosen; /* (n_chosen) the numbers of the suite's runs */
    int n_chosen;
};

/* Calls o->planned for every chosen run, in order, as soon as its work is known.  The database
 * is looked at, if it is there, and not changed. */
int dry_run(const struct dry_run *d);

#endif
