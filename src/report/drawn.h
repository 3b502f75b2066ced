/* drawn.h - the tables and figures that a database's suites ask for. */
#ifndef REPORT_DRAWN_H
#define REPORT_DRAWN_H

#include "mete.h"

struct store;

struct drawn {
    char *suite; /* NULL: all runs */
    bool figure;
    char *title, *x, *rows, *columns;
};
struct drawn_list {
    struct drawn *at;
    int n;
};

/* Of the suite `suite`, or of all where it is NULL.  Where no table is asked for
 * (runs made one by one) there is one of all runs, laid out as the paper's Table 1. */
int drawn_read(struct drawn_list *out, struct store *s, const char *suite);
void drawn_release(struct drawn_list *d);

#endif
