/* cuda_last.h - the last conv block of many tasks, the head after it, its loss, and backward
 * to the block before: six operations in one launch (cuda_last.cu).
 *
 * The block's forward pass is noted (deferred, in the device) where such a launch may follow.  A
 * head that reads its output is noted as well (cuda_head.h), then the block's backward pass; batch
 * norm of the block before launches everything.  Any other operation launches what is noted, one
 * by one.
 */
#ifndef CUDA_LAST_H
#define CUDA_LAST_H

#include "cuda_conv.h"

struct last {
    enum { LAST_NONE, LAST_FORWARD, LAST_BACKWARD } noted;
    struct conv_args forward, backward;
};

#ifdef __cplusplus
extern "C" {
#endif
/* Notes it, or says no. */
bool cuda_last_forward(struct device *d, const struct conv_args *a);
bool cuda_last_backward(struct device *d, const struct conv_args *a);
/* Whether x is the output of what is noted. */
bool cuda_last_makes(const struct device *d, const float *x);
/* Launches everything with batch norm backward of the block before, or says no. */
bool cuda_last_norm(struct device *d, const struct conv_args *before);

/* The same operations in launches of their own (cuda_conv_forward.cu, cuda_conv_backward.cu). */
void cuda_forward_launch(struct device *d, struct conv_args *a);
void cuda_backward_launch(struct device *d, struct conv_args *a);
#ifdef __cplusplus
}
#endif
#endif
