/* fuzz_folder.c - any bytes as an archive of CLASS/IMAGE. */
#include "fuzz_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_write("a.tar", data, size);
    fuzz_import("folder", (const char *[]){fuzz_path("a.tar"), NULL},
                (const char *[]){size % 2 ? "users=yes" : "size=4", NULL});
    return 0;
}
