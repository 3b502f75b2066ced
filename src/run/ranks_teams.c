/* ranks_teams.c - what the ranks of a team do: its root makes runs and reports to rank 0, the
 * others compute for the root.
 */
#include "run/ranks_teams.h"
#include "run/ranks_calls.h"
#include "run/ranks_learner.h"
#include "run/ranks_results.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Seconds between reports: rank 0 looks for them a hundred times a second. */
static const double report_every = 1;

struct runner {
    const struct sweep_kind *kind;
    const char *device;
    int threads;
    struct ranks *team; /* NULL: this rank alone */
    struct shelf *shelf;
    /* towards rank 0, by one thread at a time */
    pthread_mutex_t lock;
    double told;
    int32_t answer[2]; /* of the last report: stop, stop at a checkpoint */
    int lost;          /* rank 0 is gone */
};

/* ---- reports ---- */

static int send_report(struct runner *w, const struct message *m)
{
    w->lost = w->lost ? w->lost : ranks_send_message(ranks_world(), 0, m);
    return w->lost;
}

/* With the lock: tells, and hears whether to stop. */
static void exchange(struct runner *w, const struct message *m)
{
    if (!send_report(w, m))
        w->lost = ranks_receive(ranks_world(), 0, w->answer, sizeof w->answer);
    w->told = seconds_now();
}

static int stop_asked(const struct runner *w)
{
    char name[160];
    return w->lost ? fail(METE_EIO, "%s hears no more of the first rank, and makes no more runs",
                          ranks_name(ranks_world(), ranks_me(ranks_world()), name))
           : w->answer[0] ? fail(METE_ESTOPPED, "stopped")
                          : 0;
}

static int report_meter(void *user, struct meter *meter)
{
    struct runner *w = user;
    struct message m = {0};
    pthread_mutex_lock(&w->lock);
    if (seconds_now() - w->told > report_every && !w->lost) {
        message_put_int(&m, REPORT_METER);
        message_put(&m, meter, sizeof *meter);
        exchange(w, &m);
    }
    meter->stop_at_checkpoint = w->answer[1];
    int err = stop_asked(w);
    pthread_mutex_unlock(&w->lock);
    message_release(&m);
    return err;
}

static int report_progress(void *user, const struct mete_progress *p)
{
    struct runner *w = user;
    struct message m = {0};
    pthread_mutex_lock(&w->lock);
    if (seconds_now() - w->told > report_every && !w->lost) {
        message_put_int(&m, REPORT_PROGRESS);
        message_put_text(&m, p->what);
        message_put_text(&m, p->detail);
        message_put_real(&m, p->done);
        message_put_real(&m, p->total);
        message_put_real(&m, p->restored);
        message_put_real(&m, p->left);
        exchange(w, &m);
    }
    int stop = stop_asked(w);
    pthread_mutex_unlock(&w->lock);
    message_release(&m);
    return stop;
}

static void report_log(void *user, enum mete_log_level level, const char *text)
{
    struct runner *w = user;
    struct message m = {0};
    message_put_int(&m, REPORT_LOG);
    message_put_int(&m, level);
    message_put_text(&m, text);
    pthread_mutex_lock(&w->lock);
    send_report(w, &m);
    pthread_mutex_unlock(&w->lock);
    message_release(&m);
}

/* ---- a run ---- */

static int make_run(struct runner *w, struct message *call)
{
    struct settings settings;
    struct results results = {0};
    struct message m = {0};
    get_settings(call, &settings);
    struct experiment_options o = {.device = w->device,
                                   .threads = w->threads ? w->threads : ranks_threads(),
                                   .ranks = w->team,
                                   .folder = message_get_text(call),
                                   .progress = report_meter,
                                   .user = w};
    int err = message_check(call);
    w->told = seconds_now();
    w->answer[0] = w->answer[1] = 0;
    mete_log_to(report_log, w);
    mete_progress_to(report_progress, w);
    if (!err)
        err = w->kind->run(&settings, w->shelf, &o, &results);
    struct verdict v = verdict_of(err);
    mete_log_to(NULL, NULL);
    mete_progress_to(NULL, NULL);
    message_put_int(&m, REPORT_DONE);
    message_put_int(&m, ranks_lost());
    message_put(&m, &v, sizeof v);
    if (!err)
        put_results(&m, &results);
    send_report(w, &m);
    results_release(&results);
    settings_release(&settings);
    message_release(&m);
    return w->lost;
}

/* The root of a team: what rank 0 asks for. */
static int lead(struct runner *w)
{
    struct message m = {0};
    int err = 0;
    enum ranks_call call = CALL_RUN;
    while (!err && call != CALL_LEAVE) {
        err = ranks_receive_message(ranks_world(), 0, &m, RANKS_EVER);
        call = err ? CALL_LEAVE : (enum ranks_call)message_get_int(&m);
        if (!err && call == CALL_RUN)
            err = make_run(w, &m);
    }
    if (!err && w->team)
        err = ranks_broadcast_message(w->team, &m, RANKS_ANSWER);
    message_release(&m);
    return err;
}

/* A team that lost a rank computes no more.  Its ranks stay until rank 0 ends the job, since a
 * launcher might end it for the first that leaves. */
static int stay(struct message *m)
{
    return ranks_receive_message(ranks_world(), 0, m, RANKS_EVER);
}

/* The others of a team: what its root asks for. */
static int follow(struct runner *w)
{
    struct message m = {0};
    int err = 0;
    while (!err) {
        err = ranks_broadcast_message(w->team, &m, RANKS_EVER);
        if (err || message_get_int(&m) != CALL_OPEN)
            break;
        err = ranks_learner_serve(w->team, &m, w->shelf);
    }
    if (err)
        err = stay(&m);
    message_release(&m);
    return err;
}

/* ---- the start ---- */

static int see_sign(const char *sign)
{
    const char *name = strrchr(sign, '/');
    if (access(sign, R_OK) == 0)
        return 0;
    return fail(METE_EIO,
                "%.*s is another folder there; put the database where all machines see it",
                (int)(name - sign), sign);
}

/* A run resolves to itself where all that its settings name holds the same. */
static int check_content(const struct runner *w, const struct settings *s)
{
    void *own = mem_alloc(w->kind->rules_size);
    struct config_rules rules = w->kind->rules(own, w->shelf);
    struct settings here = {0};
    char **set = mem_array((size_t)s->n + 1, sizeof *set);
    for (int i = 0; i < s->n; i++)
        set[i] = mem_print("%s=%s", s->at[i].key, s->at[i].value);
    int err = config_resolve(&here, (const char *const *)set, &rules);
    struct verdict why = verdict_of(err);
    if (err)
        err =
            fail(METE_EDEVICE, "%s holds something else than on the first rank, or is missing (%s)",
                 settings_get(s, "bench"), why.sentence);
    for (int i = 0; i < s->n; i++)
        free(set[i]);
    free(set);
    settings_release(&here);
    free(own);
    return err;
}

static int check_contents(const struct runner *w, struct message *m)
{
    int64_t n = message_get_int(m);
    int err = 0;
    for (int64_t i = 0; i < n && !err; i++) {
        struct settings s;
        get_settings(m, &s);
        err = message_check(m);
        if (!err)
            err = check_content(w, &s);
        settings_release(&s);
    }
    return err;
}

int ranks_teams_serve(struct message *m, struct shelf *shelf, ranks_kind_fn *find_kind)
{
    struct ranks *world = ranks_world();
    struct runner w = {.shelf = shelf, .lock = PTHREAD_MUTEX_INITIALIZER};
    ranks_set_timeout(message_get_real(m));
    int per_run = (int)message_get_int(m), me = ranks_me(world), left = ranks_count(world);
    int first = me - me % per_run, size = left - first < per_run ? left - first : per_run;
    w.kind = find_kind(message_get_text(m));
    w.device = message_get_text(m);
    w.threads = (int)message_get_int(m);
    w.team = size > 1 ? ranks_team(first, size) : NULL;
    int err = see_sign(message_get_text(m));
    if (!err)
        err = check_contents(&w, m);
    ranks_goes_on(first > 0);          /* the team of rank 0 ends with the job */
    ranks_gather_verdicts(world, err); /* rank 0 says it, and lets all go */
    err = me == first ? lead(&w) : follow(&w);
    if (!err) /* else the others may go on without this rank */
        ranks_goes_on(false);
    ranks_close(w.team);
    pthread_mutex_destroy(&w.lock);
    return err;
}
