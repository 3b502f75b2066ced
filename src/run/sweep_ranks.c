/* sweep_ranks.c - rank 0's side of a suite over ranks. */
#include "run/sweep_ranks.h"
#include "run/ranks_calls.h"
#include "run/ranks_results.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct sweep_teams {
    int n, per_run;
    struct ranks *own; /* NULL: this rank alone */
    bool *lost;        /* (n) */
};

static int root_of(const struct sweep_teams *t, int team)
{
    return team * t->per_run;
}

/* ---- the start ---- */

static bool same_content(const struct settings *a, const struct settings *b)
{
    for (int i = 0; i < a->n; i++) {
        const char *there = is_content_key(a->at[i].key) ? settings_get(b, a->at[i].key) : NULL;
        if (is_content_key(a->at[i].key) && (!there || strcmp(a->at[i].value, there) != 0))
            return false;
    }
    return true;
}

/* One run of each content. */
static void put_contents(struct message *m, const struct teams_spec *spec)
{
    int *first = mem_array((size_t)spec->n + 1, sizeof *first), n = 0;
    for (int i = 0; i < spec->n; i++) {
        bool known = false;
        for (int k = 0; k < n && !known; k++)
            known = same_content(&spec->runs[i], &spec->runs[first[k]]);
        if (!known)
            first[n++] = i;
    }
    message_put_int(m, n);
    for (int k = 0; k < n; k++)
        put_settings(m, &spec->runs[first[k]]);
    free(first);
}

/* A file that the others look for. */
static int leave_sign(const char *folder, char **sign)
{
    char text[32];
    *sign = mem_print("%s/.ranks-%d", folder, (int)getpid());
    snprintf(text, sizeof text, "%d\n", (int)getpid());
    return file_write(*sign, text, strlen(text));
}

static int tell_all(const struct teams_spec *spec, int per_run, const char *sign)
{
    struct message m = {0};
    message_put_int(&m, CALL_TEAMS);
    message_put_real(&m, ranks_timeout());
    message_put_int(&m, per_run);
    message_put_text(&m, spec->kind->name);
    message_put_text(&m, spec->device);
    message_put_int(&m, spec->threads);
    message_put_text(&m, sign);
    put_contents(&m, spec);
    int err = ranks_broadcast_message(ranks_world(), &m, RANKS_ANSWER);
    message_release(&m);
    return err ? err : ranks_gather_verdicts(ranks_world(), 0);
}

int teams_open(struct sweep_teams **out, const struct teams_spec *spec)
{
    int ranks = ranks_count(ranks_world()), per_run = spec->per_run > 0 ? spec->per_run : 1;
    char *folder = NULL, *sign = NULL;
    if (per_run > ranks)
        return fail(METE_EINVAL, "--ranks-per-run %d: the job has %d", per_run, ranks);
    if (per_run > 1 && !spec->kind->shared)
        return fail(METE_EINVAL, "--ranks-per-run %d: a run of a study is made by one rank",
                    per_run);
    struct sweep_teams *t = mem_alloc(sizeof *t);
    *t = (struct sweep_teams){.n = (ranks + per_run - 1) / per_run, .per_run = per_run};
    t->lost = mem_array((size_t)t->n, sizeof *t->lost);
    t->own = per_run > 1 ? ranks_team(0, per_run) : NULL;
    int err = file_make_folder(spec->folder);
    if (!err && !(folder = realpath(spec->folder, NULL)))
        err = fail(METE_EIO, "%s: %s", spec->folder, strerror(errno));
    if (!err)
        err = leave_sign(folder, &sign);
    if (!err)
        err = tell_all(spec, per_run, sign);
    if (sign)
        unlink(sign);
    free(sign);
    free(folder);
    ranks_goes_on(true);
    if (err)
        teams_close(t);
    *out = err ? NULL : t;
    return err;
}

void teams_close(struct sweep_teams *t)
{
    struct message m = {0};
    if (!t)
        return;
    struct verdict before = verdict_of(METE_EIO); /* the sentence of why it closes stays */
    message_put_int(&m, CALL_LEAVE);
    for (int i = 1; i < t->n; i++)
        if (!t->lost[i])
            ranks_send_message(ranks_world(), root_of(t, i), &m);
    if (t->own)
        ranks_broadcast_message(t->own, &m, RANKS_ANSWER);
    ranks_goes_on(false);
    verdict_fail(&before);
    message_release(&m);
    ranks_close(t->own);
    free(t->lost);
    free(t);
}

int teams_count(const struct sweep_teams *t)
{
    return t->n;
}

bool teams_lost(const struct sweep_teams *t, int team)
{
    return t->lost[team];
}

struct ranks *teams_own(const struct sweep_teams *t)
{
    return t->own;
}

/* ---- a run ---- */

static int begin(int root, const struct settings *settings, const char *folder)
{
    struct message m = {0};
    char *path = realpath(folder, NULL);
    message_put_int(&m, CALL_RUN);
    put_settings(&m, settings);
    message_put_text(&m, path ? path : folder);
    int err = ranks_send_message(ranks_world(), root, &m);
    message_release(&m);
    free(path);
    return err;
}

/* What is told of the run goes on as if it were made here. */
static void pass_on(struct message *m, enum ranks_report what, const struct experiment_options *o,
                    int *stop, bool *stop_at_checkpoint)
{
    struct mete_progress p = {0};
    struct meter meter;
    switch (what) {
    case REPORT_METER:
        message_get(m, &meter, sizeof meter);
        *stop = o->progress ? o->progress(o->user, &meter) : 0;
        *stop_at_checkpoint = meter.stop_at_checkpoint;
        break;
    case REPORT_PROGRESS:
        p.what = message_get_text(m);
        p.detail = message_get_text(m);
        p.done = message_get_real(m);
        p.total = message_get_real(m);
        p.restored = message_get_real(m);
        p.left = message_get_real(m);
        *stop = progress_of(&p);
        break;
    default:
        if (message_get_int(m) == METE_LOG_WARN)
            log_warn("%s", message_get_text(m));
        else
            log_info("%s", message_get_text(m));
    }
}

static int answer(int root, int stop, bool stop_at_checkpoint)
{
    const int32_t to[2] = {stop, stop_at_checkpoint};
    return ranks_send(ranks_world(), root, to, sizeof to);
}

/* What the run ended with. */
static int take_results(struct message *m, struct results *out, bool *lost)
{
    struct verdict v;
    *lost = message_get_int(m);
    message_get(m, &v, sizeof v);
    return v.code ? verdict_fail(&v) : get_results(m, out);
}

int teams_run(struct sweep_teams *t, int team, const struct settings *settings,
              const struct experiment_options *o, struct results *out, bool *lost)
{
    int root = root_of(t, team), err = begin(root, settings, o->folder);
    struct message m = {0};
    *out = (struct results){0};
    *lost = false;
    for (bool done = false; !err && !done;) {
        int stop = 0;
        bool stop_at_checkpoint = false;
        err = ranks_receive_message(ranks_world(), root, &m, RANKS_REPORT);
        enum ranks_report what = err ? REPORT_DONE : (enum ranks_report)message_get_int(&m);
        done = what == REPORT_DONE;
        if (done)
            break;
        pass_on(&m, what, o, &stop, &stop_at_checkpoint);
        if (what != REPORT_LOG)
            err = answer(root, stop, stop_at_checkpoint);
    }
    if (err)
        *lost = true;
    else
        err = take_results(&m, out, lost);
    t->lost[team] = *lost;
    message_release(&m);
    return err;
}

/* ---- the order ---- */

struct sized {
    int run, place;
    double seconds;
};

static int by_size(const void *a, const void *b)
{
    const struct sized *x = a, *y = b;
    return x->seconds != y->seconds ? (x->seconds < y->seconds ? 1 : -1) : x->place - y->place;
}

int runs_by_size(const struct sweep_kind *kind, const struct settings *runs, struct shelf *shelf,
                 const char *device, int *chosen, int n)
{
    struct rate_memo memo = {.by_flops = true};
    struct sized *all = mem_array((size_t)n, sizeof *all);
    int err = 0;
    for (int i = 0; i < n && !err; i++) {
        struct estimate e = {0};
        err = kind->estimate(&runs[chosen[i]], shelf, device, &memo, &e);
        all[i] = (struct sized){chosen[i], i, e.seconds};
    }
    if (!err)
        qsort(all, (size_t)n, sizeof *all, by_size);
    for (int i = 0; i < n && !err; i++)
        chosen[i] = all[i].run;
    free(all);
    return err;
}
