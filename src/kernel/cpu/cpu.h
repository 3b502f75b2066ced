/* cpu.h - what the files of the tuned CPU kernels share.
 *
 * These sources are compiled once per instruction set (cmake/kernels.cmake):
 * CPU_ISA is its name, CPU_LANES the floats of one vector.  Names that cross files
 * get the instruction set pasted on, so that all of them live in one library.
 *
 * Layout.  Channels are padded to a multiple of 16 with zeros: padded weights,
 * gammas and betas are zero and stay zero through every update, so nothing is ever
 * masked.
 *   an activation of a task  [y][place(x)][image][channel]: pixel-major, so that the
 *                            images of a pixel are rows of one matrix product, and
 *                            columns sorted by x mod 4, so that pixels which are used
 *                            alike (every second, every second pair) follow each other
 *   z, dz inside a layer     the same; sorted by x mod 2 where the stride is 2, but in the
 *                            first layer, whose z lies as its output does
 *   the input of a net       [y of z][image][0 x.. 0][ky][channel]: the three rows that a
 *                            row of z reads, a column of zeros left and right, channels
 *                            not padded; before a dense layer [image][feature] in c,h,w
 *                            order
 *   conv weights             [ky][kx][input channel][output channel], those of the first
 *                            layer [kx][ky] as its input
 *   dense weights            [y][place(x)][input channel][output channel]
 * Only output channels of weights are padded.  Tasks are worked on one after the
 * other; a task of fewer images than its batch allows lies compactly in its slot.
 */
#ifndef CPU_H
#define CPU_H

#include "kernel/kernel.h"

#define CPU_PASTE2(name, isa) name##_##isa
#define CPU_PASTE(name, isa)  CPU_PASTE2(name, isa)
#define CPU_NAME(name)        CPU_PASTE(name, CPU_ISA)

/* ---- vectors ---- */

/* GCC's and clang's vector types; a * b + c becomes one instruction where there is FMA. */
typedef float vf __attribute__((vector_size(4 * CPU_LANES), may_alias));
typedef int32_t vi __attribute__((vector_size(4 * CPU_LANES), may_alias));
typedef float vf_anywhere __attribute__((vector_size(4 * CPU_LANES), may_alias, aligned(4)));

#define INLINE static inline __attribute__((always_inline))
#ifdef __clang__
#define UNROLL      _Pragma("clang loop unroll(full)")
#define UNROLL_BY_4 _Pragma("clang loop unroll_count(4)")
#else
#define UNROLL      _Pragma("GCC unroll 16")
#define UNROLL_BY_4 _Pragma("GCC unroll 4")
#endif

/* Columns of a register tile, in vectors: with 32 registers 4, with 16 registers 2. */
enum { LANES = CPU_LANES, COLS_MAX = CPU_LANES == 16 ? 4 : 2, PAD = 16 };

INLINE vf load(const float *p)
{
    return *(const vf_anywhere *)p;
}

INLINE void store(float *p, vf v)
{
    *(vf_anywhere *)p = v;
}

/* Past the caches, which then need not read first what is overwritten.  p is aligned. */
INLINE void stream(float *p, vf v)
{
#if defined __clang__
    __builtin_nontemporal_store(v, (vf *)p);
#elif defined __AVX512F__
    __builtin_ia32_movntps512(p, v);
#elif defined __AVX__
    __builtin_ia32_movntps256(p, v);
#else
    store(p, v);
#endif
}

INLINE vf where(vi mask, vf v) /* v, or 0 where the mask is off */
{
    return (vf)((vi)v & mask);
}

INLINE vf choose(vi mask, vf yes, vf no)
{
    return (vf)(((vi)yes & mask) | ((vi)no & ~mask));
}

/* ---- layout ---- */

INLINE int pad(int channels)
{
    return (channels + PAD - 1) / PAD * PAD;
}

/* How many of w columns have x % phases == phase, and where in memory they start. */
INLINE int phase_len(int phase, int w, int phases)
{
    return (w - phase + phases - 1) / phases;
}

INLINE int phase_start(int phase, int w, int phases)
{
    int start = 0;
    for (int i = 0; i < phase; i++)
        start += phase_len(i, w, phases);
    return start;
}

INLINE int sorted_place(int x, int w, int phases)
{
    return phase_start(x % phases, w, phases) + x / phases;
}

INLINE int sorted_unplace(int p, int w, int phases)
{
    int phase = 0;
    while (p >= phase_len(phase, w, phases))
        p -= phase_len(phase++, w, phases);
    return p * phases + phase;
}

/* The position of column x in an activation of width w, and its inverse. */
enum { PHASES = 4 };
INLINE int place(int x, int w)
{
    return sorted_place(x, w, PHASES);
}

INLINE int unplace(int p, int w)
{
    return sorted_unplace(p, w, PHASES);
}

/* The first layer of a net reads the input, whose layout is another. */
INLINE bool is_first(const struct layer *l)
{
    return l->offset[TENSOR_WEIGHT] == 0;
}

/* The same for a layer's z. */
INLINE int z_phases(const struct layer *l)
{
    return is_first(l) ? PHASES : PHASES / l->stride;
}

INLINE int z_place(const struct layer *l, int x)
{
    return sorted_place(x, l->conv_w, z_phases(l));
}

INLINE int z_unplace(const struct layer *l, int p)
{
    return sorted_unplace(p, l->conv_w, z_phases(l));
}

INLINE int count_of(const struct batch *b, int task)
{
    return b->count ? b->count[task] : b->n;
}

/* Floats of one image: of a layer's output, of its z, of what it reads. */
INLINE size_t out_len(const struct layer *l)
{
    return (size_t)l->out_h * (size_t)l->out_w * (size_t)pad(l->out_c);
}

INLINE size_t z_len(const struct layer *l)
{
    return l->kind == LAYER_CONV ? (size_t)l->conv_h * (size_t)l->conv_w * (size_t)pad(l->out_c)
                                 : 0;
}

/* The windows of a picture that a row of z reads. */
INLINE size_t input_row(const struct layer *first)
{
    return (size_t)(first->in_w + 2) * 3 * (size_t)first->in_c;
}

INLINE size_t input_len(const struct layer *first)
{
    if (first->kind == LAYER_DENSE)
        return (size_t)pad(first->in_h * first->in_w * first->in_c);
    return (size_t)first->conv_h * input_row(first);
}

INLINE size_t in_len(const struct layer *l)
{
    return is_first(l) ? input_len(l) : (size_t)l->in_h * (size_t)l->in_w * (size_t)pad(l->in_c);
}

/* Statistics of a layer, (STATS, channels) of a task's cache. */
enum {
    STAT_MU, /* mean of z */
    STAT_S,  /* 1 / standard deviation */
    STAT_DY, /* sum of dy */
    STAT_DX, /* sum of dy xh */
    STATS,
    STAT_M1 = STAT_MU, /* of a tangent: mean of Rz */
    STAT_M2 = STAT_S,  /* mean of xh Rz */
};

/* What a pass keeps of a layer for one task.  A tangent cache has no dz, and the first
 * layer none either: its tangent does not need it. */
struct cpu_cache {
    float *out, *dout, *z, *dz, *stat;
};

INLINE bool keeps_dz(const struct layer *l, bool tangent)
{
    return !tangent && !is_first(l);
}

INLINE size_t cache_len(const struct layer *l, const struct batch *b, bool tangent)
{
    size_t image = 2 * out_len(l) + (keeps_dz(l, tangent) ? 2 : 1) * z_len(l);
    return (size_t)b->tasks * ((size_t)b->n * image + STATS * (size_t)pad(l->out_c));
}

INLINE struct cpu_cache cache_of(const struct layer *l, const struct batch *b, const void *cache,
                                 int task, bool tangent)
{
    size_t tasks = (size_t)b->tasks, t = (size_t)task, n = (size_t)b->n;
    size_t out = n * out_len(l), z = n * z_len(l);
    float *p = (float *)cache;
    struct cpu_cache k = {.out = p + t * out, .dout = p + (tasks + t) * out};
    p += 2 * tasks * out;
    k.z = p + t * z;
    k.dz = keeps_dz(l, tangent) ? p + (tasks + t) * z : NULL;
    p += (keeps_dz(l, tangent) ? 2 : 1) * tasks * z;
    k.stat = p + t * STATS * (size_t)pad(l->out_c);
    return k;
}

/* Task t's part of an activation that layer l reads, or NULL. */
INLINE float *input_of(const struct layer *l, const struct batch *b, const void *x, int t)
{
    return x ? (float *)x + (size_t)t * (size_t)b->n * in_len(l) : NULL;
}

INLINE float *tensor_of(const struct layer *l, struct vec v, int task, enum tensor which)
{
    return (float *)v.at + (size_t)task * v.stride + l->offset[which];
}

/* Elements of a tensor in a vector; 0: the layer has no such tensor. */
INLINE size_t tensor_len(const struct layer *l, enum tensor which)
{
    size_t out = (size_t)pad(l->out_c);
    if (which == TENSOR_WEIGHT)
        return (size_t)l->in_c * out *
               (l->kind == LAYER_CONV ? 9 : (size_t)l->in_h * (size_t)l->in_w);
    bool has = which == TENSOR_BIAS || l->kind == LAYER_CONV || (which == TENSOR_BETA && l->odds);
    return has ? out : 0;
}

/* ---- cpu_table.c, cpu_roof.c ---- */

#define cpu_table  CPU_NAME(cpu_table)
#define cpu_usable CPU_NAME(cpu_usable)
#define cpu_roof   CPU_NAME(cpu_roof)
double cpu_roof(double seconds);

/* ---- cpu_gemm.c ---- */

/* With many images a task's activations live in memory, and a core's own prefetching does
 * not see through the order in which products use them.  So products fetch, step by step,
 * what is used next: many lines at once would stop the core instead. */
enum { LINE = 16 }; /* floats of a cache line */

/* Whether `floats` are more than a core's own cache holds: 1 MB on a Zen 4. */
INLINE bool is_large(ptrdiff_t floats)
{
    enum { LARGE = 1 << 18 };
    return floats >= LARGE;
}

/* Whether they are more than will be found again even in the cache that cores share. */
INLINE bool is_huge(ptrdiff_t floats)
{
    enum { HUGE_LEN = 1 << 21 }; /* 8 MB, a quarter of it */
    return floats >= HUGE_LEN;
}

/* y[row][col] = sum over i < starts of sign[i] start[i][row][col]
 *             + sum over i < count, j < k of x[i][row][j] w[i][j][col] */
struct gemm {
    int count, k, starts;
    const float *const *x, *const *w, *const *start; /* start: as y */
    const float *sign;
    float *y;
    ptrdiff_t ldx, ldw, ldy; /* from one row to the next, in floats */
    /* Where the next product reads and writes, or NULL: fetched meanwhile, a line a step. */
    const float *const *next_x, *next_y;
};
#define cpu_gemm CPU_NAME(cpu_gemm)
void cpu_gemm(const struct gemm *g, int rows, int cols);

/* y[row][col] (+)= sum over i < count, j < k[i] of x[i][j][row] d[i][j][col] */
struct outer {
    int count;
    const int *k;
    const float *const *x, *const *d;
    ptrdiff_t ldx, ldd, ldy;
    const float *const *next_x, *const *next_d; /* likewise: both or neither */
};
#define cpu_outer CPU_NAME(cpu_outer)
void cpu_outer(const struct outer *o, int rows, int cols, float *y, bool add);

/* to[col][row] = from[row][col]; rows of `to` are padded with zeros to ldto. */
#define cpu_transpose CPU_NAME(cpu_transpose)
void cpu_transpose(const float *from, int rows, int cols, int ldfrom, float *to, int ldto);

/* ---- cpu_conv.c: 3x3 convolution of one task ---- */

/* A tangent is the sum of two convolutions, so all take up to two terms. */
struct conv_term {
    const float *x, *w; /* forward: x, weights; dx: dz, weights */
};
struct conv_pair {
    const float *x, *dz;
};
struct after_row { /* called when row y of z is complete */
    void (*call)(void *context, int y);
    void *context;
};

#define cpu_conv_forward CPU_NAME(cpu_conv_forward)
#define cpu_conv_dx      CPU_NAME(cpu_conv_dx)
#define cpu_conv_dw      CPU_NAME(cpu_conv_dw)
#define cpu_conv_scratch CPU_NAME(cpu_conv_scratch)
void cpu_conv_forward(const struct layer *l, int n, const struct conv_term *term, int terms,
                      float *z, struct after_row after, float *scratch);
void cpu_conv_dx(const struct layer *l, int n, const struct conv_term *term, int terms, float *dx,
                 float *scratch);
/* dw = the sum over the pairs */
void cpu_conv_dw(const struct layer *l, int n, const struct conv_pair *pair, int pairs, float *dw,
                 float *scratch);
size_t cpu_conv_scratch(const struct layer *l, int n); /* floats */

/* ---- cpu_first.c: the same for the first layer of a net, which has one term ---- */

#define cpu_first_forward CPU_NAME(cpu_first_forward)
#define cpu_first_dw      CPU_NAME(cpu_first_dw)
void cpu_first_forward(const struct layer *l, int n, const struct conv_term *term, float *z,
                       struct after_row after);
/* Whether the first layer's windows are taken by pixel, not by image: from as many images on
 * as a tile of cpu_gemm has rows, about. */
INLINE bool by_pixel(int n)
{
    enum { MANY = 8 };
    return n >= MANY;
}

/* Some pixels of z: rows y..y_end-1, columns x..x_end-1. */
struct pixels {
    int y, y_end, x, x_end;
};
/* dw (+)= what the pixels give; pair.dz is theirs, in the order of x.  Meanwhile fetches the
 * next pixels of z and dout, where `z` is not NULL. */
void cpu_first_dw(const struct layer *l, int n, struct conv_pair pair, struct pixels at, float *dw,
                  bool add, const float *z, const float *dout);

/* ---- cpu_norm.c ---- */

/* A layer's batch norm, ReLU and pooling for one task: n images, the first `stat`
 * of which make the statistics; rows row..row_end-1 of its output, columns col..col_end-1. */
struct norm_view {
    const struct layer *l;
    int n, stat, row, row_end, col, col_end;
    const float *scale, *shift; /* (channels): y = z scale + shift */
};

#define cpu_norm_add_row    CPU_NAME(cpu_norm_add_row)
#define cpu_norm_apply      CPU_NAME(cpu_norm_apply)
#define cpu_norm_grad_sums  CPU_NAME(cpu_norm_grad_sums)
#define cpu_norm_grad       CPU_NAME(cpu_norm_grad)
#define cpu_norm_rapply     CPU_NAME(cpu_norm_rapply)
#define cpu_norm_rgrad_sums CPU_NAME(cpu_norm_rgrad_sums)
#define cpu_norm_rgrad      CPU_NAME(cpu_norm_rgrad)

/* Over the statistics' images of row y, with d = z - from:
 * sum += a, product += a d, where a is rz, or d itself where rz is NULL. */
void cpu_norm_add_row(const struct norm_view *v, int y, const float *z, const float *rz,
                      const float *from, float *sum, float *product);
void cpu_norm_apply(const struct norm_view *v, const float *z, float *out);
/* dy is dout where the unit was on (and the largest of its window), else 0.
 * sum += dy, product += dy (z - mu) */
void cpu_norm_grad_sums(const struct norm_view *v, const float *z, const float *dout,
                        const float *mu, float *sum, float *product);
/* dz = kd dy + kz z + k, the last two only for the statistics' images; as z lies, but the
 * first layer's, which is wanted in pieces, in the order of x from the first pixel of the
 * view on */
void cpu_norm_grad(const struct norm_view *v, const float *z, const float *dout, const float *kd,
                   const float *kz, const float *k, float *dz);
/* rout = kr rz + kz z + k where the unit is on */
void cpu_norm_rapply(const struct norm_view *v, const float *z, const float *rz, const float *kr,
                     const float *kz, const float *k, float *rout);
/* sum += rdy, product += rdy (z - mu) + dy (rz - m1) */
void cpu_norm_rgrad_sums(const struct norm_view *v, const float *z, const float *rz,
                         const float *dout, const float *rdout, const float *mu, const float *m1,
                         float *sum, float *product);
/* rdz = kr rdy + kd dy + krz rz + kz z + k, the last three only for the statistics' images */
struct norm_rgrad {
    const float *kr, *kd, *krz, *kz, *k;
};
void cpu_norm_rgrad(const struct norm_view *v, const float *z, const float *rz, const float *dout,
                    const float *rdout, const struct norm_rgrad *c, float *rdz);

/* ---- cpu_block.c, cpu_dense.c: a layer for one task ---- */

/* One task of a layer: what all four passes are given. */
struct cpu_task {
    const struct layer *l;
    int n, stat, task;
    const float *x, *rx;
    struct vec theta, v;
    struct cpu_cache k, r;
    float *scratch;
};

#define cpu_block_forward          CPU_NAME(cpu_block_forward)
#define cpu_block_backward         CPU_NAME(cpu_block_backward)
#define cpu_block_forward_tangent  CPU_NAME(cpu_block_forward_tangent)
#define cpu_block_backward_tangent CPU_NAME(cpu_block_backward_tangent)
#define cpu_block_scratch          CPU_NAME(cpu_block_scratch)
void cpu_block_forward(const struct cpu_task *t);
void cpu_block_backward(const struct cpu_task *t, float *dx, struct vec grad);
void cpu_block_forward_tangent(const struct cpu_task *t);
void cpu_block_backward_tangent(const struct cpu_task *t, float *rdx, struct vec rgrad);
size_t cpu_block_scratch(const struct layer *l, int n); /* floats */

#define cpu_dense_forward          CPU_NAME(cpu_dense_forward)
#define cpu_dense_backward         CPU_NAME(cpu_dense_backward)
#define cpu_dense_forward_tangent  CPU_NAME(cpu_dense_forward_tangent)
#define cpu_dense_backward_tangent CPU_NAME(cpu_dense_backward_tangent)
#define cpu_dense_scratch          CPU_NAME(cpu_dense_scratch)
void cpu_dense_forward(const struct cpu_task *t);
void cpu_dense_backward(const struct cpu_task *t, float *dx, struct vec grad);
void cpu_dense_forward_tangent(const struct cpu_task *t);
void cpu_dense_backward_tangent(const struct cpu_task *t, float *rdx, struct vec rgrad);
size_t cpu_dense_scratch(const struct layer *l, int n); /* floats */

#endif
