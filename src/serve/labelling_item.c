/* labelling_item.c - an item for the eye: a picture, or a row with its names. */
#include "serve/labelling.h"
#include "base/jsonw.h"
#include "data/columns.h"
#include "data/places.h"
#include "people/item_fields.h"

#include <math.h>

bool labelling_has_pictures(const struct dataset *d)
{
    return !d->is_float;
}

static void add_u16(struct text *out, unsigned value)
{
    unsigned char bytes[] = {value & 255, value >> 8 & 255};
    text_add_bytes(out, bytes, sizeof bytes);
}

static void add_u32(struct text *out, unsigned value)
{
    add_u16(out, value & 65535);
    add_u16(out, value >> 16);
}

/* A BMP, since every browser reads it and no library is needed to write it: 24 bits a pixel, blue
 * first, rows from below, each of a multiple of 4 bytes.  Channels past the third are left out. */
void labelling_picture(struct text *out, const struct dataset *d, int64_t item)
{
    enum { HEAD = 14, INFO = 40, PER_METRE = 2835 };
    const unsigned char *x = (const unsigned char *)d->x + (size_t)item * dataset_item_bytes(d),
                        none[4] = {0};
    size_t row = 3 * (size_t)d->w, pad = (4 - row % 4) % 4;
    unsigned size = (unsigned)((row + pad) * (size_t)d->h);
    int c = d->c;
    text_add(out, "BM");
    add_u32(out, HEAD + INFO + size);
    add_u32(out, 0);
    add_u32(out, HEAD + INFO);
    add_u32(out, INFO);
    add_u32(out, (unsigned)d->w);
    add_u32(out, (unsigned)d->h);
    add_u16(out, 1);
    add_u16(out, 24);
    add_u32(out, 0);
    add_u32(out, size);
    add_u32(out, PER_METRE);
    add_u32(out, PER_METRE);
    add_u32(out, 0);
    add_u32(out, 0);
    for (int i = d->h - 1; i >= 0; i--) {
        for (int j = 0; j < d->w; j++) {
            const unsigned char *at = x + ((size_t)i * (size_t)d->w + (size_t)j) * (size_t)c;
            unsigned char bgr[] = {at[c > 2 ? 2 : 0], at[c > 2 ? 1 : 0], at[0]};
            text_add_bytes(out, bgr, sizeof bgr);
        }
        text_add_bytes(out, none, pad);
    }
}

/* Rows of a table by name; others as the numbers they are. */
static void add_row(struct jsonw *w, const struct dataset *d, int64_t item)
{
    if (d->columns) {
        jsonw_object(w, "fields");
        item_fields(w, d, item);
        jsonw_close(w);
        return;
    }
    const float *x = (const float *)d->x + (size_t)item * (size_t)d->c;
    jsonw_array(w, "values");
    for (int k = 0; k < d->c; k++)
        jsonw_float(w, NULL, x[k]);
    jsonw_close(w);
}

void labelling_item(struct jsonw *w, const struct people *p, const struct places *places,
                    const struct question *q)
{
    char place[PLACE_SIZE], name[16];
    jsonw_object(w, NULL);
    jsonw_int(w, "item", q->item);
    if (places->word)
        jsonw_string(w, places->word, places_of(places, q->item, place));
    if (p->d->users)
        jsonw_string(w, "user", people_name(p, q->person, name));
    if (!labelling_has_pictures(p->d))
        add_row(w, p->d, q->item);
    if (q->guess >= 0) {
        jsonw_string(w, "guess", p->classes[q->guess]);
        jsonw_float(w, "sure", q->sure);
    }
    jsonw_close(w);
}
