/* test_questions.c - which items to ask about, with and without a model. */
#include "people/questions.h"
#include "test.h"
#include "files.h"
#include "pictures.h"

#include <math.h>
#include <string.h>

/* Four heaps of points far apart, of 10, 6, 4 and 2 items; a column without any variation. */
enum { HEAPS = 4, POINTS = 22 };
static const int heap_size[HEAPS] = {10, 6, 4, 2};

static struct dataset *heaps(int *heap)
{
    struct dataset d = {.name = "heaps", .items = POINTS, .classes = 2, .h = 1, .w = 1, .c = 3};
    float *x = mem_array(3 * POINTS, sizeof *x);
    int32_t *y = mem_array(POINTS, sizeof *y);
    int i = 0;
    for (int h = 0; h < HEAPS; h++)
        for (int k = 0; k < heap_size[h]; k++, i++) {
            heap[i] = h;
            y[i] = NO_LABEL;
            x[3 * i] = (float)(h % 2 * 1000) + 0.1f * (float)k;
            x[3 * i + 1] = (float)(h / 2) * 0.01f;
            x[3 * i + 2] = 7;
        }
    d.is_float = true;
    d.scale = 1;
    d.x = x;
    d.y = y;
    struct dataset *out = NULL;
    if (dataset_from_memory(&out, &d))
        abort();
    return out;
}

static struct pool pool_of(int n)
{
    struct pool p = {mem_array((size_t)n, sizeof *p.item), mem_array((size_t)n, sizeof *p.known),
                     n};
    for (int i = 0; i < n; i++) {
        p.item[i] = i;
        p.known[i] = -1;
    }
    return p;
}

static void pool_free(struct pool *p)
{
    free(p->item);
    free(p->known);
}

TEST(without_a_model_every_heap_is_asked_about_whatever_its_columns_units)
{
    int heap[POINTS], seen[HEAPS] = {0}, n;
    struct dataset *d = heaps(heap);
    struct questions *q = NULL;
    struct pool p = pool_of(POINTS);
    struct picked out[POINTS];
    CHECK_OK(questions_open(&q, &(struct questions_options){.data = d}));
    CHECK_OK(questions_pick(q, &p, HEAPS, 1, out, &n));
    CHECK_EQ(n, HEAPS);
    for (int i = 0; i < n; i++) {
        seen[heap[out[i].at]]++;
        CHECK(out[i].cluster >= 0 && out[i].guess == -1 && isnan(out[i].entropy));
        CHECK_EQ(heap[out[i].at], i); /* the largest first */
    }
    for (int h = 0; h < HEAPS; h++)
        CHECK_EQ(seen[h], 1);
    questions_close(q);
    pool_free(&p);
    dataset_close(d);
}

TEST(what_is_known_is_not_asked_about_again_nor_is_its_like)
{
    int heap[POINTS], n;
    struct dataset *d = heaps(heap);
    struct pool p = pool_of(POINTS);
    struct picked out[POINTS];
    double doubt, less;
    p.known[3] = 0;  /* of the first heap */
    p.known[12] = 1; /* of the second */
    for (int s = 0; s < 2; s++) {
        struct questions *q = NULL;
        const char *strategy = s ? "kcenter" : "kmeans";
        CHECK_OK(questions_open(&q, &(struct questions_options){.data = d, .strategy = strategy}));
        CHECK_OK(questions_pick(q, &p, 2, 1, out, &n));
        CHECK_EQ(n, 2);
        CHECK_EQ(heap[out[0].at] + heap[out[1].at], 2 + 3);
        CHECK_OK(questions_pick(q, &p, 100, 1, out, &n));
        CHECK_EQ(n, POINTS - 2);
        for (int i = 0; i < n; i++)
            CHECK(p.known[out[i].at] < 0);
        CHECK_OK(questions_doubt(q, &p, &doubt));
        p.known[20] = 1; /* an answer about a heap of which nothing was known */
        CHECK_OK(questions_doubt(q, &p, &less));
        p.known[20] = -1;
        CHECK(less < doubt);
        questions_close(q);
    }
    pool_free(&p);
    dataset_close(d);
}

TEST(of_a_large_pool_a_part_is_looked_at_and_what_is_known_is_not_asked)
{
    enum { MANY = 6000, KNOWN = 500, WANT = 7 };
    struct dataset *d = NULL, parts = {.name = "many", .items = MANY, .classes = 2, .h = 1, .w = 1};
    float *x = mem_array(2 * MANY, sizeof *x);
    int32_t *y = mem_array(MANY, sizeof *y);
    struct rng r = rng_make(1, RNG_TEST, 0, 0);
    struct picked out[WANT], again[WANT];
    int n, m;
    for (int i = 0; i < MANY; i++) {
        x[2 * i] = (float)rng_normal(&r);
        x[2 * i + 1] = (float)rng_normal(&r);
        y[i] = NO_LABEL;
    }
    parts.c = 2;
    parts.is_float = true;
    parts.scale = 1;
    parts.x = x;
    parts.y = y;
    CHECK_OK(dataset_from_memory(&d, &parts));
    struct questions *q = NULL;
    struct pool p = pool_of(MANY);
    for (int i = 0; i < KNOWN; i++)
        p.known[i * 11] = i % 2;
    CHECK_OK(questions_open(&q, &(struct questions_options){.data = d}));
    CHECK_OK(questions_pick(q, &p, WANT, 1, out, &n));
    CHECK_OK(questions_pick(q, &p, WANT, 1, again, &m));
    CHECK(n == WANT && m == WANT);
    for (int i = 0; i < n; i++) {
        CHECK(out[i].at >= 0 && out[i].at < MANY && p.known[out[i].at] < 0);
        CHECK_EQ(out[i].at, again[i].at);
        for (int k = 0; k < i; k++)
            CHECK(out[i].at != out[k].at);
    }
    questions_close(q);
    pool_free(&p);
    dataset_close(d);
}

TEST(strategies_that_cannot_be_asked_are_refused)
{
    int heap[POINTS];
    struct dataset *d = heaps(heap);
    struct questions *q = NULL;
    static const char *const names[] = {"entropy", "active", "badge", "stratified", "kmaens"};
    static const char *const says[] = {"no", "there is none", "there is none", "true labels",
                                       "kmeans"};
    for (int i = 1; i < 5; i++) {
        CHECK_EQ(questions_open(&q, &(struct questions_options){.data = d, .strategy = names[i]}),
                 METE_EINVAL);
        CHECK(strstr(mete_errmsg(), says[i]));
    }
    CHECK_EQ(questions_open(&q, &(struct questions_options){.data = d, .model = "nowhere"}),
             METE_EIO);
    CHECK_EQ(questions_open(&q, &(struct questions_options){.data = d, .model = scratch("")}),
             METE_EINVAL);
    CHECK(strstr(mete_errmsg(), "best.safetensors"));
    dataset_close(d);
}

/* ---- with a model ---- */

static const char *trained(const char *data)
{
    static char path[256];
    static const char *const set[] = {"train.steps=6", "train.val_tasks=2", "test.tasks=4", NULL};
    char bench[200];
    snprintf(path, sizeof path, "%s", scratch("run"));
    snprintf(bench, sizeof bench, "%s:1s@200", data);
    struct mete_train_options o = {.size = sizeof o,
                                   .bench = bench,
                                   .method = "protonet",
                                   .net = "conv4",
                                   .folder = path,
                                   .set = set,
                                   .seed = 1,
                                   .threads = 1};
    if (mete_train(&o))
        fprintf(stderr, "training: %s\n", mete_errmsg());
    return path;
}

TEST(a_model_is_asked_in_the_words_of_the_dataset)
{
    char data[128];
    struct mete_data *made = NULL;
    struct mete_data_parts parts = parts_of_pictures();
    snprintf(data, sizeof data, "%s", scratch("data"));
    CHECK_OK(mete_data_make(&made, &parts));
    CHECK_OK(mete_data_save(made, data, 1));
    mete_data_close(made);
    struct dataset *d = NULL;
    struct questions *q = NULL;
    CHECK_OK(dataset_find(&d, data));
    /* the same classes the other way round, and one that the model does not know */
    const char *names[WAYS + 1];
    for (int k = 0; k < WAYS; k++)
        names[WAYS - k] = d->class_names[k];
    names[0] = "new";
    struct questions_options o = {
        .data = d, .classes = names, .n_classes = WAYS + 1, .model = trained(data)};
    o.strategy = "entropy";
    CHECK_OK(questions_open(&q, &o));
    struct pool p = pool_of((int)d->items);
    for (int i = 0; i < p.n; i++)
        p.known[i] = i % 3 ? -1 : i % 2 ? 0 : WAYS - d->y[i];
    struct picked out[8];
    float *probs = mem_array((size_t)p.n * (WAYS + 1), sizeof *probs);
    int n;
    CHECK_OK(questions_pick(q, &p, 4, 1, out, &n));
    CHECK_EQ(n, 4);
    CHECK_OK(questions_adapt(q, &p));
    CHECK_OK(questions_predict(q, p.item, p.n, probs));
    for (int i = 0; i < n; i++) {
        const float *at = probs + out[i].at * (WAYS + 1);
        CHECK_EQ(p.known[out[i].at], -1);
        CHECK(out[i].guess > 0 && at[out[i].guess] == out[i].sure && at[0] == 0);
        CHECK(i == 0 || out[i].entropy <= out[i - 1].entropy);
    }
    double doubt;
    CHECK_OK(questions_doubt(q, &p, &doubt));
    CHECK(doubt > 0 && doubt <= log(WAYS));
    questions_close(q);
    free(probs);
    pool_free(&p);
    dataset_close(d);
}

int main(int argc, char **argv)
{
    static const struct test tests[] = {
        T(without_a_model_every_heap_is_asked_about_whatever_its_columns_units),
        T(what_is_known_is_not_asked_about_again_nor_is_its_like),
        T(of_a_large_pool_a_part_is_looked_at_and_what_is_known_is_not_asked),
        T(strategies_that_cannot_be_asked_are_refused),
        T(a_model_is_asked_in_the_words_of_the_dataset)};
    draw_pictures();
    return test_main(tests, (int)(sizeof tests / sizeof *tests), argc > 1 ? argv[1] : NULL);
}
