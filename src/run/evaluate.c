/* evaluate.c - adapting to test tasks and scoring their queries. */
#include "run/evaluate.h"
#include "run/predict.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Tasks adapted side by side, which changes no result; a GPU is given more, as long as their
 * images stay below IMAGES: some 0.3 MB each on Omniglot, so about 1 GB. */
enum { CHUNK = 32, CHUNK_MAX = 256, IMAGES = 4096 };

struct tally {
    double accuracy, loss;
};

/* One task's accuracy and mean loss from its probabilities (n, ways). */
static struct tally tally_of(const struct episode *e, const float *probs, struct store_bin *bins)
{
    struct tally t = {0};
    for (int i = 0; i < e->n_query; i++) {
        const float *p = probs + (size_t)i * (size_t)e->ways;
        int best = predicted_class(p, e->ways), y = e->query_label[i];
        t.accuracy += best == y;
        t.loss -= log(fmax(p[y], 1e-30)); /* a float's smallest, so that one miss is not infinite */
        if (bins) {
            int b = (int)ceil(p[best] * STORE_BINS) - 1;
            b = b < 0 ? 0 : b >= STORE_BINS ? STORE_BINS - 1 : b;
            bins[b].n++;
            bins[b].confidence += p[best];
            bins[b].correct += best == y;
        }
    }
    t.accuracy /= e->n_query;
    t.loss /= e->n_query;
    return t;
}

static int distinct_classes(const struct episode *e)
{
    int distinct = 0;
    for (int i = 0; i < e->n_support; i++) {
        bool seen = false;
        for (int j = 0; j < i && !seen; j++)
            seen = e->support_label[i] == e->support_label[j];
        distinct += !seen;
    }
    return distinct;
}

/* FNV-1a over what a task is. */
static void hash_task(uint64_t *hash, const struct episode *e)
{
    const struct items sets[] = {{e->support, e->support_label, e->n_support},
                                 {e->query, e->query_label, e->n_query}};
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < sets[s].n; i++) {
            *hash = (*hash ^ (uint32_t)sets[s].at[i]) * 0x100000001b3u;
            *hash = (*hash ^ (uint32_t)sets[s].label[i]) * 0x100000001b3u;
        }
}

struct chunk {
    struct episode episodes[CHUNK_MAX];
    struct items support[CHUNK_MAX], none[CHUNK_MAX], query[CHUNK_MAX];
    float *probs[CHUNK_MAX];
    bool unadapted[CHUNK_MAX]; /* keeps the model for all */
    int n, most;               /* most: that a device has memory for at a time */
};

/* A largest probability among numbers that are none would be the first class. */
static int check_predictions(const struct chunk *c, bool adapted)
{
    for (int i = 0; i < c->n; i++) {
        const struct episode *e = &c->episodes[i];
        float sum = 0;
        for (size_t k = 0; k < (size_t)e->n_query * (size_t)e->ways; k++)
            sum += c->probs[i][k];
        if (!isfinite(sum))
            return fail(
                METE_EDIVERGE, "the predictions on task %lld are not numbers%s", (long long)e->task,
                adapted ? ", after adaptation: try a smaller inner.lr or fewer test.steps" : "");
    }
    return 0;
}

static int score_pass(struct learner *l, struct chunk *c, bool adapted, struct score *out,
                      int first)
{
    int err = predict_tasks(l, c->n, adapted ? c->support : c->none, c->query, c->probs, &c->most);
    if (!err)
        err = check_predictions(c, adapted);
    for (int i = 0; i < c->n && !err; i++) {
        bool used = adapted != c->unadapted[i];
        struct tally t = tally_of(&c->episodes[i], c->probs[i], used ? out->bins : NULL);
        struct store_task *row = &out->rows[first + i];
        if (adapted)
            row->accuracy_adapted = t.accuracy;
        else
            row->accuracy_before = t.accuracy, row->loss_before = t.loss;
        if (used)
            row->accuracy = t.accuracy, row->loss = t.loss;
    }
    return err;
}

static int score_chunk(struct learner *l, const struct evaluation *what, struct chunk *c, int first,
                       struct score *out)
{
    for (int i = 0; i < c->n; i++) {
        const struct episode *t = &c->episodes[i];
        const struct dataset *d = tasks_dataset(what->tasks);
        c->support[i] = (struct items){t->support, t->support_label, t->n_support};
        hash_task(&out->tasks_hash, t);
        c->none[i] = (struct items){0};
        c->query[i] = (struct items){t->query, NULL, t->n_query};
        c->probs[i] = mem_array((size_t)t->n_query * (size_t)t->ways, sizeof(float));
        out->rows[first + i] = (struct store_task){
            .number = (int)t->task,
            .user = t->user >= 0 && d->user_names ? d->user_names[t->user] : NULL,
            .n_query = t->n_query,
            .classes = distinct_classes(t),
            .accuracy_before = NAN,
            .loss_before = NAN,
        };
    }
    int err = 0;
    memset(c->unadapted, 0, sizeof c->unadapted);
    if (what->keep)
        err = prefer_unadapted(l, c->n, c->support, &c->most, c->unadapted);
    for (int i = 0; i < c->n; i++)
        out->rows[first + i].unadapted = c->unadapted[i];
    if (!err && (what->before || what->keep))
        err = score_pass(l, c, false, out, first);
    if (!err)
        err = score_pass(l, c, true, out, first);
    for (int i = 0; i < c->n; i++)
        free(c->probs[i]);
    return err;
}

static void summarise(struct score *s)
{
    double *accuracy = mem_array((size_t)s->n, sizeof *accuracy), loss = 0;
    for (int i = 0; i < s->n; i++) {
        accuracy[i] = s->rows[i].accuracy;
        loss += s->rows[i].loss;
    }
    struct summary sum = summary_of(accuracy, (size_t)s->n);
    s->accuracy = sum.mean;
    s->half = sum.half;
    s->loss = loss / s->n;
    free(accuracy);
}

static int chunk_of(const struct learner *l, const struct evaluation *what)
{
    int chunk = CHUNK, images = tasks_max_labels(what->tasks) + tasks_max_query(what->tasks);
    while (l->is.batched && !what->given && 2 * chunk <= CHUNK_MAX && 2 * chunk * images < IMAGES)
        chunk *= 2;
    return chunk;
}

int evaluate(struct learner *l, const struct evaluation *what, struct score *out)
{
    int chunk = chunk_of(l, what);
    struct score score = {.rows = mem_array((size_t)what->n, sizeof *score.rows),
                          .n = what->n,
                          .tasks_hash = 0xcbf29ce484222325u};
    struct budget_settings free_of_charge;
    struct ledger *own = NULL;
    struct chunk *c = mem_alloc(sizeof *c);
    c->most = chunk;
    param_defaults(budget_params, &free_of_charge);
    int err = what->ledger ? 0 : ledger_open(&own, what->tasks, &free_of_charge, 0, false);
    for (int first = 0; first < what->n && !err; first += chunk) {
        struct label_request q = {.tasks = what->tasks,
                                  .part = what->part,
                                  .first = first,
                                  .n = what->n - first < chunk ? what->n - first : chunk,
                                  .ledger = what->ledger ? what->ledger : own,
                                  .learner = l,
                                  .threads = l->is.threads};
        if (what->given)
            memcpy(c->episodes, what->given + first, (size_t)(c->n = q.n) * sizeof *c->episodes);
        else
            err = labeller_buy(what->support, &q, c->episodes, &c->n);
        if (!err)
            err = score_chunk(l, what, c, first, &score);
        if (!err)
            err = meter_add(what->meter, c->n * (what->before ? 2 : 1));
        for (int i = 0; i < c->n && !what->given; i++)
            episode_release(&c->episodes[i]);
        c->n = 0;
    }
    ledger_close(own);
    free(c);
    if (err) {
        score_release(&score);
        return err;
    }
    summarise(&score);
    *out = score;
    return 0;
}

void score_release(struct score *s)
{
    free(s->rows);
    *s = (struct score){0};
}
