/* cuda_fp16.c - notes of outputs that are fp16. */
#include "cuda_fp16.h"
#include "base/memory.h"

#include <stdlib.h>

static void drop(struct noted_fp16 *n, int i)
{
    n->note[i] = n->note[--n->notes];
}

bool cuda_fp16_begin(struct device *d, const struct conv_args *a)
{
    struct noted_fp16 *n = d->fp16;
    if (!a->l.fp16 || !a->no_tangents || !cuda_second_takes(a->n))
        return false;
    n->note = mem_grow(n->note, (size_t)n->notes + 1, sizeof *n->note);
    n->note[n->notes++] =
        (struct fp16_output){a->cache.out, (const uint16_t *)a->cache.z,
                             (size_t)a->tasks * (size_t)a->n * out_floats(&a->l) / 4};
    return true;
}

/* The number of x's note, or -1. */
static int find(const struct noted_fp16 *n, const float *x)
{
    int i = n->notes - 1;
    while (i >= 0 && n->note[i].out != x)
        i--;
    return i;
}

const uint16_t *cuda_fp16_of(const struct device *d, const float *x)
{
    int i = find(d->fp16, x);
    return i >= 0 ? d->fp16->note[i].at : NULL;
}

void cuda_plain(struct device *d, const float *out)
{
    int i = find(d->fp16, out);
    if (i < 0)
        return;
    struct fp16_output h = d->fp16->note[i];
    drop(d->fp16, i); /* first: a launch may launch others that are noted */
    cuda_fp16_to_float(d, &h);
}

void cuda_fp16_forget(struct device *d, const void *from, size_t bytes)
{
    struct noted_fp16 *n = d->fp16;
    for (int i = n->notes; i-- > 0;)
        if ((uintptr_t)n->note[i].out - (uintptr_t)from < bytes)
            drop(n, i);
}

void cuda_fp16_close(struct device *d)
{
    if (d->fp16)
        free(d->fp16->note);
    free(d->fp16);
}
