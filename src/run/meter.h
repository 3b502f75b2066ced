/* meter.h - how far a run is: what is told while it trains, validates and tests.
 *
 * Work is counted in tasks.  A task of an update counts as three of a test, which is about what
 * they take.
 */
#ifndef RUN_METER_H
#define RUN_METER_H

#include "mete.h"

struct meter {
    int (*tell)(void *user, struct meter *m); /* a failure stops the run; NULL: nobody is told */
    void *user;
    double done, total;
    double restored; /* of `done`: from a checkpoint, so it says nothing about the speed */
    bool testing;    /* training is over */
    int64_t step, steps;
    double accuracy; /* of the latest validation; NaN: none yet */
    int validations; /* so far; what follows is of the latest */
    int64_t valid_step, tasks, labels;
    double half, loss;       /* loss: of training since the one before */
    bool stop_at_checkpoint; /* set by `tell`: the run should stop when it next saves itself */
};

enum { METER_UPDATE = 3, METER_TEXT = 96 }; /* what a task of an update counts */

/* Adds to what is done, and tells.  0, or what `tell` answered.  NULL is fine. */
int meter_add(struct meter *m, double work);
/* "step 300 of 600, 52.2 %". */
void meter_text(const struct meter *m, char out[METER_TEXT]);

#endif
