/* situation.c - what is asked of a plan, checked before any work: each refusal says what would be
 * possible instead.
 */
#include "plan/plan.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FEW_LABELS = 20, /* fewer are not worth simulating with */
    STEPS = 400,
    BATCH = 8,
    QUERY = 5,
    VAL_LEAST = 2,
    TEST_LEAST = 2,
};

/* ---- the data ---- */

/* "omniglot:5w-1s" is a benchmark; "glyphs-users:users=40" is a data set, which gets the usual
 * shots. */
static int read_bench(struct situation *s)
{
    const char *name = s->o->data;
    char text[1100];
    if (bench_parse(&s->bench, name) == 0) {
        if (s->bench.budget)
            return fail(METE_EINVAL, "%s: leave out the budget behind @; --labels says it", name);
        return shelf_dataset(s->shelf, s->bench.dataset, &s->data);
    }
    int err = shelf_dataset(s->shelf, name, &s->data);
    if (err)
        return err;
    snprintf(text, sizeof text, "%s:%s", name, s->data->users > 0 ? "1s" : "5w-1s");
    return bench_parse(&s->bench, text);
}

static int64_t user_set(const struct situation *s, const char *key, int64_t otherwise)
{
    size_t n = strlen(key);
    for (int i = 0; s->o->set && s->o->set[i]; i++)
        if (strncmp(s->o->set[i], key, n) == 0 && s->o->set[i][n] == '=')
            otherwise = strtoll(s->o->set[i] + n + 1, NULL, 10);
    return otherwise;
}

static bool is_set(const struct situation *s, const char *setting)
{
    bool found = false;
    for (int i = 0; s->o->set && s->o->set[i]; i++)
        found |= strcmp(s->o->set[i], setting) == 0;
    return found;
}

/* The plan decides these itself. */
static int check_set(const struct situation *s)
{
    static const char *const own[] = {"method",     "labels",     "net",         "bench",
                                      "seed",       "shots",      "task.labels", "budget.labels",
                                      "test.part",  "data.folds", "data.fold",   "budget.grow",
                                      "budget.cost"};
    for (int i = 0; s->o->set && s->o->set[i]; i++)
        for (size_t k = 0; k < sizeof own / sizeof *own; k++)
            if (strncmp(s->o->set[i], own[k], strlen(own[k])) == 0 &&
                s->o->set[i][strlen(own[k])] == '=')
                return fail(METE_EINVAL, "--set %s: a plan decides that itself; leave it out%s",
                            s->o->set[i],
                            strcmp(own[k], "method") == 0        ? " (--methods narrows the choice)"
                            : strcmp(own[k], "net") == 0         ? " and use --net"
                            : strcmp(own[k], "budget.cost") == 0 ? " and use --price"
                                                                 : "");
    return 0;
}

static int check_methods(const struct situation *s)
{
    int n = 0;
    for (const struct recipe *r = plan_recipes; r->method; r++)
        n += situation_has(s, r);
    return n ? 0
             : fail(METE_EINVAL,
                    "--methods %s: none of them is one that plans compare for tasks of %s (%s)",
                    s->o->methods, s->bench.dataset,
                    s->users ? "maml, reptile, protonet, fedavg, tuned, pooled, majority, nearest, "
                               "local"
                             : "maml, reptile, protonet, nearest, local");
}

/* ---- people ---- */

/* --people: more than the usual split trains with means fewer to validate and to test with. */
static int make_split(struct situation *s)
{
    int n[PARTS], users = s->data->users, want = s->o->people;
    if (want == 0)
        return 0;
    if (!s->users)
        return fail(METE_EINVAL, "--people: %s has no people; its tasks are a few classes each",
                    s->bench.dataset);
    if (want > users)
        return fail(METE_EINVAL, "--people %d: %s has %d people", want, s->bench.dataset, users);
    parts_share_users(users, n);
    int most = users - VAL_LEAST - TEST_LEAST;
    if (want > most)
        return fail(METE_EINVAL,
                    "--people %d: of the %d people of %s that leaves nobody to validate on; ask "
                    "at most %d, so that %d remain for validation and %d for tests",
                    want, users, s->bench.dataset, most > 0 ? most : 0, VAL_LEAST, TEST_LEAST);
    if (want <= n[SPLIT_TRAIN])
        return 0;
    int rest = users - want;
    snprintf(s->split, sizeof s->split, "data.split=%d/%d/%d", want, rest / 2, rest - rest / 2);
    return 0;
}

/* How many labels each of the part's people has. */
static int *labels_of_people(const struct situation *s, bool with_unlabelled)
{
    int *n = mem_array((size_t)s->data->users + 1, sizeof *n);
    for (int64_t i = 0; i < s->data->items; i++)
        n[s->data->user[i]] += with_unlabelled || s->data->y[i] != NO_LABEL;
    return n;
}

static int ascending(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* What the training people have; the median of labels, and of items. */
static int count_people(struct situation *s, const struct split *split, int *items)
{
    int people = split->n[SPLIT_TRAIN];
    int *known = labels_of_people(s, false), *all = labels_of_people(s, true);
    int *mine = mem_array((size_t)people + 1, sizeof *mine);
    for (int i = 0; i < people; i++) {
        mine[i] = known[split->group[SPLIT_TRAIN][i]];
        s->known += mine[i];
        s->items += all[split->group[SPLIT_TRAIN][i]];
    }
    qsort(mine, (size_t)people, sizeof *mine, ascending);
    int median = people ? mine[people / 2] : 0;
    for (int i = 0; i < people; i++)
        mine[i] = all[split->group[SPLIT_TRAIN][i]];
    qsort(mine, (size_t)people, sizeof *mine, ascending);
    *items = people ? mine[people / 2] : 0;
    free(known);
    free(all);
    free(mine);
    return median;
}

/* ---- labels each ---- */

enum { LEVELS = 4, LEVELS_FEW = 3 };

static void put_first(struct situation *s, int each)
{
    memmove(s->each + 1, s->each, (size_t)s->n_each++ * sizeof *s->each);
    s->each[0] = each;
}

/* A person is judged by items that are held out.  By half of them where that leaves twice what a
 * test labels, since few items make a noisy judge; the usual fifth is of people with few. */
static double holdout_of(const struct situation *s, int median)
{
    double support = (double)user_set(s, "test.labels", 0);
    if (support <= 0)
        support = (double)user_set(s, "test.shots", s->bench.shots) * s->data->classes;
    double most = 1 - 2 * support / (median > 0 ? median : 1);
    return most > 0.5 ? 0.5 : most > 0.2 ? most : 0;
}

/* Of people: doubling, from what spends the budget on everybody to what the usual person has.
 * Where only some of the labels are known, fewer each are tried too, and more extrapolated to. */
static int levels_of_people(struct situation *s, int median, int items)
{
    double least = fmax(4, ceil((double)s->within / s->people));
    double most = fmin(median, fmax(2, (double)s->within / 2));
    least = fmin(least, most);
    for (double each = least; each <= most && s->n_each < LEVELS; each *= 2)
        s->each[s->n_each++] = (int)each;
    bool partly = s->within < s->labels;
    while (partly && s->n_each < LEVELS_FEW && s->each[0] / 2 >= 2)
        put_first(s, s->each[0] / 2);
    s->n_more = s->n_each;
    for (int each = 2 * s->each[s->n_each - 1]; partly && each <= items && s->n_more < EACH_MAX;
         each *= 2)
        s->each[s->n_more++] = each;
    return 0;
}

/* Of classes: the paper's shots and ten, with a query item of each class. */
static int levels_of_classes(struct situation *s)
{
    static const int shots[] = {1, 3, 5, 10};
    int query = (int)user_set(s, "task.query", 1);
    bool support = s->charge_support;
    for (int i = 0; i < 4; i++) {
        int each = s->bench.ways * (shots[i] + (support ? 0 : query));
        struct bench b = s->bench;
        struct task_settings t = {.shots = shots[i], .query = query, .split = "auto"};
        struct tasks *tasks = NULL;
        bool possible =
            tasks_open(&tasks, s->data, &b, &t, 1) == 0 && tasks_check(tasks, SPLIT_TRAIN) == 0;
        tasks_close(tasks);
        if (!possible || each > s->within)
            continue;
        s->shots[s->n_each] = shots[i];
        s->each[s->n_each++] = each;
    }
    s->n_more = s->n_each;
    if (s->n_each)
        return 0;
    int least = s->bench.ways * (1 + (support ? 0 : query));
    return fail(METE_EINVAL,
                "--labels %" PRId64 " does not pay for one task of %d labels (%d ways, 1 shot%s); "
                "ask for %d or more",
                s->labels, least, s->bench.ways, support ? "" : " and its query", least);
}

int64_t situation_tasks(const struct situation *s, int64_t budget, int each)
{
    int64_t n = budget / each;
    n = n > s->people ? s->people : n;
    return n > 0 ? n : 1;
}

/* ---- all of it ---- */

/* The probe is the arm that every situation has; it says which people are in which part. */
static int look_at_tasks(struct situation *s, struct experiment *x)
{
    struct settings settings = {0};
    struct trial probe = {.budget = s->users ? 2 : s->labels + 2 * s->bench.ways};
    while (!(s->users ? plan_recipes[probe.recipe].users : plan_recipes[probe.recipe].classes) ||
           !plan_recipes[probe.recipe].baseline)
        probe.recipe++;
    s->each[0] = s->users ? 2 : s->bench.ways * 2;
    s->shots[0] = 1;
    int err = trial_settings(s, &probe, NULL, &settings);
    if (!err)
        err = setup_open(&x->setup, settings_get(&settings, "method"),
                         settings_get(&settings, "net"), settings_get(&settings, "labels"));
    if (!err)
        err = config_apply(&settings, &x->setup.set);
    x->data = s->data;
    x->bench = s->bench;
    if (!err)
        err = experiment_open_tasks(x);
    settings_release(&settings);
    return err;
}

static int count_all(struct situation *s, struct experiment *x)
{
    const struct split *split = tasks_split(x->train);
    int64_t judged = tasks_count(x->test[0], SPLIT_VAL),
            tested = tasks_count(x->test[0], SPLIT_TEST);
    int64_t most = user_set(s, "test.tasks", 200);
    s->judged = (int)(judged < most ? judged : most);
    s->tested = (int)(tested < most ? tested : most);
    if (!s->users) {
        s->groups[0] = split->n[SPLIT_VAL];
        s->groups[1] = split->n[SPLIT_TEST];
        s->people = INT32_MAX;
        s->known = s->items = INT64_MAX;
        s->within = s->labels;
        return levels_of_classes(s);
    }
    int items, median = count_people(s, split, &items);
    s->people = (int)tasks_count(x->train, SPLIT_TRAIN);
    s->holdout = holdout_of(s, median);
    if (s->o->people && s->o->people < s->people)
        s->people = s->o->people;
    s->within = s->labels < s->known ? s->labels : s->known - 1; /* all of them would be no limit */
    if (s->labels > s->items)
        return fail(METE_EINVAL,
                    "--labels %" PRId64 ": the %d people who can be asked have %" PRId64
                    " items in all; ask for at most as many",
                    s->labels, split->n[SPLIT_TRAIN], s->items);
    s->none = s->known < FEW_LABELS || s->people < 2 || s->judged < VAL_LEAST;
    return s->none ? 0 : levels_of_people(s, median, items);
}

/* Without labels: whoever would train, and what the usual person has. */
static int count_unlabelled(struct situation *s)
{
    int n[PARTS];
    s->within = s->labels;
    s->people = INT32_MAX;
    s->n_each = 0;
    if (!s->users) {
        s->shots[0] = 1;
        s->each[s->n_each++] = 2 * s->bench.ways;
        return 0;
    }
    parts_share_users(s->data->users, n);
    s->people = s->o->people ? s->o->people : n[SPLIT_TRAIN];
    int items = (int)(s->data->items / s->data->users);
    return levels_of_people(s, items, items);
}

/* Every setting that is given belongs to one of the arms, and none is refused by all. */
static int check_arms(const struct situation *s)
{
    bool known[PLAN_SET_MAX] = {0};
    int n = 0, err = 0, fine = 0;
    while (s->o->set && s->o->set[n])
        n++;
    if (n > PLAN_SET_MAX)
        return fail(METE_EINVAL, "--set: %d settings are more than %d", n, PLAN_SET_MAX);
    for (int i = 0; plan_recipes[i].method; i++) {
        struct settings settings = {0};
        struct trial t = {.recipe = i, .budget = s->within};
        if (!situation_has(s, &plan_recipes[i]))
            continue;
        err = trial_settings(s, &t, known, &settings);
        fine += !err;
        settings_release(&settings);
    }
    if (!fine)
        return err;
    for (int i = 0; i < n; i++)
        if (!known[i])
            return fail(METE_EINVAL, "--set %s: no method that the plan compares has that setting",
                        s->o->set[i]);
    return 0;
}

static int read_price(struct situation *s)
{
    char *end = NULL;
    if (!s->o->price || strchr(s->o->price, ':'))
        return 0;
    s->price = strtod(s->o->price, &end);
    return end != s->o->price && !*end && s->price > 0 && isfinite(s->price)
               ? 0
               : fail(METE_EINVAL, "--price %s: expected a number above 0, class:FILE or item:FILE",
                      s->o->price);
}

static int check_numbers(struct situation *s)
{
    const struct mete_plan_options *o = s->o;
    if (o->labels > 1e9)
        return fail(METE_EINVAL, "--labels %g: at most a billion", o->labels);
    if (!(o->labels >= 2) || o->labels != floor(o->labels))
        return fail(METE_EINVAL,
                    "--labels %g: a plan needs a whole number of labels, 2 (one task: a label to "
                    "adapt to and one to judge by) or more",
                    o->labels);
    if (!(o->target >= 0 && o->target < 1))
        return fail(METE_EINVAL, "--target %g: expected an accuracy below 100 %%", 100 * o->target);
    if (!(o->minutes >= 0))
        return fail(METE_EINVAL, "--minutes %g: expected a number of minutes above 0", o->minutes);
    s->labels = (int64_t)o->labels;
    s->steps = (int)user_set(s, "train.steps", STEPS);
    s->batch = (int)user_set(s, "train.meta_batch", BATCH);
    s->query = (int)user_set(s, "test.query", QUERY);
    s->charge_support = is_set(s, "budget.charge=support");
    return s->steps > 0 && s->batch > 0 && s->query > 0
               ? read_price(s)
               : fail(METE_EINVAL,
                      "--set: train.steps, train.meta_batch and test.query are at least 1");
}

int situation_open(struct situation *s, const struct mete_plan_options *o)
{
    struct experiment x = {.seed = 1};
    *s = (struct situation){.o = o};
    int err = shelf_open(&s->shelf);
    if (!err)
        err = check_numbers(s);
    if (!err)
        err = check_set(s);
    if (!err)
        err = read_bench(s);
    if (!err) {
        s->users = s->data->users > 0 && !is_set(s, "task.kind=classes");
        err = check_methods(s);
    }
    if (!err)
        err = make_split(s);
    s->none = !err && dataset_labelled(s->data) == 0;
    if (!err && !s->none) {
        err = look_at_tasks(s, &x);
        if (!err)
            err = count_all(s, &x);
        experiment_close_tasks(&x);
        setup_close(&x.setup);
        if (!err && !s->none)
            err = check_arms(s);
    }
    if (!err && s->none)
        err = count_unlabelled(s);
    if (err)
        situation_close(s);
    return err;
}

void situation_close(struct situation *s)
{
    shelf_close(s->shelf);
    *s = (struct situation){0};
}
