/* axis.h - scales, ticks, and numbers as axes write them. */
#ifndef REPORT_AXIS_H
#define REPORT_AXIS_H

#include <stdbool.h>

enum { AXIS_TICKS = 24, AXIS_TEXT = 16 };

struct axis {
    double from, to; /* values; log: above 0 */
    double a, b;     /* where they are, in pixels */
    bool log;
    double tick[AXIS_TICKS];
    int ticks;
};

/* Where a value is, kept within the axis; log: nothing is below its foot. */
double axis_at(const struct axis *a, double value);

/* Round numbers at least `apart` pixels from each other; also moves `from` and `to` out to the
 * nearest of them where `whole`. */
void axis_ticks(struct axis *a, double apart, bool whole);

/* `value` as a tick of steps of `step`, or (step 0) by itself: 30K, 1,500, 0.02. */
void axis_text(double value, double step, char out[AXIS_TEXT]);
double axis_step(const struct axis *a); /* between ticks; 0 where they are not even */

#endif
