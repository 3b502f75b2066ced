/* cmd_serve.c - mete serve: a page in the browser. */
#include "commands.h"

#include <signal.h>
#include <string.h>

enum { PORT = 8642 };

struct values {
    const char *bind, *model, *labels;
    int port, n;
};

static const struct option options[] = {
    OPTION_COUNT(struct values, port, "--port", "the port (default 8642; 0: any that is free)"),
    OPTION_TEXT(struct values, bind, "--bind", "ADDRESS",
                "an address of this machine that others can reach (default 127.0.0.1, which they "
                "cannot)"),
    OPTION_TEXT(struct values, model, "--model", "MODEL",
                "of a dataset: a model file or a run's folder, which chooses what is asked"),
    OPTION_TEXT(struct values, labels, "--labels", "STRATEGY",
                "of a dataset: who chooses, as for 'mete label next' (default kmeans)"),
    OPTION_COUNT(struct values, n, "--n", "of a dataset: questions chosen at a time (default 5)"),
    {0},
};

static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
    stopped = number;
}

static int is_stopped(void *user)
{
    (void)user;
    return stopped;
}

static bool is_loopback(const char *address)
{
    return strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0;
}

/* The address alone on standard output, for scripts. */
static void on_ready(void *user, const char *address)
{
    const struct values *v = user;
    if (v->bind && !is_loopback(v->bind))
        fprintf(stderr,
                "warning: --bind %s: the page can be reached from other machines, and the token "
                "travels unencrypted\n",
                v->bind);
    puts(address);
    fflush(stdout);
    fputs("Open this address; whoever has it has access.  Ctrl-C ends it.\n", stderr);
}

static int run(const struct command *self, int argc, char **argv)
{
    struct values v = {.port = PORT};
    struct text_list words = {0};
    int err = cli_options(self, argc, argv, &v, &words);
    if (err)
        return err;
    if (v.port > 65535)
        return cli_usage("--port: expected 0 to 65535, got %d", v.port);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    struct mete_serve_options o = {.size = sizeof o,
                                   .what = words.at[0],
                                   .bind = v.bind,
                                   .port = v.port,
                                   .ready = on_ready,
                                   .stop = is_stopped,
                                   .model = v.model,
                                   .labels = v.labels,
                                   .round = v.n,
                                   .user = &v};
    err = mete_serve(&o);
    return err ? cli_failed(err) : EXIT_DONE;
}

const struct command command_serve = {
    .name = "serve",
    .summary = "a page in the browser: runs as they go, or items to label",
    .words = "DB|DATA",
    .about = "Serves a page to this machine's browsers and prints its address.  Of a results "
             "database: its runs as they go, and the report's charts; the database is only read.  "
             "Of a dataset: its items, one at a time, for people to label; what is asked is chosen "
             "as 'mete label next' does, and an answer is charged and on the disk before the page "
             "says that it is saved.",
    .options = options,
    .examples = "mete serve results.db\n"
                "mete serve results.db --port 0\n"
                "mete serve data/photos --model runs/photos\n",
    .run = run,
};
