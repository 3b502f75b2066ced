/* cpu_loss.h - softmax cross-entropy and the prototypical loss. */

/* What an image's loss is multiplied by: 1/(labelled images) for a mean. */
static double image_weight(int n, const int32_t *labels, bool mean)
{
    int labelled = 0;
    for (int i = 0; i < n; i++)
        labelled += labels[i] >= 0;
    return mean && labelled > 0 ? 1.0 / labelled : 1;
}

/* Softmax cross-entropy of one image: its loss (0 without a label), probabilities and
 * weighted dlogits.  The logits are floats or doubles, the other is NULL; they are few,
 * so all is in double.  One of them may be -infinity, not all and not the label's. */
static double xent_one(int ways, const float *f, const double *d, int32_t label, double weight,
                       float *p, float *dlogits)
{
    double top = -INFINITY, sum = 0;
    for (int j = 0; j < ways; j++)
        top = fmax(top, f ? f[j] : d[j]);
    for (int j = 0; j < ways; j++)
        sum += exp((f ? f[j] : d[j]) - top);
    double lse = top + log(sum);
    for (int j = 0; j < ways; j++) { /* p - 1 in double: it cancels when p is near 1 */
        double prob = exp((f ? f[j] : d[j]) - lse);
        p[j] = (float)prob;
        dlogits[j] = label < 0 ? 0 : (float)(weight * (prob - (j == label)));
    }
    return label < 0 ? 0 : lse - (f ? f[label] : d[label]);
}

static void cpu_xent(struct device *d, const struct layer *l, const struct batch *b,
                     const int32_t *labels, bool mean, void *cache, float *probs, float *loss)
{
    (void)d;
    int ways = l->out_c, ld = pad(ways);
    for (int t = 0; t < b->tasks; t++) {
        struct cpu_cache k = cache_of(l, b, cache, t, false);
        int n = count_of(b, t);
        const int32_t *y = labels + t * b->n;
        double weight = image_weight(n, y, mean), sum = 0;
        memset(k.dout, 0, (size_t)(n * ld) * sizeof(float));
        for (int i = 0; i < n; i++)
            sum += xent_one(ways, k.out + i * ld, NULL, y[i], weight,
                            probs + (size_t)(t * b->n + i) * (size_t)ways, k.dout + i * ld);
        loss[t] = (float)(weight * sum);
    }
}

/* Rdlogits = weight p (Rlogits - sum p Rlogits) */
static void cpu_xent_tangent(struct device *d, const struct layer *l, const struct batch *b,
                             const int32_t *labels, bool mean, const float *probs, void *tangent)
{
    (void)d;
    int ways = l->out_c, ld = pad(ways);
    for (int t = 0; t < b->tasks; t++) {
        struct cpu_cache r = cache_of(l, b, tangent, t, true);
        int n = count_of(b, t);
        const int32_t *y = labels + t * b->n;
        double weight = image_weight(n, y, mean);
        memset(r.dout, 0, (size_t)(n * ld) * sizeof(float));
        for (int i = 0; i < n; i++) {
            const float *p = probs + (size_t)(t * b->n + i) * (size_t)ways, *out = r.out + i * ld;
            double average = 0;
            for (int j = 0; j < ways; j++)
                average += p[j] * (double)out[j];
            for (int j = 0; y[i] >= 0 && j < ways; j++)
                r.dout[i * ld + j] = (float)(weight * p[j] * (out[j] - average));
        }
    }
}

/* ---- the prototypical loss ---- */

/* The scratch of one task: prototypes and their gradients, (ways, pixels, channels). */
struct prototypes {
    double *logits;      /* (ways) */
    float *dlogits;      /* (ways) */
    float *made, *count; /* (ways) images that a prototype is the mean of, and those that its
                          * prior is worth */
    const float *odds;   /* (ways) of the prior, or NULL */
    float *dodds;        /* (ways), or NULL */
    float *mean, *dmean;
    size_t pixels, channels;
};

static size_t cpu_proto_bytes(const struct layer *l, int tasks, int ways)
{
    (void)tasks;
    size_t floats = 3 + 2 * out_len(l);
    return (size_t)ways * (sizeof(double) + floats * sizeof(float));
}

static struct prototypes prototypes_in(const struct layer *l, int ways, void *scratch)
{
    struct prototypes p = {.logits = scratch,
                           .pixels = (size_t)(l->out_h * l->out_w),
                           .channels = (size_t)pad(l->out_c)};
    p.dlogits = (float *)(p.logits + ways);
    p.made = p.dlogits + ways;
    p.count = p.made + ways;
    p.mean = p.count + ways;
    p.dmean = p.mean + (size_t)ways * out_len(l);
    return p;
}

/* The channels of pixel p of prototype w in `of`. */
static float *prototype(const struct prototypes *s, float *of, int w, size_t p)
{
    return of + ((size_t)w * s->pixels + p) * s->channels;
}

/* Features of a task: its images first..end-1, where it has them. */
struct part {
    const float *out;
    float *dout;
    const int32_t *labels;
    int first, end;
    size_t n;
};

static struct part part_of(const struct layer *l, const struct features *f, int t)
{
    size_t slot = (size_t)(f->task + t) * (size_t)f->batch.n * out_len(l);
    int n = count_of(&f->batch, f->task + t), end = f->first + f->count;
    return (struct part){(const float *)f->out + slot,
                         (float *)f->dout + slot,
                         f->labels + t * f->batch.n,
                         f->first,
                         end < n ? end : n,
                         (size_t)n};
}

static size_t feature(const struct prototypes *s, const struct part *a, int i, size_t p)
{
    return (p * a->n + (size_t)i) * s->channels;
}

/* What an image of class w counts in its prototype. */
static float share_of(const struct prototypes *s, int32_t w)
{
    return 1 / (s->made[w] + s->count[w]);
}

/* Where channel 0 of pixel p of class w lies in the prior's weight. */
static size_t prior_at(const struct layer *prior, int w, size_t p)
{
    return p * (size_t)prior->in_c * (size_t)pad(prior->out_c) + (size_t)w;
}

/* Pulls the prototypes to the prior's; find_prototypes left room for its share. */
static void add_prior(const struct prototypes *s, const struct classes *classes, int task)
{
    const struct layer *prior = classes->prior;
    const float *weight = tensor_of(prior, classes->theta, task, TENSOR_WEIGHT);
    size_t ld = (size_t)pad(prior->out_c);
    for (int w = 0; w < classes->ways; w++) {
        float share = s->count[w] / (s->made[w] + s->count[w]);
        for (size_t p = 0; p < s->pixels; p++) {
            const float *g = weight + prior_at(prior, w, p);
            float *mean = prototype(s, s->mean, w, p);
            for (size_t c = 0; c < (size_t)prior->in_c; c++)
                mean[c] += share * g[c * ld];
        }
    }
}

/* From the gradients of the prototypes to those of the prior. */
static void prior_gradients(const struct prototypes *s, const struct classes *classes, int task)
{
    const struct layer *prior = classes->prior;
    const float *weight = tensor_of(prior, classes->theta, task, TENSOR_WEIGHT);
    float *dweight = tensor_of(prior, classes->grad, task, TENSOR_WEIGHT);
    float *dbias = tensor_of(prior, classes->grad, task, TENSOR_BIAS);
    size_t ld = (size_t)pad(prior->out_c);
    memset(dweight, 0, tensor_len(prior, TENSOR_WEIGHT) * sizeof *dweight);
    memset(dbias, 0, tensor_len(prior, TENSOR_BIAS) * sizeof *dbias);
    bool follows = classes->absent == ABSENT_PRIOR_MEAN;
    for (int w = 0; w < classes->ways; w++) {
        float all = s->made[w] + s->count[w], share = s->count[w] / all;
        float apart = s->made[w] > 0 ? all / s->made[w] : 0; /* G - mean in parts of G - proto */
        double sum = 0;
        for (size_t p = 0; p < s->pixels; p++) {
            size_t at = prior_at(prior, w, p);
            const float *m = prototype(s, s->mean, w, p), *dm = prototype(s, s->dmean, w, p);
            for (size_t c = 0; c < (size_t)prior->in_c; c++) {
                float g = weight[at + c * ld];
                dweight[at + c * ld] = follows ? apart * (g - m[c]) : share * dm[c];
                sum += (double)dm[c] * ((double)g - m[c]);
            }
        }
        dbias[w] = (float)(share * sum);
    }
}

/* Takes the odds of a task's classes; their gradients begin at 0. */
static void find_odds(struct prototypes *s, const struct classes *classes, int task)
{
    const struct layer *prior = classes->prior;
    if (!prior)
        return;
    s->odds = tensor_of(prior, classes->theta, task, TENSOR_BETA);
    if (classes->grad.at) {
        s->dodds = tensor_of(prior, classes->grad, task, TENSOR_BETA);
        memset(s->dodds, 0, tensor_len(prior, TENSOR_BETA) * sizeof *s->dodds);
    }
}

static void find_prototypes(const struct prototypes *s, const struct part *support,
                            const struct classes *classes, int task)
{
    int ways = classes->ways;
    size_t len = s->pixels * s->channels;
    memset(s->mean, 0, 2 * (size_t)ways * len * sizeof(float)); /* and dmean */
    memset(s->made, 0, (size_t)ways * sizeof(float));
    const float *bias =
        classes->prior ? tensor_of(classes->prior, classes->theta, task, TENSOR_BIAS) : NULL;
    for (int w = 0; w < ways; w++)
        s->count[w] = bias ? (float)exp(bias[w]) : 0;
    for (int i = support->first; i < support->end; i++)
        s->made[support->labels[i] < 0 ? 0 : support->labels[i]] += support->labels[i] >= 0;
    for (size_t p = 0; p < s->pixels; p++)
        for (int i = support->first; i < support->end; i++) {
            if (support->labels[i] < 0)
                continue;
            const float *f = support->out + feature(s, support, i, p);
            float *mean = prototype(s, s->mean, support->labels[i], p);
            float share = share_of(s, support->labels[i]);
            for (size_t c = 0; c < s->channels; c++)
                mean[c] += share * f[c];
        }
    if (classes->prior)
        add_prior(s, classes, task);
}

/* The squared distance of image i to prototype w. */
static double distance(const struct prototypes *s, const struct part *query, int i, int w)
{
    vf part = {0};
    for (size_t p = 0; p < s->pixels; p++) {
        const float *f = query->out + feature(s, query, i, p), *m = prototype(s, s->mean, w, p);
        for (size_t c = 0; c < s->channels; c += LANES) {
            vf d = load(f + c) - load(m + c);
            part += d * d;
        }
    }
    double sum = 0;
    for (int j = 0; j < LANES; j++)
        sum += part[j];
    return sum;
}

/* The gradient of logit w, -|f - m|^2 + odds, for image i: to the image, the prototype and the
 * odds. */
static void pull(const struct prototypes *s, const struct part *query, int i, int w)
{
    float twice = 2 * s->dlogits[w];
    if (s->dodds)
        s->dodds[w] += s->dlogits[w];
    for (size_t p = 0; p < s->pixels; p++) {
        size_t at = feature(s, query, i, p);
        const float *f = query->out + at, *m = prototype(s, s->mean, w, p);
        float *df = query->dout + at, *dm = prototype(s, s->dmean, w, p);
        for (size_t c = 0; c < s->channels; c++) {
            float d = twice * (f[c] - m[c]);
            df[c] -= d;
            dm[c] += d;
        }
    }
}

static void clear_gradients(const struct prototypes *s, const struct part *a)
{
    for (size_t p = 0; p < s->pixels && a->first < a->end; p++)
        memset(a->dout + feature(s, a, a->first, p), 0,
               (size_t)(a->end - a->first) * s->channels * sizeof(float));
}

/* From the gradients of the prototypes to those of the images they are means of. */
static void share_gradients(const struct prototypes *s, const struct part *support)
{
    for (size_t p = 0; p < s->pixels; p++)
        for (int i = support->first; i < support->end; i++) {
            if (support->labels[i] < 0)
                continue;
            const float *dm = prototype(s, s->dmean, support->labels[i], p);
            float *df = support->dout + feature(s, support, i, p);
            float share = share_of(s, support->labels[i]);
            for (size_t c = 0; c < s->channels; c++)
                df[c] = share * dm[c];
        }
}

/* The logits of classes without support, where they are left out. */
static void leave_out(const struct prototypes *s, const struct classes *classes)
{
    bool any = false;
    for (int w = 0; w < classes->ways; w++)
        any = any || s->made[w] > 0;
    for (int w = 0; any && classes->absent == ABSENT_LEFT_OUT && w < classes->ways; w++)
        if (s->made[w] == 0)
            s->logits[w] = -INFINITY;
}

static void cpu_proto(struct device *d, const struct layer *l, const struct features *support,
                      const struct features *query, const struct classes *classes, float *logits,
                      float *probs, float *loss, void *scratch)
{
    (void)d;
    int ways = classes->ways;
    struct prototypes s = prototypes_in(l, ways, scratch);
    for (int t = 0; t < query->tasks; t++) {
        struct part known = part_of(l, support, t), asked = part_of(l, query, t);
        double weight = image_weight(asked.end - asked.first, asked.labels + asked.first, true);
        double sum = 0;
        find_odds(&s, classes, t);
        find_prototypes(&s, &known, classes, t);
        clear_gradients(&s, &known);
        clear_gradients(&s, &asked);
        for (int i = asked.first; i < asked.end; i++) {
            size_t row = (size_t)(t * query->batch.n + i) * (size_t)ways;
            for (int w = 0; w < ways; w++)
                s.logits[w] = (s.odds ? s.odds[w] : 0) - distance(&s, &asked, i, w);
            leave_out(&s, classes);
            for (int w = 0; logits && w < ways; w++)
                logits[row + (size_t)w] = (float)s.logits[w];
            sum += xent_one(ways, NULL, s.logits, asked.labels[i], weight, probs + row, s.dlogits);
            for (int w = 0; asked.labels[i] >= 0 && w < ways; w++)
                pull(&s, &asked, i, w);
        }
        loss[t] = (float)(weight * sum);
        share_gradients(&s, &known);
        if (classes->prior && classes->grad.at)
            prior_gradients(&s, classes, t);
    }
}
