/* test_learner.c - the learner's table: what is made on the host of a learner that gives
 * probabilities and representations alone, what is refused, and its tensors in files.
 */
#include "driver/stub.h"
#include "test.h"

#include "kernel/selection.h"
#include "run/model.h"

#include <unistd.h>

enum { ITEMS = 40, WAYS = 4, TASKS = 3 };

static int32_t classes[ITEMS], item[ITEMS];
static const struct dataset data = {.items = ITEMS, .classes = WAYS, .users = 1, .y = classes};

static struct learner *open_stub(struct stub *s)
{
    struct learner_source source = {stub_open, s};
    struct learner_spec spec = {.data = &data, .ways = WAYS, .meta_batch = 2};
    struct learner *l = NULL;
    for (int i = 0; i < ITEMS; i++) {
        item[i] = i;
        classes[i] = i * 7 % WAYS;
    }
    s->users = true;
    return source.open(source.user, &spec, &l) ? NULL : l;
}

/* Task t: items t.. as a support, and the rest after them to be predicted. */
static void tasks_make(struct items support[TASKS], struct items query[TASKS])
{
    for (int t = 0; t < TASKS; t++) {
        support[t] = (struct items){item + t, classes + t, 4 + t};
        query[t] = (struct items){item + 10, NULL, 20 + 2 * t};
    }
}

TEST(entropies_and_clusters_are_made_of_probabilities_and_representations)
{
    struct stub s = {0};
    struct learner *l = open_stub(&s);
    struct items support[TASKS], query[TASKS];
    static float probs[TASKS][ITEMS * WAYS], reps[TASKS][ITEMS * STUB_FEATURES],
        entropy[TASKS][ITEMS];
    float *probs_to[TASKS] = {probs[0], NULL, probs[2]}, *reps_to[TASKS] = {NULL, reps[1], NULL},
          *entropy_to[TASKS] = {entropy[0], entropy[1], NULL};
    struct clustering c[TASKS];
    static int32_t row[ITEMS], cluster[TASKS][ITEMS], nearest[TASKS][3];
    static const double draw[2] = {0.5, 0.5};
    s.theta = 5;
    tasks_make(support, query);
    CHECK_OK(learner_adapt(l, TASKS, support));
    struct predicted out = {probs_to, reps_to, entropy_to, true};
    CHECK_OK(learner_predict(l, TASKS, query, &out));
    for (int t = 0; t < TASKS; t++)
        for (int i = 0; i < query[t].n; i++) {
            float p[WAYS];
            double h = 0;
            stub_probs(&data, true, 5, WAYS, &support[t], query[t].at[i], p);
            for (int k = 0; k < WAYS; k++) {
                h -= p[k] > 0 ? p[k] * log((double)p[k]) : 0;
                CHECK(t == 1 || probs[t][i * WAYS + k] == p[k]);
            }
            CHECK(t == 2 || fabs(entropy[t][i] - h) < 1e-6);
            CHECK(t != 1 || reps[t][i * STUB_FEATURES] ==
                                (float)stub_hash((uint64_t)classes[query[t].at[i]], 0, 5));
        }
    /* Items of a class have one representation: clusters are classes, less one for k = 3. */
    for (int t = 0; t < TASKS; t++) {
        for (int i = 0; i < ITEMS; i++)
            row[i] = i;
        c[t] = (struct clustering){.row = row, .n = query[t].n, .k = 3, .rounds = 10};
        c[t].draw = draw;
        c[t].cluster = cluster[t];
        c[t].nearest = nearest[t];
    }
    CHECK_OK(learner_cluster(l, TASKS, c));
    for (int t = 0; t < TASKS; t++) {
        CHECK_EQ(c[t].found, 3);
        for (int i = 0; i + WAYS < query[t].n; i++)
            CHECK_EQ(cluster[t][i], cluster[t][i + WAYS]);
    }
    learner_close(l);
    stub_release(&s);
}

TEST(calls_out_of_order_are_refused)
{
    struct stub s = {0};
    struct learner *l = open_stub(&s);
    struct items support[TASKS], query[TASKS];
    struct clustering c[TASKS] = {{0}};
    static float reps[TASKS][ITEMS * STUB_FEATURES];
    float *reps_to[TASKS] = {reps[0], reps[1], reps[2]};
    tasks_make(support, query);
    CHECK_EQ(learner_predict(l, 1, query, &(struct predicted){0}), METE_EINVAL);
    CHECK_OK(learner_adapt(l, TASKS, support));
    CHECK_EQ(learner_predict(l, 2, query, &(struct predicted){0}), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "predicting for 2 tasks after adapting to 3");
    CHECK_OK(learner_predict(l, TASKS, query, &(struct predicted){.reps = reps_to}));
    CHECK_EQ(learner_cluster(l, TASKS, c), METE_EINVAL); /* nobody said so before */
    CHECK_OK(learner_predict(l, TASKS, query, &(struct predicted){.clusters = true}));
    CHECK_EQ(learner_cluster(l, 2, c), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "clusters of 2 tasks after predicting for 3");
    CHECK_OK(learner_adapt(l, TASKS, support)); /* the predictions before are gone */
    CHECK_EQ(learner_cluster(l, TASKS, c), METE_EINVAL);
    s.most = 1;
    CHECK_EQ(learner_adapt(l, TASKS, support), METE_ENOMEM);
    CHECK_EQ(learner_predict(l, TASKS, query, &(struct predicted){0}), METE_EINVAL);
    l->is.features = 0;
    s.most = 0;
    CHECK_OK(learner_adapt(l, TASKS, support));
    CHECK_EQ(learner_predict(l, TASKS, query, &(struct predicted){.clusters = true}), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "the learner 'stub' has no representations");
    learner_close(l);
    learner_close(NULL);
    stub_release(&s);
}

TEST(slots_may_be_left_empty)
{
    struct stub s = {0};
    struct learner *l = open_stub(&s);
    struct learner_ops fewest = stub_ops;
    fewest.finite = NULL;
    l->ops = &fewest;
    CHECK(learner_finite(l));
    CHECK_OK(learner_wait(l));
    learner_leave(l);
    CHECK_NEAR(learner_flops(l, 5, 5), 0, 0);
    learner_close(l);
    stub_release(&s);
}

TEST(a_model_is_read_as_it_was_written_and_another_is_refused)
{
    char path[TEMP_SIZE];
    struct stub s = {0};
    struct learner *l = open_stub(&s);
    struct tensors model;
    close(mkstemp(temp_name(path, "mete-model-XXXXXX")));
    s.theta = 11;
    CHECK_OK(learner_save(l, LEARNER_MODEL, &model));
    CHECK_OK(model_write(path, &model, NULL, 0));
    s.theta = 0; /* its bytes are fewer */
    CHECK_OK(model_read(path, l));
    CHECK_EQ(s.theta, 11);
    tensors_release(&model);
    /* without its bytes; with a shape of its own; in doubles, which are floats enough */
    int64_t one = 1, two = 2;
    *(float *)tensors_add(&model, "theta", DTYPE_F32, 1, &one) = 3;
    CHECK_OK(model_write(path, &model, NULL, 0));
    CHECK_EQ(model_read(path, l), METE_EFORMAT);
    CHECK_HAS(mete_errmsg(), "blob");
    tensors_release(&model);
    tensors_add(&model, "theta", DTYPE_F32, 1, &two);
    tensors_add(&model, "blob", DTYPE_U8, 1, &two);
    CHECK_OK(model_write(path, &model, NULL, 0));
    CHECK_EQ(model_read(path, l), METE_EFORMAT);
    CHECK_HAS(mete_errmsg(), "theta");
    tensors_release(&model);
    *(double *)tensors_add(&model, "theta", DTYPE_F64, 1, &one) = 1;
    memset(tensors_add(&model, "blob", DTYPE_U8, 1, &two), 1, 2);
    CHECK_OK(model_write(path, &model, NULL, 0));
    CHECK_OK(model_read(path, l));
    CHECK_EQ(s.theta, 1);
    tensors_release(&model);
    unlink(path);
    learner_close(l);
    stub_release(&s);
}

TEST(tensors_are_listed_and_read_under_a_prefix)
{
    char path[TEMP_SIZE];
    struct tensors a = {0}, b = {0}, in = {0};
    struct safetensor out[3];
    struct safetensors *f = NULL;
    const int64_t shape[2] = {2, 3};
    close(mkstemp(temp_name(path, "mete-model-XXXXXX")));
    float *x = tensors_add(&a, "x", DTYPE_F32, 2, shape);
    int64_t *n = tensors_add(&a, "n", DTYPE_I64, 0, NULL),
            *m = tensors_add(&b, "n", DTYPE_I64, 0, NULL);
    for (int i = 0; i < 6; i++)
        x[i] = (float)i / 2;
    *n = INT64_MIN + 5;
    *m = 7;
    int count = tensors_list(&a, "", out, 0);
    CHECK_EQ(count, 2);
    count = tensors_list(&b, "@", out, count);
    CHECK_EQ(count, 3);
    CHECK_STR(out[2].name, "@n");
    CHECK_OK(safetensors_write(path, out, count, NULL, 0));
    tensors_names_free(out, 0, count);
    tensors_add(&in, "n", DTYPE_I64, 0, NULL);
    CHECK_OK(safetensors_open(&f, path));
    CHECK_OK(tensors_read(&in, f, "@"));
    CHECK_EQ(*(const int64_t *)tensors_find(&in, "n")->data, 7);
    CHECK_OK(tensors_read(&in, f, ""));
    CHECK_EQ(*(const int64_t *)tensors_find(&in, "n")->data, INT64_MIN + 5);
    CHECK(tensors_find(&in, "x") == NULL);
    tensors_add(&in, "x", DTYPE_F32, 2, shape);
    CHECK_OK(tensors_read(&in, f, ""));
    CHECK(memcmp(tensors_find(&in, "x")->data, x, 6 * sizeof *x) == 0);
    CHECK_EQ(tensors_read(&in, f, "@"), METE_EFORMAT); /* there is no @x */
    safetensors_close(f);
    unlink(path);
    tensors_release(&a);
    tensors_release(&b);
    tensors_release(&in);
}

TESTS(T(entropies_and_clusters_are_made_of_probabilities_and_representations),
      T(calls_out_of_order_are_refused), T(slots_may_be_left_empty),
      T(a_model_is_read_as_it_was_written_and_another_is_refused),
      T(tensors_are_listed_and_read_under_a_prefix))
