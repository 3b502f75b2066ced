/* sheet.h - a table as texts on a grid, ready to be printed in any format. */
#ifndef REPORT_SHEET_H
#define REPORT_SHEET_H

#include "report/table.h"

struct sheet_cell {
    char *text;              /* "84.8"; "" where there is nothing */
    char *half;              /* "1.2", or "" */
    const struct cell *from; /* of ours; NULL for labels and the paper's */
    bool best;
};

struct sheet {
    int labels, columns; /* label columns, value columns */
    int heads;           /* header lines */
    char **head;         /* (heads, columns) value headers; equal neighbours belong together */
    char **label_head;   /* (labels) */
    int lines;
    bool *paper;             /* (lines) the line holds the paper's numbers */
    char **label;            /* (lines, labels); "" where it repeats the line above */
    struct sheet_cell *cell; /* (lines, columns) */
};

void sheet_open(struct sheet *out, const struct table *t);
void sheet_release(struct sheet *s);

/* How many columns from j on share their header at this level (and all above). */
int sheet_span(const struct sheet *s, int level, int j);

#endif
