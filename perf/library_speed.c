/* library_speed.c - what the library costs a program, by mete.h alone (perf/library).
 *
 *   library_speed MODEL REPEATS         load, and adapt to 5 and predict 20 of 25 images
 *   library_speed MODEL REPEATS leaks   opens, uses and closes as many models; for valgrind
 *
 * Times are of the processor, of all threads, in ms: the least and the median.  library_speed.py
 * does the same in Python.
 */
#include "mete.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ITEMS = 25, SUPPORT = 5, SIDE = 28, WAYS_MOST = 64 };

static uint8_t images[ITEMS * SIDE * SIDE];

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static void stop(const char *what)
{
    fprintf(stderr, "library_speed: %s: %s\n", what, mete_errmsg());
    exit(1);
}

static struct mete_model *load(const char *path)
{
    struct mete_model *m = NULL;
    if (mete_model_load(&m, path, NULL))
        stop(path);
    return m;
}

static void use(struct mete_model *m)
{
    static const int32_t y[SUPPORT] = {0, 1, 2, 3, 4};
    static float probs[(ITEMS - SUPPORT) * WAYS_MOST];
    struct mete_array support = {.x = images, .items = SUPPORT, .h = SIDE, .w = SIDE, .c = 1};
    struct mete_array query = support;
    query.x = images + SUPPORT * SIDE * SIDE;
    query.items = ITEMS - SUPPORT;
    if (mete_adapt(m, &support, y) || mete_predict(m, &query, probs))
        stop("a task");
}

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void print(const char *what, double *ms, int n)
{
    qsort(ms, (size_t)n, sizeof *ms, compare);
    printf("%s %.4f %.4f\n", what, ms[0], ms[n / 2]);
}

static void measure(const char *path, int n)
{
    double *ms = malloc((size_t)n * sizeof *ms);
    for (int i = 0; i < n; i++) {
        double start = now();
        struct mete_model *m = load(path);
        ms[i] = now() - start;
        mete_model_close(m);
    }
    print("load", ms, n);
    struct mete_model *m = load(path);
    for (int i = -5; i < n; i++) { /* the first are not counted */
        double start = now();
        use(m);
        ms[i < 0 ? 0 : i] = now() - start;
    }
    print("task", ms, n);
    mete_model_close(m);
    free(ms);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: library_speed MODEL REPEATS [leaks]\n");
        return 2;
    }
    for (int i = 0; i < ITEMS * SIDE * SIDE; i++)
        images[i] = (uint8_t)(i * 31 % 251 + i / (SIDE * SIDE));
    int n = atoi(argv[2]);
    if (argc == 3) {
        measure(argv[1], n);
        return 0;
    }
    for (int i = 0; i < n; i++) {
        struct mete_model *m = load(argv[1]);
        if (i % 100 == 0)
            use(m);
        mete_model_close(m);
    }
    return 0;
}
