/* fuzz_suite.c - any bytes as a suite: refused with a sentence or read, never a crash. */
#include "config/yaml.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct yaml *y = NULL;
    if (yaml_read(&y, "fuzz.yaml", (const char *)data, size) == 0) {
        if (!y)
            abort();
        yaml_close(y);
    } else if (!*mete_errmsg()) {
        abort();
    }
    return 0;
}
