/* test_baseline.c - softmax regression with known answers, and the baselines as learners. */
#include "method/baseline.h"
#include "method/softmax.h"
#include "base/memory.h"
#include "base/rng.h"
#include "data/dataset.h"
#include "test.h"

enum { N = 40, D = 5, WAYS = 3, LEN = WAYS * (D + 1) };

static void draw(float *x, int32_t *y, double *anchor)
{
    struct rng r = rng_make(3, RNG_TEST, 0, 0);
    for (int i = 0; i < N * D; i++)
        x[i] = (float)rng_normal(&r);
    for (int i = 0; i < N; i++)
        y[i] = (int32_t)rng_below(&r, WAYS);
    for (int i = 0; i < LEN; i++)
        anchor[i] = rng_normal(&r);
}

TEST(the_gradient_is_that_of_the_loss)
{
    float x[N * D];
    int32_t y[N];
    double anchor[LEN], w[LEN], g[LEN], none[LEN];
    draw(x, y, anchor);
    for (int i = 0; i < LEN; i++)
        w[i] = 0.1 * i - 0.5;
    softmax_loss(x, y, N, D, WAYS, 0.7, anchor, w, g);
    for (int i = 0; i < LEN; i++) {
        double at = w[i], step = 1e-5;
        w[i] = at + step;
        double up = softmax_loss(x, y, N, D, WAYS, 0.7, anchor, w, none);
        w[i] = at - step;
        double down = softmax_loss(x, y, N, D, WAYS, 0.7, anchor, w, none);
        w[i] = at;
        CHECK_NEAR((up - down) / (2 * step), g[i], 1e-6);
    }
}

TEST(a_fit_ends_where_the_gradient_is_zero)
{
    float x[N * D];
    int32_t y[N];
    double anchor[LEN], w[LEN], g[LEN];
    draw(x, y, anchor);
    for (int k = 0; k < 2; k++) {
        memset(w, 0, sizeof w);
        softmax_fit(x, y, N, D, WAYS, 0.01, k ? anchor : NULL, w);
        softmax_loss(x, y, N, D, WAYS, 0.01, k ? anchor : NULL, w, g);
        for (int i = 0; i < LEN; i++)
            CHECK_NEAR(g[i], 0, 1e-4);
    }
    softmax_fit(x, y, N, D, WAYS, 1e9, anchor, w); /* held so tightly it cannot move */
    for (int i = 0; i < LEN; i++)
        CHECK_NEAR(w[i], anchor[i], 1e-6);
}

TEST(two_points_have_a_known_answer)
{
    /* x = 1 of class 1 and x = -1 of class 0: the weights are (-w, w) without biases, and w
     * solves 2 (1 - s) = w with s = 1 / (1 + exp(-2 w)): w = 0.4421... by bisection. */
    const float x[] = {1, -1};
    const int32_t y[] = {1, 0};
    double w[4] = {0}, low = 0, high = 2;
    for (int i = 0; i < 100; i++) {
        double mid = (low + high) / 2;
        if (2 * (1 - 1 / (1 + exp(-2 * mid))) > mid)
            low = mid;
        else
            high = mid;
    }
    softmax_fit(x, y, 2, 1, 2, 1, NULL, w);
    CHECK_NEAR(w[2], low, 1e-6);
    CHECK_NEAR(w[0], -low, 1e-6);
    CHECK_NEAR(w[1], 0, 1e-6);
    CHECK_NEAR(w[3], 0, 1e-6);
}

/* ---- as learners: rows on a line, class 0 below 0 and class 1 above, 6 of class 1 and 2 of 0 */

enum { ITEMS = 8 };

static struct dataset *line(void)
{
    static const float at[ITEMS] = {-2, -1, 1, 2, 3, 4, 5, 6};
    float *x = mem_array(ITEMS, sizeof *x);
    int32_t *y = mem_array(ITEMS, sizeof *y);
    struct dataset *d = NULL, parts = {.name = (char *)"line",
                                       .items = ITEMS,
                                       .classes = 2,
                                       .h = 1,
                                       .w = 1,
                                       .c = 1,
                                       .is_float = true,
                                       .scale = 1};
    memcpy(x, at, sizeof at);
    for (int i = 0; i < ITEMS; i++)
        y[i] = at[i] > 0;
    parts.x = x;
    parts.y = y;
    return dataset_from_memory(&d, &parts) ? NULL : d;
}

static struct learner *open_one(const char *name, const struct dataset *d)
{
    struct method m;
    struct learner *l = NULL;
    struct learner_spec spec = {.data = d, .ways = 2, .meta_batch = 1};
    if (method_open(&m, name) == 0 && m.ops->open(m.state, &spec, &l))
        l = NULL;
    method_close(&m);
    return l;
}

static const int32_t all[ITEMS] = {0, 1, 2, 3, 4, 5, 6, 7};

/* Probabilities of class 1 for all items, after a support of n items. */
static int ask(struct learner *l, const int32_t *support, const int32_t *labels, int n, float *one)
{
    float probs[2 * ITEMS], *to = probs;
    struct items s = {support, labels, n}, q = {all, NULL, ITEMS};
    int err = learner_adapt(l, 1, &s);
    if (!err)
        err = learner_predict(l, 1, &q, &(struct predicted){.probs = &to});
    for (int i = 0; i < ITEMS; i++)
        one[i] = probs[2 * i + 1];
    return err;
}

static int teach(struct learner *l, const struct dataset *d)
{
    struct labelled_task t = {.support = {all, d->y, 4}, .query = {all + 4, d->y + 4, 4}};
    int err = learner_step(l, &t, 1);
    return err ? err : learner_step(l, &t, 1); /* again: nothing is counted twice */
}

TEST(each_baseline_says_what_it_should)
{
    struct dataset *d = line();
    float p[ITEMS], q[ITEMS];
    const int32_t two[] = {1, 4}, labels[] = {0, 1}, turned[] = {1, 0};
    struct learner *l = open_one("majority", d);
    CHECK_OK(teach(l, d));
    CHECK_OK(ask(l, two, turned, 2, p));
    for (int i = 0; i < ITEMS; i++)
        CHECK_NEAR(p[i], 0.7, 1e-6); /* (6 + 1) / (8 + 2) */
    learner_close(l);
    l = open_one("nearest", d);
    CHECK_OK(ask(l, two, labels, 2, p)); /* means -1 and 3: the middle is 1 */
    CHECK(p[0] < 0.5 && p[1] < 0.5 && fabsf(p[2] - 0.5f) < 1e-6f && p[3] > 0.5 && p[7] > 0.5);
    CHECK_OK(ask(l, NULL, NULL, 0, p));
    CHECK_NEAR(p[3], 0.5, 1e-7);
    CHECK_OK(ask(l, two, turned, 1, p)); /* a class without support is never predicted */
    CHECK_NEAR(p[0], 1, 0);
    learner_close(l);
    l = open_one("local", d);
    CHECK_OK(teach(l, d));
    CHECK_OK(ask(l, two, turned, 2, p));
    CHECK(p[0] > 0.5 && p[7] < 0.5); /* the support's word against all others' */
    learner_close(l);
    l = open_one("pooled", d);
    CHECK_OK(teach(l, d));
    CHECK_OK(ask(l, NULL, NULL, 0, q));
    CHECK_OK(ask(l, two, turned, 2, p));
    CHECK(memcmp(p, q, sizeof p) == 0 && q[0] < 0.5 && q[7] > 0.9);
    learner_close(l);
    l = open_one("tuned", d);
    CHECK_OK(teach(l, d));
    CHECK_OK(ask(l, NULL, NULL, 0, p));
    CHECK(memcmp(p, q, sizeof p) == 0); /* without labels it is the one for all */
    CHECK_OK(ask(l, two, turned, 2, p));
    CHECK(p[0] > q[0] && p[7] < q[7]); /* and moves towards the support's */
    learner_close(l);
    dataset_close(d);
}

TEST(a_baseline_that_was_saved_is_the_same)
{
    struct dataset *d = line();
    for (int i = 0; baseline_at(i); i++) {
        struct learner *a = open_one(baseline_at(i), d), *b = open_one(baseline_at(i), d);
        struct tensors model = {0}, training = {0};
        const int32_t two[] = {1, 4}, labels[] = {0, 1};
        float p[ITEMS], q[ITEMS];
        CHECK_OK(teach(a, d));
        CHECK_OK(learner_save(a, LEARNER_MODEL, &model));
        CHECK_OK(learner_save(a, LEARNER_TRAINING, &training));
        CHECK_OK(ask(a, two, labels, 2, p));
        CHECK_OK(learner_load(b, LEARNER_MODEL, &model));
        CHECK_OK(ask(b, two, labels, 2, q));
        CHECK(memcmp(p, q, sizeof p) == 0);
        CHECK_OK(learner_load(b, LEARNER_TRAINING, &training));
        CHECK_OK(ask(b, two, labels, 2, q));
        CHECK(memcmp(p, q, sizeof p) == 0);
        tensors_release(&model);
        tensors_release(&training);
        learner_close(a);
        learner_close(b);
    }
    dataset_close(d);
}

/* Three classes in the plane; what is not trained is not standardised. */
TEST(the_nearest_mean_is_that_of_all_numbers_of_a_row)
{
    static const float at[6][2] = {{0, 0}, {2, 0}, {0, 4}, {0, 1}, {2, 1}, {1, 4}};
    struct dataset *d = NULL, parts = {.name = (char *)"plane",
                                       .items = 6,
                                       .classes = 3,
                                       .h = 1,
                                       .w = 1,
                                       .c = 2,
                                       .is_float = true,
                                       .scale = 1};
    parts.x = mem_array(1, sizeof at);
    memcpy((void *)parts.x, at, sizeof at);
    parts.y = mem_array(6, sizeof *parts.y);
    CHECK_OK(dataset_from_memory(&d, &parts));
    struct method m;
    struct learner *l = NULL;
    struct learner_spec spec = {.data = d, .ways = 3, .meta_batch = 1};
    CHECK_OK(method_open(&m, "nearest"));
    CHECK_OK(m.ops->open(m.state, &spec, &l));
    const int32_t labels[] = {0, 1, 2};
    float probs[9], *to = probs;
    struct items support = {all, labels, 3}, query = {all + 3, NULL, 3};
    CHECK_OK(learner_adapt(l, 1, &support));
    CHECK_OK(learner_predict(l, 1, &query, &(struct predicted){.probs = &to}));
    for (int i = 0; i < 3; i++) {
        double sum = 0;
        for (int k = 0; k < 3; k++)
            sum += exp(-(pow(at[3 + i][0] - at[k][0], 2) + pow(at[3 + i][1] - at[k][1], 2)) / 2);
        for (int k = 0; k < 3; k++) {
            double far = pow(at[3 + i][0] - at[k][0], 2) + pow(at[3 + i][1] - at[k][1], 2);
            CHECK_NEAR(probs[3 * i + k], exp(-far / 2) / sum, 1e-6);
        }
    }
    learner_close(l);
    method_close(&m);
    dataset_close(d);
}

TESTS(T(the_gradient_is_that_of_the_loss), T(a_fit_ends_where_the_gradient_is_zero),
      T(two_points_have_a_known_answer), T(each_baseline_says_what_it_should),
      T(a_baseline_that_was_saved_is_the_same), T(the_nearest_mean_is_that_of_all_numbers_of_a_row))
