/* glyph_draw.c - hands and ink.
 *
 * What varies, from the lasting to the fleeting: the hand's slant, turn, proportions
 * and pen; its habits with each part and each character; where every point lands
 * this time; the tremor along the path.
 */
#include "data/glyph_draw.h"

#include <math.h>
#include <string.h>

enum { HABIT_HAND = 1u << 16, HABIT_PART, HABIT_GLYPH }; /* streams of RNG_GLYPH */
enum { SIZE_MOST = 128 };

/* Draws are made one statement at a time: C leaves the order within an expression to
 * the compiler, and the bytes must not depend on it. */
void hand_make(struct hand *h, uint64_t seed, uint64_t number, double spread)
{
    struct rng r = rng_make(seed, RNG_GLYPH, number, HABIT_HAND);
    *h = (struct hand){.seed = seed, .number = number, .habit = spread * 0.016};
    h->slant = spread * 0.14 * rng_normal(&r);
    h->turn = spread * 0.07 * rng_normal(&r);
    h->narrow = exp(spread * 0.13 * rng_normal(&r));
    h->size = exp(spread * 0.12 * rng_normal(&r));
    h->width = 0.050 * exp(spread * 0.16 * rng_normal(&r));
    h->tremor = spread * 0.004 * fabs(rng_normal(&r));
    h->care = spread * 0.013 * exp(0.3 * rng_normal(&r));
}

/* Moves, turns and stretches a stroke about its first point, and each of its points. */
static void vary(struct stroke *s, double spread, struct rng *r)
{
    double dx = spread * rng_normal(r), dy = spread * rng_normal(r);
    double grow = exp(3 * spread * rng_normal(r)), turn = 3.5 * spread * rng_normal(r);
    double c = grow * cos(turn), d = grow * sin(turn);
    struct point o = s->at[0];
    for (int i = 0; i < s->n; i++) {
        double x = s->at[i].x - o.x + spread * rng_normal(r);
        double y = s->at[i].y - o.y + spread * rng_normal(r);
        s->at[i] = (struct point){o.x + dx + c * x - d * y, o.y + dy + d * x + c * y};
    }
}

/* The pixels within reach of the segment p-q get as much ink as they are covered:
 * the distance to the segment against half the pen's width, over one pixel. */
static void ink_segment(float *ink, int size, struct point p, struct point q, double half)
{
    double reach = half + 0.5, ux = q.x - p.x, uy = q.y - p.y;
    double length2 = ux * ux + uy * uy;
    int x0 = (int)fmax(0, floor(fmin(p.x, q.x) - reach));
    int y0 = (int)fmax(0, floor(fmin(p.y, q.y) - reach));
    int x1 = (int)fmin(size - 1, floor(fmax(p.x, q.x) + reach));
    int y1 = (int)fmin(size - 1, floor(fmax(p.y, q.y) + reach));
    for (int y = y0; y <= y1; y++)
        for (int x = x0; x <= x1; x++) {
            double vx = x + 0.5 - p.x, vy = y + 0.5 - p.y;
            double t = length2 > 0 ? (vx * ux + vy * uy) / length2 : 0;
            t = t < 0 ? 0 : t > 1 ? 1 : t;
            double dx = vx - t * ux, dy = vy - t * uy;
            float cover = (float)(reach - sqrt(dx * dx + dy * dy));
            if (cover > ink[y * size + x])
                ink[y * size + x] = cover;
        }
}

static void ink_stroke(const struct hand *h, const struct stroke *s, const double affine[6],
                       struct rng *r, float *ink, int size)
{
    struct point path[PATH_POINTS], last = {0, 0};
    double wx = 0, wy = 0, half = h->width * size / 2;
    int n = stroke_path(s, path);
    for (int i = 0; i < n; i++) {
        wx = 0.7 * wx + h->tremor * rng_normal(r);
        wy = 0.7 * wy + h->tremor * rng_normal(r);
        double x = path[i].x, y = path[i].y;
        struct point at = {size * (0.5 + affine[0] * x + affine[1] * y + affine[2] + wx),
                           size * (0.5 + affine[3] * x + affine[4] * y + affine[5] + wy)};
        if (i > 0)
            ink_segment(ink, size, last, at, half);
        last = at;
    }
}

/* The hand's slant, turn, proportions and size, and where on the paper this time. */
static void place_drawing(const struct hand *h, struct rng *r, double affine[6])
{
    double size = h->size * exp(3 * h->care * rng_normal(r));
    double turn = h->turn + 2.5 * h->care * rng_normal(r), slant = h->slant;
    double c = cos(turn), d = sin(turn), wide = size / h->narrow, high = size * h->narrow;
    affine[0] = c * wide;
    affine[1] = -d * high - c * slant * high;
    affine[2] = 2.8 * h->care * rng_normal(r);
    affine[3] = d * wide;
    affine[4] = c * high - d * slant * high;
    affine[5] = 2.8 * h->care * rng_normal(r);
}

void hand_draw(const struct hand *h, const struct glyph *g, uint64_t glyph, struct rng *r,
               uint8_t *out, int size)
{
    float ink[SIZE_MOST * SIZE_MOST];
    double affine[6];
    memset(ink, 0, (size_t)(size * size) * sizeof *ink);
    place_drawing(h, r, affine);
    struct rng own = rng_make(h->seed, RNG_GLYPH, h->number << 32 | glyph, HABIT_GLYPH);
    for (int k = 0; k < g->n; k++) {
        struct stroke s = g->stroke[k];
        struct rng part =
            rng_make(h->seed, RNG_GLYPH, h->number << 32 | (uint32_t)s.part, HABIT_PART);
        vary(&s, 0.5 * h->habit, &part);
        vary(&s, h->habit, &own);
        vary(&s, h->care, r);
        ink_stroke(h, &s, affine, r, ink, size);
    }
    for (int i = 0; i < size * size; i++)
        out[i] = (uint8_t)(255 - lrintf(255 * (ink[i] > 1 ? 1 : ink[i])));
}
