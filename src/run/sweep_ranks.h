/* sweep_ranks.h - the runs of a suite over ranks.
 *
 * The ranks of a job form teams of `per_run`, each of which makes a run at a time.  Rank 0 owns the
 * database: it hands out runs and is told how far they are and what came out.  Its own team works
 * as well.  A team that loses a rank is not used again, and its run goes to another.
 */
#ifndef RUN_SWEEP_RANKS_H
#define RUN_SWEEP_RANKS_H

#include "run/sweep.h"

struct sweep_teams;

struct teams_spec {
    const struct sweep_kind *kind;
    const char *device;
    int threads, per_run;        /* threads of each rank, 0: its share of the cores */
    const char *folder;          /* of the runs; every rank must see it */
    const struct settings *runs; /* (n) of which each rank must have the content */
    int n;
};
/* Of rank 0, where the job has others. */
int teams_open(struct sweep_teams **out, const struct teams_spec *spec);
void teams_close(struct sweep_teams *t); /* NULL is fine */

int teams_count(const struct sweep_teams *t);           /* team 0 is that of this rank */
bool teams_lost(const struct sweep_teams *t, int team); /* it makes no runs any more */
struct ranks *teams_own(const struct sweep_teams *t);
/* Makes a run as sweep_kind.run() does, of the options folder and progress.  *lost: the failure is
 * that of the team, and not of the run. */
int teams_run(struct sweep_teams *t, int team, const struct settings *settings,
              const struct experiment_options *o, struct results *out, bool *lost);

/* Puts `chosen` (n) in the order of what the runs cost, the largest first, so that the last to end
 * are small. */
int runs_by_size(const struct sweep_kind *kind, const struct settings *runs, struct shelf *shelf,
                 const char *device, int *chosen, int n);

#endif
