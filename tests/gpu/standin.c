/* standin.c - a stand-in for CUDA's run-time library, for machines without a GPU: the states
 * that a GPU can be in, and which kernels are launched.
 *
 * Memory is the host's and zeros at first, copies are made at once, and kernels do nothing: what
 * they would have written stays as it was.  That is enough for everything around them to run:
 * buying labels, training, checkpoints, tests.  Linked in the place of the real one
 * (-DMETE_CUDA_STANDIN=ON). The environment says how it fares: METE_STANDIN=none          there is
 * no driver METE_STANDIN=old           its driver is for CUDA 11.4 METE_STANDIN=capability=8  what
 * the GPU is (9), shared=99: kB for a block (227), memory=64     MB it has (4096), lost=1000: the
 * call with which it is gone (never); several with commas between them METE_STANDIN_LOG=FILE the
 * names of kernels, in the order of launches
 */
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KERNELS_MOST = 512, NAME_MOST = 64, MB = 1000 * 1000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct kernel {
    const void *host;
    char name[NAME_MOST];
} kernels[KERNELS_MOST];
static int n_kernels;
static long calls;
static size_t used; /* bytes */

/* ---- how it fares ---- */

static const char *state(void)
{
    const char *s = getenv("METE_STANDIN");
    return s ? s : "";
}

static long number(const char *key, long otherwise)
{
    const char *at = strstr(state(), key);
    return at ? atol(at + strlen(key)) : otherwise;
}

/* Counts a call to the GPU: from the one with which it is lost on, all fail. */
static cudaError_t called(void)
{
    long lost = number("lost=", 0);
    pthread_mutex_lock(&lock);
    long now = ++calls;
    pthread_mutex_unlock(&lock);
    return lost && now >= lost ? cudaErrorECCUncorrectable : cudaSuccess;
}

const char *cudaGetErrorString(cudaError_t e)
{
    return e == cudaErrorECCUncorrectable       ? "uncorrectable ECC error encountered"
           : e == cudaErrorInsufficientDriver   ? "CUDA driver version is insufficient"
           : e == cudaErrorMemoryAllocation     ? "out of memory"
           : e == cudaErrorInvalidConfiguration ? "invalid configuration argument"
                                                : "an error";
}

cudaError_t cudaGetLastError(void)
{
    return cudaSuccess;
}

/* ---- the machine ---- */

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = strcmp(state(), "none") == 0  ? 0
               : strcmp(state(), "old") == 0 ? 11040
                                             : CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    bool there = strcmp(state(), "none") != 0 && strcmp(state(), "old") != 0;
    *count = there;
    return there ? cudaSuccess : cudaErrorInsufficientDriver;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int device)
{
    (void)device;
    memset(p, 0, sizeof *p);
    strcpy(p->name, "Stand-in");
    p->major = (int)number("capability=", 9);
    p->sharedMemPerBlockOptin = (size_t)number("shared=", 227) * 1024;
    return called();
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr which, int device)
{
    (void)device;
    *value = which == cudaDevAttrMultiProcessorCount ? 132 : (int)number("shared=", 227) * 1024;
    return called();
}

cudaError_t cudaSetDevice(int device)
{
    (void)device;
    return called();
}

/* ---- memory: its size is kept before it ---- */

enum { BEFORE = 256 };

cudaError_t cudaMemGetInfo(size_t *left, size_t *all)
{
    *all = (size_t)number("memory=", 4096) * MB;
    pthread_mutex_lock(&lock);
    *left = *all - used;
    pthread_mutex_unlock(&lock);
    return called();
}

cudaError_t cudaMalloc(void **out, size_t bytes)
{
    cudaError_t e = called();
    if (e)
        return e;
    pthread_mutex_lock(&lock);
    bool fits = used + bytes <= (size_t)number("memory=", 4096) * MB;
    used += fits ? bytes : 0;
    pthread_mutex_unlock(&lock);
    char *at = fits ? aligned_alloc(BEFORE, (bytes + 2 * BEFORE) / BEFORE * BEFORE) : NULL;
    if (!at)
        return cudaErrorMemoryAllocation;
    memcpy(at, &bytes, sizeof bytes);
    *out = memset(at + BEFORE, 0, bytes); /* nothing else will be written there */
    return cudaSuccess;
}

cudaError_t cudaFree(void *p)
{
    size_t bytes;
    if (!p)
        return cudaSuccess;
    char *at = (char *)p - BEFORE;
    memcpy(&bytes, at, sizeof bytes);
    pthread_mutex_lock(&lock);
    used -= bytes;
    pthread_mutex_unlock(&lock);
    free(at);
    return called();
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    (void)kind, (void)stream;
    memcpy(to, from, bytes);
    return called();
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    (void)stream;
    memset(to, value, bytes);
    return called();
}

/* ---- streams and recordings ---- */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags)
{
    (void)flags;
    *out = (cudaStream_t)&calls;
    return called();
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    (void)stream;
    return called();
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    (void)stream;
    return called();
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    (void)stream, (void)mode;
    return called();
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *out)
{
    (void)stream;
    cudaError_t e = called();
    *out = e ? NULL : (cudaGraph_t)&calls;
    return e;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long flags)
{
    (void)graph, (void)flags;
    cudaError_t e = called();
    *out = e ? NULL : (cudaGraphExec_t)&calls;
    return e;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    (void)exec, (void)stream;
    return called();
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    (void)graph;
    return called();
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    (void)exec;
    return called();
}

/* ---- kernels ---- */

/* "_Z11last_kernel9last_args" is last_kernel. */
static void register_kernel(const void *host, const char *mangled)
{
    if (n_kernels == KERNELS_MOST) {
        fprintf(stderr, "standin: more than %d kernels\n", KERNELS_MOST);
        abort();
    }
    struct kernel *k = &kernels[n_kernels++];
    char *name = NULL;
    long length = strncmp(mangled, "_Z", 2) == 0 ? strtol(mangled + 2, &name, 10) : 0;
    k->host = host;
    snprintf(k->name, NAME_MOST, "%.*s", length ? (int)length : NAME_MOST - 1,
             length ? name : mangled);
}

static const char *name_of(const void *host)
{
    for (int i = 0; i < n_kernels; i++)
        if (kernels[i].host == host)
            return kernels[i].name;
    return "no kernel";
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *to, const void *kernel)
{
    (void)kernel;
    memset(to, 0, sizeof *to);
    to->sharedSizeBytes = 128; /* some: it has a body (cuda_cells.cuh) */
    to->maxDynamicSharedSizeBytes = 48 * 1024;
    return called();
}

cudaError_t cudaFuncSetAttribute(const void *kernel, enum cudaFuncAttribute which, int value)
{
    (void)kernel, (void)which, (void)value;
    return called();
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *c, const void *kernel, void **args)
{
    (void)args;
    const char *log = getenv("METE_STANDIN_LOG");
    if (c->blockDim.x < 1 || c->blockDim.x > 1024 || c->gridDim.y > 65535 || c->gridDim.z > 65535 ||
        c->dynamicSmemBytes > (size_t)number("shared=", 227) * 1024)
        return cudaErrorInvalidConfiguration;
    FILE *file = log ? fopen(log, "a") : NULL;
    if (file) {
        fprintf(file, "%s\n", name_of(kernel));
        fclose(file);
    }
    return called();
}

static CUresult encode(CUtensorMap *to)
{
    memset(to, 0, sizeof *to);
    return CUDA_SUCCESS;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **out, unsigned since,
                                             unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *how)
{
    CUresult (*found)(CUtensorMap *) = encode; /* the other arguments it does not look at */
    (void)symbol, (void)since, (void)flags;
    memcpy(out, &found, sizeof *out);
    *how = cudaDriverEntryPointSuccess;
    return called();
}

/* ---- what compiled code calls when it is loaded; no header has it ---- */

void **__cudaRegisterFatBinary(void *binary);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int threads, void *tid, void *bid, void *block, void *grid, int *warp);
unsigned __cudaPopCallConfiguration(void *grid, void *block, size_t *shared, void *stream);
cudaError_t __cudaGetKernel(void **out, const void *host);
cudaError_t __cudaLaunchKernel(void);

void **__cudaRegisterFatBinary(void *binary)
{
    static void *handle;
    handle = binary;
    return &handle;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
    (void)handle;
}

void __cudaUnregisterFatBinary(void **handle)
{
    (void)handle;
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int threads, void *tid, void *bid, void *block, void *grid, int *warp)
{
    (void)handle, (void)device, (void)threads, (void)tid, (void)bid, (void)block, (void)grid;
    (void)warp;
    register_kernel(host, name);
}

/* <<<>>>, which nobody uses. */
unsigned __cudaPopCallConfiguration(void *grid, void *block, size_t *shared, void *stream)
{
    (void)grid, (void)block, (void)shared, (void)stream;
    abort();
}

cudaError_t __cudaGetKernel(void **out, const void *host)
{
    (void)out, (void)host;
    abort();
}

cudaError_t __cudaLaunchKernel(void)
{
    abort();
}
