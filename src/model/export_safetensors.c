/* export_safetensors.c - the model's own file, which PyTorch and everything that reads safetensors
 * open, and mete again. */
#include "model/export.h"

const struct export_format export_safetensors = {
    .name = "safetensors",
    .suffix = ".safetensors",
    .summary = "the model's own file: its weights by PyTorch's names, and all else that mete needs",
    .write = NULL, /* it is not the graph that is kept */
};
