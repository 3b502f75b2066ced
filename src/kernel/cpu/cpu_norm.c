/* cpu_norm.c - batch norm, ReLU and pooling of one task, element by element.
 *
 * Everything is linear in the elements once the channels' constants are known
 * (cpu_block.c derives them), so these are sums and short polynomials.  Each is
 * written once as a template for a row of outputs: P is the pixels of a pooling window
 * (1: no pooling), C the vectors of channels whose constants are held in registers.
 * Sums are taken row by row, then over the rows, which keeps their rounding small.
 *
 * Which unit was on, and which pixel of a window won, is found again from z by the
 * same multiply-add each time; nothing is stored for it.
 */
#include "cpu.h"

#define EACH_COL(C)   UNROLL for (int c = 0; c < (C); c++)
#define EACH_PIXEL(P) UNROLL for (int p = 0; p < (P); p++)

/* Calls kernel(C, P, first channel, ...) until all channels are done. */
#if CPU_LANES == 16
#define BY_COLUMNS(kernel, P, channels, ...)                                                       \
    for (int at = 0, left = (channels) / LANES; left > 0;)                                         \
        if (left >= 4 && (P) == 1)                                                                 \
            kernel(4, P, at, __VA_ARGS__), at += 4 * LANES, left -= 4;                             \
        else if (left >= 2)                                                                        \
            kernel(2, P, at, __VA_ARGS__), at += 2 * LANES, left -= 2;                             \
        else                                                                                       \
            kernel(1, P, at, __VA_ARGS__), at += LANES, left -= 1
#else
#define BY_COLUMNS(kernel, P, channels, ...)                                                       \
    for (int at = 0; at < (channels); at += 2 * LANES)                                             \
    kernel(2, P, at, __VA_ARGS__)
#endif
/* The same for every row of outputs; a row is in cache for all its channels. */
#define BY_WINDOW(kernel, v, ...)                                                                  \
    for (int row = (v)->row; row < (v)->row_end; row++)                                            \
        if ((v)->l->pool)                                                                          \
            BY_COLUMNS(kernel, 4, pad((v)->l->out_c), v, row, __VA_ARGS__);                        \
        else                                                                                       \
            BY_COLUMNS(kernel, 1, pad((v)->l->out_c), v, row, __VA_ARGS__)

INLINE void load_columns(const int C, const float *from, vf to[COLS_MAX])
{
    EACH_COL(C) to[c] = load(from + c * LANES);
}

INLINE void add_columns(const int C, const vf sum[COLS_MAX], float *to)
{
    EACH_COL(C) store(to + c * LANES, load(to + c * LANES) + sum[c]);
}

/* The first float of an output pixel, and of the P pixels of z it comes from.  A pixel of
 * the window beyond the edge stands for the first one, which then wins: the order of
 * writing below, last to first, makes that harmless. */
struct window {
    size_t out, z[4];
};

/* Whether z and the output lie alike. */
INLINE bool lies_alike(const struct layer *l)
{
    return !l->pool && z_phases(l) == PHASES;
}

INLINE struct window window_at(const struct norm_view *v, int oy, int ox)
{
    const struct layer *l = v->l;
    size_t pixel = (size_t)v->n * (size_t)pad(l->out_c);
    struct window w = {.out = (size_t)(oy * l->out_w + place(ox, l->out_w)) * pixel};
    if (!l->pool) {
        w.z[0] = (size_t)(oy * l->conv_w + z_place(l, ox)) * pixel;
        return w;
    }
    for (int p = 0; p < 4; p++) {
        int y = 2 * oy + p / 2, x = 2 * ox + p % 2;
        bool inside = y < l->conv_h && x < l->conv_w;
        w.z[p] = inside ? (size_t)(y * l->conv_w + z_place(l, x)) * pixel : w.z[0];
    }
    return w;
}

/* The same where the order does not matter: as they lie in memory, if both do alike. */
INLINE struct window any_window(const struct norm_view *v, int oy, int i)
{
    size_t pixel = (size_t)v->n * (size_t)pad(v->l->out_c);
    size_t at = (size_t)(oy * v->l->out_w + i) * pixel;
    return lies_alike(v->l) ? (struct window){at, {at}} : window_at(v, oy, i);
}

/* Where dz of a window goes: as z lies, or in the order of x. */
struct place {
    size_t z[4];
};

INLINE struct place dz_at(const int P, const struct norm_view *v, const struct window *w, int oy,
                          int ox)
{
    struct place to;
    EACH_PIXEL(P)
    {
        int inside = w->z[p] == w->z[0] ? 0 : p;
        int y = P == 1 ? oy - v->row : 2 * (oy - v->row) + inside / 2;
        int x = P == 1 ? ox - v->col : 2 * ox + inside % 2;
        size_t pixel = (size_t)(v->n * pad(v->l->out_c));
        to.z[p] = is_first(v->l) ? (size_t)(y * v->l->conv_w + x) * pixel : w->z[p];
    }
    return to;
}

/* Masks of the pixels of a window whose unit passed its value on; at most one per lane. */
INLINE void find_on(const int P, const float *z, const size_t at[4], vf scale, vf shift, vi on[4])
{
    vf y[4], best;
    EACH_PIXEL(P) y[p] = load(z + at[p]) * scale + shift;
    best = y[0];
    for (int p = 1; p < P; p++)
        best = choose(y[p] > best, y[p], best);
    vi free = best > (vf){0};
    EACH_PIXEL(P)
    {
        on[p] = free & (y[p] == best);
        free &= ~on[p];
    }
}

/* ---- statistics ---- */

INLINE void add_row(const int C, const int P, int at, const struct norm_view *v, int y,
                    const float *z, const float *rz, const float *from, float *sum, float *product)
{
    (void)P;
    int channels = pad(v->l->out_c);
    size_t row = (size_t)v->l->conv_w * (size_t)(v->n * channels), start = (size_t)y * row;
    vf origin[COLS_MAX], a[COLS_MAX], b[COLS_MAX];
    load_columns(C, from + at, origin);
    EACH_COL(C) a[c] = b[c] = (vf){0};
    for (size_t pixel = start; pixel < start + row; pixel += (size_t)(v->n * channels))
        for (int i = 0; i < v->stat; i++) {
            size_t e = pixel + (size_t)(i * channels + at);
            EACH_COL(C)
            {
                vf d = load(z + e + c * LANES) - origin[c];
                vf r = rz ? load(rz + e + c * LANES) : d;
                a[c] += r;
                b[c] += r * d;
            }
        }
    add_columns(C, a, sum + at);
    add_columns(C, b, product + at);
}

void cpu_norm_add_row(const struct norm_view *v, int y, const float *z, const float *rz,
                      const float *from, float *sum, float *product)
{
    if (rz)
        BY_COLUMNS(add_row, 1, pad(v->l->out_c), v, y, z, rz, from, sum, product);
    else
        BY_COLUMNS(add_row, 1, pad(v->l->out_c), v, y, z, NULL, from, sum, product);
}

/* ---- forward ---- */

INLINE void apply(const int C, const int P, int at, const struct norm_view *v, int oy,
                  const float *z, float *out)
{
    const int channels = pad(v->l->out_c), end = v->n * channels;
    const bool past = is_huge(v->n * (ptrdiff_t)out_len(v->l));
    vf scale[COLS_MAX], shift[COLS_MAX];
    load_columns(C, v->scale + at, scale);
    load_columns(C, v->shift + at, shift);
    for (int ox = v->col; ox < v->col_end; ox++) {
        struct window w = any_window(v, oy, ox);
        for (int e = at; e < end; e += channels)
            EACH_COL(C)
            {
                vf best = {0};
                EACH_PIXEL(P)
                {
                    vf y = load(z + w.z[p] + e + c * LANES) * scale[c] + shift[c];
                    best = choose(y > best, y, best);
                }
                if (past)
                    stream(out + w.out + e + c * LANES, best);
                else
                    store(out + w.out + e + c * LANES, best);
            }
    }
}

void cpu_norm_apply(const struct norm_view *v, const float *z, float *out)
{
    BY_WINDOW(apply, v, z, out);
}

/* ---- backward ---- */

INLINE void grad_sums(const int C, const int P, int at, const struct norm_view *v, int oy,
                      const float *z, const float *dout, const float *mu, float *sum,
                      float *product)
{
    const int channels = pad(v->l->out_c), end = v->n * channels;
    vf scale[COLS_MAX], shift[COLS_MAX], mean[COLS_MAX], a[COLS_MAX], b[COLS_MAX];
    load_columns(C, v->scale + at, scale);
    load_columns(C, v->shift + at, shift);
    load_columns(C, mu + at, mean);
    EACH_COL(C) a[c] = b[c] = (vf){0};
    for (int ox = v->col; ox < v->col_end; ox++) {
        struct window w = any_window(v, oy, ox);
        for (int e = at; e < end; e += channels)
            EACH_COL(C)
            {
                vi on[4];
                find_on(P, z + e + c * LANES, w.z, scale[c], shift[c], on);
                vf d = load(dout + w.out + e + c * LANES);
                EACH_PIXEL(P)
                {
                    vf dy = where(on[p], d);
                    a[c] += dy;
                    b[c] += dy * (load(z + w.z[p] + e + c * LANES) - mean[c]);
                }
            }
    }
    add_columns(C, a, sum + at);
    add_columns(C, b, product + at);
}

void cpu_norm_grad_sums(const struct norm_view *v, const float *z, const float *dout,
                        const float *mu, float *sum, float *product)
{
    BY_WINDOW(grad_sums, v, z, dout, mu, sum, product);
}

INLINE void grad(const int C, const int P, int at, const struct norm_view *v, int oy,
                 const float *z, const float *dout, const float *kd, const float *kz,
                 const float *k, float *dz)
{
    const int channels = pad(v->l->out_c), n = v->n, stat = v->stat;
    vf scale[COLS_MAX], shift[COLS_MAX], cd[COLS_MAX], cz[COLS_MAX], c0[COLS_MAX];
    load_columns(C, v->scale + at, scale);
    load_columns(C, v->shift + at, shift);
    load_columns(C, kd + at, cd);
    load_columns(C, kz + at, cz);
    load_columns(C, k + at, c0);
    for (int ox = v->col; ox < v->col_end; ox++) {
        struct window w = window_at(v, oy, ox);
        struct place to = dz_at(P, v, &w, oy, ox);
        for (int i = 0; i < n; i++)
            EACH_COL(C)
            {
                int e = i * channels + at + c * LANES;
                vi on[4];
                find_on(P, z + e, w.z, scale[c], shift[c], on);
                vf d = cd[c] * load(dout + w.out + e);
                UNROLL for (int p = P - 1; p >= 0; p--)
                {
                    vf all = {0};
                    if (i < stat)
                        all = load(z + w.z[p] + e) * cz[c] + c0[c];
                    store(dz + to.z[p] + e, where(on[p], d) + all);
                }
            }
    }
}

void cpu_norm_grad(const struct norm_view *v, const float *z, const float *dout, const float *kd,
                   const float *kz, const float *k, float *dz)
{
    BY_WINDOW(grad, v, z, dout, kd, kz, k, dz);
}

/* ---- tangents ---- */

INLINE void rapply(const int C, const int P, int at, const struct norm_view *v, int oy,
                   const float *z, const float *rz, const float *kr, const float *kz,
                   const float *k, float *rout)
{
    const int channels = pad(v->l->out_c), end = v->n * channels;
    vf scale[COLS_MAX], shift[COLS_MAX], cr[COLS_MAX], cz[COLS_MAX], c0[COLS_MAX];
    load_columns(C, v->scale + at, scale);
    load_columns(C, v->shift + at, shift);
    load_columns(C, kr + at, cr);
    load_columns(C, kz + at, cz);
    load_columns(C, k + at, c0);
    for (int ox = v->col; ox < v->col_end; ox++) {
        struct window w = any_window(v, oy, ox);
        for (int e = at; e < end; e += channels)
            EACH_COL(C)
            {
                vi on[4];
                vf r = {0};
                find_on(P, z + e + c * LANES, w.z, scale[c], shift[c], on);
                EACH_PIXEL(P)
                {
                    size_t pixel = w.z[p] + (size_t)(e + c * LANES);
                    r += where(on[p], cr[c] * load(rz + pixel) + (cz[c] * load(z + pixel) + c0[c]));
                }
                store(rout + w.out + e + c * LANES, r);
            }
    }
}

void cpu_norm_rapply(const struct norm_view *v, const float *z, const float *rz, const float *kr,
                     const float *kz, const float *k, float *rout)
{
    BY_WINDOW(rapply, v, z, rz, kr, kz, k, rout);
}

INLINE void rgrad_sums(const int C, const int P, int at, const struct norm_view *v, int oy,
                       const float *z, const float *rz, const float *dout, const float *rdout,
                       const float *mu, const float *m1, float *sum, float *product)
{
    const int channels = pad(v->l->out_c), end = v->n * channels;
    vf scale[COLS_MAX], shift[COLS_MAX], mean[COLS_MAX], rmean[COLS_MAX], a[COLS_MAX], b[COLS_MAX];
    load_columns(C, v->scale + at, scale);
    load_columns(C, v->shift + at, shift);
    load_columns(C, mu + at, mean);
    load_columns(C, m1 + at, rmean);
    EACH_COL(C) a[c] = b[c] = (vf){0};
    for (int ox = v->col; ox < v->col_end; ox++) {
        struct window w = any_window(v, oy, ox);
        for (int e = at; e < end; e += channels)
            EACH_COL(C)
            {
                vi on[4];
                find_on(P, z + e + c * LANES, w.z, scale[c], shift[c], on);
                vf d = load(dout + w.out + e + c * LANES);
                vf rd = load(rdout + w.out + e + c * LANES);
                EACH_PIXEL(P)
                {
                    size_t pixel = w.z[p] + (size_t)(e + c * LANES);
                    a[c] += where(on[p], rd);
                    b[c] += where(on[p], rd * (load(z + pixel) - mean[c]) +
                                             d * (load(rz + pixel) - rmean[c]));
                }
            }
    }
    add_columns(C, a, sum + at);
    add_columns(C, b, product + at);
}

void cpu_norm_rgrad_sums(const struct norm_view *v, const float *z, const float *rz,
                         const float *dout, const float *rdout, const float *mu, const float *m1,
                         float *sum, float *product)
{
    BY_WINDOW(rgrad_sums, v, z, rz, dout, rdout, mu, m1, sum, product);
}

INLINE void rgrad(const int C, const int P, int at, const struct norm_view *v, int oy,
                  const float *z, const float *rz, const float *dout, const float *rdout,
                  const struct norm_rgrad *k, float *rdz)
{
    const int channels = pad(v->l->out_c), n = v->n, stat = v->stat;
    vf scale[COLS_MAX], shift[COLS_MAX], cr[COLS_MAX], cd[COLS_MAX], crz[COLS_MAX], cz[COLS_MAX],
        c0[COLS_MAX];
    load_columns(C, v->scale + at, scale);
    load_columns(C, v->shift + at, shift);
    load_columns(C, k->kr + at, cr);
    load_columns(C, k->kd + at, cd);
    load_columns(C, k->krz + at, crz);
    load_columns(C, k->kz + at, cz);
    load_columns(C, k->k + at, c0);
    for (int ox = v->col; ox < v->col_end; ox++) {
        struct window w = window_at(v, oy, ox);
        struct place to = dz_at(P, v, &w, oy, ox);
        for (int i = 0; i < n; i++)
            EACH_COL(C)
            {
                int e = i * channels + at + c * LANES;
                vi on[4];
                find_on(P, z + e, w.z, scale[c], shift[c], on);
                vf d = cr[c] * load(rdout + w.out + e) + cd[c] * load(dout + w.out + e);
                UNROLL for (int p = P - 1; p >= 0; p--)
                {
                    vf all = {0};
                    if (i < stat)
                        all =
                            crz[c] * load(rz + w.z[p] + e) + (cz[c] * load(z + w.z[p] + e) + c0[c]);
                    store(rdz + to.z[p] + e, where(on[p], d) + all);
                }
            }
    }
}

void cpu_norm_rgrad(const struct norm_view *v, const float *z, const float *rz, const float *dout,
                    const float *rdout, const struct norm_rgrad *k, float *rdz)
{
    BY_WINDOW(rgrad, v, z, rz, dout, rdout, k, rdz);
}
