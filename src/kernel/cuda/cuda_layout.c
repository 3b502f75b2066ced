/* cuda_layout.c - where tensors and activations lie; between PyTorch's order on
 * the host and ours. */
#include "cuda_set.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static size_t whole(size_t floats) /* lines of 64 bytes */
{
    return (floats + 15) / 16 * 16;
}

/* Floats of a tensor with its padding; 0: the layer has no such tensor. */
static size_t tensor_floats(const struct layer *l, enum tensor which)
{
    if (!is_conv(l))
        return which == TENSOR_WEIGHT ? (size_t)l->out_c * in_floats(l)
               : which == TENSOR_BIAS ? (size_t)l->out_c
                                      : 0;
    size_t rows = (size_t)slices(l->out_c) * SLICE;
    return which == TENSOR_WEIGHT ? rows * 9 * (size_t)channels(l->in_c) : rows;
}

/* Of few filters, the roundings of TF32 do not average out (nets of 3 and of 9 filters were
 * beyond 2e-3 in tests/kernel), and tensor cores gain little below a slice of 32 channels:
 * a net with such a layer is computed in fp32, all of it, since what a layer writes is
 * rounded for the next. */
static void choose_arithmetic(struct layer *layers, int n)
{
    enum { FEW = 32 };
    bool few = false;
    for (int i = 0; i < n; i++)
        few = few || (is_conv(&layers[i]) && layers[i].out_c < FEW);
    for (int i = 0; i < n; i++)
        layers[i].exact = few;
}

/* Omniglot's first layer, where the second, which has kernels that read it so, follows. */
static void choose_fp16(struct layer *layers, int n)
{
    for (int i = 0; i < n; i++)
        layers[i].fp16 = false;
    if (n > 1 && moments_side(&layers[0]) == 16 && is_conv(&layers[1]))
        layers[0].fp16 = layers[1].out_c == 64 && layers[1].stride == 2 && !layers[1].pool;
}

size_t cuda_layout(struct layer *layers, int n, size_t *trained)
{
    size_t at = 0;
    choose_arithmetic(layers, n);
    choose_fp16(layers, n);
    for (int running = 0; running < 2; running++) { /* trained tensors first */
        for (int i = 0; i < n; i++)
            for (int w = 0; w < TENSORS; w++)
                if ((w >= TENSOR_MEAN) == running) {
                    layers[i].offset[w] = at;
                    at += whole(tensor_floats(&layers[i], (enum tensor)w));
                }
        if (!running)
            *trained = at;
    }
    return at;
}

/* Calls `move` for each element: its place in PyTorch's order and in ours. */
typedef void move_fn(float *host, float *device);
static void host_to_device(float *host, float *device)
{
    *device = *host;
}
static void device_to_host(float *host, float *device)
{
    *host = *device;
}

static void each_element(const struct layer *l, enum tensor which, float *host, float *device,
                         move_fn *move)
{
    if (which != TENSOR_WEIGHT) {
        for (int i = 0; i < l->out_c; i++)
            move(host + i, device + i);
        return;
    }
    int places = is_conv(l) ? 9 : l->in_h * l->in_w, padded = channels(l->in_c);
    int width = is_conv(l) ? together(l->in_c) : padded;
    for (int o = 0; o < l->out_c; o++)
        for (int c = 0; c < l->in_c; c++)
            for (int p = 0; p < places; p++) {
                size_t piece = (size_t)o * (size_t)padded + (size_t)(c - c % width);
                move(host + ((size_t)o * (size_t)l->in_c + (size_t)c) * (size_t)places + p,
                     device + piece * (size_t)places + (size_t)(p * width + c % width));
            }
}

void cuda_pack(struct device *d, const struct layer *l, enum tensor which, const float *host,
               void *vector)
{
    size_t floats = tensor_floats(l, which);
    float *ordered = mem_array(floats, sizeof *ordered);
    cuda_flush(d);
    each_element(l, which, (float *)host, ordered, host_to_device);
    cuda_check(d,
               cudaMemcpyAsync((float *)vector + l->offset[which], ordered,
                               floats * sizeof *ordered, cudaMemcpyHostToDevice, d->stream),
               "pack");
    cuda_check(d, cudaStreamSynchronize(d->stream), "pack");
    free(ordered);
}

void cuda_unpack(struct device *d, const struct layer *l, enum tensor which, const void *vector,
                 float *host)
{
    size_t floats = tensor_floats(l, which);
    float *ordered = mem_array(floats, sizeof *ordered);
    cuda_flush(d);
    cuda_check(d,
               cudaMemcpyAsync(ordered, (const float *)vector + l->offset[which],
                               floats * sizeof *ordered, cudaMemcpyDeviceToHost, d->stream),
               "unpack");
    cuda_check(d, cudaStreamSynchronize(d->stream), "unpack");
    each_element(l, which, host, ordered, device_to_host);
    free(ordered);
}

size_t cuda_input_bytes(const struct layer *first, const struct batch *b)
{
    size_t moments = (size_t)(moments_side(first) * moments_side(first));
    return (size_t)b->tasks * (size_t)b->n * (in_floats(first) + moments) * sizeof(float);
}

enum part { OUT, DOUT, Z, DZ, STATISTICS, PARTS };

/* Where the parts of a cache begin, in floats; returns the size of it all. */
static size_t cache_parts(const struct layer *l, const struct batch *b, size_t at[PARTS])
{
    size_t images = (size_t)b->tasks * (size_t)b->n, floats[PARTS] = {0}, used = 0;
    floats[OUT] = floats[DOUT] = whole(images * out_floats(l));
    if (is_conv(l)) {
        floats[Z] = images * (size_t)(l->conv_h * l->conv_w) * (size_t)channels(l->out_c);
        floats[DZ] = floats[Z] = whole(floats[Z]);
        floats[STATISTICS] = STATS * (size_t)b->tasks * (size_t)(slices(l->out_c) * SLICE);
    }
    for (int i = 0; i < PARTS; i++) {
        at[i] = used;
        used += floats[i];
    }
    return used;
}

struct cache cuda_cache(const struct layer *l, const struct batch *b, const void *memory)
{
    float *p = (float *)memory;
    size_t at[PARTS];
    if (!p)
        return (struct cache){0};
    cache_parts(l, b, at);
    return (struct cache){p + at[OUT], p + at[DOUT], p + at[Z], p + at[DZ], p + at[STATISTICS]};
}

size_t cuda_cache_bytes(const struct layer *l, const struct batch *b)
{
    size_t at[PARTS];
    return cache_parts(l, b, at) * sizeof(float);
}

size_t cuda_scratch_bytes(const struct layer *layers, int n, const struct batch *b)
{
    (void)layers;
    (void)n;
    (void)b;
    return 0; /* what blocks exchange lies in the cache */
}

void *cuda_out(const struct layer *l, const struct batch *b, void *cache)
{
    return cuda_cache(l, b, cache).out;
}

void *cuda_dout(const struct layer *l, const struct batch *b, void *cache)
{
    return cuda_cache(l, b, cache).dout;
}
