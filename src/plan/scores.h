/* scores.h - reading what the runs of a plan came to. */
#ifndef PLAN_SCORES_H
#define PLAN_SCORES_H

#include "plan/plan.h"

/* Trials 0..n-1 are the runs of `suite`, in order; one that failed is left undone. */
int scores_read(const char *db, const char *suite, struct trial *t, int n);
/* Different items whose labels the runs of suites that fit a pattern looked at: [0] in training,
 * [2] in validation. */
int scores_labels(const char *db, const char *suites, int64_t kinds[3]);
/* Seconds that the runs of suites that fit a pattern took. */
int scores_seconds(const char *db, const char *suites, double *out);

#endif
