/* method.h - what a meta-learning method is.
 *
 * To add one: write src/method/NAME.c ending in a `const struct method_ops`, and
 * add its address to the table in method_registry.c.  Nothing else changes.
 * docs/adding-a-method.md walks through it.
 *
 * A method works on a shard of T tasks at once: a CPU thread gives it one task, a
 * GPU a whole meta-batch.  It never indexes an activation or a weight; it chains
 * passes (net/pass.h) and vector operations (kernel/kernel.h).
 */
#ifndef METHOD_METHOD_H
#define METHOD_METHOD_H

#include "method/learner.h"
#include "net/pass.h"

/* The sizes of a shard of tasks: memory is planned from this alone. */
struct batch_shape {
    int tasks, support, query; /* images per task, the largest where they differ */
};

/* A shard on the device.  Arrays are (tasks, n) with n from their batch; labels
 * are -1 past a task's own count.  `both` is a task's support, then its query. */
struct task_batch {
    struct batch support, query, both; /* counts and indices of the query follow the support's */
    const int32_t *support_index, *support_label;
    const int32_t *query_index, *query_label;
    const int32_t *both_index, *both_label;
    const int32_t *both_query_label;          /* as both_label, but -1 for the support */
    const int32_t *inner_index, *inner_label; /* (steps, tasks, size) shuffled, or NULL */
    const struct adam_rates *rates;           /* (tasks) of the run of each */
    const struct images *images;
};

struct method {
    const struct method_ops *ops;
    void *state; /* ops->state_size bytes, filled from ops->params */
};

/* Inner batches shuffled across steps. */
struct shuffle {
    int steps; /* 0: not shuffled */
    int size;  /* images of a step; 0: as many as there are labels */
    bool both; /* of support and query, or of the support alone */
};

/* A method's predictions for the query, on the device. */
struct prediction {
    bool wanted;      /* meta_grad: fill in everything; else the loss alone will do */
    struct pass pass; /* over the query, or over support and query */
    int first;        /* where the query starts in it */
    float *probs;     /* (tasks, pass.batch.n, ways) */
    float *logits;    /* the same; NULL: they are the last layer's output */
    float *loss;      /* (tasks) of the labelled query images */
};

enum outer { OUTER_ADAM, OUTER_SGD };

/* Where query points of absent classes come without their label: nowhere, in the query, or also
 * where support and query are one batch. */
enum leave_out { LEAVE_NONE, LEAVE_QUERY, LEAVE_ALL };

/* Slots get their memory from worker->mem.  While worker->mem.base is NULL they are
 * only being measured: they take what they will take, and return. */
struct method_ops {
    const char *name, *summary;
    size_t state_size;
    const struct param *params; /* ends with {0} */
    const void *self;           /* a pointer that the state begins with; NULL: it does not */
    bool head;                  /* the net ends in a linear layer over the ways */
    enum outer outer;           /* the paper's meta-optimiser, and its rate */
    double outer_lr;

    /* The meta-gradient of every task into grad (one vector per task).  theta is one vector
     * for all tasks, or, where runs work together, one for each.  out->loss is the query's
     * after adaptation; where a method has no need of that pass (Reptile) and it is not
     * wanted, the loss of the last inner step. */
    void (*meta_grad)(const struct method *m, struct worker *worker, const struct task_batch *f,
                      int ways, struct vec theta, struct vec grad, struct prediction *out);

    /* Weights adapted to each task's support.  NULL: they stay as they are. */
    void (*adapt)(const struct method *m, struct worker *worker, const struct task_batch *f,
                  struct vec theta, struct vec adapted);

    /* The query's class probabilities and features, with adapted weights. */
    void (*predict)(const struct method *m, struct worker *worker, const struct task_batch *f,
                    int ways, struct vec adapted, struct prediction *out);

    /* How many image passes (forward and backward) and image Hessian-vector
     * products a task of `shape` costs. */
    void (*cost)(const struct method *m, const struct batch_shape *shape, double *both,
                 double *hvp);

    /* Its inner batches, where they are shuffled across steps.  NULL: they are not. */
    struct shuffle (*shuffled)(const struct method *m);

    /* Whether support and query are one pass even where net.bn does not ask for it: a device
     * then takes tasks of one size at a time.  NULL: they are not. */
    bool (*one_pass)(const struct method *m);

    /* Whether it learns prototypes that tasks share (net_add_prior), for which a class must be the
     * same in all tasks, and in *count, where it is not NULL, how many images each is worth at
     * first.  NULL: it does not. */
    enum prior (*prior)(const struct method *m, double *count);

    /* A setting that needs kernels.host, or NULL.  NULL: there is none. */
    const char *(*host_only)(const struct method *m);

    /* Whether query points of classes that the support does not have are no part of the loss.
     * NULL: they are. */
    enum leave_out (*leaves_out)(const struct method *m);

    /* Why its settings do not go together, as a sentence, or NULL.  NULL: any do. */
    const char *(*unfit)(const struct method *m);

    /* A learner of its own that needs no engine (baseline.c): then nothing above but the names and
     * params is looked at.  NULL: the engine runs the method. */
    int (*open)(const void *state, const struct learner_spec *spec, struct learner **out);
    bool same_classes; /* only where classes are the same in all tasks: users */
};

const struct method_ops *method_at(int i); /* NULL past the last */
int method_find(const struct method_ops **out, const char *name);
int method_open(struct method *m, const char *name); /* with its defaults */
int method_check(const struct method *m);            /* METE_EINVAL where it is unfit */
/* METE_EINVAL where somebody set a setting that the method has and makes no use of. */
int method_uses(const struct method_ops *ops, const char *key);
void method_close(struct method *m); /* a zeroed one is fine */

/* The query pass of a net with a head, as net.bn asks: by its own statistics, by
 * the support's (both are passed), or by running averages.  query_labels of the
 * pass are set; returns where the query starts in it. */
int query_pass_take(struct pass *p, struct worker *worker, const struct task_batch *f);
void query_pass_forward(struct pass *p, struct worker *worker, const struct task_batch *f,
                        struct vec theta);

#endif
