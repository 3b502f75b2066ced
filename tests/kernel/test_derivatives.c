/* test_derivatives.c - the specification against finite differences, in double.
 *
 * ref64 keeps plain doubles in host memory, so the loss is computed here from its
 * logits: the float the set returns is too coarse for differences.  The data are
 * generic, so that no unit is within a step of its kink.
 */
#include "pass.h"

static const struct spec specs[] = {
    {"strided", 16, 16, 1, {3, 4, 2}, false, {3}, 1, 4, {0}, WHOLE, 0, 0, 0, 101},
    {"strided, odd", 17, 19, 2, {5, 3}, false, {4}, 1, 3, {0}, WHOLE, 0, 1, 1, 102},
    {"pooled", 16, 17, 2, {3, 4}, true, {3}, 1, 4, {0}, WHOLE, 0, 0, 0, 103},
    {"support", 16, 16, 1, {3, 4}, false, {3}, 1, 6, {0}, 2, 0, 0, 0, 104},
    {"support, pooled", 16, 16, 1, {3, 4}, true, {3}, 1, 5, {0}, 3, 0, 0, 1, 105},
    {"running", 16, 16, 1, {3, 4}, false, {3}, 1, 4, {0}, 0, 0, 0, 0, 106},
    {"running, pooled", 18, 16, 1, {3, 2}, true, {3}, 1, 4, {0}, 0, 0, 1, 0, 107},
    {"mlp", 1, 1, 12, {0}, false, {9, 8, 4}, 1, 7, {0}, WHOLE, 0, 0, 1, 108},
    {"dense after conv", 16, 16, 1, {3, 4}, false, {11, 4}, 1, 5, {0}, WHOLE, 0, 0, 0, 109},
    {"fewer images than n", 16, 16, 1, {3, 4}, false, {3}, 1, 6, {4}, WHOLE, 0, 0, 0, 110},
};
enum { SPECS = sizeof specs / sizeof *specs };
static const double step = 1e-5;

/* The loss of the pass as it stands, in double. */
static double loss_of(struct pass *p)
{
    const struct spec *s = p->spec;
    int last = p->n_layers - 1, ways = p->layers[last].out_c, labelled = 0;
    pass_forward(p);
    const double *logits = pass_out(p, last, false);
    double sum = 0;
    for (int i = 0; i < spec_count(s, 0); i++, logits += ways) {
        if (p->labels[i] < 0)
            continue;
        double z = 0;
        for (int j = 0; j < ways; j++)
            z += exp(logits[j]);
        sum += log(z) - logits[p->labels[i]];
        labelled++;
    }
    return s->sum ? sum : sum / labelled;
}

static void gradient_of(struct pass *p)
{
    pass_forward(p);
    pass_loss(p);
    pass_backward(p);
}

static void move(struct pass *p, double by)
{
    p->k->axpy(p->device, 1, p->len, p->theta, p->theta, by, p->v);
}

/* d loss / d theta in a random direction of each tensor alone. */
static int check_gradient(struct pass *p)
{
    int bad = 0;
    struct rng r = rng_make(7, RNG_TEST, 9, 0);
    gradient_of(p);
    for (int which = 0; which < p->n_layers * TENSORS; which++) {
        const struct layer *l = &p->layers[which / TENSORS];
        enum tensor tensor = (enum tensor)(which % TENSORS);
        if (tensor >= TENSOR_MEAN || !tensor_size(l, tensor))
            continue;
        p->k->zero(p->device, p->v.at, p->len * p->k->elem);
        fill_vector(p, &r, p->v.at, false, which);
        double said = p->k->dot(p->device, p->len, p->grad.at, p->v.at);
        move(p, step);
        double up = loss_of(p);
        move(p, -2 * step);
        double down = loss_of(p);
        move(p, step);
        double seen = (up - down) / (2 * step);
        double size = sqrt(p->k->dot(p->device, p->len, p->v.at, p->v.at));
        if (!(fabs(said - seen) <= 1e-6 * (fabs(seen) + 1e-2 * size))) {
            fprintf(stderr, "%s: layer %d tensor %d: %.9g, by differences %.9g\n", p->spec->name,
                    which / TENSORS, which % TENSORS, said, seen);
            bad++;
        }
    }
    return bad;
}

/* H v against (g(theta + h v) - g(theta - h v)) / 2h. */
static double hessian_error(struct pass *p)
{
    struct vec up = vec_alloc(p, true), none = vec_alloc(p, true);
    gradient_of(p);
    pass_tangent(p);
    move(p, step);
    gradient_of(p);
    p->k->axpy(p->device, 1, p->trained, up, p->grad, 0, none);
    move(p, -2 * step);
    gradient_of(p);
    p->k->axpy(p->device, 1, p->trained, up, up, -1, p->grad);
    p->k->axpy(p->device, 1, p->trained, up, p->hv, -1 / (2 * step), up); /* the difference */
    return sqrt(p->k->dot(p->device, p->trained, up.at, up.at) /
                p->k->dot(p->device, p->trained, p->hv.at, p->hv.at));
}

TEST(gradients_are_those_of_finite_differences)
{
    int bad = 0;
    for (int i = 0; i < SPECS; i++) {
        struct pass p;
        pass_open(&p, &kernels_ref64, &specs[i]);
        bad += check_gradient(&p);
        pass_close(&p);
    }
    CHECK_EQ(bad, 0);
}

TEST(hessian_vector_products_are_those_of_finite_differences)
{
    for (int i = 0; i < SPECS; i++) {
        struct pass p;
        pass_open(&p, &kernels_ref64, &specs[i]);
        double error = hessian_error(&p);
        pass_close(&p);
        if (!(error <= 1e-6))
            FAIL_TEST("%s: H v is off by %.2g", specs[i].name, error);
    }
}

TESTS(T(gradients_are_those_of_finite_differences),
      T(hessian_vector_products_are_those_of_finite_differences))
