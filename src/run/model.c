/* model.c - a learner's model to a file and back. */
#include "run/model.h"
#include "run/setup.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

char *model_path(const char *model)
{
    if (!is_folder(model))
        return mem_string(model);
    char *path = mem_print("%s/best.safetensors", model);
    if (access(path, F_OK) == 0)
        return path;
    free(path);
    path = mem_print("%s/fold-1/best.safetensors", model);
    bool folds = access(path, F_OK) == 0;
    free(path);
    folds ? fail(METE_EINVAL, "%s holds a model for each fold of the people; name one: %s/fold-1",
                 model, model)
          : fail(METE_EINVAL, "%s holds no best.safetensors; a model is a file or a run's folder",
                 model);
    return NULL;
}

int model_write(const char *path, const struct tensors *model, const struct safetensors_pair *meta,
                int pairs)
{
    return safetensors_write(path, model->at, model->n, meta, pairs);
}

int model_take(const struct safetensors *f, const char *prefix, enum learner_part part,
               struct learner *l)
{
    struct tensors model = {0};
    int err = learner_save(l, part, &model);
    if (!err)
        err = tensors_read(&model, f, prefix);
    if (!err)
        err = learner_load(l, part, &model);
    tensors_release(&model);
    return err;
}

int model_read(const char *path, struct learner *l)
{
    struct safetensors *file = NULL;
    int err = safetensors_open(&file, path);
    if (!err)
        err = model_take(file, "", LEARNER_MODEL, l);
    safetensors_close(file);
    return err;
}

/* What the file says of a setting of section `s`; NULL: its default holds. */
static const char *value_of(const struct safetensors *f, const struct param_section *s,
                            const struct param *row, const char *key)
{
    const char *value = safetensors_meta(f, key), *before = setting_before(key);
    char now[PARAM_TEXT_SIZE + 16];
    param_text(row, s->state, now, sizeof now); /* the default */
    if (!value && strcmp(key, "test.holdout") == 0)
        value = safetensors_meta(f, "task.holdout"); /* was one setting */
    return !value && before && strcmp(before, now) != 0 ? before : value;
}

int model_settings(const struct safetensors *f, struct settings *out)
{
    static const char *const names[] = {"bench", "method", "labels", "net", "seed"};
    struct setup s;
    const char *method = safetensors_meta(f, "method"), *bench = safetensors_meta(f, "bench");
    if (!method || !bench)
        return fail(METE_EFORMAT,
                    "%s: is not a model of mete's: it does not say how it was trained",
                    safetensors_name(f));
    int err = setup_open(&s, method, safetensors_meta(f, "net"), safetensors_meta(f, "labels"));
    if (err)
        return err;
    for (int i = 0; i < 5; i++)
        if (safetensors_meta(f, names[i]))
            settings_put(out, names[i], safetensors_meta(f, names[i]), safetensors_name(f));
    for (int i = 0; i < s.set.sections; i++)
        for (const struct param *row = s.set.section[i].table; row->name; row++) {
            char key[128];
            param_key(&s.set.section[i], row, key, sizeof key);
            const char *value = value_of(f, &s.set.section[i], row, key);
            if (value)
                settings_put(out, key, value, safetensors_name(f));
        }
    setup_close(&s);
    return 0;
}
