/* cpu_conv_dw.c - the gradient of a 3x3 convolution with respect to its weights.
 *
 * The same products as forward (cpu_conv.c), sorted by weights: each kind of weights has
 * a list of what was read and the dz it was multiplied into, which cpu_outer sums up.
 * Products wait until there are enough rows to pay for a tile's way in and out of memory,
 * or until their buffers are full.
 */
#include "cpu_conv.h"

#include <string.h>

enum {
    LIST = 48,     /* products of one kind before they are multiplied */
    ENOUGH = 160,  /* rows */
    SUMS_MAX = 32, /* sums of pixels of one part: at most 16 of x and 12 of dz */
    SUM_ROWS = 3 * CHUNK * SUMS_MAX,
};

struct list {
    int count, k[LIST];
    const float *x[LIST], *d[LIST], *next_x[LIST], *next_d[LIST];
};

/* Products waiting for cpu_outer, by kind of weights. */
struct pending {
    const struct layer *l;
    int n, kinds, rows, longest; /* rows and longest list since the last multiply_pending */
    struct plane x, dz;
    bool fetch; /* what is read after those that wait */
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
            struct outer o = {list->count, list->k, list->x, list->d, ldx, ldd, ldd, NULL, NULL};
            if (q->fetch) {
                o.next_x = list->next_x;
                o.next_d = list->next_d;
            }
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
    const float *at = cpu_read(from, v, h, p->first * from->ld, p->rows * from->ld, q->next);
    q->next += at == q->next ? p->rows * from->ld : 0;
    return at;
}

static void add_part(struct pending *q, const struct part *p, const struct part *next)
{
    const float *d[SETS][SETS] = {{0}};
    for (const struct point *v = p->v.point; v < p->v.point + p->v.points; v++)
        for (const struct point *h = p->h->point; h < p->h->point + p->h->points; h++) {
            if (!d[v->set][h->set]) {
                struct point dv = outputs_of(&p->v, v->set), dh = outputs_of(p->h, h->set);
                d[v->set][h->set] = read_pending(q, &q->dz, &dv, &dh, p);
            }
            struct list *list = &q->list[v->kind][h->kind];
            list->x[list->count] = read_pending(q, &q->x, v, h, p);
            if (q->fetch) {
                list->next_x[list->count] = cpu_next_read(&q->x, p, v, h, next);
                list->next_d[list->count] =
                    q->dz.at + cpu_result_at(&q->dz, v->set == SECOND, h->set == SECOND, next);
            }
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
    ptrdiff_t most = SUMS_MAX * p->rows * (ptrdiff_t)widest(q->l);
    bool room = q->longest + OF_A_KIND <= LIST;
    return !room || (fast ? q->sums_end - q->next < most : q->rows >= ENOUGH);
}

static void add_pair(struct pending *q, bool fast, const struct conv_pair *pair)
{
    const struct layer *l = q->l;
    enum { AHEAD = 3 }; /* parts: about as many as wait */
    struct parts all;
    struct part now = {0}, next = {0};
    cpu_parts(l, q->n, false, fast, fast ? CHUNK : ENOUGH, &all);
    q->x = (struct plane){pair->x, l->in_h, l->in_w, q->n, pad(l->in_c)};
    q->dz = (struct plane){pair->dz, l->conv_h, l->conv_w, q->n, pad(l->out_c)};
    q->fetch = plane_is_large(&q->x);
    for (int i = 0; i < AHEAD; i++)
        cpu_next_part(&all, &next);
    while (cpu_next_part(&all, &now)) {
        cpu_next_part(&all, &next);
        if (is_full(q, fast, &now))
            multiply_pending(q);
        add_part(q, &now, &next);
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

static size_t sums_len(const struct layer *l, bool fast)
{
    return fast ? SUM_ROWS * widest(l) : 0;
}

size_t cpu_conv_dw_scratch(const struct layer *l, int n)
{
    bool fast = fast_plan_pays(l, n);
    size_t matrix = (size_t)l->in_c * (size_t)pad(l->out_c);
    return sums_len(l, fast) + weight_sums(cpu_kinds(l, fast)) * matrix;
}

void cpu_conv_dw(const struct layer *l, int n, const struct conv_pair *pair, int pairs, float *dw,
                 float *scratch)
{
    bool fast = fast_plan_pays(l, n);
    size_t len = (size_t)l->in_c * (size_t)pad(l->out_c);
    struct pending q; /* its lists are long: nothing is cleared in vain */
    q.l = l;
    q.n = n;
    q.kinds = cpu_kinds(l, fast);
    q.rows = q.longest = 0;
    q.next = q.sums = scratch;
    q.sums_end = q.sums + sums_len(l, fast);
    float *room = q.sums_end;
    for (int y = 0; y < q.kinds; y++)
        for (int x = 0; x < q.kinds; x++) {
            bool tap = y < TAPS && x < TAPS;
            q.written[y][x] = false;
            q.list[y][x].count = 0;
            q.dw[y][x] = tap ? dw + (size_t)(y * TAPS + x) * len : room;
            room += tap ? 0 : len;
        }
    for (int i = 0; i < pairs; i++)
        add_pair(&q, fast, &pair[i]);
    share_out(&q, len);
}
