/* kinks.h - data whose units keep away from their kinks.
 *
 * TF32 rounds to 11 bits.  A unit nearer to zero than that falls on either side of
 * its ReLU, and with it the whole of its gradient; a comparison would measure the
 * draw.  So every channel's beta (a dense unit's bias) is moved until zero lies in the
 * widest gap between its values near the middle: some stay on, some off, none near.
 */
#ifndef KINKS_H
#define KINKS_H

#include "pass.h"

#include <stdlib.h>

/* The shifts of a pass's layers, for other sets to take over: of each vector, the
 * tensor that was moved. */
struct shifts {
    float *at[LAYERS_MAX][TASKS_MAX];
    double margin; /* the least distance of a value from its kink */
};

static const double lifted = 64; /* brings every value over the ReLU */

static inline int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The widest gap after first..last-1 of the values. */
static inline int gap_between(const double *value, int first, int last)
{
    int best = first;
    for (int i = first; i < last; i++)
        if (value[i + 1] - value[i] > value[best + 1] - value[best])
            best = i;
    return best;
}

/* The middle of the widest gap in the middle half of n values, or of them all where
 * that is narrow; *margin is half of it. */
static inline double widest_gap(double *value, int n, double *margin)
{
    qsort(value, (size_t)n, sizeof *value, by_value);
    *margin = 1;
    if (n < 4 || value[0] == value[n - 1]) /* too few to have one on either side */
        return value[0] - 1;
    int at = gap_between(value, n / 4, n - 1 - n / 4);
    if (value[at + 1] - value[at] < 0.002)
        at = gap_between(value, 0, n - 1);
    *margin = (value[at + 1] - value[at]) / 2;
    return (value[at + 1] + value[at]) / 2;
}

/* Vector t of the pass serves tasks first..last-1. */
static inline void tasks_of_vector(const struct spec *s, int t, int *first, int *last)
{
    *first = s->own ? t : 0;
    *last = s->own ? t + 1 : s->tasks;
}

/* Moves channel c of `shift`, which was `lifted`. */
static inline void settle_channel(const struct pass *p, int layer, int t, int c, const float *rows,
                                  struct shifts *k)
{
    const struct layer *l = &p->layers[layer];
    int pixels = l->out_h * l->out_w, first, last, n = 0;
    double *value = mem_array((size_t)(p->batch.tasks * p->batch.n * pixels + 1), sizeof *value);
    double margin = 1, middle = 0;
    tasks_of_vector(p->spec, t, &first, &last);
    for (int task = first; task < last; task++)
        for (int i = 0; i < spec_count(p->spec, task) * pixels; i++)
            value[n++] =
                rows[((size_t)(task * p->spec->n + i / pixels) * (size_t)l->out_c + (size_t)c) *
                         (size_t)pixels +
                     (size_t)(i % pixels)];
    if (n > 0)
        middle = widest_gap(value, n, &margin);
    k->at[layer][t][c] -= (float)middle;
    k->margin = margin < k->margin ? margin : k->margin;
    free(value);
}

static inline enum tensor shifted_tensor(const struct layer *l)
{
    return l->kind == LAYER_CONV ? TENSOR_BETA : TENSOR_BIAS;
}

static inline void put_shifts(struct pass *p, const struct shifts *k, int layer)
{
    const struct layer *l = &p->layers[layer];
    for (int t = 0; t < (p->spec->own ? p->spec->tasks : 1); t++)
        p->k->pack(p->device, l, shifted_tensor(l), k->at[layer][t], vector_of(p, p->theta, t));
}

/* Layer by layer: the values, then the shift. */
static inline void settle(struct pass *p, struct shifts *k)
{
    int vectors = p->spec->own ? p->spec->tasks : 1;
    *k = (struct shifts){.margin = 1};
    for (int i = 0; i < p->n_layers; i++) {
        const struct layer *l = &p->layers[i];
        if (!l->relu)
            continue;
        size_t images = (size_t)(p->batch.tasks * p->batch.n);
        float *rows = mem_array(images * row_size(l), sizeof *rows);
        for (int t = 0; t < vectors; t++) {
            k->at[i][t] = mem_array((size_t)l->out_c, sizeof **k->at[i]);
            for (int c = 0; c < l->out_c; c++)
                k->at[i][t][c] = (float)lifted;
        }
        put_shifts(p, k, i);
        pass_forward(p);
        p->k->rows(p->device, l, &p->batch, pass_out(p, i, false), rows);
        for (int t = 0; t < vectors; t++)
            for (int c = 0; c < l->out_c; c++)
                settle_channel(p, i, t, c, rows, k);
        put_shifts(p, k, i);
        free(rows);
    }
}

static inline void shifts_free(struct shifts *k)
{
    for (int i = 0; i < LAYERS_MAX; i++)
        for (int t = 0; t < TASKS_MAX; t++)
            free(k->at[i][t]);
}

#endif
