/* fuzz_collection.c - any bytes as collection.safetensors, the tasks bought and the ledger, beside
 * a good checkpoint. */
#include "fuzz_run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_resume(1, data, size);
    return 0;
}
