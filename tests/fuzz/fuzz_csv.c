/* fuzz_csv.c - any text: it reads the same in pieces of any size. */
#include "fuzz.h"
#include "data/csv.h"

#include <string.h>

struct pieces {
    const uint8_t *data;
    size_t left, step;
};

static int64_t read_piece(void *user, void *to, size_t size)
{
    struct pieces *p = user;
    size_t n = p->left < p->step ? p->left : p->step;
    n = n < size ? n : size;
    if (n)
        memcpy(to, p->data, n);
    p->data += n;
    p->left -= n;
    return (int64_t)n;
}

/* A number that any change of any field would change. */
static uint64_t read_all(const uint8_t *data, size_t size, size_t step, int *err)
{
    struct pieces p = {data, size, step};
    struct csv c;
    bool more;
    uint64_t h = 1469598103934665603u;
    csv_open(&c, "input", ',', read_piece, &p);
    while (!(*err = csv_next(&c, &more)) && more)
        for (int i = 0; i < c.n; i++)
            for (const char *s = c.field[i];; s++) {
                h = (h ^ (unsigned char)*s) * 1099511628211u;
                if (!*s)
                    break;
            }
    csv_close(&c);
    return h;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int err, again;
    uint64_t h = read_all(data, size, size + 1, &err);
    /* a byte-order mark is only looked for in the first piece */
    if (size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0)
        return 0;
    HOLDS(read_all(data, size, 1 + size % 5, &again) == h);
    HOLDS(err == again);
    return 0;
}
