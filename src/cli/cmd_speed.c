/* cmd_speed.c - mete speed: tasks per second. */
#include "cli.h"
#include "commands.h"

#include <stdio.h>

static const char usage[] =
    "usage: mete speed [--bench BENCH] [--method M] [options]\n\n"
    "Measures how many tasks a second a method trains on, on random images of the benchmark's\n"
    "size, beside the machine's own rate of fused multiply-adds.\n"
    "  --bench B      omniglot:5w-1s (default), miniimagenet:5w-5s, ...\n"
    "  --method M     maml (default), reptile, protonet, fedavg\n"
    "  --threads N    threads (default 1; 0: one per core)\n"
    "  --seconds S    how long to measure (default 2)\n"
    "  --runs N       so many runs side by side, as a suite has them on a GPU (default 1)\n"
    "  --together N   on a GPU: N of them share launches\n"
    "  --query Q      query images per class (default: as many as shots)\n"
    "  --device D     cpu (default), avx512, avx2, portable, ref, cuda\n"
    "  --set k=v      a setting, such as first_order=no or train.meta_batch=4\n"
    "  --json         the result as one JSON object\n\n"
    "example:\n  mete speed --bench omniglot:5w-1s --method maml --set first_order=no --threads "
    "2\n";

static void print_plan(void *user, size_t bytes)
{
    (void)user;
    fprintf(stderr, "working memory planned: %.1f MB\n", (double)bytes / 1e6);
}

static void print_json(const struct mete_speed_options *o, const struct mete_speed *r)
{
    printf("{\"bench\": \"%s\", \"method\": \"%s\", \"device\": \"%s\", \"threads\": %d, "
           "\"meta_batch\": %d, \"tasks_per_s\": %.6g, \"gflop_per_task\": %.6g, \"gflops\": %.6g, "
           "\"peak_gflops\": %.6g, \"fraction_of_peak\": %.4f, \"bytes_planned\": %zu, "
           "\"bytes_peak\": %zu}\n",
           o->bench, o->method, r->device, r->threads, r->meta_batch, r->tasks_per_s,
           r->gflop_per_task, r->gflops, r->peak_gflops, r->fraction_of_peak, r->bytes_planned,
           r->bytes_peak);
}

static void print_words(const struct mete_speed_options *o, const struct mete_speed *r)
{
    printf("%s %s on %s, %d thread%s, meta-batch %d\n", o->bench, o->method, r->device, r->threads,
           r->threads == 1 ? "" : "s", r->meta_batch);
    printf("  tasks per second   %.1f\n", r->tasks_per_s);
    printf("  GFLOP per task     %.3f\n", r->gflop_per_task);
    printf("  GFLOP/s            %.1f\n", r->gflops);
    if (r->peak_gflops > 0)
        printf("  of the FMA roof    %.1f %% (%.1f GFLOP/s a thread)\n", 100 * r->fraction_of_peak,
               r->peak_gflops);
    printf("  memory             %.1f MB planned, %.1f MB used\n", (double)r->bytes_planned / 1e6,
           (double)r->bytes_peak / 1e6);
}

int cmd_speed(int argc, char **argv)
{
    struct mete_speed_options o = mete_speed_defaults();
    struct mete_speed result;
    struct text_list words = {0}, set = {0};
    bool json = false;
    const struct option_row rows[] = {
        {"--bench", OPT_TEXT, &o.bench},      {"--method", OPT_TEXT, &o.method},
        {"--net", OPT_TEXT, &o.net},          {"--device", OPT_TEXT, &o.device},
        {"--threads", OPT_INT, &o.threads},   {"--seconds", OPT_REAL, &o.seconds},
        {"--query", OPT_INT, &o.query},       {"--set", OPT_LIST, &set},
        {"--runs", OPT_INT, &o.runs},         {"--json", OPT_FLAG, &json},
        {"--together", OPT_INT, &o.together}, {0},
    };
    int err = cli_options(argc, argv, usage, rows, &words);
    if (err)
        return err;
    if (words.n > 0)
        return cli_usage("speed: what is '%s'?  The benchmark goes with --bench", words.at[0]);
    o.set = set.at;
    o.planned = print_plan;
    err = mete_speed(&o, &result);
    if (err)
        return cli_failed(err);
    if (json)
        print_json(&o, &result);
    else
        print_words(&o, &result);
    return EXIT_DONE;
}
