/* fuzz_load.c - a model's file in which some metadata and numbers are anything: it is refused by a
 * sentence, or it adapts, predicts probabilities, and predicts the same when saved and loaded.
 *
 * An input is the model to begin with and a list of changes: what is done, to which entry, the
 * length of the text and the text.
 */
#include "fuzz_import.h"
#include "base/memory.h"
#include "base/safetensors.h"

#include <math.h>

enum { KINDS = 4, SIDE = 16, ITEM = SIDE * SIDE, ITEMS = 240, WAYS = 3, PAIRS = 128, TENSORS = 32 };
static uint8_t pictures[ITEMS][ITEM];
static int32_t classes[ITEMS], users[ITEMS];

struct good { /* a model as it was saved, adapted to a few items */
    void *bytes;
    struct safetensors *file;
};
static struct good models[KINDS];

static void make(struct good *g, const struct mete_data *d, const char *method, const char *net,
                 const char *small)
{
    const char *set[] = {small,          "train.steps=2",      "train.val_tasks=2",
                         "test.tasks=2", "train.meta_batch=2", NULL};
    struct mete_model *m = NULL;
    size_t n;
    struct mete_array support = {.x = pictures, .items = 6, .h = SIDE, .w = SIDE, .c = 1};
    struct mete_fit_options o = {.size = sizeof o,
                                 .data = d,
                                 .bench = "1s@60",
                                 .method = method,
                                 .net = net,
                                 .set = set,
                                 .threads = 1,
                                 .no_folder = 1};
    if (mete_fit(&o, &m) || mete_adapt(m, &support, classes))
        fprintf(stderr, "%s: %s\n", method, mete_errmsg());
    HOLDS(m);
    HOLDS(mete_model_bytes(m, &g->bytes, &n) == 0);
    HOLDS(safetensors_open_memory(&g->file, "good", g->bytes, n) == 0);
    HOLDS(safetensors_count(g->file) <= TENSORS);
    mete_model_close(m);
}

static void make_all(void)
{
    static const char *const names[] = {"a", "b", "c"};
    struct mete_data *d = NULL;
    for (int i = 0; i < ITEMS; i++) {
        classes[i] = i % WAYS;
        users[i] = i / 20;
        for (int p = 0; p < ITEM; p++)
            pictures[i][p] = (uint8_t)(i * 37 + p * (classes[i] + 1) * 11);
    }
    struct mete_data_parts parts = {
        .size = sizeof parts,
        .x = {.x = pictures, .items = ITEMS, .h = SIDE, .w = SIDE, .c = 1, .scale = 1 / 255.0f},
        .y = classes,
        .user = users,
        .class_names = names};
    HOLDS(mete_data_make(&d, &parts) == 0);
    make(&models[0], d, "protonet", "mlp", "net.hidden=1");
    make(&models[1], d, "maml", "mlp", "net.hidden=1");
    make(&models[2], d, "protonet", "conv4", "net.filters=2");
    make(&models[3], d, "local", "mlp", "net.hidden=1");
    mete_data_close(d);
}

/* The file being changed. */
struct draft {
    struct safetensors_pair pair[PAIRS];
    char *own[PAIRS]; /* values that were changed */
    struct safetensor tensor[TENSORS];
    void *data[TENSORS];
    int pairs, tensors;
};

static void change_value(struct draft *f, int i, const uint8_t *text, int n, bool whole)
{
    const char *old = f->pair[i].value;
    int at = whole || !*old ? 0 : n % (int)strlen(old);
    char *value = mem_print("%.*s%.*s%s", at, old, n, (const char *)text, whole ? "" : old + at);
    free(f->own[i]);
    f->pair[i].value = f->own[i] = value;
}

static void change_number(struct draft *f, int i, const uint8_t *text, size_t n)
{
    struct ndarray *a = &f->tensor[i].array;
    if (n < 6 || a->bytes < 4)
        return;
    size_t at = (size_t)(text[0] | text[1] << 8) % (a->bytes / 4);
    memcpy((char *)f->data[i] + 4 * at, text + 2, 4);
}

/* One change; how many bytes of the input it took. */
static size_t change(struct draft *f, const uint8_t *data, size_t size)
{
    if (size < 3)
        return size;
    size_t n = data[2] < size - 3 ? data[2] : size - 3;
    int pair = data[1] % f->pairs, tensor = data[1] % f->tensors;
    switch (data[0] % 5) {
    case 0:
    case 1:
        change_value(f, pair, data + 3, (int)n, data[0] % 5);
        break;
    case 2:
        change_number(f, tensor, data + 3, n);
        break;
    case 3: /* as many tensors or pairs less */
        f->pairs -= f->pairs > 1;
        free(f->own[pair]);
        f->pair[pair] = f->pair[f->pairs];
        f->own[pair] = f->own[f->pairs];
        f->own[f->pairs] = NULL;
        break;
    default:
        f->tensor[tensor].array.shape[0] += n % 2 ? 0 : 1; /* the file is no longer whole, or */
        f->tensor[tensor].name = f->tensor[data[2] % f->tensors].name;
    }
    return 3 + n;
}

static struct draft begin(const struct good *g)
{
    struct draft f = {.tensors = safetensors_count(g->file)};
    const struct safetensors_pair *pairs = safetensors_pairs(g->file, &f.pairs);
    HOLDS(f.pairs <= PAIRS);
    memcpy(f.pair, pairs, (size_t)f.pairs * sizeof *pairs);
    for (int i = 0; i < f.tensors; i++) {
        f.tensor[i] = *safetensors_at(g->file, i);
        struct ndarray *a = &f.tensor[i].array;
        f.data[i] = mem_alloc(16 * a->bytes + 64);
        memcpy(f.data[i], a->data, a->bytes);
        a->data = f.data[i];
    }
    return f;
}

static void end(struct draft *f)
{
    for (int i = 0; i < PAIRS; i++)
        free(f->own[i]);
    for (int i = 0; i < f->tensors; i++)
        free(f->data[i]);
}

static bool predicts(struct mete_model *m, const struct mete_array *x, int ways, float *probs)
{
    if (mete_predict(m, x, probs) != 0) {
        HOLDS(*mete_errmsg());
        return false;
    }
    for (int i = 0; i < x->items; i++) {
        double sum = 0;
        for (int w = 0; w < ways; w++)
            sum += (double)probs[i * ways + w];
        HOLDS(fabs(sum - 1) < 1e-3);
    }
    return true;
}

static void use(struct mete_model *m)
{
    enum { ROOM = 4096, ASKED = 3 };
    static uint8_t x[ROOM * ASKED * sizeof(float)];
    static float before[ROOM], after[ROOM];
    struct mete_model_info i = {.size = sizeof i};
    struct mete_model *again = NULL;
    void *bytes = NULL;
    size_t n;
    HOLDS(mete_model_info(m, &i) == 0);
    if ((int64_t)i.h * i.w * i.c > ROOM || i.ways > ROOM / ASKED)
        return;
    struct mete_array asked = {
        .x = x, .items = ASKED, .h = i.h, .w = i.w, .c = i.c, .is_float = i.is_float};
    bool sure = predicts(m, &asked, i.ways, before);
    if (mete_model_bytes(m, &bytes, &n) == 0) {
        HOLDS(mete_model_load_bytes(&again, bytes, n, NULL) == 0);
        HOLDS(predicts(again, &asked, i.ways, after) == sure);
        HOLDS(!sure || memcmp(before, after, sizeof(float) * ASKED * (size_t)i.ways) == 0);
        mete_model_close(again);
        mete_free(bytes);
    }
    static const int32_t y[ASKED] = {0};
    if (mete_adapt(m, &asked, y) == 0)
        predicts(m, &asked, i.ways, before);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mete_model *m = NULL;
    void *bytes = NULL;
    size_t n;
    if (!models[0].file)
        make_all();
    if (size < 1)
        return 0;
    struct draft f = begin(&models[data[0] % KINDS]);
    data++;
    size--;
    for (int i = 0; i < 8 && size > 0; i++) {
        size_t used = change(&f, data, size);
        data += used;
        size -= used;
    }
    if (safetensors_bytes(&bytes, &n, f.tensor, f.tensors, f.pair, f.pairs) == 0) {
        if (mete_model_load_bytes(&m, bytes, n, NULL) == 0)
            use(m);
        else
            HOLDS(*mete_errmsg() && !m);
    }
    mete_model_close(m);
    free(bytes);
    end(&f);
    return 0;
}
