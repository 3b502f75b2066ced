/* device.c - a personal model on a device without Python.
 *
 *   device MODEL IMAGES N
 *
 * MODEL is a file that `mete train` left.  IMAGES holds images one after another, each as many
 * bytes as the model takes; the first N are labelled examples, of class 0, 1, … in turn.  The
 * model adapts to those and says of each other image which class it is, and how likely.
 *
 *   cc device.c $(pkg-config --cflags --libs mete) -o device
 */
#include <mete.h>

#include <stdio.h>
#include <stdlib.h>

static int failed(const char *what)
{
    fprintf(stderr, "device: %s: %s\n", what, mete_errmsg());
    return 1;
}

/* A whole file; *n is how many bytes it has.  NULL where it cannot be read. */
static unsigned char *read_file(const char *path, long *n)
{
    FILE *file = fopen(path, "rb");
    unsigned char *bytes = NULL;
    if (file && !fseek(file, 0, SEEK_END) && (*n = ftell(file)) > 0 && !fseek(file, 0, SEEK_SET) &&
        (bytes = malloc((size_t)*n)) && fread(bytes, 1, (size_t)*n, file) != (size_t)*n) {
        free(bytes);
        bytes = NULL;
    }
    if (file)
        fclose(file);
    return bytes;
}

static void print(const struct mete_model *m, const float *probs, int32_t ways, int64_t items)
{
    for (int64_t i = 0; i < items; i++, probs += ways) {
        int32_t best = 0;
        for (int32_t w = 1; w < ways; w++)
            best = probs[w] > probs[best] ? w : best;
        const char *name = mete_model_class(m, best);
        printf("image %lld: ", (long long)i);
        if (name)
            printf("%s", name);
        else
            printf("class %d", best);
        for (int32_t w = 0; w < ways; w++)
            printf(" %.9g", probs[w]);
        printf("\n");
    }
}

/* The first n of the images are examples, the others are asked for. */
static int answer(struct mete_model *m, const unsigned char *images, long bytes, int32_t n)
{
    struct mete_model_info info = {.size = sizeof info};
    if (mete_model_info(m, &info))
        return failed("the model");
    long each = (long)info.h * info.w * info.c, items = bytes / each;
    if (info.is_float || bytes % each || n < 0 || items <= n) {
        fprintf(stderr, "device: expected images of %ld bytes, more than %d of them\n", each, n);
        return 1;
    }
    struct mete_array support = {.x = images, .items = n, .h = info.h, .w = info.w, .c = info.c};
    struct mete_array query = support;
    query.x = images + n * each;
    query.items = items - n;
    int32_t *y = malloc((size_t)(n + 1) * sizeof *y);
    float *probs = malloc((size_t)(query.items * info.ways) * sizeof *probs);
    int err = y && probs ? 0 : METE_ENOMEM;
    for (int32_t i = 0; !err && i < n; i++)
        y[i] = i % info.ways;
    if (!err)
        err = mete_adapt(m, &support, y);
    if (!err)
        err = mete_predict(m, &query, probs);
    if (!err)
        print(m, probs, info.ways, query.items);
    free(y);
    free(probs);
    return err ? failed("the images") : 0;
}

int main(int argc, char **argv)
{
    struct mete_model *m = NULL;
    long bytes = 0;
    if (argc != 4) {
        fprintf(stderr, "usage: device MODEL IMAGES N\n");
        return 2;
    }
    unsigned char *images = read_file(argv[2], &bytes);
    if (!images) {
        fprintf(stderr, "device: cannot read %s\n", argv[2]);
        return 1;
    }
    int status = mete_model_load(&m, argv[1], NULL) ? failed(argv[1])
                                                    : answer(m, images, bytes, atoi(argv[3]));
    mete_model_close(m);
    free(images);
    return status;
}
