/* kernel_speed.c - how near to the roof the CPU kernels run, layer by layer.
 *
 *   kernel_speed [SET [SECONDS [CASE]]]     SET: cpu, avx512, avx2, portable
 *
 * SECONDS for each case whose name contains CASE.  Times are processor time, the best of
 * many passes over random data on one thread.  FLOPs are the true
 * ones: taps inside the picture only, no gradient for the first layer's input, nothing
 * for batch norm.  The roof is measured first, and again at the end: where the two
 * differ, somebody else was using the machine.
 */
#include "base/memory.h"
#include "base/rng.h"
#include "kernel/kernel.h"
#include "mete.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FORWARD, BACKWARD, RFORWARD, RBACKWARD, PASSES };
enum { BLOCKS = 4, NET = BLOCKS + 1 };

struct bench {
    const struct kernels *k;
    struct device *device;
    struct layer layer[LAYERS_MAX];
    struct batch batch;
    size_t len;
    struct vec theta, v, grad, hv;
    void *x, *cache[NET], *tangent[NET], *scratch;
    int32_t *labels;
    float *probs, *loss;
    double best[NET][PASSES]; /* seconds */
    double whole[2];          /* forward + loss + backward; H v */
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* not while others run */
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- set up ---- */

static void *take(struct bench *b, size_t bytes)
{
    void *at;
    if (b->k->alloc(b->device, bytes, &at)) {
        fprintf(stderr, "kernel_speed: %s\n", mete_errmsg());
        exit(1);
    }
    return at;
}

static void add_layers(struct bench *b, int size, int channels, int filters, bool pool, int ways)
{
    for (int i = 0; i < BLOCKS; i++) {
        int conv = pool ? size : (size + 1) / 2, out = (size + 1) / 2;
        b->layer[i] = (struct layer){.kind = LAYER_CONV,
                                     .in_h = size,
                                     .in_w = size,
                                     .in_c = channels,
                                     .conv_h = conv,
                                     .conv_w = conv,
                                     .out_h = out,
                                     .out_w = out,
                                     .out_c = filters,
                                     .stride = pool ? 1 : 2,
                                     .pool = pool,
                                     .relu = true,
                                     .eps = 1e-5};
        size = out;
        channels = filters;
    }
    b->layer[BLOCKS] = (struct layer){.kind = LAYER_DENSE,
                                      .in_h = size,
                                      .in_w = size,
                                      .in_c = channels,
                                      .out_h = 1,
                                      .out_w = 1,
                                      .out_c = ways};
}

/* Random weights, gamma 1, in a vector. */
static void fill(struct bench *b, struct rng *r, void *vector)
{
    for (int i = 0; i < NET; i++)
        for (int w = 0; w <= TENSOR_BETA; w++) {
            const struct layer *l = &b->layer[i];
            size_t inputs =
                (size_t)l->in_c * (l->kind == LAYER_CONV ? 9 : (size_t)l->in_h * (size_t)l->in_w);
            size_t len = (size_t)l->out_c * (w == TENSOR_WEIGHT ? inputs : 1);
            float *host = mem_array(len, sizeof *host);
            for (size_t j = 0; j < len; j++)
                host[j] = w == TENSOR_GAMMA ? 1 : (float)(rng_normal(r) / (double)(1 + inputs / 8));
            if (l->kind == LAYER_CONV || w <= TENSOR_BIAS)
                b->k->pack(b->device, l, (enum tensor)w, host, vector);
            free(host);
        }
}

static void gather(struct bench *b, struct rng *r)
{
    const struct layer *l = &b->layer[0];
    size_t len = (size_t)b->batch.n * (size_t)(l->in_h * l->in_w * l->in_c);
    float *host = mem_array(len, sizeof *host);
    int32_t *index = mem_array((size_t)b->batch.n, sizeof *index);
    for (size_t i = 0; i < len; i++)
        host[i] = (float)rng_normal(r);
    for (int i = 0; i < b->batch.n; i++)
        index[i] = i;
    struct images images = {.data = host,
                            .type = IMAGES_F32,
                            .h = l->in_h,
                            .w = l->in_w,
                            .c = l->in_c,
                            .items = b->batch.n,
                            .scale = 1};
    b->k->gather(b->device, l, &b->batch, &images, index, b->x);
    free(index);
    free(host);
}

static void set_up(struct bench *b, int n, int ways)
{
    size_t trained;
    struct rng r = rng_make(1, RNG_TEST, 0, 0);
    b->batch = (struct batch){.tasks = 1, .n = n};
    b->len = b->k->layout(b->layer, NET, &trained);
    struct vec *vectors[] = {&b->theta, &b->v, &b->grad, &b->hv};
    for (int i = 0; i < 4; i++)
        vectors[i]->at = take(b, b->len * b->k->elem);
    fill(b, &r, b->theta.at);
    fill(b, &r, b->v.at);
    b->x = take(b, b->k->input_bytes(&b->layer[0], &b->batch));
    for (int i = 0; i < NET; i++) {
        b->cache[i] = take(b, b->k->cache_bytes(&b->layer[i], &b->batch));
        b->tangent[i] = take(b, b->k->tangent_bytes(&b->layer[i], &b->batch));
    }
    b->scratch = take(b, b->k->scratch_bytes(b->layer, NET, &b->batch));
    b->labels = take(b, (size_t)n * sizeof *b->labels);
    for (int i = 0; i < n; i++)
        b->labels[i] = i % ways;
    b->probs = take(b, (size_t)(n * ways) * sizeof *b->probs);
    b->loss = take(b, sizeof *b->loss);
    gather(b, &r);
}

/* ---- one layer of a pass ---- */

static const void *input(const struct bench *b, int i, bool tangent)
{
    if (i == 0)
        return tangent ? NULL : b->x;
    return b->k->out(&b->layer[i - 1], &b->batch, (tangent ? b->tangent : b->cache)[i - 1]);
}

static void *dinput(const struct bench *b, int i, bool tangent)
{
    return i == 0
               ? NULL
               : b->k->dout(&b->layer[i - 1], &b->batch, (tangent ? b->tangent : b->cache)[i - 1]);
}

static void run_layer(struct bench *b, int pass, int i)
{
    const struct layer *l = &b->layer[i];
    struct norm norm = {.stat = b->batch.n};
    if (pass == FORWARD)
        b->k->forward(b->device, l, &b->batch, norm, input(b, i, false), b->theta, b->cache[i],
                      b->scratch);
    if (pass == BACKWARD)
        b->k->backward(b->device, l, &b->batch, norm, input(b, i, false), b->theta, b->cache[i],
                       dinput(b, i, false), b->grad, b->scratch);
    if (pass == RFORWARD)
        b->k->forward_tangent(b->device, l, &b->batch, norm, input(b, i, false), input(b, i, true),
                              b->theta, b->v, b->cache[i], b->tangent[i], b->scratch);
    if (pass == RBACKWARD)
        b->k->backward_tangent(b->device, l, &b->batch, norm, input(b, i, false), input(b, i, true),
                               b->theta, b->v, b->cache[i], b->tangent[i], dinput(b, i, true),
                               b->hv, b->scratch);
}

static void keep_best(double *best, double seconds)
{
    if (*best == 0 || seconds < *best)
        *best = seconds;
}

/* All layers of a pass, and the loss after a forward one. */
static void run_pass(struct bench *b, int pass, bool clock)
{
    const struct layer *head = &b->layer[BLOCKS];
    bool back = pass == BACKWARD || pass == RBACKWARD;
    for (int j = 0; j < NET; j++) {
        int i = back ? NET - 1 - j : j;
        double start = clock ? now() : 0;
        run_layer(b, pass, i);
        if (clock)
            keep_best(&b->best[i][pass], now() - start);
    }
    if (pass == FORWARD)
        b->k->xent(b->device, head, &b->batch, b->labels, true, b->cache[BLOCKS], b->probs,
                   b->loss);
    if (pass == RFORWARD)
        b->k->xent_tangent(b->device, head, &b->batch, b->labels, true, b->probs,
                           b->tangent[BLOCKS]);
}

/* Forward and backward first, by themselves, then H v: each finds its own data in cache. */
static void measure(struct bench *b, double seconds)
{
    for (int half = 0; half < 2; half++) {
        double end = now() + seconds / 2;
        for (int turn = 0; turn < 4 || now() < end; turn++) {
            bool clock = turn % 2;
            double start = now();
            run_pass(b, half ? RFORWARD : FORWARD, clock);
            run_pass(b, half ? RBACKWARD : BACKWARD, clock);
            if (!clock)
                keep_best(&b->whole[half], now() - start);
        }
    }
}

/* ---- figures ---- */

/* Taps of one dimension that lie inside the picture. */
static int taps(int out, int in, int stride)
{
    int count = 0;
    for (int o = 0; o < out; o++)
        for (int k = -1; k <= 1; k++)
            count += o * stride + k >= 0 && o * stride + k < in;
    return count;
}

static double flops(const struct bench *b, int i, int pass)
{
    static const double products[PASSES] = {1, 2, 2, 4}, of_first[PASSES] = {1, 1, 1, 1};
    const struct layer *l = &b->layer[i];
    double pixels = l->kind == LAYER_DENSE ? (double)l->in_h * l->in_w
                                           : (double)taps(l->conv_h, l->in_h, l->stride) *
                                                 taps(l->conv_w, l->in_w, l->stride);
    return 2 * pixels * l->in_c * l->out_c * b->batch.n * (i ? products : of_first)[pass];
}

static void print_figure(double work, double seconds, double roof)
{
    printf("  %8.1f us %6.1f GF/s %5.1f%%", seconds * 1e6, work / seconds / 1e9,
           100 * work / seconds / roof);
}

static void report(const struct bench *b, double roof)
{
    double whole[2] = {0};
    printf("  %-7s", "");
    for (int p = 0; p < PASSES; p++)
        printf("  %-30s", (const char *[]){"forward", "backward", "R forward", "R backward"}[p]);
    for (int i = 0; i < NET; i++) {
        printf("\n  layer %d", i);
        for (int p = 0; p < PASSES; p++) {
            print_figure(flops(b, i, p), b->best[i][p], roof);
            whole[p / 2] += flops(b, i, p);
        }
    }
    printf("\n  forward + backward");
    print_figure(whole[0], b->whole[0], roof);
    printf("  %.0f images/s\n  H v               ", b->batch.n / b->whole[0]);
    print_figure(whole[1], b->whole[1], roof);
    printf("\n");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int size, channels, filters;
        bool pool;
        int n, ways;
    } cases[] = {
        {"omniglot 5w-1s", 28, 1, 64, false, 5, 5},
        {"omniglot 20w-1s", 28, 1, 64, false, 20, 20},
        {"omniglot 5w-5s", 28, 1, 64, false, 25, 5},
        {"omniglot 20w-5s", 28, 1, 64, false, 100, 20},
        {"mini-imagenet 5w-1s", 84, 3, 32, false, 5, 5},
        {"mini-imagenet 5w-5s", 84, 3, 32, false, 25, 5},
        {"mini-imagenet 5w-5s joint", 84, 3, 32, false, 50, 5},
        {"omniglot, pooled", 28, 1, 64, true, 5, 5},
        {"mini-imagenet, pooled", 84, 3, 32, true, 5, 5},
        {"omniglot, 1 image", 28, 1, 64, false, 1, 5},
        {"omniglot, 7 images", 28, 1, 64, false, 7, 5},
    };
    const struct kernels *k;
    double seconds = argc > 2 ? atof(argv[2]) : 1;
    if (kernels_find(&k, argc > 1 ? argv[1] : "cpu")) {
        fprintf(stderr, "kernel_speed: %s\n", mete_errmsg());
        return 2;
    }
    double roof = kernels_cpu_roof(k, 0.5);
    printf("%s: roof %.1f GFLOP/s on one thread\n", k->name, roof / 1e9);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (argc > 3 && !strstr(cases[i].name, argv[3]))
            continue;
        static struct bench b;
        b = (struct bench){.k = k};
        if (k->open(&b.device, &(struct device_options){0}))
            return 1;
        add_layers(&b, cases[i].size, cases[i].channels, cases[i].filters, cases[i].pool,
                   cases[i].ways);
        set_up(&b, cases[i].n, cases[i].ways);
        measure(&b, seconds);
        printf("\n%s: %d images of %dx%dx%d, %d filters\n", cases[i].name, cases[i].n,
               cases[i].size, cases[i].size, cases[i].channels, cases[i].filters);
        report(&b, roof);
        k->close(b.device);
    }
    printf("\nroof %.1f GFLOP/s at the end\n", kernels_cpu_roof(k, 0.5) / 1e9);
    return 0;
}
