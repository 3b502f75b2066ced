/* cmd_report.c - mete report: a results database as one HTML page. */
#include "commands.h"

struct values {
    const char *path, *suite, *title, *tensorboard;
};

static const struct option options[] = {
    OPTION_TEXT(struct values, path, "-o", "FILE", "the page (default report.html)"),
    OPTION_TEXT(struct values, suite, "--suite", "SUITE", "only the runs of this suite"),
    OPTION_TEXT(struct values, title, "--title", "TITLE", "the page's heading"),
    OPTION_TEXT(struct values, tensorboard, "--tensorboard", "FOLDER",
                "also write the runs as event files for TensorBoard"),
    {0},
};

static int run(const struct command *self, int argc, char **argv)
{
    struct values v = {.path = "report.html"};
    struct text_list words = {0};
    int err = cli_options(self, argc, argv, &v, &words);
    if (err)
        return err;
    struct mete_report_options o = {.size = sizeof o,
                                    .db = words.at[0],
                                    .path = v.path,
                                    .suite = v.suite,
                                    .title = v.title,
                                    .tensorboard = v.tensorboard};
    err = mete_report(&o);
    if (err)
        return cli_failed(err);
    printf("%s\n", o.path);
    return EXIT_DONE;
}

const struct command command_report = {
    .name = "report",
    .summary = "write a results database as one HTML page",
    .words = "DB",
    .about = "Writes one HTML file with the tables and charts of a results database.  The page "
             "needs no network and no server.",
    .options = options,
    .examples = "mete report results.db -o report.html\n"
                "mete report table1.db --suite table1-omniglot --tensorboard tb\n",
    .run = run,
};
