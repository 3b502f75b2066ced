/* fixture.h - a results database of made-up runs.
 *
 * The numbers are drawn, not measured: they only have the shape of results, so
 * that the store, the tables and the page can be tested without training.  The
 * suite is called "fixture" and its environment says "made up".
 */
#ifndef FIXTURE_H
#define FIXTURE_H

#include "base/memory.h"
#include "base/rng.h"
#include "store/store.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIXTURE_RUNS = 1000, FIXTURE_TASKS = 60, FIXTURE_CHECKPOINTS = 10, FIXTURE_LABELS = 600 };

struct fixture {
    struct store_run runs[FIXTURE_RUNS];
    char bench[FIXTURE_RUNS][48], ids[FIXTURE_RUNS][STORE_ID_SIZE];
    int n;
};

static const struct store_setting fixture_settings[] = {
    {"train.steps", "1000", "suites/fixture.yaml:3:16"},
    {"inner.lr", "0.1", "--set"},
    {"net.bn", "batch", "default"},
    {"net.filters", "64", "default"},
};

static void fixture_add(struct fixture *f, const char *dataset, int ways, int shots, int budget_k,
                        const char *method, const char *labels, uint64_t seed)
{
    char *bench = f->bench[f->n];
    snprintf(bench, sizeof f->bench[0], "%s:%dw-%ds@%dK", dataset, ways, shots, budget_k);
    f->runs[f->n++] = (struct store_run){.bench = bench,
                                         .dataset = dataset,
                                         .ways = ways,
                                         .shots = shots,
                                         .budget = budget_k * INT64_C(1000),
                                         .method = method,
                                         .labels = labels,
                                         .net = "conv4",
                                         .seed = seed,
                                         .settings = fixture_settings,
                                         .n_settings = 4};
}

/* Omniglot at two budgets, three training shots, three methods and strategies;
 * and users of FEMNIST. */
static void fixture_grid(struct fixture *f, int seeds)
{
    static const char *const methods[] = {"reptile", "maml", "protonet"};
    static const char *const labels[] = {"random", "active", "stratified"};
    static const char *const federated[] = {"fedavg", "reptile"};
    f->n = 0;
    for (int budget = 30; budget <= 300; budget *= 10)
        for (int shots = 1; shots <= 5; shots += 2)
            for (int m = 0; m < 3; m++)
                for (int l = 0; l < 3; l++)
                    for (int seed = 1; seed <= seeds; seed++)
                        fixture_add(f, "omniglot", 5, shots, budget, methods[m], labels[l],
                                    (uint64_t)seed);
    for (int m = 0; m < 2; m++)
        for (int l = 0; l < 2; l++)
            for (int seed = 1; seed <= seeds; seed++)
                fixture_add(f, "femnist", 62, 1, 10, federated[m], labels[l], (uint64_t)seed);
}

static const struct store_drawing fixture_drawings[] = {
    {false, "Accuracy at a fixed label budget", NULL, "dataset,ways,test_shots,budget",
     "method,labels"},
    {true, "Accuracy against labels", "budget", "dataset,ways,test_shots", "method,labels"},
    {true, "Accuracy against training shots", "shots", "dataset,ways,test_shots,budget",
     "method,labels"},
};

static int fixture_plan(struct store *s, struct fixture *f)
{
    struct store_suite suite = {.name = "fixture",
                                .path = "suites/fixture.yaml",
                                .text = "name: fixture  # made up: no run was trained\n",
                                .drawings = fixture_drawings,
                                .n_drawings = 3,
                                .runs = f->runs,
                                .n_runs = f->n};
    return store_plan(s, &suite, f->ids);
}

/* The accuracy a run is given: better with budget, with close shots, by method. */
static double fixture_level(const struct store_run *run, int test_shots)
{
    double level = 0.62 + 0.06 * log10((double)run->budget / 1e4);
    level += strcmp(run->method, "protonet") == 0 ? 0.09
             : strcmp(run->method, "maml") == 0   ? 0.07
                                                  : 0;
    level -= strcmp(run->method, "fedavg") == 0 ? 0.05 : 0;
    level += strcmp(run->labels, "active") == 0 ? 0.012 : 0;
    level += strcmp(run->labels, "stratified") == 0 ? 0.03 : 0;
    level += test_shots == 5 ? 0.1 : 0;
    return level - 0.006 * abs(run->shots - test_shots);
}

static double fixture_clamp(double x)
{
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

static void fixture_test(const struct store_run *run, struct store_test *t,
                         struct store_task tasks[FIXTURE_TASKS], char users[FIXTURE_TASKS][16])
{
    bool federated = strcmp(run->dataset, "femnist") == 0;
    double level = fixture_level(run, t->shots);
    struct rng r = rng_make(run->seed, RNG_TEST, (uint64_t)(level * 1e6), (uint32_t)t->shots);
    level += 0.008 * rng_normal(&r);
    for (int i = 0; i < FIXTURE_TASKS; i++) {
        struct store_task *task = &tasks[i];
        int n = federated ? 12 + (int)rng_below(&r, 20) : 25;
        *task = (struct store_task){.number = i, .n_query = n, .classes = run->ways};
        snprintf(users[i], sizeof users[i], "f%04d_%02d", 100 + i, i % 50);
        task->user = federated ? users[i] : NULL;
        double after = level + 0.06 * rng_normal(&r), before = after - 0.1 + 0.08 * rng_normal(&r);
        task->accuracy = round(fixture_clamp(after) * n) / n;
        task->accuracy_before = round(fixture_clamp(before) * n) / n;
        task->loss = 2 * (1 - task->accuracy);
        task->loss_before = 2.4 * (1 - task->accuracy_before);
    }
    for (int b = 0; b < STORE_BINS; b++) {
        double c = (b + 0.5) / STORE_BINS;
        t->bins[b] = (struct store_bin){10 * b, c * 10 * b, pow(c, 1.2) * 10 * b};
    }
    t->valid_accuracy = level - 0.002;
    t->tasks_hash = (uint64_t)(run->ways * 100 + t->shots) * 1000 + run->seed;
    t->tasks = tasks;
    t->n_tasks = FIXTURE_TASKS;
}

static void fixture_ledger(const struct store_run *run, struct ledger_row *ledger)
{
    struct rng r = rng_make(run->seed, RNG_TEST, (uint64_t)run->shots, 7);
    bool spread = strcmp(run->labels, "random") != 0;
    int per_task = run->ways * run->shots; /* and no query: it is free here */
    for (int i = 0; i < FIXTURE_LABELS; i++) {
        int32_t klass = spread && rng_below(&r, 4) ? i % run->ways
                                                   : (int32_t)rng_below(&r, (uint32_t)run->ways);
        ledger[i] = (struct ledger_row){.task = i / per_task,
                                        .item = (int32_t)rng_below(&r, 20000),
                                        .klass = klass,
                                        .round = i % per_task / run->ways,
                                        .kind = KIND_SUPPORT,
                                        .cost = (millionths)MILLIONTHS};
    }
}

static int fixture_checkpoints(const struct store_run *run, struct store_checkpoint *c)
{
    struct rng r = rng_make(run->seed, RNG_TEST, (uint64_t)run->shots, 8);
    int n = 0;
    for (int i = 1; i <= FIXTURE_CHECKPOINTS; i++)
        for (int shots = 1; shots <= 5; shots += 4) {
            double level = fixture_level(run, shots) - 0.4 * exp(-i / 2.5);
            c[n++] = (struct store_checkpoint){.step = 100 * i,
                                               .shots = shots,
                                               .tasks = 300 * i,
                                               .labels = 3000 * i,
                                               .train_loss = 1.6 * exp(-i / 4.0),
                                               .accuracy = level + 0.01 * rng_normal(&r),
                                               .half = 0.02,
                                               .loss = 1.7 - level};
        }
    return n;
}

static int fixture_finish(struct store *s, const char *id, const struct store_run *run)
{
    static struct store_task tasks[4][FIXTURE_TASKS];
    static char users[4][FIXTURE_TASKS][16];
    static struct ledger_row ledger[FIXTURE_LABELS];
    struct store_checkpoint checkpoints[2 * FIXTURE_CHECKPOINTS];
    struct store_test tests[4];
    for (int i = 0; i < 4; i++) {
        tests[i] = (struct store_test){.model = i < 2 ? "best" : "last",
                                       .step = i < 2 ? 800 : 1000,
                                       .shots = i % 2 ? 5 : 1,
                                       .support = "stratified",
                                       .bn = "batch"};
        fixture_test(run, &tests[i], tasks[i], users[i]);
    }
    fixture_ledger(run, ledger);
    const struct store_measure measures[] = {{"made up", 0.1 * (double)run->seed, NAN}};
    struct store_results results = {.steps = 1000,
                                    .best_step = 800,
                                    .best_accuracy = tests[0].valid_accuracy,
                                    .tasks = run->budget / (run->ways * (run->shots + 1)),
                                    .labels = run->budget,
                                    .cost = (double)run->budget,
                                    .kinds = {run->budget, 0, 400},
                                    .unique = run->budget / 2,
                                    .unique_validation = 300,
                                    .checkpoints = checkpoints,
                                    .n_checkpoints = fixture_checkpoints(run, checkpoints),
                                    .tests = tests,
                                    .n_tests = 4,
                                    .ledger = ledger,
                                    .n_ledger = FIXTURE_LABELS,
                                    .measures = measures,
                                    .n_measures = 1,
                                    .env = "{\"made up\": true, \"version\": \"0.1.0\"}",
                                    .started = 1.7e9,
                                    .train_seconds = 30,
                                    .test_seconds = 2};
    return store_finish(s, id, &results);
}

/* Plans and finishes all runs.  free() the fixture. */
static inline int fixture_fill(struct store *s, int seeds, struct fixture **out)
{
    struct fixture *f = mem_alloc(sizeof *f);
    fixture_grid(f, seeds);
    int err = fixture_plan(s, f);
    for (int i = 0; !err && i < f->n; i++)
        err = fixture_finish(s, f->ids[i], &f->runs[i]);
    *out = f;
    return err;
}

#endif
