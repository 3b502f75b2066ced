/* image_png.c - PNG through libpng.
 *
 * libpng reports errors by longjmp, so what must be released lives in a struct
 * outside the function that calls setjmp.  Gamma is left alone: the bytes are
 * those of the file.
 */
#include "data/image.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef METE_HAVE_PNG
#include <png.h>
#include <setjmp.h>

struct reader {
    png_structp png;
    png_infop info;
    const uint8_t *at;
    size_t left;
    char message[128];
    int memory; /* METE_ENOMEM: that is why it was refused */
    struct image image;
    png_bytep *rows;
};

static void on_error(png_structp png, png_const_charp text)
{
    struct reader *r = png_get_error_ptr(png);
    snprintf(r->message, sizeof r->message, "%s", text);
    longjmp(png_jmpbuf(png), 1);
}

static void on_warning(png_structp png, png_const_charp text)
{
    (void)png, (void)text; /* such as an odd colour profile: the pixels are fine */
}

static void on_read(png_structp png, png_bytep to, size_t n)
{
    struct reader *r = png_get_io_ptr(png);
    if (n > r->left)
        png_error(png, "the file ends early");
    memcpy(to, r->at, n);
    r->at += n;
    r->left -= n;
}

/* Reads 8-bit grey or RGB, with or without alpha, as the file has it. */
static void read_all(struct reader *r)
{
    png_set_read_fn(r->png, r, on_read);
    png_set_user_limits(r->png, IMAGE_SIDE_MAX, IMAGE_SIDE_MAX);
    png_read_info(r->png, r->info);
    png_set_expand(r->png); /* palettes, 1..4 bits, transparency */
    png_set_scale_16(r->png);
    png_set_interlace_handling(r->png);
    png_read_update_info(r->png, r->info);
    r->image.h = (int)png_get_image_height(r->png, r->info);
    r->image.w = (int)png_get_image_width(r->png, r->info);
    r->image.c = png_get_channels(r->png, r->info);
    size_t row = png_get_rowbytes(r->png, r->info);
    if (row != (size_t)r->image.w * (size_t)r->image.c)
        png_error(r->png, "the pixels are of an unexpected kind");
    if ((size_t)r->image.h * row > IMAGE_FILE_MAX)
        png_error(r->png, "the image is too large");
    r->memory = mem_try(&r->image.pixels, (size_t)r->image.h, row, "an image");
    if (!r->memory)
        r->memory = mem_try(&r->rows, (size_t)r->image.h, sizeof *r->rows, "an image");
    if (r->memory)
        png_error(r->png, "there is no memory for its pixels");
    for (int y = 0; y < r->image.h; y++)
        r->rows[y] = r->image.pixels + (size_t)y * row;
    png_read_image(r->png, r->rows);
    png_read_end(r->png, NULL);
}

static int decode(struct reader *r, const char *place)
{
    r->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, r, on_error, on_warning);
    r->info = r->png ? png_create_info_struct(r->png) : NULL;
    if (!r->info)
        return fail(METE_ENOMEM, "%s: no memory to decode it", place);
    if (setjmp(png_jmpbuf(r->png)))
        return r->memory ? fail(r->memory, "%s: %s", place, r->message)
                         : fail(METE_EFORMAT, "%s: bad PNG: %s", place, r->message);
    read_all(r);
    return 0;
}

/* Lays the pixels on white and makes them grey (Rec. 601) or RGB, in place where
 * that needs no more room. */
static int convert(struct image *image, int c)
{
    int from = image->c, to = c ? c : from > 2 ? 3 : 1;
    size_t n = (size_t)image->h * (size_t)image->w;
    uint8_t *out = image->pixels;
    int err = to > from ? mem_try(&out, n, (size_t)to, "an image") : 0;
    if (err)
        return err;
    for (size_t i = 0; i < n && to != from; i++) {
        const uint8_t *p = image->pixels + i * (size_t)from;
        int alpha = from == 2 ? p[1] : from == 4 ? p[3] : 255, v[3];
        for (int k = 0; k < 3; k++)
            v[k] = ((from > 2 ? p[k] : p[0]) * alpha + 255 * (255 - alpha) + 127) / 255;
        if (to == 1)
            out[i] = (uint8_t)(from > 2 ? (19595 * v[0] + 38470 * v[1] + 7471 * v[2] + 32768) >> 16
                                        : v[0]);
        else
            for (int k = 0; k < 3; k++)
                out[i * 3 + (size_t)k] = (uint8_t)v[k];
    }
    if (out != image->pixels)
        free(image->pixels);
    image->pixels = out;
    image->c = to;
    return 0;
}

int image_decode_png(struct image *out, const void *data, size_t size, int c, const char *place)
{
    struct reader r = {.at = data, .left = size};
    int err = decode(&r, place);
    png_destroy_read_struct(&r.png, &r.info, NULL);
    free(r.rows);
    if (!err)
        err = convert(&r.image, c);
    if (err)
        image_release(&r.image);
    else
        *out = r.image;
    return err;
}

int image_write_png(const char *path, const struct image *image)
{
    png_image png = {.version = PNG_IMAGE_VERSION,
                     .width = (png_uint_32)image->w,
                     .height = (png_uint_32)image->h,
                     .format = image->c == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB};
    png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(png);
    void *data = NULL;
    int err = mem_try(&data, size, 1, path);
    if (!err && !png_image_write_to_memory(&png, data, &size, 0, image->pixels, 0, NULL))
        err = fail(METE_EIO, "cannot write %s: %s", path, png.message);
    if (!err)
        err = file_write(path, data, size);
    free(data);
    return err;
}

#else

int image_decode_png(struct image *out, const void *data, size_t size, int c, const char *place)
{
    (void)out, (void)data, (void)size, (void)c;
    return fail(METE_EMISSING, "%s: PNG images need libpng (Debian: libpng-dev)", place);
}

int image_write_png(const char *path, const struct image *image)
{
    (void)image;
    return fail(METE_EMISSING, "%s: PNG images need libpng (Debian: libpng-dev)", path);
}

#endif
