/* cmd_tasks.c - mete tasks: a benchmark's tasks, to look at or to hand on. */
#include "cli.h"
#include "commands.h"

#include <stdio.h>
#include <stdlib.h>

static const char usage[] =
    "usage: mete tasks BENCH [--part test] [--n N] [--seed S] [-o tasks.json | --json]\n\n"
    "Draws the tasks of a benchmark: the same for the same seed, everywhere.  As a file they\n"
    "are item numbers of the dataset, so that other software can score the same tasks.\n\n"
    "  --part P       train, val or test (default)\n"
    "  --n N          how many (default 600; users: all of the part)\n"
    "  --seed S       default 0, as the test tasks of every run\n"
    "  --labels L     who chooses the supports: stratified (default) or random\n"
    "  --set k=v      a setting, such as task.query=15 or data.split=1000/200/423\n"
    "  -o FILE        write tasks.json\n"
    "  --json         the same on standard output\n\n"
    "examples:\n"
    "  mete tasks glyphs:5w-1s\n"
    "  mete tasks omniglot:20w-5s --set task.query=5 -o tasks.json\n"
    "  mete tasks femnist:1s --part val --json\n";

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

int cmd_tasks(int argc, char **argv)
{
    struct mete_tasks_options o = {.part = "test", .labels = "stratified"};
    struct mete_tasks result;
    struct text_list words = {0}, set = {0};
    bool json = false;
    int n = 0, seed = 0;
    char *text = NULL;
    const struct option_row rows[] = {
        {"--part", OPT_TEXT, &o.part}, {"--labels", OPT_TEXT, &o.labels},
        {"--n", OPT_INT, &n},          {"--seed", OPT_INT, &seed},
        {"--set", OPT_LIST, &set},     {"-o", OPT_TEXT, &o.out},
        {"--json", OPT_FLAG, &json},   {0},
    };
    int err = cli_options(argc, argv, usage, rows, &words);
    if (err)
        return err;
    if (words.n != 1)
        return cli_usage("tasks: which benchmark?  One such as omniglot:5w-1s");
    o.bench = words.at[0];
    o.set = set.at;
    o.n = n;
    o.seed = seed;
    err = mete_tasks(&o, &result, json ? &text : NULL);
    if (err)
        return cli_failed(err);
    if (json)
        fputs(text, stdout);
    else
        print_words(&o, &result);
    free(text);
    return EXIT_DONE;
}
