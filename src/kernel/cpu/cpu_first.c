/* cpu_first.c - the convolution of a net's first layer.
 *
 * It has too few channels for one matrix product per tap.  Instead the input is kept as
 * columns of three pixels, [x][ky][channel], for every row of z: three columns that
 * follow each other are the window of a pixel, and a row of pixels is one product with a
 * matrix whose rows overlap.
 */
#include "cpu.h"

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

/* The window of column x of row y of z, and how far it is to that of column x + s.step. */
static const float *window(const struct layer *l, const float *images, int i, int y, int x)
{
    ptrdiff_t column = (ptrdiff_t)y * (l->in_w + 2) + (ptrdiff_t)x * l->stride;
    return images + i * (ptrdiff_t)in_len(l) + column * 3 * l->in_c;
}

static ptrdiff_t window_step(const struct layer *l, struct stretch s)
{
    return (ptrdiff_t)s.step * l->stride * 3 * l->in_c;
}

static ptrdiff_t z_at(const struct layer *l, int n, int y, struct stretch s, int i)
{
    return (((ptrdiff_t)y * l->conv_w + s.to) * n + i) * pad(l->out_c);
}

static void stretch_forward(const struct layer *l, int n, int y, struct stretch s,
                            const struct conv_term *term, float *z, struct ahead *soon)
{
    for (int i = 0; i < n; i++) {
        fetch(soon, 1.0 / (n * z_phases(l)), true);
        const float *x = window(l, term->x, i, y, s.x);
        struct gemm g = {.count = 1,
                         .k = 9 * l->in_c,
                         .x = &x,
                         .w = &term->w,
                         .y = z + z_at(l, n, y, s, i),
                         .ldx = window_step(l, s),
                         .ldw = pad(l->out_c),
                         .ldy = (ptrdiff_t)n * pad(l->out_c)};
        cpu_gemm(&g, s.len, pad(l->out_c));
    }
}

void cpu_first_forward(const struct layer *l, int n, const struct conv_term *term, float *z,
                       struct after_row after)
{
    ptrdiff_t row = (ptrdiff_t)l->conv_w * n * pad(l->out_c), all = row * l->conv_h;
    for (int y = 0; y < l->conv_h; y++) {
        struct ahead soon =
            floats_ahead(z, all, (y + 1) * row, y + 2 < l->conv_h ? (y + 2) * row : all);
        for (int phase = 0; phase < z_phases(l); phase++)
            stretch_forward(l, n, y, stretch_of(l, phase), term, z, &soon);
        if (after.call)
            after.call(after.context, y);
    }
}

/* Pixels that wait for cpu_outer. */
enum { AT_ONCE = 64 };
struct pending {
    const struct layer *l;
    int n, count, k[AT_ONCE];
    const float *x[AT_ONCE], *d[AT_ONCE];
    float *dw;
    bool written;
};

static void multiply_pending(struct pending *q)
{
    int ldd = pad(q->l->out_c);
    struct outer o = {
        q->count, q->k, q->x, q->d, window_step(q->l, stretch_of(q->l, 0)), (ptrdiff_t)q->n * ldd,
        ldd};
    if (q->count)
        cpu_outer(&o, 9 * q->l->in_c, ldd, q->dw, q->written);
    q->written |= q->count > 0;
    q->count = 0;
}

void cpu_first_dw(const struct layer *l, int n, struct conv_pair pair, int y, int y_end, float *dw,
                  bool add, struct ahead *soon, int streams)
{
    struct pending q = {.l = l, .n = n, .dw = dw, .written = add};
    int left = (y_end - y) * z_phases(l) * n;
    for (int row = y; row < y_end; row++)
        for (int phase = 0; phase < z_phases(l); phase++)
            for (int i = 0; i < n; i++) {
                struct stretch s = stretch_of(l, phase);
                q.x[q.count] = window(l, pair.x, i, row, s.x);
                q.d[q.count] = pair.dz + z_at(l, n, row - y, s, i);
                q.k[q.count++] = s.len;
                for (int k = 0; k < streams; k++)
                    fetch(&soon[k], 1.0 / left, false);
                left--;
                if (q.count == AT_ONCE)
                    multiply_pending(&q);
            }
    multiply_pending(&q);
}
