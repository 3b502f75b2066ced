/* model_graph.c - a model with its task as plain arithmetic (graph.h): frozen batch norm goes into
 * the convolutions, prototypes become a dense layer, scaling and standardisation the input's.
 */
#include "model/model.h"
#include "model/graph.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The tensors of each layer; NULL where it has none. */
struct layers {
    const float *at[LAYERS_MAX + 1][TENSORS];
};

static int find_tensors(const struct net *net, const struct tensors *all, struct layers *out)
{
    struct net_tensor t[NET_TENSORS_MAX];
    int n = net_tensors(net, t);
    *out = (struct layers){0};
    for (int i = 0; i < n; i++) {
        const struct ndarray *a = tensors_find(all, t[i].name);
        if (!a || a->dtype != DTYPE_F32 || (size_t)ndarray_count(a) != t[i].len)
            return fail(METE_EFORMAT, "the model has no tensor '%s' as its net needs it",
                        t[i].name);
        out->at[t[i].layer][t[i].which] = a->data;
    }
    return 0;
}

/* (conv + bias - mean) gamma / sqrt(var + eps) + beta */
static void add_conv(struct graph *g, const struct layer *l, const float *const at[TENSORS])
{
    struct graph_layer *to = graph_add_conv(g, l->out_c, l->stride, l->pool);
    size_t each = graph_weights(to) / (size_t)l->out_c;
    for (size_t o = 0; o < (size_t)l->out_c; o++) {
        double factor = (double)at[TENSOR_GAMMA][o] / sqrt((double)at[TENSOR_VAR][o] + l->eps);
        for (size_t i = 0; i < each; i++)
            to->weight[o * each + i] = (float)((double)at[TENSOR_WEIGHT][o * each + i] * factor);
        double bias = (double)at[TENSOR_BIAS][o] - (double)at[TENSOR_MEAN][o];
        to->bias[o] = (float)(bias * factor + (double)at[TENSOR_BETA][o]);
    }
}

static void add_dense(struct graph *g, const struct layer *l, const float *const at[TENSORS])
{
    struct graph_layer *to = graph_add_dense(g, l->out_c, l->relu);
    memcpy(to->weight, at[TENSOR_WEIGHT], graph_weights(to) * sizeof *to->weight);
    memcpy(to->bias, at[TENSOR_BIAS], (size_t)l->out_c * sizeof *to->bias);
}

/* A dense layer for the prototypes, with the log odds of the classes in its bias. */
static int add_prototypes(struct mete_model *m, struct graph *g)
{
    size_t ways = (size_t)g->ways, n = ways * (size_t)m->learner->is.features;
    float *prototypes = mem_array(n, sizeof *prototypes), *odds = mem_array(ways, sizeof *odds);
    double *exact = mem_array(n, sizeof *exact);
    int err = model_prototypes(m, prototypes, odds);
    for (size_t i = 0; i < n; i++)
        exact[i] = (double)prototypes[i];
    if (!err) {
        graph_add_distances(g, exact);
        g->absent = mem_array(ways, sizeof *g->absent);
    }
    for (size_t w = 0; w < ways && !err; w++) {
        g->absent[w] = odds[w] == -INFINITY;
        if (!g->absent[w])
            g->layer[g->layers - 1].bias[w] += odds[w];
    }
    free(prototypes);
    free(odds);
    free(exact);
    return err;
}

static int add_layers(struct mete_model *m, struct graph *g)
{
    struct net net;
    struct tensors all = {0};
    struct layers layers;
    int err = model_net(m, &kernels_ref, &net);
    if (!err)
        err = model_weights(m, m->adapted && !model_compares(m), &all);
    if (!err)
        err = find_tensors(&net, &all, &layers);
    for (int i = 0; i < net.layers && !err; i++)
        (net.layer[i].kind == LAYER_CONV ? add_conv : add_dense)(g, &net.layer[i], layers.at[i]);
    if (!err && model_compares(m))
        err = add_prototypes(m, g);
    tensors_release(&all);
    return err;
}

/* A learner sees ((raw - mean) / deviation) * scale + shift. */
static int scale_input(const struct mete_model *m, struct graph *g)
{
    const struct dataset *t = &m->takes;
    const struct columns *c = &m->columns;
    size_t n = (size_t)t->h * (size_t)t->w * (size_t)t->c;
    double scale = (double)t->scale, shift = (double)t->shift;
    if (scale == 0)
        return fail(METE_EFORMAT, "%s: its input has the scale 0", m->name);
    double *centre = mem_array(2 * n, sizeof *centre), *factor = centre + n;
    for (size_t i = 0; i < n; i++) {
        double deviation = c->n ? c->deviation[i] : 1;
        centre[i] = (c->n ? c->mean[i] : 0) - shift / scale * deviation;
        factor[i] = scale / deviation;
    }
    graph_scale_input(g, centre, factor, c->n ? c->fill : NULL);
    free(centre);
    return 0;
}

/* ---- names ---- */

static void name_classes(const struct mete_model *m, struct graph *g)
{
    g->class_names = mem_array((size_t)g->ways, sizeof *g->class_names);
    for (int k = 0; k < g->ways; k++) {
        const char *name = mete_model_class(m, k);
        g->class_names[k] = name ? mem_string(name) : mem_print("%d", k);
    }
}

/* "pulse", and of a column of words "colour=red". */
static void name_features(const struct mete_model *m, struct graph *g)
{
    const struct columns *c = &m->columns;
    if (!c->n)
        return;
    g->feature_names = mem_array((size_t)c->features, sizeof *g->feature_names);
    for (int i = 0; i < c->n; i++) {
        const struct column *column = &c->at[i];
        for (int k = 0; k < column_features(column); k++)
            g->feature_names[column->first + k] =
                column->kind == COLUMN_WORDS ? mem_print("%s=%s", column->name, column->words.at[k])
                                             : mem_string(column->name);
    }
}

static char *describe(const struct mete_model *m)
{
    struct text t = {0};
    const char *bench = mete_model_says(m, "bench");
    text_print(&t, "%s with net %s, trained on %s", m->setup.method.ops->name, m->setup.net->name,
               bench ? bench : "?");
    if (m->adapted)
        text_print(&t, ", adapted to %d label%s", m->labelled, m->labelled == 1 ? "" : "s");
    return text_take(&t);
}

/* ---- all of it ---- */

/* A prediction must be of one input alone, and of classes that are there. */
static int check(const struct mete_model *m)
{
    const struct method *method = &m->setup.method;
    if (method->ops->open)
        return fail(METE_EINVAL, "%s: a model of method %s has no net to export", m->name,
                    method->ops->name);
    int err = model_check_alone(m, false);
    return err ? err : model_check_classes(m);
}

int model_graph(struct mete_model *m, struct graph *out)
{
    struct graph g = {.h = m->takes.h, .w = m->takes.w, .c = m->takes.c, .ways = m->takes.classes};
    int err = check(m);
    if (err)
        return err;
    g.about = describe(m);
    name_classes(m, &g);
    name_features(m, &g);
    err = add_layers(m, &g);
    if (!err)
        err = scale_input(m, &g);
    if (!err)
        err = graph_check(&g, m->name);
    if (err)
        graph_release(&g);
    else
        *out = g;
    return err;
}
