/* given_learner.h - learners of other programs (mete_learner.h), as methods. */
#ifndef METHOD_GIVEN_LEARNER_H
#define METHOD_GIVEN_LEARNER_H

#include "method/method.h"

const struct method_ops *given_learner_at(int i);              /* NULL past the last */
const struct method_ops *given_learner_find(const char *name); /* NULL: none */
void given_learner_hold(const struct method_ops *ops);  /* it cannot be removed; others are fine */
void given_learner_leave(const struct method_ops *ops); /* ends one hold */

#endif
