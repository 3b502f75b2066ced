/* ranks.c - teams of ranks over a transport: waits that end, broadcasts, verdicts. */
#include "base/ranks.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/process.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The largest piece of a message: MPI counts in ints. */
enum { PIECE = 1 << 28 };

struct ranks {
    int first, n, me;
};

/* What every rank knows of another. */
struct hello {
    char host[64], machine[192]; /* machine: as far as process numbers go */
    char trait[RANKS_TRAITS][96];
    int64_t pid, born;
};

/* The job, of which a process has one. */
static struct {
    struct mete_transport via;
    pthread_mutex_t lock; /* a transport is called by one thread at a time */
    struct ranks world;
    struct hello *hello; /* (ranks) */
    char (*gone)[96];    /* (ranks) why it was given up, or "" */
    bool lost;           /* one of them was */
    bool goes_on;        /* without those that end */
    double timeout;
    int spins; /* looks before sleeping */
    struct ranks_sent sent;
} job = {.lock = PTHREAD_MUTEX_INITIALIZER, .timeout = 600};

struct ranks *ranks_world(void)
{
    return job.world.n > 1 ? &job.world : NULL;
}

struct ranks *ranks_team(int first, int n)
{
    struct ranks *r = mem_alloc(sizeof *r);
    *r = (struct ranks){first, n, job.via.rank - first};
    return r;
}

void ranks_close(struct ranks *r)
{
    free(r);
}

int ranks_count(const struct ranks *r)
{
    return r ? r->n : 1;
}

int ranks_me(const struct ranks *r)
{
    return r ? r->me : 0;
}

bool ranks_shared(const struct ranks *r)
{
    return r && r->n > 1;
}

int ranks_on_host(void)
{
    return job.via.on_host;
}

const char *ranks_transport(void)
{
    return job.world.n > 1 ? job.via.name : "";
}

static int cores_allowed(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                       : (int)sysconf(_SC_NPROCESSORS_ONLN);
}

/* A launcher that binds ranks to cores has divided them already. */
int ranks_threads(void)
{
    int mine = cores_allowed(), all = (int)sysconf(_SC_NPROCESSORS_ONLN);
    int each = mine < all || job.via.of_host < 2 ? mine : all / job.via.of_host;
    return each > 0 ? each : 1;
}

const char *ranks_name(const struct ranks *r, int i, char out[160])
{
    int rank = r->first + i;
    snprintf(out, 160, "rank %d on %s", rank, job.hello ? job.hello[rank].host : "?");
    return out;
}

bool ranks_lost(void)
{
    return job.lost;
}

void ranks_abandon(void)
{
    job.lost = true;
}

double ranks_timeout(void)
{
    return job.timeout;
}

void ranks_set_timeout(double seconds)
{
    job.timeout = seconds;
}

void ranks_goes_on(bool goes_on)
{
    job.goes_on = goes_on;
    if (job.via.goes_on && job.via.rank > 0) /* without the first it cannot */
        job.via.goes_on(job.via.user, goes_on);
}

/* ---- waiting ---- */

/* Seconds to wait for a rank of the job.  Of those who wait for each other in a chain the highest
 * is next to the silent one, and gives up first; the root says so to those that it serves. */
static double patience(int rank)
{
    double share = (double)job.via.rank / job.via.ranks;
    return job.timeout * (rank > job.via.rank ? 1.25 - 0.25 * share : 3);
}

/* What it was given up for first is what is said of it ever after. */
static int give_up(int rank, const char *why)
{
    char name[160], *first = job.gone[rank];
    if (!*first)
        snprintf(first, sizeof *job.gone, "%s", why);
    job.lost = true;
    return fail(METE_EIO, "%s %s", ranks_name(&job.world, rank, name), first);
}

/* Whether a rank of this machine has ended. */
static bool has_ended(int rank)
{
    const struct hello *h = job.hello ? &job.hello[rank] : NULL;
    if (!h || strcmp(h->machine, job.hello[job.via.rank].machine) != 0)
        return false;
    int64_t born = process_born(h->pid);
    return born >= 0 && h->born > 0 && born != h->born;
}

static bool is_done(struct mete_request *q, int *failed)
{
    int32_t done = 0;
    pthread_mutex_lock(&job.lock);
    *failed = job.via.done(job.via.user, q, &done);
    pthread_mutex_unlock(&job.lock);
    return done || *failed;
}

/* Sleeps a two-hundredth of what was waited so far, which delays nothing by more than that.  Looks
 * in quick succession would cost those that compute: a rank may have nothing to do for hours. */
static void doze(double waited, enum ranks_wait how)
{
    double s = waited / 200, most = how == RANKS_ANSWER ? 2e-3 : 10e-3;
    s = how == RANKS_REPORT || s > most ? most : s < 20e-6 ? 20e-6 : s;
    nanosleep(&(struct timespec){.tv_nsec = (long)(1e9 * s)}, NULL);
}

static int wait_done(struct mete_request *q, int rank, enum ranks_wait how)
{
    /* Seconds between looks at its process; and in which who guards it says more and ends the job.
     */
    enum { LOOK = 1, GRACE = 5 };
    int failed = 0;
    for (int i = 0; i < job.spins && how != RANKS_REPORT; i++) {
        if (is_done(q, &failed))
            return failed ? give_up(rank, "cannot be reached") : 0;
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#endif
    }
    double began = seconds_now(), last = began, waited = 0, looked = 0;
    while (!is_done(q, &failed)) {
        double now = seconds_now(), step = now - last;
        waited += step < 1 ? step : 1; /* a process that is suspended does not wait */
        last = now;
        if (waited - looked > LOOK && has_ended(rank)) {
            if ((!job.goes_on || rank == 0) && job.via.goes_on)
                sleep(GRACE);
            return give_up(rank, "has ended");
        }
        looked = waited - looked > LOOK ? waited : looked;
        if (how != RANKS_EVER && job.timeout > 0 && waited > patience(rank)) {
            char why[96];
            snprintf(why, sizeof why, "has not been heard of for %.0f s", waited);
            return give_up(rank, why);
        }
        doze(waited, how);
    }
    return failed ? give_up(rank, "cannot be reached") : 0;
}

/* Who was given up may speak again while the job goes on, and its words must not land in memory
 * that is somebody else's by then. */
static void forget(struct mete_request *q)
{
    pthread_mutex_lock(&job.lock);
    if (job.via.forget)
        job.via.forget(job.via.user, q);
    pthread_mutex_unlock(&job.lock);
}

static int transfer(struct ranks *r, int peer, char *data, size_t bytes, bool sends,
                    enum ranks_wait how)
{
    int rank = r->first + peer;
    for (size_t at = 0; at < bytes; at += PIECE) {
        size_t n = bytes - at < PIECE ? bytes - at : PIECE;
        struct mete_request q = {{0}};
        if (*job.gone[rank])
            return give_up(rank, job.gone[rank]);
        pthread_mutex_lock(&job.lock);
        int failed = sends ? job.via.send(job.via.user, rank, data + at, n, &q)
                           : job.via.receive(job.via.user, rank, data + at, n, &q);
        job.sent.bytes += sends ? (int64_t)n : 0;
        job.sent.messages += sends;
        pthread_mutex_unlock(&job.lock);
        int err = failed ? give_up(rank, "cannot be reached") : wait_done(&q, rank, how);
        if (err && !failed && !sends)
            forget(&q);
        if (err)
            return err;
        how = RANKS_ANSWER; /* it has begun to speak */
    }
    return 0;
}

/* ---- messages ---- */

struct ranks_sent ranks_sent(void)
{
    pthread_mutex_lock(&job.lock);
    struct ranks_sent sent = job.sent;
    pthread_mutex_unlock(&job.lock);
    return sent;
}

int ranks_send(struct ranks *r, int to, const void *data, size_t bytes)
{
    return transfer(r, to, (char *)data, bytes, true, RANKS_ANSWER);
}

int ranks_receive(struct ranks *r, int from, void *data, size_t bytes)
{
    return transfer(r, from, data, bytes, false, RANKS_ANSWER);
}

int ranks_send_message(struct ranks *r, int to, const struct message *m)
{
    uint64_t size = m->size;
    int err = ranks_send(r, to, &size, sizeof size);
    return err ? err : ranks_send(r, to, m->at, m->size);
}

int ranks_receive_message(struct ranks *r, int from, struct message *m, enum ranks_wait how)
{
    uint64_t size = 0;
    message_release(m);
    int err = transfer(r, from, (char *)&size, sizeof size, false, how);
    if (err || size == 0)
        return err;
    m->at = mem_array(size, 1);
    m->size = m->room = size;
    return ranks_receive(r, from, m->at, size);
}

/* The rank that this one gets a broadcast from, and the distance to the first it passes it to. */
static int parent_of(const struct ranks *r, int *gap)
{
    for (*gap = 1; *gap < r->n; *gap *= 2)
        if (r->me & *gap)
            return r->me - *gap;
    return -1;
}

int ranks_broadcast(struct ranks *r, void *data, size_t bytes)
{
    int gap, from = parent_of(r, &gap);
    int err = from >= 0 ? ranks_receive(r, from, data, bytes) : 0, failed = 0;
    for (gap /= 2; gap > 0 && !err; gap /= 2)
        if (r->me + gap < r->n) {
            int lost = ranks_send(r, r->me + gap, data, bytes);
            failed = failed ? failed : lost; /* the others get it all the same */
        }
    return err ? err : failed;
}

int ranks_broadcast_message(struct ranks *r, struct message *m, enum ranks_wait how)
{
    int gap, from = parent_of(r, &gap);
    int err = from >= 0 ? ranks_receive_message(r, from, m, how) : 0, failed = 0;
    for (gap /= 2; gap > 0 && !err; gap /= 2)
        if (r->me + gap < r->n) {
            int lost = ranks_send_message(r, r->me + gap, m);
            failed = failed ? failed : lost;
        }
    return err ? err : failed;
}

/* ---- verdicts ---- */

struct verdict verdict_of(int code)
{
    struct verdict v = {.code = code};
    if (code)
        snprintf(v.sentence, sizeof v.sentence, "%s", mete_errmsg());
    return v;
}

int verdict_fail(const struct verdict *v)
{
    return v->code ? fail(v->code, "%s", v->sentence) : 0;
}

/* This rank's own failure, as the others are told it. */
static struct verdict with_name(const struct ranks *r, const struct verdict *own)
{
    struct verdict v = *own;
    char name[160];
    if (v.code)
        snprintf(v.sentence, sizeof v.sentence, "%s: %.*s", ranks_name(r, r->me, name),
                 (int)(sizeof v.sentence - sizeof name - 3), own->sentence);
    return v;
}

int ranks_gather_verdicts(struct ranks *r, int code)
{
    struct verdict own = verdict_of(code), first = r->me > 0 ? with_name(r, &own) : own;
    int gap = 1;
    for (; gap < r->n && !(r->me & gap); gap *= 2) {
        struct verdict v = {0};
        if (r->me + gap >= r->n)
            continue;
        int err = ranks_receive(r, r->me + gap, &v, sizeof v);
        if (err)
            v = verdict_of(err);
        if (v.code && !first.code)
            first = v;
    }
    if (r->me == 0)
        return verdict_fail(&first);
    int err = ranks_send(r, r->me - gap, &first, sizeof first);
    return err ? err : verdict_fail(&own);
}

int ranks_gather_parts(struct ranks *r, void *data, const size_t *at)
{
    int me = r->me, gap = 1, err = 0;
    for (; gap < r->n && !(me & gap) && !err; gap *= 2) {
        int from = me + gap, end = from + gap < r->n ? from + gap : r->n;
        if (from < r->n)
            err = ranks_receive(r, from, (char *)data + at[from], at[end] - at[from]);
    }
    if (me == 0 || err)
        return err;
    int end = me + gap < r->n ? me + gap : r->n;
    return ranks_send(r, me - gap, (char *)data + at[me], at[end] - at[me]);
}

/* ---- the start ---- */

static void say_hello(struct hello *h, const char *const trait[RANKS_TRAITS])
{
    gethostname(h->host, sizeof h->host - 1);
    process_host(h->machine, sizeof h->machine);
    h->pid = getpid();
    h->born = process_born(getpid());
    for (int i = 0; i < RANKS_TRAITS; i++)
        snprintf(h->trait[i], sizeof h->trait[i], "%s", trait[i]);
}

/* Whether all ranks compute alike. */
static int compare(const char *const what[RANKS_TRAITS])
{
    char name[160], root[160];
    const struct hello *h = job.hello;
    for (int rank = 1; rank < job.world.n; rank++)
        for (int i = 0; i < RANKS_TRAITS; i++)
            if (strcmp(h[rank].trait[i], h[0].trait[i]) != 0)
                return fail(METE_EDEVICE,
                            "%s has another %s than %s, so results would depend on who computes: "
                            "%s there, %s here",
                            ranks_name(&job.world, rank, name), what[i],
                            ranks_name(&job.world, 0, root), h[rank].trait[i], h[0].trait[i]);
    return 0;
}

int ranks_open(const struct mete_transport *t, const char *const what[RANKS_TRAITS],
               const char *const trait[RANKS_TRAITS])
{
    struct ranks *world = &job.world;
    job.via = (struct mete_transport){0};
    memcpy(&job.via, t, t->size < sizeof *t ? t->size : sizeof *t); /* an older one is shorter */
    *world = (struct ranks){0, t->ranks, t->rank};
    job.spins = t->of_host <= cores_allowed() ? 2000 : 0;
    free(job.hello); /* of an earlier job */
    free(job.gone);
    job.hello = NULL;
    job.lost = false;
    job.gone = mem_array((size_t)t->ranks, sizeof *job.gone);
    struct hello *all = mem_array((size_t)t->ranks, sizeof *all);
    say_hello(&all[t->rank], trait);
    int err = t->rank > 0 ? ranks_send(world, 0, &all[t->rank], sizeof *all) : 0;
    for (int i = 1; i < t->ranks && t->rank == 0 && !err; i++)
        err = ranks_receive(world, i, &all[i], sizeof *all);
    if (!err)
        err = ranks_broadcast(world, all, (size_t)t->ranks * sizeof *all);
    job.hello = all;
    return err ? err : compare(what);
}
