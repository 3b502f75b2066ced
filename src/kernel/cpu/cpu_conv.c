/* cpu_conv.c - 3x3 convolution with padding 1, and its two transposes, as matrix
 * products over the blocks of a plan (cpu_plan.h).
 *
 * A block is a vertical segment times a run of horizontal ones: (pixels x images) rows.
 * Its products are sorted by the outputs they are added to; those of one output are one
 * list for cpu_gemm, so that sums stay in registers, and those of several outputs are
 * made once and added to each.  Taps outside the picture are in no list, so padding
 * costs nothing.  The gradient with respect to x is the same from dz to x with
 * transposed weights.  That with respect to the weights sorts the products by weights.
 */
#include "cpu_plan.h"

#include <string.h>

enum {
    TERMS_MAX = 2,
    CHUNK = 32,    /* rows at a time where sums need buffers, so that those stay in cache */
    PRODUCTS = 18, /* most products of one output: 9 taps of 2 terms */
    BUFFERED = 8,  /* most of them that are sums of pixels */
};

/* Whether the fast plan is faster, as measured on a Zen 4 for 16 to 64 filters: there must
 * be pairs, channels enough that sums of pixels cost little beside their products, and
 * pixels enough to pay for the sums of weights. */
static bool pays(const struct layer *l, int n)
{
    enum { PIXELS = 80, CHANNELS = 16, SIDE = 4 };
    return l->conv_h >= SIDE && l->conv_w >= SIDE && l->in_c >= CHANNELS && l->out_c >= CHANNELS &&
           (int64_t)l->conv_h * l->conv_w * n >= PIXELS;
}

/* ---- sums of rows ---- */

/* to = a + sign b */
static void add2(float *to, const float *a, const float *b, float sign, ptrdiff_t len)
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

/* A plane of pixels, `row` floats from one to the next of a row, w to a row. */
struct plane {
    const float *at;
    ptrdiff_t w, pixel;
};

static const float *pixel_of(const struct plane *p, int y, int x)
{
    return p->at + ((ptrdiff_t)y * p->w + x) * p->pixel;
}

/* What a block reads at a product of points: the plane itself, or a sum left in `buffer`;
 * `len` floats, `skip` into the run. */
static const float *read_product(const struct plane *p, const struct point *v,
                                 const struct point *h, ptrdiff_t skip, ptrdiff_t len,
                                 float *buffer)
{
    const float *a = pixel_of(p, v->a, h->a) + skip;
    if (v->b < 0 && h->b < 0)
        return a;
    if (v->b >= 0 && h->b >= 0) {
        const float *all[4] = {a, pixel_of(p, v->a, h->b) + skip, pixel_of(p, v->b, h->a) + skip,
                               pixel_of(p, v->b, h->b) + skip};
        add4(buffer, all, (float)h->sign, (float)v->sign, len);
    } else if (v->b >= 0) {
        add2(buffer, a, pixel_of(p, v->b, h->a) + skip, (float)v->sign, len);
    } else {
        add2(buffer, a, pixel_of(p, v->a, h->b) + skip, (float)h->sign, len);
    }
    return buffer;
}

/* ---- weights ---- */

/* Matrices (k, ld) by kind of weights, vertical and horizontal. */
struct weights {
    const float *at[KINDS_MAX][KINDS_MAX];
};

static size_t sums_of(int kinds)
{
    return (size_t)(kinds * kinds - TAPS * TAPS);
}

/* to = sum of the taps of a kind */
static void sum_taps(const struct layer *l, int kind, const float *a, const float *b,
                     const float *c, float *to, size_t len)
{
    const float *taps = cpu_kind_taps(l, kind);
    if (taps[1] == 0) {
        add2(to, a, c, 1, (ptrdiff_t)len); /* taps[0] and taps[2] are 1 */
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
    struct plane from[TERMS_MAX];
    struct weights w[TERMS_MAX];
    float *to, *buffer, *shared;
    ptrdiff_t to_w, ldx, ldy;
};

static size_t buffers_len(const struct layer *l)
{
    int widest = l->in_c > l->out_c ? pad(l->in_c) : pad(l->out_c);
    return (size_t)(BUFFERED + SETS * SETS) * CHUNK * (size_t)widest;
}

static struct conv conv_of(const struct layer *l, int n, bool back, float *to, float *buffers)
{
    struct conv c = {.l = l, .n = n, .back = back, .k = back ? l->out_c : l->in_c, .to = to};
    c.ldx = pad(c.k);
    c.ldy = pad(back ? l->in_c : l->out_c);
    c.to_w = back ? l->in_w : l->conv_w;
    c.buffer = buffers;
    c.shared = buffers + BUFFERED * CHUNK * c.ldx;
    return c;
}

static void add_term(struct conv *c, const float *x)
{
    c->from[c->terms++] = (struct plane){x, c->back ? c->l->conv_w : c->l->in_w, c->n * c->ldx};
}

/* Part of a run: rows first..first+rows-1 of its pixels x images. */
struct part {
    const struct segment *v, *h;
    int first, rows;
};

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
                     const struct shared *s, float *y)
{
    const float *x[PRODUCTS], *w[PRODUCTS], *start[SETS * SETS];
    float sign[SETS * SETS], *buffer = c->buffer;
    int count = 0, starts = 0;
    for (int i = 0; s && i < s->count; i++) {
        sign[starts] = set_sign(s->item[i].vset, vset) * set_sign(s->item[i].hset, hset);
        start[starts] = s->item[i].at;
        starts += sign[starts] != 0;
    }
    for (const struct point *v = p->v->point; v < p->v->point + p->v->points; v++)
        for (const struct point *h = p->h->point; h < p->h->point + p->h->points; h++)
            for (int t = 0; v->set == vset && h->set == hset && t < c->terms; t++) {
                x[count] =
                    read_product(&c->from[t], v, h, p->first * c->ldx, p->rows * c->ldx, buffer);
                buffer += x[count] == buffer ? p->rows * c->ldx : 0;
                w[count++] = c->w[t].at[v->kind][h->kind];
            }
    struct gemm g = {.count = count,
                     .k = c->k,
                     .x = x,
                     .w = w,
                     .y = y,
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

static void multiply_shared(const struct conv *c, const struct part *p, struct shared *s)
{
    float *to = c->shared;
    s->count = 0;
    if (p->v->outs == 1 && p->h->outs == 1)
        return;
    for (int vset = 0; vset < SETS; vset++)
        for (int hset = 0; hset < SETS; hset++)
            if ((vset >= BOTH || hset >= BOTH) && multiply(c, p, vset, hset, NULL, to)) {
                s->item[s->count].at = to;
                s->item[s->count].vset = vset;
                s->item[s->count++].hset = hset;
                to += p->rows * c->ldy;
            }
}

static void multiply_part(const struct conv *c, const struct part *p)
{
    struct shared shared;
    multiply_shared(c, p, &shared);
    for (int v = 0; v < p->v->outs; v++)
        for (int h = 0; h < p->h->outs; h++) {
            ptrdiff_t pixel = (ptrdiff_t)p->v->to[v] * c->to_w + p->h->to[h];
            multiply(c, p, v, h, &shared, c->to + (pixel * c->n + p->first) * c->ldy);
        }
}

/* The next part of `left` rows that go in equal parts of at most `most`. */
static int next_rows(int left, int most)
{
    int parts = (left + most - 1) / most;
    return (left + parts - 1) / parts;
}

static void multiply_all(const struct conv *c, bool fast, struct after_row after)
{
    struct axis vertical = cpu_axis(c->l, false, c->back, fast);
    struct runs runs;
    struct segment v;
    cpu_runs(c->l, c->back, fast, &runs);
    for (int y = 0; y < vertical.to; y++) {
        if (!cpu_segment(&vertical, y, &v))
            continue;
        for (const struct segment *h = runs.run; h < runs.run + runs.count; h++)
            for (struct part p = {.v = &v, .h = h}; p.first < h->len * c->n; p.first += p.rows) {
                p.rows = next_rows(h->len * c->n - p.first, fast ? CHUNK : h->len * c->n);
                multiply_part(c, &p);
            }
        for (int i = 0; after.call && i < v.outs; i++)
            after.call(after.context, v.to[i]);
    }
}

void cpu_conv_forward(const struct layer *l, int n, const struct conv_term *term, int terms,
                      float *z, struct after_row after, float *scratch)
{
    bool fast = pays(l, n);
    size_t len = (size_t)l->in_c * (size_t)pad(l->out_c);
    struct conv c = conv_of(l, n, false, z, scratch);
    float *room = scratch + buffers_len(l);
    for (int t = 0; t < terms; t++, room += sums_of(cpu_kinds(l, fast)) * len) {
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
    bool fast = pays(l, n);
    size_t len = (size_t)l->out_c * (size_t)pad(l->in_c), taps = TAPS * TAPS * len;
    struct conv c = conv_of(l, n, true, dx, scratch);
    float *room = scratch + buffers_len(l);
    for (int t = 0; t < terms; t++, room += taps + sums_of(cpu_kinds(l, fast)) * len) {
        transpose_taps(l, term[t].w, room);
        find_weights(l, cpu_kinds(l, fast), room, len, room + taps, &c.w[t]);
        add_term(&c, term[t].x);
    }
    multiply_all(&c, fast, (struct after_row){0});
}

/* ---- dw ---- */

enum {
    LIST = 48,     /* products of one kind before they are multiplied */
    ENOUGH = 160,  /* rows that pay for a tile's way in and out of memory */
    SUMS_MAX = 32, /* sums of pixels of one part: at most 16 of x and 12 of dz */
    SUM_ROWS = 3 * CHUNK * SUMS_MAX,
};

struct list {
    int count, k[LIST];
    const float *x[LIST], *d[LIST];
};

/* Products waiting for cpu_outer, by kind of weights. */
struct pending {
    const struct layer *l;
    int n, kinds, rows, longest; /* rows and longest list since the last multiply_pending */
    struct plane x, dz;
    float *dw[KINDS_MAX][KINDS_MAX];
    bool written[KINDS_MAX][KINDS_MAX];
    struct list list[KINDS_MAX][KINDS_MAX];
    float *sums, *sums_end, *next;
};

static void multiply_pending(struct pending *q)
{
    int ldx = pad(q->l->in_c), ldd = pad(q->l->out_c);
    for (int v = 0; v < q->kinds; v++)
        for (int h = 0; h < q->kinds; h++) {
            struct list *list = &q->list[v][h];
            struct outer o = {list->count, list->k, list->x, list->d, ldx, ldd, ldd};
            if (list->count)
                cpu_outer(&o, q->l->in_c, ldd, q->dw[v][h], q->written[v][h]);
            q->written[v][h] |= list->count > 0;
            list->count = 0;
        }
    q->next = q->sums;
    q->rows = q->longest = 0;
}

/* The sum of dz that a set of outputs stands for, as a point to read. */
static struct point outputs_of(const struct segment *s, int set)
{
    struct point p = {.a = s->to[set == SECOND], .b = -1};
    if (set >= BOTH) {
        p.b = s->to[1];
        p.sign = set == BOTH ? 1 : -1;
    }
    return p;
}

static const float *read_pending(struct pending *q, const struct plane *from, const struct point *v,
                                 const struct point *h, const struct part *p)
{
    ptrdiff_t ld = from->pixel / q->n;
    const float *at = read_product(from, v, h, p->first * ld, p->rows * ld, q->next);
    q->next += at == q->next ? p->rows * ld : 0;
    return at;
}

static void add_part(struct pending *q, const struct part *p)
{
    const float *d[SETS][SETS] = {{0}};
    for (const struct point *v = p->v->point; v < p->v->point + p->v->points; v++)
        for (const struct point *h = p->h->point; h < p->h->point + p->h->points; h++) {
            if (!d[v->set][h->set]) {
                struct point dv = outputs_of(p->v, v->set), dh = outputs_of(p->h, h->set);
                d[v->set][h->set] = read_pending(q, &q->dz, &dv, &dh, p);
            }
            struct list *list = &q->list[v->kind][h->kind];
            list->x[list->count] = read_pending(q, &q->x, v, h, p);
            list->d[list->count] = d[v->set][h->set];
            list->k[list->count++] = p->rows;
            q->longest = list->count > q->longest ? list->count : q->longest;
        }
    q->rows += p->rows;
}

/* Whether a part may not find room; plainly, whether enough wait. */
static bool is_full(const struct pending *q, bool fast, const struct part *p)
{
    enum { OF_A_KIND = 4 }; /* most products of one kind in a part */
    ptrdiff_t widest = q->l->in_c > q->l->out_c ? pad(q->l->in_c) : pad(q->l->out_c);
    bool room = q->longest + OF_A_KIND <= LIST;
    return !room ||
           (fast ? q->sums_end - q->next < SUMS_MAX * p->rows * widest : q->rows >= ENOUGH);
}

static void add_pair(struct pending *q, bool fast, const struct conv_pair *pair)
{
    struct axis vertical = cpu_axis(q->l, false, false, fast);
    struct runs runs;
    struct segment v;
    cpu_runs(q->l, false, fast, &runs);
    q->x = (struct plane){pair->x, q->l->in_w, (ptrdiff_t)q->n * pad(q->l->in_c)};
    q->dz = (struct plane){pair->dz, q->l->conv_w, (ptrdiff_t)q->n * pad(q->l->out_c)};
    for (int y = 0; y < vertical.to; y++) {
        if (!cpu_segment(&vertical, y, &v))
            continue;
        for (const struct segment *h = runs.run; h < runs.run + runs.count; h++)
            for (struct part p = {.v = &v, .h = h}; p.first < h->len * q->n; p.first += p.rows) {
                p.rows = next_rows(h->len * q->n - p.first, fast ? CHUNK : ENOUGH);
                if (is_full(q, fast, &p))
                    multiply_pending(q);
                add_part(q, &p);
            }
    }
    multiply_pending(q);
}

/* to += factor from */
static void add_to(float *to, const float *from, float factor, size_t len)
{
    for (size_t i = 0; factor != 0 && i < len; i += LANES)
        store(to + i, load(to + i) + factor * load(from + i));
}

/* The gradient of a sum of taps is that of each of them: the transpose of find_weights. */
static void share_out(struct pending *q, size_t len)
{
    for (int y = 0; y < q->kinds; y++) /* what the picture is too small for */
        for (int x = 0; x < q->kinds; x++)
            if (!q->written[y][x])
                memset(q->dw[y][x], 0, len * sizeof(float));
    for (int y = TAPS; y < q->kinds; y++)
        for (int x = 0; x < q->kinds; x++)
            for (int k = 0; k < TAPS; k++)
                add_to(q->dw[k][x], q->dw[y][x], cpu_kind_taps(q->l, y)[k], len);
    for (int y = 0; y < TAPS; y++)
        for (int x = TAPS; x < q->kinds; x++)
            for (int k = 0; k < TAPS; k++)
                add_to(q->dw[y][k], q->dw[y][x], cpu_kind_taps(q->l, x)[k], len);
}

void cpu_conv_dw(const struct layer *l, int n, const struct conv_pair *pair, int pairs, float *dw,
                 float *scratch)
{
    bool fast = pays(l, n);
    size_t len = (size_t)l->in_c * (size_t)pad(l->out_c);
    struct pending q = {.l = l, .n = n, .kinds = cpu_kinds(l, fast), .sums = scratch};
    q.next = q.sums;
    q.sums_end = q.sums + SUM_ROWS * (size_t)(l->in_c > l->out_c ? pad(l->in_c) : pad(l->out_c));
    float *room = q.sums_end;
    for (int y = 0; y < q.kinds; y++)
        for (int x = 0; x < q.kinds; x++) {
            bool tap = y < TAPS && x < TAPS;
            q.dw[y][x] = tap ? dw + (size_t)(y * TAPS + x) * len : room;
            room += tap ? 0 : len;
        }
    for (int i = 0; i < pairs; i++)
        add_pair(&q, fast, &pair[i]);
    share_out(&q, len);
}

size_t cpu_conv_scratch(const struct layer *l, int n)
{
    (void)n;
    size_t kinds = (size_t)cpu_kinds(l, pays(l, n)), wide_in = (size_t)pad(l->in_c);
    size_t wide_out = (size_t)pad(l->out_c), widest = wide_in > wide_out ? wide_in : wide_out;
    size_t multiply = buffers_len(l) + TERMS_MAX * kinds * kinds * wide_in * wide_out;
    size_t pending = SUM_ROWS * widest + kinds * kinds * wide_in * wide_out;
    return multiply > pending ? multiply : pending;
}
