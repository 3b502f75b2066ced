/* cuda_forward_mini.cu - the forward pass for the shapes of Conv4 on 84 x 84 pictures. */
#include "cuda_forward.cuh"

/* A kernel made for the shape and its plan, or NULL. */
const void *cuda_forward_mini(const struct conv_args *a, bool tangent)
{
    FORWARD_KNOWN(4, 4, 2)
    FORWARD_KNOWN(5, 16, 2)
    FORWARD_KNOWN(6, 16, 2)
    FORWARD_KNOWN(7, 16, 2)
    FORWARD_KNOWN(7, 32, 2)
    return NULL;
}
