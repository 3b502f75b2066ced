/* model.c - a learner's model to a file and back. */
#include "run/model.h"

int model_write(const char *path, const struct tensors *model, const struct safetensors_pair *meta,
                int pairs)
{
    return safetensors_write(path, model->at, model->n, meta, pairs);
}

int model_read(const char *path, struct learner *l)
{
    struct tensors model = {0};
    struct safetensors *file = NULL;
    int err = learner_save(l, LEARNER_MODEL, &model);
    if (!err)
        err = safetensors_open(&file, path);
    if (!err)
        err = tensors_read(&model, file, "");
    if (!err)
        err = learner_load(l, LEARNER_MODEL, &model);
    safetensors_close(file);
    tensors_release(&model);
    return err;
}
