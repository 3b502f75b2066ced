/* cuda_device.c - the GPU as a device: memory, copies, launches and recordings.
 *
 * One stream, in whose order everything happens.  Operations return void; the
 * first failure is kept and reported by sync().
 */
#include "cuda_conv.h"
#include "cuda_fp16.h"
#include "cuda_head.h"
#include "cuda_last.h"
#include "cuda_proto.h"
#include "cuda_together.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CAPABILITY = 9, /* thread block clusters: Hopper (2022) and later */
    SHARED_KB = 227 /* for a block, as Hopper has; capability 12 has 99 */
};

/* ---- life ---- */

/* Whether the driver can run us at all; *count is how many GPUs it shows. */
static bool driver_ready(int *count, char *why, size_t size)
{
    int driver = 0;
    cudaError_t e = cudaGetDeviceCount(count);
    if (e == cudaSuccess && *count > 0)
        return true;
    cudaDriverGetVersion(&driver);
    if (driver == 0)
        snprintf(why, size, "no NVIDIA driver is installed");
    else if (e == cudaErrorInsufficientDriver)
        snprintf(why, size, "the NVIDIA driver is for CUDA %d.%d, this build needs %d.%d or newer",
                 driver / 1000, driver % 1000 / 10, CUDART_VERSION / 1000,
                 CUDART_VERSION % 1000 / 10);
    else
        snprintf(why, size, "no GPU: %s", cudaGetErrorString(e ? e : cudaErrorNoDevice));
    return false;
}

static bool gpu_fits(int index, char *why, size_t size)
{
    struct cudaDeviceProp p;
    cudaError_t e = cudaGetDeviceProperties(&p, index);
    if (e) {
        snprintf(why, size, "GPU %d does not answer: %s", index, cudaGetErrorString(e));
        return false;
    }
    if (p.major < CAPABILITY)
        snprintf(why, size, "%.99s has compute capability %d.%d, %d.0 or newer is needed", p.name,
                 p.major, p.minor, CAPABILITY);
    else if (p.sharedMemPerBlockOptin < SHARED_KB * 1024)
        snprintf(why, size, "%.99s has %zu kB of shared memory for a block, %d are needed", p.name,
                 p.sharedMemPerBlockOptin / 1024, SHARED_KB);
    return p.major >= CAPABILITY && p.sharedMemPerBlockOptin >= SHARED_KB * 1024;
}

static bool usable(char *why, size_t size)
{
    int count = 0;
    return driver_ready(&count, why, size) && gpu_fits(0, why, size);
}

static int open_stream(struct device *d, const struct device_options *options)
{
    int processors = 0;
    cudaError_t e = cudaSetDevice(d->index);
    if (!e)
        e = cudaStreamCreateWithFlags(&d->stream, cudaStreamNonBlocking);
    if (!e)
        e = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, d->index);
    if (!e)
        e = cudaDeviceGetAttribute(&d->shared_max, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                                   d->index);
    d->blocks = 2 * (options->processors ? options->processors : processors);
    return e ? fail(METE_EDEVICE, "GPU %d cannot be opened: %s", d->index, cudaGetErrorString(e))
             : 0;
}

static void close_device(struct device *d);

static int open_device(struct device **out, const struct device_options *options)
{
    char why[256];
    int count = 0;
    if (!driver_ready(&count, why, sizeof why))
        return fail(METE_EDEVICE, "%s", why);
    if (options->index < 0 || options->index >= count)
        return fail(METE_EINVAL, "there is no GPU %d; the driver shows %d", options->index, count);
    if (!gpu_fits(options->index, why, sizeof why))
        return fail(METE_EDEVICE, "%s", why);
    struct device *d = mem_alloc(sizeof *d);
    d->last = mem_alloc(sizeof *d->last);
    d->head = mem_alloc(sizeof *d->head);
    d->proto = mem_alloc(sizeof *d->proto);
    d->products = mem_alloc(sizeof *d->products);
    d->together = mem_alloc(sizeof *d->together);
    d->fp16 = mem_alloc(sizeof *d->fp16);
    d->index = options->index;
    d->full_fp32 = options->full_fp32;
    d->tasks = options->tasks;
    int err = open_stream(d, options);
    if (err) {
        close_device(d);
        return err;
    }
    *out = d;
    return 0;
}

static void forget(struct device *d)
{
    for (int i = 0; i < d->n_recordings; i++)
        cudaGraphExecDestroy(d->recordings[i].exec);
    free(d->recordings);
    d->recordings = NULL;
    d->n_recordings = 0;
}

static void close_device(struct device *d)
{
    if (!d)
        return;
    if (d->stream) {
        cuda_flush(d);
        cudaStreamSynchronize(d->stream);
    }
    forget(d);
    cudaFree(d->staging);
    if (d->stream)
        cudaStreamDestroy(d->stream);
    free(d->last);
    free(d->head);
    free(d->proto);
    free(d->products);
    free(d->together);
    cuda_fp16_close(d);
    free(d);
}

/* ---- failures ---- */

void cuda_check(struct device *d, cudaError_t e, const char *what)
{
    if (e == cudaSuccess || d->error != cudaSuccess)
        return;
    d->error = e;
    d->failed = what;
}

static int failed_in(const struct device *d, const char *what, cudaError_t e)
{
    return fail(METE_EDEVICE, "GPU %d failed in %s: %s", d->index, what, cudaGetErrorString(e));
}

int cuda_sync(struct device *d)
{
    cuda_flush(d);
    cuda_check(d, cudaStreamSynchronize(d->stream), "the work queued before");
    if (d->error == cudaSuccess)
        return 0;
    cudaError_t e = d->error;
    d->error = cudaSuccess;
    return failed_in(d, d->failed, e);
}

/* ---- memory ---- */

int cuda_alloc(struct device *d, size_t bytes, void **out)
{
    void *at = NULL;
    size_t whole = (bytes + 64) / 64 * 64;
    cudaError_t e = cudaMalloc(&at, whole);
    if (e && e != cudaErrorMemoryAllocation)
        return failed_in(d, "taking memory", e);
    if (e) {
        size_t left = 0, all = 0;
        cudaGetLastError(); /* running out of memory is no failure of the device */
        cudaMemGetInfo(&left, &all);
        return fail(METE_ENOMEM, "GPU %d cannot give %.1f MB: %.1f of its %.1f MB are free",
                    d->index, (double)bytes / 1e6, (double)left / 1e6, (double)all / 1e6);
    }
    cuda_check(d, cudaMemsetAsync(at, 0, whole, d->stream), "clearing new memory");
    *out = at;
    return 0;
}

void cuda_release(struct device *d, void *p, size_t bytes)
{
    if (!p)
        return;
    cuda_flush(d);
    cuda_fp16_forget(d, p, bytes);
    cuda_check(d, cudaStreamSynchronize(d->stream), "the work queued before");
    cuda_check(d, cudaFree(p), "release");
}

void *cuda_staging(struct device *d, size_t bytes)
{
    if (bytes > d->staging_bytes) {
        cuda_release(d, d->staging, d->staging_bytes);
        d->staging = NULL;
        d->staging_bytes = 0;
        cudaError_t e = cudaMalloc(&d->staging, bytes);
        cuda_check(d, e, "reserving memory for results");
        if (e)
            return NULL;
        d->staging_bytes = bytes;
    }
    return d->staging;
}

void cuda_upload(struct device *d, void *to, const void *from, size_t bytes)
{
    cuda_flush(d);
    cuda_check(d, cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, d->stream), "upload");
}

static void download(struct device *d, void *to, const void *from, size_t bytes)
{
    cuda_flush(d);
    cuda_check(d, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, d->stream), "download");
    cuda_check(d, cudaStreamSynchronize(d->stream), "download");
}

static void zero(struct device *d, void *to, size_t bytes)
{
    cuda_flush(d);
    cuda_check(d, cudaMemsetAsync(to, 0, bytes, d->stream), "zero");
}

/* ---- launches ---- */

void cuda_flush(struct device *d)
{
    cuda_together_flush(d); /* first: where any is noted, the others were noted later */
    cuda_last_flush(d);
    cuda_head_flush(d);
    cuda_proto_flush(d);
    cuda_products_flush(d);
}

/* Lets a kernel have all the shared memory of a block.  Always the same number: several
 * devices, each in a thread of its own, may launch it at once with different sizes. */
static void allow_shared(struct device *d, const void *kernel, size_t bytes, const char *name)
{
    struct cudaFuncAttributes f;
    cudaError_t e = cudaFuncGetAttributes(&f, kernel);
    if (!e && bytes > (size_t)f.maxDynamicSharedSizeBytes)
        e = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 d->shared_max - (int)f.sharedSizeBytes);
    cuda_check(d, e, name);
}

void cuda_launch(struct device *d, const void *kernel, struct grid g, void *args, const char *name)
{
    cudaLaunchAttribute attributes[2] = {
        {.id = cudaLaunchAttributeProgrammaticStreamSerialization,
         .val.programmaticStreamSerializationAllowed = 1},
        {.id = cudaLaunchAttributeClusterDimension, .val.clusterDim = {g.cluster, 1, 1}},
    };
    cudaLaunchConfig_t config = {.gridDim = {g.x, g.y ? g.y : 1, g.z ? g.z : 1},
                                 .blockDim = {g.threads, 1, 1},
                                 .dynamicSmemBytes = g.shared,
                                 .stream = d->stream,
                                 .attrs = attributes,
                                 .numAttrs = g.cluster ? 2 : 1};
    cuda_flush(d);
    if (g.x == 0 || d->error != cudaSuccess)
        return;
    allow_shared(d, kernel, g.shared, name);
    cuda_check(d, cudaLaunchKernelExC(&config, kernel, &args), name);
    d->latest = name;
}

/* ---- recordings ---- */

static bool replay(struct device *d, uint64_t key)
{
    cuda_flush(d);
    d->latest = NULL;
    for (int i = 0; i < d->n_recordings; i++)
        if (d->recordings[i].key == key) {
            cuda_check(d, cudaGraphLaunch(d->recordings[i].exec, d->stream), "replay");
            return true;
        }
    d->recording_key = key;
    cuda_check(d, cudaStreamBeginCapture(d->stream, cudaStreamCaptureModeRelaxed), "recording");
    return false;
}

static void recorded(struct device *d)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cuda_flush(d);
    d->latest = NULL;
    cuda_check(d, cudaStreamEndCapture(d->stream, &graph), "recording");
    if (graph)
        cuda_check(d, cudaGraphInstantiate(&exec, graph, 0), "recording");
    if (graph)
        cudaGraphDestroy(graph);
    if (!exec)
        return;
    d->recordings = mem_grow(d->recordings, (size_t)d->n_recordings + 1, sizeof *d->recordings);
    d->recordings[d->n_recordings++] = (struct recording){d->recording_key, exec};
    cuda_check(d, cudaGraphLaunch(exec, d->stream), "replay");
}

const struct kernels kernels_cuda = {
    .name = "cuda",
    .summary = "NVIDIA GPUs from compute capability 9.0, all tasks of a shard at once",
    .elem = sizeof(float),
    .batched = true,
    .usable = usable,
    .open = open_device,
    .close = close_device,
    .alloc = cuda_alloc,
    .release = cuda_release,
    .upload = cuda_upload,
    .download = download,
    .sync = cuda_sync,
    .images_open = cuda_images_open,
    .images_close = cuda_images_close,
    .replay = replay,
    .recorded = recorded,
    .forget = forget,
    .layout = cuda_layout,
    .pack = cuda_pack,
    .unpack = cuda_unpack,
    .input_bytes = cuda_input_bytes,
    .cache_bytes = cuda_cache_bytes,
    .tangent_bytes = cuda_cache_bytes,
    .scratch_bytes = cuda_scratch_bytes,
    .out = cuda_out,
    .dout = cuda_dout,
    .gather = cuda_gather,
    .rows = cuda_rows,
    .collect = cuda_collect,
    .forward = cuda_forward,
    .backward = cuda_backward,
    .backward_step = cuda_backward_step,
    .forward_tangent = cuda_forward_tangent,
    .backward_tangent = cuda_backward_tangent,
    .xent = cuda_xent,
    .xent_tangent = cuda_xent_tangent,
    .proto = cuda_proto,
    .proto_bytes = cuda_proto_bytes,
    .kmeans = cuda_kmeans,
    .entropy = cuda_entropy,
    .zero = zero,
    .axpy = cuda_axpy,
    .reduce = cuda_reduce,
    .dot = cuda_dot,
    .sgd = cuda_sgd,
    .adam = cuda_adam,
};
