/* engine_vectors.c - weights, gradient and moments as others read and write them. */
#include "method/engine_private.h"

#include <math.h>
#include <stdlib.h>

static void *vector_of(struct engine *e, enum engine_vector which)
{
    static const int slot[ENGINE_VECTORS] = {VECTOR_THETA, VECTOR_SLOTS, VECTOR_M, VECTOR_V};
    lockstep_settle(e); /* a failure shows again in the next step */
    return engine_vector(e, (size_t)slot[which]);
}

void engine_get(struct engine *e, enum engine_vector which, const struct net_tensor *t, float *host)
{
    e->k->unpack(e->dev, &e->net.layer[t->layer], t->which, vector_of(e, which), host);
    for (size_t i = 0; which == ENGINE_GRADIENT && e->gradient_tasks > 1 && i < t->len; i++)
        host[i] /= (float)e->gradient_tasks; /* the slot holds the sum */
}

void engine_put(struct engine *e, enum engine_vector which, const struct net_tensor *t,
                const float *host)
{
    e->k->pack(e->dev, &e->net.layer[t->layer], t->which, host, vector_of(e, which));
}

void engine_read(struct engine *e, enum engine_vector which, double *out)
{
    size_t n = e->net.trained;
    if (e->k->elem == sizeof *out) {
        e->k->download(e->dev, out, vector_of(e, which), n * sizeof *out);
        return;
    }
    float *floats = mem_array(n, sizeof *floats);
    e->k->download(e->dev, floats, vector_of(e, which), n * sizeof *floats);
    for (size_t i = 0; i < n; i++)
        out[i] = floats[i];
    free(floats);
}

void engine_write(struct engine *e, enum engine_vector which, const double *from)
{
    size_t n = e->net.trained;
    if (e->k->elem == sizeof *from) {
        e->k->upload(e->dev, vector_of(e, which), from, n * sizeof *from);
        return;
    }
    float *floats = mem_array(n, sizeof *floats);
    for (size_t i = 0; i < n; i++)
        floats[i] = (float)from[i];
    e->k->upload(e->dev, vector_of(e, which), floats, n * sizeof *floats);
    e->k->sync(e->dev); /* the floats are freed */
    free(floats);
}

bool engine_finite(struct engine *e)
{
    void *theta = vector_of(e, ENGINE_THETA);
    return isfinite(e->k->dot(e->dev, e->net.trained, theta, theta));
}
