/* test_proto.c - the prototypical loss of every kernel set against the
 * specification, and the specification against finite differences. */
#include "pass.h"

enum { SUPPORT = 7, QUERY = 6, N = SUPPORT + QUERY, WAYS = 4 };

static const struct spec specs[] = {
    {"strided", 16, 16, 1, {5, 17}, false, {0}, 2, N, {0}, WHOLE, 0, 0, 0, 201},
    {"strided, 64", 28, 28, 1, {64, 64, 64, 64}, false, {0}, 1, N, {0}, WHOLE, 0, 0, 0, 202},
    {"pooled", 17, 16, 3, {8, 33}, true, {0}, 1, N, {0}, WHOLE, 0, 0, 0, 203},
    {"support statistics", 16, 16, 1, {16, 8}, false, {0}, 1, N, {0}, SUPPORT, 0, 0, 0, 204},
    {"dense features", 1, 1, 40, {0}, false, {33, 19}, 2, N, {0}, WHOLE, 0, 0, 0, 205},
};
enum { SPECS = sizeof specs / sizeof *specs };
static const char *const enough[] = {"strided", "pooled", "dense features", NULL};

/* One pass over support and query together, and its loss.  Class 2 has no support,
 * one image of each part is not labelled. */
struct proto {
    struct pass p;
    struct classes classes;
    struct layer prior[2]; /* after another layer, as in a net */
    struct features support, query;
    void *scratch;
    float *logits, *probs;
};

static const int32_t classes[N] = {0, 1, 3, -1, 1, 0, 3, 2, 0, -1, 1, 3, 1};
static const int32_t unlabelled[N] = {0, 1, 3, -1, 1, 0, 3, -1, -1, -1, -1, -1, -1};
static const int32_t present[N] = {0, 1, 3, -1, 1, 0, 3, -1, 0, -1, 1, 3, 1};
static const int32_t none[N] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};

static const int32_t asked[N] = {-1, -1, -1, -1, -1, -1, -1, 2, 0, -1, 1, 3, 1};

/* Labels, and what becomes of class 2. */
struct marks {
    const int32_t *labels;
    enum absent absent;
};
static const struct marks marks[] = {
    {classes, ABSENT_ORIGIN},      {unlabelled, ABSENT_ORIGIN},  {present, ABSENT_LEFT_OUT},
    {unlabelled, ABSENT_LEFT_OUT}, {none, ABSENT_LEFT_OUT},      {classes, ABSENT_PRIOR},
    {asked, ABSENT_PRIOR},         {classes, ABSENT_PRIOR_MEAN}, {asked, ABSENT_PRIOR_MEAN},
};
enum { MARKS = sizeof marks / sizeof *marks };

/* Random shared prototypes, worth about one image each, and room for their gradients. */
static void prior_open(struct proto *o)
{
    const struct kernels *k = o->p.k;
    const struct layer *last = &o->p.layers[o->p.n_layers - 1];
    size_t trained, len, n = WAYS * row_size(last);
    struct rng r = rng_make(1, RNG_TEST, 7, 0);
    float *host = mem_array(n, sizeof *host), bias[WAYS], odds[WAYS];
    o->prior[0] = *last;
    o->prior[1] = (struct layer){.kind = LAYER_DENSE,
                                 .in_h = last->out_h,
                                 .in_w = last->out_w,
                                 .in_c = last->out_c,
                                 .out_h = 1,
                                 .out_w = 1,
                                 .out_c = WAYS,
                                 .odds = true};
    len = k->layout(o->prior, 2, &trained);
    o->classes.prior = &o->prior[1];
    o->classes.theta.at = device_alloc(&o->p, len * k->elem);
    o->classes.grad =
        (struct vec){.at = device_alloc(&o->p, (size_t)o->p.spec->tasks * len * k->elem),
                     .stride = (uint32_t)len};
    for (size_t i = 0; i < n; i++)
        host[i] = (float)rng_normal(&r);
    for (int i = 0; i < WAYS; i++)
        bias[i] = (float)rng_normal(&r);
    for (int i = 0; i < WAYS; i++)
        odds[i] = (float)rng_normal(&r);
    k->pack(o->p.device, &o->prior[1], TENSOR_WEIGHT, host, o->classes.theta.at);
    k->pack(o->p.device, &o->prior[1], TENSOR_BIAS, bias, o->classes.theta.at);
    k->pack(o->p.device, &o->prior[1], TENSOR_BETA, odds, o->classes.theta.at);
    free(host);
}

static void keep_prior(struct proto *o, struct results *r)
{
    const struct kernels *k = o->p.k;
    size_t n = WAYS * row_size(&o->p.layers[o->p.n_layers - 1]);
    for (int t = 0; t < o->p.spec->tasks; t++) {
        const char *grad =
            (const char *)o->classes.grad.at + (size_t)t * o->classes.grad.stride * k->elem;
        k->unpack(o->p.device, &o->prior[1], TENSOR_WEIGHT, grad,
                  keep(r, n, mem_print("shared prototypes, task %d", t)));
        k->unpack(o->p.device, &o->prior[1], TENSOR_BIAS, grad,
                  keep(r, WAYS, mem_print("their counts, task %d", t)));
        k->unpack(o->p.device, &o->prior[1], TENSOR_BETA, grad,
                  keep(r, WAYS, mem_print("the classes' log odds, task %d", t)));
    }
}

static void proto_open(struct proto *o, const struct kernels *k, const struct spec *s,
                       const struct marks *marked)
{
    const int32_t *labels = marked->labels;
    int32_t all[2 * N];
    pass_open(&o->p, k, s);
    o->classes = (struct classes){.ways = WAYS, .absent = marked->absent};
    memcpy(all, labels, sizeof classes);
    memcpy(all + N, labels, sizeof classes);
    int last = o->p.n_layers - 1;
    o->support = (struct features){.out = pass_out(&o->p, last, false),
                                   .dout = pass_dout(&o->p, last, false),
                                   .batch = o->p.batch,
                                   .tasks = o->p.batch.tasks,
                                   .first = 0,
                                   .count = SUPPORT,
                                   .labels = device_copy(&o->p, all, sizeof all)};
    o->query = o->support;
    o->query.first = SUPPORT;
    o->query.count = QUERY;
    o->scratch = device_alloc(&o->p, k->proto_bytes(&o->p.layers[last], s->tasks, WAYS));
    o->logits = device_alloc(&o->p, (size_t)(s->tasks * N * WAYS) * sizeof(float));
    o->probs = device_alloc(&o->p, (size_t)(s->tasks * N * WAYS) * sizeof(float));
    if (marked->absent >= ABSENT_PRIOR)
        prior_open(o);
}

static void proto_run(struct proto *o)
{
    pass_forward(&o->p);
    o->p.k->proto(o->p.device, &o->p.layers[o->p.n_layers - 1], &o->support, &o->query, &o->classes,
                  o->logits, o->probs, o->p.loss, o->scratch);
    pass_backward(&o->p);
}

static void proto_results(struct proto *o, struct results *r)
{
    int last = o->p.n_layers - 1, tasks = o->p.spec->tasks;
    keep_rows(&o->p, r, "out", last, o->support.out);
    const float *rows[] = {o->logits, o->probs};
    for (int i = 0; i < 2; i++) {
        keep_floats(&o->p, r, i ? "probs" : "logits", rows[i], WAYS);
        for (int t = 0; t < tasks; t++) /* those of the support are nobody's */
            memset(r->item[r->n - 1].at + t * N * WAYS, 0, SUPPORT * WAYS * sizeof(float));
    }
    keep_floats(&o->p, r, "loss", o->p.loss, 0);
    keep_vector(&o->p, r, "grad", o->p.grad);
    if (o->classes.prior)
        keep_prior(o, r);
}

/* Where there are class means alone, a bias of the features changes no distance: its gradient is
 * zero, but for rounding, which cannot be compared. */
static void blank_bias(const struct spec *s, int layer, struct results *r)
{
    char name[64];
    for (int t = 0; t < s->tasks; t++) {
        snprintf(name, sizeof name, "grad bias of layer %d, task %d", layer, t);
        for (int i = 0; i < r->n; i++)
            for (size_t j = 0; strcmp(r->item[i].name, name) == 0 && j < r->item[i].len; j++) {
                CHECK_NEAR(r->item[i].at[j], 0, 1e-4);
                r->item[i].at[j] = 0;
            }
    }
}

static void run(const struct kernels *k, const struct spec *s, const struct marks *marked,
                struct results *r)
{
    struct proto o;
    proto_open(&o, k, s, marked);
    proto_run(&o);
    proto_results(&o, r);
    if (marked->absent == ABSENT_LEFT_OUT && o.p.layers[o.p.n_layers - 1].kind == LAYER_DENSE)
        blank_bias(s, o.p.n_layers - 1, r);
    pass_close(&o.p);
}

/* One task, whose support is task 0 of a pass and whose query is task 1: some of their images,
 * or all of them. */
static void run_twins(const struct kernels *k, const struct spec *s, bool all, struct results *r)
{
    struct proto o;
    proto_open(&o, k, s, &marks[0]);
    o.support.tasks = o.query.tasks = 1;
    o.query.task = 1;
    if (all) {
        o.query.first = 0;
        o.support.count = o.query.count = N;
    }
    proto_run(&o);
    keep_floats(&o.p, r, "loss", o.p.loss, 0);
    keep_vector(&o.p, r, "grad", o.p.grad);
    pass_close(&o.p);
}

TEST(support_and_query_may_be_tasks_of_one_pass)
{
    static struct results want, got;
    int bad = 0;
    for (int i = 0; i < 2; i++) {
        run_twins(&kernels_ref64, &specs[0], i, &want);
        for (int j = 0; kernels_at(j); j++) {
            if (kernels_at(j) == &kernels_ref64 || !set_usable(kernels_at(j)))
                continue;
            run_twins(kernels_at(j), &specs[0], i, &got);
            bad += results_differ(specs[0].name, kernels_at(j)->name, &got, &want, 2e-5) > 0;
            results_free(&got);
        }
        results_free(&want);
    }
    CHECK_EQ(bad, 0);
}

TEST(every_set_agrees_with_the_specification)
{
    int bad = 0;
    for (int i = 0; i < MARKS * SPECS; i++) {
        static struct results want, got;
        const struct spec *s = &specs[i / MARKS];
        const struct marks *marked = &marks[i % MARKS];
        if (beyond(enough, s))
            continue;
        run(&kernels_ref64, s, marked, &want);
        for (int j = 0; kernels_at(j); j++) {
            if (kernels_at(j) == &kernels_ref64 || !set_usable(kernels_at(j)) ||
                (marked->absent >= ABSENT_PRIOR && !kernels_at(j)->host))
                continue;
            run(kernels_at(j), s, marked, &got);
            bad += results_differ(s->name, kernels_at(j)->name, &got, &want, 2e-5) > 0;
            results_free(&got);
        }
        results_free(&want);
    }
    CHECK_EQ(bad, 0);
}

/* A class without support: probability 0 and no gradient; where no class has any, all are
 * equally likely. */
TEST(a_class_that_is_left_out_has_no_part_in_it)
{
    for (int i = 0; kernels_at(i); i++) {
        if (!set_usable(kernels_at(i)))
            continue;
        struct results r = {0};
        run(kernels_at(i), &specs[0], &marks[2], &r);
        const float *logits = r.item[1].at, *probs = r.item[2].at;
        for (int j = SUPPORT; j < N; j++) {
            CHECK(isinf(logits[j * WAYS + 2]) && logits[j * WAYS + 2] < 0);
            CHECK_EQ(probs[j * WAYS + 2], 0);
            CHECK_NEAR(probs[j * WAYS] + probs[j * WAYS + 1] + probs[j * WAYS + 3], 1, 1e-6);
        }
        results_free(&r);
        run(kernels_at(i), &specs[0], &marks[4], &r);
        for (int j = SUPPORT * WAYS; j < N * WAYS; j++)
            CHECK_NEAR(r.item[2].at[j], 1.0 / WAYS, 1e-6);
        results_free(&r);
    }
}

/* The loss of Snell et al. 2017 for task 0, from plain rows of doubles. */
static double loss_of(struct proto *o, const struct marks *marked)
{
    const int32_t *y = marked->labels;
    pass_forward(&o->p);
    size_t len = row_size(&o->p.layers[o->p.n_layers - 1]);
    const double *rows = o->support.out;
    double *means = mem_array(WAYS * len, sizeof *means), made[WAYS] = {0}, sum = 0;
    int labelled = 0;
    for (int i = 0; i < SUPPORT; i++)
        for (size_t j = 0; y[i] >= 0 && j < len; j++) {
            made[y[i]] += j == 0;
            means[(size_t)y[i] * len + j] += rows[(size_t)i * len + j];
        }
    for (int i = SUPPORT; i < N; i++) {
        double z = 0, own = 0;
        for (int w = 0; y[i] >= 0 && w < WAYS; w++) {
            double distance = 0;
            if (marked->absent == ABSENT_LEFT_OUT && made[w] == 0)
                continue;
            for (size_t j = 0; j < len; j++) {
                double mean = made[w] > 0 ? means[(size_t)w * len + j] / made[w] : 0;
                distance += (rows[(size_t)i * len + j] - mean) * (rows[(size_t)i * len + j] - mean);
            }
            z += exp(-distance);
            own = w == y[i] ? distance : own;
        }
        labelled += y[i] >= 0;
        sum += y[i] >= 0 ? log(z) + own : 0;
    }
    free(means);
    return sum / labelled;
}

TEST(the_gradient_is_that_of_finite_differences)
{
    static const struct spec small[] = {
        {"strided", 16, 16, 1, {3, 2}, false, {0}, 1, N, {0}, WHOLE, 0, 0, 0, 211},
        {"support statistics", 16, 16, 1, {3, 2}, false, {0}, 1, N, {0}, SUPPORT, 0, 0, 0, 212},
        {"dense", 1, 1, 20, {0}, false, {11, 9}, 1, N, {0}, WHOLE, 0, 0, 0, 213},
    };
    const double step = 1e-6;
    for (int i = 0; i < 2 * 3; i++) {
        const struct marks *marked = &marks[i / 3 * 2];
        struct proto o;
        proto_open(&o, &kernels_ref64, &small[i % 3], marked);
        proto_run(&o);
        struct pass *p = &o.p;
        double said = p->k->dot(p->device, p->trained, p->grad.at, p->v.at);
        p->k->axpy(p->device, 1, p->trained, p->theta, p->theta, step, p->v);
        double up = loss_of(&o, marked);
        p->k->axpy(p->device, 1, p->trained, p->theta, p->theta, -2 * step, p->v);
        double down = loss_of(&o, marked);
        pass_close(p);
        CHECK_NEAR(said, (up - down) / (2 * step), 1e-6 * fabs(said));
    }
}

TESTS(T(every_set_agrees_with_the_specification), T(support_and_query_may_be_tasks_of_one_pass),
      T(a_class_that_is_left_out_has_no_part_in_it), T(the_gradient_is_that_of_finite_differences))
