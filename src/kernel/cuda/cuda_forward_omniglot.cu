/* cuda_forward_omniglot.cu - the forward pass for the shapes of Conv4 on 28 x 28 pictures. */
#include "cuda_forward.cuh"

/* A kernel made for the shape and its plan, or NULL. */
const void *cuda_forward_omniglot(const struct conv_args *a, bool tangent)
{
#define KNOWN(shape, chunk, nt)                                                                    \
    if (fixed<fix_forward<shape, chunk, nt>>(a))                                                   \
        return tangent ? (const void *)                                                            \
                             forward_kernel<false, nt, 1, true, fix_forward<shape, chunk, nt>>     \
                       : (const void *)                                                            \
                             forward_kernel<false, nt, 1, false, fix_forward<shape, chunk, nt>>;
    KNOWN(0, 4, 4)
    KNOWN(1, 8, 4)
    KNOWN(1, 16, 4)
    KNOWN(2, 8, 4)
    KNOWN(2, 16, 4)
    KNOWN(2, 32, 2)
    KNOWN(3, 16, 2)
    KNOWN(3, 32, 2)
#undef KNOWN
    return NULL;
}
