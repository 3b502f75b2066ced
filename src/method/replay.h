/* replay.h - work that repeats is recorded once and sent to the device at once.
 *
 * The first time a piece of work occurs it just runs; the second time the kernel
 * set records it (kernel.h, replay); from then on it is one launch.  Sets that do
 * not record run everything as it comes.
 */
#ifndef METHOD_REPLAY_H
#define METHOD_REPLAY_H

#include "method/method.h"

enum { REPLAYS_MAX = 64 }; /* pieces of work of different shapes that are remembered */

struct replays {
    struct replay {
        uint64_t key;
        int runs;
        struct prediction result; /* where the work left its results */
    } at[REPLAYS_MAX];
    int n;
    struct replay *open; /* begun, not ended */
};

/* What makes two pieces of work the same: the worker's memory, and these numbers. */
uint64_t replay_key(const struct worker *worker, const int64_t *numbers, int n);

/* True: the work was done again, and *result is what it was.  False: do it now, and
 * then call replay_end.  Uploads go before, whatever waits for the device after. */
bool replay_begin(struct replays *r, struct worker *worker, uint64_t key,
                  struct prediction *result);
void replay_end(struct replays *r, struct worker *worker, const struct prediction *result);

#endif
