/* engine_private.h - the engine's insides, for the files of this folder that share them. */
#ifndef METHOD_ENGINE_PRIVATE_H
#define METHOD_ENGINE_PRIVATE_H

#include "method/lockstep.h"
#include "method/engine.h"
#include "method/replay.h"

struct models {            /* adapted to tasks */
    int tasks;             /* of the last adapt */
    struct items *support; /* (tasks) what they were adapted to, kept here */
    int32_t *kept;         /* its indices and labels */
    void *adapted;         /* (tasks) vectors, device memory */
    size_t adapted_bytes;
    bool moved; /* adapted differs from the engine's weights */
    void *reps; /* of the last predict, (reps_tasks, reps_stride) floats, device memory */
    size_t reps_bytes, reps_stride;
    int reps_tasks; /* 0: they were not asked for */
};

/* The order of the engine's vectors; the groups' gradients follow. */
enum { VECTOR_THETA, VECTOR_M, VECTOR_V, VECTOR_SLOTS };

struct engine {
    const struct kernels *k;
    struct device_options device;
    struct device *dev;
    struct net net;
    const struct method *method;
    struct outer_settings outer;
    struct images images;
    const void *pixels;                /* of the images, on the host */
    struct ranks *ranks;               /* NULL, or who shares its steps */
    void *crossing;                    /* a vector on the host, where that is not the device */
    struct lockstep_set *lockstep_set; /* or NULL: it takes its steps alone */
    struct lockstep *lockstep;         /* that it is in, or NULL */
    bool ahead;                        /* the lockstep group's steps may still be under way */
    int ways, train_ways, meta_batch, groups;
    struct batch_shape largest;
    uint64_t seed;
    int64_t steps;
    int gradient_tasks;
    struct threads *threads;
    struct worker *workers;
    struct learner learner; /* the engine, as others know it; its state is the engine */
    struct models models;
    int n_workers;
    void *vectors;
    size_t vectors_bytes, planned;
    float *losses;    /* (meta_batch) of the last step */
    double loss_sum;  /* the steps' mean losses, since the last restart */
    int loss_steps;   /* how many */
    void *loss_parts; /* (meta_batch) on an asynchronous device: that sum, in parts */
    struct replays replays;
};

void *engine_theta(const struct engine *e);
void *engine_vector(const struct engine *e, size_t slot); /* VECTOR_..., or a group's gradient */
struct shuffle engine_shuffle(const struct engine *e);    /* of the method's inner batches */
/* How many of `labelled`, from the first on, a device may take in one call; training: with
 * inner batches as the method has them. */
int engine_together(const struct engine *e, const struct labelled_task *labelled, int n,
                    bool training);
/* For a lockstep group, on its device: what a task batch needs for the engine's next step; its
 * weights; the sum of its tasks' gradients, and their losses, back; the update that follows, with
 * the task batch's rates; and, once all that is under way, that the step is taken. */
struct run_step engine_run(const struct engine *e);
void engine_lend(struct engine *e, struct device *dev, struct vec to);
void engine_collect(struct engine *e, struct device *dev, int tasks, struct vec grad);
void engine_collect_losses(struct engine *e, struct device *dev, int tasks, const float *loss);
void engine_update(struct engine *e, struct device *dev, int tasks, const struct adam_rates *rates);
void engine_stepped(struct engine *e);
/* The workers, opened for the largest shard; what one needs for `shape`. */
int engine_open_workers(struct engine *e);
struct worker engine_measure(const struct engine *e, const struct batch_shape *shape, bool predict);
/* Memory comes on large pages, and a page that is touched is used whole. */
size_t whole_pages(size_t bytes);
/* Makes room for work that was measured; what the worker held is lost if it must grow. */
int worker_fit(struct worker *worker, const struct worker *measured);
void worker_begin(struct worker *worker);   /* an arena that is empty except for the scratch */
void engine_learner_open(struct engine *e); /* fills in e->learner */
void engine_learner_release(struct engine *e);

#endif
