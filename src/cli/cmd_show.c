/* cmd_show.c - mete show: the settings of a plug-in, from its table. */
#include "cli.h"
#include "commands.h"

#include <stdio.h>

static const char usage[] = "usage: mete show NAME\n\n"
                            "Shows the settings of a method, label strategy or net: key, default,\n"
                            "range and meaning.  'mete show run' shows those of every run.\n\n"
                            "examples:\n  mete show maml\n  mete show active\n  mete show run\n";

static void print_setting(void *user, const struct mete_setting *s)
{
    int *n = user;
    if ((*n)++ == 0)
        printf("\n%-22s %-12s %-24s %s\n", "key", "default", "range", "meaning");
    printf("%-22s %-12s %-24s %s\n", s->key, *s->initial ? s->initial : "-", s->range, s->help);
}

static void ignore_setting(void *user, const struct mete_setting *s)
{
    (void)user;
    (void)s;
}

int cmd_show(int argc, char **argv)
{
    static const struct option_row rows[] = {{0}};
    struct text_list words = {0};
    const char *summary = NULL;
    int n = 0;
    int err = cli_options(argc, argv, usage, rows, &words);
    if (err)
        return err;
    if (words.n != 1)
        return cli_usage("show takes one name; 'mete list' shows them");
    /* the summary comes before the table, so ask for it first */
    err = mete_show(words.at[0], &summary, ignore_setting, NULL);
    if (err)
        return cli_failed(err);
    printf("%s: %s\n", words.at[0], summary);
    err = mete_show(words.at[0], &summary, print_setting, &n);
    if (n == 0)
        puts("\nIt has no settings.");
    return err ? cli_failed(err) : EXIT_DONE;
}
