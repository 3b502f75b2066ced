/* test_statistics.c - Student's t against printed tables, intervals, paired tests. */
#include "test.h"
#include "mete.h"
#include "base/statistics.h"

/* Two-sided 95 % and 99 % points as every printed table has them (e.g. Fisher and
 * Yates, table III), and the exact ones for 1 and 2 degrees of freedom. */
TEST(quantiles_match_the_printed_tables)
{
    static const struct {
        double df, t975, t995;
    } table[] = {
        {1, 12.706, 63.657}, {2, 4.303, 9.925},  {3, 3.182, 5.841},   {4, 2.776, 4.604},
        {5, 2.571, 4.032},   {9, 2.262, 3.250},  {10, 2.228, 3.169},  {29, 2.045, 2.756},
        {30, 2.042, 2.750},  {60, 2.000, 2.660}, {120, 1.980, 2.617}, {1e7, 1.960, 2.576},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        CHECK_NEAR(student_quantile(0.975, table[i].df), table[i].t975, 6e-4);
        CHECK_NEAR(student_quantile(0.995, table[i].df), table[i].t995, 6e-4);
    }
    CHECK_NEAR(student_quantile(0.975, 1), tan(M_PI * 0.475), 1e-9);
    CHECK_NEAR(student_quantile(0.975, 2), 0.95 * sqrt(2 / (1 - 0.95 * 0.95)), 1e-10);
    CHECK_NEAR(student_quantile(0.025, 7), -student_quantile(0.975, 7), 0);
}

TEST(the_quantile_undoes_the_distribution)
{
    for (int df = 1; df < 700; df += 37)
        for (double p = 0.01; p < 1; p += 0.049)
            CHECK_NEAR(student_cdf(student_quantile(p, df), df), p, 1e-12);
    CHECK_NEAR(student_cdf(1, 1), 0.75, 1e-14); /* Cauchy */
}

TEST(a_mean_has_its_interval_and_one_value_has_none)
{
    const double x[] = {77.1, 79.0, 75.2};
    struct summary s = summary_of(x, 3);
    CHECK_NEAR(s.mean, 77.1, 1e-12);
    CHECK_NEAR(s.sd, 1.9, 1e-12);
    CHECK_NEAR(s.half, 4.302652729911275 * 1.9 / sqrt(3), 1e-9);
    s = summary_of(x, 1);
    CHECK_NEAR(s.mean, 77.1, 0);
    CHECK(isnan(s.half) && isnan(s.sd));
    CHECK(isnan(summary_of(x, 0).mean));
}

/* Student's own example (Biometrika 1908): hours of sleep gained by ten patients
 * under two drugs; R's t.test(paired = TRUE) gives t = 4.0621, p = 0.002833. */
TEST(the_paired_test_matches_students_sleep_data)
{
    const double a[] = {1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4};
    const double b[] = {0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0};
    struct paired r = paired_of(a, b, 10);
    CHECK_NEAR(r.difference.mean, 1.58, 1e-12);
    CHECK_NEAR(r.difference.mean - r.difference.half, 0.7001142, 5e-7);
    CHECK_NEAR(r.p, 0.002833, 5e-7);
    CHECK_EQ(r.better, 9);
    CHECK_EQ(r.worse, 0);
}

TEST(equal_pairs_show_no_difference)
{
    const double a[] = {0.5, 0.25, 1};
    CHECK_NEAR(paired_of(a, a, 3).p, 1, 0);
    CHECK_NEAR(paired_of(a, a, 3).difference.half, 0, 0);
}

TEST(weights_and_quantiles)
{
    const double x[] = {1, 2, 4}, w[] = {1, 1, 2};
    CHECK_NEAR(weighted_mean(x, w, 3), 2.75, 0);
    CHECK_NEAR(sorted_quantile(x, 3, 0), 1, 0);
    CHECK_NEAR(sorted_quantile(x, 3, 0.25), 1.5, 0);
    CHECK_NEAR(sorted_quantile(x, 3, 1), 4, 0);
}

TESTS(T(quantiles_match_the_printed_tables), T(the_quantile_undoes_the_distribution),
      T(a_mean_has_its_interval_and_one_value_has_none),
      T(the_paired_test_matches_students_sleep_data), T(equal_pairs_show_no_difference),
      T(weights_and_quantiles))
