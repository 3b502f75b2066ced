/* feed.h - putting the tasks of a shard on the device. */
#ifndef METHOD_FEED_H
#define METHOD_FEED_H

#include "method/method.h"

/* Takes the feed's memory from the lane and says in its batches how large it is.
 * `shuffled` inner steps over `both` or the support (method_ops.shuffled). */
void feed_take(struct feed *f, struct lane *lane, const struct shape *shape, int shuffled,
               bool both, const struct images *images);
/* What a feed needs to know of a run. */
struct feed_run {
    uint64_t seed;
    struct adam_rates rates; /* of its step */
};
/* Fills it with `shape->tasks` lessons, none larger than the shape, of runs that have `each` of
 * them. */
void feed_fill(struct feed *f, struct lane *lane, const struct shape *shape, int shuffled,
               bool both, const struct lesson *lessons, const struct feed_run *runs, int each);

struct shape shape_of(const struct lesson *lessons, int n); /* the smallest that holds them */

#endif
