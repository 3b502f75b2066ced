/* cpu_plan.c - segments of a dimension, plain and fast. */
#include "cpu_plan.h"

#include <assert.h>

struct axis cpu_axis(const struct layer *l, bool horizontal, bool back, bool fast)
{
    int x = horizontal ? l->in_w : l->in_h, z = horizontal ? l->conv_w : l->conv_h;
    return (struct axis){back ? z : x, back ? x : z, l->stride, back, fast};
}

/* The pixel that tap k reads for pixel x, or -1. */
static int source_of(const struct axis *a, int x, int k)
{
    int s = a->back ? x + 1 - k : x * a->stride + k - 1;
    if (s < 0 || (a->back && s % a->stride))
        return -1;
    s = a->back ? s / a->stride : s;
    return s < a->from ? s : -1;
}

/* Whether x is the first of a pair all of whose sources are inside. */
static bool starts_pair(const struct axis *a, int x)
{
    if (!a->fast || x < 0)
        return false;
    if (a->stride == 1)
        return x % 2 == 1 && x + 1 < a->to && x + 2 < a->from;
    if (a->back)
        return x % 4 == 1 && x + 2 < a->to && x / 2 + 2 < a->from;
    return x % 2 == 1 && x + 1 < a->to && 2 * x + 3 < a->from;
}

static int pair_distance(const struct axis *a)
{
    return a->stride == 2 && a->back ? 2 : 1;
}

static void add_point(struct segment *s, int from, int minus, int kind, int set)
{
    s->point[s->points++] = (struct point){from, minus, -1, kind, set};
}

static void make_single(const struct axis *a, int x, struct segment *s)
{
    for (int k = 0; k < TAPS; k++)
        if (source_of(a, x, k) >= 0)
            add_point(s, source_of(a, x, k), -1, k, FIRST);
}

enum { SUM = TAPS, HALF_SUM = TAPS, HALF_ALTERNATING };

/* F(2,2) on the odd pixels; forward, the even ones keep their tap. */
static void make_pair_stride_2(const struct axis *a, int x, struct segment *s)
{
    int o = a->back ? x / 2 : 2 * x - 1, step = a->back ? 1 : 2;
    if (!a->back) {
        add_point(s, 2 * x, -1, 1, FIRST);
        add_point(s, 2 * x + 2, -1, 1, SECOND);
    }
    add_point(s, o, o + step, a->back ? 2 : 0, FIRST);
    add_point(s, o + step, -1, SUM, BOTH);
    add_point(s, o + 2 * step, o + step, a->back ? 0 : 2, SECOND);
}

/* F(2,3) */
static void make_pair_stride_1(const struct axis *a, int x, struct segment *s)
{
    add_point(s, x - 1, x + 1, a->back ? 2 : 0, FIRST);
    add_point(s, x, x + 1, HALF_SUM, BOTH);
    s->point[s->points - 1].sign = 1;
    add_point(s, x + 1, x, HALF_ALTERNATING, DIFFERENCE);
    add_point(s, x + 2, x, a->back ? 0 : 2, SECOND);
}

bool cpu_segment(const struct axis *a, int x, struct segment *s)
{
    int distance = pair_distance(a);
    if (starts_pair(a, x - distance))
        return false;
    *s = (struct segment){.len = 1, .outs = 1, .to = {x, x + distance}};
    if (!starts_pair(a, x)) {
        make_single(a, x, s);
        return true;
    }
    s->outs = 2;
    if (a->stride == 2)
        make_pair_stride_2(a, x, s);
    else
        make_pair_stride_1(a, x, s);
    return true;
}

int cpu_kinds(const struct layer *l, bool fast)
{
    return !fast ? TAPS : l->stride == 2 ? TAPS + 1 : TAPS + 2;
}

const float *cpu_kind_taps(const struct layer *l, int kind)
{
    static const float sum[] = {1, 0, 1};
    static const float halves[][TAPS] = {{0.5f, 0.5f, 0.5f}, {0.5f, -0.5f, 0.5f}};
    return l->stride == 2 ? sum : halves[kind - TAPS];
}

/* ---- runs ---- */

static void to_places(const struct layer *l, bool back, struct segment *s)
{
    for (int i = 0; i < s->outs; i++)
        s->to[i] = back ? place(s->to[i], l->in_w) : z_place(l, s->to[i]);
    for (struct point *p = s->point; p < s->point + s->points; p++) {
        p->a = back ? z_place(l, p->a) : place(p->a, l->in_w);
        if (p->b >= 0)
            p->b = back ? z_place(l, p->b) : place(p->b, l->in_w);
    }
}

/* Whether the segment s continues the run r. */
static bool continues(const struct segment *r, const struct segment *s)
{
    bool same = r->outs == s->outs && r->points == s->points;
    for (int i = 0; same && i < r->outs; i++)
        same = r->to[i] + r->len == s->to[i];
    for (int i = 0; same && i < r->points; i++) {
        const struct point *p = &r->point[i], *q = &s->point[i];
        same = p->kind == q->kind && p->set == q->set && p->a + r->len == q->a &&
               (p->b < 0 ? q->b < 0 : p->b + r->len == q->b);
    }
    return same;
}

void cpu_runs(const struct layer *l, bool back, bool fast, struct runs *r)
{
    struct axis a = cpu_axis(l, true, back, fast);
    r->count = 0;
    for (int p = 0; p < a.to; p++) {
        struct segment s, *last = r->count ? &r->run[r->count - 1] : NULL;
        if (!cpu_segment(&a, back ? unplace(p, l->in_w) : z_unplace(l, p), &s))
            continue;
        to_places(l, back, &s);
        if (last && continues(last, &s)) {
            last->len++;
            continue;
        }
        assert(r->count < RUNS_MAX);
        r->run[r->count++] = s;
    }
}

/* ---- parts ---- */

void cpu_parts(const struct layer *l, int n, bool back, bool fast, int most, struct parts *all)
{
    all->vertical = cpu_axis(l, false, back, fast);
    cpu_runs(l, back, fast, &all->runs);
    all->n = n;
    all->most = most;
}

/* The rows of the next part when `left` go in equal parts of at most `most`. */
static int next_rows(int left, int most)
{
    int parts = (left + most - 1) / most;
    return (left + parts - 1) / parts;
}

bool cpu_next_part(const struct parts *all, struct part *p)
{
    const struct segment *h = p->h;
    int first = p->first + p->rows;
    if (h && first == h->len * all->n) {
        h++;
        first = 0;
    }
    if (!h || h == all->runs.run + all->runs.count) {
        while (p->y < all->vertical.to && !cpu_segment(&all->vertical, p->y, &p->v))
            p->y++;
        if (p->y == all->vertical.to)
            return false;
        p->y++;
        h = all->runs.run;
    }
    p->h = h;
    p->first = first;
    p->rows = next_rows(h->len * all->n - first, all->most);
    return true;
}
