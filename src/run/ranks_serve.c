/* ranks_serve.c - a learner that many ranks share, on all but the root. */
#include "run/ranks_calls.h"
#include "run/ranks_learner.h"
#include "base/error.h"
#include "base/memory.h"
#include "kernel/selection.h"

#include <stdlib.h>
#include <string.h>

struct serving {
    struct ranks *team;
    struct setup setup;
    struct learner *learner; /* NULL: it could not be opened */
    struct verdict adapting; /* of the last call to adapt, or of a step */
    struct message *m;       /* at hand */
};

static int my_share(const struct serving *s, int tasks, struct task_share *own)
{
    *own = share_of(s->team, ranks_me(s->team), tasks);
    return own->to - own->from;
}

/* ---- opening ---- */

/* The dataset of this machine must hold what the root's does. */
static int find_data(struct shelf *shelf, const char *name, const char *content,
                     const struct dataset **out)
{
    char here[CONTENT_SIZE];
    int err = shelf_dataset(shelf, name, out);
    if (!err)
        err = shelf_content(shelf, name, here);
    if (!err && strcmp(here, content) != 0)
        err = ranks_other_content(name, here, content);
    return err;
}

static int open_learner(struct serving *s, struct shelf *shelf)
{
    struct message *m = s->m;
    struct settings settings;
    ranks_set_timeout(message_get_real(m));
    get_settings(m, &settings);
    const char *dataset = message_get_text(m), *content = message_get_text(m);
    struct learner_spec spec = {.device = message_get_text(m), .ranks = s->team};
    spec.threads = (int)message_get_int(m);
    spec.threads = spec.threads ? spec.threads : ranks_threads();
    spec.ways = (int)message_get_int(m);
    spec.train_ways = (int)message_get_int(m);
    spec.meta_batch = (int)message_get_int(m);
    spec.support = (int)message_get_int(m);
    spec.query = (int)message_get_int(m);
    spec.seed = (uint64_t)message_get_int(m);
    int err = message_check(m);
    if (!err)
        err = setup_open(&s->setup, settings_get(&settings, "method"),
                         settings_get(&settings, "net"), settings_get(&settings, "labels"));
    if (!err)
        err = config_apply(&settings, &s->setup.set);
    if (!err)
        err = find_data(shelf, dataset, content, &spec.data);
    if (!err)
        err = setup_learner(&s->setup, &spec, NULL, &s->learner);
    settings_release(&settings);
    return err;
}

/* ---- steps ---- */

static int take_step(struct serving *s)
{
    int n;
    struct labelled_task *tasks = get_tasks(s->m, &n);
    int err = message_check(s->m);
    if (!err)
        err = learner_step(s->learner, tasks, n);
    tasks_free(tasks, n);
    return err;
}

/* ---- adapting and predicting ---- */

static int take_adapt(struct serving *s)
{
    struct task_share own;
    int tasks = (int)message_get_int(s->m), n = my_share(s, tasks, &own);
    struct items *support = mem_array((size_t)tasks + 1, sizeof *support);
    for (int t = 0; t < tasks; t++)
        get_items(s->m, &support[t]);
    int err = message_check(s->m);
    if (!err && n > 0)
        err = learner_adapt(s->learner, n, support + own.from);
    items_free(support, tasks);
    return err;
}

/* The arrays of n tasks, task by task. */
static void put_predictions(const struct learner *l, const struct predicted *p, int n,
                            const struct items *query, struct message *reply)
{
    const struct {
        float *const *from;
        size_t width;
    } arrays[] = {
        {p->probs, (size_t)l->is.ways}, {p->reps, (size_t)l->is.features}, {p->entropy, 1}};
    for (int t = 0; t < n; t++)
        for (int k = 0; k < 3; k++)
            if (arrays[k].from && arrays[k].from[t])
                message_put(reply, arrays[k].from[t],
                            (size_t)query[t].n * arrays[k].width * sizeof(float));
}

static int take_predict(struct serving *s, struct message *reply)
{
    struct task_share own;
    int tasks = (int)message_get_int(s->m), n = my_share(s, tasks, &own);
    bool clusters = message_get_int(s->m);
    struct items *query = mem_array((size_t)tasks + 1, sizeof *query);
    uint8_t *wants = mem_array((size_t)tasks + 1, 1);
    for (int t = 0; t < tasks; t++) {
        wants[t] = (uint8_t)message_get_int(s->m);
        get_items(s->m, &query[t]);
    }
    int err = message_check(s->m);
    if (!err)
        err = verdict_fail(&s->adapting);
    if (!err && n > 0) {
        const struct items *mine = query + own.from;
        struct predicted p = predictions_new(s->learner, n, mine, wants + own.from, clusters);
        err = learner_predict(s->learner, n, mine, &p);
        if (!err)
            put_predictions(s->learner, &p, n, mine, reply);
        predictions_free(&p, n);
    }
    free(wants);
    items_free(query, tasks);
    return err;
}

/* ---- clusters ---- */

static void get_clustering(struct message *m, struct clustering *c)
{
    *c = (struct clustering){.n = (int)message_get_int(m), .k = (int)message_get_int(m)};
    c->rounds = (int)message_get_int(m);
    c->first = (int)message_get_int(m);
    size_t n = (size_t)c->n, k = (size_t)c->k;
    int32_t *row = mem_array(2 * n + k + 1, sizeof *row);
    double *draw = mem_array(k + 1, sizeof *draw);
    message_get(m, row, n * sizeof *row);
    message_get(m, draw, (k > 0 ? k - 1 : 0) * sizeof *draw);
    c->row = row;
    c->draw = draw;
    c->cluster = row + n;
    c->nearest = row + 2 * n;
}

static int take_cluster(struct serving *s, struct message *reply)
{
    struct task_share own;
    int tasks = (int)message_get_int(s->m), n = my_share(s, tasks, &own);
    struct clustering *c = mem_array((size_t)tasks + 1, sizeof *c);
    for (int t = 0; t < tasks; t++)
        get_clustering(s->m, &c[t]);
    int err = message_check(s->m);
    if (!err && n > 0)
        err = learner_cluster(s->learner, n, c + own.from);
    for (int t = own.from; t < own.to && !err; t++) {
        message_put_int(reply, c[t].found);
        message_put(reply, c[t].cluster, (size_t)c[t].n * sizeof *c[t].cluster);
        message_put(reply, c[t].nearest, (size_t)c[t].k * sizeof *c[t].nearest);
    }
    for (int t = 0; t < tasks; t++) {
        free((void *)c[t].row);
        free((void *)c[t].draw);
    }
    free(c);
    return err;
}

static int take_load(struct serving *s)
{
    struct tensors in;
    enum learner_part part = (enum learner_part)message_get_int(s->m);
    int err = get_tensors(s->m, &in);
    if (!err)
        err = learner_load(s->learner, part, &in);
    tensors_release(&in);
    return err;
}

/* ---- the loop ---- */

/* Does what one message asks.  What fails is told with the next answer. */
static int obey(struct serving *s, enum ranks_call call)
{
    struct message reply = {0};
    int err = 0;
    switch (call) {
    case CALL_STEP:
        s->adapting = verdict_of(take_step(s));
        return ranks_lost() ? METE_EIO : 0;
    case CALL_ADAPT:
        s->adapting = verdict_of(take_adapt(s));
        return 0;
    case CALL_PREDICT:
        err = take_predict(s, &reply);
        break;
    case CALL_CLUSTER:
        err = take_cluster(s, &reply);
        break;
    case CALL_LOAD:
        err = take_load(s);
        break;
    default:
        return fail(METE_EFORMAT, "the first rank asked for something unknown (%d)", call);
    }
    err = reply_send(s->team, err, &reply);
    message_release(&reply);
    return err;
}

int ranks_learner_serve(struct ranks *team, struct message *open, struct shelf *shelf)
{
    struct serving s = {.team = team, .m = open};
    struct message reply = {0}, m = {0};
    int opened = open_learner(&s, shelf);
    if (!opened)
        message_put_int(&reply, s.learner->is.workers);
    int err = reply_send(team, opened, &reply);
    s.m = &m;
    while (!err) {
        err = ranks_broadcast_message(team, &m, RANKS_ANSWER);
        enum ranks_call call = err ? CALL_CLOSE : (enum ranks_call)message_get_int(&m);
        if (call == CALL_CLOSE)
            break;
        err = s.learner ? obey(&s, call) : fail(METE_EFORMAT, "the first rank goes on in vain");
    }
    learner_close(s.learner);
    setup_close(&s.setup);
    message_release(&m);
    message_release(&reply);
    return err;
}
