/* cmd_speed.c - mete speed: tasks per second. */
#include "commands.h"

struct values {
    const char *bench, *method, *net, *device;
    struct text_list set;
    int threads, runs, together, query;
    double seconds;
    bool json;
};

static const struct option options[] = {
    OPTION_TEXT(struct values, bench, "--bench", "BENCH",
                "the size of the images, the ways and the shots (default omniglot:5w-1s)"),
    OPTION_TEXT(struct values, method, "--method", "METHOD",
                "maml (default), reptile, protonet or fedavg"),
    OPTION_TEXT(struct values, net, "--net", "NET", "conv4 (default) or mlp"),
    OPTION_COUNT(struct values, threads, "--threads", "threads (default 1; 0: one per core)"),
    OPTION_REAL(struct values, seconds, "--seconds", "S", "how long to measure (default 2)"),
    OPTION_COUNT(struct values, runs, "--runs",
                 "runs side by side, each with its own threads "
                 "(default 1)"),
    OPTION_COUNT(struct values, together, "--together",
                 "on a GPU: N of these runs share kernel launches"),
    OPTION_COUNT(struct values, query, "--query",
                 "query images per class (default: as many as shots)"),
    OPTION_TEXT(struct values, device, "--device", "DEVICE",
                "cpu (default), avx512, avx2, portable, ref or cuda"),
    OPTION_LIST(struct values, set, "--set", "KEY=VALUE",
                "a setting, such as first_order=no or train.meta_batch=4"),
    OPTION_FLAG(struct values, json, "--json", "print the result as one JSON object"),
    {0},
};

static void print_plan(void *user, size_t bytes)
{
    (void)user;
    fprintf(stderr, "working memory planned: %.1f MB\n", (double)bytes / 1e6);
}

static void print_json(const struct mete_speed_options *o, const struct mete_speed *r)
{
    putchar('{');
    cli_json_text("bench", o->bench);
    printf(", \"method\": \"%s\", \"device\": \"%s\", \"threads\": %d, "
           "\"meta_batch\": %d, \"tasks_per_s\": %.6g, \"gflop_per_task\": %.6g, \"gflops\": %.6g, "
           "\"peak_gflops\": %.6g, \"fraction_of_peak\": %.4f, \"bytes_planned\": %zu, "
           "\"bytes_peak\": %zu, \"ranks\": %d, \"sent_bytes\": %.0f, \"sent_messages\": %.1f, "
           "\"most_bytes\": %.0f}\n",
           o->method, r->device, r->threads, r->meta_batch, r->tasks_per_s, r->gflop_per_task,
           r->gflops, r->peak_gflops, r->fraction_of_peak, r->bytes_planned, r->bytes_peak,
           r->ranks, r->sent_bytes, r->sent_messages, r->most_bytes);
}

static void print_words(const struct mete_speed_options *o, const struct mete_speed *r)
{
    printf("%s %s on %s, ", o->bench, o->method, r->device);
    if (r->ranks > 1)
        printf("%d ranks of ", r->ranks);
    printf("%d thread%s, meta-batch %d\n", r->threads, r->threads == 1 ? "" : "s", r->meta_batch);
    printf("  tasks per second   %.1f\n", r->tasks_per_s);
    printf("  GFLOP per task     %.3f\n", r->gflop_per_task);
    printf("  GFLOP/s            %.1f\n", r->gflops);
    if (r->peak_gflops > 0)
        printf("  of the FMA peak    %.1f %% (%.1f GFLOP/s a thread)\n", 100 * r->fraction_of_peak,
               r->peak_gflops);
    printf("  memory             %.1f MB planned, %.1f MB used\n", (double)r->bytes_planned / 1e6,
           (double)r->bytes_peak / 1e6);
    if (r->ranks > 1)
        printf(
            "  sent in a step     %.2f MB in %.0f messages, %.2f MB by the rank that sends most\n",
            r->sent_bytes / 1e6, r->sent_messages, r->most_bytes / 1e6);
}

static int run(const struct command *self, int argc, char **argv)
{
    struct mete_speed_options o = mete_speed_defaults();
    struct mete_speed result;
    struct text_list words = {0};
    struct values v = {.bench = o.bench,
                       .method = o.method,
                       .net = o.net,
                       .device = o.device,
                       .threads = o.threads,
                       .runs = o.runs,
                       .together = o.together,
                       .query = o.query,
                       .seconds = o.seconds};
    int err = cli_options(self, argc, argv, &v, &words);
    if (err)
        return err;
    o = (struct mete_speed_options){.size = sizeof o,
                                    .bench = v.bench,
                                    .method = v.method,
                                    .net = v.net,
                                    .device = v.device,
                                    .set = v.set.at,
                                    .threads = v.threads,
                                    .seconds = v.seconds,
                                    .runs = v.runs,
                                    .together = v.together,
                                    .query = v.query,
                                    .planned = print_plan};
    err = mete_speed(&o, &result);
    if (err)
        return cli_failed(err);
    if (v.json)
        print_json(&o, &result);
    else
        print_words(&o, &result);
    return EXIT_DONE;
}

const struct command command_speed = {
    .name = "speed",
    .summary = "measure how many tasks per second a method trains on",
    .about = "Measures how many tasks per second a method trains on, with random images of the "
             "benchmark's size, and compares it with the machine's own rate of fused "
             "multiply-adds.  Under mpirun all ranks share each step, as in a run.",
    .options = options,
    .examples = "mete speed --bench omniglot:5w-1s --set first_order=no --threads 2\n"
                "mete speed --method protonet --json\n",
    .run = run,
};
