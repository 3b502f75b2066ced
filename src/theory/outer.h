/* outer.h - beta' of a study: models trained with a task left out, by one process or by ranks.
 *
 * All ranks go through the same comparisons; who is to train a model does, and rank 0 gets its
 * risks.  So the numbers do not depend on how many there are.
 */
#ifndef THEORY_OUTER_H
#define THEORY_OUTER_H

#include "theory/field.h"
#include "base/ranks.h"

/* Asks the other ranks of the job for their share.  Does nothing for a process that is alone. */
int outer_call(const struct field *f, const struct mete_study *o, struct ranks *ranks);
/* Of them: opens the same study, and trains. */
int outer_serve(struct message *m);

/* Fills in outer_beta, removals and exceeding. */
int outer_measure(struct field *f, const struct mete_study *o, struct ranks *ranks,
                  struct mete_stability *out);

/* mete_stability(), over `ranks`; NULL: by this process alone. */
int stability_study(const struct mete_study *o, struct ranks *ranks, struct mete_stability *out);

#endif
