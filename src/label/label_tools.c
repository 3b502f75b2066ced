/* label_tools.c - what the strategies share. */
#include "label/label_own.h"
#include "base/memory.h"

#include <stdlib.h>

int label_available(const struct label_view *v, int32_t *out)
{
    int n = 0;
    for (int i = 0; i < v->n; i++)
        if (v->available[i])
            out[n++] = i;
    return n;
}

int label_fill_up(const int32_t *at, int n, int picked, int want, struct rng *r, int32_t *picks)
{
    if (picked >= want)
        return picked;
    int32_t *order = mem_array((size_t)n + 1, sizeof *order);
    rng_choose(r, (uint32_t)n, (uint32_t)n, order);
    for (int i = 0; i < n && picked < want; i++) {
        bool taken = false;
        for (int k = 0; k < picked; k++)
            taken = taken || picks[k] == at[order[i]];
        if (!taken)
            picks[picked++] = at[order[i]];
    }
    free(order);
    return picked;
}

static int before(const void *a, const void *b)
{
    const struct scored *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? 1 : -1;
    return x->place - y->place;
}

void scored_sort(struct scored *s, int n)
{
    for (int i = 0; i < n; i++)
        s[i].place = i;
    qsort(s, (size_t)n, sizeof *s, before);
}
