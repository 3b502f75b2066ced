/* inner.h - the inner loop of gradient-based methods:
 *   theta(s+1) = theta(s) - lr * gradient(theta(s); images),  s = 0..steps-1
 * With inner.prox the gradient has prox * (theta(s) - theta(0)) added: it is that of the loss
 * plus prox/2 |theta - theta(0)|^2, which keeps what is adapted near where it started
 * (FedProx, Li et al. 2020; Ditto, Li et al. 2021).  With inner.optimiser=adam a step is Adam's
 * (Nichol et al. 2018 take Reptile's so); its moments are zero where a task begins.
 */
#ifndef METHOD_INNER_H
#define METHOD_INNER_H

#include "method/method.h"

enum { INNER_STEPS_MAX = 100 };

struct inner {
    int steps, test_steps;
    double lr, prox;
    int loss;          /* 0 mean, 1 sum */
    int batching;      /* 0 full, 1 shuffled */
    int batch;         /* images of a shuffled step; 0: as many as there are labels */
    int optimiser;     /* 0 sgd, 1 adam */
    double beta1, eps; /* Adam's; its second decay is 0.999 */
};

/* Rows for a method's param table, whose state has `struct inner inner`. */
#define INNER_PARAMS(type, steps_, lr_, test_steps_, test_steps_help)                              \
    PARAM_INT_ROW(type, inner.steps, "inner.steps", steps_, 1, INNER_STEPS_MAX,                    \
                  "gradient steps on a task"),                                                     \
        PARAM_REAL_ROW(type, inner.lr, "inner.lr", lr_, 0, 100,                                    \
                       "learning rate of the inner steps"),                                        \
        PARAM_REAL_ROW(type, inner.prox, "inner.prox", 0, 0, 1e6,                                  \
                       "how strongly adapted weights are pulled back to the meta-learned ones"),   \
        PARAM_CHOICE_ROW(type, inner.loss, "inner.loss", "mean|sum", 0,                            \
                         "the inner loss: mean or sum over the labelled images"),                  \
        PARAM_CHOICE_ROW(type, inner.optimiser, "inner.optimiser", "sgd|adam", 0,                  \
                         "how inner steps use the gradient: plain descent, or Adam that begins "   \
                         "anew in each task"),                                                     \
        PARAM_REAL_ROW(type, inner.beta1, "inner.beta1", 0, 0, 0.999999, "adam: its first decay"), \
        PARAM_REAL_ROW(type, inner.eps, "inner.eps", 1e-8, 0, 1,                                   \
                       "adam: epsilon, outside the root"),                                         \
        PARAM_CHOICE_ROW(type, inner.batching, "inner.batching", "full|shuffled", 0,               \
                         "every step sees all images, or images shuffled across the steps"),       \
        PARAM_INT_ROW(type, inner.batch, "inner.batch", 0, 0, 1e6,                                 \
                      "shuffled: images of a step, repeated where there are fewer; 0: as many as " \
                      "there are"),                                                                \
        PARAM_INT_ROW(type, inner.test_steps, "test.steps", test_steps_, 0, 1000, test_steps_help)
#define INNER_TEST_STEPS "gradient steps when adapting at test time"

/* The states an inner loop goes through.  `keep` remembers every one, which second
 * order needs; otherwise each overwrites the last. */
struct inner_loop {
    struct pass pass[INNER_STEPS_MAX];
    struct vec theta[INNER_STEPS_MAX + 1]; /* theta[0] is where it starts */
    int weights;                           /* vectors among them; later steps take turns */
    struct vec grad;
    struct vec start, apart; /* with prox: where it started, and room for the distance to it */
    struct vec m, v, change; /* with Adam: its moments, and a step */
    int adam_steps;          /* taken so far */
    struct vec moved; /* at NULL: not wanted; else zeros at first, theta(0) - theta(s) at last */
    const int32_t *index, *label; /* (tasks, n), or (steps, tasks, size) if `shuffled` */
    bool keep, shuffled;
};

void inner_loop_take(struct inner_loop *w, struct worker *worker, const struct inner *s,
                     struct batch batch, int steps, bool keep, bool shuffled, struct vec theta);
void inner_loop_run(struct inner_loop *w, struct worker *worker, const struct inner *s, int steps,
                    const struct images *images);

/* Copies what no gradient moves, the running statistics (nothing unless net.bn=running). */
void copy_statistics(struct worker *worker, int tasks, struct vec to, struct vec from);

/* Of method_ops. */
const char *inner_host_only(const struct inner *s);
struct shuffle inner_shuffled(const struct inner *s, bool both);
const char *inner_unfit(const struct inner *s);
/* Images of a step that has `labels` to learn from. */
double inner_batch(const struct inner *s, double labels);

/* `adapted` = theta after s->test_steps steps on the support: a method's adapt. */
void inner_adapt(const struct inner *s, struct worker *worker, const struct task_batch *f,
                 struct vec theta, struct vec adapted);
/* A method's predict for nets with a head, and its memory alone. */
void head_take(struct prediction *out, struct worker *worker, const struct task_batch *f);
void head_predict(struct worker *worker, const struct task_batch *f, struct vec adapted,
                  struct prediction *out);

#endif
