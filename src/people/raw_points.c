/* raw_points.c - distances between items that no model has seen. */
#include "people/raw_points.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

enum { SIDE = 16, MEASURED = 1 << 16 }; /* blocks of an image; items that deviations are taken of */

/* Of items spread evenly over all there are. */
static void measure(struct raw_points *p)
{
    const struct dataset *d = p->data;
    int64_t step = d->items / MEASURED + 1, n = 0;
    size_t f = (size_t)p->features;
    double *sum = mem_array(2 * f, sizeof *sum), *square = sum + f;
    for (int64_t i = 0; i < d->items; i += step, n++) {
        const float *x = (const float *)d->x + (size_t)i * f, *first = d->x;
        for (size_t k = 0; k < f; k++) { /* from the first item, so that nothing cancels */
            double off = (double)x[k] - (double)first[k];
            sum[k] += off;
            square[k] += off * off;
        }
    }
    p->factor = mem_array(f, sizeof *p->factor);
    for (size_t k = 0; k < f; k++) {
        double mean = sum[k] / (double)n, variance = square[k] / (double)n - mean * mean;
        p->factor[k] = variance > 0 ? (float)(1 / sqrt(variance)) : 0;
    }
    free(sum);
}

void raw_points_open(struct raw_points *p, const struct dataset *d)
{
    int values = d->h * d->w * d->c;
    bool blocks = !d->is_float && values > SIDE * SIDE;
    *p = (struct raw_points){.data = d, .features = blocks ? SIDE * SIDE : values};
    if (d->is_float)
        measure(p);
}

void raw_points_close(struct raw_points *p)
{
    free(p->factor);
    *p = (struct raw_points){0};
}

/* Means of blocks; channels are added up. */
static void shrink(const struct dataset *d, const uint8_t *x, float *out)
{
    float count[SIDE * SIDE] = {0};
    for (int row = 0; row < d->h; row++)
        for (int col = 0; col < d->w; col++)
            for (int c = 0; c < d->c; c++) {
                int at = row * SIDE / d->h * SIDE + col * SIDE / d->w;
                out[at] += (float)x[(row * d->w + col) * d->c + c] / 255;
                count[at]++;
            }
    for (int k = 0; k < SIDE * SIDE; k++)
        out[k] /= count[k] > 0 ? count[k] : 1;
}

float *raw_points_of(const struct raw_points *p, const int64_t *item, int n)
{
    const struct dataset *d = p->data;
    size_t values = (size_t)d->h * (size_t)d->w * (size_t)d->c, f = (size_t)p->features;
    float *out = mem_array((size_t)n * f + 1, sizeof *out);
    for (int i = 0; i < n; i++) {
        float *to = out + (size_t)i * f;
        if (d->is_float) {
            const float *x = (const float *)d->x + (size_t)item[i] * values;
            for (size_t k = 0; k < f; k++)
                to[k] = x[k] * p->factor[k];
        } else {
            const uint8_t *x = (const uint8_t *)d->x + (size_t)item[i] * values;
            if (f < values)
                shrink(d, x, to);
            else
                for (size_t k = 0; k < f; k++)
                    to[k] = (float)x[k] / 255;
        }
    }
    return out;
}
