/* cuda_products_mini.cu - dX and dW for the shapes of Conv4 on 84 x 84 pictures. */
#include "cuda_products.cuh"

/* A kernel made for the shapes and the plan, or NULL; before: NULL, or the layer before. */
const void *cuda_products_mini(const struct conv_args *a, const struct conv_args *before,
                               bool tangent)
{
    PRODUCTS_KNOWN(5, 16)
    PRODUCTS_KNOWN(6, 16)
    PRODUCTS_KNOWN(7, 16)
    PRODUCTS_KNOWN(7, 32)
    return NULL;
}
