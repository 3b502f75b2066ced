/* test_dataset.c - a dataset in memory and on disk. */
#include "data/dataset.h"
#include "data/builder.h"
#include "base/memory.h"
#include "test.h"

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
    CHECK_STR(mete_errmsg(), "small: item 4 has class 2, expected 0..1");
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
    char base[] = "/tmp/test_dataset-XXXXXX";
    CHECK(mkdtemp(base) != NULL);
    char *dir = mem_print("%s/small", base), *file = mem_print("%s/x.npy", dir);
    struct dataset *d = NULL, parts = small_parts();
    CHECK_OK(dataset_from_memory(&d, &parts));
    CHECK_OK(dataset_write(dir, d, false));
    CHECK(access(file, R_OK) == 0);
    CHECK_EQ(dataset_write(dir, d, false), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "exists already");
    CHECK_OK(dataset_write(dir, d, true));
    CHECK_EQ(dataset_write(base, d, true), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "is not a dataset and will not be replaced");
    char *clean = mem_print("rm -rf '%s'", base);
    CHECK_EQ(system(clean), 0);
    free(clean);
    free(file);
    free(dir);
    dataset_close(d);
}

TESTS(T(memory_becomes_a_dataset), T(a_class_out_of_range_is_refused), T(a_row_with_nan_is_refused),
      T(users_must_come_with_their_number), T(an_existing_folder_is_replaced_only_when_forced))
