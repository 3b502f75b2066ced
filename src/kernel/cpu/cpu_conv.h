/* cpu_conv.h - what the products of a convolution read, forward, dx and dw alike. */
#ifndef CPU_CONV_H
#define CPU_CONV_H

#include "cpu_plan.h"

enum { CHUNK = 32 /* rows at a time where sums need buffers, so that those stay in cache */ };

/* Whether the fast plan is faster, as measured on a Zen 4 for 16 to 64 filters: there must
 * be pairs, channels enough that sums of pixels cost little beside their products, and
 * pixels enough to pay for the sums of weights. */
INLINE bool fast_plan_pays(const struct layer *l, int n)
{
    enum { PIXELS = 80, CHANNELS = 16, SIDE = 4 };
    return l->conv_h >= SIDE && l->conv_w >= SIDE && l->in_c >= CHANNELS && l->out_c >= CHANNELS &&
           (int64_t)l->conv_h * l->conv_w * n >= PIXELS;
}

/* Channels of the wider side, padded. */
INLINE size_t widest(const struct layer *l)
{
    return (size_t)pad(l->in_c > l->out_c ? l->in_c : l->out_c);
}

/* Sums of weights that a plan needs beside the taps. */
INLINE size_t weight_sums(int kinds)
{
    return (size_t)(kinds * kinds - TAPS * TAPS);
}

/* The activations of a task: rows of w pixels of n images of `ld` floats. */
struct plane {
    const float *at;
    ptrdiff_t rows, w, n, ld;
};

INLINE bool plane_is_large(const struct plane *p)
{
    return is_large(p->rows * p->w * p->n * p->ld);
}

/* What a block reads at a product of points: the plane itself, or a sum left in `buffer`;
 * `len` floats, `skip` into the run. */
#define cpu_read CPU_NAME(cpu_read)
const float *cpu_read(const struct plane *p, const struct point *v, const struct point *h,
                      ptrdiff_t skip, ptrdiff_t len, float *buffer);
/* What the part `next` reads where p has the points v and h: between them, the products'
 * first pixels are all that a part reads. */
#define cpu_next_read CPU_NAME(cpu_next_read)
const float *cpu_next_read(const struct plane *from, const struct part *p, const struct point *v,
                           const struct point *h, const struct part *next);
/* Where a part's result (v, h) of its pairs begins in a plane, in floats; it may have but
 * one of a pair. */
#define cpu_result_at CPU_NAME(cpu_result_at)
ptrdiff_t cpu_result_at(const struct plane *to, int v, int h, const struct part *p);
/* to = a + sign b */
#define cpu_add CPU_NAME(cpu_add)
void cpu_add(float *to, const float *a, const float *b, float sign, ptrdiff_t len);

#define cpu_conv_dw_scratch CPU_NAME(cpu_conv_dw_scratch)
size_t cpu_conv_dw_scratch(const struct layer *l, int n); /* floats */

#endif
