/* ranks_results.h - the results of a run on their way to the rank that owns the database. */
#ifndef RUN_RANKS_RESULTS_H
#define RUN_RANKS_RESULTS_H

#include "run/experiment.h"
#include "base/message.h"

void put_results(struct message *m, const struct results *r);
/* Takes over the memory of *m, in which the texts of *out are; results_release(out). */
int get_results(struct message *m, struct results *out);

#endif
