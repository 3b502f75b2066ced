/* test_task.c - benchmark names, splits and drawing tasks. */
#include "test.h"
#include "tiny.h"
#include "mete.h"
#include "task/bench.h"
#include "task/hidden.h"
#include "task/task.h"

#include <unistd.h>
#include <sys/stat.h>

TEST(a_benchmark_name_has_four_parts)
{
    struct bench b;
    char text[600];
    CHECK_OK(bench_parse(&b, "omniglot:5w-1s@300K"));
    CHECK_STR(b.dataset, "omniglot");
    CHECK_EQ(b.ways, 5);
    CHECK_EQ(b.shots, 1);
    CHECK_EQ(b.budget, 300000);
    bench_text(&b, text, sizeof text);
    CHECK_STR(text, "omniglot:5w-1s@300K");
    CHECK_OK(bench_parse(&b, "glyphs:classes=20,seed=3:20w-5s@1.2M"));
    CHECK_STR(b.dataset, "glyphs:classes=20,seed=3");
    CHECK_EQ(b.budget, 1200000);
    CHECK_OK(bench_parse(&b, "glyphs:05w-01s@0.3K")); /* all spellings have one text */
    bench_text(&b, text, sizeof text);
    CHECK_STR(text, "glyphs:5w-1s@300");
    CHECK_OK(bench_parse(&b, "glyphs:5w-1s@1e12"));
    CHECK_EQ(b.budget, INT64_C(1000000000000));
    CHECK_OK(bench_parse(&b, "femnist:3s"));
    CHECK_EQ(b.ways, 0);
    CHECK_EQ(b.budget, 0);
    CHECK_OK(bench_parse(&b, "data/my set:62w-1s@333"));
    bench_text(&b, text, sizeof text);
    CHECK_STR(text, "data/my set:62w-1s@333");
}

TEST(a_wrong_benchmark_name_is_refused_with_a_sentence)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"omniglot", "a benchmark is written"},    {":5w-1s", "a benchmark is written"},
        {"omniglot:", "number of shots"},          {"omniglot:5w", "ways-shots"},
        {"omniglot:5w-s", "number of shots"},      {"omniglot:0w-1s", "number of shots"},
        {"omniglot:5w-1s@", "after '@'"},          {"omniglot:5w-1s@1.5", "after '@'"},
        {"omniglot:5w-1s@-3", "after '@'"},        {"omniglot:5w-1sx", "left over"},
        {"omniglot:5w-99999999999s", "number of"}, {"omniglot:5w-1s@9e99", "after '@'"},
        {"omniglot:5w-1s@9.3e12", "after '@'"},    {"omniglot:5w-1s@0x3K", "after '@'"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct bench b;
        CHECK_EQ(bench_parse(&b, bad[i].text), METE_EINVAL);
        CHECK_HAS(mete_errmsg(), bad[i].says);
    }
}

/* Parts are disjoint and within range; how many groups they hold together. */
static int covered(const struct split *s, int groups)
{
    int *seen = mem_array((size_t)groups, sizeof *seen), total = 0;
    for (int p = 0; p < SPLIT_PARTS; p++)
        for (int i = 0; i < s->n[p]; i++) {
            int g = s->group[p][i];
            if (g < 0 || g >= groups || seen[g]++)
                total = -1000000;
            total++;
        }
    free(seen);
    return total;
}

TEST(splits_are_disjoint_and_of_the_size_asked)
{
    struct dataset *d = tiny_dataset(1623, 1, 0);
    struct split s = {0}, other = {0};
    CHECK_OK(split_make(&s, d, false, "1000/200/423", 0));
    CHECK_EQ(s.n[SPLIT_TRAIN], 1000);
    CHECK_EQ(s.n[SPLIT_VAL], 200);
    CHECK_EQ(s.n[SPLIT_TEST], 423);
    CHECK_EQ(covered(&s, 1623), 1623);
    CHECK_OK(split_make(&other, d, false, "1000/200/423", 1));
    CHECK(memcmp(s.group[0], other.group[0], 1000 * sizeof(int32_t)) != 0);
    split_release(&other);
    CHECK_OK(split_make(&other, d, false, "auto", 0)); /* all 1,623 in the same proportion */
    CHECK_EQ(memcmp(s.group[0], other.group[0], 1000 * sizeof(int32_t)), 0);
    split_release(&other);
    CHECK_OK(split_make(&other, d, false, "3000:200:200", 0));
    CHECK_EQ(other.n[0] + other.n[1] + other.n[2], 1623);
    CHECK(abs(other.n[0] - 1623 * 3000 / 3400) <= 1 && abs(other.n[1] - other.n[2]) <= 1);
    split_release(&other);
    split_release(&s);
    dataset_close(d);
}

TEST(a_split_that_would_overlap_is_refused)
{
    struct dataset *d = tiny_dataset(1623, 1, 0);
    struct split s = {0};
    CHECK_EQ(split_make(&s, d, false, "1000/200/463", 0), METE_EINVAL); /* as released */
    CHECK_HAS(mete_errmsg(), "overlap");
    CHECK_EQ(split_make(&s, d, false, "1000/200", 0), METE_EINVAL);
    CHECK_EQ(split_make(&s, d, false, "0.5/0.2/0.3", 0), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "whole numbers");
    CHECK_EQ(split_make(&s, d, false, "0:0:0", 0), METE_EINVAL);
    CHECK_EQ(split_make(&s, d, false, "vinyals", 0), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "no 'vinyals' split");
    dataset_close(d);
}

static void write_text(const char *folder, const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    fputs(text, f);
    fclose(f);
}

TEST(split_files_are_read_and_checked)
{
    struct dataset *d = tiny_dataset(6, 2, 0);
    struct split s = {0};
    char folder[TEMP_SIZE], command[TEMP_SIZE + 16];
    CHECK(mkdtemp(temp_name(folder, "mete-split-XXXXXX")));
    write_text(folder, "train.txt", "class0/rot000\nclass0/rot090\r\nclass4\n\n");
    write_text(folder, "val.txt", "class1\n");
    write_text(folder, "test.txt", "class2/rot270\nclass5");
    CHECK_OK(split_make(&s, d, false, folder, 0));
    CHECK_EQ(s.n[0], 2);
    CHECK_EQ(s.group[0][1], 4);
    CHECK_EQ(s.group[2][1], 5);
    split_release(&s);
    write_text(folder, "val.txt", "class1\nclass4\n");
    CHECK_EQ(split_make(&s, d, false, folder, 0), METE_EFORMAT);
    CHECK_HAS(mete_errmsg(), "val.txt:2: 'class4' is in both train and val");
    write_text(folder, "val.txt", "class9\n");
    CHECK_EQ(split_make(&s, d, false, folder, 0), METE_EFORMAT);
    CHECK_HAS(mete_errmsg(), "val.txt:1: tiny has no class or user 'class9'");
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK_EQ(system(command), 0);
    dataset_close(d);
}

/* The characters that the published files name, as a dataset's class names. */
static int read_characters(const char *folder, char **names)
{
    int n = 0;
    for (int p = 0; p < SPLIT_PARTS; p++) {
        char path[256], line[256];
        snprintf(path, sizeof path, "%s/%s.txt", folder, split_part_name(p));
        FILE *f = fopen(path, "r");
        while (f && fgets(line, sizeof line, f)) {
            char *rot = strstr(line, "/rot000");
            if (!rot)
                continue;
            *rot = '\0';
            names[n++] = mem_string(line);
        }
        if (f)
            fclose(f);
    }
    return n;
}

TEST(the_published_omniglot_split_has_its_sizes)
{
    static const char folder[] = "../shared/data/omniglot";
    if (access("../shared/data/omniglot/train.txt", R_OK) != 0)
        SKIP("../shared/data/omniglot is not there");
    struct split s = {0};
    struct dataset *d = tiny_dataset(1623, 1, 0);
    for (int c = 0; c < 1623; c++)
        free(d->class_names[c]);
    CHECK_EQ(read_characters(folder, d->class_names), 1623);
    CHECK_OK(split_make(&s, d, false, folder, 0));
    CHECK_EQ(s.n[SPLIT_TRAIN], 1028);
    CHECK_EQ(s.n[SPLIT_VAL], 172);
    CHECK_EQ(s.n[SPLIT_TEST], 423);
    CHECK_EQ(covered(&s, 1623), 1623);
    split_release(&s);
    dataset_close(d);
}

static struct task_settings defaults(void)
{
    struct task_settings s;
    param_defaults(task_params, &s);
    return s;
}

TEST(a_few_shot_task_has_its_classes_query_and_the_whole_rest_as_pool)
{
    struct dataset *d = tiny_dataset(40, 20, 0);
    struct task_settings s = defaults();
    struct bench b = {"tiny", 5, 1, 0};
    struct tasks *t = NULL;
    struct task task = {0};
    s.query = 3;
    CHECK_OK(tasks_open(&t, d, &b, &s, 7));
    CHECK_EQ(tasks_max_pool(t), 85);
    for (int64_t number = 0; number < 200; number++) {
        int per_class[5] = {0}, query[5] = {0};
        uint8_t used[800] = {0};
        CHECK_OK(task_draw(t, SPLIT_TRAIN, number, &task));
        CHECK_EQ(task.n_pool, 85);
        CHECK_EQ(task.n_query, 15);
        CHECK_EQ(task.labels, 5);
        for (int i = 0; i < task.n_pool; i++) {
            CHECK(!used[task.pool[i]]++);
            per_class[hidden_label(&task, task.pool[i])]++;
        }
        for (int i = 0; i < task.n_query; i++) {
            CHECK(!used[task.query[i]]++);
            query[hidden_label(&task, task.query[i])]++;
        }
        for (int c = 0; c < 5; c++) {
            CHECK_EQ(per_class[c], 17);
            CHECK_EQ(query[c], 3);
            for (int k = 0; k < c; k++)
                CHECK(task.classes[k] != task.classes[c]);
        }
    }
    task_release(&task);
    tasks_close(t);
    dataset_close(d);
}

TEST(any_task_is_reached_without_the_ones_before_it)
{
    struct dataset *d = tiny_dataset(40, 20, 0);
    struct task_settings s = defaults();
    struct bench b = {"tiny", 5, 1, 0};
    struct tasks *t = NULL, *same = NULL, *other = NULL;
    struct task x = {0}, y = {0};
    CHECK_OK(tasks_open(&t, d, &b, &s, 7));
    b.shots = 3; /* shots do not change which tasks there are */
    CHECK_OK(tasks_open(&same, d, &b, &s, 7));
    CHECK_OK(tasks_open(&other, d, &b, &s, 8));
    for (int64_t n = 0; n < 50; n++)
        CHECK_OK(task_draw(t, SPLIT_TEST, n, &x));
    CHECK_OK(task_draw(same, SPLIT_TEST, 49, &y));
    CHECK_EQ(memcmp(x.pool, y.pool, (size_t)x.n_pool * sizeof *x.pool), 0);
    CHECK_EQ(memcmp(x.query, y.query, (size_t)x.n_query * sizeof *x.query), 0);
    CHECK_EQ(memcmp(x.classes, y.classes, 5 * sizeof *x.classes), 0);
    CHECK_OK(task_draw(other, SPLIT_TEST, 49, &y));
    CHECK(memcmp(x.pool, y.pool, (size_t)x.n_pool * sizeof *x.pool) != 0);
    task_release(&x);
    task_release(&y);
    tasks_close(t);
    tasks_close(same);
    tasks_close(other);
    dataset_close(d);
}

TEST(the_order_of_a_pool_tells_nothing_of_the_classes)
{
    /* Class of the first point, over many tasks: uniform.  Chi-squared, 4 degrees
     * of freedom; 23.5 has a chance of 1e-4. */
    struct dataset *d = tiny_dataset(5, 20, 0);
    struct task_settings s = defaults();
    struct bench b = {"tiny", 5, 1, 0};
    struct tasks *t = NULL;
    struct task task = {0};
    enum { N = 4000 };
    double seen[5] = {0}, sum = 0;
    snprintf(s.split, sizeof s.split, "5/0/0");
    CHECK_OK(tasks_open(&t, d, &b, &s, 1));
    for (int i = 0; i < N; i++) {
        CHECK_OK(task_draw(t, SPLIT_TRAIN, i, &task));
        seen[hidden_label(&task, task.pool[0])]++;
    }
    for (int c = 0; c < 5; c++)
        sum += (seen[c] - N / 5.0) * (seen[c] - N / 5.0) / (N / 5.0);
    CHECK(sum < 23.5);
    task_release(&task);
    tasks_close(t);
    dataset_close(d);
}

TEST(a_user_task_is_one_user_and_each_user_comes_once)
{
    struct dataset *d = tiny_dataset(10, 100, 25);
    struct task_settings s = defaults();
    struct bench b = {"tiny", 10, 2, 0};
    struct tasks *t = NULL;
    struct task task = {0};
    uint8_t seen[25] = {0};
    CHECK_OK(tasks_open(&t, d, &b, &s, 3));
    CHECK(tasks_are_users(t));
    int64_t n = tasks_count(t, SPLIT_TRAIN);
    CHECK_EQ(n, tasks_split(t)->n[SPLIT_TRAIN]);
    for (int64_t i = 0; i < n; i++) {
        CHECK_OK(task_draw(t, SPLIT_TRAIN, i, &task));
        CHECK(!seen[task.user]++);
        CHECK_EQ(task.n_pool, 30);
        CHECK_EQ(task.n_query, 10);
        CHECK_EQ(task.labels, 20);
        for (int k = 0; k < task.n_pool; k++)
            CHECK(d->user[task.pool[k]] == task.user && d->part[task.pool[k]] == PART_TRAIN);
        for (int k = 0; k < task.n_query; k++)
            CHECK(d->user[task.query[k]] == task.user && d->part[task.query[k]] == PART_TEST);
    }
    int first = -1;
    CHECK_OK(task_draw(t, SPLIT_TRAIN, 0, &task));
    first = task.user;
    CHECK_OK(task_draw(t, SPLIT_TRAIN, n, &task));
    CHECK_EQ(task.user, first);
    task_release(&task);
    tasks_close(t);
    dataset_close(d);
}

TEST(shots_are_a_cap_for_users)
{
    struct dataset *d = tiny_dataset(10, 100, 25);
    struct task_settings s = defaults();
    struct bench b = {"tiny", 0, 5, 0};
    struct tasks *t = NULL;
    struct task task = {0};
    CHECK_OK(tasks_open(&t, d, &b, &s, 3));
    CHECK_OK(task_draw(t, SPLIT_TRAIN, 0, &task));
    CHECK_EQ(task.labels, 30); /* 10 x 5, but the pool has 30 */
    tasks_close(t);
    s.cap = CAP_PRESENT;
    s.shots = 2;
    CHECK_OK(tasks_open(&t, d, &b, &s, 3));
    CHECK_OK(task_draw(t, SPLIT_TRAIN, 0, &task));
    int seen[10] = {0}, present = 0;
    for (int i = 0; i < task.n_pool; i++)
        present += seen[hidden_label(&task, task.pool[i])]++ < 2;
    CHECK_EQ(task.labels, present);
    /* nor does it count what a task before it left behind its pool: here an item of a class that
     * the pool has too few of */
    int rare = 0, planted = 0;
    while (rare < 9 && seen[rare] >= 2)
        rare++;
    CHECK(seen[rare] < 2);
    int32_t item = 0, *end = task.pool + task.n_pool;
    while (hidden_label(&task, item) != rare)
        item++;
    for (; end < task.classes + task.room; planted++)
        *end++ = item;
    CHECK(planted > 0);
    CHECK_OK(task_draw(t, SPLIT_TRAIN, 0, &task));
    CHECK_EQ(task.labels, present);
    task_release(&task);
    tasks_close(t);
    dataset_close(d);
}

TEST(tasks_that_cannot_be_drawn_are_refused)
{
    struct dataset *d = tiny_dataset(40, 20, 0), *u = tiny_dataset(10, 100, 25);
    struct task_settings s = defaults();
    struct tasks *t = NULL;
    CHECK_EQ(tasks_open(&t, d, &(struct bench){"tiny", 30, 1, 0}, &s, 1), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "30 ways");
    CHECK_EQ(tasks_open(&t, d, &(struct bench){"tiny", 5, 20, 0}, &s, 1), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "20 shots and 1 query items need 5 classes of 21 items, and 0 of");
    CHECK_EQ(tasks_open(&t, d, &(struct bench){"tiny", 0, 1, 0}, &s, 1), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "needs ways");
    CHECK_EQ(tasks_open(&t, u, &(struct bench){"tiny", 5, 1, 0}, &s, 1), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "write tiny:10w-1s");
    s.kind = TASK_USERS;
    CHECK_EQ(tasks_open(&t, d, &(struct bench){"tiny", 0, 1, 0}, &s, 1), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "no users");
    s.kind = TASK_CLASSES;
    snprintf(s.split, sizeof s.split, "6/0/4");
    CHECK_OK(tasks_open(&t, u, &(struct bench){"tiny", 5, 1, 0}, &s, 1));
    CHECK_OK(tasks_check(t, SPLIT_TRAIN));
    CHECK_EQ(tasks_check(t, SPLIT_TEST), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "4 of the 4 test classes have as many");
    struct task task = {0};
    CHECK_EQ(task_draw(t, SPLIT_VAL, 0, &task), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "no classes for the val part");
    task_release(&task);
    tasks_close(t);
    dataset_close(d);
    dataset_close(u);
}

TESTS(T(a_benchmark_name_has_four_parts), T(a_wrong_benchmark_name_is_refused_with_a_sentence),
      T(splits_are_disjoint_and_of_the_size_asked), T(a_split_that_would_overlap_is_refused),
      T(split_files_are_read_and_checked), T(the_published_omniglot_split_has_its_sizes),
      T(a_few_shot_task_has_its_classes_query_and_the_whole_rest_as_pool),
      T(any_task_is_reached_without_the_ones_before_it),
      T(the_order_of_a_pool_tells_nothing_of_the_classes),
      T(a_user_task_is_one_user_and_each_user_comes_once), T(shots_are_a_cap_for_users),
      T(tasks_that_cannot_be_drawn_are_refused))
