/* fuzz_file_iter.h - any bytes as an archive: refused, or every file in it can be read. */
#ifndef FUZZ_FILE_ITER_H
#define FUZZ_FILE_ITER_H

#include "fuzz.h"
#include "data/file_iter.h"

#include <string.h>

static inline void fuzz_file_iter(const uint8_t *data, size_t size)
{
    struct file_iter *w = NULL;
    const char *name = NULL;
    int err = file_iter_open_memory(&w, "input", data, size);
    for (int files = 0; !err && files < 100 && !(err = file_iter_next(w, &name)) && name; files++) {
        void *bytes = NULL;
        size_t n = 0;
        HOLDS(strncmp(file_iter_place(w), "input: ", 7) == 0);
        if ((err = file_iter_read_all(w, 1 << 20, &bytes, &n)) == 0)
            HOLDS(n <= 1 << 20);
        free(bytes);
    }
    if (err)
        HOLDS(*mete_errmsg());
    file_iter_close(w);
}

#endif
