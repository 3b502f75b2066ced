/* cmd_list.c - mete list: what is built in. */
#include "cli.h"
#include "commands.h"

#include <stdio.h>
#include <string.h>

static const char usage[] =
    "usage: mete list [methods|labels|nets|datasets|devices]\n\n"
    "Shows what is built in; 'mete show NAME' shows a plug-in's settings.\n";

static void print_row(void *user, const char *kind, const char *name, const char *summary)
{
    const char **last = user;
    if (!*last || strcmp(*last, kind) != 0)
        printf("%s%s\n", *last ? "\n" : "", kind);
    *last = kind;
    printf("  %-12s %s\n", name, summary);
}

int cmd_list(int argc, char **argv)
{
    static const struct option_row rows[] = {{0}};
    struct text_list words = {0};
    const char *last = NULL;
    int err = cli_options(argc, argv, usage, rows, &words);
    if (err)
        return err;
    if (words.n > 1)
        return cli_usage("list takes one kind, or none for all");
    err = mete_list(words.at[0], print_row, &last);
    return err ? cli_failed(err) : EXIT_DONE;
}
