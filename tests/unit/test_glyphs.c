/* test_glyphs.c - the built-in generator: repeatable, quick, and a problem worth
 * solving.
 */
#include "test.h"
#include "mete.h"
#include "base/rng.h"
#include "base/sha256.h"
#include "data/glyphs.h"

#include <time.h>

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void checksum(const struct dataset *d, char out[SHA256_HEX])
{
    struct sha256 s;
    sha256_init(&s);
    sha256_add(&s, d->x, (size_t)d->items * dataset_item_bytes(d));
    sha256_add(&s, d->y, (size_t)d->items * sizeof *d->y);
    sha256_hex(&s, out);
}

TEST(a_name_always_gives_the_same_bytes)
{
    /* Written down once: results made with these sets must stay comparable. */
    static const char *const known[][2] = {
        {"glyphs:classes=6,drawers=4,alphabet=3",
         "1c3f168ec7e25705aaf8e591f9a0a6924a0ed4986f9b268c8ecb9dfde2a4e6fc"},
        {"glyphs-users:classes=5,users=3",
         "a03174a237116a954fed861c63cac2a223c21b9b6fa79467e6c07320d5ec07ac"},
    };
    for (int i = 0; i < 2; i++) {
        struct dataset *d = NULL;
        char sum[SHA256_HEX];
        CHECK_OK(glyphs_make(&d, known[i][0]));
        checksum(d, sum);
        CHECK_STR(sum, known[i][1]);
        dataset_close(d);
    }
}

TEST(another_seed_gives_other_characters)
{
    struct dataset *a = NULL, *b = NULL;
    char x[SHA256_HEX], y[SHA256_HEX];
    CHECK_OK(glyphs_make(&a, "glyphs:classes=4"));
    CHECK_OK(glyphs_make(&b, "glyphs:classes=4,seed=1"));
    checksum(a, x);
    checksum(b, y);
    CHECK(strcmp(x, y) != 0);
    dataset_close(a);
    dataset_close(b);
}

TEST(as_many_as_asked_for_with_ink_on_paper)
{
    struct dataset *d = NULL;
    CHECK_OK(glyphs_make(&d, "glyphs:classes=30,drawers=7,images=2,alphabet=10,size=32"));
    CHECK_EQ(d->items, 30 * 7 * 2);
    CHECK_EQ(d->classes, 30);
    CHECK_EQ(d->users, 0);
    CHECK_EQ(d->h, 32);
    CHECK_STR(d->class_names[11], "alphabet02/character02");
    CHECK_STR(d->class_groups[29], "alphabet03");
    for (int64_t i = 0; i < d->items; i++) {
        const uint8_t *x = (const uint8_t *)d->x + i * 1024;
        double ink = 0, darkest = 255;
        CHECK_EQ(d->y[i], i / 14);
        for (int p = 0; p < 1024; p++) {
            ink += x[p] * (double)d->scale + (double)d->shift;
            darkest = x[p] < darkest ? x[p] : darkest;
        }
        CHECK(ink / 1024 > 0.005 && ink / 1024 < 0.4); /* Omniglot's mean is 0.08 */
        CHECK(darkest < 100);
    }
    dataset_close(d);
}

TEST(the_default_takes_less_than_two_seconds_of_one_core)
{
    struct dataset *d = NULL;
    double start = seconds();
    CHECK_OK(glyphs_make(&d, "glyphs"));
    double took = seconds() - start;
    CHECK_EQ(d->items, 8000);
#ifdef __OPTIMIZE__
    CHECK(took < 2);
#else
    CHECK(took < 20);
#endif
    dataset_close(d);
}

/* Squared distance of two images, each pixel averaged with its neighbours. */
static double distance(const struct dataset *d, int64_t a, int64_t b)
{
    const uint8_t *x = (const uint8_t *)d->x + a * 784, *y = (const uint8_t *)d->x + b * 784;
    double sum = 0;
    for (int r = 0; r < 26; r++)
        for (int c = 0; c < 26; c++) {
            int diff = 0;
            for (int i = 0; i < 9; i++) {
                int at = (r + i / 3) * 28 + c + i % 3;
                diff += x[at] - y[at];
            }
            sum += (double)diff * diff;
        }
    return sum;
}

TEST(glyphs_are_neither_trivial_nor_hopeless)
{
    /* One labelled drawing of each of 5 classes, the nearest in pixels wins: 0.58 on
     * Omniglot, where a learner reaches 0.95 and more. */
    struct dataset *d = NULL;
    int right = 0;
    enum { TASKS = 300 };
    CHECK_OK(glyphs_make(&d, "glyphs"));
    for (int t = 0; t < TASKS; t++) {
        struct rng r = rng_make(1, RNG_TEST, (uint64_t)t, 0);
        int32_t classes[5], pair[2];
        int64_t support[5], query = 0;
        rng_choose(&r, 400, 5, classes);
        for (int c = 0; c < 5; c++) {
            rng_choose(&r, 20, 2, pair);
            support[c] = (int64_t)classes[c] * 20 + pair[0];
            if (c == 0)
                query = (int64_t)classes[c] * 20 + pair[1];
        }
        int best = 0;
        for (int c = 1; c < 5; c++)
            if (distance(d, query, support[c]) < distance(d, query, support[best]))
                best = c;
        right += best == 0;
    }
    CHECK(right > TASKS * 45 / 100 && right < TASKS * 80 / 100);
    dataset_close(d);
}

TEST(users_have_parts_and_write_differently)
{
    struct dataset *d = NULL;
    CHECK_OK(glyphs_make(&d, "glyphs-users"));
    CHECK_EQ(d->users, 300);
    CHECK_EQ(d->classes, 20);
    CHECK(d->items > 300 * 50 && d->items < 300 * 70);
    int own = 0, others = 0, tried = 0;
    int64_t first = 0;
    for (int u = 0; u < d->users; u++) {
        int64_t end = first, test = 0;
        while (end < d->items && d->user[end] == u)
            test += d->part[end++] == PART_TEST;
        CHECK(test >= 1 && test < end - first);
        CHECK_NEAR((double)test / (double)(end - first), 0.2, 0.06);
        /* A test item's nearest among 30 of the user's own, and among 30 of others'. */
        int64_t query = first, mine = 0, theirs = 0;
        struct rng r = rng_make(1, RNG_TEST, (uint64_t)u, 0);
        for (int k = 0; k < 30; k++) {
            int64_t a = first + test + rng_below(&r, (uint32_t)(end - first - test));
            int64_t b = rng_below(&r, (uint32_t)d->items);
            if (k == 0 || distance(d, query, a) < distance(d, query, mine))
                mine = a;
            if (d->user[b] != u && (k == 0 || distance(d, query, b) < distance(d, query, theirs)))
                theirs = b;
        }
        own += d->y[mine] == d->y[query];
        others += d->y[theirs] == d->y[query];
        tried++;
        first = end;
    }
    CHECK_EQ(first, d->items);
    CHECK(own - others > tried / 10); /* personalisation pays */
    dataset_close(d);
}

TEST(wrong_settings_are_refused)
{
    struct dataset *d = NULL;
    CHECK_EQ(glyphs_make(&d, "glyph"), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "glyphs and glyphs-users");
    CHECK_EQ(glyphs_make(&d, "glyphs:clases=4"), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "did you mean 'classes'");
    CHECK_EQ(glyphs_make(&d, "glyphs:classes=1"), METE_EINVAL);
    CHECK_EQ(glyphs_make(&d, "glyphs-users:drawers=3"), METE_EINVAL);
    CHECK_EQ(glyphs_make(&d, "glyphs:classes=1000000,drawers=1000000"), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "fewer");
}

TESTS(T(a_name_always_gives_the_same_bytes), T(another_seed_gives_other_characters),
      T(as_many_as_asked_for_with_ink_on_paper),
      T(the_default_takes_less_than_two_seconds_of_one_core),
      T(glyphs_are_neither_trivial_nor_hopeless), T(users_have_parts_and_write_differently),
      T(wrong_settings_are_refused))
