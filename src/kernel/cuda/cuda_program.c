/* cuda_program.c - noting operations for one launch, and launching them. */
#include "cuda_task.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

const void *cuda_team_omniglot(size_t *bytes);
const void *cuda_team_mini(size_t *bytes);

enum { ARRIVED_APART = 32, LAYERS = 4 }; /* a line of memory for each task's counter */

int cuda_program_open(struct device *d)
{
    size_t bytes = (TASKS_MOST + 1) * ARRIVED_APART * sizeof(unsigned);
    void *at = NULL;
    d->program = mem_alloc(sizeof *d->program);
    cudaError_t e = cudaMalloc(&at, bytes);
    if (!e)
        e = cudaMemset(at, 0, bytes);
    d->program->tickets = at;
    d->program->arrived = (unsigned *)at + ARRIVED_APART;
    return e ? fail(METE_EDEVICE, "GPU %d has no memory left: %s", d->index, cudaGetErrorString(e))
             : 0;
}

void cuda_program_close(struct device *d)
{
    if (d->program)
        cudaFree(d->program->tickets);
    free(d->program);
}

/* Which layer of the known nets this is, counted through; -1: none of them. */
static int known_layer(const struct layer *l)
{
    static const struct {
        int size, in_c, out_c;
    } known[] = {{28, 4, 64}, {14, 64, 64}, {7, 64, 64},  {4, 64, 64},
                 {84, 4, 32}, {42, 32, 32}, {21, 32, 32}, {11, 32, 32}};
    for (int i = 0; i < (int)(sizeof known / sizeof *known); i++)
        if (l->in_h == known[i].size && l->in_w == known[i].size &&
            channels(l->in_c) == known[i].in_c && l->out_c == known[i].out_c && l->stride == 2 &&
            !l->pool)
            return i;
    return -1;
}

/* Room for `more` steps of these tasks, launching what is noted where they do not go together.
 * net -1: any. */
static void make_room(struct device *d, int net, int tasks, int more)
{
    struct program *p = d->program;
    if (p->steps > 0 &&
        (p->tasks != tasks || (net >= 0 && p->net != net) || p->steps + more > STEPS_MOST))
        cuda_program_flush(d);
    p->tasks = tasks;
    if (net >= 0)
        p->net = net;
}

static struct step *push(struct device *d, struct step s)
{
    struct step *to = &d->program->step[d->program->steps++];
    *to = s;
    return to;
}

static bool wanted(const struct device *d, const struct layer_call *c)
{
    return !d->full_fp32 && !d->error && !c->v.at && c->stat > 0 && c->b->tasks <= TASKS_MOST &&
           known_layer(c->l) >= 0;
}

static struct conv_step conv_step_of(const struct layer_call *c)
{
    struct conv_step s = {.n = c->b->n,
                          .stat = c->stat,
                          .count = c->b->count,
                          .x = c->x,
                          .dx = c->dx,
                          .cache = c->cache,
                          .theta = c->theta,
                          .grad = c->grad,
                          .eps = (float)c->l->eps};
    for (int i = 0; i < TENSORS; i++)
        s.offset[i] = (uint32_t)c->l->offset[i];
    return s;
}

bool cuda_program_forward(struct device *d, const struct layer_call *c)
{
    if (!wanted(d, c))
        return false;
    int layer = known_layer(c->l);
    make_room(d, layer / LAYERS, c->b->tasks, 1);
    push(d, (struct step){.kind = STEP_FORWARD, .layer = layer % LAYERS, .conv = conv_step_of(c)});
    return true;
}

bool cuda_program_backward(struct device *d, const struct layer_call *c)
{
    int layer = known_layer(c->l);
    if (!wanted(d, c) || (layer % LAYERS == 0) != (c->dx == NULL))
        return false;
    make_room(d, layer / LAYERS, c->b->tasks, 2);
    struct step s = {.layer = layer % LAYERS, .conv = conv_step_of(c)};
    struct program *p = d->program;
    struct step *last = p->steps > 0 ? &p->step[p->steps - 1] : NULL;
    const float *dx = !last                         ? NULL
                      : last->kind == STEP_BACKWARD ? last->conv.dx
                      : last->kind == STEP_HEAD     ? last->head.dense.dx
                                                    : NULL;
    if (last && dx == c->cache.dout)
        last->alone = true; /* a block's own channels */
    s.kind = STEP_NORM;
    s.alone = s.layer == 0; /* the first layer's dz stays in the block */
    push(d, s);
    s.kind = STEP_BACKWARD;
    s.alone = false;
    push(d, s);
    return true;
}

/* Only after the layer whose features it reads. */
bool cuda_program_head(struct device *d, const struct head_args *a, int tasks)
{
    struct program *p = d->program;
    const struct step *last = p->steps > 0 ? &p->step[p->steps - 1] : NULL;
    if (!last || p->tasks != tasks || p->steps == STEPS_MOST || last->kind != STEP_FORWARD ||
        last->conv.cache.out != a->dense.x)
        return false;
    push(d, (struct step){.kind = STEP_HEAD, .head = *a});
    return true;
}

bool cuda_program_axpy(struct device *d, int tasks, size_t len, struct vec to, struct vec y,
                       double a, struct vec x)
{
    if (d->program->steps == 0 || d->program->tasks != tasks)
        return false;
    make_room(d, -1, tasks, 1);
    push(d, (struct step){.kind = STEP_AXPY, .axpy = {len / 4, to, y, x, (float)a}});
    return true;
}

void cuda_program_flush(struct device *d)
{
    struct program *p = d->program;
    if (p->steps == 0)
        return;
    struct grid g = {.x = (unsigned)(p->tasks * TEAM), .threads = TASK_THREADS};
    const void *kernel = (p->net == 0 ? cuda_team_omniglot : cuda_team_mini)(&g.shared);
    cuda_launch_now(d, kernel, g, p, "a task's layers");
    p->steps = 0;
}
