/* test_import_real.c - the real Omniglot and LEAF FEMNIST import with the counts they
 * are known to have.  (mini-ImageNet takes longer: perf/import_real.)
 */
#include "data/dataset.h"
#include "test.h"
#include "files.h"

#define DATA "../shared/data/"

static int import(const char *kind, const char *const *paths, const char *dir)
{
    struct mete_import_options o = {.size = sizeof o, .kind = kind, .paths = paths, .dir = dir};
    return mete_data_import(&o);
}

TEST(omniglot_has_1623_characters_of_20_drawings)
{
    NEED_ARCHIVE;
    NEED_PNG;
    const char *paths[] = {DATA "omniglot/images_background.zip",
                           DATA "omniglot/images_evaluation.zip", NULL};
    if (access(paths[0], R_OK) != 0 || access(paths[1], R_OK) != 0)
        SKIP("no " DATA "omniglot");
    struct dataset *d = NULL;
    struct mete_data_info info = {.size = sizeof info};
    CHECK_OK(import("omniglot", paths, scratch("omniglot")));
    CHECK_OK(mete_data_info(scratch("omniglot"), &info));
    CHECK_EQ(info.items, 32460);
    CHECK_EQ(info.classes, 964 + 659);
    CHECK_EQ(info.groups, 30 + 20);
    CHECK_EQ(info.per_class.least, 20);
    CHECK_EQ(info.per_class.most, 20);
    CHECK_EQ(info.shape[0], 28);
    CHECK_OK(dataset_open(&d, scratch("omniglot")));
    /* drawers 3 and 19 of Braille/character01 are known to be one image */
    const uint8_t *x = d->x;
    int k = 0;
    while (k < d->classes && strcmp(d->class_names[k], "Braille/character01") != 0)
        k++;
    CHECK(k < d->classes);
    CHECK(memcmp(x + (20 * k + 2) * 784, x + (20 * k + 18) * 784, 784) == 0);
    CHECK(memcmp(x + (20 * k + 2) * 784, x + (20 * k + 3) * 784, 784) != 0);
    double sum = 0; /* ink is black: most of a character is paper */
    for (int64_t i = 0; i < d->items * 784; i++)
        sum += x[i];
    CHECK(sum / (double)(d->items * 784) > 200);
    dataset_close(d);
}

TEST(femnist_has_300_writers_of_45958_images)
{
    NEED_ARCHIVE;
    const char *paths[] = {DATA "femnist/femnist-leaf.tar.xz", NULL};
    if (access(paths[0], R_OK) != 0)
        SKIP("no " DATA "femnist");
    struct mete_data_info info = {.size = sizeof info};
    CHECK_OK(import("leaf", paths, scratch("femnist")));
    CHECK_OK(mete_data_info(scratch("femnist"), &info));
    CHECK_EQ(info.items, 45958);
    CHECK_EQ(info.users, 300);
    CHECK_EQ(info.classes, 62);
    CHECK(info.per_class.least > 0);
    CHECK_EQ(info.part_items[0], 41257);
    CHECK_EQ(info.part_items[1], 4701);
    CHECK_EQ(info.part_users[1], 296); /* four writers have no test images */
    CHECK_EQ(info.shape[0], 28);
}

TESTS(T(omniglot_has_1623_characters_of_20_drawings), T(femnist_has_300_writers_of_45958_images))
