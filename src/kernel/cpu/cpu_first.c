/* cpu_first.c - the convolution of a net's first layer.
 *
 * It has too few channels for one matrix product per tap.  Instead the input is kept as
 * columns of three pixels, [x][ky][channel], for every row of z: three columns that
 * follow each other are the window of a pixel, and a strip of windows is one product with
 * a matrix whose rows overlap, or lie an image apart.
 */
#include "cpu.h"

/* Windows that are multiplied together: those of pixel x in all images, so that rows of z
 * lie together; with few images those of an image's pixels x, x + phases, .. */
struct strip {
    int x, image, rows;
    ptrdiff_t ldx;
};

/* The k-th strip of a row. */
static struct strip strip_of(const struct layer *l, int n, int k, int phases)
{
    if (by_pixel(n))
        return (struct strip){k, 0, n, (ptrdiff_t)input_row(l)};
    int phase = k % phases;
    return (struct strip){phase, k / phases, phase_len(phase, l->conv_w, phases),
                          (ptrdiff_t)phases * l->stride * 3 * l->in_c};
}

static int strips_of(const struct layer *l, int n, int phases)
{
    return by_pixel(n) ? l->conv_w : n * phases;
}

/* Its first window in row y. */
static const float *windows(const struct layer *l, int n, const float *images, int y,
                            struct strip s)
{
    ptrdiff_t row = (ptrdiff_t)y * n + s.image;
    return images + row * (ptrdiff_t)input_row(l) + (ptrdiff_t)s.x * l->stride * 3 * l->in_c;
}

/* Where pixel k's share of the windows of `pictures` pictures begins, in row y: as many
 * streams as pictures are more than a core follows, so a row fetches the next one's. */
static const float *share_of(const struct layer *l, int n, const float *images, int y, int pictures,
                             int k)
{
    ptrdiff_t row = (ptrdiff_t)input_row(l);
    return images + y * n * row + pictures * row * k / l->conv_w;
}

static void fetch_share(const struct layer *l, int n, const float *images, int y, int k)
{
    const float *end = share_of(l, n, images, y, n, k + 1);
    for (const float *at = share_of(l, n, images, y, n, k); at < end; at += LINE)
        __builtin_prefetch(at, 0, 2);
}

void cpu_first_forward(const struct layer *l, int n, const struct conv_term *term, float *z,
                       struct after_row after)
{
    enum { AHEAD = 8 /* pixels */, TILE = 12 /* most rows of a tile; it fetches theirs */ };
    const int c = pad(l->out_c), w = l->conv_w, phases = z_phases(l);
    const bool fetch = by_pixel(n) && is_large((ptrdiff_t)l->conv_h * w * n * c);
    for (int y = 0; y < l->conv_h; y++, z += (ptrdiff_t)w * n * c) {
        for (int k = 0; k < strips_of(l, n, phases); k++) {
            struct strip s = strip_of(l, n, k, phases);
            const float *x = windows(l, n, term->x, y, s), *next_x;
            struct gemm g = {.count = 1,
                             .k = 9 * l->in_c,
                             .x = &x,
                             .w = &term->w,
                             .y = z + ((ptrdiff_t)z_place(l, s.x) * n + s.image) * c,
                             .ldx = s.ldx,
                             .ldw = c,
                             .ldy = by_pixel(n) ? c : n * c};
            if (fetch && y + 1 < l->conv_h) {
                int next = (k + AHEAD) % w, row = (k + AHEAD) / w;
                g.next_y = z + (ptrdiff_t)(row * w + z_place(l, next)) * n * c;
                next_x = share_of(l, n, term->x, y + 1, TILE, k);
                g.next_x = &next_x;
            }
            cpu_gemm(&g, s.rows, c);
        }
        if (after.call)
            after.call(after.context, y);
    }
}

/* Strips that wait for cpu_outer. */
enum { AT_ONCE = 64 };
struct pending {
    int count, k[AT_ONCE];
    const float *x[AT_ONCE], *d[AT_ONCE], *next_z[AT_ONCE], *next_dout[AT_ONCE];
};

static void multiply_pending(struct pending *q, const struct layer *l, int n, bool fetch, float *dw,
                             bool *add)
{
    int c = pad(l->out_c);
    struct outer o = {.count = q->count,
                      .k = q->k,
                      .x = q->x,
                      .d = q->d,
                      .ldx = strip_of(l, n, 0, 1).ldx,
                      .ldd = by_pixel(n) ? c : n * c,
                      .ldy = c,
                      .next_x = fetch ? q->next_z : NULL,
                      .next_d = fetch ? q->next_dout : NULL};
    if (q->count)
        cpu_outer(&o, 9 * l->in_c, c, dw, *add);
    *add |= q->count > 0;
    q->count = 0;
}

void cpu_first_dw(const struct layer *l, int n, struct conv_pair pair, struct pixels at, float *dw,
                  bool add, const float *z, const float *dout)
{
    const int w = l->conv_w, last = l->conv_h * w - 1;
    const ptrdiff_t pixel = (ptrdiff_t)n * pad(l->out_c);
    const bool fetch = z && by_pixel(n) && is_large((last + 1) * pixel);
    const int from = by_pixel(n) ? at.x : 0, end = by_pixel(n) ? at.x_end : n;
    struct pending q;
    q.count = 0;
    for (int y = at.y; y < at.y_end; y++, pair.dz += w * pixel)
        for (int k = from; k < end; k++) {
            struct strip s = strip_of(l, n, k, 1);
            if (fetch) {
                int next = y * w + k + at.x_end - at.x;
                next = next < last ? next : last;
                ptrdiff_t skip = (next / w * w + z_place(l, next % w)) * pixel;
                q.next_z[q.count] = z + skip;
                q.next_dout[q.count] = dout + skip;
                if (y + 1 < l->conv_h)
                    fetch_share(l, n, pair.x, y + 1, k);
            }
            q.x[q.count] = windows(l, n, pair.x, y, s);
            q.d[q.count] = pair.dz + (by_pixel(n) ? k - at.x : 0) * pixel + s.image * pad(l->out_c);
            q.k[q.count++] = s.rows;
            if (q.count == AT_ONCE)
                multiply_pending(&q, l, n, fetch, dw, &add);
        }
    multiply_pending(&q, l, n, fetch, dw, &add);
}
