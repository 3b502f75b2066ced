/* cpu_vector.h - vectors and optimiser steps: plain loops, which compilers vectorise. */

static void cpu_zero(struct device *d, void *to, size_t bytes)
{
    (void)d;
    memset(to, 0, bytes);
}

static float *vec_at(struct vec v, int task)
{
    return (float *)v.at + (size_t)task * v.stride;
}

static void cpu_axpy(struct device *d, int tasks, size_t len, struct vec to, struct vec y, double a,
                     struct vec x)
{
    (void)d;
    for (int t = 0; t < tasks; t++) {
        float *out = vec_at(to, t), by = (float)a;
        const float *from = vec_at(y, t), *step = vec_at(x, t);
        for (size_t i = 0; i < len; i++)
            out[i] = from[i] + by * step[i];
    }
}

/* Task by task, so that each element is summed in the order of the tasks. */
static void cpu_reduce(struct device *d, int tasks, size_t len, void *to, struct vec x, bool add)
{
    (void)d;
    float *sum = to;
    if (!add)
        memset(sum, 0, len * sizeof *sum);
    for (int t = 0; t < tasks; t++) {
        const float *from = vec_at(x, t);
        for (size_t i = 0; i < len; i++)
            sum[i] += from[i];
    }
}

/* In double, in eight sums that are added in a fixed order. */
static double cpu_dot(struct device *d, size_t len, const void *x, const void *y)
{
    (void)d;
    enum { SUMS = 8 };
    const float *a = x, *b = y;
    double sum[SUMS] = {0}, total = 0;
    size_t whole = len - len % SUMS;
    for (size_t i = 0; i < whole; i += SUMS)
        for (size_t j = 0; j < SUMS; j++)
            sum[j] += (double)a[i + j] * b[i + j];
    for (size_t j = 0; j < SUMS; j++)
        total += sum[j];
    for (size_t i = whole; i < len; i++)
        total += (double)a[i] * b[i];
    return total;
}

static void cpu_sgd(struct device *d, size_t from, size_t len, void *theta, const void *g,
                    double scale, double lr)
{
    (void)d;
    float *at = (float *)theta + from, rate = (float)(lr * scale);
    const float *grad = (const float *)g + from;
    for (size_t i = 0; i < len; i++)
        at[i] -= rate * grad[i];
}

static void cpu_adam(struct device *d, size_t from, size_t len, void *theta, void *m, void *v,
                     const void *g, double scale, const struct adam *a,
                     const struct adam_rates *now)
{
    (void)d;
    float rate = (float)now->rate, eps = (float)now->eps, s = (float)scale;
    float b1 = (float)a->beta1, c1 = (float)(1 - a->beta1);
    float b2 = (float)a->beta2, c2 = (float)(1 - a->beta2);
    float *at = (float *)theta + from, *first = (float *)m + from, *second = (float *)v + from;
    const float *grad = (const float *)g + from;
    for (size_t i = 0; i < len; i++) {
        float gi = s * grad[i];
        first[i] = b1 * first[i] + c1 * gi;
        second[i] = b2 * second[i] + c2 * gi * gi;
        at[i] -= rate * first[i] / (sqrtf(second[i]) + eps);
    }
}
