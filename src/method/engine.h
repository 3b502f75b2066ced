/* engine.h - a method at work on many tasks: meta-gradients, updates, learners.
 *
 * Threads and GPUs are one idea, the shard.  A CPU thread takes one task at a time
 * from a fixed group of the meta-batch and adds its gradient to the group's; the
 * groups are then added along one fixed tree.  Which thread did which task makes
 * no difference: the update is bitwise the same for any number of threads.
 */
#ifndef METHOD_ENGINE_H
#define METHOD_ENGINE_H

#include "base/ranks.h"
#include "base/threads.h"
#include "method/method.h"
#include "method/outer.h"

struct engine;
struct lockstep_set;

/* Groups of a meta-batch: as many as balance a few threads, few enough that adding
 * them up stays cheap. */
enum { ENGINE_GROUPS = 16 };

struct engine_spec {
    const struct kernels *kernels;
    struct device_options device;
    int threads; /* 0: one per core */
    const struct net_ops *net;
    const void *net_settings;
    const struct method *method; /* borrowed: must outlive the engine */
    struct outer_settings outer;
    struct images images; /* host data; must outlive the engine */
    int ways;
    int train_ways; /* of training tasks, where the net has no head; 0: the same */
    int meta_batch;
    int groups;                 /* of a meta-batch, at most; 0: ENGINE_GROUPS */
    struct batch_shape largest; /* support and query of the largest training task */
    uint64_t seed;
    struct ranks *ranks; /* NULL, or who shares its steps and has the same engine */
    struct lockstep_set
        *lockstep_set; /* NULL, or who takes steps together (lockstep.h); outlives the engine */
};

struct images engine_images(const struct dataset *d); /* of a dataset; borrows its data */
/* Other images, of the same shape. */
int engine_show(struct engine *e, struct images images);
/* Gives every batch norm the mean and the variance of n images (frozen.c), for net.bn=running.
 * Nothing where the net has none, or keeps running averages. */
int engine_freeze(struct engine *e, const int32_t *items, int n);
int engine_open(struct engine **out, const struct engine_spec *spec);
void engine_close(struct engine *e); /* NULL is fine */

const struct net *engine_net(const struct engine *e);
struct threads *engine_threads(struct engine *e); /* its threads; with a GPU they select labels */
int engine_workers(const struct engine *e);       /* how many of its threads compute */
bool engine_batched(const struct engine *e);      /* takes many tasks in one call: a GPU */
size_t engine_bytes_planned(const struct engine *e); /* working memory, before the first step */
double engine_flops(const struct engine *e,
                    const struct batch_shape *shape); /* of one task's meta-gradient */

/* One meta-update over `n` tasks (at most meta_batch): gradient, mean, optimiser.  A GPU runs
 * asynchronously: a failure shows in a later call, or in engine_wait. */
int engine_step(struct engine *e, const struct labelled_task *tasks, int n);
int engine_wait(struct engine *e);   /* until all steps are done */
void engine_leave(struct engine *e); /* no more steps for now: its lockstep group does not wait */
/* The mean loss of the steps since the last restart, NaN where there was none; waits for them. */
int engine_losses(struct engine *e, bool restart, double *mean);
/* The mean meta-gradient alone, left where engine_get finds it; mean_loss may be NULL. */
int engine_gradient(struct engine *e, const struct labelled_task *tasks, int n, double *mean_loss);

/* That of one task, the loss of its query after adaptation, and its logits (query, ways). */
int engine_gradient_one(struct engine *e, const struct labelled_task *task, double *loss,
                        float *logits);

/* Weights, gradient and optimiser state as PyTorch-ordered tensors. */
enum engine_vector { ENGINE_THETA, ENGINE_GRADIENT, ENGINE_ADAM_M, ENGINE_ADAM_V, ENGINE_VECTORS };
void engine_get(struct engine *e, enum engine_vector which, const struct net_tensor *t,
                float *host);
void engine_put(struct engine *e, enum engine_vector which, const struct net_tensor *t,
                const float *host);
/* The trained weights, or the gradient of one task, as doubles in the kernel set's own
 * order (engine_net()->trained of them): to be added and multiplied, not read. */
void engine_read(struct engine *e, enum engine_vector which, double *out);
void engine_write(struct engine *e, enum engine_vector which, const double *from);
int64_t engine_steps(const struct engine *e); /* optimiser steps taken */
void engine_set_steps(struct engine *e, int64_t steps);
bool engine_finite(struct engine *e); /* no NaN or infinity in the weights */

/* The engine as a learner, with its current weights; it uses all workers.  learner_close closes
 * the engine. */
struct learner *engine_learner(struct engine *e);

#endif
