/* ranks_learner.c - the root's side of a learner that many ranks share. */
#include "run/ranks_learner.h"
#include "run/ranks_calls.h"
#include "base/error.h"
#include "base/memory.h"
#include "kernel/selection.h"

#include <stdlib.h>
#include <string.h>

struct shared {
    struct learner learner;
    struct learner_ops ops;
    struct learner *own; /* of this rank */
    struct ranks *team;
    struct message call, reply;
};

/* Begins a message to all. */
static struct message *begin(struct shared *s, enum ranks_call call)
{
    message_clear(&s->call);
    message_put_int(&s->call, call);
    return &s->call;
}

static int tell(struct shared *s)
{
    return ranks_broadcast_message(s->team, &s->call, RANKS_ANSWER);
}

/* Every other rank's answer, also where one failed before: `err`, or the first failure. */
static int hear(struct shared *s, int err, void (*take)(struct shared *s, int rank, void *user),
                void *user)
{
    struct verdict first = verdict_of(err);
    for (int i = 1; i < ranks_count(s->team); i++) {
        int failed = reply_receive(s->team, i, &s->reply);
        if (!failed && take) {
            take(s, i, user);
            failed = message_check(&s->reply);
        }
        if (failed && !first.code)
            first = verdict_of(failed);
    }
    return verdict_fail(&first);
}

/* ---- steps ---- */

static int step(void *state, const struct labelled_task *tasks, int n)
{
    struct shared *s = state;
    struct message *m = begin(s, CALL_STEP);
    put_tasks(m, tasks, n);
    int err = tell(s);
    return err ? err : learner_step(s->own, tasks, n);
}

static int loss(void *state, bool restart, double *mean)
{
    return learner_loss(((struct shared *)state)->own, restart, mean);
}

/* ---- adapting and predicting ---- */

static int adapt(void *state, int tasks, const struct items *support)
{
    struct shared *s = state;
    struct message *m = begin(s, CALL_ADAPT);
    struct task_share own = share_of(s->team, 0, tasks);
    message_put_int(m, tasks);
    for (int t = 0; t < tasks; t++)
        put_items(m, &support[t]);
    int err = tell(s); /* who fails says so when it is asked to predict */
    return err ? err : learner_adapt(s->own, own.to, support);
}

struct predicting {
    int tasks;
    const struct items *query;
    const struct predicted *out;
};

static void take_predictions(struct shared *s, int rank, void *user)
{
    const struct predicting *p = user;
    struct task_share share = share_of(s->team, rank, p->tasks);
    const struct {
        float *const *to;
        size_t width;
    } arrays[] = {{p->out->probs, (size_t)s->own->is.ways},
                  {p->out->reps, (size_t)s->own->is.features},
                  {p->out->entropy, 1}};
    for (int t = share.from; t < share.to; t++)
        for (int k = 0; k < 3; k++)
            if (arrays[k].to && arrays[k].to[t])
                message_get(&s->reply, arrays[k].to[t],
                            (size_t)p->query[t].n * arrays[k].width * sizeof(float));
}

static int predict(void *state, int tasks, const struct items *query, const struct predicted *out)
{
    struct shared *s = state;
    struct message *m = begin(s, CALL_PREDICT);
    struct task_share own = share_of(s->team, 0, tasks);
    message_put_int(m, tasks);
    message_put_int(m, out->clusters);
    for (int t = 0; t < tasks; t++) {
        message_put_int(m, wants_of(out, t));
        put_items(m, &query[t]);
    }
    int err = tell(s);
    if (err)
        return err;
    err = own.to > 0 ? learner_predict(s->own, own.to, query, out) : 0;
    return hear(s, err, take_predictions, &(struct predicting){tasks, query, out});
}

/* ---- clusters ---- */

struct clusters {
    int tasks;
    struct clustering *c;
};

static void take_clusters(struct shared *s, int rank, void *user)
{
    const struct clusters *all = user;
    struct task_share share = share_of(s->team, rank, all->tasks);
    for (int t = share.from; t < share.to; t++) {
        struct clustering *c = &all->c[t];
        c->found = (int)message_get_int(&s->reply);
        message_get(&s->reply, c->cluster, (size_t)c->n * sizeof *c->cluster);
        message_get(&s->reply, c->nearest, (size_t)c->k * sizeof *c->nearest);
    }
}

static int cluster(void *state, int tasks, struct clustering *c)
{
    struct shared *s = state;
    struct message *m = begin(s, CALL_CLUSTER);
    struct task_share own = share_of(s->team, 0, tasks);
    message_put_int(m, tasks);
    for (int t = 0; t < tasks; t++) {
        message_put_int(m, c[t].n);
        message_put_int(m, c[t].k);
        message_put_int(m, c[t].rounds);
        message_put_int(m, c[t].first);
        message_put(m, c[t].row, (size_t)c[t].n * sizeof *c[t].row);
        message_put(m, c[t].draw, (size_t)(c[t].k > 0 ? c[t].k - 1 : 0) * sizeof *c[t].draw);
    }
    int err = tell(s);
    if (err)
        return err;
    err = own.to > 0 ? learner_cluster(s->own, own.to, c) : 0;
    return hear(s, err, take_clusters, &(struct clusters){tasks, c});
}

/* ---- weights ---- */

static int save(void *state, enum learner_part part, struct tensors *out)
{
    return learner_save(((struct shared *)state)->own, part, out);
}

static int load(void *state, enum learner_part part, const struct tensors *in)
{
    struct shared *s = state;
    struct message *m = begin(s, CALL_LOAD);
    message_put_int(m, part);
    put_tensors(m, in);
    int err = tell(s);
    return err ? err : hear(s, learner_load(s->own, part, in), NULL, NULL);
}

/* ---- the rest ---- */

static bool is_finite(void *state)
{
    return learner_finite(((struct shared *)state)->own);
}

/* The others get the statistics with the model that is loaded next. */
static int freeze(void *state, const int32_t *items, int n)
{
    return learner_freeze(((struct shared *)state)->own, items, n);
}

static int wait_own(void *state)
{
    return learner_wait(((struct shared *)state)->own);
}

static double flops(const void *state, int support, int query)
{
    return learner_flops(((const struct shared *)state)->own, support, query);
}

static void close_shared(void *state)
{
    struct shared *s = state;
    struct verdict before = verdict_of(METE_EIO); /* the sentence of why it closes stays */
    begin(s, CALL_CLOSE);
    if (tell(s))
        verdict_fail(&before);
    learner_close(s->own);
    message_release(&s->call);
    message_release(&s->reply);
    free(s);
}

static const struct learner_ops shared_ops = {
    .name = "learner of many ranks",
    .step = step,
    .loss = loss,
    .adapt = adapt,
    .predict = predict,
    .save = save,
    .load = load,
    .close = close_shared,
    .cluster = cluster,
    .freeze = freeze,
    .finite = is_finite,
    .wait = wait_own,
    .flops = flops,
};

static void take_workers(struct shared *s, int rank, void *user)
{
    (void)rank;
    (void)user;
    s->learner.is.workers += (int)message_get_int(&s->reply);
}

int ranks_learner_open(struct learner **out, const struct ranks_opening *o,
                       const struct learner_spec *spec, struct learner *own)
{
    struct shared *s = mem_alloc(sizeof *s);
    *s = (struct shared){.ops = shared_ops, .own = own, .team = spec->ranks};
    s->ops.freeze = own->ops->freeze ? freeze : NULL;
    s->learner = (struct learner){.ops = &s->ops, .state = s, .is = own->is};
    s->learner.is.batched = true; /* many tasks in a call, so that there are some for all */
    struct message *m = begin(s, CALL_OPEN);
    message_put_real(m, ranks_timeout());
    put_settings(m, o->settings);
    message_put_text(m, o->dataset);
    message_put_text(m, o->content);
    message_put_text(m, spec->device);
    message_put_int(m, spec->threads);
    message_put_int(m, spec->ways);
    message_put_int(m, spec->train_ways);
    message_put_int(m, spec->meta_batch);
    message_put_int(m, spec->support);
    message_put_int(m, spec->query);
    message_put_int(m, (int64_t)spec->seed);
    int err = tell(s);
    if (!err)
        err = hear(s, 0, take_workers, NULL);
    if (err) {
        close_shared(s);
        return err;
    }
    *out = &s->learner;
    return 0;
}
