/* conv4.c - four blocks of 3x3 convolution, batch norm and ReLU: the backbone of
 * the few-shot papers (Vinyals et al. 2016; the paper's appendix C).
 *
 * The paper halves the image by stride 2; others by a 2x2 max-pool after a stride
 * of 1.  On 28x28 both end at 2x2, on 84x84 at 6x6.
 */
#include "net/net.h"
#include "base/error.h"

enum { BLOCKS = 4, SMALLEST = 16, LARGEST = 1024, SMALL_IMAGE = 32 };

struct conv4 {
    int filters, downsample, bn;
    double eps;
};

static const struct param params[] = {
    PARAM_INT_ROW(struct conv4, filters, "filters", 0, 0, 256,
                  "filters of each block; 0: 64, or 32 for images larger than 32x32 (the paper's)"),
    PARAM_CHOICE_ROW(struct conv4, downsample, "downsample", "stride|pool", 0,
                     "halve the image by stride 2, or by 2x2 max-pooling"),
    PARAM_CHOICE_ROW(struct conv4, bn, "bn", "batch|support|running", 0,
                     "batch-norm statistics: each pass's own, the support's, or running averages"),
    PARAM_REAL_ROW(struct conv4, eps, "bn_eps", 1e-5, 1e-12, 1, "added to the variance"),
    {0},
};

static int conv4_build(struct net *net, const void *settings, int h, int w, int c)
{
    const struct conv4 *s = settings;
    if (h < SMALLEST || w < SMALLEST || h > LARGEST || w > LARGEST || c < 1)
        return fail(METE_EINVAL, "conv4 needs images of %dx%d to %dx%d, got %dx%dx%d%s", SMALLEST,
                    SMALLEST, LARGEST, LARGEST, h, w, c,
                    h == 1 && w == 1 ? "; for feature rows use net=mlp" : "");
    int filters = s->filters ? s->filters : h > SMALL_IMAGE || w > SMALL_IMAGE ? 32 : 64;
    bool pool = s->downsample == 1;
    for (int i = 0; i < BLOCKS; i++) {
        int err = net_add_conv(net, filters, pool ? 1 : 2, pool, s->eps, h, w, c);
        if (err)
            return err;
        h = net->layer[i].out_h;
        w = net->layer[i].out_w;
        c = filters;
    }
    return 0;
}

static enum bn_mode conv4_bn(const void *settings)
{
    return (enum bn_mode)((const struct conv4 *)settings)->bn;
}

const struct net_ops net_conv4 = {
    .name = "conv4",
    .summary = "four 3x3 convolution blocks with batch norm (the paper's backbone)",
    .state_size = sizeof(struct conv4),
    .params = params,
    .build = conv4_build,
    .bn = conv4_bn,
};
