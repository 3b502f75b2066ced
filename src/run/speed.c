/* speed.c - how many tasks a second the engine trains on, beside the machine's roof.
 *
 * Random images of the benchmark's size: no data set is needed, and drawing tasks
 * is not timed.  A step is a whole meta-update: gradients, their sum, the optimiser.
 */
#include "run/setup.h"
#include "method/engine.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/number.h"
#include "base/options.h"
#include "base/threads.h"
#include "method/lockstep.h"
#include "task/bench.h"

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

/* A meta-batch of random tasks: every image is a task's own. */
struct load {
    uint8_t *pixels;
    int32_t *item, *label;
    struct labelled_task *tasks;
};

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

/* The seconds a step takes in a round of `steps`, the device's last work included. */
static int time_round(struct engine *e, const struct load *l, int tasks, int steps, double *each)
{
    double start = seconds_now();
    int err = 0;
    for (int i = 0; i < steps && !err; i++)
        err = engine_step(e, l->tasks, tasks);
    if (!err)
        err = engine_wait(e);
    *each = (seconds_now() - start) / steps;
    return err;
}

/* The median time of a step, over rounds of about 5 ms: a GPU is kept at work, as
 * it is in training. */
static int time_steps(struct engine *e, const struct load *l, int tasks, double seconds,
                      double *median)
{
    enum { MOST = 100000, WARM = 3 };
    double *times = mem_array(MOST, sizeof *times), one = 1;
    int n = 0, err = 0;
    for (int i = 0; i < WARM && !err; i++) /* caches, and a GPU's recording */
        err = time_round(e, l, tasks, 1, &one);
    int steps = one < 5e-3 ? (int)(5e-3 / one) + 1 : 1;
    for (double start = seconds_now();
         !err && n < MOST && (n < 3 || seconds_now() - start < seconds); n++)
        err = time_round(e, l, tasks, steps, &times[n]);
    qsort(times, (size_t)n, sizeof *times, by_value);
    *median = n ? times[n / 2] : 0;
    free(times);
    return err;
}

/* ---- several runs side by side ---- */

struct race {
    const struct engine_spec *spec;
    const struct load *load;
    double seconds;
    pthread_barrier_t start; /* every run is open */
    double *tasks_per_s;     /* (runs) */
};

/* Steps until a time; how many.  A run is waited for as often as training does. */
static int steps_until(const struct race *r, struct engine *e, double end, int *steps)
{
    int err = 0;
    double each;
    for (*steps = 0; !err && (*steps == 0 || seconds_now() < end); *steps += LEARNER_AHEAD)
        err = time_round(e, r->load, r->spec->meta_batch, LEARNER_AHEAD, &each);
    return err;
}

/* One run, with an engine of its own: from the common start warm for a while, then timed. */
static int race_one(void *user, int run, int worker)
{
    enum { WARM = 1 }; /* seconds */
    struct race *r = user;
    struct engine *e = NULL;
    int steps = 0;
    (void)worker;
    int err = engine_open(&e, r->spec);
    pthread_barrier_wait(&r->start);
    if (!err)
        err = steps_until(r, e, seconds_now() + WARM, &steps);
    double start = seconds_now();
    if (!err)
        err = steps_until(r, e, start + r->seconds, &steps);
    r->tasks_per_s[run] = steps * r->spec->meta_batch / (seconds_now() - start);
    engine_close(e);
    return err;
}

/* The seconds in which `runs` runs together do one meta-batch. */
static int time_runs(const struct engine_spec *spec, const struct load *load, int runs,
                     int together, double seconds, double *step)
{
    struct race r = {.load = load, .seconds = seconds};
    struct threads *threads = NULL;
    struct engine_spec shared = *spec;
    double sum = 0;
    r.spec = &shared;
    r.tasks_per_s = mem_array((size_t)runs, sizeof *r.tasks_per_s);
    pthread_barrier_init(&r.start, NULL, (unsigned)runs);
    int err = threads_open(&threads, runs);
    if (!err && together)
        err = lockstep_set_open(&shared.lockstep_set, together);
    if (!err)
        err = threads_run(threads, runs, race_one, &r);
    for (int i = 0; i < runs; i++)
        sum += r.tasks_per_s[i];
    *step = sum > 0 ? spec->meta_batch / sum : 0;
    threads_close(threads);
    lockstep_set_close(shared.lockstep_set);
    pthread_barrier_destroy(&r.start);
    free(r.tasks_per_s);
    return err;
}

static int measure(const struct mete_speed_options *o, const struct bench *b, struct setup *s,
                   struct mete_speed *out)
{
    int side, channels, shots = s->task.shots ? s->task.shots : b->shots,
                        query = o->query < 0 ? shots : o->query;
    struct engine_spec spec;
    struct engine *e = NULL;
    struct load load = {0};
    struct batch_shape shape = {1, b->ways * shots, b->ways * query};
    int err = setup_engine(s, o->device, o->threads, &spec);
    if (!err && o->together && (o->runs < 2 || !spec.kernels->batched))
        err = fail(METE_EINVAL,
                   "--together N is for several runs on a GPU; add --runs 8 --device cuda");
    if (err)
        return err;
    image_size(b->dataset, &side, &channels);
    load_make(&load, spec.meta_batch, b->ways, shape.support, shape.query,
              (size_t)(side * side * channels));
    spec.images =
        (struct images){.data = load.pixels,
                        .type = IMAGES_U8,
                        .h = side,
                        .w = side,
                        .c = channels,
                        .scale = 1.0f / 255,
                        .items = (int64_t)spec.meta_batch * (shape.support + shape.query)};
    spec.ways = b->ways;
    spec.largest = shape;
    size_t before = resident();
    double step = 1;
    out->peak_gflops = kernels_cpu_roof(spec.kernels, 0.3) / 1e9;
    err = engine_open(&e, &spec);
    if (!err) {
        out->bytes_planned = engine_bytes_planned(e);
        if (o->planned)
            o->planned(o->user, out->bytes_planned);
        err = o->runs > 1 ? time_runs(&spec, &load, o->runs, o->together, o->seconds, &step)
                          : time_steps(e, &load, spec.meta_batch, o->seconds, &step);
    }
    if (!err) {
        out->device = spec.kernels->name;
        out->threads = engine_workers(e) * (o->runs > 1 ? o->runs : 1);
        out->meta_batch = spec.meta_batch;
        out->tasks_per_s = spec.meta_batch / step;
        out->gflop_per_task = engine_flops(e, &shape) / 1e9;
        out->gflops = out->tasks_per_s * out->gflop_per_task;
        out->fraction_of_peak =
            out->peak_gflops > 0 ? out->gflops / (out->peak_gflops * out->threads) : 0;
        out->bytes_peak = resident() - before;
    }
    engine_close(e);
    load_release(&load);
    return err;
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
    struct setup s;
    struct bench b;
    struct mete_speed result = {0};
    int err = options_take(o, sizeof own, given, "mete_speed_options");
    if (!err)
        err = out ? bench_parse(&b, o->bench) : fail(METE_EINVAL, "there is nowhere to put speed");
    if (!err && b.ways == 0)
        err = fail(METE_EINVAL, "%s: say how many ways, as in omniglot:5w-1s", o->bench);
    if (err)
        return err;
    err = setup_open(&s, o->method, o->net, NULL);
    if (err)
        return err;
    err = param_set_all(&s.set, o->set);
    if (!err)
        err = measure(o, &b, &s, &result);
    setup_close(&s);
    if (!err)
        *out = result;
    return err;
}
