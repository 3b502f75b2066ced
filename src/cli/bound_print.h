/* bound_print.h - the rows of `mete bound` as a table, CSV or JSON. */
#ifndef BOUND_PRINT_H
#define BOUND_PRINT_H

#include "mete_theory.h"

struct bound_row {
    struct mete_bound_setting s;
    double budget, query, task_cost; /* budget NaN: n and m were given */
    double swept[2];
    struct mete_bound b;
};

struct bound_format {
    enum { BOUND_TABLE, BOUND_CSV, BOUND_JSON } kind;
    const char *method;
    const char *swept[2]; /* names of the swept numbers, or NULL */
};

void bound_print(const struct bound_format *f, const struct bound_row *rows, int n);

#endif
