/* test_golden.c - meta-gradients against PyTorch's, on every kernel set.
 *
 * tests/golden/ holds tasks with the answers that PyTorch gave in float64
 * (make.py).  Every file goes through mete_grad, as the command does.  Errors are
 * relative L2: at most 1e-5 over the whole gradient, 1e-4 for each tensor.
 */
#include "test.h"
#include "base/memory.h"
#include "base/safetensors.h"
#include "kernel/kernel.h"
#include "mete.h"

#include <dirent.h>
#include <unistd.h>

#define FOLDER "tests/golden"

enum { CASES_MAX = 100, SETTINGS_MAX = 16, TENSORS_MAX = 64 };
static const double WHOLE = 1e-5, EACH = 1e-4;

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The golden files, in the order of their names; how many. */
static int list_cases(char *names[CASES_MAX])
{
    int n = 0;
    DIR *d = opendir(FOLDER);
    for (struct dirent *e; d && n < CASES_MAX && (e = readdir(d));)
        if (strstr(e->d_name, ".safetensors"))
            names[n++] = mem_print(FOLDER "/%s", e->d_name);
    if (d)
        closedir(d);
    qsort(names, (size_t)n, sizeof *names, by_text);
    return n;
}

/* Cuts "key=value" lines into a list that ends with NULL; a GPU is asked for plain
 * fp32, since TF32 has three digits only. */
static void split_lines(char *text, const char *lines[SETTINGS_MAX + 1])
{
    int n = 0;
    lines[n++] = "device.precision=fp32";
    for (char *rest = text, *line; n < SETTINGS_MAX && (line = strsep(&rest, "\n"));)
        if (*line)
            lines[n++] = line;
    lines[n] = NULL;
}

struct difference { /* squared norms */
    const char *name;
    double norm, error;
};

static void measure(struct difference *d, const struct ndarray *expected, const struct ndarray *got)
{
    size_t n = (size_t)ndarray_count(expected);
    double *x = mem_array(n, sizeof *x), *y = mem_array(n, sizeof *y);
    ndarray_to_double(expected, x);
    ndarray_to_double(got, y);
    d->norm = d->error = 0;
    for (size_t i = 0; i < n; i++) {
        if (isinf(x[i]) && x[i] == y[i])
            continue; /* the logit of a class that is left out */
        d->norm += x[i] * x[i];
        d->error += (x[i] - y[i]) * (x[i] - y[i]);
    }
    free(x);
    free(y);
}

struct verdict { /* relative errors of the gradient and of its worst tensor */
    double whole, worst;
    char name[64]; /* that tensor */
};

/* A tensor whose gradient is zero but for rounding (a bias before batch norm) is
 * measured against the whole gradient. */
static void judge(struct verdict *v, const struct difference *each, int n)
{
    double norm = 0, error = 0;
    for (int i = 0; i < n; i++)
        if (strcmp(each[i].name, "loss") != 0 && strcmp(each[i].name, "logits") != 0) {
            norm += each[i].norm;
            error += each[i].error;
        }
    *v = (struct verdict){.whole = sqrt(error / norm)};
    for (int i = 0; i < n; i++) {
        double scale = each[i].norm > 1e-18 * norm ? each[i].norm : norm;
        double relative = sqrt(each[i].error / scale);
        if (!(relative <= v->worst)) {
            v->worst = relative;
            snprintf(v->name, sizeof v->name, "%s", each[i].name);
        }
    }
}

/* Compares `got` with the expect.* tensors of `golden`. */
static int compare(const struct safetensors *golden, const struct safetensors *got,
                   struct verdict *v)
{
    struct difference each[TENSORS_MAX];
    int n = 0;
    for (int i = 0; i < safetensors_count(golden) && n < TENSORS_MAX; i++) {
        const struct safetensor *t = safetensors_at(golden, i);
        const struct ndarray *a = NULL;
        if (strncmp(t->name, "expect.", 7) != 0)
            continue;
        each[n].name = t->name + 7;
        int err =
            safetensors_get(got, each[n].name, DTYPES_REAL, t->array.rank, t->array.shape, &a);
        if (err)
            return err;
        measure(&each[n++], &t->array, a);
    }
    judge(v, each, n);
    return 0;
}

/* Runs one file on one kernel set. */
static int replay(const char *path, const char *device, struct verdict *v)
{
    struct safetensors *golden = NULL, *got = NULL;
    const char *set[SETTINGS_MAX + 1];
    char folder[TEMP_SIZE];
    char *out = mem_print("%s/mete-golden-%ld.safetensors", temp_name(folder, ""), (long)getpid());
    char *lines = NULL;
    int err = safetensors_open(&golden, path);
    if (!err) {
        lines = mem_string(safetensors_meta(golden, "set"));
        split_lines(lines, set);
        struct mete_grad_options o = {.size = sizeof o,
                                      .method = safetensors_meta(golden, "method"),
                                      .net = safetensors_meta(golden, "net"),
                                      .device = device,
                                      .set = set,
                                      .in = path,
                                      .out = out};
        err = mete_grad(&o);
    }
    if (!err)
        err = safetensors_open(&got, out);
    if (!err)
        err = compare(golden, got, v);
    unlink(out);
    safetensors_close(golden);
    safetensors_close(got);
    free(lines);
    free(out);
    return err;
}

/* All files on the kernel set `device`; false and a line for each that is off. */
static bool agrees(const char *device)
{
    char *names[CASES_MAX];
    int n = list_cases(names);
    bool good = n > 0;
    double whole = 0, worst = 0;
    for (int i = 0; i < n; i++) {
        struct verdict v = {0};
        if (replay(names[i], device, &v)) {
            fprintf(stderr, "%s: %s: %s\n", device, names[i], mete_errmsg());
            good = false;
        } else if (!(v.whole <= WHOLE) || !(v.worst <= EACH)) {
            fprintf(stderr, "%s: %s: off by %.1e as a whole, %.1e in %s\n", device, names[i],
                    v.whole, v.worst, v.name);
            good = false;
        }
        whole = fmax(whole, v.whole);
        worst = fmax(worst, v.worst);
        free(names[i]);
    }
    printf("%s: %d tasks, worst %.1e as a whole, %.1e in a tensor\n", device, n, whole, worst);
    return good;
}

TEST(every_kernel_set_agrees_with_pytorch)
{
    char why[256];
    int sets = 0, good = 0;
    for (int i = 0; kernels_at(i); i++) {
        const struct kernels *k = kernels_at(i);
        if (!k->usable(why, sizeof why))
            continue;
        sets++;
        good += agrees(k->name);
    }
    CHECK(sets >= 2);
    CHECK_EQ(good, sets);
}

TESTS(T(every_kernel_set_agrees_with_pytorch))
