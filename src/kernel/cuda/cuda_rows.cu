/* cuda_rows.cu - the way out: rows for the host. */
#include "cuda_tile.cuh"

struct rows_args {
    const float *out;
    float *rows;
    int c, padded, pixels;
    size_t floats;
};

/* (image, pixel, channel) to (image, channel, pixel). */
static __global__ void rows_kernel(const __grid_constant__ struct rows_args a)
{
    size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x, size = (size_t)a.c * a.pixels;
    wait_for_previous();
    if (i >= a.floats)
        return;
    size_t image = i / size, c = i % size / a.pixels, pixel = i % a.pixels;
    a.rows[i] = a.out[(image * a.pixels + pixel) * a.padded + c];
}

extern "C" void cuda_rows(struct device *d, const struct layer *l, const struct batch *b,
                          const void *out, float *host)
{
    struct rows_args args = {(const float *)out,  NULL, l->out_c, channels(l->out_c),
                             l->out_h * l->out_w, 0};
    args.floats = (size_t)b->tasks * (size_t)b->n * (size_t)(args.c * args.pixels);
    args.rows = (float *)cuda_staging(d, args.floats * sizeof(float));
    if (!args.rows)
        return;
    cuda_launch(
        d, (const void *)rows_kernel,
        (struct grid){.x = (unsigned)((args.floats + THREADS - 1) / THREADS), .threads = THREADS},
        &args, "rows");
    cuda_check(d,
               cudaMemcpyAsync(host, args.rows, args.floats * sizeof(float), cudaMemcpyDeviceToHost,
                               d->stream),
               "rows");
    cuda_check(d, cudaStreamSynchronize(d->stream), "rows");
}
