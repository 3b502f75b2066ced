/* glyph_shape.h - characters as small stroke programs, after the generative model
 * of Lake, Salakhutdinov & Tenenbaum (Science, 2015): an alphabet owns a few parts,
 * a character is one to four of them, placed one upon another.
 *
 * Coordinates are of a unit box around the origin, y pointing down.
 */
#ifndef DATA_GLYPH_SHAPE_H
#define DATA_GLYPH_SHAPE_H

#include "base/rng.h"

#include <stdbool.h>

struct point {
    double x, y;
};

enum { STROKE_POINTS = 6, GLYPH_STROKES = 4, ALPHABET_PARTS = 9, SPAN_STEPS = 6 };
enum { PATH_POINTS = (STROKE_POINTS - 1) * SPAN_STEPS + 1 };

struct stroke {
    int part; /* of the alphabet: hands have habits with parts */
    int n;
    bool sharp; /* a polygon, else a smooth curve through the points */
    struct point at[STROKE_POINTS];
};

struct glyph {
    int n;
    struct stroke stroke[GLYPH_STROKES];
};

struct alphabet {
    int n;
    struct stroke part[ALPHABET_PARTS];
};

/* The points of a stroke's path into out (PATH_POINTS); how many. */
int stroke_path(const struct stroke *s, struct point *out);

void alphabet_make(struct alphabet *a, struct rng *r);
/* Makes n characters; one too much like another is made again, up to 50 times. */
void alphabet_glyphs(const struct alphabet *a, struct rng *r, struct glyph *out, int n);

#endif
