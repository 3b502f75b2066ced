/* cli.h - what the commands share.
 *
 * A command is one file, cmd_NAME.c, that describes itself in a `struct command`, and a line in
 * the table of commands.c.  The description is the only one: options are read by it (cli.c), and
 * --help, the manual page and the shells' completions are printed from it (help.c, manual.c,
 * completion.c).
 *
 * A command calls the library through mete.h and prints: results on stdout, all else on stderr.
 * It returns the exit status: 0 done, 1 the work failed, 2 asked wrongly, 130 after Ctrl-C and
 * 143 after SIGTERM.
 */
#ifndef CLI_H
#define CLI_H

#include "mete.h"
#include "mete_ranks.h"

#include <stdio.h>

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

enum { TEXT_LIST_MAX = 256 };
struct text_list {                     /* a repeated option, or the arguments that are no options */
    const char *at[TEXT_LIST_MAX + 1]; /* ends with NULL */
    int n;
};

/* One option.  Its value is written to a field of the command's own struct of values. */
struct option {
    const char *name; /* "--threads" */
    enum option_kind { OPT_FLAG, OPT_COUNT, OPT_REAL, OPT_TEXT, OPT_CHOICE, OPT_LIST } kind;
    size_t offset;     /* of a bool, int, double, const char *, const char *, struct text_list */
    const char *value; /* what stands for the value in help: "N", "FILE"; a choice: "csv|json" */
    const char *help;
};

/* Rows of a table that ends with {0}.  The second operand is 0; it checks the field's type. */
#define OPTION_AT(type, field, of)                                                                 \
    (offsetof(type, field) + 0 * sizeof(&((type *)0)->field == (of *)0))
#define OPTION_FLAG(type, field, name, help)                                                       \
    {                                                                                              \
        name, OPT_FLAG, OPTION_AT(type, field, bool), NULL, help                                   \
    }
#define OPTION_COUNT(type, field, name, help)                                                      \
    {                                                                                              \
        name, OPT_COUNT, OPTION_AT(type, field, int), "N", help                                    \
    }
#define OPTION_REAL(type, field, name, value, help)                                                \
    {                                                                                              \
        name, OPT_REAL, OPTION_AT(type, field, double), value, help                                \
    }
#define OPTION_TEXT(type, field, name, value, help)                                                \
    {                                                                                              \
        name, OPT_TEXT, OPTION_AT(type, field, const char *), value, help                          \
    }
#define OPTION_CHOICE(type, field, name, choices, help)                                            \
    {                                                                                              \
        name, OPT_CHOICE, OPTION_AT(type, field, const char *), choices, help                      \
    }
#define OPTION_LIST(type, field, name, value, help)                                                \
    {                                                                                              \
        name, OPT_LIST, OPTION_AT(type, field, struct text_list), value, help                      \
    }

/* Where a command works over ranks (mete_ranks.h). */
enum { RANK_TIMEOUT = 600 };
#define RANK_TIMEOUT_HELP                                                                          \
    "under mpirun: give up a rank that is silent for N seconds (default 600; 0: never)"

struct command {
    const char *name;    /* "run", "data import" */
    const char *summary; /* one line, for the list of commands */
    const char *words; /* its other arguments: "SUITE", "MODEL [BENCH]", "KIND PATH..."; or NULL */
    const char *about; /* paragraphs; lines that begin with a blank are printed as they are */
    const struct option *options; /* ends with {0}; NULL: none */
    const char *examples;         /* a line each; the first is shown where arguments are wrong */
    void (*more)(FILE *to);       /* lines that only the library knows, after `about`; or NULL */
    int (*run)(const struct command *self, int argc, char **argv);
};

/* commands.c */
extern const struct command *const commands[]; /* ends with NULL */
/* The command that argv[1], or argv[1] and argv[2], name; *used is how many words.  NULL after
 * saying why, or where `quiet`. */
const struct command *command_find(int argc, char **argv, int *used);

/* Reads argv[1..] into `values` and `words`, and checks how many words there are.  0, or
 * EXIT_USAGE after saying why. */
int cli_options(const struct command *c, int argc, char **argv, void *values,
                struct text_list *words);

/* Closes standard output: `status`, or 1 after saying so where what was printed did not all get
 * out, as on a full disk.  The last thing a command does. */
int cli_finish(int status);
/* Into a JSON object on standard output: "KEY": "TEXT", or "KEY": the number, null where it is
 * none. */
void cli_json_text(const char *key, const char *text);
void cli_json_real(const char *key, const char *format, double value);
int cli_usage(const char *fmt, ...) __attribute__((format(printf, 1, 2))); /* prints, returns 2 */
/* Prints mete_errmsg() and returns the exit status for `code`. */
int cli_failed(int code);
/* "expected train, val or test, got 'tets'; did you mean 'test'?": prints it, returns 2. */
int cli_unknown(const char *what, const char *got, const char *choices);

/* ---- printing ---- */

enum { TEXT_WIDTH = 80 };
int cli_width(void);               /* columns of the terminal on stdout; 0: no terminal */
int cli_columns(const char *text); /* of UTF-8 text */
/* Fills the first line of `text` into lines of at most `width` columns.  The first of them is at
 * column `at` already; the others are indented by `indent`.  Ends with a newline. */
void cli_fill(FILE *to, const char *text, int at, int indent, int width);

/* help.c, manual.c, completion.c */
void help_print(FILE *to, const struct command *c);
void help_list(FILE *to);
void manual_print(FILE *to);
void completion_bash(FILE *to);
void completion_zsh(FILE *to);

#endif
