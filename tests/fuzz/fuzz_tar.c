/* fuzz_tar.c - tar archives. */
#include "fuzz_walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_walk(data, size);
    return 0;
}
