/* predict.c - predictions for many tasks, and who should not be adapted. */
#include "run/predict.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>

int predict_tasks(struct learner *l, int n, const struct items *support, const struct items *query,
                  float *const *probs, int *most)
{
    int err = 0;
    for (int at = 0, some; at < n && !err; at += some) {
        some = n - at < *most ? n - at : *most;
        err = learner_adapt(l, some, support + at);
        if (!err)
            err = learner_predict(l, some, query + at, &(struct predicted){.probs = probs + at});
        if (err == METE_ENOMEM && some > 1) {
            *most = some / 2;
            some = err = 0;
        }
    }
    return err;
}

int predicted_class(const float *probs, int ways)
{
    int best = 0;
    for (int w = 1; w < ways; w++)
        best = probs[w] > probs[best] ? w : best;
    return best;
}

/* ---- leaving labels out ---- */

enum { PARTS = 20 };

static int parts_of(const struct items *support)
{
    return support->n < PARTS ? support->n : PARTS;
}

/* One part of a task's support left out. */
struct trial {
    int task, part;
    struct items rest;
    float *probs; /* of the whole support */
};

/* A part holds every PARTS-th label: supports may be sorted by class. */
static bool is_left_out(const struct trial *t, int item)
{
    return item % PARTS == t->part;
}

static struct trial trial_open(const struct items *support, int task, int part, int ways)
{
    size_t n = (size_t)support->n;
    struct trial t = {.task = task, .part = part};
    int32_t *at = mem_array(2 * n, sizeof *at), *label = at + n;
    int rest = 0;
    for (int i = 0; i < support->n; i++)
        if (!is_left_out(&t, i)) {
            at[rest] = support->at[i];
            label[rest++] = support->label[i];
        }
    t.rest = (struct items){at, label, rest};
    t.probs = mem_array(n * (size_t)ways, sizeof *t.probs);
    return t;
}

static void trial_close(struct trial *t)
{
    free((void *)t->rest.at);
    free(t->probs);
}

/* How many of the labels left out were predicted, by either model. */
struct score_of_two {
    int adapted, unadapted;
};

static bool has_class(const struct items *s, int label)
{
    for (int i = 0; i < s->n; i++)
        if (s->label[i] == label)
            return true;
    return false;
}

static void trial_count(const struct trial *t, const struct items *support, const float *unadapted,
                        int ways, struct score_of_two *to)
{
    for (int i = 0; i < support->n; i++) {
        int label = support->label[i];
        size_t row = (size_t)i * (size_t)ways;
        if (!is_left_out(t, i) || !has_class(&t->rest, label))
            continue;
        to->adapted += predicted_class(t->probs + row, ways) == label;
        to->unadapted += predicted_class(unadapted + row, ways) == label;
    }
}

/* Some trials, adapted side by side. */
static int run_trials(struct learner *l, struct trial *trials, int n, const struct items *support,
                      int *most)
{
    struct items *rest = mem_array((size_t)n, sizeof *rest);
    struct items *whole = mem_array((size_t)n, sizeof *whole);
    float **probs = mem_array((size_t)n, sizeof *probs);
    for (int i = 0; i < n; i++) {
        const struct items *s = &support[trials[i].task];
        rest[i] = trials[i].rest;
        whole[i] = (struct items){s->at, NULL, s->n};
        probs[i] = trials[i].probs;
    }
    int err = predict_tasks(l, n, rest, whole, probs, most);
    free(rest);
    free(whole);
    free(probs);
    return err;
}

/* All trials of tasks 0..n-1, as many at a time as there is memory for. */
static int try_all(struct learner *l, int n, const struct items *support, float *const *unadapted,
                   int *most, struct score_of_two *scores)
{
    int ways = l->is.ways, err = 0, room = *most;
    struct trial *trials = mem_array((size_t)room, sizeof *trials);
    for (int task = 0, part = 0, some; task < n && !err;) {
        for (some = 0; some < room && task < n;) {
            if (part < parts_of(&support[task]))
                trials[some++] = trial_open(&support[task], task, part++, ways);
            else
                task++, part = 0;
        }
        err = some ? run_trials(l, trials, some, support, most) : 0;
        for (int i = 0; i < some; i++) {
            int t = trials[i].task;
            if (!err)
                trial_count(&trials[i], &support[t], unadapted[t], ways, &scores[t]);
            trial_close(&trials[i]);
        }
    }
    free(trials);
    return err;
}

int prefer_unadapted(struct learner *l, int n, const struct items *support, int *most, bool *out)
{
    size_t tasks = (size_t)n;
    struct items *none = mem_array(tasks, sizeof *none), *whole = mem_array(tasks, sizeof *whole);
    float **unadapted = mem_array(tasks, sizeof *unadapted);
    struct score_of_two *scores = mem_array(tasks, sizeof *scores);
    for (int t = 0; t < n; t++) {
        whole[t] = (struct items){support[t].at, NULL, support[t].n};
        unadapted[t] = mem_array((size_t)support[t].n * (size_t)l->is.ways + 1, sizeof **unadapted);
    }
    int err = predict_tasks(l, n, none, whole, unadapted, most);
    if (!err)
        err = try_all(l, n, support, unadapted, most, scores);
    for (int t = 0; t < n; t++) {
        out[t] = scores[t].adapted < scores[t].unadapted;
        free(unadapted[t]);
    }
    free(none);
    free(whole);
    free(unadapted);
    free(scores);
    return err;
}
