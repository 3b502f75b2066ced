/* task_batch.h - putting the tasks of a shard on the device. */
#ifndef METHOD_TASK_BATCH_H
#define METHOD_TASK_BATCH_H

#include "method/method.h"

/* Takes the task batch's memory from the worker and says in its batches how large it is.
 * `shuffled`: method_ops.shuffled. */
void task_batch_take(struct task_batch *f, struct worker *worker, const struct batch_shape *shape,
                     struct shuffle shuffled, const struct images *images);
/* What a task batch needs to know of a run. */
struct run_step {
    uint64_t seed;
    struct adam_rates rates; /* of its step */
    enum leave_out leaves_out;
};
/* Fills it with `shape->tasks` labelled tasks, none larger than the shape, of runs that have `each`
 * of them. */
void task_batch_fill(struct task_batch *f, struct worker *worker, const struct batch_shape *shape,
                     struct shuffle shuffled, const struct labelled_task *labelled,
                     const struct run_step *runs, int each);

struct batch_shape batch_shape_of(const struct labelled_task *labelled,
                                  int n); /* the smallest that holds them */

#endif
