/* speed.h - what mete speed measures: an engine, and a meta-batch of random images. */
#ifndef RUN_SPEED_H
#define RUN_SPEED_H

#include "mete.h"
#include "base/message.h"
#include "base/ranks.h"
#include "method/engine.h"
#include "run/setup.h"
#include "task/bench.h"

/* Every image is a task's own. */
struct load {
    uint8_t *pixels;
    int32_t *item, *label;
    struct labelled_task *tasks;
};

struct speed {
    struct setup setup;
    struct bench bench;
    struct batch_shape shape; /* of a task */
    struct engine_spec spec;
    struct load load;
    struct engine *engine; /* of this spec, to be opened */
    /* of the first rank */
    struct message call;
    int64_t steps; /* taken so far */
};

/* All but the engine.  Every rank makes the same images. */
int speed_open(struct speed *s, const struct mete_speed_options *o, struct ranks *ranks);
void speed_close(struct speed *s);

#endif
