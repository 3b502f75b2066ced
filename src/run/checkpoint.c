/* checkpoint.c - a run's state on disk.
 *
 * Two files, each written whole or not at all: collection.safetensors, the tasks
 * bought and the ledger, rewritten when they grew; checkpoint.safetensors, the
 * learner's model (the engine's weights have PyTorch's names), the rest of the
 * learner's state, the best model, counters and history.  The collection may be ahead of the
 * checkpoint, never behind: what is past the checkpoint's counters is dropped.
 *
 * Each carries the SHA-256 of its data, and all that is read is checked besides: counters against
 * the settings, tasks and labels against the dataset, validations against each other.
 */
#include "run/train.h"
#include "run/identity.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum counters {
    C_STEP,
    C_ASKED,
    C_SPENT,
    C_BOUGHT,
    C_ROWS,
    C_LABELS,
    C_TASKS,
    C_BEST_STEP,
    COUNTERS
};
enum sums { S_SPENT, S_SUPPORT, S_QUERY, S_UNIQUE, SUMS }; /* of the ledger */
enum { HISTORY_FIELDS = 7 };

static void path_of(char out[4096], const char *folder, const char *file)
{
    snprintf(out, 4096, "%s/%s", folder, file);
}

void checkpoint_remove(const char *folder)
{
    static const char *const files[] = {"checkpoint.safetensors", "collection.safetensors"};
    for (int i = 0; i < 2; i++) {
        char path[4096];
        path_of(path, folder, files[i]);
        if (unlink(path) != 0 && errno != ENOENT) {
            log_warn("cannot remove %s: %s", path, strerror(errno));
            return; /* a checkpoint is of no use without its collection */
        }
    }
}

static struct safetensor vector_of(const char *name, enum dtype type, int64_t n, const void *data)
{
    return (struct safetensor){name, {.dtype = type, .rank = 1, .shape = {n}, .data = data}};
}

static int write_collection(const struct trainer *t)
{
    char path[4096];
    const struct ledger_row *rows;
    int64_t n = ledger_rows(t->ledger, &rows);
    int32_t *flat;
    size_t len = collection_flatten(&t->bought, &flat);
    const struct safetensor out[] = {
        vector_of("tasks", DTYPE_I32, (int64_t)len, flat),
        vector_of("rows", DTYPE_U8, n * (int64_t)sizeof *rows, rows),
    };
    path_of(path, t->folder, "collection.safetensors");
    int err = safetensors_write_summed(path, out, 2, NULL, 0);
    free(flat);
    return err;
}

/* The model by its tensors' names; then everything else by names with an '@', which no model uses:
 * @NAME of the learner's other state, @best/NAME of the best model. */
static int write_state(struct trainer *t, const int64_t counters[COUNTERS], const double reals[2])
{
    struct tensors model, training = {0};
    int err = learner_save(t->learner, LEARNER_MODEL, &model);
    if (!err)
        err = learner_save(t->learner, LEARNER_TRAINING, &training);
    if (err) {
        tensors_release(&model);
        return err;
    }
    struct safetensor *out = mem_array((size_t)(model.n + training.n + t->best.n + 6), sizeof *out);
    int n = tensors_list(&model, "", out, 0);
    n = tensors_list(&training, "@", out, n);
    n = tensors_list(&t->best, "@best/", out, n);
    int named = n;
    char path[4096];
    double(*history)[HISTORY_FIELDS] = mem_array((size_t)t->n_history, sizeof *history);
    for (int i = 0; i < t->n_history; i++) {
        const struct store_checkpoint *h = &t->history[i];
        memcpy(history[i],
               (double[]){(double)h->step, (double)h->tasks, (double)h->labels, h->train_loss,
                          h->accuracy, h->half, h->loss},
               sizeof history[i]);
    }
    out[n++] = vector_of("@history", DTYPE_F64, (int64_t)t->n_history * HISTORY_FIELDS, history);
    out[n++] = vector_of("@counters", DTYPE_I64, COUNTERS, counters);
    out[n++] = vector_of("@reals", DTYPE_F64, 2, reals);
    struct ledger_totals totals = ledger_totals(t->ledger);
    const int64_t sums[SUMS] = {[S_SPENT] = totals.spent,
                                [S_SUPPORT] = totals.kinds[KIND_SUPPORT],
                                [S_QUERY] = totals.kinds[KIND_QUERY],
                                [S_UNIQUE] = totals.unique};
    int64_t items = 0;
    const uint8_t *seen = ledger_seen(t->ledger, &items);
    out[n++] = vector_of("@labels", DTYPE_I64, SUMS, sums);
    if (seen)
        out[n++] = vector_of("@seen", DTYPE_U8, items, seen);
    if (t->redraw.shown)
        out[n++] = vector_of("@shown", DTYPE_U8, tasks_dataset(t->tasks)->items, t->redraw.shown);
    path_of(path, t->folder, "checkpoint.safetensors");
    int n_meta = 0;
    struct safetensors_pair *meta = settings_pairs(t->settings, &n_meta);
    err = safetensors_write_summed(path, out, n, meta, n_meta);
    free(meta);
    tensors_names_free(out, 0, named);
    free(out);
    free(history);
    tensors_release(&model);
    tensors_release(&training);
    return err;
}

int checkpoint_write(struct trainer *t)
{
    struct ledger_totals totals = ledger_totals(t->ledger);
    const struct ledger_row *rows;
    const int64_t counters[COUNTERS] = {[C_STEP] = t->step,
                                        [C_ASKED] = t->asked,
                                        [C_SPENT] = t->spent,
                                        [C_BOUGHT] = t->bought.n,
                                        [C_ROWS] = ledger_rows(t->ledger, &rows),
                                        [C_LABELS] = totals.labels,
                                        [C_TASKS] = totals.tasks,
                                        [C_BEST_STEP] = t->best_step};
    const double reals[2] = {money_labels(totals.spent), t->best_accuracy};
    int err = file_make_folder(t->folder);
    if (!err && (t->bought.n != t->written || counters[C_ROWS] != t->written_rows)) {
        err = write_collection(t);
        t->written = t->bought.n;
        t->written_rows = counters[C_ROWS];
    }
    return err ? err : write_state(t, counters, reals);
}

/* ---- reading ---- */

static int get(const struct safetensors *f, const char *name, enum dtype type, int64_t n,
               const struct ndarray **out)
{
    return safetensors_get(f, name, DTYPE_SET(type), 1, &n, out);
}

static bool within(int64_t n, int64_t least, int64_t most)
{
    return n >= least && n <= most;
}

/* What no run of these settings can have, whatever wrote it. */
static int check_counters(const struct trainer *t, const int64_t *c, const double reals[2])
{
    const struct train_settings *s = &t->setup->train;
    bool classical = ledger_cap(t->ledger) == 0;
    int64_t asked = classical ? c[C_STEP] * s->meta_batch : c[C_BOUGHT];
    if (!within(c[C_STEP], 0, s->steps) || !within(c[C_BEST_STEP], 0, c[C_STEP]))
        return fail(METE_EFORMAT, "step %lld of %d, best at %lld", (long long)c[C_STEP], s->steps,
                    (long long)c[C_BEST_STEP]);
    if (!within(c[C_BOUGHT], 0, classical ? 0 : INT32_MAX) || !within(c[C_ROWS], 0, INT64_MAX) ||
        !within(c[C_LABELS], 0, INT64_MAX) || !within(c[C_SPENT], 0, 1) || c[C_ASKED] != asked ||
        c[C_TASKS] != asked || !(reals[0] >= 0))
        return fail(METE_EFORMAT, "%lld tasks of %lld asked for, %lld labels, %g spent",
                    (long long)c[C_TASKS], (long long)c[C_ASKED], (long long)c[C_LABELS], reals[0]);
    if (!(reals[1] >= 0 && reals[1] <= 1))
        return fail(METE_EFORMAT, "a best accuracy of %g", reals[1]);
    return 0;
}

static bool is_money(double labels)
{
    return labels >= 0 && labels <= (double)MONEY_MAX / MILLIONTHS;
}

/* Rows of older collections have costs as doubles, and no kind: they had no validation. */
static int convert_rows(struct ledger_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double old[2];
        memcpy(old, &rows[i].cost, sizeof old);
        if (!is_money(old[0]) || !is_money(old[1]))
            return fail(METE_EFORMAT, "ledger row %zu: a cost of %g, %g in total", i, old[0],
                        old[1]);
        rows[i].cost = llround(old[0] * MILLIONTHS);
        rows[i].total = llround(old[1] * MILLIONTHS);
        rows[i].kind = rows[i].round < 0 ? KIND_QUERY : KIND_SUPPORT;
    }
    return 0;
}

static int read_rows(struct trainer *t, const int64_t *counters, struct ledger_row **out)
{
    char path[4096];
    struct safetensors *f = NULL;
    const struct ndarray *tasks, *ledger;
    if (counters[C_BOUGHT] == 0 && counters[C_ROWS] == 0)
        return 0;
    path_of(path, t->folder, "collection.safetensors");
    int err = safetensors_open(&f, path);
    bool older = !err && !safetensors_find(f, "rows");
    if (!err)
        err = safetensors_verify(f);
    if (!err)
        err = get(f, "tasks", DTYPE_I32, -1, &tasks);
    if (!err)
        err = get(f, older ? "ledger" : "rows", DTYPE_U8, -1, &ledger);
    if (!err && ledger->bytes / sizeof **out < (size_t)counters[C_ROWS])
        err = fail(METE_EFORMAT, "%s: has fewer ledger rows than the checkpoint says", path);
    if (!err) {
        /* copies, since a mapping promises no alignment */
        int32_t *flat = NULL;
        err = mem_try(&flat, tasks->bytes, 1, path);
        if (!err)
            err = mem_try(out, ledger->bytes, 1, path);
        if (!err) {
            memcpy(flat, tasks->data, tasks->bytes);
            memcpy(*out, ledger->data, ledger->bytes);
            if (older)
                err = convert_rows(*out, ledger->bytes / sizeof **out);
        }
        if (!err)
            err = collection_restore(&t->bought, t->tasks, SPLIT_TRAIN, flat,
                                     tasks->bytes / sizeof *flat, counters[C_BOUGHT]);
        free(flat);
    }
    safetensors_close(f);
    return err;
}

/* Validations in order, the last at this step; one of them is the best. */
static int check_history(const double (*h)[HISTORY_FIELDS], int64_t n, const int64_t *counters,
                         double best)
{
    bool right = n > 0, found = false;
    for (int64_t i = 0; i < n && right; i++) {
        right = h[i][0] > (i ? h[i - 1][0] : -1) && h[i][0] <= (double)counters[C_STEP] &&
                h[i][1] >= 0 && h[i][1] <= (double)counters[C_TASKS] && h[i][2] >= 0 &&
                h[i][2] <= (double)counters[C_LABELS] && h[i][4] >= 0 && h[i][4] <= best;
        found = found || (h[i][0] == (double)counters[C_BEST_STEP] && h[i][4] == best);
    }
    right = right && found && h[n - 1][0] == (double)counters[C_STEP];
    return right ? 0 : fail(METE_EFORMAT, "validations that no run can have had");
}

/* The tasks bought, and the ledger with its sums. */
static int read_collection(struct trainer *t, const struct safetensors *f, const int64_t *counters,
                           double spent)
{
    struct ledger_totals totals = {.spent = is_money(spent) ? llround(spent * MILLIONTHS) : -1,
                                   .labels = counters[C_LABELS],
                                   .tasks = counters[C_TASKS],
                                   .kinds = {-1, -1},
                                   .unique = -1};
    struct ledger_row *rows = NULL;
    const struct ndarray *sums, *seen = safetensors_find(f, "@seen");
    int64_t items = 0, sum[SUMS];
    int err = 0;
    if (safetensors_find(f, "@labels") && !(err = get(f, "@labels", DTYPE_I64, SUMS, &sums))) {
        ndarray_to_int64(sums, sum);
        totals.spent = sum[S_SPENT];
        totals.kinds[KIND_SUPPORT] = sum[S_SUPPORT];
        totals.kinds[KIND_QUERY] = sum[S_QUERY];
        totals.unique = sum[S_UNIQUE];
        bool right =
            sum[S_SPENT] >= 0 && money_labels(sum[S_SPENT]) == spent &&
            within(sum[S_UNIQUE], -1, totals.labels) && within(sum[S_SUPPORT], -1, totals.labels) &&
            within(sum[S_QUERY], -1, totals.labels) && (sum[S_SUPPORT] < 0) == (sum[S_QUERY] < 0) &&
            (sum[S_QUERY] < 0 || sum[S_SUPPORT] == totals.labels - sum[S_QUERY]);
        if (!right)
            err = fail(METE_EFORMAT, "counts of labels that no run can have had");
    }
    if (!err && totals.spent < 0)
        err = fail(METE_EFORMAT, "%g labels' worth was spent", spent);
    ledger_seen(t->ledger, &items);
    if (!err && seen)
        err = get(f, "@seen", DTYPE_U8, items, &seen);
    if (!err)
        err = read_rows(t, counters, &rows);
    if (!err)
        err = ledger_restore(t->ledger, totals, rows, counters[C_ROWS],
                             seen ? (const uint8_t *)seen->data : NULL);
    free(rows);
    return err;
}

static struct store_checkpoint validation_of(const double row[HISTORY_FIELDS], int shots)
{
    return (struct store_checkpoint){.step = (int64_t)row[0],
                                     .shots = shots,
                                     .tasks = (int64_t)row[1],
                                     .labels = (int64_t)row[2],
                                     .train_loss = row[3],
                                     .accuracy = row[4],
                                     .half = row[5],
                                     .loss = row[6]};
}

static int read_history(struct trainer *t, const struct safetensors *f, const int64_t *counters,
                        double best)
{
    const struct ndarray *a;
    int err = get(f, "@history", DTYPE_F64, -1, &a);
    if (err)
        return err;
    int64_t n = ndarray_count(a) / HISTORY_FIELDS;
    double(*h)[HISTORY_FIELDS] = NULL;
    err = mem_try(&h, (size_t)n + 1, sizeof *h, "a checkpoint");
    if (err)
        return err;
    ndarray_to_double(a, h[0]);
    err = check_history((const double(*)[HISTORY_FIELDS])h, n, counters, best);
    if (!err)
        t->history = mem_grow(t->history, (size_t)n + 1, sizeof *t->history);
    for (t->n_history = 0; t->n_history < n && !err; t->n_history++)
        t->history[t->n_history] = validation_of(h[t->n_history], t->setup->train.val_shots);
    free(h);
    return err;
}

/* Checkpoints of before learners (tests/old) have the optimiser's steps among the counters, and the
 * best model's tensors as one row. */
static int read_older(const struct safetensors *f, struct tensors *training, struct tensors *best)
{
    const struct ndarray *a;
    int err = 0;
    for (int i = 0; i < training->n && !err; i++) {
        struct safetensor *one = &training->at[i];
        char name[64];
        snprintf(name, sizeof name, "@%s", one->name);
        if (strcmp(one->name, "steps") == 0) {
            int64_t counters[COUNTERS + 1];
            err = get(f, "@counters", DTYPE_I64, COUNTERS + 1, &a);
            if (!err)
                ndarray_to_int64(a, counters);
            if (!err)
                *(int64_t *)one->array.data = counters[1];
        } else if (!(err = get(f, name, DTYPE_F32, ndarray_count(&one->array), &a))) {
            ndarray_to_float(a, (float *)one->array.data);
        }
    }
    int64_t len = 0;
    for (int i = 0; i < best->n; i++)
        len += ndarray_count(&best->at[i].array);
    if (!err)
        err = get(f, "@best", DTYPE_F32, len, &a);
    if (err)
        return err;
    float *row = mem_array((size_t)len + 1, sizeof *row), *at = row;
    ndarray_to_float(a, row);
    for (int i = 0; i < best->n; i++) {
        struct ndarray *to = &best->at[i].array;
        memcpy((void *)to->data, at, to->bytes);
        at += ndarray_count(to);
    }
    free(row);
    return 0;
}

/* The learner's state, and the best model.  What the learner saves now says what must be there. */
static int read_learner(struct trainer *t, const struct safetensors *f)
{
    struct tensors model, training = {0}, best = {0};
    int err = learner_save(t->learner, LEARNER_MODEL, &model);
    if (!err)
        err = learner_save(t->learner, LEARNER_TRAINING, &training);
    if (!err)
        err = learner_save(t->learner, LEARNER_MODEL, &best);
    if (!err)
        err = tensors_read(&model, f, "");
    if (!err && safetensors_find(f, "@best"))
        err = read_older(f, &training, &best);
    else if (!err && !(err = tensors_read(&training, f, "@")))
        err = tensors_read(&best, f, "@best/");
    if (!err)
        err = learner_load(t->learner, LEARNER_MODEL, &model);
    if (!err)
        err = learner_load(t->learner, LEARNER_TRAINING, &training);
    if (err)
        tensors_release(&best);
    else
        t->best = best;
    tensors_release(&model);
    tensors_release(&training);
    return err;
}

static int read_counters(const struct safetensors *f, int64_t counters[COUNTERS])
{
    const struct ndarray *a;
    int64_t older[COUNTERS + 1];
    bool is_older = safetensors_find(f, "@best") != NULL; /* then the second is the optimiser's */
    int err = get(f, "@counters", DTYPE_I64, is_older ? COUNTERS + 1 : COUNTERS, &a);
    if (err)
        return err;
    ndarray_to_int64(a, is_older ? older : counters);
    if (is_older) {
        counters[0] = older[0];
        memcpy(counters + 1, older + 2, (COUNTERS - 1) * sizeof *counters);
    }
    return 0;
}

static int read_state(struct trainer *t, const char *path)
{
    struct safetensors *f = NULL;
    const struct ndarray *a;
    int64_t counters[COUNTERS];
    double reals[2];
    int err = safetensors_open(&f, path);
    if (!err)
        err = safetensors_verify(f);
    if (!err)
        err = read_counters(f, counters);
    if (!err)
        err = get(f, "@reals", DTYPE_F64, 2, &a);
    if (!err)
        ndarray_to_double(a, reals);
    if (!err)
        err = check_counters(t, counters, reals);
    if (!err)
        err = read_learner(t, f);
    if (!err)
        err = read_history(t, f, counters, reals[1]);
    if (!err)
        err = read_collection(t, f, counters, reals[0]);
    if (!err && t->setup->train.redraw && counters[C_STEP] > 0)
        err = get(f, "@shown", DTYPE_U8, tasks_dataset(t->tasks)->items, &a);
    if (!err && t->setup->train.redraw && counters[C_STEP] > 0)
        err = redraw_restore(&t->redraw, t->tasks, a->data);
    if (!err) {
        t->step = counters[C_STEP];
        t->asked = counters[C_ASKED];
        t->spent = counters[C_SPENT] != 0;
        t->best_step = counters[C_BEST_STEP];
        t->best_accuracy = reals[1];
        t->written = t->bought.n;
        t->written_rows = counters[C_ROWS];
    }
    safetensors_close(f);
    return err;
}

/* Whose checkpoint it is.  One that cannot be read is read_state's to complain of. */
static int check_identity(const struct trainer *t, const char *path)
{
    struct safetensors *f = NULL;
    char what[IDENTITY_TEXT_SIZE];
    int err = 0;
    if (!t->settings || safetensors_open(&f, path))
        return 0;
    if (safetensors_verify(f))
        err = 0;
    else if (identity_differs(t->settings, f, what))
        err =
            fail(METE_EINVAL,
                 "%s is a checkpoint of another run: %s; give another folder, or remove that file "
                 "to start anew",
                 path, what);
    else if (!safetensors_meta(f, "method"))
        log_warn("%s was written by an older mete and does not say what run it is of; it is taken "
                 "for one of this run",
                 path);
    safetensors_close(f);
    return err;
}

/* Whether another try may read it: memory or open files were short, or a disk failed, but the files
 * are there. */
static bool passes(const struct trainer *t, int err)
{
    char path[4096];
    path_of(path, t->folder, "collection.safetensors");
    return err == METE_ENOMEM || (err == METE_EIO && access(path, F_OK) == 0);
}

int checkpoint_read(struct trainer *t)
{
    char path[4096], aside[4200];
    path_of(path, t->folder, "checkpoint.safetensors");
    if (access(path, F_OK) != 0)
        return 0;
    int err = check_identity(t, path);
    if (err)
        return err;
    err = read_state(t, path);
    if (!err)
        return 0;
    if (passes(t, err))
        return fail_within(err, "cannot go on now");
    snprintf(aside, sizeof aside, "%s.unusable", path);
    if (rename(path, aside) != 0)
        return fail_within(err, "cannot go on from %s", path);
    log_warn("%s; moved to %s, and the run starts anew", mete_errmsg(), aside);
    t->unusable = true;
    return err;
}

/* ---- a look from outside ---- */

static int glance_history(struct glance *out, const struct safetensors *f)
{
    const struct ndarray *a;
    double(*h)[HISTORY_FIELDS] = NULL;
    int err = get(f, "@history", DTYPE_F64, -1, &a);
    int64_t n = err ? 0 : ndarray_count(a) / HISTORY_FIELDS;
    if (!err)
        err = mem_try(&h, (size_t)n + 1, sizeof *h, "a checkpoint");
    if (err)
        return err;
    ndarray_to_double(a, h[0]);
    out->history = mem_array((size_t)n + 1, sizeof *out->history);
    for (out->n_history = 0; out->n_history < n; out->n_history++)
        out->history[out->n_history] = validation_of(h[out->n_history], 0);
    free(h);
    return 0;
}

/* Whoever goes on from a checkpoint checks its sum; a look at four tensors does not. */
int checkpoint_glance(const char *folder, struct glance *out)
{
    char path[4096];
    struct safetensors *f = NULL;
    const struct ndarray *a;
    int64_t counters[COUNTERS];
    double reals[2];
    struct glance found = {0};
    path_of(path, folder, "checkpoint.safetensors");
    if (access(path, F_OK) != 0)
        return fail(METE_EIO, "%s: %s", path, strerror(errno));
    int err = safetensors_open(&f, path);
    if (!err)
        err = read_counters(f, counters);
    if (!err)
        err = get(f, "@reals", DTYPE_F64, 2, &a);
    if (!err) {
        ndarray_to_double(a, reals);
        found.step = counters[C_STEP];
        found.tasks = counters[C_TASKS];
        found.labels = counters[C_LABELS];
        found.spent = reals[0];
        err = glance_history(&found, f);
    }
    safetensors_close(f);
    if (!err)
        *out = found;
    return err;
}
