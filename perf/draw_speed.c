/* draw_speed.c - does drawing tasks, or choosing labels, hold training back?
 *
 * In one run, on one thread, on glyphs (pools of 95 points, as Omniglot's):
 *   tasks drawn and bought per second, over those ProtoNets trains on (bar: 20)
 *   the time active selection takes, over the forward passes it needs (bar: 1.5)
 */
#include "base/error.h"
#include "run/experiment.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { DRAWN = 2000, CHOSEN = 64 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void give_up(void)
{
    fprintf(stderr, "draw_speed: %s\n", mete_errmsg());
    exit(1);
}

/* Seconds to buy n tasks with the experiment's strategy; the episodes stay. */
static double buy(struct experiment *x, int n, struct episode *episodes)
{
    struct label_request q = {
        .tasks = x->train, .part = SPLIT_TRAIN, .n = n, .ledger = x->ledger, .learner = x->learner};
    int bought = 0;
    double start = now();
    if (labeller_buy(&x->setup.labeller, &q, episodes, &bought) || bought < n)
        give_up();
    return now() - start;
}

/* Seconds to train once on each of the tasks, 32 at a time. */
static double train_on(struct experiment *x, const struct episode *episodes, int n)
{
    struct labelled_task labelled[32];
    double start = now();
    for (int i = 0; i + 32 <= n; i += 32) {
        for (int j = 0; j < 32; j++)
            labelled[j] = labelled_task_of(&episodes[i + j], 0);
        if (learner_step(x->learner, labelled, 32))
            give_up();
    }
    return now() - start;
}

/* Seconds of the passes over the pools that one round of active selection needs. */
static double look_at_pools(struct experiment *x, int n)
{
    struct learner *l = x->learner;
    struct task task = {0};
    double seconds = 0;
    for (int i = 0; i < n; i++) {
        if (task_draw(x->train, SPLIT_TRAIN, i, &task))
            give_up();
        struct items none = {0}, pool = {task.pool, NULL, task.n_pool};
        float *entropy = malloc((size_t)task.n_pool * sizeof *entropy);
        struct predicted out = {.entropy = &entropy, .clusters = true};
        double start = now();
        if (learner_adapt(l, 1, &none) || learner_predict(l, 1, &pool, &out))
            give_up();
        seconds += now() - start;
        free(entropy);
    }
    task_release(&task);
    return seconds;
}

static void open_run(struct experiment *x, struct shelf *shelf, const char *labels)
{
    struct run_rules own;
    struct config_rules rules = run_rules(&own, shelf);
    struct settings s = {0};
    char strategy[64];
    snprintf(strategy, sizeof strategy, "labels=%s", labels);
    const char *set[] = {"bench=glyphs:5w-1s@100K", "method=protonet", strategy, "seed=1", NULL};
    struct experiment_options o = {.threads = 1};
    if (config_resolve(&s, set, &rules) || experiment_open(x, &s, shelf, &o))
        give_up();
    settings_release(&s);
}

int main(void)
{
    struct shelf *shelf;
    struct experiment x;
    static struct episode drawn[DRAWN], chosen[CHOSEN];
    shelf_open(&shelf);

    open_run(&x, shelf, "random");
    double draw = buy(&x, DRAWN, drawn) / DRAWN;
    train_on(&x, drawn, 320); /* warms the caches */
    double train = train_on(&x, drawn, 1600) / 1600;
    experiment_close(&x);
    printf(
        "drawn    %10.0f tasks/s\ntrained  %10.0f tasks/s (ProtoNets)\nratio    %10.1f (bar: 20)\n",
        1 / draw, 1 / train, train / draw);

    open_run(&x, shelf, "active");
    look_at_pools(&x, CHOSEN / 4);
    double passes = look_at_pools(&x, CHOSEN), choose = buy(&x, CHOSEN, chosen);
    experiment_close(&x);
    printf("active   %10.2f ms a task\npasses   %10.2f ms a task\nratio    %10.2f (bar: 1.5)\n",
           1e3 * choose / CHOSEN, 1e3 * passes / CHOSEN, choose / passes);
    for (int i = 0; i < DRAWN; i++)
        episode_release(&drawn[i]);
    for (int i = 0; i < CHOSEN; i++)
        episode_release(&chosen[i]);
    shelf_close(shelf);
    return train / draw < 20 || choose / passes > 1.5;
}
