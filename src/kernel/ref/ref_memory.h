/* ref_memory.h - the host as a device, tensor layout, input and output. */

struct device {
    int unused;
};

static bool ref_usable(char *why, size_t size)
{
    (void)why;
    (void)size;
    return true;
}

static int ref_open(struct device **out, const struct device_options *options)
{
    (void)options;
    *out = calloc(1, sizeof **out);
    return *out ? 0 : fail(METE_ENOMEM, "out of memory");
}

static void ref_close(struct device *d)
{
    free(d);
}

static int ref_alloc(struct device *d, size_t bytes, void **out)
{
    (void)d;
    *out = aligned_alloc(64, (bytes + 64) / 64 * 64);
    if (!*out)
        return fail(METE_ENOMEM, "cannot reserve %.1f MB of working memory", (double)bytes / 1e6);
    memset(*out, 0, bytes);
    return 0;
}

static void ref_release(struct device *d, void *p, size_t bytes)
{
    (void)d;
    (void)bytes;
    free(p);
}

static void ref_upload(struct device *d, void *to, const void *from, size_t bytes)
{
    (void)d;
    memcpy(to, from, bytes);
}

static void ref_download(struct device *d, void *to, const void *from, size_t bytes)
{
    (void)d;
    memcpy(to, from, bytes);
}

static int ref_sync(struct device *d)
{
    (void)d;
    return 0;
}

static int ref_images_open(struct device *d, struct images *images)
{
    (void)d;
    (void)images; /* host memory is device memory */
    return 0;
}

static void ref_images_close(struct device *d, struct images *images)
{
    (void)d;
    (void)images;
}

/* How many elements a tensor of the layer has; 0: the layer has no such tensor. */
static size_t tensor_len(const struct layer *l, enum tensor which)
{
    if (which == TENSOR_WEIGHT)
        return (size_t)l->out_c * (size_t)l->in_c *
               (l->kind == LAYER_CONV ? 9 : (size_t)l->in_h * (size_t)l->in_w);
    if (which == TENSOR_BIAS || l->kind == LAYER_CONV || (which == TENSOR_BETA && l->odds))
        return (size_t)l->out_c;
    return 0;
}

static size_t ref_layout(struct layer *layers, int n, size_t *trained)
{
    size_t at = 0;
    for (int running = 0; running < 2; running++) { /* trained tensors first */
        for (int i = 0; i < n; i++)
            for (int w = 0; w < TENSORS; w++)
                if ((w >= TENSOR_MEAN) == running) {
                    layers[i].offset[w] = at;
                    at += tensor_len(&layers[i], (enum tensor)w);
                }
        if (!running)
            *trained = at;
    }
    return at;
}

static void ref_pack(struct device *d, const struct layer *l, enum tensor which, const float *host,
                     void *vector)
{
    (void)d;
    REAL *to = (REAL *)vector + l->offset[which];
    for (size_t i = 0; i < tensor_len(l, which); i++)
        to[i] = host[i];
}

static void ref_unpack(struct device *d, const struct layer *l, enum tensor which,
                       const void *vector, float *host)
{
    (void)d;
    const REAL *from = (const REAL *)vector + l->offset[which];
    for (size_t i = 0; i < tensor_len(l, which); i++)
        host[i] = (float)from[i];
}

static int count_of(const struct batch *b, int task)
{
    return b->count ? b->count[task] : b->n;
}

static size_t in_len(const struct layer *l)
{
    return (size_t)l->in_c * (size_t)l->in_h * (size_t)l->in_w;
}

static size_t out_len(const struct layer *l)
{
    return (size_t)l->out_c * (size_t)l->out_h * (size_t)l->out_w;
}

static size_t ref_input_bytes(const struct layer *first, const struct batch *b)
{
    return (size_t)b->tasks * (size_t)b->n * in_len(first) * sizeof(REAL);
}

static REAL image_value(const struct images *from, int64_t item, int c, int y, int x)
{
    int64_t at = item * from->h * from->w * from->c;
    at += from->planar ? ((int64_t)c * from->h + y) * from->w + x
                       : ((int64_t)y * from->w + x) * from->c + c;
    double value = from->type == IMAGES_U8 ? ((const uint8_t *)from->data)[at]
                                           : ((const float *)from->data)[at];
    return (REAL)(value * from->scale + from->shift);
}

static void ref_gather(struct device *d, const struct layer *first, const struct batch *b,
                       const struct images *from, const int32_t *index, void *x)
{
    (void)d;
    (void)first;
    REAL *to = x;
    for (int i = 0; i < b->tasks * b->n; i++)
        for (int c = 0; c < from->c; c++)
            for (int y = 0; y < from->h; y++)
                for (int xx = 0; xx < from->w; xx++)
                    *to++ = index[i] < 0 ? 0 : image_value(from, index[i], c, y, xx);
}

static void ref_rows(struct device *d, const struct layer *l, const struct batch *b,
                     const void *out, float *host)
{
    (void)d;
    for (size_t i = 0; i < (size_t)b->tasks * (size_t)b->n * out_len(l); i++)
        host[i] = (float)((const REAL *)out)[i];
}

static void ref_collect(struct device *d, const struct layer *l, const struct batch *b,
                        const void *out, int first, int n, float *to, size_t stride)
{
    (void)d;
    for (int t = 0; t < b->tasks; t++) {
        const REAL *from = (const REAL *)out + (size_t)(t * b->n + first) * out_len(l);
        for (size_t i = 0; i < (size_t)n * out_len(l); i++)
            to[(size_t)t * stride + i] = (float)from[i];
    }
}
