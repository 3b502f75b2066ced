/* image.h - decoding PNG and JPEG, resizing, and writing PNG.
 *
 * An image is 8 bits a value, (h, w, c) with c 1 (grey) or 3 (RGB).  Transparent
 * pixels are laid on white paper.
 */
#ifndef DATA_IMAGE_H
#define DATA_IMAGE_H

#include "mete.h"

struct image {
    int h, w, c;
    uint8_t *pixels;
};

enum image_filter { FILTER_AREA, FILTER_NEAREST, FILTER_BILINEAR, FILTER_BICUBIC, FILTER_LANCZOS };
#define IMAGE_FILTERS "area|nearest|bilinear|bicubic|lanczos" /* in the order of the enum */

enum { IMAGE_SIDE_MAX = 1 << 14, IMAGE_FILE_MAX = 64 << 20 };

/* Decodes a PNG or JPEG file held in memory, by its first bytes.  `place` names it
 * in errors.  `c` is 1, 3, or 0 for what the file has. */
int image_decode(struct image *out, const void *data, size_t size, int c, const char *place);
void image_release(struct image *image); /* zeroed is fine */
bool image_has_suffix(const char *name); /* .png, .jpg or .jpeg, in any case */
bool image_wanted(const char *name);     /* and it is not hidden or what archivers add */

int image_decode_png(struct image *out, const void *data, size_t size, int c, const char *place);
int image_decode_jpeg(struct image *out, const void *data, size_t size, int c, const char *place);

/* Resizes to out (h, w, image->c).  Area averaging weighs each source pixel by the
 * part of it that is covered; the others are as in common imaging libraries: wider
 * when shrinking, so that nothing is skipped (except by nearest). */
int image_resize(const struct image *image, int h, int w, enum image_filter filter, uint8_t *out);

int image_write_png(const char *path, const struct image *image);

#endif
