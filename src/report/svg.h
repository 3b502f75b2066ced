/* svg.h - the strokes of a chart: markers, intervals, text; pixels with one decimal. */
#ifndef REPORT_SVG_H
#define REPORT_SVG_H

#include "base/text.h"
#include "report/style.h"

#include <stdbool.h>

void svg_line(struct text *t, const char *class, double x1, double y1, double x2, double y2);
/* `anchor`: start, middle or end. */
void svg_text(struct text *t, const char *class, const char *anchor, double x, double y,
              const char *s);
/* The outline of a marker around a point, as a path's d. */
void svg_marker(struct text *t, enum marker m, double x, double y, double r);
/* An interval with feet at its ends; an arrow at the end that goes on beyond the frame. */
struct svg_interval {
    double x, from, to; /* along the y axis; with `flat` along the x axis at y = x */
    bool from_open, to_open, flat;
};
void svg_interval(struct text *t, const struct svg_interval *i);
double svg_width(const char *s, double size); /* of a text, about */

#endif
