/* main.c - the command line: global options, then one command. */
#include "commands.h"
#include "commit.h" /* made by the build */
#include "job.h"
#include "progress.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void print_message(void *user, enum mete_log_level level, const char *message)
{
    (void)user;
    progress_clear();
    fprintf(stderr, "%s%s\n", level == METE_LOG_WARN ? "warning: " : "", message);
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* Ends the program: the library would abort. */
static void no_memory(size_t bytes)
{
    char line[256];
    const char *rank = mete_ranks_name();
    int n = snprintf(line, sizeof line, "mete: %s%sout of memory (%zu bytes)\n", rank,
                     *rank ? ": " : "", bytes);
    if (write(STDERR_FILENO, line, (size_t)n) < 0)
        _exit(EXIT_FAILED);
    _exit(EXIT_FAILED);
}

static int run(int argc, char **argv)
{
    int used = 1;
    if (argc < 2) {
        help_list(stderr);
        return EXIT_USAGE;
    }
    if (is_help(argv[1])) {
        help_list(stdout);
        return EXIT_DONE;
    }
    if (strcmp(argv[1], "--version") == 0)
        argv[1] = "version";
    if (argc > 2 && is_help(argv[2]) && command_help_group(argv[1]))
        return EXIT_DONE;
    const struct command *c = command_find(argc - 1, argv + 1, &used);
    if (!c)
        return EXIT_USAGE;
    for (int i = used + 1; i < argc; i++)
        if (is_help(argv[i])) {
            help_print(stdout, c);
            return EXIT_DONE;
        }
    mete_log_to(print_message, NULL);
    progress_show();
    int status = c->run(c, argc - used, argv + used);
    progress_clear();
    return status;
}

/* A file opened later must not take the number of a closed standard stream; writing to one that
 * was closed goes on failing. */
static void keep_standard_streams(void)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_RDONLY : O_WRONLY) != fd)
            _exit(EXIT_FAILED);
}

int main(int argc, char **argv)
{
    keep_standard_streams();
    mete_commit_is(METE_COMMIT);
    mete_out_of_memory_to(no_memory);
    return cli_finish(job_run(argc, argv, run));
}
