/* test_run.c - every number of a run, computed a second time from a learner whose answers are
 * known.
 */
#include "driver/oracle.h"

#include <unistd.h>

/* Runs whose numbers are all checked: few-shot tasks and users, tasks bought once, by a schedule
 * and never (the classical regime), every way of using them again. */
static const char *const plain[] = {"train.steps=29",
                                    "train.meta_batch=4",
                                    "train.validate_every=8",
                                    "train.val_tasks=14",
                                    "train.val_shots=2",
                                    "test.tasks=40",
                                    "test.query=3",
                                    "test.shots=1,3",
                                    "seed=5",
                                    NULL};
static const char *const active[] = {
    "labels=active",       "train.steps=24",   "train.meta_batch=4", "train.validate_every=12",
    "train.val_tasks=6",   "test.tasks=10",    "test.query=2",       "test.shots=2",
    "test.support=active", "train.reuse=draw", "test.seed=3",        NULL};
static const char *const users[] = {
    "train.steps=20", "train.meta_batch=3", "train.validate_every=20", "train.val_tasks=50",
    "test.tasks=600", "test.shots=1",       "budget.charge=support",   NULL};
static const char *const classical[] = {
    "train.steps=9", "train.meta_batch=3", "train.validate_every=4", "train.val_tasks=12",
    "test.tasks=12", "test.shots=5,1,2",   "train.relabel=yes",      NULL};
static const char *const grown[] = {"train.steps=33",         "train.meta_batch=6",
                                    "train.validate_every=5", "train.val_tasks=20",
                                    "test.tasks=20",          "test.shots=1",
                                    "budget.grow=schedule",   "budget.grow_first=3",
                                    "budget.grow_tasks=4",    "budget.grow_every=6",
                                    "train.resplit=yes",      "train.relabel=yes",
                                    "task.query=2",           NULL};
static const char *const many_ways[] = {
    "train.steps=16",      "train.meta_batch=2", "train.validate_every=16",
    "train.val_tasks=5",   "test.tasks=90",      "test.shots=1",
    "data.split=40/20/20", "test.query=2",       NULL};
static const struct {
    const char *bench, *const *sets;
    int tasks, labels; /* bought */
} cases[] = {
    {"glyphs:classes=60,drawers=10:5w-2s@305", plain, 20, 300}, /* 5 x (2 + 1) each */
    {"glyphs:classes=60,drawers=10:5w-3s@200", active, 10, 200},
    {"glyphs-users:classes=6,users=40,images=20:1s@100", users, -1, -1},
    {"glyphs:classes=60,drawers=10:5w-1s", classical, 27, 270},
    {"glyphs:classes=60,drawers=10:5w-1s@400", grown, 23, 345}, /* 3 + 5 x 4 by step 33 */
    {"glyphs:classes=80,drawers=10:20w-1s@400", many_ways, 10, 400},
};
enum { CASES = sizeof cases / sizeof *cases };

static struct scene scene_of(int i)
{
    return (struct scene){.bench = cases[i].bench, .sets = cases[i].sets};
}

/* The steps at which a run validates. */
static int validations(const struct scene *s, int *at)
{
    const struct train_settings *t = &s->setup.train;
    int n = 0;
    for (int step = 0; step <= t->steps; step++)
        if (step == 0 || step == t->steps || step % t->validate_every == 0)
            at[n++] = step;
    return n;
}

/* ---- validations, and the choice of the best ---- */

static void check_history(const struct scene *s)
{
    const struct store_results *r = &s->results.all;
    int at[64], n = validations(s, at), best = 0;
    double best_accuracy = -1;
    CHECK_EQ(r->n_checkpoints, n);
    for (int i = 0; i < n; i++) {
        const struct store_checkpoint *c = &r->checkpoints[i];
        struct expected x;
        double loss = 0;
        CHECK_EQ(c->step, at[i]);
        CHECK_EQ(c->shots, s->setup.train.val_shots);
        CHECK_OK(expect(s, SPLIT_VAL, c->shots, s->setup.train.val_tasks, at[i], &x));
        CHECK_NEAR(c->accuracy, x.mean, 1e-12);
        CHECK_NEAR(c->half, x.half, 1e-8);
        CHECK_NEAR(c->loss, x.mean_loss, 1e-12);
        for (int step = i ? at[i - 1] : 0; step < at[i]; step++)
            loss += stub_loss(step) / (at[i] - at[i - 1]);
        CHECK(i > 0 ? fabs(c->train_loss - loss) < 1e-12 : isnan(c->train_loss));
        if (x.mean > best_accuracy) {
            best = at[i];
            best_accuracy = x.mean;
        }
        expected_release(&x);
    }
    CHECK_EQ(r->steps, s->setup.train.steps);
    CHECK_EQ(r->best_step, best);
    CHECK_NEAR(r->best_accuracy, best_accuracy, 1e-12);
}

TEST(every_validation_is_computed_again)
{
    for (int i = 0; i < CASES; i++) {
        struct scene s = scene_of(i);
        CHECK_OK(scene_run(&s));
        check_history(&s);
        scene_close(&s);
    }
}

/* ---- tests ---- */

static void check_rows(const struct scene *s, const struct store_test *t, const struct expected *x)
{
    CHECK_EQ(t->n_tasks, x->n);
    for (int i = 0; i < x->n; i++) {
        const struct store_task *row = &t->tasks[i];
        const struct episode *e = &x->task[i];
        int seen[64] = {0}, distinct = 0;
        for (int k = 0; k < e->n_support; k++)
            distinct += !seen[e->support_label[k]]++;
        CHECK_EQ(row->number, i);
        CHECK_EQ(row->n_query, e->n_query);
        CHECK_EQ(row->classes, distinct);
        CHECK_NEAR(row->accuracy, x->accuracy[i], 1e-12);
        CHECK_NEAR(row->loss, x->loss[i], 1e-12);
        CHECK_NEAR(row->accuracy_before, x->accuracy_before[i], 1e-12);
        CHECK_NEAR(row->loss_before, x->loss_before[i], 1e-12);
        if (s->stub.users && s->data->user_names)
            CHECK_STR(row->user, s->data->user_names[s->data->user[e->query[0]]]);
        else
            CHECK(!row->user);
    }
    for (int b = 0; b < STORE_BINS; b++) {
        CHECK_EQ(t->bins[b].n, x->bins[b].n);
        CHECK_NEAR(t->bins[b].confidence, x->bins[b].confidence, 1e-9);
        CHECK_NEAR(t->bins[b].correct, x->bins[b].correct, 1e-12);
    }
}

/* FNV-1a over items and labels: what says that two runs met the same tasks. */
static uint64_t hash_of(const struct expected *x)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (int i = 0; i < x->n; i++) {
        const struct episode *e = &x->task[i];
        for (int k = 0; k < e->n_support + e->n_query; k++) {
            int q = k - e->n_support;
            h = (h ^ (uint32_t)(q < 0 ? e->support[k] : e->query[q])) * 0x100000001b3u;
            h = (h ^ (uint32_t)(q < 0 ? e->support_label[k] : e->query_label[q])) * 0x100000001b3u;
        }
    }
    return h;
}

static void check_tests(const struct scene *s)
{
    const struct store_results *r = &s->results.all;
    int shots[8], n = 0;
    for (const char *c = s->setup.test.shots; *c; c++)
        if (*c != ',')
            shots[n++] = *c - '0';
    CHECK_EQ(r->n_tests, 2 * n);
    for (int i = 0; i < 2 * n; i++) {
        const struct store_test *t = &r->tests[i];
        struct expected x, valid;
        int theta = i < n ? (int)r->best_step : s->setup.train.steps;
        CHECK_STR(t->model, i < n ? "best" : "last");
        CHECK_EQ(t->step, theta);
        CHECK_EQ(t->shots, shots[i % n]);
        CHECK_STR(t->support, s->setup.test.support);
        CHECK_STR(t->bn, "none");
        CHECK_OK(expect(s, SPLIT_TEST, t->shots, s->setup.test.tasks, theta, &x));
        check_rows(s, t, &x);
        CHECK(t->tasks_hash == hash_of(&x));
        CHECK_OK(expect(s, SPLIT_VAL, t->shots, s->setup.train.val_tasks, theta, &valid));
        CHECK_NEAR(t->valid_accuracy, valid.mean, 1e-12);
        expected_release(&x);
        expected_release(&valid);
        if (test_failed)
            return;
    }
}

TEST(every_score_of_the_best_and_the_last_model_is_computed_again)
{
    for (int i = 0; i < CASES; i++) {
        struct scene s = scene_of(i);
        CHECK_OK(scene_run(&s));
        check_tests(&s);
        scene_close(&s);
    }
}

/* So that it is a test: the best is not the last, nor are before and after alike. */
TEST(the_scenes_tell_models_and_adaptation_apart)
{
    struct scene s = scene_of(0);
    CHECK_OK(scene_run(&s));
    const struct store_results *r = &s.results.all;
    double before = 0, best = 0, last = 0, lowest = 1;
    for (int i = 0; i < r->tests[0].n_tasks; i++) {
        best += r->tests[0].tasks[i].accuracy / r->tests[0].n_tasks;
        before += r->tests[0].tasks[i].accuracy_before / r->tests[0].n_tasks;
        last += r->tests[2].tasks[i].accuracy / r->tests[2].n_tasks;
    }
    for (int i = 0; i < r->n_checkpoints; i++)
        lowest = fmin(lowest, r->checkpoints[i].accuracy);
    CHECK_EQ(r->best_step, 16);
    CHECK(best > 0.85 && before < 0.4 && last < 0.6 && lowest < 0.4);
    scene_close(&s);
}

/* ---- the parts that tasks come from ---- */

static void check_parts(const struct scene *s)
{
    struct split split;
    int counts[SPLIT_PARTS] = {0}, at[64], shots = 0, want[SPLIT_PARTS] = {0};
    const struct store_results *r = &s->results.all;
    CHECK_OK(
        split_make(&split, s->data, s->stub.users, s->setup.task.split, s->setup.task.split_seed));
    for (int i = 0; i < s->stub.taught.n; i++) {
        const struct shown *x = &s->stub.taught.at[i];
        CHECK_EQ(part_of_items(s, &split, &x->support), SPLIT_TRAIN);
        CHECK(x->query.n == 0 || part_of_items(s, &split, &x->query) == SPLIT_TRAIN);
    }
    for (int i = 0; i < s->stub.asked.n; i++) {
        const struct shown *x = &s->stub.asked.at[i];
        int part = part_of_items(s, &split, &x->query);
        CHECK(part >= 0);
        CHECK(x->support.n == 0 || part_of_items(s, &split, &x->support) == part);
        CHECK(x->query.label == NULL); /* a learner is not told what it is asked */
        if (!x->pool)
            counts[part]++;
        else if (strcmp(s->setup.test.support, "stratified") == 0)
            CHECK_EQ(part, SPLIT_TRAIN);
    }
    /* Validations while training; then each model on validation tasks, and on test tasks
     * before and after adaptation. */
    for (const char *c = s->setup.test.shots; *c; c++)
        shots += *c != ',';
    int val = s->setup.train.val_tasks, test = s->setup.test.tasks;
    if (s->stub.users) {
        val = split.n[SPLIT_VAL] < val ? split.n[SPLIT_VAL] : val;
        test = split.n[SPLIT_TEST] < test ? split.n[SPLIT_TEST] : test;
    }
    want[SPLIT_VAL] = (validations(s, at) + 2 * shots) * val;
    want[SPLIT_TEST] = 2 * shots * 2 * test;
    for (int p = 0; p < SPLIT_PARTS; p++)
        CHECK_EQ(counts[p], want[p]);
    CHECK_EQ(r->tests[0].n_tasks, test);
    split_release(&split);
}

TEST(tasks_come_from_the_part_they_should)
{
    for (int i = 0; i < CASES; i++) {
        struct scene s = scene_of(i);
        CHECK_OK(scene_run(&s));
        check_parts(&s);
        scene_close(&s);
    }
}

/* ---- labels ---- */

/* How many tasks have been bought before update `step` + 1. */
static int bought_by(const struct scene *s, int i, int step)
{
    const struct budget_settings *b = &s->setup.budget;
    int most = cases[i].tasks;
    if (s->name.budget == 0) /* fresh tasks for every update */
        return (step + 1) * s->setup.train.meta_batch;
    if (b->grow == GROW_ONCE)
        return most;
    int due = b->grow_first + step / b->grow_every * b->grow_tasks;
    return due < most ? due : most;
}

static void check_totals(const struct scene *s, int i)
{
    const struct store_results *r = &s->results.all;
    int per_task = cases[i].labels / cases[i].tasks;
    CHECK_EQ(r->tasks, cases[i].tasks);
    CHECK_EQ(r->labels, cases[i].labels);
    CHECK_NEAR(r->cost, cases[i].labels, 0);
    for (int k = 0; k < r->n_checkpoints; k++) {
        const struct store_checkpoint *c = &r->checkpoints[k];
        int tasks = c->step == 0 ? 0 : bought_by(s, i, (int)c->step - 1);
        CHECK_EQ(c->tasks, tasks);
        CHECK_EQ(c->labels, tasks * per_task);
    }
    if (s->name.budget == 0)
        return;
    int64_t n = 0;
    for (int64_t k = 0; k < r->n_ledger; k++) {
        const struct ledger_row *row = &r->ledger[k];
        CHECK_EQ(row->klass, s->data->y[row->item]);
        if (row->kind == KIND_VALIDATION) {
            CHECK_EQ(row->cost, 0);
            continue;
        }
        CHECK_EQ(row->cost, 1000000);
        CHECK_EQ(row->total, 1000000 * ++n);
        CHECK(row->task >= 0 && row->task < cases[i].tasks);
    }
    CHECK_EQ(n, cases[i].labels);
}

TEST(labels_and_tasks_are_counted_as_the_settings_say)
{
    for (int i = 0; i < CASES; i++) {
        struct scene s = scene_of(i);
        if (cases[i].tasks < 0)
            continue;
        CHECK_OK(scene_run(&s));
        check_totals(&s, i);
        scene_close(&s);
    }
}

/* Users: the support alone is charged, and a cap of 100 is not passed. */
TEST(only_supports_are_charged_where_the_budget_says_so)
{
    struct scene s = scene_of(2);
    CHECK_OK(scene_run(&s));
    const struct store_results *r = &s.results.all;
    int64_t charged = 0, free_of_charge = 0;
    for (int64_t k = 0; k < r->n_ledger; k++) {
        const struct ledger_row *row = &r->ledger[k];
        if (row->kind == KIND_VALIDATION)
            continue;
        CHECK_EQ(row->cost, row->round == ROUND_QUERY ? 0 : 1000000);
        charged += row->round != ROUND_QUERY;
        free_of_charge += row->round == ROUND_QUERY;
    }
    CHECK_NEAR(r->cost, (double)charged, 0);
    CHECK_EQ(r->labels, charged + free_of_charge);
    CHECK(charged <= 100 && charged > 100 - 6 && free_of_charge > 0);
    scene_close(&s);
}

/* ---- what the learner is taught ---- */

static int position(const struct items *x, int32_t item)
{
    for (int i = 0; i < x->n; i++)
        if (x->at[i] == item)
            return i;
    return -1;
}

/* The items that the ledger has for a task: its support, and its query. */
static void bought_items(const struct scene *s, int64_t task, struct items *support,
                         struct items *query, int32_t *room)
{
    const struct store_results *r = &s->results.all;
    int n[2] = {0};
    for (int64_t k = 0; k < r->n_ledger; k++)
        if (r->ledger[k].task == task && r->ledger[k].kind != KIND_VALIDATION) {
            bool q = r->ledger[k].round == ROUND_QUERY;
            room[q * 256 + n[q]++] = r->ledger[k].item;
        }
    *support = (struct items){room, NULL, n[0]};
    *query = (struct items){room + 256, NULL, n[1]};
}

/* A task as it was bought: the same items, or dealt out again class by class. */
static void check_dealt(const struct scene *s, const struct shown *x, bool *changed)
{
    struct items support, query;
    int32_t room[512];
    bool resplit = s->setup.train.resplit;
    bought_items(s, (int64_t)(x->id & 0xffffffff), &support, &query, room);
    CHECK_EQ(x->support.n, support.n);
    CHECK_EQ(x->query.n, query.n);
    for (int i = 0; i < support.n + query.n; i++) {
        bool q = i >= support.n;
        const struct items *shown = q ? &x->query : &x->support, *bought = q ? &query : &support;
        int k = q ? i - support.n : i;
        int32_t now = shown->at[k], was = bought->at[k];
        CHECK(position(&support, now) >= 0 || position(&query, now) >= 0);
        CHECK_EQ(s->data->y[now], s->data->y[was]);
        CHECK(position(shown, now) == k); /* none twice */
        CHECK(position(q ? &x->support : &x->query, now) < 0);
        *changed = *changed || now != was;
        CHECK(resplit || now == was);
    }
}

/* Labels are one number for each class; whether they are those of the task as drawn. */
static void check_numbers(const struct scene *s, const struct shown *x, const struct task *task,
                          bool *changed)
{
    for (int i = 0; i < x->support.n + x->query.n; i++) {
        bool q = i >= x->support.n;
        const struct items *shown = q ? &x->query : &x->support;
        int k = q ? i - x->support.n : i, label = shown->label[k];
        int32_t klass = s->data->y[shown->at[k]];
        CHECK(label >= 0 && label < task->ways);
        for (int j = 0; j < x->support.n; j++) /* as the support has it */
            CHECK_EQ(s->data->y[x->support.at[j]] == klass, x->support.label[j] == label);
        *changed = *changed || task->classes[label] != klass;
        CHECK(s->setup.train.relabel || task->classes[label] == klass);
    }
}

static void check_taught(const struct scene *s, int i)
{
    struct tasks *tasks = NULL;
    struct task task = {0};
    bool dealt = false, numbered = false;
    CHECK_OK(tasks_open(&tasks, s->data, &s->name, &s->setup.task, s->seed));
    for (int k = 0; k < s->stub.taught.n; k++) {
        const struct shown *x = &s->stub.taught.at[k];
        int64_t number = (int64_t)(x->id & 0xffffffff);
        CHECK_EQ(x->id >> 32, x->theta);
        CHECK_OK(task_draw(tasks, SPLIT_TRAIN, number, &task));
        CHECK(number < bought_by(s, i, x->theta));
        if (s->name.budget > 0)
            check_dealt(s, x, &dealt);
        check_numbers(s, x, &task, &numbered);
        if (test_failed)
            break;
    }
    if (!test_failed && (dealt != s->setup.train.resplit || numbered != s->setup.train.relabel))
        test_failed = 1;
    task_release(&task);
    tasks_close(tasks);
}

TEST(the_learner_is_taught_what_was_bought)
{
    for (int i = 0; i < CASES; i++) {
        struct scene s = scene_of(i);
        if (cases[i].tasks < 0)
            continue;
        CHECK_OK(scene_run(&s));
        check_taught(&s, i);
        CHECK(!test_failed);
        scene_close(&s);
    }
}

/* Meta-batches: all tasks where they are few, else batches of an epoch in which none comes twice,
 * or draws in which some do. */
TEST(bought_tasks_are_used_again_as_the_settings_say)
{
    for (int i = 0; i < CASES; i++) {
        struct scene s = scene_of(i);
        if (cases[i].tasks < 0)
            continue;
        CHECK_OK(scene_run(&s));
        int batch = s.setup.train.meta_batch, at = 0, twice = 0, in_order = 0, epoch = -1, had = 0;
        bool used[4096] = {false};
        for (int step = 0; step < s.setup.train.steps; step++) {
            int there = bought_by(&s, i, step), n = there < batch ? there : batch;
            int per_epoch = there > batch ? there / batch : 1;
            if (s.name.budget == 0)
                n = batch, per_epoch = 1;
            if (step / per_epoch != epoch || there != had)
                memset(used, 0, sizeof used);
            epoch = step / per_epoch;
            had = there;
            for (int k = 0; k < n; k++, at++) {
                CHECK(at < s.stub.taught.n && s.stub.taught.at[at].theta == step);
                int number = (int)(s.stub.taught.at[at].id & 0xffffffff);
                twice += used[number];
                used[number] = true;
                in_order += k > 0 && number == (int)(s.stub.taught.at[at - 1].id & 0xffffffff) + 1;
                if (s.name.budget == 0)
                    CHECK_EQ(number, step * batch + k);
            }
        }
        CHECK_EQ(at, s.stub.taught.n);
        CHECK_EQ(twice > 0, s.setup.train.reuse == 1);
        if (s.name.budget > 0 && cases[i].tasks > batch) /* shuffled */
            CHECK(in_order < at / 2);
        scene_close(&s);
    }
}

/* What a run shows its learner, for ever: ids of runs stand for it. */
TEST(runs_show_their_learner_the_same_as_always)
{
    static const uint64_t hashes[CASES] = {0xd5b3ea899ee1df7c, 0xca45ed41455663df,
                                           0x364cd33c313a23c1, 0x9b045bcf0ed2e931,
                                           0x223fa04594925411, 0x368f74224fca844c};
    for (int i = 0; i < CASES; i++) {
        struct scene s = scene_of(i);
        uint64_t h = 0xcbf29ce484222325u;
        CHECK_OK(scene_run(&s));
        for (int r = 0; r < 2; r++) {
            const struct record *record = r ? &s.stub.asked : &s.stub.taught;
            for (int k = 0; k < record->n; k++) {
                const struct shown *x = &record->at[k];
                const struct items *sets[] = {&x->support, &x->query};
                h = (h ^ x->id) * 0x100000001b3u;
                h = (h ^ (uint32_t)x->theta) * 0x100000001b3u;
                for (int j = 0; j < 2; j++)
                    for (int m = 0; m < sets[j]->n; m++) {
                        h = (h ^ (uint32_t)sets[j]->at[m]) * 0x100000001b3u;
                        h = (h ^ (uint32_t)(sets[j]->label ? sets[j]->label[m] : -1)) *
                            0x100000001b3u;
                    }
            }
        }
        if (h != hashes[i]) {
            fprintf(stderr, "case %d: 0x%llx\n", i, (unsigned long long)h);
            test_failed = 1;
        }
        scene_close(&s);
    }
}

/* ---- choosing labels ---- */

/* The labels that the learner sees while it chooses are in the ledger by then, and the pool holds
 * every item that is bought. */
TEST(labels_are_chosen_from_pools_of_training_tasks)
{
    struct scene s = scene_of(1);
    CHECK_OK(scene_run(&s));
    const struct store_results *r = &s.results.all;
    int rounds = 0;
    for (int i = 0; i < s.stub.asked.n; i++) {
        const struct shown *x = &s.stub.asked.at[i];
        if (!x->pool || x->theta > 0)
            continue;
        /* Before any update: validation supports are chosen first, and then training's. */
        for (int k = 0; k < x->support.n; k++)
            CHECK(position(&x->query, x->support.at[k]) >= 0);
        rounds += x->support.n > 0;
    }
    CHECK(rounds > 0);
    int per_round[3] = {0};
    for (int64_t k = 0; k < r->n_ledger; k++)
        if (r->ledger[k].round >= 0 && r->ledger[k].kind != KIND_VALIDATION)
            per_round[r->ledger[k].round]++;
    for (int k = 0; k < 3; k++) /* 5 labels of each of 10 tasks in each of three rounds */
        CHECK_EQ(per_round[k], 50);
    scene_close(&s);
}

/* ---- how a run goes on, and how it ends ---- */

TEST(progress_goes_from_nothing_to_all)
{
    for (int i = 0; i < CASES; i++) {
        struct scene s = scene_of(i);
        CHECK_OK(scene_run(&s));
        CHECK(!s.backwards);
        CHECK(s.told >= s.setup.train.steps);
        CHECK_NEAR(s.fraction, 1, 0);
        scene_close(&s);
    }
}

static void same_results(const struct results *a, const struct results *b)
{
    CHECK_EQ(a->all.steps, b->all.steps);
    CHECK_EQ(a->all.best_step, b->all.best_step);
    CHECK_EQ(a->all.tasks, b->all.tasks);
    CHECK_EQ(a->all.labels, b->all.labels);
    CHECK_NEAR(a->all.cost, b->all.cost, 0);
    CHECK_NEAR(a->all.best_accuracy, b->all.best_accuracy, 0);
    CHECK_EQ(a->all.n_checkpoints, b->all.n_checkpoints);
    CHECK_EQ(a->all.n_ledger, b->all.n_ledger);
    CHECK_EQ(a->all.n_tests, b->all.n_tests);
    CHECK(a->all.n_ledger == 0 ||
          memcmp(a->ledger, b->ledger, (size_t)a->all.n_ledger * sizeof *a->ledger) == 0);
    for (int i = 0; i < a->all.n_checkpoints; i++) {
        const struct store_checkpoint *x = &a->checkpoints[i], *y = &b->checkpoints[i];
        CHECK_EQ(x->step, y->step);
        CHECK_EQ(x->shots, y->shots);
        CHECK_EQ(x->tasks, y->tasks);
        CHECK_EQ(x->labels, y->labels);
        CHECK(i == 0 || x->train_loss == y->train_loss);
        CHECK_NEAR(x->accuracy, y->accuracy, 0);
        CHECK_NEAR(x->half, y->half, 0);
        CHECK_NEAR(x->loss, y->loss, 0);
    }
    for (int i = 0; i < a->all.n_tests; i++) {
        CHECK(a->tests[i].tasks_hash == b->tests[i].tasks_hash);
        CHECK_EQ(a->tests[i].step, b->tests[i].step);
        for (int k = 0; k < a->tests[i].n_tasks; k++) {
            CHECK_NEAR(a->tests[i].tasks[k].accuracy, b->tests[i].tasks[k].accuracy, 0);
            CHECK_NEAR(a->tests[i].tasks[k].loss, b->tests[i].tasks[k].loss, 0);
        }
    }
}

static void remove_files(const char *folder)
{
    static const char *const files[] = {"checkpoint.safetensors", "collection.safetensors",
                                        "best.safetensors", "last.safetensors"};
    char path[256];
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        unlink(path);
    }
    rmdir(folder);
}

TEST(a_run_that_was_stopped_goes_on_to_the_same_results)
{
    static const int which[] = {0, 1, 3, 4};
    for (int i = 0; i < 4; i++) {
        char folder[TEMP_SIZE];
        struct scene whole = scene_of(which[i]), first = scene_of(which[i]),
                     second = scene_of(which[i]);
        CHECK(mkdtemp(temp_name(folder, "mete-driver-XXXXXX")) != NULL);
        first.folder = second.folder = folder;
        CHECK_OK(scene_run(&whole));
        first.stop_after = whole.told - 3; /* in the last updates */
        CHECK_EQ(scene_run(&first), METE_ESTOPPED);
        CHECK_OK(scene_run(&second));
        CHECK(second.stub.taught.n < whole.stub.taught.n && second.stub.taught.n > 0);
        CHECK(second.stub.taught.at[0].theta >= 4); /* from a checkpoint */
        same_results(&whole.results, &second.results);
        remove_files(folder);
        scene_close(&whole);
        scene_close(&first);
        scene_close(&second);
    }
}

TEST(models_are_saved_as_they_are_scored)
{
    static const char *const names[] = {"best", "last"};
    char folder[TEMP_SIZE], path[TEMP_SIZE + 64];
    struct scene s = scene_of(0);
    CHECK(mkdtemp(temp_name(folder, "mete-driver-XXXXXX")) != NULL);
    s.folder = folder;
    CHECK_OK(scene_run(&s));
    for (int m = 0; m < 2; m++) {
        struct safetensors *f = NULL;
        const struct ndarray *theta;
        float value;
        snprintf(path, sizeof path, "%s/%s.safetensors", folder, names[m]);
        CHECK_OK(safetensors_open(&f, path));
        theta = safetensors_find(f, "theta");
        CHECK(theta != NULL);
        ndarray_to_float(theta, &value);
        CHECK_NEAR(value, m == 0 ? s.results.all.best_step : s.setup.train.steps, 0);
        CHECK_STR(safetensors_meta(f, "method"), "maml");
        CHECK_STR(safetensors_meta(f, "train.validate_every"), "8");
        safetensors_close(f);
    }
    remove_files(folder);
    scene_close(&s);
}

TEST(the_same_scores_where_memory_is_short_or_calls_are_large)
{
    struct scene plain_run = scene_of(5), little = scene_of(5), large = scene_of(5);
    CHECK_OK(scene_run(&plain_run));
    little.stub.most = 3;
    CHECK_OK(scene_run(&little));
    large.stub.learner.is.batched = true;
    CHECK_OK(scene_run(&large));
    same_results(&plain_run.results, &little.results);
    same_results(&plain_run.results, &large.results);
    int most[3] = {0}, n = 0;
    struct scene *all[] = {&plain_run, &little, &large};
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < all[k]->stub.asked.n; i++) {
            const struct shown *x = &all[k]->stub.asked.at[i];
            n = i > 0 && x->call == x[-1].call ? n + 1 : 1;
            most[k] = n > most[k] ? n : most[k];
        }
    CHECK_EQ(most[0], 32);
    CHECK(most[1] <= 3 && most[1] > 1);
    CHECK_EQ(most[2], 64); /* 2 x 64 tasks of 20 + 40 images would be too many */
    scene_close(&plain_run);
    scene_close(&little);
    scene_close(&large);
}

/* Skill is highest after update 16: validations at 20, 24, ... bring nothing better. */
TEST(training_stops_when_validations_bring_nothing_better)
{
    static const struct {
        const char *patience;
        int last;
    } stops[] = {{"train.patience=1", 20}, {"train.patience=3", 28}, {"train.patience=0", 30}};
    for (int i = 0; i < 3; i++) {
        const char *sets[] = {"train.steps=30",     "train.meta_batch=4", "train.validate_every=4",
                              "train.val_tasks=40", "train.val_shots=2",  "test.tasks=5",
                              "test.query=3",       stops[i].patience,    NULL};
        struct scene s = scene_of(0);
        s.sets = sets;
        CHECK_OK(scene_run(&s));
        const struct store_results *r = &s.results.all;
        CHECK_EQ(r->best_step, 16);
        CHECK_EQ(r->steps, stops[i].last);
        CHECK_EQ(r->checkpoints[r->n_checkpoints - 1].step, stops[i].last);
        CHECK_EQ(r->tests[r->n_tests - 1].step, stops[i].last);
        CHECK_EQ(s.stub.taught.n, 4 * stops[i].last);
        scene_close(&s);
    }
}

TEST(a_run_that_diverges_says_so)
{
    struct scene nan = scene_of(0), bad = scene_of(0), late = scene_of(0), lost = scene_of(0);
    nan.stub.nan_at = 3;
    CHECK_EQ(scene_run(&nan), METE_EDIVERGE);
    CHECK_HAS(mete_errmsg(), "training diverged by step 8");
    bad.stub.bad_at = 10;
    CHECK_EQ(scene_run(&bad), METE_EDIVERGE);
    CHECK_HAS(mete_errmsg(), "training diverged by step 16");
    /* Validations are far apart: the loss is looked at in between. */
    static const char *const rarely[] = {"train.steps=90", "train.meta_batch=4",
                                         "train.validate_every=80", "train.val_tasks=2", NULL};
    late.sets = rarely;
    late.stub.nan_at = 20;
    CHECK_EQ(scene_run(&late), METE_EDIVERGE);
    CHECK_HAS(mete_errmsg(), "training diverged by step 32");
    lost.stub.lost_at = 12;
    CHECK_EQ(scene_run(&lost), METE_EDIVERGE);
    CHECK_HAS(mete_errmsg(), "are not numbers, after adaptation");
    scene_close(&nan);
    scene_close(&bad);
    scene_close(&late);
    scene_close(&lost);
}

TESTS(T(every_validation_is_computed_again),
      T(every_score_of_the_best_and_the_last_model_is_computed_again),
      T(the_scenes_tell_models_and_adaptation_apart), T(tasks_come_from_the_part_they_should),
      T(labels_and_tasks_are_counted_as_the_settings_say),
      T(only_supports_are_charged_where_the_budget_says_so),
      T(the_learner_is_taught_what_was_bought), T(bought_tasks_are_used_again_as_the_settings_say),
      T(runs_show_their_learner_the_same_as_always),
      T(labels_are_chosen_from_pools_of_training_tasks), T(progress_goes_from_nothing_to_all),
      T(a_run_that_was_stopped_goes_on_to_the_same_results), T(models_are_saved_as_they_are_scored),
      T(the_same_scores_where_memory_is_short_or_calls_are_large),
      T(training_stops_when_validations_bring_nothing_better), T(a_run_that_diverges_says_so))
