/* test_methods.c - meta-gradients against differences, threads, learners. */
#include "test.h"
#include "base/error.h"
#include "method/lockstep.h"
#include "method/engine.h"

#include <malloc.h>
#include <pthread.h>

enum { H = 24, W = 20, ITEMS = 60, WAYS = 3 };

static uint8_t pixels[ITEMS * H * W];
static int32_t item_list[ITEMS], label_list[ITEMS];

/* Random blobs: smooth enough that a net has something to learn. */
static void fill_pixels(void)
{
    static bool filled;
    if (filled)
        return;
    filled = true;
    struct rng r = rng_make(3, RNG_TEST, 0, 0);
    for (int i = 0; i < ITEMS * H * W; i++)
        pixels[i] = (uint8_t)rng_below(&r, 256);
    for (int i = 0; i < ITEMS; i++) {
        item_list[i] = i;
        label_list[i] = i % WAYS;
    }
}

static struct labelled_task labelled_task_at(int first, int support, int query)
{
    return (struct labelled_task){
        .support = {item_list + first, label_list + first, support},
        .query = {item_list + first + support, label_list + first + support, query},
        .id = (uint64_t)first,
    };
}

/* A kernel set; "together": the specification, given a whole shard at once as a GPU is;
 * "floats": that in floats. */
static int find_set(const struct kernels **out, const char *name)
{
    static struct kernels sets[2];
    int floats = strcmp(name, "floats") == 0;
    if (!floats && strcmp(name, "together") != 0)
        return kernels_find(out, name);
    if (!sets[floats].name) {
        sets[floats] = floats ? kernels_ref : kernels_ref64;
        sets[floats].batched = true;
    }
    *out = &sets[floats];
    return 0;
}

/* Of the engine that is opened next. */
static _Thread_local struct {
    struct lockstep_set *lockstep_set;
    uint64_t seed;
} next = {NULL, 5};

/* An engine over the test images; `sets` are "section.key=value", ended by NULL. */
static int open_engine(struct engine **out, struct method *m, const char *kernels, int threads,
                       int meta_batch, const char *method, const char *const *sets)
{
    static _Thread_local char net_settings[256];
    struct param_set set = {0};
    struct engine_spec spec = {.threads = threads,
                               .ways = WAYS,
                               .meta_batch = meta_batch,
                               .method = m,
                               .net_settings = net_settings,
                               .seed = next.seed,
                               .largest = {1, 9, 9},
                               .lockstep_set = next.lockstep_set};
    fill_pixels();
    int err = find_set(&spec.kernels, kernels);
    if (!err)
        err = method_open(m, method);
    if (!err)
        err = net_find(&spec.net, "conv4");
    if (err)
        return err;
    param_set_add(&set, "method", m->ops->params, m->state);
    param_set_add(&set, "net", spec.net->params, net_settings);
    param_set_add(&set, "outer", outer_params, &spec.outer);
    err = param_set_text(&set, "net.filters", "4");
    if (!err)
        err = param_set_all(&set, sets);
    spec.images = (struct images){.data = pixels,
                                  .type = IMAGES_U8,
                                  .h = H,
                                  .w = W,
                                  .c = 1,
                                  .items = ITEMS,
                                  .scale = 3.0f / 255};
    return err ? err : engine_open(out, &spec);
}

/* All trained weights or gradients as one row of doubles. */
static size_t pull(struct engine *e, enum engine_vector which, double *to)
{
    struct net_tensor tensors[NET_TENSORS_MAX];
    int n = net_tensors(engine_net(e), tensors);
    size_t at = 0;
    for (int i = 0; i < n; i++) {
        if (!net_tensor_trained(&tensors[i]))
            continue;
        float *host = malloc(tensors[i].len * sizeof *host);
        engine_get(e, which, &tensors[i], host);
        for (size_t j = 0; j < tensors[i].len; j++)
            to[at++] = host[j];
        free(host);
    }
    return at;
}

static void push(struct engine *e, const double *from)
{
    struct net_tensor tensors[NET_TENSORS_MAX];
    int n = net_tensors(engine_net(e), tensors);
    for (int i = 0; i < n; i++) {
        if (!net_tensor_trained(&tensors[i]))
            continue;
        float *host = malloc(tensors[i].len * sizeof *host);
        for (size_t j = 0; j < tensors[i].len; j++)
            host[j] = (float)*from++;
        engine_put(e, ENGINE_THETA, &tensors[i], host);
        free(host);
    }
}

struct probe {
    struct engine *e;
    struct labelled_task task;
};

static double loss_at(void *user, const double *x)
{
    struct probe *p = user;
    double loss = NAN;
    push(p->e, x);
    engine_gradient(p->e, &p->task, 1, &loss);
    return loss;
}

/* How far the meta-gradient is from the slope of the loss. */
static double slope_error(const char *method, const char *const *sets)
{
    struct method m = {0};
    struct probe p = {.task = labelled_task_at(0, 9, 9)};
    static double x[4096], g[4096];
    double loss, worst = INFINITY;
    if (open_engine(&p.e, &m, "ref64", 1, 1, method, sets) == 0) {
        size_t n = pull(p.e, ENGINE_THETA, x);
        engine_gradient(p.e, &p.task, 1, &loss);
        pull(p.e, ENGINE_GRADIENT, g);
        /* The loss is a float and has kinks: along some directions a step is small
         * enough to miss the kinks and large enough to be above the rounding.  A
         * wrong gradient is wrong along all of them. */
        for (uint64_t seed = 1; seed <= 4; seed++)
            for (double step = 1e-3; step > 1e-5; step /= 3)
                worst = fmin(worst, gradient_check(loss_at, &p, x, g, n, step, 2, seed));
    } else {
        fprintf(stderr, "%s\n", mete_errmsg());
    }
    engine_close(p.e);
    method_close(&m);
    return worst;
}

TEST(the_meta_gradient_is_the_slope_of_the_query_loss)
{
    static const struct {
        const char *method;
        const char *sets[6];
    } cases[] = {
        {"protonet", {NULL}},
        {"protonet", {"joint=yes", NULL}},
        {"protonet", {"net.bn=support", NULL}},
        {"protonet", {"net.bn=running", NULL}},
        {"protonet", {"net.downsample=pool", NULL}},
        {"protonet", {"absent=prior", NULL}},
        {"protonet", {"absent=prior", "joint=yes", NULL}},
        {"protonet", {"absent=prior", "net.bn=running", "net.downsample=pool", NULL}},
        {"maml", {"first_order=no", "inner.lr=0.03", "inner.steps=3", NULL}},
        {"maml", {"first_order=no", "inner.lr=0.004", "inner.loss=sum", NULL}},
        {"maml", {"first_order=no", "inner.lr=0.03", "net.bn=support", NULL}},
        {"maml", {"first_order=no", "inner.lr=0.03", "inner.prox=5", NULL}},
        {"maml", {"first_order=no", "inner.lr=0.5", "net.bn=running", NULL}},
        {"maml", {"first_order=no", "inner.lr=0.03", "net.downsample=pool", NULL}},
        {"maml", {"first_order=no", "inner.lr=0.03", "inner.batching=shuffled", NULL}},
        {"maml",
         {"first_order=no", "inner.lr=0.03", "inner.batching=shuffled", "inner.batch=13", NULL}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double error = slope_error(cases[i].method, cases[i].sets);
        if (!(error < 0.03))
            FAIL_TEST("case %zu (%s %s): the slope is off by %g", i, cases[i].method,
                      cases[i].sets[0] ? cases[i].sets[0] : "", error);
    }
}

TEST(first_order_is_not_the_slope)
{
    const char *sets[] = {"first_order=yes", "inner.lr=0.3", "inner.steps=5", NULL};
    CHECK(slope_error("maml", sets) > 0.05);
}

/* The weights after three updates over a meta-batch of unequal tasks. */
static int train_a_little(const char *method, int threads, double *x)
{
    struct method m = {0};
    struct engine *e = NULL;
    const char *sets[] = {NULL};
    struct labelled_task tasks[7];
    int err = open_engine(&e, &m, "cpu", threads, 7, method, sets);
    for (int i = 0; i < 7; i++)
        tasks[i] = labelled_task_at(i * 3, 4 + i % 3, 5 + i % 2);
    for (int step = 0; !err && step < 3; step++)
        err = engine_step(e, tasks, 7 - step);
    size_t n = err ? 0 : pull(e, ENGINE_THETA, x);
    engine_close(e);
    method_close(&m);
    return (int)n;
}

TEST(the_update_is_the_same_for_any_number_of_threads)
{
    static double one[4096], many[4096];
    for (int i = 0; method_at(i); i++) {
        if (!method_at(i)->meta_grad)
            continue; /* a baseline: no engine runs it */
        int n = train_a_little(method_at(i)->name, 1, one);
        CHECK(n > 0);
        for (int threads = 2; threads <= 4; threads++) {
            CHECK_EQ(train_a_little(method_at(i)->name, threads, many), n);
            CHECK(memcmp(one, many, (size_t)n * sizeof *one) == 0);
        }
    }
}

/* How far some updates are from Adam's (Kingma & Ba 2015, Algorithm 1) with the gradients that the
 * engine had. */
static double adam_error(const char *kernels)
{
    static double want[4096], got[4096], g[4096], first[4096], second[4096];
    const char *sets[] = {"inner.steps=1",    "outer.lr=0.01",  "outer.beta1=0.9",
                          "outer.beta2=0.99", "outer.eps=0.01", NULL};
    struct method m = {0};
    struct engine *e = NULL;
    struct labelled_task tasks[3];
    double worst = 0, loss;
    int err = open_engine(&e, &m, kernels, 2, 3, "maml", sets);
    size_t n = err ? 0 : pull(e, ENGINE_THETA, want);
    for (int i = 0; i < 3; i++)
        tasks[i] = labelled_task_at(i * 3, 5, 6);
    memset(first, 0, sizeof first);
    memset(second, 0, sizeof second);
    for (int step = 1; !err && step <= 5; step++) {
        err = engine_gradient(e, tasks, 3, &loss);
        pull(e, ENGINE_GRADIENT, g);
        for (size_t i = 0; i < n; i++) {
            first[i] = 0.9 * first[i] + 0.1 * g[i];
            second[i] = 0.99 * second[i] + 0.01 * g[i] * g[i];
            want[i] -= 0.01 * first[i] / (1 - pow(0.9, step)) /
                       (sqrt(second[i] / (1 - pow(0.99, step))) + 0.01);
        }
        if (!err)
            err = engine_step(e, tasks, 3);
        pull(e, ENGINE_THETA, got);
        for (size_t i = 0; i < n; i++)
            worst = fmax(worst, fabs(got[i] - want[i]));
    }
    engine_close(e);
    method_close(&m);
    return err || n == 0 ? INFINITY : worst;
}

TEST(updates_are_adams)
{
    for (int s = -2; s < 0 || kernels_at(s); s++) {
        char why[256];
        if (s >= 0 && !kernels_at(s)->usable(why, sizeof why))
            continue;
        CHECK_NEAR(
            adam_error(s < 0 ? (const char *[]){"floats", "together"}[s + 2] : kernels_at(s)->name),
            0, 2e-6);
    }
}

/* How far the mean loss of some updates is from what the tasks' losses were before each; the
 * tasks of a meta-batch are unequal, and so are meta-batches. */
static double loss_error(const char *kernels, const char *const *sets)
{
    struct method m = {0};
    struct engine *e = NULL;
    struct labelled_task tasks[7];
    double sum = 0, mean = NAN, worst = 0;
    int err = open_engine(&e, &m, kernels, 2, 7, "maml", sets);
    for (int i = 0; i < 7; i++)
        tasks[i] = labelled_task_at(i * 3, 4 + i % 3, 5 + i % 2);
    for (int step = 0; !err && step < 6; step++) {
        double loss = NAN, since = step < 3 ? step + 1 : step - 2;
        err = engine_gradient(e, tasks, 7 - step % 2, &loss);
        sum = step == 3 ? loss : sum + loss; /* it was restarted */
        if (!err)
            err = engine_step(e, tasks, 7 - step % 2);
        if (!err)
            err = engine_losses(e, step == 2, &mean);
        worst = fmax(worst, isfinite(mean) ? fabs(mean - sum / since) : INFINITY);
    }
    if (!err)
        err = engine_losses(e, true, &mean) ? 1 : engine_losses(e, true, &mean);
    worst = isnan(mean) ? worst : INFINITY; /* no step since */
    engine_close(e);
    method_close(&m);
    return err ? INFINITY : worst;
}

TEST(losses_are_those_of_the_steps)
{
    const char *one_shard[] = {"inner.steps=1", NULL};
    const char *several[] = {"inner.steps=1", "net.bn=support", NULL};
    for (int s = -3; s < 0 || kernels_at(s); s++) {
        char why[256];
        if (s >= 0 && !kernels_at(s)->usable(why, sizeof why))
            continue;
        const char *name =
            s < 0 ? (const char *[]){"floats", "together", "cpu"}[s + 3] : kernels_at(s)->name;
        CHECK_NEAR(loss_error(name, one_shard), 0, 2e-5);
        CHECK_NEAR(loss_error(name, several), 0, 2e-5);
    }
}

/* ---- a lockstep group ---- */

enum { LOCKSTEP = 3, LOCKSTEP_TASKS = 2 };

struct hand { /* one of a lockstep group, in a thread of its own */
    struct lockstep_set *lockstep_set;
    const char *kernels, *method;
    const char *const *sets;
    int number, steps;
    double *weights, loss;
    int n, err;
};

static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

/* Trains a run of its own: other tasks and other steps than the others'; in between it looks at
 * its loss, and it has a short meta-batch, which it must take alone. */
static void *work_hand(void *user)
{
    struct hand *h = user;
    struct method m = {0};
    struct engine *e = NULL;
    struct labelled_task tasks[LOCKSTEP_TASKS];
    next.lockstep_set = h->lockstep_set;
    next.seed = (uint64_t)h->number;
    pthread_mutex_lock(&opening);
    h->err = open_engine(&e, &m, h->kernels, 1, LOCKSTEP_TASKS, h->method, h->sets);
    pthread_mutex_unlock(&opening);
    for (int step = 0; !h->err && step < h->steps; step++) {
        for (int i = 0; i < LOCKSTEP_TASKS; i++) {
            tasks[i] = labelled_task_at((h->number * 7 + step * 5 + i * 3) % 30, 9, 9);
            tasks[i].id += (uint64_t)step << 32;
        }
        h->err = engine_step(e, tasks, step == 3 ? 1 : LOCKSTEP_TASKS);
        if (!h->err && step % 3 == h->number)
            h->err = engine_losses(e, false, &h->loss);
    }
    if (!h->err)
        h->err = engine_losses(e, false, &h->loss);
    h->n = h->err ? 0 : (int)pull(e, ENGINE_THETA, h->weights);
    engine_close(e);
    method_close(&m);
    return NULL;
}

/* Runs in a lockstep group of three give what they give in one of their own, bit for bit; where
 * work is not cut by the number of tasks, what they give without one. */
static void check_lockstep(const char *kernels, const char *method, const char *const *sets)
{
    static double weights[2][LOCKSTEP][4096];
    struct hand hands[2][LOCKSTEP];
    pthread_t threads[LOCKSTEP];
    struct lockstep_set *lockstep_set[2] = {NULL, NULL};
    for (int all = 0; all < 2; all++) {
        if (all || strcmp(kernels, "floats") != 0)
            CHECK_OK(lockstep_set_open(&lockstep_set[all], LOCKSTEP));
        for (int i = 0; i < LOCKSTEP; i++) {
            hands[all][i] = (struct hand){.lockstep_set = lockstep_set[all],
                                          .kernels = kernels,
                                          .method = method,
                                          .sets = sets,
                                          .number = i,
                                          .steps = 4 + i,
                                          .weights = weights[all][i]};
            CHECK(pthread_create(&threads[i], NULL, work_hand, &hands[all][i]) == 0);
            if (!all) /* one after the other */
                pthread_join(threads[i], NULL);
        }
        for (int i = 0; all && i < LOCKSTEP; i++)
            pthread_join(threads[i], NULL);
        lockstep_set_close(lockstep_set[all]);
    }
    for (int i = 0; i < LOCKSTEP; i++) {
        CHECK_EQ(hands[0][i].err, 0);
        CHECK_EQ(hands[1][i].err, 0);
        CHECK(hands[0][i].n > 0 && hands[0][i].n == hands[1][i].n);
        CHECK(hands[0][i].loss == hands[1][i].loss);
        CHECK(memcmp(weights[0][i], weights[1][i], (size_t)hands[0][i].n * sizeof(double)) == 0);
    }
}

TEST(runs_together_are_the_runs_alone)
{
    static const struct {
        const char *method;
        const char *sets[5];
    } cases[] = {{"protonet", {NULL}},
                 {"protonet", {"joint=yes", NULL}},
                 {"maml", {"first_order=no", "inner.lr=0.03", "inner.steps=2", NULL}},
                 {"maml", {"net.bn=support", "inner.steps=2", NULL}},
                 {"reptile", {"inner.batching=shuffled", "inner.lr=0.03", "inner.steps=3", NULL}},
                 {"fedavg", {"net.bn=running", "inner.steps=2", NULL}}};
    char why[256];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_lockstep("floats", cases[i].method, cases[i].sets);
        for (int s = 0; kernels_at(s); s++)
            if (kernels_at(s)->batched && kernels_at(s)->usable(why, sizeof why))
                check_lockstep(kernels_at(s)->name, cases[i].method, cases[i].sets);
    }
}

enum { TASKS = 3 };

/* How far the gradient of tasks together is from the mean of theirs one by one.  sizes: of
 * their supports, then of their queries. */
static double shard_error(const char *kernels, const char *method, const char *const *sets,
                          const int (*sizes)[TASKS])
{
    static double all[4096], one[4096], mean[4096];
    struct method m = {0};
    struct engine *e = NULL;
    struct labelled_task tasks[TASKS];
    double loss, off = 0, sum = 0;
    float logits[9 * WAYS];
    size_t n = 0;
    int err = open_engine(&e, &m, kernels, 1, TASKS, method, sets);
    memset(mean, 0, sizeof mean);
    for (int i = 0; i < TASKS; i++)
        tasks[i] = labelled_task_at(i * 11, sizes[0][i], sizes[1][i]);
    for (int i = 0; !err && i < TASKS; i++) {
        err = engine_gradient_one(e, &tasks[i], &loss, logits);
        n = err ? 0 : pull(e, ENGINE_GRADIENT, one);
        for (size_t j = 0; j < n; j++)
            mean[j] += one[j] / TASKS;
    }
    if (!err)
        err = engine_gradient(e, tasks, TASKS, &loss);
    n = err ? 0 : pull(e, ENGINE_GRADIENT, all);
    for (size_t j = 0; j < n; j++) {
        off += (all[j] - mean[j]) * (all[j] - mean[j]);
        sum += mean[j] * mean[j];
    }
    engine_close(e);
    method_close(&m);
    return err || n == 0 ? INFINITY : sqrt(off / sum);
}

/* Set s of those that take tasks together, from 0 on; NULL: not usable, or not of them. */
static const char *together_at(int s)
{
    char why[256];
    if (s == 0)
        return "together";
    const struct kernels *k = kernels_at(s - 1);
    return k->batched && k->usable(why, sizeof why) ? k->name : NULL;
}

/* A GPU takes tasks together that a CPU takes one by one. */
TEST(tasks_together_give_the_mean_of_their_gradients)
{
    static const int sizes[][2][TASKS] = {{{5, 5, 5}, {5, 5, 5}},
                                          {{4, 4, 4}, {6, 6, 6}},
                                          {{2, 6, 6}, {5, 3, 3}},
                                          {{3, 5, 4}, {4, 2, 6}},
                                          {{2, 5, 5}, {5, 3, 4}}};
    static const char *const sets[][2] = {
        {NULL}, {"net.bn=support", NULL}, {"net.bn=running", NULL}};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    for (int s = 0; s == 0 || kernels_at(s - 1); s++)
        for (int i = 0; together_at(s) && method_at(i) && method_at(i)->meta_grad; i++)
            for (int c = 0; c < 3 * SIZES; c++)
                CHECK(shard_error(together_at(s), method_at(i)->name, sets[c / SIZES],
                                  sizes[c % SIZES]) < 1e-5);
}

/* The same of passes that hold support and query together, and of shuffled inner batches. */
TEST(unequal_tasks_together_keep_support_and_query_apart)
{
    static const int sizes[2][TASKS] = {{2, 6, 6}, {5, 3, 3}};
    static const char *const joint[] = {"joint=yes", NULL};
    static const char *const shuffled[] = {"inner.batching=shuffled", NULL};
    static const char *const repeated[] = {"inner.batching=shuffled", "inner.batch=20", NULL};
    for (int s = 0; s == 0 || kernels_at(s - 1); s++) {
        if (!together_at(s))
            continue;
        CHECK(shard_error(together_at(s), "protonet", joint, sizes) < 1e-5);
        CHECK(shard_error(together_at(s), "maml", shuffled, sizes) < 1e-5);
        CHECK(shard_error(together_at(s), "reptile", shuffled, sizes) < 1e-5);
        CHECK(shard_error(together_at(s), "reptile", repeated, sizes) < 1e-5);
    }
}

TEST(a_learner_fits_its_support_and_predicts_probabilities)
{
    for (int i = 0; method_at(i); i++) {
        if (!method_at(i)->meta_grad)
            continue;
        struct method m = {0};
        struct engine *e = NULL;
        const char *sets[] = {NULL};
        const char *gradient_sets[] = {"inner.lr=0.3", "test.steps=40", NULL};
        bool steps = method_at(i)->adapt != NULL;
        CHECK_OK(
            open_engine(&e, &m, "cpu", 1, 1, method_at(i)->name, steps ? gradient_sets : sets));
        struct learner *l = engine_learner(e);
        struct labelled_task task = labelled_task_at(0, 9, 9);
        float probs[9 * WAYS], reps[9 * 16];
        float *probs_of[] = {probs}, *reps_of[] = {reps};
        CHECK_EQ(l->is.features, 4 * 2 * 2); /* 24x20 halves to 2x2 */
        /* without support the model is as it was learned */
        struct items none = {0};
        CHECK_OK(learner_adapt(l, 1, &none));
        CHECK_OK(learner_predict(l, 1, &task.query,
                                 &(struct predicted){.probs = probs_of, .reps = reps_of}));
        CHECK_OK(learner_adapt(l, 1, &task.support));
        CHECK_OK(learner_predict(l, 1, &task.support, &(struct predicted){.probs = probs_of}));
        int right = 0;
        for (int j = 0; j < 9; j++) {
            float *p = probs + j * WAYS;
            CHECK_NEAR(p[0] + p[1] + p[2], 1, 1e-5);
            right += p[j % WAYS] > p[(j + 1) % WAYS] && p[j % WAYS] > p[(j + 2) % WAYS];
        }
        if (steps)
            CHECK(right >= 7); /* it has seen these very images */
        engine_close(e);
        method_close(&m);
    }
}

/* The gradient of a meta-batch is the mean of its tasks', however many groups it is cut into. */
TEST(a_meta_batch_has_the_mean_gradient_of_its_tasks)
{
    enum { MOST = 37 };
    static const int sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 11, 13, 16, 17, 20, 31, MOST};
    static double alone[MOST][4096], together[4096];
    struct labelled_task tasks[MOST];
    struct method m = {0};
    struct engine *e = NULL;
    double loss, losses[MOST];
    size_t n = 0;
    CHECK_OK(open_engine(&e, &m, "ref64", 2, MOST, "protonet", (const char *[]){NULL}));
    for (int i = 0; i < MOST; i++) {
        tasks[i] = labelled_task_at(i % 30, 9, 9);
        tasks[i].query.n -= i % 3;
        CHECK_OK(engine_gradient(e, &tasks[i], 1, &losses[i]));
        n = pull(e, ENGINE_GRADIENT, alone[i]);
    }
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        double mean = 0, apart = 0, norm = 0;
        CHECK_OK(engine_gradient(e, tasks, sizes[k], &loss));
        pull(e, ENGINE_GRADIENT, together);
        for (int i = 0; i < sizes[k]; i++)
            mean += losses[i] / sizes[k];
        CHECK_NEAR(loss, mean, 1e-6);
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (int i = 0; i < sizes[k]; i++)
                sum += alone[i][j] / sizes[k];
            apart += (together[j] - sum) * (together[j] - sum);
            norm += sum * sum;
        }
        CHECK(apart < 1e-10 * norm);
    }
    engine_close(e);
    method_close(&m);
}

/* What a learner predicts for a task after adapting, with these settings. */
static void predict_with(const char *method, const char *const *sets, float probs[9 * WAYS])
{
    struct method m = {0};
    struct engine *e = NULL;
    struct labelled_task task = labelled_task_at(0, 9, 9);
    CHECK_OK(open_engine(&e, &m, "cpu", 1, 1, method, sets));
    struct learner *l = engine_learner(e);
    CHECK_OK(learner_adapt(l, 1, &task.support));
    CHECK_OK(learner_predict(l, 1, &task.query, &(struct predicted){.probs = &probs}));
    engine_close(e);
    method_close(&m);
}

/* A model adapts by as many steps as test.steps says, whatever it was trained with. */
TEST(test_steps_are_taken_and_not_inner_steps)
{
    static const char *const methods[] = {"maml", "reptile"};
    for (int i = 0; i < 2; i++) {
        float two[9 * WAYS], seven[9 * WAYS], both[9 * WAYS], none[9 * WAYS], fresh[9 * WAYS];
        predict_with(methods[i], (const char *[]){"inner.steps=2", "test.steps=2", NULL}, two);
        predict_with(methods[i], (const char *[]){"inner.steps=2", "test.steps=7", NULL}, seven);
        predict_with(methods[i], (const char *[]){"inner.steps=7", "test.steps=7", NULL}, both);
        predict_with(methods[i], (const char *[]){"inner.steps=7", "test.steps=0", NULL}, none);
        predict_with(methods[i], (const char *[]){"inner.lr=0", "test.steps=3", NULL}, fresh);
        CHECK(memcmp(seven, both, sizeof both) == 0);
        CHECK(memcmp(seven, two, sizeof two) != 0);
        CHECK(memcmp(none, fresh, sizeof none) == 0);
        CHECK(memcmp(none, two, sizeof two) != 0);
    }
}

/* Representations of pools that one pass does not take are those of its pieces. */
static void pieces_match(struct learner *l, const struct items *pool, float *const *whole)
{
    enum { POOLS = 3, F = 16, PIECE = 512, MOST = 700 - PIECE }; /* learner.c: PREDICT_MAX */
    static float reps[POOLS][MOST * F];
    float *reps_to[POOLS] = {reps[0], reps[1], reps[2]};
    struct items rest[POOLS];
    for (int t = 0; t < POOLS; t++)
        rest[t] =
            (struct items){pool[t].at + PIECE, NULL, pool[t].n > PIECE ? pool[t].n - PIECE : 0};
    CHECK_OK(learner_predict(l, POOLS, rest, &(struct predicted){.reps = reps_to}));
    for (int t = 0; t < POOLS; t++)
        CHECK(memcmp(whole[t] + PIECE * F, reps[t], (size_t)(rest[t].n * F) * sizeof **reps) == 0);
    CHECK(memcmp(whole[0], reps[0], sizeof *reps) != 0); /* nor is all the same */
}

/* Clusters of what stays on the device, of pools larger than one pass takes and of unequal
 * size, are those of the representations that the host gets. */
static void clusters_match(struct learner *l)
{
    enum { POOLS = 3, F = 16, MOST = 700, K = 4 };
    static const int sizes[POOLS] = {700, 40, 523};
    static const double draw[K - 1] = {0.3, 0.8, 0.1};
    static float reps[POOLS][MOST * F];
    static int32_t items[MOST], row[MOST], cluster[2][POOLS][MOST], nearest[2][POOLS][K];
    float *reps_to[POOLS] = {reps[0], reps[1], reps[2]};
    struct items none[POOLS] = {{0}}, pool[POOLS];
    struct clustering c[2 * POOLS];
    for (int i = 0; i < MOST; i++) {
        items[i] = i % ITEMS;
        row[i] = MOST - 1 - i;
    }
    for (int i = 0; i < 2 * POOLS; i++) {
        int t = i % POOLS, n = sizes[t];
        pool[t] = (struct items){items, NULL, n};
        c[i] = (struct clustering){.x = reps[t], .row = row + MOST - n, .n = n, .k = K};
        c[i].rounds = 50;
        c[i].draw = draw;
        c[i].cluster = cluster[i / POOLS][t];
        c[i].nearest = nearest[i / POOLS][t];
    }
    CHECK_OK(learner_adapt(l, POOLS, none));
    CHECK_OK(learner_predict(l, POOLS, pool, &(struct predicted){0}));
    CHECK_EQ(learner_cluster(l, POOLS, c), METE_EINVAL); /* nobody said so before */
    CHECK_OK(
        learner_predict(l, POOLS, pool, &(struct predicted){.reps = reps_to, .clusters = true}));
    CHECK_OK(learner_cluster(l, POOLS, c));
    host_kmeans(NULL, POOLS, F, c + POOLS);
    for (int t = 0; t < POOLS; t++)
        CHECK_EQ(c[t].found, c[t + POOLS].found);
    CHECK(memcmp(cluster[0], cluster[1], sizeof cluster[0]) == 0);
    pieces_match(l, pool, reps_to);
}

TEST(a_learner_clusters_its_own_representations)
{
    for (int s = 0; s <= 1 || kernels_at(s - 2); s++) {
        const char *set = s == 0 ? "cpu" : together_at(s - 1);
        struct method m = {0};
        struct engine *e = NULL;
        if (!set)
            continue;
        CHECK_OK(open_engine(&e, &m, set, 2, 1, "protonet", (const char *[]){NULL}));
        clusters_match(engine_learner(e));
        engine_close(e);
        method_close(&m);
    }
}

TEST(memory_does_not_grow_with_the_steps)
{
    struct method m = {0};
    struct engine *e = NULL;
    const char *sets[] = {"inner.steps=1", NULL};
    struct labelled_task task = labelled_task_at(0, 3, 3);
    size_t after_few = 0;
    CHECK_OK(open_engine(&e, &m, "cpu", 1, 1, "maml", sets));
    for (int step = 0; step < 10000; step++) {
        CHECK_OK(engine_step(e, &task, 1));
        if (step == 10)
            after_few = mallinfo2().uordblks;
    }
    CHECK_EQ(mallinfo2().uordblks, after_few);
    engine_close(e);
    method_close(&m);
}

TESTS(T(the_meta_gradient_is_the_slope_of_the_query_loss), T(first_order_is_not_the_slope),
      T(the_update_is_the_same_for_any_number_of_threads), T(updates_are_adams),
      T(losses_are_those_of_the_steps), T(runs_together_are_the_runs_alone),
      T(tasks_together_give_the_mean_of_their_gradients),
      T(unequal_tasks_together_keep_support_and_query_apart),
      T(memory_does_not_grow_with_the_steps),
      T(a_learner_fits_its_support_and_predicts_probabilities),
      T(test_steps_are_taken_and_not_inner_steps),
      T(a_meta_batch_has_the_mean_gradient_of_its_tasks),
      T(a_learner_clusters_its_own_representations))
