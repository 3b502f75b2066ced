/* finished.c - a run that is done, in at most 80 columns. */
#include "finished.h"
#include "progress.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME = 35, TEXT = FINISHED_TEXT };

/* In characters: a byte that continues one has 10 at its top. */
static int width(const char *s)
{
    int n = 0;
    for (; *s; s++)
        n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}

/* 12345 as 12,345. */
void finished_number(int64_t n, char out[FINISHED_TEXT])
{
    char digits[32];
    int size = snprintf(digits, sizeof digits, "%lld", (long long)n), j = 0;
    for (int i = 0; i < size; i++) {
        out[j++] = digits[i];
        if ((size - 1 - i) % 3 == 0 && i < size - 1)
            out[j++] = ',';
    }
    out[j] = '\0';
}

void finished_time(double seconds, char out[FINISHED_TEXT])
{
    if (seconds < 100)
        snprintf(out, TEXT, "%.0f s", seconds);
    else if (seconds < 5400)
        snprintf(out, TEXT, "%.0f min", seconds / 60);
    else
        snprintf(out, TEXT, "%.1f h", seconds / 3600);
}

void finished_print(void *user, const struct mete_finished_run *run)
{
    char name[256], accuracy[TEXT] = "", labels[TEXT], took[TEXT];
    (void)user;
    snprintf(name, sizeof name, "%s%s%s · %s · seed %llu", run->several ? run->bench : "",
             run->several ? " · " : "", run->method, run->labels, (unsigned long long)run->seed);
    if (!isnan(run->accuracy))
        snprintf(accuracy, sizeof accuracy, "%.1f %%", 100 * run->accuracy);
    finished_number(run->n_labels, labels);
    finished_time(run->seconds, took);
    int blanks = NAME - width(name);
    progress_clear();
    fprintf(stderr, "%s%*s %7s %10s labels %7s\n", name, blanks > 0 ? blanks : 0, "", accuracy,
            labels, took);
}
