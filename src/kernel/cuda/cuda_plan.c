/* cuda_plan.c - the sizes of blocks, chunks and clusters for a conv layer. */
#include "cuda_conv.h"

/* Two blocks share a multiprocessor while each stays within SHARED_HALF bytes of
 * dynamic shared memory (228 kB a multiprocessor, less 1 kB and the static part
 * of each block); a shape that does not fit gets one to itself. */
static const size_t shared_half = 104 * 1024, shared_whole = 216 * 1024;
enum { RANKS_MAX = 8, BLOCK_MIN = 32, BLOCK_MAX = 256, CHUNK_MAX = 64, COLUMNS_MAX = 64 };

static int ceil_div(int a, int b)
{
    return (a + b - 1) / b;
}

static int min_int(int a, int b)
{
    return a < b ? a : b;
}

static struct divisor divisor_of(int by)
{
    return (struct divisor){(uint32_t)by, by > 1 ? (uint32_t)((1ull << 32) / (uint32_t)by + 1) : 0};
}

static struct picture picture_of(int h, int w, int c, int before, int rows, int cols)
{
    return (struct picture){h, w, c, before, rows, cols, divisor_of(rows), divisor_of(cols)};
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

/* Rows of a bordered picture under `block` consecutive pixels of a (h, w) grid
 * that steps by `step` and reads `window` rows: at worst, over image boundaries. */
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

static int block_of(int pixels)
{
    int block = BLOCK_MIN;
    while (block < pixels && block < BLOCK_MAX)
        block *= 2;
    return block;
}

static bool fits(struct product *p, int items, size_t tile, size_t budget)
{
    p->stages = items > 1 ? 2 : 1;
    p->bytes = (size_t)p->stages * (size_t)p->stage_floats * sizeof(float) + tile;
    return p->bytes <= budget;
}

/* Tries block and chunk from the largest down; `size` fills in the floats of a
 * stage.  sources: activations that are summed over (2 for a tangent). */
struct problem {
    const struct layer *l;
    const struct picture *in;
    int n, pixels, channels, chunk_min, sources;
};
typedef void size_fn(const struct problem *q, struct product *p);

static struct product product_of(const struct problem *q, size_fn *size)
{
    struct product p = {0};
    size_t tile = (size_t)WARPS * 32 * TILE_PITCH * sizeof(float);
    for (int whole = 0; whole < 2; whole++)
        for (p.block = block_of(q->pixels); p.block >= BLOCK_MIN; p.block /= 2)
            for (p.chunk = CHUNK_MAX; p.chunk >= q->chunk_min; p.chunk /= 2) {
                if (p.chunk > q->chunk_min && q->channels % p.chunk)
                    continue;
                p.mgroups = p.block / BLOCK_MIN;
                p.kgroups = WARPS / p.mgroups;
                size(q, &p);
                int items = ceil_div(q->pixels, p.block) * ceil_div(q->channels, p.chunk);
                if (fits(&p, items * q->sources, tile, whole ? shared_whole : shared_half))
                    return p;
            }
    return p; /* as small as it gets; a launch that cannot be says so at sync */
}

static void forward_size(const struct problem *q, struct product *p)
{
    const struct layer *l = q->l;
    int rows = rows_under(q->in, q->n, p->block, l->conv_h, l->conv_w, l->stride, 3);
    p->pitch = pitch_of(p->chunk, l->stride);
    p->weights = pitch_of((9 * p->chunk + 7) / 8 * 8, 1);
    p->picture_floats = rows * q->in->cols * p->pitch;
    p->stage_floats = p->picture_floats + SLICE * p->weights;
}

static void dx_size(const struct problem *q, struct product *p)
{
    const struct layer *l = q->l;
    int window = l->stride == 1 ? 3 : 2;
    int rows = rows_under(q->in, q->n, p->block, l->conv_h, l->conv_w, 1, window);
    p->pitch = pitch_of(p->chunk, 1);
    p->weights = TILE_PITCH;
    p->picture_floats = rows * q->in->cols * p->pitch;
    p->stage_floats = p->picture_floats + 9 * p->chunk * p->weights;
}

/* dW sums over the pixels; a stage holds `block` of them: x with its border, dz,
 * and where each pixel's corner lies. */
static void plan_dw(struct conv_plan *plan, const struct layer *l, int n, int sources, int ranks)
{
    struct product *p = &plan->dw;
    int in = channels(l->in_c), out = channels(l->out_c), pixels = n * l->conv_h * l->conv_w;
    plan->width = min_int(chunk_of(in, SLICE), in); /* 4, 8 or 16 input channels */
    plan->columns = 8;
    while (plan->columns < out && plan->columns < COLUMNS_MAX)
        plan->columns *= 2;
    while (plan->columns > 8 && ceil_div(in, plan->width) * ceil_div(out, plan->columns) < ranks)
        plan->columns /= 2;
    plan->ngroups = ceil_div(plan->columns, 16);
    p->mgroups = 9 * plan->width > 80 ? 2 : 1; /* 5 tiles of 16 rows a warp */
    p->kgroups = WARPS / (p->mgroups * plan->ngroups);
    p->chunk = plan->width;
    p->pitch = pitch_of(plan->width, l->stride);
    p->weights = pitch_of(plan->columns, 1);
    size_t least = (size_t)(WARPS - p->mgroups * plan->ngroups) * 32 * 40 * sizeof(float);
    for (int whole = 0; whole < 2; whole++)
        for (p->block = 128; p->block >= BLOCK_MIN; p->block /= 2) {
            int rows = rows_under(&plan->in, n, p->block, l->conv_h, l->conv_w, l->stride, 3);
            p->picture_floats = rows * plan->in.cols * p->pitch;
            p->stage_floats = p->picture_floats + p->block * (p->weights + 1);
            bool small = fits(p, ceil_div(pixels, p->block) * sources, 0,
                              whole ? shared_whole : shared_half);
            p->bytes = p->bytes > least ? p->bytes : least;
            if (small)
                return;
        }
}

/* Blocks of a cluster: enough to fill the chip, at most 8 (what every GPU with
 * clusters can do). */
static int ranks_of(const struct device *d, int tasks)
{
    int ranks = RANKS_MAX;
    while (ranks > 1 && tasks * ranks > d->blocks)
        ranks /= 2;
    return ranks;
}

static void conv_plan(const struct device *d, const struct layer_call *c, struct conv_plan *plan)
{
    const struct layer *l = c->l;
    int n = c->b->n, in = channels(l->in_c), out = channels(l->out_c), s = l->stride;
    int groups = 1, sources = c->v.at && c->rx ? 2 : 1, pixels = n * l->conv_h * l->conv_w;
    *plan = (struct conv_plan){.ranks = ranks_of(d, c->b->tasks)};
    while (groups < slices(l->out_c) && groups < plan->ranks)
        groups *= 2;
    plan->splits = plan->ranks / groups;
    plan->rounds = ceil_div(slices(l->out_c), groups);
    plan->in =
        picture_of(l->in_h, l->in_w, in, 1, (l->conv_h - 1) * s + 3, (l->conv_w - 1) * s + 3);
    plan->dz = picture_of(l->conv_h, l->conv_w, out, s == 1, l->conv_h + (s == 1 ? 2 : 1),
                          l->conv_w + (s == 1 ? 2 : 1));

    struct problem forward = {l, &plan->in, n, ceil_div(pixels, plan->splits), in, 4, sources};
    forward.chunk_min = chunk_of(in, 8);
    plan->forward = product_of(&forward, forward_size);

    int dx_ranks = plan->ranks > 1 ? plan->ranks / 2 : 1;
    plan->dx_splits = dx_ranks / slices(l->in_c) > 1 ? dx_ranks / slices(l->in_c) : 1;
    struct problem dx = {l, &plan->dz,      n, ceil_div(pixels, plan->dx_splits), out,
                         8, c->v.at ? 2 : 1};
    plan->dx = product_of(&dx, dx_size);
    plan_dw(plan, l, n, sources, c->dx ? dx_ranks : plan->ranks);
}

void cuda_conv_args(const struct device *d, const struct layer_call *c, struct conv_args *a)
{
    *a = (struct conv_args){.l = *c->l,
                            .tasks = c->b->tasks,
                            .n = c->b->n,
                            .stat = c->stat,
                            .count = c->b->count,
                            .in_c = channels(c->l->in_c),
                            .out_c = channels(c->l->out_c),
                            .out_rows = slices(c->l->out_c) * SLICE,
                            .theta = c->theta,
                            .v = c->v,
                            .grad = c->grad,
                            .x = c->x,
                            .rx = c->rx,
                            .dx = c->dx,
                            .cache = c->cache,
                            .tangent = c->tangent};
    conv_plan(d, c, &a->plan);
}
