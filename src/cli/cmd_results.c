/* cmd_results.c - mete results: the tables of a results database. */
#include "commands.h"

#include <stdlib.h>
#include <unistd.h>

struct values {
    const char *format, *suite;
    bool paper, last;
    int width;
};

static const struct option options[] = {
    OPTION_CHOICE(struct values, format, "--format", "table|summary|paper|csv|json|latex|markdown",
                  "table (default); summary: 80 columns and a verdict; paper: beside the paper's "
                  "numbers; or for a program"),
    OPTION_FLAG(struct values, paper, "--paper", "short for --format paper"),
    OPTION_TEXT(struct values, suite, "--suite", "SUITE", "only the tables of this suite"),
    OPTION_FLAG(struct values, last, "--last",
                "results of each run's last model, instead of the best on validation"),
    OPTION_COUNT(struct values, width, "--width",
                 "columns of a table's lines (default: the terminal's; no limit for a file)"),
    {0},
};

static int run(const struct command *self, int argc, char **argv)
{
    struct values v = {.format = "table"};
    struct text_list words = {0};
    int err = cli_options(self, argc, argv, &v, &words);
    if (err)
        return err;
    const char *no_color = getenv("NO_COLOR");
    struct mete_results_options o = {.size = sizeof o,
                                     .db = words.at[0],
                                     .format = v.paper ? "paper" : v.format,
                                     .suite = v.suite,
                                     .last = v.last,
                                     .width = v.width ? v.width : cli_width(),
                                     .colour = isatty(STDOUT_FILENO) && !(no_color && *no_color)};
    char *text = NULL;
    err = mete_results(&o, &text);
    if (err)
        return cli_failed(err);
    fputs(text, stdout);
    mete_free(text);
    return EXIT_DONE;
}

const struct command command_results = {
    .name = "results",
    .summary = "print the tables of a results database",
    .words = "DB",
    .about = "Prints the tables that the suites of a database define: accuracy with its 95 % "
             "interval, the best of each row in bold, and the paper's number below ours where the "
             "paper has one.",
    .options = options,
    .examples = "mete results results.db\n"
                "mete results results.db --paper\n"
                "mete results results.db --format latex > table1.tex\n"
                "mete results results.db --format csv | head\n",
    .run = run,
};
