/* cmd_tasks.c - mete tasks: a benchmark's tasks, to look at or for other software. */
#include "commands.h"

#include <stdlib.h>

struct values {
    const char *part, *labels, *out;
    int n, seed;
    struct text_list set;
    bool json;
};

static const struct option options[] = {
    OPTION_CHOICE(struct values, part, "--part", "train|val|test",
                  "the part of the dataset (default test)"),
    OPTION_COUNT(struct values, n, "--n", "how many (default 600; with users: all of the part)"),
    OPTION_COUNT(struct values, seed, "--seed",
                 "random seed (default 0: the test tasks of every run)"),
    OPTION_TEXT(struct values, labels, "--labels", "STRATEGY",
                "which points are the support: stratified (default) or random"),
    OPTION_LIST(struct values, set, "--set", "KEY=VALUE",
                "a setting, such as task.query=15 or data.split=1000/200/423"),
    OPTION_TEXT(struct values, out, "-o", "FILE", "write the tasks to this JSON file"),
    OPTION_FLAG(struct values, json, "--json", "print the same JSON on standard output"),
    {0},
};

static void print_words(const struct mete_tasks_options *o, const struct mete_tasks *t)
{
    printf("%s: %d %s tasks of seed %lld\n", o->bench, t->n, o->part, (long long)o->seed);
    printf("  %s of the part  %*d\n", t->users ? "users" : "classes", t->users ? 7 : 5, t->groups);
    printf("  ways, shots          %5d, %d\n", t->ways, t->shots);
    printf("  pool of a task       %7.1f items\n", t->pool);
    printf("  support              %7.1f labels of %.2f classes\n", t->support, t->covered);
    printf("  query                %7.1f items\n", t->query);
    if (o->out)
        printf("written to %s\n", o->out);
}

static int run(const struct command *self, int argc, char **argv)
{
    struct values v = {.part = "test", .labels = "stratified"};
    struct mete_tasks result;
    struct text_list words = {0};
    char *text = NULL;
    int err = cli_options(self, argc, argv, &v, &words);
    if (err)
        return err;
    struct mete_tasks_options o = {.size = sizeof o,
                                   .bench = words.at[0],
                                   .part = v.part,
                                   .labels = v.labels,
                                   .set = v.set.at,
                                   .n = v.n,
                                   .seed = v.seed,
                                   .out = v.out};
    err = mete_tasks(&o, &result, v.json ? &text : NULL);
    if (err)
        return cli_failed(err);
    if (v.json)
        fputs(text, stdout);
    else
        print_words(&o, &result);
    free(text);
    return EXIT_DONE;
}

const struct command command_tasks = {
    .name = "tasks",
    .summary = "draw a benchmark's tasks, to inspect them or for other software",
    .words = "BENCH",
    .about = "Draws the tasks of a benchmark.  The same seed gives the same tasks on every "
             "machine.  A task is written as item numbers of the dataset, so that other software "
             "can be tested on the same tasks.",
    .options = options,
    .examples = "mete tasks glyphs:5w-1s\n"
                "mete tasks omniglot:20w-5s --set task.query=5 -o tasks.json\n"
                "mete tasks femnist:1s --part val --json\n",
    .run = run,
};
