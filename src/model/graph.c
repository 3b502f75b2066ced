/* graph.c - chains of layers, and folding what is done to the input into the first of them. */
#include "model/graph.h"
#include "base/error.h"
#include "base/memory.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

size_t graph_weights(const struct graph_layer *l)
{
    size_t rows = (size_t)l->out_c, c = (size_t)l->in_c;
    return rows * c * (l->kind == GRAPH_CONV ? 9 : (size_t)l->in_h * (size_t)l->in_w);
}

static struct graph_layer *add(struct graph *g, enum graph_kind kind, int out_c)
{
    assert(g->layers < LAYERS_MAX + 1);
    const struct graph_layer *last = g->layers ? &g->layer[g->layers - 1] : NULL;
    struct graph_layer *l = &g->layer[g->layers++];
    *l = (struct graph_layer){.kind = kind,
                              .in_h = last ? last->out_h : g->h,
                              .in_w = last ? last->out_w : g->w,
                              .in_c = last ? last->out_c : g->c,
                              .out_h = 1,
                              .out_w = 1,
                              .out_c = out_c,
                              .stride = 1};
    l->weight = mem_array(graph_weights(l), sizeof *l->weight);
    l->bias = mem_array((size_t)out_c, sizeof *l->bias);
    return l;
}

static int halved(int n, bool yes)
{
    return yes ? (n + 1) / 2 : n;
}

struct graph_layer *graph_add_conv(struct graph *g, int filters, int stride, bool pool)
{
    struct graph_layer *l = add(g, GRAPH_CONV, filters);
    l->stride = stride;
    l->pool = pool;
    l->relu = true;
    l->out_h = halved(halved(l->in_h, stride == 2), pool);
    l->out_w = halved(halved(l->in_w, stride == 2), pool);
    return l;
}

struct graph_layer *graph_add_dense(struct graph *g, int units, bool relu)
{
    struct graph_layer *l = add(g, GRAPH_DENSE, units);
    l->relu = relu;
    return l;
}

/* -|x - p|^2 = 2 x.(p - m) - (p - m).(p + m) + what does not depend on p, for any m.  With m the
 * mean of the prototypes the products stay small, and with them their rounding. */
void graph_add_distances(struct graph *g, const double *prototypes)
{
    struct graph_layer *l = add(g, GRAPH_DENSE, g->ways);
    size_t rows = (size_t)l->out_c, n = graph_weights(l) / rows;
    double *mean = mem_array(n, sizeof *mean);
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < n; i++)
            mean[i] += prototypes[r * n + i] / (double)rows;
    for (size_t r = 0; r < rows; r++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++) {
            double p = prototypes[r * n + i];
            l->weight[r * n + i] = (float)(2 * (p - mean[i]));
            sum += (p - mean[i]) * (p + mean[i]);
        }
        l->bias[r] = (float)-sum;
    }
    free(mean);
}

static float *floats_of(const double *x, size_t n)
{
    float *out = mem_array(n, sizeof *out);
    for (size_t i = 0; i < n; i++)
        out[i] = (float)x[i];
    return out;
}

/* A convolution's padding stands for the value 0 of what it reads, so only a factor may be folded
 * in and no centre; one channel has one factor. */
static void scale_conv(struct graph_layer *l, const double *factor)
{
    for (int o = 0; o < l->out_c; o++)
        for (int c = 0; c < l->in_c; c++)
            for (int t = 0; t < 9; t++) {
                float *w = &l->weight[(o * l->in_c + c) * 9 + t];
                *w = (float)(*w * factor[c]);
            }
}

static void scale_dense(struct graph_layer *l, const double *factor)
{
    int places = l->in_h * l->in_w;
    for (int o = 0; o < l->out_c; o++)
        for (int c = 0; c < l->in_c; c++)
            for (int p = 0; p < places; p++) {
                float *w = &l->weight[((size_t)o * (size_t)l->in_c + (size_t)c) * (size_t)places +
                                      (size_t)p];
                *w = (float)(*w * factor[p * l->in_c + c]);
            }
}

void graph_scale_input(struct graph *g, const double *centre, const double *factor,
                       const double *fill)
{
    struct graph_layer *l = &g->layer[0];
    size_t n = (size_t)g->h * (size_t)g->w * (size_t)g->c;
    bool any = false;
    assert(g->layers > 0);
    for (size_t i = 0; i < n; i++)
        any = any || centre[i] != 0;
    if (any)
        g->centre = floats_of(centre, n);
    if (fill)
        g->fill = floats_of(fill, n);
    l->kind == GRAPH_CONV ? scale_conv(l, factor) : scale_dense(l, factor);
}

static bool all_finite(const float *x, size_t n)
{
    for (size_t i = 0; x && i < n; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}

int graph_check(const struct graph *g, const char *name)
{
    size_t n = (size_t)g->h * (size_t)g->w * (size_t)g->c;
    bool right = all_finite(g->centre, n) && all_finite(g->fill, n);
    for (int i = 0; i < g->layers; i++)
        right = right && all_finite(g->layer[i].weight, graph_weights(&g->layer[i])) &&
                all_finite(g->layer[i].bias, (size_t)g->layer[i].out_c);
    return right ? 0
                 : fail(METE_EFORMAT, "%s: a weight is not a finite number: it cannot be exported",
                        name);
}

static void release_names(char **names, size_t n)
{
    for (size_t i = 0; names && i < n; i++)
        free(names[i]);
    free(names);
}

void graph_release(struct graph *g)
{
    for (int i = 0; i < g->layers; i++) {
        free(g->layer[i].weight);
        free(g->layer[i].bias);
    }
    release_names(g->class_names, (size_t)g->ways);
    release_names(g->feature_names, (size_t)g->h * (size_t)g->w * (size_t)g->c);
    free(g->about);
    free(g->fill);
    free(g->centre);
    free(g->absent);
    *g = (struct graph){0};
}
