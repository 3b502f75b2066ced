/* ref_loss.h - softmax cross-entropy and the prototypical loss. */

/* Softmax of `logits` (ways) into p; returns log sum exp. */
static double softmax(int ways, const double *logits, float *p)
{
    double top = logits[0], sum = 0;
    for (int j = 1; j < ways; j++)
        top = logits[j] > top ? logits[j] : top;
    for (int j = 0; j < ways; j++)
        sum += exp(logits[j] - top);
    for (int j = 0; j < ways; j++)
        p[j] = (float)(exp(logits[j] - top) / sum);
    return top + log(sum);
}

/* What an image's loss is multiplied by: 1/(labelled images) for a mean. */
static double image_weight(int n, const int32_t *labels, bool mean)
{
    int labelled = 0;
    for (int i = 0; i < n; i++)
        labelled += labels[i] >= 0;
    return mean && labelled > 0 ? 1.0 / labelled : 1;
}

static void ref_xent(struct device *d, const struct layer *l, const struct batch *b,
                     const int32_t *labels, bool mean, void *cache, float *probs, float *loss)
{
    (void)d;
    int ways = l->out_c;
    double *logits = malloc((size_t)ways * sizeof *logits);
    for (int t = 0; t < b->tasks; t++) {
        int n = count_of(b, t);
        const int32_t *y = labels + t * b->n;
        struct ref_cache k = cache_of(l, b, cache, t);
        double weight = image_weight(n, y, mean), sum = 0;
        for (int i = 0; i < n; i++) {
            float *p = probs + (size_t)(t * b->n + i) * (size_t)ways;
            for (int j = 0; j < ways; j++)
                logits[j] = k.out[i * ways + j];
            double lse = softmax(ways, logits, p);
            for (int j = 0; j < ways; j++) /* not p - 1: that cancels when p is near 1 */
                k.dout[i * ways + j] =
                    y[i] < 0 ? 0 : (REAL)(weight * (exp(logits[j] - lse) - (j == y[i])));
            if (y[i] >= 0)
                sum += lse - logits[y[i]];
        }
        loss[t] = (float)(weight * sum);
    }
    free(logits);
}

static void ref_xent_tangent(struct device *d, const struct layer *l, const struct batch *b,
                             const int32_t *labels, bool mean, const float *probs, void *tangent)
{
    (void)d;
    int ways = l->out_c;
    for (int t = 0; t < b->tasks; t++) {
        int n = count_of(b, t);
        const int32_t *y = labels + t * b->n;
        struct ref_cache r = cache_of(l, b, tangent, t);
        double weight = image_weight(n, y, mean);
        for (int i = 0; i < n; i++) {
            const float *p = probs + (size_t)(t * b->n + i) * (size_t)ways;
            double mean_tangent = 0;
            for (int j = 0; j < ways; j++)
                mean_tangent += p[j] * (double)r.out[i * ways + j];
            for (int j = 0; j < ways; j++)
                r.dout[i * ways + j] =
                    y[i] < 0 ? 0 : (REAL)(weight * p[j] * (r.out[i * ways + j] - mean_tangent));
        }
    }
}

static size_t ref_proto_bytes(const struct layer *l, int tasks, int ways)
{
    (void)tasks;
    return 2 * (size_t)ways * out_len(l) * sizeof(double) + 4 * (size_t)ways * sizeof(double);
}

/* The first image of task t, among those of the pass. */
static size_t slot_of(const struct features *f, int t)
{
    return (size_t)(f->task + t) * (size_t)f->batch.n;
}

/* The pseudo-counts (ways): how many images the prior is worth. */
static void prior_counts(const struct classes *c, int task, double *count)
{
    for (int w = 0; w < c->ways; w++)
        count[w] = c->prior ? exp(tensor_at(c->theta, task, c->prior, TENSOR_BIAS)[w]) : 0;
}

/* The gradients of the prior, from those of the prototypes. */
static void prior_gradients(const struct classes *c, int task, size_t len, const double *proto,
                            const double *dproto, const double *made, const double *count,
                            const double *dodds)
{
    if (!c->prior || !c->grad.at)
        return;
    const REAL *g = tensor_at(c->theta, task, c->prior, TENSOR_WEIGHT);
    REAL *dg = tensor_at(c->grad, task, c->prior, TENSOR_WEIGHT);
    REAL *db = tensor_at(c->grad, task, c->prior, TENSOR_BIAS);
    for (int w = 0; w < c->ways; w++) {
        double share = count[w] / (made[w] + count[w]), sum = 0;
        for (size_t j = (size_t)w * len; j < (size_t)(w + 1) * len; j++) {
            dg[j] = (REAL)(share * dproto[j]);
            sum += dproto[j] * (g[j] - proto[j]);
            if (c->absent == ABSENT_PRIOR_MEAN) /* g - mean, as proto is a mix of the two */
                dg[j] =
                    made[w] > 0 ? (REAL)((made[w] + count[w]) / made[w] * (g[j] - proto[j])) : 0;
        }
        db[w] = (REAL)(share * sum);
        tensor_at(c->grad, task, c->prior, TENSOR_BETA)[w] = (REAL)dodds[w];
    }
}

/* Prototypes (ways, features) and how many images made each. */
static void find_prototypes(const struct features *support, const struct classes *c, int t,
                            size_t len, const double *count, double *proto, double *made)
{
    int ways = c->ways;
    const REAL *out = (const REAL *)support->out + slot_of(support, t) * len;
    const int32_t *y = support->labels + t * support->batch.n;
    memset(proto, 0, (size_t)ways * len * sizeof *proto);
    memset(made, 0, (size_t)ways * sizeof *made);
    for (int i = support->first; i < support->first + support->count; i++) {
        if (y[i] < 0)
            continue;
        made[y[i]]++;
        for (size_t j = 0; j < len; j++)
            proto[(size_t)y[i] * len + j] += out[(size_t)i * len + j];
    }
    const REAL *g = c->prior ? tensor_at(c->theta, t, c->prior, TENSOR_WEIGHT) : NULL;
    for (int w = 0; w < ways; w++) { /* a class without any stays at the origin */
        double all = made[w] + count[w];
        for (size_t j = (size_t)w * len; all > 0 && j < (size_t)(w + 1) * len; j++)
            proto[j] = proto[j] / all + (g ? count[w] / all * g[j] : 0);
    }
}

/* Whether class w has no part in the softmax. */
static bool is_left_out(const struct classes *c, const double *made, int w)
{
    bool any = false;
    for (int i = 0; i < c->ways; i++)
        any = any || made[i] > 0;
    return c->absent == ABSENT_LEFT_OUT && any && made[w] == 0;
}

static void ref_proto(struct device *d, const struct layer *l, const struct features *support,
                      const struct features *query, const struct classes *classes,
                      float *logit_rows, float *probs, float *loss, void *scratch)
{
    (void)d;
    int ways = classes->ways;
    size_t len = out_len(l);
    double *proto = scratch, *dproto = proto + (size_t)ways * len,
           *made = dproto + (size_t)ways * len;
    double *logits = made + ways, *count = logits + ways, *dodds = count + ways;
    for (int t = 0; t < query->tasks; t++) {
        prior_counts(classes, t, count);
        find_prototypes(support, classes, t, len, count, proto, made);
        memset(dproto, 0, (size_t)ways * len * sizeof *dproto);
        memset(dodds, 0, (size_t)ways * sizeof *dodds);
        const REAL *odds =
            classes->prior ? tensor_at(classes->theta, t, classes->prior, TENSOR_BETA) : NULL;
        const REAL *out = (const REAL *)query->out + slot_of(query, t) * len;
        REAL *dout = (REAL *)query->dout + slot_of(query, t) * len;
        const int32_t *y = query->labels + t * query->batch.n;
        double weight = image_weight(query->count, y + query->first, true), sum = 0;
        for (int i = query->first; i < query->first + query->count; i++) {
            const REAL *f = out + (size_t)i * len;
            float *p = probs + (size_t)(t * query->batch.n + i) * (size_t)ways;
            for (int w = 0; w < ways; w++) {
                logits[w] = odds ? odds[w] : 0;
                for (size_t j = 0; j < len; j++)
                    logits[w] -=
                        (f[j] - proto[(size_t)w * len + j]) * (f[j] - proto[(size_t)w * len + j]);
                if (is_left_out(classes, made, w))
                    logits[w] = -INFINITY;
            }
            double lse = softmax(ways, logits, p);
            for (int w = 0; logit_rows && w < ways; w++)
                logit_rows[p - probs + w] = (float)logits[w];
            for (size_t j = 0; j < len; j++)
                dout[(size_t)i * len + j] = 0;
            if (y[i] < 0)
                continue;
            sum += lse - logits[y[i]];
            for (int w = 0; w < ways; w++) {
                double dlogit = weight * (exp(logits[w] - lse) - (w == y[i]));
                dodds[w] += dlogit;
                for (size_t j = 0; j < len; j++) {
                    double pull = -2 * dlogit * (f[j] - proto[(size_t)w * len + j]);
                    dout[(size_t)i * len + j] += (REAL)pull;
                    dproto[(size_t)w * len + j] -= pull;
                }
            }
        }
        loss[t] = (float)(weight * sum);
        prior_gradients(classes, t, len, proto, dproto, made, count, dodds);
        REAL *dsupport = (REAL *)support->dout + slot_of(support, t) * len;
        const int32_t *ys = support->labels + t * support->batch.n;
        for (int i = support->first; i < support->first + support->count; i++)
            for (size_t j = 0; j < len; j++)
                dsupport[(size_t)i * len + j] =
                    ys[i] < 0
                        ? 0
                        : (REAL)(dproto[(size_t)ys[i] * len + j] / (made[ys[i]] + count[ys[i]]));
    }
}
