/* cpu_first.c - the convolution of a net's first layer.
 *
 * It has too few channels for one matrix product per tap.  Instead a row of the picture,
 * with its zero border, is read as overlapping windows of 3 pixels: a matrix whose rows
 * are a stride apart, one product for each row of the taps.
 */
#include "cpu.h"

#include <string.h>

/* Columns of z that lie together: x, x + step, .. */
struct stretch {
    int x, to, len, step;
};

static struct stretch stretch_of(const struct layer *l, int phase)
{
    int phases = z_phases(l);
    return (struct stretch){phase, phase_start(phase, l->conv_w, phases),
                            phase_len(phase, l->conv_w, phases), phases};
}

/* The row of the picture that row ky of the taps reads for row y of z, or -1. */
static int source_row(const struct layer *l, int y, int ky)
{
    int row = y * l->stride + ky - 1;
    return row < l->in_h ? row : -1;
}

/* The window of image i that column x of z reads. */
static const float *window(const struct layer *l, const float *images, int i, int row, int x)
{
    ptrdiff_t at = (ptrdiff_t)row * (l->in_w + 2) + (ptrdiff_t)x * l->stride;
    return images + i * (ptrdiff_t)in_len(l) + at * l->in_c;
}

static ptrdiff_t window_step(const struct layer *l, struct stretch s)
{
    return (ptrdiff_t)s.step * l->stride * l->in_c;
}

static ptrdiff_t z_at(const struct layer *l, int n, int y, struct stretch s, int i)
{
    return (((ptrdiff_t)y * l->conv_w + s.to) * n + i) * pad(l->out_c);
}

static void stretch_forward(const struct layer *l, int n, int y, struct stretch s, int i,
                            const struct conv_term *term, float *z)
{
    const float *x[3], *w[3];
    int k = 3 * l->in_c, ldy = pad(l->out_c), count = 0;
    for (int ky = 0; ky < 3; ky++) {
        int row = source_row(l, y, ky);
        if (row < 0)
            continue;
        x[count] = window(l, term->x, i, row, s.x);
        w[count++] = term->w + ky * k * ldy;
    }
    struct gemm g = {count, k, x, w, window_step(l, s), ldy, (ptrdiff_t)n * ldy};
    cpu_gemm(&g, s.len, ldy, z + z_at(l, n, y, s, i), false);
}

void cpu_first_forward(const struct layer *l, int n, const struct conv_term *term, float *z,
                       struct after_row after)
{
    for (int y = 0; y < l->conv_h; y++) {
        for (int phase = 0; phase < z_phases(l); phase++)
            for (int i = 0; i < n; i++)
                stretch_forward(l, n, y, stretch_of(l, phase), i, term, z);
        if (after.call)
            after.call(after.context, y);
    }
}

enum { AT_ONCE = 64 };

/* Row ky of the taps, over all images of rows y..y_end-1 of z. */
static void rows_dw(const struct layer *l, int n, int y, int y_end, struct stretch s, int ky,
                    const struct conv_pair *pair, float *dw)
{
    const float *x[AT_ONCE], *d[AT_ONCE];
    int k[AT_ONCE], count = 0, rows = 3 * l->in_c, ldd = pad(l->out_c);
    for (int at = y * n; at < y_end * n; at++) {
        int row = source_row(l, at / n, ky), i = at % n;
        if (row >= 0) {
            x[count] = window(l, pair->x, i, row, s.x);
            d[count] = pair->dz + z_at(l, n, at / n, s, i);
            k[count++] = s.len;
        }
        if (count < AT_ONCE && at + 1 < y_end * n)
            continue;
        struct outer o = {count, k, x, d, window_step(l, s), (ptrdiff_t)n * ldd, ldd};
        cpu_outer(&o, rows, ldd, dw + ky * rows * ldd, true);
        count = 0;
    }
}

/* A few rows of z at a time, so that they are in cache for all rows of the taps. */
void cpu_first_dw(const struct layer *l, int n, const struct conv_pair *pair, float *dw)
{
    enum { ENOUGH = 160 };
    int rows = 1 + ENOUGH / (l->conv_w * n);
    memset(dw, 0, tensor_len(l, TENSOR_WEIGHT) * sizeof *dw);
    for (int y = 0; y < l->conv_h; y += rows)
        for (int phase = 0; phase < z_phases(l); phase++)
            for (int ky = 0; ky < 3; ky++)
                rows_dw(l, n, y, y + rows < l->conv_h ? y + rows : l->conv_h, stretch_of(l, phase),
                        ky, pair, dw);
}
