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

static int number_values(const int64_t *value, int64_t n, bool some, int32_t *out, char ***names)
{
    int64_t *sorted = NULL, known = 0;
    int distinct = 0, err = mem_try(&sorted, (size_t)n, sizeof *sorted, "labels");
    if (err)
        return err;
    for (int64_t i = 0; i < n; i++)
        if (!some || value[i] != -1)
            sorted[known++] = value[i];
    qsort(sorted, (size_t)known, sizeof *sorted, ascending);
    for (int64_t i = 0; i < known; i++)
        if (i == 0 || sorted[i] != sorted[distinct - 1])
            sorted[distinct++] = sorted[i];
    if ((err = mem_try(names, (size_t)distinct, sizeof **names, "names"))) {
        free(sorted);
        return err;
    }
    for (int k = 0; k < distinct; k++)
        (*names)[k] = mem_print("%lld", (long long)sorted[k]);
    for (int64_t i = 0; i < n; i++) {
        const int64_t *at = bsearch(&value[i], sorted, (size_t)distinct, sizeof *sorted, ascending);
        out[i] = at ? (int32_t)(at - sorted) : -1;
    }
    free(sorted);
    return distinct;
}

int relabel(const int64_t *value, int64_t n, int32_t *out, char ***names)
{
    return number_values(value, n, false, out, names);
}

int relabel_some(const int64_t *value, int64_t n, int32_t *out, char ***names)
{
    return number_values(value, n, true, out, names);
}
