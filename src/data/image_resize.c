/* image_resize.c - separable resampling: rows first, then columns.
 *
 * An output pixel is a weighted mean of the source pixels under a kernel that is
 * stretched by the reduction, normalised to sum 1 (as Pillow does it).  Only the
 * last step rounds.
 */
#include "data/image.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double triangle(double x)
{
    return fmax(0, 1 - fabs(x));
}

static double cubic(double x) /* Keys, a = -0.5 */
{
    x = fabs(x);
    if (x < 1)
        return (1.5 * x - 2.5) * x * x + 1;
    return x < 2 ? ((-0.5 * x + 2.5) * x - 4) * x + 2 : 0;
}

static double sinc(double x)
{
    return x == 0 ? 1 : sin(M_PI * x) / (M_PI * x);
}

static double lanczos(double x)
{
    return fabs(x) < 3 ? sinc(x) * sinc(x / 3) : 0;
}

static const struct {
    double radius;
    double (*weight)(double x);
} kernels[] = {
    [FILTER_BILINEAR] = {1, triangle},
    [FILTER_BICUBIC] = {2, cubic},
    [FILTER_LANCZOS] = {3, lanczos},
};

/* For each of `out` pixels, where its sources begin, and `taps` weights. */
struct taps {
    int taps;
    int *first;
    float *weight;
};

/* Weights of source pixels first..first+n-1 for output i; unnormalised. */
static double tap(enum image_filter filter, double scale, int i, int source)
{
    if (filter == FILTER_AREA) /* the overlap of [i, i+1) * scale with the pixel */
        return fmax(0, fmin(source + 1, (i + 1) * scale) - fmax(source, i * scale));
    double stretch = fmax(scale, 1), centre = (i + 0.5) * scale;
    return kernels[filter].weight((source + 0.5 - centre) / stretch);
}

static double radius_of(enum image_filter filter, double scale)
{
    if (filter == FILTER_AREA)
        return scale / 2;
    return filter == FILTER_NEAREST ? 0 : kernels[filter].radius * fmax(scale, 1);
}

static int make_taps(struct taps *made, int in, int out, enum image_filter filter)
{
    double scale = (double)in / out, radius = radius_of(filter, scale);
    struct taps t = {.taps = (int)ceil(radius * 2) + 2};
    if (filter == FILTER_NEAREST)
        t.taps = 1;
    if (t.taps > in)
        t.taps = in;
    int err = mem_try(&t.first, (size_t)out, sizeof *t.first, "an image");
    if (!err)
        err = mem_try(&t.weight, (size_t)out * (size_t)t.taps, sizeof *t.weight, "an image");
    *made = t;
    if (err)
        return err;
    for (int i = 0; i < out; i++) {
        double centre = (i + 0.5) * scale, sum = 0;
        int first = (int)floor(filter == FILTER_NEAREST ? centre : centre - radius);
        first = first < 0 ? 0 : first > in - t.taps ? in - t.taps : first;
        float *weight = t.weight + (size_t)i * (size_t)t.taps;
        t.first[i] = first;
        for (int k = 0; k < t.taps; k++)
            sum += filter == FILTER_NEAREST ? 1 : tap(filter, scale, i, first + k);
        for (int k = 0; k < t.taps; k++)
            weight[k] =
                filter == FILTER_NEAREST ? 1 : (float)(tap(filter, scale, i, first + k) / sum);
    }
    return 0;
}

static void release_taps(struct taps *t)
{
    free(t->first);
    free(t->weight);
}

/* rows (in.h, w, c) of floats from in (h, w, c). */
static void shrink_rows(const struct image *in, int w, const struct taps *t, float *rows)
{
    for (int y = 0; y < in->h; y++)
        for (int x = 0; x < w; x++) {
            const uint8_t *from = in->pixels + ((size_t)y * in->w + t->first[x]) * in->c;
            const float *weight = t->weight + (size_t)x * t->taps;
            for (int c = 0; c < in->c; c++) {
                float sum = 0;
                for (int k = 0; k < t->taps; k++)
                    sum += weight[k] * from[k * in->c + c];
                *rows++ = sum;
            }
        }
}

static uint8_t to_byte(float v)
{
    return v <= 0 ? 0 : v >= 255 ? 255 : (uint8_t)(v + 0.5f);
}

/* out (h, n) from rows (in_h, n), n = w * c values a row; sum (n) is scratch. */
static void shrink_columns(const float *rows, size_t n, int h, const struct taps *t, float *sum,
                           uint8_t *out)
{
    for (int y = 0; y < h; y++) {
        const float *weight = t->weight + (size_t)y * t->taps;
        memset(sum, 0, n * sizeof *sum);
        for (int k = 0; k < t->taps; k++) {
            const float *row = rows + (size_t)(t->first[y] + k) * n;
            for (size_t i = 0; i < n; i++)
                sum[i] += weight[k] * row[i];
        }
        for (size_t i = 0; i < n; i++)
            *out++ = to_byte(sum[i]);
    }
}

int image_resize(const struct image *image, int h, int w, enum image_filter filter, uint8_t *out)
{
    size_t n = (size_t)w * (size_t)image->c;
    if (image->h == h && image->w == w) {
        memcpy(out, image->pixels, (size_t)h * n);
        return 0;
    }
    struct taps across = {0}, down = {0};
    float *rows = NULL;
    int err = make_taps(&across, image->w, w, filter);
    if (!err)
        err = make_taps(&down, image->h, h, filter);
    if (!err)
        err = mem_try(&rows, (size_t)image->h * n + n, sizeof *rows, "an image");
    if (!err) {
        shrink_rows(image, w, &across, rows);
        shrink_columns(rows, n, h, &down, rows + (size_t)image->h * n, out);
    }
    free(rows);
    release_taps(&across);
    release_taps(&down);
    return err;
}
