/* fit.c - mete_fit: a training that says what it does, can be stopped, and hands over its model. */
#include "data/data_handle.h"
#include "method/given_learner.h"
#include "run/single.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct fit {
    struct mete_fit_options o;
    bool wanted; /* the best model */
    void *model; /* its file, in memory */
    size_t model_size;
    int64_t step; /* that was told */
    int validations;
};

static int emit(const struct fit *f, const struct mete_event *e)
{
    return f->o.event && f->o.event(f->o.user, e)
               ? fail(METE_ESTOPPED, "stopped on request at step %lld", (long long)e->step)
               : 0;
}

static struct mete_event event_of(enum mete_event_kind kind, const struct meter *m)
{
    return (struct mete_event){.size = sizeof(struct mete_event),
                               .kind = kind,
                               .step = m->step,
                               .steps = m->steps,
                               .done = m->total > 0 ? m->done / m->total : 0,
                               .accuracy = NAN,
                               .half = NAN,
                               .loss = NAN};
}

static int tell(void *user, struct meter *m)
{
    struct fit *f = user;
    if (m->validations > f->validations) {
        struct mete_event e = event_of(METE_VALID, m);
        f->validations = m->validations;
        e.step = m->valid_step;
        e.tasks = m->tasks;
        e.labels = m->labels;
        e.accuracy = m->accuracy;
        e.half = m->half;
        e.loss = m->loss;
        int err = emit(f, &e);
        if (err)
            return err;
    }
    struct mete_event e = event_of(m->step > f->step ? METE_STEP : METE_WORK, m);
    f->step = m->step;
    return emit(f, &e);
}

static void tell_test(void *user, const struct mete_test *t)
{
    struct meter end = {.done = 1, .total = 1};
    struct mete_event e = event_of(METE_TEST, &end);
    e.test = t;
    emit(user, &e);
}

static int take_model(void *user, const char *name, const struct tensors *model,
                      const struct safetensors_pair *says, int n)
{
    struct fit *f = user;
    if (!f->wanted || strcmp(name, "best") != 0)
        return 0;
    free(f->model); /* of a run that began anew */
    f->model = NULL;
    return safetensors_bytes(&f->model, &f->model_size, model->at, model->n, says, n);
}

int mete_fit(const struct mete_fit_options *o, struct mete_model **best)
{
    struct fit f = {.wanted = best};
    int err = options_take(&f.o, sizeof f.o, o, "mete_fit_options");
    if (!err && !f.o.bench)
        err = fail(METE_EINVAL, "bench: say what to train on, as in 5w-1s@2K");
    if (!err && best && f.o.method && given_learner_find(f.o.method))
        err = fail(METE_EINVAL, "learner '%s' keeps its model to itself; ask for none", f.o.method);
    if (err)
        return err;
    const struct dataset *data = f.o.data ? f.o.data->d : NULL;
    char *bench = data && !strchr(f.o.bench, ':') ? mem_print("%s:%s", data->name, f.o.bench)
                                                  : mem_string(f.o.bench);
    struct mete_train_options train = {.bench = bench,
                                       .method = f.o.method,
                                       .labels = f.o.labels,
                                       .net = f.o.net,
                                       .device = f.o.device,
                                       .folder = f.o.folder,
                                       .set = f.o.set,
                                       .seed = f.o.seed,
                                       .threads = f.o.threads,
                                       .test = tell_test,
                                       .user = &f};
    err = single_run(&(struct single){.o = &train,
                                      .data = data,
                                      .no_folder = f.o.no_folder,
                                      .one_model = best,
                                      .progress = tell,
                                      .model = take_model,
                                      .user = &f});
    if (!err && best)
        err = mete_model_load_bytes(
            best, f.model, f.model_size,
            &(struct mete_model_options){.size = sizeof(struct mete_model_options),
                                         .device = f.o.device});
    free(f.model);
    free(bench);
    return err;
}
