/* test.h - a test says what holds.
 *
 *   TEST(unknown_name_is_refused) { CHECK_EQ(f(), METE_EINVAL); }
 *   TESTS(T(unknown_name_is_refused), ...)
 *
 * A failing check prints file:line and both values and ends that test.  SKIP("why")
 * is for what a machine lacks (a data set, a device), never for a bug.
 */
#ifndef TEST_H
#define TEST_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int test_failed, test_skipped;

/* A name in the folder for temporary files: tests/run gives each test one of its own, in which
 * nothing may be left. */
enum { TEMP_SIZE = 192 };
static inline char *temp_name(char out[TEMP_SIZE], const char *name)
{
    const char *folder = getenv("TMPDIR");
    snprintf(out, TEMP_SIZE, "%s/%s", folder && *folder ? folder : "/tmp", name);
    return out;
}

#define TEST(name) static void name(void)
#define T(name)                                                                                    \
    {                                                                                              \
#name, name                                                                                \
    }
#define FAIL_TEST(...)                                                                             \
    do {                                                                                           \
        fprintf(stderr, "%s:%d: ", __FILE__, __LINE__);                                            \
        fprintf(stderr, __VA_ARGS__);                                                              \
        fputc('\n', stderr);                                                                       \
        test_failed = 1;                                                                           \
        return;                                                                                    \
    } while (0)
#define SKIP(why)                                                                                  \
    do {                                                                                           \
        fprintf(stderr, "skipped: %s\n", why);                                                     \
        test_skipped = 1;                                                                          \
        return;                                                                                    \
    } while (0)
#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond))                                                                               \
            FAIL_TEST("%s does not hold", #cond);                                                  \
    } while (0)
#define CHECK_EQ(a, b)                                                                             \
    do {                                                                                           \
        long long a_ = (long long)(a), b_ = (long long)(b);                                        \
        if (a_ != b_)                                                                              \
            FAIL_TEST("%s is %lld, not %lld", #a, a_, b_);                                         \
    } while (0)
#define CHECK_STR(a, b)                                                                            \
    do {                                                                                           \
        const char *a_ = (a), *b_ = (b);                                                           \
        if (strcmp(a_, b_) != 0)                                                                   \
            FAIL_TEST("%s is '%s', not '%s'", #a, a_, b_);                                         \
    } while (0)
#define CHECK_HAS(text, part)                                                                      \
    do {                                                                                           \
        const char *a_ = (text), *b_ = (part);                                                     \
        if (!strstr(a_, b_))                                                                       \
            FAIL_TEST("'%s' does not contain '%s'", a_, b_);                                       \
    } while (0)
#define CHECK_NEAR(a, b, tolerance)                                                                \
    do {                                                                                           \
        double a_ = (a), b_ = (b);                                                                 \
        if (!(fabs(a_ - b_) <= (tolerance)))                                                       \
            FAIL_TEST("%s is %.9g, not %.9g", #a, a_, b_);                                         \
    } while (0)
#define CHECK_OK(call)                                                                             \
    do {                                                                                           \
        int e_ = (call);                                                                           \
        if (e_)                                                                                    \
            FAIL_TEST("%s failed: %s", #call, mete_errmsg());                                      \
    } while (0)

struct test {
    const char *name;
    void (*run)(void);
};

static int test_main(const struct test *tests, int n, const char *only)
{
    int passed = 0, failed = 0, skipped = 0;
    for (int i = 0; i < n; i++) {
        if (only && !strstr(tests[i].name, only))
            continue;
        test_failed = test_skipped = 0;
        tests[i].run();
        if (test_failed)
            fprintf(stderr, "FAILED %s\n", tests[i].name);
        failed += test_failed;
        skipped += test_skipped && !test_failed;
        passed += !test_failed && !test_skipped;
    }
    printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
    return failed != 0;
}

#define TESTS(...)                                                                                 \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        static const struct test tests[] = {__VA_ARGS__};                                          \
        return test_main(tests, (int)(sizeof tests / sizeof *tests), argc > 1 ? argv[1] : NULL);   \
    }

#endif
