/* freeze.h - statistics for models that are used one item at a time (method/frozen.c): of the
 * training tasks' support, whose labels play no part.
 */
#ifndef RUN_FREEZE_H
#define RUN_FREEZE_H

#include "run/experiment.h"

enum { FREEZE_TEXT = 64 };
/* Gives both models their statistics.  `text` is what they are of, "" where there are none. */
int freeze_models(struct experiment *x, struct trainer *t, struct tensors *last,
                  char text[FREEZE_TEXT]);

#endif
