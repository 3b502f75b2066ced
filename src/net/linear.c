/* linear.c - no hidden layer: with a head softmax regression, for ProtoNets a linear map. */
#include "net/net.h"

struct linear {
    int units;
};

static const struct param params[] = {
    PARAM_INT_ROW(struct linear, units, "units", 64, 1, 4096,
                  "of the map where the method has no head (ProtoNets)"),
    {0},
};

static int linear_build(struct net *net, const void *settings, int h, int w, int c)
{
    const struct linear *s = settings;
    return net->ways > 0 ? 0 : net_add_dense(net, s->units, false, h, w, c);
}

const struct net_ops net_linear = {
    .name = "linear",
    .summary = "no hidden layer: softmax regression, or a linear map for ProtoNets",
    .state_size = sizeof(struct linear),
    .params = params,
    .build = linear_build,
};
