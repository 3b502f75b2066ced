/* cuda_plan.c - the sizes of blocks, chunks and clusters for a conv layer. */
#include "cuda_conv.h"

/* Dynamic shared memory of a block that shares its multiprocessor with another, and
 * of one that has it for itself (228 kB, less the static part and 1 kB each). */
static const size_t shared_half = 108 * 1024, shared_whole = 211 * 1024;
enum { BLOCK_MIN = 32, CHUNK_MAX = 32 };

static int ceil_div(int a, int b)
{
    return (a + b - 1) / b;
}

static int min_int(int a, int b)
{
    return a < b ? a : b;
}

static int max_int(int a, int b)
{
    return a > b ? a : b;
}

static int power_below(int n) /* the largest power of two <= n, at least 1 */
{
    int power = 1;
    while (power * 2 <= n)
        power *= 2;
    return power;
}

static struct divisor divisor_of(int by)
{
    if (by == 1)
        return (struct divisor){0, ~0};
    return (struct divisor){(uint32_t)((1ull << 32) / (uint32_t)by + 1), 0};
}

static struct picture picture_of(int h, int w, int c, int before, int rows, int cols)
{
    return (struct picture){h, w, c, before, rows, cols, 0, divisor_of(rows)};
}

/* The least pitch >= floats that spreads neighbours `step` pitches apart over the
 * banks; a multiple of 4, so that 16-byte copies are aligned. */
static int pitch_of(int floats, int step)
{
    int pitch = (floats + 3) / 4 * 4;
    while (step * pitch % 32 != 8 && step * pitch % 32 != 24)
        pitch += 4;
    return pitch;
}

/* The least pitch >= floats for ldmatrix: all rows of a tile in banks of their own. */
static int matrix_pitch(int floats)
{
    return floats % 8 ? floats : floats + 4;
}

/* Rows of a bordered picture under `block` consecutive pixels of a (h, w) grid that
 * steps by `step` and reads `window` rows: at worst, over image boundaries. */
static int rows_under(const struct picture *p, int n, int block, int h, int w, int step, int window)
{
    int grid = ceil_div(block - 1, w) + 1;
    int crossings = (grid - 1 + h - 1) / h;
    int rows = (grid - 1) * step + window + crossings * (p->rows - h * step);
    return min_int(rows, n * p->rows);
}

/* The largest power of two that divides c, up to `most`. */
static int chunk_of(int c, int most)
{
    int chunk = 4;
    while (chunk * 2 <= most && c % (chunk * 2) == 0)
        chunk *= 2;
    return chunk;
}

/* Tasks that work is cut for. */
static int tasks_of(const struct device *d, const struct layer_call *c)
{
    return d->tasks ? d->tasks : c->b->tasks;
}

/* How many parts `pixels` are cut into, given `blocks` for all parts: a power of two,
 * no part smaller than `least`.  Clusters of more than 2 blocks as large as a
 * multiprocessor do not fill a chip whose groups of those are not of equal size; of
 * few tasks that does not matter. */
static int splits_of(int blocks, int pixels, int least, int tasks)
{
    int splits = min_int(power_below(blocks), power_below(pixels / least));
    return min_int(splits, tasks >= 16 ? 2 : CLUSTER_MAX);
}

/* What a product is about; sources: activations that are summed over. */
struct problem {
    const struct layer *l;
    const struct picture *in;
    int n, pixels, channels, chunk_min, sources, slice, warps, stages;
    size_t shared;
};
typedef void size_fn(const struct problem *q, struct product *p);

/* Whether the product's stages fit: as many as there are items, two at least.  `join`: floats
 * in which kgroups add up, at the end of a block of pixels.  Where there is but one, that may
 * be the stage after the last item's: nobody reads it any more. */
static bool fits(const struct problem *q, struct product *p, int join)
{
    int blocks = ceil_div(q->pixels, p->block);
    int items = blocks * ceil_div(q->channels, p->chunk) * q->sources;
    for (p->stages = min_int(items, q->stages); p->stages > 0; p->stages--) {
        bool within = blocks == 1 && p->stages > 1 && join <= p->stage_floats;
        p->join = (within ? items % p->stages : p->stages) * p->stage_floats;
        int floats = p->stages * p->stage_floats + (within ? 0 : join);
        p->bytes = (size_t)floats * sizeof(float);
        if (p->bytes <= q->shared && p->stages >= min_int(items, 2))
            return true;
    }
    return false;
}

/* The largest block of pixels that fits, with the largest chunk of channels, chunk_min at
 * least.  `floats`: accumulators of a thread. */
static bool try_product(const struct problem *q, struct product *p, size_fn *size, int floats,
                        int chunk_min)
{
    int block = BLOCK_MIN;
    while (block < q->pixels && block < q->warps * BLOCK_MIN)
        block *= 2;
    for (p->block = block; p->block >= BLOCK_MIN; p->block /= 2)
        for (p->chunk = chunk_of(q->channels, CHUNK_MAX); p->chunk >= chunk_min; p->chunk /= 2) {
            p->mgroups = p->block / BLOCK_MIN;
            p->kgroups = q->warps / p->mgroups;
            size(q, p);
            if (fits(q, p, (q->warps - p->mgroups) * 32 * floats))
                return true;
        }
    return false;
}

/* Chunks of 8 only where nothing else fits: a step of a product is 8 channels of a tap. */
static void fit_product(const struct problem *q, struct product *p, size_fn *size, int floats)
{
    if (try_product(q, p, size, floats, max_int(q->chunk_min, chunk_of(q->channels, 16))) ||
        try_product(q, p, size, floats, q->chunk_min))
        return;
    p->block = BLOCK_MIN; /* as small as it gets; a launch that cannot be says so at sync */
    p->chunk = q->chunk_min;
}

static void forward_size(const struct problem *q, struct product *p)
{
    const struct layer *l = q->l;
    int rows = rows_under(q->in, q->n, p->block, l->conv_h, l->conv_w, l->stride, 3);
    p->pitch = matrix_pitch(p->chunk);
    p->weights = matrix_pitch((9 * p->chunk + 7) / 8 * 8);
    p->picture_floats = (rows * q->in->cols + (rows + 1) / 2 * q->in->gap) * p->pitch;
    p->stage_floats = p->picture_floats + q->slice * p->weights;
}

/* Slices of 32 channels read the pictures half as often as those of 16, but blocks
 * must share the pixels to fill the chip: for few pixels, weights are the larger part. */
static void plan_forward(struct conv_plan *plan, const struct device *d, const struct layer_call *c)
{
    const struct layer *l = c->l;
    int pixels = c->b->n * l->conv_h * l->conv_w, in = channels(l->in_c), tasks = tasks_of(d, c);
    bool wide = l->out_c > 32 || (l->out_c > 16 && tasks < 16);
    bool full = tasks * ceil_div(l->out_c, 16) > d->blocks / 2; /* the chip, by slices of 16 */
    plan->slice = wide && (pixels > 128 || full) ? 32 : 16;
    int slices = ceil_div(l->out_c, plan->slice);
    struct product *p = &plan->forward;
    p->splits = splits_of(d->blocks / 2 / max_int(1, tasks * slices), pixels, 32, tasks);
    struct problem q = {l,
                        &plan->in,
                        c->b->n,
                        ceil_div(pixels, p->splits),
                        in,
                        plan->width,
                        c->rx ? 2 : 1,
                        plan->slice,
                        FORWARD_WARPS,
                        3,
                        shared_whole};
    fit_product(&q, p, forward_size, plan->slice);
}

static void dx_size(const struct problem *q, struct product *p)
{
    const struct layer *l = q->l;
    int window = l->stride == 1 ? 3 : 2;
    int rows = rows_under(q->in, q->n, p->block, l->conv_h, l->conv_w, 1, window);
    p->pitch = matrix_pitch(p->chunk);
    p->weights = DX_PITCH;
    p->picture_floats = rows * q->in->cols * p->pitch;
    p->stage_floats = p->picture_floats + p->chunk * DX_PITCH;
}

static void plan_dx(struct conv_plan *plan, const struct device *d, const struct layer_call *c)
{
    const struct layer *l = c->l;
    int cells = c->b->n * l->conv_h * l->conv_w, out = max_int(channels(l->out_c), 8);
    struct product *p = &plan->dx;
    int units = max_int(1, tasks_of(d, c) * slices(l->in_c));
    p->splits = min_int(power_below(d->blocks / 2 / units), power_below(cells / 64));
    struct problem q = {l,     &plan->dz, c->b->n,         ceil_div(cells, p->splits),
                        out,   8,         c->v.at ? 2 : 1, SLICE,
                        WARPS, 3,         shared_half};
    fit_product(&q, p, dx_size, l->stride * l->stride * 16);
}

/* dW sums over the pixels; a stage holds `block` of them: x with its border, dz, and
 * where each pixel's corner lies. */
static void fit_dw(struct conv_plan *plan, const struct layer *l, int n)
{
    struct product *p = &plan->dw;
    int places = p->mgroups * plan->ngroups;
    size_t join = (size_t)max_int(p->kgroups - 1, 1) * (size_t)places * 32 * DW_PITCH;
    for (p->block = 128; p->block >= 8; p->block /= 2) {
        int rows = rows_under(&plan->in, n, p->block, l->conv_h, l->conv_w, l->stride, 3);
        p->picture_floats = rows * plan->in.cols * p->pitch;
        p->stage_floats = p->picture_floats + p->block * (p->weights + 1);
        for (p->stages = 4; p->stages >= 2; p->stages--) {
            size_t floats = (size_t)p->stages * (size_t)p->stage_floats;
            p->bytes = (floats > join ? floats : join) * sizeof(float);
            if (p->bytes <= shared_half)
                return;
        }
    }
    p->block = 8; /* as small as it gets; a launch that cannot be says so at sync */
    p->stages = 2;
}

static void plan_dw(struct conv_plan *plan, const struct device *d, const struct layer_call *c)
{
    const struct layer *l = c->l;
    struct product *p = &plan->dw;
    int in = channels(l->in_c), out = slices(l->out_c) * SLICE, n = c->b->n;
    int pixels = n * l->conv_h * l->conv_w, tasks = tasks_of(d, c);
    int blocks = d->blocks / (c->dx ? 2 : 1) / max_int(1, tasks); /* of a task */
    plan->columns = out > 32 ? 64 : 32;
    int units = in / plan->width * ceil_div(out, plan->columns);
    p->splits = min_int(power_below(blocks / units), power_below(pixels / 64));
    p->splits = min_int(p->splits, tasks >= 16 ? 4 : CLUSTER_MAX);
    while (c->dx && slices(l->in_c) * plan->dx.splits % p->splits)
        p->splits /= 2;
    plan->ngroups = ceil_div(ceil_div(9 * plan->width, 16), 3);
    p->mgroups = plan->columns / 32;
    p->kgroups = WARPS / (p->mgroups * plan->ngroups);
    p->chunk = plan->width;
    p->pitch = pitch_of(plan->width, l->stride);
    p->weights = pitch_of(plan->columns, 1);
    fit_dw(plan, l, n);
}

static void conv_plan(const struct device *d, const struct layer_call *c, struct conv_plan *plan)
{
    const struct layer *l = c->l;
    int s = l->stride, border = s == 1 ? 2 : 1, outputs = c->b->n * l->out_h * l->out_w;
    *plan = (struct conv_plan){
        .by_w = divisor_of(l->conv_w), .by_h = divisor_of(l->conv_h), .width = together(l->in_c)};
    plan->in = picture_of(l->in_h, l->in_w, channels(l->in_c), 1,
                          (l->conv_h - 1) * s + 3 + (s == 2), (l->conv_w - 1) * s + 3);
    if (s == 2) /* an even number of rows an image, so that gaps come between windows */
        plan->in.gap = (l->conv_w + 8 - 2 * plan->in.cols % 8) % 8;
    plan->dz = picture_of(l->conv_h, l->conv_w, channels(l->out_c), s == 1, l->conv_h + border,
                          l->conv_w + border);
    int tasks = max_int(1, tasks_of(d, c));
    plan->norm_splits = splits_of(d->blocks / (tasks * slices(l->out_c)), outputs, 128, 1);
    /* First layers: forward by slices of 32 channels, two blocks a multiprocessor; backward by
     * two slices, a block as large as one.  No part under half of what a block has in hand. */
    plan->first_splits = splits_of(d->blocks / (tasks * ceil_div(l->out_c, 32)), outputs, 128, 1);
    plan->back_splits = splits_of(d->blocks / 2 / (tasks * 2), outputs, 128, tasks);
    plan->first_rows = rows_under(&plan->in, c->b->n, FIRST_PIXELS, l->conv_h, l->conv_w, s, 3);
    plan_forward(plan, d, c);
    plan_dx(plan, d, c);
    plan_dw(plan, d, c);
}

void cuda_conv_args(const struct device *d, const struct layer_call *c, struct conv_args *a)
{
    *a = (struct conv_args){.l = *c->l,
                            .tasks = c->b->tasks,
                            .n = c->b->n,
                            .stat = c->stat,
                            .no_tangents = c->no_tangents,
                            .count = c->b->count,
                            .in_c = channels(c->l->in_c),
                            .out_c = channels(c->l->out_c),
                            .out_rows = slices(c->l->out_c) * SLICE,
                            .theta = c->theta,
                            .v = c->v,
                            .sink = c->sink,
                            .x = c->x,
                            .rx = c->rx,
                            .dx = c->dx,
                            .cache = c->cache,
                            .tangent = c->tangent};
    conv_plan(d, c, &a->plan);
}
