/* ranks_speed.h - mete speed over ranks: the steps of one engine that all of them share. */
#ifndef RUN_RANKS_SPEED_H
#define RUN_RANKS_SPEED_H

#include "mete.h"
#include "base/message.h"
#include "base/ranks.h"
#include "method/learner.h"

/* Of the first rank.  NULL ranks: it is alone, and nothing is to be told. */
int ranks_speed_begin(struct ranks *ranks, const struct mete_speed_options *o);
/* Whether all have opened their engine; `err` is what became of this rank's. */
int ranks_speed_opened(struct ranks *ranks, int err);
/* As a run tells them of its steps; `m` is room for it. */
int ranks_speed_step(struct ranks *ranks, struct message *m, const struct labelled_task *tasks,
                     int n);
/* The end, whatever happened before.  What all ranks have sent in the steps, and the one that sent
 * most. */
int ranks_speed_end(struct ranks *ranks, struct ranks_sent *all, struct ranks_sent *most);

/* Of the others, after CALL_SPEED. */
int ranks_speed_serve(struct message *m);

#endif
