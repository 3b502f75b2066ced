/* cpu_conv.c - 3x3 convolution with padding 1, and its transpose in x, as matrix products
 * over the blocks of a plan (cpu_plan.h).
 *
 * A block is a vertical segment times a run of horizontal ones: (pixels x images) rows.
 * Its products are sorted by the outputs they are added to; those of one output are one
 * list for cpu_gemm, so that sums stay in registers, and those of several outputs are
 * made once and added to each.  Taps outside the picture are in no list, so padding
 * costs nothing.  The gradient with respect to x is the same from dz to x with
 * transposed weights.  (cpu_conv_dw.c is the one with respect to the weights.)
 */
#include "cpu_conv.h"

enum {
    TERMS_MAX = 2,
    PRODUCTS = 18, /* most products of one output: 9 taps of 2 terms */
    BUFFERED = 8,  /* most of them that are sums of pixels */
};

/* ---- what a product reads ---- */

/* to = a + sign b */
void cpu_add(float *to, const float *a, const float *b, float sign, ptrdiff_t len)
{
    for (ptrdiff_t i = 0; i < len; i += LANES)
        store(to + i, load(a + i) + sign * load(b + i));
}

/* to = (a + sign b) + sign2 (c + sign d) */
static void add4(float *to, const float *const p[4], float sign, float sign2, ptrdiff_t len)
{
    for (ptrdiff_t i = 0; i < len; i += LANES) {
        vf first = load(p[0] + i) + sign * load(p[1] + i);
        vf second = load(p[2] + i) + sign * load(p[3] + i);
        store(to + i, first + sign2 * second);
    }
}

static const float *pixel_of(const struct plane *p, int y, int x)
{
    return p->at + (y * p->w + x) * p->n * p->ld;
}

const float *cpu_read(const struct plane *p, const struct point *v, const struct point *h,
                      ptrdiff_t skip, ptrdiff_t len, float *buffer)
{
    const float *a = pixel_of(p, v->a, h->a) + skip;
    if (v->b < 0 && h->b < 0)
        return a;
    if (v->b >= 0 && h->b >= 0) {
        const float *all[4] = {a, pixel_of(p, v->a, h->b) + skip, pixel_of(p, v->b, h->a) + skip,
                               pixel_of(p, v->b, h->b) + skip};
        add4(buffer, all, (float)h->sign, (float)v->sign, len);
    } else if (v->b >= 0) {
        cpu_add(buffer, a, pixel_of(p, v->b, h->a) + skip, (float)v->sign, len);
    } else {
        cpu_add(buffer, a, pixel_of(p, v->a, h->b) + skip, (float)h->sign, len);
    }
    return buffer;
}

const float *cpu_next_read(const struct plane *from, const struct part *p, const struct point *v,
                           const struct point *h, const struct part *next)
{
    ptrdiff_t i = (v - p->v.point) % next->v.points, j = (h - p->h->point) % next->h->points;
    return pixel_of(from, next->v.point[i].a, next->h->point[j].a) + next->first * from->ld;
}

ptrdiff_t cpu_result_at(const struct plane *to, int v, int h, const struct part *p)
{
    int y = p->v.to[v < p->v.outs ? v : 0], x = p->h->to[h < p->h->outs ? h : 0];
    return ((y * to->w + x) * to->n + p->first) * to->ld;
}

/* ---- weights ---- */

/* Matrices (k, ld) by kind of weights, vertical and horizontal. */
struct weights {
    const float *at[KINDS_MAX][KINDS_MAX];
};

/* to = sum of the taps of a kind */
static void sum_taps(const struct layer *l, int kind, const float *a, const float *b,
                     const float *c, float *to, size_t len)
{
    const float *taps = cpu_kind_taps(l, kind);
    if (taps[1] == 0) {
        cpu_add(to, a, c, 1, (ptrdiff_t)len); /* taps[0] and taps[2] are 1 */
        return;
    }
    for (size_t i = 0; i < len; i += LANES)
        store(to + i, taps[0] * load(a + i) + (taps[1] * load(b + i) + taps[2] * load(c + i)));
}

/* From the 9 matrices at w, whose sums go to `room`. */
static void find_weights(const struct layer *l, int kinds, const float *w, size_t len, float *room,
                         struct weights *out)
{
    for (int y = 0; y < TAPS; y++) {
        for (int x = 0; x < TAPS; x++)
            out->at[y][x] = w + (size_t)(y * TAPS + x) * len;
        for (int x = TAPS; x < kinds; x++, room += len) {
            sum_taps(l, x, out->at[y][0], out->at[y][1], out->at[y][2], room, len);
            out->at[y][x] = room;
        }
    }
    for (int y = TAPS; y < kinds; y++)
        for (int x = 0; x < kinds; x++, room += len) {
            sum_taps(l, y, out->at[0][x], out->at[1][x], out->at[2][x], room, len);
            out->at[y][x] = room;
        }
}

/* ---- forward and dx ---- */

struct conv {
    const struct layer *l;
    int n, terms, k;
    bool back;
    struct plane from[TERMS_MAX], to;
    struct weights w[TERMS_MAX];
    float *y, *buffer, *shared; /* y: of `to` */
    ptrdiff_t ldx, ldy;
};

static size_t buffers_len(const struct layer *l, bool fast)
{
    return fast ? (size_t)(BUFFERED + SETS * SETS) * CHUNK * widest(l) : 0;
}

static struct plane plane_of(const struct layer *l, int n, bool z, const float *at)
{
    if (z)
        return (struct plane){at, l->conv_h, l->conv_w, n, pad(l->out_c)};
    return (struct plane){at, l->in_h, l->in_w, n, pad(l->in_c)};
}

static struct conv conv_of(const struct layer *l, int n, bool back, float *y, float *buffers)
{
    struct conv c = {.l = l, .n = n, .back = back, .k = back ? l->out_c : l->in_c, .y = y};
    c.to = plane_of(l, n, !back, y);
    c.ldx = pad(c.k);
    c.ldy = c.to.ld;
    c.buffer = buffers;
    c.shared = buffers + BUFFERED * CHUNK * c.ldx;
    return c;
}

static void add_term(struct conv *c, const float *x)
{
    c->from[c->terms++] = plane_of(c->l, c->n, c->back, x);
}

/* Products of several outputs, made once: where they are, and for which. */
struct shared {
    int count;
    struct {
        const float *at;
        int vset, hset;
    } item[SETS * SETS];
};

/* y = all products of the part that go to the outputs (vset, hset), plus those of the
 * shared ones that do; false: there are none. */
static bool multiply(const struct conv *c, const struct part *p, int vset, int hset,
                     const struct shared *s, const struct part *next, const float *next_y, float *y)
{
    const float *x[PRODUCTS], *w[PRODUCTS], *soon[PRODUCTS], *start[SETS * SETS];
    float sign[SETS * SETS], *buffer = c->buffer;
    int count = 0, starts = 0;
    for (int i = 0; s && i < s->count; i++) {
        sign[starts] = set_sign(s->item[i].vset, vset) * set_sign(s->item[i].hset, hset);
        start[starts] = s->item[i].at;
        starts += sign[starts] != 0;
    }
    for (const struct point *v = p->v.point; v < p->v.point + p->v.points; v++)
        for (const struct point *h = p->h->point; h < p->h->point + p->h->points; h++)
            for (int t = 0; v->set == vset && h->set == hset && t < c->terms; t++) {
                x[count] = cpu_read(&c->from[t], v, h, p->first * c->ldx, p->rows * c->ldx, buffer);
                buffer += x[count] == buffer ? p->rows * c->ldx : 0;
                if (next)
                    soon[count] = cpu_next_read(&c->from[t], p, v, h, next);
                w[count++] = c->w[t].at[v->kind][h->kind];
            }
    struct gemm g = {.count = count,
                     .k = c->k,
                     .x = x,
                     .next_x = next ? soon : NULL,
                     .w = w,
                     .y = y,
                     .next_y = next_y,
                     .ldx = c->ldx,
                     .ldw = c->ldy,
                     .ldy = c->ldy,
                     .starts = starts,
                     .start = start,
                     .sign = sign};
    if (count || starts)
        cpu_gemm(&g, p->rows, (int)c->ldy);
    return count || starts;
}

static void multiply_shared(const struct conv *c, const struct part *p, const struct part *next,
                            struct shared *s)
{
    float *to = c->shared;
    s->count = 0;
    if (p->v.outs == 1 && p->h->outs == 1)
        return;
    for (int vset = 0; vset < SETS; vset++)
        for (int hset = 0; hset < SETS; hset++)
            if ((vset >= BOTH || hset >= BOTH) &&
                multiply(c, p, vset, hset, NULL, next, NULL, to)) {
                s->item[s->count].at = to;
                s->item[s->count].vset = vset;
                s->item[s->count++].hset = hset;
                to += p->rows * c->ldy;
            }
}

static void multiply_part(const struct conv *c, const struct part *p, const struct part *next)
{
    struct shared shared;
    multiply_shared(c, p, next, &shared);
    for (int v = 0; v < p->v.outs; v++)
        for (int h = 0; h < p->h->outs; h++) {
            float *y = c->y + cpu_result_at(&c->to, v, h, p);
            const float *next_y = next ? c->y + cpu_result_at(&c->to, v, h, next) : NULL;
            multiply(c, p, v, h, &shared, next, next_y, y);
        }
}

static void multiply_all(const struct conv *c, bool fast, struct after_row after)
{
    const bool fetch = plane_is_large(&c->from[0]) || plane_is_large(&c->to);
    struct parts all;
    struct part p[2] = {{0}};
    cpu_parts(c->l, c->n, c->back, fast, fast ? CHUNK : 1 << 20, &all);
    cpu_next_part(&all, &p[0]);
    for (bool more = true, odd = false; more; odd = !odd) {
        struct part *now = &p[odd], *next = &p[!odd];
        *next = *now;
        more = cpu_next_part(&all, next);
        multiply_part(c, now, fetch ? next : NULL);
        for (int i = 0; after.call && (!more || next->y != now->y) && i < now->v.outs; i++)
            after.call(after.context, now->v.to[i]);
    }
}

void cpu_conv_forward(const struct layer *l, int n, const struct conv_term *term, int terms,
                      float *z, struct after_row after, float *scratch)
{
    bool fast = fast_plan_pays(l, n);
    size_t len = (size_t)l->in_c * (size_t)pad(l->out_c);
    struct conv c = conv_of(l, n, false, z, scratch);
    float *room = scratch + buffers_len(l, fast);
    for (int t = 0; t < terms; t++, room += weight_sums(cpu_kinds(l, fast)) * len) {
        find_weights(l, cpu_kinds(l, fast), term[t].w, len, room, &c.w[t]);
        add_term(&c, term[t].x);
    }
    multiply_all(&c, fast, after);
}

/* wt[tap] (output channel, input channel) from w[tap] (input channel, output channel) */
static void transpose_taps(const struct layer *l, const float *w, float *wt)
{
    ptrdiff_t from = (ptrdiff_t)l->in_c * pad(l->out_c), to = (ptrdiff_t)l->out_c * pad(l->in_c);
    for (int tap = 0; tap < TAPS * TAPS; tap++)
        cpu_transpose(w + tap * from, l->in_c, l->out_c, pad(l->out_c), wt + tap * to,
                      pad(l->in_c));
}

void cpu_conv_dx(const struct layer *l, int n, const struct conv_term *term, int terms, float *dx,
                 float *scratch)
{
    bool fast = fast_plan_pays(l, n);
    size_t len = (size_t)l->out_c * (size_t)pad(l->in_c), taps = TAPS * TAPS * len;
    struct conv c = conv_of(l, n, true, dx, scratch);
    float *room = scratch + buffers_len(l, fast);
    for (int t = 0; t < terms; t++, room += taps + weight_sums(cpu_kinds(l, fast)) * len) {
        transpose_taps(l, term[t].w, room);
        find_weights(l, cpu_kinds(l, fast), room, len, room + taps, &c.w[t]);
        add_term(&c, term[t].x);
    }
    multiply_all(&c, fast, (struct after_row){0});
}

size_t cpu_conv_scratch(const struct layer *l, int n)
{
    bool fast = fast_plan_pays(l, n);
    size_t kinds = (size_t)cpu_kinds(l, fast);
    size_t matrix = (size_t)pad(l->in_c) * (size_t)pad(l->out_c);
    size_t multiply = buffers_len(l, fast) + TERMS_MAX * kinds * kinds * matrix;
    size_t outer = cpu_conv_dw_scratch(l, n);
    return multiply > outer ? multiply : outer;
}
