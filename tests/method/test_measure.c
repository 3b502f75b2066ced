/* test_measure.c - measured stability and constants where their value is known. */
#include "theory/curvature.h"
#include "theory/probe.h"
#include "theory/spectrum.h"

#include "test.h"

static const char bench[] = "glyphs:classes=30,drawers=12,size=16:5w-2s";

static struct mete_study study_of(const char *method, const char *const *set)
{
    struct mete_study o = mete_study_defaults();
    o.bench = bench;
    o.method = method;
    o.net = "mlp";
    o.device = "ref64";
    o.set = set;
    o.threads = 1;
    o.tasks = 12;
    o.fresh = 6;
    o.removals = 3;
    o.probed = 2;
    return o;
}

/* All weights of an engine as one number that any change shows in. */
static double fingerprint(struct engine *e)
{
    struct net_tensor t[NET_TENSORS_MAX];
    int n = net_tensors(engine_net(e), t);
    double sum = 0;
    for (int i = 0; i < n; i++) {
        float *host = mem_array(t[i].len, sizeof *host);
        engine_get(e, ENGINE_THETA, &t[i], host);
        for (size_t j = 0; j < t[i].len; j++)
            sum += host[j] * cos((double)(j + 1) * (i + 1));
        free(host);
    }
    return sum;
}

static double trained_without(const struct field *f, int without)
{
    struct engine *e = NULL;
    if (field_train(f, without, NULL, NULL, &e))
        abort();
    double x = fingerprint(e);
    engine_close(e);
    return x;
}

TEST(leaving_out_a_task_that_is_never_drawn_changes_nothing)
{
    const char *const set[] = {"net.units=8", "train.steps=2", "train.meta_batch=3", NULL};
    struct mete_study o = study_of("reptile", set);
    struct field f;
    CHECK_OK(field_open(&f, &o));
    CHECK_EQ(f.n, 12);
    CHECK_EQ(f.n_fresh, 6);
    double all = trained_without(&f, -1);
    CHECK_NEAR(trained_without(&f, -1), all, 0);
    int changed = 0;
    for (int i = 0; i < f.n; i++)
        changed += trained_without(&f, i) != all;
    CHECK(changed >= 3 && changed <= 6); /* two steps of three tasks */
    field_close(&f);
}

TEST(a_batch_of_the_removed_task_alone_is_drawn_anew)
{
    const char *const set[] = {"net.units=8", "train.steps=1", "train.meta_batch=1", NULL};
    struct mete_study o = study_of("reptile", set);
    struct field f;
    o.tasks = 2;
    CHECK_OK(field_open(&f, &o));
    double all = trained_without(&f, -1), one[2] = {trained_without(&f, 0), trained_without(&f, 1)};
    CHECK((one[0] == all) != (one[1] == all));
    field_close(&f);
}

TEST(fresh_tasks_are_not_training_tasks)
{
    const char *const set[] = {"net.units=8", NULL};
    struct mete_study o = study_of("maml", set);
    struct field f;
    CHECK_OK(field_open(&f, &o));
    for (int i = 0; i < f.n; i++)
        for (int j = 0; j < f.n_fresh; j++)
            CHECK(f.train[i].task != f.fresh[j].task);
    CHECK_EQ(field_labelled_task(&f, &f.train[0]).query.n, 25); /* five of each class */
    CHECK_EQ(field_labelled_task(&f, &f.train[0]).support.n, 10);
    field_close(&f);
}

TEST(a_method_that_does_not_move_is_perfectly_stable)
{
    const char *const set[] = {"net.units=8",    "train.steps=3", "outer.optimiser=sgd",
                               "outer.lr=1e-30", "inner.lr=0",    NULL};
    struct mete_study o = study_of("maml", set);
    struct mete_stability r;
    CHECK_OK(mete_stability(&o, &r));
    CHECK_NEAR(r.outer_beta.largest, 0, 0);
    CHECK_NEAR(r.outer_beta.mean, 0, 0);
    CHECK_NEAR(r.inner_beta.largest, 0, 0);
    CHECK(r.risk.mean > 1 && r.risk.mean < 2.5); /* untrained: about ln 5 */
    CHECK_EQ(r.n, 12);
    CHECK_EQ(r.m, 10);
}

static void copy_to_probe(struct engine *e, struct probe *p)
{
    struct net_tensor t[NET_TENSORS_MAX];
    int n = net_tensors(engine_net(e), t);
    for (int i = 0; i < n; i++) {
        float *host = mem_array(t[i].len, sizeof *host);
        engine_get(e, ENGINE_THETA, &t[i], host);
        probe_put_tensor(p, &t[i], host);
        free(host);
    }
}

/* With an inner rate of 0 the outer objective is the query's plain loss.  Some steps
 * are taken first: at initial weights biases are 0, and a unit whose inputs are all
 * off sits exactly on its kink, where there is no curvature to speak of. */
TEST(outer_constants_without_an_inner_loop_are_those_of_the_loss)
{
    const char *const set[] = {"net.units=32", "inner.lr=0", "inner.steps=2", "train.steps=20",
                               NULL};
    struct mete_study o = study_of("maml", set);
    struct field f;
    struct curvature_meter *meter = NULL;
    struct curvature c = {0};
    struct engine *e = NULL;
    struct probe *p = NULL;
    CHECK_OK(field_open(&f, &o));
    CHECK_OK(field_train(&f, -1, NULL, NULL, &e));
    CHECK_OK(curvature_open(&meter, &f, 1));
    CHECK_OK(curvature_look(meter, e, &c));
    struct probe_spec spec = {.kernels = f.spec.kernels,
                              .net = f.spec.net,
                              .net_settings = f.spec.net_settings,
                              .images = f.spec.images,
                              .ways = f.spec.ways,
                              .items = 25,
                              .seed = f.spec.seed};
    CHECK_OK(probe_open(&p, &spec));
    copy_to_probe(e, p);
    struct labelled_task labelled = field_labelled_task(&f, &f.train[0]);
    double *g = mem_array(probe_trained(p), sizeof *g);
    struct spectrum s;
    struct spectrum_options so = {probe_trained(p), 60, 1e-8, 2};
    CHECK_OK(probe_gradient(p, &labelled.query, -1, NULL, g));
    CHECK_OK(spectrum_of(&s, &so, probe_product, p));
    CHECK_NEAR(c.outer_l / vector_norm(probe_trained(p), g), 1, 1e-4); /* nudged */
    CHECK_NEAR(c.outer_gamma / spectrum_norm(&s), 1, 1e-2);
    /* and the inner constants are at least those of the mean over the support */
    CHECK_OK(probe_gradient(p, &labelled.support, -1, NULL, g));
    CHECK_OK(spectrum_of(&s, &so, probe_product, p));
    CHECK(c.inner_l >= vector_norm(probe_trained(p), g));
    CHECK(c.inner_gamma >= 0.99 * spectrum_norm(&s));
    free(g);
    probe_close(p);
    curvature_close(meter);
    engine_close(e);
    field_close(&f);
}

TEST(every_method_is_measured_whole)
{
    static const char *const methods[] = {"maml", "reptile", "protonet", "fedavg"};
    const char *const set[] = {"net.units=8", "train.steps=20", NULL};
    for (int i = 0; i < 4; i++) {
        struct mete_study o = study_of(methods[i], set);
        struct mete_stability r;
        CHECK_OK(mete_stability(&o, &r));
        bool empirical = r.estimator == METE_ESTIMATOR_EMPIRICAL;
        CHECK_EQ(empirical, i % 2);
        CHECK(r.outer_beta.largest > 0 && r.outer_beta.largest <= r.max_loss);
        CHECK(r.outer_beta.mean > 0 && r.outer_beta.mean <= r.outer_beta.largest);
        CHECK(r.outer_l > 0 && r.outer_gamma > 0);
        CHECK(isnan(r.inner_l) == (i == 2));
        CHECK_NEAR(r.gap, r.gap_outer + r.gap_inner, 1e-12);
        CHECK_NEAR(r.gap, r.risk.mean - r.objective.mean, 1e-12);
        CHECK(empirical || r.gap_inner == 0); /* the second term of the proof of Theorem 2 */
        CHECK_NEAR(r.by_beta.outer_beta, r.outer_beta.largest, 0);
        CHECK(r.by_beta.total >= r.gap); /* a bound that is broken would be news */
        CHECK(r.by_lemma.total >= r.gap);
    }
}

TEST(a_study_that_cannot_be_is_refused)
{
    struct mete_stability r;
    struct mete_study o = study_of("maml", NULL);
    o.tasks = 0; /* and no budget */
    CHECK_EQ(mete_stability(&o, &r), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "has no label budget");
    o = study_of("maml", NULL), o.tasks = 1;
    CHECK_EQ(mete_stability(&o, &r), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "two training tasks or more");
    o = study_of("maml", NULL), o.max_loss = -1;
    CHECK_EQ(mete_stability(&o, &r), METE_EINVAL);
    o = study_of("maml", NULL), o.delta = 0;
    CHECK_EQ(mete_stability(&o, &r), METE_EINVAL);
    o = study_of("mamll", NULL);
    CHECK_EQ(mete_stability(&o, &r), METE_EINVAL);
    o = study_of("maml", NULL), o.bench = "glyphs-users:users=10:1s", o.tasks = 20;
    CHECK_EQ(mete_stability(&o, &r), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "users");
}

static int stop_after(void *user, const struct mete_progress *p)
{
    int *calls = user;
    (void)p;
    return --*calls < 0;
}

/* Each update, gradient and look at tasks asks whether to stop: the study of this test has about a
 * hundred of them, and three removals. */
TEST(a_study_stops_soon_when_asked)
{
    const char *const set[] = {"net.units=8", "train.steps=8", NULL};
    struct mete_study o = study_of("maml", set);
    struct mete_stability r;
    for (int asked = 0; asked < 60; asked += 20) {
        int left = asked;
        mete_progress_to(stop_after, &left);
        int err = mete_stability(&o, &r);
        mete_progress_to(NULL, NULL);
        CHECK_EQ(err, METE_ESTOPPED);
        CHECK_EQ(left, -1); /* it is not asked again */
    }
}

TESTS(T(leaving_out_a_task_that_is_never_drawn_changes_nothing),
      T(a_batch_of_the_removed_task_alone_is_drawn_anew), T(fresh_tasks_are_not_training_tasks),
      T(a_method_that_does_not_move_is_perfectly_stable),
      T(outer_constants_without_an_inner_loop_are_those_of_the_loss),
      T(every_method_is_measured_whole), T(a_study_that_cannot_be_is_refused),
      T(a_study_stops_soon_when_asked))
