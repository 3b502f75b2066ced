/* model_weights.c - a model's tensors, out and in, and its file. */
#include "model/model.h"
#include "run/model.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int model_weights(struct mete_model *m, bool adapted, struct tensors *out)
{
    *out = (struct tensors){0};
    if (adapted && !m->adapted)
        return fail(METE_EINVAL, "%s: it was not adapted to a task", m->name);
    return learner_save(m->learner, adapted ? LEARNER_ADAPTED : LEARNER_MODEL, out);
}

int mete_model_tensor(struct mete_model *m, int32_t i, struct mete_tensor *out, float *data)
{
    struct tensors all = {0};
    int err = model_check(m);
    if (!err)
        err = model_weights(m, false, &all);
    if (!err && (i < 0 || i >= all.n))
        err = fail(METE_EINVAL, "tensor %d of %d", i, all.n);
    if (!err) {
        const struct ndarray *a = &all.at[i].array;
        if (out) {
            *out = (struct mete_tensor){.dims = a->rank, .len = ndarray_count(a)};
            snprintf(out->name, sizeof out->name, "%s", all.at[i].name);
            for (int d = 0; d < a->rank; d++)
                out->shape[d] = (int32_t)a->shape[d];
        }
        if (data)
            memcpy(data, a->data, a->bytes);
    }
    tensors_release(&all);
    return err;
}

static int change(struct tensors *all, const char *name, const float *data, int64_t len)
{
    const struct ndarray *a = name ? tensors_find(all, name) : NULL;
    if (!a)
        return fail(METE_EINVAL, "the model has no tensor '%.60s'", name ? name : "");
    if (!data)
        return fail(METE_EINVAL, "there are no numbers for %s", name);
    if (len != ndarray_count(a))
        return fail(METE_EINVAL, "%s has %lld numbers, not %lld", name, (long long)ndarray_count(a),
                    (long long)len);
    for (int64_t i = 0; i < len; i++)
        if (!isfinite(data[i]))
            return fail(METE_EINVAL, "number %lld of %s is not finite", (long long)i, name);
    memcpy((void *)a->data, data, a->bytes);
    return 0;
}

int mete_model_set_tensor(struct mete_model *m, const char *name, const float *data, int64_t len)
{
    struct tensors all = {0};
    int err = model_check(m);
    if (!err)
        err = model_weights(m, false, &all);
    if (!err)
        err = change(&all, name, data, len);
    if (!err)
        err = learner_load(m->learner, LEARNER_MODEL, &all);
    if (!err)
        err = model_forget_task(m);
    tensors_release(&all);
    return err;
}

/* ---- the file ---- */

static bool written_anew(const char *key)
{
    return strncmp(key, "model.", 6) == 0 || strncmp(key, "input.", 6) == 0 ||
           strcmp(key, "sha256") == 0;
}

/* All that the file said of how it was made, and what is true of it now. */
static int gather_says(const struct mete_model *m, const struct card_text *card,
                       const char *labelled, struct safetensors_pair *out)
{
    int n = 0;
    for (int i = 0; i < m->n_says; i++)
        if (!written_anew(m->says[i].key))
            out[n++] = m->says[i];
    for (int i = 0; i < card->n; i++)
        out[n++] = card->pairs[i];
    if (m->adapted)
        out[n++] = (struct safetensors_pair){"model.labelled", labelled};
    return n;
}

/* To `path`, or where that is NULL into memory. */
static int write_out(struct mete_model *m, const char *path, void **out, size_t *n)
{
    NUMBER_LOCALE;
    struct tensors all = {0};
    struct card_text card;
    char labelled[24];
    int err = model_weights(m, false, &all);
    if (!err && m->adapted)
        err = model_task_write(m, &all);
    if (err) {
        tensors_release(&all);
        return err;
    }
    struct dataset described = m->takes;
    described.class_names = m->classes.n ? m->classes.at : NULL;
    described.columns = m->columns.n ? &m->columns : NULL;
    card_write(&card, &described, m->takes.classes, true, m->frozen_of);
    snprintf(labelled, sizeof labelled, "%d", m->labelled);
    struct safetensors_pair *says = mem_array((size_t)(m->n_says + card.n + 1), sizeof *says);
    int pairs = gather_says(m, &card, labelled, says);
    err = path ? model_write(path, &all, says, pairs)
               : safetensors_bytes(out, n, all.at, all.n, says, pairs);
    free(says);
    card_text_release(&card);
    tensors_release(&all);
    return err;
}

int mete_model_save(struct mete_model *m, const char *path)
{
    int err = model_check(m);
    if (!err && !path)
        err = fail(METE_EINVAL, "a model needs a path");
    return err ? err : write_out(m, path, NULL, NULL);
}

int mete_model_bytes(struct mete_model *m, void **out, size_t *n)
{
    int err = model_check(m);
    if (!err && (!out || !n))
        err = fail(METE_EINVAL, "there is nowhere to put the model");
    return err ? err : write_out(m, NULL, out, n);
}
