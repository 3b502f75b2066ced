/* model.c - loading a model without its dataset, and closing it. */
#include "model/model.h"
#include "run/model.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int model_check(const struct mete_model *m)
{
    return m ? 0 : fail(METE_EINVAL, "no model: it is NULL");
}

static void release_says(struct mete_model *m)
{
    for (int i = 0; i < m->n_says; i++) {
        free((char *)m->says[i].key);
        free((char *)m->says[i].value);
    }
    free(m->says);
}

void mete_model_close(struct mete_model *m)
{
    if (!m)
        return;
    learner_close(m->learner);
    setup_close(&m->setup);
    settings_release(&m->settings);
    release_says(m);
    columns_release(&m->columns);
    words_release(&m->classes);
    free(m->takes.name);
    free(m->prototypes);
    free(m->count);
    free(m->kept);
    free(m->frozen_of);
    free(m->name);
    free(m);
}

/* ---- what the file says ---- */

static void copy_says(struct mete_model *m, const struct safetensors *f)
{
    const struct safetensors_pair *pairs = safetensors_pairs(f, &m->n_says);
    m->says = mem_array((size_t)m->n_says + 1, sizeof *m->says);
    for (int i = 0; i < m->n_says; i++)
        m->says[i] =
            (struct safetensors_pair){mem_string(pairs[i].key), mem_string(pairs[i].value)};
}

const char *mete_model_says(const struct mete_model *m, const char *key)
{
    for (int i = 0; m && key && i < m->n_says; i++)
        if (strcmp(m->says[i].key, key) == 0)
            return m->says[i].value;
    return NULL;
}

/* Older files do not say what the model takes: their dataset does. */
static int card_of_data(struct card *c, const char *name, const char *bench)
{
    struct bench b;
    struct dataset *d = NULL;
    int err = bench_parse(&b, bench);
    if (!err)
        err = dataset_find(&d, b.dataset);
    if (err)
        return fail_within(err,
                           "%s is of an older mete and does not say what it takes, so that its "
                           "dataset is needed",
                           name);
    *c = (struct card){.known = true,
                       .ways = b.ways ? b.ways : d->classes,
                       .h = d->h,
                       .w = d->w,
                       .c = d->c,
                       .is_float = d->is_float,
                       .scale = d->scale,
                       .shift = d->shift};
    dataset_close(d);
    return 0;
}

static int read_card(struct mete_model *m, const struct safetensors *f, bool by_path)
{
    struct card c;
    int err = card_read(&c, f);
    if (!err && !c.known)
        err = by_path ? card_of_data(&c, m->name, mete_model_says(m, "bench"))
                      : fail(METE_EFORMAT,
                             "%s: does not say what the model takes, being of an "
                             "older mete; load it from its file, where its dataset is",
                             m->name);
    if (err)
        return err;
    m->takes = (struct dataset){.name = mem_string("the items at hand"),
                                .path = "",
                                .classes = c.ways,
                                .h = c.h,
                                .w = c.w,
                                .c = c.c,
                                .is_float = c.is_float,
                                .scale = c.scale,
                                .shift = c.shift};
    m->classes = c.classes;
    m->columns = c.columns;
    m->has_frozen = c.frozen;
    return 0;
}

/* ---- settings ---- */

static bool sets(const char *const *set, const char *key)
{
    for (; set && *set; set++)
        if (strncmp(*set, key, strlen(key)) == 0 && (*set)[strlen(key)] == '=')
            return true;
    return false;
}

static const char *bn_of(const struct mete_model *m)
{
    return m->learner ? m->learner->is.norm : "none";
}

/* Frozen statistics, where the file has them and nobody asks for others. */
static int apply_settings(struct mete_model *m, const char *const *set)
{
    const char *trained = settings_get(&m->settings, "net.bn");
    bool running = trained && strcmp(trained, "running") == 0;
    int err = config_apply(&m->settings, &m->setup.set);
    if (!err && m->has_frozen && !sets(set, "net.bn") && !sets(set, "bn"))
        err = param_set_text(&m->setup.set, "net.bn", "running");
    if (!err && set)
        err = param_set_all(&m->setup.set, set);
    for (int section; !err && set && *set; set++) {
        char *key = mem_print("%.*s", (int)strcspn(*set, "="), *set);
        err = method_uses(m->setup.method.ops, param_find(&m->setup.set, key, &section)->name);
        free(key);
    }
    if (err || !m->setup.net->bn)
        return err;
    bool asked = m->setup.net->bn(m->setup.net_state) == BN_RUNNING;
    if (asked && !running && !m->has_frozen)
        return fail(METE_EINVAL,
                    "%s: net.bn=running needs statistics, and it has none: it was trained with %s",
                    m->name, trained ? trained : "batch");
    m->frozen = asked && !running;
    return 0;
}

static int choose_ways(struct mete_model *m, int ways)
{
    const struct method *method = &m->setup.method;
    bool fixed = method->ops->head || method->ops->same_classes ||
                 (method->ops->prior && method->ops->prior(method, NULL));
    if (ways == 0 || ways == m->takes.classes)
        return 0;
    if (ways < 1 || fixed)
        return fail(METE_EINVAL, "%d ways: the model has %d, and method %s can%s", ways,
                    m->takes.classes, method->ops->name,
                    fixed ? "not have others" : " have others from 1 on");
    m->takes.classes = ways;
    words_release(&m->classes);
    return 0;
}

/* ---- the learner ---- */

int model_net(const struct mete_model *m, const struct kernels *k, struct net *out)
{
    const struct method *method = &m->setup.method;
    if (method->ops->open)
        return fail(METE_EINVAL, "%s: a model of method %s has no net", m->name, method->ops->name);
    int err = net_build(out, m->setup.net, m->setup.net_state, k, m->takes.h, m->takes.w,
                        m->takes.c, method->ops->head ? m->takes.classes : 0);
    double count = 0;
    enum prior prior = method->ops->prior ? method->ops->prior(method, &count) : PRIOR_NONE;
    if (!err && prior)
        err = net_add_prior(out, m->takes.classes, prior, count);
    return err;
}

/* Before memory is taken for them: whether the file has the tensors that its settings ask for. */
static int check_tensors(const struct mete_model *m, const struct safetensors *f)
{
    struct net_tensor t[NET_TENSORS_MAX];
    struct net net;
    const struct ndarray *found;
    if (m->setup.method.ops->open) {
        int64_t inputs = (int64_t)m->takes.h * m->takes.w * m->takes.c, ways = m->takes.classes;
        int64_t len = 2 * inputs + ways + ways * (inputs + 1);
        return safetensors_get(f, "baseline", DTYPES_REAL, 1, &len, &found);
    }
    int err = model_net(m, &kernels_ref, &net), n = err ? 0 : net_tensors(&net, t);
    for (int i = 0; i < n && !err; i++) {
        const int64_t shape[4] = {t[i].shape[0], t[i].shape[1], t[i].shape[2], t[i].shape[3]};
        err = safetensors_get(f, t[i].name, DTYPES_REAL, t[i].dims, shape, &found);
    }
    return err;
}

static int open_learner(struct mete_model *m, const char *device)
{
    struct learner_spec spec = {.data = &m->shown,
                                .ways = m->takes.classes,
                                .meta_batch = 1,
                                .support = 1,
                                .query = 1,
                                .device = device,
                                .threads = 1};
    m->shown = m->takes;
    return setup_learner(&m->setup, &spec, NULL, &m->learner);
}

static int open_model(struct mete_model *m, const struct safetensors *f,
                      const struct mete_model_options *o, bool by_path)
{
    int err = model_settings(f, &m->settings);
    copy_says(m, f);
    if (!err)
        err = read_card(m, f, by_path);
    if (!err)
        err = setup_open(&m->setup, mete_model_says(m, "method"), mete_model_says(m, "net"),
                         mete_model_says(m, "labels"));
    if (!err && m->setup.method.ops->self) /* it keeps to the data that it was opened with */
        err = fail(METE_EINVAL,
                   "%s is of learner '%s', another program's, which alone adapts it; 'mete eval' "
                   "tests it",
                   m->name, m->setup.method.ops->name);
    if (!err)
        err = apply_settings(m, o->set);
    if (!err)
        err = choose_ways(m, o->ways);
    if (!err)
        err = check_tensors(m, f);
    if (!err)
        err = open_learner(m, o->device);
    if (!err)
        err = model_take(f, "", LEARNER_MODEL, m->learner);
    if (!err)
        err = model_forget_task(m);
    if (!err)
        err = model_task_read(m, f);
    if (m->has_frozen)
        m->frozen_of = mem_string(mete_model_says(m, "model.frozen"));
    return err;
}

static int load(struct mete_model **out, struct safetensors *f, const struct mete_model_options *o,
                bool by_path)
{
    struct mete_model_options options;
    struct mete_model *m = mem_alloc(sizeof *m);
    m->name = mem_string(safetensors_name(f));
    int err = options_take(&options, sizeof options, o, "mete_model_options");
    if (!err)
        err = open_model(m, f, &options, by_path);
    safetensors_close(f);
    if (err) {
        mete_model_close(m);
        return err;
    }
    *out = m;
    return 0;
}

int mete_model_load(struct mete_model **out, const char *path, const struct mete_model_options *o)
{
    NUMBER_LOCALE;
    struct safetensors *f = NULL;
    if (!path || !out)
        return fail(METE_EINVAL,
                    path ? "there is nowhere to put the model" : "a model needs a path");
    char *file = model_path(path);
    int err = file ? safetensors_open(&f, file) : METE_EINVAL;
    free(file);
    return err ? err : load(out, f, o, true);
}

int mete_model_load_bytes(struct mete_model **out, const void *bytes, size_t n,
                          const struct mete_model_options *o)
{
    NUMBER_LOCALE;
    struct safetensors *f = NULL;
    int err = bytes && out ? safetensors_open_memory(&f, "the model", bytes, n)
                           : fail(METE_EINVAL, out ? "a model needs bytes"
                                                   : "there is nowhere to put the model");
    return err ? err : load(out, f, o, false);
}

/* ---- what it is ---- */

static int count_tensors(const struct mete_model *m)
{
    struct net_tensor t[NET_TENSORS_MAX];
    struct net net;
    return m->setup.method.ops->open          ? 1
           : model_net(m, &kernels_ref, &net) ? 0
                                              : net_tensors(&net, t);
}

int mete_model_info(const struct mete_model *m, struct mete_model_info *out)
{
    int err = model_check(m);
    if (err)
        return err;
    struct mete_model_info i = {.ways = m->takes.classes,
                                .h = m->takes.h,
                                .w = m->takes.w,
                                .c = m->takes.c,
                                .is_float = m->takes.is_float,
                                .features = m->learner->is.features,
                                .tensors = count_tensors(m),
                                .adapted = m->adapted,
                                .labelled = m->labelled,
                                .scale = m->takes.scale,
                                .shift = m->takes.shift};
    snprintf(i.method, sizeof i.method, "%s", m->setup.method.ops->name);
    snprintf(i.net, sizeof i.net, "%s", m->setup.net->name);
    snprintf(i.bn, sizeof i.bn, "%s", m->frozen ? "frozen" : bn_of(m));
    snprintf(i.bench, sizeof i.bench, "%s", mete_model_says(m, "bench"));
    return options_give(out, &i, sizeof i, "mete_model_info");
}

const char *mete_model_class(const struct mete_model *m, int32_t i)
{
    return m && i >= 0 && i < m->classes.n ? m->classes.at[i] : NULL;
}

const char *mete_model_feature(const struct mete_model *m, int32_t i)
{
    for (int k = 0; m && i >= 0 && k < m->columns.n; k++) {
        const struct column *c = &m->columns.at[k];
        int own = i - c->first;
        if (own >= 0 && own < column_features(c))
            return c->kind == COLUMN_WORDS ? c->words.at[own] : c->name;
    }
    return NULL;
}

int mete_model_name_classes(struct mete_model *m, const char *const *names)
{
    int err = model_check(m);
    for (int i = 0; !err && names && i < m->takes.classes; i++)
        if (!names[i])
            err = fail(METE_EINVAL, "class %d has no name", i);
    if (err)
        return err;
    struct words words = {0};
    if (names)
        words =
            (struct words){mem_array((size_t)m->takes.classes, sizeof *words.at), m->takes.classes};
    for (int i = 0; i < words.n; i++)
        words.at[i] = mem_string(names[i]);
    words_release(&m->classes);
    m->classes = words;
    return 0;
}
