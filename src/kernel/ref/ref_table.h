/* ref_table.h - the whole kernel set in plain loops, for REAL = float or double.
 *
 * Activations are (task, image, channel, y, x), tensors are in PyTorch's order,
 * every sum is a double.  Nothing here is tuned; it is meant to be read.
 */
#include "kernel/kernel.h"
#include "base/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref_memory.h"
#include "ref_conv.h"
#include "ref_norm.h"
#include "ref_layers.h"
#include "ref_loss.h"
#include "ref_vector.h"

const struct kernels REF_TABLE = {
    .name = REF_NAME,
    .summary = REF_SUMMARY,
    .elem = sizeof(REAL),
    .usable = ref_usable,
    .open = ref_open,
    .close = ref_close,
    .alloc = ref_alloc,
    .release = ref_release,
    .upload = ref_upload,
    .download = ref_download,
    .sync = ref_sync,
    .images_open = ref_images_open,
    .images_close = ref_images_close,
    .layout = ref_layout,
    .pack = ref_pack,
    .unpack = ref_unpack,
    .input_bytes = ref_input_bytes,
    .cache_bytes = ref_cache_bytes,
    .tangent_bytes = ref_tangent_bytes,
    .scratch_bytes = ref_scratch_bytes,
    .out = ref_out,
    .dout = ref_dout,
    .gather = ref_gather,
    .rows = ref_rows,
    .collect = ref_collect,
    .forward = ref_forward,
    .backward = ref_backward,
    .forward_tangent = ref_forward_tangent,
    .backward_tangent = ref_backward_tangent,
    .xent = ref_xent,
    .xent_tangent = ref_xent_tangent,
    .host = true,
    .proto = ref_proto,
    .proto_bytes = ref_proto_bytes,
    .kmeans = host_kmeans,
    .entropy = host_entropy,
    .zero = ref_zero,
    .axpy = ref_axpy,
    .reduce = ref_reduce,
    .dot = ref_dot,
    .sgd = ref_sgd,
    .adam = ref_adam,
};
