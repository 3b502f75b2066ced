/* test_curvature.c - the largest and smallest curvature of small nets, by Lanczos on
 * exact Hessian-vector products, against dense Hessians from finite differences of
 * the gradient and Jacobi's eigenvalue method.
 */
#include "pass.h"
#include "theory/spectrum.h"

static const struct spec specs[] = {
    {"mlp", 1, 1, 12, {0}, false, {9, 8, 4}, 1, 15, {0}, WHOLE, 0, 0, 0, 201},
    {"mlp, sum of losses", 1, 1, 6, {0}, false, {10, 3}, 1, 9, {0}, WHOLE, 0, 1, 1, 202},
    {"conv", 8, 8, 1, {3, 4}, false, {3}, 1, 6, {0}, WHOLE, 0, 0, 0, 203},
};
enum { SPECS = sizeof specs / sizeof *specs };

static void gradient_of(struct pass *p)
{
    pass_forward(p);
    pass_loss(p);
    pass_backward(p);
}

/* H x through the kernels' tangent passes; ref64 keeps plain doubles in host memory. */
static int product(void *user, const double *x, double *y)
{
    struct pass *p = user;
    memcpy(p->v.at, x, p->trained * sizeof *x);
    pass_tangent(p);
    memcpy(y, p->hv.at, p->trained * sizeof *y);
    return 0;
}

/* Dense (n, n), symmetrised, column j = (g(theta + h e_j) - g(theta - h e_j)) / 2h. */
static double *dense_hessian(struct pass *p)
{
    const double step = 1e-5;
    size_t n = p->trained;
    double *h = mem_array(n * n, sizeof *h), *theta = p->theta.at;
    for (size_t j = 0; j < n; j++)
        for (int sign = 1; sign >= -1; sign -= 2) {
            double kept = theta[j];
            theta[j] = kept + sign * step;
            gradient_of(p);
            theta[j] = kept;
            for (size_t i = 0; i < n; i++) {
                double part = sign * ((double *)p->grad.at)[i] / (4 * step);
                h[i * n + j] += part;
                h[j * n + i] += part;
            }
        }
    gradient_of(p);
    return h;
}

static void rotate(double *a, size_t n, size_t p, size_t q)
{
    double angle = 0.5 * atan2(2 * a[p * n + q], a[q * n + q] - a[p * n + p]);
    double c = cos(angle), s = sin(angle);
    for (size_t k = 0; k < n; k++) {
        double x = a[k * n + p], y = a[k * n + q];
        a[k * n + p] = c * x - s * y;
        a[k * n + q] = s * x + c * y;
    }
    for (size_t k = 0; k < n; k++) {
        double x = a[p * n + k], y = a[q * n + k];
        a[p * n + k] = c * x - s * y;
        a[q * n + k] = s * x + c * y;
    }
}

/* Leaves the eigenvalues on the diagonal. */
static void jacobi(double *a, size_t n)
{
    for (int sweep = 0; sweep < 8; sweep++)
        for (size_t p = 0; p < n; p++)
            for (size_t q = p + 1; q < n; q++)
                if (fabs(a[p * n + q]) > 1e-14)
                    rotate(a, n, p, q);
}

TEST(curvature_agrees_with_dense_hessians_to_1e_4)
{
    for (int i = 0; i < SPECS; i++) {
        struct pass p;
        pass_open(&p, &kernels_ref64, &specs[i]);
        double *h = dense_hessian(&p);
        size_t n = p.trained;
        jacobi(h, n);
        double high = -INFINITY, low = INFINITY;
        for (size_t j = 0; j < n; j++) {
            high = fmax(high, h[j * n + j]);
            low = fmin(low, h[j * n + j]);
        }
        struct spectrum s, quick;
        struct spectrum_options o = {.dim = n, .steps = 60, .tolerance = 1e-6, .seed = 1};
        CHECK_OK(spectrum_of(&s, &o, product, &p));
        o = spectrum_quick(n);
        CHECK_OK(spectrum_of(&quick, &o, product, &p));
        free(h);
        pass_close(&p);
        CHECK(s.converged);
        if (!(fabs(s.largest - high) <= 1e-4 * high && fabs(s.smallest - low) <= 1e-4 * fabs(low)))
            FAIL_TEST("%s: the ends are %.9g and %.9g, not %.9g and %.9g", specs[i].name,
                      s.smallest, s.largest, low, high);
        double norm = fmax(fabs(high), fabs(low)); /* and as a study measures it */
        if (!(fabs(spectrum_norm(&quick) - norm) <= 1e-4 * norm))
            FAIL_TEST("%s: the curvature is %.9g, not %.9g", specs[i].name, spectrum_norm(&quick),
                      norm);
    }
}

TESTS(T(curvature_agrees_with_dense_hessians_to_1e_4))
