/* table.h - results arranged in rows and columns.
 *
 * A cell is a choice: of all variants that fall into it, among them the training
 * shots, the one with the best validation accuracy, as the paper does.  What
 * belongs to the protocol of a test (data set, ways, test shots, support, batch
 * norm, budget) is never chosen: where a drawing leaves it out and it varies, it
 * becomes part of the rows.
 */
#ifndef REPORT_TABLE_H
#define REPORT_TABLE_H

#include "report/paper.h"
#include "report/results.h"

struct cell {
    const struct result *chosen; /* NULL: nothing was measured */
    int variants;                /* how many there were to choose from */
    char *choice;                /* what sets the chosen apart: "training shots 3"; or NULL */
    bool best;                   /* of its row, or not told apart from it */
    bool has_paper;
    struct paper_number paper;
};

enum { TABLE_FIELDS = 12 };
struct table_axis {
    char *field[TABLE_FIELDS];
    int fields;
    char **value; /* (n, fields) as text */
    int n;
};

struct table {
    char *title;
    const struct result_list *results; /* borrowed */
    struct table_axis rows, columns;
    struct cell *cells; /* (rows.n, columns.n) */
    int *where;         /* (results->n) the cell each result falls into */
    int *missing;       /* (rows.n) runs of the row that are not done */
};

/* `rows` and `columns` are fields joined by ','.  Keeps `r`. */
int table_open(struct table *out, const struct result_list *r, const char *title, const char *rows,
               const char *columns);
void table_release(struct table *t);

const struct cell *table_cell(const struct table *t, int row, int column);
const char *axis_value(const struct table_axis *a, int i, int field);
int axis_field(const struct table_axis *a, const char *name); /* its number, or -1 */

/* "±" as the table shows it: over seeds, or over test tasks where there are too few of them. */
double cell_half(const struct cell *c);
/* What a reader must know, a sentence each; NULL past the last.  free() it. */
char *table_note(const struct table *t, int i);

#endif
