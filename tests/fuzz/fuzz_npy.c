/* fuzz_npy.c - any bytes: refused, or an array whose every element can be read. */
#include "fuzz.h"
#include "base/memory.h"
#include "base/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct npy f;
    if (npy_open_memory(&f, "input", data, size))
        return 0;
    int64_t count = -1;
    HOLDS(shape_count(f.array.rank, f.array.shape, &count));
    HOLDS(count == ndarray_count(&f.array));
    HOLDS((const uint8_t *)f.array.data + f.array.bytes == data + size);
    double *out = mem_array((size_t)count, sizeof *out);
    ndarray_to_double(&f.array, out);
    free(out);
    npy_close(&f);
    return 0;
}
