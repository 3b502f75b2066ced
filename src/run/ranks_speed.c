/* ranks_speed.c - mete speed over ranks: what the first tells the others, and what they do. */
#include "run/ranks_speed.h"
#include "run/ranks_calls.h"
#include "run/speed.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>

static struct ranks_sent before; /* the first step */

/* ---- the options ---- */

static void put_options(struct message *m, const struct mete_speed_options *o)
{
    int n = 0;
    while (o->set && o->set[n])
        n++;
    message_put_text(m, o->bench);
    message_put_text(m, o->method);
    message_put_text(m, o->net);
    message_put_text(m, o->device);
    message_put_int(m, o->threads);
    message_put_int(m, o->query);
    message_put_int(m, n);
    for (int i = 0; i < n; i++)
        message_put_text(m, o->set[i]);
}

/* free() the set. */
static struct mete_speed_options get_options(struct message *m)
{
    struct mete_speed_options o = {.bench = message_get_text(m)};
    o.method = message_get_text(m);
    o.net = message_get_text(m);
    o.device = message_get_text(m);
    o.threads = (int)message_get_int(m);
    o.query = (int)message_get_int(m);
    int64_t n = message_get_int(m);
    n = n >= 0 && (size_t)n < m->size ? n : 0;
    const char **set = mem_array((size_t)n + 1, sizeof *set);
    for (int64_t i = 0; i < n; i++)
        set[i] = message_get_text(m);
    o.set = set;
    return o;
}

/* ---- the first rank ---- */

static int tell(struct ranks *ranks, enum ranks_call call)
{
    struct message m = {0};
    message_put_int(&m, call);
    int err = ranks_broadcast_message(ranks, &m, RANKS_ANSWER);
    message_release(&m);
    return err;
}

int ranks_speed_begin(struct ranks *ranks, const struct mete_speed_options *o)
{
    struct message m = {0};
    if (!ranks)
        return 0;
    message_put_int(&m, CALL_SPEED);
    message_put_real(&m, ranks_timeout());
    put_options(&m, o);
    int err = ranks_broadcast_message(ranks, &m, RANKS_ANSWER);
    message_release(&m);
    return err;
}

int ranks_speed_opened(struct ranks *ranks, int err)
{
    if (ranks)
        err = ranks_gather_verdicts(ranks, err);
    before = ranks_sent();
    return err;
}

int ranks_speed_step(struct ranks *ranks, struct message *m, const struct labelled_task *tasks,
                     int n)
{
    if (!ranks)
        return 0;
    message_clear(m);
    message_put_int(m, CALL_STEP);
    put_tasks(m, tasks, n);
    return ranks_broadcast_message(ranks, m, RANKS_ANSWER);
}

/* Each rank's number of bytes and messages at the root. */
static int gather_sent(struct ranks *ranks, struct ranks_sent *sent)
{
    int n = ranks_count(ranks);
    struct ranks_sent now = ranks_sent();
    size_t *at = mem_array((size_t)n + 1, sizeof *at);
    for (int i = 0; i <= n; i++)
        at[i] = (size_t)i * sizeof *sent;
    sent[ranks_me(ranks)] =
        (struct ranks_sent){now.bytes - before.bytes, now.messages - before.messages};
    int err = ranks_gather_parts(ranks, sent, at);
    free(at);
    return err;
}

int ranks_speed_end(struct ranks *ranks, struct ranks_sent *all, struct ranks_sent *most)
{
    *all = *most = (struct ranks_sent){0};
    if (!ranks)
        return 0;
    struct ranks_sent *sent = mem_array((size_t)ranks_count(ranks), sizeof *sent);
    int err = tell(ranks, CALL_CLOSE);
    if (!err)
        err = gather_sent(ranks, sent);
    for (int i = 0; i < ranks_count(ranks) && !err; i++) {
        all->bytes += sent[i].bytes;
        all->messages += sent[i].messages;
        *most = sent[i].bytes > most->bytes ? sent[i] : *most;
    }
    free(sent);
    return err;
}

/* ---- the others ---- */

static int obey(struct speed *s, struct message *m)
{
    int n;
    struct labelled_task *tasks = get_tasks(m, &n);
    int err = message_check(m);
    if (!err)
        err = engine_step(s->engine, tasks, n);
    tasks_free(tasks, n);
    return ranks_lost() ? err : 0; /* what else failed, all ranks know */
}

static int serve(struct speed *s, struct ranks *world)
{
    struct message m = {0};
    int err = 0;
    while (!err) {
        err = ranks_broadcast_message(world, &m, RANKS_ANSWER);
        enum ranks_call call = err ? CALL_CLOSE : (enum ranks_call)message_get_int(&m);
        if (call == CALL_CLOSE)
            break;
        err = s->engine ? obey(s, &m) : fail(METE_EFORMAT, "the first rank goes on in vain");
    }
    message_release(&m);
    return err;
}

int ranks_speed_serve(struct message *m)
{
    struct ranks *world = ranks_world();
    struct speed s = {0};
    ranks_set_timeout(message_get_real(m));
    struct mete_speed_options o = get_options(m);
    int err = message_check(m);
    if (!err)
        err = speed_open(&s, &o, world);
    if (!err)
        err = engine_open(&s.engine, &s.spec);
    ranks_gather_verdicts(world, err); /* rank 0 says it, and lets all go */
    before = ranks_sent();
    err = serve(&s, world);
    if (!err) {
        struct ranks_sent *sent = mem_array((size_t)ranks_count(world), sizeof *sent);
        err = gather_sent(world, sent);
        free(sent);
    }
    speed_close(&s);
    free((void *)o.set);
    return err;
}
