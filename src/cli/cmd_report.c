/* cmd_report.c - mete report: a results database as one HTML page. */
#include "cli.h"
#include "commands.h"

#include <stdio.h>

static const char usage[] =
    "usage: mete report DB [-o report.html] [options]\n\n"
    "Writes one HTML file with the tables and charts of a results database.  It needs no\n"
    "network and no server, and without scripts it still has every number.\n\n"
    "  -o FILE            the page (default report.html)\n"
    "  --suite S          only the runs of suite S\n"
    "  --title T          its heading\n"
    "  --tensorboard DIR  also write the runs as event files for TensorBoard\n\n"
    "examples:\n"
    "  mete report results.db -o report.html\n"
    "  mete report table1.db --suite table1-omniglot --tensorboard tb\n";

int cmd_report(int argc, char **argv)
{
    struct mete_report_options o = {.path = "report.html"};
    struct text_list words = {0};
    const struct option_row rows[] = {
        {"-o", OPT_TEXT, &o.path},
        {"--suite", OPT_TEXT, &o.suite},
        {"--title", OPT_TEXT, &o.title},
        {"--tensorboard", OPT_TEXT, &o.tensorboard},
        {0},
    };
    int status = cli_options(argc, argv, usage, rows, &words);
    if (status)
        return status;
    if (words.n != 1)
        return cli_usage("expected one database: mete report DB -o report.html");
    o.db = words.at[0];
    int err = mete_report(&o);
    if (err)
        return cli_failed(err);
    printf("%s\n", o.path);
    return EXIT_DONE;
}
