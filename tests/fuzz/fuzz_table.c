/* fuzz_table.c - any text as a table: columns y (label) and u (user). */
#include "fuzz_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_write("t.csv", data, size);
    fuzz_import("table", (const char *[]){fuzz_path("t.csv"), NULL},
                (const char *[]){"label=y", size % 2 ? "user=u" : NULL, NULL});
    return 0;
}
