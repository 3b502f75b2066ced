/* cmd_help.c - mete help and mete version. */
#include "commands.h"
#include "job.h"

struct values {
    bool man, bash, zsh;
};

static const struct option options[] = {
    OPTION_FLAG(struct values, man, "--man", "print the manual page mete(1)"),
    OPTION_FLAG(struct values, bash, "--bash", "print the completion for bash"),
    OPTION_FLAG(struct values, zsh, "--zsh", "print the completion for zsh"),
    {0},
};

static int run_help(const struct command *self, int argc, char **argv)
{
    struct values v = {0};
    struct text_list words = {0};
    int used, err = cli_options(self, argc, argv, &v, &words);
    if (err)
        return err;
    if (v.man || v.bash || v.zsh) {
        (v.man ? manual_print : v.bash ? completion_bash : completion_zsh)(stdout);
        return EXIT_DONE;
    }
    if (words.n == 0) {
        help_list(stdout);
        return EXIT_DONE;
    }
    if (words.n == 1 && command_help_group(words.at[0]))
        return EXIT_DONE;
    const struct command *c = command_find(words.n, (char **)words.at, &used);
    if (!c)
        return EXIT_USAGE;
    help_print(stdout, c);
    return EXIT_DONE;
}

const struct command command_help = {
    .name = "help",
    .summary = "print help, the manual page, or a shell's completion",
    .words = "[COMMAND]...",
    .about = "Prints the list of commands, or the help of one of them.",
    .options = options,
    .examples = "mete help run\n"
                "mete help data import\n"
                "mete help --man | man -l -\n"
                "source <(mete help --bash)\n",
    .run = run_help,
};

static int run_version(const struct command *self, int argc, char **argv)
{
    struct text_list words = {0};
    int err = cli_options(self, argc, argv, NULL, &words);
    if (err)
        return err;
    printf("mete %s\n", mete_version());
    if (mete_ranks())
        printf("%s, %d ranks\n", job_mpi_name(), mete_ranks());
    else if (job_mpi_name())
        printf("%s\n", job_mpi_name());
    return EXIT_DONE;
}

const struct command command_version = {
    .name = "version",
    .summary = "print the version",
    .about = "Prints the version of mete.",
    .run = run_version,
};
