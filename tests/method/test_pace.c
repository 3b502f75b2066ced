/* test_pace.c - drawing tasks does not hold training back, and selecting actively costs
 * little more than the forward passes it needs.
 *
 * Processor time of one thread, so that other work on the machine makes no difference.
 */
#include "test.h"
#include "mete.h"
#include "data/glyphs.h"
#include "run/setup.h"
#include "base/memory.h"

#include <time.h>

enum { TASKS = 32 };

struct pace {
    struct dataset *d;
    struct tasks *tasks;
    struct ledger *ledger;
    struct setup setup;
    struct engine *engine;
    struct labeller random, active;
    struct episode episodes[TASKS];
    struct lesson lessons[TASKS];
    int bought;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int pace_open(struct pace *p, const char *method)
{
    struct engine_spec spec;
    struct bench b = {"glyphs", 5, 1, 0};
    int err = glyphs_make(&p->d, "glyphs:classes=100");
    if (!err)
        err = setup_open(&p->setup, method, "conv4", "random");
    if (!err)
        err = tasks_open(&p->tasks, p->d, &b, &p->setup.task, 1);
    if (!err)
        err = ledger_open(&p->ledger, p->tasks, &p->setup.budget, 0, false);
    if (!err)
        err = labeller_open(&p->random, "random");
    if (!err)
        err = labeller_open(&p->active, "active");
    if (!err)
        err = setup_engine(&p->setup, "cpu", 1, &spec);
    if (err)
        return err;
    spec.images = (struct images){.data = p->d->x,
                                  .type = IMAGES_U8,
                                  .h = 28,
                                  .w = 28,
                                  .c = 1,
                                  .items = p->d->items,
                                  .scale = p->d->scale,
                                  .shift = p->d->shift};
    spec.ways = 5;
    spec.largest = (struct shape){1, 5, 5};
    spec.meta_batch = TASKS;
    return engine_open(&p->engine, &spec);
}

static void drop_episodes(struct pace *p)
{
    for (int i = 0; i < p->bought; i++)
        episode_release(&p->episodes[i]);
    p->bought = 0;
}

static void pace_close(struct pace *p)
{
    drop_episodes(p);
    engine_close(p->engine);
    labeller_close(&p->random);
    labeller_close(&p->active);
    ledger_close(p->ledger);
    tasks_close(p->tasks);
    setup_close(&p->setup);
    dataset_close(p->d);
}

static int buy(struct pace *p, struct labeller *l, int64_t first)
{
    struct label_model model = label_model_of(engine_learner(p->engine));
    struct label_request q = {
        .tasks = p->tasks, .first = first, .n = TASKS, .ledger = p->ledger, .model = &model};
    drop_episodes(p);
    int err = labeller_buy(l, &q, p->episodes, &p->bought);
    for (int i = 0; i < p->bought; i++) {
        const struct episode *e = &p->episodes[i];
        p->lessons[i] = (struct lesson){.support = {e->support, e->support_label, e->n_support},
                                        .query = {e->query, e->query_label, e->n_query}};
    }
    return err;
}

TEST(drawing_is_twenty_times_as_fast_as_training)
{
#ifndef __OPTIMIZE__
    SKIP("a matter of optimised builds");
#endif
    struct pace p = {0};
    CHECK_OK(pace_open(&p, "protonet")); /* the method that trains on most tasks a second */
    double start = now();
    enum { BATCHES = 200, STEPS = 10 };
    for (int i = 0; i < BATCHES; i++)
        CHECK_OK(buy(&p, &p.random, (int64_t)i * TASKS));
    double drawing = (now() - start) / BATCHES;
    CHECK_OK(engine_step(p.engine, p.lessons, TASKS, NULL)); /* warms the caches */
    start = now();
    for (int i = 0; i < STEPS; i++)
        CHECK_OK(engine_step(p.engine, p.lessons, TASKS, NULL));
    double training = (now() - start) / STEPS;
    printf("tasks per second: %.0f drawn, %.0f trained on\n", TASKS / drawing, TASKS / training);
    CHECK(training >= 20 * drawing);
    pace_close(&p);
}

/* The forward passes that selection needs: reps and probs of every pool. */
static int look_at_pools(struct pace *p, int64_t first)
{
    struct learner *l = engine_learner(p->engine);
    struct items none[TASKS] = {{0}}, pools[TASKS];
    static struct task task[TASKS];
    static float probs[TASKS][95 * 5], reps[TASKS][95 * 1024];
    float *to_probs[TASKS], *to_reps[TASKS];
    for (int i = 0; i < TASKS; i++) {
        int err = task_draw(p->tasks, SPLIT_TRAIN, first + i, &task[i]);
        if (err)
            return err;
        pools[i] = (struct items){task[i].pool, NULL, task[i].n_pool};
        to_probs[i] = probs[i];
        to_reps[i] = reps[i];
    }
    int err = learner_adapt(l, TASKS, none);
    if (!err)
        err = learner_predict(l, TASKS, pools, to_probs, to_reps);
    for (int i = 0; i < TASKS; i++)
        task_release(&task[i]);
    return err;
}

TEST(selecting_actively_costs_little_more_than_looking)
{
#ifndef __OPTIMIZE__
    SKIP("a matter of optimised builds");
#endif
    struct pace p = {0};
    CHECK_OK(pace_open(&p, "maml"));
    CHECK(learner_features(engine_learner(p.engine)) <= 1024);
    enum { ROUNDS = 3 };
    double looking = 0, choosing = 0;
    CHECK_OK(look_at_pools(&p, 0)); /* warms the caches */
    for (int i = 0; i < ROUNDS; i++) {
        double start = now();
        CHECK_OK(look_at_pools(&p, (int64_t)i * TASKS));
        looking += now() - start;
        start = now();
        CHECK_OK(buy(&p, &p.active, (int64_t)i * TASKS));
        choosing += now() - start;
    }
    printf("a pool of 95: %.2f ms to look at, %.2f ms to choose five of\n",
           1e3 * looking / (ROUNDS * TASKS), 1e3 * choosing / (ROUNDS * TASKS));
    CHECK(choosing <= 1.5 * looking);
    pace_close(&p);
}

TESTS(T(drawing_is_twenty_times_as_fast_as_training),
      T(selecting_actively_costs_little_more_than_looking))
