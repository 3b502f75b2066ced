/* cmd_list.c - mete list: what is built in. */
#include "commands.h"

#include <string.h>

static void print_row(void *user, const char *kind, const char *name, const char *summary)
{
    enum { COLUMN = 16 };
    const char **last = user;
    int width = cli_width();
    if (!*last || strcmp(*last, kind) != 0)
        printf("%s%s\n", *last ? "\n" : "", kind);
    *last = kind;
    int at = printf("  %-*s", COLUMN - 2, name);
    cli_fill(stdout, summary, at, COLUMN, width ? width : 10000);
}

static int run(const struct command *self, int argc, char **argv)
{
    struct text_list words = {0};
    const char *last = NULL;
    int err = cli_options(self, argc, argv, NULL, &words);
    if (err)
        return err;
    err = mete_list(words.at[0], print_row, &last);
    return err ? cli_failed(err) : EXIT_DONE;
}

const struct command command_list = {
    .name = "list",
    .summary = "list the methods, label strategies, nets, datasets and devices",
    .words = "[methods|labels|nets|datasets|devices]",
    .about = "Lists what is built in.  'mete show NAME' prints the settings of one of them.",
    .examples = "mete list\nmete list methods\n",
    .run = run,
};
