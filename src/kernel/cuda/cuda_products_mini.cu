/* cuda_products_mini.cu - dX and dW for the shapes of Conv4 on 84 x 84 pictures. */
#include "cuda_products.cuh"

/* A kernel made for the shape and its plan, or NULL. */
const void *cuda_products_mini(const struct conv_args *a, bool tangent)
{
#define KNOWN(shape, dx)                                                                           \
    if (fixed<fix_products<shape, dx>>(a))                                                         \
        return tangent ? (const void *)product_kernel<false, 2, true, fix_products<shape, dx>>     \
                       : (const void *)product_kernel<false, 2, false, fix_products<shape, dx>>;
    KNOWN(4, 0)
    KNOWN(5, 16)
    KNOWN(6, 16)
    KNOWN(7, 16)
    KNOWN(7, 32)
#undef KNOWN
    return NULL;
}
