/* pixel_model.h - a small learner for tests: nearest class mean of coarse pixels.
 *
 * It also watches: every label it is shown must be in the ledger, and the ledger must
 * never have passed its cap.  What it saw wrong is kept in `wrong`.
 */
#ifndef PIXEL_MODEL_H
#define PIXEL_MODEL_H

#include "base/memory.h"
#include "kernel/selection.h"
#include "label/label.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PIXEL_CELLS = 7, PIXEL_FEATURES = PIXEL_CELLS * PIXEL_CELLS, PIXEL_TASKS = 64 };

struct pixel_model {
    const struct dataset *d;
    const struct ledger *ledger;
    int ways;
    int calls;         /* of adapt */
    int sizes[64];     /* of the first task's support in each */
    const char *wrong; /* NULL: nothing */
    uint8_t *revealed; /* (items) */
    int64_t rows;      /* of the ledger, taken note of so far */
    float *mean;       /* (PIXEL_TASKS, ways, PIXEL_FEATURES) */
    int *count;        /* (PIXEL_TASKS, ways) */
};

/* Mean ink of each of 7 x 7 cells. */
static void pixel_features(const struct dataset *d, int32_t item, float *out)
{
    const uint8_t *x = (const uint8_t *)d->x + (size_t)item * (size_t)(d->h * d->w);
    int cell = d->h / PIXEL_CELLS;
    for (int f = 0; f < PIXEL_FEATURES; f++) {
        float sum = 0;
        for (int i = 0; i < cell * cell; i++)
            sum +=
                x[(f / PIXEL_CELLS * cell + i / cell) * d->w + f % PIXEL_CELLS * cell + i % cell];
        out[f] = 1 - sum / (float)(255 * cell * cell);
    }
}

static void pixel_watch(struct pixel_model *m, const struct items *s)
{
    const struct ledger_row *row;
    int64_t n = ledger_rows(m->ledger, &row);
    for (; m->rows < n; m->rows++)
        m->revealed[row[m->rows].item] = 1;
    for (int i = 0; i < s->n; i++) {
        if (!m->revealed[s->at[i]])
            m->wrong = "a label that is not in the ledger";
        for (int k = 0; k < i; k++)
            if ((m->d->y[s->at[i]] == m->d->y[s->at[k]]) != (s->label[i] == s->label[k]))
                m->wrong = "a wrong label";
    }
    if (ledger_cap(m->ledger) > 0 &&
        money_labels(ledger_totals(m->ledger).spent) > ledger_cap(m->ledger))
        m->wrong = "more spent than the cap";
}

static int pixel_adapt(void *user, int tasks, const struct items *support)
{
    struct pixel_model *m = user;
    size_t w = (size_t)m->ways;
    memset(m->mean, 0, PIXEL_TASKS * w * PIXEL_FEATURES * sizeof *m->mean);
    memset(m->count, 0, PIXEL_TASKS * w * sizeof *m->count);
    if (m->calls < 64)
        m->sizes[m->calls] = support[0].n;
    m->calls++;
    for (int t = 0; t < tasks; t++) {
        pixel_watch(m, &support[t]);
        for (int i = 0; i < support[t].n; i++) {
            size_t c = (size_t)t * w + (size_t)support[t].label[i];
            float x[PIXEL_FEATURES];
            pixel_features(m->d, support[t].at[i], x);
            m->count[c]++;
            for (int f = 0; f < PIXEL_FEATURES; f++)
                m->mean[c * PIXEL_FEATURES + (size_t)f] +=
                    (x[f] - m->mean[c * PIXEL_FEATURES + (size_t)f]) / (float)m->count[c];
        }
    }
    return 0;
}

/* Softmax of minus the squared distances; without labels, of the ink itself. */
static void pixel_probs(const struct pixel_model *m, int t, const float *x, float *p)
{
    float sum = 0;
    for (int c = 0; c < m->ways; c++) {
        const float *mean = m->mean + ((size_t)t * (size_t)m->ways + (size_t)c) * PIXEL_FEATURES;
        float d = 0;
        for (int f = 0; f < PIXEL_FEATURES; f++)
            d += (x[f] - mean[f]) * (x[f] - mean[f]);
        sum += p[c] = expf(-2 * d + x[c % PIXEL_FEATURES]);
    }
    for (int c = 0; c < m->ways; c++)
        p[c] /= sum;
}

static int pixel_predict(void *user, int tasks, const struct items *query,
                         const struct predicted *out)
{
    struct pixel_model *m = user;
    size_t w = (size_t)m->ways;
    float *p = mem_array(w, sizeof *p);
    for (int t = 0; t < tasks; t++) {
        for (int i = 0; i < query[t].n; i++) {
            float x[PIXEL_FEATURES];
            pixel_features(m->d, query[t].at[i], x);
            pixel_probs(m, t, x, p);
            if (out->reps)
                memcpy(out->reps[t] + (size_t)i * PIXEL_FEATURES, x, sizeof x);
            if (out->probs)
                memcpy(out->probs[t] + (size_t)i * w, p, w * sizeof *p);
        }
    }
    free(p);
    return 0;
}

static void pixel_model_init(struct pixel_model *m, const struct dataset *d, const struct ledger *l,
                             int ways)
{
    size_t w = (size_t)ways;
    *m = (struct pixel_model){.d = d, .ledger = l, .ways = ways};
    m->revealed = mem_array((size_t)d->items, 1);
    m->mean = mem_array(PIXEL_TASKS * w * PIXEL_FEATURES, sizeof *m->mean);
    m->count = mem_array(PIXEL_TASKS * w, sizeof *m->count);
}

static void pixel_model_release(struct pixel_model *m)
{
    free(m->revealed);
    free(m->mean);
    free(m->count);
}

/* As a learner that has representations and leaves entropies and clusters to the host;
 * learner_forget() it. */
static struct learner pixel_as_learner(struct pixel_model *m)
{
    static const struct learner_ops ops = {
        .name = "pixels", .adapt = pixel_adapt, .predict = pixel_predict};
    return (struct learner){
        .ops = &ops, .state = m, .is = {.ways = m->ways, .features = PIXEL_FEATURES}};
}

#endif
