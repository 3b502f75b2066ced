/* drift.c - Reptile's update beside the gradient it approximates. */
#include "theory/drift.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The inner loop, all of it remembered. */
struct path {
    struct probe *p;
    const struct items *task;
    size_t len, n; /* of weights, of gradients */
    double lr;
    int steps;
    double *theta;   /* (steps + 1, len) */
    double *sum;     /* (n) g(0) + ... + g(T-1) */
    double *last;    /* (n) g(T-1) */
    double *first;   /* (n) g(0) */
    double *at_end;  /* (n) g(T) */
    double *product; /* (n) scratch */
    double largest;  /* the largest |g(t)|, t < T */
};

static void path_open(struct path *w, struct probe *p, const struct items *task, double lr,
                      int steps)
{
    *w = (struct path){.p = p, .task = task, .lr = lr, .steps = steps};
    w->len = probe_len(p);
    w->n = probe_trained(p);
    w->theta = mem_array((size_t)(steps + 1) * w->len, sizeof *w->theta);
    w->sum = mem_array(w->n, sizeof *w->sum);
    w->last = mem_array(w->n, sizeof *w->last);
    w->first = mem_array(w->n, sizeof *w->first);
    w->at_end = mem_array(w->n, sizeof *w->at_end);
    w->product = mem_array(w->n, sizeof *w->product);
    probe_get(p, w->theta);
}

/* Leaves the probe where it started. */
static void path_close(struct path *w)
{
    probe_put(w->p, w->theta);
    free(w->theta);
    free(w->sum);
    free(w->last);
    free(w->first);
    free(w->at_end);
    free(w->product);
}

static int path_walk(struct path *w)
{
    int err = 0;
    for (int t = 0; t < w->steps && !err; t++) {
        double *theta = w->theta + (size_t)t * w->len, *next = theta + w->len;
        err = probe_gradient(w->p, w->task, -1, NULL, w->last);
        if (t == 0)
            memcpy(w->first, w->last, w->n * sizeof *w->first);
        vector_add(w->n, w->sum, 1, w->last);
        w->largest = fmax(w->largest, vector_norm(w->n, w->last));
        memcpy(next, theta, w->len * sizeof *next);
        vector_add(w->n, next, -w->lr, w->last);
        probe_put(w->p, next);
    }
    return err ? err : probe_gradient(w->p, w->task, -1, NULL, w->at_end);
}

/* gradient: from g(T) to G, back along the path. */
static int path_back(struct path *w, double *gradient)
{
    int err = 0;
    memcpy(gradient, w->at_end, w->n * sizeof *gradient);
    for (int t = w->steps - 1; t >= 0 && !err; t--) {
        probe_put(w->p, w->theta + (size_t)t * w->len);
        err = probe_gradient(w->p, w->task, -1, NULL, NULL);
        if (!err)
            err = probe_product(w->p, gradient, w->product);
        vector_add(w->n, gradient, -w->lr, w->product);
    }
    return err;
}

int drift_vectors(struct probe *p, const struct items *task, double lr, int steps, double *update,
                  double *gradient)
{
    struct path w;
    path_open(&w, p, task, lr, steps);
    int err = path_walk(&w);
    if (!err)
        err = path_back(&w, gradient);
    for (size_t i = 0; i < w.n; i++)
        update[i] = lr * w.sum[i];
    path_close(&w);
    return err;
}

/* |a x - y| / |y| */
static double apart(size_t n, double a, const double *x, const double *y)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (a * x[i] - y[i]) * (a * x[i] - y[i]);
    return sqrt(sum) / vector_norm(n, y);
}

/* What is left of u / lr - G after the appendix's expression, and after ours.  The
 * probe is at theta(0), where path_back left it. */
static int leftovers(struct path *w, const double *gradient, struct drift *out)
{
    double *left = mem_array(w->n, sizeof *left), *early = mem_array(w->n, sizeof *early);
    memcpy(early, w->sum, w->n * sizeof *early);
    vector_add(w->n, early, -1, w->last); /* g(0) + ... + g(T-2) */
    memcpy(left, w->last, w->n * sizeof *left);
    vector_add(w->n, left, -1, gradient); /* u / lr - G - early */
    int err = probe_product(w->p, early, w->product);
    vector_add(w->n, left, w->lr, w->product);
    out->left_printed = vector_norm(w->n, left) / out->gradient;
    vector_add(w->n, left, -w->lr, w->product);
    if (!err)
        err = probe_product(w->p, w->first, w->product);
    vector_add(w->n, left, -w->lr * (w->steps + 1), w->product);
    out->left_second = vector_norm(w->n, left) / out->gradient;
    free(early);
    free(left);
    return err;
}

int drift_measure(struct drift *out, struct probe *p, const struct items *task, double lr,
                  int steps, double curvature)
{
    struct path w;
    path_open(&w, p, task, lr, steps);
    double *gradient = mem_array(w.n, sizeof *gradient);
    int err = path_walk(&w);
    if (!err)
        err = path_back(&w, gradient);
    struct drift d = {.gradient = vector_norm(w.n, gradient)};
    d.cosine = vector_dot(w.n, w.sum, gradient) / (vector_norm(w.n, w.sum) * d.gradient);
    d.deviation = apart(w.n, 1.0 / steps, w.sum, gradient);
    d.raw = apart(w.n, lr, w.sum, gradient);
    d.summed = apart(w.n, 1, w.sum, gradient);
    d.bound = (1 - lr * curvature) * w.largest * (steps - 1) / d.gradient;
    if (!err)
        err = leftovers(&w, gradient, &d);
    free(gradient);
    path_close(&w);
    if (!err)
        *out = d;
    return err;
}
