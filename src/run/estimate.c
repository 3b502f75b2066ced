/* estimate.c - what a run will cost, before it is run.
 *
 * FLOPs are counted; seconds come from measuring a few meta-updates and a few test
 * tasks of the very run, on one thread.
 */
#include "run/sweep.h"
#include "base/clock.h"
#include "base/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Seconds for one task each of: buying, training, validating or testing. */
struct rates {
    double buy, train, val, test[TEST_SHOTS_MAX];
};

/* Tasks measured of each kind: a few, or as many as a device takes at once. */
static int sample_of(const struct experiment *x)
{
    enum { SAMPLE = 8 };
    int batch = x->setup.train.meta_batch;
    return batch < SAMPLE || x->learner->is.batched ? batch : SAMPLE;
}

static int measure_training(struct experiment *x, struct rates *r)
{
    enum { WARM = 2 }; /* the first step touches all memory, a GPU records the second */
    int n = 0, batch = sample_of(x);
    struct episode *episodes = mem_array((size_t)batch, sizeof *episodes);
    struct labelled_task *labelled = mem_array((size_t)batch, sizeof *labelled);
    struct label_request q = {.tasks = x->train,
                              .part = SPLIT_TRAIN,
                              .n = batch,
                              .ledger = x->ledger,
                              .learner = x->learner};
    double start = seconds_now();
    int err = labeller_buy(&x->setup.labeller, &q, episodes, &n);
    if (err)
        goto out;
    r->buy = (seconds_now() - start) / n;
    for (int i = 0; i < n; i++)
        labelled[i] = labelled_task_of(&episodes[i], 0);
    for (int i = 0; i < WARM && !err; i++)
        err = learner_step(x->learner, labelled, n);
    if (!err)
        err = learner_wait(x->learner);
    start = seconds_now();
    for (int i = 0; i < 2 && !err; i++)
        err = learner_step(x->learner, labelled, n);
    if (!err)
        err = learner_wait(x->learner);
    r->train = (seconds_now() - start) / (2 * n);
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

static int64_t labels_of_task(const struct experiment *x)
{
    bool query = x->setup.budget.charge == CHARGE_SUPPORT_QUERY;
    return tasks_max_labels(x->train) + (query ? tasks_max_query(x->train) : 0);
}

static void add_up(const struct experiment *x, const struct rates *r, struct estimate *out)
{
    const struct train_settings *s = &x->setup.train;
    double cap = ledger_cap(x->ledger), steps = s->steps;
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
        int val = experiment_test_tasks(x, SPLIT_VAL, x->test[i]);
        int test = experiment_test_tasks(x, SPLIT_TEST, x->test[i]);
        out->seconds += 2 * (test + 0.9 * val) * r->test[i]; /* best and last; val skips "before" */
    }
}

int estimate_run(const struct settings *s, struct shelf *shelf, const char *device,
                 struct estimate *out)
{
    struct experiment x;
    struct rates r = {0};
    struct experiment_options o = {.device = device, .threads = 1};
    int err = experiment_open(&x, s, shelf, &o);
    if (err)
        return err;
    err = measure_training(&x, &r);
    if (!err)
        err = measure_test(&x, x.val, false, &r.val);
    for (int i = 0; i < x.n_shots && !err; i++)
        err = measure_test(&x, x.test[i], true, &r.test[i]);
    if (!err)
        add_up(&x, &r, out);
    experiment_close(&x);
    return err;
}
