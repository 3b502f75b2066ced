/* fuzz_png.c - any bytes: refused, or an image whose every pixel can be read, as it is,
 * in grey and in colour. */
#include "fuzz.h"
#include "data/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int channels[] = {0, 1, 3};
    for (int i = 0; i < 3; i++) {
        struct image image = {0};
        uint8_t small[5 * 7 * 3];
        if (image_decode_png(&image, data, size, channels[i], "input"))
            return 0;
        HOLDS(image.c == 1 || image.c == 3);
        HOLDS(channels[i] == 0 || image.c == channels[i]);
        if ((int64_t)image.h * image.w < 1 << 16)
            image_resize(&image, 5, 7, FILTER_AREA + size % 5, small);
        image_release(&image);
    }
    return 0;
}
