/* fuzz_arrays.c - any bytes as an npz file. */
#include "fuzz_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_write("a.npz", data, size);
    fuzz_import("arrays", (const char *[]){fuzz_path("a.npz"), NULL}, NULL);
    return 0;
}
