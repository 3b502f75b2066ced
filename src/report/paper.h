/* paper.h - the paper's own numbers, for the benchmarks that are among its. */
#ifndef REPORT_PAPER_H
#define REPORT_PAPER_H

#include "mete.h"

struct paper_cell {
    const char *dataset, *method, *labels;
    int ways, shots; /* shots: of the test */
    int64_t budget;  /* 0: no cap */
};

struct paper_number {
    int table;             /* 1, 2 or 3 */
    double accuracy, half; /* per cent; half NaN where none is printed */
};

/* Reptile on FEMNIST at 100K is in Tables 1 and 2, with different numbers: a table
 * that has FedAvg is compared with Table 2. */
bool paper_find(const struct paper_cell *c, bool with_fedavg, struct paper_number *out);

#endif
