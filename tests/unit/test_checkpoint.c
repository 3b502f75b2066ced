/* test_checkpoint.c - resuming from a checkpoint that is damaged or forged: it is used as it was
 * written, or not at all. */
#include "test.h"
#include "files.h"
#include "tiny.h"
#include "base/file.h"
#include "base/safetensors.h"
#include "mete.h"

#include <sys/stat.h>

enum { STEPS = 12, STOP_AT = 7 };

static const char *const settings[] =
    {/* a forged file names no setting, as those of an older mete */
     "method.absent=origin",   "net.hidden=4",        "train.steps=12",      "train.meta_batch=2",
     "train.validate_every=3", "train.val_tasks=4",   "test.tasks=4",        "budget.grow=schedule",
     "budget.grow_first=3",    "budget.grow_tasks=3", "budget.grow_every=3", NULL};

static int stop_there(void *user, const struct mete_progress *p)
{
    return p->done / p->total >= *(double *)user;
}

static const char *benchmark(void)
{
    static char name[600];
    if (!*name) {
        struct dataset *d = tiny_dataset(24, 12, 0);
        snprintf(name, sizeof name, "%s:2w-1s@50", scratch("data"));
        if (dataset_write(scratch("data"), d, false) != 0)
            abort();
        dataset_close(d);
    }
    return name;
}

static int train_in(const char *folder)
{
    struct mete_train_options o = {.size = sizeof o,
                                   .bench = benchmark(),
                                   .method = "maml",
                                   .net = "mlp",
                                   .labels = "active",
                                   .folder = folder,
                                   .set = settings,
                                   .seed = 1,
                                   .threads = 1};
    return mete_train(&o);
}

static char *bytes_of(const char *folder, const char *file, size_t *size)
{
    char path[600], *out = NULL;
    snprintf(path, sizeof path, "%s/%s", folder, file);
    if (file_read(path, 1 << 24, &out, size) != 0)
        abort();
    return out;
}

static const char *const left[] = {"checkpoint.safetensors", "collection.safetensors"};

/* What a run that was stopped leaves, and what an undisturbed one ends with. */
static struct {
    char *file[2], *model;
    size_t size[2], model_size;
} made;

static void make(void)
{
    double at = (double)STOP_AT / STEPS;
    if (made.model)
        return;
    if (train_in(scratch("whole")) != 0)
        abort();
    made.model = bytes_of(scratch("whole"), "last.safetensors", &made.model_size);
    mete_progress_to(stop_there, &at);
    if (train_in(scratch("stopped")) != METE_ESTOPPED)
        abort();
    mete_progress_to(NULL, NULL);
    for (int i = 0; i < 2; i++)
        made.file[i] = bytes_of(scratch("stopped"), left[i], &made.size[i]);
}

/* Goes on from the files as they are given; whether the run ends as an undisturbed one. */
static bool resumes_right(char *const file[2], const size_t size[2], bool *refused)
{
    const char *folder = scratch("resumed");
    char path[600];
    struct stat st;
    size_t n = 0;
    shell("rm -rf '%s'", folder, "");
    mkdir(folder, 0777);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, left[i]);
        write_bytes(path, file[i], size[i]);
    }
    int err = train_in(folder);
    if (err) {
        fprintf(stderr, "%s\n", mete_errmsg());
        return false;
    }
    char *model = bytes_of(folder, "last.safetensors", &n);
    bool same = n == made.model_size && memcmp(model, made.model, n) == 0;
    free(model);
    snprintf(path, sizeof path, "%s/%s.unusable", folder, left[0]);
    *refused = stat(path, &st) == 0;
    return same;
}

TEST(an_undamaged_one_is_used)
{
    bool refused;
    make();
    CHECK(resumes_right(made.file, made.size, &refused));
    CHECK(!refused);
}

/* A bit flipped, bytes overwritten, a piece cut off, anywhere. */
TEST(a_damaged_one_is_refused)
{
    struct rng r = rng_make(7, RNG_TEST, 0, 0);
    make();
    for (int i = 0; i < 200; i++) {
        int which = (int)rng_below(&r, 2);
        char *copy[2] = {made.file[0], made.file[1]};
        size_t size[2] = {made.size[0], made.size[1]}, at = rng_below(&r, (uint32_t)size[which]);
        copy[which] = mem_alloc(size[which]);
        memcpy(copy[which], made.file[which], size[which]);
        if (i % 3 == 0)
            copy[which][at] ^= (char)(1 << rng_below(&r, 8));
        else if (i % 3 == 1)
            memset(copy[which] + at, (int)rng_below(&r, 256), size[which] - at < 9 ? 1 : 9);
        else
            size[which] = at;
        bool refused, right = resumes_right(copy, size, &refused);
        bool unchanged = size[which] == made.size[which] &&
                         memcmp(copy[which], made.file[which], size[which]) == 0;
        free(copy[which]);
        if (!right || (!refused && !unchanged && at > 8))
            FAIL_TEST("mutation %d of %s at %zu: %s", i, left[which], at,
                      right ? "is used" : "another model");
    }
}

/* `value` into element `at` of a tensor, from the end where that is below 0; the new data. */
static void *patch(struct safetensor *all, int n, const char *name, int64_t at, double value)
{
    void *changed = NULL;
    for (int i = 0; i < n; i++) {
        struct ndarray *a = &all[i].array;
        if (strcmp(all[i].name, name) != 0)
            continue;
        changed = mem_alloc(a->bytes);
        memcpy(changed, a->data, a->bytes);
        a->data = changed;
        at += at < 0 ? ndarray_count(a) : 0;
        if (a->dtype == DTYPE_I64)
            ((int64_t *)changed)[at] = (int64_t)value;
        else if (a->dtype == DTYPE_I32)
            ((int32_t *)changed)[at] = (int32_t)value;
        else if (a->dtype == DTYPE_F64)
            ((double *)changed)[at] = value;
        else if (a->dtype == DTYPE_F32)
            ((float *)changed)[at] = (float)value;
        else
            memcpy((char *)changed + at, &(int32_t){(int32_t)value}, 4);
    }
    if (!changed)
        abort();
    return changed;
}

/* A file whose sum is right, made by hand; the last validation is of the forged step. */
static int forge(int which, const char *name, int64_t at, double value, char *out[2],
                 size_t size[2])
{
    enum { FIELDS = 7 }; /* of a validation */
    struct safetensors *f = NULL;
    struct safetensor all[64];
    const char *path = scratch("forged");
    int err = safetensors_open_memory(&f, left[which], made.file[which], made.size[which]);
    int n = err ? 0 : safetensors_count(f);
    for (int i = 0; i < n; i++)
        all[i] = *safetensors_at(f, i);
    bool step = strcmp(name, "@counters") == 0 && at == 0;
    void *changed = patch(all, n, name, at, value);
    void *too = step ? patch(all, n, "@history", -FIELDS, value) : NULL;
    if (!err)
        err = safetensors_write_summed(path, all, n, NULL, 0);
    for (int i = 0; i < 2; i++) {
        out[i] = made.file[i];
        size[i] = made.size[i];
    }
    if (!err)
        err = file_read(path, 1 << 24, &out[which], &size[which]);
    safetensors_close(f);
    free(changed);
    free(too);
    return err;
}

TEST(a_forged_one_is_refused)
{
    static const struct {
        int which;
        const char *name;
        int64_t at;
        double value;
    } forgeries[] = {
        /* steps, asked, no room, bought, rows, labels, tasks, best step */
        {0, "@counters", 0, -1},
        {0, "@counters", 0, 4611686018427387904.0},
        {0, "@counters", 0, 13},
        {0, "@counters", 1, -1},
        {0, "@counters", 1, 4611686018427387904.0},
        {0, "@counters", 2, 7},
        {0, "@counters", 3, -1},
        {0, "@counters", 3, 1e9},
        {0, "@counters", 3, 4294967296.0 + 3},
        {0, "@counters", 4, -1},
        {0, "@counters", 4, 4611686018427387904.0},
        {0, "@counters", 5, -1},
        {0, "@counters", 6, -1},
        {0, "@counters", 7, -1},
        {0, "@counters", 7, 4611686018427387904.0},
        {0, "@steps", 0, -1},
        {0, "@steps", 0, 4611686018427387904.0},
        {0, "@reals", 0, -1},
        {0, "@reals", 0, (double)NAN},
        {0, "@reals", 0, 1e300},
        {0, "@reals", 1, (double)NAN},
        {0, "@reals", 1, 2},
        {0, "@labels", 0, -1},
        {0, "@labels", 0, 1e18},
        {0, "@labels", 1, 3},
        {0, "@labels", 2, -1},
        {0, "@labels", 3, 1e9},
        {0, "@history", 0, 1e300},
        {0, "@history", 0, (double)NAN},
        {0, "@history", 4, 2},
        {0, "@best/fc0.weight", 3, (double)NAN},
        {0, "@adam_m", 0, (double)INFINITY},
        {0, "fc0.weight", 0, (double)NAN},
        /* of a task: its number (two), user, ways, how many of support and query, then items and
         * labels */
        {1, "tasks", 0, -1},
        {1, "tasks", 0, 5},
        {1, "tasks", 1, -1},
        {1, "tasks", 2, 3},
        {1, "tasks", 3, 100000},
        {1, "tasks", 4, -1},
        {1, "tasks", 4, 1},
        {1, "tasks", 4, 1e9},
        {1, "tasks", 5, -1},
        {1, "tasks", 5, 2147483647},
        {1, "tasks", 6, -1},
        {1, "tasks", 6, 100000},
        {1, "tasks", 6, 1},
        {1, "tasks", 8, -1},
        {1, "tasks", 8, 100000},
        {1, "tasks", 10, -1},
        {1, "tasks", 10, 100000},
        /* of a row of the ledger: item and class */
        {1, "rows", 8, -1},
        {1, "rows", 8, 100000},
        {1, "rows", 12, -1},
        {1, "rows", 12, 100000},
        {1, "rows", 20, 3}, /* its kind */
        {1, "rows", 20, 0},
        {1, "rows", 20, -1},
    };
    make();
    for (size_t i = 0; i < sizeof forgeries / sizeof *forgeries; i++) {
        char *file[2];
        size_t size[2];
        bool refused = false;
        CHECK_OK(forge(forgeries[i].which, forgeries[i].name, forgeries[i].at, forgeries[i].value,
                       file, size));
        bool right = resumes_right(file, size, &refused);
        free(file[forgeries[i].which]);
        if (!right || !refused)
            FAIL_TEST("%s[%lld] = %g: %s", forgeries[i].name, (long long)forgeries[i].at,
                      forgeries[i].value, right ? "is used" : "another model");
    }
}

TEST(what_was_made_is_given_back)
{
    free(made.file[0]);
    free(made.file[1]);
    free(made.model);
    CHECK(true);
}

TESTS(T(an_undamaged_one_is_used), T(a_damaged_one_is_refused), T(a_forged_one_is_refused),
      T(what_was_made_is_given_back))
