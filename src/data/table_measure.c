/* table_measure.c - running means, and a sample of rows for medians. */
#include "data/table_measure.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/statistics.h"

#include <math.h>
#include <stdlib.h>

void measure_open(struct measure *m, int features, bool moments)
{
    size_t n = (size_t)features;
    *m = (struct measure){
        .features = features, .moments = moments, .rng = rng_make(0, RNG_SPLIT, 0, 2)};
    m->n = mem_array(n, sizeof *m->n);
    m->mean = mem_array(2 * n, sizeof *m->mean);
    m->sum2 = m->mean + n;
}

void measure_release(struct measure *m)
{
    free(m->n);
    free(m->mean);
    free(m->sample);
    free(m->user);
    *m = (struct measure){0};
}

/* Where row number m->rows goes in the sample, or -1: every row is kept with the same chance. */
static int64_t place_of(struct measure *m)
{
    int64_t most = SAMPLE_BYTES / (int64_t)sizeof(double) / m->features;
    most = most < 1000 ? 1000 : most;
    if (m->rows >= most) {
        int64_t at = (int64_t)(rng_uniform(&m->rng) * (double)(m->rows + 1));
        return at < most ? at : -1;
    }
    if (m->rows == m->room) {
        m->room = m->room ? 2 * m->room : 1024;
        m->room = m->room < most ? m->room : most;
        m->sample = mem_grow(m->sample, (size_t)m->room * (size_t)m->features, sizeof *m->sample);
        m->user = mem_grow(m->user, (size_t)m->room, sizeof *m->user);
    }
    return m->rows;
}

void measure_row(struct measure *m, const double *raw, int32_t user)
{
    int64_t at = place_of(m);
    double *kept = at < 0 ? NULL : m->sample + at * m->features;
    if (kept)
        m->user[at] = user;
    for (int k = 0; k < m->features; k++) {
        if (kept)
            kept[k] = raw[k];
        if (!m->moments || isnan(raw[k]))
            continue;
        double off = raw[k] - m->mean[k];
        m->mean[k] += off / (double)++m->n[k];
        m->sum2[k] += off * (raw[k] - m->mean[k]);
    }
    m->rows++;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(const struct measure *m, const uint8_t *training, int feature, double *room)
{
    int64_t rows = m->rows < m->room ? m->rows : m->room;
    size_t n = 0;
    for (int64_t i = 0; i < rows; i++) {
        double value = m->sample[i * m->features + feature];
        if (!isnan(value) && (!training || training[m->user[i]]))
            room[n++] = value;
    }
    qsort(room, n, sizeof *room, ascending);
    return n ? sorted_quantile(room, n, 0.5) : NAN;
}

int measure_finish(const struct measure *m, const uint8_t *training, struct columns *c)
{
    double *room = mem_array((size_t)m->room + 1, sizeof *room);
    int err = 0;
    for (int i = 0; i < c->n && !err; i++) {
        const struct column *column = &c->at[i];
        double fill = column->kind == COLUMN_WORDS ? 0 : median(m, training, column->first, room);
        if (isnan(fill))
            err = fail(METE_EFORMAT,
                       "column '%s': no training user has a value in it; leave it out: --set "
                       "ignore=%s",
                       column->name, column->name);
        c->fill[column->first] = fill;
    }
    free(room);
    for (int k = 0; k < c->features && m->moments && !err; k++) {
        double deviation = sqrt(m->sum2[k] / (double)m->n[k]);
        c->mean[k] = m->mean[k];
        c->deviation[k] = deviation > 0 ? deviation : 1;
    }
    return err;
}
