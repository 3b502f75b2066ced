/* test_remix.c - tasks made anew of bought points hold what was bought, as it was labelled. */
#include "test.h"
#include "run/remix.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { WAYS = 5, SHOTS = 2, BATCH = 16 };

struct scene {
    struct dataset *d;
    struct tasks *tasks;
    struct collection bought;
    uint8_t *paid; /* (items) */
};

/* Buys n tasks: what a ledger reveals is the label that the dataset has. */
static void buy(struct scene *s, int n)
{
    struct task task = {0};
    for (int i = 0; i < n; i++) {
        struct episode e;
        CHECK_OK(task_draw(s->tasks, SPLIT_TRAIN, s->bought.n, &task));
        episode_init(&e, &task, WAYS * SHOTS);
        for (int k = 0; k < e.n_support + e.n_query; k++) {
            bool q = k >= e.n_support;
            int32_t item = q ? e.query[k - e.n_support] : (e.support[k] = task.pool[k]);
            int label = 0;
            while (task.classes[label] != s->d->y[item])
                label++;
            *(q ? &e.query_label[k - e.n_support] : &e.support_label[k]) = label;
            s->paid[item] = 1;
        }
        collection_add(&s->bought, &e, 1);
    }
    task_release(&task);
}

static void scene_open(struct scene *s, int n)
{
    struct bench bench;
    struct task_settings settings;
    *s = (struct scene){0};
    param_defaults(task_params, &settings);
    settings.query = 1;
    CHECK_OK(bench_parse(&bench, "glyphs:classes=60:5w-2s"));
    CHECK_OK(dataset_find(&s->d, bench.dataset));
    CHECK_OK(tasks_open(&s->tasks, s->d, &bench, &settings, 1));
    s->paid = mem_array((size_t)s->d->items, 1);
    buy(s, n);
}

static void scene_close(struct scene *s)
{
    collection_release(&s->bought);
    tasks_close(s->tasks);
    dataset_close(s->d);
    free(s->paid);
}

/* One class for each label, others for others, every point paid for and met once. */
static void check_task(const struct scene *s, const struct labelled_task *l)
{
    int32_t classes[WAYS];
    int support[WAYS] = {0}, query[WAYS] = {0};
    memset(classes, -1, sizeof classes);
    CHECK_EQ(l->support.n, WAYS * SHOTS);
    CHECK_EQ(l->query.n, WAYS);
    for (int k = 0; k < l->support.n + l->query.n; k++) {
        bool q = k >= l->support.n;
        int32_t item = q ? l->query.at[k - l->support.n] : l->support.at[k];
        int32_t label = q ? l->query.label[k - l->support.n] : l->support.label[k];
        CHECK(s->paid[item]);
        CHECK(label >= 0 && label < WAYS);
        if (classes[label] < 0)
            classes[label] = s->d->y[item];
        CHECK_EQ(classes[label], s->d->y[item]);
        (q ? query : support)[label]++;
        for (int j = 0; j < k; j++)
            CHECK((j < l->support.n ? l->support.at[j] : l->query.at[j - l->support.n]) != item);
    }
    for (int w = 0; w < WAYS; w++) {
        CHECK_EQ(support[w], SHOTS);
        CHECK_EQ(query[w], 1);
        for (int v = 0; v < w; v++)
            CHECK(classes[v] != classes[w]);
    }
}

TEST(tasks_are_made_of_bought_points)
{
    struct scene s;
    struct remix x = {0};
    struct labelled_task task[BATCH];
    int made = 0;
    scene_open(&s, 60);
    for (int64_t step = 0; step < 20; step++) {
        CHECK_OK(remix_draw(&x, &s.bought, s.tasks, 7, step, BATCH, task, &made));
        CHECK_EQ(made, BATCH);
        for (int i = 0; i < BATCH && !test_failed; i++)
            check_task(&s, &task[i]);
    }
    remix_release(&x);
    scene_close(&s);
}

TEST(a_step_is_the_same_whatever_came_before)
{
    struct scene s;
    struct remix x = {0}, y = {0};
    struct labelled_task task[BATCH], again[BATCH];
    int made = 0;
    scene_open(&s, 40);
    CHECK_OK(remix_draw(&y, &s.bought, s.tasks, 7, 3, BATCH, again, &made));
    buy(&s, 20);
    CHECK_OK(remix_draw(&x, &s.bought, s.tasks, 7, 4, BATCH, task, &made));
    CHECK_OK(remix_draw(&y, &s.bought, s.tasks, 7, 4, BATCH, again, &made));
    for (int i = 0; i < BATCH; i++) {
        CHECK(memcmp(task[i].support.at, again[i].support.at, WAYS * SHOTS * sizeof(int32_t)) == 0);
        CHECK(memcmp(task[i].query.at, again[i].query.at, WAYS * sizeof(int32_t)) == 0);
        CHECK_EQ(task[i].id, again[i].id);
    }
    CHECK_OK(remix_draw(&y, &s.bought, s.tasks, 7, 5, BATCH, again, &made));
    CHECK(memcmp(task[0].support.at, again[0].support.at, WAYS * SHOTS * sizeof(int32_t)) != 0);
    remix_release(&x);
    remix_release(&y);
    scene_close(&s);
}

TEST(few_points_make_no_new_task)
{
    struct scene s;
    struct remix x = {0};
    struct labelled_task task[BATCH];
    int made = -1;
    scene_open(&s, 1);
    CHECK_OK(remix_draw(&x, &s.bought, s.tasks, 7, 0, BATCH, task, &made));
    CHECK_EQ(made, 0);
    remix_release(&x);
    scene_close(&s);
}

TESTS(T(tasks_are_made_of_bought_points), T(a_step_is_the_same_whatever_came_before),
      T(few_points_make_no_new_task))
