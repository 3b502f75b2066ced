/* cuda_together.c - notes operations on vectors, and launches what is noted. */
#include "cuda_together.h"

static struct span vectors(const struct vec *v, int tasks, size_t len)
{
    size_t floats = v->at ? vec_number(*v, tasks - 1) * v->stride + len : 0;
    return (struct span){v->at, floats * sizeof(float)};
}

static struct touched touched_by(const struct operation *o)
{
    const struct update *u = &o->then;
    size_t bytes = o->len * sizeof(float);
    bool sum = o->kind == VECTOR_SUM, adam = u->theta && u->m;
    return (struct touched){.writes = {vectors(&o->to, sum ? 1 : o->tasks, o->len),
                                       {u->theta, u->theta ? bytes : 0},
                                       {u->m, adam ? bytes : 0},
                                       {u->v, adam ? bytes : 0}},
                            .reads = {vectors(&o->x, o->tasks, o->len),
                                      vectors(&o->y, o->tasks, o->len),
                                      {u->now, adam ? sizeof *u->now : 0}}};
}

static bool overlap(const struct span *a, const struct span *b)
{
    const char *p = a->at, *q = b->at;
    return a->bytes && b->bytes && p < q + b->bytes && q < p + a->bytes;
}

/* Whether one may run beside the other: neither writes what the other reads or writes. */
static bool independent(const struct touched *a, const struct touched *b)
{
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 4; j++)
            if (overlap(&a->writes[i], &b->writes[j]))
                return false;
        for (int j = 0; j < 3; j++)
            if (overlap(&a->writes[i], &b->reads[j]) || overlap(&b->writes[i], &a->reads[j]))
                return false;
    }
    return true;
}

static bool independent_of_all(const struct together *t, const struct operation *o)
{
    struct touched now = touched_by(o);
    for (int i = 0; i < t->n; i++)
        if (!independent(&t->touched[i], &now))
            return false;
    return true;
}

/* An update that takes a sum that is noted goes with it. */
static bool joins_its_sum(struct together *t, const struct operation *o)
{
    struct operation rest = *o;
    rest.x = (struct vec){0};
    if (!o->then.theta || o->to.at || !independent_of_all(t, &rest))
        return false;
    for (int i = 0; i < t->n; i++) {
        struct operation *sum = &t->of[i];
        if (sum->kind == VECTOR_SUM && sum->to.at == o->x.at && sum->len == o->len &&
            !sum->then.theta) {
            sum->then = o->then;
            t->touched[i] = touched_by(sum);
            return true;
        }
    }
    return false;
}

void cuda_together_flush(struct device *d)
{
    struct together *t = d->together;
    int n = t->n;
    t->n = 0;
    if (n > 0)
        cuda_vectors(d, t->of, n);
}

void cuda_together(struct device *d, const struct operation *o)
{
    struct together *t = d->together;
    if (o->blocks == 0 || joins_its_sum(t, o))
        return;
    if (t->n == TOGETHER || !independent_of_all(t, o))
        cuda_together_flush(d);
    if (t->n == 0)
        cuda_flush(d); /* what was noted elsewhere comes before */
    t->touched[t->n] = touched_by(o);
    t->of[t->n++] = *o;
    d->latest = "vectors"; /* for those who ask before they launch */
}
