/* image.c - which decoder reads a file, and grey to colour and back. */
#include "data/image.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool image_has_suffix(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && (strcasecmp(dot, ".png") == 0 || strcasecmp(dot, ".jpg") == 0 ||
                   strcasecmp(dot, ".jpeg") == 0);
}

bool image_wanted(const char *name)
{
    const char *base = strrchr(name, '/');
    return (base ? base[1] : *name) != '.' && !strstr(name, "__MACOSX/") && image_has_suffix(name);
}

int image_decode(struct image *out, const void *data, size_t size, int c, const char *place)
{
    if (size >= 8 && memcmp(data, "\x89PNG\r\n\x1a\n", 8) == 0)
        return image_decode_png(out, data, size, c, place);
    if (size >= 3 && memcmp(data, "\xff\xd8\xff", 3) == 0)
        return image_decode_jpeg(out, data, size, c, place);
    if (size == 0)
        return fail(METE_EFORMAT, "%s: expected a PNG or JPEG image, but the file is empty", place);
    return fail(METE_EFORMAT, "%s: expected a PNG or JPEG image", place);
}

void image_release(struct image *image)
{
    free(image->pixels);
    *image = (struct image){0};
}
