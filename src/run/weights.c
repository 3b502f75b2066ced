/* weights.c - weights in and out of an engine. */
#include "run/weights.h"

#include <stdlib.h>

size_t weights_len(const struct net *net)
{
    struct net_tensor tensors[NET_TENSORS_MAX];
    int n = net_tensors(net, tensors);
    size_t len = 0;
    for (int i = 0; i < n; i++)
        len += tensors[i].len;
    return len;
}

void weights_get(struct engine *e, enum engine_vector which, float *row)
{
    struct net_tensor tensors[NET_TENSORS_MAX];
    int n = net_tensors(engine_net(e), tensors);
    for (int i = 0; i < n; row += tensors[i++].len)
        engine_get(e, which, &tensors[i], row);
}

void weights_put(struct engine *e, enum engine_vector which, const float *row)
{
    struct net_tensor tensors[NET_TENSORS_MAX];
    int n = net_tensors(engine_net(e), tensors);
    for (int i = 0; i < n; row += tensors[i++].len)
        engine_put(e, which, &tensors[i], row);
}

int model_write(const char *path, const struct net *net, const float *row,
                const struct safetensors_pair *meta, int pairs)
{
    struct net_tensor tensors[NET_TENSORS_MAX];
    struct safetensor out[NET_TENSORS_MAX];
    int n = net_tensors(net, tensors);
    for (int i = 0; i < n; row += tensors[i++].len) {
        const int *s = tensors[i].shape;
        out[i] = (struct safetensor){tensors[i].name,
                                     {.dtype = DTYPE_F32,
                                      .rank = tensors[i].dims,
                                      .shape = {s[0], s[1], s[2], s[3]},
                                      .data = row}};
    }
    return safetensors_write(path, out, n, meta, pairs);
}

int model_read(const char *path, const struct net *net, float *row)
{
    struct net_tensor tensors[NET_TENSORS_MAX];
    struct safetensors *file = NULL;
    int n = net_tensors(net, tensors), err = safetensors_open(&file, path);
    for (int i = 0; i < n && !err; row += tensors[i++].len) {
        const int *s = tensors[i].shape;
        const struct ndarray *a;
        err = safetensors_get(file, tensors[i].name, DTYPES_REAL, tensors[i].dims,
                              (int64_t[]){s[0], s[1], s[2], s[3]}, &a);
        if (!err)
            ndarray_to_float(a, row);
    }
    safetensors_close(file);
    return err;
}
