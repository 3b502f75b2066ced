/* test_redraw.c - what versions of the paper's code did with the images of bought tasks: others of
 * their classes at each use (train.redraw), and one query image of a class in all of them. */
#include "test.h"
#include "run/redraw.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { WAYS = 5, SHOTS = 2, BOUGHT = 3, BATCH = 3 };

struct scene {
    struct dataset *d;
    struct tasks *tasks;
    struct collection bought;
};

static void scene_open(struct scene *s, int query_is)
{
    struct bench bench;
    struct task_settings settings;
    struct task task = {0};
    *s = (struct scene){0};
    param_defaults(task_params, &settings);
    settings.query = 1;
    settings.query_is = query_is;
    CHECK_OK(bench_parse(&bench, "glyphs:classes=60:5w-2s"));
    CHECK_OK(dataset_find(&s->d, bench.dataset));
    CHECK_OK(tasks_open(&s->tasks, s->d, &bench, &settings, 1));
    for (int i = 0; i < BOUGHT; i++) {
        struct episode e;
        CHECK_OK(task_draw(s->tasks, SPLIT_TRAIN, i, &task));
        episode_init(&e, &task, WAYS * SHOTS);
        for (int k = 0; k < e.n_support + e.n_query; k++) {
            bool q = k >= e.n_support;
            int32_t item = q ? e.query[k - e.n_support] : (e.support[k] = task.pool[k]);
            int label = 0;
            while (task.classes[label] != s->d->y[item])
                label++;
            *(q ? &e.query_label[k - e.n_support] : &e.support_label[k]) = label;
        }
        collection_add(&s->bought, &e, 1);
    }
    task_release(&task);
}

static void scene_close(struct scene *s)
{
    collection_release(&s->bought);
    tasks_close(s->tasks);
    dataset_close(s->d);
}

/* Labels stay, items are of the same classes and all different; *others are not the bought. */
static void check_task(const struct scene *s, const struct labelled_task *l,
                       const struct episode *e, int *others)
{
    for (int k = 0; k < l->support.n + l->query.n; k++) {
        bool q = k >= l->support.n;
        int i = q ? k - l->support.n : k;
        int32_t item = q ? l->query.at[i] : l->support.at[i];
        int32_t bought = q ? e->query[i] : e->support[i];
        CHECK_EQ(s->d->y[item], s->d->y[bought]);
        CHECK_EQ(q ? l->query.label[i] : l->support.label[i],
                 q ? e->query_label[i] : e->support_label[i]);
        *others += item != bought;
        for (int j = 0; j < k; j++)
            CHECK((j < l->support.n ? l->support.at[j] : l->query.at[j - l->support.n]) != item);
    }
}

static int64_t ones(const uint8_t *at, int64_t n)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += at[i];
    return sum;
}

TEST(other_images_of_the_same_classes_are_shown_and_counted)
{
    struct scene s;
    struct redraw x = {0}, again = {0};
    struct labelled_task task[BATCH];
    int others = 0;
    scene_open(&s, 0);
    int64_t points = BOUGHT * WAYS * (SHOTS + 1);
    for (int64_t step = 0; step < 30; step++) {
        for (int i = 0; i < BATCH; i++)
            task[i] = labelled_task_of(&s.bought.at[i], step);
        CHECK_OK(redraw_items(&x, &s.bought, s.tasks, 7, task, BATCH));
        for (int i = 0; i < BATCH && !test_failed; i++)
            check_task(&s, &task[i], &s.bought.at[i], &others);
    }
    CHECK(others > 30 * points / 2);
    CHECK(x.n_shown > 2 * points); /* so it is no budget of labels */
    CHECK_EQ(x.n_shown, ones(x.shown, s.d->items));
    /* a checkpoint brings back what was shown, and nothing else */
    CHECK_OK(redraw_restore(&again, s.tasks, x.shown));
    CHECK_EQ(again.n_shown, x.n_shown);
    x.shown[3] = 2;
    CHECK_EQ(redraw_restore(&again, s.tasks, x.shown), METE_EFORMAT);
    CHECK_HAS(mete_errmsg(), "shown 2 times");
    redraw_release(&x);
    redraw_release(&again);
    scene_close(&s);
}

TEST(a_class_has_one_query_image_in_all_training_tasks)
{
    struct scene s;
    struct task task = {0};
    int same[SPLIT_PARTS] = {0}, met[SPLIT_PARTS] = {0};
    scene_open(&s, 1);
    int32_t *query = mem_array((size_t)s.d->classes, sizeof *query);
    for (int part = 0; part < SPLIT_PARTS; part++) {
        memset(query, -1, (size_t)s.d->classes * sizeof *query);
        for (int64_t i = 0; i < 100; i++) {
            CHECK_OK(task_draw(s.tasks, part, i, &task));
            for (int k = 0; k < task.n_query; k++) {
                int32_t *known = &query[s.d->y[task.query[k]]];
                met[part] += *known >= 0;
                same[part] += *known == task.query[k];
                *known = task.query[k];
            }
        }
    }
    CHECK(met[SPLIT_TRAIN] > 200);
    CHECK_EQ(same[SPLIT_TRAIN], met[SPLIT_TRAIN]);
    CHECK(same[SPLIT_TEST] < met[SPLIT_TEST] / 4); /* tests stay as they are */
    free(query);
    task_release(&task);
    scene_close(&s);
}

TESTS(T(other_images_of_the_same_classes_are_shown_and_counted),
      T(a_class_has_one_query_image_in_all_training_tasks))
