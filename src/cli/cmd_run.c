/* cmd_run.c - mete run: a suite of runs. */
#include "cli.h"
#include "commands.h"
#include "finished.h"

#include <stdio.h>
#include <unistd.h>

static const char usage[] =
    "usage: mete run SUITE.yaml [--db results.db] [options]\n\n"
    "Runs every run of a suite and keeps the results in one database.  It can be killed at any\n"
    "moment and goes on when started again; several of them on one database share the work.\n"
    "  --db FILE        the database (default results.db)\n"
    "  --seeds N        seeds 1..N instead of the suite's\n"
    "  --threads N      (default: one per core; on a GPU, so many runs side by side, default 1)\n"
    "  --device D       cpu (default), cuda\n"
    "  --together N     on a GPU: N runs of equal shape share launches, as in --threads 8\n"
    "                   --together 4 (docs/kernels.md)\n"
    "  --set k=v        a setting for every run\n"
    "  --only k=P       only the runs whose setting k fits the pattern P, as in method=maml\n"
    "  --dry-run        list the runs, their labels, work and time; run nothing\n"
    "  --print-config   show every run's settings and where each came from; run nothing\n"
    "  --retry          also try again what failed before\n"
    "  --json           with --dry-run: one JSON object a line\n\n"
    "examples:\n"
    "  mete run suites/quick.yaml && mete results results.db\n"
    "  mete run suites/table1-omniglot.yaml --db table1.db --dry-run\n"
    "  mete run suites/table1-omniglot.yaml --db table1.db --only bench='*5w*@30K' --device cuda\n";

struct total {
    int runs;
    double labels, gflop, seconds;
    bool json;
};

static void add(struct total *t, const struct mete_planned_run *r)
{
    t->runs++;
    t->labels += (double)r->n_labels;
    t->gflop += r->gflop;
    t->seconds += r->seconds;
}

static void print_run(void *user, const struct mete_planned_run *r)
{
    struct total *t = user;
    add(t, r);
    if (t->json) {
        printf("{\"bench\": \"%s\", \"method\": \"%s\", \"labels\": \"%s\", \"seed\": %llu, "
               "\"tasks\": %lld, \"n_labels\": %lld, \"gflop\": %.6g, \"seconds\": %.6g}\n",
               r->bench, r->method, r->labels, (unsigned long long)r->seed, (long long)r->tasks,
               (long long)r->n_labels, r->gflop, r->seconds);
        return;
    }
    if (t->runs == 1)
        printf("%-28s %-9s %-11s %5s %5s %8s %9s %10s %9s\n", "benchmark", "method", "labels",
               "shots", "seed", "tasks", "labels", "TFLOP", "minutes");
    printf("%-28s %-9s %-11s %5d %5llu %8lld %9lld %10.1f %9.1f\n", r->bench, r->method, r->labels,
           r->shots, (unsigned long long)r->seed, (long long)r->tasks, (long long)r->n_labels,
           r->gflop / 1e3, r->seconds / 60);
}

/* Runs go side by side, one thread each: the time divides. */
static void print_total(const struct total *t, int threads)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    double workers = threads > 0 ? threads : cores > 0 ? (double)cores : 1;
    printf("\n%d runs, %.0f labels, %.1f TFLOP of training, %.1f minutes on one thread", t->runs,
           t->labels, t->gflop / 1e3, t->seconds / 60);
    if (workers > 1)
        printf(", %.1f on %.0f", t->seconds / 60 / workers, workers);
    puts("");
}

static void print_config(void *user, const char *text)
{
    (void)user;
    puts(text);
}

int cmd_run(int argc, char **argv)
{
    struct total total = {0};
    struct mete_run_options o = {.db = "results.db",
                                 .planned = print_run,
                                 .config = print_config,
                                 .finished = finished_print,
                                 .user = &total};
    struct text_list words = {0}, set = {0}, only = {0};
    const struct option_row rows[] = {
        {"--db", OPT_TEXT, &o.db},
        {"--seeds", OPT_INT, &o.seeds},
        {"--threads", OPT_INT, &o.threads},
        {"--device", OPT_TEXT, &o.device},
        {"--set", OPT_LIST, &set},
        {"--dry-run", OPT_FLAG, &o.dry_run},
        {"--retry", OPT_FLAG, &o.retry},
        {"--print-config", OPT_FLAG, &o.print_config},
        {"--json", OPT_FLAG, &total.json},
        {"--only", OPT_LIST, &only},
        {"--together", OPT_INT, &o.together},
        {0},
    };
    int err = cli_options(argc, argv, usage, rows, &words);
    if (err)
        return err;
    if (words.n != 1)
        return cli_usage("run takes one suite, as in suites/quick.yaml");
    o.suite = words.at[0];
    o.set = set.at;
    o.only = only.n ? only.at : NULL;
    err = mete_run(&o);
    if (!err && o.dry_run && !total.json)
        print_total(&total, o.threads);
    return err ? cli_failed(err) : EXIT_DONE;
}
