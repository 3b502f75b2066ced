/* test_absent.c - classes that a task's support does not have: in training, in predictions and
 * in the score of a test.
 */
#include "test.h"
#include "data/glyphs.h"
#include "method/engine.h"
#include "run/evaluate.h"
#include "run/setup.h"
#include "base/memory.h"

enum { WAYS = 5, GRADIENT = 8192 };

struct world {
    struct dataset *d;
    struct setup setup;
    struct tasks *tasks;
    struct engine *engine;
};

/* A small net over glyphs; `sets` are settings, ended by NULL. */
static int world_open(struct world *w, const struct kernels *k, const char *method,
                      const char *const *sets)
{
    struct engine_spec spec;
    struct bench b = {"glyphs", WAYS, 1, 0};
    *w = (struct world){0};
    int err = glyphs_make(&w->d, "glyphs:classes=50");
    if (!err)
        err = setup_open(&w->setup, method, "conv4", "random");
    if (!err)
        err = param_set_text(&w->setup.set, "net.filters", "4");
    if (!err)
        err = param_set_all(&w->setup.set, sets);
    if (!err)
        err = tasks_open(&w->tasks, w->d, &b, &w->setup.task, 1);
    if (!err)
        err = setup_engine(&w->setup, "cpu", 1, &spec);
    if (err)
        return err;
    spec.kernels = k;
    spec.images = (struct images){.data = w->d->x,
                                  .type = IMAGES_U8,
                                  .h = 28,
                                  .w = 28,
                                  .c = 1,
                                  .items = w->d->items,
                                  .scale = w->d->scale,
                                  .shift = w->d->shift};
    spec.ways = WAYS;
    spec.largest = (struct batch_shape){1, 8, 8};
    spec.meta_batch = 4;
    return engine_open(&w->engine, &spec);
}

static void world_close(struct world *w)
{
    engine_close(w->engine);
    tasks_close(w->tasks);
    setup_close(&w->setup);
    dataset_close(w->d);
}

/* Item i of the tests is image i of class i % WAYS. */
static int32_t item[16], support_label[] = {0, 1, 3, 1, 0, 3}, all_label[] = {0, 1, 2, 3, 4, 1, 2},
                         kept_label[] = {0, 1, 3, 1};
static int32_t all_item[] = {6, 7, 8, 9, 10, 11, 12}, kept_item[] = {6, 7, 9, 11};

static struct labelled_task task_of(int n_support, bool all)
{
    for (int i = 0; i < 16; i++)
        item[i] = i;
    return (struct labelled_task){
        .support = {item, support_label, n_support},
        .query = {all ? all_item : kept_item, all ? all_label : kept_label, all ? 7 : 4}};
}

/* The meta-gradient of one task; its length, or 0. */
static size_t gradient(struct world *w, const struct labelled_task *t, double *out, double *loss)
{
    if (engine_gradient(w->engine, t, 1, loss) || engine_net(w->engine)->trained > GRADIENT)
        return 0;
    engine_read(w->engine, ENGINE_GRADIENT, out);
    return engine_net(w->engine)->trained;
}

static double difference(const double *a, const double *b, size_t n)
{
    double error = 0, norm = 0;
    for (size_t i = 0; i < n; i++) {
        error += (a[i] - b[i]) * (a[i] - b[i]);
        norm += b[i] * b[i];
    }
    return sqrt(error / norm);
}

/* Batch norm does not look at the other images, so that leaving a query point out of the loss
 * and not having it are the same. */
static void compare_queries(const struct kernels *k, const char *method, const char *absent,
                            double *error, double *loss_error)
{
    static double all[GRADIENT], kept[GRADIENT];
    const char *const sets[] = {absent, "net.bn=running",
                                strcmp(method, "maml") ? NULL : "inner.lr=0.1", "first_order=no",
                                NULL};
    struct labelled_task whole = task_of(6, true), part = task_of(6, false);
    struct world w;
    double a, b;
    CHECK_OK(world_open(&w, k, method, sets));
    size_t n = gradient(&w, &whole, all, &a);
    CHECK(n > 0);
    CHECK_EQ(gradient(&w, &part, kept, &b), n);
    *error = difference(all, kept, n);
    *loss_error = fabs(a - b);
    world_close(&w);
}

TEST(a_query_point_that_is_left_out_is_as_if_it_were_not_there)
{
    static const char *const methods[] = {"protonet", "maml"};
    for (int i = 0; kernels_at(i); i++) {
        char why[256];
        if (!kernels_at(i)->usable(why, sizeof why))
            continue;
        for (int m = 0; m < 2; m++) {
            double error, loss;
            compare_queries(kernels_at(i), methods[m], "absent=left-out", &error, &loss);
            CHECK(error < 1e-4 && loss < 1e-5);
            compare_queries(kernels_at(i), methods[m], "absent=origin", &error, &loss);
            CHECK(error > 0.1 && loss > 1e-3);
        }
    }
}

TEST(a_task_without_support_teaches_nothing)
{
    static const char *const methods[] = {"protonet", "maml"};
    static double g[GRADIENT];
    for (int m = 0; m < 2; m++) {
        const char *const sets[] = {"absent=left-out", NULL};
        struct labelled_task task = task_of(0, true);
        struct world w;
        double loss;
        CHECK_OK(world_open(&w, &kernels_ref64, methods[m], sets));
        size_t n = gradient(&w, &task, g, &loss);
        CHECK(n > 0);
        CHECK_EQ(loss, 0);
        for (size_t i = 0; i < n; i++)
            CHECK_EQ(g[i], 0);
        world_close(&w);
    }
}

/* Support of class 0 alone; two query points of it, one of class 1, one of class 4.  How many
 * points were scored. */
static int score_of(const char *absent, double *accuracy)
{
    int32_t query_label[] = {0, 1, 0, 4};
    const char *const sets[] = {absent, NULL};
    struct episode e = {.ways = WAYS,
                        .user = -1,
                        .n_support = 1,
                        .n_query = 4,
                        .support = item,
                        .support_label = support_label,
                        .query = item + 1,
                        .query_label = query_label};
    struct score score;
    struct world w;
    task_of(0, true); /* the items */
    int err = world_open(&w, kernels_cpu("portable"), "protonet", sets), points = 0;
    struct evaluation what = {.tasks = w.tasks, .part = SPLIT_TEST, .n = 1, .given = &e};
    if (err || evaluate(engine_learner(w.engine), &what, &score))
        return -1;
    *accuracy = score.accuracy;
    for (int i = 0; i < STORE_BINS; i++)
        points += (int)score.bins[i].n;
    score_release(&score);
    world_close(&w);
    return points;
}

TEST(a_test_point_of_an_absent_class_counts_as_wrong)
{
    double accuracy;
    CHECK_EQ(score_of("absent=left-out", &accuracy), 4);
    CHECK_EQ(accuracy, 0.5);
    CHECK_EQ(score_of("absent=origin", &accuracy), 4);
}

/* What a strategy sees of points, with labels of two classes bought. */
TEST(an_absent_class_has_no_part_in_probabilities_and_entropies)
{
    const char *const sets[] = {"absent=left-out", NULL};
    struct items support = {item, (int32_t[]){2, 4, 2}, 3}, query = {item + 5, NULL, 6};
    float probs[6 * WAYS], entropy[6], *p = probs, *h = entropy;
    struct world w;
    task_of(0, true);
    CHECK_OK(world_open(&w, kernels_cpu("portable"), "protonet", sets));
    struct learner *l = engine_learner(w.engine);
    CHECK_OK(learner_adapt(l, 1, &support));
    CHECK_OK(learner_predict(l, 1, &query, &(struct predicted){.probs = &p, .entropy = &h}));
    for (int i = 0; i < 6; i++) {
        const float *row = probs + i * WAYS;
        CHECK_EQ(row[0] + row[1] + row[3], 0);
        CHECK_NEAR(row[2] + row[4], 1, 1e-6);
        CHECK(entropy[i] <= 0.6932f); /* of two classes */
    }
    support.n = 0;
    CHECK_OK(learner_adapt(l, 1, &support));
    CHECK_OK(learner_predict(l, 1, &query, &(struct predicted){.probs = &p, .entropy = &h}));
    for (int i = 0; i < 6; i++)
        CHECK_NEAR(entropy[i], log(WAYS), 1e-5);
    world_close(&w);
}

/* A tensor of the engine's, by its name; how many numbers. */
static size_t tensor_read(struct world *w, enum engine_vector which, const char *name, float *out)
{
    struct net_tensor t[NET_TENSORS_MAX];
    int n = net_tensors(engine_net(w->engine), t);
    for (int i = 0; i < n; i++)
        if (strcmp(t[i].name, name) == 0) {
            engine_get(w->engine, which, &t[i], out);
            return t[i].len;
        }
    return 0;
}

/* Shared prototypes begin at the origin.  A step takes each a quarter of the way to the mean of its
 * class, where the task has any of it; the optimiser does not move them, but their counts. */
static void check_running_means(const struct kernels *k, const char *bn)
{
    const char *const sets[] = {
        "absent=prior-mean", "outer.bn_momentum=0.25", "outer.lr=0.5", "prior_count=3", bn, NULL};
    static float apart[GRADIENT], mean[GRADIENT], count[WAYS], odds[WAYS];
    struct labelled_task task = task_of(6, true); /* classes 0, 1 and 3 */
    struct world w;
    double loss, moved = 0;
    CHECK_OK(world_open(&w, k, "protonet", sets));
    CHECK_OK(engine_gradient(w.engine, &task, 1, &loss));
    size_t n = tensor_read(&w, ENGINE_GRADIENT, "prior.mean", apart);
    CHECK_OK(engine_step(w.engine, &task, 1));
    CHECK_EQ(tensor_read(&w, ENGINE_THETA, "prior.mean", mean), n);
    CHECK_EQ(tensor_read(&w, ENGINE_THETA, "prior.log_count", count), WAYS);
    for (size_t i = 0; i < n; i++) {
        size_t class = i / (n / WAYS);
        CHECK_NEAR(mean[i], -0.25F * apart[i], 1e-6);
        moved += class == 2 || class == 4 ? 0 : fabs(mean[i]);
        if (class == 2 || class == 4)
            CHECK_EQ(mean[i], 0);
    }
    CHECK(n > 0 && moved > 0.01);
    CHECK_NEAR(fabs(count[0] - log(3)), 0.5, 1e-3); /* Adam's first step is its rate */
    CHECK_EQ(tensor_read(&w, ENGINE_THETA, "prior.log_odds", odds), WAYS);
    CHECK_NEAR(fabs(odds[0]), 0.5, 1e-3);
    world_close(&w);
}

TEST(shared_prototypes_follow_the_class_means_of_tasks)
{
    for (int i = 0; kernels_at(i); i++) {
        char why[256];
        if (!kernels_at(i)->host || !kernels_at(i)->usable(why, sizeof why))
            continue;
        check_running_means(kernels_at(i), "net.bn=batch");
        check_running_means(kernels_at(i), "net.bn=running");
    }
}

TESTS(T(shared_prototypes_follow_the_class_means_of_tasks),
      T(a_query_point_that_is_left_out_is_as_if_it_were_not_there),
      T(a_task_without_support_teaches_nothing), T(a_test_point_of_an_absent_class_counts_as_wrong),
      T(an_absent_class_has_no_part_in_probabilities_and_entropies))
