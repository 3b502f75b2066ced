/* test_import_rows.c - LEAF, tables, arrays and IDX, on small ones made here. */
#include "data/columns.h"
#include "data/dataset.h"
#include "data/parts.h"
#include "base/npy.h"
#include "test.h"
#include "files.h"

static int import(const char *kind, const char *const *paths, const char *const *settings,
                  const char *dir)
{
    struct mete_import_options o = {
        .size = sizeof o, .kind = kind, .paths = paths, .dir = dir, .settings = settings};
    return mete_data_import(&o);
}

#define NONE                                                                                       \
    (const char *[])                                                                               \
    {                                                                                              \
        NULL                                                                                       \
    }
#define CHECK_NOTHING_LEFT(name)                                                                   \
    do {                                                                                           \
        CHECK_EQ(count_scratch(name ".tmp"), 0);                                                   \
        CHECK(access(scratch(name), F_OK) != 0);                                                   \
    } while (0)

/* ---- LEAF ---- */

/* An image of 8 x 8: paper, but for pixel `ink`, as LEAF writes it. */
static void put_leaf_image(FILE *to, int ink)
{
    fputc('[', to);
    for (int i = 0; i < 64; i++)
        fprintf(to, "%s%s", i ? ", " : "", i == ink ? "0.2" : "1.0");
    fputc(']', to);
}

struct person {
    const char *name;
    int n, ink[8], label[8];
};

static void write_leaf(const char *path, const struct person *people, int n)
{
    FILE *to = fopen(path, "w");
    fputs("{\"users\": [", to);
    for (int i = 0; i < n; i++)
        fprintf(to, "%s\"%s\"", i ? ", " : "", people[i].name);
    fputs("], \"num_samples\": [", to);
    for (int i = 0; i < n; i++)
        fprintf(to, "%s%d", i ? ", " : "", people[i].n);
    fputs("], \"user_data\": {", to);
    for (int i = 0; i < n; i++) {
        fprintf(to, "%s\"%s\": {\"x\": [", i ? ", " : "", people[i].name);
        for (int k = 0; k < people[i].n; k++) {
            fputs(k ? ", " : "", to);
            put_leaf_image(to, people[i].ink[k]);
        }
        fputs("], \"y\": [", to);
        for (int k = 0; k < people[i].n; k++)
            fprintf(to, "%s%d", k ? ", " : "", people[i].label[k]);
        fputs("]}", to);
    }
    fputs("}}", to);
    fclose(to);
}

static void leaf_folders(void)
{
    shell("mkdir -p '%s/leaf/train' '%s/leaf/test'", scratch(""), scratch(""));
}

TEST(leaf_drops_the_repeated_first_image_of_each_user)
{
    leaf_folders();
    /* ann: twice in train; bob: once in each part; eve: the same pixels with another
     * label, which is no repeat; kim: three times, of which one is LEAF's */
    const struct person train[] = {{"ann", 4, {1, 1, 2, 3}, {5, 5, 6, 7}},
                                   {"bob", 2, {1, 2}, {5, 6}},
                                   {"eve", 3, {1, 1, 4}, {5, 6, 8}},
                                   {"kim", 4, {9, 9, 9, 8}, {3, 3, 3, 3}}};
    const struct person test[] = {{"bob", 2, {7, 1}, {9, 5}}, {"ann", 0, {0}, {0}}};
    write_leaf(scratch("leaf/train/all_data_0_train.json"), train, 4);
    write_leaf(scratch("leaf/test/all_data_0_test.json"), test, 2);
    CHECK_OK(import("leaf", (const char *[]){scratch("leaf"), NULL}, NONE, scratch("leaf-out")));
    struct dataset *d = NULL;
    CHECK_OK(dataset_open(&d, scratch("leaf-out")));
    CHECK_EQ(d->users, 4);
    CHECK_EQ(d->classes, 62);
    CHECK_EQ(d->h, 8);
    CHECK_EQ(d->items, 12); /* 15 less one each of ann, bob and kim */
    int of_user[4] = {0}, tests = 0;
    for (int i = 0; i < d->items; i++) {
        of_user[d->user[i]]++;
        tests += d->part[i] == PART_TEST;
        int ink = 0;
        while (((const uint8_t *)d->x)[i * 64 + ink] == 255)
            ink++;
        CHECK_EQ(((const uint8_t *)d->x)[i * 64 + ink], 51); /* 0.2 */
        if (d->user[i] == 1 && d->part[i] == PART_TEST)
            CHECK_EQ(d->y[i], 9); /* the copy in the test part is the one to go */
        if (d->user[i] == 2)      /* eve: labels still belong to their pixels */
            CHECK(d->y[i] == (ink == 4 ? 8 : 5) || (ink == 1 && d->y[i] == 6));
    }
    CHECK_EQ(of_user[0], 3);
    CHECK_EQ(of_user[1], 3);
    CHECK_EQ(of_user[2], 3);
    CHECK_EQ(of_user[3], 3);
    CHECK_EQ(tests, 1);
    CHECK_STR(d->user_names[3], "kim");
    CHECK_STR(d->class_names[61], "z");
    dataset_close(d);
    CHECK_OK(import("leaf", (const char *[]){scratch("leaf"), NULL},
                    (const char *[]){"drop_repeats=no", NULL}, scratch("leaf-all")));
    CHECK_OK(dataset_open(&d, scratch("leaf-all")));
    CHECK_EQ(d->items, 15);
    dataset_close(d);
}

TEST(leaf_with_a_flaw_is_refused_with_its_place)
{
    static const struct {
        const char *json, *says;
    } cases[] = {
        {"{\"users\": [\"a\"], \"num_samples\": [1], \"user_data\": {\"a\": {\"x\": [[1, 2]], "
         "\"y\": [62]}}}",
         "leaf/train/bad.json:1:79: expected a whole number -1..61"},
        {"{\"users\": [\"a\"], \"num_samples\": [2], \"user_data\": {\"a\": {\"x\": [[1, 2]], "
         "\"y\": [3]}}}",
         "user 'a' has 1 items, but num_samples says 2"},
        {"{\"users\": [\"a\", \"b\"], \"num_samples\": [1, 1], \"user_data\": {\"a\": {\"x\": "
         "[[1, 2]], \"y\": [3]}}}",
         "user 'b' is listed but has no user_data"},
        {"{\"users\": [\"a\"], \"num_samples\": [1, 2], \"user_data\": {\"a\": {\"x\": [[1, 2]], "
         "\"y\": [3]}}}",
         "1 users, but 2 num_samples"},
        {"{\"user_data\": {\"a\": {\"x\": [[1, 2], [1]], \"y\": [3, 4]}}}",
         "an item of 1 numbers, expected 2 as before"},
        {"{\"user_data\": {\"a\": {\"x\": [[1, 2]], \"y\": [3, 4]}}}",
         "user 'a' has 1 items in x and 2 in y"},
        {"{\"user_data\": {\"a\": {\"y\": [1]}}}", "user 'a' has no 'x'"},
        {"{\"user_data\": {\"a\": {\"x\": [[1, 2]], \"y\": [-2]}}}", "number -1..61"},
        {"{\"user_data\": {\"a\": {\"x\": [[1]], \"y\": [1]}, \"a\": {\"x\": [[1]], \"y\": [1]}}}",
         "user 'a' occurs twice in the train part"},
        {"{\"user_data\": {\"a\": {\"x\": [\"img.png\"], \"y\": [1]}}}", "expected an array"},
        {"{\"user_data\": {\"a\": {\"x\": [[1e39]], \"y\": [1]}}}", "expected a finite number"},
        {"{\"users\": []}", "no user_data"},
        {"{\"user_data\": {}}", "its users have no items"},
        {"{\"user_data\": {\"a\"", "bad.json:1:19"},
    };
    leaf_folders();
    shell("rm -f '%s'/leaf/*/*", scratch(""), "");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_text(scratch("leaf/train/bad.json"), cases[i].json);
        CHECK_EQ(import("leaf", (const char *[]){scratch("leaf"), NULL}, NONE, scratch("bad")),
                 METE_EFORMAT);
        CHECK_HAS(mete_errmsg(), cases[i].says);
        CHECK_NOTHING_LEFT("bad");
    }
    shell("rm -f '%s'/leaf/*/*", scratch(""), "");
    CHECK_EQ(import("leaf", (const char *[]){scratch("leaf"), NULL}, NONE, scratch("bad")),
             METE_EFORMAT);
    CHECK_HAS(mete_errmsg(), "holds no train/NAME.json or test/NAME.json");
}

TEST(leaf_pixels_must_be_steps_of_1_255_once_they_are_images)
{
    leaf_folders();
    shell("rm -f '%s'/leaf/*/*", scratch(""), "");
    FILE *to = fopen(scratch("leaf/train/a.json"), "w");
    fputs("{\"user_data\": {\"a\": {\"x\": [", to);
    put_leaf_image(to, 3);
    fputs(", ", to);
    put_leaf_image(to, 4);
    fputs("], \"y\": [1, 2]}}}", to);
    fclose(to);
    shell("sed -i 's/0.2\\(.*\\)0.2/0.2\\10.2012/' '%s'", scratch("leaf/train/a.json"), "");
    CHECK_EQ(import("leaf", (const char *[]){scratch("leaf"), NULL}, NONE, scratch("bad")),
             METE_EFORMAT);
    CHECK_HAS(mete_errmsg(), "number 5 of this image is 0.2012, expected a step of 1/255");
    CHECK_OK(import("leaf", (const char *[]){scratch("leaf"), NULL},
                    (const char *[]){"kind=rows", NULL}, scratch("leaf-rows")));
    struct dataset *d = NULL;
    CHECK_OK(dataset_open(&d, scratch("leaf-rows")));
    CHECK(d->is_float);
    CHECK_EQ(d->c, 64);
    CHECK_NEAR(((const float *)d->x)[64 + 4], 0.2012, 1e-7);
    CHECK_NEAR(d->scale, 1, 0);
    dataset_close(d);
}

/* ---- tables ---- */

static int import_table(const char *csv, const char *const *settings)
{
    char path[512];
    snprintf(path, sizeof path, "%s", scratch("t.csv"));
    write_text(path, csv);
    shell("rm -rf '%s'", scratch("table"), "");
    return import("table", (const char *[]){path, NULL}, settings, scratch("table"));
}

static const char people[] = "id,age,\"height, cm\",who,sick\n"
                             "1,10,1.5,ann,no\n"
                             "2,20,2.5,bob,yes\n"
                             "3,30,3.5,\"ann\",no\n"
                             "4,99,9,carl,maybe\n";

TEST(a_table_becomes_rows)
{
    struct dataset *d = NULL;
    CHECK_OK(import_table(people, (const char *[]){"label=sick", "user=who", "ignore=id", NULL}));
    CHECK_OK(dataset_open(&d, scratch("table")));
    CHECK_EQ(d->items, 4);
    CHECK_EQ(d->c, 2);
    CHECK(d->is_float);
    CHECK_EQ(d->classes, 3);
    CHECK_EQ(d->users, 3);
    CHECK_STR(d->class_names[0], "maybe");
    CHECK_STR(d->class_names[2], "yes");
    CHECK_EQ(d->y[1], 2);
    CHECK_EQ(d->user[2], 0);
    CHECK_NEAR(((const float *)d->x)[3], 2.5, 0);
    dataset_close(d);
}

TEST(standardising_looks_at_training_users_only)
{
    struct dataset *d = NULL;
    char setting[600];
    write_text(scratch("train.txt"), "ann\nbob\n");
    snprintf(setting, sizeof setting, "train_users=%s", scratch("train.txt"));
    CHECK_OK(import_table(people, (const char *[]){"label=sick", "user=who", "ignore=id",
                                                   "standardise=yes", setting, NULL}));
    CHECK_OK(dataset_open(&d, scratch("table")));
    const float *x = d->x;
    /* ann and bob: ages 10, 20, 30: mean 20, deviation sqrt(200/3) */
    CHECK_NEAR(x[0], -10 / sqrt(200 / 3.0), 1e-6);
    CHECK_NEAR(x[2], 0, 1e-6);
    CHECK_NEAR(x[6], 79 / sqrt(200 / 3.0), 1e-5); /* carl's 99, by their measure */
    dataset_close(d);
    CHECK_EQ(import_table(people, (const char *[]){"label=sick", "standardise=yes", NULL}),
             METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "the training users must be known");
}

/* ann and cid train; bob, whose values would shift every median, does not. */
static const char gaps[] = "who,age,smokes,town,y\n"
                           "ann,1,True,Ulm,a\n"
                           "bob,900,False,Bonn,b\n"
                           "cid,?,false,Ulm,a\n"
                           "bob,nan,,Ulm,b\n"
                           "cid,4,TRUE,,a\n"
                           "ann, 10 ,False, Aix ,b\n";

TEST(gaps_flags_and_words_become_numbers)
{
    static const float expected[6][5] = {/* age, smokes, Aix, Bonn, Ulm */
                                         {1, 1, 0, 0, 1},    {900, 0, 0, 1, 0}, {4, 0, 0, 0, 1},
                                         {4, 0.5f, 0, 0, 1}, {4, 1, 0, 0, 0},   {10, 0, 1, 0, 0}};
    struct dataset *d = NULL;
    char setting[600];
    write_text(scratch("train.txt"), "ann\ncid\n");
    snprintf(setting, sizeof setting, "train_users=%s", scratch("train.txt"));
    CHECK_OK(import_table(gaps, (const char *[]){"label=y", "user=who", setting, NULL}));
    CHECK_OK(dataset_open(&d, scratch("table")));
    CHECK_EQ(d->c, 5);
    CHECK_EQ(d->items, 6);
    for (int i = 0; i < 30; i++)
        CHECK_NEAR(((const float *)d->x)[i], expected[i / 5][i % 5], 0);
    CHECK_EQ(d->columns->n, 3);
    CHECK_STR(d->columns->at[2].words.at[1], "Bonn");
    dataset_close(d);
}

TEST(people_who_come_later_are_treated_as_those_before)
{
    struct dataset *before = NULL, *later = NULL;
    char train[600], like[600], csv[600];
    write_text(scratch("train.txt"), "ann\ncid\n");
    snprintf(train, sizeof train, "train_users=%s", scratch("train.txt"));
    CHECK_OK(import_table(gaps,
                          (const char *[]){"label=y", "user=who", "standardise=yes", train, NULL}));
    CHECK_OK(dataset_open(&before, scratch("table")));
    snprintf(like, sizeof like, "like=%s", scratch("table"));
    snprintf(csv, sizeof csv, "%s", scratch("later.csv"));
    /* columns in another order, one more, no word that is known, and a class that is not there */
    write_text(csv, "y,note,town,age,smokes,who\nb,hello,Rome,,True,dee\nb,,Ulm,10,False,eve\n");
    shell("rm -rf '%s'", scratch("later"), "");
    CHECK_OK(import("table", (const char *[]){csv, NULL},
                    (const char *[]){"label=y", "user=who", like, NULL}, scratch("later")));
    CHECK_OK(dataset_open(&later, scratch("later")));
    CHECK_EQ(later->c, 5);
    CHECK_EQ(later->classes, 2);
    CHECK_EQ(later->y[0], 1);
    const float *x = before->x, *z = later->x;
    CHECK_NEAR(z[0], x[2 * 5], 0); /* a missing age, as cid's */
    CHECK_NEAR(z[1], x[1], 0);     /* True, as ann's */
    for (int k = 2; k < 5; k++)
        CHECK_NEAR(z[k], x[4 * 5 + k], 0); /* no word, as cid's */
    CHECK_NEAR(z[5], x[5 * 5], 0);
    CHECK_NEAR(z[9], x[4], 0);
    /* ages 1, 4, 10 of ann and cid: mean 5, deviation sqrt(14); True, False, True, False */
    CHECK_NEAR(x[0], -4 / sqrt(14), 1e-6);
    CHECK_NEAR(x[1], 1, 1e-6);
    CHECK_NEAR(x[4], 1, 1e-6); /* Ulm: 2 of 4 */
    CHECK_NEAR(later->columns->mean[0], 5, 0);
    dataset_close(before);
    dataset_close(later);
    write_text(csv, "y,town,age,smokes,who\nc,Ulm,1,True,dee\n");
    CHECK_EQ(import("table", (const char *[]){csv, NULL},
                    (const char *[]){"label=y", "user=who", like, NULL}, scratch("bad")),
             METE_EFORMAT);
    CHECK_HAS(mete_errmsg(), "later.csv:2:1: label 'c' is none of the 2 classes of");
    write_text(csv, "y,town,smokes,who\na,Ulm,True,dee\n");
    CHECK_EQ(import("table", (const char *[]){csv, NULL},
                    (const char *[]){"label=y", "user=who", like, NULL}, scratch("bad")),
             METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "no column 'age' for the feature");
    CHECK_NOTHING_LEFT("bad");
}

TEST(without_a_file_the_training_users_are_those_of_the_split)
{
    /* ten users, whose only number is theirs: 0, 100, …, 900, and a gap */
    char csv[1024] = "u,x,y\n";
    uint8_t part[10];
    int n[PARTS];
    double sum = 0;
    for (int u = 0; u < 10; u++) {
        char line[64];
        snprintf(line, sizeof line, "u%d,%d,%d\nu%d,,%d\n", u, 100 * u, u % 2, u, u % 2);
        strcat(csv, line);
    }
    parts_share_users(10, n);
    parts_draw(n, 10, 0, part);
    for (int u = 0; u < 10; u++)
        sum += part[u] == SPLIT_TRAIN ? 100 * u : 0;
    struct dataset *d = NULL;
    CHECK_OK(import_table(csv, (const char *[]){"label=y", "user=u", "standardise=yes", NULL}));
    CHECK_OK(dataset_open(&d, scratch("table")));
    CHECK_NEAR(d->columns->mean[0], sum / 6, 1e-9);
    dataset_close(d);
}

TEST(labels_that_are_measurements_are_questioned)
{
    char csv[4096] = "a,y\n";
    for (int i = 0; i < 40; i++) {
        char line[64];
        snprintf(line, sizeof line, "%d,%.1f\n", i * i % 17, i * 0.7);
        strcat(csv, line);
    }
    CHECK_EQ(import_table(csv, (const char *[]){"label=y", NULL}), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "column 'y' holds 40 different numbers in 40 rows");
    CHECK_NOTHING_LEFT("table");
    CHECK_OK(import_table(csv, (const char *[]){"label=y", "number_labels=yes", NULL}));
    char ids[4096] = "a,b,y\n";
    for (int i = 0; i < 40; i++) {
        char line[64];
        snprintf(line, sizeof line, "%d,%d,%d\n", i, i % 7, i % 3);
        strcat(ids, line);
    }
    CHECK_EQ(import_table(ids, (const char *[]){"label=y", NULL}), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "column 'a' only counts the rows");
    CHECK_OK(import_table(ids, (const char *[]){"label=y", "index=yes", NULL}));
    CHECK_OK(import_table(ids, (const char *[]){"label=y", "ignore=a", NULL}));
}

TEST(numbers_may_be_names)
{
    struct dataset *d = NULL;
    CHECK_OK(import_table("code,x,y\n7,1,a\n12,2,b\n7,3,a\n",
                          (const char *[]){"label=y", "words=code", NULL}));
    CHECK_OK(dataset_open(&d, scratch("table")));
    static const float expected[] = {1, 0, 1, 0, 1, 2, 1, 0, 3};
    CHECK_EQ(d->c, 3);
    for (int i = 0; i < 9; i++)
        CHECK_NEAR(((const float *)d->x)[i], expected[i], 0);
    dataset_close(d);
}

TEST(parts_of_a_table_are_kept)
{
    struct dataset *d = NULL;
    CHECK_OK(import_table("x,u,y,p\n1,a,0,train\n2,a,1,test\n",
                          (const char *[]){"label=y", "user=u", "part=p", NULL}));
    CHECK_OK(dataset_open(&d, scratch("table")));
    CHECK_EQ(d->part[0], PART_TRAIN);
    CHECK_EQ(d->part[1], PART_TEST);
    dataset_close(d);
}

TEST(a_table_with_a_flaw_is_refused_with_its_place)
{
    static const struct {
        const char *csv, *label;
        int code;
        const char *says;
    } cases[] = {
        {"a,b\n1,2\n", "label=c", METE_EINVAL, "t.csv:1:1: no column 'c' for the label"},
        {"age,sick\n1,2\n", "label=sik", METE_EINVAL, "did you mean 'sick'?"},
        {"a,b\n1,x\nred,x\n", "label=b", METE_EFORMAT,
         "t.csv:3:1: column 'a': expected a number, got 'red'"},
        {"a,b\nred,x\n1,x\n", "label=b", METE_EFORMAT,
         "t.csv:2:1: column 'a': expected a number, got 'red'"},
        {"a,b\n?,x\n1e99,x\n", "label=b", METE_EFORMAT, "t.csv:3:1: column 'a': expected a finite"},
        {"a,b\n?,x\ninf,x\n", "label=b", METE_EFORMAT, "expected a finite number, got 'inf'"},
        {"a,c,b\n1,?,x\n1,,x\n", "label=b", METE_EFORMAT,
         "column 'c' holds nothing; leave it out: --set ignore=c"},
        {"a,b\na1,x\na2,x\na3,x\n", "label=b words_max=2", METE_EFORMAT,
         "column 'a' holds more than 2 different words"},
        {"a,b\n?,x\n1\n", "label=b", METE_EFORMAT, "t.csv:3:1: 1 fields, expected 2"},
        {"id,a,b\n1,5,x\n2,5,x\n9,5,x\n", "label=b", METE_EINVAL,
         "column 'id' only counts the rows"},
        {",a,b\n0,5,x\n1,,x\n", "label=b", METE_EINVAL, "column '' only counts the rows"},
        {"a,b\n1,x\n1e99,x\n", "label=b", METE_EFORMAT, "expected a finite number, got '1e99'"},
        {"a,b\n1,x\n1\n", "label=b", METE_EFORMAT, "t.csv:3:1: 1 fields, expected 2"},
        {"a,b\n1,x\n1,z\n", "label=b classes=x,y", METE_EFORMAT,
         "t.csv:3:3: label 'z' is none of the 2 classes of --set classes"},
        {"a,b\n1,x\n", "label=b classes=x,,y", METE_EINVAL, "classes: expected different names"},
        {"a,b\n1,x\n", "label=b classes=x,x", METE_EINVAL, "classes: expected different names"},
        {"a,a\n1,x\n", "label=a", METE_EFORMAT, "t.csv:1:3: a second column named 'a'"},
        {"a\n1\n", "label=a", METE_EFORMAT, "no columns are left for features"},
        {"a,b\n", "label=b", METE_EFORMAT, "no rows after the column names"},
        {"a,b\n1,\"x\n", "label=b", METE_EFORMAT, "t.csv:2:3: a quoted field that does not end"},
        {"a,b\n1,2\n", "label=", METE_EINVAL, "--label COLUMN"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char first[64];
        snprintf(first, sizeof first, "%s", cases[i].label);
        char *second = strchr(first, ' ');
        if (second)
            *second++ = '\0';
        CHECK_EQ(import_table(cases[i].csv, (const char *[]){first, second, NULL}), cases[i].code);
        CHECK_HAS(mete_errmsg(), cases[i].says);
        CHECK_NOTHING_LEFT("table");
    }
}

/* ---- arrays ---- */

TEST(arrays_become_images_or_rows)
{
    struct dataset *d = NULL;
    uint8_t x[3 * 2 * 2] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    int64_t y[] = {7, -3, 7}, images[] = {3, 2, 2}, n = 3;
    int32_t user[] = {100, 5, 5};
    double rows[] = {1, 2, 3, 4, 5, 6};
    CHECK_OK(npy_write(scratch("x.npy"), DTYPE_U8, 3, images, x));
    CHECK_OK(npy_write(scratch("y.npy"), DTYPE_I64, 1, &n, y));
    CHECK_OK(npy_write(scratch("u.npy"), DTYPE_I32, 1, &n, user));
    CHECK_OK(npy_write(scratch("r.npy"), DTYPE_F64, 2, (int64_t[]){3, 2}, rows));
    CHECK_OK(import("arrays",
                    (const char *[]){scratch("x.npy"), scratch("y.npy"), scratch("u.npy"), NULL},
                    (const char *[]){"invert=yes", NULL}, scratch("arrays")));
    CHECK_OK(dataset_open(&d, scratch("arrays")));
    CHECK_EQ(d->classes, 2);
    CHECK_EQ(d->users, 2);
    CHECK_STR(d->class_names[0], "-3");
    CHECK_STR(d->user_names[1], "100");
    CHECK_EQ(d->y[0], 1);
    CHECK_EQ(d->user[0], 1);
    CHECK(memcmp(d->x, x, sizeof x) == 0);
    CHECK_NEAR(0 * d->scale + d->shift, 1, 1e-7);
    CHECK_NEAR(255 * d->scale + d->shift, 0, 1e-7);
    dataset_close(d);
    CHECK_OK(import("arrays", (const char *[]){scratch("r.npy"), scratch("y.npy"), NULL}, NONE,
                    scratch("rows")));
    CHECK_OK(dataset_open(&d, scratch("rows")));
    CHECK(d->is_float);
    CHECK_NEAR(((const float *)d->x)[5], 6, 0);
    dataset_close(d);
}

TEST(arrays_with_a_flaw_are_refused_by_name)
{
    const char *x = scratch("x.npy"), *y = scratch("y.npy");
    float rows[] = {1, NAN}, images[8] = {0};
    int64_t n2 = 2, n3 = 3, labels[] = {0, 1, 2};
    CHECK_OK(npy_write(x, DTYPE_F32, 2, (int64_t[]){2, 1}, rows));
    CHECK_OK(npy_write(y, DTYPE_I64, 1, &n2, labels));
    CHECK_EQ(import("arrays", (const char *[]){x, y, NULL}, NONE, scratch("bad")), METE_EFORMAT);
    CHECK_HAS(mete_errmsg(), "x.npy: item 1, value 0 is nan, expected a finite number");
    CHECK_OK(npy_write(y, DTYPE_I64, 1, &n3, labels));
    CHECK_EQ(import("arrays", (const char *[]){x, y, NULL}, NONE, scratch("bad")), METE_EFORMAT);
    CHECK_HAS(mete_errmsg(), "y.npy: expected");
    CHECK_OK(npy_write(x, DTYPE_F32, 3, (int64_t[]){2, 2, 2}, images));
    CHECK_EQ(import("arrays", (const char *[]){x, y, NULL}, NONE, scratch("bad")), METE_EFORMAT);
    CHECK_HAS(mete_errmsg(), "x.npy: expected uint8 images, got F32 (2, 2, 2)");
    CHECK_EQ(truncate(x, 140), 0);
    CHECK_EQ(import("arrays", (const char *[]){x, y, NULL}, NONE, scratch("bad")), METE_EFORMAT);
    CHECK_HAS(mete_errmsg(), "x.npy: F32 (2, 2, 2) needs 32 bytes");
    CHECK_NOTHING_LEFT("bad");
}

TEST(an_npz_is_read_by_the_names_of_its_arrays)
{
    NEED_ARCHIVE;
    struct dataset *d = NULL;
    uint8_t x[2 * 9] = {1, 2, 3};
    int32_t y[] = {0, 1};
    int64_t n = 2;
    CHECK_OK(npy_write(scratch("x.npy"), DTYPE_U8, 3, (int64_t[]){2, 3, 3}, x));
    CHECK_OK(npy_write(scratch("y.npy"), DTYPE_I32, 1, &n, y));
    shell(
        "cd '%s' && rm -f a.npz && python3 -c \"import zipfile; z = zipfile.ZipFile('a.npz', 'w', "
        "zipfile.ZIP_DEFLATED); z.write('y.npy'); z.write('x.npy')\"",
        scratch(""), "");
    CHECK_OK(import("arrays", (const char *[]){scratch("a.npz"), NULL}, NONE, scratch("npz")));
    CHECK_OK(dataset_open(&d, scratch("npz")));
    CHECK_EQ(d->items, 2);
    CHECK(memcmp(d->x, x, sizeof x) == 0);
    dataset_close(d);
    shell("cd '%s' && python3 -c \"import zipfile; zipfile.ZipFile('b.npz', 'w').write('y.npy')\"",
          scratch(""), "");
    CHECK_EQ(import("arrays", (const char *[]){scratch("b.npz"), NULL}, NONE, scratch("bad")),
             METE_EFORMAT);
    CHECK_HAS(mete_errmsg(), "b.npz: holds no array 'x'");
}

/* ---- IDX ---- */

static const unsigned char idx_images[] = {0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 2,  0,  0,
                                           0, 2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
static const unsigned char idx_labels[] = {0, 0, 8, 1, 0, 0, 0, 3, 4, 9, 4};

TEST(idx_files_become_images_with_writers)
{
    struct dataset *d = NULL;
    char setting[600];
    write_bytes(scratch("i.idx"), idx_images, sizeof idx_images);
    write_bytes(scratch("l.idx"), idx_labels, sizeof idx_labels);
    write_text(scratch("w.txt"), "12\n7\r\n12\n");
    snprintf(setting, sizeof setting, "writers=%s", scratch("w.txt"));
    CHECK_OK(import("idx", (const char *[]){scratch("i.idx"), scratch("l.idx"), NULL},
                    (const char *[]){setting, "transpose=yes", NULL}, scratch("idx")));
    CHECK_OK(dataset_open(&d, scratch("idx")));
    CHECK_EQ(d->items, 3);
    CHECK_EQ(d->classes, 2);
    CHECK_STR(d->class_names[1], "9");
    CHECK_EQ(d->users, 2);
    CHECK_EQ(d->user[0], 1);
    CHECK_EQ(d->user[1], 0);
    CHECK(memcmp(d->x, (unsigned char[]){1, 3, 2, 4, 5, 7, 6, 8}, 8) == 0);
    dataset_close(d);
}

TEST(gzipped_idx_files_are_read_and_a_second_pair_is_the_test_part)
{
    NEED_ARCHIVE; /* which gunzips */
    struct dataset *d = NULL;
    char setting[600];
    write_bytes(scratch("i.idx"), idx_images, sizeof idx_images);
    write_bytes(scratch("l.idx"), idx_labels, sizeof idx_labels);
    write_text(scratch("w.txt"), "1\n2\n3\n1\n2\n3\n");
    snprintf(setting, sizeof setting, "writers=%s", scratch("w.txt"));
    shell("gzip -kf '%s' '%s'", scratch("i.idx"), scratch("l.idx"));
    CHECK_OK(import("idx",
                    (const char *[]){scratch("i.idx.gz"), scratch("l.idx.gz"), scratch("i.idx"),
                                     scratch("l.idx"), NULL},
                    (const char *[]){setting, NULL}, scratch("idx2")));
    CHECK_OK(dataset_open(&d, scratch("idx2")));
    CHECK_EQ(d->items, 6);
    CHECK_EQ(d->users, 3);
    CHECK_EQ(d->part[2], PART_TRAIN);
    CHECK_EQ(d->part[3], PART_TEST);
    CHECK_EQ(((const uint8_t *)d->x)[11], 12);
    dataset_close(d);
}

TEST(idx_with_a_flaw_is_refused_by_name)
{
    char images[512], labels[512], setting[600];
    snprintf(images, sizeof images, "%s", scratch("bi.idx"));
    snprintf(labels, sizeof labels, "%s", scratch("bl.idx"));
    const char *paths[] = {images, labels, NULL};
    write_bytes(labels, idx_labels, sizeof idx_labels);
    for (size_t n = 0; n < sizeof idx_images; n++) {
        write_bytes(images, idx_images, n);
        CHECK_EQ(import("idx", paths, NONE, scratch("bad")), METE_EFORMAT);
        CHECK_HAS(mete_errmsg(), "bi.idx");
        CHECK_NOTHING_LEFT("bad");
    }
    write_bytes(images, idx_images, sizeof idx_images);
    write_bytes(labels, (unsigned char[]){0, 0, 8, 1, 0, 0, 0, 2, 4, 9}, 10);
    CHECK_EQ(import("idx", paths, NONE, scratch("bad")), METE_EFORMAT);
    CHECK_HAS(mete_errmsg(), "bl.idx: 2 labels, but");
    write_bytes(labels, idx_images, sizeof idx_images);
    CHECK_EQ(import("idx", paths, NONE, scratch("bad")), METE_EFORMAT);
    CHECK_HAS(mete_errmsg(), "expected whole numbers in one dimension, the labels");
    write_bytes(labels, idx_labels, sizeof idx_labels);
    write_text(scratch("w.txt"), "1\nx\n");
    snprintf(setting, sizeof setting, "writers=%s", scratch("w.txt"));
    CHECK_EQ(import("idx", paths, (const char *[]){setting, NULL}, scratch("bad")), METE_EFORMAT);
    CHECK_HAS(mete_errmsg(), "w.txt:2:1: expected a whole number, got 'x'");
    write_text(scratch("w.txt"), "1\n2\n");
    CHECK_EQ(import("idx", paths, (const char *[]){setting, NULL}, scratch("bad")), METE_EFORMAT);
    CHECK_HAS(mete_errmsg(), "w.txt: 2 writers, expected one for each of 3 images");
    CHECK_NOTHING_LEFT("bad");
}

TESTS(T(leaf_drops_the_repeated_first_image_of_each_user),
      T(leaf_with_a_flaw_is_refused_with_its_place),
      T(leaf_pixels_must_be_steps_of_1_255_once_they_are_images), T(a_table_becomes_rows),
      T(standardising_looks_at_training_users_only), T(gaps_flags_and_words_become_numbers),
      T(people_who_come_later_are_treated_as_those_before),
      T(without_a_file_the_training_users_are_those_of_the_split),
      T(labels_that_are_measurements_are_questioned), T(numbers_may_be_names),
      T(parts_of_a_table_are_kept), T(a_table_with_a_flaw_is_refused_with_its_place),
      T(arrays_become_images_or_rows), T(arrays_with_a_flaw_are_refused_by_name),
      T(an_npz_is_read_by_the_names_of_its_arrays), T(idx_files_become_images_with_writers),
      T(gzipped_idx_files_are_read_and_a_second_pair_is_the_test_part),
      T(idx_with_a_flaw_is_refused_by_name))
