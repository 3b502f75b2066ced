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

/* Rows first..first+rows-1 of the (pixels x images) of a block: a vertical segment times a
 * run of horizontal ones. */
struct part {
    const struct segment *v, *h;
    int first, rows;
};

/* The rows of the next part when `left` go in equal parts of at most `most`. */
INLINE int next_rows(int left, int most)
{
    int parts = (left + most - 1) / most;
    return (left + parts - 1) / parts;
}

/* The activations of a task: w pixels to a row, `pixel` floats to a pixel. */
struct plane {
    const float *at;
    ptrdiff_t w, pixel;
};

/* Rows first..last of a plane of `rows`; nothing where the plane is small. */
INLINE struct ahead ahead_of(const struct plane *p, int rows, int first, int last)
{
    ptrdiff_t row = p->w * p->pixel;
    return floats_ahead(p->at, row * rows, first * row, (last + 1) * row);
}

/* The last row that a segment reads. */
INLINE int last_row(const struct segment *s)
{
    int last = -1;
    for (const struct point *p = s->point; p < s->point + s->points; p++) {
        last = p->a > last ? p->a : last;
        last = p->b > last ? p->b : last;
    }
    return last;
}

/* Rows of (pixels x images) in the blocks of a vertical segment. */
INLINE int rows_of(const struct runs *runs, int n)
{
    int rows = 0;
    for (const struct segment *h = runs->run; h < runs->run + runs->count; h++)
        rows += h->len * n;
    return rows;
}

/* The segment after the one at y; false: there is none. */
INLINE bool next_segment(const struct axis *a, int y, struct segment *s)
{
    while (++y < a->to)
        if (cpu_segment(a, y, s))
            return true;
    return false;
}

/* What a block reads at a product of points: the plane itself, or a sum left in `buffer`;
 * `len` floats, `skip` into the run. */
#define cpu_read CPU_NAME(cpu_read)
const float *cpu_read(const struct plane *p, const struct point *v, const struct point *h,
                      ptrdiff_t skip, ptrdiff_t len, float *buffer);
/* to = a + sign b */
#define cpu_add CPU_NAME(cpu_add)
void cpu_add(float *to, const float *a, const float *b, float sign, ptrdiff_t len);

#define cpu_conv_dw_scratch CPU_NAME(cpu_conv_dw_scratch)
size_t cpu_conv_dw_scratch(const struct layer *l, int n); /* floats */

#endif
