/* mlp.c - dense layers with ReLU, for feature rows. */
#include "net/net.h"

struct mlp {
    int hidden, units;
};

static const struct param params[] = {
    PARAM_INT_ROW(struct mlp, hidden, "hidden", 2, 1, LAYERS_MAX - 1, "hidden layers"),
    PARAM_INT_ROW(struct mlp, units, "units", 64, 1, 4096, "units of each hidden layer"),
    {0},
};

static int mlp_build(struct net *net, const void *settings, int h, int w, int c)
{
    const struct mlp *s = settings;
    for (int i = 0; i < s->hidden; i++) {
        int err = net_add_dense(net, s->units, true, h, w, c);
        if (err)
            return err;
        h = w = 1;
        c = s->units;
    }
    return 0;
}

const struct net_ops net_mlp = {
    .name = "mlp",
    .summary = "dense layers with ReLU, for feature rows",
    .state_size = sizeof(struct mlp),
    .params = params,
    .build = mlp_build,
};
