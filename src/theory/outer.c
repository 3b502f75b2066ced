/* outer.c - training without a task, over and over; which rank does, and how rank 0 hears of it. */
#include "theory/outer.h"
#include "theory/stability.h"
#include "run/ranks_calls.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

struct leaving_out {
    const struct field *f;
    struct ranks *ranks;
    int trained; /* models so far, by whichever rank */
    double told; /* when rank 0 last heard of this one */
};

/* ---- what the others tell rank 0 ---- */

enum { STILL_AT_IT, TRAINED };

static int tell(struct leaving_out *s, int what, const struct verdict *v, const double *risk)
{
    struct message m = {0};
    message_put_int(&m, what);
    if (what == TRAINED) {
        message_put(&m, v, sizeof *v);
        if (!v->code)
            message_put(&m, risk, (size_t)s->f->n_fresh * sizeof *risk);
    }
    int err = ranks_send_message(s->ranks, 0, &m);
    message_release(&m);
    s->told = seconds_now();
    return err;
}

static int say_still_at_it(void *user, struct engine *e, int step)
{
    const double every = 10; /* seconds */
    struct leaving_out *s = user;
    (void)e;
    (void)step;
    return seconds_now() - s->told > every ? tell(s, STILL_AT_IT, NULL, NULL) : 0;
}

static int hear(struct leaving_out *s, int rank, double *risk)
{
    struct message m = {0};
    struct verdict v = {0};
    char name[160];
    int err = 0;
    do
        err = ranks_receive_message(s->ranks, rank, &m, RANKS_REPORT);
    while (!err && message_get_int(&m) == STILL_AT_IT);
    if (!err) {
        message_get(&m, &v, sizeof v);
        message_get(&m, risk, (size_t)s->f->n_fresh * sizeof *risk);
        err = v.code ? fail(v.code, "%s: %s", ranks_name(s->ranks, rank, name), v.sentence)
                     : message_check(&m);
    }
    message_release(&m);
    return err;
}

/* ---- a model ---- */

static int risks_here(struct leaving_out *s, int without, double *risk)
{
    const struct field *f = s->f;
    struct engine *e = NULL;
    bool tells = ranks_me(s->ranks) > 0;
    int err = field_train(f, without, tells ? say_still_at_it : NULL, s, &e);
    if (!err)
        err = field_risks(f, e, f->fresh, f->n_fresh, field_objective(f), risk);
    engine_close(e);
    return err;
}

/* Rank 0 trains one model before these, which it looks at closely. */
static int risks(void *user, int without, double *risk)
{
    struct leaving_out *s = user;
    int me = ranks_me(s->ranks), rank = (1 + s->trained++) % ranks_count(s->ranks);
    if (rank != me && me > 0)
        return 0; /* zeros: only rank 0 compares */
    if (rank != me)
        return hear(s, rank, risk);
    int err = risks_here(s, without, risk);
    if (me == 0)
        return err;
    struct verdict v = verdict_of(err);
    int lost = tell(s, TRAINED, &v, risk);
    return lost ? lost : verdict_fail(&v);
}

int outer_measure(struct field *f, const struct mete_study *o, struct ranks *ranks,
                  struct mete_stability *out)
{
    struct stability s;
    struct leaving_out own = {.f = f, .ranks = ranks, .told = seconds_now()};
    struct stability_problem p = {.user = &own,
                                  .items = f->n,
                                  .probes = f->n_fresh,
                                  .max_loss = f->max_loss,
                                  .risks = risks,
                                  .what = "leaving out a task"};
    int err = stability_measure(&s, &p, o->removals, o->seed);
    if (err)
        return err;
    out->outer_beta = (struct mete_measured){s.largest, s.mean.mean, s.mean.half};
    out->removals = s.removals;
    out->exceeding = s.exceeding;
    return 0;
}

/* ---- the study on its way ---- */

static void put_study(struct message *m, const struct mete_study *o)
{
    int n = 0;
    while (o->set && o->set[n])
        n++;
    message_put(m, o, sizeof *o);
    message_put_text(m, o->bench);
    message_put_text(m, o->method);
    message_put_text(m, o->net);
    message_put_text(m, o->labels);
    message_put_text(m, o->device);
    message_put_int(m, n);
    for (int i = 0; i < n; i++)
        message_put_text(m, o->set[i]);
}

/* free() the set. */
static struct mete_study get_study(struct message *m)
{
    struct mete_study o;
    message_get(m, &o, sizeof o);
    o.bench = message_get_text(m);
    o.method = message_get_text(m);
    o.net = message_get_text(m);
    o.labels = message_get_text(m);
    o.device = message_get_text(m);
    int64_t n = message_get_int(m);
    n = n >= 0 && n < 10000 ? n : 0;
    const char **set = mem_array((size_t)n + 1, sizeof *set);
    for (int64_t i = 0; i < n; i++)
        set[i] = message_get_text(m);
    o.set = set;
    o.threads = o.threads ? o.threads : ranks_threads();
    return o;
}

int outer_call(const struct field *f, const struct mete_study *o, struct ranks *ranks)
{
    struct message m = {0};
    char content[CONTENT_SIZE];
    int err = ranks_shared(ranks) ? dataset_content(f->dataset, content) : 0;
    if (err || !ranks_shared(ranks))
        return err;
    message_put_int(&m, CALL_STUDY);
    message_put_real(&m, ranks_timeout());
    message_put_text(&m, content);
    put_study(&m, o);
    err = ranks_broadcast_message(ranks, &m, RANKS_ANSWER);
    message_release(&m);
    return err;
}

int outer_serve(struct message *m)
{
    struct ranks *ranks = ranks_world();
    struct field f = {0};
    struct mete_stability r;
    char here[CONTENT_SIZE];
    ranks_set_timeout(message_get_real(m));
    const char *content = message_get_text(m);
    struct mete_study o = get_study(m);
    int err = message_check(m);
    if (!err)
        err = field_open(&f, &o);
    if (!err)
        err = dataset_content(f.dataset, here);
    if (!err && strcmp(here, content) != 0)
        err = ranks_other_content(o.bench, here, content);
    if (err) { /* told in the place of its first model */
        struct leaving_out s = {.f = &f, .ranks = ranks};
        struct verdict v = verdict_of(err);
        tell(&s, TRAINED, &v, NULL);
    } else {
        outer_measure(&f, &o, ranks, &r);
    }
    field_close(&f);
    free((void *)o.set);
    return 0; /* what failed here is told to rank 0 */
}
