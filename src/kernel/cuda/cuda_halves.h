/* cuda_halves.h - outputs that are kept as halves (fp16) until somebody wants floats.
 *
 * Products in TF32 read eleven bits of a factor, which is what a half has.  The output of
 * Omniglot's first layer, the largest of all activations, is written once and read twice by the
 * second; of many tasks it is written as halves to where the layer's z would be, which nobody asks
 * for, and noted in the device.  The second layer's kernels (cuda_second.cuh) read those; whoever
 * else reads such an output calls cuda_plain() first.
 *
 * A recording begins with a forward pass of its own, so a note is of what is replayed, too.
 */
#ifndef CUDA_HALVES_H
#define CUDA_HALVES_H

#include "cuda_conv.h"

struct halves {
    float *out; /* where floats would be */
    const uint16_t *at;
    size_t fours;
};

/* As many as there have been outputs since their memory was taken: not all are of use any more. */
struct noted_halves {
    struct halves *note;
    int notes;
};

#ifdef __cplusplus
extern "C" {
#endif
/* Whether a first layer's forward pass of many tasks may write halves; if so, notes that it will.
 */
bool cuda_halves_begin(struct device *d, const struct conv_args *a);
/* Those that stand for x, or NULL. */
const uint16_t *cuda_halves_of(const struct device *d, const float *x);
/* Has floats at `out`, if they are yet to be made. */
void cuda_plain(struct device *d, const float *out);
/* Forgets what was noted of outputs from `from` on: memory that is about to be written, by a
 * forward pass or a gathering, or released. */
void cuda_halves_forget(struct device *d, const void *from, size_t bytes);
void cuda_halves_close(struct device *d);
void cuda_make_plain(struct device *d, const struct halves *h); /* cuda_plain.cu */

/* The second layer's kernels: whether this build has them for the GPU, for tasks of so many images;
 * and launches, which say no where x is no halves. */
bool cuda_second_takes(int images);
bool cuda_second_forward(struct device *d, struct conv_args *a);
bool cuda_second_products(struct device *d, const struct conv_args *a);
#ifdef __cplusplus
}
#endif
#endif
