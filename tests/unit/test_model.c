/* test_model.c - models as programs hold them: load, adapt, predict, suggest, save. */
#include <string.h>
#include "test.h"
#include "files.h"
#include "pictures.h"
#include "base/file.h"

#include <pthread.h>

/* The best model of a short training of `method`; its path. */
static const char *trained(const char *method, const char *net)
{
    static char path[256];
    static const char *const set[] = {"train.steps=6",
                                      "train.meta_batch=2",
                                      "inner.lr=0.001",
                                      "train.val_tasks=2",
                                      "test.tasks=4",
                                      "task.holdout=0.5",
                                      NULL};
    static const char *const plain[] = {"train.steps=6", "train.val_tasks=2", "test.tasks=4", NULL};
    struct mete_data *d = NULL;
    struct mete_data_parts parts = parts_of_pictures();
    char data[128], folder[128], bench[200];
    snprintf(data, sizeof data, "%s", scratch("data"));
    snprintf(folder, sizeof folder, "%s-%s-%s", scratch("run"), method, net);
    snprintf(path, sizeof path, "%s/best.safetensors", folder);
    snprintf(bench, sizeof bench, "%s:1s@200", data);
    if (mete_data_make(&d, &parts) || mete_data_save(d, data, 1))
        abort();
    mete_data_close(d);
    bool gradient = strcmp(method, "maml") == 0;
    struct mete_train_options o = {.size = sizeof o,
                                   .bench = bench,
                                   .method = method,
                                   .net = net,
                                   .folder = folder,
                                   .set = gradient ? set : plain,
                                   .seed = 1,
                                   .threads = 1};
    if (mete_train(&o)) {
        fprintf(stderr, "training: %s\n", mete_errmsg());
        abort();
    }
    return path;
}

static struct mete_model *load(const char *path, const char *const *set)
{
    struct mete_model *m = NULL;
    struct mete_model_options o = {.size = sizeof o, .set = set};
    if (mete_model_load(&m, path, &o)) {
        fprintf(stderr, "load: %s\n", mete_errmsg());
        abort();
    }
    return m;
}

TEST(data_are_made_of_arrays_that_are_not_copied)
{
    struct mete_data *d = NULL;
    struct mete_data_parts parts = parts_of_pictures();
    struct mete_data_info info = {.size = sizeof info};
    struct mete_array x;
    const int32_t *y;
    CHECK_OK(mete_data_make(&d, &parts));
    CHECK_OK(mete_data_describe(d, &info));
    CHECK_EQ(info.classes, WAYS);
    CHECK_EQ(info.users, USERS);
    CHECK_OK(mete_data_arrays(d, &x, &y, NULL, NULL));
    CHECK(x.x == pictures && y == classes);
    CHECK_STR(mete_data_class(d, 4), "fünf");
    CHECK(!mete_data_class(d, 5) && !mete_data_user(d, 0));
    mete_data_close(d);
}

TEST(data_that_cannot_be_are_refused)
{
    struct mete_data *d = NULL;
    struct mete_data_parts parts = parts_of_pictures();
    static int32_t wrong[ITEMS];
    memcpy(wrong, classes, sizeof wrong);
    wrong[7] = -3;
    parts.y = wrong;
    CHECK(mete_data_make(&d, &parts) < 0);
    CHECK_HAS(mete_errmsg(), "item 7 has class -3");
    parts = parts_of_pictures();
    parts.size = 3;
    CHECK_EQ(mete_data_make(&d, &parts), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "mete_data_parts.size");
    parts = parts_of_pictures();
    parts.x.x = NULL;
    CHECK_EQ(mete_data_make(&d, &parts), METE_EINVAL);
    float rows[6] = {0, 1, 2, 3, NAN, 5};
    parts = (struct mete_data_parts){
        .size = sizeof parts,
        .x = {.x = rows, .items = 3, .h = 1, .w = 1, .c = 2, .is_float = 1},
        .y = classes};
    CHECK(mete_data_make(&d, &parts) < 0);
    CHECK_HAS(mete_errmsg(), "item 2, value 0");
    CHECK(d == NULL);
    CHECK_EQ(mete_data_describe(NULL, NULL), METE_EINVAL);
    mete_data_close(NULL);
}

/* A prediction under frozen statistics is the same alone and among others, to the bit. */
static void check_alone_and_together(const char *method, const char *net)
{
    struct mete_model *m = load(trained(method, net), NULL);
    float all[10 * WAYS], one[WAYS];
    struct mete_array support = items(0, 10), query = items(30, 10);
    CHECK_OK(mete_adapt(m, &support, classes));
    CHECK_OK(mete_predict(m, &query, all));
    for (int i = 0; i < 10; i++) {
        struct mete_array alone = items(30 + i, 1);
        CHECK_OK(mete_predict(m, &alone, one));
        CHECK(memcmp(one, all + i * WAYS, sizeof one) == 0);
    }
    mete_model_close(m);
}

TEST(alone_is_as_together)
{
    check_alone_and_together("protonet", "conv4");
    check_alone_and_together("maml", "conv4");
    check_alone_and_together("protonet", "mlp");
    check_alone_and_together("local", "mlp");
}

/* Saved with its task and loaded again it predicts the same, to the bit. */
static void check_saved(const char *method)
{
    struct mete_model *m = load(trained(method, "conv4"), NULL), *again;
    struct mete_model_info info = {.size = sizeof info};
    float before[10 * WAYS], after[10 * WAYS];
    struct mete_array support = items(0, 15), query = items(30, 10);
    static const char *const own[] = {"a", "b", "c", "d", "e"};
    CHECK_OK(mete_adapt(m, &support, classes));
    CHECK_OK(mete_predict(m, &query, before));
    CHECK_STR(mete_model_class(m, 2), "three \"3\"");
    CHECK_OK(mete_model_name_classes(m, own));
    CHECK_OK(mete_model_save(m, scratch("me.safetensors")));
    mete_model_close(m);
    again = load(scratch("me.safetensors"), NULL);
    CHECK_OK(mete_model_info(again, &info));
    CHECK(info.adapted && info.labelled == 15 && info.h == SIDE && info.ways == WAYS);
    CHECK_STR(info.method, method);
    CHECK_STR(mete_model_class(again, 4), "e");
    CHECK_OK(mete_predict(again, &query, after));
    CHECK(memcmp(before, after, sizeof before) == 0);
    CHECK_OK(mete_adapt(again, NULL, NULL)); /* as it was learned */
    CHECK_OK(mete_model_info(again, &info));
    CHECK(!info.adapted);
    mete_model_close(again);
}

TEST(an_adapted_model_is_saved_with_its_task)
{
    check_saved("protonet");
    check_saved("maml");
    check_saved("local");
}

TEST(tensors_go_out_and_in)
{
    struct mete_model *m = load(trained("maml", "conv4"), NULL);
    struct mete_model_info info = {.size = sizeof info};
    struct mete_tensor t;
    CHECK_OK(mete_model_info(m, &info));
    CHECK_STR(info.bn, "frozen");
    CHECK_EQ(info.tensors, 4 * 6 + 2);
    CHECK_OK(mete_model_tensor(m, 0, &t, NULL));
    CHECK_STR(t.name, "conv0.weight");
    CHECK(t.dims == 4 && t.shape[2] == 3);
    float *x = malloc((size_t)t.len * sizeof *x), *y = malloc((size_t)t.len * sizeof *y);
    for (int i = 0; i < t.len; i++)
        x[i] = (float)i / 1000;
    CHECK_OK(mete_model_set_tensor(m, t.name, x, t.len));
    CHECK_OK(mete_model_tensor(m, 0, NULL, y));
    CHECK(memcmp(x, y, (size_t)t.len * sizeof *x) == 0);
    CHECK_EQ(mete_model_set_tensor(m, t.name, x, t.len - 1), METE_EINVAL);
    CHECK_EQ(mete_model_set_tensor(m, "conv9.weight", x, t.len), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "no tensor 'conv9.weight'");
    x[3] = INFINITY;
    CHECK_EQ(mete_model_set_tensor(m, t.name, x, t.len), METE_EINVAL);
    CHECK_EQ(mete_model_tensor(m, info.tensors, &t, NULL), METE_EINVAL);
    free(x);
    free(y);
    mete_model_close(m);
}

TEST(what_cannot_be_asked_is_refused_by_a_sentence)
{
    static const char *const bn[] = {"net.bn=support", NULL};
    struct mete_model *m = load(trained("protonet", "conv4"), NULL);
    struct mete_array x = items(0, 10), odd = x;
    struct mete_model_info info = {.size = 0};
    float probs[10 * WAYS];
    int32_t y[10] = {0, 1, 2, 3, 4, 0, 1, 2, 3, WAYS};
    odd.w++;
    CHECK_EQ(mete_adapt(m, &odd, y), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "items of 16 x 17 x 1, and the model takes 16 x 16 x 1");
    CHECK_EQ(mete_adapt(m, &x, y), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "item 9 has the label 5, expected 0..4");
    CHECK_EQ(mete_adapt(m, &x, NULL), METE_EINVAL);
    odd = x;
    odd.is_float = 1;
    CHECK_EQ(mete_predict(m, &odd, probs), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "trained on uint8");
    CHECK_EQ(mete_predict(m, &x, NULL), METE_EINVAL);
    CHECK_EQ(mete_predict(m, NULL, probs), METE_EINVAL);
    CHECK_EQ(mete_predict(NULL, &x, probs), METE_EINVAL);
    CHECK_EQ(mete_adapt(NULL, &x, y), METE_EINVAL);
    CHECK_EQ(mete_model_info(m, &info), METE_EINVAL);
    CHECK_EQ(mete_model_save(m, scratch("none/such/folder")), METE_EIO);
    CHECK(mete_model_class(NULL, 0) == NULL && mete_model_says(NULL, "bench") == NULL);
    float rows[ITEM] = {0};
    rows[5] = NAN;
    odd = (struct mete_array){rows, 1, SIDE, SIDE, 1, 1, 1, 0};
    CHECK_EQ(mete_predict(m, &odd, probs), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "item 0, value 5 is nan");
    mete_model_close(m);
    m = load(trained("protonet", "conv4"), bn);
    CHECK_OK(mete_adapt(m, &x, classes));
    CHECK_OK(mete_predict(m, &x, probs));
    CHECK_EQ(mete_model_save(m, scratch("not.safetensors")), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "net.bn=running");
    mete_model_close(m);
}

TEST(bytes_are_a_model_and_damaged_ones_are_not)
{
    char *bytes = NULL;
    size_t n = 0;
    struct mete_model *m = NULL;
    CHECK_OK(file_read(trained("protonet", "conv4"), 1 << 24, &bytes, &n));
    CHECK_OK(mete_model_load_bytes(&m, bytes, n, NULL));
    mete_model_close(m);
    m = NULL;
    CHECK(mete_model_load_bytes(&m, bytes, n - 1, NULL) < 0);
    CHECK(mete_model_load_bytes(&m, bytes, 0, NULL) < 0);
    CHECK_EQ(mete_model_load_bytes(&m, NULL, n, NULL), METE_EINVAL);
    char *shape = memmem(bytes, n, "16,16,1", 7);
    CHECK(shape != NULL);
    memcpy(shape, "99,16,1", 7); /* a net of another size: no tensor is of it, or nothing shows */
    int err = mete_model_load_bytes(&m, bytes, n, NULL);
    CHECK(err == 0 || err == METE_EFORMAT);
    if (!err)
        mete_model_close(m);
    memcpy(shape, "xx,16,1", 7);
    m = NULL;
    CHECK_EQ(mete_model_load_bytes(&m, bytes, n, NULL), METE_EFORMAT);
    CHECK_HAS(mete_errmsg(), "input.shape");
    CHECK(m == NULL);
    free(bytes);
}

TEST(suggestions_are_of_what_is_not_known)
{
    static const char *const strategies[] = {"random", "active", "kmeans", "entropy", "badge"};
    struct mete_model *m = load(trained("protonet", "conv4"), NULL);
    struct mete_array pool = items(0, 40);
    int32_t known[40], picks[8], again[8], n, n_again;
    for (int i = 0; i < 40; i++)
        known[i] = i < 6 ? classes[i] : -1;
    for (int s = 0; s < 5; s++) {
        CHECK_OK(mete_suggest(m, strategies[s], &pool, known, 8, 1, picks, &n));
        CHECK_EQ(n, 8);
        for (int i = 0; i < n; i++) {
            CHECK(picks[i] >= 6 && picks[i] < 40);
            for (int k = 0; k < i; k++)
                CHECK(picks[i] != picks[k]);
        }
        CHECK_OK(mete_suggest(m, strategies[s], &pool, known, 8, 1, again, &n_again));
        CHECK(n == n_again && memcmp(picks, again, sizeof picks) == 0);
        CHECK_OK(mete_suggest(m, strategies[s], &pool, NULL, 8, 1, picks, &n));
        CHECK_EQ(n, 8);
    }
    CHECK_EQ(mete_suggest(m, "stratified", &pool, known, 8, 1, picks, &n), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "true labels");
    CHECK_EQ(mete_suggest(m, "activ", &pool, known, 8, 1, picks, &n), METE_EINVAL);
    known[10] = 77;
    CHECK_EQ(mete_suggest(m, "active", &pool, known, 8, 1, picks, &n), METE_EINVAL);
    memcpy(known, classes, sizeof known);
    CHECK_OK(mete_suggest(m, "active", &pool, known, 8, 1, picks, &n));
    CHECK_EQ(n, 0);
    mete_model_close(m);
}

struct work {
    struct mete_model *m;
    float probs[10 * WAYS];
    int err;
};

static void *use(void *user)
{
    struct work *w = user;
    struct mete_array support = items(0, 10), query = items(30, 10);
    for (int i = 0; i < 20 && !w->err; i++) {
        w->err = mete_adapt(w->m, &support, classes);
        if (!w->err)
            w->err = mete_predict(w->m, &query, w->probs);
    }
    return NULL;
}

TEST(two_threads_use_two_models)
{
    const char *path = trained("maml", "conv4");
    struct work w[2] = {{.m = load(path, NULL)}, {.m = load(path, NULL)}};
    pthread_t other;
    CHECK_EQ(pthread_create(&other, NULL, use, &w[1]), 0);
    use(&w[0]);
    pthread_join(other, NULL);
    CHECK(!w[0].err && !w[1].err);
    CHECK(memcmp(w[0].probs, w[1].probs, sizeof w[0].probs) == 0);
    mete_model_close(w[0].m);
    mete_model_close(w[1].m);
}

TEST(a_thousand_models_are_opened_and_closed)
{
    char *bytes = NULL;
    size_t n = 0;
    CHECK_OK(file_read(trained("protonet", "mlp"), 1 << 24, &bytes, &n));
    for (int i = 0; i < 1000; i++) {
        struct mete_model *m = NULL;
        CHECK_OK(mete_model_load_bytes(&m, bytes, n, NULL));
        mete_model_close(m);
    }
    free(bytes);
}

int main(int argc, char **argv)
{
    static const struct test tests[] = {T(data_are_made_of_arrays_that_are_not_copied),
                                        T(data_that_cannot_be_are_refused),
                                        T(alone_is_as_together),
                                        T(an_adapted_model_is_saved_with_its_task),
                                        T(tensors_go_out_and_in),
                                        T(what_cannot_be_asked_is_refused_by_a_sentence),
                                        T(bytes_are_a_model_and_damaged_ones_are_not),
                                        T(suggestions_are_of_what_is_not_known),
                                        T(two_threads_use_two_models),
                                        T(a_thousand_models_are_opened_and_closed)};
    draw_pictures();
    return test_main(tests, (int)(sizeof tests / sizeof *tests), argc > 1 ? argv[1] : NULL);
}
