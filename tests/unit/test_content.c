/* test_content.c - one word for what a dataset holds: other data, another word; and a large
 * dataset is not read for it.
 */
#include "test.h"
#include "files.h"
#include "tiny.h"
#include "data/content.h"
#include "data/glyphs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static struct dataset *changed; /* a tiny dataset of this process's own */

static char *word(const struct dataset *d)
{
    char out[CONTENT_SIZE];
    if (dataset_content(d, out) != 0)
        fprintf(stderr, "dataset_content: %s\n", mete_errmsg());
    return mem_string(out);
}

/* Whether a change that `change` makes to the dataset is seen. */
static bool is_seen(void (*change)(struct dataset *d))
{
    changed = tiny_dataset(6, 4, 3);
    char *before = word(changed);
    change(changed);
    char *after = word(changed);
    bool seen = strcmp(before, after) != 0;
    free(before);
    free(after);
    dataset_close(changed);
    return seen;
}

static void other_pixel(struct dataset *d)
{
    ((uint8_t *)(uintptr_t)d->x)[7] ^= 1;
}
static void other_class(struct dataset *d)
{
    ((int32_t *)(uintptr_t)d->y)[7] = (d->y[7] + 1) % d->classes;
}
static void other_user(struct dataset *d)
{
    ((int32_t *)(uintptr_t)d->user)[7] = (d->user[7] + 1) % d->users;
}
static void other_part(struct dataset *d)
{
    ((uint8_t *)(uintptr_t)d->part)[7] ^= 1;
}
static void other_scale(struct dataset *d)
{
    d->scale = 0.5f;
}
static void other_shift(struct dataset *d)
{
    d->shift = 0.5f;
}
static void one_class_more(struct dataset *d)
{
    d->class_names = mem_grow(d->class_names, (size_t)d->classes + 1, sizeof *d->class_names);
    d->class_names[d->classes++] = mem_string("none has it");
}
static void a_split(struct dataset *d)
{
    d->class_split = mem_array((size_t)d->classes, 1);
}
static void other_name(struct dataset *d)
{
    free(d->name);
    d->name = mem_string("another");
    free(d->class_names[0]);
    d->class_names[0] = mem_string("renamed");
}

TEST(what_a_learner_meets_is_in_the_word)
{
    CHECK(is_seen(other_pixel));
    CHECK(is_seen(other_class));
    CHECK(is_seen(other_user));
    CHECK(is_seen(other_part));
    CHECK(is_seen(other_scale));
    CHECK(is_seen(other_shift));
    CHECK(is_seen(one_class_more));
    CHECK(is_seen(a_split));
    CHECK(!is_seen(other_name));
}

TEST(generated_data_are_known_by_their_settings)
{
    static const char *const names[] = {
        "glyphs:classes=4,drawers=2", "glyphs:drawers=02,classes=4", "glyphs:classes=4,drawers=3",
        "glyphs:classes=4,drawers=2,seed=1", "glyphs-users:classes=4,users=2"};
    char *words[5];
    for (int i = 0; i < 5; i++) {
        struct dataset *d = NULL;
        CHECK_OK(glyphs_make(&d, names[i]));
        words[i] = word(d);
        CHECK(strncmp(words[i], CONTENT_GENERATED, strlen(CONTENT_GENERATED)) == 0);
        dataset_close(d);
    }
    CHECK_STR(words[0], words[1]);
    for (int i = 1; i < 5; i++)
        for (int j = i + 1; j < 5; j++)
            CHECK(strcmp(words[i], words[j]) != 0);
    for (int i = 0; i < 5; i++)
        free(words[i]);
}

/* The word of the dataset in `folder`, opened anew. */
static char *word_on_disk(const char *folder)
{
    struct dataset *d = NULL;
    if (dataset_open(&d, folder) != 0)
        return mem_string(mete_errmsg());
    char *w = word(d);
    dataset_close(d);
    return w;
}

/* Changes the last byte of x.npy, which is dated `date`. */
static void change_x(const char *folder, struct timespec date)
{
    char *path = mem_print("%s/x.npy", folder), byte = 0;
    struct timespec dates[2] = {date, date};
    int fd = open(path, O_RDWR);
    off_t last = lseek(fd, -1, SEEK_END);
    if (pread(fd, &byte, 1, last) != 1)
        abort();
    byte ^= 1;
    if (pwrite(fd, &byte, 1, last) != 1 || futimens(fd, dates) != 0)
        abort();
    close(fd);
    free(path);
}

static struct timespec date_of(const char *folder, const char *file)
{
    char *path = mem_print("%s/%s", folder, file);
    struct stat st;
    if (stat(path, &st) != 0)
        abort();
    free(path);
    return st.st_mtim;
}

TEST(arrays_are_read_only_where_their_checksum_may_be_out_of_date)
{
    const char *path = scratch("tiny");
    struct dataset *d = tiny_dataset(6, 4, 3);
    CHECK_OK(dataset_write(path, d, false));
    dataset_close(d);
    char *first = word_on_disk(path);
    struct timespec old = {1000000000, 0}, future = {4000000000, 0};

    change_x(path, old); /* older than meta.json: its checksum is believed */
    char *believed = word_on_disk(path);
    CHECK_STR(believed, first);
    change_x(path, future); /* changed back, and newer: read, and found to be the same */
    char *same = word_on_disk(path);
    CHECK_STR(same, first);
    change_x(path, old);
    change_x(path, date_of(path, "meta.json")); /* two changes: the same; as old: read */
    CHECK(date_of(path, "meta.json").tv_sec > old.tv_sec);
    char *again = word_on_disk(path);
    CHECK_STR(again, first);
    CHECK(date_of(path, "meta.json").tv_nsec != date_of(path, "x.npy").tv_nsec ||
          date_of(path, "meta.json").tv_sec != date_of(path, "x.npy").tv_sec); /* dated anew */
    change_x(path, future);
    char *other = word_on_disk(path);
    CHECK(strcmp(other, first) != 0);
    free(first);
    free(believed);
    free(same);
    free(again);
    free(other);
    scratch_remove();
}

TESTS(T(what_a_learner_meets_is_in_the_word), T(generated_data_are_known_by_their_settings),
      T(arrays_are_read_only_where_their_checksum_may_be_out_of_date))
