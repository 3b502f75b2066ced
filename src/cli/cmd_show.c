/* cmd_show.c - mete show: the settings of a plug-in, from its table. */
#include "commands.h"

static void print_setting(void *user, const struct mete_setting *s)
{
    enum { COLUMN = 24 };
    int *n = user, width = cli_width();
    printf("%s%s\n", (*n)++ ? "" : "\n", s->key);
    int at = printf("    %-*s", COLUMN - 5, s->range) + 1;
    if (at > COLUMN)
        at = printf("\n%*s", COLUMN - 1, "");
    printf(" ");
    cli_fill(stdout, s->help, at, COLUMN, width ? width : 10000);
    printf("    default %s\n", *s->initial ? s->initial : "none");
}

static void ignore_setting(void *user, const struct mete_setting *s)
{
    (void)user;
    (void)s;
}

static int run(const struct command *self, int argc, char **argv)
{
    struct text_list words = {0};
    const char *summary = NULL;
    int n = 0;
    int err = cli_options(self, argc, argv, NULL, &words);
    if (err)
        return err;
    /* the summary is printed before the settings, so it is asked for first */
    err = mete_show(words.at[0], &summary, ignore_setting, NULL);
    if (err)
        return cli_failed(err);
    printf("%s: %s\n", words.at[0], summary);
    err = mete_show(words.at[0], &summary, print_setting, &n);
    if (n == 0)
        puts("\nIt has no settings.");
    return err ? cli_failed(err) : EXIT_DONE;
}

const struct command command_show = {
    .name = "show",
    .summary = "print the settings of a method, strategy, net or importer",
    .words = "NAME",
    .about = "Prints each setting with its range, its default and its meaning.  'mete show run' "
             "prints the settings that every run has; 'mete list' prints the names.",
    .examples = "mete show maml\nmete show active\nmete show run\n",
    .run = run,
};
