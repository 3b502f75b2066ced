/* main.c - the command: a table of verbs. */
#include "cli.h"
#include "commands.h"
#include "progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
} commands[] = {
    {"train", cmd_train, "train one model under a label budget, and test it"},
    {"eval", cmd_eval, "test a trained model"},
    {"run", cmd_run, "run a suite; results go to a database"},
    {"bound", cmd_bound, "what the theory promises for n tasks of m points"},
    {"stability", cmd_stability, "measure what the theory speaks of on a benchmark"},
    {"drift", cmd_drift, "Reptile's update against the gradient it stands for"},
    {"list", cmd_list, "show the methods, label strategies, nets and devices built in"},
    {"show", cmd_show, "show a plug-in's settings"},
    {"grad", cmd_grad, "compute the meta-gradient of a given task"},
    {"speed", cmd_speed, "measure tasks per second"},
    {"report", cmd_report, "turn a results database into one HTML page"},
    {"results", cmd_results, "print the tables of a results database"},
    {"tasks", cmd_tasks, "draw a benchmark's tasks, to look at or for other software"},
    {"version", cmd_version, "print the version"},
    {"data", cmd_data, "import a dataset, look at it, fetch one"},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

int cmd_version(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    printf("mete %s\n", mete_version());
    return EXIT_DONE;
}

static void print_help(FILE *to)
{
    fputs("mete - meta-learning on a label budget\n\nusage: mete COMMAND [options]\n\n", to);
    for (int i = 0; i < COMMANDS; i++)
        fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].help);
    fputs("\n'mete COMMAND --help' says more, with examples.\n", to);
}

static void say(void *user, enum mete_log_level level, const char *message)
{
    (void)user;
    progress_clear();
    fprintf(stderr, "%s%s\n", level == METE_LOG_WARN ? "warning: " : "", message);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_help(stdout);
        return EXIT_DONE;
    }
    if (strcmp(name, "--version") == 0)
        name = "version";
    mete_log_to(say, NULL);
    progress_show();
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0) {
            int status = commands[i].run(argc - 1, argv + 1);
            progress_clear();
            return status;
        }
    return cli_usage("no command '%s'; 'mete --help' lists them", name);
}
