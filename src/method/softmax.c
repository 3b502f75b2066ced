/* softmax.c - the loss of softmax regression, and L-BFGS (Nocedal, 1980) with backtracking. */
#include "method/softmax.h"
#include "base/memory.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static void logits_of(const float *x, int d, int ways, const double *w, double *out)
{
    for (int k = 0; k < ways; k++) {
        const double *row = w + (ptrdiff_t)k * (d + 1);
        double sum = row[d];
        for (int i = 0; i < d; i++)
            sum += row[i] * (double)x[i];
        out[k] = sum;
    }
}

void softmax_probs(const float *x, int d, int ways, const double *w, double *probs)
{
    double most = -INFINITY, sum = 0;
    logits_of(x, d, ways, w, probs);
    for (int k = 0; k < ways; k++)
        most = fmax(most, probs[k]);
    for (int k = 0; k < ways; k++)
        sum += probs[k] = exp(probs[k] - most);
    for (int k = 0; k < ways; k++)
        probs[k] /= sum;
}

double softmax_loss(const float *x, const int32_t *y, int64_t n, int d, int ways, double l2,
                    const double *anchor, const double *w, double *g)
{
    ptrdiff_t len = (ptrdiff_t)ways * (d + 1);
    double loss = 0, *p = mem_array((size_t)ways, sizeof *p);
    for (ptrdiff_t i = 0; i < len; i++) {
        double off = w[i] - (anchor ? anchor[i] : 0);
        loss += 0.5 * l2 * off * off;
        g[i] = l2 * off;
    }
    for (int64_t r = 0; r < n; r++) {
        const float *row = x + r * d;
        softmax_probs(row, d, ways, w, p);
        loss -= log(fmax(p[y[r]], 1e-300));
        p[y[r]] -= 1;
        for (int k = 0; k < ways; k++) {
            double *to = g + (ptrdiff_t)k * (d + 1), by = p[k];
            for (int i = 0; i < d; i++)
                to[i] += by * (double)row[i];
            to[d] += by;
        }
    }
    free(p);
    return loss;
}

static double dot(const double *a, const double *b, ptrdiff_t n)
{
    double sum = 0;
    for (ptrdiff_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

enum { KEPT = 8, STEPS_MAX = 200, HALVINGS = 40 };

struct memory { /* the last steps and changes of the gradient */
    double *s[KEPT], *q[KEPT], rho[KEPT];
    int n;
};

/* -H g, H the approximate inverse Hessian. */
static void direction(const struct memory *m, const double *g, double *p, ptrdiff_t len)
{
    int least = m->n > KEPT ? m->n - KEPT : 0;
    double alpha[KEPT];
    for (ptrdiff_t i = 0; i < len; i++)
        p[i] = -g[i];
    for (int t = m->n - 1; t >= least; t--) {
        int k = t % KEPT;
        alpha[k] = m->rho[k] * dot(m->s[k], p, len);
        for (ptrdiff_t i = 0; i < len; i++)
            p[i] -= alpha[k] * m->q[k][i];
    }
    if (m->n > 0) {
        int k = (m->n - 1) % KEPT;
        double scale = 1 / (m->rho[k] * dot(m->q[k], m->q[k], len));
        for (ptrdiff_t i = 0; i < len; i++)
            p[i] *= scale;
    }
    for (int t = least; t < m->n; t++) {
        int k = t % KEPT;
        double beta = m->rho[k] * dot(m->q[k], p, len);
        for (ptrdiff_t i = 0; i < len; i++)
            p[i] += (alpha[k] - beta) * m->s[k][i];
    }
}

static void remember(struct memory *m, const double *step, const double *change, ptrdiff_t len)
{
    int k = m->n % KEPT;
    double curvature = dot(step, change, len);
    if (!(curvature > 0))
        return;
    memcpy(m->s[k], step, (size_t)len * sizeof *step);
    memcpy(m->q[k], change, (size_t)len * sizeof *change);
    m->rho[k] = 1 / curvature;
    m->n++;
}

int softmax_fit(const float *x, const int32_t *y, int64_t n, int d, int ways, double l2,
                const double *anchor, double *w)
{
    ptrdiff_t len = (ptrdiff_t)ways * (d + 1);
    double *room = mem_array((2 * KEPT + 4) * (size_t)len, sizeof *room);
    double *g = room, *p = g + len, *next = p + len, *next_g = next + len;
    struct memory m = {0};
    for (int k = 0; k < KEPT; k++) {
        m.s[k] = room + (4 + 2 * k) * len;
        m.q[k] = m.s[k] + len;
    }
    double loss = softmax_loss(x, y, n, d, ways, l2, anchor, w, g);
    int steps = 0;
    for (; steps < STEPS_MAX && sqrt(dot(g, g, len)) > 1e-6 * (1 + (double)n); steps++) {
        direction(&m, g, p, len);
        double slope = dot(g, p, len), rate = m.n ? 1 : 1 / (1 + sqrt(dot(g, g, len))), then = loss;
        int halved = 0;
        for (; halved < HALVINGS; halved++, rate /= 2) {
            for (ptrdiff_t i = 0; i < len; i++)
                next[i] = w[i] + rate * p[i];
            then = softmax_loss(x, y, n, d, ways, l2, anchor, next, next_g);
            if (then <= loss + 1e-4 * rate * slope)
                break;
        }
        if (halved == HALVINGS)
            break; /* as far as doubles go */
        for (ptrdiff_t i = 0; i < len; i++) {
            p[i] = next[i] - w[i];
            w[i] = next[i];
            double change = next_g[i] - g[i];
            g[i] = next_g[i];
            next_g[i] = change;
        }
        remember(&m, p, next_g, len);
        loss = then;
    }
    free(room);
    return steps;
}
