/* baseline.h - what a method should beat: simple learners on the raw inputs, from the same bought
 * labels and on the same tests.
 */
#ifndef METHOD_BASELINE_H
#define METHOD_BASELINE_H

#include "method/method.h"

extern const struct method_ops method_majority, method_nearest, method_local, method_pooled,
    method_tuned;

/* Their names, in the order of tables; NULL past the last. */
const char *baseline_at(int i);

#endif
