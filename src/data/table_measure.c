/* table_measure.c - running means, and a sample of rows for medians. */
#include "data/table_measure.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/statistics.h"

#include <math.h>
#include <stdlib.h>

int measure_open(struct measure *m, int features, bool moments)
{
    size_t n = (size_t)features;
    *m = (struct measure){
        .features = features, .moments = moments, .rng = rng_make(0, RNG_SPLIT, 0, 2)};
    int err = mem_try(&m->n, n, sizeof *m->n, "features");
    if (!err)
        err = mem_try(&m->mean, 2 * n, sizeof *m->mean, "features");
    m->sum2 = err ? NULL : m->mean + n;
    return err;
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
static int place_of(struct measure *m, int64_t *place)
{
    int64_t most = SAMPLE_BYTES / (int64_t)sizeof(double) / m->features;
    most = most < 1000 ? 1000 : most;
    if (m->rows >= most) {
        int64_t at = (int64_t)(rng_uniform(&m->rng) * (double)(m->rows + 1));
        *place = at < most ? at : -1;
        return 0;
    }
    *place = m->rows;
    if (m->rows < m->room)
        return 0;
    int64_t room = m->room ? 2 * m->room : 1024;
    room = room < most ? room : most;
    int err = mem_extend(&m->sample, (size_t)room * (size_t)m->features, sizeof *m->sample, "rows");
    if (!err)
        err = mem_extend(&m->user, (size_t)room, sizeof *m->user, "rows");
    m->room = err ? m->room : room;
    return err;
}

int measure_row(struct measure *m, const double *raw, int32_t user)
{
    int64_t at;
    int err = place_of(m, &at);
    if (err)
        return err;
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
    return 0;
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
    double *room = NULL;
    int err = mem_try(&room, (size_t)m->room + 1, sizeof *room, "rows");
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
