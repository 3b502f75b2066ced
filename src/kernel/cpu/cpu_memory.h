/* cpu_memory.h - memory on large pages, tensor layout, input and output. */

struct device {
    int unused; /* one thread's: everything a call needs is in its arguments */
};

static int cpu_open(struct device **out, const struct device_options *options)
{
    (void)options;
    *out = calloc(1, sizeof **out);
    return *out ? 0 : fail(METE_ENOMEM, "out of memory");
}

static void cpu_close(struct device *d)
{
    free(d);
}

#ifdef __SANITIZE_ADDRESS__ /* memory whose ends are watched */
static int cpu_alloc(struct device *d, size_t bytes, void **out)
{
    (void)d;
    if (posix_memalign(out, 64, bytes ? bytes : 1))
        return fail(METE_ENOMEM, "cannot reserve %.1f MB of working memory", (double)bytes / 1e6);
    memset(*out, 0, bytes);
    return 0;
}

static void cpu_release(struct device *d, void *p, size_t bytes)
{
    (void)d;
    (void)bytes;
    free(p);
}
#else
enum { LARGE_PAGE = 2 << 20 };

/* Large blocks start on a large page and fill them, so that the kernel can give them;
 * the room to choose that start is given back. */
static size_t mapped_bytes(size_t bytes)
{
    size_t unit = bytes >= LARGE_PAGE ? LARGE_PAGE : 4096;
    return (bytes + unit - 1) / unit * unit;
}

static int cpu_alloc(struct device *d, size_t bytes, void **out)
{
    (void)d;
    size_t size = mapped_bytes(bytes ? bytes : 1), room = size >= LARGE_PAGE ? LARGE_PAGE : 0;
    char *p = mmap(NULL, size + room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return fail(METE_ENOMEM, "cannot reserve %.1f MB of working memory", (double)bytes / 1e6);
    if (room) {
        size_t before = (LARGE_PAGE - (uintptr_t)p % LARGE_PAGE) % LARGE_PAGE;
        if (before)
            munmap(p, before);
        p += before;
        if (room > before)
            munmap(p + size, room - before);
        madvise(p, size, MADV_HUGEPAGE); /* a hint: smaller pages only cost speed */
    }
    *out = p;
    return 0;
}

static void cpu_release(struct device *d, void *p, size_t bytes)
{
    (void)d;
    if (p)
        munmap(p, mapped_bytes(bytes ? bytes : 1));
}
#endif

static void cpu_copy(struct device *d, void *to, const void *from, size_t bytes)
{
    (void)d;
    memcpy(to, from, bytes);
}

static int cpu_sync(struct device *d)
{
    (void)d;
    return 0;
}

static int cpu_images_open(struct device *d, struct images *images)
{
    (void)d;
    (void)images; /* host memory is device memory */
    return 0;
}

static void cpu_images_close(struct device *d, struct images *images)
{
    (void)d;
    (void)images;
}

/* ---- parameter vectors ---- */

static size_t cpu_layout(struct layer *layers, int n, size_t *trained)
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

/* Where element (input channel c, row y, column x) of output 0 of a weight lies. */
static size_t weight_at(const struct layer *l, int c, int y, int x)
{
    size_t input;
    if (l->kind == LAYER_CONV)
        input = (size_t)((is_first(l) ? x * 3 + y : y * 3 + x) * l->in_c + c);
    else if (is_first(l))
        input = (size_t)((c * l->in_h + y) * l->in_w + x);
    else
        input = (size_t)((y * l->in_w + place(x, l->in_w)) * l->in_c + c);
    return input * (size_t)pad(l->out_c);
}

/* Calls with each element of a tensor in the host's order and where it lies in a vector. */
#define EACH_WEIGHT(l, at)                                                                         \
    for (int o = 0; o < (l)->out_c; o++)                                                           \
        for (int c = 0; c < (l)->in_c; c++)                                                        \
            for (int y = 0; y < ((l)->kind == LAYER_CONV ? 3 : (l)->in_h); y++)                    \
                for (int x = 0; x < ((l)->kind == LAYER_CONV ? 3 : (l)->in_w); x++)                \
                    for (size_t at = weight_at(l, c, y, x) + (size_t)o, go = 1; go; go = 0)

static void cpu_pack(struct device *d, const struct layer *l, enum tensor which, const float *host,
                     void *vector)
{
    (void)d;
    float *to = (float *)vector + l->offset[which];
    memset(to, 0, tensor_len(l, which) * sizeof *to);
    if (which != TENSOR_WEIGHT) {
        memcpy(to, host, tensor_len(l, which) ? (size_t)l->out_c * sizeof *to : 0);
        return;
    }
    EACH_WEIGHT(l, at) to[at] = *host++;
}

static void cpu_unpack(struct device *d, const struct layer *l, enum tensor which,
                       const void *vector, float *host)
{
    (void)d;
    const float *from = (const float *)vector + l->offset[which];
    if (which != TENSOR_WEIGHT) {
        memcpy(host, from, tensor_len(l, which) ? (size_t)l->out_c * sizeof *host : 0);
        return;
    }
    EACH_WEIGHT(l, at) *host++ = from[at];
}

/* ---- sizes ---- */

static size_t cpu_input_bytes(const struct layer *first, const struct batch *b)
{
    return (size_t)b->tasks * (size_t)b->n * input_len(first) * sizeof(float);
}

static size_t cpu_cache_bytes(const struct layer *l, const struct batch *b)
{
    return cache_len(l, b, false) * sizeof(float);
}

static size_t cpu_tangent_bytes(const struct layer *l, const struct batch *b)
{
    return cache_len(l, b, true) * sizeof(float);
}

static size_t cpu_scratch_bytes(const struct layer *layers, int n, const struct batch *b)
{
    size_t most = 0;
    for (int i = 0; i < n; i++) {
        size_t floats = layers[i].kind == LAYER_CONV ? cpu_block_scratch(&layers[i], b->n)
                                                     : cpu_dense_scratch(&layers[i], b->n);
        most = floats > most ? floats : most;
    }
    return most * sizeof(float);
}

static void *cpu_out(const struct layer *l, const struct batch *b, void *cache)
{
    (void)l;
    (void)b;
    return cache;
}

static void *cpu_dout(const struct layer *l, const struct batch *b, void *cache)
{
    return (float *)cache + (size_t)b->tasks * (size_t)b->n * out_len(l);
}

/* ---- pictures in, rows out ---- */

/* LANES bytes, by way of an array: compilers see that it overlaps nothing. */
static void scale_vector(const uint8_t *from, float scale, float shift, float *to)
{
    int32_t whole[LANES];
    for (int i = 0; i < LANES; i++)
        whole[i] = from[i];
    for (int i = 0; i < LANES; i++)
        to[i] = (float)whole[i] * scale + shift;
}

/* The last vector overlaps the one before, so that no bytes are left over. */
static void scale_bytes(const uint8_t *from, int n, float scale, float shift, float *to)
{
    for (int i = 0; i + LANES <= n; i += LANES)
        scale_vector(from + i, scale, shift, to + i);
    if (n >= LANES)
        scale_vector(from + n - LANES, scale, shift, to + n - LANES);
    for (int i = 0; n < LANES && i < n; i++)
        to[i] = (float)from[i] * scale + shift;
}

/* Values v..v+n-1 of row y of a picture, in the order (x, channel). */
static void read_line(const struct images *from, int64_t item, int y, int v, int n, float *line)
{
    int64_t picture = item * from->h * from->w * from->c, plane = (int64_t)from->h * from->w;
    int64_t at = picture + (int64_t)y * from->w * (from->planar ? 1 : from->c);
    const uint8_t *bytes = (const uint8_t *)from->data + at;
    const float *floats = (const float *)from->data + at;
    const float scale = from->scale, shift = from->shift;
    bool is_u8 = from->type == IMAGES_U8;
    if (is_u8 && !from->planar)
        scale_bytes(bytes + v, n, scale, shift, line);
    for (int i = 0; !is_u8 && !from->planar && i < n; i++)
        line[i] = floats[v + i] * scale + shift;
    for (int i = 0; from->planar && i < n; i++) {
        int64_t of = (v + i) % from->c * plane + (v + i) / from->c;
        line[i] = (is_u8 ? (float)bytes[of] : floats[of]) * scale + shift;
    }
}

enum { AT_ONCE = 3 * 170 }; /* values of a line: 2 KiB; whole pixels of 1 and of 3 channels */

/* Values v..v+n-1 of the three lines that a row of windows reads.  Three channels go as
 * four: what is too much is written over next, or is the border's. */
static void put_lines(int c, int v, int n, const float *const line[3], float *row)
{
    typedef float four __attribute__((vector_size(16), may_alias, aligned(4)));
    for (int i = 0; c == 3 && i < n; i += 3)
        for (int ky = 0; ky < 3; ky++)
            *(four *)(row + 3 * (v + i) + 3 * ky) = *(const four *)(line[ky] + i);
    for (int i = 0; c == 1 && i < n; i++)
        for (int ky = 0; ky < 3; ky++)
            row[3 * (v + i) + ky] = line[ky][i];
    for (int ky = 0; c != 1 && c != 3 && ky < 3; ky++)
        for (int i = 0; i < n; i++)
            row[((v + i) / c * 3 + ky) * c + (v + i) % c] = line[ky][i];
}

/* Values v..v+n-1 of all windows of a picture, whose rows are `apart` floats from each other.
 * Each line is read once, and stays for as long as rows of windows share it. */
static void gather_values(const struct layer *l, const struct images *from, int64_t item, int v,
                          int n, float *to, size_t apart)
{
    float line[3][AT_ONCE + 1];
    for (int zy = 0, next = -1; zy < l->conv_h; zy++, to += apart) {
        const float *of[3];
        for (int i = 0; zy + 1 < l->conv_h && i < 3 * n; i += LINE)
            __builtin_prefetch(to + apart + 3 * v + i, 1, 2);
        for (int ky = 0; ky < 3; ky++) {
            int y = zy * l->stride + ky - 1, slot = (y + 3) % 3;
            of[ky] = line[slot];
            if (y < next)
                continue;
            next = y + 1;
            line[slot][n] = 0;
            if (y >= 0 && y < from->h)
                read_line(from, item, y, v, n, line[slot]);
            else
                memset(line[slot], 0, (size_t)n * sizeof(float));
        }
        put_lines(l->in_c, v, n, of, to);
    }
}

/* A picture as a first conv layer reads it. */
static void gather_windows(const struct layer *l, const struct images *from, int64_t item,
                           float *to, size_t apart)
{
    int border = 3 * l->in_c, values = item < 0 ? 0 : from->w * from->c;
    for (int v = 0, n; v < values; v += n) {
        n = values - v < AT_ONCE ? values - v : AT_ONCE;
        gather_values(l, from, item, v, n, to + border, apart);
    }
    size_t right = (size_t)(border + 3 * values), row = input_row(l);
    for (int zy = 0; zy < l->conv_h; zy++, to += apart) {
        memset(to, 0, (size_t)border * sizeof *to);
        memset(to + right, 0, (row - right) * sizeof *to);
    }
}

/* A picture as a first dense layer reads it. */
static void gather_features(const struct layer *first, const struct images *from, int64_t item,
                            float *to)
{
    memset(to, 0, input_len(first) * sizeof *to);
    for (int y = 0; item >= 0 && y < from->h; y++)
        for (int v = 0, n, values = from->w * from->c; v < values; v += n) {
            float line[AT_ONCE];
            n = values - v < AT_ONCE ? values - v : AT_ONCE;
            read_line(from, item, y, v, n, line);
            for (int i = v; i < v + n; i++)
                to[(i % from->c * from->h + y) * from->w + i / from->c] = line[i - v];
        }
}

static void cpu_gather(struct device *d, const struct layer *first, const struct batch *b,
                       const struct images *from, const int32_t *index, void *x)
{
    (void)d;
    for (int t = 0; t < b->tasks; t++) {
        float *task = (float *)x + (size_t)(t * b->n) * input_len(first);
        for (int i = 0, n = count_of(b, t); i < n; i++) {
            int32_t item = index[t * b->n + i];
            if (first->kind == LAYER_CONV)
                gather_windows(first, from, item, task + (size_t)i * input_row(first),
                               (size_t)n * input_row(first));
            else
                gather_features(first, from, item, task + (size_t)i * input_len(first));
        }
    }
}

/* The row of image i, of the n that task t has. */
static void put_row(const struct layer *l, const struct batch *b, const void *out, int t, int n,
                    int i, float *to)
{
    const float *from = (const float *)out + (size_t)(t * b->n) * out_len(l);
    for (int c = 0; c < l->out_c; c++)
        for (int y = 0; y < l->out_h; y++)
            for (int x = 0; x < l->out_w; x++) {
                size_t pixel = (size_t)(y * l->out_w + place(x, l->out_w));
                *to++ = from[(pixel * (size_t)n + (size_t)i) * (size_t)pad(l->out_c) + (size_t)c];
            }
}

/* Rows of images that a task does not have are zeros. */
static void cpu_rows(struct device *d, const struct layer *l, const struct batch *b,
                     const void *out, float *host)
{
    (void)d;
    size_t row = (size_t)(l->out_c * l->out_h * l->out_w);
    memset(host, 0, (size_t)(b->tasks * b->n) * row * sizeof *host);
    for (int t = 0; t < b->tasks; t++)
        for (int i = 0, n = count_of(b, t); i < n; i++)
            put_row(l, b, out, t, n, i, host + (size_t)(t * b->n + i) * row);
}

static void cpu_collect(struct device *d, const struct layer *l, const struct batch *b,
                        const void *out, int first, int n, float *to, size_t stride)
{
    (void)d;
    size_t row = (size_t)(l->out_c * l->out_h * l->out_w);
    for (int t = 0; t < b->tasks; t++)
        for (int i = 0, has = count_of(b, t); i < n && first + i < has; i++)
            put_row(l, b, out, t, has, first + i, to + (size_t)t * stride + (size_t)i * row);
}
