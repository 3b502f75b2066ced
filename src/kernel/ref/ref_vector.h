/* ref_vector.h - vectors and optimiser steps. */

static void ref_zero(struct device *d, void *to, size_t bytes)
{
    (void)d;
    memset(to, 0, bytes);
}

static REAL *vec_at(struct vec v, int task)
{
    return (REAL *)v.at + vec_number(v, task) * v.stride;
}

static void ref_axpy(struct device *d, int tasks, size_t len, struct vec to, struct vec y, double a,
                     struct vec x)
{
    (void)d;
    for (int t = 0; t < tasks; t++)
        for (size_t i = 0; i < len; i++)
            vec_at(to, t)[i] = (REAL)(vec_at(y, t)[i] + a * vec_at(x, t)[i]);
}

static void ref_reduce(struct device *d, int tasks, size_t len, void *to, struct vec x, bool add)
{
    (void)d;
    for (size_t i = 0; i < len; i++) {
        double sum = add ? ((REAL *)to)[i] : 0;
        for (int t = 0; t < tasks; t++)
            sum += vec_at(x, t)[i];
        ((REAL *)to)[i] = (REAL)sum;
    }
}

static double ref_dot(struct device *d, size_t len, const void *x, const void *y)
{
    (void)d;
    double sum = 0;
    for (size_t i = 0; i < len; i++)
        sum += (double)((const REAL *)x)[i] * ((const REAL *)y)[i];
    return sum;
}

static void ref_sgd(struct device *d, size_t from, size_t len, void *theta, const void *g,
                    double scale, double lr)
{
    (void)d;
    for (size_t i = from; i < from + len; i++)
        ((REAL *)theta)[i] -= (REAL)(lr * scale * ((const REAL *)g)[i]);
}

static void ref_adam(struct device *d, size_t from, size_t len, void *theta, void *m, void *v,
                     const void *g, double scale, const struct adam *a,
                     const struct adam_rates *now)
{
    (void)d;
    for (size_t i = from; i < from + len; i++) {
        double gi = scale * ((const REAL *)g)[i];
        double mi = a->beta1 * ((REAL *)m)[i] + (1 - a->beta1) * gi;
        double vi = a->beta2 * ((REAL *)v)[i] + (1 - a->beta2) * gi * gi;
        ((REAL *)m)[i] = (REAL)mi;
        ((REAL *)v)[i] = (REAL)vi;
        ((REAL *)theta)[i] -= (REAL)(now->rate * mi / (sqrt(vi) + now->eps));
    }
}
