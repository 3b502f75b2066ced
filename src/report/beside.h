/* beside.h - our numbers beside the paper's, cell by cell. */
#ifndef REPORT_BESIDE_H
#define REPORT_BESIDE_H

#include "report/paper.h"

struct store;

enum beside { BELOW, NEAR, ABOVE };

struct beside_cell {
    char *test, *method, *labels; /* "omniglot 5w-1s 30K"; labels with the settings apart */
    double accuracy, half;        /* per cent; half NaN: none */
    struct paper_number paper;
    enum beside verdict;
};

struct beside_cells {
    struct beside_cell *at;
    int n, count[3]; /* by verdict */
};

/* After report_prepare(): the cells that the paper has a number for, in the order of the page.
 * NEAR is within a point of the paper, 2.5 points for mini-ImageNet and EMNIST, whose numbers
 * vary more from one program to another. */
int beside_read(struct beside_cells *out, struct store *s);
void beside_release(struct beside_cells *c);
const char *beside_word(enum beside verdict);

/* "Of 36 cells 12 are above the paper's, 13 within a point (...) and 11 below."  free() it. */
char *beside_sentence(const struct beside_cells *c);
/* As a table of 80 columns, the sentence below; free() it. */
int beside_table(struct store *s, char **out);

#endif
