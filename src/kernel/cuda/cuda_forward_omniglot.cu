/* cuda_forward_omniglot.cu - the forward pass for the shapes of Conv4 on 28 x 28 pictures. */
#include "cuda_forward.cuh"

/* A kernel made for the shape and its plan, or NULL. */
const void *cuda_forward_omniglot(const struct conv_args *a, bool tangent)
{
    FORWARD_KNOWN(0, 4, 4)
    FORWARD_KNOWN(1, 16, 4)
    FORWARD_KNOWN(2, 16, 4)
    FORWARD_KNOWN(2, 32, 2)
    FORWARD_KNOWN(2, 32, 4)
    FORWARD_KNOWN(3, 16, 2)
    FORWARD_KNOWN(3, 32, 2)
    FORWARD_KNOWN(3, 16, 4)
    FORWARD_KNOWN(3, 32, 4)
    return NULL;
}
