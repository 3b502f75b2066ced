/* test_unlabelled.c - items without a label: from every importer, and none of them in a task. */
#include "data/content.h"
#include "data/dataset.h"
#include "task/ledger.h"
#include "task/task.h"
#include "base/npy.h"
#include "test.h"
#include "files.h"
#include "tiny.h"

static int import(const char *kind, const char *const *paths, const char *const *settings,
                  const char *name)
{
    shell("rm -rf '%s'", scratch(name), "");
    struct mete_import_options o = {
        .size = sizeof o, .kind = kind, .paths = paths, .dir = scratch(name), .settings = settings};
    return mete_data_import(&o);
}

#define PATHS(...)                                                                                 \
    (const char *[])                                                                               \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

static int import_table(const char *csv, const char *const *settings)
{
    char path[512];
    snprintf(path, sizeof path, "%s", scratch("t.csv"));
    write_text(path, csv);
    return import("table", PATHS(path), settings, "table");
}

/* Opens a dataset of the scratch folder and compares its labels. */
static struct dataset *opened(const char *name, int classes, const int32_t *y, int n)
{
    struct dataset *d = NULL;
    int err = dataset_open(&d, scratch(name));
    bool same = !err && d->items == n && d->classes == classes;
    for (int i = 0; i < n && same; i++)
        same = d->y[i] == y[i];
    if (same)
        return d;
    fprintf(stderr, "%s: %s\n", name, err ? mete_errmsg() : "other labels");
    dataset_close(d);
    return NULL;
}

#define CHECK_LABELS(name, classes, ...)                                                           \
    do {                                                                                           \
        const int32_t y_[] = {__VA_ARGS__};                                                        \
        struct dataset *d_ = opened(name, classes, y_, (int)(sizeof y_ / sizeof *y_));             \
        CHECK(d_);                                                                                 \
        dataset_close(d_);                                                                         \
    } while (0)

TEST(blank_cells_of_a_table_are_no_labels)
{
    static const char csv[] = "a,b,who\n1,x,u\n5,,u\n3,y,v\n, ,v\n7,x,v\n"; /* a missing number */
    CHECK_OK(import_table(csv, PATHS("label=b", "user=who")));
    CHECK_LABELS("table", 2, 0, -1, 1, -1, 0);
    struct mete_data_info info = {.size = sizeof info};
    CHECK_OK(mete_data_info(scratch("table"), &info));
    CHECK_EQ(info.unlabelled, 2);
    CHECK_EQ(info.per_class.most, 2);
    CHECK_OK(import_table(csv, PATHS("label=b", "user=who", "classes=z,y,x")));
    CHECK_LABELS("table", 3, 0, -1, 1, -1, 0);
}

TEST(a_table_without_any_label_has_the_classes_that_are_named_or_none)
{
    CHECK_OK(import_table("a,b\n1,\n5,\n3,\n", PATHS("label=b")));
    CHECK_LABELS("table", 0, -1, -1, -1);
    CHECK_OK(import_table("a,b\n1,1\n5,4\n3,2\n", PATHS("classes=no,yes")));
    CHECK_LABELS("table", 2, -1, -1, -1);
    CHECK_OK(import("table", PATHS(scratch("t.csv")), PATHS("classes=no,yes"), "before"));
    char like[600];
    snprintf(like, sizeof like, "like=%s", scratch("before"));
    CHECK_OK(import_table("a,b\n1,1\n", PATHS(like)));
    CHECK_LABELS("table", 2, -1);
    struct mete_sheet_options sheet = {
        .size = sizeof sheet, .name = scratch("table"), .path = scratch("s.png")};
    CHECK_EQ(mete_data_sheet(&sheet), METE_EINVAL);
}

TEST(minus_one_in_numpy_is_no_label)
{
    char x[512], y[512];
    int64_t n = 4, labels[] = {7, -1, 3, -1}, signs[] = {1, -1, 1, -1}, none[] = {-1, -1, -1, -1};
    double rows[] = {1, 2, 3, 4};
    snprintf(x, sizeof x, "%s", scratch("x.npy"));
    snprintf(y, sizeof y, "%s", scratch("y.npy"));
    CHECK_OK(npy_write(x, DTYPE_F64, 2, (int64_t[]){4, 1}, rows));
    CHECK_OK(npy_write(y, DTYPE_I64, 1, &n, labels));
    CHECK_OK(import("arrays", PATHS(x, y), NULL, "arrays"));
    CHECK_LABELS("arrays", 2, 1, -1, 0, -1);
    CHECK_OK(import("arrays", PATHS(x, y), PATHS("unlabelled=no"), "arrays"));
    CHECK_LABELS("arrays", 3, 2, 0, 1, 0);
    CHECK_OK(npy_write(y, DTYPE_I64, 1, &n, none));
    CHECK_OK(import("arrays", PATHS(x, y), NULL, "arrays"));
    CHECK_LABELS("arrays", 0, -1, -1, -1, -1);
    CHECK_OK(npy_write(y, DTYPE_I64, 1, &n, signs));
    CHECK_EQ(import("arrays", PATHS(x, y), NULL, "arrays"), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "--set unlabelled=no");
}

TEST(a_user_of_leaf_without_y_has_no_labels)
{
    shell("mkdir -p '%s/leaf/train'", scratch(""), "");
    write_text(scratch("leaf/train/a.json"),
               "{\"user_data\": {\"ann\": {\"x\": [[1, 2], [1, 2], [5, 6]]},"
               "\"bob\": {\"x\": [[7, 8], [9, 9]], \"y\": [3, -1]}}}");
    CHECK_OK(import("leaf", PATHS(scratch("leaf")), PATHS("classes=5"), "leaf-out"));
    CHECK_LABELS("leaf-out", 5, -1, -1, 3, -1); /* ann's repeat is dropped all the same */
}

TEST(a_folder_named_unlabelled_is_no_class)
{
    NEED_ARCHIVE;
    static const uint8_t pixels[16];
    size_t size;
    static const char *const names[] = {"p/ann/cat/1.png", "p/ann/unlabelled/1.png",
                                        "p/bob/dog/1.png", "p/bob/Unlabeled/1.png"};
    for (int i = 0; i < 4; i++) {
        void *png = png_bytes(pixels, 4, 4, 1, &size);
        char path[512];
        snprintf(path, sizeof path, "%s", scratch(names[i]));
        shell("mkdir -p \"$(dirname '%s')\"", path, "");
        write_bytes(path, png, size);
        free(png);
    }
    CHECK_OK(import("folder", PATHS(scratch("p")), PATHS("users=yes"), "folder"));
    CHECK_LABELS("folder", 2, 0, -1, -1, 1);
}

/* A tiny dataset without the labels of its users' last items. */
static struct dataset *half_known(int users)
{
    struct dataset *d = tiny_dataset(4, 40, users);
    for (int64_t i = 0; i < d->items; i += 3)
        ((int32_t *)(uintptr_t)d->y)[i] = NO_LABEL;
    return d;
}

TEST(tasks_are_of_labelled_items_alone)
{
    for (int users = 0; users <= 8; users += 8) {
        struct dataset *d = half_known(users);
        struct bench b = {.dataset = "tiny", .ways = users ? 0 : 2, .shots = 1};
        struct task_settings s;
        struct budget_settings budget;
        struct tasks *t = NULL;
        struct ledger *l = NULL;
        struct task task = {0};
        param_defaults(task_params, &s);
        param_defaults(budget_params, &budget);
        snprintf(s.split, sizeof s.split, "2:1:1");
        CHECK_OK(tasks_open(&t, d, &b, &s, 1));
        CHECK_OK(ledger_open(&l, t, &budget, users ? 30 : 0, true)); /* prices all training items */
        for (int i = 0; i < 40; i++) {
            CHECK_OK(task_draw(t, SPLIT_TRAIN, i, &task));
            for (int k = 0; k < task.n_pool; k++)
                CHECK(d->y[task.pool[k]] != NO_LABEL);
            for (int k = 0; k < task.n_query; k++)
                CHECK(d->y[task.query[k]] != NO_LABEL);
        }
        task_release(&task);
        ledger_close(l);
        tasks_close(t);
        dataset_close(d);
    }
}

TEST(without_any_label_there_are_no_tasks)
{
    struct dataset *d = tiny_dataset(2, 8, 4);
    struct bench b = {.dataset = "tiny", .shots = 1};
    struct task_settings s;
    struct tasks *t = NULL;
    param_defaults(task_params, &s);
    for (int64_t i = 0; i < d->items; i++)
        ((int32_t *)(uintptr_t)d->y)[i] = NO_LABEL;
    CHECK_EQ(tasks_open(&t, d, &b, &s, 1), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "tiny has no labels yet");
    dataset_close(d);
}

TESTS(T(blank_cells_of_a_table_are_no_labels),
      T(a_table_without_any_label_has_the_classes_that_are_named_or_none),
      T(minus_one_in_numpy_is_no_label), T(a_user_of_leaf_without_y_has_no_labels),
      T(a_folder_named_unlabelled_is_no_class), T(tasks_are_of_labelled_items_alone),
      T(without_any_label_there_are_no_tasks))
