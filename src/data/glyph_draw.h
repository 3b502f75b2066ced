/* glyph_draw.h - a character drawn by a hand, as pixels. */
#ifndef DATA_GLYPH_DRAW_H
#define DATA_GLYPH_DRAW_H

#include "data/glyph_shape.h"

#include <stdint.h>

/* How somebody writes, whatever they write. */
struct hand {
    uint64_t seed, number; /* key the habits: how this hand bends each part */
    double slant, turn, narrow, size;
    double width;  /* of the pen, in parts of the box */
    double tremor; /* of the path */
    double habit;  /* spread of the habits */
    double care;   /* spread from one drawing to the next */
};

/* `spread` 1: as people differ. */
void hand_make(struct hand *h, uint64_t seed, uint64_t number, double spread);

/* Draws g into out (size, size): ink 0 on paper 255.  `glyph` numbers the character
 * for the hand's habits; r is for this one drawing. */
void hand_draw(const struct hand *h, const struct glyph *g, uint64_t glyph, struct rng *r,
               uint8_t *out, int size);

#endif
