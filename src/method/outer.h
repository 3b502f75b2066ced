/* outer.h - the meta-optimiser's settings. */
#ifndef METHOD_OUTER_H
#define METHOD_OUTER_H

#include "base/param.h"

struct outer_settings {
    int optimiser; /* 0 the method's own, 1 adam, 2 sgd */
    double lr;     /* 0: the method's own */
    double beta1, beta2, eps;
    double momentum; /* of the running batch-norm averages */
};
extern const struct param outer_params[];

#endif
