/* inner.c - the inner loop, and prediction by a net with a head. */
#include "method/inner.h"

void copy_statistics(struct lane *lane, int tasks, struct vec to, struct vec from)
{
    const struct net *net = lane->net;
    size_t tail = net->len - net->trained, skip = net->trained * net->k->elem;
    if (net->bn != BN_RUNNING || tail == 0)
        return;
    struct vec a = {(char *)to.at + skip, to.stride}, b = {(char *)from.at + skip, from.stride};
    net->k->axpy(lane->dev, tasks, tail, a, b, 0, b);
}

void walk_take(struct walk *w, struct lane *lane, const struct inner *s, struct batch batch,
               int steps, bool keep, bool shuffled, struct vec theta)
{
    w->moved = (struct vec){0};
    w->keep = keep;
    w->shuffled = shuffled;
    w->theta[0] = theta;
    w->grad = vector_take(lane, batch.tasks);
    for (int i = 0; i < steps; i++) {
        bool fresh = i == 0 || keep;
        if (fresh) {
            pass_take(&w->pass[i], lane, batch, i > 0 && !shuffled ? w->pass[0].x : NULL);
            w->pass[i].mean = s->loss == 0;
        } else {
            w->pass[i] = w->pass[0];
        }
        w->theta[i + 1] = fresh ? vector_take(lane, batch.tasks) : w->theta[1];
    }
}

/* theta(i+1) = theta(i) - lr grad; where the way walked is wanted, it is summed up
 * apart and theta(i+1) = theta(0) - moved. */
static void step_weights(struct walk *w, struct lane *lane, double lr, int i)
{
    const struct net *net = lane->net;
    int tasks = w->pass[i].batch.tasks;
    if (w->moved.at) {
        net->k->axpy(lane->dev, tasks, net->trained, w->moved, w->moved, lr, w->grad);
        net->k->axpy(lane->dev, tasks, net->trained, w->theta[i + 1], w->theta[0], -1, w->moved);
    } else {
        net->k->axpy(lane->dev, tasks, net->trained, w->theta[i + 1], w->theta[i], -lr, w->grad);
    }
    if (i == 0 || w->keep)
        copy_statistics(lane, tasks, w->theta[i + 1], w->theta[i]);
}

void walk_run(struct walk *w, struct lane *lane, const struct inner *s, int steps,
              const struct images *images)
{
    for (int i = 0; i < steps; i++) {
        struct pass *p = &w->pass[i];
        int tasks = p->batch.tasks;
        size_t offset = w->shuffled ? (size_t)i * (size_t)tasks * (size_t)p->batch.n : 0;
        p->labels = w->label + offset;
        if (i == 0 || w->shuffled)
            pass_gather(p, lane, images, w->index + offset);
        pass_forward(p, lane, w->theta[i]);
        pass_xent(p, lane);
        pass_backward(p, lane, w->theta[i], w->grad);
        step_weights(w, lane, s->lr, i);
    }
}

void inner_adapt(const struct inner *s, struct lane *lane, const struct feed *f, struct vec theta,
                 struct vec adapted)
{
    const struct net *net = lane->net;
    int tasks = f->support.tasks;
    struct inner test = *s;
    struct walk w;
    walk_take(&w, lane, &test, f->support, 1, false, false, theta);
    if (!lane->mem.base)
        return;
    net->k->axpy(lane->dev, tasks, net->len, adapted, theta, 0, theta);
    w.theta[0] = w.theta[1] = adapted;
    w.index = f->support_index;
    w.label = f->support_label;
    for (int i = 0; i < s->test_steps && f->support.n > 0; i++)
        walk_run(&w, lane, &test, 1, f->images);
}

int query_pass_take(struct pass *p, struct lane *lane, const struct feed *f)
{
    bool joint = lane->net->bn == BN_SUPPORT && f->support.n > 0;
    pass_take(p, lane, joint ? f->both : f->query, NULL);
    if (joint)
        p->norm.stat = f->support.n;
    p->labels = joint ? f->both_query_label : f->query_label;
    return joint ? f->support.n : 0;
}

void query_pass_forward(struct pass *p, struct lane *lane, const struct feed *f, struct vec theta)
{
    bool joint = p->labels == f->both_query_label;
    pass_gather(p, lane, f->images, joint ? f->both_index : f->query_index);
    pass_forward(p, lane, theta);
    pass_xent(p, lane);
}

void head_take(struct prediction *out, struct lane *lane, const struct feed *f)
{
    int first = query_pass_take(&out->pass, lane, f);
    *out = (struct prediction){true, out->pass, first, out->pass.probs, NULL, out->pass.loss};
}

void head_predict(struct lane *lane, const struct feed *f, struct vec adapted,
                  struct prediction *out)
{
    head_take(out, lane, f);
    if (lane->mem.base)
        query_pass_forward(&out->pass, lane, f, adapted);
}
