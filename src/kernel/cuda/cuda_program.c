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
    d->program->pass = d->program->pass_before = -1;
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

enum { WAY_BACK = 1 + 2 * LAYERS }; /* steps: the head, then a norm and the rest of each layer */

/* Whether the steps from `at` on are the whole way back of a pass, with one gradient. */
static bool whole_way(const struct program *p, int at)
{
    if (at < 0 || p->step[at].kind != STEP_HEAD || !p->step[at].head.backward)
        return false;
    for (int i = 1; i < WAY_BACK; i++) {
        const struct step *s = &p->step[at + i];
        if (s->kind != (i % 2 ? STEP_NORM : STEP_BACKWARD) || s->layer != LAYERS - (i + 1) / 2 ||
            s->conv.grad.at != p->step[at].head.dense.grad.at)
            return false;
    }
    return true;
}

/* The last step was a first layer's: notes where the way back began. */
static void note_pass(struct program *p)
{
    if (!whole_way(p, p->steps - WAY_BACK))
        return;
    p->pass_before = p->pass;
    p->pass = p->steps - WAY_BACK;
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
    if (s.layer == 0)
        note_pass(p);
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

/* Nobody has read the gradient of the pass before but its own updates, and this pass
 * overwrites it. */
static void drop_gradient(struct program *p)
{
    if (p->pass_before < 0)
        return;
    struct step *before = &p->step[p->pass_before];
    if (before[WAY_BACK - 1].update.n == 0 ||
        before->head.dense.grad.at != p->step[p->pass].head.dense.grad.at)
        return;
    for (int i = p->pass_before + WAY_BACK; i < p->pass; i++)
        if (p->step[i].kind == STEP_AXPY)
            return;
    for (int i = 1; i < WAY_BACK; i++)
        before[i].update.drop = true;
}

/* An axpy that takes the gradient of the pass just noted, or what the first such made, is
 * done where the gradient is. */
static bool join_update(struct program *p, size_t len, struct vec to, struct vec y, double a,
                        struct vec x)
{
    if (p->pass < 0 || p->pass + WAY_BACK != p->steps)
        return false;
    struct step *s = &p->step[p->pass];
    const struct dense_args *head = &s->head.dense;
    struct update *last = &s[WAY_BACK - 1].update;
    size_t end = head->bias + ((size_t)head->out + 15) / 16 * 16;
    const void *made = last->n == 0 ? head->grad.at : last->to[0].at;
    if (last->n == 2 || x.at != made || len != end || x.stride == 0 || to.stride == 0)
        return false;
    for (int i = 1; i < WAY_BACK; i++) {
        struct update *u = &s[i].update;
        u->a[u->n] = (float)a;
        u->to[u->n] = to;
        u->y[u->n++] = y;
    }
    last->head = (uint32_t)head->weight;
    last->head_end = (uint32_t)end;
    if (last->n == 1)
        drop_gradient(p);
    return true;
}

bool cuda_program_axpy(struct device *d, int tasks, size_t len, struct vec to, struct vec y,
                       double a, struct vec x)
{
    struct program *p = d->program;
    if (p->steps == 0 || p->tasks != tasks)
        return false;
    if (join_update(p, len, to, y, a, x))
        return true;
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
    p->pass = p->pass_before = -1;
}
