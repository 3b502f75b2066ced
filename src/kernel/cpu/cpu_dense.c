/* cpu_dense.c - a dense layer of one task: a convolution whose only window is the whole
 * picture, so its taps are the pixels. */
#include "cpu.h"

#include <assert.h>
#include <string.h>

enum { PIXELS_AT_ONCE = 32 };

/* The input as `pixels` matrices (n, k), rows `ld` apart. */
struct view {
    int pixels, k, ld, out;
};

static struct view view_of(const struct layer *l)
{
    if (is_first(l)) {
        int k = l->in_c * l->in_h * l->in_w;
        return (struct view){1, k, pad(k), pad(l->out_c)};
    }
    return (struct view){l->in_h * l->in_w, l->in_c, pad(l->in_c), pad(l->out_c)};
}

size_t cpu_dense_scratch(const struct layer *l, int n)
{
    (void)n;
    return is_first(l) ? 0 : 2 * (size_t)l->out_c * (size_t)pad(l->in_c); /* transposed weights */
}

/* out (n, out) += x w */
static void add_product(const struct view *v, int n, const float *x, const float *w, float *out)
{
    for (int p = 0; p < v->pixels; p += PIXELS_AT_ONCE) {
        const float *xs[PIXELS_AT_ONCE], *ws[PIXELS_AT_ONCE];
        int count = 0;
        for (; count < PIXELS_AT_ONCE && p + count < v->pixels; count++) {
            xs[count] = x + (ptrdiff_t)(p + count) * n * v->ld;
            ws[count] = w + (ptrdiff_t)(p + count) * v->k * v->out;
        }
        struct gemm g = {.count = count,
                         .k = v->k,
                         .x = xs,
                         .w = ws,
                         .y = out,
                         .ldx = v->ld,
                         .ldw = v->out,
                         .ldy = v->out,
                         .starts = 1,
                         .start = (const float *[]){out},
                         .sign = (float[]){1}};
        cpu_gemm(&g, n, v->out);
    }
}

static void start_with_bias(const struct cpu_task *t, struct vec from, float *out)
{
    const float *bias = tensor_of(t->l, from, t->task, TENSOR_BIAS);
    for (int i = 0; i < t->n; i++)
        memcpy(out + i * pad(t->l->out_c), bias, (size_t)pad(t->l->out_c) * sizeof *out);
}

/* Zeros where the layer's unit was off. */
static void mask_off_units(const struct cpu_task *t, float *values)
{
    for (int i = 0; t->l->relu && i < t->n * pad(t->l->out_c); i++)
        values[i] = t->k.out[i] > 0 ? values[i] : 0;
}

void cpu_dense_forward(const struct cpu_task *t)
{
    struct view v = view_of(t->l);
    start_with_bias(t, t->theta, t->k.out);
    add_product(&v, t->n, t->x, tensor_of(t->l, t->theta, t->task, TENSOR_WEIGHT), t->k.out);
    mask_off_units(t, t->k.out);
}

void cpu_dense_forward_tangent(const struct cpu_task *t)
{
    struct view v = view_of(t->l);
    start_with_bias(t, t->v, t->r.out);
    add_product(&v, t->n, t->x, tensor_of(t->l, t->v, t->task, TENSOR_WEIGHT), t->r.out);
    if (t->rx)
        add_product(&v, t->n, t->rx, tensor_of(t->l, t->theta, t->task, TENSOR_WEIGHT), t->r.out);
    mask_off_units(t, t->r.out);
}

/* Weights and bias of grad: sums over the pairs of x^T d, and the sum of the first d. */
static void weight_gradients(const struct cpu_task *t, const float *const x[2],
                             const float *const d[2], int pairs, struct vec grad)
{
    struct view v = view_of(t->l);
    float *dw = tensor_of(t->l, grad, t->task, TENSOR_WEIGHT);
    float *db = tensor_of(t->l, grad, t->task, TENSOR_BIAS);
    for (int p = 0; p < v.pixels; p++) {
        const float *xs[2] = {x[0] + (ptrdiff_t)p * t->n * v.ld, NULL};
        if (pairs == 2)
            xs[1] = x[1] + (ptrdiff_t)p * t->n * v.ld;
        struct outer o = {pairs, (const int[2]){t->n, t->n}, xs, d, v.ld, v.out, v.out, NULL, NULL};
        cpu_outer(&o, v.k, v.out, dw + (ptrdiff_t)p * v.k * v.out, false);
    }
    memset(db, 0, (size_t)v.out * sizeof *db);
    for (int i = 0; i < t->n; i++)
        for (int c = 0; c < v.out; c++)
            db[c] += d[0][i * v.out + c];
}

/* dx = sum over the terms of d w^T */
static void input_gradient(const struct cpu_task *t, const float *const d[2],
                           const float *const w[2], int terms, float *dx)
{
    struct view v = view_of(t->l);
    assert(!is_first(t->l));
    for (int p = 0; p < v.pixels; p++) {
        float *wt[2] = {t->scratch, t->scratch + (size_t)t->l->out_c * (size_t)v.ld};
        for (int i = 0; i < terms; i++)
            cpu_transpose(w[i] + (ptrdiff_t)p * v.k * v.out, v.k, t->l->out_c, v.out, wt[i], v.ld);
        struct gemm g = {.count = terms,
                         .k = t->l->out_c,
                         .x = d,
                         .w = (const float *const *)wt,
                         .y = dx + (ptrdiff_t)p * t->n * v.ld,
                         .ldx = v.out,
                         .ldw = v.ld,
                         .ldy = v.ld};
        cpu_gemm(&g, t->n, v.ld);
    }
}

void cpu_dense_backward(const struct cpu_task *t, float *dx, struct vec grad)
{
    const float *x[2] = {t->x}, *d[2] = {t->k.dout};
    const float *w[2] = {tensor_of(t->l, t->theta, t->task, TENSOR_WEIGHT)};
    mask_off_units(t, t->k.dout);
    weight_gradients(t, x, d, 1, grad);
    if (dx)
        input_gradient(t, d, w, 1, dx);
}

void cpu_dense_backward_tangent(const struct cpu_task *t, float *rdx, struct vec rgrad)
{
    const float *x[2] = {t->x, t->rx}, *d[2] = {t->r.dout, t->k.dout};
    const float *w[2] = {tensor_of(t->l, t->theta, t->task, TENSOR_WEIGHT),
                         tensor_of(t->l, t->v, t->task, TENSOR_WEIGHT)};
    mask_off_units(t, t->r.dout);
    weight_gradients(t, x, d, t->rx ? 2 : 1, rgrad);
    if (rdx)
        input_gradient(t, d, w, 2, rdx);
}
