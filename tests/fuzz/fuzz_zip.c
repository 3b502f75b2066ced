/* fuzz_zip.c - zip archives. */
#include "fuzz_file_iter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_file_iter(data, size);
    return 0;
}
