/* redraw.h - other images of the classes of bought tasks at each use (train.redraw).
 *
 * The older loader of the paper's first code shuffles a class's images whenever it is read, while
 * a bought task keeps its classes and positions alone: so a task shows other images, with their
 * labels, every time it is used.  The budget then caps lists of classes, and not labels.  What
 * was shown is counted: it is the run's number of different items.
 */
#ifndef RUN_REDRAW_H
#define RUN_REDRAW_H

#include "run/collection.h"

struct redraw {
    int n;          /* tasks of the collection whose classes are known */
    int32_t *klass; /* (items) of the dataset, -1: not known */
    uint8_t *shown; /* (items) 1: a task had it */
    int64_t n_shown;
    int32_t *space; /* of a meta-batch */
};

/* Items of labelled[0..n-1] become others of their classes, keyed by the task's id; all of a task
 * are different. */
int redraw_items(struct redraw *x, const struct collection *bought, const struct tasks *tasks,
                 uint64_t seed, struct labelled_task *labelled, int n);
/* What was shown, of a checkpoint; METE_EFORMAT where it is not of zeros and ones. */
int redraw_restore(struct redraw *x, const struct tasks *tasks, const uint8_t *shown);
void redraw_release(struct redraw *x); /* a zeroed one is fine */

#endif
