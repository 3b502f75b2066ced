/* tasks.c - opening a distribution over tasks: settings, splits, and the items of
 * each class or user.
 */
#include "task/tasks_own.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"

#include <stdlib.h>
#include <string.h>

#define S struct task_settings
const struct param task_params[] = {
    PARAM_FORM_ROW(S, split, "data.split", "auto", split_canonical,
                   "classes or users for train/val/test: auto, 1000/200/423 (counts), 3000:200:200 "
                   "(proportion), vinyals, ravi, or a folder of split files"),
    PARAM_INT_ROW(
        S, split_seed, "data.split_seed", 0, 0, 1e9,
        "seed of a drawn split; separate from the run's, so all runs have the same test classes"),
    PARAM_INT_ROW(S, folds, "data.folds", 0, 0, 1e6,
                  "divide the users into this many folds: each is tested once, by a model that "
                  "never saw them; 0: "
                  "data.split"),
    PARAM_INT_ROW(S, fold, "data.fold", 0, 0, 1e6,
                  "which fold is for tests; 0: one run for each (mete train, mete run)"),
    PARAM_INT_ROW(S, shots, "shots", 0, 0, 1e6,
                  "labels per class, for users at most; 0: as the benchmark's name says"),
    PARAM_INT_ROW(S, query, "task.query", 0, 0, 1e6,
                  "query items per class of a training task; 0: 1 of a few-shot task, all that a "
                  "user has"),
    PARAM_CHOICE_ROW(S, query_is, "task.query_items", "drawn|fixed", 0,
                     "query items of a few-shot training task: drawn for it, or those of a class "
                     "the same in all tasks"),
    PARAM_INT_ROW(S, pool, "task.pool", 0, 0, 1e6,
                  "unlabelled items per class of a few-shot task; 0: all the others"),
    PARAM_CHOICE_ROW(S, kind, "task.kind", "auto|classes|users", TASK_AUTO,
                     "what a task is; auto: a user where the dataset has users"),
    PARAM_CHOICE_ROW(S, cap, "task.cap", "pool|present", CAP_POOL,
                     "labels of a user: ways x shots but no more than the pool, or of each class "
                     "as many shots as it has"),
    PARAM_REAL_ROW(S, holdout, "task.holdout", 0.2, 0, 0.9,
                   "share of a training user's items kept as query where the dataset has no parts"),
    PARAM_INT_ROW(S, train_ways, "task.train_ways", 0, 0, 1e6,
                  "classes of a few-shot training task, for methods without an output for each; 0: "
                  "as the benchmark's name says, which tests keep to"),
    PARAM_INT_ROW(S, labels, "task.labels", 0, 0, 1e6,
                  "labels that a training user gives in all, half of them query; 0: as shots and "
                  "task.query say"),
    {0},
};
#undef S

const struct dataset *tasks_dataset(const struct tasks *t)
{
    return t->d;
}

const struct split *tasks_split(const struct tasks *t)
{
    return &t->split;
}

uint64_t tasks_seed(const struct tasks *t)
{
    return t->seed;
}

bool tasks_are_users(const struct tasks *t)
{
    return t->split.users;
}

int tasks_ways(const struct tasks *t)
{
    return t->ways;
}

int tasks_shots(const struct tasks *t)
{
    return t->labels || t->each ? 0 : t->shots;
}

int64_t tasks_count(const struct tasks *t, int part)
{
    return t->split.users ? t->n_open[part] : INT64_MAX;
}

const int32_t *tasks_class_items(const struct tasks *t, int klass, int *n)
{
    *n = (int)index_size(&t->of, klass);
    return index_items_of(&t->of, klass);
}

int tasks_max_pool(const struct tasks *t)
{
    return t->max_pool;
}

int tasks_max_query(const struct tasks *t)
{
    return t->max_query;
}

int tasks_ask(struct tasks *t, int labels)
{
    if (labels > t->max_pool)
        return fail(METE_EINVAL, "%s: %d labels are asked for, and no pool has more than %d items",
                    t->d->name, labels, t->max_pool);
    t->labels = labels;
    return 0;
}

void tasks_limit(struct tasks *t, int part, int n)
{
    if (n < t->n_open[part])
        t->n_open[part] = n;
}

int tasks_max_labels(const struct tasks *t)
{
    int64_t asked = t->each ? t->each - 1 : t->labels ? t->labels : (int64_t)t->ways * t->shots;
    return asked < t->max_pool ? (int)asked : t->max_pool;
}

/* Lists the items of each key: those of key k are item[start[k]..start[k+1]). */
static void index_items(struct item_index *x, const struct dataset *d, const int32_t *key, int keys)
{
    x->start = mem_array((size_t)keys + 1, sizeof *x->start);
    x->item = mem_array((size_t)d->items + 1, sizeof *x->item);
    for (int64_t i = 0; i < d->items; i++)
        if (d->y[i] != NO_LABEL)
            x->start[key[i] + 1]++;
    for (int k = 0; k < keys; k++)
        x->start[k + 1] += x->start[k];
    int64_t *next = mem_array((size_t)keys + 1, sizeof *next);
    memcpy(next, x->start, (size_t)keys * sizeof *next);
    for (int64_t i = 0; i < d->items; i++)
        if (d->y[i] != NO_LABEL)
            x->item[next[key[i]]++] = (int32_t)i;
    free(next);
}

/* Marks which of the users' items are query: the dataset's parts, or a share of
 * each user's drawn by the split's seed, at least one. */
static uint8_t *query_items(const struct tasks *t, const struct task_settings *s)
{
    const struct dataset *d = t->d;
    uint8_t *query = mem_array((size_t)d->items + 1, 1);
    for (int u = 0; u < d->users; u++) {
        int n = (int)index_size(&t->of, u), held = (int)(n * s->holdout + 0.5);
        const int32_t *item = index_items_of(&t->of, u);
        if (d->part) {
            for (int i = 0; i < n; i++)
                query[item[i]] = d->part[item[i]] == PART_TEST;
            continue;
        }
        struct rng r = rng_make((uint64_t)s->split_seed, RNG_SPLIT, (uint64_t)u, 1);
        int32_t *picks = mem_array((size_t)n + 1, sizeof *picks);
        held = held < 1 ? (n > 0) : held;
        rng_choose(&r, (uint32_t)n, (uint32_t)held, picks);
        for (int i = 0; i < held; i++)
            query[item[picks[i]]] = 1;
        free(picks);
    }
    return query;
}

/* Puts each user's query items behind the pool items. */
static void part_users(struct tasks *t, const struct task_settings *s)
{
    uint8_t *query = query_items(t, s);
    t->n_query = mem_array((size_t)t->d->users + 1, sizeof *t->n_query);
    int32_t *kept = mem_array((size_t)t->d->items + 1, sizeof *kept);
    for (int u = 0; u < t->d->users; u++) {
        int64_t n = index_size(&t->of, u), pool = 0, held = 0;
        int32_t *item = index_items_of(&t->of, u);
        for (int64_t i = 0; i < n; i++)
            if (query[item[i]])
                kept[held++] = item[i];
            else
                item[pool++] = item[i];
        memcpy(item + pool, kept, (size_t)held * sizeof *item);
        t->n_query[u] = (int)held;
    }
    free(kept);
    free(query);
}

/* Whether class or user g can be a task's, and how large it makes one. */
static bool can_open(struct tasks *t, int g, int *pool, int *query)
{
    int n = (int)index_size(&t->of, g);
    *query = t->split.users ? t->n_query[g] : t->query;
    *pool = n - *query;
    if (t->split.users && *query > tasks_query_most(t))
        *query = (int)tasks_query_most(t);
    if (t->split.users)
        return *pool > 0 && *query > 0;
    if (t->pool_cap && *pool > t->pool_cap)
        *pool = t->pool_cap;
    return *pool >= t->shots;
}

static void open_parts(struct tasks *t)
{
    int scale = t->split.users ? 1 : t->ways;
    for (int p = 0; p < SPLIT_PARTS; p++) {
        t->open[p] = mem_array((size_t)t->split.n[p] + 1, sizeof **t->open);
        for (int i = 0; i < t->split.n[p]; i++) {
            int pool, query, g = t->split.group[p][i];
            if (!can_open(t, g, &pool, &query))
                continue;
            t->open[p][t->n_open[p]++] = g;
            int room = t->ways + scale * (query + (int)index_size(&t->of, g));
            t->room = room > t->room ? room : t->room;
            if (pool * scale > t->max_pool)
                t->max_pool = pool * scale;
            if (query * scale > t->max_query)
                t->max_query = query * scale;
        }
        /* Users come in an order drawn once, each before any comes again. */
        struct rng r = rng_make(t->seed, RNG_TASK, 0, TASK_ORDER + (uint32_t)p);
        if (t->split.users)
            rng_shuffle(&r, t->open[p], (uint32_t)t->n_open[p]);
    }
}

static int set_ways(struct tasks *t, const struct bench *b, const struct task_settings *s)
{
    const struct dataset *d = t->d;
    if (dataset_labelled(d) == 0)
        return fail(METE_EINVAL, "%s has no labels yet; 'mete label next' says which to ask for",
                    d->name);
    bool users = s->kind == TASK_USERS || (s->kind == TASK_AUTO && d->users > 0);
    if (users && d->users == 0)
        return fail(METE_EINVAL, "task.kind: %s has no users", d->name);
    if (!users && b->ways == 0)
        return fail(METE_EINVAL, "%s: a few-shot task needs ways, as in %s:5w-%ds", d->name,
                    b->dataset, b->shots);
    if (users && b->ways && b->ways != d->classes)
        return fail(METE_EINVAL,
                    "%s has %d classes and a user's task has them all: write %s:%dw-%ds, or set "
                    "task.kind=classes for few-shot tasks",
                    d->name, d->classes, b->dataset, d->classes, b->shots);
    t->split.users = users;
    t->ways = users ? d->classes : s->train_ways ? s->train_ways : b->ways;
    t->shots = s->shots ? s->shots : b->shots;
    t->query = s->query || users ? s->query : 1;
    t->pool_cap = s->pool;
    t->query_fixed = s->query_is == 1;
    if (users && t->query_fixed)
        return fail(
            METE_EINVAL,
            "task.query_items=fixed: the query of a user of %s is the same anyway; leave it "
            "at drawn",
            d->name);
    if (users && s->train_ways)
        return fail(METE_EINVAL,
                    "task.train_ways: a task of %s is a person, with all classes; leave it at 0",
                    d->name);
    t->cap = s->cap;
    t->each = s->labels;
    if (s->labels && !users)
        return fail(METE_EINVAL,
                    "task.labels is what a person gives, and a task of %s is a few classes: leave "
                    "it at 0 and set shots and task.query",
                    d->name);
    if (s->labels == 1)
        return fail(METE_EINVAL, "task.labels: a task needs a label to adapt to and one to judge "
                                 "by: 2 or more");
    return 0;
}

int tasks_check(const struct tasks *t, int part)
{
    const char *name = t->d->name, *in = split_part_name(part);
    if (t->split.n[part] == 0)
        return fail(METE_EINVAL, "%s: data.split leaves no %s for the %s part", name,
                    t->split.users ? "users" : "classes", in);
    if (t->split.users && t->n_open[part] == 0)
        return fail(METE_EINVAL, "%s: none of the %d %s users has items for pool and query", name,
                    t->split.n[part], in);
    if (!t->split.users && t->n_open[part] < t->ways)
        return fail(METE_EINVAL,
                    "%s: %d ways with %d shots and %d query items need %d classes of %d items, "
                    "and %d of the %d %s classes have as many",
                    name, t->ways, t->shots, t->query, t->ways, t->shots + t->query,
                    t->n_open[part], t->split.n[part], in);
    return 0;
}

static int make_split(struct tasks *t, const struct task_settings *s)
{
    if (!s->folds)
        return split_make(&t->split, t->d, t->split.users, s->split, s->split_seed);
    if (!t->split.users)
        return fail(METE_EINVAL,
                    "data.folds: folds are of users, and a task of %s is a few classes",
                    t->d->name);
    if (strcmp(s->split, "auto") != 0)
        return fail(METE_EINVAL, "data.folds draws the parts itself; leave data.split at auto");
    return split_make_fold(&t->split, t->d, s->folds, s->fold ? s->fold : 1, s->split_seed);
}

int tasks_open(struct tasks **out, const struct dataset *d, const struct bench *b,
               const struct task_settings *s, uint64_t seed)
{
    struct tasks *t = mem_alloc(sizeof *t);
    t->d = d;
    t->seed = seed;
    int err = set_ways(t, b, s);
    if (!err)
        err = make_split(t, s);
    if (!err) {
        bool users = t->split.users;
        index_items(&t->of, d, users ? d->user : d->y, users ? d->users : d->classes);
        if (users)
            part_users(t, s);
        open_parts(t);
        if (tasks_check(t, SPLIT_VAL) && tasks_check(t, SPLIT_TEST))
            err = tasks_check(t, SPLIT_TRAIN);
    }
    if (err) {
        tasks_close(t);
        return err;
    }
    *out = t;
    return 0;
}

void tasks_close(struct tasks *t)
{
    if (!t)
        return;
    split_release(&t->split);
    for (int p = 0; p < SPLIT_PARTS; p++)
        free(t->open[p]);
    free(t->of.start);
    free(t->of.item);
    free(t->n_query);
    free(t);
}
