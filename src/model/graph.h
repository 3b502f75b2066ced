/* graph.h - an adapted model as plain arithmetic: what other programs run.
 *
 * A chain from raw values (pixels as an image has them, features before they are standardised) to
 * probabilities.  Batch norm is frozen and folded into the convolutions, scaling into the first
 * layer's weights, so that what is left is: a fill for what is missing, minus a centre, then
 * convolutions, dense layers and the softmax.
 */
#ifndef MODEL_GRAPH_H
#define MODEL_GRAPH_H

#include "kernel/kernel.h"

struct graph_layer {
    enum graph_kind {
        GRAPH_CONV, /* 3x3, padding 1, + bias; ReLU; then 2x2 max-pooling (ceil) if `pool` */
        GRAPH_DENSE /* x W^T + bias, then ReLU if `relu` */
    } kind;
    int in_h, in_w, in_c, out_h, out_w, out_c;
    int stride; /* conv */
    bool pool, relu;
    float *weight; /* conv (out_c, in_c, 3, 3); else (out_c, in_c * in_h * in_w) in c,h,w order */
    float *bias;   /* (out_c) */
};

struct graph {   /* zeroed is empty */
    char *about; /* one line: what it is */
    int h, w, c; /* of the input; feature rows are 1, 1, d */
    int ways;
    float *fill;   /* (h w c) in the place of NaN; NULL: nothing may be missing */
    float *centre; /* (h w c) is subtracted; NULL: zeros */
    struct graph_layer layer[LAYERS_MAX + 1];
    int layers;
    bool *absent;       /* (ways) classes that nobody gave an example of: probability 0; or NULL */
    char **class_names; /* (ways) */
    char **feature_names; /* (h w c), or NULL */
};

/* A layer after the last one, for what that puts out, or for the input; weights and bias zero. */
struct graph_layer *graph_add_conv(struct graph *g, int filters, int stride, bool pool);
struct graph_layer *graph_add_dense(struct graph *g, int units, bool relu);
/* Minus the squared distances to prototypes (ways, what the last layer puts out, in c,h,w order),
 * but for what all classes share, which the softmax does not see: a dense layer. */
void graph_add_distances(struct graph *g, const double *prototypes);
size_t graph_weights(const struct graph_layer *l); /* elements of `weight` */

/* Has the graph take raw values, of which the first layer takes (raw - centre) * factor; one of
 * each per value of the input, in its order.  `fill` (raw) may be NULL. */
void graph_scale_input(struct graph *g, const double *centre, const double *factor,
                       const double *fill);
/* METE_EFORMAT where a weight is not finite: no format has it. */
int graph_check(const struct graph *g, const char *name);
void graph_release(struct graph *g);

#endif
