/* net.c - building nets, naming their tensors, starting their weights. */
#include "net/net.h"
#include "base/error.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int add(struct net *net, struct layer layer)
{
    if (net->layers == LAYERS_MAX)
        return fail(METE_EINVAL, "%s: at most %d layers", net->ops->name, LAYERS_MAX);
    net->layer[net->layers++] = layer;
    return 0;
}

int net_add_conv(struct net *net, int filters, int stride, bool pool, double eps, int h, int w,
                 int c)
{
    int conv_h = (h + stride - 1) / stride, conv_w = (w + stride - 1) / stride;
    return add(net, (struct layer){.kind = LAYER_CONV,
                                   .in_h = h,
                                   .in_w = w,
                                   .in_c = c,
                                   .conv_h = conv_h,
                                   .conv_w = conv_w,
                                   .out_h = pool ? (conv_h + 1) / 2 : conv_h,
                                   .out_w = pool ? (conv_w + 1) / 2 : conv_w,
                                   .out_c = filters,
                                   .stride = stride,
                                   .pool = pool,
                                   .relu = true,
                                   .eps = eps});
}

int net_add_dense(struct net *net, int units, bool relu, int h, int w, int c)
{
    return add(net, (struct layer){.kind = LAYER_DENSE,
                                   .in_h = h,
                                   .in_w = w,
                                   .in_c = c,
                                   .out_h = 1,
                                   .out_w = 1,
                                   .out_c = units,
                                   .relu = relu});
}

int net_build(struct net *net, const struct net_ops *ops, const void *settings,
              const struct kernels *k, int h, int w, int c, int ways)
{
    *net = (struct net){
        .ops = ops, .k = k, .ways = ways, .bn = ops->bn ? ops->bn(settings) : BN_BATCH};
    int err = ops->build(net, settings, h, w, c);
    if (!err && ways > 0) {
        const struct layer *last = net->layers ? &net->layer[net->layers - 1] : NULL;
        err = last ? net_add_dense(net, ways, false, last->out_h, last->out_w, last->out_c)
                   : net_add_dense(net, ways, false, h, w, c);
    }
    if (!err)
        net->len = k->layout(net->layer, net->layers, &net->trained);
    return err;
}

int net_add_prior(struct net *net, int ways, enum prior kind, double count)
{
    const struct layer *last = &net->layer[net->layers - 1];
    int err = net_add_dense(net, ways, false, last->out_h, last->out_w, last->out_c);
    if (err)
        return err;
    net->layer[net->layers - 1].odds = true;
    net->len = net->k->layout(net->layer, net->layers, &net->trained);
    net->layers--; /* no pass runs it */
    net->prior = ways;
    net->prior_count = count;
    const size_t *at = net->layer[net->layers].offset;
    if (kind == PRIOR_MEAN) {
        net->means[0] = at[TENSOR_WEIGHT];
        net->means[1] = at[TENSOR_BIAS];
    }
    return 0;
}

size_t net_body(const struct net *net)
{
    return net->prior ? net->layer[net->layers].offset[TENSOR_WEIGHT] : net->trained;
}

const struct layer *net_feature_layer(const struct net *net, int *index)
{
    int i = net->layers - 1 - (net->ways > 0 && net->layers > 1);
    if (index)
        *index = i;
    return &net->layer[i];
}

int net_features(const struct net *net)
{
    const struct layer *l = net_feature_layer(net, NULL);
    return l->out_h * l->out_w * l->out_c;
}

static void name_tensor(const struct net *net, struct net_tensor *t)
{
    static const char *const names[TENSORS] = {"weight", "bias",         "weight",
                                               "bias",   "running_mean", "running_var"};
    const char *part = names[t->which];
    if (t->layer == net->layers)
        snprintf(t->name, sizeof t->name, "prior.%s",
                 t->which == TENSOR_WEIGHT ? "mean"
                 : t->which == TENSOR_BIAS ? "log_count"
                                           : "log_odds");
    else if (net->ways > 0 && t->layer == net->layers - 1)
        snprintf(t->name, sizeof t->name, "head.%s", part);
    else if (net->layer[t->layer].kind == LAYER_DENSE)
        snprintf(t->name, sizeof t->name, "fc%d.%s", t->layer, part);
    else
        snprintf(t->name, sizeof t->name, "%s%d.%s", t->which < TENSOR_GAMMA ? "conv" : "bn",
                 t->layer, part);
}

static void shape_tensor(const struct layer *l, struct net_tensor *t)
{
    t->dims = 1;
    t->shape[0] = l->out_c;
    if (t->which == TENSOR_WEIGHT && l->kind == LAYER_CONV) {
        t->dims = 4;
        t->shape[1] = l->in_c;
        t->shape[2] = t->shape[3] = 3;
    } else if (t->which == TENSOR_WEIGHT) {
        t->dims = 2;
        t->shape[1] = l->in_c * l->in_h * l->in_w;
    }
    t->len = 1;
    for (int i = 0; i < t->dims; i++)
        t->len *= (size_t)t->shape[i];
}

int net_tensors(const struct net *net, struct net_tensor out[NET_TENSORS_MAX])
{
    int n = 0;
    for (int i = 0; i < net->layers + (net->prior > 0); i++)
        for (int w = 0; w < TENSORS; w++) {
            if (net->layer[i].kind == LAYER_DENSE && w > TENSOR_BIAS &&
                !(net->layer[i].odds && w == TENSOR_BETA))
                continue;
            out[n] = (struct net_tensor){.layer = i, .which = (enum tensor)w};
            name_tensor(net, &out[n]);
            shape_tensor(&net->layer[i], &out[n]);
            n++;
        }
    return n;
}

bool net_tensor_trained(const struct net_tensor *t)
{
    return t->which < TENSOR_MEAN;
}

/* Glorot & Bengio 2010: uniform in +-sqrt(6 / (fan_in + fan_out)). */
static void glorot(const struct layer *l, struct rng *r, float *to, size_t n)
{
    double field = l->kind == LAYER_CONV ? 9 : (double)l->in_h * l->in_w;
    double fan_out = l->kind == LAYER_CONV ? 9.0 * l->out_c : l->out_c;
    double limit = sqrt(6 / (field * l->in_c + fan_out));
    for (size_t i = 0; i < n; i++)
        to[i] = (float)((2 * rng_uniform(r) - 1) * limit);
}

void net_init(const struct net *net, struct device *d, uint64_t seed, void *theta)
{
    struct net_tensor tensors[NET_TENSORS_MAX];
    int n = net_tensors(net, tensors);
    net->k->zero(d, theta, net->len * net->k->elem);
    for (int i = 0; i < n; i++) {
        const struct net_tensor *t = &tensors[i];
        float *host = mem_array(t->len, sizeof *host);
        struct rng r = rng_make(seed, RNG_INIT, (uint64_t)t->layer, (uint32_t)t->which);
        if (t->which == TENSOR_WEIGHT && t->layer < net->layers)
            glorot(&net->layer[t->layer], &r, host, t->len);
        bool counts = t->which == TENSOR_BIAS && t->layer == net->layers;
        for (size_t j = 0; counts && j < t->len; j++)
            host[j] = (float)log(net->prior_count);
        bool one = t->which == TENSOR_GAMMA || t->which == TENSOR_VAR;
        for (size_t j = 0; one && j < t->len; j++)
            host[j] = 1;
        net->k->pack(d, &net->layer[t->layer], t->which, host, theta);
        free(host);
    }
}

/* Taps of a window of 3 that fall inside the image, over all its positions. */
static double taps_inside(int in, int out, int stride)
{
    double taps = 0;
    for (int o = 0; o < out; o++)
        for (int k = -1; k <= 1; k++)
            taps += o * stride + k >= 0 && o * stride + k < in;
    return taps;
}

static double layer_flops(const struct layer *l)
{
    double places = (double)l->in_h * l->in_w;
    if (l->kind == LAYER_CONV)
        places =
            taps_inside(l->in_h, l->conv_h, l->stride) * taps_inside(l->in_w, l->conv_w, l->stride);
    return 2 * places * l->in_c * l->out_c;
}

/* Backward is two products of the forward's size (one for the first layer, whose
 * input needs no gradient); a tangent doubles all but the first layer's. */
double net_flops(const struct net *net, enum flops what)
{
    static const int first[] = {1, 2, 2}, others[] = {1, 3, 6};
    double sum = 0;
    for (int i = 0; i < net->layers; i++)
        sum += (i == 0 ? first : others)[what] * layer_flops(&net->layer[i]);
    return sum;
}
