/* chart.h - figures as static SVG, complete without scripts.
 *
 * A chart is rows: points of named lines in named panels.  chart_draw() writes the legend and
 * a drawing for each panel; figures.js only adds a readout and the isolation of lines.  A mark
 * carries its numbers (data-x, data-y, data-lo, data-hi) and its sentence (title).
 */
#ifndef REPORT_CHART_H
#define REPORT_CHART_H

#include "base/text.h"
#include "report/style.h"

#include <stdbool.h>

enum chart_kind {
    CHART_LINES,   /* y against x, with intervals */
    CHART_CURVES,  /* the same for many points: bands, few markers, an x axis for each panel */
    CHART_DOTS,    /* y for each `label`, side by side */
    CHART_BARS,    /* y for each small whole x */
    CHART_FOREST,  /* x for each `label`, one below the other */
    CHART_PERCENT, /* y against x, both 0 to 100 %, with the diagonal; lines */
    CHART_SCATTER, /* the same; points */
};
enum { CHART_LOG_X = 1, CHART_LOG_Y = 2, CHART_OWN_Y = 4 /* a y axis for each panel */ };

struct chart {
    const char *id, *title;
    enum chart_kind kind;
    const char *x, *y; /* what the axes say */
    int flags;
    const char *layout; /* a class for the panels; NULL: by their number */
};

struct chart_row {
    char *panel, *line, *colour, *dash, *label, *note; /* NULL: none */
    double x, y, lo, hi;                               /* NaN: none */
    enum chart_of {
        OF_MEAN,
        OF_PAPER,
        OF_SEED
    } of; /* ours; the paper's, hollow; one seed, small */
};

struct chart_rows {
    struct chart_row *at;
    int n;
};

/* Adds a copy of `row` and of its texts. */
void chart_add(struct chart_rows *rows, const struct chart_row *row);
void chart_release(struct chart_rows *rows);

/* Nothing is drawn for no rows. */
void chart_draw(struct text *out, const struct chart *c, const struct chart_rows *rows,
                struct style *s);

#endif
