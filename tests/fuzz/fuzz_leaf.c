/* fuzz_leaf.c - any text as a file of LEAF's training part. */
#include "fuzz_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mkdir(fuzz_path("leaf"), 0755);
    mkdir(fuzz_path("leaf/train"), 0755);
    fuzz_write("leaf/train/a.json", data, size);
    fuzz_import("leaf", (const char *[]){fuzz_path("leaf"), NULL}, NULL);
    return 0;
}
