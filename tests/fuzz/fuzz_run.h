/* fuzz_run.h - files that a run reads again, of a small run that is opened once: a dataset of 24
 * classes, and the checkpoint and collection of a training that was stopped half way.
 *
 * An input is the whole file, or, where its first byte is odd, pieces laid over a good one: two
 * bytes of place and eight of value each, so that sums of lengths stay right and numbers do not.
 */
#ifndef FUZZ_RUN_H
#define FUZZ_RUN_H

#include "fuzz_import.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/safetensors.h"
#include "run/experiment.h"
#include "run/model.h"

static struct {
    struct shelf *shelf;
    struct settings settings;
    char folder[256];
    uint8_t *good[3]; /* checkpoint, collection, model; without their sums */
    size_t size[3];
} fuzz_run;
static const char *const fuzz_files[] = {"checkpoint.safetensors", "collection.safetensors",
                                         "model.safetensors"};

static struct dataset *fuzz_dataset(void)
{
    enum { CLASSES = 24, EACH = 12, N = CLASSES * EACH };
    int32_t *y = mem_array(N, sizeof *y);
    uint8_t *x = mem_array(N, 4);
    struct dataset parts = {.name = (char *)"fuzz",
                            .items = N,
                            .classes = CLASSES,
                            .h = 2,
                            .w = 2,
                            .c = 1,
                            .scale = 1 / 255.0f,
                            .x = x,
                            .y = y};
    for (int i = 0; i < 4 * N; i++)
        x[i] = (uint8_t)(i * 37 + i / 4 % CLASSES * 9);
    for (int i = 0; i < N; i++)
        y[i] = i % CLASSES;
    struct dataset *d = NULL;
    HOLDS(dataset_from_memory(&d, &parts) == 0);
    return d;
}

/* The file as it was written, but for the sum, which would hide all that comes after it. */
static void fuzz_keep(int which, const char *path)
{
    struct safetensors *f = NULL;
    struct safetensor all[64];
    HOLDS(safetensors_open(&f, path) == 0);
    int n = safetensors_count(f);
    for (int i = 0; i < n && i < 64; i++)
        all[i] = *safetensors_at(f, i);
    HOLDS(n <= 64 && safetensors_write(fuzz_path("plain"), all, n, NULL, 0) == 0);
    safetensors_close(f);
    HOLDS(file_read(fuzz_path("plain"), 1 << 24, (char **)&fuzz_run.good[which],
                    &fuzz_run.size[which]) == 0);
}

static void fuzz_trainer(const struct experiment *x, struct trainer *t)
{
    *t = (struct trainer){
        .setup = (struct setup *)&x->setup,
        .learner = x->learner,
        .tasks = x->train,
        .ledger = x->ledger,
        .seed = x->seed,
        .folder = fuzz_run.folder,
        .validation = {
            .tasks = x->val, .part = SPLIT_VAL, .support = (struct labeller *)&x->judge, .n = 4}};
}

static void fuzz_open(struct experiment *x)
{
    struct experiment_options o = {.threads = 1, .folder = fuzz_run.folder};
    HOLDS(experiment_open(x, &fuzz_run.settings, fuzz_run.shelf, &o) == 0);
}

static void fuzz_run_open(void)
{
    if (fuzz_run.shelf)
        return;
    char bench[300];
    struct run_rules own;
    struct dataset *d = fuzz_dataset();
    HOLDS(dataset_write(fuzz_path("data"), d, false) == 0);
    dataset_close(d);
    snprintf(bench, sizeof bench, "bench=%s:2w-1s@40", fuzz_path("data"));
    const char *set[] = {bench,
                         "method=maml",
                         "net=mlp",
                         "labels=random",
                         "seed=1",
                         "net.hidden=4",
                         "train.steps=8",
                         "train.meta_batch=2",
                         "train.validate_every=2",
                         "train.val_tasks=4",
                         NULL};
    snprintf(fuzz_run.folder, sizeof fuzz_run.folder, "%s", fuzz_path("run"));
    HOLDS(shelf_open(&fuzz_run.shelf) == 0);
    struct config_rules rules = run_rules(&own, fuzz_run.shelf);
    HOLDS(config_resolve(&fuzz_run.settings, set, &rules) == 0);
    struct experiment x;
    struct trainer t;
    struct tensors model;
    fuzz_open(&x);
    fuzz_trainer(&x, &t);
    t.setup->train.steps = 4;
    HOLDS(train(&t) == 0 && t.step == 4 && t.bought.n > 0);
    HOLDS(checkpoint_write(&t) == 0);
    HOLDS(learner_save(x.learner, LEARNER_MODEL, &model) == 0);
    HOLDS(model_write(fuzz_path("model"), &model, NULL, 0) == 0);
    tensors_release(&model);
    trainer_release(&t);
    experiment_close(&x);
    char path[512];
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", fuzz_run.folder, fuzz_files[i]);
        fuzz_keep(i, path);
    }
    fuzz_keep(2, fuzz_path("model"));
}

/* The file that an input stands for; free() it. */
static uint8_t *fuzz_file(int which, const uint8_t *data, size_t size, size_t *out)
{
    bool pieces = size > 0 && data[0] & 1;
    *out = pieces ? fuzz_run.size[which] : size;
    uint8_t *file = mem_alloc(*out + 1);
    memcpy(file, pieces ? fuzz_run.good[which] : data, *out);
    for (size_t at = 1; pieces && at + 10 <= size; at += 10) {
        size_t place = (size_t)(data[at] | data[at + 1] << 8) % (*out - 8);
        memcpy(file + place, data + at + 2, 8);
    }
    return file;
}

/* Goes on from a checkpoint and a collection, one of them of the input; what is believed must be
 * of this run. */
static inline void fuzz_resume(int which, const uint8_t *data, size_t size)
{
    struct experiment x;
    struct trainer t;
    char path[512];
    fuzz_run_open();
    size_t n;
    uint8_t *file = fuzz_file(which, data, size, &n);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "run/%s", fuzz_files[i]);
        fuzz_write(path, i == which ? file : fuzz_run.good[i], i == which ? n : fuzz_run.size[i]);
    }
    fuzz_open(&x);
    fuzz_trainer(&x, &t);
    if (checkpoint_read(&t) == 0) {
        HOLDS(t.step >= 0 && t.step <= t.setup->train.steps && t.best_step <= t.step);
        HOLDS(t.asked == t.bought.n && t.n_history > 0);
        for (int i = 0; i < t.bought.n; i++) {
            const struct episode *e = &t.bought.at[i];
            for (int k = 0; k < e->n_support; k++)
                HOLDS(e->support[k] >= 0 && e->support[k] < x.data->items &&
                      e->support_label[k] >= 0 && e->support_label[k] < 2);
            for (int k = 0; k < e->n_query; k++)
                HOLDS(e->query[k] >= 0 && e->query[k] < x.data->items && e->query_label[k] >= 0 &&
                      e->query_label[k] < 2);
        }
    } else {
        HOLDS(t.unusable && *mete_errmsg());
    }
    trainer_release(&t);
    experiment_close(&x);
    free(file);
}

#endif
