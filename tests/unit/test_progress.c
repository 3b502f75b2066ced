/* test_progress.c - what is shown of long work, by a clock that the test sets. */
#include <time.h>

static time_t clock_at;
#define clock_gettime(clock, to) (*(to) = (struct timespec){.tv_sec = clock_at})
#include "cli/progress.c"
#include "test.h"

/* What is written when the clock shows seconds from..to, one percent of the work a second. */
static const char *shown(bool terminal, const char *what, int from, int to)
{
    static char text[4096];
    FILE *file = tmpfile();
    int screen = dup(STDERR_FILENO);
    if (!file || screen < 0)
        abort();
    fflush(stderr);
    dup2(fileno(file), STDERR_FILENO);
    state.terminal = terminal;
    for (int second = from; second <= to; second++) {
        clock_at = 1000 + second;
        on_progress(NULL, what, second, 100);
    }
    fflush(stderr);
    dup2(screen, STDERR_FILENO);
    close(screen);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

TEST(a_log_gets_a_line_every_half_minute)
{
    CHECK_STR(shown(false, "train", 0, 100), "train  30 of 100  30 %  70 s left\n"
                                             "train  60 of 100  60 %  40 s left\n"
                                             "train  90 of 100  90 %  10 s left\n");
}

TEST(short_work_leaves_no_line_in_a_log)
{
    CHECK_STR(shown(false, "first", 0, 29), "");
    CHECK_STR(shown(false, "second", 10, 39), "");
}

TEST(a_terminal_sees_one_line_rewritten)
{
    CHECK_STR(shown(true, "see", 0, 2), "\r\033[Ksee  0 of 100  0 %"
                                        "\r\033[Ksee  1 of 100  1 %"
                                        "\r\033[Ksee  2 of 100  2 %  2 min left");
    CHECK_STR(shown(true, "see", 2, 2), ""); /* not more often than ten times a second */
    CHECK_STR(shown(true, "see", 100, 100), "\r\033[Ksee  100 of 100  100 %");
}

TESTS(T(a_log_gets_a_line_every_half_minute), T(short_work_leaves_no_line_in_a_log),
      T(a_terminal_sees_one_line_rewritten))
