/* progress.c - "omniglot  12800 of 32460  39 %  2 s left", rewritten in place at most
 * ten times a second and cut to the terminal's width, or, where no terminal looks on, a line every
 * half minute for the log;
 * and Ctrl-C and SIGTERM, which ask work that reports its progress to stop and clean up.  A second
 * one ends the program at once, unless it comes within a second: a batch system or a launcher may
 * send one to every process of a job, and have it passed on from one to the other as well.
 */
#include "cli.h"
#include "progress.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
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
    static struct timespec first;
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    if (!stop)
        first = t;
    else if ((double)(t.tv_sec - first.tv_sec) + 1e-9 * (double)(t.tv_nsec - first.tv_nsec) >= 1) {
        signal(signal_number, SIG_DFL);
        raise(signal_number); /* taken when this returns */
    }
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

/* "  40 s left" */
static void add_left(char *line, size_t size, double seconds)
{
    size_t n = strlen(line);
    if (seconds < 90)
        snprintf(line + n, size - n, "  %.0f s left", seconds);
    else if (seconds < 5400)
        snprintf(line + n, size - n, "  %.0f min left", seconds / 60);
    else
        snprintf(line + n, size - n, "  %.1f h left", seconds / 3600);
}

/* What an earlier process made says nothing about how fast this one is. */
static double seconds_left(const struct mete_progress *p, double t)
{
    double made = p->done - p->restored;
    if (!isnan(p->left))
        return p->left;
    return made > 0 && t - state.began > 1 ? (t - state.began) * (p->total - p->done) / made : NAN;
}

/* "quick  7 of 12  58 %  40 s left  maml · active · seed 2, step 300 of 600, 52.2 %" */
static void make_line(const struct mete_progress *p, double t, char *line, size_t size)
{
    size_t n = (size_t)snprintf(line, size, "%s", state.what);
    double left = p->total > 0 && p->done < p->total ? seconds_left(p, t) : NAN;
    if (p->total != 1) /* of one run the per cent say more */
        n += (size_t)snprintf(line + n, size - n, "  %.0f", floor(p->done + 1e-9));
    if (p->total > 0 && p->total != 1)
        n += (size_t)snprintf(line + n, size - n, " of %.0f", p->total);
    if (p->total > 0)
        snprintf(line + n, size - n, "  %.0f %%", floor(100 * p->done / p->total + 1e-9));
    if (!isnan(left))
        add_left(line, size, left);
    if (p->detail && *p->detail) {
        n = strlen(line);
        snprintf(line + n, size - n, "  %s", p->detail);
    }
}

/* Cuts UTF-8 text to so many columns. */
static void cut(char *text, int columns)
{
    int n = 0;
    for (char *at = text; *at; at++)
        if (((unsigned char)*at & 0xc0) != 0x80 && n++ == columns) {
            *at = '\0';
            return;
        }
}

static int columns_of_terminal(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

static void print(const struct mete_progress *p)
{
    char line[512];
    double t = now();
    if (strncmp(state.what, p->what, sizeof state.what - 1) != 0) {
        snprintf(state.what, sizeof state.what, "%s", p->what);
        state.began = t;
        state.shown = state.terminal ? 0 : t; /* short work leaves no line in a log */
    }
    if (t - state.shown < (state.terminal ? 0.1 : 30) && (p->done < p->total || !state.terminal))
        return;
    state.shown = t;
    state.dirty = state.terminal;
    make_line(p, t, line, sizeof line);
    if (state.terminal)
        cut(line, columns_of_terminal() - 1);
    fprintf(stderr, "%s%s%s", state.terminal ? "\r\033[K" : "", line, state.terminal ? "" : "\n");
    fflush(stderr);
}

static int on_progress(void *user, const struct mete_progress *p)
{
    (void)user;
    if (!state.ready) { /* only now is there somebody who will heed it */
        struct sigaction action = {.sa_handler = on_signal};
        sigaction(SIGINT, &action, NULL);
        sigaction(SIGTERM, &action, NULL);
        state.ready = true;
    }
    print(p);
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
