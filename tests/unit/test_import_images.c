/* test_import_images.c - Omniglot, mini-ImageNet and folders, on small ones made here. */
#include "data/dataset.h"
#include "task/split.h"
#include "test.h"
#include "files.h"

#include <sys/stat.h>

/* ---- making them ---- */

/* A drawing of 105 x 105: paper, and a black square whose place tells class and drawer. */
static void *drawing(int k, int drawer, size_t *size)
{
    static uint8_t pixels[105 * 105];
    memset(pixels, 255, sizeof pixels);
    for (int y = 0; y < 15; y++)
        memset(pixels + (15 * k + y) * 105 + 5 * (drawer - 1), 0, 5);
    return png_bytes(pixels, 105, 105, 1, size);
}

struct flaw { /* what to spoil */
    int skip_drawer, twice_drawer, small_drawer, cut_drawer;
    const char *stray;
};

static void add_drawing(struct pack *p, const char *name, int k, int d, const struct flaw *flaw)
{
    size_t size;
    void *png = d == flaw->small_drawer ? png_bytes((const uint8_t[4]){0}, 2, 2, 1, &size)
                                        : drawing(k, d, &size);
    pack_add(p, name, png, d == flaw->cut_drawer ? size - 30 : size);
    if (d == flaw->twice_drawer)
        pack_add(p, name, png, size);
    free(png);
}

/* Two alphabets of two and one characters; the names do not come in order. */
static void make_omniglot(const char *path, const char *kind, const struct flaw *flaw)
{
    static const char *const classes[] = {"Latin/character01", "Greek/character02",
                                          "Greek/character01"};
    struct pack p = pack_open(path, kind);
    for (int k = 0; k < 3; k++)
        for (int d = 20; d >= 1; d--) {
            char name[128];
            snprintf(name, sizeof name, "images_background/%s/%04d_%02d.png", classes[k], 700 + k,
                     d);
            if (k != 1 || d != flaw->skip_drawer)
                add_drawing(&p, name, k, d, k == 1 ? flaw : &(struct flaw){0});
        }
    if (flaw->stray)
        pack_add(&p, flaw->stray, "x", 1);
    pack_close(&p);
}

static int import(const char *kind, const char *const *paths, const char *const *settings,
                  const char *dir)
{
    struct mete_import_options o = {
        .size = sizeof o, .kind = kind, .paths = paths, .dir = dir, .settings = settings};
    return mete_data_import(&o);
}

static int import_omniglot_with(const struct flaw *flaw, const char *complete, const char *also)
{
    char archive[512];
    snprintf(archive, sizeof archive, "%s", scratch("o.zip"));
    make_omniglot(archive, "zip", flaw);
    return import("omniglot", (const char *[]){archive, NULL},
                  (const char *[]){complete, also, NULL}, scratch("omniglot"));
}

static int import_omniglot(const struct flaw *flaw, const char *complete)
{
    return import_omniglot_with(flaw, complete, NULL);
}

/* Nothing that looks like a dataset, and no half of one, is left. */
#define CHECK_NOTHING_LEFT(name)                                                                   \
    do {                                                                                           \
        CHECK_EQ(count_scratch(name ".tmp"), 0);                                                   \
        CHECK(access(scratch(name), F_OK) != 0);                                                   \
    } while (0)

/* ---- Omniglot ---- */

TEST(omniglot_is_sorted_and_averaged)
{
    NEED_ARCHIVE;
    NEED_PNG;
    CHECK_OK(import_omniglot(&(struct flaw){0}, "complete=no"));
    struct dataset *d = NULL;
    CHECK_OK(dataset_open(&d, scratch("omniglot")));
    CHECK_EQ(d->items, 60);
    CHECK_EQ(d->classes, 3);
    CHECK_EQ(d->users, 0);
    CHECK_EQ(d->h, 28);
    CHECK_EQ(d->c, 1);
    CHECK_STR(d->class_names[0], "Greek/character01");
    CHECK_STR(d->class_names[2], "Latin/character01");
    CHECK_STR(d->class_groups[0], "Greek");
    CHECK_STR(d->class_groups[2], "Latin");
    CHECK_STR(d->licence, "MIT");
    CHECK_EQ(d->y[59], 2);
    /* Greek/character01 was number 2 when drawn; drawer 1 leaves rows 30..44, columns 0..4
     * black, that is rows 8..11 and columns 0..1.33 of the small image */
    const uint8_t *x = d->x;
    CHECK_EQ(x[9 * 28 + 0], 0);
    CHECK_EQ(x[9 * 28 + 1], 170); /* a third of it black */
    CHECK_EQ(x[9 * 28 + 2], 255);
    CHECK_EQ(x[7 * 28 + 0], 255);
    dataset_close(d);
    CHECK_OK(mete_data_verify(scratch("omniglot")));
    CHECK_EQ(import_omniglot(&(struct flaw){0}, "complete=no"), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "exists already");
    shell("rm -rf '%s'", scratch("omniglot"), "");
}

/* Three characters, three more for each quarter turn; those of training alone are drawn. */
TEST(turned_characters_are_classes_for_training)
{
    NEED_ARCHIVE;
    NEED_PNG;
    CHECK_OK(import_omniglot_with(&(struct flaw){0}, "complete=no", "rotations=yes"));
    struct dataset *d = NULL;
    CHECK_OK(dataset_open(&d, scratch("omniglot")));
    CHECK_EQ(d->items, 240);
    CHECK_EQ(d->classes, 12);
    CHECK_STR(d->class_names[2], "Latin/character01");
    CHECK_STR(d->class_names[3], "Greek/character01/rot090");
    CHECK_STR(d->class_names[11], "Latin/character01/rot270");
    CHECK_EQ(d->y[239], 11);
    enum { SIDE = 28, AREA = SIDE * SIDE };
    const uint8_t *x = d->x;
    for (int item = 0; item < 60; item++)
        for (int turn = 1; turn < 4; turn++) {
            const uint8_t *from = x + (item + 60 * (turn - 1)) * AREA,
                          *to = x + (item + 60 * turn) * AREA;
            for (int row = 0; row < SIDE; row++)
                for (int column = 0; column < SIDE;
                     column++) /* anticlockwise: the right column is the top row */
                    if (to[(SIDE - 1 - column) * SIDE + row] != from[row * SIDE + column])
                        CHECK_EQ(item, -1);
        }
    for (int seed = 0; seed < 20; seed++) {
        struct split split = {0};
        CHECK_OK(split_make(&split, d, false, "1/1/1", seed));
        CHECK_EQ(split.n[SPLIT_TRAIN], 4);
        CHECK_EQ(split.n[SPLIT_VAL], 1);
        CHECK_EQ(split.n[SPLIT_TEST], 1);
        for (int i = 0; i < 4; i++)
            CHECK_EQ(split.group[SPLIT_TRAIN][i], split.group[SPLIT_TRAIN][0] + 3 * i);
        CHECK(split.group[SPLIT_VAL][0] < 3 && split.group[SPLIT_TEST][0] < 3);
        split_release(&split);
    }
    CHECK_EQ(split_make(&(struct split){0}, d, false, "2/1/1", 0), METE_EINVAL);
    dataset_close(d);
    shell("rm -rf '%s'", scratch("omniglot"), "");
}

TEST(omniglot_with_a_flaw_is_refused_by_name)
{
    NEED_ARCHIVE;
    NEED_PNG;
    static const struct {
        struct flaw flaw;
        const char *complete, *says;
    } cases[] = {
        {{0}, "complete=yes", "expected 1623 characters of 50 alphabets, found 3 of 2"},
        {{.skip_drawer = 7}, "complete=no", "Greek/character02: drawer 7 is missing"},
        {{.twice_drawer = 7},
         "complete=no",
         "o.zip: images_background/Greek/character02/0701_07.png: this drawing occurs twice"},
        {{.small_drawer = 7},
         "complete=no",
         "0701_07.png: the image is 2 x 2 pixels, expected 105 x 105"},
        {{.cut_drawer = 7}, "complete=no", "0701_07.png: bad PNG"},
        {{.stray = "images_background/readme.png"},
         "complete=no",
         "readme.png: expected ALPHABET/characterNN/ID_DRAWER.png"},
        {{.stray = "images_background/Greek/character02/0701_21.png"},
         "complete=no",
         "0701_21.png: drawer 21, expected 1..20"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_EQ(import_omniglot(&cases[i].flaw, cases[i].complete), METE_EFORMAT);
        CHECK_HAS(mete_errmsg(), cases[i].says);
        CHECK_NOTHING_LEFT("omniglot");
    }
}

TEST(an_archive_cut_short_is_refused)
{
    NEED_ARCHIVE;
    NEED_PNG;
    static const char *const kinds[] = {"zip", "tar", "tar.gz", "tar.xz"};
    for (int k = 0; k < 4; k++) {
        char path[512];
        snprintf(path, sizeof path, "%s", scratch("cut"));
        make_omniglot(path, kinds[k], &(struct flaw){0});
        struct stat st;
        CHECK_EQ(stat(path, &st), 0);
        for (int tenth = 0; tenth < 10; tenth++) {
            CHECK_EQ(truncate(path, st.st_size * (9 - tenth) / 10), 0);
            int err = import("omniglot", (const char *[]){path, NULL},
                             (const char *[]){"complete=no", NULL}, scratch("cut-out"));
            if (err != METE_EFORMAT && err != METE_EIO)
                FAIL_TEST("%s cut to %d/10 is read", kinds[k], 9 - tenth);
            CHECK_HAS(mete_errmsg(), "cut");
            CHECK(!strchr(mete_errmsg(), '\n'));
            CHECK_NOTHING_LEFT("cut-out");
        }
    }
}

TEST(the_number_of_threads_does_not_matter)
{
    NEED_ARCHIVE;
    NEED_PNG;
    char archive[512], dir[512];
    struct dataset *one = NULL, *four = NULL;
    snprintf(archive, sizeof archive, "%s", scratch("t.tar.xz"));
    make_omniglot(archive, "tar.xz", &(struct flaw){0});
    const char *paths[] = {archive, NULL}, *settings[] = {"complete=no", NULL};
    struct mete_import_options o = {
        .size = sizeof o, .kind = "omniglot", .paths = paths, .settings = settings};
    for (int threads = 1; threads <= 4; threads += 3) {
        snprintf(dir, sizeof dir, "%s%d", scratch("threads"), threads);
        o.dir = dir;
        o.threads = threads;
        CHECK_OK(mete_data_import(&o));
        CHECK_OK(dataset_open(threads == 1 ? &one : &four, dir));
    }
    CHECK_STR(one->sha256, four->sha256);
    dataset_close(one);
    dataset_close(four);
}

/* ---- mini-ImageNet ---- */

static void make_mini(const char *path, int files)
{
    struct pack p = pack_open(path, "tar.xz");
    for (int i = 0; i < files; i++) {
        uint8_t pixels[84 * 84 * 3];
        char name[64];
        size_t size;
        memset(pixels, 10 * i, sizeof pixels);
        void *jpeg = jpeg_bytes(pixels, 84, 84, 3, &size);
        snprintf(name, sizeof name, "images/img%d.jpg", i);
        pack_add(&p, name, jpeg, size);
        free(jpeg);
    }
    pack_close(&p);
}

static int import_mini(const char *train, const char *val, const char *test, const char *complete)
{
    char archive[512], a[512], b[512], c[512];
    snprintf(archive, sizeof archive, "%s", scratch("mini.tar.xz"));
    snprintf(a, sizeof a, "%s", scratch("train.csv"));
    snprintf(b, sizeof b, "%s", scratch("val.csv"));
    snprintf(c, sizeof c, "%s", scratch("test.csv"));
    make_mini(archive, 6);
    write_text(a, train);
    write_text(b, val);
    write_text(c, test);
    return import("miniimagenet", (const char *[]){archive, a, b, c, NULL},
                  (const char *[]){complete, NULL}, scratch("mini"));
}

#define LIST(rows) "filename,label\n" rows

TEST(miniimagenet_keeps_the_order_and_split_of_its_lists)
{
    NEED_ARCHIVE;
    NEED_JPEG;
    CHECK_OK(import_mini(LIST("img5.jpg,bird\nimg0.jpg,bird\n"), LIST("img2.jpg,cat\n"),
                         LIST("img1.jpg,dog\n"), "complete=no"));
    struct dataset *d = NULL;
    CHECK_OK(dataset_open(&d, scratch("mini")));
    CHECK_EQ(d->items, 4);
    CHECK_EQ(d->classes, 3);
    CHECK_EQ(d->c, 3);
    CHECK_EQ(d->h, 84);
    CHECK_STR(d->class_names[0], "bird");
    CHECK_EQ(d->class_split[0], SPLIT_TRAIN);
    CHECK_EQ(d->class_split[1], SPLIT_VAL);
    CHECK_EQ(d->class_split[2], SPLIT_TEST);
    static const int expected[] = {50, 0, 20, 10};
    for (int i = 0; i < 4; i++)
        CHECK_NEAR(((const uint8_t *)d->x)[(size_t)i * 84 * 84 * 3], expected[i], 2);
    dataset_close(d);
    shell("rm -rf '%s'", scratch("mini"), "");
}

/* The lists of import_mini, as they are, in an order: 0 train, 1 val, 2 test. */
static int import_lists(int first, int second, int third)
{
    static const char *const names[] = {"train.csv", "val.csv", "test.csv"};
    const int order[] = {first, second, third};
    char archive[512], list[3][512];
    snprintf(archive, sizeof archive, "%s", scratch("mini.tar.xz"));
    for (int i = 0; i < 3; i++)
        snprintf(list[i], sizeof list[i], "%s", scratch(names[order[i]]));
    return import("miniimagenet", (const char *[]){archive, list[0], list[1], list[2], NULL},
                  (const char *[]){"complete=no", NULL}, scratch("mini"));
}

TEST(miniimagenet_finds_its_lists_by_name)
{
    NEED_ARCHIVE;
    NEED_JPEG;
    static const int orders[][3] = {{1, 2, 0}, {2, 1, 0}, {0, 2, 1}};
    CHECK_OK(import_mini(LIST("img5.jpg,bird\n"), LIST("img2.jpg,cat\n"), LIST("img1.jpg,dog\n"),
                         "complete=no"));
    shell("rm -rf '%s'", scratch("mini"), "");
    for (int i = 0; i < 3; i++) {
        struct dataset *d = NULL;
        CHECK_OK(import_lists(orders[i][0], orders[i][1], orders[i][2]));
        CHECK_OK(dataset_open(&d, scratch("mini")));
        CHECK_STR(d->class_names[0], "bird");
        CHECK_STR(d->class_names[1], "cat");
        CHECK_EQ(d->class_split[2], SPLIT_TEST);
        dataset_close(d);
        shell("rm -rf '%s'", scratch("mini"), "");
    }
    CHECK_EQ(import_lists(0, 0, 2), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "two lists of the train part");
}

TEST(miniimagenet_with_a_flaw_is_refused_by_name)
{
    NEED_ARCHIVE;
    NEED_JPEG;
    static const struct {
        const char *train, *val, *test, *complete, *says;
    } cases[] = {
        {LIST("img0.jpg,a\n"), LIST("img1.jpg,b\n"), LIST("img2.jpg,c\n"), "complete=yes",
         "train.csv: 1 classes, expected 64"},
        {LIST("img0.jpg,a\n"), LIST("img1.jpg,a\n"), LIST("img2.jpg,c\n"), "complete=no",
         "val.csv:2:10: class 'a' is in train already; parts must not overlap"},
        {LIST("img0.jpg,a\n"), LIST("img0.jpg,b\n"), LIST("img2.jpg,c\n"), "complete=no",
         "val.csv:2:1: the file 'img0.jpg' is listed twice"},
        {LIST("img0.jpg,a\nimg9.jpg,a\n"), LIST("img1.jpg,b\n"), LIST("img2.jpg,c\n"),
         "complete=no", "mini.tar.xz: holds no img9.jpg, which "},
        {"file,label\nimg0.jpg,a\n", LIST("img1.jpg,b\n"), LIST("img2.jpg,c\n"), "complete=no",
         "train.csv:1:1: expected the columns filename,label"},
        {LIST("img0.jpg,a,b\n"), LIST("img1.jpg,b\n"), LIST("img2.jpg,c\n"), "complete=no",
         "train.csv:2:1: expected 2 fields, got 3"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_EQ(import_mini(cases[i].train, cases[i].val, cases[i].test, cases[i].complete),
                 METE_EFORMAT);
        CHECK_HAS(mete_errmsg(), cases[i].says);
        CHECK_NOTHING_LEFT("mini");
    }
}

/* ---- folders ---- */

static void put_image(const char *name, int value, int side, int c)
{
    uint8_t pixels[16 * 16 * 3];
    size_t size;
    char path[512], folder[512];
    memset(pixels, value, sizeof pixels);
    snprintf(path, sizeof path, "%s", scratch(name));
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = '\0';
    shell("mkdir -p '%s'", folder, "");
    bool png = strstr(name, ".png");
    void *file =
        png ? png_bytes(pixels, side, side, c, &size) : jpeg_bytes(pixels, side, side, c, &size);
    write_bytes(path, file, size);
    free(file);
}

TEST(folders_are_classes_or_users_and_classes)
{
    NEED_PNG;
    NEED_JPEG;
    struct dataset *d = NULL;
    put_image("own/b/1.png", 10, 16, 1);
    put_image("own/a/2.JPG", 20, 16, 1);
    put_image("own/a/1.png", 30, 16, 1);
    write_text(scratch("own/a/notes.txt"), "not an image");
    CHECK_OK(import("folder", (const char *[]){scratch("own"), NULL}, NULL, scratch("own-out")));
    CHECK_OK(dataset_open(&d, scratch("own-out")));
    CHECK_EQ(d->items, 3);
    CHECK_EQ(d->classes, 2);
    CHECK_EQ(d->h, 16);
    CHECK_EQ(d->c, 1);
    CHECK_STR(d->class_names[0], "a");
    const uint8_t *x = d->x;
    CHECK_EQ(x[0], 30);
    CHECK_NEAR(x[256], 20, 1);
    CHECK_EQ(x[512], 10);
    CHECK_EQ(d->y[2], 1);
    dataset_close(d);

    put_image("people/zoe/cat/1.png", 10, 16, 3);
    put_image("people/ann/cat/1.png", 40, 8, 1);
    const char *settings[] = {"users=yes", "size=4", "channels=colour", NULL};
    CHECK_OK(import("folder", (const char *[]){scratch("people"), NULL}, settings,
                    scratch("people-out")));
    CHECK_OK(dataset_open(&d, scratch("people-out")));
    CHECK_EQ(d->users, 2);
    CHECK_STR(d->user_names[0], "ann");
    CHECK_EQ(d->user[1], 1);
    CHECK_EQ(d->h, 4);
    CHECK_EQ(d->c, 3);
    CHECK_EQ(((const uint8_t *)d->x)[0], 40);
    dataset_close(d);
}

TEST(folders_with_a_flaw_are_refused_by_name)
{
    NEED_PNG;
    put_image("sizes/a/1.png", 0, 16, 1);
    put_image("sizes/a/2.png", 0, 8, 1);
    CHECK_EQ(import("folder", (const char *[]){scratch("sizes"), NULL}, NULL, scratch("bad")),
             METE_EFORMAT);
    CHECK_HAS(mete_errmsg(), "a/2.png: the image is 8 x 8 pixels, expected 16 x 16");
    put_image("depth/a/1.png", 0, 16, 1);
    put_image("depth/b/c/1.png", 0, 16, 1);
    CHECK_EQ(import("folder", (const char *[]){scratch("depth"), NULL}, NULL, scratch("bad")),
             METE_EFORMAT);
    CHECK_HAS(mete_errmsg(), "b/c/1.png: lies in 'b/' and other images in ''");
    put_image("flat/1.png", 0, 16, 1);
    CHECK_EQ(import("folder", (const char *[]){scratch("flat"), NULL}, NULL, scratch("bad")),
             METE_EFORMAT);
    CHECK_HAS(mete_errmsg(), "1.png: expected CLASS/IMAGE");
    CHECK_EQ(import("folder", (const char *[]){scratch("none"), NULL}, NULL, scratch("bad")),
             METE_EIO);
    write_text(scratch("flat/1.png"), "nonsense");
    shell("mkdir '%s'", scratch("flat/a"), "");
    shell("mv '%s' '%s'", scratch("flat/1.png"), scratch("flat/a"));
    CHECK_EQ(import("folder", (const char *[]){scratch("flat"), NULL}, NULL, scratch("bad")),
             METE_EFORMAT);
    CHECK_HAS(mete_errmsg(), "a/1.png: expected a PNG or JPEG image");
    CHECK_NOTHING_LEFT("bad");
}

static int stop_at_once(void *user, const struct mete_progress *p)
{
    (void)user, (void)p;
    return 1;
}

TEST(an_import_that_is_stopped_leaves_nothing)
{
    NEED_ARCHIVE;
    NEED_PNG;
    mete_progress_to(stop_at_once, NULL);
    int err = import_omniglot(&(struct flaw){0}, "complete=no");
    mete_progress_to(NULL, NULL);
    CHECK_EQ(err, METE_ESTOPPED);
    CHECK_NOTHING_LEFT("omniglot");
}

TESTS(T(omniglot_is_sorted_and_averaged), T(turned_characters_are_classes_for_training),
      T(omniglot_with_a_flaw_is_refused_by_name), T(an_archive_cut_short_is_refused),
      T(the_number_of_threads_does_not_matter),
      T(miniimagenet_keeps_the_order_and_split_of_its_lists),
      T(miniimagenet_finds_its_lists_by_name), T(miniimagenet_with_a_flaw_is_refused_by_name),
      T(folders_are_classes_or_users_and_classes), T(folders_with_a_flaw_are_refused_by_name),
      T(an_import_that_is_stopped_leaves_nothing))
