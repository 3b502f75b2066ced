/* ranks_teams.h - the ranks that make a suite's runs for rank 0. */
#ifndef RUN_RANKS_TEAMS_H
#define RUN_RANKS_TEAMS_H

#include "run/ranks_job.h"
#include "base/message.h"

/* Of all but rank 0, after CALL_TEAMS: until rank 0 says that the suite is over. */
int ranks_teams_serve(struct message *m, struct shelf *shelf, ranks_kind_fn *find_kind);

#endif
