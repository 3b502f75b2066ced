/* cuda_map.c - tensor maps.  The function that makes them is the driver's, which is not linked:
 * CUDA's run-time library finds it. */
#include "cuda_map.h"

typedef CUresult encode_fn(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *,
                           const cuuint64_t *, const cuuint64_t *, const cuuint32_t *,
                           const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle,
                           CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

/* NULL, and a failure kept, where the driver has none. */
static encode_fn *encode_of(struct device *d)
{
    enum { SINCE = 12000 }; /* CUDA 12.0 */
    enum cudaDriverEntryPointQueryResult how;
    encode_fn *encode;
    if (!d->encode)
        cuda_check(d,
                   cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &d->encode, SINCE,
                                                    cudaEnableDefault, &how),
                   "tensor map");
    if (!d->encode)
        cuda_check(d, cudaErrorNotSupported, "tensor map");
    memcpy(&encode, &d->encode, sizeof encode); /* C has no conversion from void * to functions */
    return encode;
}

void cuda_map(struct device *d, const struct box *b, CUtensorMap *to)
{
    encode_fn *encode = encode_of(d);
    cuuint64_t size[4], apart[4];
    cuuint32_t box[4], step[4];
    if (!encode)
        return;
    for (int i = 0; i < b->axes; i++) {
        size[i] = b->size[i];
        apart[i] = b->apart[i] * (b->fp16 ? sizeof(uint16_t) : sizeof(float));
        step[i] = (cuuint32_t)b->step[i];
        box[i] = (cuuint32_t)((b->copied[i] - 1) * b->step[i] + 1); /* what is passed over */
    }
    if (encode(to, b->fp16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
               (cuuint32_t)b->axes, (void *)b->at, size, apart + 1, box, step,
               CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
               CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS)
        cuda_check(d, cudaErrorInvalidValue, "tensor map");
}
