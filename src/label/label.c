/* label.c - buying tasks: rounds of adapt, predict, choose, pay.
 *
 * Tasks are worked on in batches whose size depends only on the shapes, never on
 * threads or device, so that the ledger's order is the same everywhere.  Within a
 * batch the rounds go side by side: one adaptation and one prediction for all.
 */
#include "label/given_strategy.h"
#include "label/label_own.h"
#include "task/hidden.h"
#include "base/error.h"
#include "base/memory.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH_MOST = 32, BATCH_BYTES = 64 << 20 };

const struct param label_params[] = {
    PARAM_INT_ROW(struct label_settings, round, "round", 0, 0, 1e6,
                  "labels bought before the learner adapts again; 0: ways"),
    {0},
};
static const struct param no_params[] = {{0}};

int labeller_open(struct labeller *out, const char *name)
{
    const struct label_ops *ops = label_find(name);
    if (!ops)
        return METE_EINVAL;
    *out = (struct labeller){.ops = ops, .state = mem_alloc(ops->state_size + 1)};
    param_defaults(label_params, &out->settings);
    if (ops->params)
        param_defaults(ops->params, out->state);
    if (ops->self)
        memcpy(out->state, &ops->self, sizeof ops->self);
    given_strategy_hold(ops);
    return 0;
}

void labeller_close(struct labeller *l)
{
    if (l->ops)
        given_strategy_leave(l->ops);
    for (int i = 0; i < l->slots; i++)
        task_release(&l->slot[i]);
    free(l->slot);
    free(l->state);
    *l = (struct labeller){0};
}

void labeller_params(struct labeller *l, struct param_set *set)
{
    param_set_add(set, "labels", label_params, &l->settings);
    param_set_add(set, "labels", l->ops->params ? l->ops->params : no_params, l->state);
}

/* One task on its way to an episode. */
struct buying {
    struct task *task;
    struct purchase purchase;
    struct rng rng;                 /* of this round */
    int want, n_picks, n_support;   /* of this round, and so far */
    int clusters;                   /* found in this round */
    int32_t *support, *label;       /* (task->labels) items */
    int32_t *picks;                 /* (task->labels) positions */
    int32_t *known, *memo, *oracle; /* (n_pool) */
    int32_t *cluster, *central;     /* (n_pool) */
    uint8_t *available;             /* (n_pool) */
    float *entropy;                 /* (n_pool), then in the same block */
    float *probs, *reps;            /* (n_pool, ways), (n_pool, features) */
};

struct purchase_batch {
    struct labeller *labeller;
    const struct label_request *q;
    struct buying *at;
    int n, round;
};

static void buying_release(struct buying *b)
{
    free(b->support);
    free(b->available);
    free(b->entropy);
    *b = (struct buying){0};
}

/* Floats of a point that come to the host: what a strategy looks at, and always the entropy,
 * which tells whether a prediction is finite. */
static size_t floats_of(unsigned needs, int ways, int features)
{
    return 1 + (needs & LABEL_PROBS ? (size_t)ways : 0) +
           (needs & LABEL_REPS ? (size_t)features : 0);
}

/* One block for the whole numbers, one for the bytes, one for the floats. */
static void buying_init(struct buying *b, struct task *task, unsigned needs, int features)
{
    size_t n = (size_t)task->n_pool, labels = (size_t)task->labels;
    size_t pools = needs & LABEL_CLUSTERS ? 5 : 3;
    *b = (struct buying){.task = task};
    b->support = mem_array(3 * labels + pools * n + 1, sizeof *b->support);
    b->label = b->support + labels;
    b->picks = b->label + labels;
    b->known = b->picks + labels;
    b->memo = b->known + n;
    b->available = mem_array(n + 1, 1);
    memset(b->known, -1, n * sizeof *b->known);
    memset(b->memo, -1, n * sizeof *b->memo);
    memset(b->available, 1, n);
    if (needs & LABEL_ORACLE) {
        b->oracle = b->memo + n;
        for (size_t i = 0; i < n; i++)
            b->oracle[i] = hidden_label(task, task->pool[i]);
    }
    if (needs & LABEL_CLUSTERS) {
        b->cluster = b->memo + 2 * n;
        b->central = b->cluster + n;
    }
    if (needs & LABEL_LEARNER) {
        b->entropy = mem_array(n * floats_of(needs, task->ways, features) + 1, sizeof *b->entropy);
        b->probs = b->entropy + n;
        b->reps = b->probs + (needs & LABEL_PROBS ? n * (size_t)task->ways : 0);
    }
}

/* How many tasks are bought side by side, by what is known of their points, be it here or on
 * a device. */
static int batch_size(const struct labeller *l, const struct label_request *q)
{
    size_t width = 0;
    if (l->ops->needs & (LABEL_PROBS | LABEL_ENTROPY))
        width += (size_t)tasks_ways(q->tasks);
    if (l->ops->needs & (LABEL_REPS | LABEL_CLUSTERS))
        width += (size_t)q->learner->is.features;
    size_t bytes = width * (size_t)tasks_max_pool(q->tasks) * sizeof(float);
    size_t fit = bytes ? BATCH_BYTES / bytes : BATCH_MOST;
    return fit < 1 ? 1 : fit > BATCH_MOST ? BATCH_MOST : (int)fit;
}

/* Draws tasks and opens purchases until the batch is full or the budget would not
 * cover the next task.  b->n is how many. */
static int open_batch(struct purchase_batch *b, int64_t first, int want)
{
    const struct label_request *q = b->q;
    struct labeller *l = b->labeller;
    int features = q->learner ? q->learner->is.features : 0;
    for (b->n = 0; b->n < want; b->n++) {
        struct task *task = &l->slot[b->n];
        int err = task_draw(q->tasks, q->part, first + b->n, task);
        if (err)
            return err;
        struct purchase p;
        err = purchase_open(&p, q->ledger, task, task->labels);
        if (err == METE_EBUDGET)
            return 0;
        if (err)
            return err;
        buying_init(&b->at[b->n], task, l->ops->needs, features);
        b->at[b->n].purchase = p;
    }
    return 0;
}

/* A learner that has diverged must not choose: whatever it says is noise. */
static int check_finite(const struct buying *x, unsigned needs, int features)
{
    size_t width = floats_of(needs, x->task->ways, features);
    float sum = 0; /* of zeros, or NaN */
    for (size_t i = 0; i < (size_t)x->task->n_pool * width; i++)
        sum += x->entropy[i] * 0;
    if (sum != 0)
        return fail(METE_EDIVERGE, "the learner's view of task %" PRId64 " is not finite",
                    x->task->number);
    return 0;
}

/* Lets the learner adapt to what is labelled and look at the pools again. */
static int consult(struct purchase_batch *b)
{
    unsigned needs = b->labeller->ops->needs;
    struct learner *l = b->q->learner;
    struct items support[BATCH_MOST], pool[BATCH_MOST];
    float *probs[BATCH_MOST], *reps[BATCH_MOST], *entropy[BATCH_MOST];
    for (int i = 0; i < b->n; i++) {
        struct buying *x = &b->at[i];
        support[i] = (struct items){x->support, x->label, x->n_support};
        pool[i] = (struct items){x->task->pool, NULL, x->task->n_pool};
        probs[i] = x->probs;
        reps[i] = x->reps;
        entropy[i] = x->entropy;
    }
    struct predicted out = {needs & LABEL_PROBS ? probs : NULL, needs & LABEL_REPS ? reps : NULL,
                            entropy, needs & LABEL_CLUSTERS};
    int err = learner_adapt(l, b->n, support);
    if (!err)
        err = learner_predict(l, b->n, pool, &out);
    for (int i = 0; i < b->n && !err; i++)
        err = check_finite(&b->at[i], needs, l->is.features);
    return err;
}

/* What task x wants in this round, and its random numbers. */
static void begin_round(const struct purchase_batch *b, struct buying *x)
{
    int round = b->labeller->settings.round;
    round = round ? round : x->task->ways;
    x->want = x->task->labels - x->n_support;
    if (b->labeller->ops->needs & LABEL_LEARNER && x->want > round)
        x->want = round;
    x->rng = rng_make(tasks_seed(b->q->tasks), RNG_LABEL, (uint64_t)x->task->number,
                      (uint32_t)(SPLIT_PARTS * b->round + b->q->part));
    x->clusters = 0;
}

/* All that the strategy sees of task x. */
static struct label_view view_of(const struct purchase_batch *b, const struct buying *x)
{
    unsigned needs = b->labeller->ops->needs;
    return (struct label_view){
        .n = x->task->n_pool,
        .ways = x->task->ways,
        .shots = tasks_shots(b->q->tasks),
        .features = b->q->learner ? b->q->learner->is.features : 0,
        .round = b->round,
        .available = x->available,
        .known = x->known,
        .probs = needs & LABEL_PROBS ? x->probs : NULL,
        .reps = needs & LABEL_REPS ? x->reps : NULL,
        .entropy = needs & LABEL_ENTROPY ? x->entropy : NULL,
        .oracle = x->oracle,
        .clusters = x->clusters,
        .cluster = x->cluster,
        .central = x->central,
        .memo = x->memo,
    };
}

/* The clusters that the strategy wants of each pool, of all in one call. */
static int cluster_pools(struct purchase_batch *b)
{
    const struct label_ops *ops = b->labeller->ops;
    struct clustering c[BATCH_MOST];
    int k[BATCH_MOST];
    for (int i = 0; i < b->n; i++) {
        struct buying *x = &b->at[i];
        struct label_view v = view_of(b, x);
        k[i] = x->want > 0 ? ops->clusters(b->labeller->state, &v, x->want) : 0;
        clustering_open(&c[i], &v, k[i], &x->rng);
    }
    int err = learner_cluster(b->q->learner, b->n, c);
    for (int i = 0; i < b->n; i++) {
        struct buying *x = &b->at[i];
        x->clusters = clustering_close(&c[i], k[i], &x->rng, x->cluster, x->central);
    }
    return err;
}

static int check_picks(const struct labeller *l, const struct buying *x, int picked, int want)
{
    const char *name = l->ops->name;
    if (picked > want)
        return fail(METE_EINVAL, "strategy '%s' picked %d points where %d were asked for", name,
                    picked, want);
    for (int i = 0; i < picked; i++) {
        int32_t at = x->picks[i];
        if (at < 0 || at >= x->task->n_pool || !x->available[at])
            return fail(METE_EINVAL,
                        "strategy '%s' picked point %d of task %" PRId64 ", which cannot be bought",
                        name, at, x->task->number);
        x->available[at] = 0; /* so that a second pick of the same is refused */
    }
    return 0;
}

/* Piece i of a round: the strategy chooses for task i. */
static int choose_one(void *user, int i, int worker)
{
    (void)worker;
    struct purchase_batch *b = user;
    struct buying *x = &b->at[i];
    struct labeller *l = b->labeller;
    struct label_view v = view_of(b, x);
    int picked = x->want > 0 ? l->ops->choose(l->state, &v, x->want, &x->rng, x->picks) : 0;
    if (picked < 0)
        return picked;
    x->n_picks = picked;
    return check_picks(l, x, picked, x->want);
}

/* Pays for the picks of every task, in order.  *more: somebody bought. */
static int pay(struct purchase_batch *b, bool *more)
{
    *more = false;
    for (int i = 0; i < b->n; i++) {
        struct buying *x = &b->at[i];
        int err =
            purchase_support(&x->purchase, b->round, x->picks, x->n_picks, x->label + x->n_support);
        if (err)
            return err;
        for (int k = 0; k < x->n_picks; k++) {
            x->known[x->picks[k]] = x->label[x->n_support];
            x->support[x->n_support++] = x->task->pool[x->picks[k]];
        }
        *more = *more || x->n_picks > 0;
    }
    return 0;
}

/* Every task's picks of one round. */
static int choose_all(struct purchase_batch *b)
{
    unsigned needs = b->labeller->ops->needs;
    int err = needs & LABEL_LEARNER ? consult(b) : 0;
    for (int i = 0; i < b->n; i++)
        begin_round(b, &b->at[i]);
    if (!err && needs & LABEL_CLUSTERS)
        err = cluster_pools(b);
    /* What looks at nothing is done before threads wake. */
    if (!err && needs & LABEL_LEARNER && b->q->threads)
        return threads_run(b->q->threads, b->n, choose_one, b);
    for (int i = 0; !err && i < b->n; i++)
        err = choose_one(b, i, 0);
    return err;
}

static int run_rounds(struct purchase_batch *b)
{
    bool more = true;
    for (b->round = 0; more; b->round++) {
        bool wanted = false;
        for (int i = 0; i < b->n; i++)
            wanted = wanted || b->at[i].n_support < b->at[i].task->labels;
        if (!wanted)
            return 0;
        int err = choose_all(b);
        if (!err)
            err = pay(b, &more);
        if (err)
            return err;
    }
    return 0;
}

static int close_batch(struct purchase_batch *b, struct episode *episodes)
{
    int err = 0;
    for (int i = 0; i < b->n && !err; i++) {
        struct buying *x = &b->at[i];
        struct episode *e = &episodes[i];
        size_t bytes = (size_t)x->n_support * sizeof *x->support;
        episode_init(e, x->task, x->n_support);
        memcpy(e->support, x->support, bytes);
        memcpy(e->support_label, x->label, bytes);
        err = purchase_query(&x->purchase, e->query_label);
        purchase_close(&x->purchase);
    }
    return err;
}

/* Buys up to `want` tasks from `first` on; *n is how many. */
static int buy_batch(struct labeller *l, const struct label_request *q, int64_t first, int want,
                     struct episode *episodes, int *n)
{
    struct buying at[BATCH_MOST] = {{0}};
    struct purchase_batch b = {.labeller = l, .q = q, .at = at};
    int err = open_batch(&b, first, want);
    if (!err && b.n > 0)
        err = run_rounds(&b);
    if (!err)
        err = close_batch(&b, episodes);
    *n = b.n;
    for (int i = 0; i < b.n; i++) {
        purchase_drop(&at[i].purchase);
        buying_release(&at[i]);
    }
    return err;
}

int labeller_buy(struct labeller *l, const struct label_request *q, struct episode *episodes,
                 int *bought)
{
    if (l->ops->needs & LABEL_LEARNER && !q->learner)
        return fail(METE_EINVAL, "the label strategy '%s' needs a learner to look through",
                    l->ops->name);
    int most = batch_size(l, q), done = 0, n = 1;
    if (!l->slot) {
        l->slot = mem_array(BATCH_MOST, sizeof *l->slot);
        l->slots = BATCH_MOST;
    }
    /* A batch cut short by what others had set aside is tried again, so that only a
     * task that does not fit by itself ends the buying. */
    memset(episodes, 0, (size_t)q->n * sizeof *episodes);
    while (done < q->n && n > 0) {
        int want = q->n - done < most ? q->n - done : most;
        int err = buy_batch(l, q, q->first + done, want, episodes + done, &n);
        if (err) {
            for (int i = 0; i < q->n; i++)
                episode_release(&episodes[i]);
            return err;
        }
        done += n;
    }
    *bought = done;
    return 0;
}
