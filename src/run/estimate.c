/* estimate.c - what a run will cost, before it is run.
 *
 * FLOPs are counted; seconds come from measuring a few meta-updates and a few test
 * tasks of the very run, on one thread.
 */
#include "run/sweep.h"
#include "base/clock.h"
#include "base/error.h"
#include "run/meter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Seconds for one task each of: buying, training, validating or testing. */
struct rates {
    double buy, train, val, test[TEST_SHOTS_MAX];
};

/* ---- what was measured before ---- */

void rate_memo_release(struct rate_memo *m)
{
    for (int i = 0; i < m->n; i++)
        free(m->at[i].key);
    free(m->at);
    *m = (struct rate_memo){0};
}

static bool recall(const struct rate_memo *m, const char *key, double *seconds)
{
    for (int i = 0; i < m->n; i++)
        if (strcmp(m->at[i].key, key) == 0) {
            *seconds = m->at[i].seconds;
            return true;
        }
    return false;
}

static void remember(struct rate_memo *m, const char *key, double seconds)
{
    m->at = mem_grow(m->at, (size_t)m->n + 1, sizeof *m->at);
    m->at[m->n++] = (struct rate){mem_string(key), seconds};
}

static bool begins(const char *text, const char *const *with)
{
    for (; *with; with++)
        if (strncmp(text, *with, strlen(*with)) == 0)
            return true;
    return false;
}

/* What the seconds of a task depend on: the settings of method and net, those of tasks unless
 * it is a test, the dataset, and the size of the task. */
static char *key_of(const struct experiment *x, const struct settings *s, const char *what,
                    const struct tasks *t)
{
    static const char *const apart[] = {
        "seed",       "bench",          "labels",    "budget.",     "outer.",
        "test.shots", "test.tasks",     "test.seed", "train.steps", "train.validate_every",
        "train.val_", "train.patience", "shots",     NULL};
    static const char *const training[] = {"task.", "train.", "data.", NULL};
    bool test = strncmp(what, "test", 4) == 0;
    char *key = mem_print("%s %s %d %d+%d", what, x->bench.dataset, tasks_ways(t),
                          tasks_max_labels(t), tasks_max_query(t));
    for (int i = 0; i < s->n; i++) {
        if (begins(s->at[i].key, apart) || (test && begins(s->at[i].key, training)))
            continue;
        char *longer = mem_print("%s %s=%s", key, s->at[i].key, s->at[i].value);
        free(key);
        key = longer;
    }
    return key;
}

/* ---- measuring ---- */

/* Tasks measured of each kind: one, or as many as a device takes at once. */
static int sample_of(const struct experiment *x)
{
    return x->learner->is.batched ? x->setup.train.meta_batch : 1;
}

/* Seconds of an update with these tasks. */
static int measure_steps(struct experiment *x, struct labelled_task *labelled, int n, double *each)
{
    enum { REPEATS = 16 };
    const double enough = 0.05;                /* seconds, of which a clock makes a good measure */
    int warm = x->learner->is.batched ? 2 : 1; /* memory is touched; a GPU records the second */
    int err = 0, done = 0;
    for (int i = 0; i < warm && !err; i++)
        err = learner_step(x->learner, labelled, n);
    if (!err)
        err = learner_wait(x->learner);
    double start = seconds_now();
    while (!err && done < REPEATS && (done == 0 || seconds_now() - start < enough)) {
        err = learner_step(x->learner, labelled, n);
        if (!err)
            err = learner_wait(x->learner);
        done++;
    }
    *each = done ? (seconds_now() - start) / done : 0;
    return err;
}

static int measure_training(struct experiment *x, struct rates *r, bool steps)
{
    int n = 0, batch = sample_of(x);
    struct episode *episodes = mem_array((size_t)batch, sizeof *episodes);
    struct labelled_task *labelled = mem_array((size_t)batch, sizeof *labelled);
    struct label_request q = {.tasks = x->train,
                              .part = SPLIT_TRAIN,
                              .n = batch,
                              .ledger = x->ledger,
                              .learner = x->learner};
    double start = seconds_now(), step = 0;
    int err = labeller_buy(&x->setup.labeller, &q, episodes, &n);
    if (err)
        goto out;
    r->buy = (seconds_now() - start) / n;
    for (int i = 0; i < n; i++)
        labelled[i] = labelled_task_of(&episodes[i], 0);
    if (steps)
        err = measure_steps(x, labelled, n, &step);
    if (steps)
        r->train = step / n;
    for (int i = 0; i < n; i++)
        episode_release(&episodes[i]);
out:
    free(episodes);
    free(labelled);
    return err;
}

static int measure_test(struct experiment *x, const struct tasks *t, bool before, double *seconds)
{
    struct score score;
    struct evaluation what = {
        .tasks = t, .part = SPLIT_VAL, .support = &x->judge, .before = before};
    int64_t count = tasks_count(t, SPLIT_VAL);
    what.n = count < sample_of(x) ? (int)count : sample_of(x);
    double start = seconds_now();
    int err = evaluate(x->learner, &what, &score);
    *seconds = (seconds_now() - start) / what.n;
    if (!err)
        score_release(&score);
    return err;
}

static int rates_of_training(struct experiment *x, const struct settings *s, struct rate_memo *memo,
                             struct rates *r)
{
    char *train = key_of(x, s, "train", x->train);
    char *buy = mem_print("buy by %s: %s", settings_get(s, "labels"), train);
    bool trained = recall(memo, train, &r->train), bought = recall(memo, buy, &r->buy);
    int err = trained && bought ? 0 : measure_training(x, r, !trained);
    if (!err && !trained)
        remember(memo, train, r->train);
    if (!err && !bought)
        remember(memo, buy, r->buy);
    free(train);
    free(buy);
    return err;
}

static int rate_of_test(struct experiment *x, const struct settings *s, struct rate_memo *memo,
                        const struct tasks *t, bool before, double *seconds)
{
    char *key = key_of(x, s, before ? "test, and before" : "test", t);
    bool known = recall(memo, key, seconds);
    int err = known ? 0 : measure_test(x, t, before, seconds);
    if (!err && !known)
        remember(memo, key, *seconds);
    free(key);
    return err;
}

static int64_t labels_of_task(const struct experiment *x)
{
    bool query = x->setup.budget.charge != CHARGE_SUPPORT;
    return tasks_max_labels(x->train) + (query ? tasks_max_query(x->train) : 0);
}

/* As if every core made a billion of them a second, and a test were a third of an update. */
static void rates_by_flops(const struct experiment *x, struct rates *r)
{
    const double update = 1e9, test = METER_UPDATE * 1e9;
    const struct learner *l = x->learner;
    r->train = learner_flops(l, tasks_max_labels(x->train), tasks_max_query(x->train)) / update;
    r->val = learner_flops(l, tasks_max_labels(x->val), tasks_max_query(x->val)) / test;
    for (int i = 0; i < x->n_shots; i++)
        r->test[i] =
            learner_flops(l, tasks_max_labels(x->test[i]), tasks_max_query(x->test[i])) / test;
}

static int measure_rates(struct experiment *x, const struct settings *s, struct rate_memo *memo,
                         struct rates *r)
{
    int err = rates_of_training(x, s, memo, r);
    if (!err)
        err = rate_of_test(x, s, memo, x->val, false, &r->val);
    for (int i = 0; i < x->n_shots && !err; i++)
        err = rate_of_test(x, s, memo, x->test[i], true, &r->test[i]);
    return err;
}

static void add_up(const struct experiment *x, const struct rates *r, double validation,
                   struct estimate *out)
{
    const struct train_settings *s = &x->setup.train;
    double cap = ledger_cap(x->ledger) - validation, steps = s->steps;
    int64_t per_task = labels_of_task(x);
    out->tasks = cap > 0 ? (int64_t)(cap / (double)per_task) : (int64_t)s->steps * s->meta_batch;
    out->labels = out->tasks * per_task;
    double batch = cap > 0 && out->tasks < s->meta_batch ? (double)out->tasks : s->meta_batch;
    double validations = 1 + ceil(steps / s->validate_every); /* one before the first step */
    out->flops = steps * batch *
                 learner_flops(x->learner, tasks_max_labels(x->train), tasks_max_query(x->train));
    out->training = steps * batch * r->train + (double)out->tasks * r->buy;
    out->test_task = r->test[0];
    out->seconds =
        out->training + validations * experiment_test_tasks(x, SPLIT_VAL, x->val) * r->val;
    for (int i = 0; i < x->n_shots; i++) {
        int part = experiment_judged(x), test = experiment_test_tasks(x, part, x->test[i]);
        int val = part == SPLIT_VAL ? 0 : experiment_test_tasks(x, SPLIT_VAL, x->test[i]);
        out->seconds += 2 * (test + 0.9 * val) * r->test[i]; /* best and last; val skips "before" */
    }
}

int estimate_run(const struct settings *s, struct shelf *shelf, const char *device,
                 struct rate_memo *memo, struct estimate *out)
{
    struct experiment x;
    struct rates r = {0};
    struct experiment_options o = {.device = device, .threads = 1};
    int err = experiment_open(&x, s, shelf, &o);
    if (err)
        return err;
    err = experiment_buy_validation(&x, x.ledger);
    double validation = money_labels(ledger_totals(x.ledger).spent);
    if (!err && memo->by_flops)
        rates_by_flops(&x, &r);
    else if (!err)
        err = measure_rates(&x, s, memo, &r);
    if (!err)
        add_up(&x, &r, validation, out);
    experiment_close(&x);
    return err;
}
