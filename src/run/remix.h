/* remix.h - tasks made anew of all points whose labels were bought (train.remix).
 *
 * A label names a class.  So points bought for different tasks may be of the same class, and tasks
 * that nobody bought can be put together from them: new classes beside each other, new points of
 * each in support and query.  It costs no label.
 */
#ifndef RUN_REMIX_H
#define RUN_REMIX_H

#include "run/collection.h"

struct remix {
    int n;         /* tasks of the collection that were sorted in */
    int32_t *item; /* the different points bought, class by class */
    int32_t *from; /* (classes of the dataset + 1) where those of a class begin */
    int32_t *open; /* classes with enough points for support and query */
    int n_open;
    int32_t *space; /* of a meta-batch: items, then their labels */
};

/* The class of each item that was bought, -1 for all others: what the labels of the tasks say,
 * whose classes are drawn again. */
int bought_classes(const struct collection *bought, const struct tasks *tasks, int32_t *of);

/* Task number `id` of `n` goes to labelled[i]: as many support and query points of each class as
 * the benchmark asks for, keyed by (seed, step, i).  *made is 0, and nothing is changed, as long
 * as fewer than `ways` classes have so many points. */
int remix_draw(struct remix *x, const struct collection *bought, const struct tasks *tasks,
               uint64_t seed, int64_t step, int n, struct labelled_task *labelled, int *made);
void remix_release(struct remix *x); /* a zeroed one is fine */

#endif
