/* test_money.c - amounts are read and printed exactly, or refused. */
#include "test.h"
#include "base/money.h"

static millionths read_all(const char *text)
{
    const char *end = NULL;
    millionths out = -2;
    if (!money_read(text, &end, &out))
        return -1;
    return *end ? -3 : out;
}

TEST(decimals_are_read_exactly)
{
    CHECK_EQ(read_all("0"), 0);
    CHECK_EQ(read_all("1"), 1000000);
    CHECK_EQ(read_all("001.500"), 1500000);
    CHECK_EQ(read_all("0.1"), 100000);
    CHECK_EQ(read_all(".25"), 250000);
    CHECK_EQ(read_all("7."), 7000000);
    CHECK_EQ(read_all("0.000001"), 1);
    CHECK_EQ(read_all("0.0000010000000000000000000000000"), 1);
    CHECK_EQ(read_all("1e-6"), 1);
    CHECK_EQ(read_all("1.5E+3"), 1500000000);
    CHECK_EQ(read_all("0e999999999999"), 0);
    CHECK_EQ(read_all("999999999999.999999"), INT64_C(999999999999999999));
    CHECK_EQ(read_all("1e12"), MONEY_MAX);
    CHECK_EQ(read_all("1000000000000"), MONEY_MAX);
}

TEST(what_would_be_rounded_or_overflow_is_refused)
{
    static const char *const bad[] = {"",
                                      "-1",
                                      "+1",
                                      ".",
                                      "e3",
                                      " 1",
                                      "nan",
                                      "inf",
                                      "x",
                                      "1e-7",
                                      "1e-9",
                                      "0.0000001",
                                      "1000000000000.000001",
                                      "1000000000001",
                                      "1e13",
                                      "1e999999999999",
                                      "99999999999999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (read_all(bad[i]) != -1)
            FAIL_TEST("'%s' was read as %lld", bad[i], (long long)read_all(bad[i]));
}

TEST(what_follows_is_left)
{
    const char *text = "1.2M", *end = NULL;
    millionths out;
    CHECK(money_read(text, &end, &out));
    CHECK_STR(end, "M");
    CHECK_EQ(out, 1200000);
    CHECK(money_read("3e", &end, &out));
    CHECK_STR(end, "e");
    CHECK_EQ(read_all("0x10"), -3);
}

TEST(what_is_printed_reads_back)
{
    static const millionths all[] = {0,       1,       10,        999999,    1000000,
                                     1000001, 1500000, 123456789, MONEY_MAX, MONEY_MAX - 1};
    char text[MONEY_TEXT_SIZE];
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        money_text(all[i], text);
        CHECK_EQ(read_all(text), all[i]);
    }
    money_text(1500000, text);
    CHECK_STR(text, "1.5");
    money_text(1000000, text);
    CHECK_STR(text, "1");
    money_text(1, text);
    CHECK_STR(text, "0.000001");
}

TEST(sums_stop_at_the_largest)
{
    CHECK_EQ(money_add(1, 2), 3);
    CHECK_EQ(money_add(INT64_MAX - 1, 1), INT64_MAX);
    CHECK_EQ(money_add(INT64_MAX - 1, 2), INT64_MAX);
    CHECK_EQ(money_add(INT64_MAX, INT64_MAX), INT64_MAX);
    CHECK_EQ(money_times(3, 4), 12);
    CHECK_EQ(money_times(INT64_C(1000000000000), 9223372), INT64_C(9223372000000000000));
    CHECK_EQ(money_times(INT64_C(1000000000000), 9223373), INT64_MAX);
    CHECK_EQ(money_times(5, 0), 0);
}

TESTS(T(decimals_are_read_exactly), T(what_would_be_rounded_or_overflow_is_refused),
      T(what_follows_is_left), T(what_is_printed_reads_back), T(sums_stop_at_the_largest))
