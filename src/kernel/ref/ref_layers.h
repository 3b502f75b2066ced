/* ref_layers.h - conv and dense layers: forward, backward and their tangents. */

/* A pass keeps of a conv layer:
 *   out, dout (n, out_c, out_h, out_w)      z, dy, dz (n, out_c, conv_h, conv_w)
 *   mu, s, c1, c2 (out_c)
 * where dy is the gradient after ReLU and pooling were undone.  The tangent keeps
 * the tangents of the same, with m1 and m2 in the place of mu and s. */
struct ref_cache {
    REAL *out, *dout, *z, *dy, *dz, *mu, *s, *c1, *c2;
};

static size_t conv_len(const struct layer *l)
{
    return l->kind == LAYER_CONV ? (size_t)l->out_c * (size_t)l->conv_h * (size_t)l->conv_w : 0;
}

static size_t ref_cache_bytes(const struct layer *l, const struct batch *b)
{
    size_t images = (size_t)b->n * (2 * out_len(l) + 3 * conv_len(l));
    return (size_t)b->tasks * (images + 4 * (size_t)l->out_c) * sizeof(REAL);
}

static size_t ref_tangent_bytes(const struct layer *l, const struct batch *b)
{
    return ref_cache_bytes(l, b);
}

static size_t ref_scratch_bytes(const struct layer *layers, int n, const struct batch *b)
{
    (void)layers;
    (void)n;
    (void)b;
    return 0;
}

static void *ref_out(const struct layer *l, const struct batch *b, void *cache)
{
    (void)l;
    (void)b;
    return cache;
}

static void *ref_dout(const struct layer *l, const struct batch *b, void *cache)
{
    return (REAL *)cache + (size_t)b->tasks * (size_t)b->n * out_len(l);
}

/* The cache of one task. */
static struct ref_cache cache_of(const struct layer *l, const struct batch *b, const void *cache,
                                 int task)
{
    size_t tasks = (size_t)b->tasks, n = (size_t)b->n, t = (size_t)task, c = (size_t)l->out_c;
    size_t out = n * out_len(l), z = n * conv_len(l);
    REAL *p = (REAL *)cache;
    struct ref_cache at = {.out = p + t * out, .dout = p + tasks * out + t * out};
    p += 2 * tasks * out;
    at.z = p + t * z;
    at.dy = p + tasks * z + t * z;
    at.dz = p + 2 * tasks * z + t * z;
    p += 3 * tasks * z;
    at.mu = p + t * c;
    at.s = p + (tasks + t) * c;
    at.c1 = p + (2 * tasks + t) * c;
    at.c2 = p + (3 * tasks + t) * c;
    return at;
}

static REAL *tensor_at(struct vec v, int task, const struct layer *l, enum tensor which)
{
    return (REAL *)v.at + vec_number(v, task) * v.stride + l->offset[which];
}

static struct channel channel_of(const struct layer *l, int n, struct norm norm)
{
    return (struct channel){.n = n,
                            .stat = norm.stat < n ? norm.stat : n,
                            .pixels = l->conv_h * l->conv_w,
                            .step = conv_len(l)};
}

/* Where an output comes from: the first largest of its window, or itself. */
static size_t source_of(const struct layer *l, const REAL *y, int oy, int ox)
{
    if (!l->pool)
        return (size_t)(oy * l->conv_w + ox);
    size_t best = (size_t)(2 * oy * l->conv_w + 2 * ox);
    for (int k = 1; k < 4; k++) {
        int yy = 2 * oy + k / 2, xx = 2 * ox + k % 2;
        size_t at = (size_t)(yy * l->conv_w + xx);
        if (yy < l->conv_h && xx < l->conv_w && y[at] > y[best])
            best = at;
    }
    return best;
}

static void conv_forward(const struct layer *l, const struct batch *b, struct norm norm, int t,
                         const REAL *x, struct vec theta, struct ref_cache k)
{
    int n = count_of(b, t);
    size_t plane = (size_t)(l->conv_h * l->conv_w), out_plane = (size_t)(l->out_h * l->out_w);
    memset(k.z, 0, (size_t)n * conv_len(l) * sizeof(REAL));
    conv(l, n, x, tensor_at(theta, t, l, TENSOR_WEIGHT), k.z);
    REAL *y = malloc(plane * sizeof *y);
    for (int c = 0; c < l->out_c; c++) {
        struct channel ch = channel_of(l, n, norm);
        if (ch.stat > 0) {
            norm_statistics(&ch, k.z + (size_t)c * plane, l->eps);
        } else {
            ch.mu = tensor_at(theta, t, l, TENSOR_MEAN)[c] - tensor_at(theta, t, l, TENSOR_BIAS)[c];
            ch.s = 1 / sqrt(tensor_at(theta, t, l, TENSOR_VAR)[c] + l->eps);
        }
        k.mu[c] = (REAL)ch.mu;
        k.s[c] = (REAL)ch.s;
        double gamma = tensor_at(theta, t, l, TENSOR_GAMMA)[c],
               beta = tensor_at(theta, t, l, TENSOR_BETA)[c];
        for (int i = 0; i < n; i++) {
            const REAL *z = k.z + (size_t)i * conv_len(l) + (size_t)c * plane;
            for (size_t p = 0; p < plane; p++) {
                double value = gamma * xhat(&ch, z, p) + beta;
                y[p] = value > 0 ? (REAL)value : 0;
            }
            REAL *out = k.out + (size_t)i * out_len(l) + (size_t)c * out_plane;
            for (int oy = 0; oy < l->out_h; oy++)
                for (int ox = 0; ox < l->out_w; ox++)
                    out[oy * l->out_w + ox] = y[source_of(l, y, oy, ox)];
        }
    }
    free(y);
}

/* Spreads a gradient (or takes a tangent) between outputs and the places before
 * ReLU they came from: each channel of each image, through `move`. */
typedef void move_fn(REAL *before, REAL *out);
static void take_tangent(REAL *before, REAL *out)
{
    *out = *before;
}
static void give_gradient(REAL *before, REAL *out)
{
    *before = *out;
}

static void through_relu(const struct layer *l, int n, struct vec theta, int t, struct ref_cache k,
                         REAL *before, REAL *out, move_fn *move)
{
    size_t plane = (size_t)(l->conv_h * l->conv_w), out_plane = (size_t)(l->out_h * l->out_w);
    REAL *y = malloc(plane * sizeof *y);
    for (int i = 0; i < n; i++)
        for (int c = 0; c < l->out_c; c++) {
            struct channel ch = {.mu = k.mu[c], .s = k.s[c]};
            double gamma = tensor_at(theta, t, l, TENSOR_GAMMA)[c],
                   beta = tensor_at(theta, t, l, TENSOR_BETA)[c];
            const REAL *z = k.z + (size_t)i * conv_len(l) + (size_t)c * plane;
            for (size_t p = 0; p < plane; p++)
                y[p] = (REAL)(gamma * xhat(&ch, z, p) + beta);
            for (int oy = 0; oy < l->out_h; oy++)
                for (int ox = 0; ox < l->out_w; ox++) {
                    size_t from = source_of(l, y, oy, ox);
                    REAL *o =
                        out + (size_t)i * out_len(l) + (size_t)c * out_plane + oy * l->out_w + ox;
                    REAL zero = 0;
                    if (y[from] > 0)
                        move(before + (size_t)i * conv_len(l) + (size_t)c * plane + from, o);
                    else
                        move(&zero, o); /* the unit is off */
                }
        }
    free(y);
}

/* (running - this batch's) statistics of z + bias, for the running averages. */
static void running_difference(const struct layer *l, int n, struct vec theta, int t,
                               struct ref_cache k, struct vec grad, int c)
{
    struct channel ch = channel_of(l, n, (struct norm){.stat = n});
    norm_statistics(&ch, k.z + (size_t)c * (size_t)ch.pixels, 0);
    double bias = tensor_at(theta, t, l, TENSOR_BIAS)[c],
           var = ch.s > 0 && isfinite(ch.s) ? 1 / (ch.s * ch.s) : 0;
    tensor_at(grad, t, l, TENSOR_MEAN)[c] =
        (REAL)(tensor_at(theta, t, l, TENSOR_MEAN)[c] - (ch.mu + bias));
    tensor_at(grad, t, l, TENSOR_VAR)[c] = (REAL)(tensor_at(theta, t, l, TENSOR_VAR)[c] - var);
}

static double channel_sum(const struct channel *ch, const REAL *values)
{
    double sum = 0;
    EACH_VALUE(ch, i, at)
    sum += values[at];
    return sum;
}

static void conv_backward(const struct layer *l, const struct batch *b, struct norm norm, int t,
                          const REAL *x, struct vec theta, struct ref_cache k, REAL *dx,
                          struct vec grad)
{
    int n = count_of(b, t);
    size_t plane = (size_t)(l->conv_h * l->conv_w);
    memset(k.dy, 0, (size_t)n * conv_len(l) * sizeof(REAL));
    through_relu(l, n, theta, t, k, k.dy, k.dout, give_gradient);
    for (int c = 0; c < l->out_c; c++) {
        struct channel ch = channel_of(l, n, norm);
        ch.mu = k.mu[c];
        ch.s = k.s[c];
        ch.gamma = tensor_at(theta, t, l, TENSOR_GAMMA)[c];
        double dgamma, dbeta;
        size_t at = (size_t)c * plane;
        norm_backward(&ch, k.z + at, k.dy + at, k.dz + at, &dgamma, &dbeta);
        k.c1[c] = (REAL)ch.c1;
        k.c2[c] = (REAL)ch.c2;
        tensor_at(grad, t, l, TENSOR_GAMMA)[c] = (REAL)dgamma;
        tensor_at(grad, t, l, TENSOR_BETA)[c] = (REAL)dbeta;
        tensor_at(grad, t, l, TENSOR_BIAS)[c] = ch.stat > 0 ? 0 : (REAL)channel_sum(&ch, k.dz + at);
        tensor_at(grad, t, l, TENSOR_MEAN)[c] = tensor_at(grad, t, l, TENSOR_VAR)[c] = 0;
        if (ch.stat == 0 && n > 0)
            running_difference(l, n, theta, t, k, grad, c);
    }
    REAL *dw = tensor_at(grad, t, l, TENSOR_WEIGHT);
    memset(dw, 0, tensor_len(l, TENSOR_WEIGHT) * sizeof(REAL));
    conv_dw(l, n, x, k.dz, dw);
    if (dx) {
        memset(dx, 0, (size_t)n * in_len(l) * sizeof(REAL));
        conv_dx(l, n, k.dz, tensor_at(theta, t, l, TENSOR_WEIGHT), dx);
    }
}

/* Everything backward and tangents know of a channel. */
static struct channel channel_again(const struct layer *l, int n, struct norm norm,
                                    struct vec theta, struct vec v, int t, struct ref_cache k,
                                    struct ref_cache r, int c)
{
    struct channel ch = channel_of(l, n, norm);
    ch.mu = k.mu[c];
    ch.s = k.s[c];
    ch.c1 = k.c1[c];
    ch.c2 = k.c2[c];
    ch.m1 = r.mu[c];
    ch.m2 = r.s[c];
    ch.gamma = tensor_at(theta, t, l, TENSOR_GAMMA)[c];
    ch.rgamma = tensor_at(v, t, l, TENSOR_GAMMA)[c];
    return ch;
}

static void conv_forward_tangent(const struct layer *l, const struct batch *b, struct norm norm,
                                 int t, const REAL *x, const REAL *rx, struct vec theta,
                                 struct vec v, struct ref_cache k, struct ref_cache r)
{
    int n = count_of(b, t);
    size_t plane = (size_t)(l->conv_h * l->conv_w);
    memset(r.z, 0, (size_t)n * conv_len(l) * sizeof(REAL));
    conv(l, n, x, tensor_at(v, t, l, TENSOR_WEIGHT), r.z);
    if (rx)
        conv(l, n, rx, tensor_at(theta, t, l, TENSOR_WEIGHT), r.z);
    for (int c = 0; c < l->out_c; c++) {
        size_t base = (size_t)c * plane;
        struct channel ch = channel_again(l, n, norm, theta, v, t, k, r, c);
        ch.m1 = -tensor_at(v, t, l, TENSOR_BIAS)[c];
        ch.m2 = 0;
        if (ch.stat > 0)
            norm_tangent_means(&ch, k.z + base, r.z + base);
        r.mu[c] = (REAL)ch.m1;
        r.s[c] = (REAL)ch.m2;
        double rbeta = tensor_at(v, t, l, TENSOR_BETA)[c];
        EACH_VALUE(&ch, i, at) /* r.dy holds Ry until the backward tangent needs it */
        r.dy[base + at] = (REAL)(ch.rgamma * xhat(&ch, k.z + base, at) +
                                 ch.gamma * rxhat(&ch, k.z + base, r.z + base, at) + rbeta);
    }
    through_relu(l, n, theta, t, k, r.dy, r.out, take_tangent);
}

static void conv_backward_tangent(const struct layer *l, const struct batch *b, struct norm norm,
                                  int t, const REAL *x, const REAL *rx, struct vec theta,
                                  struct vec v, struct ref_cache k, struct ref_cache r, REAL *rdx,
                                  struct vec rgrad)
{
    int n = count_of(b, t);
    size_t plane = (size_t)(l->conv_h * l->conv_w);
    memset(r.dy, 0, (size_t)n * conv_len(l) * sizeof(REAL));
    through_relu(l, n, theta, t, k, r.dy, r.dout, give_gradient);
    for (int c = 0; c < l->out_c; c++) {
        size_t at = (size_t)c * plane;
        struct channel ch = channel_again(l, n, norm, theta, v, t, k, r, c);
        double rdgamma, rdbeta;
        norm_backward_tangent(&ch, k.z + at, r.z + at, k.dy + at, r.dy + at, r.dz + at, &rdgamma,
                              &rdbeta);
        tensor_at(rgrad, t, l, TENSOR_GAMMA)[c] = (REAL)rdgamma;
        tensor_at(rgrad, t, l, TENSOR_BETA)[c] = (REAL)rdbeta;
        tensor_at(rgrad, t, l, TENSOR_BIAS)[c] =
            ch.stat > 0 ? 0 : (REAL)channel_sum(&ch, r.dz + at);
        tensor_at(rgrad, t, l, TENSOR_MEAN)[c] = tensor_at(rgrad, t, l, TENSOR_VAR)[c] = 0;
    }
    REAL *rdw = tensor_at(rgrad, t, l, TENSOR_WEIGHT);
    memset(rdw, 0, tensor_len(l, TENSOR_WEIGHT) * sizeof(REAL));
    conv_dw(l, n, x, r.dz, rdw);
    if (rx)
        conv_dw(l, n, rx, k.dz, rdw);
    if (rdx) {
        memset(rdx, 0, (size_t)n * in_len(l) * sizeof(REAL));
        conv_dx(l, n, r.dz, tensor_at(theta, t, l, TENSOR_WEIGHT), rdx);
        conv_dx(l, n, k.dz, tensor_at(v, t, l, TENSOR_WEIGHT), rdx);
    }
}

/* out (n, out_c) += x (n, in) w^T, for one task */
static void matmul_xwt(int n, size_t in, int out_c, const REAL *x, const REAL *w, REAL *out)
{
    for (int i = 0; i < n; i++)
        for (int o = 0; o < out_c; o++) {
            double sum = 0;
            for (size_t j = 0; j < in; j++)
                sum += (double)x[(size_t)i * in + j] * w[(size_t)o * in + j];
            out[i * out_c + o] += (REAL)sum;
        }
}

/* dx (n, in) += dy (n, out_c) w */
static void matmul_dyw(int n, size_t in, int out_c, const REAL *dy, const REAL *w, REAL *dx)
{
    for (int i = 0; i < n; i++)
        for (size_t j = 0; j < in; j++) {
            double sum = 0;
            for (int o = 0; o < out_c; o++)
                sum += (double)dy[i * out_c + o] * w[(size_t)o * in + j];
            dx[(size_t)i * in + j] += (REAL)sum;
        }
}

/* dw (out_c, in) += dy^T x */
static void matmul_dytx(int n, size_t in, int out_c, const REAL *dy, const REAL *x, REAL *dw)
{
    for (int o = 0; o < out_c; o++)
        for (size_t j = 0; j < in; j++) {
            double sum = 0;
            for (int i = 0; i < n; i++)
                sum += (double)dy[i * out_c + o] * x[(size_t)i * in + j];
            dw[(size_t)o * in + j] += (REAL)sum;
        }
}

/* The gradient of a dense layer's output where its unit was on; elsewhere 0. */
static void mask_off_units(const struct layer *l, int n, const REAL *out, REAL *gradient)
{
    for (int i = 0; l->relu && i < n * l->out_c; i++)
        if (!(out[i] > 0))
            gradient[i] = 0;
}

static void add_bias(int n, int c, const REAL *bias, REAL *out)
{
    for (int i = 0; i < n * c; i++)
        out[i] += bias[i % c];
}

static void sum_rows(int n, int c, const REAL *rows, REAL *sums)
{
    for (int o = 0; o < c; o++) {
        double sum = 0;
        for (int i = 0; i < n; i++)
            sum += rows[i * c + o];
        sums[o] = (REAL)sum;
    }
}

static void dense_forward(const struct layer *l, int n, int t, const REAL *x, struct vec theta,
                          struct ref_cache k)
{
    memset(k.out, 0, (size_t)n * out_len(l) * sizeof(REAL));
    matmul_xwt(n, in_len(l), l->out_c, x, tensor_at(theta, t, l, TENSOR_WEIGHT), k.out);
    add_bias(n, l->out_c, tensor_at(theta, t, l, TENSOR_BIAS), k.out);
    for (int i = 0; l->relu && i < n * l->out_c; i++)
        if (!(k.out[i] > 0))
            k.out[i] = 0;
}

static void dense_backward(const struct layer *l, int n, int t, const REAL *x, struct vec theta,
                           struct ref_cache k, REAL *dx, struct vec grad)
{
    REAL *dw = tensor_at(grad, t, l, TENSOR_WEIGHT);
    mask_off_units(l, n, k.out, k.dout);
    memset(dw, 0, tensor_len(l, TENSOR_WEIGHT) * sizeof(REAL));
    matmul_dytx(n, in_len(l), l->out_c, k.dout, x, dw);
    sum_rows(n, l->out_c, k.dout, tensor_at(grad, t, l, TENSOR_BIAS));
    if (dx) {
        memset(dx, 0, (size_t)n * in_len(l) * sizeof(REAL));
        matmul_dyw(n, in_len(l), l->out_c, k.dout, tensor_at(theta, t, l, TENSOR_WEIGHT), dx);
    }
}

static void dense_forward_tangent(const struct layer *l, int n, int t, const REAL *x,
                                  const REAL *rx, struct vec theta, struct vec v,
                                  struct ref_cache k, struct ref_cache r)
{
    memset(r.out, 0, (size_t)n * out_len(l) * sizeof(REAL));
    matmul_xwt(n, in_len(l), l->out_c, x, tensor_at(v, t, l, TENSOR_WEIGHT), r.out);
    if (rx)
        matmul_xwt(n, in_len(l), l->out_c, rx, tensor_at(theta, t, l, TENSOR_WEIGHT), r.out);
    add_bias(n, l->out_c, tensor_at(v, t, l, TENSOR_BIAS), r.out);
    mask_off_units(l, n, k.out, r.out);
}

static void dense_backward_tangent(const struct layer *l, int n, int t, const REAL *x,
                                   const REAL *rx, struct vec theta, struct vec v,
                                   struct ref_cache k, struct ref_cache r, REAL *rdx,
                                   struct vec rgrad)
{
    REAL *rdw = tensor_at(rgrad, t, l, TENSOR_WEIGHT);
    mask_off_units(l, n, k.out, r.dout);
    memset(rdw, 0, tensor_len(l, TENSOR_WEIGHT) * sizeof(REAL));
    matmul_dytx(n, in_len(l), l->out_c, r.dout, x, rdw);
    if (rx)
        matmul_dytx(n, in_len(l), l->out_c, k.dout, rx, rdw);
    sum_rows(n, l->out_c, r.dout, tensor_at(rgrad, t, l, TENSOR_BIAS));
    if (rdx) {
        memset(rdx, 0, (size_t)n * in_len(l) * sizeof(REAL));
        matmul_dyw(n, in_len(l), l->out_c, r.dout, tensor_at(theta, t, l, TENSOR_WEIGHT), rdx);
        matmul_dyw(n, in_len(l), l->out_c, k.dout, tensor_at(v, t, l, TENSOR_WEIGHT), rdx);
    }
}

/* Task t's part of an activation, or NULL. */
static REAL *input_of(const struct layer *l, const struct batch *b, const void *x, int t)
{
    return x ? (REAL *)x + (size_t)t * (size_t)b->n * in_len(l) : NULL;
}

static void ref_forward(struct device *d, const struct layer *l, const struct batch *b,
                        struct norm norm, const void *x, struct vec theta, void *cache,
                        void *scratch)
{
    (void)d;
    (void)scratch;
    for (int t = 0; t < b->tasks; t++) {
        struct ref_cache k = cache_of(l, b, cache, t);
        if (l->kind == LAYER_CONV)
            conv_forward(l, b, norm, t, input_of(l, b, x, t), theta, k);
        else
            dense_forward(l, count_of(b, t), t, input_of(l, b, x, t), theta, k);
    }
}

static void ref_backward(struct device *d, const struct layer *l, const struct batch *b,
                         struct norm norm, const void *x, struct vec theta, void *cache, void *dx,
                         struct vec grad, void *scratch)
{
    (void)d;
    (void)scratch;
    for (int t = 0; t < b->tasks; t++) {
        struct ref_cache k = cache_of(l, b, cache, t);
        const REAL *xt = input_of(l, b, x, t);
        if (l->kind == LAYER_CONV)
            conv_backward(l, b, norm, t, xt, theta, k, input_of(l, b, dx, t), grad);
        else
            dense_backward(l, count_of(b, t), t, xt, theta, k, input_of(l, b, dx, t), grad);
    }
}

static void ref_forward_tangent(struct device *d, const struct layer *l, const struct batch *b,
                                struct norm norm, const void *x, const void *rx, struct vec theta,
                                struct vec v, const void *cache, void *tangent, void *scratch)
{
    (void)d;
    (void)scratch;
    for (int t = 0; t < b->tasks; t++) {
        struct ref_cache k = cache_of(l, b, cache, t), r = cache_of(l, b, tangent, t);
        const REAL *xt = input_of(l, b, x, t), *rxt = input_of(l, b, rx, t);
        if (l->kind == LAYER_CONV)
            conv_forward_tangent(l, b, norm, t, xt, rxt, theta, v, k, r);
        else
            dense_forward_tangent(l, count_of(b, t), t, xt, rxt, theta, v, k, r);
    }
}

static void ref_backward_tangent(struct device *d, const struct layer *l, const struct batch *b,
                                 struct norm norm, const void *x, const void *rx, struct vec theta,
                                 struct vec v, const void *cache, void *tangent, void *rdx,
                                 struct vec rgrad, void *scratch)
{
    (void)d;
    (void)scratch;
    for (int t = 0; t < b->tasks; t++) {
        struct ref_cache k = cache_of(l, b, cache, t), r = cache_of(l, b, tangent, t);
        const REAL *xt = input_of(l, b, x, t), *rxt = input_of(l, b, rx, t);
        REAL *rdxt = input_of(l, b, rdx, t);
        if (l->kind == LAYER_CONV)
            conv_backward_tangent(l, b, norm, t, xt, rxt, theta, v, k, r, rdxt, rgrad);
        else
            dense_backward_tangent(l, count_of(b, t), t, xt, rxt, theta, v, k, r, rdxt, rgrad);
    }
}
