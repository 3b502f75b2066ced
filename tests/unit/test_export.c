/* test_export.c - graphs as C files: what they compute when compiled, and what they promise. */
#include "test.h"
#include "files.h"
#include "base/memory.h"
#include "base/rng.h"
#include "mete.h"
#include "model/export.h"

enum { INPUTS = 20 };

static void fill_random(float *x, size_t n, double size, struct rng *r)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(size * rng_normal(r));
}

static void fill_layers(struct graph *g, struct rng *r)
{
    for (int i = 0; i < g->layers; i++) {
        struct graph_layer *l = &g->layer[i];
        size_t n = graph_weights(l), fan = n / (size_t)l->out_c;
        fill_random(l->weight, n, 1 / sqrt((double)fan), r);
        fill_random(l->bias, (size_t)l->out_c, 0.1, r);
    }
    g->about = mem_string("a test */ of \"comments\"");
    g->class_names = mem_array((size_t)g->ways, sizeof *g->class_names);
    for (int k = 0; k < g->ways; k++)
        g->class_names[k] = mem_print("class \"%d\" ?\?/\\ \n end", k);
}

/* Scales the input so that a raw value v is (v - centre) / 50. */
static void scale_input(struct graph *g, double centre, double fill)
{
    size_t n = (size_t)(g->h * g->w * g->c);
    double *all = mem_array(3 * n, sizeof *all);
    for (size_t i = 0; i < n; i++) {
        all[i] = centre;
        all[n + i] = 1 / 50.0;
        all[2 * n + i] = fill;
    }
    graph_scale_input(g, all, all + n, fill ? all + 2 * n : NULL);
    free(all);
}

/* ---- the same in double, in c, h, w order, as the definitions say ---- */

static double conv_at(const struct graph_layer *l, const double *x, int o, int row, int col)
{
    double sum = (double)l->bias[o];
    for (int c = 0; c < l->in_c; c++)
        for (int i = -1; i <= 1; i++)
            for (int j = -1; j <= 1; j++) {
                int r = row * l->stride + i, s = col * l->stride + j;
                if (r >= 0 && r < l->in_h && s >= 0 && s < l->in_w)
                    sum += x[(c * l->in_h + r) * l->in_w + s] *
                           (double)l->weight[((o * l->in_c + c) * 3 + i + 1) * 3 + j + 1];
            }
    return sum > 0 ? sum : 0;
}

static void conv_all(const struct graph_layer *l, const double *x, double *y)
{
    int h = (l->in_h + l->stride - 1) / l->stride, w = (l->in_w + l->stride - 1) / l->stride;
    for (int o = 0; o < l->out_c; o++)
        for (int r = 0; r < l->out_h; r++)
            for (int s = 0; s < l->out_w; s++) {
                double best = 0;
                for (int i = 0; i < (l->pool ? 4 : 1); i++) {
                    int row = l->pool ? 2 * r + i / 2 : r, col = l->pool ? 2 * s + i % 2 : s;
                    if (row < h && col < w)
                        best = fmax(best, conv_at(l, x, o, row, col));
                }
                *y++ = best;
            }
}

static void row_all(const struct graph_layer *l, const double *x, double *y)
{
    int n = l->in_h * l->in_w * l->in_c;
    for (int o = 0; o < l->out_c; o++) {
        double sum = (double)l->bias[o];
        for (int i = 0; i < n; i++) {
            double w = (double)l->weight[o * n + i];
            sum += w * x[i];
        }
        y[o] = l->relu && sum < 0 ? 0 : sum;
    }
}

static void expect(const struct graph *g, const float *raw, double *probs)
{
    static double a[1 << 16], b[1 << 16];
    double *x = a, *y = b, sum = 0, most = -INFINITY;
    for (int p = 0; p < g->h * g->w; p++)
        for (int c = 0; c < g->c; c++) {
            int i = p * g->c + c;
            float value = g->fill && isnan(raw[i]) ? g->fill[i] : raw[i];
            x[c * g->h * g->w + p] = (double)value - (g->centre ? (double)g->centre[i] : 0);
        }
    for (int i = 0; i < g->layers; i++) {
        g->layer[i].kind == GRAPH_CONV ? conv_all(&g->layer[i], x, y) : row_all(&g->layer[i], x, y);
        double *turn = x;
        x = y;
        y = turn;
    }
    for (int k = 0; k < g->ways; k++)
        if (!(g->absent && g->absent[k]))
            most = fmax(most, x[k]);
    for (int k = 0; k < g->ways; k++)
        sum += probs[k] = g->absent && g->absent[k] ? 0 : exp(x[k] - most);
    for (int k = 0; k < g->ways; k++)
        probs[k] /= sum;
}

/* ---- as a program ---- */

static int write_inputs(const char *path, const float *x, size_t n)
{
    FILE *f = fopen(path, "w");
    for (size_t i = 0; f && i < n; i++)
        fprintf(f, "%.9g\n", (double)x[i]);
    return f ? fclose(f) : -1;
}

/* The largest difference of the compiled file's probabilities; NaN where it does not run. */
static double compiled_difference(const struct graph *g, const char *folder, const char *compiler,
                                  const float *x)
{
    char command[2048], line[256];
    snprintf(command, sizeof command,
             "cd %s && %s -std=c99 -O2 -Wall -Wextra -Wpedantic -Wshadow -Werror "
             "-Dmodel_int_MAIN int.c -o program -lm && ./program <inputs",
             folder, compiler);
    FILE *f = popen(command, "r");
    double worst = 0, probs[16];
    for (int i = 0; f && i < INPUTS; i++) {
        expect(g, x + (size_t)i * (size_t)(g->h * g->w * g->c), probs);
        char *at = fgets(line, sizeof line, f);
        for (int k = 0; k < g->ways; k++) {
            worst = at ? fmax(worst, fabs(strtod(at, &at) - probs[k])) : NAN;
            at += at && *at == ',';
        }
        if (!at)
            break;
    }
    if (f && pclose(f) != 0)
        worst = NAN;
    return f ? worst : NAN;
}

static bool has_compiler(const char *name)
{
    char command[64];
    snprintf(command, sizeof command, "command -v %s >/dev/null", name);
    return system(command) == 0;
}

/* Writes the graph as int.c (a word of C, so that its functions are called model_int_...), compiles
 * and runs it. */
static void check_graph(struct graph *g, double size, bool gaps)
{
    static const char *const compilers[] = {"gcc", "clang"};
    struct rng r = rng_make(7, RNG_INIT, 1, 1);
    size_t n = (size_t)INPUTS * (size_t)(g->h * g->w * g->c);
    float *x = mem_array(n, sizeof *x);
    fill_random(x, n, size, &r);
    for (size_t i = 0; gaps && i < n; i += 5)
        x[i] = NAN;
    CHECK_EQ(export_format_find("c", "")->write(g, scratch("int.c")), 0);
    CHECK_EQ(write_inputs(scratch("inputs"), x, n), 0);
    for (int c = 0; c < 2; c++)
        if (has_compiler(compilers[c]))
            CHECK_NEAR(compiled_difference(g, scratch(""), compilers[c], x), 0, 2e-6);
    free(x);
    graph_release(g);
}

static struct graph image_graph(int h, int w, int c, int ways, int stride, bool pool)
{
    struct graph g = {.h = h, .w = w, .c = c, .ways = ways};
    struct rng r = rng_make(3, RNG_INIT, 0, 0);
    for (int i = 0; i < 3; i++)
        graph_add_conv(&g, 9 + i, stride, pool);
    graph_add_dense(&g, ways, false);
    fill_layers(&g, &r);
    return g;
}

TEST(convolutions_with_strides_and_a_centre)
{
    struct graph g = image_graph(19, 16, 3, 5, 2, false);
    scale_input(&g, 255, 0);
    check_graph(&g, 100, false);
}

TEST(pooling_of_odd_sizes_rounds_up)
{
    struct graph g = image_graph(19, 22, 1, 3, 1, true);
    scale_input(&g, 0, 0);
    CHECK(!g.centre);
    check_graph(&g, 100, false);
}

TEST(rows_with_gaps_and_a_class_that_is_absent)
{
    struct graph g = {.h = 1, .w = 1, .c = 13, .ways = 4};
    struct rng r = rng_make(4, RNG_INIT, 0, 0);
    graph_add_dense(&g, 17, true);
    graph_add_dense(&g, 4, false);
    fill_layers(&g, &r);
    scale_input(&g, 20, 33);
    g.absent = mem_array(4, sizeof *g.absent);
    g.absent[2] = true;
    check_graph(&g, 50, true);
}

TEST(a_dense_layer_reads_an_image)
{
    struct graph g = {.h = 5, .w = 4, .c = 3, .ways = 2};
    struct rng r = rng_make(5, RNG_INIT, 0, 0);
    graph_add_dense(&g, 2, false);
    fill_layers(&g, &r);
    scale_input(&g, 10, 0);
    check_graph(&g, 50, false);
}

TEST(distances_to_prototypes_are_a_dense_layer)
{
    enum { D = 6, WAYS = 3 };
    struct graph g = {.h = 1, .w = 1, .c = D, .ways = WAYS};
    struct rng r = rng_make(6, RNG_INIT, 0, 0);
    double p[WAYS * D], x[D], logit[WAYS], far[WAYS] = {0};
    for (int i = 0; i < WAYS * D; i++)
        p[i] = 10 + rng_normal(&r);
    for (int i = 0; i < D; i++)
        x[i] = 10 + rng_normal(&r);
    graph_add_distances(&g, p);
    row_all(&g.layer[0], x, logit);
    for (int i = 0; i < WAYS * D; i++)
        far[i / D] -= (x[i % D] - p[i]) * (x[i % D] - p[i]);
    for (int k = 1; k < WAYS; k++)
        CHECK_NEAR(logit[k] - logit[0], far[k] - far[0], 1e-4);
    graph_release(&g);
}

TEST(weights_that_are_not_finite_are_refused)
{
    struct graph g = image_graph(16, 16, 1, 2, 2, false);
    CHECK_EQ(graph_check(&g, "m"), 0);
    g.layer[1].weight[5] = NAN;
    CHECK_EQ(graph_check(&g, "m.safetensors"), METE_EFORMAT);
    CHECK_HAS(mete_errmsg(), "m.safetensors: a weight is not a finite number");
    graph_release(&g);
}

TEST(a_format_is_found_by_its_name_or_the_suffix)
{
    CHECK_STR(export_format_find(NULL, "a.b/me.onnx")->name, "onnx");
    CHECK_STR(export_format_find("safetensors", "me.bin")->name, "safetensors");
    CHECK(!export_format_find(NULL, "me.pt"));
    CHECK_STR(mete_errmsg(), "me.pt: the name says no format; expected one that ends in .onnx, .c "
                             "or .safetensors");
    CHECK(!export_format_find("tflite", "me.c"));
    CHECK_HAS(mete_errmsg(), "no export format 'tflite'; expected onnx, c or safetensors");
}

TESTS(T(convolutions_with_strides_and_a_centre), T(pooling_of_odd_sizes_rounds_up),
      T(rows_with_gaps_and_a_class_that_is_absent), T(a_dense_layer_reads_an_image),
      T(distances_to_prototypes_are_a_dense_layer), T(weights_that_are_not_finite_are_refused),
      T(a_format_is_found_by_its_name_or_the_suffix))
