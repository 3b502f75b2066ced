/* axis.c - where values are, and which of them are written. */
#include "report/axis.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double fraction(const struct axis *a, double value)
{
    if (a->log)
        return value > 0 ? log(value / a->from) / log(a->to / a->from) : 0;
    return (value - a->from) / (a->to - a->from);
}

double axis_at(const struct axis *a, double value)
{
    double f = a->to > a->from ? fraction(a, value) : 0.5;
    return a->a + (a->b - a->a) * fmin(1, fmax(0, f));
}

static void add_tick(struct axis *a, double value)
{
    if (a->ticks < AXIS_TICKS)
        a->tick[a->ticks++] = value;
}

/* 1, 2, 2.5 or 5 times a power of ten: the least that leaves room. */
static double even_step(double span, double most)
{
    static const double nice[] = {1, 2, 2.5, 5, 10};
    double power = pow(10, floor(log10(span / most)));
    for (int i = 0; i < 4; i++)
        if (span / (nice[i] * power) <= most)
            return nice[i] * power;
    return 10 * power;
}

static void even_ticks(struct axis *a, double most, bool whole)
{
    double step = even_step(a->to - a->from, most);
    if (whole) {
        a->from = step * floor(a->from / step + 1e-9);
        a->to = step * ceil(a->to / step - 1e-9);
    }
    long first = (long)ceil(a->from / step - 1e-9), last = (long)floor(a->to / step + 1e-9);
    for (long i = first; i <= last; i++)
        add_tick(a, (double)i * step);
}

/* Powers of ten, with 2 and 5 between them where there is room. */
static void log_ticks(struct axis *a, double most)
{
    double decades = log10(a->to / a->from);
    int every = decades > most ? (int)ceil(decades / most) : 1;
    bool between = 3 * decades <= most;
    int last = (int)ceil(log10(a->to) + 1e-9);
    for (int p = (int)floor(log10(a->from) - 1e-9); p <= last; p++)
        for (int i = 0; i < 3; i++) {
            static const double times[] = {1, 2, 5};
            double value = times[i] * pow(10, p);
            bool wanted = i == 0 ? p % every == 0 : between;
            if (wanted && value >= a->from * (1 - 1e-9) && value <= a->to * (1 + 1e-9))
                add_tick(a, value);
        }
}

/* Whether steps between the ends can be told from them in a double. */
static bool has_steps(const struct axis *a)
{
    double span = a->to - a->from;
    if (!(span > 0) || !isfinite(span))
        return false;
    return a->log ? a->from > 0 && isfinite(a->to / a->from)
                  : fmax(fabs(a->from), fabs(a->to)) < 1e12 * span;
}

void axis_ticks(struct axis *a, double apart, bool whole)
{
    double most = fmax(1, floor(fabs(a->b - a->a) / apart));
    a->ticks = 0;
    if (!has_steps(a))
        add_tick(a, a->from);
    else if (a->log)
        log_ticks(a, most);
    else
        even_ticks(a, most, whole);
}

double axis_step(const struct axis *a)
{
    return a->log || a->ticks < 2 ? 0 : a->tick[1] - a->tick[0];
}

/* 1234567 as 1,234,567. */
static void with_commas(double value, char out[AXIS_TEXT])
{
    char digits[AXIS_TEXT];
    int n = snprintf(digits, sizeof digits, "%.0f", fabs(value)), j = 0;
    if (value < 0)
        out[j++] = '-';
    for (int i = 0; i < n && j < AXIS_TEXT - 2; i++) {
        out[j++] = digits[i];
        if ((n - 1 - i) % 3 == 0 && i < n - 1)
            out[j++] = ',';
    }
    out[j] = '\0';
}

void axis_text(double value, double step, char out[AXIS_TEXT])
{
    double size = fabs(value);
    int places = step > 0 ? (int)fmax(0, ceil(-log10(step) - 1e-9)) : 0;
    if (step > 0 && fabs(step * pow(10, places) - round(step * pow(10, places))) > 1e-6)
        places++; /* steps of 2.5 */
    if (size >= 1e6)
        snprintf(out, AXIS_TEXT, "%.4gM", value / 1e6);
    else if (size >= 1e4)
        snprintf(out, AXIS_TEXT, "%.4gK", value / 1e3);
    else if (size >= 1e3 && places == 0)
        with_commas(value, out);
    else if (step > 0)
        snprintf(out, AXIS_TEXT, "%.*f", places < 9 ? places : 9, value);
    else
        snprintf(out, AXIS_TEXT, "%.3g", value);
    if (strcmp(out, "-0") == 0)
        strcpy(out, "0");
}
