/* progress.c - "omniglot  12800 of 32460  39 %  2 s left", rewritten in place at most
 * ten times a second, or, where no terminal looks on, a line every half minute for the log;
 * and Ctrl-C and SIGTERM, which ask work that reports its progress to stop and clean up.  A second
 * one ends the program at once.
 */
#include "cli.h"
#include "progress.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct {
    char what[64];
    double began, shown; /* seconds */
    bool dirty;          /* the line is on the screen */
    bool terminal, ready;
} state;
static volatile sig_atomic_t stop; /* the signal that asked to stop */

static void on_signal(int signal_number)
{
    stop = signal_number;
}

int progress_signal(void)
{
    return stop;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void print_left(double seconds)
{
    if (seconds < 90)
        fprintf(stderr, "  %.0f s left", seconds);
    else if (seconds < 5400)
        fprintf(stderr, "  %.0f min left", seconds / 60);
    else
        fprintf(stderr, "  %.1f h left", seconds / 3600);
}

static void print(const char *what, double done, double total)
{
    double t = now();
    if (strncmp(state.what, what, sizeof state.what - 1) != 0) {
        snprintf(state.what, sizeof state.what, "%s", what);
        state.began = t;
        state.shown = state.terminal ? 0 : t; /* short work leaves no line in a log */
    }
    if (t - state.shown < (state.terminal ? 0.1 : 30) && (done < total || !state.terminal))
        return;
    state.shown = t;
    state.dirty = state.terminal;
    fprintf(stderr, "%s%s", state.terminal ? "\r\033[K" : "", state.what);
    if (total != 1) /* of one run the per cent say more */
        fprintf(stderr, "  %.0f", floor(done + 1e-9));
    if (total > 0) {
        if (total != 1)
            fprintf(stderr, " of %.0f", total);
        fprintf(stderr, "  %.0f %%", 100 * done / total);
        if (done > 0 && done < total && t - state.began > 1)
            print_left((t - state.began) * (total - done) / done);
    }
    if (!state.terminal)
        fputc('\n', stderr);
    fflush(stderr);
}

static int on_progress(void *user, const char *what, double done, double total)
{
    (void)user;
    if (!state.ready) { /* only now is there somebody who will heed it */
        struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
        sigaction(SIGINT, &action, NULL);
        sigaction(SIGTERM, &action, NULL);
        state.ready = true;
    }
    print(what, done, total);
    return stop != 0;
}

void progress_show(void)
{
    state.terminal = isatty(STDERR_FILENO);
    mete_progress_to(on_progress, NULL);
}

void progress_clear(void)
{
    if (state.dirty)
        fputs("\r\033[K", stderr);
    state.dirty = false;
}
