/* heads.c - a thread that shuts down the connections whose time is over. */
#include "serve/heads.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>

struct head {
    int fd;       /* -1: nobody's */
    double since; /* when it began to wait; 0: it does not */
};

struct heads {
    pthread_mutex_t lock;
    pthread_cond_t closing_now;
    pthread_t watcher;
    bool closing;
    double seconds;
    int most;
    struct head *head; /* (most) */
};

static void end_late(struct heads *h)
{
    double now = seconds_now();
    for (int i = 0; i < h->most; i++) {
        struct head *one = &h->head[i];
        if (one->fd < 0 || one->since == 0 || now - one->since < h->seconds)
            continue;
        shutdown(one->fd, SHUT_RDWR); /* its own thread sees that and closes it */
        one->since = 0;
    }
}

static void *watch(void *user)
{
    struct heads *h = user;
    pthread_mutex_lock(&h->lock);
    while (!h->closing) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec++;
        pthread_cond_timedwait(&h->closing_now, &h->lock, &until);
        end_late(h);
    }
    pthread_mutex_unlock(&h->lock);
    return NULL;
}

static void release(struct heads *h)
{
    pthread_cond_destroy(&h->closing_now);
    pthread_mutex_destroy(&h->lock);
    free(h->head);
    free(h);
}

int heads_open(struct heads **out, int most, double seconds)
{
    struct heads *h = mem_alloc(sizeof *h);
    pthread_condattr_t monotonic;
    h->seconds = seconds;
    h->most = most;
    h->head = mem_array((size_t)most, sizeof *h->head);
    for (int i = 0; i < most; i++)
        h->head[i].fd = -1;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->closing_now, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (pthread_create(&h->watcher, NULL, watch, h) != 0) {
        release(h);
        return fail(METE_ENOMEM, "no thread can be had to watch connections");
    }
    *out = h;
    return 0;
}

void heads_close(struct heads *h)
{
    if (!h)
        return;
    pthread_mutex_lock(&h->lock);
    h->closing = true;
    pthread_cond_signal(&h->closing_now);
    pthread_mutex_unlock(&h->lock);
    pthread_join(h->watcher, NULL);
    release(h);
}

struct head *heads_add(struct heads *h, int fd)
{
    struct head *found = NULL;
    pthread_mutex_lock(&h->lock);
    for (int i = 0; i < h->most && !found; i++)
        if (h->head[i].fd < 0)
            found = &h->head[i];
    if (found)
        *found = (struct head){.fd = fd, .since = seconds_now()};
    pthread_mutex_unlock(&h->lock);
    return found;
}

void heads_remove(struct heads *h, struct head *one)
{
    if (!one)
        return;
    pthread_mutex_lock(&h->lock);
    one->fd = -1;
    pthread_mutex_unlock(&h->lock);
}

void heads_wait(struct heads *h, struct head *one, bool waits)
{
    if (!one)
        return;
    pthread_mutex_lock(&h->lock);
    one->since = waits ? seconds_now() : 0;
    pthread_mutex_unlock(&h->lock);
}
