/* test_active.c - active selection through a real learner: the same purchases for any
 * number of threads, and more classes for the same labels than at random.
 */
#include "test.h"
#include "mete.h"
#include "data/glyphs.h"
#include "method/engine.h"
#include "run/setup.h"
#include "base/memory.h"

#ifdef __OPTIMIZE__
enum { TASKS = 24 };
#else
enum { TASKS = 4 }; /* sanitizers take their time */
#endif
enum { BATCH = 16 };

struct world {
    struct dataset *d;
    struct tasks *tasks;
    struct ledger *ledger;
    struct setup setup;
    struct engine *engine;
};

static int world_open(struct world *w, const char *method, int shots, int threads)
{
    struct engine_spec spec;
    struct bench b = {"glyphs", 5, shots, 0};
    const char *const settings[] = {"net.filters=32", NULL};
    int err = glyphs_make(&w->d, "glyphs:classes=200");
    if (!err)
        err = setup_open(&w->setup, method, "conv4", "active");
    if (!err)
        err = param_set_all(&w->setup.set, settings);
    if (!err)
        err = tasks_open(&w->tasks, w->d, &b, &w->setup.task, 1);
    if (!err)
        err = ledger_open(&w->ledger, w->tasks, &w->setup.budget, 0, true);
    if (!err)
        err = setup_engine(&w->setup, "cpu", threads, &spec);
    if (err)
        return err;
    spec.images = (struct images){.data = w->d->x,
                                  .type = IMAGES_U8,
                                  .h = 28,
                                  .w = 28,
                                  .c = 1,
                                  .items = w->d->items,
                                  .scale = w->d->scale,
                                  .shift = w->d->shift};
    spec.ways = 5;
    spec.largest = (struct batch_shape){1, 5 * shots, 5};
    spec.meta_batch = BATCH;
    return engine_open(&w->engine, &spec);
}

static void world_close(struct world *w)
{
    engine_close(w->engine);
    ledger_close(w->ledger);
    tasks_close(w->tasks);
    setup_close(&w->setup);
    dataset_close(w->d);
    *w = (struct world){0};
}

/* Buys n tasks of a part; the number of classes covered, or -1. */
static double buy(struct world *w, const char *strategy, int part, int n, struct episode *episodes)
{
    struct labeller l = {0};
    struct label_request q = {.tasks = w->tasks,
                              .part = part,
                              .n = n,
                              .ledger = w->ledger,
                              .learner = engine_learner(w->engine),
                              .threads = engine_threads(w->engine)};
    int bought = 0, covered = 0;
    if (labeller_open(&l, strategy) || labeller_buy(&l, &q, episodes, &bought) || bought != n) {
        fprintf(stderr, "%s: %s\n", strategy, mete_errmsg());
        return -1;
    }
    for (int i = 0; i < n; i++) {
        int mask = 0;
        for (int k = 0; k < episodes[i].n_support; k++)
            mask |= 1 << episodes[i].support_label[k];
        covered += __builtin_popcount((unsigned)mask);
    }
    labeller_close(&l);
    return covered;
}

TEST(purchases_are_the_same_for_one_thread_and_four)
{
    static const char *const methods[] = {"maml", "protonet"};
    for (int m = 0; m < 2; m++) {
        struct world one = {0}, four = {0};
        struct episode a[TASKS], b[TASKS];
        const struct ledger_row *x, *y;
        CHECK_OK(world_open(&one, methods[m], 3, 1)); /* three rounds */
        CHECK_OK(world_open(&four, methods[m], 3, 4));
        CHECK(buy(&one, "active", SPLIT_TRAIN, TASKS, a) > 0);
        CHECK(buy(&four, "active", SPLIT_TRAIN, TASKS, b) > 0);
        int64_t n = ledger_rows(one.ledger, &x);
        CHECK_EQ(n, TASKS * 20);
        CHECK_EQ(ledger_rows(four.ledger, &y), n);
        CHECK_EQ(memcmp(x, y, (size_t)n * sizeof *x), 0);
        for (int i = 0; i < TASKS; i++) {
            episode_release(&a[i]);
            episode_release(&b[i]);
        }
        world_close(&one);
        world_close(&four);
    }
}

/* A few dozen meta-updates on class-balanced tasks. */
static int train(struct world *w, int steps)
{
    struct labeller l = {0};
    int err = labeller_open(&l, "stratified");
    for (int s = 0; s < steps && !err; s++) {
        struct episode e[BATCH];
        struct labelled_task labelled[BATCH];
        int n = 0;
        struct label_request q = {
            .tasks = w->tasks, .first = s * BATCH, .n = BATCH, .ledger = w->ledger};
        err = labeller_buy(&l, &q, e, &n);
        for (int i = 0; i < n; i++)
            labelled[i] = (struct labelled_task){.support = {e[i].support, e[i].support_label, 5},
                                                 .query = {e[i].query, e[i].query_label, 5}};
        if (!err)
            err = engine_step(w->engine, labelled, n);
        for (int i = 0; i < n; i++)
            episode_release(&e[i]);
    }
    labeller_close(&l);
    return err;
}

TEST(active_labels_more_classes_than_random_once_the_learner_has_learned)
{
#ifndef __OPTIMIZE__
    SKIP("training takes an optimised build");
#endif
    enum { N = 200 };
    static struct episode e[N];
    static const char *const names[] = {"random", "active"};
    struct world w = {0};
    double covered[2];
    CHECK_OK(world_open(&w, "protonet", 1, 0));
    CHECK_OK(train(&w, 80));
    for (int i = 0; i < 2; i++) {
        covered[i] = buy(&w, names[i], SPLIT_TEST, N, e) / N;
        CHECK(covered[i] > 0);
        for (int k = 0; k < N; k++)
            episode_release(&e[k]);
    }
    printf("classes in five labels: %.2f at random, %.2f actively\n", covered[0], covered[1]);
    CHECK(covered[1] > covered[0] + 0.4); /* standard error of each: 0.05 */
    world_close(&w);
}

TESTS(T(purchases_are_the_same_for_one_thread_and_four),
      T(active_labels_more_classes_than_random_once_the_learner_has_learned))
