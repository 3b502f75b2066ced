/* test_dataset.c - a dataset in memory and on disk. */
#include "data/dataset.h"
#include "data/builder.h"
#include "base/memory.h"
#include "base/npy.h"
#include "test.h"
#include "files.h"

#include <unistd.h>

static struct dataset small_parts(void)
{
    struct dataset d = {.name = "small", .items = 6, .classes = 2, .h = 2, .w = 3, .c = 1};
    uint8_t *x = mem_alloc(36);
    int32_t *y = mem_alloc(6 * sizeof *y);
    for (int i = 0; i < 36; i++)
        x[i] = (uint8_t)(i * 7);
    for (int i = 0; i < 6; i++)
        y[i] = i % 2;
    d.scale = 1 / 255.0f;
    d.x = x;
    d.y = y;
    return d;
}

TEST(memory_becomes_a_dataset)
{
    struct dataset *d = NULL, parts = small_parts();
    CHECK_OK(dataset_from_memory(&d, &parts));
    CHECK_EQ(d->items, 6);
    CHECK_STR(d->name, "small");
    CHECK_STR(d->licence, "");
    CHECK_EQ(dataset_item_bytes(d), 6);
    dataset_close(d);
}

TEST(a_class_out_of_range_is_refused)
{
    struct dataset *d = NULL, parts = small_parts();
    ((int32_t *)(uintptr_t)parts.y)[4] = 2;
    CHECK_EQ(dataset_from_memory(&d, &parts), METE_EFORMAT);
    CHECK_STR(mete_errmsg(), "small: item 4 has class 2, expected 0..1, or -1 for none");
    CHECK(d == NULL);
}

TEST(a_row_with_nan_is_refused)
{
    struct dataset *d = NULL, parts = small_parts();
    float *rows = mem_array(12, sizeof *rows);
    free((void *)(uintptr_t)parts.x);
    rows[7] = NAN;
    parts.x = rows;
    parts.is_float = true;
    parts.h = parts.w = 1;
    parts.c = 2;
    CHECK_EQ(dataset_from_memory(&d, &parts), METE_EFORMAT);
    CHECK_HAS(mete_errmsg(), "item 3, value 1 is");
}

TEST(users_must_come_with_their_number)
{
    struct dataset *d = NULL, parts = small_parts();
    parts.users = 3;
    CHECK_EQ(dataset_from_memory(&d, &parts), METE_EFORMAT);
    CHECK_HAS(mete_errmsg(), "3 users, but items do not have one");
}

TEST(an_existing_folder_is_replaced_only_when_forced)
{
    struct dataset *d = NULL, parts = small_parts();
    CHECK_OK(dataset_from_memory(&d, &parts));
    CHECK_OK(dataset_write(scratch("small"), d, false));
    CHECK_EQ(dataset_write(scratch("small"), d, false), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "exists already");
    CHECK_OK(dataset_write(scratch("small/"), d, true));
    CHECK_EQ(dataset_write(scratch_dir, d, true), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "is not a dataset and will not be replaced");
    CHECK_EQ(dataset_write(scratch("small/x.npy/small"), d, false), METE_EIO);
    CHECK_EQ(count_scratch("small."), 0);
    dataset_close(d);
}

TEST(what_is_written_is_what_is_opened)
{
    struct dataset *d = NULL, *back = NULL, parts = small_parts();
    int32_t *user = mem_array(6, sizeof *user);
    uint8_t *part = mem_alloc(6), *split = mem_alloc(2);
    char **names = mem_array(2, sizeof *names), **groups = mem_array(2, sizeof *groups);
    for (int i = 0; i < 6; i++)
        user[i] = i / 2, part[i] = i % 2;
    names[0] = mem_string("quote \" and \\ slash");
    names[1] = mem_string("\xc3\xa9t\xc3\xa9\n");
    groups[0] = mem_string("g");
    groups[1] = mem_string("");
    split[1] = SPLIT_TEST;
    parts.users = 4; /* the last one has no items */
    parts.user = user;
    parts.part = part;
    parts.class_names = names;
    parts.class_groups = groups;
    parts.class_split = split;
    parts.shift = 0.25f;
    parts.licence = "MIT";
    CHECK_OK(dataset_from_memory(&d, &parts));
    CHECK_OK(dataset_write(scratch("all"), d, false));
    CHECK_OK(dataset_open(&back, scratch("all")));
    CHECK_EQ(back->items, 6);
    CHECK_EQ(back->users, 4);
    CHECK(memcmp(back->x, d->x, 36) == 0);
    CHECK(memcmp(back->y, d->y, 24) == 0);
    CHECK(memcmp(back->user, d->user, 24) == 0);
    CHECK(memcmp(back->part, d->part, 6) == 0);
    CHECK_EQ(back->class_split[1], SPLIT_TEST);
    CHECK_STR(back->class_names[0], names[0]);
    CHECK_STR(back->class_names[1], names[1]);
    CHECK_STR(back->class_groups[1], "");
    CHECK(back->user_names == NULL);
    CHECK(back->scale == d->scale && back->shift == d->shift);
    CHECK_STR(back->licence, "MIT");
    CHECK_EQ(strlen(back->sha256), 64);
    dataset_close(back);
    dataset_close(d);
    CHECK_OK(mete_data_verify(scratch("all")));
    struct mete_data_info info = {.size = sizeof info};
    CHECK_OK(mete_data_info(scratch("all"), &info));
    CHECK_EQ(info.part_users[0], 3);
    CHECK_EQ(info.per_user.least, 0);
    CHECK_EQ(info.per_class.most, 3);
    CHECK_EQ(info.groups, 2);
}

/* A fresh dataset in scratch("t"). */
static void write_small(void)
{
    struct dataset *d = NULL, parts = small_parts();
    shell("rm -rf '%s'", scratch("t"), "");
    if (dataset_from_memory(&d, &parts) || dataset_write(scratch("t"), d, false))
        abort();
    dataset_close(d);
}

TEST(a_damaged_dataset_is_refused_by_name)
{
    static const struct {
        const char *damage, *says; /* a shell command in its folder */
    } cases[] = {
        {"rm x.npy", "x.npy"},
        {"rm meta.json", "meta.json"},
        {"truncate -s -1 x.npy", "x.npy: U8 (6, 2, 3) needs 36 bytes of data, the file has 35"},
        {"truncate -s 20 y.npy", "y.npy"},
        {"cp x.npy y.npy", "y.npy: expected I32 (6)"},
        {"sed -i 's/\"items\": 6/\"items\": 7/' meta.json", "x.npy: expected U8 (7, 2, 3)"},
        {"sed -i 's/\"classes\": 2/\"classes\": 1/' meta.json",
         "item 1 has class 1, expected 0..0"},
        {"sed -i 's/\"classes\": 2/\"classes\": 0/' meta.json",
         "item 0 has class 0, and there are none"},
        {"sed -i '/\"classes\"/d' meta.json", "not all of format, items, classes"},
        {"sed -i 's/\"users\": 0/\"users\": 2/' meta.json", "2 users, but items do not have one"},
        {"sed -i 's/\"format\": 1/\"format\": 9/' meta.json", "format 9, expected 1"},
        {"sed -i 's/uint8/int8/' meta.json", "expected dtype uint8 or float32, got 'int8'"},
        {"sed -i 's/\"shape\": .*/\"shape\": [2, 3],/' meta.json", "expected a shape of 3"},
        {"sed -i 's/\"scale\": .*/\"scale\": 0,/' meta.json", "scale 0"},
        {"truncate -s 60 meta.json", "meta.json:"},
        {"sed -i 's/\"arrays\": .*/\"arrays\": [\"x\"],/' meta.json", "x and y must be among them"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dataset *d = NULL;
        write_small();
        shell("cd '%s' && %s", scratch("t"), cases[i].damage);
        int err = dataset_open(&d, scratch("t"));
        if (!err)
            FAIL_TEST("opened after: %s", cases[i].damage);
        CHECK_HAS(mete_errmsg(), cases[i].says);
        CHECK(d == NULL && !strchr(mete_errmsg(), '\n'));
    }
}

TEST(a_changed_pixel_is_found_by_its_checksum)
{
    write_small();
    CHECK_OK(mete_data_verify(scratch("t")));
    shell("cd '%s' && printf '\\377' | dd of=x.npy bs=1 seek=140 conv=notrunc 2>/dev/null%s",
          scratch("t"), "");
    CHECK_EQ(mete_data_verify(scratch("t")), METE_EFORMAT);
    CHECK_HAS(mete_errmsg(), "its arrays have the checksum");
}

TEST(datasets_are_found_by_name)
{
    struct dataset *d = NULL;
    write_small();
    setenv("METE_DATA", scratch_dir, 1);
    CHECK_OK(dataset_find(&d, "t"));
    CHECK_STR(d->path, scratch("t"));
    dataset_close(d);
    /* a path is itself, whatever lies under METE_DATA */
    char *here = getcwd(NULL, 0);
    shell("mkdir -p '%s' && cd '%s'/../work && cp -r ../t .", scratch("work"), scratch("t"));
    CHECK_EQ(chdir(scratch("work")), 0);
    int err = dataset_find(&d, "./t");
    bool back = chdir(here) == 0;
    free(here);
    CHECK(back);
    CHECK_OK(err);
    CHECK_STR(d->path, "./t");
    dataset_close(d);
    unsetenv("METE_DATA");
    CHECK_EQ(dataset_find(&d, "t-none"), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "no dataset 't-none'");
    CHECK_OK(dataset_find(&d, scratch("t")));
    dataset_close(d);
}

TESTS(T(memory_becomes_a_dataset), T(a_class_out_of_range_is_refused), T(a_row_with_nan_is_refused),
      T(users_must_come_with_their_number), T(an_existing_folder_is_replaced_only_when_forced),
      T(what_is_written_is_what_is_opened), T(a_damaged_dataset_is_refused_by_name),
      T(a_changed_pixel_is_found_by_its_checksum), T(datasets_are_found_by_name))
