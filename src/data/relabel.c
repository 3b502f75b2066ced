/* relabel.c - sorting, and looking each value up. */
#include "data/relabel.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

int relabel(const int64_t *value, int64_t n, int32_t *out, char ***names)
{
    int64_t *sorted = mem_array((size_t)n, sizeof *sorted);
    int distinct = 0;
    if (n > 0)
        memcpy(sorted, value, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, ascending);
    for (int64_t i = 0; i < n; i++)
        if (i == 0 || sorted[i] != sorted[distinct - 1])
            sorted[distinct++] = sorted[i];
    *names = mem_array((size_t)distinct, sizeof **names);
    for (int k = 0; k < distinct; k++)
        (*names)[k] = mem_print("%lld", (long long)sorted[k]);
    for (int64_t i = 0; i < n; i++) {
        const int64_t *at = bsearch(&value[i], sorted, (size_t)distinct, sizeof *sorted, ascending);
        out[i] = (int32_t)(at - sorted);
    }
    free(sorted);
    return distinct;
}
