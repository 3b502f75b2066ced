/* test_curve.c - curves that are known are found, and what is no learning curve is refused. */
#include "plan/curve.h"

#include "base/rng.h"
#include "test.h"

/* Points of a known curve on a grid of n and m, with normal noise of this deviation. */
static int known(struct curve_point *p, double a, double b, double c, double d, double f,
                 double noise)
{
    struct rng r = rng_make(1, RNG_TEST, 1, 0);
    double sd = noise > 0 ? noise : 0.001;
    int k = 0;
    for (double n = 10; n <= 160; n *= 2)
        for (double m = 5; m <= 40; m *= 2)
            p[k++] = (struct curve_point){
                n, m, 0, a + b * pow(n, c) + d * pow(m, f) + noise * rng_normal(&r), 1 / (sd * sd)};
    return k;
}

TEST(a_known_curve_is_found_between_and_beyond_its_points)
{
    struct curve_point p[64];
    struct curve c;
    int n = known(p, 0.1, 1.5, -0.5, 0.8, -0.5, 0);
    curve_fit(&c, p, n, false);
    CHECK_NEAR(curve_at(&c, 50, 12), 0.1 + 1.5 * pow(50, -0.5) + 0.8 * pow(12, -0.5), 0.005);
    CHECK_NEAR(curve_at(&c, 640, 40), 0.1 + 1.5 * pow(640, -0.5) + 0.8 * pow(40, -0.5), 0.01);
    CHECK(c.chi2 < 40);
}

TEST(noise_of_a_point_moves_it_by_less_than_that)
{
    struct curve_point p[64];
    struct curve c;
    int n = known(p, 0.2, 2, -0.6, 0.5, -1, 0.015);
    curve_fit(&c, p, n, true);
    CHECK_NEAR(curve_at(&c, 160, 20), 0.2 + 2 * pow(160, -0.6) + 0.5 / 20, 0.01);
    CHECK_NEAR(curve_at(&c, 640, 20), 0.2 + 2 * pow(640, -0.6) + 0.5 / 20, 0.025);
}

TEST(the_error_never_rises_with_labels)
{
    struct curve_point p[] = {{10, 5, 0, 0.5, 4000},
                              {20, 5, 0, 0.51, 4000},
                              {40, 5, 0, 0.505, 4000},
                              {20, 10, 0, 0.51, 4000}};
    struct curve c;
    curve_fit(&c, p, 4, false);
    CHECK(c.b >= 0 && c.d >= 0 && c.c < 0 && c.f < 0);
    CHECK(curve_at(&c, 100, 10) <= curve_at(&c, 20, 10));
    CHECK(curve_at(&c, 20, 40) <= curve_at(&c, 20, 10));
    CHECK_NEAR(curve_at(&c, 40, 5), 0.506, 0.01);
}

TEST(fewer_steps_are_a_level_of_their_own)
{
    struct curve_point p[64];
    struct curve c;
    int n = known(p, 0.1, 1.5, -0.5, 0, -1, 0);
    for (int i = 0; i < n - 4; i++) { /* most runs are short, and 0.08 above */
        p[i].level = 1;
        p[i].error += 0.08;
    }
    curve_fit(&c, p, n, true);
    CHECK_NEAR(c.level[1], 0.08, 0.01);
    CHECK_NEAR(curve_at(&c, 160, 10), 0.1 + 1.5 * pow(160, -0.5), 0.01);
}

TEST(a_point_that_counts_more_is_nearer_to_the_curve)
{
    struct curve_point p[] = {{10, 5, 0, 0.50, 1e4}, {20, 5, 0, 0.42, 1e4}, {40, 5, 0, 0.60, 10}};
    struct curve c;
    curve_fit(&c, p, 3, false);
    CHECK_NEAR(curve_at(&c, 20, 5), 0.42, 0.01);
    CHECK(curve_at(&c, 40, 5) < 0.45);
}

TEST(what_rises_is_refused)
{
    struct curve_point p[] = {
        {10, 5, 0, 0.40, 1e4}, {20, 5, 0, 0.36, 1e4}, {40, 5, 0, 0.47, 1e4}, {80, 5, 0, 0.46, 1e4}};
    struct curve c;
    char why[256] = "";
    curve_fit(&c, p, 4, false);
    CHECK(curve_odd(&c, p, 4, why, sizeof why));
    CHECK_HAS(why, "50 labels gave 60.0 % and 200 labels only 53.0 %");
}

TEST(what_no_curve_fits_is_refused)
{
    struct curve_point p[64];
    struct curve c;
    char why[256] = "";
    int n = known(p, 0.1, 1.5, -0.5, 0.8, -0.5, 0);
    curve_fit(&c, p, n, false);
    CHECK(!curve_odd(&c, p, n, why, sizeof why));
    for (int i = 0; i < n; i++) /* labels each go in and out, n alone is well-behaved */
        p[i].error += i % 2 ? 0.02 : 0;
    curve_fit(&c, p, n, false);
    CHECK(curve_odd(&c, p, n, why, sizeof why));
    CHECK_HAS(why, "times as far from any curve");
}

TESTS(T(a_known_curve_is_found_between_and_beyond_its_points),
      T(noise_of_a_point_moves_it_by_less_than_that), T(the_error_never_rises_with_labels),
      T(fewer_steps_are_a_level_of_their_own), T(a_point_that_counts_more_is_nearer_to_the_curve),
      T(what_rises_is_refused), T(what_no_curve_fits_is_refused))
