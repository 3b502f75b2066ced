/* cuda_halves.c - notes of outputs that are halves. */
#include "cuda_halves.h"
#include "base/memory.h"

#include <stdlib.h>

static void drop(struct noted_halves *n, int i)
{
    n->note[i] = n->note[--n->notes];
}

bool cuda_halves_begin(struct device *d, const struct conv_args *a)
{
    struct noted_halves *n = d->halves;
    if (!a->l.halves || !a->no_tangents || !cuda_second_takes(a->n))
        return false;
    n->note = mem_grow(n->note, (size_t)n->notes + 1, sizeof *n->note);
    n->note[n->notes++] = (struct halves){a->cache.out, (const uint16_t *)a->cache.z,
                                          (size_t)a->tasks * (size_t)a->n * out_floats(&a->l) / 4};
    return true;
}

/* The number of x's note, or -1. */
static int find(const struct noted_halves *n, const float *x)
{
    int i = n->notes - 1;
    while (i >= 0 && n->note[i].out != x)
        i--;
    return i;
}

const uint16_t *cuda_halves_of(const struct device *d, const float *x)
{
    int i = find(d->halves, x);
    return i >= 0 ? d->halves->note[i].at : NULL;
}

void cuda_plain(struct device *d, const float *out)
{
    int i = find(d->halves, out);
    if (i < 0)
        return;
    struct halves h = d->halves->note[i];
    drop(d->halves, i); /* first: a launch may launch others that are noted */
    cuda_make_plain(d, &h);
}

void cuda_halves_forget(struct device *d, const void *from, size_t bytes)
{
    struct noted_halves *n = d->halves;
    for (int i = n->notes; i-- > 0;)
        if ((uintptr_t)n->note[i].out - (uintptr_t)from < bytes)
            drop(n, i);
}

void cuda_halves_close(struct device *d)
{
    if (d->halves)
        free(d->halves->note);
    free(d->halves);
}
