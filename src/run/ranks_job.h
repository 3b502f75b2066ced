/* ranks_job.h - a job of many ranks, for all but the first. */
#ifndef RUN_RANKS_JOB_H
#define RUN_RANKS_JOB_H

#include "run/sweep.h"
#include "base/message.h"

/* A kind of runs by its name; NULL: there is none. */
typedef const struct sweep_kind *ranks_kind_fn(const char *name);

/* What folders above this one add. */
struct ranks_server {
    ranks_kind_fn *find_kind;
    int (*study)(struct message *m); /* after CALL_STUDY */
};
/* What mete_ranks_serve does. */
int ranks_serve(const struct ranks_server *server);

#endif
