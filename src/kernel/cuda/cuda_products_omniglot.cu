/* cuda_products_omniglot.cu - dX and dW for the shapes of Conv4 on 28 x 28 pictures. */
#include "cuda_products.cuh"

/* A kernel made for the shape and its plan, or NULL. */
const void *cuda_products_omniglot(const struct conv_args *a, bool tangent)
{
#define KNOWN(shape, dx)                                                                           \
    if (fixed<fix_products<shape, dx>>(a))                                                         \
        return tangent ? (const void *)product_kernel<false, 2, true, fix_products<shape, dx>>     \
                       : (const void *)product_kernel<false, 2, false, fix_products<shape, dx>>;
    KNOWN(0, 0)
    KNOWN(1, 16)
    KNOWN(2, 16)
    KNOWN(3, 16)
#undef KNOWN
    return NULL;
}
