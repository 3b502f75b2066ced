/* cuda_forward_mini.cu - the forward pass for the shapes of Conv4 on 84 x 84 pictures. */
#include "cuda_forward.cuh"

/* A kernel made for the shape and its plan, or NULL. */
const void *cuda_forward_mini(const struct conv_args *a, bool tangent)
{
#define KNOWN(shape, chunk, nt)                                                                    \
    if (fixed<fix_forward<shape, chunk, nt>>(a))                                                   \
        return tangent ? (const void *)                                                            \
                             forward_kernel<false, nt, 1, true, fix_forward<shape, chunk, nt>>     \
                       : (const void *)                                                            \
                             forward_kernel<false, nt, 1, false, fix_forward<shape, chunk, nt>>;
    KNOWN(4, 4, 2)
    KNOWN(5, 8, 2)
    KNOWN(5, 16, 2)
    KNOWN(6, 8, 2)
    KNOWN(6, 16, 2)
    KNOWN(7, 8, 2)
    KNOWN(7, 16, 2)
    KNOWN(7, 32, 2)
#undef KNOWN
    return NULL;
}
