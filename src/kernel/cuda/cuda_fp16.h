/* cuda_fp16.h - outputs that are kept as fp16 until floats are needed.
 *
 * Products in TF32 read eleven significant bits of a factor, and fp16 has as many.  The output of
 * Omniglot's first layer, the largest of all activations, is written once and read twice by the
 * second layer.  Of many tasks it is written as fp16, in the place of the layer's z, which is not
 * needed, and noted in the device.  The second layer's kernels (cuda_second.cuh) read fp16; any
 * other reader of such an output calls cuda_plain() first.
 *
 * A recording begins with its own forward pass, so a note also holds when it is replayed.
 */
#ifndef CUDA_FP16_H
#define CUDA_FP16_H

#include "cuda_conv.h"

struct fp16_output {
    float *out; /* where floats would be */
    const uint16_t *at;
    size_t fours;
};

/* One for each output since its memory was taken; not all are still in use. */
struct noted_fp16 {
    struct fp16_output *note;
    int notes;
};

#ifdef __cplusplus
extern "C" {
#endif
/* Whether a first layer's forward pass of many tasks may write fp16; if so, notes that it will.
 */
bool cuda_fp16_begin(struct device *d, const struct conv_args *a);
/* The fp16 values of output x, or NULL. */
const uint16_t *cuda_fp16_of(const struct device *d, const float *x);
/* Converts the output at `out` to float, if that has not been done. */
void cuda_plain(struct device *d, const float *out);
/* Forgets what was noted of outputs from `from` on: memory that is about to be written, by a
 * forward pass or a gathering, or released. */
void cuda_fp16_forget(struct device *d, const void *from, size_t bytes);
void cuda_fp16_close(struct device *d);
void cuda_fp16_to_float(struct device *d, const struct fp16_output *h); /* cuda_fp16_to_float.cu */

/* The second layer's kernels: whether this build has them for the GPU, for tasks of this many
 * images; and launches, which return false where x is not kept as fp16. */
bool cuda_second_takes(int images);
bool cuda_second_forward(struct device *d, struct conv_args *a);
bool cuda_second_products(struct device *d, const struct conv_args *a);
#ifdef __cplusplus
}
#endif
#endif
