/* image_jpeg.c - JPEG through libjpeg(-turbo).
 *
 * libjpeg fills what a damaged file lacks with grey and only warns; here a warning
 * is a failure, since a dataset must not hold invented pixels.
 */
#include "data/image.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>

#ifdef METE_HAVE_JPEG
#include <jpeglib.h>
#include <setjmp.h>

struct reader {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    jmp_buf back;
    char message[JMSG_LENGTH_MAX];
    int memory; /* METE_ENOMEM: that is why it was refused */
    struct image image;
};

static void on_error(j_common_ptr common)
{
    struct reader *r = common->client_data;
    common->err->format_message(common, r->message);
    longjmp(r->back, 1);
}

static void on_message(j_common_ptr common, int level)
{
    if (level < 0)
        on_error(common);
}

static void refuse(struct reader *r, const char *why)
{
    snprintf(r->message, sizeof r->message, "%s", why);
    longjmp(r->back, 1);
}

static void read_all(struct reader *r, const void *data, size_t size, int c)
{
    struct jpeg_decompress_struct *jpeg = &r->jpeg;
    jpeg_mem_src(jpeg, data, size);
    jpeg_read_header(jpeg, TRUE);
    if (jpeg->jpeg_color_space != JCS_GRAYSCALE && jpeg->jpeg_color_space != JCS_YCbCr &&
        jpeg->jpeg_color_space != JCS_RGB)
        refuse(r, "expected grey or RGB, not CMYK or another colour space");
    if (jpeg->image_width > IMAGE_SIDE_MAX || jpeg->image_height > IMAGE_SIDE_MAX)
        refuse(r, "the image is too large");
    bool grey = c == 1 || (c == 0 && jpeg->jpeg_color_space == JCS_GRAYSCALE);
    jpeg->out_color_space = grey ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_start_decompress(jpeg);
    r->image.h = (int)jpeg->output_height;
    r->image.w = (int)jpeg->output_width;
    r->image.c = jpeg->output_components;
    size_t row = (size_t)r->image.w * (size_t)r->image.c;
    if ((size_t)r->image.h * row > IMAGE_FILE_MAX)
        refuse(r, "the image is too large");
    if ((r->memory = mem_try(&r->image.pixels, (size_t)r->image.h, row, "an image")))
        refuse(r, "there is no memory for its pixels");
    while (jpeg->output_scanline < jpeg->output_height) {
        JSAMPROW at = r->image.pixels + jpeg->output_scanline * row;
        jpeg_read_scanlines(jpeg, &at, 1);
    }
    jpeg_finish_decompress(jpeg);
}

static int decode(struct reader *r, const void *data, size_t size, int c, const char *place)
{
    r->jpeg.err = jpeg_std_error(&r->errors);
    r->errors.error_exit = on_error;
    r->errors.emit_message = on_message;
    r->jpeg.client_data = r;
    if (setjmp(r->back))
        return r->memory ? fail(r->memory, "%s: %s", place, r->message)
                         : fail(METE_EFORMAT, "%s: bad JPEG: %s", place, r->message);
    jpeg_create_decompress(&r->jpeg);
    read_all(r, data, size, c);
    return 0;
}

int image_decode_jpeg(struct image *out, const void *data, size_t size, int c, const char *place)
{
    struct reader r = {.message = ""};
    int err = decode(&r, data, size, c, place);
    jpeg_destroy_decompress(&r.jpeg);
    if (err)
        image_release(&r.image);
    else
        *out = r.image;
    return err;
}

#else

int image_decode_jpeg(struct image *out, const void *data, size_t size, int c, const char *place)
{
    (void)out, (void)data, (void)size, (void)c;
    return fail(METE_EMISSING, "%s: JPEG images need libjpeg (Debian: libjpeg62-turbo-dev)", place);
}

#endif
