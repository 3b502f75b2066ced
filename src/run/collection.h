/* collection.h - D of the paper's Algorithm 1: the tasks bought so far, used again
 * and again by meta-batches.
 */
#ifndef RUN_COLLECTION_H
#define RUN_COLLECTION_H

#include "method/method.h"
#include "task/task.h"

struct collection {
    struct episode *at;
    int n, room;
    int32_t *order; /* of the current epoch */
    int64_t epoch;
    int order_n; /* 0: none yet */
};

/* Takes the episodes over. */
void collection_add(struct collection *c, const struct episode *episodes, int n);
void collection_release(struct collection *c); /* a zeroed one is fine */

enum reuse { REUSE_EPOCHS, REUSE_DRAW };

/* The tasks of meta-update `step` into `labelled` (batch): a shuffled epoch cut into
 * batches, the last partial one dropped, or drawn with replacement.  Returns how
 * many: the whole collection where it is smaller than a batch. */
int collection_draw(struct collection *c, enum reuse reuse, uint64_t seed, int64_t step, int batch,
                    struct labelled_task *labelled);

struct labelled_task labelled_task_of(const struct episode *e, int64_t step);
/* Permutes the class labels of each task, keyed by its id.  *labels: where they lie, grown
 * as needed; free() it when the tasks are done with. */
void tasks_relabel(struct labelled_task *labelled, int n, int ways, uint64_t seed,
                   int32_t **labels);
/* Re-splits support and query of each task, keyed by its id: of each class as many points are
 * support as before.  *items: where they lie, as above. */
void tasks_resplit(struct labelled_task *labelled, int n, int ways, uint64_t seed, int32_t **items);
/* Splits each task anew at a place drawn evenly: from one point as support to all but one.
 * *points: where items and labels lie. */
void tasks_split_anyhow(struct labelled_task *labelled, int n, uint64_t seed, int32_t **points);

/* As one row of numbers, and back: what a checkpoint keeps. */
size_t collection_flatten(const struct collection *c, int32_t **out); /* free() it */
/* Each task is checked against `tasks` and `part`, which it must have come from. */
int collection_restore(struct collection *c, const struct tasks *tasks, int part,
                       const int32_t *flat, size_t len, int64_t n);

#endif
