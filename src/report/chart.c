/* chart.c - the legend, the panels, and what they hold. */
#include "report/chart.h"
#include "base/memory.h"
#include "report/axis.h"
#include "report/page.h"
#include "report/svg.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FONT = 11, MARKER = 4 };
enum { FEW = 8 }; /* places on an x axis that are all written */

static char *copy(const char *s)
{
    return s ? mem_string(s) : NULL;
}

void chart_add(struct chart_rows *rows, const struct chart_row *row)
{
    rows->at = mem_grow(rows->at, (size_t)rows->n + 1, sizeof *rows->at);
    struct chart_row *r = &rows->at[rows->n++];
    *r = *row;
    r->panel = mem_string(row->panel ? row->panel : "");
    r->line = mem_string(row->line ? row->line : "");
    r->colour = copy(row->colour);
    r->dash = copy(row->dash);
    r->label = copy(row->label);
    r->note = copy(row->note);
}

void chart_release(struct chart_rows *rows)
{
    for (int i = 0; i < rows->n; i++) {
        struct chart_row *r = &rows->at[i];
        free(r->panel);
        free(r->line);
        free(r->colour);
        free(r->dash);
        free(r->label);
        free(r->note);
    }
    free(rows->at);
    *rows = (struct chart_rows){0};
}

/* ---- the rows by name ---- */

typedef const char *name_fn(const struct chart_row *r);

static const char *panel_of(const struct chart_row *r)
{
    return r->panel;
}

static const char *line_of(const struct chart_row *r)
{
    return r->line;
}

static const char *label_of(const struct chart_row *r)
{
    return r->label ? r->label : "";
}

struct names {
    const char **at; /* borrowed from the rows */
    int n;
};

static int find_name(const struct names *names, const char *name)
{
    int i = 0;
    while (i < names->n && strcmp(names->at[i], name) != 0)
        i++;
    return i;
}

/* In the order of the rows; of one panel, or of all where it is NULL. */
static struct names names_of(const struct chart_rows *rows, const char *panel, name_fn *name)
{
    struct names names = {0};
    for (int i = 0; i < rows->n; i++) {
        const char *s = name(&rows->at[i]);
        if ((panel && strcmp(rows->at[i].panel, panel) != 0) || find_name(&names, s) < names.n)
            continue;
        names.at = mem_grow(names.at, (size_t)names.n + 1, sizeof *names.at);
        names.at[names.n++] = s;
    }
    return names;
}

/* ---- a drawing ---- */

struct drawing {
    struct text *out;
    const struct chart *c;
    struct style *s;
    const struct chart_rows *all;  /* of the figure */
    const struct chart_row **rows; /* (n) of the panel */
    const char *panel;
    struct names lines, labels; /* of the panel */
    double *places;             /* (n_places) the distinct x, ascending */
    int n, n_places;
    double width, height;
    double left, right, top, bottom; /* the frame */
    struct axis x, y;
};

static bool percent_of(const struct chart *c)
{
    return strstr(c->y, "accuracy, %") != NULL || strstr(c->y, "share") != NULL;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void find_places(struct drawing *d)
{
    d->places = mem_array((size_t)d->n + 1, sizeof *d->places);
    for (int i = 0; i < d->n; i++)
        d->places[i] = d->rows[i]->x;
    qsort(d->places, (size_t)d->n, sizeof *d->places, by_value);
    for (int i = 0; i < d->n; i++)
        if (d->n_places == 0 || d->places[i] != d->places[d->n_places - 1])
            d->places[d->n_places++] = d->places[i];
}

static bool shows(const struct chart *c, double v)
{
    return isfinite(v) && (!(c->flags & CHART_LOG_Y) || v > 0);
}

/* The values that the y axis holds: of the panel, or of the figure where panels share it. */
static void y_range(struct drawing *d, double *from, double *to)
{
    bool own = d->c->flags & CHART_OWN_Y;
    *from = INFINITY, *to = -INFINITY;
    for (int i = 0; i < d->all->n; i++) {
        const struct chart_row *r = &d->all->at[i];
        const double values[] = {r->y, r->lo, r->hi};
        for (int k = 0; k < 3 && (!own || strcmp(r->panel, d->panel) == 0); k++)
            if (shows(d->c, values[k])) {
                *from = fmin(*from, values[k]);
                *to = fmax(*to, values[k]);
            }
    }
    if (percent_of(d->c)) { /* an interval may reach beyond, the axis need not */
        *from = fmax(*from, 0);
        *to = fmin(*to, 100);
    }
}

static void set_y(struct drawing *d)
{
    double from, to;
    bool square = d->c->kind == CHART_PERCENT || d->c->kind == CHART_SCATTER;
    y_range(d, &from, &to);
    if (square || !isfinite(from))
        from = 0, to = 100;
    if (d->c->kind == CHART_BARS)
        from = 0;
    bool log = d->c->flags & CHART_LOG_Y;
    if (to - from < 1e-12 * fabs(to))
        from -= log ? from / 2 : fabs(to) / 10 + 1e-9, to += fabs(to) / 10 + 1e-9;
    if (log)
        from /= 1.15, to *= 1.15;
    d->y = (struct axis){.from = from, .to = to, .a = d->bottom, .b = d->top, .log = log};
    axis_ticks(&d->y, 34, !log);
}

static void set_x(struct drawing *d)
{
    bool square = d->c->kind == CHART_PERCENT || d->c->kind == CHART_SCATTER;
    double from = square ? 0 : d->places[0], to = square ? 100 : d->places[d->n_places - 1];
    bool log = d->c->flags & CHART_LOG_X && from > 0 && to > from;
    double inset = square || d->c->kind == CHART_CURVES ? 0 : fmin(36, (d->right - d->left) / 7);
    d->x = (struct axis){
        .from = from, .to = to, .a = d->left + inset, .b = d->right - inset, .log = log};
    axis_ticks(&d->x, 44, false);
    if (!square && d->c->kind != CHART_CURVES && d->n_places <= FEW) {
        memcpy(d->x.tick, d->places, (size_t)d->n_places * sizeof *d->places);
        d->x.ticks = d->n_places;
    }
}

static void add_note(struct text *t, const char *note)
{
    if (note && *note) {
        text_add(t, "; ");
        html_add(t, note);
    }
}

static const char *places_of(const struct drawing *d, double v)
{
    return d->c->flags & CHART_LOG_Y || !percent_of(d->c) ? fabs(v) >= 1e4 ? "%.0f" : "%.3g"
                                                          : "%.1f";
}

static void add_value(struct drawing *d, double v)
{
    char text[32];
    snprintf(text, sizeof text, places_of(d, v), v);
    text_add(d->out, text);
}

/* What a mark says: "maml, active: 82.0 (79.4 to 84.6) at 30K labels". */
static void add_sentence(struct drawing *d, const struct chart_row *r)
{
    char at[AXIS_TEXT];
    axis_text(r->x, 0, at);
    text_add(d->out, "<title>");
    html_add(d->out, r->line);
    text_add(d->out, ": ");
    if (d->c->kind == CHART_FOREST) {
        text_print(d->out, "%+.1f", r->x);
        if (isfinite(r->lo))
            text_print(d->out, " (%+.1f to %+.1f)", r->lo, r->hi);
    } else {
        add_value(d, r->y);
        if (isfinite(r->lo)) {
            text_add(d->out, " (");
            add_value(d, r->lo);
            text_add(d->out, " to ");
            add_value(d, r->hi);
            text_add(d->out, ")");
        }
    }
    if (d->c->kind == CHART_DOTS || d->c->kind == CHART_FOREST) {
        text_add(d->out, ", ");
        html_add(d->out, label_of(r));
    } else {
        text_print(d->out, " at %s ", at);
        html_add(d->out, d->c->x);
    }
    add_note(d->out, r->note);
    text_add(d->out, "</title>");
}

static void add_number(struct text *t, const char *name, double v)
{
    if (isfinite(v))
        text_print(t, " data-%s=\"%.12g\"", name, v);
}

static void add_mark(struct drawing *d, const struct chart_row *r, double x, double y, double size)
{
    static const char *const class[] = {"m", "m h", "m d"};
    text_print(d->out, "<path class=\"%s\"", class[r->of]);
    add_number(d->out, "x", r->x);
    add_number(d->out, "y", r->y);
    add_number(d->out, "lo", r->lo);
    add_number(d->out, "hi", r->hi);
    text_print(d->out, " data-at=\"%.1f %.1f\" d=\"", x, y);
    svg_marker(d->out, style_marker(d->s, r->dash), x, y, size);
    text_add(d->out, "\">");
    add_sentence(d, r);
    text_add(d->out, "</path>");
}

/* A group for what belongs to a line, in its colour. */
static void open_line(struct drawing *d, const struct chart_row *r)
{
    int colour = style_colour(d->s, r->colour);
    text_print(d->out, "<g class=\"s ");
    text_print(d->out, colour < 0 ? "ki" : "k%d", colour);
    text_add(d->out, "\" data-line=\"");
    html_add(d->out, r->line);
    text_add(d->out, "\">");
}

static void close_line(struct drawing *d)
{
    text_add(d->out, "</g>\n");
}

/* ---- frames and axes ---- */

static double widest_tick(const struct axis *a)
{
    double widest = 0;
    for (int i = 0; i < a->ticks; i++) {
        char text[AXIS_TEXT];
        axis_text(a->tick[i], axis_step(a), text);
        widest = fmax(widest, svg_width(text, FONT));
    }
    return widest;
}

static void draw_y_axis(struct drawing *d)
{
    for (int i = 0; i < d->y.ticks; i++) {
        char text[AXIS_TEXT];
        double at = axis_at(&d->y, d->y.tick[i]);
        axis_text(d->y.tick[i], axis_step(&d->y), text);
        svg_line(d->out, "g", d->left, at, d->right, at);
        svg_text(d->out, "t", "end", d->left - 5, at + 4, text);
    }
    svg_text(d->out, "t", "start", 0, FONT, d->c->y);
}

/* Ticks whose text would touch the one before are left out. */
static void draw_x_axis(struct drawing *d)
{
    double end = -1e9, middle = (d->left + d->right) / 2;
    svg_line(d->out, "a", d->left, d->bottom, d->right, d->bottom);
    for (int i = 0; i < d->x.ticks; i++) {
        char text[AXIS_TEXT];
        double at = axis_at(&d->x, d->x.tick[i]);
        axis_text(d->x.tick[i], d->n_places <= FEW ? 0 : axis_step(&d->x), text);
        double half = svg_width(text, FONT) / 2;
        if (at - half < end + 5 || at + half > d->width)
            continue;
        svg_line(d->out, "a", at, d->bottom, at, d->bottom + 4);
        svg_text(d->out, "t", "middle", at, d->bottom + 16, text);
        end = at + half;
    }
    svg_text(d->out, "t", "middle", middle, d->height - 3, d->c->x);
}

/* The frame leaves room for the ticks, which depend on the frame: twice is enough. */
static void lay_out(struct drawing *d)
{
    d->top = 2 * FONT;
    d->bottom = d->height - 34;
    d->right = d->width - 8;
    for (int i = 0; i < 2; i++) {
        set_y(d);
        d->left = widest_tick(&d->y) + 8;
    }
    set_x(d);
}

static void draw_diagonal(struct drawing *d)
{
    svg_line(d->out, "z", axis_at(&d->x, 0), axis_at(&d->y, 0), axis_at(&d->x, 100),
             axis_at(&d->y, 100));
}

/* ---- kinds ---- */

/* Lines side by side where they have few places in common, so that none hides another. */
static double dodge(const struct drawing *d, int line)
{
    if (d->n_places > FEW || d->lines.n < 2)
        return 0;
    double room = d->x.b - d->x.a;
    for (int i = 1; i < d->n_places; i++)
        room = fmin(room, axis_at(&d->x, d->places[i]) - axis_at(&d->x, d->places[i - 1]));
    double apart = fmin(6, 0.7 * room / d->lines.n);
    return (line - (d->lines.n - 1) / 2.0) * apart;
}

static void draw_interval(struct drawing *d, const struct chart_row *r, double x)
{
    if (!isfinite(r->lo) || !isfinite(r->hi))
        return;
    svg_interval(d->out,
                 &(struct svg_interval){.x = x,
                                        .from = axis_at(&d->y, r->lo),
                                        .to = axis_at(&d->y, r->hi),
                                        .from_open = r->lo<d->y.from, .to_open = r->hi> d->y.to});
}

static void draw_path(struct drawing *d, int line, const char *dash, double shift)
{
    bool first = true;
    text_add(d->out, "<path class=\"l\"");
    if (*style_dashes(dash))
        text_print(d->out, " stroke-dasharray=\"%s\"", style_dashes(dash));
    text_add(d->out, " d=\"");
    for (int i = 0; i < d->n; i++) {
        const struct chart_row *r = d->rows[i];
        if (r->of != OF_MEAN || strcmp(r->line, d->lines.at[line]) != 0 || !shows(d->c, r->y))
            continue;
        text_print(d->out, "%c%.1f %.1f", first ? 'M' : 'L', axis_at(&d->x, r->x) + shift,
                   axis_at(&d->y, r->y));
        first = false;
    }
    text_add(d->out, "\"/>");
}

static void draw_band(struct drawing *d, const struct chart_row **row, int n)
{
    text_add(d->out, "<path class=\"b\" d=\"");
    for (int pass = 0, first = 1; pass < 2; pass++)
        for (int k = 0; k < n; k++) {
            const struct chart_row *r = row[pass ? n - 1 - k : k];
            if (!isfinite(r->lo))
                continue;
            text_print(d->out, "%c%.1f %.1f", first ? 'M' : 'L', axis_at(&d->x, r->x),
                       axis_at(&d->y, pass ? r->lo : r->hi));
            first = 0;
        }
    text_add(d->out, "\"/>");
}

static void draw_line(struct drawing *d, int line)
{
    const struct chart_row **row = mem_array((size_t)d->n + 1, sizeof *row);
    bool curve = d->c->kind == CHART_CURVES, path = d->c->kind != CHART_SCATTER;
    double shift = curve || !path ? 0 : dodge(d, line);
    int n = 0;
    for (int i = 0; i < d->n; i++)
        if (strcmp(d->rows[i]->line, d->lines.at[line]) == 0)
            row[n++] = d->rows[i];
    int every = curve && n > 8 ? (n + 5) / 6 : 1;
    open_line(d, row[0]);
    if (curve)
        draw_band(d, row, n);
    if (path)
        draw_path(d, line, row[0]->dash, shift);
    for (int i = 0; i < n; i++) {
        const struct chart_row *r = row[i];
        if (!shows(d->c, r->y) || (i % every && i != n - 1))
            continue;
        double x = axis_at(&d->x, r->x) + shift;
        if (!curve)
            draw_interval(d, r, x);
        double aside = r->of == OF_SEED ? 4 : 0, size = r->of == OF_SEED ? 2 : MARKER;
        add_mark(d, r, x + aside, axis_at(&d->y, r->y), path ? size : MARKER - 1);
    }
    close_line(d);
    free(row);
}

static void draw_lines(struct drawing *d)
{
    lay_out(d);
    draw_y_axis(d);
    draw_x_axis(d);
    if (d->c->kind == CHART_PERCENT || d->c->kind == CHART_SCATTER)
        draw_diagonal(d);
    for (int i = 0; i < d->lines.n; i++)
        draw_line(d, i);
}

/* The middle of a label's share of the axis, and of a line's within it. */
static double dot_place(const struct drawing *d, int label, int line, int lines)
{
    double share = (d->right - d->left) / d->labels.n;
    return d->left + share * (label + 0.5) +
           (line - (lines - 1) / 2.0) * fmin(26, 0.6 * share / lines);
}

static void draw_dot(struct drawing *d, const struct chart_row *r)
{
    /* of the lines of this label only: they carry its colour */
    int label = find_name(&d->labels, label_of(r)), line = 0, lines = 0;
    struct names seen = {0};
    for (int i = 0; i < d->n; i++)
        if (strcmp(label_of(d->rows[i]), label_of(r)) == 0 &&
            find_name(&seen, d->rows[i]->line) == seen.n) {
            seen.at = mem_grow(seen.at, (size_t)seen.n + 1, sizeof *seen.at);
            seen.at[seen.n++] = d->rows[i]->line;
        }
    line = find_name(&seen, r->line);
    lines = seen.n;
    free(seen.at);
    double x = dot_place(d, label, line, lines) + (r->of == OF_SEED ? 8 : 0);
    open_line(d, r);
    draw_interval(d, r, x);
    add_mark(d, r, x, axis_at(&d->y, r->y), r->of == OF_SEED ? 2.2 : MARKER + 0.5);
    close_line(d);
}

static void draw_dots(struct drawing *d)
{
    lay_out(d);
    draw_y_axis(d);
    svg_line(d->out, "a", d->left, d->bottom, d->right, d->bottom);
    for (int i = 0; i < d->labels.n; i++)
        svg_text(d->out, "t", "middle", dot_place(d, i, 0, 1), d->bottom + 16, d->labels.at[i]);
    svg_text(d->out, "t", "middle", (d->left + d->right) / 2, d->height - 3, d->c->x);
    for (int i = 0; i < d->n; i++)
        draw_dot(d, d->rows[i]);
}

static void draw_bars(struct drawing *d)
{
    lay_out(d);
    draw_y_axis(d);
    draw_x_axis(d);
    double share = d->n_places > 1 ? (d->x.b - d->x.a) / (d->n_places - 1) : d->x.b - d->x.a;
    double width = fmin(26, 0.8 * share / d->lines.n);
    for (int i = 0; i < d->n; i++) {
        const struct chart_row *r = d->rows[i];
        int line = find_name(&d->lines, r->line);
        double x = axis_at(&d->x, r->x) + (line - d->lines.n / 2.0) * width;
        double y = axis_at(&d->y, r->y);
        open_line(d, r);
        text_print(d->out, "<rect class=\"m f%d\"", line % 3);
        add_number(d->out, "x", r->x);
        add_number(d->out, "y", r->y);
        text_print(d->out,
                   " data-at=\"%.1f %.1f\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">",
                   x + width / 2, y, x, y, width, d->bottom - y);
        add_sentence(d, r);
        text_add(d->out, "</rect>");
        close_line(d);
    }
}

/* ---- differences, one below the other ---- */

enum { FOREST_LINE = 17 };

static void forest_range(const struct chart_rows *all, double *from, double *to)
{
    *from = *to = 0;
    for (int i = 0; i < all->n; i++) {
        const double values[] = {all->at[i].x, all->at[i].lo, all->at[i].hi};
        for (int k = 0; k < 3; k++)
            if (isfinite(values[k])) {
                *from = fmin(*from, values[k]);
                *to = fmax(*to, values[k]);
            }
    }
    double pad = (*to - *from) / 20 + 1e-9;
    *from -= pad;
    *to += pad;
}

static void forest_row(struct drawing *d, const struct chart_row *r, double y)
{
    double x = axis_at(&d->x, r->x);
    svg_text(d->out, "t", "end", d->left - 6, y + 4, label_of(r));
    open_line(d, r);
    if (isfinite(r->lo) && isfinite(r->hi))
        svg_interval(d->out, &(struct svg_interval){.x = y,
                                                    .from = axis_at(&d->x, r->lo),
                                                    .to = axis_at(&d->x, r->hi),
                                                    .flat = true});
    add_mark(d, r, x, y, MARKER);
    close_line(d);
}

static void draw_forest(struct drawing *d)
{
    d->left = 0;
    for (int i = 0; i < d->all->n; i++)
        d->left = fmax(d->left, svg_width(label_of(&d->all->at[i]), FONT) + 10);
    d->left = fmin(d->left, 0.55 * d->width);
    d->right = d->width - 14;
    d->top = 4;
    d->bottom = d->height - 34;
    d->x = (struct axis){.a = d->left, .b = d->right};
    forest_range(d->all, &d->x.from, &d->x.to);
    axis_ticks(&d->x, 34, false);
    for (int i = 0; i < d->x.ticks; i++) {
        char text[AXIS_TEXT];
        double at = axis_at(&d->x, d->x.tick[i]);
        axis_text(d->x.tick[i], axis_step(&d->x), text);
        svg_line(d->out, d->x.tick[i] == 0 ? "z" : "g", at, d->top, at, d->bottom);
        svg_text(d->out, "t", "middle", at, d->bottom + 14, text);
    }
    svg_text(d->out, "t", "middle", (d->left + d->right) / 2, d->height - 3, d->c->x);
    for (int i = 0; i < d->n; i++)
        forest_row(d, d->rows[i], d->top + FOREST_LINE * (i + 0.6));
}

/* ---- panels ---- */

static void draw_svg(struct drawing *d, const char *class)
{
    text_print(d->out, "<svg class=\"%s\"%s viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"",
               class, d->c->flags & CHART_LOG_Y ? " data-scale=\"log\"" : "", d->width, d->height);
    html_add(d->out, d->c->title);
    if (*d->panel) {
        text_add(d->out, ", ");
        html_add(d->out, d->panel);
    }
    text_print(d->out, ": %d point%s. The numbers are in the table below.\">\n", d->n,
               d->n == 1 ? "" : "s");
    switch (d->c->kind) {
    case CHART_DOTS:
        draw_dots(d);
        break;
    case CHART_BARS:
        draw_bars(d);
        break;
    case CHART_FOREST:
        draw_forest(d);
        break;
    default:
        draw_lines(d);
    }
    text_add(d->out, "</svg>\n");
}

/* How wide a panel is drawn: about as wide as it will be shown on a screen, so that its text
 * has the size of text; and once more for a phone where that is much narrower. */
static double panel_width(const struct chart *c, int panels)
{
    if (c->kind == CHART_FOREST || c->kind == CHART_PERCENT || c->kind == CHART_SCATTER)
        return 360;
    if (c->layout && strcmp(c->layout, "head") == 0)
        return panels == 1 ? 740 : panels == 2 ? 370 : 185;
    return panels == 1 ? 800 : panels == 2 || panels == 4 ? 540 : 360;
}

static void draw_panel(struct text *out, const struct chart *c, const struct chart_rows *rows,
                       struct style *s, const char *panel, int panels)
{
    struct drawing d = {.out = out,
                        .c = c,
                        .s = s,
                        .all = rows,
                        .panel = panel,
                        .lines = names_of(rows, panel, line_of),
                        .labels = names_of(rows, panel, label_of),
                        .rows = mem_array((size_t)rows->n + 1, sizeof *d.rows)};
    for (int i = 0; i < rows->n; i++)
        if (strcmp(rows->at[i].panel, panel) == 0)
            d.rows[d.n++] = &rows->at[i];
    find_places(&d);
    text_add(out, "<div class=\"panel\">");
    if (*panel) {
        text_add(out, "<h4>");
        html_add(out, panel);
        text_add(out, "</h4>");
    }
    bool forest = c->kind == CHART_FOREST;
    bool square = c->kind == CHART_PERCENT || c->kind == CHART_SCATTER;
    bool head = c->layout && strcmp(c->layout, "head") == 0;
    double width = panel_width(c, panels);
    for (int pass = 0; pass < 2; pass++) {
        d.width = pass ? 360 : width;
        d.height = forest ? FOREST_LINE * d.n + 42 : square ? 320 : head && !pass ? 320 : 250;
        if (pass == 0 || width > 400)
            draw_svg(&d, pass ? "narrow" : width > 400 ? "wide" : head ? "" : "small");
    }
    text_add(out, "</div>\n");
    free(d.rows);
    free(d.places);
    free(d.lines.at);
    free(d.labels.at);
}

/* ---- the legend ---- */

static const struct chart_row *first_of(const struct chart_rows *rows, const char *line)
{
    const struct chart_row *seed = NULL;
    for (int i = 0; i < rows->n; i++) {
        if (strcmp(rows->at[i].line, line) != 0)
            continue;
        if (rows->at[i].of != OF_SEED)
            return &rows->at[i];
        seed = seed ? seed : &rows->at[i];
    }
    return seed;
}

static void legend_item(struct text *out, const struct chart *c, struct style *s,
                        const struct chart_row *r, int number)
{
    int colour = style_colour(s, r->colour);
    text_add(out, "<li data-line=\"");
    html_add(out, r->line);
    text_print(out, "\"><svg class=\"key ");
    text_print(out, colour < 0 ? "ki" : "k%d", colour);
    text_add(out, "\" viewBox=\"0 0 30 12\" aria-hidden=\"true\">");
    if (c->kind == CHART_BARS) {
        text_print(out, "<rect class=\"m f%d\" x=\"9\" y=\"0\" width=\"12\" height=\"12\"/>",
                   number % 3);
    } else {
        if (c->kind != CHART_SCATTER && c->kind != CHART_DOTS) {
            text_add(out, "<path class=\"l\" d=\"M0 6H30\"");
            if (*style_dashes(r->dash))
                text_print(out, " stroke-dasharray=\"%s\"", style_dashes(r->dash));
            text_add(out, "/>");
        }
        text_print(out, "<path class=\"%s\" d=\"", r->of == OF_PAPER ? "m h" : "m");
        svg_marker(out, style_marker(s, r->dash), 15, 6, MARKER);
        text_add(out, "\"/>");
    }
    text_add(out, "</svg>");
    html_add(out, r->line);
    text_add(out, "</li>\n");
}

static void draw_legend(struct text *out, const struct chart *c, const struct chart_rows *rows,
                        struct style *s)
{
    struct names lines = names_of(rows, NULL, line_of);
    text_add(out, "<ul class=\"legend\">\n");
    for (int i = 0; i < lines.n; i++)
        legend_item(out, c, s, first_of(rows, lines.at[i]), i);
    text_add(out, "</ul>\n");
    free(lines.at);
}

void chart_draw(struct text *out, const struct chart *c, const struct chart_rows *rows,
                struct style *s)
{
    if (rows->n == 0)
        return;
    struct names panels = names_of(rows, NULL, panel_of);
    if (c->kind != CHART_FOREST)
        draw_legend(out, c, rows, s);
    text_print(out, "<div class=\"panels %s p%d\">\n", c->layout ? c->layout : "",
               panels.n == 4 && !c->layout  ? 2
               : panels.n > 3 && !c->layout ? 3
                                            : panels.n);
    for (int i = 0; i < panels.n; i++)
        draw_panel(out, c, rows, s, panels.at[i], panels.n);
    text_add(out, "</div>\n");
    free(panels.at);
}
