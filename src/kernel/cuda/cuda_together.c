/* cuda_together.c - notes small operations, and launches what is noted. */
#include "cuda_together.h"

void cuda_together_flush(struct device *d)
{
    struct together *t = d->together;
    if (t->n == 0)
        return;
    struct operation first = t->of[0];
    first.grid.z = (unsigned)t->n;
    t->n = 0;
    cuda_launch(d, first.kernel, first.grid, t->args, first.name);
}

static bool overlap(const struct span *a, const struct span *b)
{
    const char *p = a->at, *q = b->at;
    return a->bytes && b->bytes && p < q + b->bytes && q < p + a->bytes;
}

/* Whether `later` may run beside `o`: neither writes what the other reads or writes. */
static bool independent(const struct operation *o, const struct operation *later)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            if (overlap(&o->writes[i], &later->writes[j]) ||
                overlap(&o->writes[i], &later->reads[j]) ||
                overlap(&o->reads[i], &later->writes[j]))
                return false;
    return true;
}

static bool fits(const struct together *t, const struct operation *o)
{
    const struct operation *f = &t->of[0];
    if (t->n == TOGETHER || f->kernel != o->kernel || f->grid.x != o->grid.x ||
        f->grid.y != o->grid.y || f->grid.threads != o->grid.threads)
        return false;
    for (int i = 0; i < t->n; i++)
        if (!independent(&t->of[i], o))
            return false;
    return true;
}

void cuda_together(struct device *d, const struct operation *o)
{
    struct together *t = d->together;
    if (o->grid.x == 0)
        return;
    if (t->n > 0 && !fits(t, o))
        cuda_together_flush(d);
    if (t->n == 0)
        cuda_flush(d); /* what was noted elsewhere comes before */
    memcpy((char *)t->args + (size_t)t->n * o->size, o->args, o->size);
    t->of[t->n++] = *o;
    d->latest = o->name; /* for those who ask before they launch */
}
