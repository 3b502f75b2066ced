/* test_fit.c - least squares against answers worked out elsewhere. */
#include "theory/fit.h"

#include "mete.h"
#include "test.h"

TEST(an_exact_plane_is_found)
{
    double x[12 * 3], y[12];
    for (int i = 0; i < 12; i++) {
        double n = pow(10, 1 + i % 4), m = 5 * (1 + i / 4);
        x[3 * i] = 1;
        x[3 * i + 1] = 1 / sqrt(n);
        x[3 * i + 2] = 1 / m;
        y[i] = 0.25 + 3 * x[3 * i + 1] + 7 * x[3 * i + 2];
    }
    struct fit f;
    CHECK_OK(fit_linear(&f, x, y, 12, 3));
    CHECK_NEAR(f.coefficient[0], 0.25, 1e-12);
    CHECK_NEAR(f.coefficient[1], 3, 1e-12);
    CHECK_NEAR(f.coefficient[2], 7, 1e-11);
    CHECK_NEAR(f.half[1], 0, 1e-10);
    CHECK_NEAR(f.r2, 1, 1e-12);
}

/* Anscombe (1973), first set: y = 3.0001 + 0.50009 x, standard errors 1.1247 and 0.11791. */
TEST(anscombes_first_set_has_its_published_line)
{
    const double at[] = {10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5};
    const double y[] = {8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68};
    double x[22];
    for (int i = 0; i < 11; i++) {
        x[2 * i] = 1;
        x[2 * i + 1] = at[i];
    }
    struct fit f;
    CHECK_OK(fit_linear(&f, x, y, 11, 2));
    CHECK_NEAR(f.coefficient[0], 3.00009, 1e-5);
    CHECK_NEAR(f.coefficient[1], 0.500091, 1e-6);
    CHECK_NEAR(f.half[0], 2.262157 * 1.1247, 1e-3); /* t(9) */
    CHECK_NEAR(f.half[1], 2.262157 * 0.11791, 1e-4);
    CHECK_NEAR(f.r2, 0.6665, 1e-4);
}

TEST(columns_that_are_alike_are_refused)
{
    const double x[] = {1, 2, 1, 2, 1, 2}, y[] = {1, 2, 3};
    struct fit f;
    CHECK_EQ(fit_linear(&f, x, y, 3, 2), METE_EINVAL);
    CHECK_EQ(fit_linear(&f, x, y, 1, 2), METE_EINVAL);
}

TEST(as_many_terms_as_points_leaves_no_interval)
{
    const double x[] = {1, 1, 1, 2}, y[] = {1, 3};
    struct fit f;
    CHECK_OK(fit_linear(&f, x, y, 2, 2));
    CHECK_NEAR(f.coefficient[1], 2, 1e-12);
    CHECK(isnan(f.half[1]));
}

TESTS(T(an_exact_plane_is_found), T(anscombes_first_set_has_its_published_line),
      T(columns_that_are_alike_are_refused), T(as_many_terms_as_points_leaves_no_interval))
