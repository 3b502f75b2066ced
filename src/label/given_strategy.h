/* given_strategy.h - label strategies of other programs (mete_learner.h). */
#ifndef LABEL_GIVEN_STRATEGY_H
#define LABEL_GIVEN_STRATEGY_H

#include "label/label.h"

const struct label_ops *given_strategy_at(int i);              /* NULL past the last */
const struct label_ops *given_strategy_find(const char *name); /* NULL: none */
void given_strategy_hold(const struct label_ops *ops);  /* it cannot be removed; others are fine */
void given_strategy_leave(const struct label_ops *ops); /* ends one hold */

#endif
