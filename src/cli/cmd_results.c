/* cmd_results.c - mete results: the tables of a results database. */
#include "cli.h"
#include "commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char usage[] =
    "usage: mete results DB [options]\n\n"
    "Prints the tables that the suites in DB ask for: accuracy with its 95 % interval,\n"
    "best of each row in bold, the paper's own numbers below ours where it has them.\n\n"
    "  --format F   table (default), summary (80 columns and a verdict), csv, json, latex or\n"
    "               markdown\n"
    "  --suite S    only the tables of suite S\n"
    "  --last       the last model of each run instead of the best by validation\n\n"
    "examples:\n"
    "  mete results results.db\n"
    "  mete results results.db --format latex > table1.tex\n"
    "  mete results results.db --format csv | head\n";

int cmd_results(int argc, char **argv)
{
    struct mete_results_options o = {.format = "table"};
    struct text_list words = {0};
    const struct option_row rows[] = {
        {"--format", OPT_TEXT, &o.format},
        {"--suite", OPT_TEXT, &o.suite},
        {"--last", OPT_FLAG, &o.last},
        {0},
    };
    int status = cli_options(argc, argv, usage, rows, &words);
    if (status)
        return status;
    if (words.n != 1)
        return cli_usage("expected one database: mete results DB");
    const char *no_color = getenv("NO_COLOR");
    o.db = words.at[0];
    o.colour = isatty(STDOUT_FILENO) && !(no_color && *no_color);
    char *text = NULL;
    int err = mete_results(&o, &text);
    if (err)
        return cli_failed(err);
    fputs(text, stdout);
    mete_free(text);
    return EXIT_DONE;
}
