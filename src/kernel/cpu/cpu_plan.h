/* cpu_plan.h - one dimension of a convolution, taken apart.
 *
 * A segment is one pixel of the result, or a pair computed together, and the points it
 * is a sum of: pixel a of the source, or a +- b, times a kind of weights, into one of
 * the pair or both.  The two dimensions of a convolution multiply: points, weights and
 * outputs of a block are all products of a vertical and a horizontal one.
 *
 * Plainly, a segment is one pixel and a point is a tap inside the picture.  The fast
 * plan takes pairs, as Winograd's minimal filtering does (Lavin & Gray 2016), and
 * leaves the pixels at the edges single.  Stride 2 splits a filter w0 w1 w2 into w1 for
 * even pixels e and (w0, w2) for odd pixels o, and of the latter F(2,2) needs three
 * products for two results instead of four:
 *   z0 = e0 w1 + (o0 - o1) w0 + o1 (w0 + w2)
 *   z1 = e1 w1 + (o2 - o1) w2 + o1 (w0 + w2)
 * so that a block of 2x2 takes 25 matrix products instead of 36.  The gradient with
 * respect to x is the same on its odd pixels.  Stride 1 is F(2,3): 16 instead of 36.
 */
#ifndef CPU_PLAN_H
#define CPU_PLAN_H

#include "cpu.h"

/* Which of a pair a product is added to. */
enum { FIRST, SECOND, BOTH, DIFFERENCE /* + to the first, - to the second */, SETS };

/* Kinds of weights: the three taps, then sums of them. */
enum { TAPS = 3, KINDS_MAX = 5, POINTS_MAX = 5, RUNS_MAX = 16 };

struct point {
    int a, b, sign; /* reads a + sign b; b -1: a alone */
    int kind, set;
};

/* `len` segments that follow each other in memory: in each coordinate below the next one
 * is one further. */
struct segment {
    int len, outs, to[2], points;
    struct point point[POINTS_MAX];
};

/* Horizontal segments in places of memory, joined into runs where they follow. */
struct runs {
    int count;
    struct segment run[RUNS_MAX];
};

struct axis {
    int from, to, stride;
    bool back; /* from z to x */
    bool fast;
};

#define cpu_axis      CPU_NAME(cpu_axis)
#define cpu_segment   CPU_NAME(cpu_segment)
#define cpu_runs      CPU_NAME(cpu_runs)
#define cpu_kinds     CPU_NAME(cpu_kinds)
#define cpu_kind_taps CPU_NAME(cpu_kind_taps)

struct axis cpu_axis(const struct layer *l, bool horizontal, bool back, bool fast);
/* The segment whose first pixel is x; false: x is the second of a pair. */
bool cpu_segment(const struct axis *a, int x, struct segment *s);
void cpu_runs(const struct layer *l, bool back, bool fast, struct runs *r);
/* How many kinds of weights a plan uses, and what kind >= TAPS is the sum of. */
int cpu_kinds(const struct layer *l, bool fast);
const float *cpu_kind_taps(const struct layer *l, int kind);

/* Rows first..first+rows-1 of the (pixels x images) of a block: a vertical segment times a
 * run of horizontal ones.  All zeros: the one before the first. */
struct part {
    int y, first, rows; /* y: where the next vertical segment is looked for */
    struct segment v;
    const struct segment *h;
};

/* The parts of a convolution, row by row. */
struct parts {
    struct axis vertical;
    struct runs runs;
    int n, most; /* images; rows of a part */
};

#define cpu_parts     CPU_NAME(cpu_parts)
#define cpu_next_part CPU_NAME(cpu_next_part)
void cpu_parts(const struct layer *l, int n, bool back, bool fast, int most, struct parts *all);
/* From p to the part after it; false: there is none, and p stays. */
bool cpu_next_part(const struct parts *all, struct part *p);

/* What a set multiplies a product by before it is added to result `out` of a pair. */
INLINE float set_sign(int set, int out)
{
    return set == BOTH || set == out ? 1 : set == DIFFERENCE ? (out ? -1 : 1) : 0;
}

#endif
