/* ranks_job.h - a job of many ranks, for all but the first. */
#ifndef RUN_RANKS_JOB_H
#define RUN_RANKS_JOB_H

#include "run/sweep.h"

/* A kind of runs by its name; NULL: there is none. */
typedef const struct sweep_kind *ranks_kind_fn(const char *name);

/* What mete_ranks_serve does. */
int ranks_serve(ranks_kind_fn *find_kind);

#endif
