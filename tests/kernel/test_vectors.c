/* test_vectors.c - memory, gathering, vectors and optimiser steps of every kernel
 * set, against the same sums written down here in double. */
#include "pass.h"

/* A dense layer whose weights are the identity shows what gather wrote. */
struct window {
    struct pass p;
    struct spec spec;
};

static void window_open(struct window *w, const struct kernels *k, int h, int width, int c,
                        int tasks, int n)
{
    int size = h * width * c;
    w->spec =
        (struct spec){"window", h, width, c, {0}, false, {size}, tasks, n, {0}, WHOLE, 0, 0, 0, 1};
    pass_open(&w->p, k, &w->spec);
    k->zero(w->p.device, w->p.theta.at, w->p.len * k->elem);
    float *identity = mem_array((size_t)(size * size), sizeof *identity);
    for (int i = 0; i < size; i++)
        identity[i * size + i] = 1;
    k->pack(w->p.device, &w->p.layers[0], TENSOR_WEIGHT, identity, w->p.theta.at);
    free(identity);
}

/* Value i of an image set: bytes count up, floats are generic. */
static double image_value(const struct images *m, int64_t item, int c, int y, int x)
{
    int64_t at = item * m->h * m->w * m->c;
    at += m->planar ? (c * m->h + y) * m->w + x : (y * m->w + x) * m->c + c;
    double value =
        m->type == IMAGES_U8 ? ((const uint8_t *)m->data)[at] : ((const float *)m->data)[at];
    return value * m->scale + m->shift;
}

/* Largest error of the gathered rows (tasks, n, c*h*w), or 1 where a row of index -1 is not 0. */
static double gather_error(const struct images *m, const int32_t *index, int rows, const float *got)
{
    double worst = 0;
    for (int i = 0; i < rows; i++)
        for (int c = 0; c < m->c; c++)
            for (int y = 0; y < m->h; y++)
                for (int x = 0; x < m->w; x++) {
                    double want = index[i] < 0 ? 0 : image_value(m, index[i], c, y, x);
                    worst = fmax(worst, fabs(*got++ - want));
                }
    return worst;
}

enum { ITEMS = 6, GROUPS = 2, N = 3 }; /* images; tasks of N images */
static const int32_t gathered[GROUPS * N] = {4, -1, 0, 5, 5, 2};

static struct images random_images(bool bytes, bool planar, int h, int w, int c)
{
    size_t size = (size_t)(ITEMS * h * w * c);
    uint8_t *as_bytes = mem_alloc(size);
    float *as_floats = mem_array(size, sizeof *as_floats);
    struct rng r = rng_make(3, RNG_TEST, 0, 0);
    for (size_t i = 0; i < size; i++) {
        as_bytes[i] = (uint8_t)rng_u32(&r);
        as_floats[i] = (float)rng_normal(&r);
    }
    free(bytes ? (void *)as_floats : (void *)as_bytes);
    struct images m = {.data = bytes ? (void *)as_bytes : (void *)as_floats,
                       .planar = planar,
                       .h = h,
                       .w = w,
                       .c = c,
                       .items = ITEMS,
                       .scale = -2.0f / 255,
                       .shift = 1};
    m.type = bytes ? IMAGES_U8 : IMAGES_F32;
    return m;
}

/* The first layer's output for gathered images: (GROUPS, N, values), to be freed; NULL: the
 * device has no room. */
static float *output_of(struct pass *p, const struct images *host)
{
    struct images on_device = *host;
    if (p->k->images_open(p->device, &on_device))
        return NULL;
    const struct layer *l = p->layers;
    float *rows = mem_array((size_t)(GROUPS * N * l->out_h * l->out_w * l->out_c), sizeof *rows);
    const int32_t *at = device_copy(p, gathered, sizeof gathered);
    p->k->gather(p->device, l, &p->batch, &on_device, at, p->x);
    pass_forward(p);
    p->k->rows(p->device, l, &p->batch, pass_out(p, 0, false), rows);
    p->k->images_close(p->device, &on_device);
    return rows;
}

static double gather_once(const struct kernels *k, bool bytes, bool planar, int h, int w, int c)
{
    struct images host = random_images(bytes, planar, h, w, c);
    struct window win;
    window_open(&win, k, h, w, c, GROUPS, N);
    float *rows = output_of(&win.p, &host);
    double error = rows ? gather_error(&host, gathered, GROUPS * N, rows) : 1;
    free(rows);
    pass_close(&win.p);
    free((void *)host.data);
    return error;
}

TEST(gather_reads_bytes_and_floats_planar_or_not)
{
    static const int shapes[][3] = {{5, 4, 3}, {1, 1, 23}, {7, 7, 1}, {3, 6, 2}};
    for (int s = 0; kernels_at(s); s++)
        for (int i = 0; set_usable(kernels_at(s)) && i < 16; i++) {
            const int *shape = shapes[i / 4];
            double error = gather_once(kernels_at(s), i & 1, i & 2, shape[0], shape[1], shape[2]);
            if (!(error <= 1e-6))
                FAIL_TEST("%s: case %d is off by %g", kernels_at(s)->name, i, error);
        }
}

/* What a convolution makes of the images. */
static float *convolved(const struct kernels *k, const struct images *host, int filters, bool pool,
                        bool tf32)
{
    struct spec spec = {"windows", host->h, host->w, host->c, {filters}, pool, {2}, GROUPS,
                        N,         {0},     WHOLE,   0,       0,         0,    1};
    struct pass p;
    pass_open_as(&p, k, &spec, (struct manner){.tf32 = tf32});
    float *rows = output_of(&p, host);
    pass_close(&p);
    return rows;
}

/* Shapes of one vector and a bit, and wider than what is read at once. */
TEST(convolutions_read_bytes_and_floats_planar_or_not)
{
    static const int shapes[][3] = {{5, 37, 3}, {4, 200, 3}, {6, 19, 1}, {3, 260, 2}, {3, 4, 3}};
    for (int i = 0; i < 5 * 8; i++) {
        const int *shape = shapes[i / 8];
        struct images host = random_images(i & 1, i & 2, shape[0], shape[1], shape[2]);
        float *want = convolved(&kernels_ref64, &host, 4, i & 4, false);
        int out_h = (shape[0] + 1) / 2, out_w = (shape[1] + 1) / 2;
        for (int s = 0; kernels_at(s); s++) {
            if (!set_usable(kernels_at(s)))
                continue;
            float *got = convolved(kernels_at(s), &host, 4, i & 4, false);
            double worst = got ? 0 : 1;
            for (int j = 0; got && j < GROUPS * N * out_h * out_w * 4; j++)
                worst = fmax(worst, fabs((double)got[j] - want[j]));
            if (!(worst <= 1e-4))
                FAIL_TEST("%s: case %d is off by %g", kernels_at(s)->name, i, worst);
            free(got);
        }
        free(want);
        free((void *)host.data);
    }
}

/* Shapes of which a GPU gathers more than the pictures, in TF32.  The floats are 1 +- 0.008, of
 * which rounding to 11 bits leaves 1.4e-3 on an H200; what is read wrong is off by far more. */
TEST(first_layers_read_bytes_and_floats_planar_or_not)
{
    static const int shapes[][4] = {{28, 28, 1, 64}, {84, 84, 3, 32}};
    int sets = 0;
    for (int i = 0; i < 2 * 4; i++) {
        const int *shape = shapes[i / 4];
        struct images host = random_images(i & 1, i & 2, shape[0], shape[1], shape[2]);
        float *want = convolved(&kernels_ref64, &host, shape[3], false, false);
        size_t values = (size_t)(GROUPS * N * shape[0] / 2 * shape[1] / 2 * shape[3]);
        for (int s = 0; kernels_at(s); s++) {
            if (!kernels_at(s)->batched || !set_usable(kernels_at(s)))
                continue;
            float *got = convolved(kernels_at(s), &host, shape[3], false, true);
            double error = got ? relative_error(values, got, want) : 1;
            if (!(error <= 5e-3))
                FAIL_TEST("%s: case %d is off by %g", kernels_at(s)->name, i, error);
            sets++;
            free(got);
        }
        free(want);
        free((void *)host.data);
    }
    if (!sets)
        SKIP("no GPU");
}

TEST(tensors_survive_pack_and_unpack)
{
    static const struct spec spec = {"all", 17,  20,    3, {5, 33, 64}, false, {19, 7}, 1,
                                     2,     {0}, WHOLE, 0, 0,           0,     41};
    for (int s = 0; kernels_at(s); s++) {
        const struct kernels *k = kernels_at(s);
        if (!set_usable(k))
            continue;
        static struct results got, want;
        struct pass p;
        pass_open(&p, k, &spec); /* packs them all into theta, in this order */
        struct rng r = rng_make((uint64_t)spec.seed, RNG_TEST, 1, 0);
        float *all = keep(&want, p.len, mem_string("all"));
        for (int i = 0; i < p.n_layers; i++)
            for (int w = 0; w < TENSORS; w++) {
                fill_tensor(&r, &p.layers[i], (enum tensor)w, all);
                all += tensor_size(&p.layers[i], (enum tensor)w);
            }
        keep_vector(&p, &got, "tensors", p.theta);
        double error = relative_error(want.item[0].len, got.item[0].at, want.item[0].at);
        results_free(&got);
        results_free(&want);
        pass_close(&p);
        CHECK_NEAR(error, 0, 0);
    }
}

TEST(memory_is_aligned_and_zeroed)
{
    for (int s = 0; kernels_at(s); s++) {
        const struct kernels *k = kernels_at(s);
        if (!set_usable(k))
            continue;
        struct device *d;
        CHECK_OK(k->open(&d, &(struct device_options){0}));
        static const size_t sizes[] = {1, 1000, 3 << 20};
        for (int i = 0; i < 3; i++) {
            void *at;
            CHECK_OK(k->alloc(d, sizes[i], &at));
            CHECK_EQ((uintptr_t)at % 64, 0);
            char *host = mem_alloc(sizes[i]);
            memset(host, 1, sizes[i]);
            k->download(d, host, at, sizes[i]);
            for (size_t j = 0; j < sizes[i]; j++)
                CHECK_EQ(host[j], 0);
            free(host);
            k->release(d, at, sizes[i]);
        }
        k->release(d, NULL, 0);
        CHECK_OK(k->sync(d));
        k->close(d);
    }
}

/* ---- vectors: TASKS of LEN elements, on the host as doubles ---- */

enum { TASKS = 3, LEN = 1037 };
struct vectors {
    const struct kernels *k;
    struct device *d;
    double host[TASKS * LEN];
    struct vec at;
};

static void vectors_open(struct vectors *v, const struct kernels *k, struct device *d, int seed)
{
    *v = (struct vectors){.k = k, .d = d, .at.stride = LEN};
    struct rng r = rng_make((uint64_t)seed, RNG_TEST, 0, 0);
    if (k->alloc(d, sizeof v->host, &v->at.at))
        abort();
    static float narrow[TASKS * LEN];
    for (int i = 0; i < TASKS * LEN; i++)
        v->host[i] = narrow[i] = (float)rng_normal(&r);
    k->upload(d, v->at.at, k->elem == 4 ? (void *)narrow : (void *)v->host, TASKS * LEN * k->elem);
}

static void vectors_close(struct vectors *v)
{
    v->k->release(v->d, v->at.at, sizeof v->host);
}

/* Largest difference between the device's elements and the host's. */
static double vectors_error(const struct vectors *v)
{
    static float narrow[TASKS * LEN];
    static double wide[TASKS * LEN];
    double worst = 0;
    v->k->download(v->d, v->k->elem == 4 ? (void *)narrow : (void *)wide, v->at.at,
                   TASKS * LEN * v->k->elem);
    for (int i = 0; i < TASKS * LEN; i++)
        worst = fmax(worst, fabs((v->k->elem == 4 ? narrow[i] : wide[i]) - v->host[i]));
    return worst;
}

static double axpy_error(const struct kernels *k, struct device *d)
{
    struct vectors to, y, x;
    vectors_open(&to, k, d, 1);
    vectors_open(&y, k, d, 2);
    vectors_open(&x, k, d, 3);
    struct vec shared = {.at = y.at.at};
    double worst = 0;
    k->axpy(d, TASKS, LEN, to.at, shared, -0.3, x.at);
    for (int i = 0; i < TASKS * LEN; i++)
        to.host[i] = y.host[i % LEN] - 0.3 * x.host[i];
    worst = fmax(worst, vectors_error(&to));
    if (k->batched) { /* two tasks have the first, one the second */
        k->axpy(d, TASKS, LEN, to.at, vec_of_runs(y.at.at, LEN, 2), -0.3, x.at);
        for (int i = 0; i < TASKS * LEN; i++)
            to.host[i] = y.host[i < 2 * LEN ? i % LEN : LEN + i % LEN] - 0.3 * x.host[i];
        worst = fmax(worst, vectors_error(&to));
    }
    k->axpy(d, TASKS, LEN - 1, x.at, to.at, 2, x.at); /* in place; the last element stays */
    for (int i = 0; i < TASKS * LEN; i++)
        x.host[i] = i % LEN == LEN - 1 ? x.host[i] : to.host[i] + 2 * x.host[i];
    worst = fmax(worst, vectors_error(&x));
    vectors_close(&to);
    vectors_close(&y);
    vectors_close(&x);
    return worst;
}

static double reduce_error(const struct kernels *k, struct device *d)
{
    struct vectors to, x;
    vectors_open(&to, k, d, 4);
    vectors_open(&x, k, d, 5);
    double worst = 0;
    for (int add = 1; add >= 0; add--) { /* the other tasks' part of `to` stays */
        k->reduce(d, TASKS, LEN, to.at.at, x.at, add);
        for (int i = 0; i < LEN; i++)
            to.host[i] = (add ? to.host[i] : 0) + x.host[i] + x.host[LEN + i] + x.host[2 * LEN + i];
        worst = fmax(worst, vectors_error(&to));
    }
    enum { MANY = 35, FEW = 20, STRIDE = 3 };
    k->reduce(d, MANY, FEW, to.at.at, (struct vec){.at = x.at.at, .stride = STRIDE}, false);
    for (int i = 0; i < FEW; i++) {
        to.host[i] = 0;
        for (int t = 0; t < MANY; t++)
            to.host[i] += x.host[t * STRIDE + i];
    }
    worst = fmax(worst, vectors_error(&to) / MANY);
    vectors_close(&to);
    vectors_close(&x);
    return worst;
}

static double dot_error(const struct kernels *k, struct device *d)
{
    struct vectors x, y;
    vectors_open(&x, k, d, 6);
    vectors_open(&y, k, d, 7);
    double want = 0, got = k->dot(d, LEN, x.at.at, y.at.at);
    for (int i = 0; i < LEN; i++)
        want += x.host[i] * y.host[i];
    vectors_close(&x);
    vectors_close(&y);
    return fabs(got - want) / LEN;
}

static double sgd_error(const struct kernels *k, struct device *d)
{
    struct vectors theta, g;
    vectors_open(&theta, k, d, 8);
    vectors_open(&g, k, d, 9);
    k->sgd(d, 5, LEN - 6, theta.at.at, g.at.at, 0.5, 0.1);
    for (int i = 5; i < LEN - 1; i++)
        theta.host[i] -= 0.05 * g.host[i];
    double error = vectors_error(&theta);
    vectors_close(&theta);
    vectors_close(&g);
    return error;
}

/* Many small operations in a row, some of which read or overwrite what others wrote: a set may do
 * those at once that do not depend on each other, and no others. */
static double order_error(const struct kernels *k, struct device *d)
{
    enum { VECTORS = 12, ROUNDS = 60 };
    struct vectors v[VECTORS];
    double worst = 0;
    for (int i = 0; i < VECTORS; i++)
        vectors_open(&v[i], k, d, (unsigned)(20 + i));
    for (int r = 0; r < ROUNDS; r++) {
        /* independent of those before in rounds of 5, then not */
        int to = r % 5 + (r / 10 % 2 ? 5 : 0), y = (to + 5) % 10, x = 10 + r % 2;
        if (r % 7 == 6)
            x = (r - 1) % 5; /* written a moment ago, or soon */
        if (r % 9 == 8)
            to = y = 10 + (r + 1) % 2; /* read a moment ago */
        if (r >= ROUNDS - 20)
            to = y = r % 10, x = 10; /* ten in a row, and again, do not touch each other */
        k->axpy(d, TASKS, LEN, v[to].at, v[y].at, 0.25, v[x].at);
        for (int i = 0; i < TASKS * LEN; i++)
            v[to].host[i] = v[y].host[i] + 0.25 * v[x].host[i];
    }
    for (int i = 0; i < VECTORS; i++) {
        worst = fmax(worst, vectors_error(&v[i]));
        vectors_close(&v[i]);
    }
    return worst;
}

/* Kingma & Ba 2015, Algorithm 1, with the bias corrections written out. */
static double adam_error(const struct kernels *k, struct device *d)
{
    struct vectors theta, m, v, g;
    vectors_open(&theta, k, d, 10);
    vectors_open(&m, k, d, 11);
    vectors_open(&v, k, d, 12);
    vectors_open(&g, k, d, 13);
    void *now = NULL;
    if (k->alloc(d, sizeof(struct adam_rates), &now))
        return INFINITY;
    k->zero(d, m.at.at, TASKS * LEN * k->elem);
    k->zero(d, v.at.at, TASKS * LEN * k->elem);
    memset(m.host, 0, sizeof m.host);
    memset(v.host, 0, sizeof v.host);
    for (int64_t step = 1; step <= 3; step++) {
        struct adam a = {.lr = 0.01, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-3};
        struct adam_rates rates = adam_rates(&a, step);
        k->upload(d, now, &rates, sizeof rates);
        k->adam(d, 3, LEN - 7, theta.at.at, m.at.at, v.at.at, g.at.at, 0.25, &a, now);
        for (int i = 3; i < LEN - 4; i++) {
            double gi = 0.25 * g.host[i];
            m.host[i] = 0.9 * m.host[i] + 0.1 * gi;
            v.host[i] = 0.99 * v.host[i] + 0.01 * gi * gi;
            double mh = m.host[i] / (1 - pow(0.9, (double)step));
            double vh = v.host[i] / (1 - pow(0.99, (double)step));
            theta.host[i] -= 0.01 * mh / (sqrt(vh) + 1e-3);
        }
    }
    double error = fmax(vectors_error(&theta), fmax(vectors_error(&m), vectors_error(&v)));
    k->release(d, now, sizeof(struct adam_rates));
    vectors_close(&theta);
    vectors_close(&m);
    vectors_close(&v);
    vectors_close(&g);
    return error;
}

TEST(vector_operations_are_the_textbooks)
{
    static const struct {
        const char *name;
        double (*error)(const struct kernels *, struct device *);
    } operations[] = {
        {"axpy", axpy_error}, {"reduce", reduce_error}, {"dot", dot_error},
        {"sgd", sgd_error},   {"adam", adam_error},     {"order", order_error},
    };
    for (int s = 0; kernels_at(s); s++)
        for (int i = 0; set_usable(kernels_at(s)) && i < 6; i++) {
            struct device *d;
            CHECK_OK(kernels_at(s)->open(&d, &(struct device_options){0}));
            double error = operations[i].error(kernels_at(s), d);
            kernels_at(s)->close(d);
            if (!(error <= (kernels_at(s)->elem == 4 ? 1e-6 : 1e-12)))
                FAIL_TEST("%s on %s is off by %g", operations[i].name, kernels_at(s)->name, error);
        }
}

/* ---- operations in a row ---- */

/* The last two are Adam's m and v, which nothing else writes. */
enum { ROW = 8, ROW_M = ROW, ROW_V, ROWS, IN_A_ROW = 40 };

/* One operation, as chance has it: on vectors that others in the row read and write, and often
 * an update with the sum before it. */
static void do_some(const struct kernels *k, struct device *d, struct vectors *v, struct rng *r,
                    const struct adam_rates *now, int *sum)
{
    struct adam a = {.lr = 0.01, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-3};
    int what = (int)rng_below(r, 4), to = (int)rng_below(r, ROW),
        other = (int)rng_below(r, ROW - 1);
    int x = (to + 1 + other) % ROW, y = (int)rng_below(r, ROWS), few = (int)rng_below(r, 3) == 0;
    size_t len = few ? LEN - 5 : LEN;
    bool joined = what > 1 && *sum >= 0 && *sum != to && rng_below(r, 2) > 0;
    x = joined ? *sum : x;
    if (what == 0)
        k->axpy(d, 1 + (int)rng_below(r, TASKS), len, v[to].at, v[y].at, -0.25, v[x].at);
    else if (what == 1)
        k->reduce(d, TASKS, len, v[to].at.at, v[x].at, few);
    else if (what == 2)
        k->sgd(d, few ? 3 : 0, LEN - 5, v[to].at.at, v[x].at.at, 0.5, 0.1);
    else
        k->adam(d, 0, len, v[to].at.at, v[ROW_M].at.at, v[ROW_V].at.at, v[x].at.at, 0.25, &a, now);
    *sum = what == 1 ? to : *sum;
}

/* How many vectors differ when each operation is waited for, and when none is. */
static int row_differs(const struct kernels *k, struct device *d, uint64_t seed)
{
    static char bytes[2][TASKS * LEN * sizeof(double)];
    struct vectors v[2][ROWS];
    struct adam a = {.lr = 0.01, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-3};
    struct adam_rates rates = adam_rates(&a, 3);
    void *now = NULL;
    int bad = k->alloc(d, sizeof rates, &now) != 0;
    k->upload(d, now, &rates, sizeof rates);
    for (int waits = 0; waits < 2; waits++) {
        struct rng r = rng_make(seed, RNG_TEST, 1, 0);
        int sum = -1;
        for (int i = 0; i < ROWS; i++)
            vectors_open(&v[waits][i], k, d, 40 + i);
        k->zero(d, v[waits][ROW_V].at.at, TASKS * LEN * k->elem);
        for (int i = 0; i < IN_A_ROW; i++) {
            do_some(k, d, v[waits], &r, now, &sum);
            if (waits)
                bad += k->sync(d) != 0;
        }
    }
    for (int i = 0; i < ROWS; i++) {
        for (int waits = 0; waits < 2; waits++) {
            k->download(d, bytes[waits], v[waits][i].at.at, TASKS * LEN * k->elem);
            vectors_close(&v[waits][i]);
        }
        bad += memcmp(bytes[0], bytes[1], TASKS * LEN * k->elem) != 0;
    }
    k->release(d, now, sizeof rates);
    return bad;
}

/* A set may do at once what does not depend on each other, and an update with its sum. */
TEST(operations_in_a_row_are_those_one_by_one)
{
    for (int s = 0; kernels_at(s); s++) {
        struct device *d;
        if (!set_usable(kernels_at(s)))
            continue;
        CHECK_OK(kernels_at(s)->open(&d, &(struct device_options){0}));
        int bad = 0;
        for (uint64_t seed = 0; seed < (light() ? 4 : 50); seed++)
            bad += row_differs(kernels_at(s), d, seed);
        kernels_at(s)->close(d);
        CHECK_EQ(bad, 0);
    }
}

TESTS(T(gather_reads_bytes_and_floats_planar_or_not),
      T(convolutions_read_bytes_and_floats_planar_or_not),
      T(first_layers_read_bytes_and_floats_planar_or_not), T(tensors_survive_pack_and_unpack),
      T(memory_is_aligned_and_zeroed), T(vector_operations_are_the_textbooks),
      T(operations_in_a_row_are_those_one_by_one))
