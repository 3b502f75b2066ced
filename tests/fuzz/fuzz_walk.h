/* fuzz_walk.h - any bytes as an archive: refused, or every file in it can be read. */
#ifndef FUZZ_WALK_H
#define FUZZ_WALK_H

#include "fuzz.h"
#include "data/walk.h"

#include <string.h>

static inline void fuzz_walk(const uint8_t *data, size_t size)
{
    struct walk *w = NULL;
    const char *name = NULL;
    int err = walk_open_memory(&w, "input", data, size);
    for (int files = 0; !err && files < 100 && !(err = walk_next(w, &name)) && name; files++) {
        void *bytes = NULL;
        size_t n = 0;
        HOLDS(strncmp(walk_place(w), "input: ", 7) == 0);
        if ((err = walk_read_all(w, 1 << 20, &bytes, &n)) == 0)
            HOLDS(n <= 1 << 20);
        free(bytes);
    }
    if (err)
        HOLDS(*mete_errmsg());
    walk_close(w);
}

#endif
