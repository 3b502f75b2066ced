/* curvature.c - gradients and curvatures at the weights of a model in training.
 *
 * The outer curvature is Lanczos's on differences of exact meta-gradients, since the
 * Hessian of an objective that holds an inner loop has third derivatives:
 *   H v = (G(theta + h v) - G(theta - h v)) / 2h,  |v| = 1.
 * A net with ReLUs has kinks everywhere, and a difference across one is a jump divided
 * by h, not a curvature.  So h is tiny, which needs doubles: outer gradients are taken
 * on the reference kernels whatever trains.  And theta is nudged first, away from kinks
 * that it sits on exactly (units whose inputs are all off, with biases that are still 0).
 */
#include "theory/curvature.h"

#include "theory/probe.h"
#include "theory/spectrum.h"
#include "base/log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 3 };
/* In units of the weights' norm. */
static const double outer_step = 1e-8, nudge = 1e-5;

struct curvature_meter {
    const struct field *f;
    int probed;
    struct probe *probe;       /* NULL: no inner gradient steps */
    struct method exact;       /* whose meta_grad is the gradient of the objective */
    struct engine *engine;     /* of that method, in doubles, with weights of our own */
    size_t weights;            /* trained */
    double *theta, *moved, *g; /* (weights) */
    double *here, *above;      /* gradients at theta and at theta + h v */
    double step;
    struct labelled_task labelled; /* the task in hand */
};

/* Second-order MAML with the inner loop of the method under study. */
static int open_maml(struct method *maml, const struct setup *setup)
{
    static const char *const shared[] = {"inner.steps", "inner.lr", "inner.loss", "inner.batching"};
    struct param_set set = {0};
    int err = method_open(maml, "maml"), section;
    if (err)
        return err;
    param_set_add(&set, "method", maml->ops->params, maml->state);
    for (size_t i = 0; i < sizeof shared / sizeof *shared && !err; i++) {
        char text[PARAM_TEXT_SIZE];
        const struct param *row = param_find(&setup->set, shared[i], &section);
        if (!row)
            return METE_EINVAL;
        param_text(row, setup->set.section[section].state, text, sizeof text);
        err = param_set_text(&set, shared[i], text);
    }
    return err ? err : param_set_text(&set, "first_order", "no");
}

/* For gradient-based methods the exact gradient is second-order MAML's. */
static int open_exact(struct curvature_meter *m)
{
    struct engine_spec spec = m->f->spec;
    spec.kernels = &kernels_ref64;
    spec.meta_batch = 1;
    spec.threads = 1;
    if (m->f->inner_steps > 0) {
        int err = open_maml(&m->exact, &m->f->setup);
        if (err)
            return err;
        spec.method = &m->exact;
        if (spec.largest.query < spec.largest.support)
            spec.largest.query = spec.largest.support; /* an empirical objective's query */
    }
    return engine_open(&m->engine, &spec);
}

static int open_probe(struct curvature_meter *m)
{
    const struct field *f = m->f;
    struct probe_spec spec = {.kernels = f->spec.kernels,
                              .net = f->spec.net,
                              .net_settings = f->spec.net_settings,
                              .images = f->spec.images,
                              .ways = f->spec.ways,
                              .items = f->spec.largest.support,
                              .seed = f->spec.seed};
    return f->inner_steps > 0 ? probe_open(&m->probe, &spec) : 0;
}

int curvature_open(struct curvature_meter **out, const struct field *f, int probed)
{
    struct curvature_meter *m = mem_alloc(sizeof *m);
    m->f = f;
    m->probed = probed < f->n ? probed : f->n;
    int err = open_exact(m);
    if (!err)
        err = open_probe(m);
    if (err) {
        curvature_close(m);
        return err;
    }
    m->weights = engine_net(m->engine)->trained;
    double **vectors[] = {&m->theta, &m->moved, &m->g, &m->here, &m->above};
    m->theta = mem_array(5 * m->weights, sizeof *m->theta);
    for (int i = 1; i < 5; i++)
        *vectors[i] = m->theta + (size_t)i * m->weights;
    *out = m;
    return 0;
}

void curvature_close(struct curvature_meter *m)
{
    if (!m)
        return;
    engine_close(m->engine);
    probe_close(m->probe);
    method_close(&m->exact);
    free(m->theta);
    free(m);
}

/* All tensors to our engine, nudged, and to the probe. */
static void copy_weights(struct curvature_meter *m, struct engine *from)
{
    struct net_tensor tensor[NET_TENSORS_MAX];
    int n = net_tensors(engine_net(from), tensor);
    for (int i = 0; i < n; i++) {
        float *host = mem_array(tensor[i].len, sizeof *host);
        engine_get(from, ENGINE_THETA, &tensor[i], host);
        engine_put(m->engine, ENGINE_THETA, &tensor[i], host);
        if (m->probe)
            probe_put_tensor(m->probe, &tensor[i], host);
        free(host);
    }
    engine_read(m->engine, ENGINE_THETA, m->theta);
    double norm = vector_norm(m->weights, m->theta);
    struct rng r = rng_make(m->f->spec.seed, RNG_PROBE, 1, 0);
    for (size_t i = 0; i < m->weights; i++)
        m->theta[i] += nudge * norm / sqrt((double)m->weights) * rng_normal(&r);
    m->step = outer_step * norm;
}

/* The gradient of the task in hand at theta + step v, into m->g. */
static int gradient_at(struct curvature_meter *m, double step, const double *v)
{
    memcpy(m->moved, m->theta, m->weights * sizeof *m->moved);
    if (v)
        vector_add(m->weights, m->moved, step, v);
    engine_write(m->engine, ENGINE_THETA, m->moved);
    int err = progress_again();
    if (!err)
        err = engine_gradient(m->engine, &m->labelled, 1, NULL);
    engine_read(m->engine, ENGINE_GRADIENT, m->g);
    return err;
}

/* Differences to both sides.  Where they disagree there is a kink within h, and the
 * side with the smaller one is taken to be without it. */
static int outer_product(void *user, const double *v, double *out)
{
    struct curvature_meter *m = user;
    size_t n = m->weights;
    double apart = 0, up = 0, down = 0;
    int err = gradient_at(m, m->step, v);
    memcpy(m->above, m->g, n * sizeof *m->g);
    if (!err)
        err = gradient_at(m, -m->step, v);
    for (size_t i = 0; i < n; i++) {
        double a = m->above[i] - m->here[i], b = m->here[i] - m->g[i];
        up += a * a;
        down += b * b;
        apart += (a - b) * (a - b);
    }
    bool kink = apart > 0.01 * fmax(up, down);
    for (size_t i = 0; i < n; i++) {
        double a = m->above[i] - m->here[i], b = m->here[i] - m->g[i];
        out[i] = (kink ? (up < down ? a : b) : 0.5 * (a + b)) / m->step;
    }
    return err;
}

static int look_outer(struct curvature_meter *m, const struct episode *task, struct curvature *c)
{
    struct spectrum s;
    struct spectrum_options o = spectrum_quick(m->weights);
    m->labelled = field_labelled_task(m->f, task);
    if (m->f->estimator == METE_ESTIMATOR_EMPIRICAL)
        m->labelled.query = m->labelled.support; /* L_emp: the loss on what was learned from */
    int err = gradient_at(m, 0, NULL);
    if (err)
        return err;
    memcpy(m->here, m->g, m->weights * sizeof *m->g);
    c->outer_l = fmax(c->outer_l, vector_norm(m->weights, m->here));
    err = spectrum_of(&s, &o, outer_product, m);
    if (!err)
        c->outer_gamma = fmax(c->outer_gamma, spectrum_norm(&s));
    return err;
}

/* The points of a task one by one, at the probe's weights: all gradients, and the
 * curvature of the few steepest. */
static int look_points(struct probe *p, const struct items *support, struct curvature *c)
{
    size_t n = probe_trained(p);
    double *g = mem_array(n + (size_t)support->n, sizeof *g), *norm = g + n;
    int err = 0;
    for (int i = 0; i < support->n && !err; i++) {
        err = progress_again();
        if (!err)
            err = probe_gradient(p, support, i, NULL, g);
        norm[i] = vector_norm(n, g);
        c->inner_l = fmax(c->inner_l, norm[i]);
    }
    for (int k = 0; k < POINTS && k < support->n && !err; k++) {
        struct spectrum s;
        struct spectrum_options o = spectrum_quick(n);
        int steepest = 0;
        for (int i = 1; i < support->n; i++)
            steepest = norm[i] > norm[steepest] ? i : steepest;
        norm[steepest] = -1;
        err = progress_again();
        if (!err)
            err = probe_gradient(p, support, steepest, NULL, NULL);
        if (!err)
            err = spectrum_of(&s, &o, probe_product, p);
        if (!err)
            c->inner_gamma = fmax(c->inner_gamma, spectrum_norm(&s));
    }
    free(g);
    return err;
}

/* Walks the inner loop on the task's support and looks at both ends of it. */
static int look_inner(struct curvature_meter *m, const struct episode *task, struct curvature *c)
{
    struct probe *p = m->probe;
    struct items support = {task->support, task->support_label, task->n_support};
    size_t len = probe_len(p), n = probe_trained(p);
    double *start = mem_array(2 * len + n, sizeof *start), *theta = start + len, *g = theta + len;
    double lr = m->f->inner_lr * (m->f->inner_sum ? support.n : 1);
    probe_get(p, start);
    memcpy(theta, start, len * sizeof *theta);
    int err = look_points(p, &support, c);
    for (int t = 0; t < m->f->inner_steps && !err; t++) {
        err = probe_gradient(p, &support, -1, NULL, g);
        vector_add(n, theta, -lr, g);
        probe_put(p, theta);
    }
    if (!err)
        err = look_points(p, &support, c);
    probe_put(p, start);
    free(start);
    return err;
}

int curvature_look(struct curvature_meter *m, struct engine *e, struct curvature *c)
{
    int err = 0;
    copy_weights(m, e);
    for (int i = 0; i < m->probed && !err; i++) {
        err = look_outer(m, &m->f->train[i], c);
        if (!err && m->probe)
            err = look_inner(m, &m->f->train[i], c);
    }
    return err;
}
