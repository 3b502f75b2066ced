/* log.c - the log and progress callbacks, called one at a time. */
#include "base/log.h"
#include "base/error.h"

#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

/* A callback may call the library, and give it other callbacks. */
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static mete_log_fn *log_fn;
static void *log_user;
static mete_progress_fn *progress_fn;
static void *progress_user;
static char last_what[96] = "working"; /* that progress() said, and how far it was */
static double last_done, last_total;

void mete_log_to(mete_log_fn *fn, void *user)
{
    pthread_mutex_lock(&lock);
    log_fn = fn;
    log_user = user;
    pthread_mutex_unlock(&lock);
}

void mete_progress_to(mete_progress_fn *fn, void *user)
{
    pthread_mutex_lock(&lock);
    progress_fn = fn;
    progress_user = user;
    pthread_mutex_unlock(&lock);
}

static void say(enum mete_log_level level, const char *fmt, va_list args)
{
    char message[1024];
    vsnprintf(message, sizeof message, fmt, args);
    pthread_mutex_lock(&lock);
    if (log_fn)
        log_fn(log_user, level, message);
    pthread_mutex_unlock(&lock);
}

void log_info(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    say(METE_LOG_INFO, fmt, args);
    va_end(args);
}

void log_warn(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    say(METE_LOG_WARN, fmt, args);
    va_end(args);
}

int progress_of(const struct mete_progress *p)
{
    pthread_mutex_lock(&lock);
    int stop = progress_fn ? progress_fn(progress_user, p) : 0;
    pthread_mutex_unlock(&lock);
    return stop ? fail(METE_ESTOPPED, "%s: stopped on request", p->what) : 0;
}

int progress_to(mete_progress_fn *fn, void *user, const struct mete_progress *p)
{
    if (!fn)
        return progress_of(p);
    return fn(user, p) ? fail(METE_ESTOPPED, "%s: stopped on request", p->what) : 0;
}

int progress(const char *what, double done, double total)
{
    pthread_mutex_lock(&lock);
    snprintf(last_what, sizeof last_what, "%s", what);
    last_done = done;
    last_total = total;
    int err = progress_of(&(struct mete_progress){what, done, total, 0, NAN, ""});
    pthread_mutex_unlock(&lock);
    return err;
}

int progress_again(void)
{
    pthread_mutex_lock(&lock);
    int err = progress_of(&(struct mete_progress){last_what, last_done, last_total, 0, NAN, ""});
    pthread_mutex_unlock(&lock);
    return err;
}
