/* cuda_proto.h - the prototypical loss, and batch norm backward of the layer its features
 * come from.
 *
 * Like a head (cuda_head.h) the loss is only noted (in the device): batch norm follows where
 * gradients are wanted, and both are one launch then.
 */
#ifndef CUDA_PROTO_H
#define CUDA_PROTO_H

#include "cuda_conv.h"

struct proto_args {
    int ways, len;   /* len: features of an image, with padding */
    int words;       /* of 32 support images each */
    bool early;      /* the kernel before has not written labels */
    bool leaves_out; /* classes without support, of the softmax */
    struct features support, query;
    float *logits, *probs, *loss;
    float *scratch; /* prototypes and their gradients (tasks, 2, ways, len) */
    /* with batch norm: of support and query as one batch, or as one each */
    bool stacked;
    struct conv_args conv;
};

#ifdef __cplusplus
extern "C" {
#endif
/* Launches everything, or says no: the loss with batch norm backward of its features' layer. */
bool cuda_proto_norm(struct device *d, const struct conv_args *a);
#ifdef __cplusplus
}
#endif
#endif
