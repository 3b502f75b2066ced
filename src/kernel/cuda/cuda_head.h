/* cuda_head.h - dense layers and the cross-entropy of the last one.
 *
 * A dense layer without ReLU is the head of a net, and the loss comes next, then its
 * backward pass, then batch norm of the layer before: four operations, each too small for
 * a launch of its own.  So the first is noted (deferred: struct head, in the device), the
 * others are noted with it, and the last launches all four.  Any other operation launches
 * what is noted.
 */
#ifndef CUDA_HEAD_H
#define CUDA_HEAD_H

#include "cuda_set.h"

struct dense_args {
    int n, in, out, out_c; /* out_c: with padding */
    bool relu;
    const int32_t *count;
    const float *x, *rx;
    struct vec theta, v;
    struct sink sink;
    size_t weight, bias; /* offsets */
    struct cache cache, tangent;
    float *dx;
};

struct xent_args {
    int n, ways, padded;
    const int32_t *count, *labels;
    bool mean;
    const float *out;
    float *dout, *probs, *loss;
};

struct head_args {
    struct dense_args dense;
    struct xent_args xent;
    bool backward;
};

/* What is noted: nothing, the dense layer, the loss too, or also the way back. */
struct head {
    enum { HEAD_NONE, HEAD_FORWARD, HEAD_LOSS, HEAD_BACKWARD } noted;
    bool tangent;
    int tasks;
    struct head_args args;
};

#ifdef __cplusplus
extern "C" {
#endif
/* Notes it, or says no. */
bool cuda_head_forward(struct device *d, const struct dense_args *a, int tasks, bool tangent);
bool cuda_head_loss(struct device *d, const struct xent_args *a, bool tangent);
bool cuda_head_backward(struct device *d, const struct dense_args *a, bool tangent);
/* Launches everything, or says no: with batch norm backward of the layer before. */
bool cuda_head_norm(struct device *d, const struct conv_args *a);
bool cuda_fused_head(struct device *d, const struct head_args *head, int tasks,
                     const struct conv_args *conv);
void cuda_dense_launch(struct device *d, const struct dense_args *a, int tasks, bool tangent);
#ifdef __cplusplus
}
#endif
#endif
