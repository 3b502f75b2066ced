/* speed.c - how many tasks a second the engine trains on, beside the machine's roof.
 *
 * Random images of the benchmark's size: no data set is needed, and drawing tasks
 * is not timed.  A step is a whole meta-update: gradients, their sum, the optimiser.  Ranks share
 * it as they share one of a run, and are told of its tasks as in a run.
 */
#include "run/speed.h"
#include "run/ranks_speed.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/number.h"
#include "base/options.h"
#include "base/threads.h"
#include "method/lockstep.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Resident memory of this process, in bytes. */
static size_t resident(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%*s %ld", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    return (size_t)pages * 4096;
}

static void image_size(const char *dataset, int *side, int *channels)
{
    bool colour = strncmp(dataset, "miniimagenet", 12) == 0;
    *side = colour ? 84 : 28;
    *channels = colour ? 3 : 1;
}

static void load_make(struct load *l, int tasks, int ways, int support, int query, size_t image)
{
    int n = support + query;
    size_t total = (size_t)(tasks * n);
    struct rng r = rng_make(1, RNG_TEST, 0, 0);
    l->pixels = mem_array(total * image, 1);
    l->item = mem_array(total, sizeof *l->item);
    l->label = mem_array(total, sizeof *l->label);
    l->tasks = mem_array((size_t)tasks, sizeof *l->tasks);
    for (size_t i = 0; i < total * image; i++)
        l->pixels[i] = (uint8_t)rng_u32(&r);
    for (size_t i = 0; i < total; i++) {
        l->item[i] = (int32_t)i;
        l->label[i] = (int32_t)(i % (size_t)n % (size_t)ways);
    }
    for (int t = 0; t < tasks; t++) {
        int32_t *item = l->item + t * n, *label = l->label + t * n;
        l->tasks[t] = (struct labelled_task){.support = {item, label, support},
                                             .query = {item + support, label + support, query},
                                             .id = (uint64_t)t};
    }
}

static void load_release(struct load *l)
{
    free(l->pixels);
    free(l->item);
    free(l->label);
    free(l->tasks);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int one_step(struct speed *s)
{
    int tasks = s->spec.meta_batch;
    int err = ranks_speed_step(s->spec.ranks, &s->call, s->load.tasks, tasks);
    s->steps++;
    return err ? err : engine_step(s->engine, s->load.tasks, tasks);
}

/* The seconds a step takes in a round of `steps`, the device's last work included. */
static int time_round(struct speed *s, int steps, double *each)
{
    double start = seconds_now();
    int err = 0;
    for (int i = 0; i < steps && !err; i++)
        err = one_step(s);
    if (!err)
        err = engine_wait(s->engine);
    *each = (seconds_now() - start) / steps;
    return err;
}

/* The median time of a step, over rounds of about 5 ms: a GPU is kept at work, as
 * it is in training. */
static int time_steps(struct speed *s, double seconds, double *median)
{
    enum { MOST = 100000, WARM = 3 };
    double *times = mem_array(MOST, sizeof *times), one = 1;
    int n = 0, err = 0;
    for (int i = 0; i < WARM && !err; i++) /* caches, and a GPU's recording */
        err = time_round(s, 1, &one);
    int steps = one < 5e-3 ? (int)(5e-3 / one) + 1 : 1;
    for (double start = seconds_now();
         !err && n < MOST && (n < 3 || seconds_now() - start < seconds); n++)
        err = time_round(s, steps, &times[n]);
    qsort(times, (size_t)n, sizeof *times, by_value);
    *median = n ? times[n / 2] : 0;
    free(times);
    return err;
}

/* ---- several runs side by side ---- */

struct race {
    const struct speed *common; /* but for the engine */
    struct engine_spec spec;    /* of every run */
    double seconds;
    pthread_barrier_t start; /* every run is open */
    double *tasks_per_s;     /* (runs) */
};

/* Steps until a time.  A run is waited for as often as training does. */
static int steps_until(struct speed *s, double end)
{
    int err = 0;
    double each;
    for (s->steps = 0; !err && (s->steps == 0 || seconds_now() < end);)
        err = time_round(s, LEARNER_AHEAD, &each);
    return err;
}

/* One run, with an engine of its own: from the common start warm for a while, then timed. */
static int race_one(void *user, int run, int worker)
{
    enum { WARM = 1 }; /* seconds */
    struct race *r = user;
    struct speed own = {.spec = r->spec, .load = r->common->load};
    (void)worker;
    int err = engine_open(&own.engine, &own.spec);
    pthread_barrier_wait(&r->start);
    if (!err)
        err = steps_until(&own, seconds_now() + WARM);
    double start = seconds_now();
    if (!err)
        err = steps_until(&own, start + r->seconds);
    r->tasks_per_s[run] = (double)own.steps * own.spec.meta_batch / (seconds_now() - start);
    engine_close(own.engine);
    return err;
}

/* The seconds in which `runs` runs together do one meta-batch. */
static int time_runs(const struct speed *s, int runs, int together, double seconds, double *step)
{
    struct race r = {.common = s, .spec = s->spec, .seconds = seconds};
    struct threads *threads = NULL;
    double sum = 0;
    r.tasks_per_s = mem_array((size_t)runs, sizeof *r.tasks_per_s);
    pthread_barrier_init(&r.start, NULL, (unsigned)runs);
    int err = threads_open(&threads, runs);
    if (!err && together)
        err = lockstep_set_open(&r.spec.lockstep_set, together);
    if (!err)
        err = threads_run(threads, runs, race_one, &r);
    for (int i = 0; i < runs; i++)
        sum += r.tasks_per_s[i];
    *step = sum > 0 ? s->spec.meta_batch / sum : 0;
    threads_close(threads);
    lockstep_set_close(r.spec.lockstep_set);
    pthread_barrier_destroy(&r.start);
    free(r.tasks_per_s);
    return err;
}

/* ---- what is measured ---- */

static int fill_spec(struct speed *s, const struct mete_speed_options *o)
{
    const struct bench *b = &s->bench;
    int side, channels, shots = s->setup.task.shots ? s->setup.task.shots : b->shots,
                        query = o->query < 0 ? shots : o->query;
    image_size(b->dataset, &side, &channels);
    s->shape = (struct batch_shape){1, b->ways * shots, b->ways * query};
    load_make(&s->load, s->spec.meta_batch, b->ways, s->shape.support, s->shape.query,
              (size_t)(side * side * channels));
    s->spec.images =
        (struct images){.data = s->load.pixels,
                        .type = IMAGES_U8,
                        .h = side,
                        .w = side,
                        .c = channels,
                        .scale = 1.0f / 255,
                        .items = (int64_t)s->spec.meta_batch * (s->shape.support + s->shape.query)};
    s->spec.ways = b->ways;
    s->spec.largest = s->shape;
    return 0;
}

static int check_options(const struct speed *s, const struct mete_speed_options *o)
{
    if (o->together && (o->runs < 2 || !s->spec.kernels->batched))
        return fail(METE_EINVAL,
                    "--together N is for several runs on a GPU; add --runs 8 --device cuda");
    if (o->runs > 1 && s->spec.ranks)
        return fail(METE_EINVAL,
                    "--runs %d: runs side by side are of one process, and ranks "
                    "share one run: use one of the two",
                    o->runs);
    return 0;
}

int speed_open(struct speed *s, const struct mete_speed_options *o, struct ranks *ranks)
{
    int threads = ranks && !o->threads ? ranks_threads() : o->threads;
    *s = (struct speed){0};
    int err = bench_parse(&s->bench, o->bench);
    if (!err && s->bench.ways == 0)
        err = fail(METE_EINVAL, "%s: say how many ways, as in omniglot:5w-1s", o->bench);
    if (!err)
        err = setup_open(&s->setup, o->method, o->net, NULL);
    if (!err)
        err = param_set_all(&s->setup.set, o->set);
    if (!err)
        err = setup_engine(&s->setup, o->device, threads, &s->spec);
    s->spec.ranks = ranks;
    if (!err)
        err = check_options(s, o);
    return err ? err : fill_spec(s, o);
}

void speed_close(struct speed *s)
{
    engine_close(s->engine);
    load_release(&s->load);
    setup_close(&s->setup);
    message_release(&s->call);
}

/* ---- the measurement ---- */

static void fill_result(const struct speed *s, const struct mete_speed_options *o, double step,
                        struct mete_speed *out)
{
    int runs = o->runs > 1 ? o->runs : 1;
    out->device = s->spec.kernels->name;
    out->threads = engine_workers(s->engine) * runs;
    out->ranks = ranks_count(s->spec.ranks);
    out->meta_batch = s->spec.meta_batch;
    out->tasks_per_s = s->spec.meta_batch / step;
    out->gflop_per_task = engine_flops(s->engine, &s->shape) / 1e9;
    out->gflops = out->tasks_per_s * out->gflop_per_task;
    out->fraction_of_peak =
        out->peak_gflops > 0 ? out->gflops / (out->peak_gflops * out->threads * out->ranks) : 0;
}

/* With the others told, as ranks_speed_end tells them of the end. */
static int measure(struct speed *s, const struct mete_speed_options *o, struct mete_speed *out)
{
    size_t before = resident();
    double step = 1;
    int err = engine_open(&s->engine, &s->spec);
    err = ranks_speed_opened(s->spec.ranks, err);
    if (err)
        return err;
    out->bytes_planned = engine_bytes_planned(s->engine);
    if (o->planned)
        o->planned(o->user, out->bytes_planned);
    err = o->runs > 1 ? time_runs(s, o->runs, o->together, o->seconds, &step)
                      : time_steps(s, o->seconds, &step);
    if (!err) {
        fill_result(s, o, step, out);
        out->bytes_peak = resident() - before;
    }
    return err;
}

/* By all ranks, if there are others. */
static int measure_all(struct speed *s, const struct mete_speed_options *o, struct mete_speed *out)
{
    struct ranks_sent all, most;
    out->peak_gflops = kernels_cpu_roof(s->spec.kernels, 0.3) / 1e9;
    int err = ranks_speed_begin(s->spec.ranks, o);
    if (!err)
        err = measure(s, o, out);
    struct verdict first = verdict_of(err);
    int ended = ranks_speed_end(s->spec.ranks, &all, &most);
    if (err || ended)
        return err ? verdict_fail(&first) : ended;
    double steps = s->steps > 0 ? (double)s->steps : 1;
    out->sent_bytes = (double)all.bytes / steps;
    out->sent_messages = (double)all.messages / steps;
    out->most_bytes = (double)most.bytes / steps;
    return 0;
}

struct mete_speed_options mete_speed_defaults(void)
{
    return (struct mete_speed_options){.size = sizeof(struct mete_speed_options),
                                       .bench = "omniglot:5w-1s",
                                       .method = "maml",
                                       .threads = 1,
                                       .seconds = 2,
                                       .query = -1};
}

int mete_speed(const struct mete_speed_options *given, struct mete_speed *out)
{
    NUMBER_LOCALE;
    struct mete_speed_options own, *o = &own;
    struct speed s = {0};
    struct mete_speed result = {0};
    int err = options_take(o, sizeof own, given, "mete_speed_options");
    if (!err && !out)
        err = fail(METE_EINVAL, "there is nowhere to put speed");
    if (!err)
        err = speed_open(&s, o, ranks_world());
    if (!err)
        err = measure_all(&s, o, &result);
    speed_close(&s);
    if (!err)
        *out = result;
    return err;
}
