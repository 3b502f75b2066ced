/* cmd_data.c - mete data: datasets in, and a look at them. */
#include "cli.h"
#include "commands.h"

#include <stdio.h>
#include <string.h>

static int run_import(int argc, char **argv)
{
    const char *dir = NULL;
    bool force = false;
    int threads = 0;
    struct text_list settings = {0}, words = {0};
    const struct option_row rows[] = {
        {"-o", OPT_TEXT, &dir},
        {"--set", OPT_LIST, &settings},
        {"--force", OPT_FLAG, &force},
        {"--threads", OPT_INT, &threads},
        {0},
    };
    int status =
        cli_options(argc, argv, "usage: mete data import KIND PATH... -o DIR\n", rows, &words);
    if (status)
        return status;
    if (words.n < 1)
        return cli_usage("data import: which kind? 'mete data import --help' lists them");
    struct mete_import_options options = {.kind = words.at[0],
                                          .paths = words.at + 1,
                                          .dir = dir,
                                          .settings = settings.at,
                                          .force = force};
    options.threads = threads;
    int err = mete_data_import(&options);
    return err ? cli_failed(err) : EXIT_DONE;
}

static const struct verb {
    const char *name;
    int (*run)(int argc, char **argv);
} verbs[] = {
    {"import", run_import},
};

int cmd_data(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(argv[1], verbs[i].name) == 0)
            return verbs[i].run(argc - 1, argv + 1);
    return cli_usage("data: expected import, info, sheet or fetch");
}
