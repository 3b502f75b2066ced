/* bound_fit.c - mete_shape(): the bound's shape, a + b/sqrt(n) + c/m, fitted to what was measured.
 *
 * The bounds of Theorem 3 fall as 1/sqrt(n) with the tasks (held-out), and have a part
 * that falls as 1/m with the points of a task (empirical).  A term is left out where
 * the runs do not vary it.
 */
#include "theory/bound_fit.h"
#include "theory/fit.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "store/store.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is fitted, of all that a study leaves. */
static const char *const fitted[] = {"gap",        "gap_outer", "gap_inner",  "outer_beta",
                                     "inner_beta", "outer_L",   "outer_gamma"};
enum { FITTED = sizeof fitted / sizeof *fitted };

struct point {
    int64_t run;
    char dataset[96], method[32], labels[32];
    double n, m, y[FITTED];
};

struct points {
    struct point *at;
    int n, room;
};

static void take(void *user, const struct store_measured *m)
{
    struct points *p = user;
    if (p->n == 0 || p->at[p->n - 1].run != m->run) {
        if (p->n == p->room) {
            p->room = p->room ? 2 * p->room : 64;
            p->at = mem_grow(p->at, (size_t)p->room, sizeof *p->at);
        }
        struct point fresh = {.run = m->run, .n = NAN, .m = NAN};
        for (int i = 0; i < FITTED; i++)
            fresh.y[i] = NAN;
        strncpy(fresh.dataset, m->dataset, sizeof fresh.dataset - 1);
        strncpy(fresh.method, m->method, sizeof fresh.method - 1);
        strncpy(fresh.labels, m->labels, sizeof fresh.labels - 1);
        p->at[p->n++] = fresh;
    }
    struct point *last = &p->at[p->n - 1];
    const struct store_measure *x = &m->measure;
    if (strcmp(x->name, "n") == 0)
        last->n = x->value;
    if (strcmp(x->name, "m") == 0)
        last->m = x->value;
    for (int i = 0; i < FITTED; i++)
        if (strcmp(x->name, fitted[i]) == 0)
            last->y[i] = x->value;
}

static bool alike(const struct point *a, const struct point *b)
{
    return strcmp(a->dataset, b->dataset) == 0 && strcmp(a->method, b->method) == 0 &&
           strcmp(a->labels, b->labels) == 0;
}

/* One measure of all points like `first`; false where there is nothing to fit. */
static bool fit_one(const struct points *p, const struct point *first, int which,
                    struct mete_shape *out)
{
    double *x = mem_array((size_t)p->n * 3, sizeof *x), *y = mem_array((size_t)p->n, sizeof *y);
    const struct point *any = NULL;
    bool by_n = false, by_m = false;
    int rows = 0, terms = 1;
    for (const struct point *q = first; q < p->at + p->n; q++) {
        if (!alike(first, q) || !isfinite(q->y[which]))
            continue;
        any = any ? any : q;
        by_n = by_n || q->n != any->n;
        by_m = by_m || q->m != any->m;
    }
    terms += by_n + by_m;
    for (const struct point *q = first; q < p->at + p->n; q++) {
        if (!alike(first, q) || !isfinite(q->y[which]))
            continue;
        double *row = x + rows * terms;
        row[0] = 1;
        if (by_n)
            row[1] = 1 / sqrt(q->n);
        if (by_m)
            row[terms - 1] = 1 / q->m;
        y[rows++] = q->y[which];
    }
    struct fit f;
    bool good = rows > terms && fit_linear(&f, x, y, rows, terms) == 0 &&
                isfinite(f.r2); /* a measure that never varies has no shape */
    free(x);
    free(y);
    if (!good)
        return false;
    *out = (struct mete_shape){.runs = rows, .b = NAN, .b_half = NAN, .c = NAN, .c_half = NAN};
    memcpy(out->dataset, first->dataset, sizeof out->dataset);
    memcpy(out->method, first->method, sizeof out->method);
    memcpy(out->labels, first->labels, sizeof out->labels);
    strncpy(out->measure, fitted[which], sizeof out->measure - 1);
    out->a = f.coefficient[0];
    out->a_half = f.half[0];
    out->r2 = f.r2;
    if (by_n)
        out->b = f.coefficient[1], out->b_half = f.half[1];
    if (by_m)
        out->c = f.coefficient[terms - 1], out->c_half = f.half[terms - 1];
    return true;
}

static bool seen_before(const struct points *p, int i)
{
    for (int j = 0; j < i; j++)
        if (alike(&p->at[j], &p->at[i]))
            return true;
    return false;
}

int shape_fit(struct store *s, const char *suite, struct mete_shape **out, int *n)
{
    struct points p = {0};
    int count = 0, err = store_measures(s, suite, take, &p);
    struct mete_shape *rows = mem_array((size_t)(p.n + 1) * FITTED, sizeof *rows);
    for (int i = 0; i < p.n && !err; i++)
        for (int k = 0; k < FITTED && !seen_before(&p, i); k++)
            count += fit_one(&p, &p.at[i], k, &rows[count]);
    free(p.at);
    if (err) {
        free(rows);
        return err;
    }
    *out = rows;
    *n = count;
    return 0;
}

int mete_shape(const char *db, struct mete_shape **out, int *n)
{
    NUMBER_LOCALE;
    struct store *store = NULL;
    struct mete_shape *rows = NULL;
    int count = 0, err = store_open(&store, db, STORE_READ);
    if (!err)
        err = shape_fit(store, NULL, &rows, &count);
    store_close(store);
    if (!err && count == 0)
        err = fail(METE_EINVAL, "%s holds no study that varies n or m enough to fit a shape", db);
    if (err) {
        free(rows);
        return err;
    }
    *out = rows;
    *n = count;
    return 0;
}
