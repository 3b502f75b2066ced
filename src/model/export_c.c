/* export_c.c - a graph as one C99 file that needs nothing but expf.
 *
 * The file is this model's numbers, in static constants that a linker puts into flash, and the
 * functions of export_c_text.c.  Activations are in two static buffers that layers use in turn; no
 * layer needs more, since pooling happens as a convolution's values are computed.  They are in
 * h, w, c order, so that the inner products run over consecutive memory; weights are put into that
 * order here.
 */
#include "model/export.h"
#include "model/export_c_text.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct c_file {
    const struct graph *g;
    struct text out;
    char *name;     /* what its functions' names begin with */
    size_t room[2]; /* floats of the buffers */
    size_t constants;
};

static size_t values_in(const struct graph *g)
{
    return (size_t)g->h * (size_t)g->w * (size_t)g->c;
}

static size_t values_out(const struct graph_layer *l)
{
    return (size_t)l->out_h * (size_t)l->out_w * (size_t)l->out_c;
}

/* "models/me-2.c" -> "me_2": an identifier; `model_` before what cannot begin one or is a word of
 * the language. */
static char *identifier_of(const char *path)
{
    static const char *const words[] = {
        "auto",    "break",  "case",     "char",   "const",    "continue", "default",
        "do",      "double", "else",     "enum",   "extern",   "float",    "for",
        "goto",    "if",     "inline",   "int",    "long",     "register", "restrict",
        "return",  "short",  "signed",   "sizeof", "static",   "struct",   "switch",
        "typedef", "union",  "unsigned", "void",   "volatile", "while"};
    const char *base = strrchr(path, '/');
    base = base ? base + 1 : path;
    char *name = mem_print("%.*s", (int)strcspn(base, "."), base);
    bool bad = !isalpha((unsigned char)*name);
    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) || (unsigned char)*c >= 0x80)
            *c = '_';
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        bad = bad || strcmp(name, words[i]) == 0;
    if (bad) {
        char *longer = mem_print("model_%s", name);
        free(name);
        name = longer;
    }
    return name;
}

/* ---- constants ---- */

/* A float as C reads it back to the bit: "1.0f". */
static void put_float(struct text *out, float value)
{
    char text[NUMBER_TEXT];
    number_print_float(value, text);
    text_print(out, strpbrk(text, ".e") ? "%sf" : "%s.0f", text);
}

static void put_floats(struct c_file *f, const char *name, int layer, const float *x, size_t n)
{
    enum { IN_A_LINE = 8 };
    text_print(&f->out, "static const float %s%d[%zu] = {", name, layer, n);
    for (size_t i = 0; i < n; i++) {
        text_add(&f->out, i % IN_A_LINE ? " " : "\n    ");
        put_float(&f->out, x[i]);
        text_add(&f->out, ",");
    }
    text_add(&f->out, "\n};\n");
    f->constants += n * sizeof *x;
}

/* (o, c, places) -> (o, places, c) */
static float *places_first(const struct graph_layer *l)
{
    size_t n = graph_weights(l), c = (size_t)l->in_c;
    size_t places = n / (size_t)l->out_c / c;
    float *to = mem_array(n, sizeof *to);
    for (size_t i = 0; i < n; i++) {
        size_t o = i / (c * places), at = i % (c * places);
        to[(o * places + at % places) * c + at / places] = l->weight[i];
    }
    return to;
}

static void put_constants(struct c_file *f)
{
    const struct graph *g = f->g;
    if (g->fill)
        put_floats(f, "fill", 0, g->fill, values_in(g));
    if (g->centre)
        put_floats(f, "centre", 0, g->centre, values_in(g));
    for (int i = 0; i < g->layers; i++) {
        const struct graph_layer *l = &g->layer[i];
        float *weight = places_first(l);
        put_floats(f, "weight", i, weight, graph_weights(l));
        put_floats(f, "bias", i, l->bias, (size_t)l->out_c);
        free(weight);
    }
    for (int k = 0; g->absent && k < g->ways; k++)
        text_print(&f->out, "%s%d%s", k ? ", " : "static const unsigned char absent[] = {",
                   g->absent[k], k == g->ways - 1 ? "};\n" : "");
}

/* A string of C: nothing in it ends the string, or is a trigraph. */
static void put_string(struct text *out, const char *s)
{
    text_add(out, "\"");
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\' || c == '?')
            text_print(out, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            text_print(out, "\\%03o", c);
        else
            text_print(out, "%c", c);
    }
    text_add(out, "\"");
}

static void put_class_names(struct c_file *f)
{
    text_print(&f->out, "const char *const %s_classes[%d] = {\n", f->name, f->g->ways);
    for (int k = 0; k < f->g->ways; k++) {
        text_add(&f->out, "    ");
        put_string(&f->out, f->g->class_names[k]);
        text_add(&f->out, ",\n");
    }
    text_add(&f->out, "};\n");
}

/* ---- what is computed ---- */

/* Does what is read need a copy that is filled in and centred? */
static bool prepares(const struct graph *g)
{
    return g->fill || g->centre;
}

static void plan_buffers(struct c_file *f)
{
    int turn = 0;
    if (prepares(f->g)) {
        f->room[0] = values_in(f->g);
        turn = 1;
    }
    for (int i = 0; i < f->g->layers - 1; i++, turn = !turn) { /* the last writes to the caller's */
        size_t n = values_out(&f->g->layer[i]);
        if (n > f->room[turn])
            f->room[turn] = n;
    }
}

static void put_prepare(struct c_file *f)
{
    const struct graph *g = f->g;
    text_print(&f->out, "    for (int i = 0; i < %zu; i++)\n        ", values_in(g));
    const char *value = g->fill ? "(x[i] != x[i] ? fill0[i] : x[i])" : "x[i]";
    text_print(&f->out, "buffer0[i] = %s%s;\n", value, g->centre ? " - centre0[i]" : "");
}

static void put_layer(struct c_file *f, int i, const char *from, const char *to)
{
    const struct graph_layer *l = &f->g->layer[i];
    struct text *out = &f->out;
    int n = l->in_h * l->in_w * l->in_c;
    if (l->kind == GRAPH_CONV)
        text_print(out, "    convolve(%s, %d, %d, %d, %d, %d, weight%d, bias%d, %d, %s);\n", from,
                   l->in_h, l->in_w, l->in_c, l->stride, l->pool, i, i, l->out_c, to);
    else
        text_print(out, "    dense(%s, %d, weight%d, bias%d, %d, %d, %s);\n", from, n, i, i,
                   l->out_c, l->relu, to);
}

static void put_predict(struct c_file *f)
{
    static const char *const buffers[] = {"buffer0", "buffer1"};
    const struct graph *g = f->g;
    int turn = prepares(g);
    const char *from = turn ? buffers[0] : "x";
    for (int b = 0; b < 2; b++)
        if (f->room[b])
            text_print(&f->out, "static float buffer%d[%zu];\n", b, f->room[b]);
    text_print(&f->out, "\nvoid %s_predict(const float *x, float *probs)\n{\n", f->name);
    if (turn)
        put_prepare(f);
    for (int i = 0; i < g->layers; i++, turn = !turn) {
        const char *to = i == g->layers - 1 ? "probs" : buffers[turn];
        put_layer(f, i, from, to);
        from = to;
    }
    text_print(&f->out, "    softmax(probs, %d, %s);\n}\n", g->ways, g->absent ? "absent" : "0");
}

static void put_functions(struct c_file *f)
{
    const struct graph *g = f->g;
    text_add(&f->out, export_c_product);
    if (g->layer[0].kind == GRAPH_CONV)
        text_add(&f->out, export_c_convolve);
    text_add(&f->out, export_c_dense); /* every graph ends in one */
    text_add(&f->out, export_c_softmax);
}

/* ---- the head ---- */

/* Within a comment: nothing that ends it. */
static void put_comment_text(struct text *out, const char *s)
{
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        bool ends = (c == '*' && s[1] == '/') || (c == '/' && s[1] == '*');
        text_print(out, "%c", c < 0x20 || c == 0x7f ? ' ' : (int)c);
        if (ends)
            text_add(out, " ");
    }
}

static void put_inputs(struct c_file *f)
{
    const struct graph *g = f->g;
    struct text *out = &f->out;
    if (g->h * g->w > 1)
        text_print(
            out,
            " *   x      %zu values: the pixels of an image of %d x %d (height, width), row by "
            "row, %d\n *          for each, as an image file has them: 0 to 255\n",
            values_in(g), g->h, g->w, g->c);
    else
        text_print(out, " *   x      %d values, as they were measured%s:\n", g->c,
                   g->fill ? "; NaN where one is missing" : "");
    for (int i = 0; g->feature_names && i < g->c; i++) {
        text_print(out, " *            %4d  ", i);
        put_comment_text(out, g->feature_names[i]);
        text_add(out, "\n");
    }
}

static void put_head(struct c_file *f, const char *path)
{
    const struct graph *g = f->g;
    struct text *out = &f->out;
    const char *base = strrchr(path, '/'), *name = f->name;
    size_t buffers = (f->room[0] + f->room[1]) * sizeof(float), constants = 0;
    for (int i = 0; i < g->layers; i++)
        constants += (graph_weights(&g->layer[i]) + (size_t)g->layer[i].out_c) * sizeof(float);
    text_add(out, "/* ");
    put_comment_text(out, base ? base + 1 : path);
    text_add(out, " - ");
    put_comment_text(out, g->about ? g->about : "a model");
    text_print(out,
               ".\n *\n * Written by mete %s.  C99; needs expf of the C library and nothing "
               "else, and no heap:\n",
               mete_version());
    text_print(out,
               " * %zu bytes of constants, %zu bytes of static buffers.  One call at a time.\n",
               constants, buffers);
    text_print(out,
               " *\n *   cc -std=c99 -O2 -c FILE.c\n *   cc -std=c99 -O2 -D%s_MAIN FILE.c -lm"
               "   a program: values on standard input,\n *          a line of probabilities "
               "for each item on standard output\n *\n",
               name);
    text_print(out,
               " *   void %s_predict(const float *x, float *probs);\n"
               " *   extern const char *const %s_classes[%d];\n *\n",
               name, name, g->ways);
    put_inputs(f);
    text_print(out, " *   probs  %d probabilities, in the order of %s_classes\n */\n", g->ways,
               name);
    text_add(out, "#include <math.h>\n\n");
}

static void put_main(struct c_file *f)
{
    text_print(&f->out, export_c_main, f->name, values_in(f->g), f->g->ways, f->name, f->g->ways);
}

static int write_c(const struct graph *g, const char *path)
{
    struct c_file f = {.g = g, .name = identifier_of(path)};
    plan_buffers(&f);
    put_head(&f, path);
    text_print(&f.out,
               "void %s_predict(const float *x, float *probs);\n"
               "extern const char *const %s_classes[%d];\n\n",
               f.name, f.name, g->ways);
    put_class_names(&f);
    put_constants(&f);
    put_functions(&f);
    put_predict(&f);
    put_main(&f);
    int err = file_write(path, f.out.at, f.out.size);
    text_release(&f.out);
    free(f.name);
    return err;
}

const struct export_format export_c = {
    .name = "c",
    .suffix = ".c",
    .summary = "one C99 file without dependencies and without a heap, for microcontrollers",
    .write = write_c,
};
