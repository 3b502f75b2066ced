/* cmd_plan.c - mete plan: what to do with so many labels. */
#include "commands.h"
#include "finished.h"
#include "mete_plan.h"
#include "progress.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct values {
    const char *target, *page, *price, *methods, *db, *net, *device;
    double labels, minutes;
    int people, threads, seed, seeds;
    bool json;
    struct text_list set;
};

#define SHARED_OPTIONS                                                                             \
    OPTION_REAL(struct values, labels, "--labels", "B", "how many labels there are to spend"),     \
        OPTION_TEXT(struct values, price, "--price", "PRICE",                                      \
                    "of a label: a number, or class:FILE or item:FILE as for budget.cost"),        \
        OPTION_COUNT(struct values, people, "--people",                                            \
                     "how many people can be asked, at most (default: all of the training part)"), \
        OPTION_TEXT(struct values, methods, "--methods", "LIST",                                   \
                    "only these, as in protonet,maml,tuned"),                                      \
        OPTION_TEXT(struct values, net, "--net", "NET",                                            \
                    "conv4 (default; of feature rows mlp) or another"),                            \
        OPTION_LIST(struct values, set, "--set", "KEY=VALUE", "a setting for every run"),          \
        OPTION_TEXT(struct values, db, "--db", "DB",                                               \
                    "the database of its runs (default plan.db)"),                                 \
        OPTION_COUNT(struct values, seed, "--seed", "random seed (default 1)"),                    \
        OPTION_COUNT(struct values, threads, "--threads",                                          \
                     "runs side by side (default: one per core)"),                                 \
        OPTION_TEXT(struct values, device, "--device", "DEVICE", "cpu (default) or cuda"),         \
        OPTION_REAL(struct values, minutes, "--minutes", "T",                                      \
                    "about how long it may take (default: some minutes on two cores)"),            \
        OPTION_FLAG(struct values, json, "--json", "print it as JSON")

static const struct option options[] = {
    SHARED_OPTIONS,
    OPTION_TEXT(struct values, target, "--target", "85%",
                "also say how many labels this accuracy needs"),
    OPTION_TEXT(struct values, page, "-o", "FILE", "also write it as a page, with figures"),
    {0},
};

static const struct option eval_options[] = {
    SHARED_OPTIONS,
    OPTION_COUNT(struct values, seeds, "--seeds", "of each cell of the grid (default 3)"),
    {0},
};

/* "85%" or "0.85" */
static int read_target(const char *text, double *out)
{
    char *end = NULL;
    if (!text)
        return 0;
    *out = strtod(text, &end);
    bool percent = strcmp(end, "%") == 0;
    if (end == text || (*end && !percent) || !(*out > 0))
        return cli_usage("--target %s: expected an accuracy, as in 85%%", text);
    *out = percent || *out > 1 ? *out / 100 : *out;
    return 0;
}

/* Before the minutes of a plan, rather than after them. */
static int check_page(const char *page)
{
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", page);
    char *end = strrchr(folder, '/');
    if (end)
        end[end == folder] = '\0';
    bool fine =
        access(page, F_OK) == 0 ? access(page, W_OK) == 0 : access(end ? folder : ".", W_OK) == 0;
    return fine ? 0 : cli_usage("-o %s: cannot be written", page);
}

/* "plan", or "plan eval" with so many seeds of the grid. */
static void say_before(void *user, double seconds, int32_t steps)
{
    char took[FINISHED_TEXT];
    (void)user;
    if (isnan(seconds))
        return;
    finished_time(seconds, took);
    fprintf(stderr, "Planning takes about %s, with runs of %d training steps.\n", took, steps);
}

static int work(const struct command *self, int argc, char **argv, bool eval)
{
    struct values v = {.db = "plan.db", .seed = 1};
    struct text_list words = {0};
    double target = 0;
    int err = cli_options(self, argc, argv, &v, &words);
    if (!err)
        err = read_target(v.target, &target);
    if (!err && v.page)
        err = check_page(v.page);
    if (err)
        return err;
    struct mete_plan_options o = {.size = sizeof o,
                                  .data = words.at[0],
                                  .labels = v.labels,
                                  .target = target,
                                  .price = v.price,
                                  .methods = v.methods,
                                  .db = v.db,
                                  .net = v.net,
                                  .device = v.device,
                                  .set = v.set.at,
                                  .minutes = v.minutes,
                                  .before = say_before,
                                  .seed = (uint64_t)v.seed,
                                  .people = v.people,
                                  .threads = v.threads};
    const char *format = v.json ? "json" : "text";
    char *plan = NULL;
    err = eval ? mete_plan_eval(&o, v.seeds, format, &plan) : mete_plan(&o, format, &plan);
    if (!err && v.page)
        err = mete_plan_page(v.db, v.page);
    progress_clear();
    if (err)
        return cli_failed(err);
    fputs(plan, stdout);
    mete_free(plan);
    return EXIT_DONE;
}

static int run(const struct command *self, int argc, char **argv)
{
    return work(self, argc, argv, false);
}

static int run_eval(const struct command *self, int argc, char **argv)
{
    return work(self, argc, argv, true);
}

const struct command command_plan = {
    .name = "plan",
    .summary = "what to do with so many labels: method, people, labels each",
    .words = "DATA",
    .about = "Says which method to use, how many people to ask, for how many labels each, and who "
             "chooses them, with the accuracy to expect.  Methods race on the labels that are "
             "known: small runs first, and larger ones of those that do not fall behind.  A plan "
             "that was stopped goes on when the same command is given again.  DATA may say ways "
             "and shots of tests, as in omniglot:5w-1s.",
    .options = options,
    .examples = "mete plan glyphs-users --labels 500\n"
                "mete plan data/wear --labels 2000 --people 20 --target 85%\n"
                "mete plan omniglot:5w-1s --labels 30000 --json\n",
    .run = run,
};

const struct command command_plan_eval = {
    .name = "plan eval",
    .summary = "how good a plan is, beside the full grid and advisors",
    .words = "DATA",
    .about =
        "Makes a plan, then runs every arm that it could have chosen with all labels, and tests "
        "them on people whom the plan did not look at.  Prints how much worse than the best "
        "of them the plan's choice is, and how much worse those of advisors who look at no "
        "data: the paper's bound, a number of people that grows as the root of the labels "
        "(Cioba et al. 2022), one shot, and the best of 1, 3 and 5 shots.",
    .options = eval_options,
    .examples = "mete plan eval glyphs-users --labels 500 --set net.filters=8\n",
    .run = run_eval,
};
