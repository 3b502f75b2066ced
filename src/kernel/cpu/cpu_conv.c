/* cpu_conv.c - 3x3 convolution with padding 1 and its two transposes, for one task.
 *
 * A row of pixels is cut into runs: pixels that follow each other in memory, all of
 * which read the same taps, each from pixels that follow each other too.  A run is one
 * matrix product of (pixels x images) rows summed over its taps.  Taps outside the
 * picture are not in the list, so padding costs nothing.  The gradient with respect to
 * x is the same product from dz to x with transposed weights.
 *
 * The first layer has too few channels for that.  There a row of the picture, with its
 * zero border, is read as overlapping windows of 3 pixels: a matrix whose rows are
 * `stride` pixels apart.
 */
#include "cpu.h"

#include <assert.h>

enum { TERMS_MAX = 2, RUNS_MAX = 8, ROWS_AT_ONCE = 64, ALL_TAPS = 7 };

/* Pixels to..to+len-1 of a row; tap kx[i] reads from from[i].. */
struct run {
    int to, len, taps;
    int kx[3], from[3];
};
struct reach {
    int runs;
    struct run run[RUNS_MAX];
};

/* The coordinate that tap k reads for `at`, or -1: from z to x, or (back) from x to z. */
static int source_of(int at, int k, bool back, int stride, int size)
{
    int s = back ? at + 1 - k : at * stride + k - 1;
    if (s < 0 || (back && s % stride))
        return -1;
    s = back ? s / stride : s;
    return s < size ? s : -1;
}

static int row_source(const struct layer *l, bool back, int y, int ky)
{
    return source_of(y, ky, back, l->stride, back ? l->conv_h : l->in_h);
}

/* The same for places in a row. */
static int place_source(const struct layer *l, bool back, int p, int kx)
{
    int x = back || l->stride != 2 ? unplace(p, back ? l->in_w : l->conv_w) : p;
    int s = source_of(x, kx, back, l->stride, back ? l->conv_w : l->in_w);
    return s < 0 ? -1 : back ? z_place(l, s) : place(s, l->in_w);
}

static struct run run_of(const struct layer *l, bool back, int p, unsigned taps)
{
    struct run r = {.to = p, .len = 1};
    for (int kx = 0; kx < 3; kx++) {
        if (!(taps >> kx & 1))
            continue;
        int from = place_source(l, back, p, kx);
        if (from >= 0) {
            r.kx[r.taps] = kx;
            r.from[r.taps++] = from;
        }
    }
    return r;
}

/* Whether a run of one pixel continues another. */
static bool continues(const struct run *a, const struct run *b)
{
    bool same = a->taps == b->taps;
    for (int i = 0; same && i < a->taps; i++)
        same = a->kx[i] == b->kx[i] && a->from[i] + a->len == b->from[i];
    return same;
}

/* The runs of a row, for the taps kx whose bits are set. */
static void find_runs(const struct layer *l, bool back, unsigned taps, struct reach *reach)
{
    reach->runs = 0;
    for (int p = 0; p < (back ? l->in_w : l->conv_w); p++) {
        struct run r = run_of(l, back, p, taps);
        struct run *last = reach->runs ? &reach->run[reach->runs - 1] : NULL;
        if (last && continues(last, &r)) {
            last->len++;
            continue;
        }
        assert(reach->runs < RUNS_MAX);
        reach->run[reach->runs++] = r;
    }
}

/* Row y of the result, which is z, or (back) dx. */
static void conv_row(const struct layer *l, int n, bool back, const struct reach *reach, int y,
                     const struct conv_term *term, int terms, float *to)
{
    int k = back ? l->out_c : l->in_c, ldx = pad(k), ldy = pad(back ? l->in_c : l->out_c);
    int to_w = back ? l->in_w : l->conv_w, from_w = back ? l->conv_w : l->in_w;
    for (const struct run *r = reach->run; r < reach->run + reach->runs; r++) {
        const float *x[9 * TERMS_MAX], *w[9 * TERMS_MAX];
        int count = 0;
        for (int ky = 0; ky < 3; ky++) {
            ptrdiff_t from_y = row_source(l, back, y, ky);
            for (int i = 0; from_y >= 0 && i < r->taps; i++)
                for (int t = 0; t < terms; t++, count++) {
                    x[count] = term[t].x + (from_y * from_w + r->from[i]) * n * ldx;
                    w[count] = term[t].w + (ptrdiff_t)(ky * 3 + r->kx[i]) * k * ldy;
                }
        }
        struct gemm g = {count, k, x, w, ldx, ldy, ldy};
        cpu_gemm(&g, r->len * n, ldy, to + ((ptrdiff_t)y * to_w + r->to) * n * ldy, false);
    }
}

/* ---- the first layer ---- */

/* Pixels of a row of z that lie `step` columns apart, as z_place has them. */
struct stretch {
    int x, to, len, step;
};

static int stretches(const struct layer *l, struct stretch s[2])
{
    int even = (l->conv_w + 1) / 2;
    if (l->stride == 2) {
        s[0] = (struct stretch){0, 0, l->conv_w, 1};
        return 1;
    }
    s[0] = (struct stretch){0, 0, even, 2};
    s[1] = (struct stretch){1, even, l->conv_w - even, 2};
    return 2;
}

/* The window of image i that column x of row y of z reads for row ky of the taps. */
static const float *window(const struct layer *l, const float *image, int i, int y, int x)
{
    ptrdiff_t row = (ptrdiff_t)(l->in_w + 2) * l->in_c;
    return image + i * (ptrdiff_t)in_len(l) + y * row + (ptrdiff_t)x * l->stride * l->in_c;
}

static void first_row(const struct layer *l, int n, int y, const struct conv_term *term, float *z)
{
    int k = 3 * l->in_c, ldy = pad(l->out_c);
    struct stretch s[2];
    for (int j = 0, runs = stretches(l, s); j < runs; j++)
        for (int i = 0; i < n; i++) {
            const float *x[3], *w[3];
            int count = 0;
            for (int ky = 0; ky < 3; ky++) {
                int from_y = row_source(l, false, y, ky);
                if (from_y < 0)
                    continue;
                x[count] = window(l, term->x, i, from_y, s[j].x);
                w[count++] = term->w + ky * k * ldy;
            }
            struct gemm g = {count,
                             k,
                             x,
                             w,
                             (ptrdiff_t)s[j].step * l->stride * l->in_c,
                             ldy,
                             (ptrdiff_t)n * ldy};
            cpu_gemm(&g, s[j].len, ldy, z + (((ptrdiff_t)y * l->conv_w + s[j].to) * n + i) * ldy,
                     false);
        }
}

static void first_dw(const struct layer *l, int n, const struct conv_pair *pair, float *dw)
{
    int k = 3 * l->in_c, ldd = pad(l->out_c);
    struct stretch s[2];
    for (int j = 0, runs = stretches(l, s); j < runs; j++)
        for (int ky = 0; ky < 3; ky++)
            for (int i = 0; i < n; i++) {
                const float *x[ROWS_AT_ONCE], *d[ROWS_AT_ONCE];
                int count = 0;
                for (int y = 0; y < l->conv_h; y++) {
                    int from_y = row_source(l, false, y, ky);
                    if (from_y >= 0) {
                        x[count] = window(l, pair->x, i, from_y, s[j].x);
                        d[count++] =
                            pair->dz + (((ptrdiff_t)y * l->conv_w + s[j].to) * n + i) * ldd;
                    }
                    if (count < ROWS_AT_ONCE && y + 1 < l->conv_h)
                        continue;
                    struct outer o = {count,
                                      s[j].len,
                                      x,
                                      d,
                                      (ptrdiff_t)s[j].step * l->stride * l->in_c,
                                      (ptrdiff_t)n * ldd,
                                      ldd};
                    cpu_outer(&o, k, ldd, dw + ky * k * ldd, true);
                    count = 0;
                }
            }
}

/* ---- the whole ---- */

void cpu_conv_forward(const struct layer *l, int n, const struct conv_term *term, int terms,
                      float *z, struct after_row after)
{
    struct reach reach;
    find_runs(l, false, ALL_TAPS, &reach);
    for (int y = 0; y < l->conv_h; y++) {
        if (is_first(l))
            first_row(l, n, y, term, z);
        else
            conv_row(l, n, false, &reach, y, term, terms, z);
        if (after.call)
            after.call(after.context, y);
    }
}

void cpu_conv_dx(const struct layer *l, int n, const struct conv_term *term, int terms, float *dx)
{
    struct reach reach;
    assert(!is_first(l));
    find_runs(l, true, ALL_TAPS, &reach);
    for (int y = 0; y < l->in_h; y++)
        conv_row(l, n, true, &reach, y, term, terms, dx);
}

/* A block of z whose pixels give the outer products of all taps while they are in cache. */
struct block {
    int y, y_end, p, p_end;
};

/* Tap (ky, kx) of the block, of those pixels of a run that read it. */
static void tap_dw(const struct layer *l, int n, struct block b, const struct run *r, int ky,
                   const struct conv_pair *pair, float *dw)
{
    int ldx = pad(l->in_c), ldd = pad(l->out_c), count = 0;
    int p = r->to > b.p ? r->to : b.p, p_end = r->to + r->len;
    p_end = p_end < b.p_end ? p_end : b.p_end;
    const float *x[ROWS_AT_ONCE], *d[ROWS_AT_ONCE];
    for (int y = b.y; y < b.y_end; y++) {
        ptrdiff_t from_y = row_source(l, false, y, ky);
        if (from_y < 0)
            continue;
        x[count] = pair->x + (from_y * l->in_w + r->from[0] + p - r->to) * n * ldx;
        d[count++] = pair->dz + ((ptrdiff_t)y * l->conv_w + p) * n * ldd;
    }
    struct outer o = {count, (p_end - p) * n, x, d, ldx, ldd, ldd};
    if (count && p < p_end)
        cpu_outer(&o, l->in_c, ldd, dw + (ptrdiff_t)(ky * 3 + r->kx[0]) * l->in_c * ldd, true);
}

static void block_dw(const struct layer *l, int n, struct block b, const struct reach reach[3],
                     const struct conv_pair *pair, float *dw)
{
    for (int ky = 0; ky < 3; ky++)
        for (int kx = 0; kx < 3; kx++)
            for (int i = 0; i < reach[kx].runs; i++)
                if (reach[kx].run[i].taps)
                    tap_dw(l, n, b, &reach[kx].run[i], ky, pair, dw);
}

/* dw += sum of the outer products, in blocks of about ENOUGH rows: a tile's way in and
 * out of memory is paid for, and the block stays in cache over the taps. */
void cpu_conv_dw(const struct layer *l, int n, const struct conv_pair *pair, int pairs, float *dw)
{
    enum { ENOUGH = 160 };
    if (is_first(l)) {
        first_dw(l, n, pair, dw);
        return;
    }
    struct reach reach[3];
    for (int kx = 0; kx < 3; kx++)
        find_runs(l, false, 1u << kx, &reach[kx]);
    int columns = n >= ENOUGH ? 1 : (ENOUGH + n - 1) / n;
    columns = columns < l->conv_w ? columns : l->conv_w;
    int rows = (ENOUGH + columns * n - 1) / (columns * n);
    rows = rows < ROWS_AT_ONCE ? rows : ROWS_AT_ONCE;
    for (int y = 0; y < l->conv_h; y += rows)
        for (int p = 0; p < l->conv_w; p += columns)
            for (int t = 0; t < pairs; t++) {
                struct block b = {y, y + rows, p, p + columns};
                b.y_end = b.y_end < l->conv_h ? b.y_end : l->conv_h;
                b.p_end = b.p_end < l->conv_w ? b.p_end : l->conv_w;
                block_dw(l, n, b, reach, &pair[t], dw);
            }
}
