/* cli.h - what the commands share.
 *
 * A command is one file, cmd_NAME.c, and one line in main.c's table.  It reads
 * its flags, calls the library through mete.h and prints: results on stdout, all
 * else on stderr.  It returns the exit status: 0 done, 1 the work failed, 2 asked
 * wrongly.
 */
#ifndef CLI_H
#define CLI_H

#include "mete.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* One option of a command.  A table of them ends with {0} and drives both the
 * reading and the checking. */
struct option_row {
    const char *name; /* "--threads" */
    enum { OPT_FLAG, OPT_INT, OPT_REAL, OPT_TEXT, OPT_LIST } kind;
    void *to; /* bool, int, double, const char *, struct text_list */
};

enum { TEXT_LIST_MAX = 256 };
struct text_list {                     /* a repeated option, or the words that are no options */
    const char *at[TEXT_LIST_MAX + 1]; /* ends with NULL */
    int n;
};

/* Reads argv[1..]; words go to `words`.  0, or EXIT_USAGE after saying why.
 * --help prints `usage` on stdout and exits. */
int cli_options(int argc, char **argv, const char *usage, const struct option_row *rows,
                struct text_list *words);

int cli_usage(const char *fmt, ...) __attribute__((format(printf, 1, 2))); /* prints, returns 2 */
/* Prints mete_errmsg() and returns the exit status for `code`: 2 for METE_EINVAL, else 1. */
int cli_failed(int code);

#endif
