/* ranks_learner.h - a run's learner over a team of ranks.
 *
 * The root of the team runs everything of a run: it draws tasks, pays, decides, writes.  It calls a
 * learner whose table shares the work out: each call is told to the others, who have opened the
 * same learner; tasks are divided among all, and what they predict comes back in the tasks' order.
 * Meta-updates are shared by the engine itself (method/engine.h).  So a ledger, a checkpoint or a
 * strategy knows nothing of ranks.
 */
#ifndef RUN_RANKS_LEARNER_H
#define RUN_RANKS_LEARNER_H

#include "run/experiment.h"

/* Opens the learner of a run on every rank of spec->ranks.  Keeps `own`, the root's. */
struct ranks_opening {
    const struct settings *settings;
    const char *dataset;
    const char *content; /* of the dataset */
};
int ranks_learner_open(struct learner **out, const struct ranks_opening *o,
                       const struct learner_spec *spec, struct learner *own);

/* The other side: opens a learner as the message asks, and does what the root says until it closes
 * it.  A failure is of a rank that is given up; others are told to the root. */
int ranks_learner_serve(struct ranks *team, struct message *open, struct shelf *shelf);

#endif
