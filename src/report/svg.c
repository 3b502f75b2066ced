/* svg.c - strokes. */
#include "report/svg.h"
#include "report/page.h"

#include <math.h>

void svg_line(struct text *t, const char *class, double x1, double y1, double x2, double y2)
{
    text_print(t, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>", class, x1,
               y1, x2, y2);
}

void svg_text(struct text *t, const char *class, const char *anchor, double x, double y,
              const char *s)
{
    text_print(t, "<text class=\"%s\" text-anchor=\"%s\" x=\"%.1f\" y=\"%.1f\">", class, anchor, x,
               y);
    html_add(t, s);
    text_add(t, "</text>");
}

void svg_marker(struct text *t, enum marker m, double x, double y, double r)
{
    double s = 0.9 * r, w = 0.35 * r;
    switch (m) {
    case MARK_SQUARE:
        text_print(t, "M%.1f %.1fh%.1fv%.1fh%.1fz", x - s, y - s, 2 * s, 2 * s, -2 * s);
        break;
    case MARK_TRIANGLE:
        text_print(t, "M%.1f %.1fl%.1f %.1fh%.1fz", x, y - 1.2 * r, 1.15 * r, 2 * r, -2.3 * r);
        break;
    case MARK_DOWN:
        text_print(t, "M%.1f %.1fl%.1f %.1fh%.1fz", x, y + 1.2 * r, 1.15 * r, -2 * r, -2.3 * r);
        break;
    case MARK_DIAMOND:
        text_print(t, "M%.1f %.1fl%.1f %.1fl%.1f %.1fl%.1f %.1fz", x, y - 1.3 * r, 1.1 * r, 1.3 * r,
                   -1.1 * r, 1.3 * r, -1.1 * r, -1.3 * r);
        break;
    case MARK_CROSS:
        text_print(t, "M%.1f %.1fh%.1fv%.1fh%.1fv%.1fh%.1fv%.1fh%.1fv%.1fh%.1fv%.1fh%.1fz", x - w,
                   y - 1.2 * r, 2 * w, 1.2 * r - w, 1.2 * r - w, 2 * w, -(1.2 * r - w), 1.2 * r - w,
                   -2 * w, -(1.2 * r - w), -(1.2 * r - w), -2 * w, 1.2 * r - w);
        break;
    default:
        text_print(t, "M%.1f %.1fa%.1f %.1f 0 1 0 %.1f 0a%.1f %.1f 0 1 0 %.1f 0z", x - r, y, r, r,
                   2 * r, r, r, -2 * r);
    }
}

static void end(struct text *t, bool flat, double x, double at, double outwards, bool open)
{
    double foot = 3, back = open ? -4 * outwards : 0;
    if (flat)
        text_print(t, "M%.1f %.1fL%.1f %.1fL%.1f %.1f", at + back, x - foot, at, x, at + back,
                   x + foot);
    else
        text_print(t, "M%.1f %.1fL%.1f %.1fL%.1f %.1f", x - foot, at + back, x, at, x + foot,
                   at + back);
}

void svg_interval(struct text *t, const struct svg_interval *i)
{
    double outwards = i->to > i->from ? 1 : -1;
    text_add(t, "<path class=\"i\" d=\"");
    if (i->flat)
        text_print(t, "M%.1f %.1fH%.1f", i->from, i->x, i->to);
    else
        text_print(t, "M%.1f %.1fV%.1f", i->x, i->from, i->to);
    end(t, i->flat, i->x, i->from, -outwards, i->from_open);
    end(t, i->flat, i->x, i->to, outwards, i->to_open);
    text_add(t, "\"/>");
}

double svg_width(const char *s, double size)
{
    return 0.56 * size * text_width(s);
}
