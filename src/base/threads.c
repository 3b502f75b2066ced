/* threads.c - threads that wait on one condition and take pieces from a counter.
 *
 * Whoever waits looks on for about 100 us before it sleeps: a meta-update of a small
 * batch hands out work every millisecond or two, and waking a thread takes a part of
 * that.
 */
#include "base/threads.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct threads {
    int threads;
    pthread_t *ids; /* threads - 1: the caller is the first */
    pthread_mutex_t lock;
    pthread_cond_t start, done;
    int spins; /* looks before sleeping; none where threads must share cores */
    atomic_uint generation;
    atomic_int busy;
    bool closing;
    /* the work at hand */
    threads_fn *work;
    void *user;
    int pieces;
    atomic_int next;
    /* its first failure, by piece number */
    int failed_piece, failed_code;
    char failed_sentence[1024];
};

struct worker {
    struct threads *threads;
    int worker;
};

static void note_failure(struct threads *p, int piece, int code)
{
    pthread_mutex_lock(&p->lock);
    if (!p->failed_code || piece < p->failed_piece) {
        p->failed_piece = piece;
        p->failed_code = code;
        strncpy(p->failed_sentence, mete_errmsg(), sizeof p->failed_sentence - 1);
    }
    pthread_mutex_unlock(&p->lock);
}

static void take_pieces(struct threads *p, int worker)
{
    for (;;) {
        int piece = atomic_fetch_add(&p->next, 1);
        if (piece >= p->pieces)
            return;
        int code = p->work(p->user, piece, worker);
        if (code)
            note_failure(p, piece, code);
    }
}

static void pause_a_little(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

static void *worker_main(void *arg)
{
    number_enter();
    struct worker w = *(struct worker *)arg;
    free(arg);
    struct threads *p = w.threads;
    unsigned seen = 0;
    for (;;) {
        for (int i = 0; i < p->spins && atomic_load(&p->generation) == seen; i++)
            pause_a_little();
        pthread_mutex_lock(&p->lock);
        while (atomic_load(&p->generation) == seen && !p->closing)
            pthread_cond_wait(&p->start, &p->lock);
        bool closing = p->closing;
        seen = atomic_load(&p->generation);
        pthread_mutex_unlock(&p->lock);
        if (closing)
            return NULL;
        take_pieces(p, w.worker);
        if (atomic_fetch_sub(&p->busy, 1) == 1) {
            pthread_mutex_lock(&p->lock); /* the caller is before its wait, or in it */
            pthread_cond_signal(&p->done);
            pthread_mutex_unlock(&p->lock);
        }
    }
}

int threads_open(struct threads **out, int threads)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    struct threads *p = mem_alloc(sizeof *p);
    p->threads = threads > 0 ? threads : cores > 0 ? (int)cores : 1;
    p->spins = p->threads <= cores ? 4000 : 0; /* 100 us of pauses on a Zen 4 */
    p->ids = mem_array((size_t)p->threads, sizeof *p->ids);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->start, NULL);
    pthread_cond_init(&p->done, NULL);
    for (int worker = 1; worker < p->threads; worker++) {
        struct worker *w = mem_alloc(sizeof *w);
        *w = (struct worker){p, worker};
        if (pthread_create(&p->ids[worker - 1], NULL, worker_main, w) != 0) {
            free(w);
            p->threads = worker;
            threads_close(p);
            return fail(METE_ENOMEM, "cannot start thread %d of %d", worker + 1, threads);
        }
    }
    *out = p;
    return 0;
}

void threads_close(struct threads *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->closing = true;
    pthread_cond_broadcast(&p->start);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < p->threads - 1; i++)
        pthread_join(p->ids[i], NULL);
    pthread_cond_destroy(&p->start);
    pthread_cond_destroy(&p->done);
    pthread_mutex_destroy(&p->lock);
    free(p->ids);
    free(p);
}

int threads_count(const struct threads *p)
{
    return p->threads;
}

int threads_run(struct threads *p, int pieces, threads_fn *work, void *user)
{
    pthread_mutex_lock(&p->lock);
    p->work = work;
    p->user = user;
    p->pieces = pieces;
    atomic_store(&p->next, 0);
    p->failed_code = 0;
    atomic_store(&p->busy, p->threads - 1);
    atomic_fetch_add(&p->generation, 1);
    pthread_cond_broadcast(&p->start);
    pthread_mutex_unlock(&p->lock);

    take_pieces(p, 0);

    for (int i = 0; i < p->spins && atomic_load(&p->busy) > 0; i++)
        pause_a_little();
    pthread_mutex_lock(&p->lock);
    while (atomic_load(&p->busy) > 0)
        pthread_cond_wait(&p->done, &p->lock);
    int code = p->failed_code;
    pthread_mutex_unlock(&p->lock);
    return code ? fail(code, "%s", p->failed_sentence) : 0;
}
