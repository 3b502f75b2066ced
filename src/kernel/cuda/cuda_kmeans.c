/* cuda_kmeans.c - k-means as the host asks for it: what describes the pools goes to the device
 * in one copy and the clusters come back in another.  The points themselves are there. */
#include "cuda_kmeans.h"
#include "base/memory.h"

#include <stdlib.h>

/* More centres than points there cannot be. */
static int centres_of(const struct clustering *c)
{
    return c->k < c->n ? c->k : c->n;
}

static size_t asked_bytes(const struct kmeans_args *a)
{
    size_t task = (size_t)a->k * sizeof *a->draw + sizeof *a->pools + (size_t)a->n * sizeof *a->row;
    return (size_t)a->tasks * task;
}

static size_t answered_bytes(const struct kmeans_args *a)
{
    return (size_t)a->tasks * (size_t)(1 + a->n + a->k) * sizeof(int32_t);
}

static size_t between_bytes(const struct kmeans_args *a)
{
    size_t task = 2 + (size_t)a->n + (size_t)a->k * (size_t)a->f;
    return (size_t)a->tasks * task * sizeof(float);
}

/* Lays the arrays out from `at` on, those of the largest elements first. */
static void lay_out(struct kmeans_args *a, void *at)
{
    size_t tasks = (size_t)a->tasks, points = tasks * (size_t)a->n, centres = tasks * (size_t)a->k;
    a->draw = at;
    a->pools = (const struct pool *)(a->draw + centres);
    a->row = (const int32_t *)(a->pools + tasks);
    a->found = (int32_t *)(a->row + points);
    a->cluster = a->found + tasks;
    a->nearest = a->cluster + points;
    a->next = a->nearest + centres;
    a->moved = a->next + tasks;
    a->distance = (float *)(a->moved + tasks);
    a->centre = a->distance + points;
}

static void write_asked(const struct kmeans_args *a, const struct clustering *c, void *to)
{
    struct kmeans_args host = *a;
    lay_out(&host, to);
    for (int t = 0; t < a->tasks; t++) {
        int k = centres_of(&c[t]);
        ((struct pool *)host.pools)[t] = (struct pool){c[t].x, c[t].n, k, c[t].rounds, c[t].first};
        if (k > 1)
            memcpy((double *)host.draw + (size_t)t * (size_t)a->k, c[t].draw,
                   (size_t)(k - 1) * sizeof *host.draw);
        if (k > 0)
            memcpy((int32_t *)host.row + (size_t)t * (size_t)a->n, c[t].row,
                   (size_t)c[t].n * sizeof *host.row);
    }
}

/* `from` is what begins with `found`. */
static void read_answered(const struct kmeans_args *a, const int32_t *from, struct clustering *c)
{
    const int32_t *cluster = from + a->tasks;
    const int32_t *nearest = cluster + (size_t)a->tasks * (size_t)a->n;
    for (int t = 0; t < a->tasks; t++) {
        c[t].found = from[t];
        if (c[t].found == 0)
            continue;
        memcpy(c[t].cluster, cluster + (size_t)t * (size_t)a->n, (size_t)c[t].n * sizeof *cluster);
        memcpy(c[t].nearest, nearest + (size_t)t * (size_t)a->k,
               (size_t)c[t].found * sizeof *nearest);
    }
}

void cuda_kmeans(struct device *d, int tasks, int f, struct clustering *c)
{
    struct kmeans_args a = {.tasks = tasks, .f = f};
    for (int t = 0; t < tasks; t++) {
        c[t].found = 0;
        a.n = c[t].n > a.n ? c[t].n : a.n;
        a.k = centres_of(&c[t]) > a.k ? centres_of(&c[t]) : a.k;
    }
    if (a.k == 0)
        return;
    size_t asked = asked_bytes(&a), answered = answered_bytes(&a);
    void *at = cuda_staging(d, asked + answered + between_bytes(&a));
    if (!at)
        return;
    lay_out(&a, at);
    void *host = mem_alloc(asked > answered ? asked : answered);
    write_asked(&a, c, host);
    cuda_flush(d);
    cuda_check(d, cudaMemcpyAsync(at, host, asked, cudaMemcpyHostToDevice, d->stream), "kmeans");
    cuda_check(d, cudaMemsetAsync(a.found, 0, answered, d->stream),
               "kmeans"); /* small pools' ends */
    cuda_lloyd(d, &a);
    cuda_check(d, cudaMemcpyAsync(host, a.found, answered, cudaMemcpyDeviceToHost, d->stream),
               "kmeans");
    cuda_check(d, cudaStreamSynchronize(d->stream), "kmeans");
    if (d->error == cudaSuccess) /* else nothing was found, and sync says why */
        read_answered(&a, host, c);
    free(host);
}
