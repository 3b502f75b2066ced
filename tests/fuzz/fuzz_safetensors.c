/* fuzz_safetensors.c - any bytes: refused, or every tensor can be found and read
 * and together they are all of the data. */
#include "fuzz.h"
#include "base/memory.h"
#include "base/safetensors.h"

#include <string.h>

static void read_all(const struct ndarray *a)
{
    size_t n = (size_t)ndarray_count(a);
    double *out = mem_array(n, sizeof *out);
    ndarray_to_double(a, out);
    ndarray_to_float(a, (float *)out);
    if (a->dtype >= DTYPE_I64)
        ndarray_to_int64(a, (int64_t *)out);
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct safetensors *s = NULL;
    if (safetensors_open_memory(&s, "input", data, size)) {
        HOLDS(!s);
        return 0;
    }
    uint64_t header, bytes = 0;
    memcpy(&header, data, sizeof header);
    for (int i = 0; i < safetensors_count(s); i++) {
        const struct safetensor *t = safetensors_at(s, i);
        const struct ndarray *found = NULL;
        HOLDS(safetensors_find(s, t->name) == &t->array);
        HOLDS(safetensors_get(s, t->name, DTYPE_SET(t->array.dtype), t->array.rank, t->array.shape,
                              &found) == 0);
        HOLDS(found == &t->array);
        bytes += t->array.bytes;
        read_all(found);
    }
    HOLDS(8 + header + bytes == size);
    safetensors_meta(s, "method");
    safetensors_close(s);
    return 0;
}
