/* fuzz_idx.c - two IDX files, images and labels: the first byte says where the one
 * ends and the other begins. */
#include "fuzz_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    size_t cut = 1 + data[0] * (size - 1) / 255;
    fuzz_write("i", data + 1, cut - 1);
    fuzz_write("l", data + cut, size - cut);
    fuzz_import("idx", (const char *[]){fuzz_path("i"), fuzz_path("l"), NULL},
                (const char *[]){size % 2 ? "transpose=yes" : "transpose=no", NULL});
    return 0;
}
