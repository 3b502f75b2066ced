/* cuda_rows.cu - the way out: rows of features, and entropies of predictions. */
#include "cuda_fp16.h"
#include "cuda_tile.cuh"

struct rows_args {
    const float *out;
    float *rows;
    int c, padded, pixels;
    int n, first, count; /* images of a task, and those that are wanted */
    size_t stride;       /* floats between tasks' rows */
    size_t floats;
};

/* (image, pixel, channel) to (image, channel, pixel). */
static __global__ void rows_kernel(const __grid_constant__ struct rows_args a)
{
    size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x, size = (size_t)a.c * a.pixels;
    wait_for_previous();
    if (i >= a.floats)
        return;
    size_t task = i / (size * a.count), at = i % (size * a.count);
    size_t image = task * a.n + a.first + at / size, c = at % size / a.pixels;
    size_t pixel = at % a.pixels;
    a.rows[task * a.stride + at] = a.out[(image * a.pixels + pixel) * a.padded + c];
}

static unsigned blocks_for(size_t items)
{
    return (unsigned)((items + THREADS - 1) / THREADS);
}

extern "C" void cuda_collect(struct device *d, const struct layer *l, const struct batch *b,
                             const void *out, int first, int n, float *to, size_t stride)
{
    struct rows_args args = {(const float *)out,
                             to,
                             l->out_c,
                             channels(l->out_c),
                             l->out_h * l->out_w,
                             b->n,
                             first,
                             n,
                             stride,
                             0};
    cuda_plain(d, args.out);
    args.floats = (size_t)b->tasks * (size_t)n * (size_t)(args.c * args.pixels);
    cuda_launch(d, (const void *)rows_kernel,
                (struct grid){.x = blocks_for(args.floats), .threads = THREADS}, &args, "rows");
}

/* To the host, which waits. */
static void fetch(struct device *d, float *host, const float *from, size_t floats, const char *what)
{
    cuda_check(
        d, cudaMemcpyAsync(host, from, floats * sizeof(float), cudaMemcpyDeviceToHost, d->stream),
        what);
    cuda_check(d, cudaStreamSynchronize(d->stream), what);
}

extern "C" void cuda_rows(struct device *d, const struct layer *l, const struct batch *b,
                          const void *out, float *host)
{
    size_t task = (size_t)b->n * (size_t)(l->out_c * l->out_h * l->out_w);
    size_t floats = (size_t)b->tasks * task;
    float *rows = (float *)cuda_staging(d, floats * sizeof(float));
    if (!rows)
        return;
    cuda_collect(d, l, b, out, 0, b->n, rows, task);
    fetch(d, host, rows, floats, "rows");
}

struct entropy_args {
    const float *probs;
    float *entropy;
    int ways;
    size_t rows;
};

/* A thread a row; host_entropy's sum. */
static __global__ void entropy_kernel(const __grid_constant__ struct entropy_args a)
{
    size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    float h = 0;
    wait_for_previous();
    if (i >= a.rows)
        return;
    for (int c = 0; c < a.ways; c++) {
        float p = a.probs[i * a.ways + c];
        if (!(p <= 0)) /* NaN too, which must not be lost */
            h -= p * logf(p);
    }
    a.entropy[i] = h < 0 ? 0 : h;
}

extern "C" void cuda_entropy(struct device *d, size_t rows, int ways, const float *probs,
                             float *host)
{
    struct entropy_args args = {probs, NULL, ways, rows};
    args.entropy = (float *)cuda_staging(d, rows * sizeof(float));
    if (!args.entropy)
        return;
    cuda_launch(d, (const void *)entropy_kernel,
                (struct grid){.x = blocks_for(rows), .threads = THREADS}, &args, "entropy");
    fetch(d, host, args.entropy, rows, "entropy");
}
