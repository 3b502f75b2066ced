/* cmd_run.c - mete run: a suite of runs. */
#include "commands.h"
#include "finished.h"
#include "progress.h"

#include <string.h>
#include <time.h>
#include <stdlib.h>
#include <unistd.h>

/* Runs that differ in nothing but their seed are a row. */
struct row {
    char bench[300], method[64], labels[64], settings[256];
    int shots, runs, done;
    double n_labels, gflop, seconds; /* of one run */
};

struct total {
    int runs, done;
    double labels, gflop, seconds; /* of those that are not done */
    bool json;
    struct row row;  /* not printed yet, if it has runs */
    char bench[300]; /* the last heading */
};

static void print_json(const struct mete_planned_run *r)
{
    putchar('{');
    cli_json_text("bench", r->bench);
    printf(", \"method\": \"%s\", \"labels\": \"%s\", \"seed\": %llu, \"state\": \"%s\", "
           "\"tasks\": %lld, \"n_labels\": %lld, ",
           r->method, r->labels, (unsigned long long)r->seed, r->state, (long long)r->tasks,
           (long long)r->n_labels);
    cli_json_real("gflop", "%.6g", r->gflop);
    fputs(", ", stdout);
    cli_json_real("seconds", "%.6g", r->seconds);
    puts("}");
}

static void print_row(struct total *t)
{
    const struct row *r = &t->row;
    char labels[FINISHED_TEXT], took[FINISHED_TEXT];
    if (r->runs == 0)
        return;
    progress_clear();
    if (strcmp(t->bench, r->bench) != 0)
        printf("%s\n", r->bench);
    snprintf(t->bench, sizeof t->bench, "%s", r->bench);
    finished_number((int64_t)r->n_labels, labels);
    finished_time(r->seconds, took);
    printf("  %-9s %-11s %5d %5d %5d %12s %10.1f %10s\n", r->method, r->labels, r->shots, r->runs,
           r->done, labels, r->gflop / 1e3, took);
    if (*r->settings) {
        int width = cli_width();
        fputs("    ", stdout);
        cli_fill(stdout, r->settings, 4, 4, width ? width : 10000);
    }
    fflush(stdout);
}

static void print_run(void *user, const struct mete_planned_run *r)
{
    struct total *t = user;
    struct row *row = &t->row;
    bool done = strcmp(r->state, "done") == 0;
    if (t->runs == 0 && !t->json)
        printf("  %-9s %-11s %5s %5s %5s %12s %10s %10s\n", "method", "labels", "shots", "runs",
               "done", "labels each", "TFLOP each", "time each");
    fflush(stdout);
    t->runs++;
    t->done += done;
    if (!done) {
        t->labels += (double)r->n_labels;
        t->gflop += r->gflop;
        t->seconds += r->seconds;
    }
    if (t->json) {
        print_json(r);
        return;
    }
    if (row->runs == 0 || strcmp(row->bench, r->bench) != 0 ||
        strcmp(row->method, r->method) != 0 || strcmp(row->labels, r->labels) != 0 ||
        row->shots != r->shots || strcmp(row->settings, r->settings) != 0) {
        print_row(t);
        *row = (struct row){.shots = r->shots,
                            .n_labels = (double)r->n_labels,
                            .gflop = r->gflop,
                            .seconds = r->seconds};
        snprintf(row->bench, sizeof row->bench, "%s", r->bench);
        snprintf(row->method, sizeof row->method, "%s", r->method);
        snprintf(row->labels, sizeof row->labels, "%s", r->labels);
        snprintf(row->settings, sizeof row->settings, "%s", r->settings);
    }
    row->runs++;
    row->done += done;
}

/* Runs go side by side, one thread each: the time divides. */
static void print_total(struct total *t, int threads)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    double workers = threads > 0 ? threads : cores > 0 ? (double)cores : 1;
    char labels[FINISHED_TEXT], one[FINISHED_TEXT], all[FINISHED_TEXT];
    print_row(t);
    finished_number((int64_t)t->labels, labels);
    finished_time(t->seconds, one);
    finished_time(t->seconds / workers, all);
    printf("\n%d runs: %d done, %d to go", t->runs, t->done, t->runs - t->done);
    if (t->runs > t->done)
        printf(", with %s labels and %.1f TFLOP\nabout %s on one thread", labels, t->gflop / 1e3,
               one);
    if (t->runs > t->done && workers > 1)
        printf(", %s on %.0f", all, workers);
    puts("");
}

static void print_config(void *user, const char *text)
{
    (void)user;
    puts(text);
}

/* What has been done, and how to go on. */
static void print_summary(const struct mete_run_summary *s, const struct mete_run_options *o,
                          double seconds)
{
    int left = s->runs - s->done - s->failed - s->running;
    char labels[FINISHED_TEXT], took[FINISHED_TEXT];
    if (s->runs == 0)
        return;
    progress_clear();
    finished_number(s->n_labels, labels);
    finished_time(seconds, took);
    fprintf(stderr, "%d of %d runs done", s->done, s->runs);
    if (s->failed)
        fprintf(stderr, ", %d failed", s->failed);
    if (s->running)
        fprintf(stderr, ", %d running in another process", s->running);
    if (left)
        fprintf(stderr, ", %d to go", left);
    if (s->finished)
        fprintf(stderr, "; %d now, with %s labels, in %s", s->finished, labels, took);
    fputs(".\n", stderr);
    if (s->out_of_time)
        fprintf(stderr, "%g minutes are over: %d run%s to go; run the same command again.\n",
                o->minutes, left, left == 1 ? "" : "s");
    else if (left)
        fputs("Run the same command again to go on.\n", stderr);
    else if (s->done == s->runs && !getenv("METE_NO_HINT")) /* a script that says it itself */
        fprintf(stderr, "Next: mete results %s\n      mete report %s -o report.html\n", o->db,
                o->db);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct values {
    const char *db, *device;
    int seeds, threads, together, ranks_per_run, rank_timeout;
    struct text_list set, only;
    double minutes;
    bool dry_run, print_config, retry, json;
};

static const struct option options[] = {
    OPTION_TEXT(struct values, db, "--db", "DB", "the results database (default results.db)"),
    OPTION_COUNT(struct values, seeds, "--seeds", "run seeds 1 to N instead of the suite's"),
    OPTION_COUNT(struct values, threads, "--threads",
                 "runs side by side (default: one per core; on a GPU 1)"),
    OPTION_TEXT(struct values, device, "--device", "DEVICE", "cpu (default) or cuda"),
    OPTION_COUNT(struct values, together, "--together",
                 "on a GPU: N runs of equal shape share kernel launches, as in --threads 8 "
                 "--together 4 (docs/kernels.md)"),
    OPTION_COUNT(struct values, ranks_per_run, "--ranks-per-run",
                 "under mpirun: so many ranks share a run (default 1; docs/clusters.md)"),
    OPTION_COUNT(struct values, rank_timeout, "--rank-timeout", RANK_TIMEOUT_HELP),
    OPTION_LIST(struct values, set, "--set", "KEY=VALUE", "a setting for every run"),
    OPTION_LIST(struct values, only, "--only", "KEY=PATTERN",
                "only the runs whose setting KEY matches, as in method=maml"),
    OPTION_REAL(struct values, minutes, "--minutes", "N",
                "after N minutes stop each run at its next checkpoint, and start no other; the "
                "same command goes on later"),
    OPTION_FLAG(struct values, dry_run, "--dry-run",
                "list the runs with their labels, work and time; run nothing"),
    OPTION_FLAG(struct values, print_config, "--print-config",
                "print every run's settings and where each came from; run nothing"),
    OPTION_FLAG(struct values, retry, "--retry", "also run again what failed before"),
    OPTION_FLAG(struct values, json, "--json", "with --dry-run: print each run as a line of JSON"),
    {0},
};

static int run(const struct command *self, int argc, char **argv)
{
    struct values v = {.db = "results.db", .rank_timeout = RANK_TIMEOUT};
    struct text_list words = {0};
    int err = cli_options(self, argc, argv, &v, &words);
    if (err)
        return err;
    if (!(v.minutes >= 0))
        return cli_usage("--minutes: expected a number of 0 or more, got %g", v.minutes);
    double began = now();
    struct mete_run_summary summary = {0};
    struct total total = {.json = v.json};
    struct mete_run_options o = {.size = sizeof o,
                                 .suite = words.at[0],
                                 .db = v.db,
                                 .device = v.device,
                                 .set = v.set.at,
                                 .only = v.only.n ? v.only.at : NULL,
                                 .seeds = v.seeds,
                                 .threads = v.threads,
                                 .together = v.together,
                                 .dry_run = v.dry_run,
                                 .print_config = v.print_config,
                                 .retry = v.retry,
                                 .planned = print_run,
                                 .config = print_config,
                                 .finished = finished_print,
                                 .summary = &summary,
                                 .minutes = v.minutes,
                                 .ranks_per_run = v.ranks_per_run,
                                 .user = &total};
    mete_ranks_timeout(v.rank_timeout);
    err = mete_run(&o);
    if (!err && o.dry_run && !total.json)
        print_total(&total, o.threads);
    print_summary(&summary, &o, now() - began);
    return err ? cli_failed(err) : EXIT_DONE;
}

const struct command command_run = {
    .name = "run",
    .summary = "run a suite and keep its results in a database",
    .words = "SUITE",
    .about = "Runs every run of a suite and writes the results to one database.  It can be stopped "
             "at any moment; the same command continues where it stopped.  Several processes on "
             "one database share the runs.",
    .options = options,
    .examples = "mete run suites/quick.yaml --db quick.db\n"
                "mete run suites/table1-omniglot.yaml --db table1.db --dry-run\n"
                "mete run suites/table1-omniglot.yaml --db table1.db --only bench='*5w*@30K'\n"
                "mete run suites/table1-omniglot.yaml --db table1.db --minutes 60\n",
    .run = run,
};
