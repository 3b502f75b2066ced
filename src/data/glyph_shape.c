/* glyph_shape.c - making parts, alphabets and characters. */
#include "data/glyph_shape.h"

#include <float.h>
#include <math.h>

static double between(struct rng *r, double low, double high)
{
    return low + (high - low) * rng_uniform(r);
}

/* A turn to the left or to the right. */
static double either_way(struct rng *r, double low, double high)
{
    double sign = rng_below(r, 2) ? 1 : -1;
    return sign * between(r, low, high);
}

/* Catmull-Rom: through p1 and p2, its tangents given by the neighbours. */
static double curve(double p0, double p1, double p2, double p3, double t)
{
    return 0.5 *
           (2 * p1 +
            t * (p2 - p0 + t * (2 * p0 - 5 * p1 + 4 * p2 - p3 + t * (3 * (p1 - p2) + p3 - p0))));
}

int stroke_path(const struct stroke *s, struct point *out)
{
    int n = 0;
    for (int i = 0; i + 1 < s->n; i++) {
        struct point p1 = s->at[i], p2 = s->at[i + 1];
        struct point p0 = i > 0 ? s->at[i - 1] : p1, p3 = i + 2 < s->n ? s->at[i + 2] : p2;
        for (int k = 0; k < SPAN_STEPS; k++) {
            double t = (double)k / SPAN_STEPS;
            if (s->sharp)
                out[n++] = (struct point){p1.x + t * (p2.x - p1.x), p1.y + t * (p2.y - p1.y)};
            else
                out[n++] = (struct point){curve(p0.x, p1.x, p2.x, p3.x, t),
                                          curve(p0.y, p1.y, p2.y, p3.y, t)};
        }
    }
    out[n++] = s->at[s->n - 1];
    return n;
}

/* Centres the stroke and scales its larger side to 1. */
static void normalise(struct stroke *s)
{
    struct point low = {DBL_MAX, DBL_MAX}, high = {-DBL_MAX, -DBL_MAX};
    for (int i = 0; i < s->n; i++) {
        low = (struct point){fmin(low.x, s->at[i].x), fmin(low.y, s->at[i].y)};
        high = (struct point){fmax(high.x, s->at[i].x), fmax(high.y, s->at[i].y)};
    }
    double side = fmax(fmax(high.x - low.x, high.y - low.y), 1e-6);
    for (int i = 0; i < s->n; i++) {
        s->at[i].x = (s->at[i].x - (low.x + high.x) / 2) / side;
        s->at[i].y = (s->at[i].y - (low.y + high.y) / 2) / side;
    }
}

/* A pen that moves on and turns: straight lines, arcs and loops (the same turn each
 * time), waves (to and fro), corners.  `bent` is how much the alphabet likes turns. */
static void make_part(struct stroke *s, double bent, struct rng *r)
{
    enum { LINE, ARC, WAVE, CORNER } kind = LINE;
    double u = rng_uniform(r), turn = 0;
    if (u > 0.25)
        kind = u < 0.25 + 0.75 * bent ? (u < 0.25 + 0.5 * bent ? ARC : WAVE) : CORNER;
    double heading = rng_below(r, 8) * (M_PI / 4);
    heading += 0.15 * rng_normal(r);
    if (kind == ARC)
        turn = either_way(r, 0.45, 1.35);
    if (kind == WAVE)
        turn = either_way(r, 0.8, 1.5);
    *s = (struct stroke){.n = kind == LINE     ? 2
                              : kind == CORNER ? 3 + (int)rng_below(r, 2)
                                               : 4 + (int)rng_below(r, 3),
                         .sharp = kind == CORNER};
    struct point at = {0, 0};
    for (int i = 0; i < s->n; i++) {
        s->at[i] = at;
        double step = between(r, 0.7, 1.3);
        at.x += step * cos(heading);
        at.y += step * sin(heading);
        if (kind == CORNER)
            turn = either_way(r, 1.2, 2.2);
        heading += turn;
        if (kind == WAVE)
            turn = -turn;
    }
    normalise(s);
}

void alphabet_make(struct alphabet *a, struct rng *r)
{
    double bent = between(r, 0.45, 1);
    a->n = 5 + (int)rng_below(r, ALPHABET_PARTS - 4);
    for (int i = 0; i < a->n; i++) {
        make_part(&a->part[i], bent, r);
        a->part[i].part = i;
    }
}

static void move_stroke(struct stroke *s, double dx, double dy)
{
    for (int i = 0; i < s->n; i++) {
        s->at[i].x += dx;
        s->at[i].y += dy;
    }
}

/* Puts the new stroke's start, middle or end upon a point of an earlier stroke, or
 * leaves it beside. */
static void place_stroke(const struct glyph *g, struct stroke *s, struct rng *r)
{
    if (g->n == 0 || rng_uniform(r) < 0.25) {
        double spread = g->n ? 0.45 : 0.1;
        double dx = between(r, -spread, spread), dy = between(r, -spread, spread);
        move_stroke(s, dx, dy);
        return;
    }
    struct point path[PATH_POINTS], own[PATH_POINTS];
    int n = stroke_path(&g->stroke[rng_below(r, (uint32_t)g->n)], path), m = stroke_path(s, own);
    static const double joints[] = {0, 0, 0.5, 1, 1};
    struct point to = path[(int)(joints[rng_below(r, 5)] * (n - 1))];
    struct point from = own[(int)(joints[rng_below(r, 5)] * (m - 1))];
    move_stroke(s, to.x - from.x, to.y - from.y);
}

/* Centres the character and fits it into 0.62 of the box, about what people fill. */
static void fit_box(struct glyph *g)
{
    struct point low = {DBL_MAX, DBL_MAX}, high = {-DBL_MAX, -DBL_MAX}, path[PATH_POINTS];
    for (int k = 0; k < g->n; k++)
        for (int i = stroke_path(&g->stroke[k], path) - 1; i >= 0; i--) {
            low = (struct point){fmin(low.x, path[i].x), fmin(low.y, path[i].y)};
            high = (struct point){fmax(high.x, path[i].x), fmax(high.y, path[i].y)};
        }
    double side = fmax(fmax(high.x - low.x, high.y - low.y), 0.3), scale = 0.62 / side;
    for (int k = 0; k < g->n; k++)
        for (int i = 0; i < g->stroke[k].n; i++) {
            struct point *p = &g->stroke[k].at[i];
            p->x = (p->x - (low.x + high.x) / 2) * scale;
            p->y = (p->y - (low.y + high.y) / 2) * scale;
        }
}

static void make_glyph(const struct alphabet *a, struct glyph *g, struct rng *r)
{
    static const double up_to[] = {0.15, 0.55, 0.87, 1}; /* of 1, 2, 3 or 4 strokes */
    double u = rng_uniform(r);
    int strokes = 1;
    while (u > up_to[strokes - 1])
        strokes++;
    g->n = 0;
    for (int k = 0; k < strokes; k++) {
        struct stroke s = a->part[rng_below(r, (uint32_t)a->n)];
        for (int tries = 0; strokes == 1 && s.n < 4 && tries < 8; tries++)
            s = a->part[rng_below(r, (uint32_t)a->n)]; /* no character is just a line */
        double size = between(r, 0.35, 0.85), turn = rng_below(r, 4) * (M_PI / 2);
        double c = size * cos(turn), d = size * sin(turn);
        for (int i = 0; i < s.n; i++)
            s.at[i] = (struct point){c * s.at[i].x - d * s.at[i].y, d * s.at[i].x + c * s.at[i].y};
        place_stroke(g, &s, r);
        g->stroke[g->n++] = s;
    }
    fit_box(g);
}

enum { GLYPH_POINTS = GLYPH_STROKES * PATH_POINTS };

static int glyph_points(const struct glyph *g, struct point *out)
{
    int n = 0;
    for (int k = 0; k < g->n; k++)
        n += stroke_path(&g->stroke[k], out + n);
    return n;
}

/* Mean distance from the points of one drawing to the nearest of the other. */
static double apart(const struct point *a, int n, const struct point *b, int m)
{
    double sum = 0;
    for (int i = 0; i < n; i += 2) { /* every second point will do */
        double best = DBL_MAX;
        for (int k = 0; k < m; k += 2) {
            double dx = a[i].x - b[k].x, dy = a[i].y - b[k].y;
            best = fmin(best, dx * dx + dy * dy);
        }
        sum += sqrt(best);
    }
    return sum / ((n + 1) / 2);
}

static bool like_another(const struct glyph *all, int n)
{
    struct point a[GLYPH_POINTS], b[GLYPH_POINTS];
    int na = glyph_points(&all[n], a);
    for (int i = 0; i < n; i++) {
        int nb = glyph_points(&all[i], b);
        if (fmax(apart(a, na, b, nb), apart(b, nb, a, na)) < 0.065)
            return true;
    }
    return false;
}

void alphabet_glyphs(const struct alphabet *a, struct rng *r, struct glyph *out, int n)
{
    for (int i = 0; i < n; i++)
        for (int tries = 0; tries < 50; tries++) {
            make_glyph(a, &out[i], r);
            if (!like_another(out, i))
                break;
        }
}
