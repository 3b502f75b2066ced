/* cuda_memory.cu - the way in and out: pictures gathered by index, rows for the host. */
#include "cuda_tile.cuh"

struct gather_args {
    struct images from;
    const int32_t *index;
    float *x;
    int c; /* with padding */
    bool full_fp32;
};

/* Channel c of a pixel; base: of the image. */
static __device__ __forceinline__ float image_value(const struct images &m, int64_t base, int pixel,
                                                    int c)
{
    int64_t at = base + (m.planar ? c * m.h * m.w + pixel : pixel * m.c + c);
    float value =
        m.type == images::IMAGES_U8 ? ((const uint8_t *)m.data)[at] : ((const float *)m.data)[at];
    return value * m.scale + m.shift;
}

/* A thread per four channels of a pixel; blockIdx = (image, pixels x channels). */
static __global__ void __launch_bounds__(THREADS)
    gather_kernel(const __grid_constant__ struct gather_args a)
{
    const struct images &m = a.from;
    int quads = a.c / 4, at = blockIdx.y * THREADS + threadIdx.x;
    int pixel = quads == 1 ? at : at / quads, c = (at - pixel * quads) * 4;
    wait_for_previous();
    if (pixel >= m.h * m.w)
        return;
    int32_t item = a.index[blockIdx.x];
    int64_t base = (int64_t)item * (m.h * m.w * m.c);
    float v[4];
    for (int j = 0; j < 4; j++)
        v[j] = item >= 0 && c + j < m.c ? image_value(m, base, pixel, c + j) : 0;
    for (int j = 0; j < 4 && !a.full_fp32; j++)
        v[j] = round_tf32(v[j]);
    float *to = a.x + ((size_t)blockIdx.x * (m.h * m.w * quads) + at) * 4;
    *(float4 *)to = make_float4(v[0], v[1], v[2], v[3]);
}

extern "C" void cuda_gather(struct device *d, const struct layer *first, const struct batch *b,
                            const struct images *from, const int32_t *index, void *x)
{
    struct gather_args args = {*from, index, (float *)x, channels(first->in_c),
                               in_fp32(d, first) || !is_conv(first)};
    struct grid g = {.x = (unsigned)(b->tasks * b->n),
                     .y = (unsigned)((in_floats(first) / 4 + THREADS - 1) / THREADS),
                     .threads = THREADS};
    cuda_launch(d, (const void *)gather_kernel, g, &args, "gather");
}

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
