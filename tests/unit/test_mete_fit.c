/* test_mete_fit.c - training from a program: events, stopping, no folder, two at a time. */
#include <string.h>
#include "test.h"
#include "files.h"
#include "pictures.h"

#include <dirent.h>
#include <pthread.h>
#include <unistd.h>

static const char *const settings[] = {"train.steps=12",
                                       "train.meta_batch=2",
                                       "test.tasks=4",
                                       "train.val_tasks=2",
                                       "net.filters=4",
                                       "train.validate_every=4",
                                       NULL};

struct watched {
    int steps, valids, tests, work;
    int64_t stop_at, last; /* -1: never */
    double done;
    bool backwards;
};

static int watch(void *user, const struct mete_event *e)
{
    struct watched *w = user;
    w->backwards = w->backwards || e->done < w->done;
    w->done = e->done;
    w->steps += e->kind == METE_STEP;
    w->work += e->kind == METE_WORK;
    w->tests += e->kind == METE_TEST && e->test && e->test->accuracy >= 0;
    if (e->kind == METE_VALID) {
        w->valids++;
        w->last = e->step;
        if (!(e->accuracy >= 0 && e->accuracy <= 1 && (e->step == 0 || e->labels > 0)))
            w->backwards = true;
    }
    return w->stop_at >= 0 && e->step >= w->stop_at;
}

static struct mete_fit_options fitting(const struct mete_data *d, struct watched *w)
{
    return (struct mete_fit_options){.size = sizeof(struct mete_fit_options),
                                     .data = d,
                                     .bench = "1s@200",
                                     .method = "protonet",
                                     .set = settings,
                                     .seed = 1,
                                     .threads = 1,
                                     .no_folder = 1,
                                     .event = watch,
                                     .user = w};
}

static struct mete_data *data(void)
{
    struct mete_data *d = NULL;
    struct mete_data_parts parts = parts_of_pictures();
    if (mete_data_make(&d, &parts))
        abort();
    return d;
}

static int files_in(const char *folder)
{
    DIR *dir = opendir(folder);
    int n = 0;
    for (struct dirent *e; dir && (e = readdir(dir));)
        n += e->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return n;
}

TEST(it_tells_and_hands_over_a_model_and_leaves_no_file)
{
    struct watched w = {.stop_at = -1};
    struct mete_data *d = data();
    struct mete_fit_options o = fitting(d, &w);
    struct mete_model *m = NULL;
    struct mete_array support = items(0, 10), query = items(20, 4);
    float probs[4 * WAYS];
    char before[4096], empty[256];
    CHECK(getcwd(before, sizeof before) != NULL);
    snprintf(empty, sizeof empty, "%s", scratch("empty"));
    shell("mkdir -p '%s'", empty, "");
    CHECK_EQ(chdir(empty), 0);
    int err = mete_fit(&o, &m);
    int left = files_in(".");
    CHECK_EQ(chdir(before), 0);
    CHECK_OK(err);
    CHECK_EQ(left, 0);
    CHECK_EQ(w.steps, 12);
    CHECK_EQ(w.valids, 4); /* also before the first step */
    CHECK_EQ(w.last, 12);
    CHECK_EQ(w.tests, 4); /* best and last, at 1 and 5 shots */
    CHECK(!w.backwards && w.done == 1);
    CHECK_STR(mete_model_says(m, "bench"), "bars:1s@200");
    CHECK_STR(mete_model_class(m, 1), "two");
    CHECK_OK(mete_adapt(m, &support, classes));
    CHECK_OK(mete_predict(m, &query, probs));
    mete_model_close(m);
    mete_data_close(d);
}

TEST(a_model_of_data_in_memory_is_that_of_the_same_data_on_the_disk)
{
    struct mete_data *d = data();
    struct watched w = {.stop_at = -1};
    struct mete_fit_options o = fitting(d, &w);
    struct mete_model *m[2] = {NULL, NULL};
    void *bytes[2] = {NULL, NULL};
    size_t size[2] = {0, 0};
    char bench[256];
    CHECK_OK(mete_fit(&o, &m[0]));
    CHECK_OK(mete_data_save(d, scratch("bars"), 0));
    snprintf(bench, sizeof bench, "%s:1s@200", scratch("bars"));
    char folder[256];
    snprintf(folder, sizeof folder, "%s", scratch("folder"));
    o.data = NULL;
    o.bench = bench;
    o.no_folder = 0;
    o.folder = folder;
    w = (struct watched){.stop_at = -1};
    CHECK_OK(mete_fit(&o, &m[1]));
    CHECK(files_in(folder) > 3);
    struct mete_model_info info = {.size = sizeof info};
    CHECK_OK(mete_model_info(m[0], &info));
    for (int i = 0; i < info.tensors; i++) {
        struct mete_tensor t;
        float a[20000], b[20000];
        CHECK_OK(mete_model_tensor(m[0], i, &t, a));
        CHECK_OK(mete_model_tensor(m[1], i, &t, b));
        CHECK(memcmp(a, b, (size_t)t.len * sizeof *a) == 0);
    }
    for (int i = 0; i < 2; i++) {
        CHECK_OK(mete_model_bytes(m[i], &bytes[i], &size[i]));
        mete_model_close(m[i]);
        m[i] = NULL;
        CHECK_OK(mete_model_load_bytes(&m[i], bytes[i], size[i], NULL));
        mete_model_close(m[i]);
        mete_free(bytes[i]);
    }
    mete_data_close(d);
}

TEST(it_stops_when_asked_and_hands_over_nothing)
{
    struct watched w = {.stop_at = 5};
    struct mete_data *d = data();
    struct mete_fit_options o = fitting(d, &w);
    struct mete_model *m = NULL;
    CHECK_EQ(mete_fit(&o, &m), METE_ESTOPPED);
    CHECK_HAS(mete_errmsg(), "step 5");
    CHECK(m == NULL);
    CHECK_EQ(w.steps, 5);
    w = (struct watched){.stop_at = 0};
    CHECK_EQ(mete_fit(&o, &m), METE_ESTOPPED);
    mete_data_close(d);
}

struct other {
    struct mete_fit_options o;
    int err;
};

static void *fit(void *user)
{
    struct other *t = user;
    t->err = mete_fit(&t->o, NULL);
    return NULL;
}

TEST(two_trainings_stop_separately)
{
    struct mete_data *d = data();
    struct watched stops = {.stop_at = 3}, goes_on = {.stop_at = -1};
    struct other one = {.o = fitting(d, &stops)}, two = {.o = fitting(d, &goes_on)};
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, fit, &one), 0);
    fit(&two);
    pthread_join(thread, NULL);
    CHECK_EQ(one.err, METE_ESTOPPED);
    CHECK_EQ(two.err, 0);
    CHECK_EQ(goes_on.steps, 12);
    CHECK_EQ(stops.steps, 3);
    mete_data_close(d);
}

TEST(what_cannot_be_trained_is_refused)
{
    static const char *const folds[] = {"data.folds=3", NULL};
    struct watched w = {.stop_at = -1};
    struct mete_data *d = data();
    struct mete_fit_options o = fitting(d, NULL);
    struct mete_model *m = NULL;
    o.event = NULL; /* nobody is told */
    o.bench = NULL;
    CHECK_EQ(mete_fit(&o, &m), METE_EINVAL);
    o.bench = "99999w-1s";
    CHECK_EQ(mete_fit(&o, &m), METE_EINVAL);
    o = fitting(d, &w);
    o.size = 1;
    CHECK_EQ(mete_fit(&o, &m), METE_EINVAL);
    o = fitting(d, &w);
    o.set = folds;
    CHECK_EQ(mete_fit(&o, &m), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "data.folds");
    CHECK_EQ(w.steps, 0);
    CHECK(m == NULL);
    mete_data_close(d);
}

int main(int argc, char **argv)
{
    static const struct test tests[] = {
        T(it_tells_and_hands_over_a_model_and_leaves_no_file),
        T(a_model_of_data_in_memory_is_that_of_the_same_data_on_the_disk),
        T(it_stops_when_asked_and_hands_over_nothing), T(two_trainings_stop_separately),
        T(what_cannot_be_trained_is_refused)};
    draw_pictures();
    return test_main(tests, (int)(sizeof tests / sizeof *tests), argc > 1 ? argv[1] : NULL);
}
