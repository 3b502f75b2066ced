/* cuda_products_omniglot.cu - dX and dW for the shapes of Conv4 on 28 x 28 pictures. */
#include "cuda_products.cuh"

/* A kernel made for the shapes and the plan, or NULL; before: NULL, or the layer before. */
const void *cuda_products_omniglot(const struct conv_args *a, const struct conv_args *before,
                                   bool tangent)
{
    PRODUCTS_KNOWN(1, 16)
    PRODUCTS_KNOWN(2, 16)
    PRODUCTS_KNOWN(2, 32)
    PRODUCTS_KNOWN(3, 16)
    PRODUCTS_KNOWN(3, 32)
    return NULL;
}
