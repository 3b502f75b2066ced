/* fuzz_checkpoint.c - any bytes as checkpoint.safetensors beside a good collection. */
#include "fuzz_run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_resume(0, data, size);
    return 0;
}
