/* test_progress.c - what is shown of long work, by a clock that the test sets. */
#include <time.h>

static time_t clock_at;
#define clock_gettime(clock, to) (*(to) = (struct timespec){.tv_sec = clock_at})
#include "cli/progress.c"
#include "test.h"

/* What is written when the clock shows seconds from..to, one percent of the work a second. */
static const char *shown_of(bool terminal, struct mete_progress p, int from, int to)
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
        p.done = p.restored + second;
        on_progress(NULL, &p);
    }
    fflush(stderr);
    dup2(screen, STDERR_FILENO);
    close(screen);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static const char *shown(bool terminal, const char *what, int from, int to)
{
    struct mete_progress p = {.what = what, .total = 100, .left = NAN, .detail = ""};
    return shown_of(terminal, p, from, to);
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

/* 60 of 100 were there before: 10 more in 10 seconds leave 30 seconds for 30, not 4. */
TEST(what_an_earlier_process_made_is_no_measure_of_speed)
{
    struct mete_progress p = {
        .what = "resumed", .total = 100, .restored = 60, .left = NAN, .detail = ""};
    const char *text = shown_of(true, p, 0, 10), *last = strrchr(text, '\r');
    CHECK_STR(last, "\r\033[Kresumed  70 of 100  70 %  30 s left");
}

TEST(who_knows_better_says_how_long_it_takes_and_what_runs)
{
    struct mete_progress p = {.what = "suite",
                              .total = 12,
                              .left = 7000,
                              .detail = "protonet · stratified · seed 2, step 30 of 60, 52.2 %"};
    CHECK_STR(
        shown_of(true, p, 3, 3),
        "\r\033[Ksuite  3 of 12  25 %  1.9 h left  protonet · stratified · seed 2, step 30 of 60");
}

TESTS(T(a_log_gets_a_line_every_half_minute), T(short_work_leaves_no_line_in_a_log),
      T(a_terminal_sees_one_line_rewritten), T(what_an_earlier_process_made_is_no_measure_of_speed),
      T(who_knows_better_says_how_long_it_takes_and_what_runs))
