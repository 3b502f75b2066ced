/* sweep.c - a suite's runs, shared out over threads and processes.
 *
 * The database is the queue: a run is claimed, trained, tested, and written in one
 * transaction.  With runs enough for the threads, each thread takes whole runs;
 * else one run at a time uses them all.  The choice never changes a result.
 */
#include "run/sweep.h"
#include "run/dry_run.h"
#include "run/sweep_ranks.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "method/lockstep.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LEASE_SECONDS = 60, HEARTBEAT_SECONDS = 10 };

int planned_open(struct planned *p, const struct settings *s)
{
    const char *bench = settings_get(s, "bench"), *seed = settings_get(s, "seed");
    *p = (struct planned){0};
    int err = bench_parse(&p->bench, bench);
    if (err)
        return err;
    p->settings = mem_array((size_t)s->n, sizeof *p->settings);
    int n = 0;
    const char *shots = settings_get(s, "shots");
    for (int i = 0; i < s->n; i++) {
        const char *key = s->at[i].key;
        static const char *const named[] = {"bench", "method", "labels", "net", "seed"};
        bool name = false;
        for (int k = 0; k < 5; k++)
            name = name || strcmp(key, named[k]) == 0;
        if (!name)
            p->settings[n++] = (struct store_setting){key, s->at[i].value, s->at[i].origin};
    }
    p->run = (struct store_run){
        .bench = bench,
        .dataset = p->bench.dataset,
        .ways = p->bench.ways,
        .shots = shots && atoi(shots) > 0 ? atoi(shots) : p->bench.shots,
        .budget = p->bench.budget,
        .method = settings_get(s, "method"),
        .labels = settings_get(s, "labels"),
        .net = settings_get(s, "net"),
        .seed = seed ? strtoull(seed, NULL, 10) : 1,
        .settings = p->settings,
        .n_settings = n,
    };
    return 0;
}

void planned_release(struct planned *p)
{
    free(p->settings);
    *p = (struct planned){0};
}

/* What is known of a run while the suite runs. */
struct run_now {
    enum store_state state;    /* when the sweep began */
    bool chosen, done;         /* done: by this process */
    int kind;                  /* runs of one kind take about as long */
    double fraction, restored; /* of its work; restored: from a checkpoint */
    double began, seconds;     /* seconds: of one that is done */
};

struct sweep {
    const struct mete_run_options *o;
    const struct sweep_kind *kind;
    struct suite *suite;
    struct shelf *shelf;
    struct store *store;
    struct planned *planned; /* (n_runs) */
    char (*ids)[STORE_ID_SIZE];
    int *chosen; /* (n_chosen) runs to do, those that --only leaves */
    char (*chosen_ids)[STORE_ID_SIZE];
    int n_chosen;
    int left;                  /* of them, not done when we began */
    int threads;               /* inside a run */
    struct sweep_teams *teams; /* ranks that make the runs; NULL: this process is alone */
    int n_busy;                /* of them, with the lock */
    struct lockstep_set *lockstep_set;
    /* progress, guarded by the lock */
    pthread_mutex_t lock;
    pthread_cond_t wake; /* for the heartbeat to end early */
    pthread_cond_t turn; /* a team is not busy any more */
    bool *no_memory;     /* (n_chosen) this time there was too little for it */
    struct run_now *now; /* (n_runs) */
    int n_workers;
    double left_seconds, left_at; /* what is left, and when that was computed */
    double deadline;              /* on the clock of seconds_now */
    int n_finished;
    int64_t n_labels; /* of the finished */
    bool closing;
    bool asked; /* the caller asked to stop */
    int stop;   /* a failure that ends the sweep */
    char sentence[1024];
};

/* ---- progress: what is done and left is counted over all runs of the suite ---- */

struct run_progress {
    struct sweep *w;
    int run;
};

static bool same_kind(const struct store_run *a, const struct store_run *b)
{
    return a->shots == b->shots && strcmp(a->bench, b->bench) == 0 &&
           strcmp(a->method, b->method) == 0 && strcmp(a->net, b->net) == 0;
}

/* Each run's kind: the number of the first run that takes about as long. */
static void find_kinds(struct sweep *w)
{
    for (int i = 0; i < w->suite->n_runs; i++) {
        w->now[i].kind = i;
        for (int j = 0; j < i && w->now[i].kind == i; j++)
            if (w->now[j].kind == j && same_kind(&w->planned[j].run, &w->planned[i].run))
                w->now[i].kind = j;
    }
}

/* Seconds for the whole of a run, by what it took so far here; NaN where that says too little. */
static double seconds_of(const struct run_now *r, double now)
{
    double made = r->fraction - r->restored;
    if (r->done)
        return r->restored < 1 ? r->seconds / (1 - r->restored) : NAN;
    return r->began > 0 && made > 0.02 ? (now - r->began) / made : NAN;
}

/* What the runs that are not done will take, by the runs of their kind; where there is none, by
 * all runs. */
static double seconds_left(const struct sweep *w)
{
    int n = w->suite->n_runs, known = 0;
    double *sum = mem_array((size_t)n, sizeof *sum), all = 0, left = 0, now = seconds_now();
    int *count = mem_array((size_t)n, sizeof *count);
    for (int i = 0; i < n; i++) {
        double s = seconds_of(&w->now[i], now);
        if (isnan(s))
            continue;
        sum[w->now[i].kind] += s;
        count[w->now[i].kind]++;
        all += s;
        known++;
    }
    for (int i = 0; i < n; i++) {
        const struct run_now *r = &w->now[i];
        bool over = r->done || r->state == STORE_DONE || r->state == STORE_FAILED || !r->chosen;
        double whole = count[r->kind] ? sum[r->kind] / count[r->kind] : all / known;
        left += over ? 0 : whole * (1 - r->fraction);
    }
    free(sum);
    free(count);
    return left / w->n_workers;
}

/* Tells how far the suite is; `run` is what is worked on.  With the lock. */
static int tell_suite(struct sweep *w, int run, const char *detail)
{
    const struct store_run *r = &w->planned[run].run;
    struct mete_progress p = {.what = w->suite->name, .total = w->left, .left = NAN};
    char text[256];
    for (int i = 0; i < w->suite->n_runs; i++) {
        p.done += w->now[i].fraction;
        p.restored += w->now[i].restored;
    }
    if (seconds_now() - w->left_at > 0.5) {
        w->left_at = seconds_now();
        w->left_seconds = seconds_left(w);
    }
    p.left = w->left_seconds;
    snprintf(text, sizeof text, "%s · %s · seed %llu%s%s", r->method, r->labels,
             (unsigned long long)r->seed, *detail ? ", " : "", detail);
    p.detail = text;
    if (w->stop)
        return fail(METE_ESTOPPED, "stopped");
    int err = progress_to(w->o->progress, w->o->user, &p);
    w->asked = w->asked || err;
    return err;
}

static int tell_progress(void *user, struct meter *m)
{
    struct run_progress *p = user;
    struct sweep *w = p->w;
    struct run_now *now = &w->now[p->run];
    char detail[METER_TEXT];
    meter_text(m, detail);
    pthread_mutex_lock(&w->lock);
    now->fraction = m->done / m->total;
    now->restored = m->restored / m->total;
    m->stop_at_checkpoint = seconds_now() >= w->deadline;
    int err = tell_suite(w, p->run, detail);
    pthread_mutex_unlock(&w->lock);
    return err;
}

static void *heartbeat_main(void *user)
{
    struct sweep *w = user;
    pthread_mutex_lock(&w->lock);
    while (!w->closing) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += HEARTBEAT_SECONDS;
        pthread_cond_timedwait(&w->wake, &w->lock, &until);
        pthread_mutex_unlock(&w->lock);
        store_heartbeat(w->store); /* a missed beat only shortens the lease */
        pthread_mutex_lock(&w->lock);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* ---- one run ---- */

static void end_sweep(struct sweep *w, int code)
{
    pthread_mutex_lock(&w->lock);
    if (!w->stop) {
        w->stop = code;
        snprintf(w->sentence, sizeof w->sentence, "%s", mete_errmsg());
    }
    pthread_mutex_unlock(&w->lock);
}

/* Whether the caller asked to stop, or something failed. */
static bool stop_asked(struct sweep *w)
{
    pthread_mutex_lock(&w->lock);
    bool asked = w->asked || w->stop;
    pthread_mutex_unlock(&w->lock);
    return asked;
}

/* What fails one run only: its own numbers, its own size. */
static bool fails_alone(int code)
{
    return code == METE_EDIVERGE || code == METE_EBUDGET || code == METE_EINVAL;
}

/* DATABASE.runs/ID; free() it. */
static char *run_folder(const struct sweep *w, int i)
{
    return mem_print("%s.runs/%s", store_path(w->store), w->ids[i]);
}

static void warn(const struct sweep *w, int i)
{
    const struct store_run *r = &w->planned[i].run;
    log_warn("%s %s %s seed %llu: %s", r->bench, r->method, r->labels, (unsigned long long)r->seed,
             mete_errmsg());
}

static bool has_several_benches(const struct sweep *w)
{
    for (int i = 1; i < w->suite->n_runs; i++)
        if (strcmp(w->planned[i].run.bench, w->planned[0].run.bench) != 0)
            return true;
    return false;
}

/* Of the best model on the first of its tests; NaN for a study, which has none. */
static double first_accuracy(const struct results *r)
{
    double sum = 0;
    const struct store_test *test = r->tests;
    for (int i = 0; r->all.n_tests > 0 && i < test->n_tasks; i++)
        sum += test->tasks[i].accuracy;
    return r->all.n_tests > 0 ? sum / test->n_tasks : NAN;
}

static void tell_finished(struct sweep *w, int i, const struct results *r)
{
    const struct store_run *run = &w->planned[i].run;
    struct mete_finished_run f = {.bench = run->bench,
                                  .method = run->method,
                                  .labels = run->labels,
                                  .seed = run->seed,
                                  .accuracy = first_accuracy(r),
                                  .n_labels = r->all.labels,
                                  .seconds = r->all.train_seconds + r->all.test_seconds,
                                  .several = has_several_benches(w)};
    pthread_mutex_lock(&w->lock);
    w->n_finished++;
    w->n_labels += r->all.labels;
    if (w->o->finished)
        w->o->finished(w->o->user, &f);
    pthread_mutex_unlock(&w->lock);
}

static int tell_done(struct sweep *w, int i)
{
    struct run_now *now = &w->now[i];
    pthread_mutex_lock(&w->lock);
    now->done = true;
    now->fraction = 1;
    now->seconds = seconds_now() - now->began;
    int err = tell_suite(w, i, "");
    pthread_mutex_unlock(&w->lock);
    return err;
}

/* By a team of ranks, of which the first is this one's; or alone. */
static int make_run(struct sweep *w, int team, int i, const struct experiment_options *o,
                    struct results *out, bool *lost)
{
    const struct settings *s = &w->suite->runs[i];
    return w->teams && team > 0 ? teams_run(w->teams, team, s, o, out, lost)
                                : w->kind->run(s, w->shelf, o, out);
}

static int do_run_in(struct sweep *w, int team, int i, const char *folder, bool *lost)
{
    struct run_progress p = {w, i};
    struct results results;
    const struct settings *s = &w->suite->runs[i];
    struct experiment_options o = {.device = w->o->device,
                                   .threads = w->threads,
                                   .ranks = w->teams ? teams_own(w->teams) : NULL,
                                   .lockstep_set = w->lockstep_set,
                                   .folder = folder,
                                   .progress = tell_progress,
                                   .user = &p};
    pthread_mutex_lock(&w->lock); /* others read it for the time left */
    w->now[i].began = seconds_now();
    pthread_mutex_unlock(&w->lock);
    int err = file_make_folder(folder);
    if (!err)
        err = make_run(w, team, i, &o, &results, lost);
    if (err && !*lost && fails_alone(err)) {
        warn(w, i);
        return store_fail(w->store, w->ids[i], mete_errmsg());
    }
    if (err)
        return err;
    err = folder_write(folder, s, &results);
    if (!err)
        err = store_finish(w->store, w->ids[i], &results.all);
    if (!err)
        tell_finished(w, i, &results);
    results_release(&results);
    if (!err)
        checkpoint_remove(folder);
    return err ? err : tell_done(w, i);
}

static int do_run(struct sweep *w, int team, int i, bool *lost)
{
    char *folder = run_folder(w, i);
    int err = do_run_in(w, team, i, folder, lost);
    free(folder);
    return err;
}

/* One of the chosen runs, but none that there was too little memory for; *which -1: none is free.
 */
static int claim(struct sweep *w, int *which)
{
    char(*ids)[STORE_ID_SIZE] = mem_array((size_t)w->n_chosen, sizeof *ids);
    int *at = mem_array((size_t)w->n_chosen, sizeof *at), n = 0, found = -1;
    pthread_mutex_lock(&w->lock);
    for (int i = 0; i < w->n_chosen; i++)
        if (!w->no_memory[i]) {
            memcpy(ids[n], w->chosen_ids[i], sizeof *ids);
            at[n++] = i;
        }
    pthread_mutex_unlock(&w->lock);
    int err = n > 0 ? store_claim(w->store, ids, n, LEASE_SECONDS, &found) : 0;
    *which = found >= 0 ? at[found] : -1;
    free(ids);
    free(at);
    return err;
}

/* Memory may be there another time: the run is not marked as failed, and not tried again now. */
static int put_off(struct sweep *w, int which)
{
    warn(w, w->chosen[which]);
    pthread_mutex_lock(&w->lock);
    w->no_memory[which] = true;
    pthread_mutex_unlock(&w->lock);
    return store_release(w->store, w->chosen_ids[which]);
}

/* The ranks of a team are gone: another takes the run up, from its last checkpoint. */
static int take_over(struct sweep *w, int which)
{
    const struct store_run *r = &w->planned[w->chosen[which]].run;
    struct verdict why = verdict_of(METE_EIO);
    pthread_mutex_lock(&w->lock);
    struct run_now *now = &w->now[w->chosen[which]];
    now->fraction = now->restored = now->began = 0;
    w->n_workers--;
    pthread_mutex_unlock(&w->lock);
    log_warn("%s; %s %s %s seed %llu goes to another rank", why.sentence, r->bench, r->method,
             r->labels, (unsigned long long)r->seed);
    return store_release(w->store, w->chosen_ids[which]);
}

/* Whether another team works, whose run may come back. */
static bool others_busy(struct sweep *w, int change)
{
    pthread_mutex_lock(&w->lock);
    w->n_busy += change;
    if (change < 0)
        pthread_cond_broadcast(&w->turn);
    bool busy = w->teams && w->n_busy > 0 && !w->stop && !w->asked;
    pthread_mutex_unlock(&w->lock);
    return busy;
}

/* Until a run may have come back: a look a second is for what other processes do. */
static void await_turn(struct sweep *w)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    pthread_mutex_lock(&w->lock);
    if (w->n_busy > 0)
        pthread_cond_timedwait(&w->turn, &w->lock, &until);
    pthread_mutex_unlock(&w->lock);
}

/* One run, from its claim on; *over: there is none, or no use for this worker any more. */
static int work_once(struct sweep *w, int team, bool *over)
{
    int which = -1;
    bool lost = false;
    int err = claim(w, &which);
    if (!err && which < 0) {
        *over = !others_busy(w, 0);
        if (!*over)
            await_turn(w);
        return 0;
    }
    if (!err) {
        others_busy(w, 1);
        err = do_run(w, team, w->chosen[which], &lost);
        if (err && lost) {
            *over = true;
            err = take_over(w, which);
        }
        others_busy(w, -1);
    }
    if (err == METE_ENOMEM && which >= 0)
        err = put_off(w, which);
    if (err && which >= 0) {
        struct verdict why = verdict_of(err);
        store_release(w->store, w->chosen_ids[which]);
        verdict_fail(&why);
    }
    return err;
}

static int work_until_done(void *user, int team, int worker)
{
    struct sweep *w = user;
    bool over = false;
    (void)worker;
    over = w->teams && teams_lost(w->teams, team);
    while (!over && seconds_now() < w->deadline) {
        int err = work_once(w, team, &over);
        if (err) { /* one that is out of time leaves the others to their checkpoints */
            if (err != METE_ESTOPPED || seconds_now() < w->deadline || stop_asked(w))
                end_sweep(w, err);
            return 0;
        }
    }
    return 0;
}

/* ---- the suite ---- */

/* The runs that --only leaves. */
static int choose(struct sweep *w)
{
    const char *const *only = w->o->only;
    for (int i = 0; only && only[i]; i++)
        if (!strchr(only[i], '='))
            return fail(METE_EINVAL, "--only %s: expected KEY=PATTERN, as in method=maml", only[i]);
    w->chosen = mem_array((size_t)w->suite->n_runs, sizeof *w->chosen);
    for (int i = 0; i < w->suite->n_runs; i++)
        if (suite_run_fits(&w->suite->runs[i], only))
            w->chosen[w->n_chosen++] = i;
    return w->n_chosen ? 0 : fail(METE_EINVAL, "%s: no run fits --only", w->suite->path);
}

static int plan(struct sweep *w)
{
    int n = w->suite->n_runs;
    w->planned = mem_array((size_t)n, sizeof *w->planned);
    w->ids = mem_array((size_t)n, sizeof *w->ids);
    w->now = mem_array((size_t)n, sizeof *w->now);
    struct store_run *runs = mem_array((size_t)n, sizeof *runs);
    struct store_drawing *drawings = mem_array((size_t)w->suite->n_drawings, sizeof *drawings);
    int err = 0;
    for (int i = 0; i < n && !err; i++) {
        err = planned_open(&w->planned[i], &w->suite->runs[i]);
        runs[i] = w->planned[i].run;
    }
    for (int i = 0; i < w->suite->n_drawings; i++) {
        const struct drawing *d = &w->suite->drawings[i];
        drawings[i] = (struct store_drawing){d->figure, d->title, d->x, d->rows, d->columns};
    }
    struct store_suite suite = {.name = w->suite->name,
                                .path = w->suite->path,
                                .text = w->suite->text,
                                .drawings = drawings,
                                .n_drawings = w->suite->n_drawings,
                                .runs = runs,
                                .n_runs = n};
    if (!err)
        err = store_plan(w->store, &suite, w->ids);
    w->chosen_ids = mem_array((size_t)w->n_chosen, sizeof *w->chosen_ids);
    w->no_memory = mem_array((size_t)w->n_chosen, sizeof *w->no_memory);
    for (int i = 0; i < w->n_chosen && !err; i++)
        memcpy(w->chosen_ids[i], w->ids[w->chosen[i]], sizeof *w->chosen_ids);
    if (!err && w->o->retry)
        err = store_retry_failed(w->store, w->chosen_ids, w->n_chosen);
    free(runs);
    free(drawings);
    return err;
}

/* ---- over ranks ---- */

static int open_teams(struct sweep *w)
{
    if (!ranks_world())
        return w->o->ranks_per_run > 1
                   ? fail(METE_EINVAL,
                          "--ranks-per-run %d: this process is alone; start it by "
                          "mpirun (docs/clusters.md)",
                          w->o->ranks_per_run)
                   : 0;
    if (w->o->together)
        return fail(METE_EINVAL, "--together shares launches within a process, and ranks are "
                                 "several: use one of the two");
    char *folder = mem_print("%s.runs", w->o->db);
    struct teams_spec spec = {.kind = w->kind,
                              .device = w->o->device,
                              .threads = w->o->threads,
                              .per_run = w->o->ranks_per_run,
                              .folder = folder,
                              .runs = w->suite->runs,
                              .n = w->suite->n_runs};
    int err = teams_open(&w->teams, &spec);
    free(folder);
    return err ? err
               : runs_by_size(w->kind, w->suite->runs, w->shelf, w->o->device, w->chosen,
                              w->n_chosen);
}

static bool on_gpu(const struct mete_run_options *o)
{
    return o->device && strncmp(o->device, "cuda", 4) == 0;
}

static int cores(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

/* Those asked for; or one per core, on a GPU one for each run that shares launches. */
static int sweep_threads(const struct mete_run_options *o)
{
    int usual = !on_gpu(o) ? cores() : o->together > 0 ? o->together : 1;
    return o->threads > 0 ? o->threads : usual;
}

/* Threads inside a run, of which `runs` are side by side: beside a GPU, its share of the cores,
 * which choose labels. */
static int run_threads(const struct mete_run_options *o, int threads, int runs)
{
    if (on_gpu(o))
        return cores() > runs ? cores() / runs : 1;
    return runs > 1 ? 1 : threads;
}

static int open_lockstep(struct sweep *w)
{
    if (!on_gpu(w->o))
        return fail(METE_EINVAL, "--together is for a GPU's launches; add --device cuda");
    return lockstep_set_open(&w->lockstep_set, w->o->together);
}

static int note_states(struct sweep *w)
{
    enum store_state *state = mem_array((size_t)w->n_chosen, sizeof *state);
    int err = store_states(w->store, w->chosen_ids, w->n_chosen, state);
    for (int i = 0; i < w->n_chosen; i++) {
        w->now[w->chosen[i]].state = state[i];
        w->now[w->chosen[i]].chosen = true;
    }
    free(state);
    find_kinds(w);
    w->left_seconds = NAN;
    return err;
}

/* Whether others work on runs of ours: then a second goes by, after which one of them may be done,
 * or be found to have fallen silent. */
static int wait_for_others(struct sweep *w, bool *others)
{
    struct store_counts c;
    int err = store_count(w->store, w->chosen_ids, w->n_chosen, &c);
    bool told = *others;
    *others = !err && c.running > 0 && seconds_now() < w->deadline;
    if (!*others)
        return err;
    if (!told)
        log_info("%d runs are being worked on by another process; waiting for them", c.running);
    nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
    return progress(w->suite->name, c.done + c.failed, w->n_chosen);
}

/* How many runs side by side, and with how many threads each. */
static void share_threads(struct sweep *w)
{
    int threads = sweep_threads(w->o);
    if (w->teams) {
        w->threads = w->o->threads > 0 ? w->o->threads : ranks_threads();
        w->n_workers = teams_count(w->teams);
        return;
    }
    if (on_gpu(w->o) && w->left < threads) /* there a run has use for one thread */
        threads = w->left > 0 ? w->left : 1;
    bool side_by_side = threads > 1 && w->left >= threads;
    w->threads = run_threads(w->o, threads, side_by_side ? threads : 1);
    w->n_workers = side_by_side ? threads : 1;
}

static int work(struct sweep *w)
{
    struct store_counts counts;
    struct threads *workers = NULL;
    pthread_t heartbeat;
    int err = store_count(w->store, w->chosen_ids, w->n_chosen, &counts);
    if (err)
        return err;
    w->left = counts.planned + counts.running;
    err = note_states(w);
    if (err)
        return err;
    log_info("%d runs: %d done, %d failed, %d to do", w->n_chosen, counts.done, counts.failed,
             w->left);
    share_threads(w);
    err = threads_open(&workers, w->n_workers);
    if (err)
        return err;
    bool beating = pthread_create(&heartbeat, NULL, heartbeat_main, w) == 0;
    bool others = false;
    do {
        err = threads_run(workers, threads_count(workers), work_until_done, w);
        if (!err && !w->stop)
            err = wait_for_others(w, &others);
    } while (!err && !w->stop && others);
    pthread_mutex_lock(&w->lock);
    w->closing = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    if (beating)
        pthread_join(heartbeat, NULL);
    threads_close(workers);
    return w->stop ? fail(w->stop, "%s", w->sentence) : err;
}

/* Also where the work failed or was stopped: `err`, unless that is 0. */
static int finish(struct sweep *w, int err)
{
    struct store_counts c;
    char sentence[1024];
    snprintf(sentence, sizeof sentence, "%s", mete_errmsg());
    int miscounted = store_count(w->store, w->chosen_ids, w->n_chosen, &c);
    if (miscounted)
        return err ? fail(err, "%s", sentence) : miscounted;
    if (w->o->summary)
        *w->o->summary =
            (struct mete_run_summary){.runs = w->n_chosen,
                                      .done = c.done,
                                      .failed = c.failed,
                                      .running = c.running,
                                      .finished = w->n_finished,
                                      .n_labels = w->n_labels,
                                      .out_of_time = seconds_now() >= w->deadline && c.planned > 0};
    if (err)
        return fail(err, "%s", sentence);
    for (int i = 0; i < w->n_chosen && c.done == w->n_chosen; i++) {
        char *folder = run_folder(w, w->chosen[i]);
        checkpoint_remove(folder); /* a power cut may have brought it back */
        free(folder);
    }
    if (c.planned > 0 && seconds_now() < w->deadline)
        return fail(METE_ENOMEM,
                    "%d of %d runs had too little memory; start again to try them again", c.planned,
                    w->n_chosen);
    return c.failed ? fail(METE_EDIVERGE, "%d of %d runs failed; --retry tries them again",
                           c.failed, w->n_chosen)
                    : 0;
}

static int print_configs(struct sweep *w)
{
    for (int i = 0; i < w->n_chosen; i++) {
        char *text = settings_print(&w->suite->runs[w->chosen[i]]);
        if (w->o->config)
            w->o->config(w->o->user, text);
        free(text);
    }
    return 0;
}

static struct config_rules training_rules(void *own, struct shelf *shelf)
{
    return run_rules(own, shelf);
}

const struct sweep_kind sweep_training = {
    .name = "",
    .rules_size = sizeof(struct run_rules),
    .rules = training_rules,
    .run = experiment_run,
    .estimate = estimate_run,
    .shared = true,
};

int sweep_suite(const struct mete_run_options *o, const struct sweep_kind *kind,
                struct suite *suite, struct shelf *shelf)
{
    struct sweep w = {.o = o,
                      .kind = kind,
                      .suite = suite,
                      .shelf = shelf,
                      .lock = PTHREAD_MUTEX_INITIALIZER,
                      .wake = PTHREAD_COND_INITIALIZER,
                      .turn = PTHREAD_COND_INITIALIZER};
    w.deadline = o->minutes > 0 ? seconds_now() + 60 * o->minutes : INFINITY;
    int err = choose(&w);
    if (!err && o->print_config)
        err = print_configs(&w);
    else if (!err && o->dry_run)
        err = dry_run(&(struct dry_run){o, kind, suite, shelf, w.chosen, w.n_chosen});
    else if (!err) {
        err = open_teams(&w);
        if (!err)
            err = o->together ? open_lockstep(&w) : 0;
        if (!err)
            err = store_open(&w.store, o->db, STORE_WRITE);
        if (!err)
            err = plan(&w);
        if (!err)
            err = finish(&w, work(&w));
    }
    teams_close(w.teams);
    lockstep_set_close(w.lockstep_set);
    store_close(w.store);
    for (int i = 0; w.planned && i < suite->n_runs; i++)
        planned_release(&w.planned[i]);
    free(w.planned);
    free(w.ids);
    free(w.chosen);
    free(w.chosen_ids);
    free(w.no_memory);
    free(w.now);
    return err;
}

int sweep_run(const struct mete_run_options *o, const struct sweep_kind *kind)
{
    struct shelf *shelf = NULL;
    struct suite *suite = NULL;
    void *own = mem_alloc(kind->rules_size);
    int err = shelf_open(&shelf);
    struct config_rules rules = kind->rules(own, shelf);
    if (!err)
        err = suite_open(&suite, o->suite, o->set, o->seeds, &rules);
    if (!err)
        err = sweep_suite(o, kind, suite, shelf);
    suite_close(suite);
    shelf_close(shelf);
    free(own);
    return err;
}
