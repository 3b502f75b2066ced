/* test_stability.c - leave-one-out where the answer is known.
 *
 * Ridge regression minimises |X w - y|^2 + lambda |w|^2.  Without row i its weights are
 * w - A^-1 x_i (y_i - x_i w) / (1 - x_i A^-1 x_i), A = X^T X + lambda I (Sherman and
 * Morrison): no retraining.  The learner here knows nothing of that and descends the
 * gradient from zero every time.
 */
#include "theory/stability.h"

#include "base/error.h"
#include "base/rng.h"
#include "test.h"

enum { ROWS = 30, DIM = 4, PROBES = 25 };
static const double lambda = 2.0, loss_max = 50;

struct ridge {
    double x[ROWS][DIM], y[ROWS];
    double probe_x[PROBES][DIM], probe_y[PROBES];
    int trainings;
};

static double dot(const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < DIM; i++)
        sum += a[i] * b[i];
    return sum;
}

static struct ridge ridge_data(void)
{
    struct ridge d = {0};
    struct rng r = rng_make(3, RNG_TEST, 0, 0);
    const double truth[DIM] = {1, -2, 0.5, 0};
    for (int i = 0; i < ROWS + PROBES; i++) {
        double *x = i < ROWS ? d.x[i] : d.probe_x[i - ROWS];
        for (int j = 0; j < DIM; j++)
            x[j] = rng_normal(&r);
        *(i < ROWS ? &d.y[i] : &d.probe_y[i - ROWS]) = dot(x, truth) + 0.5 * rng_normal(&r);
    }
    return d;
}

static void losses(const struct ridge *d, const double *w, double *risk)
{
    for (int i = 0; i < PROBES; i++) {
        double off = dot(d->probe_x[i], w) - d->probe_y[i];
        risk[i] = fmin(off * off, loss_max);
    }
}

static int descend(void *user, int without, double *risk)
{
    struct ridge *d = user;
    double w[DIM] = {0};
    for (int step = 0; step < 4000; step++) {
        double g[DIM];
        for (int j = 0; j < DIM; j++)
            g[j] = lambda * w[j];
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < DIM && i != without; j++)
                g[j] += (dot(d->x[i], w) - d->y[i]) * d->x[i][j];
        for (int j = 0; j < DIM; j++)
            w[j] -= 0.01 * g[j];
    }
    d->trainings++;
    losses(d, w, risk);
    return 0;
}

/* x = A^-1 b by Gaussian elimination; A is positive definite. */
static void solve(double a[DIM][DIM], const double *b, double *x)
{
    double m[DIM][DIM];
    memcpy(m, a, sizeof m);
    memcpy(x, b, DIM * sizeof *x);
    for (int p = 0; p < DIM; p++)
        for (int i = p + 1; i < DIM; i++) {
            double f = m[i][p] / m[p][p];
            for (int j = p; j < DIM; j++)
                m[i][j] -= f * m[p][j];
            x[i] -= f * x[p];
        }
    for (int i = DIM - 1; i >= 0; i--) {
        for (int j = i + 1; j < DIM; j++)
            x[i] -= m[i][j] * x[j];
        x[i] /= m[i][i];
    }
}

struct exact {
    double mean[ROWS], worst[ROWS], largest;
    int item, probe;
};

static struct exact exact_answer(const struct ridge *d)
{
    double a[DIM][DIM] = {{0}}, b[DIM] = {0}, w[DIM], all[PROBES], without[PROBES];
    struct exact e = {.item = -1};
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < DIM; j++) {
            b[j] += d->x[i][j] * d->y[i];
            for (int k = 0; k < DIM; k++)
                a[j][k] += d->x[i][j] * d->x[i][k] + (i == 0 && j == k ? lambda : 0);
        }
    solve(a, b, w);
    losses(d, w, all);
    for (int i = 0; i < ROWS; i++) {
        double ax[DIM], moved[DIM];
        solve(a, d->x[i], ax);
        double by = (d->y[i] - dot(d->x[i], w)) / (1 - dot(d->x[i], ax));
        for (int j = 0; j < DIM; j++)
            moved[j] = w[j] - by * ax[j];
        losses(d, moved, without);
        for (int p = 0; p < PROBES; p++) {
            double difference = fabs(all[p] - without[p]);
            e.mean[i] += difference / PROBES;
            e.worst[i] = fmax(e.worst[i], difference);
            if (difference > e.largest) {
                e.largest = difference;
                e.item = i;
                e.probe = p;
            }
        }
    }
    return e;
}

TEST(ridge_regression_gives_the_exact_leave_one_out_answer)
{
    struct ridge d = ridge_data();
    struct exact e = exact_answer(&d);
    struct stability s;
    struct stability_problem p = {&d, ROWS, PROBES, loss_max, descend, NULL};
    CHECK_OK(stability_measure(&s, &p, ROWS, 1));
    CHECK_EQ(d.trainings, ROWS + 1);
    CHECK_EQ(s.removals, ROWS);
    CHECK(e.largest > 0.01);
    CHECK_NEAR(s.largest, e.largest, 1e-9);
    CHECK_EQ(s.item, e.item);
    CHECK_EQ(s.probe, e.probe);
    double mean = 0, worst = 0;
    for (int i = 0; i < ROWS; i++) {
        mean += e.mean[i] / ROWS;
        worst += e.worst[i] / ROWS;
    }
    CHECK_NEAR(s.mean.mean, mean, 1e-9);
    CHECK_NEAR(s.worst.mean, worst, 1e-9);
    CHECK_NEAR(s.exceeding, 0, 0);
    CHECK(s.mean.half > 0 && s.worst.half > 0);
}

TEST(a_sample_of_removals_is_part_of_all_of_them)
{
    struct ridge d = ridge_data();
    struct exact e = exact_answer(&d);
    struct stability s, again;
    struct stability_problem p = {&d, ROWS, PROBES, loss_max, descend, NULL};
    CHECK_OK(stability_measure(&s, &p, 8, 1));
    CHECK_EQ(s.removals, 8);
    CHECK(s.largest <= e.largest + 1e-9);
    CHECK_NEAR(s.largest, e.worst[s.item], 1e-9);
    CHECK_NEAR(s.exceeding, 1 - pow(0.05, 0.125), 1e-15);
    CHECK_OK(stability_measure(&again, &p, 8, 1));
    CHECK(s.item == again.item && s.mean.mean == again.mean.mean);
    CHECK_OK(stability_measure(&again, &p, 8, 2));
    CHECK(s.mean.mean != again.mean.mean);
}

static int constant(void *user, int without, double *risk)
{
    (void)without;
    for (int i = 0; i < PROBES; i++)
        risk[i] = *(double *)user;
    return 0;
}

TEST(a_learner_that_ignores_its_data_is_perfectly_stable)
{
    double loss = 0.37;
    struct stability s;
    struct stability_problem p = {&loss, 10, PROBES, 1, constant, NULL};
    CHECK_OK(stability_measure(&s, &p, 5, 1));
    CHECK_NEAR(s.largest, 0, 0);
    CHECK_NEAR(s.mean.mean, 0, 0);
    CHECK_NEAR(s.mean.half, 0, 0);
    CHECK_NEAR(s.worst.mean, 0, 0);
    CHECK_NEAR(s.baseline, 0.37, 1e-15);
}

static int failing(void *user, int without, double *risk)
{
    (void)user;
    (void)risk;
    return without == STABILITY_ALL ? 0 : fail(METE_EDEVICE, "the device is gone");
}

TEST(what_the_theory_does_not_allow_is_refused)
{
    double loss = 1.5;
    struct stability s = {.item = -7};
    struct stability_problem p = {&loss, 10, PROBES, 1, constant, NULL};
    CHECK_EQ(stability_measure(&s, &p, 5, 1), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "a risk of 1.5 was seen");
    loss = NAN;
    CHECK_EQ(stability_measure(&s, &p, 5, 1), METE_EDIVERGE);
    loss = 0.5;
    p.items = 1;
    CHECK_EQ(stability_measure(&s, &p, 5, 1), METE_EINVAL);
    p.items = 2;
    CHECK_EQ(stability_measure(&s, &p, 0, 1), METE_EINVAL);
    p.risks = failing;
    CHECK_EQ(stability_measure(&s, &p, 1, 1), METE_EDEVICE);
    CHECK_EQ(s.item, -7);
}

TESTS(T(ridge_regression_gives_the_exact_leave_one_out_answer),
      T(a_sample_of_removals_is_part_of_all_of_them),
      T(a_learner_that_ignores_its_data_is_perfectly_stable),
      T(what_the_theory_does_not_allow_is_refused))
