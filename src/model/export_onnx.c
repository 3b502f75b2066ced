/* export_onnx.c - a graph as an ONNX file (github.com/onnx/onnx, onnx.proto).
 *
 * The input is one item of raw values, float32 (1, c, h, w) or (1, d); the output `probs` (1,
 * ways). A batch of 1 is written, since OpenCV's dnn (4.6) takes no open dimension.  The operators
 * are those that every runtime has: Add, Conv, Relu, MaxPool, Flatten, Gemm, Softmax.
 *
 * Missing values are not filled in here (few runtimes have the operators, and OpenCV lacks them):
 * the metadata `fill` says what stands for each.
 */
#include "model/export.h"
#include "model/protobuf.h"
#include "base/file.h"
#include "base/jsonw.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Field numbers and codes of onnx.proto. */
enum { IR_VERSION = 7, OPSET = 13, FLOAT = 1 };
enum { ATTRIBUTE_FLOAT = 1, ATTRIBUTE_INT = 2, ATTRIBUTE_INTS = 7 };
enum model_field {
    MODEL_IR_VERSION = 1,
    MODEL_PRODUCER = 2,
    MODEL_PRODUCER_VERSION = 3,
    MODEL_DOC = 6,
    MODEL_GRAPH = 7,
    MODEL_OPSET = 8,
    MODEL_METADATA = 14
};
enum graph_field {
    GRAPH_NODE = 1,
    GRAPH_NAME = 2,
    GRAPH_INITIALIZER = 5,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12
};
enum node_field { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_OP = 4, NODE_ATTRIBUTE = 5 };
enum attribute_field {
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_I = 3,
    ATTRIBUTE_MANY = 8,
    ATTRIBUTE_TYPE = 20
};
enum tensor_field { TENSOR_DIMS = 1, TENSOR_TYPE = 2, TENSOR_NAME = 8, TENSOR_RAW = 9 };

/* A chain being written: the name of what the last node puts out. */
struct onnx {
    struct protobuf graph;
    char at[32];
    int nodes;
};

static void put_tensor(struct onnx *o, const char *name, int rank, const int64_t *shape,
                       const float *data)
{
    struct protobuf t = {0};
    size_t n = 1;
    for (int i = 0; i < rank; i++) {
        protobuf_int(&t, TENSOR_DIMS, shape[i]);
        n *= (size_t)shape[i];
    }
    protobuf_int(&t, TENSOR_TYPE, FLOAT);
    protobuf_text(&t, TENSOR_NAME, name);
    protobuf_bytes(&t, TENSOR_RAW, data, n * sizeof *data);
    protobuf_message(&o->graph, GRAPH_INITIALIZER, &t);
}

/* `name`: (shape) float32 */
static void put_value(struct onnx *o, int field, const char *name, int rank, const int64_t *shape)
{
    struct protobuf dims = {0}, tensor = {0}, type = {0}, value = {0};
    for (int i = 0; i < rank; i++) {
        struct protobuf dim = {0};
        protobuf_int(&dim, 1, shape[i]);
        protobuf_message(&dims, 1, &dim);
    }
    protobuf_int(&tensor, 1, FLOAT);
    protobuf_message(&tensor, 2, &dims);
    protobuf_message(&type, 1, &tensor);
    protobuf_text(&value, 1, name);
    protobuf_message(&value, 2, &type);
    protobuf_message(&o->graph, field, &value);
}

static void put_ints(struct protobuf *node, const char *name, int n, const int64_t *values)
{
    struct protobuf a = {0};
    protobuf_text(&a, ATTRIBUTE_NAME, name);
    for (int i = 0; i < n; i++)
        protobuf_int(&a, ATTRIBUTE_MANY, values[i]);
    protobuf_int(&a, ATTRIBUTE_TYPE, ATTRIBUTE_INTS);
    protobuf_message(node, NODE_ATTRIBUTE, &a);
}

static void put_int(struct protobuf *node, const char *name, int64_t value)
{
    struct protobuf a = {0};
    protobuf_text(&a, ATTRIBUTE_NAME, name);
    protobuf_int(&a, ATTRIBUTE_I, value);
    protobuf_int(&a, ATTRIBUTE_TYPE, ATTRIBUTE_INT);
    protobuf_message(node, NODE_ATTRIBUTE, &a);
}

/* A node that reads what the last one put out, and constants; takes `attributes` over, which may be
 * NULL.  `output` NULL: a name of its own. */
static void put_node(struct onnx *o, const char *op, const char *constant, const char *second,
                     struct protobuf *attributes, const char *output)
{
    struct protobuf node = {0};
    char name[32];
    snprintf(name, sizeof name, "%s%d", op, o->nodes++);
    protobuf_text(&node, NODE_INPUT, o->at);
    if (constant)
        protobuf_text(&node, NODE_INPUT, constant);
    if (second)
        protobuf_text(&node, NODE_INPUT, second);
    snprintf(o->at, sizeof o->at, "%s", output ? output : name);
    protobuf_text(&node, NODE_OUTPUT, o->at);
    protobuf_text(&node, NODE_NAME, name);
    protobuf_text(&node, NODE_OP, op);
    if (attributes) { /* fields of a message: they follow one another */
        text_add_bytes(&node.bytes, attributes->bytes.at, attributes->bytes.size);
        protobuf_release(attributes);
    }
    protobuf_message(&o->graph, GRAPH_NODE, &node);
}

/* ---- layers ---- */

/* One shift per channel of an image, which has the same for all its places; or per feature. */
static void put_centre(struct onnx *o, const struct graph *g)
{
    bool image = g->h * g->w > 1;
    float *shift = mem_array((size_t)g->c, sizeof *shift);
    for (int i = 0; i < g->c; i++)
        shift[i] = -g->centre[i];
    put_tensor(o, "centre", image ? 4 : 2, (const int64_t[]){1, g->c, 1, 1}, shift);
    put_node(o, "Add", "centre", NULL, NULL, NULL);
    free(shift);
}

static void put_conv(struct onnx *o, const struct graph_layer *l, const char *weight,
                     const char *bias)
{
    struct protobuf conv = {0}, pool = {0};
    put_tensor(o, weight, 4, (const int64_t[]){l->out_c, l->in_c, 3, 3}, l->weight);
    put_tensor(o, bias, 1, (const int64_t[]){l->out_c}, l->bias);
    put_ints(&conv, "kernel_shape", 2, (const int64_t[]){3, 3});
    put_ints(&conv, "strides", 2, (const int64_t[]){l->stride, l->stride});
    put_ints(&conv, "pads", 4, (const int64_t[]){1, 1, 1, 1});
    put_node(o, "Conv", weight, bias, &conv, NULL);
    put_node(o, "Relu", NULL, NULL, NULL, NULL);
    if (!l->pool)
        return;
    int h = (l->in_h + l->stride - 1) / l->stride, w = (l->in_w + l->stride - 1) / l->stride;
    put_ints(&pool, "kernel_shape", 2, (const int64_t[]){2, 2});
    put_ints(&pool, "strides", 2, (const int64_t[]){2, 2});
    put_ints(&pool, "pads", 4, (const int64_t[]){0, 0, h % 2, w % 2}); /* sizes round up */
    put_node(o, "MaxPool", NULL, NULL, &pool, NULL);
}

static void put_gemm(struct onnx *o, const struct graph_layer *l, const bool *absent,
                     const char *weight_name, const char *bias_name)
{
    const float never = -1e30f; /* a logit that no other class's comes near */
    size_t n = (size_t)l->in_h * (size_t)l->in_w * (size_t)l->in_c, rows = (size_t)l->out_c;
    float *weight = mem_array(rows * n, sizeof *weight), *bias = mem_array(rows, sizeof *bias);
    struct protobuf gemm = {0};
    memcpy(weight, l->weight, rows * n * sizeof *weight);
    memcpy(bias, l->bias, rows * sizeof *bias);
    for (size_t r = 0; r < rows; r++)
        if (absent && absent[r]) {
            memset(weight + r * n, 0, n * sizeof *weight);
            bias[r] = never;
        }
    put_tensor(o, weight_name, 2, (const int64_t[]){l->out_c, (int64_t)n}, weight);
    put_tensor(o, bias_name, 1, (const int64_t[]){l->out_c}, bias);
    put_int(&gemm, "transB", 1);
    put_node(o, "Gemm", weight_name, bias_name, &gemm, NULL);
    if (l->relu)
        put_node(o, "Relu", NULL, NULL, NULL, NULL);
    free(weight);
    free(bias);
}

static void put_layers(struct onnx *o, const struct graph *g)
{
    bool flat = g->h * g->w == 1;
    if (g->centre)
        put_centre(o, g);
    for (int i = 0; i < g->layers; i++) {
        const struct graph_layer *l = &g->layer[i];
        char weight[32], bias[32];
        snprintf(weight, sizeof weight, "weight%d", i);
        snprintf(bias, sizeof bias, "bias%d", i);
        if (l->kind == GRAPH_CONV) {
            put_conv(o, l, weight, bias);
            continue;
        }
        if (!flat) {
            struct protobuf axis = {0};
            put_int(&axis, "axis", 1);
            put_node(o, "Flatten", NULL, NULL, &axis, NULL);
        }
        flat = true;
        put_gemm(o, l, i == g->layers - 1 ? g->absent : NULL, weight, bias);
    }
    struct protobuf axis = {0};
    put_int(&axis, "axis", 1);
    put_node(o, "Softmax", NULL, NULL, &axis, "probs");
}

/* ---- the file ---- */

static void put_metadata(struct protobuf *model, const char *key, struct jsonw *json)
{
    struct protobuf entry = {0};
    protobuf_text(&entry, 1, key);
    protobuf_text(&entry, 2, json->text);
    protobuf_message(model, MODEL_METADATA, &entry);
    jsonw_release(json);
    *json = (struct jsonw){0};
}

static void put_names(struct protobuf *model, const char *key, char *const *names, int n)
{
    struct jsonw json = {0};
    jsonw_array(&json, NULL);
    for (int i = 0; i < n; i++)
        jsonw_string(&json, NULL, names[i]);
    jsonw_close(&json);
    put_metadata(model, key, &json);
}

static void put_all_metadata(struct protobuf *model, const struct graph *g)
{
    struct jsonw json = {0};
    put_names(model, "classes", g->class_names, g->ways);
    if (g->feature_names)
        put_names(model, "features", g->feature_names, g->c);
    if (!g->fill)
        return;
    jsonw_array(&json, NULL);
    for (int i = 0; i < g->c; i++)
        jsonw_float(&json, NULL, g->fill[i]);
    jsonw_close(&json);
    put_metadata(model, "fill", &json);
}

static int write_onnx(const struct graph *g, const char *path)
{
    struct onnx o = {.at = "x"};
    struct protobuf model = {0}, opset = {0};
    bool image = g->h * g->w > 1;
    protobuf_text(&o.graph, GRAPH_NAME, "mete");
    put_value(&o, GRAPH_INPUT, "x", image ? 4 : 2, (const int64_t[]){1, g->c, g->h, g->w});
    put_layers(&o, g);
    put_value(&o, GRAPH_OUTPUT, "probs", 2, (const int64_t[]){1, g->ways});
    protobuf_int(&model, MODEL_IR_VERSION, IR_VERSION);
    protobuf_text(&opset, 1, ""); /* the domain of the standard operators */
    protobuf_int(&opset, 2, OPSET);
    protobuf_message(&model, MODEL_OPSET, &opset);
    protobuf_text(&model, MODEL_PRODUCER, "mete");
    protobuf_text(&model, MODEL_PRODUCER_VERSION, mete_version());
    protobuf_text(&model, MODEL_DOC, g->about ? g->about : "");
    put_all_metadata(&model, g);
    protobuf_message(&model, MODEL_GRAPH, &o.graph);
    int err = file_write(path, model.bytes.at, model.bytes.size);
    protobuf_release(&model);
    return err;
}

const struct export_format export_onnx = {
    .name = "onnx",
    .suffix = ".onnx",
    .summary = "ONNX, one input at a time: for ONNX Runtime, OpenCV, and what reads it",
    .write = write_onnx,
};
