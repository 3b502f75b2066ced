/* test_spectrum.c - eigenvalues that are known, from products alone. */
#include "theory/spectrum.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "test.h"

enum { DIM = 200 };

/* Q diag(values) Q with Q = I - 2 u u^T: any spectrum, in a basis of no axis. */
struct reflected {
    size_t n;
    double values[DIM], u[DIM];
    int products;
};

static void reflect(const struct reflected *m, double *x)
{
    double along = 0;
    for (size_t i = 0; i < m->n; i++)
        along += m->u[i] * x[i];
    for (size_t i = 0; i < m->n; i++)
        x[i] -= 2 * along * m->u[i];
}

static int apply(void *user, const double *x, double *y)
{
    struct reflected *m = user;
    memcpy(y, x, m->n * sizeof *y);
    reflect(m, y);
    for (size_t i = 0; i < m->n; i++)
        y[i] *= m->values[i];
    reflect(m, y);
    m->products++;
    return 0;
}

static struct reflected reflected_of(size_t n)
{
    struct reflected m = {.n = n};
    struct rng r = rng_make(5, RNG_TEST, n, 0);
    double norm = 0;
    for (size_t i = 0; i < n; i++) {
        m.u[i] = rng_normal(&r);
        m.values[i] = rng_normal(&r);
        norm += m.u[i] * m.u[i];
    }
    for (size_t i = 0; i < n; i++)
        m.u[i] /= sqrt(norm);
    return m;
}

TEST(both_ends_of_a_known_spectrum_are_found)
{
    struct reflected m = reflected_of(DIM);
    m.values[7] = 9;
    m.values[50] = -12;
    struct spectrum s;
    struct spectrum_options o = {.dim = DIM, .steps = 60, .tolerance = 1e-10, .seed = 1};
    CHECK_OK(spectrum_of(&s, &o, apply, &m));
    CHECK(s.converged && s.steps < 60);
    CHECK_EQ(m.products, s.steps);
    CHECK_NEAR(s.largest, 9, 1e-9);
    CHECK_NEAR(s.smallest, -12, 1e-9);
    CHECK_NEAR(spectrum_norm(&s), 12, 1e-9);
}

TEST(the_error_it_states_holds_before_it_converges)
{
    struct reflected m = reflected_of(DIM);
    for (int steps = 1; steps <= 40; steps++) {
        struct spectrum s;
        struct spectrum_options o = {.dim = DIM, .steps = steps, .tolerance = 0, .seed = 2};
        CHECK_OK(spectrum_of(&s, &o, apply, &m));
        double nearest = INFINITY;
        for (int i = 0; i < DIM; i++)
            nearest = fmin(nearest, fabs(s.largest - m.values[i]));
        CHECK_EQ(s.steps, steps);
        CHECK(nearest <= s.error + 1e-12);
    }
}

TEST(small_and_degenerate_matrices_are_exact)
{
    const double tolerance = 1e-12;
    struct spectrum s;
    struct reflected one = reflected_of(1);
    one.values[0] = -3;
    CHECK_OK(spectrum_of(&s, &(struct spectrum_options){1, 10, tolerance, 1}, apply, &one));
    CHECK_NEAR(s.largest, -3, 1e-14);
    CHECK_NEAR(s.smallest, -3, 1e-14);
    struct reflected zero = reflected_of(20);
    memset(zero.values, 0, sizeof zero.values);
    CHECK_OK(spectrum_of(&s, &(struct spectrum_options){20, 10, tolerance, 1}, apply, &zero));
    CHECK(s.converged && s.largest == 0 && s.smallest == 0 && s.steps == 1);
    struct reflected same = reflected_of(20); /* c I: one product spans everything */
    for (int i = 0; i < 20; i++)
        same.values[i] = 2.5;
    CHECK_OK(spectrum_of(&s, &(struct spectrum_options){20, 10, tolerance, 1}, apply, &same));
    CHECK(s.converged && s.steps <= 2);
    CHECK_NEAR(s.largest, 2.5, 1e-13);
    struct reflected all = reflected_of(12); /* as many steps as dimensions */
    CHECK_OK(spectrum_of(&s, &(struct spectrum_options){12, 50, 0, 1}, apply, &all));
    double high = -INFINITY, low = INFINITY;
    for (int i = 0; i < 12; i++) {
        high = fmax(high, all.values[i]);
        low = fmin(low, all.values[i]);
    }
    CHECK_EQ(s.steps, 12);
    CHECK_NEAR(s.largest, high, 1e-12);
    CHECK_NEAR(s.smallest, low, 1e-12);
}

/* The second-difference matrix: eigenvalues 2 - 2 cos(k pi / (n + 1)), eigenvectors
 * sin(j k pi / (n + 1)) sqrt(2 / (n + 1)). */
TEST(tridiagonal_eigenvalues_and_last_entries_are_known)
{
    enum { N = 30 };
    double d[N], e[N], last[N];
    for (int i = 0; i < N; i++) {
        d[i] = 2;
        e[i] = -1;
    }
    CHECK(tridiagonal_eigen(N, d, e, last));
    for (int k = 1; k <= N; k++) {
        double angle = k * acos(-1) / (N + 1);
        double value = 2 - 2 * cos(angle), entry = sin(N * angle) * sqrt(2.0 / (N + 1));
        int at = 0;
        for (int i = 1; i < N; i++)
            at = fabs(d[i] - value) < fabs(d[at] - value) ? i : at;
        CHECK_NEAR(d[at], value, 1e-13);
        CHECK_NEAR(fabs(last[at]), fabs(entry), 1e-12);
    }
}

static int broken(void *user, const double *x, double *y)
{
    struct reflected *m = user;
    if (m->products++ == 4)
        return fail(METE_EDEVICE, "the device is gone");
    return apply(user, x, y);
}

static int not_finite(void *user, const double *x, double *y)
{
    apply(user, x, y);
    y[0] = NAN;
    return 0;
}

TEST(a_failing_or_exploding_product_ends_the_search)
{
    struct reflected m = reflected_of(50);
    struct spectrum s = {.steps = -1};
    struct spectrum_options o = {50, 20, 1e-9, 1};
    CHECK_EQ(spectrum_of(&s, &o, broken, &m), METE_EDEVICE);
    CHECK_STR(mete_errmsg(), "the device is gone");
    CHECK_EQ(spectrum_of(&s, &o, not_finite, &m), METE_EDIVERGE);
    CHECK_HAS(mete_errmsg(), "product 1 ");
    CHECK_EQ(s.steps, -1);
}

TESTS(T(both_ends_of_a_known_spectrum_are_found), T(the_error_it_states_holds_before_it_converges),
      T(small_and_degenerate_matrices_are_exact),
      T(tridiagonal_eigenvalues_and_last_entries_are_known),
      T(a_failing_or_exploding_product_ends_the_search))
