/* cmd_train.c - mete train and mete eval: one run, one model. */
#include "cli.h"
#include "commands.h"

#include <math.h>
#include <stdio.h>

static const char train_usage[] =
    "usage: mete train BENCH [--method M] [--labels S] [options]\n\n"
    "Trains one model under the benchmark's label budget, tests it, and keeps it.  A killed run\n"
    "goes on where it stood when it is started again.\n"
    "  --method M       maml (default), reptile, protonet, fedavg\n"
    "  --labels S       who chooses the labels: random (default), stratified, active, ...\n"
    "  --net N          conv4 (default), mlp\n"
    "  --seed N         (default 1)\n"
    "  --threads N      (default: one per core)\n"
    "  --device D       cpu (default), cuda\n"
    "  -o FOLDER        where models and records go (default runs/NAME-HASH)\n"
    "  --set k=v        a setting; repeat it for more ('mete show run', 'mete show maml')\n"
    "  --print-config   only show the settings and where each came from\n"
    "  --json           results as JSON, one object a line\n\n"
    "examples:\n"
    "  mete train glyphs:5w-1s@2K --method protonet --labels active\n"
    "  mete train omniglot:5w-1s@30K --method maml --set first_order=no --set inner.lr=0.1\n";

static const char eval_usage[] =
    "usage: mete eval MODEL.safetensors [BENCH] [options]\n\n"
    "Tests a model that training left, on its own benchmark or another one.\n"
    "  --tasks FILE     the tasks of a tasks.json, which 'mete tasks -o' writes\n"
    "  --threads N      (default: one per core)\n"
    "  --device D       cpu (default), cuda\n"
    "  --set k=v        a setting, such as test.shots=1,5,10 or net.bn=support\n"
    "  --json           results as JSON, one object a line\n\n"
    "examples:\n  mete eval runs/glyphs-5w-1s-2K-protonet-active-1a2b3c4d/best.safetensors\n"
    "  mete tasks glyphs:5w-1s -o tasks.json && mete eval best.safetensors --tasks tasks.json\n";

static void print_test(void *user, const struct mete_test *t)
{
    int *n = user;
    if ((*n)++ == 0)
        printf("%-6s %5s %-11s %-8s %6s  %-16s %8s %7s %6s\n", "model", "shots", "support", "bn",
               "tasks", "accuracy %", "before %", "loss", "ECE");
    printf("%-6s %5d %-11s %-8s %6d  %6.2f +- %5.2f %8.2f %9.4f %6.3f\n", t->model, t->shots,
           t->support, t->bn, t->tasks, 100 * t->accuracy, 100 * t->half, 100 * t->before, t->loss,
           t->ece);
}

static void print_test_json(void *user, const struct mete_test *t)
{
    (void)user;
    printf("{\"model\": \"%s\", \"shots\": %d, \"support\": \"%s\", \"bn\": \"%s\", \"tasks\": %d, "
           "\"accuracy\": %.6f, \"half\": %.6f, \"before\": %.6f, \"loss\": %.6f, \"ece\": %.6f",
           t->model, t->shots, t->support, t->bn, t->tasks, t->accuracy, t->half, t->before,
           t->loss, t->ece);
    if (!isnan(t->valid_accuracy))
        printf(", \"valid_accuracy\": %.6f", t->valid_accuracy);
    puts("}");
}

static void print_config(void *user, const char *text)
{
    (void)user;
    fputs(text, stdout);
}

int cmd_train(int argc, char **argv)
{
    int seed = 1, n = 0;
    bool json = false;
    struct mete_train_options o = {.config = print_config, .user = &n};
    struct text_list words = {0}, set = {0};
    const struct option_row rows[] = {
        {"--method", OPT_TEXT, &o.method},
        {"--labels", OPT_TEXT, &o.labels},
        {"--net", OPT_TEXT, &o.net},
        {"--device", OPT_TEXT, &o.device},
        {"--seed", OPT_INT, &seed},
        {"--threads", OPT_INT, &o.threads},
        {"-o", OPT_TEXT, &o.folder},
        {"--set", OPT_LIST, &set},
        {"--json", OPT_FLAG, &json},
        {"--print-config", OPT_FLAG, &o.print_config},
        {0},
    };
    int err = cli_options(argc, argv, train_usage, rows, &words);
    if (err)
        return err;
    if (words.n != 1 || seed < 0)
        return cli_usage(words.n == 1 ? "--seed: expected a whole number from 0 on"
                                      : "train takes one benchmark, as in glyphs:5w-1s@2K");
    o.bench = words.at[0];
    o.seed = (uint64_t)seed;
    o.set = set.at;
    o.test = json ? print_test_json : print_test;
    err = mete_train(&o);
    return err ? cli_failed(err) : EXIT_DONE;
}

int cmd_eval(int argc, char **argv)
{
    int n = 0;
    bool json = false;
    struct mete_eval_options o = {.user = &n};
    struct text_list words = {0}, set = {0};
    const struct option_row rows[] = {
        {"--tasks", OPT_TEXT, &o.tasks},    {"--device", OPT_TEXT, &o.device},
        {"--threads", OPT_INT, &o.threads}, {"--set", OPT_LIST, &set},
        {"--json", OPT_FLAG, &json},        {0},
    };
    int err = cli_options(argc, argv, eval_usage, rows, &words);
    if (err)
        return err;
    if (words.n < 1 || words.n > 2)
        return cli_usage("eval takes a model file, and perhaps a benchmark");
    o.model = words.at[0];
    o.bench = words.at[1];
    o.set = set.at;
    o.test = json ? print_test_json : print_test;
    err = mete_eval(&o);
    return err ? cli_failed(err) : EXIT_DONE;
}
