/* cmd_train.c - mete train and mete eval: one run, one model. */
#include "commands.h"
#include "progress.h"

#include <math.h>
#include <string.h>

/* One task has no interval. */
static void print_half(char out[16], double half)
{
    if (isnan(half))
        snprintf(out, 16, "      -");
    else
        snprintf(out, 16, "±%6.2f", 100 * half);
}

static void print_test(void *user, const struct mete_test *t)
{
    int *n = user;
    char half[16];
    print_half(half, t->half);
    if ((*n)++ == 0)
        printf("%-6s %5s %-11s %-8s %6s %14s %8s %8s %6s\n", "model",
               t->labels ? "labels" : "shots", "support", "bn", "tasks", "accuracy %", "before %",
               "loss", "ECE");
    printf("%-6s %*d %-11s %-8s %6d %6.2f %s %8.2f %8.4f %6.3f\n", t->model, t->labels ? 6 : 5,
           t->labels ? t->labels : t->shots, t->support, t->bn, t->tasks, 100 * t->accuracy, half,
           100 * t->before, t->loss, t->ece);
    if (!isnan(t->kept))
        printf("       made worse %.1f %%; %.1f %% keep the model for all "
               "(all adapted: %.2f %%, worse %.1f %%)\n",
               100 * t->worse, 100 * t->kept, 100 * t->adapted, 100 * t->adapted_worse);
}

static void print_test_json(void *user, const struct mete_test *t)
{
    (void)user;
    printf("{\"model\": \"%s\", \"shots\": %d, \"support\": \"%s\", \"bn\": \"%s\", \"tasks\": %d",
           t->model, t->shots, t->support, t->bn, t->tasks);
    const struct {
        const char *key;
        double value;
    } numbers[] = {{"accuracy", t->accuracy}, {"half", t->half},
                   {"before", t->before},     {"loss", t->loss},
                   {"ece", t->ece},           {"valid_accuracy", t->valid_accuracy}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i].value == numbers[i].value || strcmp(numbers[i].key, "valid_accuracy") != 0) {
            fputs(", ", stdout);
            cli_json_real(numbers[i].key, "%.6f", numbers[i].value);
        }
    if (t->labels)
        printf(", \"labels\": %d", t->labels);
    if (t->users)
        printf(", \"users\": %d", t->users);
    if (!isnan(t->kept))
        printf(", \"worse\": %.6f, \"kept\": %.6f, \"adapted\": %.6f, \"adapted_worse\": %.6f",
               t->worse, t->kept, t->adapted, t->adapted_worse);
    puts("}");
}

static void print_config(void *user, const char *text)
{
    (void)user;
    fputs(text, stdout);
}

/* ---- train ---- */

struct train_values {
    const char *method, *labels, *net, *device, *folder;
    int seed, threads, rank_timeout;
    struct text_list set;
    bool json, print_config;
};

static const struct option train_options[] = {
    OPTION_TEXT(struct train_values, method, "--method", "METHOD",
                "maml (default), reptile, protonet or fedavg"),
    OPTION_TEXT(struct train_values, labels, "--labels", "STRATEGY",
                "which points to label: random (default), stratified, active, ..."),
    OPTION_TEXT(struct train_values, net, "--net", "NET", "conv4 (default) or mlp"),
    OPTION_COUNT(struct train_values, seed, "--seed", "random seed (default 1)"),
    OPTION_COUNT(struct train_values, threads, "--threads", "threads (default: one per core)"),
    OPTION_TEXT(struct train_values, device, "--device", "DEVICE", "cpu (default) or cuda"),
    OPTION_COUNT(struct train_values, rank_timeout, "--rank-timeout", RANK_TIMEOUT_HELP),
    OPTION_TEXT(struct train_values, folder, "-o", "FOLDER",
                "where the model and its records go (default runs/NAME-HASH)"),
    OPTION_LIST(struct train_values, set, "--set", "KEY=VALUE",
                "a setting; may be repeated ('mete show run' and 'mete show maml' list them)"),
    OPTION_FLAG(struct train_values, print_config, "--print-config",
                "print every setting and where it came from; train nothing"),
    OPTION_FLAG(struct train_values, json, "--json", "print each test as a line of JSON"),
    {0},
};

static int run_train(const struct command *self, int argc, char **argv)
{
    int n = 0;
    struct train_values v = {.seed = 1, .rank_timeout = RANK_TIMEOUT};
    struct text_list words = {0};
    int err = cli_options(self, argc, argv, &v, &words);
    if (err)
        return err;
    struct mete_train_options o = {.size = sizeof o,
                                   .bench = words.at[0],
                                   .method = v.method,
                                   .labels = v.labels,
                                   .net = v.net,
                                   .device = v.device,
                                   .folder = v.folder,
                                   .set = v.set.at,
                                   .seed = (uint64_t)v.seed,
                                   .threads = v.threads,
                                   .print_config = v.print_config,
                                   .test = v.json ? print_test_json : print_test,
                                   .config = print_config,
                                   .user = &n};
    mete_ranks_timeout(v.rank_timeout);
    err = mete_train(&o);
    if (err == METE_ESTOPPED) {
        progress_clear();
        fputs("The same command continues from the last checkpoint.\n", stderr);
    }
    return err ? cli_failed(err) : EXIT_DONE;
}

const struct command command_train = {
    .name = "train",
    .summary = "train one model under a label budget and test it",
    .words = "BENCH",
    .about = "Trains one model on the labels that the benchmark's budget pays for, tests it, and "
             "saves it.  A run that was stopped continues from its last checkpoint when the same "
             "command is started again.",
    .options = train_options,
    .examples = "mete train glyphs:5w-1s@2K --method protonet --labels active\n"
                "mete train omniglot:5w-1s@30K --set first_order=no --set inner.lr=0.1\n",
    .run = run_train,
};

/* ---- eval ---- */

struct eval_values {
    const char *tasks, *device;
    int threads, rank_timeout;
    struct text_list set;
    bool json;
};

static const struct option eval_options[] = {
    OPTION_TEXT(struct eval_values, tasks, "--tasks", "FILE",
                "test on the tasks of this file, which 'mete tasks -o' writes"),
    OPTION_COUNT(struct eval_values, threads, "--threads", "threads (default: one per core)"),
    OPTION_TEXT(struct eval_values, device, "--device", "DEVICE", "cpu (default) or cuda"),
    OPTION_COUNT(struct eval_values, rank_timeout, "--rank-timeout", RANK_TIMEOUT_HELP),
    OPTION_LIST(struct eval_values, set, "--set", "KEY=VALUE",
                "a setting, such as test.shots=1,5,10 or net.bn=support"),
    OPTION_FLAG(struct eval_values, json, "--json", "print each test as a line of JSON"),
    {0},
};

static int run_eval(const struct command *self, int argc, char **argv)
{
    int n = 0;
    struct eval_values v = {.rank_timeout = RANK_TIMEOUT};
    struct text_list words = {0};
    int err = cli_options(self, argc, argv, &v, &words);
    if (err)
        return err;
    struct mete_eval_options o = {.size = sizeof o,
                                  .model = words.at[0],
                                  .bench = words.at[1],
                                  .tasks = v.tasks,
                                  .device = v.device,
                                  .set = v.set.at,
                                  .threads = v.threads,
                                  .test = v.json ? print_test_json : print_test,
                                  .user = &n};
    mete_ranks_timeout(v.rank_timeout);
    err = mete_eval(&o);
    return err ? cli_failed(err) : EXIT_DONE;
}

const struct command command_eval = {
    .name = "eval",
    .summary = "test a trained model",
    .words = "MODEL [BENCH]",
    .about = "Tests a saved model on the benchmark it was trained on, or on another one.",
    .options = eval_options,
    .examples = "mete eval runs/glyphs-5w-1s-2K-protonet-active-1a2b3c4d/best.safetensors\n"
                "mete tasks glyphs:5w-1s -o tasks.json\n"
                "mete eval best.safetensors --tasks tasks.json\n",
    .run = run_eval,
};
