/* cpu_block.c - a conv layer of one task: convolution, batch norm, ReLU and pooling,
 * forward, backward and their tangents.
 *
 * With xh = s (z - mu), M the values that make a statistic, c1 = sum dy / M, c2 = sum
 * dy xh / M, m1 = mean Rz, m2 = mean xh Rz (ref_norm.h has the derivation):
 *   dz  = gamma s (dy - c1 - xh c2)
 *   Rxh = s (Rz - m1 - xh m2)
 *   Rdz = (Rgamma s - gamma s^2 m2) (dy - c1 - xh c2)
 *         + gamma s (Rdy - Rc1 - Rxh c2 - xh Rc2)
 * Here they are multiplied out into constants of a channel for cpu_norm.c.
 */
#include "cpu.h"

#include <math.h>
#include <string.h>

/* Scratch: per-channel arrays, dz where it is not kept, then what the convolution needs. */
struct work {
    float *scale, *shift, *origin, *sum, *product, *k[4];
    float *dz, *conv;
};
enum { CHANNEL_ARRAYS = 9 };

/* The first layer's dz is made and used some pixels of a row at a time, or some rows, in
 * cache. */
struct piece {
    int rows, cols; /* of the output */
};
enum { PIECE = 1 << 15 /* floats, or one row */ };

static struct piece piece_of(const struct layer *l, int n)
{
    int pixel = n * pad(l->out_c), row = (l->pool ? 2 : 1) * l->conv_w * pixel;
    if (by_pixel(n) && !l->pool)
        return (struct piece){1, (PIECE / 2 + pixel - 1) / pixel};
    return (struct piece){row < PIECE ? PIECE / row : 1, l->out_w};
}

static size_t dz_floats(const struct layer *l, int n)
{
    size_t row = (size_t)((l->pool ? 2 : 1) * l->conv_w * n * pad(l->out_c));
    return !is_first(l) ? (size_t)n * z_len(l) : row > PIECE ? row : PIECE;
}

size_t cpu_block_scratch(const struct layer *l, int n)
{
    size_t conv = is_first(l) ? 0 : cpu_conv_scratch(l, n);
    return CHANNEL_ARRAYS * (size_t)pad(l->out_c) + dz_floats(l, n) + conv;
}

static struct work work_of(const struct cpu_task *t)
{
    size_t c = (size_t)pad(t->l->out_c);
    float *p = t->scratch;
    struct work w = {
        .scale = p, .shift = p + c, .origin = p + 2 * c, .sum = p + 3 * c, .product = p + 4 * c};
    for (size_t i = 0; i < 4; i++)
        w.k[i] = p + (5 + i) * c;
    w.dz = p + CHANNEL_ARRAYS * c;
    w.conv = w.dz + dz_floats(t->l, t->n);
    return w;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

static float *statistic(const struct cpu_task *t, const struct cpu_cache *k, int which)
{
    return k->stat + (size_t)which * (size_t)pad(t->l->out_c);
}

/* 1 / the number of values that make a statistic; 0 where none do. */
static float one_over_m(const struct cpu_task *t)
{
    return t->stat > 0 ? 1 / ((float)t->stat * (float)(t->l->conv_h * t->l->conv_w)) : 0;
}

/* y = scale z + shift, from the statistics in the cache. */
static struct norm_view view_of(const struct cpu_task *t, struct work *w)
{
    const float *mu = statistic(t, &t->k, STAT_MU), *s = statistic(t, &t->k, STAT_S);
    const float *gamma = tensor_of(t->l, t->theta, t->task, TENSOR_GAMMA);
    const float *beta = tensor_of(t->l, t->theta, t->task, TENSOR_BETA);
    for (int c = 0; c < pad(t->l->out_c); c++) {
        w->scale[c] = gamma[c] * s[c];
        w->shift[c] = beta[c] - mu[c] * w->scale[c];
    }
    return (struct norm_view){t->l, t->n,        t->stat,  0,       t->l->out_h,
                              0,    t->l->out_w, w->scale, w->shift};
}

/* ---- forward ---- */

/* Sums over the rows of z (and Rz) as the convolution completes them. */
struct sums {
    struct norm_view view;
    const float *z, *rz;
    struct work *w;
    const float *from; /* NULL: the first value of each channel, so that the sum of squares
                          does not cancel where the mean is large */
};

static void add_row(void *context, int y)
{
    struct sums *s = context;
    if (y == 0 && !s->from)
        s->from = memcpy(s->w->origin, s->z, (size_t)pad(s->view.l->out_c) * sizeof(float));
    cpu_norm_add_row(&s->view, y, s->z, s->rz, s->from, s->w->sum, s->w->product);
}

static void clear_sums(const struct cpu_task *t, struct work *w)
{
    memset(w->sum, 0, (size_t)pad(t->l->out_c) * sizeof(float));
    memset(w->product, 0, (size_t)pad(t->l->out_c) * sizeof(float));
}

/* Mean and variance of a channel from the sums about its origin. */
struct moments {
    float mean, var;
};

static struct moments moments_of(const struct work *w, int c, float over_m)
{
    float d = w->sum[c] * over_m, var = w->product[c] * over_m - d * d;
    return (struct moments){w->origin[c] + d, var > 0 ? var : 0};
}

static void find_statistics(const struct cpu_task *t, const struct work *w)
{
    float *mu = statistic(t, &t->k, STAT_MU), *s = statistic(t, &t->k, STAT_S);
    const float *mean = tensor_of(t->l, t->theta, t->task, TENSOR_MEAN);
    const float *var = tensor_of(t->l, t->theta, t->task, TENSOR_VAR);
    const float *bias = tensor_of(t->l, t->theta, t->task, TENSOR_BIAS);
    float over_m = one_over_m(t), eps = (float)t->l->eps;
    for (int c = 0; c < pad(t->l->out_c); c++) {
        struct moments m = {mean[c] - bias[c], var[c]};
        if (t->stat > 0)
            m = moments_of(w, c, over_m);
        mu[c] = m.mean;
        s[c] = 1 / sqrtf(m.var + eps);
    }
}

static void conv_forward(const struct cpu_task *t, struct work *w, const struct conv_term *term,
                         int terms, float *z, struct sums *sums)
{
    struct after_row after = {t->stat > 0 ? add_row : NULL, sums};
    clear_sums(t, w);
    if (is_first(t->l))
        cpu_first_forward(t->l, t->n, term, z, after);
    else
        cpu_conv_forward(t->l, t->n, term, terms, z, after, w->conv);
}

void cpu_block_forward(const struct cpu_task *t)
{
    struct work w = work_of(t);
    struct conv_term term = {t->x, tensor_of(t->l, t->theta, t->task, TENSOR_WEIGHT)};
    struct sums sums = {.view = {.l = t->l, .n = t->n, .stat = t->stat}, .z = t->k.z, .w = &w};
    conv_forward(t, &w, &term, 1, t->k.z, &sums);
    find_statistics(t, &w);
    struct norm_view view = view_of(t, &w);
    cpu_norm_apply(&view, t->k.z, t->k.out);
}

void cpu_block_forward_tangent(const struct cpu_task *t)
{
    struct work w = work_of(t);
    struct norm_view view = view_of(t, &w);
    const float *mu = statistic(t, &t->k, STAT_MU), *s = statistic(t, &t->k, STAT_S);
    struct conv_term term[2] = {{t->x, tensor_of(t->l, t->v, t->task, TENSOR_WEIGHT)},
                                {t->rx, tensor_of(t->l, t->theta, t->task, TENSOR_WEIGHT)}};
    struct sums sums = {view, t->k.z, t->r.z, &w, mu};
    conv_forward(t, &w, term, t->rx ? 2 : 1, t->r.z, &sums);
    const float *rgamma = tensor_of(t->l, t->v, t->task, TENSOR_GAMMA);
    const float *rbeta = tensor_of(t->l, t->v, t->task, TENSOR_BETA);
    const float *rbias = tensor_of(t->l, t->v, t->task, TENSOR_BIAS);
    float *m1 = statistic(t, &t->r, STAT_M1), *m2 = statistic(t, &t->r, STAT_M2);
    float *kr = w.k[0], *kz = w.k[1], *k = w.k[2], over_m = one_over_m(t);
    for (int c = 0; c < pad(t->l->out_c); c++) {
        m1[c] = t->stat > 0 ? w.sum[c] * over_m : -rbias[c];
        m2[c] = s[c] * w.product[c] * over_m;
        kr[c] = w.scale[c];
        kz[c] = s[c] * (rgamma[c] - w.scale[c] * m2[c]);
        k[c] = rbeta[c] - w.scale[c] * m1[c] - kz[c] * mu[c];
    }
    cpu_norm_rapply(&view, t->k.z, t->r.z, kr, kz, k, t->r.out);
}

/* ---- backward ---- */

/* MEAN and VAR of grad: (running - this batch's) of z + bias, or zeros. */
static void running_difference(const struct cpu_task *t, struct work *w, struct vec grad)
{
    size_t bytes = (size_t)pad(t->l->out_c) * sizeof(float);
    float *dmean = tensor_of(t->l, grad, t->task, TENSOR_MEAN);
    float *dvar = tensor_of(t->l, grad, t->task, TENSOR_VAR);
    memset(dmean, 0, bytes);
    memset(dvar, 0, bytes);
    if (t->stat > 0)
        return;
    const float *mean = tensor_of(t->l, t->theta, t->task, TENSOR_MEAN);
    const float *var = tensor_of(t->l, t->theta, t->task, TENSOR_VAR);
    const float *bias = tensor_of(t->l, t->theta, t->task, TENSOR_BIAS);
    struct sums sums = {.view = {.l = t->l, .n = t->n, .stat = t->n}, .z = t->k.z, .w = w};
    clear_sums(t, w);
    for (int y = 0; y < t->l->conv_h; y++)
        add_row(&sums, y);
    for (int c = 0; c < pad(t->l->out_c); c++) {
        float over_m = 1 / ((float)t->n * (float)(t->l->conv_h * t->l->conv_w));
        struct moments m = moments_of(w, c, over_m);
        dmean[c] = mean[c] - (m.mean + bias[c]);
        dvar[c] = var[c] - m.var;
    }
}

/* The gradients of gamma, beta and bias, and the constants of dz. */
static void norm_gradients(const struct cpu_task *t, struct work *w, struct vec grad)
{
    const float *mu = statistic(t, &t->k, STAT_MU), *s = statistic(t, &t->k, STAT_S);
    float *dgamma = tensor_of(t->l, grad, t->task, TENSOR_GAMMA);
    float *dbeta = tensor_of(t->l, grad, t->task, TENSOR_BETA);
    float *dbias = tensor_of(t->l, grad, t->task, TENSOR_BIAS);
    float *sum_dy = statistic(t, &t->k, STAT_DY), *sum_dx = statistic(t, &t->k, STAT_DX);
    float *kz = w->k[0], *k = w->k[1], over_m = one_over_m(t);
    for (int c = 0; c < pad(t->l->out_c); c++) {
        sum_dy[c] = dbeta[c] = w->sum[c];
        sum_dx[c] = dgamma[c] = w->product[c] * s[c];
        dbias[c] = t->stat > 0 ? 0 : w->scale[c] * w->sum[c];
        kz[c] = -w->scale[c] * (sum_dx[c] * over_m) * s[c];
        k[c] = -w->scale[c] * (sum_dy[c] * over_m) - kz[c] * mu[c];
    }
}

/* What makes dz, or with `constants` Rdz, of the rows of a view. */
static void make_dz(const struct cpu_task *t, const struct work *w, const struct norm_view *view,
                    const struct norm_rgrad *constants, float *dz)
{
    if (constants)
        cpu_norm_rgrad(view, t->k.z, t->r.z, t->k.dout, t->r.dout, constants, dz);
    else
        cpu_norm_grad(view, t->k.z, t->k.dout, w->scale, w->k[0], w->k[1], dz);
}

/* The weights' gradient of the first layer, whose dz nobody else needs. */
static void first_gradient(const struct cpu_task *t, const struct work *w, struct norm_view view,
                           const struct norm_rgrad *constants, struct vec grad)
{
    const struct layer *l = t->l;
    struct piece piece = piece_of(l, t->n);
    float *dw = tensor_of(l, grad, t->task, TENSOR_WEIGHT);
    int step = l->pool ? 2 : 1;
    for (view.row = 0; view.row < l->out_h; view.row = view.row_end)
        for (view.col = 0; view.col < l->out_w; view.col = view.col_end) {
            view.row_end = least(view.row + piece.rows, l->out_h);
            view.col_end = least(view.col + piece.cols, l->out_w);
            make_dz(t, w, &view, constants, w->dz);
            struct pixels at = {view.row * step, least(view.row_end * step, l->conv_h), view.col,
                                l->pool ? l->conv_w : view.col_end};
            cpu_first_dw(l, t->n, (struct conv_pair){t->x, w->dz}, at, dw, view.row + view.col > 0,
                         l->pool ? NULL : t->k.z, t->k.dout);
        }
}

void cpu_block_backward(const struct cpu_task *t, float *dx, struct vec grad)
{
    struct work w = work_of(t);
    struct norm_view view = view_of(t, &w);
    clear_sums(t, &w);
    cpu_norm_grad_sums(&view, t->k.z, t->k.dout, statistic(t, &t->k, STAT_MU), w.sum, w.product);
    norm_gradients(t, &w, grad);
    running_difference(t, &w, grad);
    if (is_first(t->l)) {
        first_gradient(t, &w, view, NULL, grad);
        return;
    }
    make_dz(t, &w, &view, NULL, t->k.dz);
    struct conv_pair pair = {t->x, t->k.dz};
    struct conv_term term = {t->k.dz, tensor_of(t->l, t->theta, t->task, TENSOR_WEIGHT)};
    cpu_conv_dw(t->l, t->n, &pair, 1, tensor_of(t->l, grad, t->task, TENSOR_WEIGHT), w.conv);
    if (dx)
        cpu_conv_dx(t->l, t->n, &term, 1, dx, w.conv);
}

/* The tangents of norm_gradients, and the constants of Rdz. */
static struct norm_rgrad norm_rgradients(const struct cpu_task *t, struct work *w, struct vec rgrad)
{
    const float *mu = statistic(t, &t->k, STAT_MU), *s = statistic(t, &t->k, STAT_S);
    const float *sum_dy = statistic(t, &t->k, STAT_DY), *sum_dx = statistic(t, &t->k, STAT_DX);
    const float *m1 = statistic(t, &t->r, STAT_M1), *m2 = statistic(t, &t->r, STAT_M2);
    const float *rgamma = tensor_of(t->l, t->v, t->task, TENSOR_GAMMA);
    float *rdgamma = tensor_of(t->l, rgrad, t->task, TENSOR_GAMMA);
    float *rdbeta = tensor_of(t->l, rgrad, t->task, TENSOR_BETA);
    float *rdbias = tensor_of(t->l, rgrad, t->task, TENSOR_BIAS);
    float *kd = w->k[0], *krz = w->k[1], *kz = w->k[2], *k = w->k[3], over_m = one_over_m(t);
    for (int c = 0; c < pad(t->l->out_c); c++) {
        float gs = w->scale[c], rgs = s[c] * (rgamma[c] - gs * m2[c]); /* gamma s, its tangent */
        rdbeta[c] = w->sum[c];
        rdgamma[c] = s[c] * (w->product[c] - m2[c] * sum_dx[c]);
        rdbias[c] = t->stat > 0 ? 0 : rgs * sum_dy[c] + gs * w->sum[c];
        float c1 = sum_dy[c] * over_m, c2 = sum_dx[c] * over_m;
        float rc1 = rdbeta[c] * over_m, rc2 = rdgamma[c] * over_m;
        float of_xh = gs * c2 * s[c] * m2[c] - rgs * c2 - gs * rc2;
        kd[c] = rgs;
        krz[c] = -gs * c2 * s[c];
        kz[c] = of_xh * s[c];
        k[c] = -rgs * c1 - gs * rc1 - krz[c] * m1[c] - kz[c] * mu[c];
    }
    return (struct norm_rgrad){w->scale, kd, krz, kz, k};
}

void cpu_block_backward_tangent(const struct cpu_task *t, float *rdx, struct vec rgrad)
{
    struct work w = work_of(t);
    struct norm_view view = view_of(t, &w);
    size_t bytes = (size_t)pad(t->l->out_c) * sizeof(float);
    clear_sums(t, &w);
    cpu_norm_rgrad_sums(&view, t->k.z, t->r.z, t->k.dout, t->r.dout, statistic(t, &t->k, STAT_MU),
                        statistic(t, &t->r, STAT_M1), w.sum, w.product);
    struct norm_rgrad constants = norm_rgradients(t, &w, rgrad);
    memset(tensor_of(t->l, rgrad, t->task, TENSOR_MEAN), 0, bytes);
    memset(tensor_of(t->l, rgrad, t->task, TENSOR_VAR), 0, bytes);
    if (is_first(t->l)) {
        first_gradient(t, &w, view, &constants, rgrad);
        return;
    }
    make_dz(t, &w, &view, &constants, w.dz);
    struct conv_pair pair[2] = {{t->x, w.dz}, {t->rx, t->k.dz}};
    struct conv_term term[2] = {{w.dz, tensor_of(t->l, t->theta, t->task, TENSOR_WEIGHT)},
                                {t->k.dz, tensor_of(t->l, t->v, t->task, TENSOR_WEIGHT)}};
    cpu_conv_dw(t->l, t->n, pair, t->rx ? 2 : 1, tensor_of(t->l, rgrad, t->task, TENSOR_WEIGHT),
                w.conv);
    if (rdx)
        cpu_conv_dx(t->l, t->n, term, 2, rdx, w.conv);
}
