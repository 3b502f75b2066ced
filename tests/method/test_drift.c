/* test_drift.c - Reptile's update and the exact gradient of its objective, against the
 * engine's own methods, finite differences and what happens as steps get small.
 */
#include "method/engine.h"
#include "theory/drift.h"
#include "theory/spectrum.h"

#include "base/memory.h"
#include "test.h"

enum { CLASSES = 3, EACH = 4, ITEMS = CLASSES * EACH, FEATURES = 10 };

struct world {
    float x[ITEMS][FEATURES];
    int32_t at[ITEMS], label[ITEMS];
    struct items task;
    struct images images;
    void *net_settings;
    struct param_set set;
    const struct net_ops *net;
};

static void world_open(struct world *w)
{
    struct rng r = rng_make(11, RNG_TEST, 0, 0);
    for (int i = 0; i < ITEMS; i++) {
        w->at[i] = i;
        w->label[i] = i % CLASSES;
        for (int j = 0; j < FEATURES; j++)
            w->x[i][j] = (float)(rng_normal(&r) + (j % CLASSES == w->label[i]));
    }
    w->task = (struct items){w->at, w->label, ITEMS};
    w->images = (struct images){.data = w->x,
                                .type = IMAGES_F32,
                                .h = 1,
                                .w = 1,
                                .c = FEATURES,
                                .items = ITEMS,
                                .scale = 1};
    if (net_find(&w->net, "mlp"))
        abort();
    w->net_settings = mem_alloc(w->net->state_size);
    w->set.sections = 0;
    param_set_add(&w->set, "net", w->net->params, w->net_settings);
    if (param_set_text(&w->set, "units", "8"))
        abort();
}

static struct probe *world_probe(struct world *w)
{
    struct probe *p;
    struct probe_spec spec = {.kernels = &kernels_ref64,
                              .net = w->net,
                              .net_settings = w->net_settings,
                              .images = w->images,
                              .ways = CLASSES,
                              .items = ITEMS,
                              .seed = 3};
    if (probe_open(&p, &spec))
        abort();
    return p;
}

/* The engine's meta-gradient of one task, by PyTorch's tensors one after the other. */
static size_t engine_vector(struct world *w, const char *name, const char *const *settings,
                            const struct labelled_task *labelled, float *out)
{
    struct method m;
    struct engine *e;
    struct param_set set = {0};
    if (method_open(&m, name))
        abort();
    param_set_add(&set, "method", m.ops->params, m.state);
    if (param_set_all(&set, settings))
        abort();
    struct engine_spec spec = {.kernels = &kernels_ref64,
                               .threads = 1,
                               .net = w->net,
                               .net_settings = w->net_settings,
                               .method = &m,
                               .images = w->images,
                               .ways = CLASSES,
                               .meta_batch = 1,
                               .largest = {1, ITEMS, ITEMS},
                               .seed = 3};
    if (engine_open(&e, &spec) || engine_gradient(e, labelled, 1, NULL))
        abort();
    struct net_tensor t[NET_TENSORS_MAX];
    int n = net_tensors(engine_net(e), t);
    size_t at = 0;
    for (int i = 0; i < n; i++) {
        engine_get(e, ENGINE_GRADIENT, &t[i], out + at);
        at += t[i].len;
    }
    engine_close(e);
    method_close(&m);
    return at;
}

/* ref64 keeps tensors one after the other in the same order, and no running statistics here. */
static double apart(size_t n, const float *a, const double *b)
{
    double error = 0, norm = 0;
    for (size_t i = 0; i < n; i++) {
        error += (a[i] - b[i]) * (a[i] - b[i]);
        norm += b[i] * b[i];
    }
    return sqrt(error / norm);
}

TEST(both_vectors_are_those_of_reptile_and_second_order_maml)
{
    struct world w;
    world_open(&w);
    struct probe *p = world_probe(&w);
    size_t n = probe_trained(p);
    double *update = mem_array(n, sizeof *update), *gradient = mem_array(n, sizeof *gradient);
    CHECK_OK(drift_vectors(p, &w.task, 0.3, 4, update, gradient));
    float *other = mem_array(n, sizeof *other);
    const char *const reptile[] = {"inner.steps=4", "inner.lr=0.3", NULL};
    const char *const maml[] = {"inner.steps=4", "inner.lr=0.3", "first_order=no", NULL};
    struct labelled_task support = {.support = w.task};
    struct labelled_task twice = {.support = w.task, .query = w.task};
    CHECK_EQ(engine_vector(&w, "reptile", reptile, &support, other), n);
    CHECK(apart(n, other, update) < 1e-6);
    CHECK_EQ(engine_vector(&w, "maml", maml, &twice, other), n);
    CHECK(apart(n, other, gradient) < 1e-6);
    free(update);
    free(gradient);
    free(other);
    probe_close(p);
    free(w.net_settings);
}

/* The mean loss after the inner loop, from its gradient's own path: a line search. */
static double risk_after(struct probe *p, const struct world *w, const double *start, double lr,
                         int steps)
{
    size_t len = probe_len(p), n = probe_trained(p);
    double *theta = mem_array(len, sizeof *theta), *g = mem_array(n, sizeof *g), loss = NAN;
    memcpy(theta, start, len * sizeof *theta);
    for (int t = 0; t <= steps; t++) {
        probe_put(p, theta);
        if (probe_gradient(p, &w->task, -1, &loss, g))
            abort();
        vector_add(n, theta, -lr, g);
    }
    free(theta);
    free(g);
    return loss;
}

TEST(the_gradient_is_that_of_finite_differences)
{
    struct world w;
    world_open(&w);
    struct probe *p = world_probe(&w);
    size_t len = probe_len(p), n = probe_trained(p);
    double *theta = mem_array(len, sizeof *theta), *moved = mem_array(len, sizeof *moved);
    double *update = mem_array(n, sizeof *update), *gradient = mem_array(n, sizeof *gradient);
    CHECK_OK(drift_vectors(p, &w.task, 0.2, 3, update, gradient));
    probe_get(p, theta); /* drift leaves the weights as they were */
    const double step = 1e-2;
    double norm = vector_norm(n, gradient), risk[2];
    for (int i = 0; i < 2; i++) {
        memcpy(moved, theta, len * sizeof *moved);
        vector_add(n, moved, (i ? -step : step) / norm, gradient);
        risk[i] = risk_after(p, &w, moved, 0.2, 3);
    }
    CHECK_NEAR((risk[0] - risk[1]) / (2 * step) / norm, 1, 2e-3); /* the loss is a float */
    free(theta);
    free(moved);
    free(update);
    free(gradient);
    probe_close(p);
    free(w.net_settings);
}

TEST(drift_vanishes_with_the_step_size_at_the_orders_said)
{
    struct world w;
    world_open(&w);
    struct probe *p = world_probe(&w);
    struct spectrum s;
    struct spectrum_options o = {
        .dim = probe_trained(p), .steps = 40, .tolerance = 1e-6, .seed = 1};
    CHECK_OK(probe_gradient(p, &w.task, -1, NULL, NULL));
    CHECK_OK(spectrum_of(&s, &o, probe_product, p));
    for (int steps = 1; steps <= 7; steps += 3) {
        struct drift a, b;
        CHECK_OK(drift_measure(&a, p, &w.task, 1e-2, steps, s.largest));
        CHECK_OK(drift_measure(&b, p, &w.task, 1e-3, steps, s.largest));
        CHECK(1 - b.cosine < 1e-4);
        CHECK_NEAR(a.deviation / b.deviation, 10, 1.5);       /* first order in lr */
        CHECK_NEAR(a.left_printed / b.left_printed, 10, 1.5); /* first order only */
        CHECK_NEAR(a.left_second / b.left_second, 100, 30);   /* second order */
        CHECK_NEAR(b.summed, steps - 1, 0.01 * steps);        /* u / lr - G -> (T - 1) g */
        CHECK_NEAR(b.bound, (steps - 1) * 1.0, 0.02 * steps);
    }
    probe_close(p);
    free(w.net_settings);
}

TEST(a_single_item_can_be_asked_for)
{
    struct world w;
    world_open(&w);
    struct probe *p = world_probe(&w);
    size_t n = probe_trained(p);
    double *g = mem_array(n, sizeof *g), *mean = mem_array(n, sizeof *mean), loss, sum = 0, whole;
    for (int i = 0; i < ITEMS; i++) {
        CHECK_OK(probe_gradient(p, &w.task, i, &loss, g));
        vector_add(n, mean, 1.0 / ITEMS, g);
        sum += loss / ITEMS;
    }
    CHECK_OK(probe_gradient(p, &w.task, -1, &whole, g));
    CHECK_NEAR(sum, whole, 1e-6);
    vector_add(n, mean, -1, g);
    CHECK(vector_norm(n, mean) < 1e-6 * vector_norm(n, g));
    free(g);
    free(mean);
    probe_close(p);
    free(w.net_settings);
}

TESTS(T(both_vectors_are_those_of_reptile_and_second_order_maml),
      T(the_gradient_is_that_of_finite_differences),
      T(drift_vanishes_with_the_step_size_at_the_orders_said), T(a_single_item_can_be_asked_for))
