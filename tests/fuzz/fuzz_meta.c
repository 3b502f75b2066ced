/* fuzz_meta.c - any text as meta.json beside arrays of 3 items: refused, or a dataset
 * whose names and numbers can be read. */
#include "fuzz_import.h"
#include "base/npy.h"

static void prepare(void)
{
    static const uint8_t x[12];
    static const int32_t y[] = {0, 1, 0};
    static bool done;
    if (done)
        return;
    done = true;
    mkdir(fuzz_path("d"), 0755);
    HOLDS(!npy_write(fuzz_path("d/x.npy"), DTYPE_U8, 3, (int64_t[]){3, 2, 2}, x));
    HOLDS(!npy_write(fuzz_path("d/y.npy"), DTYPE_I32, 1, (int64_t[]){3}, y));
    HOLDS(!npy_write(fuzz_path("d/user.npy"), DTYPE_I32, 1, (int64_t[]){3}, y));
    HOLDS(!npy_write(fuzz_path("d/part.npy"), DTYPE_U8, 1, (int64_t[]){3}, x));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dataset *d = NULL;
    struct mete_data_info info = {.size = sizeof info};
    prepare();
    fuzz_write("d/meta.json", data, size);
    if (dataset_open(&d, fuzz_path("d")))
        return 0;
    HOLDS(d->items == 3 && d->classes >= 2);
    for (int k = 0; d->class_names && k < d->classes; k++)
        HOLDS(strlen(d->class_names[k]) < size);
    for (int u = 0; d->user_names && u < d->users; u++)
        HOLDS(strlen(d->user_names[u]) < size);
    dataset_close(d);
    HOLDS(mete_data_info(fuzz_path("d"), &info) == 0);
    return 0;
}
