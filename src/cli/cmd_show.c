/* cmd_show.c - mete show: the settings of a plug-in, from its table. */
#include "commands.h"

static void print_setting(void *user, const struct mete_setting *s)
{
    enum { KEY = 22, COLUMN = 36 };
    int *n = user, width = cli_width();
    const char *initial = *s->initial ? s->initial : "-";
    if ((*n)++ == 0)
        printf("\n%-*s %-12s %s\n", KEY, "key", "default",
               width ? "range; meaning" : "range                    meaning");
    int at = printf("%-*s %-12s ", KEY, s->key, initial);
    if (width == 0) { /* a line each, for a program */
        printf("%-24s %s\n", s->range, s->help);
        return;
    }
    char text[1024];
    snprintf(text, sizeof text, "%s; %s", s->range, s->help);
    cli_fill(stdout, text, at, COLUMN, width > COLUMN + 20 ? width : COLUMN + 20);
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
